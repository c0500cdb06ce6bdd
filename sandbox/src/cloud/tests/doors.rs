//! The API down in both ways, back on the same port, and over TLS.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;

async fn dial(cloud: &Cloud) -> io::Result<TcpStream> {
    TcpStream::connect(cloud.endpoint().trim_start_matches("http://").trim_end_matches("/v1")).await
}

#[tokio::test]
async fn a_refusing_api_listens_nowhere_and_comes_back_on_the_same_port() {
    let cloud = setting(Settings::default()).await;
    let endpoint = cloud.cloud.endpoint();
    assert_eq!(cloud.get("/servers").await.0, 200);
    for _ in 0..3 {
        cloud.cloud.set_api(Mode::Refuse).await.unwrap();
        assert_eq!(dial(&cloud.cloud).await.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        assert!(cloud.request(&cloud.token, Method::GET, "/servers", None).send().await.is_err());
        cloud.cloud.set_api(Mode::Up).await.unwrap();
        assert_eq!((cloud.get("/servers").await.0, cloud.cloud.endpoint()), (200, endpoint.clone()));
    }
}

#[tokio::test]
async fn a_hanging_api_accepts_and_never_answers_and_what_was_asked_has_no_effect() {
    let cloud = setting(Settings::default()).await;
    let id = cloud.server("one");
    assert_eq!(cloud.get("/servers").await.0, 200);
    cloud.cloud.set_api(Mode::Hang).await.unwrap();
    let path = format!("/servers/{id}");
    let mut delete = Box::pin(cloud.request(&cloud.token, Method::DELETE, &path, None).send());
    let mut fresh = dial(&cloud.cloud).await.unwrap();
    let mut byte = [0];
    tokio::select! {
        answer = &mut delete => panic!("was answered: {answer:?}"),
        read = fresh.read(&mut byte) => panic!("was answered: {read:?}"),
        () = tokio::time::sleep(Duration::from_millis(200)) => {}
    }
    cloud.cloud.set_api(Mode::Up).await.unwrap();
    assert!(delete.await.is_err());
    assert!(fresh.read(&mut byte).await.is_err());
    assert!(cloud.cloud.contains(id));
    assert_eq!(cloud.delete(id).await.0, 200);
}

#[tokio::test]
async fn a_reset_is_a_reset_and_not_an_orderly_end() {
    let cloud = setting(Settings::default()).await;
    cloud.cloud.inject(Fault::every(Effect::Reset { effective: true }));
    let mut stream = dial(&cloud.cloud).await.unwrap();
    stream.write_all(b"GET /v1/servers HTTP/1.1\r\nHost: cloud\r\n\r\n").await.unwrap();
    let error = stream.read(&mut [0; 64]).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_port_that_is_taken_is_an_error_at_the_start() {
    let cloud = setting(Settings::default()).await;
    let port = cloud.cloud.http.address.port();
    assert!(Cloud::start(Options { port, ..Options::default() }).await.is_err());
}

#[tokio::test]
async fn the_api_can_also_be_served_over_tls() {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (cert, key) = (own.cert.der().clone(), own.signing_key.serialize_der());
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.clone()], rustls::pki_types::PrivateKeyDer::Pkcs8(key.into()))
        .unwrap();
    let cloud = Cloud::start(Options { tls: Some(Arc::new(server)), ..Options::default() }).await.unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(cert).unwrap();
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy().build().unwrap();
    let token = cloud.issue_token(Project::OURS, Access::Read, "reader");
    let ask = || client.get(cloud.tls_endpoint().unwrap() + "/servers").bearer_auth(&token).send();
    assert_eq!(ask().await.unwrap().status(), StatusCode::OK);
    cloud.inject(Fault::every(Effect::Reset { effective: true }).times(1));
    assert!(ask().await.is_err());
    cloud.set_api(Mode::Refuse).await.unwrap();
    assert!(ask().await.is_err());
    cloud.set_api(Mode::Up).await.unwrap();
    assert_eq!(ask().await.unwrap().status(), StatusCode::OK);
}
