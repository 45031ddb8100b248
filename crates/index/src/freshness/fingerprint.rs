//! Fingerprint: hashes of a dataset's storage, which change if its values may have changed.

use std::fmt::Write;

use hyperslab_array::{Cancellation, Error, ErrorKind, Region, Result, Selection};
use hyperslab_formats::{ChunkSource, Dataset, ObjectId, StorageLayout};
use hyperslab_reader::{File, virtual_dataset};

use super::type_text::quoted;
use crate::block::block_grid::BlockGrid;
use crate::block::hash::hash;
use crate::store::places::Version;
use crate::store::stamp::Stamp;

/// Why a dataset cannot have an index; `None` if it can.
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

/// A hash of the chunks of a selection: their boxes, offsets, lengths and filter masks. For a virtual dataset, a hash of the
/// names, paths and stamps of its source files; `Conflict` if one of these has changed since it was opened.
pub(crate) fn address_hash(file: &File, dataset: ObjectId, selection: &Selection) -> Result<u64> {
    let description = file.dataset(dataset)?;
    if description.storage == StorageLayout::Virtual {
        let mut all = 0;
        virtual_dataset::sources(file, &description, selection, |name, path, source| {
            all = hash(hash(all, name.as_bytes()), path.as_bytes());
            let Some(source) = source else { return Ok(()) };
            let stamp = Stamp::of(source).filter(|stamp| Stamp::now(source.path()) == Some(*stamp));
            let stamp =
                stamp.ok_or_else(|| Error::new(ErrorKind::Conflict, "a source of a virtual dataset has changed since it was opened").in_file(source.name()))?;
            all = [stamp.bytes, stamp.modified_nanoseconds].iter().fold(all, |all, n| hash(all, &n.to_le_bytes()));
            Ok(())
        })?;
        return Ok(all);
    }
    let located = file.array_file().locate(dataset, selection)?;
    Ok(located.chunks.iter().fold(located.chunks.len() as u64, |all, chunk| {
        let all = chunk.region.start.iter().chain(&chunk.region.count).fold(all, |all, n| hash(all, &n.to_le_bytes()));
        match &chunk.source {
            ChunkSource::Stored { offset, length, filter_mask } => {
                [*offset, *length, (*filter_mask).into()].iter().fold(all, |all, n| hash(all, &n.to_le_bytes()))
            }
            ChunkSource::Inline(bytes) => hash(all, bytes),
            ChunkSource::Fill => hash(all, b"fill"),
        }
    }))
}

/// The versions of the files that the values of a virtual dataset are in; none for other datasets.
pub(crate) fn source_versions(file: &File, dataset: ObjectId) -> Result<Vec<Option<Version>>> {
    let (description, mut versions) = (file.dataset(dataset)?, Vec::new());
    if description.storage == StorageLayout::Virtual {
        virtual_dataset::sources(file, &description, &Selection::all(description.dataspace.shape()), |_, _, source| {
            versions.extend(source.map(|source| Version::of(source.path()).ok()));
            Ok(())
        })?;
    }
    Ok(versions)
}

/// A hash of the chunks in `around`, the box of whole chunks around a block: their addresses and, if they are filtered, their
/// stored bytes. A chunk that is overwritten in place keeps its address; unfiltered values have a hash of their own.
pub(crate) fn chunk_hash(file: &File, dataset: ObjectId, around: &Region, cancellation: &Cancellation) -> Result<u64> {
    let description = file.dataset(dataset)?;
    let selection = around.selection(description.dataspace.shape())?;
    let mut all = address_hash(file, dataset, &selection)?;
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

/// Identifies the storage of a dataset: the addresses of all chunks, the shape, the fill value and the filters.
///
/// It is stored in manifests: the hash of the text of [`storage_text`], with the address hash as its seed.
pub(crate) fn fingerprint(file: &File, dataset: ObjectId) -> Result<String> {
    let description = file.dataset(dataset)?;
    let addresses = address_hash(file, dataset, &Selection::all(description.dataspace.shape()))?;
    Ok(format!("{:016x}", hash(addresses, storage_text(&description).as_bytes())))
}

/// One item per line: `shape`, `fill` with the fill value in hexadecimal or `zero`, `written` with the written shape or
/// `all`, then `filter` with number, quoted name and parameters for each filter. Numbers are separated by commas.
fn storage_text(dataset: &Dataset) -> String {
    fn list(numbers: impl IntoIterator<Item = impl ToString>) -> String {
        numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(",")
    }
    let fill = dataset.fill_value.as_ref().map_or_else(
        || "zero".to_owned(),
        |bytes| {
            bytes.iter().fold(String::new(), |mut text, byte| {
                // Writing to a string cannot fail.
                let _ = write!(text, "{byte:02x}");
                text
            })
        },
    );
    let written = dataset.written_shape.as_ref().map_or_else(|| "all".to_owned(), list);
    let filters: String =
        dataset.filters.iter().map(|filter| format!("\nfilter {} {} {}", filter.id, quoted(&filter.name), list(&filter.parameters))).collect();
    format!("shape {}\nfill {fill}\nwritten {written}{filters}", list(dataset.dataspace.shape()))
}

/// The grid of a dataset's blocks.
pub(crate) fn grid(dataset: &Dataset) -> BlockGrid {
    BlockGrid::new(&dataset.chunk_grid, dataset.chunk_shape.is_some())
}
