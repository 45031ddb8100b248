//! The filters of a dataset, undone one after the other.

use std::ops::RangeInclusive;

use hyperslab_array::{Arrangement, ChunkBuffer, Error, Result};

use super::known::id;
use super::one_filter::Filter;
use crate::FilterDescription;
use crate::poison::poison_buffer;

/// The filters of a dataset, in order of application on write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pipeline {
    /// The filters.
    pub filters: Vec<Filter>,
}

impl FilterDescription {
    /// The filter, to be written again as it is.
    pub fn to_filter(&self) -> Filter {
        Filter { id: self.id, name: self.stored_name.clone(), optional: self.optional, parameters: self.parameters.clone() }
    }
}

/// What bytes after the last filter but one may be longer than the chunk: checksums and headers.
const SLACK_BYTES: usize = 64 << 10;

impl Pipeline {
    /// Why this pipeline cannot be decoded (names the filter), or `None`. An unknown optional filter
    /// counts too: chunks that skipped it would read, the others would not.
    pub fn refusal(&self) -> Option<Error> {
        let unknown = self.filters.iter().find(|filter| !filter.is_known())?;
        Some(Error::unsupported(format!("{} filter (number {})", unknown.label(), unknown.id)))
    }

    /// Whether every filter that cannot be decoded is skipped in a chunk with this mask.
    pub fn skips_unknown(&self, filter_mask: u32) -> bool {
        let unknown = self.filters.iter().enumerate().filter(|(_, filter)| !filter.is_known());
        unknown.into_iter().all(|(index, _)| index < 32 && filter_mask & (1 << index) != 0)
    }

    /// The filters for people.
    pub fn describe(&self) -> Vec<FilterDescription> {
        let describe = |filter: &Filter| FilterDescription {
            id: filter.id,
            name: filter.label(),
            parameters: filter.parameters.clone(),
            optional: filter.optional,
            stored_name: filter.name.clone(),
        };
        self.filters.iter().map(describe).collect()
    }

    /// Undoes the filters in reverse order, except those whose bit is set in `filter_mask`.
    /// `out` gets exactly `chunk_bytes` bytes.
    ///
    /// # Errors
    /// `Corrupt` for bytes that do not decode to that length; `Unsupported` for an unknown filter.
    pub fn decode(&self, raw: &[u8], filter_mask: u32, chunk_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
        self.decode_filters(&self.applied(filter_mask), raw, chunk_bytes, out)?;
        exactly(out, &(chunk_bytes..=chunk_bytes))
    }

    /// As `decode`, for a chunk with elements of `element` bytes, which is at most `bytes.end()` bytes long. At least
    /// `bytes.start()` of them must be there, the rest are zeros: some writers leave out the end of a chunk that lies outside of
    /// its dataset. A shuffle that was applied first is not undone; [`ChunkBuffer::arrangement`] says so.
    ///
    /// # Errors
    /// As [`Pipeline::decode`].
    pub fn decode_chunk(&self, raw: &[u8], filter_mask: u32, bytes: RangeInclusive<usize>, element: usize, out: &mut ChunkBuffer) -> Result<()> {
        let mut todo = self.applied(filter_mask);
        out.arrangement = Arrangement::Elements;
        if let Some((_, Filter { id: id::SHUFFLE, parameters, .. })) = todo.last()
            && element > 1
            && parameters.first().is_some_and(|width| usize::try_from(*width) == Ok(element))
        {
            let shuffle = todo.pop();
            self.decode_filters(&todo, raw, *bytes.end(), &mut out.bytes)?;
            if out.bytes.len() == *bytes.end() && out.bytes.len().is_multiple_of(element) {
                out.arrangement = Arrangement::Planes;
                return Ok(());
            }
            // Another number of elements was shuffled than the chunk has.
            let planes = std::mem::take(&mut out.bytes);
            self.decode_filters(shuffle.as_slice(), &planes, *bytes.end(), &mut out.bytes)?;
        } else {
            self.decode_filters(&todo, raw, *bytes.end(), &mut out.bytes)?;
        }
        exactly(&mut out.bytes, &bytes)
    }

    /// The arrangement of what inflating gives, if a chunk with this mask is one zlib stream, shuffled or not: a part of it can be inflated.
    pub fn deflated(&self, filter_mask: u32, element: u64) -> Option<Arrangement> {
        let applied = self.applied(filter_mask);
        let (inflate, rest) = applied.split_first()?;
        let width = |filter: &Filter| filter.parameters.first().map(|width| u64::from(*width));
        match rest {
            _ if inflate.1.id != id::DEFLATE => None,
            [] => Some(Arrangement::Elements),
            [(_, shuffle)] if shuffle.id == id::SHUFFLE && width(shuffle) == Some(1) => Some(Arrangement::Elements),
            [(_, shuffle)] if shuffle.id == id::SHUFFLE && width(shuffle) == Some(element) => Some(Arrangement::Planes),
            _ => None,
        }
    }

    /// Why chunks cannot be written through this pipeline (names the filter), or `None`.
    pub fn writing_refusal(&self) -> Option<Error> {
        let unknown = self.filters.iter().find(|filter| !filter.is_written())?;
        Some(Error::unsupported(format!("writing with the {} filter (number {})", unknown.label(), unknown.id)))
    }

    /// Applies the filters in order to a chunk; gives the mask of those that were skipped: lzf, as h5py's filter does
    /// it, if it does not make the chunk shorter, and filters without the parameters that the library could not set, which it
    /// skips, too. The library keeps the mask of a chunk that it overwrites with as many bytes as before; so one that was
    /// skipped must always be, or never give as many bytes as it got.
    ///
    /// # Errors
    /// `Unsupported` for a filter that cannot be applied; `InvalidInput` for parameters that it does not have.
    pub fn encode(&self, chunk: Vec<u8>) -> Result<(Vec<u8>, u32)> {
        let (mut bytes, mut mask) = (chunk, 0u32);
        for (index, filter) in self.filters.iter().enumerate() {
            let may_skip = filter.optional && index < 32;
            if may_skip && filter.lacks_parameters() {
                mask |= 1 << index;
                continue;
            }
            let encoded = filter.encode(&bytes)?;
            if may_skip && filter.id == id::LZF && encoded.len() >= bytes.len() {
                mask |= 1 << index;
            } else {
                bytes = encoded;
            }
        }
        Ok((bytes, mask))
    }

    /// The mask of a chunk to which no filter was applied.
    pub fn all_skipped(&self) -> u32 {
        // HDF5 has at most 32 filters in a pipeline.
        self.filters.iter().enumerate().fold(0, |mask, (index, _)| mask | 1u32.checked_shl(u32::try_from(index).unwrap_or(32)).unwrap_or(0))
    }

    /// The filters that were not skipped, the last one first, with their numbers.
    fn applied(&self, filter_mask: u32) -> Vec<(usize, &Filter)> {
        let applied = |index: &usize| *index >= 32 || filter_mask & (1 << index) == 0;
        self.filters.iter().enumerate().rev().filter(|(index, _)| applied(index)).collect()
    }

    /// Undoes `todo` one after the other; at most `chunk_bytes` are left.
    fn decode_filters(&self, todo: &[(usize, &Filter)], raw: &[u8], chunk_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
        let Some(last) = todo.len().checked_sub(1) else {
            out.clear();
            out.extend_from_slice(raw);
            return Ok(());
        };
        // The bytes go to and fro between two buffers that live as long as their thread: fresh memory
        // costs more than most filters.
        let mut spare = SPARE.take();
        let mut decode_filters = || {
            for (step, (index, filter)) in todo.iter().enumerate() {
                // What is left to undo below may still shrink or grow the bytes a little.
                let most = if step == last { chunk_bytes } else { chunk_bytes.saturating_add(SLACK_BYTES) };
                std::mem::swap(out, &mut spare);
                let input = if step == 0 { raw } else { spare.as_slice() };
                poison_buffer(out, most);
                filter
                    .decode(input, most, out)
                    .map_err(|error| Error::new(error.kind(), format!("{} (filter {index}): {}", filter.label(), error.message())))?;
            }
            Ok(())
        };
        let outcome = decode_filters();
        SPARE.set(spare);
        outcome
    }
}

thread_local! {
    static SPARE: std::cell::Cell<Vec<u8>> = const { std::cell::Cell::new(Vec::new()) };
}

/// Fills `out` up with zeros to the end of `bytes`, if it has their start or more.
fn exactly(out: &mut Vec<u8>, bytes: &RangeInclusive<usize>) -> Result<()> {
    let chunk_bytes = *bytes.end();
    if bytes.contains(&out.len()) {
        out.resize(chunk_bytes, 0);
    }
    if out.len() != chunk_bytes {
        return Err(Error::corrupt(format!("a chunk decodes to {} bytes where {chunk_bytes} belong", out.len())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(id: u16, parameters: Vec<u32>) -> Filter {
        Filter { id, name: None, optional: true, parameters }
    }

    #[test]
    fn a_filter_in_the_mask_is_skipped() {
        let pipeline = Pipeline { filters: vec![filter(id::SHUFFLE, vec![2]), filter(id::DEFLATE, vec![4])] };
        let mut out = Vec::new();
        let shuffled = [1, 3, 2, 4];
        assert!(pipeline.decode(&shuffled, 0b10, 4, &mut out).is_ok());
        assert_eq!(out, [1, 2, 3, 4]);
        assert!(pipeline.decode(&shuffled, 0b11, 4, &mut out).is_ok());
        assert_eq!(out, shuffled);
    }

    #[test]
    fn only_lzf_is_skipped_for_chunks_that_do_not_get_shorter() -> Result<()> {
        let noise: Vec<u8> = (0u32..64).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for (id, mask) in [(id::DEFLATE, 0), (id::ZSTD, 0), (id::LZ4, 0), (id::LZF, 1)] {
            let pipeline = Pipeline { filters: vec![filter(id, Vec::new())] };
            let (bytes, found) = pipeline.encode(noise.clone())?;
            assert_eq!((found, bytes == noise), (mask, mask == 1), "filter {id}");
            let mut out = Vec::new();
            assert!(pipeline.decode(&bytes, found, noise.len(), &mut out).is_ok() && out == noise, "filter {id}");
        }
        Ok(())
    }

    #[test]
    fn a_part_of_a_chunk_is_inflated_if_deflate_was_last_and_nothing_but_a_shuffle_before() {
        let of = |filters: &[(u16, u32)], mask| {
            let filters = filters.iter().map(|(id, parameter)| filter(*id, vec![*parameter])).collect();
            Pipeline { filters }.deflated(mask, 4)
        };
        let (shuffle, deflate, sum) = ((id::SHUFFLE, 4), (id::DEFLATE, 6), (id::FLETCHER32, 0));
        assert_eq!(of(&[deflate], 0), Some(Arrangement::Elements));
        assert_eq!(of(&[shuffle, deflate], 0), Some(Arrangement::Planes));
        assert_eq!(of(&[(id::SHUFFLE, 1), deflate], 0), Some(Arrangement::Elements));
        assert_eq!(of(&[shuffle, deflate], 1), Some(Arrangement::Elements), "the shuffle was skipped");
        for (filters, mask) in [
            (&[shuffle, deflate][..], 2),
            (&[(id::SHUFFLE, 2), deflate], 0),
            (&[shuffle, deflate, sum], 0),
            (&[sum, deflate], 0),
            (&[deflate, shuffle], 0),
            (&[deflate, deflate], 0),
            (&[(id::ZSTD, 1)], 0),
            (&[], 0),
        ] {
            assert_eq!(of(filters, mask), None);
        }
    }

    #[test]
    fn a_chunk_of_another_length_is_corrupt() {
        let pipeline = Pipeline { filters: vec![filter(id::SHUFFLE, vec![2])] };
        assert!(pipeline.decode(&[1, 2, 3], 0, 4, &mut Vec::new()).is_err());
    }

    #[test]
    fn a_shuffle_without_the_size_of_its_elements_is_corrupt() {
        for parameters in [vec![], vec![0]] {
            let pipeline = Pipeline { filters: vec![filter(id::SHUFFLE, parameters)] };
            let decoded = pipeline.decode(&[1, 2, 3, 4], 0, 4, &mut Vec::new());
            assert!(decoded.is_err_and(|error| error.kind() == hyperslab_array::ErrorKind::Corrupt));
        }
    }

    #[test]
    fn an_unknown_filter_is_refused_by_name_and_number() {
        let pipeline = Pipeline { filters: vec![filter(32017, vec![])] };
        let refusal = pipeline.refusal().map(|e| e.to_string()).unwrap_or_default();
        assert!(refusal.contains("sz filter (number 32017)"), "{refusal}");
    }
}
