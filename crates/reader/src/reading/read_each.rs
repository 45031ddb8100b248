//! Reads one dataset of each of many files: opens, reads and closes them in parallel, so that only the files that are being read
//! take memory and descriptors.

use std::path::PathBuf;
use std::sync::Arc;

use hyperslab_array::{Cancellation, Dataspace, Datatype, Result, Selection, interruption};
use hyperslab_formats::Dataset;
use hyperslab_storage::shown_address;
use rayon::prelude::*;

use crate::{File, Session};

/// Larger datasets are left to the caller, who reads them one after the other, each in parallel.
const MAX_BYTES: u64 = 1 << 20;

/// A dataset of one of many files.
#[non_exhaustive]
pub enum EachRead {
    /// The values of a small dataset of numbers, row-major, in the file's layout.
    Values {
        /// Shape and datatype.
        dataset: Arc<Dataset>,
        /// The bytes of all elements.
        bytes: Vec<u8>,
    },
    /// The open file of another dataset.
    Open(File),
}

impl Session {
    /// Reads the dataset `path` of each file, in parallel; the outcomes have the order of `files`. Give a few at a time: all values of a call
    /// are in memory at once.
    ///
    /// # Errors
    /// `Cancelled`; `Internal` if the system starts no threads. What is wrong with a file is its outcome.
    pub fn read_each(&self, files: &[PathBuf], path: &str, cancellation: &Cancellation) -> Result<Vec<Result<EachRead>>> {
        let read = |file: &PathBuf| {
            cancellation.check()?;
            interruption::cancellable(cancellation, || self.read_one(file, path, cancellation))
                .map_err(|error| error.in_file(shown_address(&file.to_string_lossy())))
        };
        let outcomes = self.compute(|| Ok(files.par_iter().map(read).collect()))?;
        cancellation.check()?;
        Ok(outcomes)
    }

    fn read_one(&self, file: &PathBuf, path: &str, cancellation: &Cancellation) -> Result<EachRead> {
        let file = self.open(file)?;
        let found = file.find(path)?;
        let dataset = found.dataset()?;
        let is_number = matches!(dataset.datatype, Datatype::Integer { .. } | Datatype::Float { .. });
        if !is_number || matches!(dataset.dataspace, Dataspace::Null) {
            return Ok(EachRead::Open(file));
        }
        let whole = Selection::all(dataset.dataspace.shape());
        if whole.element_count()?.checked_mul(dataset.datatype.size()).is_none_or(|bytes| bytes > MAX_BYTES) {
            return Ok(EachRead::Open(file));
        }
        let bytes = found.file.read(found.object, &whole, cancellation)?.bytes;
        Ok(EachRead::Values { dataset, bytes })
    }
}
