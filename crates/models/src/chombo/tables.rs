//! The tables of a mesh, a segment for each level, and what else it says.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{BooleanArray, Int64Array};
use arrow_cast::cast;
use arrow_schema::DataType;
use hyperslab_array::{Error, Result};
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, BoxList, Literal, Omitted, PatchBox, PatchValues, SegmentDefinition, Values};
use serde_json::{Map, Value, json};

use super::level::{DATA, Level, Mesh, OFFSETS, three, unused};
use crate::budget::Budget;
use crate::look::{free_name, members, optional};
use crate::model::{NamedArray, Problem};
use crate::patches::{CENTERS, INDEXES, Patches, own_names, whole_number};
use crate::small_values::{put_attributes, values_of};

impl Mesh {
    fn column(&self, level: &Level, what: PatchValues) -> Values {
        let boxes = BoxList::Members(ArrayPart::whole(level.boxes_path.clone()));
        Values::patches(boxes, self.dimensions, what)
    }

    /// The cells of all boxes.
    pub fn cells(&self) -> Vec<SegmentDefinition> {
        let mut taken: BTreeSet<String> = own_names();
        let names: Vec<String> = self.components.iter().map(|name| free_name(name, "component", &mut taken)).collect();
        let segment = |(place, level): (usize, &Level)| {
            let rows = level.boxes.cells();
            let mut segment =
                Patches::segment(&level.path, rows).with_column("level", whole_number(place as u64)).with_column("box", self.column(level, PatchValues::Box));
            for (axis, name) in INDEXES.into_iter().enumerate().take(self.dimensions) {
                segment = segment.with_column(name, self.column(level, PatchValues::Index { axis }));
            }
            for ((axis, name), (origin, spacing)) in CENTERS.into_iter().enumerate().zip(level.origin.iter().zip(&level.spacing)) {
                if axis > 0 || !self.is_logarithmic {
                    segment = segment.with_column(name, self.column(level, PatchValues::Center { axis, origin: *origin, spacing: *spacing }));
                }
            }
            for (number, name) in (0..).zip(&names) {
                let what = PatchValues::Component {
                    values: ArrayPart::whole(level.data.path.clone()),
                    offsets: level.data.offsets.clone().map(ArrayPart::whole),
                    number,
                    count: self.components.len() as u64,
                    ghosts: level.data.ghosts.clone(),
                };
                segment = segment.with_column(name.clone(), self.column(level, what));
            }
            let covered = match (self.levels.get(place + 1), &level.ratio) {
                (Some(finer), Some(ratio)) => {
                    self.column(level, PatchValues::Covered { finer: BoxList::Members(ArrayPart::whole(finer.boxes_path.clone())), ratio: ratio.clone() })
                }
                _ => Values::Constant(Literal(Arc::new(BooleanArray::from(vec![false])))),
            };
            segment.with_column("covered", covered)
        };
        self.levels.iter().enumerate().map(segment).collect()
    }

    /// All boxes.
    pub fn boxes(&self) -> Vec<SegmentDefinition> {
        let segment = |(place, level): (usize, &Level)| {
            let rows = level.boxes.boxes().len() as u64;
            let mut segment =
                Patches::segment(&level.path, rows).with_column("level", whole_number(place as u64)).with_column("box", Values::Index { axis: 0 });
            for corner in ["lo", "hi"] {
                for direction in INDEXES.into_iter().take(self.dimensions) {
                    let name = format!("{corner}_{direction}");
                    segment = segment.with_column(name.clone(), Values::Array(ArrayPart::whole(level.boxes_path.clone()).with_member(name)));
                }
            }
            segment.with_column("cells", self.column(level, PatchValues::Cells))
        };
        self.levels.iter().enumerate().map(segment).collect()
    }

    /// The flat data of each level.
    pub fn arrays(&self) -> Vec<NamedArray> {
        let array = |(place, level): (usize, &Level)| NamedArray {
            name: format!("level_{place}/data"),
            step: None,
            path: level.data.path.clone(),
            shape: vec![level.data.length],
        };
        self.levels.iter().enumerate().map(array).collect()
    }

    /// What contradicts the format beyond what keeps the levels from being read.
    pub fn problems(&self, file: &File) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        for level in &self.levels {
            if let Some(number) = level.boxes.overlapping() {
                problems.push(Problem::new(&level.boxes_path, format!("box {number} has cells of another box, which are rows twice")));
            }
            if let Some(domain) = &level.domain {
                let is_within = |patch: &PatchBox| {
                    let lows = patch.low.iter().zip(domain.low).all(|(low, least)| *low >= least);
                    lows && patch.high.iter().zip(domain.high).all(|(high, most)| *high <= most)
                };
                if let Some(number) = level.boxes.boxes().iter().position(|patch| !is_within(patch)) {
                    problems.push(Problem::new(&level.boxes_path, format!("box {number} is not within prob_domain")));
                }
            }
            if let Some(path) = &level.data.offsets
                && let Err(error) = self.check_offsets(file, level, path)
            {
                problems.push(Problem::new(error.object().unwrap_or(path), error.message()));
            }
        }
        Ok(problems)
    }

    fn check_offsets(&self, file: &File, level: &Level, path: &str) -> Result<()> {
        let Some(member) = optional(file, path)? else { return Ok(()) };
        // More than a MiB of offsets is compared when a component is read.
        let Some(read) = values_of(&member)? else { return Ok(()) };
        if !read.data_type().is_integer() {
            return Err(Error::corrupt(format!("holds {}, not integers", read.data_type())));
        }
        let integers = cast(&read, &DataType::Int64).map_err(|error| Error::internal(error.to_string()))?;
        let integers = integers.as_any().downcast_ref::<Int64Array>().ok_or_else(|| Error::internal("a cast to another type"))?;
        let offsets: Vec<i64> = integers.iter().map(|offset| offset.unwrap_or(-1)).collect();
        level.boxes.check_offsets(&offsets, self.components.len() as u64, three(&level.data.ghosts))
    }

    /// Objects in none of the tables.
    pub fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        let mut omitted = Vec::new();
        let used: BTreeSet<&str> = self.levels.iter().map(|level| level.path.as_str()).chain([super::GLOBAL]).collect();
        omitted.extend(members(file, "/")?.into_iter().filter(|member| !used.contains(member.path.as_str())).map(|member| unused(member.path)));
        for level in &self.levels {
            let is_other = |name: &str| !["boxes", DATA, OFFSETS, "data_attributes", "Processors"].contains(&name);
            omitted.extend(members(file, &level.path)?.into_iter().filter(|member| is_other(&member.name)).map(|member| unused(member.path)));
        }
        if self.is_logarithmic {
            omitted.push(Omitted::new("x", "cells along i are spaced by the logarithm of the radius (attribute logr), which is not computed"));
        }
        Ok(omitted)
    }

    /// Times, components, and each level's cells and domain, as a JSON object.
    pub fn facts(&self, file: &File) -> Result<String> {
        let mut budget = Budget::of(file);
        let mut facts = Map::new();
        facts.insert("dimensions".to_owned(), json!(self.dimensions));
        put_attributes(&mut facts, &self.attributes, &["time", "iteration"], &mut budget)?;
        facts.insert("components".to_owned(), json!(self.components));
        let mut levels = Vec::new();
        for level in &self.levels {
            let mut own = Map::new();
            own.insert("boxes".to_owned(), json!(level.boxes.boxes().len()));
            own.insert("cells".to_owned(), json!(level.boxes.cells()));
            own.insert("dx".to_owned(), json!(level.spacing));
            own.insert("origin".to_owned(), json!(level.origin));
            own.insert("ratio".to_owned(), json!(level.ratio));
            own.insert("ghosts".to_owned(), json!(level.data.ghosts));
            let corner = |corner: [i64; 3]| corner.into_iter().take(self.dimensions).collect::<Vec<_>>();
            let domain = level.domain.map(|domain| json!({"low": corner(domain.low), "high": corner(domain.high)}));
            own.insert("domain".to_owned(), domain.unwrap_or(Value::Null));
            put_attributes(&mut own, &level.attributes, &["time", "dt"], &mut budget)?;
            levels.push(Value::Object(own));
        }
        facts.insert("levels".to_owned(), Value::Array(levels));
        Ok(Value::Object(facts).to_string())
    }
}
