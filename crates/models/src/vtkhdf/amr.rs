//! `OverlappingAMR`: levels of boxes of cells.

use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_formats::Dataset;
use hyperslab_reader::{File, Found};
use hyperslab_scan::{ArrayPart, BoxList, DimensionMapping, Omitted, PatchBoxes, SegmentDefinition};
use serde_json::{Value, json};
use std::sync::Arc;

use super::arrays::{Columns, Field, arrays, check_end, left_out};
use super::steps::{STEP_BYTES, Steps, with_step};
use super::{GROUP, attributes, check_version, triple};
use crate::budget::Budget;
use crate::look::{Member, contradiction, join, optional};
use crate::model::{NamedArray, Problem};
use crate::patches::{Patches, own_names};

/// Numbers of the levels that are looked for.
const MAX_LEVELS: u64 = 1 << 16;

/// An adaptive mesh.
pub(super) struct Mesh {
    steps: Option<Steps>,
    origin: [f64; 3],
    /// At least one, from the coarsest to the finest.
    levels: Vec<Level>,
    omitted: Vec<Omitted>,
}

struct Level {
    path: String,
    spacing: [f64; 3],
    fields: Vec<Field>,
    /// The boxes of each step; one without steps.
    patches: Vec<StepBoxes>,
}

/// The boxes of a level in a step.
struct StepBoxes {
    list: BoxList,
    boxes: PatchBoxes,
    /// The first value of each array.
    offsets: Vec<u64>,
}

/// A dataset that is needed.
fn dataset<'a>(file: &File, member: Option<&'a Member>, path: &str) -> Result<(&'a Found, &'a Arc<Dataset>)> {
    let Some(member) = member else { return Err(contradiction(file, path, "is missing")) };
    match (&member.object, member.dataset()) {
        (Ok((found, _)), Some(dataset)) => Ok((found, dataset)),
        (Err(error), _) => Err(error.clone().at_object(path)),
        (Ok(_), None) => Err(contradiction(file, path, "is not a dataset")),
    }
}

impl Mesh {
    pub fn of(file: &File) -> Result<Self> {
        let mut budget = Budget::of(file);
        let Some(attributes) = attributes(file)? else { return Err(contradiction(file, GROUP, "is missing, or not a group")) };
        check_version(file, &attributes)?;
        let origin = triple(file, GROUP, &attributes, "Origin")?;
        let steps = Steps::of(file, &mut budget)?;
        let (mut levels, mut omitted) = (Vec::new(), Vec::new());
        for number in 0..MAX_LEVELS {
            let path = join(GROUP, &format!("Level{number}"));
            let Some(member) = optional(file, &path)? else { break };
            if member.group().is_none() {
                return Err(contradiction(file, &path, "is not a group that can be read"));
            }
            levels.push(Level::of(file, number, &member, steps.as_ref(), &mut omitted, &mut budget)?);
        }
        if levels.is_empty() {
            return Err(contradiction(file, GROUP, "there is no level: Level0 is missing"));
        }
        for (coarse, fine) in levels.iter().zip(levels.iter().skip(1)) {
            if ratio(coarse, fine).is_none() {
                let message = format!("the attribute Spacing is {:?}, and not a whole multiple of that of the next level, {:?}", coarse.spacing, fine.spacing);
                return Err(contradiction(file, &coarse.path, message));
            }
        }
        left_out(file, GROUP, "FieldData", "is not of cells", &mut omitted)?;
        Ok(Self { steps, origin, levels, omitted })
    }

    fn step_count(&self) -> usize {
        self.steps.as_ref().map_or(1, |steps| steps.times.len())
    }

    /// The cells of all boxes of all steps.
    pub fn cells(&self, file: &File) -> Result<Vec<SegmentDefinition>> {
        let mut budget = Budget::of(file);
        let columns = Columns::of(self.levels.iter().flat_map(|level| &level.fields), own_names());
        let mut segments = Vec::new();
        for step in 0..self.step_count() {
            for (number, level) in self.levels.iter().enumerate() {
                let Some(own) = level.patches.get(step) else { continue };
                let rows = own.boxes.cells();
                budget.pay(STEP_BYTES.saturating_mul(level.fields.len() as u64 + 10), &level.path)?;
                let patches = Patches { list: &own.list, origin: &self.origin, spacing: &level.spacing };
                let segment = with_step(Patches::segment(&level.path, rows), self.steps.as_ref(), step);
                let mut segment = patches.with_places(segment, number as u64);
                let part = |field: &Field| {
                    let place = level.fields.iter().position(|other| other.path == field.path);
                    let start = place.and_then(|place| own.offsets.get(place)).copied().unwrap_or(0);
                    check_end(file, field, 0, start.checked_add(rows))?;
                    let is_whole = start == 0 && field.shape.first() == Some(&rows);
                    Ok(if is_whole { Vec::new() } else { vec![DimensionMapping::Rows { start, step: 1 }] })
                };
                for column in columns.values(&level.fields, part) {
                    let (name, values) = column?;
                    segment = segment.with_column(name, values);
                }
                let finer = self.levels.get(number + 1).and_then(|finer| Some((&finer.patches.get(step)?.list, ratio(level, finer)?)));
                segments.push(patches.with_covered(segment, finer));
            }
        }
        Ok(segments)
    }

    /// All boxes of all steps.
    pub fn boxes(&self, file: &File) -> Result<Vec<SegmentDefinition>> {
        let mut budget = Budget::of(file);
        let mut segments = Vec::new();
        for step in 0..self.step_count() {
            for (number, level) in self.levels.iter().enumerate() {
                let Some(own) = level.patches.get(step) else { continue };
                budget.pay(STEP_BYTES.saturating_mul(10), &level.path)?;
                let patches = Patches { list: &own.list, origin: &self.origin, spacing: &level.spacing };
                let segment = with_step(Patches::segment(&level.path, own.boxes.boxes().len() as u64), self.steps.as_ref(), step);
                segments.push(patches.with_boxes(segment, number as u64));
            }
        }
        Ok(segments)
    }

    pub fn arrays(&self) -> Vec<NamedArray> {
        let mut named = Vec::new();
        for (number, level) in self.levels.iter().enumerate() {
            let array =
                |field: &Field| NamedArray { name: format!("Level{number}/{}", field.name), step: None, path: field.path.clone(), shape: field.shape.clone() };
            named.extend(level.fields.iter().map(array));
        }
        named
    }

    /// What contradicts the format beyond what keeps the levels from being read.
    pub fn problems(&self, file: &File) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        for level in &self.levels {
            if let Some(number) = level.patches.iter().find_map(|own| own.boxes.overlapping()) {
                let path = join(&level.path, "AMRBox");
                problems.push(Problem::new(path, format!("box {number} has cells of another box, which are rows twice")));
            }
            let cells = level.patches.iter().map(|own| own.boxes.cells()).max().unwrap_or(0);
            let longer = level.fields.iter().filter(|field| self.steps.is_none() && field.shape.first().is_some_and(|length| *length > cells));
            problems.extend(longer.map(|field| Problem::new(&field.path, format!("has {:?} elements for {cells} cells", field.shape.first().unwrap_or(&0)))));
        }
        if let Err(error) = self.cells(file) {
            problems.push(Problem::new(error.object().unwrap_or(GROUP), error.message()));
        }
        Ok(problems)
    }

    pub fn omitted(&self) -> Vec<Omitted> {
        self.omitted.clone()
    }

    /// Origin, times and each level's cells, as a JSON object.
    pub fn facts(&self, file: &File) -> Result<String> {
        let mut budget = Budget::of(file);
        let times = self.steps.as_ref().map(|steps| &steps.times);
        budget.pay(times.map_or(0, |times| times.len() as u64 * 32), GROUP)?;
        let mut levels = Vec::new();
        for (number, level) in self.levels.iter().enumerate() {
            budget.pay(STEP_BYTES, &level.path)?;
            let first = level.patches.first();
            levels.push(json!({
                "boxes": first.map(|own| own.boxes.boxes().len()),
                "cells": first.map(|own| own.boxes.cells()),
                "dx": level.spacing,
                "origin": self.origin,
                "ratio": self.levels.get(number + 1).and_then(|finer| ratio(level, finer)),
            }));
        }
        Ok(json!({ "type": "OverlappingAMR", "times": times, "levels": Value::Array(levels) }).to_string())
    }
}

/// Cells of the next level along a cell, for each direction. A direction whose cells have no extent is flat: 1.
fn ratio(coarse: &Level, fine: &Level) -> Option<Vec<u64>> {
    let each = |(coarse, fine): (&f64, &f64)| {
        if *coarse == 0.0 || *fine == 0.0 {
            return Some(1);
        }
        let (ratio, whole) = (coarse / fine, (coarse / fine).round());
        ((1.0..=f64::from(1 << 20)).contains(&whole) && (ratio - whole).abs() < 1e-3 * whole).then_some(whole as u64)
    };
    coarse.spacing.iter().zip(&fine.spacing).map(each).collect()
}

impl Level {
    fn of(file: &File, number: u64, member: &Member, steps: Option<&Steps>, omitted: &mut Vec<Omitted>, budget: &mut Budget) -> Result<Self> {
        let path = member.path.clone();
        let spacing = triple(file, &path, &*member.attributes()?, "Spacing")?;
        if spacing.iter().any(|extent| *extent < 0.0) {
            return Err(contradiction(file, &path, format!("the attribute Spacing is {spacing:?}, below 0")));
        }
        let boxes_path = join(&path, "AMRBox");
        let boxes_member = optional(file, &boxes_path)?;
        let (found, description) = dataset(file, boxes_member.as_ref(), &boxes_path)?;
        let shape = description.dataspace.shape();
        let [all, 6] = shape else { return Err(contradiction(file, &boxes_path, format!("has shape {shape:?}, not six numbers for each box"))) };
        let fields = arrays(file, &join(&path, "CellData"), (|shape: &[u64]| (!shape.is_empty()).then_some(1), "one value for each cell"), omitted, budget)?;
        left_out(file, &path, "PointData", "is of points, not of cells", omitted)?;
        left_out(file, &path, "FieldData", "is not of cells", omitted)?;
        let read = |first: u64, count: u64, budget: &mut Budget| -> Result<(BoxList, PatchBoxes)> {
            if first.checked_add(count).is_none_or(|end| end > *all) {
                return Err(contradiction(file, &boxes_path, format!("has {all} boxes, but {count} from number {first} on are needed")));
            }
            budget.pay(count.saturating_mul(128), &boxes_path)?;
            let boxes = PatchBoxes::of_pairs(&found.file, found.object, (first, count), &Cancellation::default());
            let list = BoxList::Pairs { array: ArrayPart::whole(boxes_path.clone()), first, count };
            Ok((list, boxes.map_err(|error: Error| error.at_object(&boxes_path))?))
        };
        let Some(steps) = steps else {
            let (list, boxes) = read(0, *all, budget)?;
            return Ok(Self { path, spacing, patches: vec![StepBoxes { list, boxes, offsets: vec![0; fields.len()] }], fields });
        };
        let names = |name: &str| ["s", ""].map(|plural| format!("Level{number}/{name}{plural}"));
        let counts = ["NumberOfAMRBoxes", "NumberOfAMRBox", "NumberOfBoxes", "NumberOfBox"].map(|name| format!("Level{number}/{name}"));
        let firsts = steps.numbers(file, &names("AMRBoxOffset"))?;
        let counts = steps.numbers(file, &counts)?;
        let (Some(firsts), Some(counts)) = (firsts, counts) else {
            return Err(contradiction(file, &join(GROUP, &format!("Steps/Level{number}")), "AMRBoxOffsets or NumberOfAMRBoxes is missing"));
        };
        let mut offsets: Vec<Option<Vec<u64>>> = Vec::new();
        for field in &fields {
            let names = ["CellDataOffsets", "CellDataOffset"].map(|group| format!("Level{number}/{group}/{}", field.name));
            offsets.push(steps.numbers(file, &names)?);
        }
        // Without offsets, values follow the boxes.
        let (_, whole) = if offsets.iter().any(Option::is_none) { read(0, *all, budget)? } else { read(0, 0, budget)? };
        let mut patches = Vec::new();
        for (step, (first, count)) in firsts.iter().zip(&counts).enumerate() {
            let (list, boxes) = read(*first, *count, budget)?;
            budget.pay(STEP_BYTES.saturating_add(fields.len() as u64 * 8), &path)?;
            let before = usize::try_from(*first).ok().and_then(|first| whole.first_row(first));
            let offsets = offsets.iter().map(|offsets| match offsets {
                Some(offsets) => offsets.get(step).copied(),
                None => before,
            });
            let offsets: Option<Vec<u64>> = offsets.collect();
            let offsets = offsets.ok_or_else(|| contradiction(file, &boxes_path, format!("step {step} begins at box {first}, beyond the {all} boxes")))?;
            patches.push(StepBoxes { list, boxes, offsets });
        }
        Ok(Self { path, spacing, fields, patches })
    }
}
