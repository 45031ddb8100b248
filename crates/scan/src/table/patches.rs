//! Columns of the cells of boxes, with the arrays that they are read from.

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use hyperslab_array::{Cancellation, Error, ErrorKind, Result};
use hyperslab_formats::ObjectId;
use serde::{Deserialize, Serialize};

use super::array_part::ArrayPart;
use super::bits;
use super::elements::Elements;
use super::need::{Mapping, Need};
use super::nulls::integers;
use super::patch_boxes::{Layout, MAX_DIMENSIONS, PatchBoxes, corrupt};
use super::patch_cover::Cover;
use super::patch_lists::{BoxList, ListKey};

/// A column of the cells of boxes: as defined, or as resolved.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound(deserialize = "A: Deserialize<'de>"))]
#[non_exhaustive]
pub struct Patched<A = ArrayPart> {
    /// The boxes.
    boxes: BoxList<A>,
    /// Number of directions: 1 to 3.
    dimensions: usize,
    /// What the column holds.
    pub(crate) what: PatchValues<A>,
}

/// What a column of the cells of boxes holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", bound(deserialize = "A: Deserialize<'de>"))]
#[expect(clippy::exhaustive_enums, reason = "data models make them")]
pub enum PatchValues<A = ArrayPart> {
    /// The number of the cell's box.
    Box,
    /// Rows are the boxes themselves: the number of each.
    Number,
    /// Rows are the boxes themselves: the number of cells of each.
    Cells,
    /// Rows are the boxes themselves: the element of an array at the number of each.
    Own {
        /// A whole 1-D array.
        values: A,
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
        values: A,
        /// A whole 1-D array: the first element of each box, and one past the last. It is compared with the boxes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offsets: Option<A>,
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
        values: A,
    },
    /// Whether a box of the next level lies over the cell.
    Covered {
        /// The boxes of the next level.
        finer: BoxList<A>,
        /// Cells of the next level along a cell, for each direction.
        ratio: Vec<u64>,
    },
}

impl<A> Patched<A> {
    pub(super) fn new(boxes: BoxList<A>, dimensions: usize, what: PatchValues<A>) -> Self {
        Self { boxes, dimensions, what }
    }

    /// The same column with other arrays.
    pub(super) fn try_map<B>(&self, map: Mapping<'_, A, B>) -> Result<Patched<B>> {
        let what = self.what.try_map(map)?;
        Ok(Patched { boxes: self.boxes.try_map(map)?, dimensions: self.dimensions, what })
    }

    /// Whether numbers of directions contradict each other.
    pub(super) fn is_contradictory(&self) -> bool {
        let fits = match &self.what {
            PatchValues::Low { axis } | PatchValues::High { axis } | PatchValues::Index { axis } | PatchValues::Center { axis, .. } => *axis < self.dimensions,
            PatchValues::Component { number, count, ghosts, .. } => ghosts.len() == self.dimensions && number < count,
            PatchValues::Covered { ratio, .. } => ratio.len() == self.dimensions && ratio.iter().all(|ratio| *ratio > 0 && i64::try_from(*ratio).is_ok()),
            PatchValues::Box | PatchValues::Number | PatchValues::Cells | PatchValues::Own { .. } | PatchValues::Block { .. } => true,
        };
        !fits || !(1..=MAX_DIMENSIONS).contains(&self.dimensions)
    }
}

impl<A> PatchValues<A> {
    fn try_map<B>(&self, map: Mapping<'_, A, B>) -> Result<PatchValues<B>> {
        Ok(match self {
            Self::Box => PatchValues::Box,
            Self::Number => PatchValues::Number,
            Self::Cells => PatchValues::Cells,
            Self::Own { values } => PatchValues::Own { values: map(values, Need::List(None))? },
            Self::Low { axis } => PatchValues::Low { axis: *axis },
            Self::High { axis } => PatchValues::High { axis: *axis },
            Self::Index { axis } => PatchValues::Index { axis: *axis },
            Self::Center { axis, origin, spacing } => PatchValues::Center { axis: *axis, origin: *origin, spacing: *spacing },
            Self::Component { values, offsets, number, count, ghosts } => {
                let offsets = offsets.as_ref().map(|offsets| map(offsets, Need::RawList(None))).transpose()?;
                let values = map(values, Need::List(None))?;
                PatchValues::Component { values, offsets, number: *number, count: *count, ghosts: ghosts.clone() }
            }
            Self::Block { values } => PatchValues::Block { values: map(values, Need::Blocks)? },
            Self::Covered { finer, ratio } => PatchValues::Covered { finer: finer.try_map(map)?, ratio: ratio.clone() },
        })
    }

    /// Whether rows are the boxes, not their cells.
    fn is_of_boxes(&self) -> bool {
        matches!(self, Self::Number | Self::Cells | Self::Own { .. } | Self::Low { .. } | Self::High { .. })
    }
}

/// How the flat data of a level is laid out, with ghosts for each direction that the boxes have.
pub(crate) fn layout(components: u64, ghosts: &[u64]) -> Layout {
    Layout { components, ghosts: each(ghosts, 0) }
}

/// `numbers` for each direction, and `rest` for directions that the boxes lack.
fn each(numbers: &[u64], rest: u64) -> [u64; MAX_DIMENSIONS] {
    std::array::from_fn(|axis| numbers.get(axis).copied().unwrap_or(rest))
}

/// The center of a cell along a direction.
#[expect(clippy::cast_precision_loss, reason = "centers are doubles")]
pub(crate) fn center(index: i64, origin: f64, spacing: f64) -> f64 {
    origin + (index as f64 + 0.5) * spacing
}

/// An array by its file and object.
type Key = (String, ObjectId);

fn key(array: &Elements) -> Key {
    (array.mapping.file.name(), array.dataset)
}

/// What is read once for the columns of the cells of boxes.
#[derive(Debug, Clone)]
pub(crate) struct LoadedPatches {
    boxes_key: ListKey,
    pub boxes: Arc<PatchBoxes>,
    layout_key: Option<(Key, Key, Layout)>,
    /// The first element of each box in the flat data.
    pub starts: Option<Arc<Vec<u64>>>,
    pub cover: Option<Arc<Cover>>,
}

impl Patched<Elements> {
    pub(super) fn arrays(&self) -> Vec<&Elements> {
        let mut arrays = self.boxes.arrays();
        match &self.what {
            PatchValues::Component { values, offsets, .. } => arrays.extend(std::iter::once(values).chain(offsets)),
            PatchValues::Block { values } | PatchValues::Own { values } => arrays.push(values),
            PatchValues::Covered { finer, .. } => arrays.extend(finer.arrays()),
            _ => {}
        }
        arrays
    }

    pub(super) fn field(&self, name: &str) -> Field {
        match &self.what {
            PatchValues::Center { .. } => Field::new(name, DataType::Float64, false),
            PatchValues::Covered { .. } => Field::new(name, DataType::Boolean, false),
            PatchValues::Component { values, .. } | PatchValues::Block { values } | PatchValues::Own { values } => {
                values.column.field().as_ref().clone().with_name(name)
            }
            _ => Field::new(name, DataType::Int64, false),
        }
    }

    pub(super) fn row_bytes(&self) -> u64 {
        match &self.what {
            PatchValues::Component { values, .. } | PatchValues::Block { values } | PatchValues::Own { values } => values.width(),
            _ => 8,
        }
    }

    /// Reads the boxes, and what else all windows need, unless `known` columns have it. `rows` is the number of rows.
    pub(super) fn load(&self, known: &[&LoadedPatches], rows: u64, cancellation: &Cancellation) -> Result<LoadedPatches> {
        let boxes_key = self.boxes.key(self.dimensions);
        let boxes = match known.iter().find(|known| known.boxes_key == boxes_key) {
            Some(known) => known.boxes.clone(),
            None => Arc::new(self.boxes.read(self.dimensions, cancellation)?),
        };
        let count = if self.what.is_of_boxes() { boxes.boxes().len() as u64 } else { boxes.cells() };
        if count != rows {
            let message = format!("the boxes make {count} rows, but {rows} were planned: plan again");
            return Err(self.boxes.first().place(Error::new(ErrorKind::Conflict, message)));
        }
        let mut loaded = LoadedPatches { boxes_key, boxes, layout_key: None, starts: None, cover: None };
        match &self.what {
            PatchValues::Component { values, offsets, count, ghosts, .. } => {
                let layout = layout(*count, ghosts);
                let layout_key = Some((key(values), offsets.as_ref().map_or_else(|| key(values), key), layout));
                loaded.starts = match known.iter().find(|known| known.layout_key == layout_key) {
                    Some(known) => known.starts.clone(),
                    None => Some(Arc::new(first_elements(&loaded.boxes, values, offsets.as_ref(), layout, cancellation)?)),
                };
                loaded.layout_key = layout_key;
            }
            PatchValues::Covered { finer, ratio } => {
                let boxes = finer.read(self.dimensions, cancellation)?;
                loaded.cover = Some(Arc::new(Cover::new(boxes.boxes(), each(ratio, 1))));
            }
            _ => {}
        }
        Ok(loaded)
    }
}

/// The first element of each box in flat data, and one past the last. `Corrupt` if they contradict the data or its offsets.
fn first_elements(boxes: &PatchBoxes, values: &Elements, offsets: Option<&Elements>, layout: Layout, cancellation: &Cancellation) -> Result<Vec<u64>> {
    let length = values.shape()?.first().copied().unwrap_or(0);
    let (mut starts, mut end) = (Vec::with_capacity(boxes.boxes().len() + 1), 0u64);
    starts.push(0);
    for (number, patch) in boxes.boxes().iter().enumerate() {
        let elements = patch.cells(layout.ghosts).and_then(|cells| cells.checked_mul(layout.components));
        let next = elements.and_then(|elements| end.checked_add(elements)).filter(|end| *end <= length);
        end = next.ok_or_else(|| values.place(corrupt(format!("the data has {length} elements: too few for box {number}"))))?;
        starts.push(end);
    }
    let Some(offsets) = offsets else { return Ok(starts) };
    let read = integers(&offsets.read_all(cancellation)?).map_err(|error| offsets.place(error))?;
    boxes.check_offsets(&read, layout.components, layout.ghosts).map_err(|error| offsets.place(error))?;
    Ok(starts)
}
