use std::sync::Arc;

use rustls::{CertificateError, Error};

use crate::net::{
    Dates, DatesIgnored, HttpError, Options, Proxies, Transport,
    testing::{Authority, NOW, Pair, Reply, Server, best_time, file},
};
use curfew_provider::{Answer, Method, Request, Token};

struct Visit {
    outcome: Result<Answer, HttpError>,
    dates_ignored: bool,
}

impl Visit {
    fn refused_for(&self) -> &Error {
        match &self.outcome {
            Err(HttpError::Tls { fault, .. }) => fault,
            other => panic!("{other:?}"),
        }
    }
}

/// Asks a server that shows `pair`, trusting `trusted`, while it is `now`.
async fn visit(trusted: &Authority, pair: &Pair, dates: Dates, now: &str) -> Visit {
    let server = Server::tls(pair, trusted, |_| Reply::ok("{}")).await;
    let dir = tempfile::tempdir().unwrap();
    let dates_ignored = Arc::new(DatesIgnored::default());
    let options = Options {
        authorities: Some(file(&dir, "ca.pem", &trusted.pem())),
        proxies: Proxies::none(),
        fallback: Vec::new(),
        dates,
        best_time: best_time(now),
        dates_ignored: Arc::clone(&dates_ignored),
    };
    let url = format!("https://{}/", server.address);
    let request = Request { method: Method::Get, url, body: None, token: Token::new("t").unwrap() };
    let outcome = Transport::new(&options).unwrap().send(&request, std::time::Duration::from_secs(20)).await;
    Visit { outcome, dates_ignored: dates_ignored.is_current() }
}

const LOOPBACK: &str = "127.0.0.1";

#[tokio::test]
async fn a_server_whose_dates_are_right_is_accepted_and_nothing_is_reported() {
    let ca = Authority::new();
    for dates in [Dates::Strict, Dates::ClampedIfOnlyFault] {
        let visit = visit(&ca, &ca.server(LOOPBACK, (2020, 2030)), dates, NOW).await;
        assert_eq!(visit.outcome.unwrap().status(), 200);
        assert!(!visit.dates_ignored);
    }
}

#[tokio::test]
async fn a_date_as_the_only_fault_is_ignored_and_reported_where_that_is_allowed() {
    let ca = Authority::new();
    for now in
        ["1970-01-01T00:00:00Z", "2019-12-31T23:59:59Z", "2031-01-02T00:00:00Z", "2200-01-01T00:00:00Z"]
    {
        let visit = visit(&ca, &ca.server(LOOPBACK, (2020, 2030)), Dates::ClampedIfOnlyFault, now).await;
        assert_eq!(visit.outcome.unwrap().status(), 200, "{now}");
        assert!(visit.dates_ignored, "{now}");
    }
}

#[tokio::test]
async fn a_date_is_a_fault_where_dates_are_strict_and_the_clock_is_the_agents_best_time() {
    let ca = Authority::new();
    let visit = visit(&ca, &ca.server(LOOPBACK, (2020, 2030)), Dates::Strict, "2031-01-02T00:00:00Z").await;
    let fault = visit.refused_for();
    assert!(matches!(fault, Error::InvalidCertificate(CertificateError::ExpiredContext { .. })), "{fault:?}");
    assert!(!visit.dates_ignored);
}

#[tokio::test]
async fn each_certificate_of_a_chain_has_dates_of_its_own_and_one_time_must_satisfy_them_all() {
    let ca = Authority::new();
    for (intermediate, leaf, accepted) in [
        ((2020, 2024), (2024, 2030), true),
        ((2024, 2030), (2020, 2024), true),
        ((2020, 2022), (2024, 2030), false),
        ((2024, 2030), (2020, 2022), false),
    ] {
        let below = ca.intermediate(intermediate);
        let pair = below.server(LOOPBACK, leaf).below(&below);
        for now in ["1970-01-01T00:00:00Z", "2023-06-01T00:00:00Z", "2200-01-01T00:00:00Z"] {
            let visit = visit(&ca, &pair, Dates::ClampedIfOnlyFault, now).await;
            assert_eq!(visit.outcome.is_ok(), accepted, "{intermediate:?} {leaf:?} {now}");
            assert_eq!(visit.dates_ignored, accepted);
        }
    }
}

#[tokio::test]
async fn a_wrong_name_is_never_forgiven_whatever_the_dates() {
    let ca = Authority::new();
    for years in [(2020, 2030), (2020, 2021)] {
        let visit = visit(&ca, &ca.server("10.0.0.1", years), Dates::ClampedIfOnlyFault, NOW).await;
        let fault = visit.refused_for();
        assert!(
            matches!(fault, Error::InvalidCertificate(CertificateError::NotValidForNameContext { .. })),
            "{fault:?}"
        );
        assert!(!visit.dates_ignored);
    }
}

#[tokio::test]
async fn an_unknown_issuer_is_never_forgiven_whatever_the_dates() {
    let (ca, stranger) = (Authority::new(), Authority::new());
    for years in [(2020, 2030), (2020, 2021)] {
        let visit = visit(&ca, &stranger.server(LOOPBACK, years), Dates::ClampedIfOnlyFault, NOW).await;
        assert!(matches!(visit.refused_for(), Error::InvalidCertificate(_)));
        assert!(!visit.dates_ignored);
    }
}
