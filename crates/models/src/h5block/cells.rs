//! The tables of cells: a segment for each step, a table for each grid.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::Float64Array;
use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, Literal, Omitted, SegmentDefinition, Values};

use super::field::{Field, fields};
use crate::look::free_name;
use crate::model::{NamedArray, Problem};
use crate::steps::{self, BLOCK, Step};

pub(super) const CELLS: &str = "cells";

/// The fields of every step, and which of them share a grid.
pub(crate) struct Tables {
    steps: Vec<(Step, Vec<Field>)>,
    omitted: Vec<Omitted>,
    /// Names of the fields of each table.
    groups: Vec<Vec<String>>,
}

impl Tables {
    pub fn of(file: &File) -> Result<Self> {
        let (mut all, mut omitted) = (Vec::new(), Vec::new());
        for step in steps::all(file)? {
            let (fields, rest) = fields(file, &step)?;
            omitted.extend(rest);
            all.push((step, fields));
        }
        let groups = groups(&all);
        Ok(Self { steps: all, omitted, groups })
    }

    /// `cells`, or a table for each grid, named by its first field.
    pub fn names(&self) -> Vec<String> {
        match self.groups.as_slice() {
            [_] => vec![CELLS.to_owned()],
            several => several.iter().filter_map(|group| Some(format!("{CELLS}_{}", group.first()?))).collect(),
        }
    }

    /// The segments of a table; `None` if there is none of this name.
    pub fn definition(&self, name: &str) -> Result<Option<Vec<SegmentDefinition>>> {
        let Some(group) = self.names().iter().position(|known| known == name).and_then(|index| self.groups.get(index)) else { return Ok(None) };
        // A name with its component, and an array of it for steps that lack it.
        let mut columns: Vec<(&str, &str)> = Vec::new();
        let mut like: BTreeMap<(&str, &str), &str> = BTreeMap::new();
        for field in self.steps.iter().flat_map(|(_, fields)| fields).filter(|field| group.contains(&field.name)) {
            for component in &field.components {
                if like.insert((&field.name, &component.name), &component.path).is_none() {
                    columns.push((&field.name, &component.name));
                }
            }
        }
        let mut taken: BTreeSet<String> = ["step", "time", "i", "j", "k", "x", "y", "z"].map(str::to_owned).into();
        let named: Vec<String> = columns
            .iter()
            .map(|(field, component)| {
                let alone = columns.iter().filter(|(other, _)| other == field).count() == 1;
                free_name(&if alone { (*field).to_owned() } else { format!("{field}_{component}") }, "field", &mut taken)
            })
            .collect();
        let has_coordinates = self.steps.iter().flat_map(|(_, fields)| fields).any(|field| group.contains(&field.name) && field.grid.coordinates.is_some());
        let mut segments = Vec::new();
        for (step, fields) in &self.steps {
            let Some(first) = fields.iter().find(|field| group.contains(&field.name)) else { continue };
            let chunk = first.components.first().map_or_else(|| vec![1; 3], |component| component.chunk.clone());
            let mut segment = SegmentDefinition::new(step.path.clone(), first.grid.shape.to_vec(), chunk)
                .with_column("step", step.number_column())
                .with_column("time", step.time_column()?);
            for (axis, name) in ["k", "j", "i"].into_iter().enumerate() {
                segment = segment.with_column(name, Values::Index { axis });
            }
            if has_coordinates {
                for (index, name) in ["x", "y", "z"].into_iter().enumerate() {
                    let values = match &first.grid.coordinates {
                        Some(coordinates) => coordinates.get(index).map(|along| along.column(2 - index)),
                        None => None,
                    };
                    let unknown = || Values::Constant(Literal(Arc::new(Float64Array::from(vec![None::<f64>]))));
                    segment = segment.with_column(name, values.unwrap_or_else(unknown));
                }
            }
            for ((field, component), name) in columns.iter().zip(&named) {
                let own = fields.iter().find(|own| own.name == *field);
                let own = own.and_then(|own| own.components.iter().find(|own| own.name == *component));
                let values = match own {
                    Some(own) => Values::Array(ArrayPart::whole(own.path.clone())),
                    None => Values::Missing { like: ArrayPart::whole(like.get(&(*field, *component)).copied().unwrap_or_default()) },
                };
                segment = segment.with_column(name.clone(), values);
            }
            segments.push(segment);
        }
        Ok(Some(segments))
    }

    /// The components of all fields of all steps.
    pub fn arrays(&self) -> Vec<NamedArray> {
        let mut arrays = Vec::new();
        for (step, fields) in &self.steps {
            for field in fields {
                let named = field.components.iter().map(|component| NamedArray {
                    name: format!("{}/{}", field.name, component.name),
                    step: Some(step.number),
                    path: component.path.clone(),
                    shape: field.grid.shape.to_vec(),
                });
                arrays.extend(named);
            }
        }
        arrays
    }

    /// Objects in none of the tables.
    pub fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        let mut omitted = self.omitted.clone();
        for (step, _) in &self.steps {
            let others = step.members.iter().filter(|member| member.name != BLOCK);
            omitted.extend(others.map(|member| Omitted::new(member.path.clone(), "is not a field, perhaps particles, which the model h5part reads")));
        }
        let known: BTreeSet<&str> = self.steps.iter().map(|(step, _)| step.path.as_str()).collect();
        let root = file.links(file.root())?;
        let others = root.iter().map(|link| format!("/{}", link.name)).filter(|path| !known.contains(path.as_str()));
        omitted.extend(others.map(|path| Omitted::new(path, "is not a step")));
        Ok(omitted)
    }
}

/// Groups of fields that share the grid in every step that has both.
fn groups(steps: &[(Step, Vec<Field>)]) -> Vec<Vec<String>> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    for field in steps.iter().flat_map(|(_, fields)| fields) {
        if groups.iter().any(|group| group.contains(&field.name)) {
            continue;
        }
        let shares = |group: &Vec<String>| {
            steps.iter().all(|(_, fields)| {
                let Some(mine) = fields.iter().find(|other| other.name == field.name) else { return true };
                fields.iter().filter(|other| group.contains(&other.name)).all(|other| other.grid == mine.grid)
            })
        };
        match groups.iter_mut().find(|group| shares(group)) {
            Some(group) => group.push(field.name.clone()),
            None => groups.push(vec![field.name.clone()]),
        }
    }
    groups
}

/// What contradicts the model.
pub(crate) fn validate(file: &File) -> Result<Vec<Problem>> {
    let steps = match steps::all(file) {
        Err(error) => return Ok(vec![Problem::new(error.object().unwrap_or("/"), error.message())]),
        Ok(steps) => steps,
    };
    let mut problems = Vec::new();
    let mut known: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for step in &steps {
        match fields(file, step) {
            Err(error) => problems.push(Problem::new(error.object().unwrap_or(&step.path), error.message())),
            Ok((fields, omitted)) => {
                problems.extend(omitted.into_iter().map(|omitted| Problem::new(omitted.name, omitted.reason)));
                for field in fields {
                    let count = field.components.len();
                    match known.get(&field.name) {
                        None => {
                            known.insert(field.name.clone(), (count, field.path.clone()));
                        }
                        Some((other, path)) if *other != count => {
                            problems.push(Problem::new(field.path, format!("has {count} components, {path} has {other}")));
                        }
                        Some(_) => {}
                    }
                }
            }
        }
        if let Some(name) = step.unusable_time()? {
            problems.push(Problem::new(&step.path, format!("the attribute {name} is not one number, so the step has no time")));
        }
    }
    Ok(problems)
}
