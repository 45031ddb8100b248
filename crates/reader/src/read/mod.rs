//! Read: a hyperslab of one dataset. Chunks are fetched in coalesced reads and decoded in parallel,
//! each once, and scattered straight into the caller's buffer.

mod band;
mod job;
mod stored;

use hyperslab_array::{Axis, Datatype, Elements, Error, HeapObjects, Result, Selection, scatter};
use hyperslab_formats::{ChunkSource, Dataset, ObjectId, poison};

pub(crate) use self::stored::LEAST_PARALLEL_BYTES;
use self::stored::fill_stored;
use crate::buffer_pool::{PooledBuffer, zeros};
use crate::{File, virtual_dataset};
use hyperslab_array::Cancellation;

pub(crate) fn read(
    file: &File,
    dataset: ObjectId,
    selection: &Selection,
    cancellation: &Cancellation,
) -> Result<Elements> {
    let datatype = file.dataset(dataset)?.datatype.clone();
    let bytes = read_bytes(file, dataset, selection, cancellation)?;
    let heap = heap(file, dataset, &datatype, &bytes)?;
    Ok(Elements { datatype, bytes, heap })
}

/// What `bytes`, elements of (a projection of) the dataset's datatype, point at in heaps.
pub fn heap(file: &File, dataset: ObjectId, datatype: &Datatype, bytes: &[u8]) -> Result<HeapObjects> {
    let mut heap = HeapObjects::limited(file.session().limits().heap_budget(file.array_file().storage().len()));
    let description = file.dataset(dataset)?;
    if description.virtual_mappings.is_empty() {
        file.array_file().resolve_heap(datatype, bytes, &mut heap)?;
    } else if datatype.uses_heap() {
        virtual_dataset::resolve_heap(file, datatype, bytes, &mut heap)?;
    }
    Ok(heap)
}

/// The selected elements' bytes without what they point at in heaps.
pub(crate) fn read_bytes(file: &File, dataset: ObjectId, selection: &Selection, cancellation: &Cancellation) -> Result<Vec<u8>> {
    let mut bytes = zeros(selected_bytes(file.dataset(dataset)?, selection)?)?;
    fill(file, dataset, selection, &mut bytes, cancellation)?;
    Ok(bytes)
}

/// As `read_bytes`, in memory that the session uses again.
pub fn read_values(file: &File, dataset: ObjectId, selection: &Selection, cancellation: &Cancellation) -> Result<PooledBuffer> {
    let mut values = file.session().values().take(selected_bytes(file.dataset(dataset)?, selection)?)?;
    fill(file, dataset, selection, &mut values, cancellation)?;
    Ok(values)
}

pub(crate) fn read_into(
    file: &File,
    dataset: ObjectId,
    selection: &Selection,
    out: &mut [u8],
    cancellation: &Cancellation,
) -> Result<HeapObjects> {
    let description = file.dataset(dataset)?;
    let wanted = selected_bytes(description, selection)?;
    if out.len() != wanted {
        return Err(Error::invalid_input(format!("the buffer has {} bytes, the selection {wanted}", out.len())));
    }
    fill(file, dataset, selection, out, cancellation)?;
    heap(file, dataset, &description.datatype, out)
}

pub(crate) fn stored_bytes(file: &File, dataset: ObjectId) -> Result<u64> {
    let description = file.dataset(dataset)?;
    if let Some(bytes) = description.stored_bytes {
        return Ok(bytes);
    }
    let selection = Selection::all(description.dataspace.shape());
    let located = file.array_file().locate(dataset, &selection)?;
    let lengths = located.chunks.iter().map(|chunk| match &chunk.source {
        ChunkSource::Stored { length, .. } => *length,
        ChunkSource::Inline(bytes) => bytes.len() as u64,
        ChunkSource::Fill => 0,
    });
    Ok(lengths.sum())
}

/// Writes the fill value of elements of `size` bytes all over `out`; zeros where there is none.
pub(crate) fn fill_value(value: Option<&[u8]>, size: usize, out: &mut [u8]) {
    match value {
        Some(value) if value.len() == size && value.iter().any(|&b| b != 0) => {
            out.chunks_exact_mut(size).for_each(|element| element.copy_from_slice(value));
        }
        _ => out.fill(0),
    }
}

fn selected_bytes(dataset: &Dataset, selection: &Selection) -> Result<usize> {
    let count = match &dataset.dataspace {
        hyperslab_array::Dataspace::Null => 0,
        _ => selection.element_count()?,
    };
    count
        .checked_mul(dataset.datatype.size())
        .and_then(|n| usize::try_from(n).ok())
        .filter(|n| isize::try_from(*n).is_ok())
        .ok_or_else(|| Error::limit_exceeded("the selection exceeds the memory of this machine: read it in parts"))
}

fn fill(
    file: &File,
    dataset: ObjectId,
    selection: &Selection,
    out: &mut [u8],
    cancellation: &Cancellation,
) -> Result<()> {
    let description = file.dataset(dataset)?;
    if let Some(refusal) = &description.refusal {
        return Err(refusal.clone());
    }
    // Validates against the dataset's shape, whoever made the selection.
    let selection = Selection::new(selection.axes().to_vec(), description.dataspace.shape())?;
    if out.is_empty() {
        return Ok(());
    }
    poison(out);
    if let Some(written) = &description.written_shape {
        return fill_beyond(file, dataset, description, written, &selection, out, cancellation);
    }
    fill_stored(file, dataset, description, &selection, out, cancellation)
}

/// As [`fill_stored`], of a dataset that goes on beyond what was `written`: there is the fill value.
fn fill_beyond(
    file: &File,
    dataset: ObjectId,
    description: &Dataset,
    written: &[u64],
    selection: &Selection,
    out: &mut [u8],
    cancellation: &Cancellation,
) -> Result<()> {
    let size = usize::try_from(description.datatype.size()).map_err(|_| Error::internal("element size"))?;
    let axes: Vec<Axis> = selection.axes().iter().zip(written).map(|(axis, &extent)| axis.clip(0, extent)).collect();
    let inside = Selection::new(axes, written)?;
    if inside.is_empty() {
        fill_value(description.fill_value.as_deref(), size, out);
        return Ok(());
    }
    let (part, whole) = (inside.shape(), selection.shape());
    // What was written comes first along every dimension: a run at the start where only the slowest is cut.
    if part.iter().skip(1).eq(whole.iter().skip(1)) {
        let (stored, beyond) = out
            .split_at_mut_checked(selected_bytes(description, &inside)?)
            .ok_or_else(|| Error::internal("a part that exceeds the whole"))?;
        fill_value(description.fill_value.as_deref(), size, beyond);
        return fill_stored(file, dataset, description, &inside, stored, cancellation);
    }
    let mut stored = zeros(selected_bytes(description, &inside)?)?;
    poison(&mut stored);
    fill_stored(file, dataset, description, &inside, &mut stored, cancellation)?;
    fill_value(description.fill_value.as_deref(), size, out);
    let positions = whole.iter().map(|&extent| Axis::all(extent)).collect();
    let origin = vec![0; part.len()];
    scatter(stored.as_slice().into(), &part, &origin, &Selection::new(positions, &whole)?, out, &origin, &whole, size)
}
