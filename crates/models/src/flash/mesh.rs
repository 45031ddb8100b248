//! The blocks and variables of a file.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType;
use hyperslab_array::{Cancellation, Error, Result, Selection};
use hyperslab_columns::{Column, Conventions};
use hyperslab_formats::Dataset;
use hyperslab_reader::{File, Found};
use hyperslab_scan::{ArrayPart, BlockGrid, BoxList, Omitted, PatchBoxes};

use crate::budget::Budget;
use crate::look::{Member, contradiction, members, optional};
use crate::small_values::values_of;

pub(super) const BOUNDS: &str = "/bounding box";
pub(super) const LEVELS: &str = "/refine level";
pub(super) const NODE_TYPES: &str = "/node type";
pub(super) const NAMES: &str = "/unknown names";
/// Neighbors, parent and children of each block: their number tells the dimensions.
const RELATIVES: &str = "/gid";
/// Deepest level.
const MAX_LEVEL: i64 = 40;
/// Cells of a finer block along a cell.
pub(super) const RATIO: u64 = 2;
/// Type of a block without children.
pub(super) const LEAF: i64 = 1;

/// A mesh.
pub(super) struct Mesh {
    pub dimensions: usize,
    /// Where the mesh begins along each direction.
    pub origin: Vec<f64>,
    /// Cells of a block along `i`, `j` and `k`.
    pub cells: [u64; 3],
    pub variables: Vec<Variable>,
    /// At least one, from the coarsest to the finest.
    pub levels: Vec<Level>,
    pub node_types: Vec<i64>,
    pub omitted: Vec<Omitted>,
}

pub(super) struct Variable {
    pub name: String,
    pub path: String,
    pub shape: Vec<u64>,
}

/// The blocks of a level.
pub(super) struct Level {
    /// As the file numbers levels, from 1 on.
    pub number: i64,
    pub list: BoxList,
    pub boxes: PatchBoxes,
    pub spacing: Vec<f64>,
}

/// A dataset that is needed.
fn needed(file: &File, path: &str) -> Result<(Found, Arc<Dataset>)> {
    let Some(member) = optional(file, path)? else { return Err(contradiction(file, path, "is missing")) };
    let dataset = member.dataset().cloned();
    match (member.object, dataset) {
        (Ok((found, _)), Some(dataset)) => match &dataset.refusal {
            None => Ok((found, dataset)),
            Some(refusal) => Err(refusal.clone().at_object(path).in_file(file.name())),
        },
        (Err(error), _) => Err(error.at_object(path)),
        (Ok(_), None) => Err(contradiction(file, path, "is not a dataset")),
    }
}

/// The values of an array of blocks, flat, as another type.
fn of_blocks(file: &File, path: &str, to: &DataType, budget: &mut Budget) -> Result<(ArrayRef, Vec<u64>)> {
    let (found, description) = needed(file, path)?;
    let shape = description.dataspace.shape().to_vec();
    let count = description.dataspace.element_count().unwrap_or(u64::MAX);
    budget.pay(count.saturating_mul(description.datatype.size().saturating_add(8)), path)?;
    let read = || {
        let elements = found.file.read(found.object, &Selection::all(&shape), &Cancellation::default())?;
        Column::new("block", &elements.datatype, &[], Conventions::Raw)?.to_arrow(&elements.bytes, &elements.heap)
    };
    let values = read().map_err(|error: Error| error.at_object(path))?;
    let fits = if *to == DataType::Int64 { values.data_type().is_integer() } else { values.data_type().is_floating() };
    if !fits {
        return Err(contradiction(file, path, format!("holds {}, not numbers of the right kind", values.data_type())));
    }
    let cast = arrow_cast::cast(&values, to).map_err(|error| Error::internal(error.to_string()))?;
    if cast.null_count() > 0 {
        return Err(contradiction(file, path, "has a number beyond 63 bits"));
    }
    Ok((cast, shape))
}

/// One whole number for each block.
fn numbers(file: &File, path: &str, budget: &mut Budget) -> Result<Vec<i64>> {
    let (values, shape) = of_blocks(file, path, &DataType::Int64, budget)?;
    if shape.len() != 1 {
        return Err(contradiction(file, path, format!("has shape {shape:?}, not one number for each block")));
    }
    Ok(values.as_primitive::<Int64Type>().values().to_vec())
}

impl Mesh {
    /// Reads the arrays of blocks.
    ///
    /// # Errors
    /// `Corrupt` for a file that contradicts the format, with the object; `LimitExceeded` for more blocks than the budget allows.
    pub fn of(file: &File) -> Result<Self> {
        let mut budget = Budget::of(file);
        let levels = numbers(file, LEVELS, &mut budget)?;
        let count = levels.len() as u64;
        let node_types = numbers(file, NODE_TYPES, &mut budget)?;
        if node_types.len() != levels.len() {
            return Err(contradiction(file, NODE_TYPES, format!("has {} blocks, but refine level has {count}", node_types.len())));
        }
        let (bounds, shape) = of_blocks(file, BOUNDS, &DataType::Float64, &mut budget)?;
        let (variables, omitted) = variables(file, count, &mut budget)?;
        let [_, nz, ny, nx] = variables.first().and_then(|variable| <[u64; 4]>::try_from(variable.shape.as_slice()).ok()).unwrap_or([0; 4]);
        let directions = match shape.as_slice() {
            [blocks, directions @ 1..=3, 2] if *blocks == count => *directions,
            _ => return Err(contradiction(file, BOUNDS, format!("has shape {shape:?} for {count} blocks"))),
        };
        let dimensions = dimensions(file, [nx, ny, nz])?;
        if directions < dimensions as u64 {
            return Err(contradiction(file, BOUNDS, format!("has {directions} directions, but the blocks have {dimensions}")));
        }
        let cells = match dimensions {
            1 => [nx, 1, 1],
            2 => [nx, ny, 1],
            _ => [nx, ny, nz],
        };
        if cells != [nx, ny, nz] || cells.contains(&0) {
            let path = variables.first().map_or("/", |variable| variable.path.as_str());
            return Err(contradiction(file, path, format!("has blocks of {nx} x {ny} x {nz} cells in {dimensions} dimensions")));
        }
        let (Some(coarsest), Some(finest)) = (levels.iter().min(), levels.iter().max()) else { return Err(contradiction(file, LEVELS, "there is no block")) };
        if *coarsest < 1 || *finest > MAX_LEVEL {
            return Err(contradiction(file, LEVELS, format!("has levels from {coarsest} to {finest}, which are not from 1 to {MAX_LEVEL}")));
        }
        let pairs = usize::try_from(directions * 2).map_err(|_| Error::internal("directions"))?;
        let bounds: Vec<&[f64]> = bounds.as_primitive::<Float64Type>().values().chunks(pairs).collect();
        let (origin, width) = placed(file, &bounds, levels.iter().position(|level| level == coarsest), dimensions)?;
        let mut found = Vec::new();
        for number in *coarsest..=*finest {
            // Exact: a power of two.
            let part = 2f64.powi(i32::try_from(number - coarsest).map_err(|_| Error::internal("a level"))?);
            let three = |numbers: &[f64], rest: f64| std::array::from_fn(|axis| numbers.get(axis).copied().unwrap_or(rest));
            let widths: Vec<f64> = width.iter().map(|width| width / part).collect();
            let grid = BlockGrid::new(three(&origin, 0.0), three(&widths, 1.0), cells);
            let blocks = levels.iter().filter(|level| **level == number).count() as u64;
            budget.pay(blocks.saturating_mul(128), LEVELS)?;
            let ((bounds, _), (of_levels, _)) = (needed(file, BOUNDS)?, needed(file, LEVELS)?);
            let pair = ((&bounds.file, bounds.object), (&of_levels.file, of_levels.object));
            let boxes = PatchBoxes::of_blocks(pair.0, pair.1, number, &grid, dimensions, &Cancellation::default());
            let list = BoxList::Blocks { bounds: ArrayPart::whole(BOUNDS), levels: ArrayPart::whole(LEVELS), level: number, grid };
            #[expect(clippy::cast_precision_loss, reason = "cells of a block")]
            let spacing = widths.iter().zip(cells).map(|(width, cells)| width / cells as f64).collect();
            found.push(Level { number, list, boxes: boxes.map_err(|error| error.at_object(BOUNDS))?, spacing });
        }
        Ok(Self { dimensions, origin, cells, variables, levels: found, node_types, omitted })
    }
}

/// Number of directions: what the relatives of a block say, or those along which a block has several cells.
fn dimensions(file: &File, [_, ny, nz]: [u64; 3]) -> Result<usize> {
    let relatives = optional(file, RELATIVES)?.and_then(|member| member.dataset().and_then(|dataset| dataset.dataspace.shape().get(1).copied()));
    match relatives {
        Some(5) => Ok(1),
        Some(9) => Ok(2),
        Some(15) => Ok(3),
        Some(other) => Err(contradiction(file, RELATIVES, format!("has {other} relatives of each block, not 5, 9 or 15"))),
        None if nz > 1 => Ok(3),
        None if ny > 1 => Ok(2),
        None => Ok(1),
    }
}

/// Where the mesh begins, and the width of the block at `coarsest`, along each direction.
fn placed(file: &File, bounds: &[&[f64]], coarsest: Option<usize>, dimensions: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let (mut origin, mut width) = (Vec::new(), Vec::new());
    for direction in 0..dimensions {
        let begin = |block: &&[f64]| block.get(2 * direction).copied().unwrap_or(f64::NAN);
        let begins: Vec<f64> = bounds.iter().map(begin).collect();
        if let Some(number) = begins.iter().position(|begin| !begin.is_finite()) {
            return Err(contradiction(file, BOUNDS, format!("block {number} begins at {}", begins.get(number).unwrap_or(&f64::NAN))));
        }
        origin.push(begins.iter().copied().fold(f64::INFINITY, f64::min));
        let extent = coarsest.and_then(|number| Some(bounds.get(number)?.get(2 * direction + 1)? - begins.get(number)?));
        let extent = extent.filter(|extent| extent.is_finite() && *extent > 0.0);
        width.push(extent.ok_or_else(|| contradiction(file, BOUNDS, format!("block {} has no extent", coarsest.unwrap_or(0))))?);
    }
    Ok((origin, width))
}

/// The arrays of variables, and what else is in the file.
fn variables(file: &File, blocks: u64, budget: &mut Budget) -> Result<(Vec<Variable>, Vec<Omitted>)> {
    let names = optional(file, NAMES)?.map(|member| values_of(&member)).transpose()?.flatten();
    let Some(names) = names.as_ref().and_then(|names| names.as_any().downcast_ref::<StringArray>()) else {
        return Err(contradiction(file, NAMES, "is missing, or not a list of texts of at most 1 MiB"));
    };
    let all = members(file, "/")?;
    for member in &all {
        budget.pay(member.path.len() as u64 + 256, "/")?;
    }
    let mut variables: Vec<Variable> = Vec::new();
    let mut used: BTreeSet<String> = [BOUNDS, LEVELS, NODE_TYPES, NAMES].map(str::to_owned).into();
    for name in names.iter().flatten().map(str::trim_end) {
        budget.pay(name.len() as u64 + 256, NAMES)?;
        // Names have four characters, and may be padded.
        let member = all.iter().find(|member| member.name.trim_end() == name);
        let path = member.map_or_else(|| format!("/{name}"), |member| member.path.clone());
        let (_, description) = needed(file, &path)?;
        let shape = description.dataspace.shape().to_vec();
        let first = variables.first().map(|first| &first.shape);
        if shape.len() != 4 || shape.first() != Some(&blocks) || first.is_some_and(|first| *first != shape) {
            let wanted = first.map_or_else(|| format!("{blocks} blocks of cells along k, j and i"), |first| format!("{first:?} as the first variable"));
            return Err(contradiction(file, &path, format!("has shape {shape:?}, not {wanted}")));
        }
        if !used.insert(path.clone()) {
            return Err(contradiction(file, NAMES, format!("has the name {name:?} twice, or that of another array")));
        }
        variables.push(Variable { name: name.to_owned(), path, shape });
    }
    if variables.is_empty() {
        return Err(contradiction(file, NAMES, "there is no variable"));
    }
    let is_left = |member: &Member| !used.contains(&member.path);
    Ok((variables, all.into_iter().filter(is_left).map(|member| Omitted::new(member.path, "is not a variable of cells")).collect()))
}
