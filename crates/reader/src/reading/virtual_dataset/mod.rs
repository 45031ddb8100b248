//! Virtual datasets: put together from parts of other datasets (HDF5 1.10, "VDS").
//!
//! A mapping pairs the elements of two selections in row-major order. If both are regular hyperslabs whose dimensions
//! match, each dimension is mapped independently; otherwise runs of elements are matched by their ordinals.

mod direct;
mod extent;
mod heap;
mod mapping;
mod numeric;
mod order;
mod regular;
mod source;
mod source_part;

use std::collections::BTreeSet;

use hyperslab_array::{Error, Result, Selection};
use hyperslab_formats::Dataset;

use super::dataset_read::DatasetRead;
use super::heap_origin;
use super::stored::fill_value;
use crate::File;

pub(crate) use extent::with_present_extent;
pub(crate) use heap::resolve_heap;
pub(crate) use regular::regular;
use source::{conversion, open};
use source_part::{BlocksLeft, misses, parts};

/// Fills `out` with the selected elements. Heap references in it are marked with their file: see [`resolve_heap`].
pub(crate) fn fill(read: DatasetRead<'_>, out: &mut [u8]) -> Result<()> {
    let DatasetRead { file, description, selection, cancellation, .. } = read;
    let size = usize::try_from(description.datatype.size()).map_err(|_| Error::internal("element size"))?;
    let file = &file.with_steps();
    if direct::fill(file, description, selection, out, cancellation)? {
        return Ok(());
    }
    let mut own_fill = description.fill_value.clone();
    if let Some(value) = own_fill.as_mut().filter(|_| description.datatype.uses_heap()) {
        heap_origin::mark_from(file, file, false, &description.datatype, value)?;
    }
    fill_value(own_fill.as_deref(), size, out);
    let shape = description.dataspace.shape();
    let mut left = BlocksLeft::of_a_read();
    for mapping in description.virtual_mappings.iter().filter(|mapping| !misses(mapping, selection)) {
        for part in parts(file, mapping, shape, Some(selection), &mut left)? {
            cancellation.check()?;
            let Some(places) = mapping::places(&part, selection)? else { continue };
            let Some((other, id)) = open(file, &part, 0)? else { continue };
            let theirs = other.dataset(id)?;
            let conversion = conversion(&theirs, description, &part)?;
            // A reference is valid only in its own file.
            if theirs.datatype.has_references() && other != *file {
                return Err(Error::unsupported(format!(
                    "references in a virtual dataset: they are those of its source {} in {}, where they can be read",
                    part.dataset, part.file
                )));
            }
            for wanted in places.of_source(selection, theirs.dataspace.shape())? {
                let mut bytes = other.read_bytes(id, &wanted.selection, cancellation).map_err(|error| error.at_object(&part.dataset).in_file(other.name()))?;
                if let Some(conversion) = &conversion {
                    bytes = conversion.convert(&bytes)?;
                }
                if description.datatype.uses_heap() {
                    heap_origin::mark_from(file, &other, !theirs.virtual_mappings.is_empty(), &description.datatype, &mut bytes)?;
                }
                places.put(&wanted, &bytes, size, &selection.shape(), out)?;
            }
        }
    }
    Ok(())
}

/// Visits the files that the selected elements come from, with file and dataset name as the mapping has them; `None` for
/// missing files that the fill value replaces. A file is visited once for each of its parts.
///
/// # Errors
/// That of `visit`; `NotFound` for a missing source, unless the session fills it; `Corrupt` or `Unsupported` for a
/// mapping that cannot be read.
pub fn sources(file: &File, description: &Dataset, selection: &Selection, mut visit: impl FnMut(&str, &str, Option<&File>) -> Result<()>) -> Result<()> {
    let file = &file.with_steps();
    let mut left = BlocksLeft::of_a_read();
    for mapping in description.virtual_mappings.iter().filter(|mapping| !misses(mapping, selection)) {
        for part in parts(file, mapping, description.dataspace.shape(), Some(selection), &mut left)? {
            if mapping::places(&part, selection)?.is_some() {
                let found = open(file, &part, 0)?;
                visit(&part.file, &part.dataset, found.as_ref().map(|(file, _)| file))?;
            }
        }
    }
    Ok(())
}

/// The names of the files that the elements come from, each once. Opens only sources that determine the number of blocks.
///
/// # Errors
/// `Corrupt` or `Unsupported` for a mapping that cannot be read.
pub fn source_names(file: &File, description: &Dataset) -> Result<BTreeSet<String>> {
    let (mut left, mut names) = (BlocksLeft::of_names(), BTreeSet::new());
    for mapping in description.virtual_mappings.iter() {
        names.extend(parts(file, mapping, description.dataspace.shape(), None, &mut left)?.map(|part| part.file));
    }
    Ok(names)
}
