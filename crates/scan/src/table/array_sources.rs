//! A segment of individually named arrays as plain data, for splits. Readers do no name look-ups: each array is given by its
//! file, its path, and the mapping of rows to its elements.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field};
use hyperslab_array::{Axis, Error, ErrorKind, Result};
use hyperslab_formats::ObjectId;
use hyperslab_reader::File;
use serde::{Deserialize, Serialize};

use super::segment::{DimensionMapping, RowMapping, Segment, SegmentColumn, Source, array_column, metadata_columns};

/// The arrays of a segment; files are given by their index in a list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ArraySources {
    /// The requested group, for error messages.
    pub path: String,
    /// The file whose array determines the dimensions of the rows.
    file: usize,
    shape: Vec<u64>,
    chunk_shape: Vec<u64>,
    columns: Vec<ArrayColumn>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ArrayColumn {
    name: String,
    values: Values,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Values {
    /// Indexes along a dimension of the rows.
    Index { axis: usize },
    /// Values of a coordinate dataset along a dimension: all, or `(start, count, step)`.
    Coordinate { axis: usize, dataset: String, part: Option<(u64, u64, u64)> },
    /// A whole array.
    Whole { dataset: String },
    /// Part of an array, or an array of another file.
    Part { file: usize, dataset: String, dimensions: Vec<DimensionMapping> },
}

impl ArraySources {
    /// Describes a segment that is read from `files`.
    pub fn of(segment: &Segment, files: &[File]) -> Result<Self> {
        let index = |file: &File| files.iter().position(|known| known.name() == file.name()).ok_or_else(|| Error::internal("a column without a file"));
        let path = |file: &File, dataset: ObjectId| file.path_of(dataset).map(|path| path.to_string());
        let mut columns = Vec::new();
        for column in &segment.columns {
            let values = match &column.source {
                Source::Index { axis } => Values::Index { axis: *axis },
                Source::Coordinate { axis, dataset, .. } => {
                    let part = segment.coordinate_parts.iter().find(|(part, _)| part == dataset).map(|(_, axis)| match axis {
                        Axis::Range { start, count, step } => Ok((*start, *count, *step)),
                        Axis::Indices(_) => Err(Error::internal("a part of coordinates that is not a range")),
                    });
                    Values::Coordinate { axis: *axis, dataset: path(&segment.file, *dataset)?, part: part.transpose()? }
                }
                Source::Variable { dataset, per_row: None, .. } => Values::Whole { dataset: path(&segment.file, *dataset)? },
                Source::Mapped { dataset, mapping, .. } => {
                    Values::Part { file: index(&mapping.file)?, dataset: path(&mapping.file, *dataset)?, dimensions: mapping.dimensions.clone() }
                }
                // Every segment has a row number; a split holds captures separately.
                Source::Row | Source::Constant(_) => continue,
                Source::Variable { .. } | Source::Member { .. } => return Err(Error::internal("a column that is not an array")),
            };
            columns.push(ArrayColumn { name: column.field.name().clone(), values });
        }
        Ok(Self { path: segment.path.clone(), file: index(&segment.file)?, shape: segment.shape.clone(), chunk_shape: segment.chunk_shape.clone(), columns })
    }

    /// The segment in reopened `files`. `Conflict` if an array has changed.
    pub fn segment(&self, files: &[File], captures: &[(String, ArrayRef)], decode: bool) -> Result<Segment> {
        let malformed = |what: &str| Error::invalid_input(format!("these bytes are not a split: {what}"));
        let opened = files.first().ok_or_else(|| malformed("no file"))?;
        let file = files.get(self.file).ok_or_else(|| malformed("a file without a name"))?;
        if self.chunk_shape.len() != self.shape.len() || self.chunk_shape.contains(&0) {
            return Err(malformed("the shape of its chunks"));
        }
        let field = |name: &str, value: &ArrayRef| Arc::new(Field::new(name, value.data_type().clone(), false));
        let constant = |(name, value): &(String, ArrayRef)| SegmentColumn { field: field(name, value), source: Source::Constant(value.clone()) };
        let mut columns: Vec<SegmentColumn> = captures.iter().map(constant).collect();
        let mut coordinate_parts = Vec::new();
        for ArrayColumn { name, values } in &self.columns {
            let source = match values {
                Values::Index { axis } => {
                    self.shape.get(*axis).ok_or_else(|| malformed("a dimension too many"))?;
                    let field = Arc::new(Field::new(name, DataType::Int64, false));
                    columns.push(SegmentColumn { field, source: Source::Index { axis: *axis } });
                    continue;
                }
                Values::Coordinate { axis, dataset, part } => {
                    let count = *self.shape.get(*axis).ok_or_else(|| malformed("a dimension too many"))?;
                    let rows = match part {
                        None => [DimensionMapping::Rows { start: 0, step: 1 }],
                        Some((start, _, step)) => [DimensionMapping::Rows { start: *start, step: *step }],
                    };
                    let (id, column) = found(file, dataset, name, decode)?;
                    match part {
                        None => whole(file, id, &[count])?,
                        Some((start, length, step)) => {
                            if *length != count {
                                return Err(malformed("coordinates of another length"));
                            }
                            within(file, id, &rows, &[count])?;
                            coordinate_parts.push((id, Axis::Range { start: *start, count, step: *step }));
                        }
                    }
                    (Source::Coordinate { axis: *axis, dataset: id, column: column.clone() }, column)
                }
                Values::Whole { dataset } => {
                    let (id, column) = found(file, dataset, name, decode)?;
                    whole(file, id, &self.shape)?;
                    (Source::Variable { dataset: id, column: column.clone(), per_row: None }, column)
                }
                Values::Part { file, dataset, dimensions } => {
                    let file = files.get(*file).ok_or_else(|| malformed("a file without a name"))?;
                    let (id, column) = found(file, dataset, name, decode)?;
                    within(file, id, dimensions, &self.shape)?;
                    let mapping = Arc::new(RowMapping { file: file.clone(), dimensions: dimensions.clone() });
                    (Source::Mapped { dataset: id, column: column.clone(), mapping }, column)
                }
            };
            columns.push(SegmentColumn { field: source.1.field().clone(), source: source.0 });
        }
        columns.extend(metadata_columns(opened));
        let mut names = BTreeSet::new();
        if !columns.iter().all(|column| names.insert(column.field.name())) {
            return Err(malformed("two columns of one name"));
        }
        let (shape, chunk_shape) = (self.shape.clone(), self.chunk_shape.clone());
        Ok(Segment {
            file: file.clone(),
            opened: opened.clone(),
            path: self.path.clone(),
            shape,
            chunk_shape,
            columns,
            coordinate_parts,
            named: true,
            omitted: Vec::new(),
        })
    }
}

/// The dataset at a path of this file, without following links to others, and its column.
fn found(file: &File, path: &str, name: &str, decode: bool) -> Result<(ObjectId, hyperslab_columns::Column)> {
    let found = file.find(path)?;
    if found.file != *file {
        return Err(
            Error::new(ErrorKind::Conflict, format!("{path} leads to another object than when this split was planned: plan again")).in_file(file.name())
        );
    }
    let dataset = found.dataset()?;
    if let Some(refusal) = &dataset.refusal {
        return Err(file.place(found.object, refusal.clone()));
    }
    Ok((found.object, array_column(name, file, found.object, &dataset, decode).map_err(|error| error.in_file(file.name()))?))
}

/// `Conflict` if a dataset does not have this shape.
fn whole(file: &File, id: ObjectId, shape: &[u64]) -> Result<()> {
    if file.dataset(id)?.dataspace.shape() == shape { Ok(()) } else { Err(changed(file, id)) }
}

/// `Conflict` if rows of this shape are not all within a dataset.
fn within(file: &File, id: ObjectId, dimensions: &[DimensionMapping], shape: &[u64]) -> Result<()> {
    let dataset = file.dataset(id)?;
    let extents = dataset.dataspace.shape();
    let mut rows = shape.iter();
    let fits = dimensions.iter().zip(extents).all(|(dimension, extent)| match dimension {
        DimensionMapping::Fixed(index) => index < extent,
        DimensionMapping::Rows { start, step } => rows.next().is_some_and(|count| match count.checked_sub(1) {
            None => start <= extent && *step > 0,
            Some(last) => *step > 0 && last.checked_mul(*step).and_then(|last| last.checked_add(*start)).is_some_and(|last| last < *extent),
        }),
    });
    if fits && dimensions.len() == extents.len() && rows.next().is_none() { Ok(()) } else { Err(changed(file, id)) }
}

fn changed(file: &File, id: ObjectId) -> Error {
    file.place(id, Error::new(ErrorKind::Conflict, "the array's shape has changed since this split was planned: plan again"))
}
