//! Reading hyperslabs of datasets, plain and virtual ones: validates the selection, fills the output from what is stored
//! or from the sources of a virtual dataset, and fetches the heap objects that the elements point at.

use hyperslab_array::{Axis, Cancellation, Datatype, Elements, Error, HeapObjects, Region, Result, Selection, scatter};
use hyperslab_formats::{Dataset, ObjectId, StorageLayout, poison};

use super::dataset_read::{DatasetRead, Keep};
use super::stored::fill_value;
use super::{stored, virtual_dataset};
use crate::File;
use crate::kept::buffer_pool::{PooledBuffer, zeros};

impl File {
    /// Reads `selection` of a dataset: its elements in row-major order, in the file's layout, with
    /// the heap objects they point at.
    ///
    /// # Errors
    /// `InvalidInput` if the selection does not fit the dataset. `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if
    /// values cannot be read; `Cancelled`.
    pub fn read(&self, dataset: ObjectId, selection: &Selection, cancellation: &Cancellation) -> Result<Elements> {
        let read = || {
            let description = self.dataset(dataset)?;
            let mut bytes = zeros(selected_bytes(&description, selection)?)?;
            fill(self, dataset, &description, selection, &mut bytes, cancellation, Keep::Chunks)?;
            let heap = heap_of(self, &description, &description.datatype, &bytes)?;
            Ok(Elements { datatype: description.datatype.clone(), bytes, heap })
        };
        read().map_err(|error| self.place(dataset, error))
    }
    /// Like [`File::read`], into `out` of exactly `selection.element_count() * datatype.size()` bytes.
    ///
    /// # Errors
    /// As [`File::read`], and `InvalidInput` if `out` has another length.
    pub fn read_into(&self, dataset: ObjectId, selection: &Selection, out: &mut [u8], cancellation: &Cancellation) -> Result<HeapObjects> {
        let mut read = || {
            let description = self.dataset(dataset)?;
            check_length(&description, selection, out)?;
            fill(self, dataset, &description, selection, out, cancellation, Keep::Chunks)?;
            heap_of(self, &description, &description.datatype, out)
        };
        read().map_err(|error| self.place(dataset, error))
    }
    /// The bytes of the selected elements, without the heap objects they point at. Errors do not name the dataset.
    pub(crate) fn read_bytes(&self, dataset: ObjectId, selection: &Selection, cancellation: &Cancellation) -> Result<Vec<u8>> {
        let description = self.dataset(dataset)?;
        let mut bytes = zeros(selected_bytes(&description, selection)?)?;
        fill(self, dataset, &description, selection, &mut bytes, cancellation, Keep::Nothing)?;
        Ok(bytes)
    }
    /// Like [`File::read_bytes`], into `out` of exactly as many bytes.
    pub(crate) fn read_bytes_into(&self, dataset: ObjectId, selection: &Selection, out: &mut [u8], cancellation: &Cancellation) -> Result<()> {
        let description = self.dataset(dataset)?;
        check_length(&description, selection, out)?;
        fill(self, dataset, &description, selection, out, cancellation, Keep::Nothing)
    }
    /// The heap objects that the dataset's fill value points at; none without a fill value.
    ///
    /// # Errors
    /// `Io` or `Corrupt` if they cannot be read; `LimitExceeded` if they are too large.
    pub fn fill_heap(&self, dataset: ObjectId) -> Result<HeapObjects> {
        let found = || {
            let description = self.dataset(dataset)?;
            // That of a virtual dataset, too, is kept in its own file.
            let mut heap = HeapObjects::limited(self.session().limits().heap_budget(self.array_file().storage().len()));
            self.array_file().resolve_heap(&description.datatype, description.fill_value.as_deref().unwrap_or_default(), &mut heap)?;
            Ok(heap)
        };
        found().map_err(|error| self.place(dataset, error))
    }
    /// Bytes that the dataset's values occupy in the file, after filters.
    ///
    /// # Errors
    /// `Io`, `Corrupt` or `Unsupported` if the metadata cannot be read.
    pub fn stored_bytes(&self, dataset: ObjectId) -> Result<u64> {
        hyperslab_storage::check_open(&**self.array_file().storage())?;
        self.array_file().stored_bytes(dataset).map_err(|error| self.place(dataset, error))
    }
}

/// The heap objects that `bytes`, elements of (a projection of) the dataset's datatype, point at.
///
/// # Errors
/// `Io` or `Corrupt` if the objects cannot be read; `LimitExceeded` if they are too large.
pub fn heap(file: &File, dataset: ObjectId, datatype: &Datatype, bytes: &[u8]) -> Result<HeapObjects> {
    heap_of(file, &*file.dataset(dataset)?, datatype, bytes)
}

pub(crate) fn heap_of(file: &File, description: &Dataset, datatype: &Datatype, bytes: &[u8]) -> Result<HeapObjects> {
    let mut heap = HeapObjects::limited(file.session().limits().heap_budget(file.array_file().storage().len()));
    if description.virtual_mappings.is_empty() {
        file.array_file().resolve_heap(datatype, bytes, &mut heap)?;
    } else if datatype.uses_heap() {
        virtual_dataset::resolve_heap(file, datatype, bytes, &mut heap)?;
    }
    Ok(heap)
}

/// The bytes of the selected elements, in memory from the session's buffer pool.
///
/// # Errors
/// As [`File::read`].
pub fn read_values(file: &File, dataset: ObjectId, selection: &Selection, cancellation: &Cancellation) -> Result<PooledBuffer> {
    // A scan keeps the chunks that its windows share itself.
    values_of(file, dataset, selection, cancellation, Keep::Nothing)
}

/// As [`read_values`], for a few elements that a scan picks: the session keeps the chunks that were decoded for them, so that
/// the next query for the same elements decodes nothing.
///
/// # Errors
/// As [`File::read`].
pub fn read_few_values(file: &File, dataset: ObjectId, selection: &Selection, cancellation: &Cancellation) -> Result<PooledBuffer> {
    values_of(file, dataset, selection, cancellation, Keep::FewChunks)
}

fn values_of(file: &File, dataset: ObjectId, selection: &Selection, cancellation: &Cancellation, keep: Keep) -> Result<PooledBuffer> {
    let description = file.dataset(dataset)?;
    let mut values = file.session().values().take(selected_bytes(&description, selection)?)?;
    fill(file, dataset, &description, selection, &mut values, cancellation, keep)?;
    Ok(values)
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

fn check_length(dataset: &Dataset, selection: &Selection, out: &[u8]) -> Result<()> {
    let wanted = selected_bytes(dataset, selection)?;
    if out.len() != wanted {
        return Err(Error::invalid_input(format!("the buffer has {} bytes, the selection {wanted}", out.len())));
    }
    Ok(())
}

/// Fills `out`, whose length was checked.
pub(crate) fn fill(
    file: &File,
    dataset: ObjectId,
    description: &Dataset,
    selection: &Selection,
    out: &mut [u8],
    cancellation: &Cancellation,
    keep: Keep,
) -> Result<()> {
    if let Some(refusal) = &description.refusal {
        return Err(refusal.clone());
    }
    // Checks the selection against the dataset's shape.
    let selection = Selection::new(selection.axes().to_vec(), description.dataspace.shape())?;
    if out.is_empty() {
        return Ok(());
    }
    poison(out);
    let read = DatasetRead { file, dataset, description, selection: &selection, cancellation, keep };
    match &description.written_shape {
        Some(written) => fill_beyond(read, written, out),
        None => fill_written(read, out),
    }
}

/// Fills `out` from what was written: of this dataset, or of the sources of a virtual one.
fn fill_written(read: DatasetRead<'_>, out: &mut [u8]) -> Result<()> {
    match read.description.storage {
        StorageLayout::Virtual => {
            // Its sources are files of their own, which may be open still.
            hyperslab_storage::check_open(&**read.file.array_file().storage())?;
            virtual_dataset::fill(read, out)
        }
        _ => stored::fill(read, out),
    }
}

/// Like [`fill_written`], for a dataset whose extent exceeds `written`: the rest is the fill value.
fn fill_beyond(read: DatasetRead<'_>, written: &[u64], out: &mut [u8]) -> Result<()> {
    let DatasetRead { description, selection, .. } = read;
    let size = usize::try_from(description.datatype.size()).map_err(|_| Error::internal("element size"))?;
    let axes: Vec<Axis> = selection.axes().iter().zip(written).map(|(axis, &extent)| axis.clip(0, extent)).collect();
    let inside = Selection::new(axes, written)?;
    if inside.is_empty() {
        fill_value(description.fill_value.as_deref(), size, out);
        return Ok(());
    }
    let (part, whole) = (inside.shape(), selection.shape());
    // The written part comes first along every dimension: one run at the start if only the slowest dimension is cut.
    if part.iter().skip(1).eq(whole.iter().skip(1)) {
        let (stored, beyond) =
            out.split_at_mut_checked(selected_bytes(description, &inside)?).ok_or_else(|| Error::internal("a part that exceeds the whole"))?;
        fill_value(description.fill_value.as_deref(), size, beyond);
        return fill_written(DatasetRead { selection: &inside, ..read }, stored);
    }
    let mut stored = zeros(selected_bytes(description, &inside)?)?;
    poison(&mut stored);
    fill_written(DatasetRead { selection: &inside, ..read }, &mut stored)?;
    fill_value(description.fill_value.as_deref(), size, out);
    let positions = whole.iter().map(|&extent| Axis::all(extent)).collect();
    scatter(stored.as_slice().into(), &Region::all(&part), &Selection::new(positions, &whole)?, out, &Region::all(&whole), size)
}
