//! Identifies the file versions that a split was planned from, by length and modification time.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::{Format, ObjectId};
use hyperslab_reader::{File, is_address, virtual_dataset};
use serde::{Deserialize, Serialize};

use crate::table::segment::{Segment, Source};

/// The version of a file when a split was planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// The path that it was opened by.
    pub path: String,
    /// The format it was read as: a netCDF-4 file has other values if it is read as plain HDF5.
    format: String,
    /// Length in bytes.
    bytes: u64,
    /// Time of the last modification, if the file system reports it.
    modified_nanoseconds: Option<u64>,
    /// Hash of the paths, lengths and modification times of the files that hold its virtual datasets' sources and external
    /// raw data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "beside")]
    external: Option<u64>,
    /// The entity tag of a remote object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
}

impl Stamp {
    /// The stamp of an open file; `Conflict` if its path holds another file by now.
    fn of(file: &File, datasets: &[ObjectId]) -> Result<Self> {
        let storage = file.array_file().storage();
        let modified_nanoseconds = storage.modified_nanoseconds();
        if modified_nanoseconds.is_none() && std::fs::metadata(file.path()).is_ok_and(|metadata| metadata.modified().is_ok()) {
            return Err(Error::new(ErrorKind::Conflict, "the file has changed since it was opened: open it again").in_file(file.name()));
        }
        Ok(Self {
            path: file.path().to_string_lossy().into_owned(),
            format: stored_format(file.format()),
            bytes: storage.len(),
            modified_nanoseconds,
            external: external(file, datasets)?,
            tag: storage.version().map(str::to_owned),
        })
    }

    /// `Conflict` if `file`, which was just opened by this path, is not the version that was planned.
    pub fn check(&self, file: &File) -> Result<()> {
        let storage = file.array_file().storage();
        if stored_format(file.format()) != self.format {
            let planned = Format::ALL.into_iter().find(|known| stored_format(*known) == self.format).map_or(self.format.as_str(), |known| known.name());
            let message =
                format!("this split was planned from a file read as {planned}, but the session that reads it opens the file as {}", file.format().name());
            return Err(Error::invalid_input(message).in_file(file.name()));
        }
        let what = if storage.len() != self.bytes {
            format!("{} bytes", self.bytes)
        } else if self.modified_nanoseconds.is_some_and(|planned| storage.modified_nanoseconds() != Some(planned)) {
            "another modification time".to_owned()
        } else if self.tag.as_deref().is_some_and(|planned| storage.version() != Some(planned)) {
            "another entity tag".to_owned()
        } else {
            return Ok(());
        };
        let message = format!("the file had {what} when this split was planned; it has changed: plan again");
        Err(Error::new(ErrorKind::Conflict, message).in_file(file.name()))
    }
}

/// The format in a stored stamp. Splits of earlier builds have these words, so they stay.
fn stored_format(format: Format) -> String {
    format!("{format:?}")
}

/// The files that a segment is read from; the requested file is the first.
pub(crate) fn files_of(segment: &Segment) -> Vec<File> {
    let mut files = vec![segment.opened.clone(), segment.file.clone()];
    for column in &segment.columns {
        match &column.source {
            Source::Mapped { mapping, .. } => files.push(mapping.file.clone()),
            Source::Composed(composed) => files.extend(composed.arrays().into_iter().map(|array| array.mapping.file.clone())),
            _ => {}
        }
    }
    let mut known = Vec::new();
    files.retain(|file| {
        let new = !known.contains(&file.name());
        known.push(file.name());
        new
    });
    files
}

/// The stamps of all [`files_of`] a segment, including the external files of the columns that are read. `Unsupported` for
/// arrays that are not in a file; `Conflict` if one path stands for two versions of a file.
pub(crate) fn stamps_of(segment: &Segment, columns_read: &[String]) -> Result<Vec<Stamp>> {
    let mut read: Vec<(File, Vec<ObjectId>)> = files_of(segment).into_iter().map(|file| (file, Vec::new())).collect();
    for column in &segment.columns {
        let arrays: Vec<(&File, ObjectId)> = match &column.source {
            Source::Mapped { dataset, mapping, .. } => vec![(&mapping.file, *dataset)],
            Source::Variable { dataset, .. } | Source::Coordinate { dataset, .. } | Source::Member { dataset, .. } => vec![(&segment.file, *dataset)],
            Source::Composed(composed) => composed.arrays().into_iter().map(|array| (&array.mapping.file, array.dataset)).collect(),
            _ => continue,
        };
        for (file, dataset) in arrays {
            if !file.array_file().is_stored() {
                return Err(Error::unsupported(format!(
                    "splits with {}, an array in this process's memory, which other processes cannot read: write it to a file",
                    column.field.name()
                )));
            }
            let (first, datasets) = read.iter_mut().find(|(known, _)| known.name() == file.name()).ok_or_else(|| Error::internal("a column of no file"))?;
            if first != file {
                let stamp = |file: &File| {
                    let storage = file.array_file().storage();
                    (storage.len(), storage.modified_nanoseconds(), storage.version().map(str::to_owned))
                };
                if stamp(first) != stamp(file) {
                    return Err(Error::new(ErrorKind::Conflict, "the file has changed while the split was planned").in_file(file.name()));
                }
            }
            if columns_read.contains(column.field.name()) {
                datasets.push(dataset);
            }
        }
    }
    if let Some((file, _)) = read.iter().find(|(file, _)| !file.array_file().is_stored()) {
        return Err(Error::unsupported(format!(
            "splits of {}, which is in this process's memory, so other processes cannot read it: write it to a file",
            file.name()
        )));
    }
    read.iter().map(|(file, datasets)| Stamp::of(file, datasets)).collect()
}

/// Hash of the versions of the other files that hold data of `datasets`; `None` if there are none.
fn external(file: &File, datasets: &[ObjectId]) -> Result<Option<u64>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for dataset in datasets {
        let dataset = file.dataset(*dataset)?;
        let sources = if dataset.virtual_mappings.is_empty() { Default::default() } else { virtual_dataset::source_names(file, &dataset)? };
        let names = dataset.external_files.iter().map(|external| &external.file).chain(&sources);
        // A path outside the allowed folders is refused when it is read.
        paths.extend(names.filter(|name| *name != ".").filter_map(|name| file.linked_path(name).ok()));
    }
    if paths.is_empty() {
        return Ok(None);
    }
    paths.sort_unstable();
    paths.dedup();
    let mut hasher = DefaultHasher::new();
    for path in paths {
        if let Some(address) = path.to_str().filter(|path| is_address(path)) {
            // A source that is missing now must be missing later, too.
            let version = match file.session().remote_version(address) {
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                version => version?,
            };
            (address, version).hash(&mut hasher);
            continue;
        }
        let metadata = std::fs::metadata(&path).ok();
        let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok());
        (path, metadata.map(|metadata| metadata.len()), modified).hash(&mut hasher);
    }
    Ok(Some(hasher.finish()))
}
