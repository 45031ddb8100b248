//! Row set: numbers of rows, as Roaring bitmaps.

use arrow_array::BooleanArray;
use arrow_buffer::{BooleanBuffer, Buffer};
use roaring::RoaringTreemap;

/// A set of row numbers. The bitmap (see the crate `roaring`) has all that sets can do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowSet(pub RoaringTreemap);

impl RowSet {
    /// No rows.
    pub fn new() -> Self {
        Self::default()
    }
    /// The rows of a half-open range.
    pub fn range(rows: std::ops::Range<u64>) -> Self {
        let mut set = RoaringTreemap::new();
        set.insert_range(rows);
        Self(set)
    }
    /// Rows in rising order; what does not rise is left out of the set and comes back as `None`.
    pub fn from_sorted(rows: impl IntoIterator<Item = u64>) -> Option<Self> {
        RoaringTreemap::from_sorted_iter(rows).ok().map(Self)
    }
    /// The rows whose bits are set; the first bit is row `first`.
    pub fn from_mask(mask: &BooleanArray, first: u64) -> Self {
        let mut set = RoaringTreemap::new();
        for (start, end) in mask.values().set_slices() {
            set.insert_range(first + start as u64..first + end as u64);
        }
        Self(set)
    }
    /// How many.
    pub fn len(&self) -> u64 {
        self.0.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The rows, rising.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter()
    }
    /// Whether `row` is one.
    pub fn contains(&self, row: u64) -> bool {
        self.0.contains(row)
    }
    /// The rows of both.
    pub fn and(&self, other: &Self) -> Self {
        Self(&self.0 & &other.0)
    }
    /// The rows of either.
    pub fn or(&self, other: &Self) -> Self {
        Self(&self.0 | &other.0)
    }
    /// The rows that the other has not.
    pub fn and_not(&self, other: &Self) -> Self {
        Self(&self.0 - &other.0)
    }
    /// Bit n says whether row `first + n` is in the set.
    pub fn mask(&self, first: u64, count: usize) -> BooleanBuffer {
        let mut words = vec![0u64; count.div_ceil(64)];
        let mut rows = self.0.iter();
        rows.advance_to(first);
        for row in rows.take_while(|row| *row - first < count as u64) {
            let bit = (row - first) as usize;
            if let Some(word) = words.get_mut(bit / 64) {
                *word |= 1 << (bit % 64);
            }
        }
        words.iter_mut().for_each(|word| *word = word.to_le());
        BooleanBuffer::new(Buffer::from_vec(words), 0, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_and_a_set_are_the_same_rows() {
        let rows = [0u64, 3, 64, 65, 127, 128, 70_000];
        let set = RowSet::from_sorted(rows).unwrap_or_default();
        assert_eq!(set.len(), 7);
        let mask = BooleanArray::new(set.mask(3, 70_000), None);
        assert_eq!(mask.true_count(), 6);
        assert_eq!(RowSet::from_mask(&mask, 3), set.and_not(&RowSet::range(0..1)));
        assert!(RowSet::from_sorted([2, 1]).is_none());
    }
}
