//! A stream of bytes as lines, wherever the network cut it. Pure.

use std::mem;

/// What has come and is not yet a whole line.
#[derive(Default)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    searched: usize,
}

impl Lines {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// Bytes held.
    pub(super) const fn len(&self) -> usize {
        self.buffer.len()
    }

    /// The next whole line that is not blank, without its end.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        while let Some(end) = self.buffer[self.searched..].iter().position(|&byte| byte == b'\n') {
            let rest = self.buffer.split_off(self.searched + end + 1);
            let line = mem::replace(&mut self.buffer, rest);
            self.searched = 0;
            if !line.trim_ascii().is_empty() {
                return Some(line);
            }
        }
        self.searched = self.buffer.len();
        None
    }
}
