use std::{error::Error, path::Path};

use super::*;

const KUBEADM: &str = "\
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTg==
    server: https://10.0.0.1:6443
  name: default-cluster
contexts:
- context:
    cluster: default-cluster
    namespace: default
    user: default-auth
  name: default-context
current-context: default-context
kind: Config
users:
- name: default-auth
  user:
    client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem
    client-key: /var/lib/kubelet/pki/kubelet-client-current.pem
";

const K3S: &str = "\
apiVersion: v1
clusters:
- cluster:
    server: https://127.0.0.1:6444
    certificate-authority: /var/lib/rancher/k3s/agent/server-ca.crt
  name: local
contexts:
- context:
    cluster: local
    namespace: default
    user: user
  name: Default
current-context: Default
kind: Config
preferences: {}
users:
- name: user
  user:
    client-certificate: client-kubelet.crt
    client-key: client-kubelet.key
";

fn parse(text: &str) -> Result<Kubeconfig, KubeconfigError> {
    Kubeconfig::parse(text, Path::new("/etc/kubernetes"))
}

fn in_file(path: &str) -> Pem {
    Pem::File(PathBuf::from(path))
}

/// What a kubeconfig must at least say, with a user of one's own.
fn with_user(user: &str) -> String {
    format!(
        r#"{{"current-context":"c","contexts":[{{"name":"c","context":{{"cluster":"k","user":"u"}}}}],
        "clusters":[{{"name":"k","cluster":{{"server":"https://h"}}}}],"users":[{{"name":"u","user":{user}}}]}}"#
    )
}

#[test]
fn the_kubeadm_form_is_read() {
    let config = parse(KUBEADM).unwrap();
    let pem = in_file("/var/lib/kubelet/pki/kubelet-client-current.pem");
    assert_eq!(config.server.as_str(), "https://10.0.0.1:6443/");
    assert_eq!(config.authority, Some(Pem::Inline(b"-----BEGIN".to_vec())));
    assert_eq!(config.identity, Some(Identity { certificate: pem.clone(), key: pem }));
    assert_eq!(config.bearer, None);
}

#[test]
fn the_k3s_form_is_read_and_relative_paths_are_relative_to_the_file() {
    let config = parse(K3S).unwrap();
    assert_eq!(config.authority, Some(in_file("/var/lib/rancher/k3s/agent/server-ca.crt")));
    let identity = config.identity.unwrap();
    assert_eq!(identity.certificate, in_file("/etc/kubernetes/client-kubelet.crt"));
    assert_eq!(identity.key, in_file("/etc/kubernetes/client-kubelet.key"));
}

#[test]
fn json_inline_data_and_tokens_are_read_and_a_token_file_goes_before_a_token() {
    let data = r#"{"client-certificate-data":"YQ==","client-certificate":"no","client-key-data":"Yg=="}"#;
    let identity = parse(&with_user(data)).unwrap().identity.unwrap();
    assert_eq!(
        identity,
        Identity { certificate: Pem::Inline(b"a".to_vec()), key: Pem::Inline(b"b".to_vec()) }
    );
    let bearer = |user| parse(&with_user(user)).unwrap().bearer.unwrap();
    assert_eq!(bearer(r#"{"token":"abc"}"#), Bearer::Inline(Token::new("abc").unwrap()));
    let file = Bearer::File(PathBuf::from("/etc/kubernetes/t"));
    assert_eq!(bearer(r#"{"token":"abc","tokenFile":"t"}"#), file);
}

#[test]
fn server_name_and_proxy_are_read() {
    let text = K3S.replace(
        "    server: https://127.0.0.1:6444\n",
        "    server: https://127.0.0.1:6444/k8s\n    tls-server-name: api.example.org\n    proxy-url: http://p:3128\n",
    );
    let config = parse(&text).unwrap();
    assert_eq!(config.server.as_str(), "https://127.0.0.1:6444/k8s");
    assert_eq!(config.tls_server_name.unwrap().to_str(), "api.example.org");
    assert!(!config.proxy.unwrap().is_none());
}

#[test]
fn a_kubeconfig_that_cannot_be_used_says_which_field_is_to_blame() {
    let replaced = |from: &str, to: &str| {
        assert!(K3S.contains(from), "{from}");
        K3S.replace(from, to)
    };
    let server = "server: https://127.0.0.1:6444";
    for (text, blamed) in [
        (String::new(), "the whole"),
        ("just text".into(), "the whole"),
        ("a: [".into(), "not YAML: line"),
        ("a: b".into(), "no current-context"),
        (replaced("current-context: Default", "current-context: other"), "no contexts[other].context"),
        (replaced("    cluster: local\n", ""), "no contexts[Default].context.cluster"),
        (replaced("    cluster: local\n", "    cluster: other\n"), "no clusters[other].cluster"),
        (replaced("    user: user\n", "    user: other\n"), "no users[other].user"),
        (replaced(server, ""), "no clusters[local].cluster.server"),
        (replaced(server, "server: 17"), "clusters[local].cluster.server of the kubeconfig is not a text"),
        (replaced(server, "server: http://10.0.0.1:8080"), "clusters[local].cluster.server"),
        (replaced(server, "server: 10.0.0.1:6443"), "clusters[local].cluster.server"),
        (replaced(server, "server: https://u:p@h"), "clusters[local].cluster.server"),
        (
            replaced(server, "server: https://h\n    insecure-skip-tls-verify: true"),
            "insecure-skip-tls-verify",
        ),
        (replaced(server, "server: https://h\n    tls-server-name: '%'"), "tls-server-name"),
        (replaced(server, "server: https://h\n    proxy-url: 'socks5://s3cr3t@h'"), "proxy-url"),
        (
            replaced(server, "server: https://h\n    certificate-authority-data: '%'"),
            "certificate-authority-data",
        ),
        (replaced("    client-key: client-kubelet.key\n", ""), "no users[user].user.client-key"),
        (
            replaced("    client-certificate: client-kubelet.crt\n", ""),
            "no users[user].user.client-certificate",
        ),
        (with_user("{}"), "client-certificate, token or tokenFile"),
        (with_user(r#"{"token":"s3cr3t s3cr3t"}"#), "users[u].user.token"),
        (with_user(r#"{"client-key-data":"%s3cr3t"}"#), "users[u].user.client-key-data"),
        (with_user(r#"{"exec":{"command":"aws"}}"#), "users[u].user.exec"),
        (with_user(r#"{"auth-provider":{"name":"gcp"}}"#), "users[u].user.auth-provider"),
    ] {
        let error = parse(&text).unwrap_err();
        assert!(error.to_string().contains(blamed), "{error}\n{text}");
        assert!(!format!("{error:?} {error} {:?}", error.source()).contains("s3cr3t"), "{error:?}");
    }
}

#[test]
fn what_is_read_never_shows_a_credential() {
    let user = r#"{"token":"s3cr3t","client-certificate-data":"czNjcjN0","client-key-data":"czNjcjN0"}"#;
    let shown = format!("{:?}", parse(&with_user(user)).unwrap());
    assert!(!shown.contains("s3cr3t") && !shown.contains("[115, 51"), "{shown}");
}

#[test]
fn a_token_file_is_read_anew_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    let bearer = Bearer::File(path.clone());
    assert!(matches!(bearer.token(), Err(KubeconfigError::TokenFile(_, TokenFileError::Unreadable(_)))));
    for token in ["one", "two\n"] {
        fs::write(&path, token).unwrap();
        assert_eq!(bearer.token().unwrap(), Token::new(token).unwrap());
    }
    fs::write(&path, "").unwrap();
    assert!(matches!(bearer.token(), Err(KubeconfigError::TokenFile(_, TokenFileError::NoToken(_)))));
}

#[test]
fn a_kubeconfig_nested_without_end_or_full_of_aliases_is_refused_and_ends_no_agent() {
    let bomb = (1..40).fold("a0: &a0 x\n".to_owned(), |text, n| {
        let before = n - 1;
        text + &format!("a{n}: &a{n} [*a{before}, *a{before}]\n")
    });
    for text in ["- ".repeat(200_000), "? ".repeat(200_000), "[".repeat(200_000), bomb] {
        assert!(matches!(parse(&text), Err(KubeconfigError::NotYaml { .. })), "{}", &text[..40]);
    }
}
