//! What a file may cost a model in memory: names and values that it keeps to say what the file means.

use hyperslab_array::{Error, Result};
use hyperslab_reader::File;

/// Bytes that are left. Files may name one object many times, so that what is said of them exceeds their size.
pub(crate) struct Budget {
    left: u64,
}

impl Budget {
    /// The limit `metadata_bytes` of the file's session.
    pub fn of(file: &File) -> Self {
        Self { left: file.session().limits().metadata_bytes }
    }

    /// Pays for `bytes` about the object at `path`.
    ///
    /// # Errors
    /// `LimitExceeded` if they are not left.
    pub fn pay(&mut self, bytes: u64, path: &str) -> Result<()> {
        let left =
            self.left.checked_sub(bytes).ok_or_else(|| Error::limit_exceeded("what this file says of itself exceeds the limit metadata_bytes").at_object(path));
        self.left = left?;
        Ok(())
    }
}
