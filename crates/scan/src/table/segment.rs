//! Segment: one object of one file as rows and columns. A table is a sequence of segments.
#![expect(clippy::exhaustive_enums, clippy::exhaustive_structs, reason = "segments are built by queries, too, and a new source must be handled by each reader")]

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use arrow_array::{ArrayRef, Int64Array, StringArray};
use arrow_schema::{DataType, Field};
use hyperslab_array::{Axis, Cancellation, Datatype, Result, Selection, TimeEncoding};
use hyperslab_columns::{Column, Conventions};
use hyperslab_formats::{Attributes, Dataset, ObjectId};
use hyperslab_predicate::Predicate;
use hyperslab_reader::File;

use super::along::AlongValues;
use super::column_order::ColumnOrder;
use super::elements::Elements;
use super::mapping::RowMapping;
use super::members::Omitted;
use super::values::Values;

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
        column: Arc<Column>,
    },
    /// Elements of a dataset, one or a list of `per_row` per row. The column has the datatype of the dataset, except for
    /// arrays of single characters that hold text: there each value is a whole text.
    Variable {
        /// The dataset.
        dataset: ObjectId,
        /// How its values become Arrow values.
        column: Arc<Column>,
        /// Length of each row's list; `None` if the value is a single element.
        per_row: Option<u64>,
    },
    /// Elements of part of a dataset, possibly in another file than the segment's.
    Mapped {
        /// The dataset.
        dataset: ObjectId,
        /// How its values become Arrow values.
        column: Arc<Column>,
        /// Maps rows to its elements.
        mapping: Arc<RowMapping>,
    },
    /// A member of a compound dataset.
    Member {
        /// The compound dataset.
        dataset: ObjectId,
        /// Index of the member in its datatype.
        member: usize,
        /// How its values become Arrow values.
        column: Arc<Column>,
    },
    /// Values along a row dimension that are known without reading, such as the coordinates of a regular grid.
    Along {
        /// The row dimension.
        axis: usize,
        /// The values.
        values: AlongValues,
    },
    /// Values that are put together from several arrays.
    Composed(Arc<Values<Elements>>),
    /// Row number in the segment.
    Row,
    /// The path of the requested file.
    File,
    /// The same value in every row: the text that a wildcard matched, or an attribute.
    Constant(ArrayRef),
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
    /// Whether it is `_row` or `_file` of Hyperslab, not a column of the object.
    pub fn is_metadata(&self) -> bool {
        matches!(self.source, Source::Row | Source::File)
    }
}

/// One object as a table.
#[derive(Clone)]
pub struct Segment {
    /// The file that holds the object; differs from `opened` if an external link leads to it.
    pub file: File,
    /// The requested file.
    pub opened: File,
    /// Path of the object as requested.
    pub path: String,
    /// Extents of the dimensions that make rows.
    pub shape: Vec<u64>,
    /// Chunk extents of the first variable along these dimensions.
    pub chunk_shape: Vec<u64>,
    /// All columns; `_row` and `_file` are the last, unless the object has columns of these names.
    pub columns: Vec<SegmentColumn>,
    /// Coordinate datasets that are used only in part, and which indexes of them.
    pub coordinate_parts: Vec<(ObjectId, Axis)>,
    /// Whether its columns are individually named arrays, so that they do not follow from path and layout.
    pub named: bool,
    /// Members of the group that are not columns.
    pub omitted: Vec<Omitted>,
    /// A condition that makes elements rows, such as that they are not padding.
    pub condition: Option<Predicate>,
    /// The order of its columns' names: of these columns, so a change of them begins with the default.
    pub column_order: ColumnOrder,
}

/// Name of the column with each row's number in its segment.
pub const ROW: &str = "_row";
/// Name of the column with the path of each row's file.
pub const FILE: &str = "_file";

impl Segment {
    /// The segment with only the columns in `names` and Hyperslab's own columns.
    pub(crate) fn with_only(&self, names: &BTreeSet<String>) -> Self {
        let tested: BTreeSet<String> = self.condition.iter().flat_map(Predicate::columns).collect();
        let kept = self.columns.iter().filter(|column| {
            let name = column.field.name();
            column.is_metadata() || names.contains(name) || tested.contains(name)
        });
        Self { columns: kept.cloned().collect(), column_order: ColumnOrder::default(), ..self.clone() }
    }

    /// The column called `name`.
    pub fn column(&self, name: &str) -> Option<&SegmentColumn> {
        let name_at = |at: usize| self.columns.get(at).map_or("", |column| column.field.name().as_str());
        self.columns.get(self.column_order.find(self.columns.len(), name_at, name)?)
    }

    /// The name of the requested file, as an array of one value.
    pub(crate) fn file_name(&self) -> ArrayRef {
        Arc::new(StringArray::from(vec![self.opened.name()]))
    }

    /// The columns of one value, such as the text that a wildcard matched, with their values.
    pub fn captures(&self) -> Vec<(String, ArrayRef)> {
        self.columns
            .iter()
            .filter_map(|c| match &c.source {
                Source::Constant(value) => Some((c.field.name().clone(), value.clone())),
                _ => None,
            })
            .collect()
    }

    /// The values of a coordinate dataset along a row dimension.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
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

/// The datatype that a column shows: without decoding, references are bytes; with it, times of 8 bytes in a file of PyTables, the
/// only library that writes this class of HDF5, are seconds and microseconds.
pub(crate) fn shown_datatype(file: &File, datatype: &Datatype, decode: bool) -> Datatype {
    if !decode {
        return datatype.with_references_as_bytes();
    }
    let timevals = datatype.with_times(TimeEncoding::SecondsAndMicroseconds);
    let is_pytables = || file.find("/").and_then(|root| root.file.attributes(root.object)).is_ok_and(|root| root.get("PYTABLES_FORMAT_VERSION").is_some());
    if timevals.has_timevals() && is_pytables() { timevals } else { datatype.clone() }
}

/// How the elements of a dataset become the column `name`.
///
/// # Errors
/// `Unsupported` for a datatype without an Arrow type; `Corrupt` or `InvalidInput` for attributes that contradict the
/// convention.
pub fn array_column(name: &str, file: &File, id: ObjectId, dataset: &Dataset, decode: bool) -> Result<Column> {
    let attributes = readable_attributes(file, id, decode)?;
    let datatype = shown_datatype(file, &dataset.datatype, decode);
    Column::new(name, &datatype, &attributes.list, decoding(file, decode)).map_err(|error| file.place(id, error))
}

/// Like [`array_column`], with `units` in place of the attribute of this name.
pub(super) fn column_with_units(name: &str, file: &File, id: ObjectId, dataset: &Dataset, decode: bool, units: &str) -> Result<Column> {
    let attributes = match file.attributes(id) {
        Err(error) if decode => return Err(error),
        attributes => attributes.unwrap_or_default(),
    };
    let datatype = shown_datatype(file, &dataset.datatype, decode);
    Column::with_assumed_units(name, &datatype, &attributes.list, decoding(file, decode), units).map_err(|error| file.place(id, error))
}

/// The attributes of a dataset. If values are decoded, attributes that cannot be read are an error: they may say how.
pub(crate) fn readable_attributes(file: &File, id: ObjectId, decode: bool) -> Result<Arc<Attributes>> {
    match file.attributes(id) {
        Err(error) if decode => Err(error),
        attributes => Ok(attributes.unwrap_or_default()),
    }
}

/// The columns that every segment has: the row number and the name of the requested file.
pub fn metadata_columns() -> [SegmentColumn; 2] {
    // The same for all of many files.
    static FIELDS: LazyLock<[Arc<Field>; 2]> =
        LazyLock::new(|| [Arc::new(Field::new(ROW, DataType::Int64, false)), Arc::new(Field::new(FILE, DataType::Utf8, false))]);
    let [row, file] = &*FIELDS;
    [SegmentColumn { field: row.clone(), source: Source::Row }, SegmentColumn { field: file.clone(), source: Source::File }]
}

/// `name`, with a suffix (and a number) if it is taken.
pub(crate) fn free_name(name: &str, suffix: &str, taken: &BTreeSet<String>) -> String {
    let suffixed = (1..).map(|number| if number == 1 { format!("{name}_{suffix}") } else { format!("{name}_{suffix}_{number}") });
    let mut names = std::iter::once(name.to_owned()).chain(suffixed);
    names.find(|name| !taken.contains(name)).unwrap_or_else(|| name.to_owned())
}

/// The conventions by which a file's values are decoded; none unless `decode` is set.
pub fn decoding(file: &File, decode: bool) -> Conventions {
    match (decode, file.format().is_netcdf()) {
        (false, _) => Conventions::Raw,
        (true, false) => Conventions::Attributes,
        (true, true) => Conventions::Netcdf,
    }
}

/// The texts that a wildcard matched as arrays of one element each: integers if all of them are, else text.
pub fn capture_column(values: &[String], as_text: bool) -> Vec<ArrayRef> {
    let integers: Option<Vec<i64>> = values.iter().map(|v| v.parse().ok()).collect();
    match integers.filter(|_| !as_text) {
        Some(integers) => integers.into_iter().map(|v| Arc::new(Int64Array::from(vec![v])) as ArrayRef).collect(),
        None => values.iter().map(|v| Arc::new(StringArray::from(vec![v.as_str()])) as ArrayRef).collect(),
    }
}
