//! Reread: values of a dataset that were written before, from memory and from the file under way.

use std::collections::BTreeMap;

use hyperslab_array::{Error, Result};
use hyperslab_formats::hdf5::writer::StoredChunk;

use super::allocator::Blocks;
use super::dataset::{DatasetWriter, Partial, Storage};
use super::definition::DatasetDefinition;
use super::region::{Region, copy, runs};
use super::touched_chunks::{blank, number_of, touched};
use super::unwritten_regions::unwritten;

impl DatasetWriter {
    /// The elements of `region` as they are now, as they lie in the file: what was never written is the fill value.
    pub fn read(&self, region: &Region, blocks: &Blocks) -> Result<Vec<u8>> {
        let shape = self.definition.dataspace.shape().to_vec();
        if !region.fits(&shape) {
            return Err(Error::invalid_input(format!("{:?} elements from {:?} on in a dataset of shape {shape:?}", region.count, region.start)));
        }
        let size = usize::try_from(self.definition.datatype.size()).unwrap_or(usize::MAX);
        let bytes = region.elements().and_then(|elements| elements.checked_mul(self.definition.datatype.size()));
        let mut out = blank(bytes.ok_or_else(|| Error::unsupported("a selection beyond 64 bits"))?, &self.definition);
        let zeros = vec![0; shape.len()];
        match &self.storage {
            Storage::Virtual(_) => return Err(Error::unsupported("reading a virtual dataset before the file is complete")),
            Storage::Contiguous(None) => {}
            Storage::Growing(growing) => growing.read(region, &self.definition, &mut out)?,
            Storage::Contiguous(Some(address)) => read_runs(&mut out, region, (&zeros, &region.count), (&region.start, &shape), (*address, size), blocks)?,
            Storage::Placed { chunk_shape, base, stride } => {
                for chunk in touched(region, &shape, chunk_shape) {
                    let at = base.saturating_add(number_of(&chunk.position, &shape, chunk_shape).saturating_mul(*stride));
                    let (within, inside) = (from(&chunk.part.start, &region.start), from(&chunk.part.start, &chunk.origin));
                    read_runs(&mut out, &chunk.part, (&within, &region.count), (&inside, chunk_shape), (at, size), blocks)?;
                }
            }
            Storage::Chunked { chunk_shape, stored, partial } => {
                let chunk_bytes = chunk_shape.iter().fold(self.definition.datatype.size(), |n, extent| n.saturating_mul(*extent));
                for chunk in touched(region, &shape, chunk_shape) {
                    let decoded;
                    let bytes = match partial.get(&chunk.position) {
                        Some(waiting) => &waiting.bytes,
                        None if !stored.contains_key(&chunk.position) => continue,
                        None => {
                            decoded = reopened(&chunk.position, stored, &self.definition, chunk_bytes, blocks)?.bytes;
                            &decoded
                        }
                    };
                    let (within, inside) = (from(&chunk.part.start, &region.start), from(&chunk.part.start, &chunk.origin));
                    if !copy(&chunk.part.count, size, (bytes, chunk_shape, &inside), (&mut out, &region.count, &within)) {
                        return Err(Error::internal("a chunk's part outside of its array"));
                    }
                }
            }
        }
        // Of a file that several tasks write, what nobody wrote gets the fill value last.
        if let Some(fill) = self.definition.fill_value.as_ref().filter(|_| self.shared) {
            for missing in unwritten(region.clone(), &self.written) {
                let fills = fill.repeat(usize::try_from(missing.elements().unwrap_or(0)).unwrap_or(0));
                let within = from(&missing.start, &region.start);
                if !copy(&missing.count, size, (&fills, &missing.count, &zeros), (&mut out, &region.count, &within)) {
                    return Err(Error::internal("an unwritten part outside of its array"));
                }
            }
        }
        Ok(out)
    }

    /// Addresses and lengths in bytes of all stored elements, without filters.
    pub fn places(&self) -> Vec<(u64, u64)> {
        match &self.storage {
            Storage::Contiguous(Some(address)) => {
                let count = self.definition.dataspace.element_count().unwrap_or(0);
                vec![(*address, count.saturating_mul(self.definition.datatype.size()))]
            }
            Storage::Chunked { stored, .. } => stored.values().map(|chunk| (chunk.address, chunk.length)).collect(),
            _ => Vec::new(),
        }
    }
}

/// Positions counted from `origin`.
fn from(start: &[u64], origin: &[u64]) -> Vec<u64> {
    start.iter().zip(origin).map(|(start, origin)| start.saturating_sub(*origin)).collect()
}

/// Reads the elements of a box from an array in the file, at `address`, into an array in memory; of both arrays, the
/// position of the box and the shape.
fn read_runs(out: &mut [u8], region: &Region, memory: (&[u64], &[u64]), file: (&[u64], &[u64]), (address, size): (u64, usize), blocks: &Blocks) -> Result<()> {
    let mut outcome = Ok(());
    runs(&region.count, memory.1, memory.0, file.1, file.0, |to, at, length| {
        if outcome.is_ok() {
            let start = usize::try_from(to).unwrap_or(usize::MAX).saturating_mul(size);
            let length = usize::try_from(length).unwrap_or(usize::MAX).saturating_mul(size);
            let part = out.get_mut(start..start.saturating_add(length)).ok_or_else(|| Error::internal("a part outside of its array"));
            outcome = part.and_then(|part| blocks.read_at(address.saturating_add(at.saturating_mul(size as u64)), part));
        }
    });
    outcome
}

/// A chunk to be written to further: as it was stored, or empty.
pub(crate) fn reopened(
    position: &[u64],
    stored: &BTreeMap<Vec<u64>, StoredChunk>,
    definition: &DatasetDefinition,
    chunk_bytes: u64,
    blocks: &Blocks,
) -> Result<Partial> {
    let Some(chunk) = stored.get(position) else { return Ok(Partial { bytes: blank(chunk_bytes, definition), written: 0 }) };
    let mut raw = vec![0; usize::try_from(chunk.length).unwrap_or(usize::MAX)];
    blocks.read_at(chunk.address, &mut raw)?;
    let mut bytes = Vec::new();
    definition.filters.decode(&raw, chunk.filter_mask, usize::try_from(chunk_bytes).unwrap_or(usize::MAX), &mut bytes)?;
    Ok(Partial { bytes, written: 0 })
}
