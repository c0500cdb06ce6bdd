use super::*;

const HOURS: SignedDuration = SignedDuration::from_hours(8);
const TEMPLATE: &str =
    "label: curfew.dev/lease=@CURFEW_LEASE@\nlife: @CURFEW_LIFETIME@\ntoken: @CURFEW_TOKEN@\n";

fn filled(template: &str, token: Option<&str>) -> Result<String, Unfit> {
    fill(template, "burst", HOURS, token).map(|document| document.reveal().to_owned())
}

#[test]
fn a_template_is_filled_with_the_machines_own() {
    let document = "label: curfew.dev/lease=burst\nlife: 8h0m0s\ntoken: s3cr3t\n";
    assert_eq!(filled(TEMPLATE, Some("s3cr3t")), Ok(document.into()));
    let without = TEMPLATE.replace(TOKEN, "on the image");
    assert_eq!(
        filled(&without, None),
        filled(&without, Some("s3cr3t")),
        "a token that nobody asks for stays out"
    );
}

#[test]
fn a_document_that_is_not_whole_orders_no_machine() {
    assert_eq!(filled(TEMPLATE, None), Err(Unfit::NoCredential));
    assert_eq!(filled("#cloud-config\n", Some("s3cr3t")), Err(Unfit::NoLease));
    assert_eq!(filled("@CURFEW_LEASE@ @CURFEW_REGION@", None), Err(Unfit::Unknown(6)));
    let long = "l".repeat(64);
    assert_eq!(fill(TEMPLATE, &long, HOURS, Some("s3cr3t")), Err(Unfit::LongName(64)));
}

#[test]
fn it_is_measured_as_it_is_sent() {
    let room = UserData::LIMIT - filled(TEMPLATE, Some("s3cr3t")).unwrap().len();
    let template = TEMPLATE.to_owned() + &"x".repeat(room);
    assert_eq!(filled(&template, Some("s3cr3t")).unwrap().len(), UserData::LIMIT);
    let size = UserData::LIMIT + 1;
    assert_eq!(filled(&(template + "x"), Some("s3cr3t")), Err(Unfit::TooBig { size }));
}

#[test]
fn a_credential_that_would_break_the_document_is_refused_and_nothing_of_it_is_said() {
    for token in ["s3cr3t\nruncmd: [evil]", "s3cr3t s3cr3t", ""] {
        let unfit = filled(TEMPLATE, Some(token)).unwrap_err();
        assert!(matches!(unfit, Unfit::Credential(_)), "{unfit}");
        assert!(!format!("{unfit} {unfit:?}").contains("s3cr3t"));
    }
    let template = "secret-join-token @CURFEW_LEASE@ @CURFEW_secret-too@";
    let unfit = filled(template, None).unwrap_err();
    assert!(!format!("{unfit} {unfit:?}").contains("secret-"), "{unfit}");
}
