//! The filters of a dataset, undone one after the other.

use hyperslab_array::{Error, Result};

use super::one_filter::Filter;
use crate::FilterDescription;

/// The filters of a dataset, in order of application on write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pipeline {
    /// The filters.
    pub filters: Vec<Filter>,
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
        unknown.into_iter().all(|(number, _)| number < 32 && filter_mask & (1 << number) != 0)
    }

    /// The filters for people.
    pub fn describe(&self) -> Vec<FilterDescription> {
        let describe = |filter: &Filter| FilterDescription {
            id: filter.id,
            name: filter.label(),
            parameters: filter.parameters.clone(),
        };
        self.filters.iter().map(describe).collect()
    }

    /// Undoes the filters in reverse order, except those whose bit is set in `filter_mask`.
    /// `out` gets exactly `chunk_bytes` bytes.
    pub fn decode(&self, raw: &[u8], filter_mask: u32, chunk_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
        self.decode_at_least(raw, filter_mask, chunk_bytes, chunk_bytes, out)
    }

    /// As `decode`, but `least_bytes` are enough; zeros follow up to `chunk_bytes`. Some writers leave
    /// out the end of a chunk that lies outside of its dataset.
    pub fn decode_at_least(
        &self,
        raw: &[u8],
        filter_mask: u32,
        least_bytes: usize,
        chunk_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let applied = |number: &usize| *number >= 32 || filter_mask & (1 << number) == 0;
        let todo: Vec<(usize, &Filter)> =
            self.filters.iter().enumerate().rev().filter(|(number, _)| applied(number)).collect();
        let Some(last) = todo.len().checked_sub(1) else {
            out.clear();
            out.extend_from_slice(raw);
            return exactly(out, least_bytes, chunk_bytes);
        };
        // The bytes go to and fro between two buffers that live as long as their thread: fresh memory
        // costs more than most filters.
        SPARE.with_borrow_mut(|spare| {
            for (step, (number, filter)) in todo.iter().enumerate() {
                // What is left to undo below may still shrink or grow the bytes a little.
                let most = if step == last { chunk_bytes } else { chunk_bytes.saturating_add(SLACK_BYTES) };
                std::mem::swap(out, spare);
                let input = if step == 0 { raw } else { spare.as_slice() };
                filter.decode(input, most, out).map_err(|error| {
                    Error::new(error.kind(), format!("{} (filter {number}): {}", filter.label(), error.message()))
                })?;
            }
            Ok::<_, Error>(())
        })?;
        exactly(out, least_bytes, chunk_bytes)
    }
}

thread_local! {
    static SPARE: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
}

fn exactly(out: &mut Vec<u8>, least_bytes: usize, chunk_bytes: usize) -> Result<()> {
    if (least_bytes..chunk_bytes).contains(&out.len()) {
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
    use crate::filter::known::id;

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
    fn a_chunk_of_another_length_is_corrupt() {
        let pipeline = Pipeline { filters: vec![filter(id::SHUFFLE, vec![2])] };
        assert!(pipeline.decode(&[1, 2, 3], 0, 4, &mut Vec::new()).is_err());
    }

    #[test]
    fn an_unknown_filter_is_refused_by_name_and_number() {
        let pipeline = Pipeline { filters: vec![filter(32017, vec![])] };
        let refusal = pipeline.refusal().map(|e| e.to_string()).unwrap_or_default();
        assert!(refusal.contains("sz filter (number 32017)"), "{refusal}");
    }
}
