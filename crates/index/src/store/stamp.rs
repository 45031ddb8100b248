//! Stamp: length and modification time of a file. If both are unchanged, its contents are taken to be unchanged.

use std::path::Path;

use hyperslab_reader::File;
use serde::{Deserialize, Serialize};

/// Length in bytes and modification time of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub bytes: u64,
    pub modified_nanoseconds: u64,
}

impl Stamp {
    /// The stamp that a file had when it was opened; `None` if its modification time is unknown, or if it is made of several files.
    pub fn of(file: &File) -> Option<Self> {
        let storage = file.array_file().storage();
        if storage.is_divided() {
            return None;
        }
        Some(Self { bytes: storage.stamped_bytes(), modified_nanoseconds: storage.modified_nanoseconds()? })
    }

    /// The current stamp of the file, or of all files of the folder, at `path`.
    pub fn now(path: &Path) -> Option<Self> {
        let (bytes, modified_nanoseconds) = hyperslab_reader::foreign::path_stamp(path)?;
        Some(Self { bytes, modified_nanoseconds })
    }
}
