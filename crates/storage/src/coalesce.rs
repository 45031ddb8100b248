//! Coalescing: ranges that lie close together are fetched in one read.

/// One read that covers several wanted ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoalescedRange {
    /// First byte of the read.
    pub offset: u64,
    /// Bytes of the read.
    pub length: u64,
    /// Indexes of the wanted ranges that it covers, in offset order.
    pub members: Vec<usize>,
}

/// Merges `(offset, length)` ranges whose gaps are at most `max_gap` bytes into reads of at most
/// `max_length` bytes (a single longer range stays one read). Ranges may overlap and be unsorted.
pub fn coalesce(ranges: &[(u64, u64)], max_gap: u64, max_length: u64) -> Vec<CoalescedRange> {
    let mut order: Vec<(usize, (u64, u64))> = ranges.iter().copied().enumerate().collect();
    order.sort_by_key(|&(index, (offset, _))| (offset, index));
    let mut reads: Vec<CoalescedRange> = Vec::new();
    for (index, (offset, length)) in order {
        let end = offset.saturating_add(length);
        if let Some(read) = reads.last_mut() {
            let read_end = read.offset.saturating_add(read.length);
            let joined = end.max(read_end) - read.offset;
            if offset <= read_end.saturating_add(max_gap) && joined <= max_length.max(read.length) {
                read.length = joined;
                read.members.push(index);
                continue;
            }
        }
        reads.push(CoalescedRange { offset, length, members: vec![index] });
    }
    reads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_ranges_become_one_read_and_far_ones_stay_apart() {
        let reads = coalesce(&[(100, 10), (0, 10), (12, 8), (105, 2)], 4, 1000);
        assert_eq!(reads, [CoalescedRange { offset: 0, length: 20, members: vec![1, 2] }, CoalescedRange { offset: 100, length: 10, members: vec![0, 3] },]);
    }

    #[test]
    fn a_read_never_outgrows_the_maximum_unless_one_range_does() {
        let reads = coalesce(&[(0, 8), (8, 8), (16, 100)], 0, 16);
        let lengths: Vec<u64> = reads.iter().map(|r| r.length).collect();
        assert_eq!(lengths, [16, 100]);
    }
}
