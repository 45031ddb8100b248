//! Slabs: parts of a read that follow the chunks, so that each chunk is decoded once and little more than the result is in memory.

use std::ops::Range;

use hyperslab_array::Selection;
use hyperslab_formats::Dataset;

/// Bytes of values that are read at a time before they are put into their places.
const MAX_SLAB_BYTES: usize = 32 << 20;
/// A slab may have this share of the result (1/8): each slab goes through the places of the whole result.
const RESULT_SHARE: usize = 8;

/// The positions `0..count` of a selection's `dimension` in parts, each of whole chunks along it. There is one part unless all
/// have more bytes than a slab; a part of a single chunk may have more.
pub(super) fn of_selection(dataset: &Dataset, selection: &Selection, dimension: usize, result_bytes: usize) -> Vec<Range<u64>> {
    let max_bytes = MAX_SLAB_BYTES.max(result_bytes / RESULT_SHARE) as u64;
    let (Some(axis), Some(chunk)) = (selection.axes().get(dimension), dataset.chunk_grid.chunk_shape().get(dimension)) else {
        return vec![Range { start: 0, end: 1 }];
    };
    let row = selection.narrow(dimension, 0, 1).element_count().unwrap_or(u64::MAX).saturating_mul(dataset.datatype.size());
    let max_rows = (max_bytes / row.max(1)).max(1);
    let count = axis.count();
    // Number of positions whose index is below a bound.
    let below = |bound: u64| axis.positions_within(0, bound).1;
    let mut parts = Vec::new();
    let mut start = 0;
    while start < count {
        let mut end = start.saturating_add(max_rows).min(count);
        if end < count
            && let (Some(first), Some(next)) = (axis.index(start), axis.index(end))
        {
            let border = |index: u64| index / (*chunk).max(1) * (*chunk).max(1);
            end = below(border(next));
            if end <= start {
                end = below(border(first).saturating_add((*chunk).max(1))).max(start + 1);
            }
        }
        parts.push(start..end);
        start = end;
    }
    parts
}

/// `rows` rows in parts of about `bytes_at_once` bytes, each of whole chunks of `chunk` rows.
pub(super) fn of_rows(rows: u64, chunk: u64, row_bytes: u64, bytes_at_once: u64) -> impl Iterator<Item = Range<u64>> {
    let chunk = chunk.max(1);
    let chunks = (bytes_at_once / row_bytes.saturating_mul(chunk).max(1)).max(1);
    let step = chunks.saturating_mul(chunk).min(rows.max(1));
    (0..rows.div_ceil(step)).map(move |part| part * step..(part + 1).saturating_mul(step).min(rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperslab_array::{Axis, ByteOrder, ChunkGrid, Dataspace, Datatype, Result};
    use proptest::prelude::*;

    fn dataset(rows: u64, chunk: u64) -> Result<Dataset> {
        let datatype = Datatype::Integer { size: 8, order: ByteOrder::Little, signed: true, bit_offset: 0, bit_precision: 64 };
        let dataspace = Dataspace::Simple { shape: vec![rows, 1 << 18], max_shape: vec![None, None] };
        Ok(Dataset::new(datatype, dataspace, ChunkGrid::new(vec![rows, 1 << 18], vec![chunk, 1 << 18])?))
    }

    proptest! {
        #[test]
        fn parts_cover_all_and_share_no_chunk(chosen in proptest::collection::btree_set(0u64..500, 1..300), chunk in 1u64..60) {
            let fail = |error: hyperslab_array::Error| TestCaseError::fail(error.to_string());
            let dataset = dataset(500, chunk).map_err(fail)?;
            let chosen: Vec<u64> = chosen.into_iter().collect();
            let selection = Selection::new(vec![Axis::Indices(chosen.clone()), Axis::all(1 << 18)], &[500, 1 << 18]).map_err(fail)?;
            let parts = of_selection(&dataset, &selection, 0, 0);
            let positions: Vec<u64> = parts.iter().cloned().flatten().collect();
            prop_assert_eq!(positions, (0..chosen.len() as u64).collect::<Vec<_>>());
            let chunks: Vec<Vec<u64>> = parts
                .iter()
                .map(|part| {
                    let mut touched: Vec<u64> = chosen[part.start as usize..part.end as usize].iter().map(|index| index / chunk).collect();
                    touched.dedup();
                    touched
                })
                .collect();
            for pair in chunks.windows(2) {
                prop_assert!(pair[0].last() < pair[1].first());
            }
            for (part, touched) in parts.iter().zip(&chunks) {
                prop_assert!(part.end - part.start <= 16 || touched.len() == 1, "{part:?} of {touched:?}");
            }
        }
        #[test]
        fn rows_are_cut_at_chunks(rows in 0u64..1000, chunk in 0u64..40, row_bytes in 0u64..100, at_once in 0u64..5000) {
            let parts: Vec<_> = of_rows(rows, chunk, row_bytes, at_once).collect();
            prop_assert_eq!(parts.iter().cloned().flatten().collect::<Vec<_>>(), (0..rows).collect::<Vec<_>>());
            prop_assert!(parts.iter().all(|part| part.start % chunk.max(1) == 0 && part.start < part.end));
        }
    }
}
