//! Selection: the selected elements of a dataspace, one axis per dimension.
//!
//! A selection is the outer product of one [`Axis`] per dimension: HDF5's regular hyperslab with
//! block 1, and h5py's index lists. Order along an axis is always increasing.

use crate::axis_runs::{AxisRuns, Run};
use crate::dataspace::checked_product;
use crate::{Error, Result};

/// The selected indexes of one dimension, strictly increasing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Axis {
    /// `start, start + step, …`, `count` of them.
    Range {
        /// First index.
        start: u64,
        /// Number of indexes.
        count: u64,
        /// Distance; at least 1.
        step: u64,
    },
    /// Single indexes, strictly increasing.
    Indices(Vec<u64>),
    /// Runs of adjacent indexes, with gaps between them.
    Runs(AxisRuns),
}

impl Axis {
    /// All indexes of a dimension of `extent`.
    pub fn all(extent: u64) -> Self {
        Self::Range { start: 0, count: extent, step: 1 }
    }
    /// The half-open range `start..end`.
    pub fn range(start: u64, end: u64) -> Self {
        Self::Range { start, count: end.saturating_sub(start), step: 1 }
    }
    /// Runs of `(first index, number of indexes)`: a range if it is one run.
    ///
    /// # Errors
    /// As [`AxisRuns::new`].
    pub fn of_runs(runs: impl IntoIterator<Item = (u64, u64)>) -> Result<Self> {
        let runs = AxisRuns::new(runs)?;
        Ok(match runs.runs() {
            [] => Self::range(0, 0),
            [only] => Self::Range { start: only.source, count: only.count, step: 1 },
            _ => Self::Runs(runs),
        })
    }
    /// Number of selected indexes.
    pub fn count(&self) -> u64 {
        match self {
            Self::Range { count, .. } => *count,
            Self::Indices(indices) => indices.len() as u64,
            Self::Runs(runs) => runs.count(),
        }
    }
    /// The source index of the selected element at `position`.
    pub fn index(&self, position: u64) -> Option<u64> {
        match self {
            Self::Range { start, count, step } => (position < *count).then(|| start + position * step),
            Self::Indices(indices) => usize::try_from(position).ok().and_then(|p| indices.get(p)).copied(),
            Self::Runs(runs) => runs.index(position),
        }
    }
    /// The selected indexes in order. Faster than asking for the index at each position.
    pub fn indexes(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        match self {
            Self::Range { start, count, step } => Box::new((0..*count).map(move |position| start + position * step)),
            Self::Indices(indices) => Box::new(indices.iter().copied()),
            Self::Runs(runs) => Box::new(runs.runs().iter().flat_map(|run| run.source..run.source + run.count)),
        }
    }
    /// The selected elements at positions `first..first + count`.
    pub fn sub_axis(&self, first: u64, count: u64) -> Self {
        let count = count.min(self.count().saturating_sub(first));
        match self {
            Self::Range { start, step, .. } => Self::Range { start: start + first.min(self.count()) * step, count, step: *step },
            Self::Indices(indices) => Self::Indices(indices.iter().copied().skip(to_usize(first)).take(to_usize(count)).collect()),
            Self::Runs(runs) => Self::Runs(runs.sub_axis(first, count)),
        }
    }
    /// Position of the first selected element whose source index is at least `bound`.
    fn position_at_or_after(&self, bound: u64) -> u64 {
        match self {
            Self::Range { start, count, step } => bound.saturating_sub(*start).div_ceil(*step).min(*count),
            Self::Indices(indices) => indices.partition_point(|&i| i < bound) as u64,
            Self::Runs(runs) => runs.position_at_or_after(bound),
        }
    }
    /// The selected elements with source index in `from..to`, as (first position, count).
    pub fn positions_within(&self, from: u64, to: u64) -> (u64, u64) {
        let first = self.position_at_or_after(from);
        (first, self.position_at_or_after(to).saturating_sub(first))
    }
    /// The selected indexes within `from..to`.
    pub fn clip(&self, from: u64, to: u64) -> Self {
        let (first, count) = self.positions_within(from, to);
        self.sub_axis(first, count)
    }
    /// Upper bound of the number of chunks of extent `chunk` that contain selected indexes; exact without gaps.
    pub fn max_touched_chunks(&self, chunk: u64) -> u64 {
        let last = self.count().checked_sub(1).and_then(|last| self.index(last));
        let Some((first, last)) = self.index(0).zip(last) else { return 0 };
        self.count().min(last / chunk.max(1) - first / chunk.max(1) + 1)
    }
    /// Indexes of the chunks of extent `chunk` that contain selected indexes, increasing.
    pub fn touched_chunks(&self, chunk: u64) -> Vec<u64> {
        match self {
            Self::Range { start, count, step } if *count > 0 => {
                if *step <= chunk {
                    let last = start + (count - 1) * step;
                    (start / chunk..=last / chunk).collect()
                } else {
                    (0..*count).map(|i| (start + i * step) / chunk).collect()
                }
            }
            Self::Range { .. } => Vec::new(),
            Self::Indices(indices) => {
                let mut chunks: Vec<u64> = indices.iter().map(|i| i / chunk).collect();
                chunks.dedup();
                chunks
            }
            Self::Runs(runs) => {
                let mut chunks: Vec<u64> = Vec::new();
                for run in runs.runs() {
                    let first = (run.source / chunk).max(chunks.last().map_or(0, |last| last + 1));
                    chunks.extend(first..=(run.source + run.count - 1) / chunk);
                }
                chunks
            }
        }
    }
    /// The selected indexes in `from..to` as runs; `Run::source` is relative to `from`.
    pub fn runs_within(&self, from: u64, to: u64) -> Vec<Run> {
        let (first, count) = self.positions_within(from, to);
        match self {
            _ if count == 0 => Vec::new(),
            Self::Range { start, step: 1, .. } => {
                vec![Run { source: start + first - from, target: first, count }]
            }
            Self::Range { start, step, .. } => (first..first + count).map(|p| Run { source: start + p * step - from, target: p, count: 1 }).collect(),
            Self::Indices(indices) => {
                let mut runs: Vec<Run> = Vec::new();
                for (index, target) in indices.iter().skip(to_usize(first)).zip(first..first + count) {
                    let source = index - from;
                    match runs.last_mut() {
                        Some(run) if run.source + run.count == source => run.count += 1,
                        _ => runs.push(Run { source, target, count: 1 }),
                    }
                }
                runs
            }
            Self::Runs(runs) => runs.of_positions(first, first + count).map(|run| Run { source: run.source - from, ..run }).collect(),
        }
    }
    /// The indexes that both axes select.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        match (self, other) {
            (any, Self::Range { start, count, step: 1 }) | (Self::Range { start, count, step: 1 }, any) => any.clip(*start, start.saturating_add(*count)),
            (Self::Runs(mine), any) | (any, Self::Runs(mine)) => {
                let shared = mine.runs().iter().flat_map(|run| {
                    let within = any.runs_within(run.source, run.source + run.count);
                    within.into_iter().map(move |part| (run.source + part.source, part.count))
                });
                // In order, because runs and the parts of each are.
                Self::of_runs(shared).unwrap_or_else(|_| Self::range(0, 0))
            }
            _ => {
                let (mut found, mut theirs) = (Vec::new(), other.indexes().peekable());
                for index in self.indexes() {
                    while theirs.next_if(|other| *other < index).is_some() {}
                    if theirs.peek() == Some(&index) {
                        found.push(index);
                    }
                }
                Self::Indices(found)
            }
        }
    }
    fn last(&self) -> Option<u64> {
        self.count().checked_sub(1).and_then(|p| self.index(p))
    }
}

/// The outer product of one axis per dimension; ndim 0 selects the one element of a scalar.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Selection {
    axes: Vec<Axis>,
}

impl Selection {
    /// Every element of `shape`.
    pub fn all(shape: &[u64]) -> Self {
        Self { axes: shape.iter().map(|&n| Axis::all(n)).collect() }
    }
    /// A selection from its axes, checked against `shape`.
    ///
    /// # Errors
    /// `InvalidInput` if the axes do not fit `shape`: another ndim, an index out of range, or indexes that do not
    /// increase.
    pub fn new(axes: Vec<Axis>, shape: &[u64]) -> Result<Self> {
        if axes.len() != shape.len() {
            return Err(Error::invalid_input(format!("a selection of {} dimensions does not fit shape {shape:?}", axes.len())));
        }
        for (axis, &extent) in axes.iter().zip(shape) {
            let ordered = match axis {
                Axis::Range { start, count, step } => *step > 0 && count.checked_mul(*step).and_then(|n| n.checked_add(*start)).is_some(),
                Axis::Indices(indices) => indices.is_sorted_by(|a, b| a < b),
                // Checked when they were made.
                Axis::Runs(_) => true,
            };
            if !ordered {
                return Err(Error::invalid_input("the indexes of a selection must increase"));
            }
            if axis.last().is_some_and(|last| last >= extent) {
                return Err(Error::invalid_input(format!("index {} is out of range for a dimension of extent {extent}", axis.last().unwrap_or(0))));
            }
        }
        Ok(Self { axes })
    }
    /// One axis per dimension.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }
    /// Shape of the selected box.
    pub fn shape(&self) -> Vec<u64> {
        self.axes.iter().map(Axis::count).collect()
    }
    /// Number of selected elements.
    ///
    /// # Errors
    /// `Corrupt` beyond 64 bits.
    pub fn element_count(&self) -> Result<u64> {
        checked_product(&self.shape())
    }
    /// Whether nothing is selected.
    pub fn is_empty(&self) -> bool {
        self.axes.iter().any(|axis| axis.count() == 0)
    }
    /// The part of the selection at positions `first..first + count` of its `dimension`.
    pub fn narrow(&self, dimension: usize, first: u64, count: u64) -> Self {
        let mut axes = self.axes.clone();
        if let Some(axis) = axes.get_mut(dimension) {
            *axis = axis.sub_axis(first, count);
        }
        Self { axes }
    }
}

fn to_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn axis() -> impl Strategy<Value = Axis> {
        prop_oneof![
            (0u64..40, 0u64..20, 1u64..9).prop_map(|(start, count, step)| Axis::Range { start, count, step }),
            proptest::collection::btree_set(0u64..200, 0..20).prop_map(|set| Axis::Indices(set.into_iter().collect())),
            proptest::collection::vec((0u64..30, 0u64..15), 0..9).prop_map(|gaps| {
                let mut next = 0;
                let runs: Vec<(u64, u64)> = gaps
                    .iter()
                    .map(|(gap, count)| {
                        let start = next + gap;
                        next = start + count;
                        (start, *count)
                    })
                    .collect();
                AxisRuns::new(runs).map_or_else(|_| Axis::range(0, 0), Axis::Runs)
            }),
        ]
    }
    fn naive(axis: &Axis) -> Vec<u64> {
        (0..axis.count()).filter_map(|p| axis.index(p)).collect()
    }

    proptest! {
        #[test]
        fn touched_chunks_are_those_of_every_index(axis in axis(), chunk in 1u64..30) {
            let mut expected: Vec<u64> = naive(&axis).iter().map(|i| i / chunk).collect();
            expected.dedup();
            prop_assert_eq!(axis.touched_chunks(chunk), expected);
        }
        #[test]
        fn runs_visit_every_index_once_in_order(axis in axis(), from in 0u64..100, len in 0u64..100) {
            let mut seen = Vec::new();
            for run in axis.runs_within(from, from + len) {
                for k in 0..run.count {
                    prop_assert_eq!(axis.index(run.target + k), Some(from + run.source + k));
                    seen.push(from + run.source + k);
                }
            }
            let expected: Vec<u64> =
                naive(&axis).into_iter().filter(|i| (from..from + len).contains(i)).collect();
            prop_assert_eq!(seen, expected);
        }
        #[test]
        fn an_intersection_has_the_indexes_of_both(one in axis(), other in axis()) {
            let theirs = naive(&other);
            let expected: Vec<u64> = naive(&one).into_iter().filter(|index| theirs.contains(index)).collect();
            prop_assert_eq!(naive(&one.intersection(&other)), expected);
            prop_assert_eq!(one.indexes().collect::<Vec<_>>(), naive(&one));
        }
        #[test]
        fn positions_are_those_of_the_indexes_in_between(axis in axis(), from in 0u64..100, len in 0u64..100) {
            let (first, count) = axis.positions_within(from, from + len);
            let indexes = naive(&axis);
            let before = indexes.iter().filter(|index| **index < from).count() as u64;
            let within = indexes.iter().filter(|index| (from..from + len).contains(*index)).count() as u64;
            prop_assert_eq!((first, count), (before, within));
        }
        #[test]
        fn sub_axes_cut_an_axis_without_loss(axis in axis(), cut in 0u64..25) {
            let mut joined = naive(&axis.sub_axis(0, cut));
            joined.extend(naive(&axis.sub_axis(cut, u64::MAX)));
            prop_assert_eq!(joined, naive(&axis));
        }
    }

    #[test]
    fn runs_must_increase_and_join_where_they_touch() -> Result<()> {
        assert!(Axis::of_runs([(5, 3), (7, 1)]).is_err() && Axis::of_runs([(5, 3), (1, 1)]).is_err() && Axis::of_runs([(u64::MAX, 2)]).is_err());
        assert_eq!(Axis::of_runs([(5, 3), (8, 1), (20, 0)])?, Axis::range(5, 9));
        assert_eq!(Axis::of_runs([])?, Axis::range(0, 0));
        let Axis::Runs(runs) = Axis::of_runs([(1, 2), (9, 1)])? else { return Err(Error::internal("two runs")) };
        assert_eq!(runs.shifted(10).map(|runs| runs.runs().iter().map(|run| run.source).collect::<Vec<_>>()), Some(vec![11, 19]));
        assert_eq!(runs.shifted(u64::MAX - 5), None);
        Ok(())
    }
}
