//! Builds the rows and columns of one object.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field};
use hyperslab_array::{Dataspace, Datatype, Error, Result};
use hyperslab_columns::{Column, Conventions};
use hyperslab_formats::{Attributes, Object, ObjectId};
use hyperslab_reader::{File, Found};

use super::boundary;
use super::column_order::ColumnOrder;
use super::members::{self, Member, Omitted, text_datatype};
use super::resolver::{BYTES_PER_COLUMN, MAX_COLUMNS};
use super::segment::{Segment, SegmentColumn, Source, decoding, free_name, metadata_columns, shown_datatype};
use crate::request::Layout;

impl Segment {
    /// The object at `path` of `file` as a table. `captures` are the columns of text that wildcards matched.
    ///
    /// # Errors
    /// `NotFound` for a missing path; `InvalidInput` for a layout that does not fit the object; `Unsupported` for
    /// arrays that cannot be columns.
    pub fn new(file: &File, path: &str, layout: Option<Layout>, decode: bool, captures: &[(String, ArrayRef)]) -> Result<Self> {
        Ok(Self::of(&file.find(path)?, file, path, layout, decode)?.with_captures(captures))
    }

    /// The object that was found at `path` of `file` as a table, without columns of wildcards.
    pub(crate) fn of(found: &Found, file: &File, path: &str, layout: Option<Layout>, decode: bool) -> Result<Self> {
        let builder = Builder { found, decode };
        let built = match found.file.object(found.object)? {
            Object::Group => builder.group(layout),
            _ => builder.dataset(layout),
        };
        let built = built.map_err(|error| error.at_object(path).in_file(file.name()))?;
        let taken: BTreeSet<String> = built.columns.iter().map(|column| column.field.name().clone()).collect();
        let mut columns = built.columns;
        // A column of the file takes precedence over a metadata column of the same name.
        columns.extend(metadata_columns().into_iter().filter(|ours| !taken.contains(ours.field.name())));
        Ok(Self {
            file: found.file.clone(),
            opened: file.clone(),
            path: path.to_owned(),
            shape: built.shape,
            chunk_shape: built.chunk_shape,
            columns,
            coordinate_parts: Vec::new(),
            named: false,
            omitted: built.omitted,
            condition: None,
            column_order: ColumnOrder::default(),
        })
    }

    /// With the columns of text that wildcards matched before the others.
    pub(crate) fn with_captures(mut self, captures: &[(String, ArrayRef)]) -> Self {
        let own = self.columns.iter().filter(|column| !column.is_metadata());
        let mut taken: BTreeSet<String> = own.map(|column| column.field.name().clone()).collect();
        let mut columns = Vec::with_capacity(captures.len() + self.columns.len());
        for (name, value) in captures {
            // Files are often named after their contents: t2m_2020.h5 has a variable t2m.
            let name = free_name(name, "part", &taken);
            taken.insert(name.clone());
            columns.push(SegmentColumn { field: Arc::new(Field::new(name, value.data_type().clone(), false)), source: Source::Constant(value.clone()) });
        }
        // A capture takes precedence over a metadata column of the same name.
        columns.extend(std::mem::take(&mut self.columns).into_iter().filter(|column| !column.is_metadata() || !taken.contains(column.field.name())));
        Self { columns, column_order: ColumnOrder::default(), ..self }
    }
}

/// The fields of a column of this datatype: structs in structs have many.
fn fields_of(datatype: &Datatype) -> u64 {
    match datatype {
        Datatype::Compound { members, .. } => members.iter().fold(1, |sum, member| sum.saturating_add(fields_of(&member.datatype))),
        Datatype::Array { base, .. } | Datatype::Sequence { base, .. } => fields_of(base).saturating_add(1),
        _ => 1,
    }
}

/// Rows and columns of an object, without the columns of wildcards.
pub(crate) struct Built {
    pub shape: Vec<u64>,
    pub chunk_shape: Vec<u64>,
    pub columns: Vec<SegmentColumn>,
    pub omitted: Vec<Omitted>,
}

pub(crate) struct Builder<'a> {
    pub found: &'a Found,
    pub decode: bool,
}

impl Builder<'_> {
    pub fn dataset(&self, layout: Option<Layout>) -> Result<Built> {
        let dataset = self.found.dataset()?;
        if let Some(refusal) = &dataset.refusal {
            return Err(refusal.clone());
        }
        if dataset.dataspace == Dataspace::Null {
            return Err(members::no_values());
        }
        let compound = matches!(dataset.datatype, Datatype::Compound { .. });
        let layout = layout.unwrap_or(if compound { Layout::Records } else { Layout::Cells });
        let member = Member::new(&self.found.file, self.found.object, last_part(&self.found.path()?), self.decode)?;
        match layout {
            Layout::Cells | Layout::Rows => self.side_by_side(&[member], layout, Vec::new()),
            Layout::Records => self.records(&member, Vec::new()),
            Layout::Columns => Err(Error::invalid_input("the columns layout is for a group of equally long 1-D datasets; this is a dataset")),
        }
    }

    /// The table of the datasets that are direct members of the group.
    pub fn group(&self, layout: Option<Layout>) -> Result<Built> {
        let chosen = members::choose(self.found, self.decode, layout)?;
        match (chosen.layout, chosen.members.as_slice()) {
            (Layout::Records, [table]) => self.records(table, chosen.omitted),
            (layout, members) => self.side_by_side(members, layout, chosen.omitted),
        }
    }

    /// Datasets with the same dimensions: a column for each dimension and each dataset.
    fn side_by_side(&self, members: &[Member], layout: Layout, omitted: Vec<Omitted>) -> Result<Built> {
        let first = members.first().ok_or_else(|| Error::internal("a table without columns"))?;
        let fields = members.iter().fold(0u64, |sum, member| sum.saturating_add(fields_of(&member.dataset.datatype)));
        let max = (self.found.file.array_file().storage().len() / BYTES_PER_COLUMN).saturating_add(MAX_COLUMNS);
        if fields > max {
            return Err(Error::limit_exceeded(format!("a table whose columns have more than {max} fields together: choose some of them")));
        }
        let (row_shape, per_row) = match (layout, first.shape().split_first()) {
            (Layout::Rows, None) => {
                return Err(Error::invalid_input("the rows layout needs at least one dimension; this is a scalar"));
            }
            (Layout::Rows, Some((&rows, rest))) if !rest.is_empty() => (vec![rows], Some(rest.iter().product())),
            _ => (first.shape().to_vec(), None),
        };
        let taken: BTreeSet<String> = members.iter().map(|member| member.name.clone()).collect();
        let mut columns = match layout {
            Layout::Columns => Vec::new(),
            _ => self.dimension_columns(first, row_shape.len(), &taken)?,
        };
        for member in members {
            columns.push(self.variable(member, per_row)?);
        }
        let chunk_shape = first.dataset.chunk_grid.chunk_shape().iter().copied().take(row_shape.len()).collect();
        Ok(Built { shape: row_shape, chunk_shape, columns, omitted })
    }

    /// A column for each member of a compound dataset, after the indexes if it has several dimensions.
    fn records(&self, table: &Member, omitted: Vec<Omitted>) -> Result<Built> {
        let Datatype::Compound { members, .. } = &table.dataset.datatype else {
            return Err(Error::invalid_input("the records layout needs a compound dataset; use cells or rows"));
        };
        let shape = table.shape().to_vec();
        let mut columns = Vec::new();
        if shape.len() > 1 {
            let taken = members.iter().map(|member| member.name.clone()).collect();
            columns = self.dimension_columns(table, shape.len(), &taken)?;
        }
        for (index, member) in members.iter().enumerate() {
            let column = Column::new(&member.name, &self.shown(&member.datatype), &[], Conventions::Raw)?;
            columns
                .push(SegmentColumn { field: column.field().clone(), source: Source::Member { dataset: table.id, member: index, column: Arc::new(column) } });
        }
        Ok(Built { shape, chunk_shape: table.dataset.chunk_grid.chunk_shape().to_vec(), columns, omitted })
    }

    fn variable(&self, member: &Member, per_row: Option<u64>) -> Result<SegmentColumn> {
        let Member { name, id, attributes, dataset, ndim, .. } = member;
        let attributes = boundary::attributes(&self.found.file, *id, dataset, attributes)?;
        let text = if *ndim < dataset.dataspace.ndim() { text_datatype(dataset)? } else { None };
        let datatype = text.unwrap_or_else(|| self.shown(&dataset.datatype));
        let column = Column::new(name, &datatype, &attributes.list, self.decoding())?;
        let field = match per_row {
            None => column.field().clone(),
            Some(count) => {
                let count = i32::try_from(count)
                    .map_err(|_| Error::unsupported(format!("a row of {count} elements is longer than an Arrow list can be; use the layout cells")))?;
                let item = column.field();
                let element = Field::new("item", item.data_type().clone(), item.is_nullable());
                let mut metadata = item.metadata().clone();
                let rest = member.shape().iter().skip(1).map(u64::to_string).collect::<Vec<_>>();
                metadata.insert("shape".to_owned(), format!("[{}]", rest.join(",")));
                let list = DataType::FixedSizeList(Arc::new(element), count);
                Arc::new(Field::new(name, list, false).with_metadata(metadata))
            }
        };
        Ok(SegmentColumn { field, source: Source::Variable { dataset: *id, column: Arc::new(column), per_row } })
    }

    /// The attributes of an object. They may say how values are decoded, and only then must be readable.
    fn attributes(&self, id: ObjectId) -> Result<Arc<Attributes>> {
        match self.found.file.attributes(id) {
            Err(error) if self.decode => Err(error),
            attributes => Ok(attributes.unwrap_or_default()),
        }
    }

    fn decoding(&self) -> Conventions {
        decoding(&self.found.file, self.decode)
    }

    /// The datatype of the column.
    fn shown(&self, datatype: &Datatype) -> Datatype {
        shown_datatype(&self.found.file, datatype, self.decode)
    }

    /// A column for each of the first `count` dimensions: its coordinate values, or its indexes if it has none. `taken` are
    /// the names of other columns.
    fn dimension_columns(&self, member: &Member, count: usize, taken: &BTreeSet<String>) -> Result<Vec<SegmentColumn>> {
        let (file, dataset) = (&self.found.file, &member.dataset);
        let mut taken = taken.clone();
        let mut columns: Vec<SegmentColumn> = Vec::new();
        for axis in 0..count {
            let dimension = member.dimensions.get(axis).ok_or_else(|| Error::internal(format!("{} has no dimension {axis}", member.name)))?;
            // The values of a coordinate variable are its coordinates already.
            if dimension.scale == Some(member.id) && member.ndim == 1 {
                continue;
            }
            let mut name = dimension.name.clone().unwrap_or_else(|| format!("dim_{axis}"));
            if columns.iter().any(|c| *c.field.name() == name) {
                // One dimension twice, as in a covariance matrix: append the axis to the second name.
                name = format!("{name}_{axis}");
            }
            let scale = dimension.scale.and_then(|scale| Some((scale, file.dataset(scale).ok()?)));
            let usable = scale.filter(|(_, values)| values.refusal.is_none() && Some(values.dataspace.shape()) == dataset.dataspace.shape().get(axis..=axis));
            let column = match usable {
                Some((scale, values)) => {
                    let attributes = self.attributes(scale)?;
                    let name = free_name(&name, "coordinate", &taken);
                    let column = Column::new(&name, &self.shown(&values.datatype), &attributes.list, self.decoding())?;
                    SegmentColumn { field: column.field().clone(), source: Source::Coordinate { axis, dataset: scale, column: Arc::new(column) } }
                }
                // A variable may have the name of one of its dimensions without holding its coordinates.
                None => {
                    SegmentColumn { field: Arc::new(Field::new(free_name(&name, "index", &taken), DataType::Int64, false)), source: Source::Index { axis } }
                }
            };
            taken.insert(column.field.name().clone());
            columns.push(column);
        }
        Ok(columns)
    }
}

/// The last part of a path, which names the column.
fn last_part(path: &str) -> &str {
    match path.rsplit('/').next() {
        Some(name) if !name.is_empty() => name,
        _ => "value",
    }
}
