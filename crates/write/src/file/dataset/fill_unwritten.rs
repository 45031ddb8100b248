//! Writes the fill value where nothing was written: in a shared subfile, and of variable length in a contiguous dataset.

use std::collections::BTreeSet;

use hyperslab_array::Result;

use super::state::{DatasetStorage, DatasetWriter};
use super::touched_chunks::{chunk_index, touched_chunks};
use crate::file::allocator::Allocator;
use crate::file::memory_length::memory_length;
use crate::file::regions::region::{Region, runs};
use crate::file::regions::unwritten::unwritten_regions;

/// Bytes of fill values written at a time.
pub(crate) const FILL_PIECE_BYTES: usize = 1 << 20;

impl DatasetWriter {
    /// Gives each unwritten element of a contiguous dataset values of variable length of its own.
    pub fn separate_unwritten(&mut self, allocator: &mut Allocator) -> Result<()> {
        let (DatasetStorage::Contiguous(Some(address)), Some(fill)) = (&self.storage, &mut self.fill) else { return Ok(()) };
        let (shape, size) = (self.definition.dataspace.shape(), self.definition.datatype.size().max(1));
        let in_a_piece = (FILL_PIECE_BYTES as u64 / size).max(1);
        let zeros = vec![0; shape.len()];
        let mut outcome = Ok(());
        for region in unwritten_regions(Region::all(shape), &self.written) {
            runs(&region.count, &region.count, &zeros, shape, &region.start, |_, start, count| {
                let mut done = 0;
                while outcome.is_ok() && done < count {
                    let part = in_a_piece.min(count - done);
                    outcome = (|| {
                        let at = address.saturating_add((start + done).saturating_mul(size));
                        let mut elements = vec![0; memory_length(part.saturating_mul(size))?];
                        allocator.read_at(at, &mut elements)?;
                        fill.separate(&mut elements, &mut |elements| allocator.store_elements(elements))?;
                        allocator.write_at(at, &elements)
                    })();
                    done += part;
                }
            });
        }
        outcome
    }

    /// Writes the fill value to regions that no task wrote, where the file has zeros. Chunks that no task touched are omitted
    /// from the metadata, so readers see the fill value there without this.
    pub fn fill_unwritten(&self, mut write_at: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        let Some(fill) = self.definition.fill_value.as_ref().filter(|fill| fill.iter().any(|byte| *byte != 0)) else { return Ok(()) };
        let (shape, size) = (self.definition.dataspace.shape(), self.definition.datatype.size());
        let piece = fill.repeat((FILL_PIECE_BYTES / fill.len().max(1)).max(1));
        let mut outcome = Ok(());
        let mut put = |mut at: u64, length: u64| {
            let end = at.saturating_add(length);
            while outcome.is_ok() && at < end {
                let part = usize::try_from(end - at).ok().and_then(|length| piece.get(..length)).unwrap_or(&piece);
                outcome = write_at(at, part);
                at += part.len() as u64;
            }
        };
        let zeros = vec![0; shape.len()];
        match &self.storage {
            DatasetStorage::Contiguous(Some(address)) if !self.written.is_empty() => {
                for region in unwritten_regions(Region::all(shape), &self.written) {
                    runs(&region.count, &region.count, &zeros, shape, &region.start, |_, to, length| put(address + to * size, length * size));
                }
            }
            DatasetStorage::Placed { chunk_shape, base, stride } => {
                let known: BTreeSet<Vec<u64>> =
                    self.written.iter().flat_map(|region| touched_chunks(region, shape, chunk_shape)).map(|chunk| chunk.position).collect();
                for region in unwritten_regions(Region::all(shape), &self.written) {
                    for chunk in touched_chunks(&region, shape, chunk_shape).filter(|chunk| known.contains(&chunk.position)) {
                        let at = base.saturating_add(chunk_index(&chunk.position, shape, chunk_shape).saturating_mul(*stride));
                        let within = chunk.part.start_from(&chunk.origin)?;
                        runs(&chunk.part.count, &chunk.part.count, &zeros, chunk_shape, &within, |_, to, length| put(at + to * size, length * size));
                    }
                }
            }
            _ => {}
        }
        outcome
    }
}
