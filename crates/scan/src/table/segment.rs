//! Segment: one object of one file as rows and columns. A table is segments one after the other.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray};
use arrow_schema::{DataType, Field};
use hyperslab_array::{Axis, Cancellation, Error, Result, Selection};
use hyperslab_columns::{Column, Decoding};
use hyperslab_formats::{Dataset, Format, Object, ObjectId};
use hyperslab_reader::File;

use super::members::Omitted;

/// Where a table column's values come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// The index along a row dimension.
    Index {
        /// The row dimension.
        axis: usize,
    },
    /// The value of a 1-D coordinate dataset at the index along a row dimension.
    Coordinate {
        /// The row dimension.
        axis: usize,
        /// The coordinate dataset.
        dataset: ObjectId,
        /// How its values become Arrow values.
        column: Column,
    },
    /// Elements of a dataset, `per_row` of them a row (`None`: one, not as a list). The column's datatype is that of
    /// the dataset, except for text in an array of single characters: then each element is a whole text.
    Variable {
        /// The dataset.
        dataset: ObjectId,
        /// How its values become Arrow values.
        column: Column,
        /// Elements of a row's list; `None` for one element that is no list.
        per_row: Option<u64>,
    },
    /// Elements of a part of a dataset, perhaps of another file than the segment's.
    Mapped {
        /// The dataset.
        dataset: ObjectId,
        /// How its values become Arrow values.
        column: Column,
        /// Which elements belong to the rows.
        mapping: Arc<RowMapping>,
    },
    /// A member of a compound dataset.
    Member {
        /// The compound dataset.
        dataset: ObjectId,
        /// Index of the member in its datatype.
        member: usize,
        /// How its values become Arrow values.
        column: Column,
    },
    /// Position in the file's dataset.
    Row,
    /// The same value in every row: the file's name, what a wildcard matched.
    Constant(ArrayRef),
}

/// Where a segment's rows lie in a dataset.
#[derive(Clone)]
pub struct RowMapping {
    /// The file that holds the dataset.
    pub file: File,
    /// One for each dimension of the dataset.
    pub dimensions: Vec<DimensionMapping>,
}

/// What a dimension of a dataset is to the rows.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DimensionMapping {
    /// The same index for all rows.
    Fixed(u64),
    /// The next row dimension, of which index 0 lies at `start`, and each further one `step` on.
    Rows {
        /// Index in the dataset of row index 0.
        start: u64,
        /// Distance in the dataset between neighboring row indexes.
        step: u64,
    },
}

impl std::fmt::Debug for RowMapping {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?} of {}", self.dimensions, self.file.name())
    }
}

impl RowMapping {
    /// The axes of the dataset that `rows` (axes of the segment) stand for.
    pub fn axes(&self, rows: &[Axis]) -> Result<Vec<Axis>> {
        let mut rows = rows.iter();
        let axes = self.dimensions.iter().map(|dimension| match dimension {
            DimensionMapping::Fixed(index) => Ok(Axis::range(*index, index.saturating_add(1))),
            DimensionMapping::Rows { start, step } => {
                let axis = rows.next().ok_or_else(|| Error::internal("a place of fewer dimensions than its rows"))?;
                let place = |index: u64| index.checked_mul(*step).and_then(|offset| offset.checked_add(*start));
                let beyond = || Error::internal("a place beyond 64 bits");
                Ok(match axis {
                    Axis::Range { start, count, step: stride } => Axis::Range {
                        start: place(*start).ok_or_else(beyond)?,
                        count: *count,
                        step: stride.checked_mul(*step).ok_or_else(beyond)?,
                    },
                    Axis::Indices(indices) => Axis::Indices(indices.iter().map(|index| place(*index)).collect::<Option<_>>().ok_or_else(beyond)?),
                })
            }
        });
        axes.collect()
    }
}

/// A column of a segment.
#[derive(Debug, Clone)]
pub struct SegmentColumn {
    /// Name, Arrow type and metadata.
    pub field: Arc<Field>,
    /// Where its values come from.
    pub source: Source,
}

impl SegmentColumn {
    /// Whether it is ours, `_row` or `_file`, and not one that the object has.
    pub fn is_metadata(&self) -> bool {
        matches!(self.source, Source::Row) || (matches!(self.source, Source::Constant(_)) && self.field.name() == FILE)
    }
}

/// One object as a table.
#[derive(Clone)]
pub struct Segment {
    /// The file that holds the object (another one behind an external link).
    pub file: File,
    /// The file that was asked for.
    pub opened: File,
    /// Path of the object as it was asked for.
    pub path: String,
    /// Extents of the dimensions that make rows.
    pub shape: Vec<u64>,
    /// Chunk extents along these dimensions, of the first variable.
    pub chunk_shape: Vec<u64>,
    /// All columns; the last are `_row` and `_file`, where the object has none of these names.
    pub columns: Vec<SegmentColumn>,
    /// Coordinate datasets of which the rows are only a part.
    pub coordinate_parts: Vec<(ObjectId, Axis)>,
    /// Whether its columns are arrays that were named one by one, so that path and layout do not tell them.
    pub named: bool,
    /// Members of the group that are not columns.
    pub omitted: Vec<Omitted>,
}

/// Name of the column with the position of each row in its table.
pub const ROW: &str = "_row";
/// Name of the column with the path of each row's file.
pub const FILE: &str = "_file";

impl Segment {
    /// The column called `name`.
    pub fn column(&self, name: &str) -> Option<&SegmentColumn> {
        self.columns.iter().find(|c| c.field.name() == name)
    }

    /// The columns of what wildcards matched.
    pub fn captures(&self) -> Vec<(String, ArrayRef)> {
        let constants = self.columns.iter().filter(|c| c.field.name() != FILE);
        constants
            .filter_map(|c| match &c.source {
                Source::Constant(value) => Some((c.field.name().clone(), value.clone())),
                _ => None,
            })
            .collect()
    }

    /// The values of a coordinate dataset along the rows.
    pub fn coordinate(&self, dataset: ObjectId, column: &Column, cancellation: &Cancellation) -> Result<ArrayRef> {
        let shape = self.file.dataset(dataset)?.dataspace.shape().to_vec();
        let selection = match self.coordinate_parts.iter().find(|(part, _)| *part == dataset) {
            Some((_, axis)) => Selection::new(vec![axis.clone()], &shape)?,
            None => Selection::all(&shape),
        };
        let mut elements = self.file.read(dataset, &selection, cancellation)?;
        let named = self.file.name_references(column.datatype(), &elements.bytes, &mut elements.heap);
        named.map_err(|error| self.file.place(dataset, error))?;
        column.to_arrow(&elements.bytes, &elements.heap).map_err(|error| self.file.place(dataset, error))
    }
}

/// How the elements of one dataset become the column `name`.
pub fn array_column(name: &str, file: &File, object: &Object, dataset: &Dataset, decode: bool) -> Result<Column> {
    if let Some(error) = object.attributes_error.as_ref().filter(|_| decode) {
        return Err(error.clone());
    }
    let datatype = if decode { dataset.datatype.clone() } else { dataset.datatype.with_references_as_bytes() };
    Column::new(name, &datatype, &object.attributes, decoding(file, decode)).map_err(|error| error.at_object(&object.path))
}

/// The columns that every segment has: row number and name of the file that was asked for.
pub fn metadata_columns(opened: &File) -> [SegmentColumn; 2] {
    let name = Arc::new(StringArray::from(vec![opened.name()]));
    [
        SegmentColumn { field: Arc::new(Field::new(ROW, DataType::Int64, false)), source: Source::Row },
        SegmentColumn { field: Arc::new(Field::new(FILE, DataType::Utf8, false)), source: Source::Constant(name) },
    ]
}

/// `name`, or if it is taken, the name with a suffix (and a number).
pub(crate) fn free_name(name: &str, suffix: &str, taken: &BTreeSet<String>) -> String {
    let suffixed = (1..).map(|number| if number == 1 { format!("{name}_{suffix}") } else { format!("{name}_{suffix}_{number}") });
    let mut names = std::iter::once(name.to_owned()).chain(suffixed);
    names.find(|name| !taken.contains(name)).unwrap_or_else(|| name.to_owned())
}

/// What conventions decode a file's values.
pub(crate) fn decoding(file: &File, decode: bool) -> Decoding {
    match (decode, file.format()) {
        (false, _) => Decoding::Raw,
        (true, Format::Hdf5) => Decoding::Attributes,
        (true, Format::Netcdf3 | Format::Netcdf4) => Decoding::Netcdf,
    }
}

/// What a wildcard matched, as a one-element array: integers where all of them are, else text.
pub fn capture_column(values: &[String], as_text: bool) -> Vec<ArrayRef> {
    let integers: Option<Vec<i64>> = values.iter().map(|v| v.parse().ok()).collect();
    match integers.filter(|_| !as_text) {
        Some(integers) => integers.into_iter().map(|v| Arc::new(Int64Array::from(vec![v])) as ArrayRef).collect(),
        None => values.iter().map(|v| Arc::new(StringArray::from(vec![v.as_str()])) as ArrayRef).collect(),
    }
}
