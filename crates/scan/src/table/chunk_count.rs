//! Counts the chunks that a scan reads and skips, for an engine's metrics.

use std::collections::BTreeSet;

use hyperslab_array::{Axis, ChunkGrid, Result, Selection};
use hyperslab_formats::StorageLayout;

use super::segment::{Segment, Source};

/// Chunks of the datasets of `columns`: all of them, and those that hold rows of `selection`.
pub(crate) fn touched<'a>(segment: &Segment, columns: impl Iterator<Item = &'a String>, selection: &Selection) -> Result<(u64, u64)> {
    let mut sums = (0u64, 0u64);
    for grid in grids(segment, columns)? {
        let touched = selection.axes().iter().zip(grid.chunk_shape()).map(|(axis, &chunk)| chunks_of(axis, chunk));
        let counts = grid.chunk_counts();
        let inner = counts.iter().skip(selection.axes().len()).copied();
        sums.0 = sums.0.saturating_add(product(counts.iter().copied()));
        sums.1 = sums.1.saturating_add(product(touched.chain(inner)));
    }
    Ok(sums)
}

/// Chunks of the datasets of `columns` that hold rows of `selection` only, so that no other rows need them.
pub(crate) fn within<'a>(segment: &Segment, columns: impl Iterator<Item = &'a String>, selection: &Selection) -> Result<u64> {
    let mut sum = 0u64;
    for grid in grids(segment, columns)? {
        let extents = grid.shape().iter().zip(grid.chunk_shape());
        let whole = selection.axes().iter().zip(extents).map(|(axis, (&extent, &chunk))| whole_chunks_of(axis, extent, chunk));
        let counts = grid.chunk_counts();
        let inner = counts.iter().skip(selection.axes().len()).copied();
        sum = sum.saturating_add(product(whole.chain(inner)));
    }
    Ok(sum)
}

fn product(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(1, u64::saturating_mul)
}

/// The grids of the chunked datasets of some columns, each once.
fn grids<'a>(segment: &Segment, columns: impl Iterator<Item = &'a String>) -> Result<Vec<ChunkGrid>> {
    let mut datasets = BTreeSet::new();
    for column in columns.filter_map(|name| segment.column(name)) {
        if let Source::Variable { dataset, .. } | Source::Member { dataset, .. } = &column.source {
            datasets.insert(*dataset);
        }
    }
    let mut grids = Vec::new();
    for dataset in datasets {
        let description = segment.file.dataset(dataset)?;
        if description.storage == StorageLayout::Chunked {
            grids.push(description.chunk_grid.clone());
        }
    }
    Ok(grids)
}

/// Number of chunks that an axis touches, without iterating over an axis that has no gaps.
fn chunks_of(axis: &Axis, chunk: u64) -> u64 {
    let ends = axis.index(0).zip(axis.count().checked_sub(1).and_then(|last| axis.index(last)));
    match (axis, ends) {
        (_, None) => 0,
        (Axis::Range { step, .. }, Some((first, last))) if *step <= chunk => last / chunk - first / chunk + 1,
        (Axis::Range { .. }, Some(_)) => axis.count(),
        (Axis::Indices(_) | Axis::Runs(_), Some(_)) => axis.touched_chunks(chunk).len() as u64,
    }
}

/// Number of chunks of a dimension that lie within an axis without gaps; the last one may be short.
fn whole_chunks_of(axis: &Axis, extent: u64, chunk: u64) -> u64 {
    match axis {
        Axis::Range { start, count, step: 1 } => {
            let end = start.saturating_add(*count);
            let past = if end >= extent { extent.div_ceil(chunk) } else { end / chunk };
            past.saturating_sub(start.div_ceil(chunk))
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_counted_as_if_they_were_walked() {
        for (start, count, step) in [(0, 100, 1), (5, 3, 1), (9, 2, 1), (0, 10, 10), (3, 7, 13), (99, 1, 1), (0, 0, 1), (7, 30, 3)] {
            let axis = Axis::Range { start, count, step };
            for chunk in [1, 3, 10, 1000] {
                assert_eq!(chunks_of(&axis, chunk), axis.touched_chunks(chunk).len() as u64, "{axis:?} {chunk}");
                let whole = (0..100u64.div_ceil(chunk)).filter(|index| {
                    let all = (index * chunk..((index + 1) * chunk).min(100)).collect::<Vec<_>>();
                    step == 1 && all.iter().all(|index| (start..start + count).contains(index))
                });
                assert_eq!(whole_chunks_of(&axis, 100, chunk), whole.count() as u64, "{axis:?} {chunk}");
            }
        }
        assert_eq!(chunks_of(&Axis::Indices(vec![1, 2, 50]), 10), 2);
    }
}
