//! Columns that the cells of every adaptive mesh have: the box, the indexes, and the center.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{BooleanArray, Float64Array, Int64Array};
use hyperslab_scan::{BoxList, Literal, PatchValues, SegmentDefinition, Values};

pub(crate) const CELLS: &str = "cells";
pub(crate) const BOXES: &str = "boxes";
/// Names of the columns of indexes and of coordinates, for each direction.
pub(crate) const INDEXES: [&str; 3] = ["i", "j", "k"];
pub(crate) const CENTERS: [&str; 3] = ["x", "y", "z"];
/// Rows by which splits and windows are cut.
const ROWS: u64 = 1 << 15;

/// A whole number in every row.
pub(crate) fn whole_number(number: u64) -> Values {
    Values::Constant(Literal(Arc::new(Int64Array::from(vec![i64::try_from(number).unwrap_or(i64::MAX)]))))
}

/// A number in every row.
pub(crate) fn number(number: f64) -> Values {
    Values::Constant(Literal(Arc::new(Float64Array::from(vec![number]))))
}

/// The names that arrays cannot have, because the table has columns of these names.
pub(crate) fn own_names() -> BTreeSet<String> {
    ["step", "time", "level", "box", "covered"].into_iter().chain(INDEXES).chain(CENTERS).map(str::to_owned).collect()
}

/// The boxes of a level, as columns need them.
#[derive(Clone, Copy)]
pub(crate) struct Patches<'a> {
    pub list: &'a BoxList,
    /// Where the cell of index 0 begins along each direction; one for each direction of the mesh.
    pub origin: &'a [f64],
    /// Extent of a cell along each direction.
    pub spacing: &'a [f64],
}

impl Patches<'_> {
    pub fn column(&self, what: PatchValues) -> Values {
        Values::patches(self.list.clone(), self.spacing.len(), what)
    }

    /// An empty segment of `rows` rows.
    pub fn segment(path: &str, rows: u64) -> SegmentDefinition {
        SegmentDefinition::new(path, vec![rows], vec![rows.clamp(1, ROWS)])
    }

    /// The segment with the columns `level`, `box`, `i` and so on, `x` and so on.
    pub fn with_places(&self, segment: SegmentDefinition, level: u64) -> SegmentDefinition {
        let mut segment = segment.with_column("level", whole_number(level)).with_column("box", self.column(PatchValues::Box));
        for (axis, name) in INDEXES.into_iter().enumerate().take(self.spacing.len()) {
            segment = segment.with_column(name, self.column(PatchValues::Index { axis }));
        }
        for ((axis, name), (origin, spacing)) in CENTERS.into_iter().enumerate().zip(self.origin.iter().zip(self.spacing)) {
            segment = segment.with_column(name, self.column(PatchValues::Center { axis, origin: *origin, spacing: *spacing }));
        }
        segment
    }

    /// The segment with the column `covered`: by the boxes of the next level, which has `ratio` cells along a cell of this one.
    pub fn with_covered(&self, segment: SegmentDefinition, finer: Option<(&BoxList, Vec<u64>)>) -> SegmentDefinition {
        let covered = match finer {
            Some((finer, ratio)) => self.column(PatchValues::Covered { finer: finer.clone(), ratio }),
            None => Values::Constant(Literal(Arc::new(BooleanArray::from(vec![false])))),
        };
        segment.with_column("covered", covered)
    }

    /// The segment of boxes with the columns `level`, `box`, `lo_i` and so on, `hi_i` and so on, and `cells`.
    pub fn with_boxes(&self, segment: SegmentDefinition, level: u64) -> SegmentDefinition {
        let mut segment = segment.with_column("level", whole_number(level)).with_column("box", self.column(PatchValues::Number));
        for (axis, name) in INDEXES.into_iter().enumerate().take(self.spacing.len()) {
            segment = segment.with_column(format!("lo_{name}"), self.column(PatchValues::Low { axis }));
        }
        for (axis, name) in INDEXES.into_iter().enumerate().take(self.spacing.len()) {
            segment = segment.with_column(format!("hi_{name}"), self.column(PatchValues::High { axis }));
        }
        segment.with_column("cells", self.column(PatchValues::Cells))
    }
}
