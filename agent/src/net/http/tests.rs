use std::{error::Error, time::Duration};

use super::*;
use crate::net::testing::{Authority, NOW, Reply, Server, best_time, file};
use tempfile::TempDir;

struct World {
    dir: TempDir,
    ca: Authority,
}

impl World {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), ca: Authority::new() }
    }

    async fn server(&self, name: &str, reply: Reply) -> Server {
        Server::tls(&self.ca.server(name, (2020, 2040)), &self.ca, move |_| reply.clone()).await
    }

    fn options(&self) -> Options {
        Options {
            authorities: Some(file(&self.dir, "ca.pem", &self.ca.pem())),
            proxies: Proxies::none(),
            fallback: Vec::new(),
            dates: Dates::Strict,
            best_time: best_time(NOW),
            dates_ignored: Arc::default(),
        }
    }

    fn transport(&self) -> Transport {
        Transport::new(&self.options()).unwrap()
    }
}

fn request(method: Method, url: String) -> Request {
    let body = (method == Method::Put).then(|| "{\"name\":\"w\"}".to_owned());
    Request { method, url, body, token: Token::new(SECRET).unwrap() }
}

fn to(server: &Server) -> Request {
    request(Method::Get, format!("https://{}/v1/servers/42", server.address))
}

/// The whole chain, as a log and as a panic would show it.
fn shown(error: &(dyn Error + 'static)) -> String {
    let mut text = format!("{error:?}");
    let mut next = Some(error);
    while let Some(error) = next {
        text = format!("{text}\n{error}");
        next = error.source();
    }
    text
}

const SECRET: &str = "s3cr3t";
const LOOPBACK: &str = "127.0.0.1";
const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_request_goes_out_as_the_driver_made_it_and_the_answer_comes_back() {
    let world = World::new();
    let reply = Reply::Whole {
        status: "202 Accepted",
        headers: "RateLimit-Limit: 3600\r\nRateLimit-Remaining: 12\r\n",
        body: "{}".to_owned(),
    };
    let server = world.server(LOOPBACK, reply).await;
    let transport = world.transport();
    for method in [Method::Get, Method::Put, Method::Post, Method::Delete] {
        let asked = request(method, format!("https://{}/v1/servers/42", server.address));
        let answer = transport.send(&asked, LONG).await.unwrap();
        assert_eq!(answer.status(), 202);
        assert_eq!(answer.budget().unwrap().remaining, 12);
        let seen = server.asked().pop().unwrap();
        assert!(seen.head.starts_with(&format!("{} /v1/servers/42 HTTP/1.1\r\n", method.as_str())));
        assert!(seen.head.contains(&format!("authorization: Bearer {SECRET}\r\n")));
        assert!(seen.head.contains(concat!("user-agent: curfew-agent/", env!("CARGO_PKG_VERSION"))));
        assert_eq!(seen.head.contains("content-type: application/json"), asked.body.is_some());
        assert_eq!(seen.body, asked.body.unwrap_or_default());
    }
    assert_eq!(transport.last_address(), Some(server.address));
}

#[tokio::test]
async fn a_server_that_never_answers_costs_the_time_out_and_no_more() {
    let world = World::new();
    let server = world.server(LOOPBACK, Reply::Hang(Vec::new())).await;
    let error = world.transport().send(&to(&server), SHORT).await.unwrap_err();
    assert!(matches!(error, HttpError::TimedOut { after: SHORT, .. }), "{error:?}");
}

#[tokio::test]
async fn an_answer_that_dribbles_is_cut_off_in_total() {
    let world = World::new();
    let mut pieces = vec![b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n".to_vec()];
    pieces.extend(std::iter::repeat_n(b" ".to_vec(), 1000));
    let server = world.server(LOOPBACK, Reply::Pieces(pieces, Duration::from_millis(100))).await;
    let error = world.transport().send(&to(&server), SHORT).await.unwrap_err();
    assert!(matches!(error, HttpError::TimedOut { .. }), "{error:?}");
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_never_followed() {
    let world = World::new();
    let elsewhere = world.server(LOOPBACK, Reply::ok("")).await;
    let location: &'static str = format!("Location: https://{}/\r\n", elsewhere.address).leak();
    for status in ["301 Moved Permanently", "307 Temporary Redirect"] {
        let reply = Reply::Whole { status, headers: location, body: String::new() };
        let server = world.server(LOOPBACK, reply).await;
        let answer = world.transport().send(&to(&server), LONG).await.unwrap();
        assert_eq!(answer.status(), status[..3].parse::<u16>().unwrap());
    }
    assert!(elsewhere.asked().is_empty());
}

#[tokio::test]
async fn a_body_without_end_is_refused_whether_or_not_its_length_is_told() {
    let world = World::new();
    let endless = std::iter::once(b"HTTP/1.1 200 OK\r\n\r\n".to_vec())
        .chain(std::iter::repeat_n(vec![b'x'; 1 << 16], 64))
        .collect();
    for reply in [Reply::ok("x".repeat(BODY_LIMIT + 1)), Reply::Pieces(endless, Duration::ZERO)] {
        let server = world.server(LOOPBACK, reply).await;
        let error = world.transport().send(&to(&server), LONG).await.unwrap_err();
        assert!(matches!(error, HttpError::TooLarge { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn no_error_shows_the_token() {
    let world = World::new();
    let transport = world.transport();
    let broken = world.server(LOOPBACK, Reply::Pieces(vec![b"HTT".to_vec()], Duration::ZERO)).await;
    let garbage =
        world.server(LOOPBACK, Reply::Pieces(vec![b"what?\r\n\r\n".to_vec()], Duration::ZERO)).await;
    let other = world.server("10.0.0.1", Reply::ok("")).await;
    let url = |url: &str| request(Method::Delete, url.to_owned());
    for (asked, expected) in [
        (to(&broken), "broke off"),
        (to(&garbage), "broke off"),
        (to(&other), "not valid for name"),
        (url("https://127.0.0.1:1/v1"), "cannot connect to 127.0.0.1:1"),
        (url("https://nowhere.invalid/v1"), "cannot connect to nowhere.invalid:443"),
        (url("https://user:s3cr3t@127.0.0.1:1/v1"), "user or password"),
        (url("ftp://127.0.0.1:1/v1"), "not of the form"),
        (url("s3cr3t"), "not of the form"),
    ] {
        let error = transport.send(&asked, LONG).await.unwrap_err();
        let shown = shown(&error);
        assert!(shown.contains(expected), "{shown}");
        assert!(!shown.contains(SECRET), "{shown}");
    }
    assert!(!format!("{transport:?}").contains(SECRET));
    assert!(!format!("{:?}", authorization(&Token::new(SECRET).unwrap())).contains(SECRET));
}

#[tokio::test]
async fn a_token_goes_over_plain_http_to_this_machine_only() {
    let world = World::new();
    let server = Server::plain(|_| Reply::ok("{}")).await;
    let transport = world.transport();
    let asked = request(Method::Get, format!("http://{}/v1", server.address));
    assert_eq!(transport.send(&asked, LONG).await.unwrap().status(), 200);
    for host in ["192.0.2.1", "example.org", "localhost.example.org", "127.0.0.1.example.org"] {
        let error = transport.send(&request(Method::Get, format!("http://{host}/")), LONG).await.unwrap_err();
        assert!(matches!(error, HttpError::Plain(_)), "{error:?}");
    }
}

#[tokio::test]
async fn a_broken_file_of_authorities_is_reported_and_the_public_ones_stay_in_force() {
    let world = World::new();
    for content in [
        "",
        "nonsense",
        "-----BEGIN CERTIFICATE-----\n%%\n",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ] {
        let authorities = Some(file(&world.dir, "broken.pem", content));
        let transport = Transport::new(&Options { authorities, ..world.options() }).unwrap();
        let fault = transport.authorities_fault().unwrap().to_string();
        assert!(fault.contains("broken.pem"), "{fault}");
    }
    let authorities = Some(world.dir.path().join("absent.pem"));
    let transport = Transport::new(&Options { authorities, ..world.options() }).unwrap();
    assert!(transport.authorities_fault().unwrap().to_string().contains("cannot read"));
    assert!(world.transport().authorities_fault().is_none());
}

#[tokio::test]
async fn no_way_to_the_provider_is_told_from_a_provider_that_does_not_listen() {
    let world = World::new();
    let ask = async |address: &str| {
        let request = request(Method::Get, format!("https://{address}/v1/servers/42"));
        world.transport().send(&request, LONG).await.unwrap_err()
    };
    // TCP to a broadcast address is refused as a machine without a route refuses everything.
    assert!(ask("127.255.255.255:9").await.is_unreachable());
    assert!(!ask("127.0.0.1:9").await.is_unreachable(), "nobody listens there");
}

#[tokio::test]
async fn an_address_that_worked_is_used_when_the_name_cannot_be_looked_up() {
    let world = World::new();
    let server = world.server("api.invalid", Reply::ok("{}")).await;
    let asked = request(Method::Get, format!("https://api.invalid:{}/", server.address.port()));
    assert!(world.transport().send(&asked, LONG).await.is_err());
    let options = Options { fallback: vec![server.address], ..world.options() };
    assert_eq!(Transport::new(&options).unwrap().send(&asked, LONG).await.unwrap().status(), 200);
}

#[tokio::test]
async fn https_goes_through_the_proxy_but_never_what_is_on_this_machine() {
    let world = World::new();
    let proxy =
        Server::plain(|_| Reply::Whole { status: "403 Forbidden", headers: "", body: String::new() }).await;
    let proxies = Proxies::at(&format!("http://user:{SECRET}@{}", proxy.address)).unwrap();
    assert!(!format!("{proxies:?}").contains(SECRET));
    let transport = Transport::new(&Options { proxies, ..world.options() }).unwrap();
    let error =
        transport.send(&request(Method::Get, "https://192.0.2.1/".to_owned()), LONG).await.unwrap_err();
    assert!(proxy.asked()[0].head.starts_with("CONNECT 192.0.2.1:443"));
    assert!(!shown(&error).contains(SECRET), "{}", shown(&error));

    let server = world.server(LOOPBACK, Reply::ok("{}")).await;
    assert_eq!(transport.send(&to(&server), LONG).await.unwrap().status(), 200);
    assert_eq!(proxy.asked().len(), 1);
}

#[tokio::test]
async fn the_metadata_service_is_asked_without_a_token() {
    let world = World::new();
    let server = Server::plain(|_| Reply::ok("42\n")).await;
    let url = format!("http://{}/hetzner/v1/metadata/instance-id", server.address);
    assert_eq!(world.transport().metadata(&url, LONG).await.unwrap().as_deref(), Some("42\n"));
    assert!(!server.asked()[0].head.contains("authorization"));
}

#[test]
fn the_environment_says_which_proxy_in_either_case_and_an_unusable_one_is_an_error() {
    let from = |variables: &'static [(&str, &str)]| {
        let value = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, v)| (*v).to_owned());
        Proxies::from_variables(value).map(|proxies| format!("{proxies:?}"))
    };
    assert!(
        from(&[("HTTPS_PROXY", "http://p:3128"), ("NO_PROXY", "10.0.0.0/8")]).unwrap().contains("10.0.0.0/8")
    );
    assert!(from(&[("https_proxy", "p:3128")]).unwrap().contains("\"p\""));
    assert!(from(&[("ALL_PROXY", "https://p"), ("HTTPS_PROXY", " ")]).unwrap().contains("\"p\""));
    assert!(from(&[("HTTP_PROXY", "http://p:3128")]).unwrap().contains("None"));
    for unusable in [&[("HTTPS_PROXY", "socks5://p")], &[("HTTPS_PROXY", "http://")]] {
        assert!(from(unusable).is_err());
    }
}
