//! Audited: an index whose answers are compared with the data, and what follows from the result.

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_reader::File;

use crate::store::audit_memory::Finding;
use crate::store::block_directory::BlockDirectory;

/// What follows if an index is refuted before a query uses it.
pub(super) const FROM_DATA: &str = "the answers are read from the data";
/// What follows if it is refuted later.
pub(super) const ASK_AGAIN: &str = "it is not used any more, but a part of this answer may have used it: ask again";

/// The index of one dataset, or of several together.
pub(super) trait Audited {
    /// The file of the datasets.
    fn file(&self) -> &File;
    /// Its blocks.
    fn directory(&self) -> &BlockDirectory;
    /// The paths of the datasets, for messages.
    fn label(&self) -> Result<String>;

    /// Notes the result of an audit. Data that cannot be read neither refute nor confirm the index.
    fn judge(&self, is_right: Result<bool>, passed: Finding, what_follows: &str) -> Result<()> {
        match is_right {
            Ok(false) => return Err(self.refuted(what_follows)),
            Ok(true) => self.directory().note(passed),
            Err(_) => {}
        }
        Ok(())
    }

    /// Refutes the index; the error says so, and `what_follows`.
    fn refuted(&self, what_follows: &str) -> Error {
        self.directory().refute();
        let (paths, file) = (self.label().unwrap_or_default(), self.file().name());
        let message = format!("the index of {paths} in {file} disagrees with the data: {what_follows}; rebuild or remove the index");
        Error::new(ErrorKind::Conflict, message)
    }
}
