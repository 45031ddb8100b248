//! Reads single values of columns that are stored exactly as they are returned, into memory that stays in the processor's
//! cache.

use std::ops::Range;

use hyperslab_array::{Error, Result};
use hyperslab_formats::{ChunkLocation, ChunkSource, StorageLayout};
use hyperslab_reader::{File, PooledBuffer, Session};

use super::cost_model::{LOCATE_MAX_CHUNKS, READ_GROUP_WORDS, READ_MAX_GAP_BYTES};
use crate::pruner::{CHUNK_ROWS, Piece, PieceRows};
use crate::table::segment::{Segment, Source};

/// The values of a dataset that are stored exactly as they are returned.
pub(crate) struct RawColumnReader {
    file: File,
    width: usize,
    count: u64,
    runs: Vec<Run>,
}

/// Elements that are contiguous both in the dataset and in the file.
struct Run {
    first: u64,
    count: u64,
    offset: u64,
}

pub(crate) fn beyond() -> Error {
    Error::internal("rows beyond the values")
}

impl RawColumnReader {
    /// `None` if values must be decoded, or are not contiguous in the file.
    pub fn of(segment: &Segment, source: &Source, width: usize) -> Result<Option<Self>> {
        let Source::Variable { dataset: id, column, per_row: None } = source else { return Ok(None) };
        let file = &segment.file;
        let dataset = file.dataset(*id)?;
        let plain = file.array_file().is_stored()
            && dataset.filters.is_empty()
            && dataset.external_files.is_empty()
            && matches!(dataset.storage, StorageLayout::Contiguous | StorageLayout::Chunked)
            && dataset.written_shape.is_none()
            && column.is_as_stored();
        let shape = dataset.dataspace.shape();
        if !plain || shape != segment.shape || dataset.datatype.size() != width as u64 {
            return Ok(None);
        }
        let chunks = shape.iter().zip(dataset.chunk_grid.chunk_shape()).fold(1u64, |n, (extent, chunk)| n.saturating_mul(extent.div_ceil((*chunk).max(1))));
        if chunks > LOCATE_MAX_CHUNKS {
            return Ok(None);
        }
        // Leave damaged chunks, or chunks that are being changed, to window reads, which report them or wait.
        let Ok(located) = file.array_file().locate(*id, &hyperslab_array::Selection::all(shape)) else { return Ok(None) };
        let runs = located.chunks.iter().map(|chunk| Run::of(chunk, shape, width as u64));
        let Some(mut found) = runs.collect::<Option<Vec<Run>>>() else { return Ok(None) };
        found.sort_unstable_by_key(|run| run.first);
        let (mut runs, mut next): (Vec<Run>, u64) = (Vec::with_capacity(found.len()), 0);
        for run in found {
            if run.first != next {
                return Ok(None);
            }
            next = next.saturating_add(run.count);
            match runs.last_mut() {
                Some(last) if last.offset.checked_add(last.count.saturating_mul(width as u64)) == Some(run.offset) => last.count += run.count,
                _ => runs.push(run),
            }
        }
        let whole = shape.iter().try_fold(1u64, |n, extent| n.checked_mul(*extent)) == Some(next);
        Ok(whole.then(|| Self { file: file.clone(), width, count: next, runs }))
    }

    /// A buffer for the values of a piece.
    pub fn scratch(&self, session: &Session) -> Result<PooledBuffer> {
        session.values().take(CHUNK_ROWS as usize * self.width)
    }

    /// Reads values from row `first` on.
    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let (mut row, mut rest) = (first, out);
        let begin = self.runs.partition_point(|run| run.first + run.count <= row);
        for run in self.runs.iter().skip(begin) {
            if rest.is_empty() {
                break;
            }
            let within = row.checked_sub(run.first).ok_or_else(beyond)?;
            let left = usize::try_from((run.count - within).saturating_mul(self.width as u64)).unwrap_or(usize::MAX);
            let (mine, others) = rest.split_at_mut_checked(left.min(rest.len())).ok_or_else(beyond)?;
            let place = within.checked_mul(self.width as u64).and_then(|bytes| run.offset.checked_add(bytes)).ok_or_else(beyond)?;
            self.file.array_file().storage().read_exact_at(place, mine)?;
            self.file.session().counters().add_bytes_read(mine.len() as u64);
            row += (mine.len() / self.width) as u64;
            rest = others;
        }
        if rest.is_empty() { Ok(()) } else { Err(beyond()) }
    }

    /// Copies the values at a piece's rows to `out`.
    pub fn take(&self, piece: &Piece<'_>, scratch: &mut [u8], out: &mut [u8]) -> Result<()> {
        match self.width {
            1 => self.take_wide::<1>(piece, scratch, out),
            2 => self.take_wide::<2>(piece, scratch, out),
            4 => self.take_wide::<4>(piece, scratch, out),
            _ => self.take_wide::<8>(piece, scratch, out),
        }
    }

    /// The values of a range of rows of a piece, up to the end of the column.
    fn around<'a, const N: usize>(&self, piece: &Piece<'_>, rows: Range<usize>, scratch: &'a mut [u8]) -> Result<&'a [[u8; N]]> {
        let first = piece.first + rows.start as u64;
        let count = usize::try_from(self.count.saturating_sub(first)).unwrap_or(usize::MAX).min(rows.len());
        let bytes = scratch.get_mut(..count * N).ok_or_else(beyond)?;
        self.read(first, bytes)?;
        Ok(bytes.as_chunks::<N>().0)
    }

    fn take_wide<const N: usize>(&self, piece: &Piece<'_>, scratch: &mut [u8], out: &mut [u8]) -> Result<()> {
        let (mut out, _) = out.as_chunks_mut::<N>();
        match piece.rows {
            PieceRows::All => self.read(piece.first, out.as_flattened_mut()),
            PieceRows::Listed(rows) => {
                for near in rows.chunk_by(|a, b| usize::from(b - a) * N <= READ_MAX_GAP_BYTES) {
                    let (Some(first), Some(last)) = (near.first().copied(), near.last().copied()) else { continue };
                    let (mine, others) = std::mem::take(&mut out).split_at_mut_checked(near.len()).ok_or_else(beyond)?;
                    out = others;
                    if let [slot] = mine {
                        self.read(piece.first + u64::from(first), slot)?;
                        continue;
                    }
                    let values = self.around(piece, usize::from(first)..usize::from(last) + 1, scratch)?;
                    for (slot, row) in mine.iter_mut().zip(near) {
                        *slot = *values.get(usize::from(row - first)).ok_or_else(beyond)?;
                    }
                }
                Ok(())
            }
            PieceRows::Bits(words) => {
                let groups: Vec<usize> =
                    words.chunks(READ_GROUP_WORDS).enumerate().filter(|(_, words)| words.iter().any(|word| *word != 0)).map(|(number, _)| number).collect();
                for near in groups.chunk_by(|a, b| a + 1 == *b) {
                    let (Some(first), Some(last)) = (near.first(), near.last()) else { continue };
                    let (first, end) = (first * READ_GROUP_WORDS, (last + 1) * READ_GROUP_WORDS);
                    let values = self.around(piece, first * 64..end * 64, scratch)?;
                    let taken = compress(words.get(first..end).ok_or_else(beyond)?, values, out);
                    out = std::mem::take(&mut out).split_at_mut_checked(taken).ok_or_else(beyond)?.1;
                }
                // The memory is reused: what is left has values of another read.
                if out.is_empty() { Ok(()) } else { Err(beyond()) }
            }
        }
    }
}

/// Copies the values whose bits are set to the front of `out`; returns their number.
fn compress<const N: usize>(words: &[u64], values: &[[u8; N]], out: &mut [[u8; N]]) -> usize {
    // Uses the instructions of this processor, not only the baseline: they find the next set bit faster.
    pulp::Arch::new().dispatch(Compress { words, values, out })
}

/// [`compress`], compiled for each supported instruction set.
struct Compress<'a, const N: usize> {
    words: &'a [u64],
    values: &'a [[u8; N]],
    out: &'a mut [[u8; N]],
}

impl<const N: usize> pulp::NullaryFnOnce for Compress<'_, N> {
    type Output = usize;
    #[inline(always)]
    fn call(self) -> usize {
        compress_one_by_one(self.words, self.values, self.out)
    }
}

#[inline(always)]
fn compress_one_by_one<const N: usize>(words: &[u64], values: &[[u8; N]], out: &mut [[u8; N]]) -> usize {
    let mut next = 0;
    for (word, values) in words.iter().zip(values.chunks(64)).filter(|(word, _)| **word != 0) {
        let count = word.count_ones() as usize;
        let slots = out.get_mut(next..next + count).unwrap_or_default();
        next += count;
        match values.first_chunk::<64>() {
            Some(values) if count == 64 => slots.copy_from_slice(values),
            Some(values) => {
                let mut left = *word;
                for slot in slots {
                    *slot = values[(left.trailing_zeros() & 63) as usize];
                    left &= left.wrapping_sub(1);
                }
            }
            None => {
                let set = values.iter().enumerate().filter(|(bit, _)| word >> bit & 1 == 1);
                slots.iter_mut().zip(set).for_each(|(slot, (_, value))| *slot = *value);
            }
        }
    }
    next
}

impl Run {
    /// A chunk's elements, of `width` bytes each, as one run; `None` if they are not contiguous, not stored, or incomplete.
    fn of(chunk: &ChunkLocation, shape: &[u64], width: u64) -> Option<Self> {
        let ChunkSource::Stored { offset, length, .. } = chunk.source else { return None };
        if chunk.region.count.iter().try_fold(width, |bytes, extent| bytes.checked_mul(*extent)) != Some(length) {
            return None;
        }
        let (mut first, mut count, mut stride) = (0u64, 1u64, 1u64);
        let (mut whole, mut single) = (true, true);
        for ((origin, extent), all) in chunk.region.dimensions().zip(shape).rev() {
            let here = extent.min(all.checked_sub(origin)?);
            // Contiguous are, from the fastest dimension on: any number of whole dimensions, one partial dimension, then
            // single indexes. A chunk may extend beyond the dataset in the partial dimension only.
            if !whole && here > 1 {
                single = false;
            }
            whole &= extent == *all;
            first = first.checked_add(origin.checked_mul(stride)?)?;
            count = count.checked_mul(here)?;
            stride = stride.checked_mul(*all)?;
        }
        (single && chunk.region.start.len() == shape.len()).then_some(Self { first, count, offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperslab_array::Region;
    use proptest::prelude::*;

    #[test]
    fn a_chunk_is_a_run_if_its_elements_are_contiguous() {
        let stored = |origin: &[u64], extents: &[u64], shape: &[u64]| {
            let source = ChunkSource::Stored { offset: 100, length: 4 * extents.iter().product::<u64>(), filter_mask: 0 };
            let run =
                |width| Run::of(&ChunkLocation { region: Region { start: origin.to_vec(), count: extents.to_vec() }, source: source.clone() }, shape, width);
            assert!(run(8).is_none(), "a chunk that is too short");
            run(4).map(|run| (run.first, run.count))
        };
        assert_eq!(stored(&[8], &[4], &[10]), Some((8, 2)));
        assert_eq!(stored(&[8, 0], &[4, 5], &[10, 5]), Some((40, 10)));
        assert_eq!(stored(&[3, 4], &[1, 4], &[10, 5]), Some((19, 1)));
        assert_eq!(stored(&[0, 0], &[4, 8], &[10, 5]), None, "rows with overhang are not contiguous");
        assert_eq!(stored(&[0, 0], &[2, 2], &[10, 5]), None);
        assert_eq!(stored(&[2, 3, 0], &[1, 2, 6], &[4, 5, 6]), Some((78, 12)));
        assert_eq!(stored(&[2, 0, 0], &[2, 2, 6], &[4, 5, 6]), None);
    }

    proptest! {
        #[test]
        fn values_whose_bits_are_set_come_in_order(words in proptest::collection::vec(prop_oneof![Just(0u64), Just(u64::MAX), any::<u64>()], 1..8), cut in 0usize..64) {
            let count = words.len() * 64 - cut;
            let mut words = words;
            if let Some(last) = words.last_mut() {
                *last &= u64::MAX >> cut;
            }
            let values: Vec<[u8; 4]> = (0..count as u32).map(u32::to_le_bytes).collect();
            let wanted: Vec<[u8; 4]> = values.iter().enumerate().filter(|(n, _)| words[n / 64] >> (n % 64) & 1 == 1).map(|(_, value)| *value).collect();
            let mut out = vec![[0; 4]; wanted.len()];
            prop_assert_eq!(compress(&words, &values, &mut out), wanted.len());
            prop_assert_eq!(out, wanted);
        }
    }
}
