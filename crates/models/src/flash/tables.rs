//! The tables of a mesh, a segment for each level, and what else it says.

use arrow_array::{Array, StringArray, StructArray};
use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, PatchValues, SegmentDefinition};
use serde_json::{Map, Value, json};

use super::mesh::{BOUNDS, LEAF, Level, Mesh, NODE_TYPES, RATIO};
use crate::budget::Budget;
use crate::look::{free_name, optional};
use crate::model::{NamedArray, Problem};
use crate::patches::{Patches, own_names};
use crate::small_values::{cost, json as shown, values_of};

/// Lists of names and values: what the run was at when the file was written.
const SCALARS: [&str; 4] = ["/real scalars", "/integer scalars", "/logical scalars", "/string scalars"];
/// The same in files of FLASH 2: a compound.
const PARAMETERS: &str = "/simulation parameters";

impl Mesh {
    fn patches<'a>(&'a self, level: &'a Level) -> Patches<'a> {
        Patches { list: &level.list, origin: &self.origin, spacing: &level.spacing }
    }

    fn ratio(&self) -> Vec<u64> {
        vec![RATIO; self.dimensions]
    }

    /// The cells of all blocks, level by level.
    pub fn cells(&self) -> Vec<SegmentDefinition> {
        let mut taken = own_names();
        let names: Vec<String> = self.variables.iter().map(|variable| free_name(&variable.name, "variable", &mut taken)).collect();
        let segment = |(place, level): (usize, &Level)| {
            let patches = self.patches(level);
            let segment = Patches::segment(BOUNDS, level.boxes.cells());
            let mut segment = patches.with_places(segment, level.number.unsigned_abs());
            for (name, variable) in names.iter().zip(&self.variables) {
                segment = segment.with_column(name.clone(), patches.column(PatchValues::Block { values: ArrayPart::whole(variable.path.clone()) }));
            }
            patches.with_covered(segment, self.levels.get(place + 1).map(|finer| (&finer.list, self.ratio())))
        };
        self.levels.iter().enumerate().map(segment).collect()
    }

    /// All blocks, level by level.
    pub fn boxes(&self) -> Vec<SegmentDefinition> {
        let segment = |level: &Level| {
            let patches = self.patches(level);
            let segment = Patches::segment(BOUNDS, level.boxes.boxes().len() as u64);
            let segment = patches.with_boxes(segment, level.number.unsigned_abs());
            segment.with_column("node_type", patches.column(PatchValues::Own { values: ArrayPart::whole(NODE_TYPES) }))
        };
        self.levels.iter().map(segment).collect()
    }

    pub fn arrays(&self) -> Vec<NamedArray> {
        let array = |variable: &super::mesh::Variable| NamedArray {
            name: variable.name.clone(),
            step: None,
            path: variable.path.clone(),
            shape: variable.shape.clone(),
        };
        self.variables.iter().map(array).collect()
    }

    /// What contradicts the format beyond what keeps the blocks from being read.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (place, level) in self.levels.iter().enumerate() {
            if let Some(number) = level.boxes.overlapping() {
                problems.push(Problem::new(BOUNDS, format!("block {} has cells of another block of its level", level.boxes.number(number).unwrap_or(0))));
            }
            let none = Vec::new();
            let covered = self.levels.get(place + 1).map_or(none, |finer| level.boxes.covered_boxes(&finer.boxes, RATIO, self.dimensions));
            for number in 0..level.boxes.boxes().len() {
                let is_covered = covered.get(number).copied().unwrap_or(Some(false));
                let block = level.boxes.number(number).unwrap_or(0);
                let node_type = usize::try_from(block).ok().and_then(|block| self.node_types.get(block)).copied().unwrap_or(0);
                if is_covered != Some(node_type != LEAF) {
                    let shown = match is_covered {
                        Some(true) => "all of it",
                        Some(false) => "none of it",
                        None => "only part of it",
                    };
                    problems.push(Problem::new(NODE_TYPES, format!("block {block} has the type {node_type}, but finer blocks cover {shown}")));
                    break;
                }
            }
        }
        problems
    }

    /// Dimensions, cells of a block, levels, and the scalars of the run, as a JSON object.
    pub fn facts(&self, file: &File) -> Result<String> {
        let mut budget = Budget::of(file);
        let mut scalars = Map::new();
        for path in SCALARS {
            let Some(record) = record(file, path)? else { continue };
            budget.pay(record.get_array_memory_size() as u64 * 4, path)?;
            let (Some(names), Some(values)) = (record.column_by_name("name"), record.column_by_name("value")) else { continue };
            let Some(names) = names.as_any().downcast_ref::<StringArray>() else { continue };
            for (place, name) in names.iter().enumerate() {
                scalars.insert(name.unwrap_or_default().trim_end().to_owned(), shown(&values.slice(place, 1)));
            }
        }
        if let Some(record) = record(file, PARAMETERS)?.filter(|record| record.len() == 1) {
            for (field, values) in record.fields().iter().zip(record.columns()) {
                budget.pay(cost(values), PARAMETERS)?;
                scalars.insert(field.name().clone(), shown(values));
            }
        }
        let level = |level: &Level| {
            json!({
                "level": level.number,
                "boxes": level.boxes.boxes().len(),
                "cells": level.boxes.cells(),
                "dx": level.spacing,
                "origin": self.origin,
            })
        };
        let cells: Vec<u64> = self.cells.into_iter().take(self.dimensions).collect();
        let levels: Vec<Value> = self.levels.iter().map(level).collect();
        let variables: Vec<&str> = self.variables.iter().map(|variable| variable.name.as_str()).collect();
        Ok(json!({ "dimensions": self.dimensions, "block_cells": cells, "variables": variables, "scalars": scalars, "levels": levels }).to_string())
    }
}

/// A small list of compounds.
fn record(file: &File, path: &str) -> Result<Option<StructArray>> {
    let Some(member) = optional(file, path)? else { return Ok(None) };
    // What cannot be read is left out: the tables need none of it.
    let values = values_of(&member).ok().flatten();
    Ok(values.and_then(|values| values.as_any().downcast_ref::<StructArray>().cloned()))
}
