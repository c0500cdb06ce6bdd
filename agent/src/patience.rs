//! Waiting for something that may hang, and only for so long: a disk, a file on one, the C library's resolver.
//!
//! Whatever may not return is done by a thread of its own and left behind if it does not. Where no thread can be had it
//! is done here after all: then it may hang, but not doing it at all would be worse.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    sync::mpsc,
    thread,
    time::Duration,
};

/// What `work` returns, if it does so within `limit`.
pub fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Clone + Send + 'static,
) -> Option<T> {
    let (answer, answered) = mpsc::channel();
    let here = work.clone();
    let started = thread::Builder::new().name("patience".into()).stack_size(STACK).spawn(move || {
        let _ = answer.send(work());
    });
    match started {
        Ok(_) => answered.recv_timeout(limit).ok(),
        Err(_) => Some(here()),
    }
}

/// A small file, from a disk that may hang: then it counts as one that cannot be read, as does one that is not small.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let path = path.to_owned();
    within(DISK_ANSWERS, move || small(&path)).unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
}

/// What is left behind goes on reading, so it must come to an end, too.
fn small(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// A bundle of every public certificate authority is a quarter of it.
const LARGEST: u64 = 1 << 20;
const DISK_ANSWERS: Duration = Duration::from_secs(1);

const STACK: usize = 128 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_not_taken_into_memory() {
        let error = read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn what_hangs_is_left_behind() {
        assert_eq!(within(Duration::from_secs(5), || 7), Some(7));
        let hung = within(Duration::from_millis(10), || {
            loop {
                thread::park();
            }
        });
        assert_eq!(hung, None::<()>);
    }
}
