//! Columns of the cells of boxes as plain data.

use hyperslab_array::Result;
use serde::{Deserialize, Serialize};

use super::bits;
use super::definition_arrays::{ArrayPart, Resolver};
use super::elements::Elements;
use super::patch_boxes::{Layout, MAX_DIMENSIONS};
use super::patches::{Patched, PatchedValues};

/// What a column of the cells of boxes holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "data models make them")]
pub enum PatchValues {
    /// The number of the cell's box.
    Box,
    /// Rows are the boxes themselves: the number of cells of each.
    Cells,
    /// The index of the cell along a direction.
    Index {
        /// The direction: 0 is `i`.
        axis: usize,
    },
    /// The center of the cell along a direction: `origin + (index + 0.5) * spacing`.
    Center {
        /// The direction: 0 is `i`.
        axis: usize,
        /// Where the cell of index 0 begins.
        #[serde(with = "bits")]
        origin: f64,
        /// Extent of a cell.
        #[serde(with = "bits")]
        spacing: f64,
    },
    /// A component of flat data: box after box, in a box component after component, in a component the first index fastest.
    Component {
        /// The flat data, a whole 1-D array.
        values: ArrayPart,
        /// A whole 1-D array: the first element of each box, and one past the last. It is compared with the boxes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offsets: Option<ArrayPart>,
        /// Number of the component.
        number: u64,
        /// Number of components.
        count: u64,
        /// Cells around each box that the data has, too, for each direction.
        ghosts: Vec<u64>,
    },
    /// Whether a box of the next level lies over the cell.
    Covered {
        /// The boxes of the next level.
        finer: ArrayPart,
        /// Cells of the next level along a cell, for each direction.
        ratio: Vec<u64>,
    },
}

/// Finds the arrays of a definition. `None` if it contradicts itself.
pub(super) fn resolve_patches(
    resolver: &Resolver<'_>,
    name: &str,
    boxes: &ArrayPart,
    dimensions: usize,
    what: &PatchValues,
    rows: u64,
) -> Result<Option<Patched>> {
    let raw = Resolver { decode: false, ..*resolver };
    let each = |numbers: &[u64], rest: u64| (numbers.len() == dimensions).then(|| std::array::from_fn(|axis| numbers.get(axis).copied().unwrap_or(rest)));
    let what = match what {
        PatchValues::Box => Some(PatchedValues::Box),
        PatchValues::Cells => Some(PatchedValues::Cells),
        PatchValues::Index { axis } => (*axis < dimensions).then_some(PatchedValues::Index(*axis)),
        PatchValues::Center { axis, origin, spacing } => {
            (*axis < dimensions).then_some(PatchedValues::Center { axis: *axis, origin: *origin, spacing: *spacing })
        }
        PatchValues::Component { values, offsets, number, count, ghosts } => match each(ghosts, 0).filter(|_| number < count) {
            None => None,
            Some(ghosts) => {
                let offsets = offsets.as_ref().map(|offsets| raw.list(name, offsets, None).map(Box::new)).transpose()?;
                let layout = Layout { components: *count, ghosts };
                Some(PatchedValues::Component { values: Box::new(resolver.list(name, values, None)?), offsets, number: *number, layout })
            }
        },
        PatchValues::Covered { finer, ratio } => match each(ratio, 1).filter(|ratio| ratio.iter().all(|ratio| *ratio > 0 && i64::try_from(*ratio).is_ok())) {
            None => None,
            Some(ratio) => Some(PatchedValues::Covered { finer: Box::new(raw.list(name, finer, None)?), ratio }),
        },
    };
    let (Some(what), 1..=MAX_DIMENSIONS) = (what, dimensions) else { return Ok(None) };
    Ok(Some(Patched { boxes: raw.list(name, boxes, None)?, dimensions, rows, what }))
}

/// The definition of the column. `part` describes an array.
pub(super) fn patch_values(patched: &Patched, part: impl Fn(&Elements) -> Result<ArrayPart>) -> Result<PatchValues> {
    let each = |numbers: &[u64; MAX_DIMENSIONS]| numbers.iter().copied().take(patched.dimensions).collect();
    Ok(match &patched.what {
        PatchedValues::Box => PatchValues::Box,
        PatchedValues::Cells => PatchValues::Cells,
        PatchedValues::Index(axis) => PatchValues::Index { axis: *axis },
        PatchedValues::Center { axis, origin, spacing } => PatchValues::Center { axis: *axis, origin: *origin, spacing: *spacing },
        PatchedValues::Component { values, offsets, number, layout } => PatchValues::Component {
            values: part(values)?,
            offsets: offsets.as_deref().map(&part).transpose()?,
            number: *number,
            count: layout.components,
            ghosts: each(&layout.ghosts),
        },
        PatchedValues::Covered { finer, ratio } => PatchValues::Covered { finer: part(finer)?, ratio: each(ratio) },
    })
}
