//! Ranges of bytes that are fetched together: near ones in one request, long ones in several.

use std::ops::Range;

/// Longest request: many requests side by side are faster than one long one.
pub(crate) const MAX_REQUEST_BYTES: u64 = 8 << 20;

/// Over which gaps two ranges become one request. A gap costs its bytes, a further request costs time and often money.
#[derive(Clone, Copy)]
pub(super) struct Gaps {
    /// Maximum gap in bytes that is always cheaper than a request.
    pub always: u64,
    /// Maximum gap in bytes that is fetched if at least half of the request is wanted.
    pub most: u64,
}

impl Gaps {
    pub const NONE: Self = Self { always: 0, most: 0 };

    /// Whether a request with `wanted` bytes out of `fetched` goes on to a range of `length` bytes after a gap of `gap`.
    fn join(self, gap: u64, wanted: u64, fetched: u64, length: u64) -> bool {
        gap <= self.always || gap <= self.most && fetched.saturating_add(gap).saturating_add(length) <= wanted.saturating_add(length).saturating_mul(2)
    }
}

/// Merges `(offset, length)` ranges, in any order, over `gaps`, and splits what is longer than `max_bytes`. The result is
/// sorted and disjoint, and covers all ranges. A range that fits into one request is never split unless it overlaps others.
pub(super) fn merged(ranges: &[(u64, u64)], gaps: Gaps, max_bytes: u64) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = ranges.iter().filter(|(_, length)| *length > 0).map(|&(offset, length)| offset..offset.saturating_add(length)).collect();
    sorted.sort_by_key(|range| (range.start, range.end));
    let mut pieces: Vec<Range<u64>> = Vec::new();
    // Wanted bytes of the last piece.
    let mut wanted = 0;
    for range in sorted {
        let mut start = range.start;
        if let Some(last) = pieces.last_mut() {
            start = start.max(last.end);
            if start >= range.end {
                continue;
            }
            let gap = range.start.saturating_sub(last.end);
            if range.end - last.start <= max_bytes && gaps.join(gap, wanted, last.end - last.start, range.end - start) {
                last.end = range.end;
                wanted += range.end - start;
                continue;
            }
        }
        while range.end - start > max_bytes {
            pieces.push(start..start + max_bytes);
            start += max_bytes;
        }
        wanted = range.end - start;
        pieces.push(start..range.end);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NEAR: Gaps = Gaps { always: 4, most: 4 };

    #[test]
    fn near_ranges_are_merged_and_long_ones_split() {
        assert_eq!(merged(&[(100, 10), (0, 10), (12, 8)], NEAR, 1000), [0..20, 100..110]);
        assert_eq!(merged(&[(0, 25)], NEAR, 10), [0..10, 10..20, 20..25]);
        assert_eq!(merged(&[(0, 8), (8, 8), (5, 0)], NEAR, 10), [0..8, 8..16]);
    }

    #[test]
    fn a_long_gap_is_fetched_only_if_half_of_the_request_is_wanted() {
        let gaps = Gaps { always: 4, most: 100 };
        assert_eq!(merged(&[(0, 50), (100, 50), (500, 1)], gaps, 1000), [0..150, 500..501], "two thirds are wanted");
        assert_eq!(merged(&[(0, 5), (50, 5), (100, 5)], gaps, 1000), [0..5, 50..55, 100..105], "small parts far apart");
        assert_eq!(merged(&[(0, 500), (601, 500)], gaps, 2000), [0..500, 601..1101], "longer than the longest gap");
        assert_eq!(merged(&[(0, 5), (9, 5), (18, 5), (500, 1)], gaps, 1000), [0..23, 500..501], "short gaps in any case");
    }

    proptest! {
        #[test]
        fn pieces_cover_all_ranges_and_neither_overlap_nor_exceed_a_request(
            ranges in prop::collection::vec((0u64..500, 0u64..60), 0..30), always in 0u64..20, most in 0u64..60, max in 1u64..50
        ) {
            let pieces = merged(&ranges, Gaps { always, most }, max);
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
