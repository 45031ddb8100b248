//! Parts: a read of very many chunks goes part by part, so that the places of all of them need not be in memory at once.

use hyperslab_array::{ChunkGrid, Selection};

/// Maximum number of chunks that a read locates at once, unless more are next to each other along the faster dimensions.
/// The places of a chunk take about 250 bytes.
pub(crate) const MAX_CHUNKS: u64 = 1 << 20;

/// Cuts a selection of more than `max_chunks` chunks at chunk borders of its slowest dimension with more than one selected
/// index; the parts follow each other in row-major order. Other selections are their only part.
pub(crate) fn parts<'a>(grid: &ChunkGrid, selection: &'a Selection, max_chunks: u64) -> impl Iterator<Item = Selection> + 'a {
    let chunks = grid.max_touched(selection);
    let cut = selection.axes().iter().position(|axis| axis.count() > 1).filter(|_| chunks > max_chunks);
    let chunk = cut.and_then(|cut| grid.chunk_shape().get(cut).copied()).unwrap_or(1);
    let rows = cut.and_then(|cut| selection.axes().get(cut)).map_or(1, |axis| axis.max_touched_chunks(chunk));
    let rows_each = (max_chunks / chunks.div_ceil(rows.max(1)).max(1)).max(1);
    let mut first = 0;
    std::iter::from_fn(move || {
        let Some((cut, axis)) = cut.and_then(|cut| Some((cut, selection.axes().get(cut)?))) else {
            return (std::mem::replace(&mut first, 1) == 0).then(|| selection.clone());
        };
        let index = axis.index(first)?;
        let end = (index / chunk).saturating_add(rows_each).saturating_mul(chunk);
        // An index is in its own part, so that there is an end.
        let count = axis.positions_within(index, end).1.max(1);
        let part = selection.narrow(cut, first, count);
        first += count;
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use hyperslab_array::{Axis, Result};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_are_the_whole_in_order(
            extents in proptest::collection::vec((1u64..20, 1u64..5, 0u64..20, 1u64..4), 1..4), lists: bool, max_chunks in 1u64..12
        ) {
            let shape: Vec<u64> = extents.iter().map(|(extent, ..)| *extent).collect();
            let grid = ChunkGrid::new(shape.clone(), extents.iter().map(|(_, chunk, ..)| *chunk).collect())?;
            let axes = extents.iter().map(|&(extent, _, start, step)| {
                let indices: Vec<u64> = (start % extent..extent).step_by(usize::try_from(step).unwrap_or(1)).collect();
                if lists { Axis::Indices(indices) } else { Axis::Range { start: start % extent, count: indices.len() as u64, step } }
            });
            let selection = Selection::new(axes.collect(), &shape)?;
            let elements = |part: &Selection| part.axes().iter().fold(vec![0u64], |numbers, axis| {
                let along: Vec<u64> = (0..axis.count()).filter_map(|position| axis.index(position)).collect();
                numbers.iter().flat_map(|number| along.iter().map(move |index| number * 100 + index)).collect()
            });
            let found: Vec<Selection> = parts(&grid, &selection, max_chunks).collect();
            prop_assert_eq!(found.iter().flat_map(elements).collect::<Vec<_>>(), elements(&selection));
            let chunks = found.iter().map(|part| Ok(grid.touched(part)?.len() as u64)).collect::<Result<Vec<_>>>()?;
            // No chunk is in two parts, and one row of chunks is the smallest part.
            prop_assert_eq!(chunks.iter().sum::<u64>(), grid.touched(&selection)?.len() as u64);
            let row = selection.axes().iter().zip(grid.chunk_shape()).skip_while(|(axis, _)| axis.count() == 1).skip(1);
            let row = row.map(|(axis, chunk)| axis.max_touched_chunks(*chunk)).product::<u64>();
            prop_assert!(chunks.iter().all(|count| *count <= max_chunks.max(row)));
        }
    }
}
