//! Columns of the cells of boxes, with the arrays that they are read from.

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use hyperslab_array::{Cancellation, Error, ErrorKind, Result};
use hyperslab_formats::ObjectId;

use super::elements::Elements;
use super::nulls::integers;
use super::patch_boxes::{Layout, MAX_DIMENSIONS, PatchBoxes, corrupt};
use super::patch_cover::Cover;
use super::patch_lists::{ListKey, PatchList};

/// A column of the cells of boxes, with its arrays.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Patched {
    pub(super) boxes: PatchList,
    pub(super) dimensions: usize,
    pub(super) rows: u64,
    pub(crate) what: PatchedValues,
}

/// As `PatchValues` of a definition.
#[derive(Debug, Clone)]
pub(crate) enum PatchedValues {
    Box,
    Number,
    Cells,
    Own(Box<Elements>),
    Low(usize),
    High(usize),
    Index(usize),
    Center { axis: usize, origin: f64, spacing: f64 },
    Component { values: Box<Elements>, offsets: Option<Box<Elements>>, number: u64, layout: Layout },
    Block { values: Box<Elements> },
    Covered { finer: Box<PatchList>, ratio: [u64; MAX_DIMENSIONS] },
}

impl PatchedValues {
    /// Whether rows are the boxes, not their cells.
    pub fn is_of_boxes(&self) -> bool {
        matches!(self, Self::Number | Self::Cells | Self::Own(_) | Self::Low(_) | Self::High(_))
    }
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

impl Patched {
    pub(super) fn arrays(&self) -> Vec<&Elements> {
        let mut arrays = self.boxes.arrays();
        match &self.what {
            PatchedValues::Component { values, offsets, .. } => arrays.extend(std::iter::once(values.as_ref()).chain(offsets.as_deref())),
            PatchedValues::Block { values } | PatchedValues::Own(values) => arrays.push(values),
            PatchedValues::Covered { finer, .. } => arrays.extend(finer.arrays()),
            _ => {}
        }
        arrays
    }

    pub(super) fn field(&self, name: &str) -> Field {
        match &self.what {
            PatchedValues::Center { .. } => Field::new(name, DataType::Float64, false),
            PatchedValues::Covered { .. } => Field::new(name, DataType::Boolean, false),
            PatchedValues::Component { values, .. } | PatchedValues::Block { values } | PatchedValues::Own(values) => {
                values.column.field().as_ref().clone().with_name(name)
            }
            _ => Field::new(name, DataType::Int64, false),
        }
    }

    pub(super) fn row_bytes(&self) -> u64 {
        match &self.what {
            PatchedValues::Component { values, .. } | PatchedValues::Block { values } | PatchedValues::Own(values) => values.width(),
            _ => 8,
        }
    }

    /// Reads the boxes, and what else all windows need, unless `known` columns have it.
    pub(super) fn load(&self, known: &[&LoadedPatches], cancellation: &Cancellation) -> Result<LoadedPatches> {
        let boxes_key = self.boxes.key(self.dimensions);
        let boxes = match known.iter().find(|known| known.boxes_key == boxes_key) {
            Some(known) => known.boxes.clone(),
            None => Arc::new(self.boxes.read(self.dimensions, cancellation)?),
        };
        let rows = if self.what.is_of_boxes() { boxes.boxes().len() as u64 } else { boxes.cells() };
        if rows != self.rows {
            return Err(self
                .boxes
                .first()
                .place(Error::new(ErrorKind::Conflict, format!("the boxes make {rows} rows, but {} were planned: plan again", self.rows))));
        }
        let mut loaded = LoadedPatches { boxes_key, boxes, layout_key: None, starts: None, cover: None };
        match &self.what {
            PatchedValues::Component { values, offsets, layout, .. } => {
                let layout_key = Some((key(values), offsets.as_deref().map_or_else(|| key(values), key), *layout));
                loaded.starts = match known.iter().find(|known| known.layout_key == layout_key) {
                    Some(known) => known.starts.clone(),
                    None => Some(Arc::new(first_elements(&loaded.boxes, values, offsets.as_deref(), *layout, cancellation)?)),
                };
                loaded.layout_key = layout_key;
            }
            PatchedValues::Covered { finer, ratio } => {
                let boxes = finer.read(self.dimensions, cancellation)?;
                loaded.cover = Some(Arc::new(Cover::new(boxes.boxes(), *ratio)));
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
