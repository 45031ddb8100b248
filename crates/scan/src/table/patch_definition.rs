//! Columns of the cells of boxes as plain data.

use hyperslab_array::Result;
use serde::{Deserialize, Serialize};

use super::bits;
use super::definition_arrays::{ArrayPart, Resolver};
use super::elements::Elements;
use super::patch_boxes::{Layout, MAX_DIMENSIONS};
use super::patch_lists::{BlockGrid, PatchList};
use super::patches::{Patched, PatchedValues};

/// The boxes of a level in a definition.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "data models make them")]
pub enum BoxList {
    /// A 1-D compound dataset with the lowest and the highest cell of each box: `lo_i`, `lo_j`, `hi_i`, `hi_j`.
    Members(ArrayPart),
    /// Rows of a 2-D dataset of six integers: the lowest and the highest cell along `i`, then along `j`, then along `k`.
    Pairs {
        /// The whole dataset.
        array: ArrayPart,
        /// The row of the first box.
        first: u64,
        /// Number of boxes.
        count: u64,
    },
    /// Blocks of equal numbers of cells, of which those of one level are the boxes.
    Blocks {
        /// A 3-D dataset of numbers: for each block and direction, where it begins and ends.
        bounds: ArrayPart,
        /// A 1-D dataset: the level of each block.
        levels: ArrayPart,
        /// The level.
        level: i64,
        /// Where blocks may lie.
        grid: BlockGrid,
    },
}

/// What a column of the cells of boxes holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "data models make them")]
pub enum PatchValues {
    /// The number of the cell's box.
    Box,
    /// Rows are the boxes themselves: the number of each.
    Number,
    /// Rows are the boxes themselves: the number of cells of each.
    Cells,
    /// Rows are the boxes themselves: the element of an array at the number of each.
    Own {
        /// A whole 1-D array.
        values: ArrayPart,
    },
    /// Rows are the boxes themselves: the index of the lowest cell along a direction.
    Low {
        /// The direction: 0 is `i`.
        axis: usize,
    },
    /// Rows are the boxes themselves: the index of the highest cell along a direction.
    High {
        /// The direction: 0 is `i`.
        axis: usize,
    },
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
    /// Values of blocks: at the number of the block and the place of the cell in it.
    Block {
        /// A whole 4-D array: block, then the cells along `k`, `j` and `i`.
        values: ArrayPart,
    },
    /// Whether a box of the next level lies over the cell.
    Covered {
        /// The boxes of the next level.
        finer: BoxList,
        /// Cells of the next level along a cell, for each direction.
        ratio: Vec<u64>,
    },
}

/// Finds the arrays of a definition. `None` if it contradicts itself.
pub(super) fn resolve_patches(
    resolver: &Resolver<'_>,
    name: &str,
    boxes: &BoxList,
    dimensions: usize,
    what: &PatchValues,
    rows: u64,
) -> Result<Option<Patched>> {
    let raw = Resolver { decode: false, ..*resolver };
    let each = |numbers: &[u64], rest: u64| (numbers.len() == dimensions).then(|| std::array::from_fn(|axis| numbers.get(axis).copied().unwrap_or(rest)));
    let what = match what {
        PatchValues::Box => Some(PatchedValues::Box),
        PatchValues::Number => Some(PatchedValues::Number),
        PatchValues::Cells => Some(PatchedValues::Cells),
        PatchValues::Own { values } => Some(PatchedValues::Own(Box::new(resolver.list(name, values, None)?))),
        PatchValues::Low { axis } => (*axis < dimensions).then_some(PatchedValues::Low(*axis)),
        PatchValues::High { axis } => (*axis < dimensions).then_some(PatchedValues::High(*axis)),
        PatchValues::Block { values } => {
            let values = resolver.whole(name, values, None)?;
            (values.shape()?.len() == MAX_DIMENSIONS + 1).then(|| PatchedValues::Block { values: Box::new(values) })
        }
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
            Some(ratio) => Some(PatchedValues::Covered { finer: Box::new(resolve_list(resolver, name, finer)?), ratio }),
        },
    };
    let (Some(what), 1..=MAX_DIMENSIONS) = (what, dimensions) else { return Ok(None) };
    Ok(Some(Patched { boxes: resolve_list(resolver, name, boxes)?, dimensions, rows, what }))
}

/// The definition of the column. `part` describes an array.
pub(super) fn patch_values(patched: &Patched, part: impl Fn(&Elements) -> Result<ArrayPart> + Copy) -> Result<PatchValues> {
    let each = |numbers: &[u64; MAX_DIMENSIONS]| numbers.iter().copied().take(patched.dimensions).collect();
    Ok(match &patched.what {
        PatchedValues::Box => PatchValues::Box,
        PatchedValues::Number => PatchValues::Number,
        PatchedValues::Cells => PatchValues::Cells,
        PatchedValues::Own(values) => PatchValues::Own { values: part(values)? },
        PatchedValues::Low(axis) => PatchValues::Low { axis: *axis },
        PatchedValues::High(axis) => PatchValues::High { axis: *axis },
        PatchedValues::Block { values } => PatchValues::Block { values: part(values)? },
        PatchedValues::Index(axis) => PatchValues::Index { axis: *axis },
        PatchedValues::Center { axis, origin, spacing } => PatchValues::Center { axis: *axis, origin: *origin, spacing: *spacing },
        PatchedValues::Component { values, offsets, number, layout } => PatchValues::Component {
            values: part(values)?,
            offsets: offsets.as_deref().map(part).transpose()?,
            number: *number,
            count: layout.components,
            ghosts: each(&layout.ghosts),
        },
        PatchedValues::Covered { finer, ratio } => PatchValues::Covered { finer: list_values(finer, part)?, ratio: each(ratio) },
    })
}

/// Finds the arrays of a list of boxes.
fn resolve_list(resolver: &Resolver<'_>, name: &str, list: &BoxList) -> Result<PatchList> {
    let raw = Resolver { decode: false, ..*resolver };
    Ok(match list {
        BoxList::Members(array) => PatchList::Members(raw.list(name, array, None)?),
        BoxList::Pairs { array, first, count } => PatchList::Pairs { array: raw.whole(name, array, None)?, first: *first, count: *count },
        BoxList::Blocks { bounds, levels, level, grid } => {
            let levels = raw.list(name, levels, None)?;
            PatchList::Blocks { bounds: Box::new(raw.whole(name, bounds, None)?), levels: Box::new(levels), level: *level, grid: *grid }
        }
    })
}

/// The definition of a list of boxes. `part` describes an array.
pub(super) fn list_values(list: &PatchList, part: impl Fn(&Elements) -> Result<ArrayPart>) -> Result<BoxList> {
    Ok(match list {
        PatchList::Members(array) => BoxList::Members(part(array)?),
        PatchList::Pairs { array, first, count } => BoxList::Pairs { array: part(array)?, first: *first, count: *count },
        PatchList::Blocks { bounds, levels, level, grid } => BoxList::Blocks { bounds: part(bounds)?, levels: part(levels)?, level: *level, grid: *grid },
    })
}
