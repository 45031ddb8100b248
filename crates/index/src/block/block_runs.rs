//! Runs: how the elements of a block map to rows of a selection.

use std::ops::Range;

use hyperslab_array::{Region, Run, Selection};

/// The row of the block's first element, if all elements of the block are selected and have consecutive rows.
pub(crate) fn consecutive_rows(block: &Region, selection: &Selection) -> Option<u64> {
    let (mut first, mut stride, mut whole) = (0u64, 1u64, true);
    let axes = selection.axes().iter().zip(block.dimensions());
    for (axis, (start, count)) in axes.rev() {
        let (position, selected) = axis.positions_within(start, start + count);
        if selected != count || (!whole && count > 1) {
            return None;
        }
        whole &= axis.count() == count;
        first += position * stride;
        stride *= axis.count();
    }
    Some(first)
}

/// The rows of the block's selected elements, if these are consecutive.
pub(crate) fn row_range(block: &Region, selection: &Selection) -> Option<Range<u64>> {
    let (mut first, mut stride, mut rows, mut whole) = (0u64, 1u64, 1u64, true);
    let axes = selection.axes().iter().zip(block.dimensions());
    for (axis, (start, count)) in axes.rev() {
        let (position, selected) = axis.positions_within(start, start + count);
        if selected == 0 {
            return Some(0..0);
        }
        if !whole && selected > 1 {
            return None;
        }
        whole &= axis.count() == selected;
        first += position * stride;
        rows *= selected;
        stride *= axis.count();
    }
    Some(first..first + rows)
}

/// Calls `visit(position in the block, row of the selection, count)` for each run of elements that are consecutive in both.
pub(crate) fn each_run(block: &Region, selection: &Selection, visit: &mut impl FnMut(u64, u64, u64)) {
    let axes = selection.axes().iter().zip(block.dimensions());
    let runs: Vec<Vec<Run>> = axes.map(|(axis, (start, count))| axis.runs_within(start, start + count)).collect();
    let strides = |shape: &[u64]| {
        let mut strides = vec![1u64; shape.len()];
        let mut below = 1;
        for (stride, extent) in strides.iter_mut().zip(shape).rev() {
            *stride = below;
            below *= extent;
        }
        strides
    };
    let (block_strides, selection_strides) = (strides(&block.count), strides(&selection.shape()));
    descend(&runs, &block_strides, &selection_strides, 0, 0, visit);
}

fn descend(runs: &[Vec<Run>], block_strides: &[u64], selection_strides: &[u64], source: u64, target: u64, visit: &mut impl FnMut(u64, u64, u64)) {
    let split = (runs.split_first(), block_strides.split_first(), selection_strides.split_first());
    let (Some((first, rest)), Some((block_step, block_strides)), Some((selection_step, selection_strides))) = split else {
        visit(source, target, 1);
        return;
    };
    for run in first {
        if rest.is_empty() {
            visit(source + run.source, target + run.target, run.count);
            continue;
        }
        for step in 0..run.count {
            descend(rest, block_strides, selection_strides, source + (run.source + step) * block_step, target + (run.target + step) * selection_step, visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperslab_array::Axis;
    use proptest::prelude::*;

    /// The rows of a block's selected elements, one by one.
    fn rows(block: &Region, selection: &Selection) -> Vec<u64> {
        let mut rows = Vec::new();
        each_run(block, selection, &mut |_, target, count| rows.extend(target..target + count));
        rows.sort_unstable();
        rows
    }

    proptest! {
        #[test]
        fn a_range_has_the_rows_of_the_block(
            axes in proptest::collection::vec((1u64..9, 0u64..9, 1u64..4, 0u64..9, 0u64..9, 1u64..9), 1..4),
        ) {
            let shape: Vec<u64> = axes.iter().map(|(extent, ..)| *extent).collect();
            let axis = |(extent, first, step, count, ..): &(u64, u64, u64, u64, u64, u64)| {
                let start = first % extent;
                Axis::Range { start, step: *step, count: (*count).min((extent - start).div_ceil(*step)) }
            };
            let selection = Selection::new(axes.iter().map(axis).collect(), &shape).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let start: Vec<u64> = axes.iter().map(|(extent, _, _, _, start, _)| start % extent).collect();
            let count = axes.iter().zip(&start).map(|((extent, .., count), start)| (*count).min(extent - start)).collect();
            let block = Region { start, count };
            if let Some(range) = row_range(&block, &selection) {
                prop_assert_eq!(range.collect::<Vec<u64>>(), rows(&block, &selection));
            }
        }
    }

    #[test]
    fn rows_with_gaps_are_no_range() {
        let block = |start: u64, count: u64| Region { start: vec![0, start], count: vec![2, count] };
        assert_eq!(row_range(&block(0, 5), &Selection::all(&[4, 5])), Some(0..10));
        assert_eq!(row_range(&block(0, 4), &Selection::all(&[4, 5])), None);
    }
}
