//! Stored: how a file keeps its objects: links, addresses, places of chunks, and the files that datasets take values from.

use std::os::fd::IntoRawFd;
use std::sync::Arc;

use hyperslab::{ChunkSource, FileSpace, Limits, LinkTarget, ObjectId, Selection};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::describe;
use crate::error::raise;
use crate::file::File;
use crate::heap::Heap;
use crate::name::Name;
use crate::wait::run;

/// Kind of a link (`hard`, `soft`, `external` or `user-defined`), and for soft and external links the path and the file.
pub(crate) type PyLink = (&'static str, Option<Name>, Option<Name>);

/// Origin of a chunk in the dataset, the skipped filters as bits, its offset in the file, and its bytes there.
type PyChunk = (Vec<u64>, u32, u64, u64);

/// Numbers, offsets and lengths of chunks, their masks, and contents.
type PyPlaces = (Py<PyBytes>, Py<PyBytes>, Py<PyBytes>, Vec<(u64, u32)>, Vec<(u64, Py<PyBytes>)>);

/// Kind and parts of a selection, as in `RegionSelection`.
pub(crate) type PySelection = (&'static str, Vec<Vec<Vec<u64>>>);

/// A link of a group; `None` if there is none of this name.
pub(crate) fn link(py: Python<'_>, file: &hyperslab::File, group: u64, name: Name) -> PyResult<Option<PyLink>> {
    let file = file.clone();
    let found = run(py, move || file.link(ObjectId(group), &name))?;
    Ok(found.map(|link| match link.target {
        LinkTarget::Hard(_) => ("hard", None, None),
        LinkTarget::Soft(path) => ("soft", Some(Name(path)), None),
        LinkTarget::External { file, path } => ("external", Some(Name(path)), Some(Name(file))),
        LinkTarget::UserDefined(_) => ("user-defined", None, None),
    }))
}

/// Address of an object's header, as object references of HDF5 hold it; `None` in other formats.
pub(crate) fn address(file: &hyperslab::File, object: u64) -> Option<u64> {
    file.array_file().tree().address(ObjectId(object))
}

/// Whether a group records the order in which its links were created, and whether an object records the order of its attributes.
#[pyfunction]
pub(crate) fn is_tracked(py: Python<'_>, file: PyRef<'_, File>, object: u64) -> PyResult<(bool, bool)> {
    let file = file.0.clone();
    run(py, move || {
        let id = ObjectId(object);
        let links = file.array_file().tree().tracks_links(id).map_err(|error| file.place(id, error))?;
        Ok((links, file.attributes(id)?.tracked))
    })
}

/// Bytes of the user block.
pub(crate) fn user_block_bytes(file: &hyperslab::File) -> u64 {
    file.array_file().user_block_bytes()
}

/// The chunks of a dataset that are in the file; of a contiguous dataset the blocks in which it is read.
#[pyfunction]
pub(crate) fn stored_chunks(py: Python<'_>, file: PyRef<'_, File>, dataset: u64) -> PyResult<Vec<PyChunk>> {
    let file = file.0.clone();
    run(py, move || {
        let id = ObjectId(dataset);
        file.check_open()?;
        let description = file.dataset(id)?;
        let located = file.array_file().locate(id, &Selection::all(description.dataspace.shape()));
        let chunks = located.map_err(|error| file.place(id, error))?.chunks;
        let stored = chunks.into_iter().filter_map(|chunk| match chunk.source {
            ChunkSource::Stored { offset, length, filter_mask } => Some((chunk.region.start, filter_mask, offset, length)),
            ChunkSource::Inline(_) | ChunkSource::Fill => None,
        });
        Ok(stored.collect())
    })
}

/// Bytes of a page of an HDF5 file of pages; `None` for another one.
#[pyfunction]
pub(crate) fn page_bytes(py: Python<'_>, file: PyRef<'_, File>) -> PyResult<Option<u64>> {
    let file = file.0.clone();
    run(py, move || {
        file.check_open()?;
        Ok(FileSpace::read(file.array_file().storage().clone(), &Limits::default())?.page_bytes)
    })
}

/// Bytes of the file, with all changes so far.
#[pyfunction]
pub(crate) fn stored_range<'py>(py: Python<'py>, file: PyRef<'_, File>, offset: u64, length: usize) -> PyResult<Bound<'py, PyBytes>> {
    let file = file.0.clone();
    let bytes = run(py, move || {
        file.check_open()?;
        let mut bytes = vec![0; length];
        file.array_file().storage().read_exact_at(offset, &mut bytes)?;
        Ok(bytes)
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// Where the chunks of a dataset lie: numbers of chunks in row-major order of the grid, their offsets in the file, and their bytes there,
/// each as 64-bit integers of this machine; and by number the filters that were skipped, as bits, and the contents of chunks that lie in
/// the object's header. A contiguous dataset is one chunk. Chunks without an entry were never written.
#[pyfunction]
pub(crate) fn chunk_places(py: Python<'_>, file: PyRef<'_, File>, dataset: u64) -> PyResult<PyPlaces> {
    let file = file.0.clone();
    let places = run(py, move || {
        let id = ObjectId(dataset);
        file.check_open()?;
        let description = file.dataset(id)?;
        let shape = description.dataspace.shape();
        let chunk_shape = description.chunk_shape.as_deref().unwrap_or(shape);
        let located = file.array_file().locate(id, &Selection::all(shape)).map_err(|error| file.place(id, error))?.chunks;
        let mut places = Places::default();
        for chunk in located {
            let axes = chunk.region.start.iter().zip(chunk_shape).zip(shape);
            let number = axes.fold(0u64, |number, ((start, chunk), extent)| {
                let chunk = (*chunk).max(1);
                number.saturating_mul(extent.div_ceil(chunk)).saturating_add(start / chunk)
            });
            places.add(number, chunk.source);
        }
        Ok(places)
    })?;
    let numbers = |values: Vec<u64>| PyBytes::new(py, &values.into_iter().flat_map(u64::to_ne_bytes).collect::<Vec<u8>>()).unbind();
    let contents = places.contents.into_iter().map(|(number, bytes)| (number, PyBytes::new(py, &bytes).unbind()));
    Ok((numbers(places.numbers), numbers(places.offsets), numbers(places.lengths), places.masks, contents.collect()))
}

/// Places of chunks, as `chunk_places` gives them.
#[derive(Default)]
struct Places {
    numbers: Vec<u64>,
    offsets: Vec<u64>,
    lengths: Vec<u64>,
    masks: Vec<(u64, u32)>,
    contents: Vec<(u64, Arc<[u8]>)>,
}

impl Places {
    /// Adds a chunk, or the next block of the last one.
    fn add(&mut self, number: u64, source: ChunkSource) {
        match source {
            ChunkSource::Stored { offset, length, filter_mask } => {
                let goes_on = self.numbers.last() == Some(&number) && self.offsets.last().zip(self.lengths.last()).is_some_and(|(at, n)| at + n == offset);
                if let Some(last) = self.lengths.last_mut().filter(|_| goes_on) {
                    *last += length;
                    return;
                }
                self.numbers.push(number);
                self.offsets.push(offset);
                self.lengths.push(length);
                if filter_mask != 0 {
                    self.masks.push((number, filter_mask));
                }
            }
            ChunkSource::Inline(bytes) => self.contents.push((number, bytes)),
            ChunkSource::Fill => {}
        }
    }
}

/// A descriptor of the file that holds all values of a dataset in one run of bytes, which the caller closes; where the run begins,
/// and its length.
#[pyfunction]
pub(crate) fn value_bytes(py: Python<'_>, file: PyRef<'_, File>, dataset: u64) -> PyResult<(i32, u64, u64)> {
    let file = file.0.clone();
    let run = run(py, move || file.value_bytes(ObjectId(dataset)))?;
    Ok((run.file.into_raw_fd(), run.offset, run.length))
}

/// The heap objects that a dataset's fill value points at.
pub(crate) fn fill_heap(py: Python<'_>, file: &hyperslab::File, dataset: u64) -> PyResult<Heap> {
    let file = file.clone();
    run(py, move || file.fill_heap(ObjectId(dataset))).map(Heap)
}

/// Name, offset and length of the files that hold a dataset's external raw data; a length of `None` is all that follows.
pub(crate) fn external_files(py: Python<'_>, file: &hyperslab::File, dataset: u64) -> PyResult<Vec<(Name, u64, Option<u64>)>> {
    let description = file.dataset(ObjectId(dataset)).map_err(|error| raise(py, &error))?;
    Ok(description.external_files.iter().map(|part| (Name(part.file.clone()), part.offset, part.length)).collect())
}

/// The mappings of a virtual dataset: the source's file, path and selection, and the selection in the dataset.
pub(crate) fn virtual_mappings(py: Python<'_>, file: &hyperslab::File, dataset: u64) -> PyResult<Vec<(Name, Name, PySelection, PySelection)>> {
    let description = file.dataset(ObjectId(dataset)).map_err(|error| raise(py, &error))?;
    let mapping = |mapping: &hyperslab::VirtualMapping| {
        let selection = |stored: &hyperslab::StoredSelection| describe::selection(stored.clone());
        (Name(mapping.file.clone()), Name(mapping.dataset.clone()), selection(&mapping.source_selection), selection(&mapping.selection))
    };
    Ok(description.virtual_mappings.iter().map(mapping).collect())
}
