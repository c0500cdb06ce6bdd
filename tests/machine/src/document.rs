//! What a machine is given: a document for cloud-init.

use serde_json::{Value, json};

/// A file the document brings.
#[derive(Clone, Debug)]
pub(crate) struct Extra {
    pub(crate) path: String,
    pub(crate) mode: &'static str,
    pub(crate) content: String,
}

impl Extra {
    pub(crate) fn new(path: impl Into<String>, mode: &'static str, content: impl Into<String>) -> Self {
        Self { path: path.into(), mode, content: content.into() }
    }
}

/// A document that installs the agent from `url`. JSON is YAML.
pub(crate) fn by_hand(url: &str, extras: Vec<Extra>) -> String {
    let units = [
        ("curfew-agent.service", include_str!("../../../systemd/curfew-agent.service")),
        ("curfew-backstop.service", include_str!("../../../systemd/curfew-backstop.service")),
        ("curfew-backstop.timer", include_str!("../../../systemd/curfew-backstop.timer")),
    ];
    let units = units.map(|(name, text)| Extra::new(format!("/etc/systemd/system/{name}"), "0644", text));
    let files: Vec<Value> = extras
        .into_iter()
        .chain(units)
        .map(|Extra { path, mode, content }| json!({"path": path, "permissions": mode, "content": content}))
        .collect();
    let fetch = format!(
        "import os, urllib.request as u\nb = u.urlopen('{url}', timeout=30).read()\n\
         p = '/usr/local/bin/curfew-agent'\nopen(p, 'wb').write(b)\nos.chmod(p, 0o755)"
    );
    let document = json!({
        "write_files": files,
        "runcmd": [
            ["python3", "-c", fetch],
            ["systemctl", "enable", "--now", "--no-block", "curfew-agent.service", "curfew-backstop.timer"],
        ],
    });
    format!("#cloud-config\n{document}\n")
}
