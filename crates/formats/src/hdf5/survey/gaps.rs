//! Ranges of a file that no structure accounts for.

use super::structure::Extent;

/// Start and length of the ranges between `start` and `end` that none of `extents` holds, in order.
pub fn gaps(extents: &[Extent], start: u64, end: u64) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = extents.iter().map(|extent| (extent.offset, extent.end())).collect();
    ranges.sort_unstable();
    let (mut gaps, mut at) = (Vec::new(), start);
    for (offset, after) in ranges {
        if offset > at && at < end {
            gaps.push((at, offset.min(end) - at));
        }
        at = at.max(after);
    }
    if at < end {
        gaps.push((at, end - at));
    }
    gaps
}
