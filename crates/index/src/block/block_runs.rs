//! Runs: how the elements of a block map to rows of a selection.

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
