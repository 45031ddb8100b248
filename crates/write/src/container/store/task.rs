//! Tasks that write to an object store: their subfile is a local file without a name, which is uploaded when it is complete.

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_reader::Session;
use hyperslab_storage::{Existing, StorageOptions, object_tag, remove_objects};

use super::place::{BEGUN, StorePlace};
use crate::container::plan::WritePlan;
use crate::file::file_writer::FileWriter;

/// The store of a task.
pub(crate) struct TaskStore {
    place: StorePlace,
    folder: String,
    has_begun: bool,
    shown: String,
}

impl TaskStore {
    /// The store of a task of `plan`.
    ///
    /// # Errors
    /// `Cancelled` if the plan has begun and was aborted.
    pub fn new(plan: &WritePlan, place: &StorePlace) -> Result<Self> {
        let store = Self { place: place.clone(), folder: plan.object_folder(), has_begun: plan.begun, shown: plan.path().display().to_string() };
        if store.is_aborted()? { Err(store.aborted()) } else { Ok(store) }
    }

    /// Begins the subfile `name`.
    pub fn subfile(&self, name: &str, alignment: Option<u64>, session: &Session) -> Result<FileWriter> {
        FileWriter::for_object(&format!("{}/{name}", self.folder), alignment, &self.options(), session)
    }

    /// Uploads the complete subfile and returns its length. If the plan has ended meanwhile, nothing of it stays.
    pub fn upload(&self, subfile: FileWriter, name: &str) -> Result<u64> {
        let bytes = subfile.finish(Existing::Replace).map_err(|error| self.place.explained(error))?;
        if self.is_aborted()? {
            remove_objects(&self.folder, &self.options(), vec![name.to_owned()]).map_err(|error| self.place.explained(error))?;
            return Err(self.aborted());
        }
        Ok(bytes)
    }

    fn options(&self) -> StorageOptions {
        self.place.options()
    }

    fn is_aborted(&self) -> Result<bool> {
        if !self.has_begun {
            return Ok(false);
        }
        let found = object_tag(&format!("{}/{BEGUN}", self.folder), &self.options());
        found.map(|tag| tag.is_none()).map_err(|error| self.place.explained(error))
    }

    fn aborted(&self) -> Error {
        Error::new(ErrorKind::Cancelled, "this write was aborted or is committed already: its objects are gone or belong to readers").in_file(&self.shown)
    }
}
