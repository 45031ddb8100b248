//! Values of datasets: overwritten where they are, re-encoded chunk by chunk, and cut off or extended.

use std::cell::RefCell;

use hyperslab_array::{ChunkBuffer, Error, Region, Result, Selection, copy_region, region_runs};
use hyperslab_formats::hdf5::edit::{DatasetEdit, EditedStorage, FileEdit};
use hyperslab_formats::hdf5::writer::StoredChunk;
use hyperslab_formats::{ArrayFile, ChunkLocation, ChunkSource, Dataset, ObjectId};
use hyperslab_reader::File;

use crate::fill::Fill;

/// Start and length of free ranges of the file.
pub(crate) type Freed = Vec<(u64, u64)>;

/// Writes the elements of a region, encoded as in the file. Returns what that has freed.
pub(crate) fn write(file: &FileEdit<'_>, view: &File, id: ObjectId, region: &Region, bytes: &[u8]) -> Result<Freed> {
    let mut edited = DatasetEdit::open(file, id)?;
    let dataset = edited.dataset().clone();
    let (shape, size) = (dataset.dataspace.shape(), length(dataset.datatype.size())?);
    if !region.fits(shape) {
        return Err(Error::invalid_input(format!("the region {region} in a dataset of shape {shape:?}")));
    }
    let needed = region.elements().and_then(|elements| elements.checked_mul(size as u64)).ok_or_else(|| Error::unsupported("a selection beyond 64 bits"))?;
    if bytes.len() as u64 != needed {
        return Err(Error::invalid_input(format!("{} bytes for a region of {needed}", bytes.len())));
    }
    if needed == 0 {
        return Ok(Freed::new());
    }
    let zeros = vec![0; shape.len()];
    let part = |from: u64, count: u64| -> Result<&[u8]> {
        let (start, end) = (length(from)?.saturating_mul(size), length(from + count)?.saturating_mul(size));
        bytes.get(start..end).ok_or_else(|| Error::internal("a run outside of its values"))
    };
    let mut freed = Freed::new();
    match edited.storage()? {
        EditedStorage::Compact => {
            each_run(region, &zeros, shape, |from, at, count| edited.write_compact(length(at)?.saturating_mul(size), part(from, count)?))?
        }
        EditedStorage::Contiguous { address, size: stored } => {
            let address = match address {
                Some(address) => {
                    let needed = dataset.dataspace.element_count()?.checked_mul(size as u64).filter(|needed| *needed <= stored);
                    let needed = needed.ok_or_else(|| Error::corrupt(format!("{stored} bytes are allocated for a contiguous dataset that has more")))?;
                    check_inside(file, address, needed)?;
                    address
                }
                None if region.count == shape => edited.allocate_contiguous(needed)?,
                None => allocate_filled(file, &edited, &dataset, &Fill::of(&dataset, id, view)?)?,
            };
            each_run(region, &zeros, shape, |from, at, count| file.write(address.saturating_add(at.saturating_mul(size as u64)), part(from, count)?))?;
        }
        EditedStorage::Chunked => {
            let values = Values::new(file, view, id, &dataset)?;
            write_chunks(&values, &mut edited, region, bytes)?;
            freed = values.freed.into_inner();
        }
    }
    Ok(freed)
}

/// Writes the chunk that begins at `start`, encoded by the caller except for the filters of `skipped`. Returns what that has freed.
pub(crate) fn write_chunk(file: &FileEdit<'_>, view: &File, id: ObjectId, start: &[u64], bytes: &[u8], skipped: u32) -> Result<Freed> {
    let mut edited = DatasetEdit::open(file, id)?;
    if !matches!(edited.storage()?, EditedStorage::Chunked) {
        return Err(Error::invalid_input("the dataset is not chunked"));
    }
    let dataset = edited.dataset().clone();
    let values = Values::new(file, view, id, &dataset)?;
    let (shape, chunk_shape) = (dataset.dataspace.shape(), values.chunk_shape()?);
    let begins = start.len() == shape.len() && start.iter().zip(shape).zip(chunk_shape).all(|((at, extent), chunk)| at < extent && at % (*chunk).max(1) == 0);
    if !begins {
        return Err(Error::invalid_input(format!("no chunk of shape {chunk_shape:?} begins at {start:?} in a dataset of shape {shape:?}")));
    }
    let is_plain = edited.pipeline().filters.is_empty();
    let whole = values.elements_of_a_chunk()?.saturating_mul(dataset.datatype.size());
    if is_plain && bytes.len() as u64 != whole {
        return Err(Error::invalid_input(format!("{} bytes for a chunk of {whole} without filters", bytes.len())));
    }
    let first = Region { start: start.to_vec(), count: vec![1; start.len()] };
    let located = values.array_file.locate(id, &first.selection(shape)?)?;
    let location = located.chunks.first().ok_or_else(|| Error::internal("an element without a chunk"))?;
    let chunk = values.store_encoded(&edited, location, bytes, if is_plain { 0 } else { skipped })?;
    edited.set_chunks(&[chunk])?;
    Ok(values.freed.into_inner())
}

/// Changes the extent of a dataset. Values beyond it are gone: what comes back when it grows again is the fill value.
/// Returns what that has freed.
pub(crate) fn resize(file: &FileEdit<'_>, view: &File, id: ObjectId, shape: &[u64]) -> Result<Freed> {
    let mut freed = Freed::new();
    let mut edited = DatasetEdit::open(file, id)?;
    edited.storage()?;
    let dataset = edited.dataset().clone();
    let before = dataset.dataspace.shape().to_vec();
    if shape.len() == before.len() && shape.iter().zip(&before).any(|(new, old)| new < old) {
        let values = Values::new(file, view, id, &dataset)?;
        let locations = values.array_file.locate(id, &Selection::all(&before))?;
        let (mut gone, mut cut) = (Vec::new(), Vec::new());
        for location in &locations.chunks {
            let ChunkSource::Stored { offset, length, .. } = location.source else { continue };
            let inside = Region::all(shape).shared(&location.region);
            match inside {
                // Its place stays its own, and is filled when the dataset grows again.
                None if edited.has_fixed_chunks() => {}
                None => {
                    gone.push(values.position(location)?);
                    values.freed.borrow_mut().push((offset, length));
                }
                Some(part) if Some(&part) != Region::all(&before).shared(&location.region).as_ref() => {
                    let decoded = values.decoded(location)?;
                    let mut kept = values.filled()?;
                    let (at, chunk_shape) = (part.start_from(&location.region.start)?, &location.region.count);
                    copy(&part.count, values.size()?, (&decoded, chunk_shape, &at), (&mut kept, chunk_shape, &at))?;
                    cut.push(values.store(&edited, location, kept)?);
                }
                Some(_) => {}
            }
        }
        edited.set_chunks(&cut)?;
        edited.remove_chunks(&gone)?;
        freed = values.freed.into_inner();
    }
    edited.set_shape(shape)?;
    let values = Values::new(file, view, id, &dataset)?;
    edited.each_fixed_chunk_beyond(&before, &mut |address| {
        let mut filled = values.filled()?;
        check_inside(file, address, filled.len() as u64)?;
        values.fill.separate(file, &mut filled)?;
        file.write(address, &filled)
    })?;
    Ok(freed)
}

/// A dataset whose chunks are read and written.
struct Values<'a> {
    file: &'a FileEdit<'a>,
    array_file: &'a dyn ArrayFile,
    id: ObjectId,
    dataset: &'a Dataset,
    fill: Fill<'a>,
    /// The former places of chunks that have moved, become shorter, or been removed.
    freed: RefCell<Freed>,
}

impl<'a> Values<'a> {
    fn new(file: &'a FileEdit<'a>, view: &'a File, id: ObjectId, dataset: &'a Dataset) -> Result<Self> {
        Ok(Self { file, array_file: view.array_file(), id, dataset, fill: Fill::of(dataset, id, view)?, freed: RefCell::default() })
    }
    fn size(&self) -> Result<usize> {
        length(self.dataset.datatype.size())
    }
    fn chunk_shape(&self) -> Result<&[u64]> {
        self.dataset.chunk_shape.as_deref().ok_or_else(|| Error::internal("a chunked dataset without a chunk shape"))
    }
    /// Which chunk it is along each dimension.
    fn position(&self, location: &ChunkLocation) -> Result<Vec<u64>> {
        Ok(location.region.start.iter().zip(self.chunk_shape()?).map(|(start, extent)| start / (*extent).max(1)).collect())
    }
    fn elements_of_a_chunk(&self) -> Result<u64> {
        let elements = self.chunk_shape()?.iter().try_fold(1u64, |count, extent| count.checked_mul(*extent));
        elements.ok_or_else(|| Error::unsupported("a chunk beyond 64 bits"))
    }
    /// A chunk of fill values, to be given to [`Values::store`].
    fn filled(&self) -> Result<Vec<u8>> {
        self.fill.elements(length(self.elements_of_a_chunk()?)?)
    }
    /// Where a stored chunk without filters is. One of another length would be written beyond its end, over what is there.
    fn place_of_plain(&self, offset: u64, stored: u64) -> Result<u64> {
        let bytes = self.elements_of_a_chunk()?.checked_mul(self.dataset.datatype.size());
        let bytes = bytes.ok_or_else(|| Error::unsupported("a chunk beyond 64 bits"))?;
        if stored != bytes {
            return Err(Error::corrupt(format!("a chunk of {stored} bytes where {bytes} belong")).at_offset(offset));
        }
        let address = self.address_of(offset)?;
        check_inside(self.file, address, bytes)?;
        Ok(address)
    }
    fn address_of(&self, offset: u64) -> Result<u64> {
        offset.checked_sub(self.array_file.user_block_bytes()).ok_or_else(|| Error::internal("a chunk in front of the superblock"))
    }
    /// The elements of a stored chunk.
    fn decoded(&self, location: &ChunkLocation) -> Result<Vec<u8>> {
        let ChunkSource::Stored { offset, length: stored, .. } = location.source else { return self.filled() };
        check_inside(self.file, self.address_of(offset)?, stored)?;
        let mut raw = vec![0; length(stored)?];
        self.array_file.storage().read_exact_at(offset, &mut raw)?;
        let mut chunk = ChunkBuffer::default();
        self.array_file.decode(self.id, location, &raw, &mut chunk)?;
        chunk.join(self.size()?, &mut Vec::new())?;
        Ok(chunk.bytes)
    }
    /// Encodes a chunk and writes it: where it was if it fits there, else at the end of the file.
    fn store(&self, edited: &DatasetEdit<'_>, location: &ChunkLocation, mut elements: Vec<u8>) -> Result<StoredChunk> {
        self.fill.separate(self.file, &mut elements)?;
        let (bytes, filter_mask) = edited.pipeline().encode(elements)?;
        self.store_encoded(edited, location, &bytes, filter_mask)
    }
    /// Writes an encoded chunk: where it was if it fits there, else at the end of the file.
    fn store_encoded(&self, edited: &DatasetEdit<'_>, location: &ChunkLocation, bytes: &[u8], filter_mask: u32) -> Result<StoredChunk> {
        let length = bytes.len() as u64;
        let address = match location.source {
            ChunkSource::Stored { offset, length: old, .. } if length <= old => {
                if length < old {
                    self.freed.borrow_mut().push((offset + length, old - length));
                }
                self.address_of(offset)?
            }
            _ if edited.has_fixed_chunks() => return Err(Error::unsupported("a chunk that its index has no place for cannot be edited yet")),
            ChunkSource::Stored { offset, length: old, .. } => {
                self.freed.borrow_mut().push((offset, old));
                self.file.allocate(length)?
            }
            _ => self.file.allocate(length)?,
        };
        self.file.write(address, bytes)?;
        Ok(StoredChunk { position: self.position(location)?, address, length, filter_mask })
    }
}

fn write_chunks(values: &Values<'_>, edited: &mut DatasetEdit<'_>, region: &Region, bytes: &[u8]) -> Result<()> {
    if let Some(refusal) = edited.pipeline().writing_refusal() {
        return Err(refusal);
    }
    let (shape, chunk_shape, size) = (values.dataset.dataspace.shape(), values.chunk_shape()?, values.size()?);
    let whole = Region::all(shape);
    let is_plain = edited.pipeline().filters.is_empty();
    let mut changed = Vec::new();
    for location in values.array_file.locate(values.id, &region.selection(shape)?)?.chunks {
        let Some(inside) = location.region.shared(&whole) else { continue };
        let Some(part) = inside.shared(region) else { continue };
        let (from, to) = (part.start_from(&region.start)?, part.start_from(&location.region.start)?);
        if let ChunkSource::Stored { offset, length: stored, .. } = location.source
            && is_plain
        {
            let address = values.place_of_plain(offset, stored)?;
            let mut outcome = Ok(());
            region_runs(&part.count, &region.count, &from, chunk_shape, &to, |source, target, count| {
                if outcome.is_ok() {
                    outcome = (|| {
                        let start = length(source)?.saturating_mul(size);
                        let run = bytes
                            .get(start..start.saturating_add(length(count)?.saturating_mul(size)))
                            .ok_or_else(|| Error::internal("a run outside of its values"))?;
                        values.file.write(address.saturating_add(target.saturating_mul(size as u64)), run)
                    })();
                }
            });
            outcome?;
            continue;
        }
        let mut elements = if part == inside { values.filled()? } else { values.decoded(&location)? };
        copy(&part.count, size, (bytes, &region.count, &from), (&mut elements, chunk_shape, &to))?;
        changed.push(values.store(edited, &location, elements)?);
    }
    edited.set_chunks(&changed)
}

/// Checks that values which the file places somewhere are in it.
fn check_inside(file: &FileEdit<'_>, address: u64, bytes: u64) -> Result<()> {
    if file.holds(address, bytes)? {
        return Ok(());
    }
    Err(Error::corrupt(format!("{bytes} bytes of values that end after the end of the file")).at_offset(address))
}

/// Allocates a contiguous dataset and writes its fill value.
fn allocate_filled(file: &FileEdit<'_>, edited: &DatasetEdit<'_>, dataset: &Dataset, fill: &Fill<'_>) -> Result<u64> {
    /// Bytes that are written at once.
    const PIECE_BYTES: u64 = 8 << 20;
    let count = dataset.dataspace.element_count()?;
    let size = dataset.datatype.size().max(1);
    let bytes = count.checked_mul(size).ok_or_else(|| Error::unsupported("a dataset beyond 64 bits"))?;
    let address = edited.allocate_contiguous(bytes)?;
    let in_a_piece = (PIECE_BYTES / size).max(1);
    let mut done = 0;
    while done < count {
        let elements = in_a_piece.min(count - done);
        let mut bytes = fill.elements(length(elements)?)?;
        fill.separate(file, &mut bytes)?;
        file.write(address + done * size, &bytes)?;
        done += elements;
    }
    Ok(address)
}

/// Calls `each` with the runs of a region of an array of `shape`: its place in the region, its place in the array, and its elements.
fn each_run(region: &Region, zeros: &[u64], shape: &[u64], mut each: impl FnMut(u64, u64, u64) -> Result<()>) -> Result<()> {
    let mut outcome = Ok(());
    region_runs(&region.count, &region.count, zeros, shape, &region.start, |from, at, count| {
        if outcome.is_ok() {
            outcome = each(from, at, count);
        }
    });
    outcome
}

fn copy(count: &[u64], size: usize, from: (&[u8], &[u64], &[u64]), to: (&mut [u8], &[u64], &[u64])) -> Result<()> {
    if copy_region(count, size, from, to) { Ok(()) } else { Err(Error::internal("a chunk's part outside of its array")) }
}

pub(crate) fn length(number: u64) -> Result<usize> {
    usize::try_from(number).map_err(|_| Error::unsupported("more values than memory holds"))
}
