//! Zone: counts, minimum, maximum and a hash of one block's values. Every level of an index has it.

use hyperslab_predicate::ValueSet;

/// Statistics of one block.
///
/// A block of 5 elements with the values 3, NaN, 8, null, 3 has `numbers` = 3, `nans` = 1, `nulls` = 1, and `min` and
/// `max` are the keys of 3 and 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Zone {
    /// Number of values that are neither null nor NaN.
    pub numbers: u32,
    pub nans: u32,
    pub nulls: u32,
    /// Smallest and largest key; both 0 if the block has no numbers, and for text, which has no keys.
    pub min: u64,
    pub max: u64,
    /// Hash of all values, including the bytes under nulls; detects that the values have changed.
    pub hash: u64,
}

impl Zone {
    pub fn elements(&self) -> u32 {
        self.numbers + self.nans + self.nulls
    }

    /// Whether the minimum does not exceed the maximum.
    pub fn is_consistent(&self) -> bool {
        self.min <= self.max
    }

    /// The intervals of `set` that may contain numbers of the block.
    pub fn intervals_of<'a>(&self, set: &'a ValueSet) -> &'a [(u64, u64)] {
        if self.numbers == 0 {
            return &[];
        }
        let intervals = set.intervals();
        let (_, from_min) = intervals.split_at(intervals.partition_point(|(_, last)| *last < self.min));
        from_min.split_at(from_min.partition_point(|(first, _)| *first <= self.max)).0
    }
}
