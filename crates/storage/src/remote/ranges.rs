//! Ranges of bytes that are fetched together: near ones in one request, long ones in several.

use std::ops::Range;

/// Longest request: many requests side by side are faster than one long one.
pub(super) const MAX_REQUEST_BYTES: u64 = 8 << 20;

/// Merges `(offset, length)` ranges, in any order, whose gaps are at most `max_gap` bytes, and splits what is longer than
/// `max_bytes`. The result is sorted and disjoint, and covers all ranges. A range that fits into one request is never split
/// unless it overlaps others.
pub(super) fn merged(ranges: &[(u64, u64)], max_gap: u64, max_bytes: u64) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = ranges.iter().filter(|(_, length)| *length > 0).map(|&(offset, length)| offset..offset.saturating_add(length)).collect();
    sorted.sort_by_key(|range| (range.start, range.end));
    let mut pieces: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        let mut start = range.start;
        if let Some(last) = pieces.last_mut() {
            start = start.max(last.end);
            if start >= range.end {
                continue;
            }
            if range.start.saturating_sub(last.end) <= max_gap && range.end - last.start <= max_bytes {
                last.end = range.end;
                continue;
            }
        }
        while range.end - start > max_bytes {
            pieces.push(start..start + max_bytes);
            start += max_bytes;
        }
        pieces.push(start..range.end);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn near_ranges_are_merged_and_long_ones_split() {
        assert_eq!(merged(&[(100, 10), (0, 10), (12, 8)], 4, 1000), [0..20, 100..110]);
        assert_eq!(merged(&[(0, 25)], 4, 10), [0..10, 10..20, 20..25]);
        assert_eq!(merged(&[(0, 8), (8, 8), (5, 0)], 4, 10), [0..8, 8..16]);
    }

    proptest! {
        #[test]
        fn pieces_cover_all_ranges_and_neither_overlap_nor_exceed_a_request(
            ranges in prop::collection::vec((0u64..500, 0u64..60), 0..30), gap in 0u64..20, max in 1u64..50
        ) {
            let pieces = merged(&ranges, gap, max);
            prop_assert!(pieces.windows(2).all(|pair| pair[0].end <= pair[1].start));
            prop_assert!(pieces.iter().all(|piece| piece.start < piece.end && piece.end - piece.start <= max));
            for (offset, length) in ranges {
                for byte in offset..offset + length {
                    prop_assert!(pieces.iter().any(|piece| piece.contains(&byte)));
                }
            }
        }
    }
}
