//! Kubeconfig files in the forms a machine really has: for people with everything inline, for kubelets as
//! kubeadm and k3s lay them out. Owns the layout of the files; keys are written readable to their owner only.

use std::{
    fs, io,
    os::unix::fs::{OpenOptionsExt, symlink},
    path::{Path, PathBuf},
};

use k8s_openapi::ByteString;

use super::{
    Error,
    pki::{Credential, KeyForm},
};

/// How a node keeps its kubelet's credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeForm {
    /// `kubelet.conf`, and `pki/kubelet-client-current.pem`: a symlink to certificate and key in one file.
    Kubeadm(KeyForm),
    /// `kubelet.kubeconfig`, `client-kubelet.crt`, `client-kubelet.key` and `server-ca.crt`.
    K3s,
}

/// What every kubeconfig names.
pub(crate) struct Server<'a> {
    pub(crate) url: String,
    /// PEM.
    pub(crate) authority: &'a str,
}

/// Everything in one file.
pub(crate) fn inline(server: &Server<'_>, user: &str, credential: &Credential) -> Result<String, Error> {
    let (certificate, key) = (base64(credential.certificate.as_bytes()), credential.key(KeyForm::Pkcs8)?);
    let held =
        format!("client-certificate-data: {certificate}\n    client-key-data: {}", base64(key.as_bytes()));
    let authority = format!("certificate-authority-data: {}", base64(server.authority.as_bytes()));
    Ok(config(&server.url, &authority, user, &held))
}

/// Writes a node's files below `dir` and returns the kubeconfig's path. Called again with another credential,
/// it rotates: the kubeconfig stays, what it points to is replaced at once.
pub(crate) fn write_node(
    dir: &Path,
    form: NodeForm,
    server: &Server<'_>,
    user: &str,
    credential: &Credential,
) -> Result<PathBuf, Error> {
    match form {
        NodeForm::Kubeadm(keys) => {
            let pki = dir.join("pki");
            fs::create_dir_all(&pki).map_err(Error::files(&pki))?;
            let current = pki.join("kubelet-client-current.pem");
            let both = format!("{}{}", credential.certificate, credential.key(keys)?);
            let file = pki.join(format!(
                "kubelet-client-{}.pem",
                fs::read_dir(&pki).map_err(Error::files(&pki))?.count()
            ));
            secret(&file, &both).map_err(Error::files(&file))?;
            swap_link(&file, &current).map_err(Error::files(&current))?;
            let path = dir.join("kubelet.conf");
            let held = format!("client-certificate: {0}\n    client-key: {0}", current.display());
            let authority = format!("certificate-authority-data: {}", base64(server.authority.as_bytes()));
            secret(&path, &config(&server.url, &authority, user, &held)).map_err(Error::files(&path))?;
            Ok(path)
        }
        NodeForm::K3s => {
            fs::create_dir_all(dir).map_err(Error::files(dir))?;
            let [authority, certificate, key, path] =
                ["server-ca.crt", "client-kubelet.crt", "client-kubelet.key", "kubelet.kubeconfig"]
                    .map(|name| dir.join(name));
            let held =
                format!("client-certificate: {}\n    client-key: {}", certificate.display(), key.display());
            let trust = format!("certificate-authority: {}", authority.display());
            for (path, text) in [
                (&authority, server.authority.to_owned()),
                (&certificate, credential.certificate.clone()),
                (&key, credential.key(KeyForm::Sec1)?),
                (&path, config(&server.url, &trust, user, &held)),
            ] {
                secret(path, &text).map_err(Error::files(path))?;
            }
            Ok(path)
        }
    }
}

fn config(url: &str, authority: &str, user: &str, held: &str) -> String {
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: curfew-sandbox
  cluster:
    server: {url}
    {authority}
users:
- name: {user}
  user:
    {held}
contexts:
- name: default
  context:
    cluster: curfew-sandbox
    user: {user}
current-context: default
"
    )
}

/// The encoding of binary data in Kubernetes objects.
pub(crate) fn base64(bytes: &[u8]) -> String {
    let encoded = serde_json::to_value(ByteString(bytes.to_vec()));
    encoded.ok().and_then(|v| v.as_str().map(Into::into)).unwrap_or_default()
}

/// Writes beside and renames, so that a reader sees the old file or the new one.
pub(crate) fn secret(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    io::Write::write_all(&mut file, text.as_bytes())?;
    fs::rename(beside, path)
}

fn swap_link(to: &Path, link: &Path) -> io::Result<()> {
    let beside = link.with_extension("new");
    let _ = fs::remove_file(&beside);
    symlink(to, &beside)?;
    fs::rename(beside, link)
}
