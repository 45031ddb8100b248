//! Narrowing: an unfiltered chunk is not read whole, but only its runs of bytes around the wanted elements.

use hyperslab_array::{Axis, Error, Result, Selection};
use hyperslab_formats::{ChunkLocation, ChunkSource};

use super::job::COALESCE_GAP_BYTES;

/// A dimension of a chunk, and what is wanted of it.
struct Dimension<'a> {
    axis: &'a Axis,
    start: u64,
    extent: u64,
    /// The first and the last wanted index.
    ends: (u64, u64),
    /// Bytes of one index.
    row_bytes: u64,
    /// Bytes from the first to the last wanted element of one index.
    wanted_bytes: u64,
    /// Whether there are no long gaps between these elements.
    is_dense: bool,
}

/// Puts the parts of an unfiltered chunk that have wanted elements into `parts`. A part is one run of the chunk's bytes; there are long gaps between parts.
pub(super) fn narrow(chunk: ChunkLocation, selection: &Selection, size: u64, parts: &mut Vec<ChunkLocation>) -> Result<()> {
    let ChunkSource::Stored { offset, length, .. } = chunk.source else {
        parts.push(chunk);
        return Ok(());
    };
    let bytes = chunk.region.count.iter().fold(size, |bytes, &extent| bytes.saturating_mul(extent));
    // Damaged, which its reader says.
    if bytes != length {
        parts.push(chunk);
        return Ok(());
    }
    let (mut row_bytes, mut wanted_bytes, mut is_dense) = (size, size, true);
    let mut dimensions = Vec::with_capacity(selection.axes().len());
    for (axis, (start, extent)) in selection.axes().iter().zip(chunk.region.dimensions()).rev() {
        let (first, count) = axis.positions_within(start, start.saturating_add(extent));
        let ends = axis.index(first).zip(count.checked_sub(1).and_then(|more| axis.index(first + more)));
        let (low, high) = ends.filter(|(low, high)| low <= high).ok_or_else(|| Error::internal("a chunk without wanted elements"))?;
        dimensions.push(Dimension { axis, start, extent, ends: (low, high), row_bytes, wanted_bytes, is_dense });
        is_dense &= low == high || longest_step(axis, start, extent).saturating_mul(row_bytes).saturating_sub(wanted_bytes) <= COALESCE_GAP_BYTES;
        wanted_bytes += (high - low) * row_bytes;
        row_bytes *= extent;
    }
    dimensions.reverse();
    cut(&dimensions, 0, offset, chunk, parts);
    Ok(())
}

/// The longest distance between two wanted indexes that follow each other.
fn longest_step(axis: &Axis, start: u64, extent: u64) -> u64 {
    match axis {
        Axis::Range { step, .. } => *step,
        _ => {
            let runs = axis.runs_within(start, start.saturating_add(extent));
            runs.windows(2).map(|pair| pair.last().map_or(0, |next| next.source) - pair.first().map_or(0, |run| run.source + run.count - 1)).fold(1, u64::max)
        }
    }
}

/// Cuts a part, which has one index of each dimension before `at`, along the dimensions from `at` on.
fn cut(dimensions: &[Dimension<'_>], at: usize, offset: u64, part: ChunkLocation, parts: &mut Vec<ChunkLocation>) {
    let Some(&Dimension { axis, start, extent, ends: (low, high), row_bytes, wanted_bytes, is_dense }) = dimensions.get(at) else { return parts.push(part) };
    let ChunkSource::Stored { filter_mask, .. } = part.source else { return };
    let mut with_rows = |first: u64, end: u64| {
        let mut rows = part.clone();
        if let Some((start, extent)) = rows.region.start.get_mut(at).zip(rows.region.count.get_mut(at)) {
            (*start, *extent) = (*start + first, end - first);
        }
        let offset = offset + first * row_bytes;
        rows.source = ChunkSource::Stored { offset, length: (end - first) * row_bytes, filter_mask };
        match end - first {
            1 => cut(dimensions, at + 1, offset, rows, parts),
            _ => parts.push(rows),
        }
    };
    let max_distance = if is_dense { (COALESCE_GAP_BYTES + wanted_bytes) / row_bytes } else { 0 };
    if matches!(axis, Axis::Range { step, .. } if *step <= max_distance) || (high - low + 1) * row_bytes <= COALESCE_GAP_BYTES {
        return with_rows(low - start, high - start + 1);
    }
    let mut group: Option<(u64, u64)> = None;
    for run in axis.runs_within(start, start.saturating_add(extent)) {
        let mut first = run.source;
        let end = run.source + run.count;
        if let Some((begin, last)) = group {
            match first - last < max_distance {
                true => first = begin,
                false => with_rows(begin, last),
            }
        }
        // Rows next to each other are apart if little is wanted of each.
        if max_distance == 0 {
            (first..end - 1).for_each(|row| with_rows(row, row + 1));
            first = end - 1;
        }
        group = Some((first, end));
    }
    if let Some((begin, last)) = group {
        with_rows(begin, last);
    }
}

#[cfg(test)]
mod tests {
    use hyperslab_array::Region;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_hold_each_wanted_element_once_and_few_others(
            extents in proptest::collection::vec((1u64..12, 0u64..12, 1u64..4), 1..4), lists: bool, size in prop::sample::select(vec![1u64, 4, 3000, 20_000, 40_000])
        ) {
            let shape: Vec<u64> = extents.iter().map(|(extent, ..)| *extent).collect();
            let axes = extents.iter().map(|&(extent, start, step)| {
                let indices: Vec<u64> = (start % extent..extent).step_by(usize::try_from(step).unwrap_or(1)).collect();
                if lists { Axis::Indices(indices) } else { Axis::Range { start: start % extent, count: indices.len() as u64, step } }
            });
            let selection = Selection::new(axes.collect(), &shape)?;
            let numbers = |region: &dyn Fn(usize) -> Vec<u64>| (0..shape.len()).fold(vec![0u64], |numbers, d| {
                numbers.iter().flat_map(|number| region(d).into_iter().map(|index| number * shape[d] + index).collect::<Vec<_>>()).collect()
            });
            let wanted = numbers(&|d| selection.axes()[d].indexes().collect());
            let bytes = shape.iter().product::<u64>() * size;
            let chunk = ChunkLocation { region: Region::all(&shape), source: ChunkSource::Stored { offset: 100, length: bytes, filter_mask: 0 } };
            let mut parts = Vec::new();
            narrow(chunk, &selection, size, &mut parts)?;
            let (mut held, mut end) = (Vec::new(), 0);
            for part in &parts {
                let ChunkSource::Stored { offset, length, .. } = part.source else { return Err(TestCaseError::fail("not stored")) };
                let here = numbers(&|d| (part.region.start[d]..part.region.start[d] + part.region.count[d]).collect());
                // One run of bytes, where the region says.
                prop_assert!(here.windows(2).all(|pair| pair[1] == pair[0] + 1));
                prop_assert_eq!((offset - 100, length), (here[0] * size, here.len() as u64 * size));
                prop_assert!(offset >= end);
                end = offset + length;
                let inner: Vec<u64> = here.iter().copied().filter(|number| wanted.contains(number)).collect();
                prop_assert!(inner.windows(2).all(|pair| (pair[1] - pair[0] - 1) * size <= COALESCE_GAP_BYTES));
                held.extend(inner);
            }
            prop_assert_eq!(held, wanted);
        }
    }
}
