//! Groups: combinations of classes of segments and of dimensions, as numbers.

use hyperslab_array::{Error, Result, Selection};

use super::elements::beyond;
use super::request::{Reduction, SegmentClasses};

/// How groups are numbered: classes of segments, then of dimensions, the last one fastest.
pub(super) struct GroupLayout {
    /// Number of classes of segments, and of each dimension.
    pub classes: Vec<u32>,
    /// Distance between the groups of adjacent classes.
    strides: Vec<usize>,
    pub groups: usize,
}

impl GroupLayout {
    pub fn new(reduction: &Reduction) -> Result<Self> {
        let classes: Vec<u32> = std::iter::once(reduction.segment_classes).chain(reduction.axis_classes.iter().copied()).collect();
        let mut strides = vec![0usize; classes.len()];
        let mut groups = 1usize;
        for (stride, count) in strides.iter_mut().zip(&classes).rev() {
            *stride = groups;
            let more = groups.checked_mul((*count).max(1) as usize).filter(|groups| *groups < u32::MAX as usize);
            groups = more.ok_or_else(|| Error::limit_exceeded("a reduction to more than 32 bits of groups"))?;
        }
        Ok(Self { classes, strides, groups })
    }

    pub fn of_segment(&self, classes: &SegmentClasses) -> usize {
        classes.class as usize * self.strides.first().copied().unwrap_or(0)
    }

    /// The part of the group's number that an index along a dimension gives.
    pub fn of_index(&self, classes: &SegmentClasses, axis: usize, index: u64) -> usize {
        let of_axis = classes.axes.get(axis).and_then(Option::as_ref);
        let class = of_axis.map_or(Some(0), |of_axis| of_axis.get(usize::try_from(index).ok()?).copied());
        class.unwrap_or(0) as usize * self.strides.get(axis + 1).copied().unwrap_or(0)
    }

    /// The class of a group along a dimension.
    pub fn class_along(&self, group: usize, axis: usize) -> usize {
        let stride = self.strides.get(axis + 1).copied().unwrap_or(1);
        let count = self.classes.get(axis + 1).copied().unwrap_or(1);
        group / stride.max(1) % (count.max(1) as usize)
    }

    pub fn is_classed(&self, axis: usize) -> bool {
        self.classes.get(axis + 1).is_some_and(|count| *count > 1)
    }

    /// The group of all rows of a selection; `None` if they are in several.
    pub fn only_group(&self, selection: &Selection, classes: &SegmentClasses) -> Option<usize> {
        let mut group = self.of_segment(classes);
        for (axis, indexes) in selection.axes().iter().enumerate().filter(|(axis, _)| self.is_classed(*axis)) {
            let mut along = indexes.indexes().map(|index| self.of_index(classes, axis, index));
            let first = along.next()?;
            if along.any(|other| other != first) {
                return None;
            }
            group += first;
        }
        Some(group)
    }

    /// Adds the number of rows of a segment to each group.
    pub fn count_rows(&self, selection: &Selection, classes: &SegmentClasses, rows: &mut [u64]) -> Result<()> {
        let mut counts: Vec<(usize, u64)> = vec![(self.of_segment(classes), 1)];
        for (axis, indexes) in selection.axes().iter().enumerate() {
            let along: Vec<(usize, u64)> = if self.is_classed(axis) {
                let mut along = std::collections::BTreeMap::new();
                indexes.indexes().for_each(|index| *along.entry(self.of_index(classes, axis, index)).or_insert(0u64) += 1);
                along.into_iter().collect()
            } else {
                vec![(0, indexes.count())]
            };
            counts = counts.iter().flat_map(|(group, count)| along.iter().map(move |(more, times)| (group + more, count.saturating_mul(*times)))).collect();
        }
        for (group, count) in counts {
            let rows = rows.get_mut(group).ok_or_else(beyond)?;
            *rows = rows.saturating_add(count);
        }
        Ok(())
    }
}
