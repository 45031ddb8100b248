//! Segment: one object of one file as rows and columns. A table is segments one after the other.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray};
use arrow_schema::{DataType, Field};
use hyperslab_array::{Axis, Dataspace, Datatype, Error, Result, Selection};
use hyperslab_formats::{Content, Dataset, Format, Object, ObjectId};

use super::Layout;
use crate::columns::{Column, Decoding, attributes_of};
use crate::{Cancellation, File, Found};

/// Where a table column's values come from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// The index along a row dimension.
    Index { axis: usize },
    /// The value of a 1-D coordinate dataset at the index along a row dimension.
    Coordinate { axis: usize, dataset: ObjectId, column: Column },
    /// Elements of a dataset, `per_row` of them a row (`None`: one, not as a list).
    Variable { dataset: ObjectId, column: Column, per_row: Option<u64> },
    /// Elements of a part of a dataset, perhaps of another file than the segment's.
    Placed { dataset: ObjectId, column: Column, place: Arc<Place> },
    /// A member of a compound dataset.
    Member { dataset: ObjectId, member: usize, column: Column },
    /// Position in the file's dataset.
    Row,
    /// The same value in every row: the file's name, what a wildcard matched.
    Constant(ArrayRef),
}

/// Where a segment's rows lie in a dataset.
#[derive(Clone)]
pub(crate) struct Place {
    /// The file that holds the dataset.
    pub file: File,
    /// One for each dimension of the dataset.
    pub dimensions: Vec<PlacedDimension>,
}

/// What a dimension of a dataset is to the rows.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PlacedDimension {
    /// The same index for all rows.
    Fixed(u64),
    /// The next row dimension, of which index 0 lies at `start`, and each further one `step` on.
    Rows { start: u64, step: u64 },
}

impl std::fmt::Debug for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?} of {}", self.dimensions, self.file.name())
    }
}

impl Place {
    /// The axes of the dataset that `rows` (axes of the segment) stand for.
    pub fn axes(&self, rows: &[Axis]) -> Result<Vec<Axis>> {
        let mut rows = rows.iter();
        let axes = self.dimensions.iter().map(|dimension| match dimension {
            PlacedDimension::Fixed(index) => Ok(Axis::range(*index, index.saturating_add(1))),
            PlacedDimension::Rows { start, step } => {
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
pub(crate) struct SegmentColumn {
    pub field: Arc<Field>,
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
pub(crate) struct Segment {
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
}

pub(crate) const ROW: &str = "_row";
pub(crate) const FILE: &str = "_file";

impl Segment {
    /// `path` of `file` as a table. `captures` are columns of what wildcards matched.
    pub fn new(
        file: &File,
        path: &str,
        layout: Option<Layout>,
        decode: bool,
        captures: &[(String, ArrayRef)],
    ) -> Result<Self> {
        let found = file.find(path)?;
        let object = found.file.object(found.object)?;
        let built = match &object.content {
            Content::Group(_) => Builder { found: &found, decode }.group(layout),
            _ => {
                let dataset = found.dataset()?;
                Builder { found: &found, decode }.dataset(object, dataset, layout)
            }
        };
        let built = built.map_err(|error| error.at_object(path).in_file(file.name()))?;
        let mut columns: Vec<SegmentColumn> = captures
            .iter()
            .map(|(name, value)| SegmentColumn {
                // Files are often called after what is in them: t2m_2020.h5 has a t2m.
                field: Arc::new(match built.columns.iter().any(|column| column.field.name() == name) {
                    true => Field::new(format!("{name}_part"), value.data_type().clone(), false),
                    false => Field::new(name, value.data_type().clone(), false),
                }),
                source: Source::Constant(value.clone()),
            })
            .collect();
        columns.extend(built.columns);
        // A column of the file comes before ours of the same name.
        let ours = metadata_columns(file).into_iter().filter(|ours| columns.iter().all(|column| column.field.name() != ours.field.name()));
        columns.extend(ours.collect::<Vec<_>>());
        let mut names = BTreeSet::new();
        if let Some(twice) = columns.iter().find(|c| !names.insert(c.field.name().clone())) {
            return Err(Error::unsupported(format!(
                "two columns would be called {:?}; read the datasets one by one",
                twice.field.name()
            ))
            .at_object(path)
            .in_file(file.name()));
        }
        Ok(Self {
            file: found.file,
            opened: file.clone(),
            path: path.to_owned(),
            shape: built.shape,
            chunk_shape: built.chunk_shape,
            columns,
            coordinate_parts: Vec::new(),
            named: false,
        })
    }

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

/// Rows and columns without what wildcards add.
struct Built {
    shape: Vec<u64>,
    chunk_shape: Vec<u64>,
    columns: Vec<SegmentColumn>,
}

struct Builder<'a> {
    found: &'a Found,
    decode: bool,
}

impl Builder<'_> {
    fn dataset(&self, object: &Object, dataset: &Dataset, layout: Option<Layout>) -> Result<Built> {
        if let Some(refusal) = &dataset.refusal {
            return Err(refusal.clone());
        }
        if dataset.dataspace == Dataspace::Null {
            return Err(Error::invalid_input("its dataspace is null: there are no values to make rows of"));
        }
        let compound = matches!(dataset.datatype, Datatype::Compound { .. });
        let layout = layout.unwrap_or(if compound { Layout::Records } else { Layout::Cells });
        let shape = dataset.dataspace.shape().to_vec();
        let id = self.found.object;
        match layout {
            Layout::Cells => {
                let mut columns = self.dimension_columns(id, dataset, shape.len(), true)?;
                columns.push(self.variable(object, id, dataset, None)?);
                Ok(Built { shape, chunk_shape: dataset.chunk_grid.chunk_shape().to_vec(), columns })
            }
            Layout::Rows => {
                let Some((&rows, rest)) = shape.split_first() else {
                    return Err(Error::invalid_input("the rows layout needs at least one dimension; this is a scalar"));
                };
                let mut columns = self.dimension_columns(id, dataset, 1, true)?;
                let per_row = if rest.is_empty() { None } else { Some(rest.iter().product()) };
                columns.push(self.variable(object, id, dataset, per_row)?);
                let chunk_shape = dataset.chunk_grid.chunk_shape().iter().copied().take(1).collect();
                Ok(Built { shape: vec![rows], chunk_shape, columns })
            }
            Layout::Records => {
                let Datatype::Compound { members, .. } = &dataset.datatype else {
                    return Err(Error::invalid_input("the records layout needs a compound dataset; use cells or rows"));
                };
                let mut columns = Vec::new();
                if shape.len() > 1 {
                    columns = self.dimension_columns(id, dataset, shape.len(), false)?;
                }
                for (number, member) in members.iter().enumerate() {
                    let column = Column::new(&member.name, &self.shown(&member.datatype), &[], Decoding::Raw)?;
                    columns.push(SegmentColumn {
                        field: column.field().clone(),
                        source: Source::Member { dataset: id, member: number, column },
                    });
                }
                Ok(Built { shape, chunk_shape: dataset.chunk_grid.chunk_shape().to_vec(), columns })
            }
            Layout::Columns => Err(Error::invalid_input(
                "the columns layout is for a group of equally long 1-D datasets; this is a dataset",
            )),
        }
    }

    /// The datasets directly in the group, and whether they stand side by side.
    fn group(&self, layout: Option<Layout>) -> Result<Built> {
        let tree = self.found.file.tree();
        let group = tree.group(self.found.object).ok_or_else(|| Error::internal("not a group"))?;
        let mut members: Vec<(&str, ObjectId, &Object, &Dataset)> = Vec::new();
        for link in &group.links {
            if let hyperslab_formats::LinkTarget::Hard(id) = link.target
                && let Some(object) = tree.object(id)
                && let Some(dataset) = tree.dataset(id)
                && dataset.refusal.is_none()
            {
                members.push((&link.name, id, object, dataset));
            }
        }
        if members.is_empty() {
            return Err(Error::invalid_input("this group has no datasets of its own to make a table of"));
        }
        let equal_length = |members: &[(&str, ObjectId, &Object, &Dataset)]| {
            members.windows(2).all(|pair| match pair {
                [a, b] => a.3.dataspace.shape() == b.3.dataspace.shape(),
                _ => true,
            }) && members.iter().all(|m| m.3.dataspace.ndim() == 1)
        };
        let layout = layout.unwrap_or(if equal_length(&members) { Layout::Columns } else { Layout::Cells });
        // Coordinate variables describe the others; they come back as dimension columns.
        if layout != Layout::Columns {
            let scales: BTreeSet<ObjectId> =
                members.iter().flat_map(|m| m.3.dimensions.iter().filter_map(|d| d.scale)).collect();
            if members.iter().any(|m| !scales.contains(&m.1)) {
                members.retain(|m| !scales.contains(&m.1));
            }
            // Scalars (grid mappings, flags) have no rows to stand beside.
            if members.iter().any(|m| m.3.dataspace.ndim() > 0) {
                members.retain(|m| m.3.dataspace.ndim() > 0);
            }
        }
        let (first_name, first_id, _, first) =
            *members.first().ok_or_else(|| Error::internal("a group without members"))?;
        let shape = first.dataspace.shape().to_vec();
        for (name, _, _, dataset) in &members {
            if dataset.dataspace.shape() != shape.as_slice() || dataset.dimensions != first.dimensions {
                return Err(Error::invalid_input(format!(
                    "{first_name} has shape {shape:?} and {name} has shape {:?}: they do not stand side by side; name one dataset",
                    dataset.dataspace.shape()
                )));
            }
        }
        if layout == Layout::Columns && !equal_length(&members) {
            return Err(Error::invalid_input("the columns layout needs 1-D datasets of equal length"));
        }
        let (row_shape, per_row) = match layout {
            Layout::Rows => match shape.split_first() {
                Some((&rows, rest)) if !rest.is_empty() => (vec![rows], Some(rest.iter().product())),
                _ => (shape.clone(), None),
            },
            Layout::Records => return Err(Error::invalid_input("the records layout needs one compound dataset")),
            _ => (shape.clone(), None),
        };
        let mut columns = match layout {
            Layout::Columns => Vec::new(),
            _ => self.dimension_columns(first_id, first, row_shape.len(), true)?,
        };
        for (name, id, object, dataset) in &members {
            let mut column = self.variable(object, *id, dataset, per_row)?;
            column.field = Arc::new(column.field.as_ref().clone().with_name(*name));
            columns.push(column);
        }
        let chunk_shape = first.chunk_grid.chunk_shape().iter().copied().take(row_shape.len()).collect();
        Ok(Built { shape: row_shape, chunk_shape, columns })
    }

    fn variable(&self, object: &Object, id: ObjectId, dataset: &Dataset, per_row: Option<u64>) -> Result<SegmentColumn> {
        let name = match object.path.rsplit('/').next() {
            Some(name) if !name.is_empty() => name,
            _ => "value",
        };
        self.check_attributes(object)?;
        let attributes = attributes_of(self.found.file.tree(), object);
        let column = Column::new(name, &self.shown(&dataset.datatype), &attributes, self.decoding())?;
        let field = match per_row {
            None => column.field().clone(),
            Some(count) => {
                let count = i32::try_from(count).map_err(|_| {
                    Error::unsupported(format!("a row of {count} elements is longer than an Arrow list can be"))
                })?;
                let item = column.field();
                let element = Field::new("item", item.data_type().clone(), item.is_nullable());
                let mut metadata = item.metadata().clone();
                let rest = dataset.dataspace.shape().iter().skip(1).map(u64::to_string).collect::<Vec<_>>();
                metadata.insert("shape".to_owned(), format!("[{}]", rest.join(",")));
                let list = DataType::FixedSizeList(Arc::new(element), count);
                Arc::new(Field::new(name, list, false).with_metadata(metadata))
            }
        };
        Ok(SegmentColumn { field, source: Source::Variable { dataset: id, column, per_row } })
    }

    /// Attributes that cannot be read may say how values are decoded: without them they would be wrong.
    fn check_attributes(&self, object: &Object) -> Result<()> {
        match &object.attributes_error {
            Some(error) if self.decode => Err(error.clone()),
            _ => Ok(()),
        }
    }

    fn decoding(&self) -> Decoding {
        decoding(&self.found.file, self.decode)
    }

    /// The datatype as the columns show it: references undecoded are their bytes.
    fn shown(&self, datatype: &Datatype) -> Datatype {
        if self.decode { datatype.clone() } else { datatype.with_references_as_bytes() }
    }

    /// A column for each of the first `count` dimensions: coordinate values, else the index.
    fn dimension_columns(
        &self,
        id: ObjectId,
        dataset: &Dataset,
        count: usize,
        skip_own: bool,
    ) -> Result<Vec<SegmentColumn>> {
        let tree = self.found.file.tree();
        let mut columns: Vec<SegmentColumn> = Vec::new();
        for axis in 0..count {
            let dimension = dataset.dimensions.get(axis).cloned().unwrap_or_default();
            // A coordinate variable's values are its own coordinates.
            if skip_own && dimension.scale == Some(id) {
                continue;
            }
            let mut name = dimension.name.clone().unwrap_or_else(|| format!("dim_{axis}"));
            if columns.iter().any(|c| *c.field.name() == name) {
                // The same dimension twice (a covariance matrix): the second gets its number.
                name = format!("{name}_{axis}");
            }
            let scale = dimension.scale.and_then(|scale| Some((scale, tree.object(scale)?, self.found.file.dataset(scale).ok()?)));
            let usable = scale.filter(|(_, _, values)| {
                values.refusal.is_none()
                    && Some(values.dataspace.shape()) == dataset.dataspace.shape().get(axis..=axis)
            });
            columns.push(match usable {
                Some((scale, object, values)) => {
                    self.check_attributes(object)?;
                    let column = Column::new(&name, &self.shown(&values.datatype), &object.attributes, self.decoding())?;
                    SegmentColumn {
                        field: column.field().clone(),
                        source: Source::Coordinate { axis, dataset: scale, column },
                    }
                }
                None => SegmentColumn {
                    field: Arc::new(Field::new(name, DataType::Int64, false)),
                    source: Source::Index { axis },
                },
            });
        }
        Ok(columns)
    }
}

/// How the elements of one dataset become the column `name`.
pub(crate) fn array_column(name: &str, file: &File, object: &Object, dataset: &Dataset, decode: bool) -> Result<Column> {
    if let Some(error) = object.attributes_error.as_ref().filter(|_| decode) {
        return Err(error.clone());
    }
    let datatype = if decode { dataset.datatype.clone() } else { dataset.datatype.with_references_as_bytes() };
    Column::new(name, &datatype, &object.attributes, decoding(file, decode)).map_err(|error| error.at_object(&object.path))
}

/// The columns that every segment has: row number and name of the file that was asked for.
pub(crate) fn metadata_columns(opened: &File) -> [SegmentColumn; 2] {
    let name = Arc::new(StringArray::from(vec![opened.name()]));
    [
        SegmentColumn { field: Arc::new(Field::new(ROW, DataType::Int64, false)), source: Source::Row },
        SegmentColumn { field: Arc::new(Field::new(FILE, DataType::Utf8, false)), source: Source::Constant(name) },
    ]
}

/// What conventions decode a file's values.
fn decoding(file: &File, decode: bool) -> Decoding {
    match (decode, file.format()) {
        (false, _) => Decoding::Raw,
        (true, Format::Hdf5) => Decoding::Attributes,
        (true, Format::Netcdf3 | Format::Netcdf4) => Decoding::Netcdf,
    }
}

/// What a wildcard matched, as a one-element array: integers where all of them are, else text.
pub(crate) fn capture_column(values: &[String], as_text: bool) -> Vec<ArrayRef> {
    let integers: Option<Vec<i64>> = values.iter().map(|v| v.parse().ok()).collect();
    match integers.filter(|_| !as_text) {
        Some(integers) => integers.into_iter().map(|v| Arc::new(Int64Array::from(vec![v])) as ArrayRef).collect(),
        None => values.iter().map(|v| Arc::new(StringArray::from(vec![v.as_str()])) as ArrayRef).collect(),
    }
}
