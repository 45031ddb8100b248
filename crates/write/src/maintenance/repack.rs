//! Copies a file into one with other chunks and filters.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use hyperslab_array::{Cancellation, Error, ErrorKind, Result};
use hyperslab_formats::filter::Pipeline;
use hyperslab_formats::hdf5::writer::LibraryVersion;
use hyperslab_formats::{Format, ObjectId};
use hyperslab_reader::File;
use hyperslab_storage::{Existing, is_address};

use super::fuse::Fused;
use crate::file::copying::changes::Change;
use crate::file::copying::checkpoints::{Checkpoints, Copied};
use crate::file::copying::choice::Choice;
use crate::file::copying::dataset::{CopyCounts, StorageFormat};
use crate::file::copying::objects::{CopyOptions, copy_objects};
use crate::file::copying::user_block::copy_user_block;
use crate::file::file_writer::FileWriter;
use crate::file::reading_session::reading_session;

/// How [`repack`] stores datasets.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Repacking {
    formats: BTreeMap<String, StorageFormat>,
    alignment: Option<u64>,
    page_bytes: Option<u64>,
    newest: LibraryVersion,
    objects: Option<Choice>,
    checkpoint_bytes: Option<u64>,
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

    /// Only with structures that this version of the HDF5 library knows.
    #[must_use]
    pub fn with_newest(self, newest: LibraryVersion) -> Self {
        Self { newest, ..self }
    }

    /// Only with the objects and links at the paths `chosen`, all below them that is not `excluded`, the groups above them, and the
    /// dimension scales and targets of references that they need.
    #[must_use]
    pub fn with_objects(self, chosen: Vec<String>, excluded: Vec<String>) -> Self {
        Self { objects: Some(Choice::new(chosen, excluded)), ..self }
    }

    /// Leaves what an interrupted copy has written, and goes on with it the next time. What was copied is noted after as many bytes, and at
    /// least every ten seconds.
    #[must_use]
    pub fn with_checkpoints(self, bytes: Option<u64>) -> Self {
        Self { checkpoint_bytes: bytes, ..self }
    }

    /// What is copied and how, as text: equal for equal copies.
    fn described(&self) -> String {
        let Self { formats, alignment, page_bytes, newest, objects, checkpoint_bytes: _ } = self;
        let objects = objects.as_ref().map(Choice::described);
        format!("{} {formats:?} {alignment:?} {page_bytes:?} {newest} {objects:?}", env!("CARGO_PKG_VERSION"))
    }
}

/// Copies all objects of the HDF5 file `source` into the new file `target`, with datasets stored as `how` says. When the file is
/// complete, `check` is called with its temporary path and with what is not as it was; if it fails, no file is left. An existing file is never replaced.
///
/// # Errors
/// `Conflict` if there is a file `target`; `NotFound` for a dataset that `how` names and `source` does not have; `Unsupported` for
/// files and objects that cannot be copied; `Io` or `Corrupt` if a file cannot be read or written; `Cancelled`; errors of `check`.
pub fn repack(
    source: &Path,
    target: &Path,
    how: &Repacking,
    check: impl FnOnce(&Path, &[Change]) -> Result<()>,
    cancellation: &Cancellation,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Fused> {
    let session = reading_session()?;
    let file = session.open(source)?;
    let located = |error: Error| error.in_file(source.display().to_string());
    if file.array_file().format() == Format::Netcdf3 {
        return Err(located(Error::unsupported("repacking a netCDF-3 file, which has neither chunks nor filters")));
    }
    let (formats, user_block) = (formats_in(&file, source, how)?, file.array_file().user_block_bytes());
    let mut options = CopyOptions { formats, choice: how.objects.clone(), ..CopyOptions::default() };
    let mut out = match how.checkpoint_bytes {
        None => FileWriter::create(target, Existing::Keep, how.alignment, &session)?,
        Some(_) if target.to_str().is_some_and(is_address) => {
            return Err(Error::unsupported("resuming a copy into an object store").in_file(target.display().to_string()));
        }
        Some(interval_bytes) => {
            let version = version_of(&file).ok_or_else(|| located(Error::unsupported("resuming a copy of a file whose changes cannot be noticed")))?;
            let aside = beside(target, ".repack")?;
            let (out, left) = FileWriter::resumable(target, aside, how.alignment, &session)?;
            let copied = Copied { source: version, how: how.described(), interval_bytes };
            options.checkpoints = Some(Checkpoints::open(&beside(target, ".repack.log")?, &copied, left.saturating_sub(user_block))?);
            out
        }
    };
    out.cancel_with(cancellation);
    out.set_newest(how.newest);
    out.set_user_block(user_block)?;
    if let Some(page_bytes) = how.page_bytes {
        out.set_pages(page_bytes)?;
    }
    if let Some(position) = options.checkpoints.as_ref().and_then(Checkpoints::position) {
        out.resume(position);
    }
    copy_user_block(&file, user_block, &mut out)?;
    let mut counts = CopyCounts::default();
    copy_objects(&file, &mut out, cancellation, &mut counts, &mut options, progress)?;
    let mut is_damaged = false;
    let bytes = out.finish_if(Existing::Keep, |path| {
        let checked = check(path, &counts.changes);
        is_damaged = checked.as_ref().is_err_and(|error| error.kind() == ErrorKind::Corrupt);
        checked
    });
    if let Some(checkpoints) = options.checkpoints.filter(|_| bytes.is_ok() || is_damaged) {
        checkpoints.remove()?;
    }
    if is_damaged && how.checkpoint_bytes.is_some() {
        // A copy that is not like the original is of no use later.
        let aside = beside(target, ".repack")?;
        std::fs::remove_file(&aside).map_err(|error| Error::from(error).in_file(aside.display().to_string()))?;
    }
    Ok(Fused::of(bytes?, counts))
}

/// How datasets of the file `source` are stored that `how` names, by object.
fn formats_in(file: &File, source: &Path, how: &Repacking) -> Result<HashMap<ObjectId, StorageFormat>> {
    let mut formats = HashMap::new();
    for (path, format) in &how.formats {
        let found = file.find(path)?;
        found.dataset()?;
        if found.file.array_file().storage().name() != file.array_file().storage().name() {
            let error = Error::unsupported("new chunks for a dataset of another file").at_object(path);
            return Err(error.in_file(source.display().to_string()));
        }
        // An object may have several names.
        formats.insert(found.object, format.clone());
    }
    Ok(formats)
}

/// What is another one when the file was changed.
fn version_of(file: &File) -> Option<String> {
    let storage = file.array_file().storage();
    let version = storage.version().map(ToOwned::to_owned).or_else(|| storage.modified_nanoseconds().map(|changed| changed.to_string()));
    version.map(|version| format!("{version}, {} bytes", storage.len()))
}

/// The hidden file next to `target` with this ending.
fn beside(target: &Path, ending: &str) -> Result<PathBuf> {
    let name = target.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| Error::invalid_input("no name of a file").in_file(target.display().to_string()))?;
    Ok(target.with_file_name(format!(".{name}{ending}")))
}
