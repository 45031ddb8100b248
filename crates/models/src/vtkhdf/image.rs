//! `ImageData`: points on a regular grid, and the cells between them.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::Int64Array;
use hyperslab_array::{Error, Result};
use hyperslab_reader::File;
use hyperslab_scan::{DimensionMapping, Literal, Omitted, SegmentDefinition, Values};
use serde_json::json;

use super::arrays::{Columns, Field, arrays, check_end, left_out};
use super::steps::{STEP_BYTES, Steps, with_step};
use super::{GROUP, attributes, check_version, triple};
use crate::budget::Budget;
use crate::look::{contradiction, join, numbers};
use crate::model::{NamedArray, Problem};
use crate::patches::{CENTERS, INDEXES, number};

pub(super) const POINTS: &str = "points";
const IDENTITY: [f64; 9] = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];

/// An image.
pub(super) struct Image {
    steps: Option<Steps>,
    /// The lowest index along `i`, `j` and `k`.
    low: [i64; 3],
    /// Number of points along `i`, `j` and `k`.
    points: [u64; 3],
    origin: [f64; 3],
    spacing: [f64; 3],
    /// Whether the axes of the grid are the axes of space.
    is_aligned: bool,
    of_points: Vec<Field>,
    of_cells: Vec<Field>,
    omitted: Vec<Omitted>,
}

/// Points or cells along each direction. Directions along which an image is flat are not dimensions of its tables.
struct Grid {
    /// Along `i`, `j` and `k`.
    counts: [u64; 3],
    is_flat: [bool; 3],
}

impl Grid {
    fn new(points: [u64; 3], of_points: bool) -> Self {
        let mut is_flat = points.map(|count| count == 1);
        if is_flat == [true; 3] {
            is_flat[0] = false;
        }
        // An image of one point along a direction has one cell there.
        let count = |points: u64| if of_points || points < 2 { points } else { points - 1 };
        Self { counts: points.map(count), is_flat }
    }

    fn count(&self, direction: usize) -> u64 {
        self.counts.get(direction).copied().unwrap_or(1)
    }

    /// The dimension of the rows along a direction; `None` if the image is flat there.
    fn axis(&self, direction: usize) -> Option<usize> {
        let is_flat = |direction: &usize| self.is_flat.get(*direction).copied().unwrap_or(true);
        (!is_flat(&direction)).then(|| (direction + 1..3).filter(|slower| !is_flat(slower)).count())
    }

    /// The shape of the rows: along `k`, `j` and `i`.
    fn shape(&self) -> Vec<u64> {
        [2, 1, 0].into_iter().filter(|direction| self.axis(*direction).is_some()).map(|direction| self.count(direction)).collect()
    }

    /// Number of dimensions of the elements of an array of this shape: the dimensions of the rows, or all three.
    fn fits(&self, shape: &[u64]) -> Option<usize> {
        let [i, j, k] = self.counts;
        let rows = self.shape();
        let begins = |with: &[u64]| shape.starts_with(with) && shape.len() <= with.len() + 1;
        if begins(&[k, j, i]) { Some(3) } else { begins(&rows).then_some(rows.len()) }
    }
}

impl Image {
    pub fn of(file: &File) -> Result<Self> {
        let mut budget = Budget::of(file);
        let Some(attributes) = attributes(file)? else { return Err(contradiction(file, GROUP, "is missing, or not a group")) };
        check_version(file, &attributes)?;
        let place = |error: Error| error.at_object(GROUP).in_file(file.name());
        let extent = attributes.get("WholeExtent").map(numbers).transpose().map_err(place)?.flatten();
        let whole = |number: f64| (number.fract() == 0.0 && number.abs() <= f64::from(u32::MAX)).then_some(number as i64);
        let extent: Option<Vec<i64>> = extent.and_then(|extent| extent.into_iter().map(whole).collect());
        let Some([low_i, high_i, low_j, high_j, low_k, high_k]) = extent.and_then(|extent| <[i64; 6]>::try_from(extent).ok()) else {
            return Err(contradiction(file, GROUP, "the attribute WholeExtent is missing, or not six whole numbers"));
        };
        let count = |low: i64, high: i64| u64::try_from(high - low + 1).unwrap_or(0);
        let points = [count(low_i, high_i), count(low_j, high_j), count(low_k, high_k)];
        if points.iter().try_fold(1u64, |all, count| all.checked_mul(*count)).is_none_or(|all| i64::try_from(all).is_err()) {
            return Err(contradiction(file, GROUP, "the attribute WholeExtent has more points than 63 bits can count"));
        }
        let (origin, spacing) = (triple(file, GROUP, &attributes, "Origin")?, triple(file, GROUP, &attributes, "Spacing")?);
        let direction = attributes.get("Direction").map(numbers).transpose().map_err(place)?.flatten();
        let is_aligned = direction.is_none_or(|direction| direction == IDENTITY);
        let steps = Steps::of(file, &mut budget)?;
        let mut omitted = Vec::new();
        let mut read = |of_points: bool, group: &str| {
            let grid = Grid::new(points, of_points);
            let wanted = format!("{:?} as the attribute WholeExtent says{}", grid.shape(), if steps.is_some() { ", after the steps" } else { "" });
            let leading = usize::from(steps.is_some());
            let fits = |shape: &[u64]| grid.fits(shape.get(leading..)?).map(|dimensions| dimensions + leading);
            arrays(file, &join(GROUP, group), (fits, &wanted), &mut omitted, &mut budget)
        };
        let (of_points, of_cells) = (read(true, "PointData")?, read(false, "CellData")?);
        left_out(file, GROUP, "FieldData", "is not of points or cells", &mut omitted)?;
        if !is_aligned {
            omitted.push(Omitted::new("x, y, z", "the attribute Direction turns the grid: coordinates are not along its axes"));
        }
        Ok(Self { steps, low: [low_i, low_j, low_k], points, origin, spacing, is_aligned, of_points, of_cells, omitted })
    }

    /// The points or the cells of all steps.
    pub fn table(&self, file: &File, of_points: bool) -> Result<Vec<SegmentDefinition>> {
        let mut budget = Budget::of(file);
        let (fields, group) = if of_points { (&self.of_points, "PointData") } else { (&self.of_cells, "CellData") };
        let grid = Grid::new(self.points, of_points);
        let shape = grid.shape();
        let path = join(GROUP, group);
        let taken: BTreeSet<String> = ["step", "time"].into_iter().chain(INDEXES).chain(CENTERS).map(str::to_owned).collect();
        let columns = Columns::of(fields.iter(), taken);
        let mut offsets: Vec<Option<Vec<u64>>> = Vec::new();
        for field in fields {
            let names = ["s", ""].map(|plural| format!("{group}Offset{plural}/{}", field.name));
            offsets.push(self.steps.as_ref().map(|steps| steps.numbers(file, &names)).transpose()?.flatten());
        }
        // The chunk of the first array that has the dimensions of the rows.
        let chunk = fields.iter().find_map(|field| {
            let leading = usize::from(self.steps.is_some());
            (field.dimensions == shape.len() + leading).then(|| field.chunk.get(leading..field.dimensions).map(<[u64]>::to_vec)).flatten()
        });
        let chunk = chunk.unwrap_or_else(|| shape.iter().map(|extent| (*extent).max(1)).collect());
        let mut segments = Vec::new();
        for step in 0..self.steps.as_ref().map_or(1, |steps| steps.times.len()) {
            budget.pay(STEP_BYTES.saturating_mul(fields.len() as u64 + 8), &path)?;
            let mut segment = with_step(SegmentDefinition::new(path.clone(), shape.clone(), chunk.clone()), self.steps.as_ref(), step);
            for (direction, name) in INDEXES.into_iter().enumerate() {
                segment = segment.with_column(name, self.indexes(direction, grid.axis(direction), grid.count(direction), &mut budget)?);
            }
            for (direction, name) in CENTERS.into_iter().enumerate().filter(|_| self.is_aligned) {
                #[expect(clippy::cast_precision_loss, reason = "at most 32 bits")]
                let first = self.low[direction] as f64 + if of_points { 0.0 } else { 0.5 };
                let (origin, spacing) = (self.origin[direction] + first * self.spacing[direction], self.spacing[direction]);
                let values = grid.axis(direction).map_or_else(|| number(origin), |axis| Values::Linear { axis, origin, spacing });
                segment = segment.with_column(name, values);
            }
            for column in columns.values(fields, |field| self.part(file, field, fields, &offsets, &grid, step)) {
                let (name, values) = column?;
                segment = segment.with_column(name, values);
            }
            segments.push(segment);
        }
        Ok(segments)
    }

    fn indexes(&self, direction: usize, axis: Option<usize>, count: u64, budget: &mut Budget) -> Result<Values> {
        let low = self.low[direction];
        let Some(axis) = axis else { return Ok(Values::Constant(Literal(Arc::new(Int64Array::from(vec![low]))))) };
        if low == 0 {
            return Ok(Values::Index { axis });
        }
        budget.pay(count.saturating_mul(8), GROUP)?;
        let indexes = (0..count).map(|index| low.saturating_add_unsigned(index));
        Ok(Values::Listed { axis, values: Literal(Arc::new(indexes.collect::<Int64Array>())) })
    }

    /// Which part of an array a step has; none for the whole array.
    fn part(&self, file: &File, field: &Field, fields: &[Field], offsets: &[Option<Vec<u64>>], grid: &Grid, step: usize) -> Result<Vec<DimensionMapping>> {
        let own = field.dimensions - usize::from(self.steps.is_some());
        if self.steps.is_none() && own == grid.shape().len() {
            return Ok(Vec::new());
        }
        let mut dimensions = Vec::new();
        if self.steps.is_some() {
            let place = fields.iter().position(|other| other.path == field.path);
            let offset = place.and_then(|place| offsets.get(place)).and_then(Option::as_ref).and_then(|offsets| offsets.get(step)).copied();
            let first = offset.unwrap_or(step as u64);
            check_end(file, field, 0, first.checked_add(1))?;
            dimensions.push(DimensionMapping::Fixed(first));
        }
        for direction in [2, 1, 0] {
            match grid.axis(direction) {
                Some(_) => dimensions.push(DimensionMapping::Rows { start: 0, step: 1 }),
                // The array has this direction, too.
                None if own == 3 => dimensions.push(DimensionMapping::Fixed(0)),
                None => {}
            }
        }
        Ok(dimensions)
    }

    pub fn arrays(&self) -> Vec<NamedArray> {
        let named = |field: &Field| NamedArray { name: field.name.clone(), step: None, path: field.path.clone(), shape: field.shape.clone() };
        self.of_points.iter().chain(&self.of_cells).map(named).collect()
    }

    pub fn problems(&self, file: &File) -> Result<Vec<Problem>> {
        let tables = [self.table(file, true), self.table(file, false)];
        Ok(tables.into_iter().filter_map(Result::err).map(|error| Problem::new(error.object().unwrap_or(GROUP), error.message())).collect())
    }

    pub fn omitted(&self) -> Vec<Omitted> {
        self.omitted.clone()
    }

    pub fn facts(&self, file: &File) -> Result<String> {
        let mut budget = Budget::of(file);
        let times = self.steps.as_ref().map(|steps| &steps.times);
        budget.pay(times.map_or(0, |times| times.len() as u64 * 32), GROUP)?;
        let high: Vec<i64> = self.low.iter().zip(self.points).map(|(low, count)| low.saturating_add_unsigned(count).saturating_sub(1)).collect();
        Ok(json!({
            "type": "ImageData",
            "low": self.low,
            "high": high,
            "origin": self.origin,
            "spacing": self.spacing,
            "times": times,
        })
        .to_string())
    }
}
