//! `UnstructuredGrid` and `PolyData`: points, and cells as lists of points, in parts that follow each other in the arrays.

use std::collections::BTreeSet;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, StringArray};
use arrow_schema::DataType;
use hyperslab_array::{Axis, Cancellation, Error, Result, Selection};
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, Bounds, DimensionMapping, Literal, Omitted, SegmentDefinition, Values};
use serde_json::json;
use std::sync::Arc;

use super::arrays::{Columns, Field, arrays, check_end, left_out};
use super::steps::read;
use super::{GROUP, attributes, check_version};
use crate::budget::Budget;
use crate::look::{contradiction, join, optional};
use crate::model::{NamedArray, Problem};
use crate::patches::{CENTERS, Patches, whole_number};

/// Kinds of cells of `PolyData`, in the order of the values of cells.
const KINDS: [&str; 4] = ["Vertices", "Lines", "Polygons", "Strips"];
/// Bytes that a part costs in memory, for each of its tables and kinds.
const PART_BYTES: u64 = 1024;

/// A mesh.
pub(super) struct Grid {
    kind: &'static str,
    /// Number of points of each part.
    points: Vec<u64>,
    topologies: Vec<Topology>,
    of_points: Vec<Field>,
    of_cells: Vec<Field>,
    omitted: Vec<Omitted>,
}

/// Cells of one kind.
struct Topology {
    /// The kind; none if a dataset `Types` says it of each cell.
    kind: Option<&'static str>,
    /// The group of its arrays.
    path: String,
    /// Number of cells of each part.
    cells: Vec<u64>,
    /// Number of points of cells of each part.
    ids: Vec<u64>,
}

/// One count for each part.
fn counts(file: &File, path: &str) -> Result<Vec<u64>> {
    let Some(read) = read(file, path, &DataType::Int64)? else { return Err(contradiction(file, path, "is missing, or not a list of at most 1 MiB")) };
    let counts: Option<Vec<u64>> = read.as_primitive::<Int64Type>().values().iter().map(|count| u64::try_from(*count).ok()).collect();
    let counts = counts.ok_or_else(|| contradiction(file, path, "has a number below 0"))?;
    // Sums of them are rows, which are counted in 63 bits.
    let sum = counts.iter().try_fold(0u64, |sum, count| sum.checked_add(*count)).filter(|sum| i64::try_from(*sum).is_ok());
    sum.map(|_| counts).ok_or_else(|| contradiction(file, path, "has more in all than 63 bits can count"))
}

/// Fails for a dataset that has fewer than `count` elements, or not this many values for each.
fn check_length(file: &File, path: &str, count: u64, each: Option<u64>) -> Result<()> {
    let Some(member) = optional(file, path)? else { return Err(contradiction(file, path, "is missing")) };
    let dataset = match (&member.object, member.dataset()) {
        (_, Some(dataset)) => dataset,
        (Err(error), None) => return Err(error.clone().at_object(path)),
        (Ok(_), None) => return Err(contradiction(file, path, "is not a dataset")),
    };
    match dataset.dataspace.shape() {
        [extent] if each.is_none() && *extent >= count => Ok(()),
        [extent, values] if each == Some(*values) && *extent >= count => Ok(()),
        shape => Err(contradiction(file, path, format!("has shape {shape:?}, but {count} elements are needed"))),
    }
}

fn before(counts: &[u64], part: usize) -> u64 {
    counts.iter().take(part).sum()
}

impl Grid {
    pub fn of(file: &File, is_unstructured: bool) -> Result<Self> {
        let mut budget = Budget::of(file);
        let Some(attributes) = attributes(file)? else { return Err(contradiction(file, GROUP, "is missing, or not a group")) };
        check_version(file, &attributes)?;
        let kind = if is_unstructured { "UnstructuredGrid" } else { "PolyData" };
        let steps = join(GROUP, "Steps");
        if optional(file, &steps)?.is_some() {
            return Err(Error::unsupported(format!("VTKHDF of the type {kind} with steps")).at_object(steps).in_file(file.name()));
        }
        let points = counts(file, &join(GROUP, "NumberOfPoints"))?;
        check_length(file, &join(GROUP, "Points"), before(&points, points.len()), Some(3))?;
        let kinds: Vec<Option<&'static str>> = if is_unstructured { vec![None] } else { KINDS.into_iter().map(Some).collect() };
        budget.pay((points.len() as u64).saturating_mul(PART_BYTES).saturating_mul(kinds.len() as u64 + 1), GROUP)?;
        let mut topologies = Vec::new();
        for kind in kinds {
            let path = kind.map_or_else(|| GROUP.to_owned(), |kind| join(GROUP, kind));
            if kind.is_some() && optional(file, &path)?.is_none() {
                continue;
            }
            let (of_cells, of_ids) = (join(&path, "NumberOfCells"), join(&path, "NumberOfConnectivityIds"));
            let (cells, ids) = (counts(file, &of_cells)?, counts(file, &of_ids)?);
            if let Some((path, list)) = [(of_cells, &cells), (of_ids, &ids)].into_iter().find(|(_, list)| list.len() != points.len()) {
                return Err(contradiction(file, &path, format!("has {} parts, but NumberOfPoints has {}", list.len(), points.len())));
            }
            let (all, parts) = (before(&cells, cells.len()), points.len() as u64);
            let needed = [("Offsets", all.saturating_add(parts)), ("Connectivity", before(&ids, ids.len())), ("Types", all)];
            for (name, count) in needed.into_iter().filter(|(name, _)| kind.is_none() || *name != "Types") {
                check_length(file, &join(&path, name), count, None)?;
            }
            topologies.push(Topology { kind, path, cells, ids });
        }
        let mut omitted = Vec::new();
        let fits = |shape: &[u64]| (!shape.is_empty()).then_some(1);
        let of_points = arrays(file, &join(GROUP, "PointData"), (fits, "one value for each point"), &mut omitted, &mut budget)?;
        let of_cells = arrays(file, &join(GROUP, "CellData"), (fits, "one value for each cell"), &mut omitted, &mut budget)?;
        left_out(file, GROUP, "FieldData", "is not of points or cells", &mut omitted)?;
        for name in ["FaceConnectivity", "FaceOffsets", "PolyhedronToFaces", "PolyhedronOffsets"] {
            if optional(file, &join(GROUP, name))?.is_some() {
                omitted.push(Omitted::new(join(GROUP, name), "is of the faces of polyhedra"));
            }
        }
        Ok(Self { kind, points, topologies, of_points, of_cells, omitted })
    }

    /// The points of all parts.
    pub fn points(&self, file: &File) -> Result<Vec<SegmentDefinition>> {
        let path = join(GROUP, "Points");
        let taken: BTreeSet<String> = ["part"].into_iter().chain(CENTERS).map(str::to_owned).collect();
        let columns = Columns::of(self.of_points.iter(), taken);
        let mut segments = Vec::new();
        for (part, rows) in self.points.iter().enumerate().filter(|(part, rows)| *part == 0 || **rows > 0) {
            let start = before(&self.points, part);
            let mut segment = Patches::segment(&path, *rows).with_column("part", whole_number(part as u64));
            for (axis, name) in (0..).zip(CENTERS) {
                let dimensions = vec![DimensionMapping::Rows { start, step: 1 }, DimensionMapping::Fixed(axis)];
                segment = segment.with_column(name, Values::Array(ArrayPart::whole(path.clone()).with_dimensions(dimensions)));
            }
            for column in columns.values(&self.of_points, |field| part_of(file, field, start, *rows)) {
                let (name, values) = column?;
                segment = segment.with_column(name, values);
            }
            segments.push(segment);
        }
        if segments.is_empty() {
            return Err(contradiction(file, &join(GROUP, "NumberOfPoints"), "there is no part"));
        }
        Ok(segments)
    }

    /// The cells of all parts: part by part, in a part kind by kind.
    pub fn cells(&self, file: &File) -> Result<Vec<SegmentDefinition>> {
        let taken: BTreeSet<String> = ["part", "type", "kind", "points"].map(str::to_owned).into();
        let columns = Columns::of(self.of_cells.iter(), taken);
        let (mut segments, mut first) = (Vec::new(), 0u64);
        for (part, points) in self.points.iter().enumerate() {
            for topology in &self.topologies {
                let (rows, start) = (topology.cells.get(part).copied().unwrap_or(0), before(&topology.cells, part));
                if rows == 0 && !segments.is_empty() {
                    continue;
                }
                let mut segment = Patches::segment(&topology.path, rows).with_column("part", whole_number(part as u64));
                let array =
                    |name: &str, start: u64| ArrayPart::whole(join(&topology.path, name)).with_dimensions(vec![DimensionMapping::Rows { start, step: 1 }]);
                segment = match topology.kind {
                    Some(kind) => {
                        let kind = kind.to_ascii_lowercase();
                        segment.with_column("kind", Values::Constant(Literal(Arc::new(StringArray::from(vec![kind])))))
                    }
                    None => segment.with_column("type", Values::Array(array("Types", start))),
                };
                // Each part has one offset more than cells.
                let values = Values::Lists {
                    offsets: array("Offsets", start.saturating_add(part as u64)),
                    bounds: Bounds::Offsets,
                    inner: None,
                    values: array("Connectivity", before(&topology.ids, part)),
                    extent: Some(*points),
                };
                segment = segment.with_column("points", values);
                for column in columns.values(&self.of_cells, |field| part_of(file, field, first, rows)) {
                    let (name, values) = column?;
                    segment = segment.with_column(name, values);
                }
                first = first.saturating_add(rows);
                segments.push(segment);
            }
        }
        if segments.is_empty() {
            return Err(contradiction(file, &join(GROUP, "NumberOfCells"), "there is no part"));
        }
        Ok(segments)
    }

    pub fn arrays(&self) -> Vec<NamedArray> {
        let named = |field: &Field| NamedArray { name: field.name.clone(), step: None, path: field.path.clone(), shape: field.shape.clone() };
        self.of_points.iter().chain(&self.of_cells).map(named).collect()
    }

    pub fn problems(&self, file: &File) -> Result<Vec<Problem>> {
        let tables = [self.points(file), self.cells(file)];
        let mut problems: Vec<Problem> = Vec::new();
        for error in tables.into_iter().filter_map(Result::err) {
            problems.push(Problem::new(error.object().unwrap_or(GROUP), error.message()));
        }
        for topology in &self.topologies {
            if let Err(error) = topology.check(file) {
                problems.push(Problem::new(error.object().unwrap_or(&topology.path), error.message()));
            }
        }
        Ok(problems)
    }

    pub fn omitted(&self) -> Vec<Omitted> {
        self.omitted.clone()
    }

    pub fn facts(&self) -> String {
        let cells = self.topologies.iter().fold(0u64, |sum, topology| sum.saturating_add(topology.cells.iter().sum()));
        let points: u64 = self.points.iter().sum();
        json!({ "type": self.kind, "parts": self.points.len(), "points": points, "cells": cells }).to_string()
    }
}

/// Which part of an array `rows` rows from `start` on are; none for all of it.
fn part_of(file: &File, field: &Field, start: u64, rows: u64) -> Result<Vec<DimensionMapping>> {
    check_end(file, field, 0, start.checked_add(rows))?;
    let is_whole = start == 0 && field.shape.first() == Some(&rows);
    Ok(if is_whole { Vec::new() } else { vec![DimensionMapping::Rows { start, step: 1 }] })
}

impl Topology {
    /// Fails if the last offset of a part is not the number of its points of cells.
    fn check(&self, file: &File) -> Result<()> {
        let path = join(&self.path, "Offsets");
        let Some(member) = optional(file, &path)? else { return Err(contradiction(file, &path, "is missing")) };
        let (Ok((found, _)), Some(dataset)) = (&member.object, member.dataset()) else { return Err(contradiction(file, &path, "is not a dataset")) };
        let [length] = dataset.dataspace.shape() else { return Err(contradiction(file, &path, "is not a list")) };
        for (part, ids) in self.ids.iter().enumerate() {
            let place = before(&self.cells, part + 1).saturating_add(part as u64);
            if place >= *length {
                return Err(contradiction(file, &path, format!("has {length} offsets, but part {part} ends at number {place}")));
            }
            let selection = Selection::new(vec![Axis::range(place, place + 1)], &[*length])?;
            let elements = found.file.read(found.object, &selection, &Cancellation::default()).map_err(|error| error.at_object(&path))?;
            let values = hyperslab_columns::Column::new("offset", &elements.datatype, &[], hyperslab_columns::Conventions::Raw)?;
            let values = values.to_arrow(&elements.bytes, &elements.heap).map_err(|error| error.at_object(&path))?;
            let integers = arrow_cast::cast(&values, &DataType::Int64).map_err(|error| Error::internal(error.to_string()))?;
            let last = integers.as_primitive_opt::<Int64Type>().filter(|values| values.len() == 1 && values.null_count() == 0).map(|values| values.value(0));
            if last.and_then(|last| u64::try_from(last).ok()) != Some(*ids) {
                let last = last.map_or_else(|| "no number".to_owned(), |last| last.to_string());
                return Err(contradiction(file, &path, format!("the last offset of part {part} is {last}, but NumberOfConnectivityIds is {ids}")));
            }
        }
        Ok(())
    }
}
