//! Stored selection: a selection as HDF5 stores it, in virtual datasets and region references
//! (specification, "Dataspace selection"; `H5S_SEL_NONE`, `_POINTS`, `_HYPERSLABS`, `_ALL`).

use crate::Axis;

/// A selection as a file stores it. Its elements are in row-major order, points in the order of their list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredSelection {
    /// Nothing.
    None,
    /// The whole extent.
    All,
    /// Single elements, each with a coordinate per dimension.
    Points(Vec<Vec<u64>>),
    /// A regular hyperslab.
    Hyperslab(Vec<HyperslabAxis>),
    /// A union of boxes, each as its first and last element.
    Blocks(Vec<(Vec<u64>, Vec<u64>)>),
}

impl StoredSelection {
    /// Number of dimensions of its coordinates; `None` if it has no coordinates.
    pub fn ndim(&self) -> Option<u64> {
        let ndim = match self {
            Self::None | Self::All => None,
            Self::Points(points) => points.first().map(Vec::len),
            Self::Hyperslab(axes) => Some(axes.len()),
            Self::Blocks(blocks) => blocks.first().map(|(first, _)| first.len()),
        };
        ndim.map(|ndim| ndim as u64)
    }
}

/// One dimension of a regular hyperslab: `count` blocks of `block` indexes, `stride` apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HyperslabAxis {
    /// First index.
    pub start: u64,
    /// Distance of the blocks' first indexes; at least `block`.
    pub stride: u64,
    /// Number of blocks; `None` is unlimited.
    pub count: Option<u64>,
    /// Length of a block; `None` is one unlimited block.
    pub block: Option<u64>,
    /// Limits the selection to this many indexes.
    pub limit: Option<u64>,
}

impl HyperslabAxis {
    /// All of a dimension of `extent`.
    pub fn all(extent: u64) -> Self {
        Self { start: 0, stride: extent.max(1), count: Some(1), block: Some(extent), limit: None }
    }
    /// `count` adjacent indexes from `start` on.
    pub fn block(start: u64, count: u64) -> Self {
        Self { start, stride: count.max(1), count: Some(1), block: Some(count), limit: None }
    }
    /// Whether it is unlimited.
    pub fn is_unlimited(&self) -> bool {
        self.len().is_none()
    }
    /// Number of selected indexes; `None` if unlimited.
    pub fn len(&self) -> Option<u64> {
        let len = self.count.zip(self.block).map(|(count, block)| count.saturating_mul(block));
        match (len, self.limit) {
            (Some(len), Some(limit)) => Some(len.min(limit)),
            (len, limit) => len.or(limit),
        }
    }
    /// Whether it selects nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }
    /// Number of its indexes below `bound`.
    pub fn len_below(&self, bound: u64) -> u64 {
        let Some(room) = bound.checked_sub(self.start) else { return 0 };
        let below = match self.block {
            None => room,
            Some(block) => {
                let whole = room / self.stride;
                whole.saturating_mul(block).saturating_add((room % self.stride).min(block))
            }
        };
        self.len().map_or(below, |len| below.min(len))
    }
    /// The index of its `ordinal`-th element.
    pub fn index(&self, ordinal: u64) -> u64 {
        match self.block {
            Some(block) if block > 0 => self.start.saturating_add((ordinal / block).saturating_mul(self.stride)).saturating_add(ordinal % block),
            _ => self.start.saturating_add(ordinal),
        }
    }
    /// The ordinal of `index`, if it is selected.
    pub fn ordinal(&self, index: u64) -> Option<u64> {
        let offset = index.checked_sub(self.start)?;
        let ordinal = match self.block {
            None => offset,
            Some(block) if offset % self.stride < block => (offset / self.stride).checked_mul(block)? + offset % self.stride,
            Some(_) => return None,
        };
        self.len().is_none_or(|len| ordinal < len).then_some(ordinal)
    }
    /// The extent that a dimension needs for the first `count` of its indexes.
    pub fn extent_of(&self, count: u64) -> u64 {
        count.checked_sub(1).map_or(0, |last| self.index(last).saturating_add(1))
    }
    /// The same, limited to its first `count` indexes.
    pub fn cut(&self, count: u64) -> Self {
        Self { limit: Some(self.limit.map_or(count, |limit| limit.min(count))), ..*self }
    }
    /// The indexes shared with `axis`: position in `axis`, and ordinal in this selection.
    pub fn shared_with(&self, axis: &Axis) -> Vec<(u64, u64)> {
        let end = self.extent_of(self.len().unwrap_or(u64::MAX));
        let (first, count) = axis.positions_within(self.start, end);
        let shared = (first..first.saturating_add(count)).filter_map(|position| Some((position, self.ordinal(axis.index(position)?)?)));
        shared.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn axis() -> impl Strategy<Value = HyperslabAxis> {
        (0u64..10, 1u64..6, proptest::option::of(0u64..8), 0u64..5).prop_map(|(start, block, count, gap)| HyperslabAxis {
            start,
            stride: block + gap,
            count,
            block: Some(block),
            limit: None,
        })
    }
    /// The selected indexes below 100, one by one.
    fn naive(axis: &HyperslabAxis) -> Vec<u64> {
        let (block, count) = (axis.block.unwrap_or(100), axis.count.unwrap_or(100));
        let all = (0..count).flat_map(|k| (0..block).map(move |i| axis.start + k * axis.stride + i));
        all.filter(|i| *i < 100).collect()
    }

    proptest! {
        #[test]
        fn ordinals_and_indexes_are_each_others_inverse(axis in axis()) {
            let indexes = naive(&axis);
            for (ordinal, index) in indexes.iter().enumerate() {
                prop_assert_eq!(axis.index(ordinal as u64), *index);
                prop_assert_eq!(axis.ordinal(*index), Some(ordinal as u64));
            }
            for index in 0..100 {
                prop_assert_eq!(axis.ordinal(index).is_some(), indexes.contains(&index));
            }
        }
        #[test]
        fn len_below_counts(axis in axis(), bound in 0u64..100) {
            prop_assert_eq!(axis.len_below(bound), naive(&axis).iter().filter(|i| **i < bound).count() as u64);
        }
        #[test]
        fn a_cut_keeps_the_first_indexes(axis in axis(), count in 0u64..20) {
            let indexes = naive(&axis);
            let count = count.min(indexes.len() as u64);
            let cut: Vec<u64> = (0..100).filter(|i| axis.cut(count).ordinal(*i).is_some()).collect();
            prop_assert_eq!(&cut, &indexes[..count as usize]);
            prop_assert_eq!(axis.extent_of(count), cut.last().map_or(0, |last| last + 1));
        }
        #[test]
        fn shared_indexes_are_those_of_both(axis in axis(), start in 0u64..30, count in 0u64..20, step in 1u64..4) {
            let wanted = Axis::Range { start, count, step };
            let mut expected = Vec::new();
            for position in 0..count {
                if let Some(ordinal) = naive(&axis).iter().position(|i| *i == start + position * step) {
                    expected.push((position, ordinal as u64));
                }
            }
            prop_assert_eq!(axis.shared_with(&wanted), expected);
        }
    }
}
