//! Source: what an index was made of, so that a change is noticed.

use std::path::Path;

use hyperslab_array::{Cancellation, Error, ErrorKind, Result, Selection};
use hyperslab_columns::Column;
use hyperslab_formats::{ChunkSource, Dataset, ObjectId, StorageLayout};
use hyperslab_reader::{File, virtual_dataset};
use serde::{Deserialize, Serialize};

use crate::build::block_grid::{BlockBox, BlockGrid};
use crate::build::hash::hash;

/// Length and time of change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub bytes: u64,
    pub modified_nanoseconds: u64,
}

impl Stamp {
    /// Of a file as it was opened; `None` where nobody knows when it was changed.
    pub fn of(file: &File) -> Option<Self> {
        let storage = file.array_file().storage();
        Some(Self { bytes: storage.len(), modified_nanoseconds: storage.modified_nanoseconds()? })
    }

    /// Of the file (or of all that is in the folder) that is at `path` now.
    pub fn now(path: &Path) -> Option<Self> {
        let (bytes, modified_nanoseconds) = hyperslab_reader::foreign::path_stamp(path)?;
        Some(Self { bytes, modified_nanoseconds })
    }
}

/// Why a dataset cannot have an index.
pub(crate) fn refusal(dataset: &Dataset) -> Option<Error> {
    let unsupported = |what: &str| Some(Error::unsupported(format!("an index of {what}")));
    if dataset.refusal.is_some() {
        return dataset.refusal.clone();
    }
    if dataset.storage == StorageLayout::External {
        return unsupported("external raw data, whose files change apart from this one");
    }
    if dataset.dataspace.ndim() == 0 {
        return unsupported("a single value");
    }
    None
}

/// What a column's values mean: type, attributes that decode them. Another identity is another column.
pub(crate) fn identity(column: &Column) -> String {
    let field = column.field();
    let mut metadata: Vec<(&String, &String)> = field.metadata().iter().collect();
    metadata.sort();
    let text = format!("{:?} {} {} {metadata:?}", column.datatype(), field.data_type(), field.is_nullable());
    format!("{:016x}", hash(0, text.as_bytes()))
}

/// Addresses and sizes of the chunks of a selection; of a virtual dataset the stamps of the files that it is in.
/// `Conflict` where one of these has changed since it was opened.
pub(crate) fn addresses(file: &File, dataset: ObjectId, selection: &Selection) -> Result<u64> {
    let description = file.dataset(dataset)?;
    if description.storage == StorageLayout::Virtual {
        let mut all = 0;
        virtual_dataset::sources(file, description, selection, |name, path, source| {
            all = hash(hash(all, name.as_bytes()), path.as_bytes());
            let Some(source) = source else { return Ok(()) };
            let stamp = Stamp::of(source).filter(|stamp| Stamp::now(source.path()) == Some(*stamp));
            let stamp = stamp.ok_or_else(|| Error::new(ErrorKind::Conflict, "a source of a virtual dataset has changed since it was opened").in_file(source.name()))?;
            all = [stamp.bytes, stamp.modified_nanoseconds].iter().fold(all, |all, n| hash(all, &n.to_le_bytes()));
            Ok(())
        })?;
        return Ok(all);
    }
    let located = file.array_file().locate(dataset, selection)?;
    Ok(located.chunks.iter().fold(located.chunks.len() as u64, |all, chunk| {
        let all = chunk.origin.iter().chain(&chunk.shape).fold(all, |all, n| hash(all, &n.to_le_bytes()));
        match &chunk.source {
            ChunkSource::Stored { offset, length, filter_mask } => {
                [*offset, *length, (*filter_mask).into()].iter().fold(all, |all, n| hash(all, &n.to_le_bytes()))
            }
            ChunkSource::Inline(bytes) => hash(all, bytes),
            ChunkSource::Fill => hash(all, b"fill"),
        }
    }))
}

/// Of the chunks around a block: their addresses, and where values are filtered the bytes as they are stored.
/// (A chunk that is written again in its place keeps its address. Plain values have a hash of their own.)
pub(crate) fn chunks(file: &File, dataset: ObjectId, around: &BlockBox, cancellation: &Cancellation) -> Result<u64> {
    let description = file.dataset(dataset)?;
    let selection = around.selection(description.dataspace.shape())?;
    let mut all = addresses(file, dataset, &selection)?;
    if !description.filters.is_empty() {
        let mut bytes = Vec::new();
        for chunk in file.array_file().locate(dataset, &selection)?.chunks {
            cancellation.check()?;
            if let ChunkSource::Stored { offset, length, .. } = chunk.source {
                bytes.resize(usize::try_from(length).map_err(|_| Error::limit_exceeded("a chunk exceeds memory"))?, 0);
                file.array_file().storage().read_exact_at(offset, &mut bytes)?;
                all = hash(all, &bytes);
            }
        }
    }
    Ok(all)
}

/// Of all chunks of a dataset: their addresses and sizes, the fill value and the filters.
pub(crate) fn fingerprint(file: &File, dataset: ObjectId) -> Result<String> {
    let description = file.dataset(dataset)?;
    let shape = description.dataspace.shape();
    let all = addresses(file, dataset, &Selection::all(shape))?;
    let rest = format!("{shape:?} {:?} {:?} {:?}", description.fill_value, description.filters, description.written_shape);
    Ok(format!("{:016x}", hash(all, rest.as_bytes())))
}

/// The grid of a dataset's blocks.
pub(crate) fn grid(dataset: &Dataset) -> BlockGrid {
    BlockGrid::new(&dataset.chunk_grid, dataset.chunk_shape.is_some())
}
