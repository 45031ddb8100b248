//! Reads back values of a dataset from memory and from the file that is being written.

use hyperslab_array::{Error, Result};

use super::partial_chunk::load_partial_chunk;
use super::state::{DatasetStorage, DatasetWriter};
use super::touched_chunks::{chunk_index, filled_with_fill_value, touched_chunks};
use crate::file::allocator::Allocator;
use crate::file::memory_length::memory_length;
use crate::file::regions::region::{Region, copy, runs};
use crate::file::regions::unwritten::unwritten_regions;

impl DatasetWriter {
    /// The elements of `region`, encoded as in the file. Elements that were never written have the fill value.
    pub fn read(&self, region: &Region, allocator: &Allocator) -> Result<Vec<u8>> {
        let shape = self.definition.dataspace.shape().to_vec();
        if !region.fits(&shape) {
            return Err(Error::invalid_input(format!("{:?} elements from {:?} on in a dataset of shape {shape:?}", region.count, region.start)));
        }
        let size = memory_length(self.definition.datatype.size())?;
        let bytes = region.elements().and_then(|elements| elements.checked_mul(self.definition.datatype.size()));
        let mut out = filled_with_fill_value(bytes.ok_or_else(|| Error::unsupported("a selection beyond 64 bits"))?, &self.definition)?;
        let zeros = vec![0; shape.len()];
        match &self.storage {
            DatasetStorage::Virtual(_) => return Err(Error::unsupported("reading a virtual dataset before the file is complete")),
            DatasetStorage::Contiguous(None) => {}
            DatasetStorage::Growing(growing) => growing.read(region, &self.definition, &mut out)?,
            DatasetStorage::Contiguous(Some(address)) => {
                read_runs(&mut out, region, (&zeros, &region.count), (&region.start, &shape), (*address, size), allocator)?
            }
            DatasetStorage::Placed { chunk_shape, base, stride } => {
                for chunk in touched_chunks(region, &shape, chunk_shape) {
                    let at = base.saturating_add(chunk_index(&chunk.position, &shape, chunk_shape).saturating_mul(*stride));
                    let (within, inside) = (chunk.part.start_from(&region.start)?, chunk.part.start_from(&chunk.origin)?);
                    read_runs(&mut out, &chunk.part, (&within, &region.count), (&inside, chunk_shape), (at, size), allocator)?;
                }
            }
            DatasetStorage::Chunked { chunk_shape, stored, partial } => {
                let chunk_bytes = chunk_shape.iter().fold(self.definition.datatype.size(), |n, extent| n.saturating_mul(*extent));
                for chunk in touched_chunks(region, &shape, chunk_shape) {
                    let decoded;
                    let bytes = match partial.get(&chunk.position) {
                        Some(waiting) => &waiting.bytes,
                        None if !stored.contains_key(&chunk.position) => continue,
                        None => {
                            decoded = load_partial_chunk(&chunk.position, stored, &self.definition, chunk_bytes, allocator)?.bytes;
                            &decoded
                        }
                    };
                    let (within, inside) = (chunk.part.start_from(&region.start)?, chunk.part.start_from(&chunk.origin)?);
                    if !copy(&chunk.part.count, size, (bytes, chunk_shape, &inside), (&mut out, &region.count, &within)) {
                        return Err(Error::internal("a chunk's part outside of its array"));
                    }
                }
            }
        }
        // In a shared subfile, fill values are written at the end: apply them here.
        if let Some(fill) = self.definition.fill_value.as_ref().filter(|_| self.shared) {
            for missing in unwritten_regions(region.clone(), &self.written) {
                let elements = missing.elements().ok_or_else(|| Error::internal("an unwritten region beyond 64 bits"))?;
                let fills = fill.repeat(memory_length(elements)?);
                let within = missing.start_from(&region.start)?;
                if !copy(&missing.count, size, (&fills, &missing.count, &zeros), (&mut out, &region.count, &within)) {
                    return Err(Error::internal("an unwritten part outside of its array"));
                }
            }
        }
        Ok(out)
    }

    /// Address and length in bytes of each stored range of unfiltered elements.
    pub fn stored_ranges(&self) -> Result<Vec<(u64, u64)>> {
        Ok(match &self.storage {
            DatasetStorage::Contiguous(Some(address)) => {
                let bytes = self.definition.dataspace.element_count()?.checked_mul(self.definition.datatype.size());
                vec![(*address, bytes.ok_or_else(|| Error::internal("a dataset beyond 64 bits"))?)]
            }
            DatasetStorage::Chunked { stored, .. } => stored.values().map(|chunk| (chunk.address, chunk.length)).collect(),
            _ => Vec::new(),
        })
    }
}

/// Reads a region of an array in the file, at `address`, into an array in memory. `memory` and `file` are the start of the
/// region and the shape in each array.
fn read_runs(
    out: &mut [u8],
    region: &Region,
    memory: (&[u64], &[u64]),
    file: (&[u64], &[u64]),
    (address, size): (u64, usize),
    allocator: &Allocator,
) -> Result<()> {
    let mut outcome = Ok(());
    runs(&region.count, memory.1, memory.0, file.1, file.0, |to, at, length| {
        if outcome.is_ok() {
            outcome = (|| {
                let (start, length) = (memory_length(to)?.saturating_mul(size), memory_length(length)?.saturating_mul(size));
                let part = out.get_mut(start..start.saturating_add(length)).ok_or_else(|| Error::internal("a part outside of its array"))?;
                allocator.read_at(address.saturating_add(at.saturating_mul(size as u64)), part)
            })();
        }
    });
    outcome
}
