//! Region: a box of elements of an array.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Axis, Error, Result, Selection};

/// A rectangular region of an array: `count` elements along each dimension, from `start` on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Region {
    /// First index along each dimension.
    pub start: Vec<u64>,
    /// Number of elements along each dimension.
    pub count: Vec<u64>,
}

impl std::fmt::Display for Region {
    /// Formats the region like a numpy slice: `[0:10, 5:8]`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let slices = self.dimensions().map(|(start, count)| format!("{start}:{}", start.saturating_add(count)));
        write!(f, "[{}]", slices.collect::<Vec<_>>().join(", "))
    }
}

impl Region {
    /// The whole of an array.
    pub fn all(shape: &[u64]) -> Self {
        Self { start: vec![0; shape.len()], count: shape.to_vec() }
    }
    /// First index and number of elements along each dimension.
    pub fn dimensions(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + ExactSizeIterator + Clone {
        self.start.iter().copied().zip(self.count.iter().copied())
    }
    /// The rows of the region: its indexes along the first dimension. A scalar is one row.
    pub fn rows_range(&self) -> Range<u64> {
        let (first, count) = self.dimensions().next().unwrap_or((0, 1));
        first..first.saturating_add(count)
    }
    /// The start of the region, counted from `origin`.
    ///
    /// # Errors
    /// `Internal` if the region begins before `origin`, or has another ndim.
    pub fn start_from(&self, origin: &[u64]) -> Result<Vec<u64>> {
        let start: Option<Vec<u64>> = self.start.iter().zip(origin).map(|(start, origin)| start.checked_sub(*origin)).collect();
        let start = start.filter(|_| origin.len() == self.start.len());
        start.ok_or_else(|| Error::internal(format!("the region {self} begins before {origin:?}")))
    }
    /// Selects the region's elements in an array of `shape`.
    ///
    /// # Errors
    /// `InvalidInput` if the region is not inside the array.
    pub fn selection(&self, shape: &[u64]) -> Result<Selection> {
        let axes = self.dimensions().map(|(start, count)| Axis::Range { start, count, step: 1 });
        Selection::new(axes.collect(), shape)
    }
    /// `count` rows of an array of `shape`, from row `first` on.
    pub fn rows(shape: &[u64], first: u64, count: u64) -> Self {
        let mut rows = Self::all(shape);
        if let (Some(start), Some(extent)) = (rows.start.first_mut(), rows.count.first_mut()) {
            (*start, *extent) = (first, count);
        }
        rows
    }
    /// Whether the region is inside an array of `shape`.
    pub fn fits(&self, shape: &[u64]) -> bool {
        self.start.len() == shape.len()
            && self.count.len() == shape.len()
            && self.dimensions().zip(shape).all(|((start, count), n)| start.checked_add(count).is_some_and(|end| end <= *n))
    }
    /// Number of elements; `None` beyond 64 bits.
    pub fn elements(&self) -> Option<u64> {
        if self.count.contains(&0) {
            return Some(0);
        }
        self.count.iter().try_fold(1u64, |n, count| n.checked_mul(*count))
    }
    /// The intersection, `None` if it is empty.
    pub fn shared(&self, other: &Self) -> Option<Self> {
        let mut shared = Self { start: Vec::new(), count: Vec::new() };
        for ((a, n), (b, m)) in self.dimensions().zip(other.dimensions()) {
            let (start, end) = (a.max(b), a.saturating_add(n).min(b.saturating_add(m)));
            shared.start.push(start);
            shared.count.push(end.checked_sub(start).filter(|count| *count > 0)?);
        }
        Some(shared)
    }
    /// The bounding box of both.
    pub fn around(&self, other: &Self) -> Self {
        let mut around = Self { start: Vec::new(), count: Vec::new() };
        for ((a, n), (b, m)) in self.dimensions().zip(other.dimensions()) {
            let start = a.min(b);
            around.start.push(start);
            around.count.push(a.saturating_add(n).max(b.saturating_add(m)) - start);
        }
        around
    }
    /// The union, if both are adjacent and form a rectangular region.
    pub fn joined(&self, other: &Self) -> Option<Self> {
        let differs = |axis: &usize| self.start.get(*axis) != other.start.get(*axis) || self.count.get(*axis) != other.count.get(*axis);
        let mut different = (0..self.start.len()).filter(differs);
        let (Some(axis), None) = (different.next(), different.next()) else { return None };
        let end = |region: &Self| region.start.get(axis).zip(region.count.get(axis)).map(|(start, count)| start.saturating_add(*count));
        let (first, second) = if end(self) == other.start.get(axis).copied() {
            (self, other)
        } else if end(other) == self.start.get(axis).copied() {
            (other, self)
        } else {
            return None;
        };
        let mut joined = first.clone();
        *joined.count.get_mut(axis)? += second.count.get(axis)?;
        Some(joined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_side_by_side_are_joined_and_overlaps_are_found() {
        let region = |start: [u64; 2], count: [u64; 2]| Region { start: start.to_vec(), count: count.to_vec() };
        let a = region([0, 0], [2, 5]);
        assert_eq!(a.joined(&region([2, 0], [3, 5])), Some(region([0, 0], [5, 5])));
        assert_eq!(region([2, 0], [3, 5]).joined(&a), Some(region([0, 0], [5, 5])));
        assert_eq!(a.joined(&region([3, 0], [3, 5])), None);
        assert_eq!(a.joined(&region([2, 0], [3, 4])), None);
        assert_eq!(a.shared(&region([1, 4], [9, 9])), Some(region([1, 4], [1, 1])));
        assert_eq!(a.shared(&region([2, 0], [1, 1])), None);
        assert_eq!(region([3, 4], [1, 1]).start_from(&[1, 4]).ok(), Some(vec![2, 0]));
        assert!(a.start_from(&[1, 0]).is_err() && a.start_from(&[0]).is_err());
        assert_eq!((region([3, 4], [2, 1]).rows_range(), Region::all(&[]).rows_range()), (3..5, 0..1));
    }
}
