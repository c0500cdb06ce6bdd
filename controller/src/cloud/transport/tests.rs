use std::{error::Error, fs};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::cloud::testing::{NEVER_ENDS, Server, answer};

fn transport(server: &Server) -> Transport {
    Transport::new(Endpoint::read(&server.endpoint(), Plain::ThisMachine).unwrap(), None).unwrap()
}

fn request(url: &str) -> Request {
    Request { method: Method::Get, url: url.into(), body: None, token: Token::new("t0ken").unwrap() }
}

fn all(error: &TransportError) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(format!("{error} {error:?}"), |text, cause| format!("{text} {cause}"))
}

#[test]
fn plain_http_is_for_this_machine_or_for_what_a_configuration_names() {
    for here in
        ["http://127.0.0.1:8080/v1", "http://[::1]:1/v1", "http://localhost/v1", "https://api.example/v1"]
    {
        assert!(Endpoint::read(here, Plain::ThisMachine).is_ok(), "{here}");
    }
    for elsewhere in ["http://10.0.0.7/v1", "http://api.example/v1", "http://localhost.example/v1"] {
        assert_eq!(Endpoint::read(elsewhere, Plain::ThisMachine), Err(EndpointError::Plain), "{elsewhere}");
        assert!(Endpoint::read(elsewhere, Plain::AsNamed).is_ok(), "{elsewhere}");
    }
    for no_address in
        ["", "api.example", "ftp://a/v1", "https://u:s3cr3t@a/v1", "https://a/v1?x=1", "https://a/v1#x"]
    {
        let error = Endpoint::read(no_address, Plain::AsNamed).unwrap_err();
        assert_eq!(error, EndpointError::Form, "{no_address}");
        assert!(!error.to_string().contains("s3cr3t"));
    }
}

#[tokio::test]
async fn a_request_carries_the_token_and_says_who_asks() {
    let server = Server::plain(|_| answer(200, "{}")).await;
    let asked = Request {
        method: Method::Put,
        body: Some(r#"{"name":"a"}"#.into()),
        ..request(&format!("{}/servers/1", server.endpoint()))
    };
    assert_eq!(transport(&server).send(&asked).await.unwrap().status(), 200);
    let asked = server.asked().remove(0);
    let head = asked.head.to_lowercase();
    assert_eq!((asked.line.as_str(), asked.body.as_str()), ("PUT /v1/servers/1", r#"{"name":"a"}"#));
    assert!(asked.head.contains("Bearer t0ken"), "{head}");
    assert!(head.contains(concat!("user-agent: curfew-controller/", env!("CARGO_PKG_VERSION"))), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_the_token_goes_to_no_other_host() {
    let other = Server::plain(|_| answer(200, "{}")).await;
    let location = other.endpoint();
    let redirect =
        move |_: &_| format!("HTTP/1.1 302 X\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
    let server = Server::plain(redirect).await;
    let transport = transport(&server);
    let answered = transport.send(&request(&format!("{}/servers", server.endpoint()))).await.unwrap();
    assert_eq!(answered.status(), 302);
    let elsewhere = transport.send(&request(&format!("{}/servers", other.endpoint()))).await;
    assert!(matches!(elsewhere, Err(TransportError::Elsewhere { .. })), "{elsewhere:?}");
    assert!(other.asked().is_empty());
}

#[tokio::test]
async fn an_answer_that_does_not_end_is_given_up_after_ten_seconds_whatever_has_come() {
    let silent = Server::plain(|_| NEVER_ENDS.into()).await;
    let half = Server::plain(|_| format!("HTTP/1.1 200 X\r\ncontent-length: 99\r\n\r\n{{{NEVER_ENDS}")).await;
    let ask = |server: &Server| (transport(server), request(&format!("{}/servers", server.endpoint())));
    let ((a, of_a), (b, of_b)) = (ask(&silent), ask(&half));
    for end in <[_; 2]>::from(tokio::join!(a.send(&of_a), b.send(&of_b))) {
        let error = end.unwrap_err();
        assert!(matches!(error, TransportError::TimedOut { .. }), "{error:?}");
        assert!(error.to_string().contains("within 10 s"), "{error}");
    }
}

#[tokio::test]
async fn a_body_without_end_is_not_taken_into_memory() {
    let server = Server::plain(|_| {
        let body = "x".repeat(BODY_LIMIT + 1);
        format!("HTTP/1.1 200 X\r\nconnection: close\r\n\r\n{body}")
    });
    let server = server.await;
    let error =
        transport(&server).send(&request(&format!("{}/servers", server.endpoint()))).await.unwrap_err();
    assert!(matches!(error, TransportError::TooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn an_error_names_the_host_and_never_the_token() {
    let server = Server::plain(|_| "nonsense\r\n\r\n".into()).await;
    let host = format!("127.0.0.1:{}", server.port);
    let url = format!("{}/servers?label=t0ken", server.endpoint());
    let broken = transport(&server).send(&request(&url)).await.unwrap_err();
    let nobody = Endpoint::read("http://127.0.0.1:1/v1", Plain::ThisMachine).unwrap();
    let refused = Transport::new(nobody, None).unwrap().send(&request("http://127.0.0.1:1/v1/t0ken")).await;
    for (error, host) in [(broken, host.as_str()), (refused.unwrap_err(), "127.0.0.1:1")] {
        let text = all(&error);
        assert!(text.contains(host) && !text.contains("t0ken"), "{text}");
    }
}

#[tokio::test]
async fn a_private_authority_is_trusted_if_its_file_is_given_and_only_then() {
    let (dir, key) = (tempfile::tempdir().unwrap(), KeyPair::generate().unwrap());
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".into()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let server = Server::tls(TlsAcceptor::from(Arc::new(config)), |_| answer(200, "{}")).await;
    let (file, none) = (dir.path().join("ca.pem"), dir.path().join("none.pem"));
    fs::write(&file, authority.pem()).unwrap();
    fs::write(&none, "no certificate").unwrap();
    let endpoint =
        Endpoint::read(&format!("https://127.0.0.1:{}/v1", server.port), Plain::ThisMachine).unwrap();
    let asked = request(&format!("{}/servers", endpoint.as_str()));
    let trusting = Transport::new(endpoint.clone(), Some(&file)).unwrap().send(&asked).await;
    assert_eq!(trusting.unwrap().status(), 200);
    let text = all(&Transport::new(endpoint.clone(), None).unwrap().send(&asked).await.unwrap_err());
    assert!(text.contains("certificate"), "{text}");
    for unusable in [&none, &dir.path().join("missing.pem")] {
        let refused = Transport::new(endpoint.clone(), Some(unusable)).unwrap_err();
        assert!(refused.to_string().contains(&unusable.display().to_string()), "{refused}");
    }
}

#[tokio::test]
async fn a_proxy_of_the_environment_is_used_but_not_for_this_machine() {
    let (proxy, here) =
        (Server::plain(|_| answer(200, "{}")).await, Server::plain(|_| answer(200, "{}")).await);
    let (address, endpoint) = (format!("http://127.0.0.1:{}", proxy.port), here.endpoint());
    let inner = ["--ignored", "--exact", "cloud::transport::tests::asks_as_the_environment_says"];
    let child = move || {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(inner)
            .envs([("HTTP_PROXY", address), ("HERE", endpoint)])
            .env_remove("NO_PROXY")
            .output()
            .unwrap()
    };
    let output = tokio::task::spawn_blocking(child).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(proxy.lines(), ["GET http://api.example/v1/servers"]);
    assert_eq!(here.lines(), ["GET /v1/servers"]);
}

#[tokio::test]
#[ignore = "a part of a_proxy_of_the_environment_is_used_but_not_for_this_machine, in a process of its own"]
async fn asks_as_the_environment_says() {
    for endpoint in ["http://api.example/v1", &std::env::var("HERE").unwrap()] {
        let transport = Transport::new(Endpoint::read(endpoint, Plain::AsNamed).unwrap(), None).unwrap();
        assert_eq!(transport.send(&request(&format!("{endpoint}/servers"))).await.unwrap().status(), 200);
    }
}
