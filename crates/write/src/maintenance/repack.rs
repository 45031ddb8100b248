//! Copies a file into one with other chunks and filters.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_formats::Format;
use hyperslab_formats::filter::Pipeline;
use hyperslab_storage::Existing;

use super::fuse::Fused;
use crate::file::copy_objects::{CopyOptions, copy_objects};
use crate::file::dataset_copy::{CopyCounts, StorageFormat};
use crate::file::file_writer::FileWriter;
use crate::file::reading_session::reading_session;

/// How [`repack`] stores datasets.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Repacking {
    formats: BTreeMap<String, StorageFormat>,
    alignment: Option<u64>,
    page_bytes: Option<u64>,
}

impl Repacking {
    /// With this chunk shape (`None` is contiguous, if the dataset cannot grow) and these filters for the dataset at `path`, an
    /// absolute path. Datasets that are not named keep theirs, and their chunks are copied as stored.
    #[must_use]
    pub fn with_dataset(mut self, path: impl Into<String>, chunk_shape: Option<Vec<u64>>, filters: Pipeline) -> Self {
        self.formats.insert(path.into(), StorageFormat { chunk_shape, filters });
        self
    }

    /// With blocks of at least this many bytes at multiples of it; `None` uses the block or stripe size of the file system.
    #[must_use]
    pub fn with_alignment(self, alignment: Option<u64>) -> Self {
        Self { alignment, ..self }
    }

    /// With pages of this many bytes; `None` makes an ordinary file.
    #[must_use]
    pub fn with_page_bytes(self, page_bytes: Option<u64>) -> Self {
        Self { page_bytes, ..self }
    }
}

/// Copies all objects of the HDF5 file `source` into the new file `target`, with datasets stored as `how` says. When the file is
/// complete, `check` is called with its temporary path; if it fails, no file is left. An existing file is never replaced.
///
/// # Errors
/// `Conflict` if there is a file `target`; `NotFound` for a dataset that `how` names and `source` does not have; `Unsupported` for
/// files and objects that cannot be copied; `Io` or `Corrupt` if a file cannot be read or written; `Cancelled`; that of `check`.
pub fn repack(
    source: &Path,
    target: &Path,
    how: &Repacking,
    check: impl FnOnce(&Path) -> Result<()>,
    cancellation: &Cancellation,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Fused> {
    let session = reading_session()?;
    let file = session.open(source)?;
    let located = |error: Error| error.in_file(source.display().to_string());
    if file.array_file().format() == Format::Netcdf3 {
        return Err(located(Error::unsupported("repacking a netCDF-3 file, which has neither chunks nor filters")));
    }
    let user_block = file.array_file().user_block_bytes();
    if user_block > 0 {
        return Err(located(Error::unsupported(format!("repacking a file with a user block of {user_block} bytes"))));
    }
    let mut formats = HashMap::new();
    for (path, format) in &how.formats {
        let found = file.find(path)?;
        found.dataset()?;
        if found.file.array_file().storage().name() != file.array_file().storage().name() {
            return Err(located(Error::unsupported("new chunks for a dataset of another file").at_object(path)));
        }
        // An object may have several names.
        formats.insert(found.object, format.clone());
    }
    let mut out = FileWriter::create(target, Existing::Keep, how.alignment, &session)?;
    if let Some(page_bytes) = how.page_bytes {
        out.set_pages(page_bytes)?;
    }
    let mut counts = CopyCounts::default();
    let options = CopyOptions { formats, ..CopyOptions::default() };
    copy_objects(&file, &mut out, cancellation, &mut counts, &options, progress)?;
    let bytes = out.finish_if(Existing::Keep, check)?;
    Ok(Fused { bytes, copied_chunks: counts.copied_chunks, reencoded_bytes: counts.reencoded_bytes })
}
