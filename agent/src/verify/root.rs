//! The root directory of an image, and the files in it as the image's own processes will see them: links are followed as
//! if this directory were `/`. Never reads anything of the machine the image is built on.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Component, Path, PathBuf},
};

/// What is checked: an image, or a machine in use.
#[derive(Clone, Debug)]
pub struct Root {
    dir: PathBuf,
    image: bool,
}

impl Root {
    /// The image or machine at `dir`. Whatever is not at `/` is an image; what is there is one if `image` says so.
    #[must_use]
    pub fn new(dir: PathBuf, image: bool) -> Self {
        Self { image: image || dir != Path::new("/"), dir }
    }

    /// Whether machines will be made from it. A machine in use has an identity of its own, and should.
    #[must_use]
    pub const fn is_image(&self) -> bool {
        self.image
    }

    /// The directory, for people.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The file's content. Whatever else lies in an image under that name (a pipe, a device) would not end.
    pub fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let path = self.follow(path)?;
        let metadata = fs::metadata(&path)?;
        if !metadata.is_file() || metadata.len() > LARGEST {
            return Err(io::Error::other("not a file, or larger than any that belongs there"));
        }
        fs::read(path)
    }

    /// Whether there is something at `path`, if only a link to nothing.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        self.entry(path).is_ok_and(|path| path.symlink_metadata().is_ok())
    }

    /// Where the link at `path` points to, as it is written. `None`: it is no link.
    #[must_use]
    pub fn link(&self, path: &str) -> Option<PathBuf> {
        fs::read_link(self.entry(path).ok()?).ok()
    }

    /// Whether somebody may execute the file.
    #[must_use]
    pub fn is_executable(&self, path: &str) -> bool {
        let metadata = self.follow(path).and_then(fs::metadata);
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    }

    /// The names in a directory, sorted; none where there is no such directory.
    #[must_use]
    pub fn names(&self, dir: &str) -> Vec<String> {
        let entries = self.follow(dir).and_then(fs::read_dir).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Where `path` is, with every link in it followed.
    fn follow(&self, path: &str) -> io::Result<PathBuf> {
        self.walk(Path::new(path), true)
    }

    /// Where `path` is, with every link followed but the last.
    fn entry(&self, path: &str) -> io::Result<PathBuf> {
        self.walk(Path::new(path), false)
    }

    fn walk(&self, path: &Path, to_the_end: bool) -> io::Result<PathBuf> {
        let (mut here, mut links) = (PathBuf::new(), 0);
        let mut ahead: Vec<PathBuf> = parts(path);
        while let Some(part) = ahead.pop() {
            if part == Path::new("..") {
                // Above the root there is the root.
                here.pop();
                continue;
            }
            here.push(&part);
            let Ok(target) = fs::read_link(self.dir.join(&here)) else { continue };
            if ahead.is_empty() && !to_the_end {
                continue;
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(io::Error::other(format!("too many links on the way to {}", path.display())));
            }
            here.pop();
            if target.is_absolute() {
                here = PathBuf::new();
            }
            ahead.extend(parts(&target));
        }
        Ok(self.dir.join(here))
    }
}

/// The parts of a path, the last one first, as far as they lead anywhere.
fn parts(path: &Path) -> Vec<PathBuf> {
    let lead = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    path.components().filter(lead).map(|part| PathBuf::from(part.as_os_str())).rev().collect()
}

/// A debug build of the agent is a third of it.
const LARGEST: u64 = 1 << 29;
/// As in the kernel.
const MOST_LINKS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_link_leads_out_of_the_image() {
        let (outside, image) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret"), "the build host's").unwrap();
        let root = Root::new(image.path().to_owned(), false);
        let at = |name: &str| image.path().join(name);
        fs::create_dir_all(at("etc")).unwrap();
        fs::write(at("secret"), "the image's").unwrap();
        symlink(outside.path().join("secret"), at("etc/absolute")).unwrap();
        symlink(format!("../../../../../{}", outside.path().join("secret").display()), at("etc/climbing"))
            .unwrap();
        symlink(outside.path(), at("etc/dir")).unwrap();
        symlink("/secret", at("etc/own")).unwrap();
        symlink("../../secret", at("etc/own-climbing")).unwrap();
        symlink("circle", at("etc/circle")).unwrap();
        for lost in ["etc/absolute", "etc/climbing", "etc/dir/secret", "etc/circle", "../secret/x"] {
            assert!(root.read(lost).is_err(), "{lost}");
        }
        assert!(root.contains("etc/absolute") && root.contains("etc/circle"), "links are there");
        assert!(root.names("etc/dir").is_empty() && !root.is_executable("etc/dir/secret"));
        for own in ["etc/own", "/etc/own", "etc/own-climbing", "etc/../secret", "../../secret"] {
            assert_eq!(root.read(own).unwrap(), b"the image's", "{own}");
        }
    }
}
