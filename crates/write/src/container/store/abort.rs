//! The beginning and the end of a write to an object store that is not committed.

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_storage::{PutCondition, StorageOptions, UPLOAD_NOTE, abort_upload, list_folder, put_object, read_object, remove_objects};

use super::place::{BEGUN, StorePlace};
use crate::container::plan::WritePlan;

/// Maximum bytes of the identifier of an upload.
const MAX_NOTE_BYTES: u64 = 64 << 10;
/// Listings of an abort: tasks that end meanwhile add objects.
const ATTEMPTS: usize = 8;

impl WritePlan {
    /// Puts the object that tasks of a plan that has begun look for.
    pub(crate) fn begin_objects(&self, place: &StorePlace) -> Result<()> {
        let put = put_object(&format!("{}/{BEGUN}", self.object_folder()), &place.options(), Vec::new(), PutCondition::Always);
        put.map_err(|error| place.explained(error))
    }

    /// Removes all objects of this write and ends its uploads.
    pub(crate) fn abort_objects(&self, place: &StorePlace) -> Result<()> {
        let abort = || {
            if self.is_master_there(place)? {
                return Err(Error::invalid_input("this write was committed: it cannot be aborted").in_file(self.path().display().to_string()));
            }
            let (folder, options) = (self.object_folder(), place.options());
            if self.begun {
                // Tasks that end from now on remove their objects themselves.
                remove_objects(&folder, &options, vec![BEGUN.to_owned()])?;
            }
            for _ in 0..ATTEMPTS {
                let names: Vec<String> = list_folder(&folder, &options)?.into_iter().map(|object| object.name).collect();
                if names.is_empty() {
                    return Ok(());
                }
                end_uploads(&folder, &options, &names)?;
                remove_objects(&folder, &options, names)?;
            }
            Err(Error::new(ErrorKind::Conflict, "tasks still write: end them, and abort again").in_file(self.path().display().to_string()))
        };
        abort().map_err(|error| place.explained(error))
    }
}

/// Ends the uploads in parts that are noted among these objects of a folder.
pub(crate) fn end_uploads(folder: &str, options: &StorageOptions, names: &[String]) -> Result<()> {
    for name in names.iter().filter_map(|name| name.strip_suffix(UPLOAD_NOTE)) {
        let note = read_object(&format!("{folder}/{name}{UPLOAD_NOTE}"), options, MAX_NOTE_BYTES)?;
        // A note that is gone is of an upload that has ended.
        if let Some(id) = note.and_then(|note| String::from_utf8(note).ok()) {
            abort_upload(&format!("{folder}/{name}"), options, &id)?;
        }
    }
    Ok(())
}
