//! Tables over arrays as plain data: what a data model gives to a scan, and what a split of individually named arrays carries.
//!
//! A table is a list of segments. A segment has rows of one shape, and columns whose values are given by the path of an array
//! and the mapping of rows to its elements, by several arrays, by a position along a dimension, or by a constant. Readers do
//! no name look-ups.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::Array;
use arrow_schema::{DataType, Field};
use hyperslab_array::{Axis, Datatype, Error, Result};
use hyperslab_columns::Units;
use hyperslab_formats::ObjectId;
use hyperslab_predicate::Predicate;
use hyperslab_reader::File;
use serde::{Deserialize, Serialize};

use super::along::AlongValues;
use super::array_part::ArrayPart;
use super::column_order::ColumnOrder;
use super::definition_arrays::{Resolver, Stage, is_text_of_characters, member_index};
use super::elements::Elements;
use super::literal::Literal;
use super::mapping::{DimensionMapping, RowMapping};
use super::members::Omitted;
use super::need::Need;
use super::repeated::RepeatedAxis;
use super::segment::{Segment, SegmentColumn, Source, metadata_columns};
use super::values::{UnitConversion, Values};

/// The rows and columns of a segment; files are given by their index in a list. The first is the requested file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SegmentDefinition {
    /// The group that the arrays are in, for error messages.
    pub path: String,
    /// The file whose array determines the dimensions of the rows.
    file: usize,
    shape: Vec<u64>,
    chunk_shape: Vec<u64>,
    columns: Vec<ColumnDefinition>,
    /// What the model knows of and does not make a column.
    #[serde(default, skip)]
    omitted: Vec<Omitted>,
    /// Which elements are rows; all of them without a condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    condition: Option<Predicate>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ColumnDefinition {
    name: String,
    values: Values,
    /// Metadata of the column besides the attributes of its array; the keys begin with [`METADATA_PREFIX`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
}

/// How keys of metadata begin that are not attributes of the file.
const METADATA_PREFIX: &str = "hyperslab:";

impl SegmentDefinition {
    /// Rows of `shape` without columns. `chunk_shape` has the chunk extents of the first array along the rows.
    pub fn new(path: impl Into<String>, shape: Vec<u64>, chunk_shape: Vec<u64>) -> Self {
        Self { path: path.into(), file: 0, shape, chunk_shape, columns: Vec::new(), omitted: Vec::new(), condition: None }
    }

    /// With one more column.
    #[must_use]
    pub fn with_column(self, name: impl Into<String>, values: Values) -> Self {
        self.with_described_column(name, values, BTreeMap::new())
    }

    /// With one more column that has metadata besides the attributes of its array. Keys get the prefix `hyperslab:`.
    #[must_use]
    pub fn with_described_column(mut self, name: impl Into<String>, values: Values, metadata: BTreeMap<String, String>) -> Self {
        let metadata = metadata.into_iter().map(|(key, value)| (format!("{METADATA_PREFIX}{key}"), value)).collect();
        self.columns.push(ColumnDefinition { name: name.into(), values, metadata });
        self
    }

    /// Without elements that are null in all of these columns: they are padding, not rows.
    #[must_use]
    pub fn without_padding(self, columns: Vec<String>) -> Self {
        let nulls: Vec<Predicate> = columns.into_iter().map(|column| Predicate::IsNull { column }).collect();
        let condition = (!nulls.is_empty()).then(|| Predicate::Not(Box::new(Predicate::And(nulls))));
        Self { condition, ..self }
    }

    /// With what is known of and is not a column.
    #[must_use]
    pub fn with_omitted(self, omitted: Vec<Omitted>) -> Self {
        Self { omitted, ..self }
    }

    /// Names of the columns, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// Describes a segment that is read from `files`.
    pub(crate) fn of(segment: &Segment, files: &[File]) -> Result<Self> {
        let mut columns = Vec::new();
        for column in &segment.columns {
            let Some(values) = values_of(segment, column, files)? else { continue };
            let metadata = column.field.metadata().iter().filter(|(key, _)| key.starts_with(METADATA_PREFIX));
            let metadata = metadata.map(|(key, value)| (key.clone(), value.clone())).collect();
            columns.push(ColumnDefinition { name: column.field.name().clone(), values, metadata });
        }
        let (shape, chunk_shape) = (segment.shape.clone(), segment.chunk_shape.clone());
        Ok(Self {
            path: segment.path.clone(),
            file: index_of(&segment.file, files)?,
            shape,
            chunk_shape,
            columns,
            omitted: Vec::new(),
            condition: segment.condition.clone(),
        })
    }

    /// The segment of a model's definition in `file`.
    ///
    /// # Errors
    /// `NotFound` for a missing array; `InvalidInput` for an array that does not have the shape of the rows; `Unsupported` for
    /// arrays that cannot be columns.
    pub fn open(&self, file: &File, decode: bool) -> Result<Segment> {
        self.resolve(std::slice::from_ref(file), decode, Stage::Defined).map_err(|error| error.at_object(&self.path).in_file(file.name()))
    }

    /// The segment of a split in reopened `files`. `Conflict` if an array has changed.
    pub(crate) fn reopen(&self, files: &[File], decode: bool) -> Result<Segment> {
        self.resolve(files, decode, Stage::Planned)
    }

    /// The file of the coordinates and compound datasets of a model's definition: another one than `opened` if external links lead to
    /// them. Other arrays may be in any file.
    fn home(&self, opened: &File) -> File {
        let path = self.columns.iter().find_map(|column| match &column.values {
            Values::Coordinate { dataset, .. } | Values::Texts { dataset, .. } => Some(dataset),
            Values::Array(part) if part.member.is_some() => Some(&part.path),
            _ => None,
        });
        // An array that is not found is an error when its column is made.
        path.and_then(|path| opened.find(path).ok()).map_or_else(|| opened.clone(), |found| found.file)
    }

    fn resolve(&self, files: &[File], decode: bool, stage: Stage) -> Result<Segment> {
        let malformed = |what: &str| stage.malformed(what);
        let opened = files.first().ok_or_else(|| malformed("no file"))?;
        let home = match stage {
            Stage::Defined => self.home(opened),
            Stage::Planned => files.get(self.file).ok_or_else(|| malformed("a file without a name"))?.clone(),
        };
        let file = &home;
        if self.chunk_shape.len() != self.shape.len() || self.chunk_shape.contains(&0) {
            return Err(malformed("the shape of its chunks"));
        }
        let resolver = Resolver { files, decode, stage };
        let mut columns: Vec<SegmentColumn> = Vec::with_capacity(self.columns.len() + 2);
        let mut coordinate_parts = Vec::new();
        for ColumnDefinition { name, values, metadata } in &self.columns {
            if let Some(what) = values.contradiction(&self.shape) {
                return Err(malformed(what));
            }
            let SegmentColumn { field, source } = self.column(name, values, file, &resolver)?;
            if let (Values::Coordinate { part: Some((start, count, step)), .. }, Source::Coordinate { dataset, .. }) = (values, &source) {
                coordinate_parts.push((*dataset, Axis::Range { start: *start, count: *count, step: *step }));
            }
            columns.push(SegmentColumn { field: described(field, metadata), source });
        }
        let mut names: BTreeSet<&String> = BTreeSet::new();
        if let Some(twice) = columns.iter().find(|column| !names.insert(column.field.name())) {
            return Err(malformed(&format!("two columns called {:?}", twice.field.name())));
        }
        let metadata = metadata_columns().into_iter().filter(|ours| !names.contains(ours.field.name()));
        let metadata: Vec<SegmentColumn> = metadata.collect();
        columns.extend(metadata);
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
            omitted: self.omitted.clone(),
            condition: self.condition.clone(),
            column_order: ColumnOrder::default(),
        })
    }

    /// A column of rows in `file`, which holds the coordinates and compound datasets.
    fn column(&self, name: &str, values: &Values, file: &File, resolver: &Resolver<'_>) -> Result<SegmentColumn> {
        let plain = |data_type: DataType, nullable| Arc::new(Field::new(name, data_type, nullable));
        let (field, source) = match values {
            Values::Index { axis } => (plain(DataType::Int64, false), Source::Index { axis: *axis }),
            Values::Linear { axis, origin, spacing } => {
                let values = AlongValues::Linear { origin: *origin, spacing: *spacing };
                (plain(DataType::Float64, false), Source::Along { axis: *axis, values })
            }
            Values::Sampled { axis, origin, rate } => {
                let values = AlongValues::Sampled { origin: *origin, rate: *rate };
                (plain(DataType::Float64, false), Source::Along { axis: *axis, values })
            }
            Values::Listed { axis, values: Literal(values) } => {
                let field = plain(values.data_type().clone(), values.null_count() > 0);
                (field, Source::Along { axis: *axis, values: AlongValues::Listed(values.clone()) })
            }
            Values::Constant(Literal(value)) => (plain(value.data_type().clone(), value.null_count() > 0), Source::Constant(value.clone())),
            Values::Missing { like } => {
                let like = resolver.array(name, like)?;
                let field = like.column.field().as_ref().clone().with_nullable(true);
                let null = arrow_array::new_null_array(field.data_type(), 1);
                (Arc::new(field), Source::Constant(null))
            }
            Values::Texts { axis, dataset } => return self.texts(name, *axis, dataset, file, resolver),
            Values::Coordinate { axis, dataset, part, units } => return self.coordinate(name, (*axis, *part), dataset, units.as_ref(), file, resolver),
            Values::Array(part) => return self.array(name, part, file, resolver),
            composed => return composed_column(name, self.resolved(name, composed, resolver)?),
        };
        Ok(SegmentColumn { field, source })
    }

    /// Texts of a 2-D dataset of single characters along a dimension of the rows.
    fn texts(&self, name: &str, axis: usize, dataset: &str, file: &File, resolver: &Resolver<'_>) -> Result<SegmentColumn> {
        let part = ArrayPart { file: self.file, ..ArrayPart::whole(dataset) };
        let array = resolver.texts(name, &part, self.extent(axis)?)?;
        if array.mapping.file == *file {
            let Elements { dataset, column, .. } = array;
            return Ok(SegmentColumn { field: column.field().clone(), source: Source::Coordinate { axis, dataset, column: Arc::new(column) } });
        }
        let values = Values::Repeated { values: part, axes: vec![RepeatedAxis::Row(axis), RepeatedAxis::Text] };
        composed_column(name, self.resolved(name, &values, resolver)?)
    }

    /// Values of a coordinate dataset along a dimension of the rows.
    fn coordinate(
        &self,
        name: &str,
        (axis, part): (usize, Option<(u64, u64, u64)>),
        dataset: &str,
        units: Option<&UnitConversion>,
        file: &File,
        resolver: &Resolver<'_>,
    ) -> Result<SegmentColumn> {
        let count = self.extent(axis)?;
        let array = resolver.array(name, &ArrayPart { file: self.file, ..ArrayPart::whole(dataset) })?;
        match part {
            None => resolver.check_whole(&array, &[count])?,
            Some((start, length, step)) => {
                if length != count {
                    return Err(resolver.stage.malformed("coordinates of another length"));
                }
                resolver.check_within(&array, &[DimensionMapping::Rows { start, step }], &[count])?;
            }
        }
        if array.mapping.file != *file {
            return composed_column(name, elsewhere(array, axis, part, units)?);
        }
        let Elements { dataset, mut column, .. } = array;
        if let Some(UnitConversion { factor, name }) = units {
            column = column.with_units(Units { factor: *factor, name: name.clone() }).map_err(|error| file.place(dataset, error))?;
        }
        Ok(SegmentColumn { field: column.field().clone(), source: Source::Coordinate { axis, dataset, column: Arc::new(column) } })
    }

    /// Elements of an array, or of a member of a compound dataset.
    fn array(&self, name: &str, part: &ArrayPart, file: &File, resolver: &Resolver<'_>) -> Result<SegmentColumn> {
        let Elements { dataset, column, mapping, member, .. } = resolver.needed(name, part, Need::Rows, &self.shape)?;
        let (field, column) = (column.field().clone(), Arc::new(column));
        let source = match member {
            Some(_) if part.dimensions.is_some() => return Err(resolver.stage.malformed("part of a member of a compound dataset")),
            Some(_) if mapping.file != *file => {
                let message = format!("a table of compound datasets in two files, {} and {}", file.name(), mapping.file.name());
                return Err(mapping.file.place(dataset, Error::unsupported(message)));
            }
            Some(member) => Source::Member { dataset, member: member_index(&*file.dataset(dataset)?, &member)?, column },
            None if part.dimensions.is_none() && mapping.file == *file => Source::Variable { dataset, column, per_row: None },
            None => Source::Mapped { dataset, column, mapping },
        };
        Ok(SegmentColumn { field, source })
    }

    /// Values with the arrays that they name.
    fn resolved(&self, name: &str, values: &Values, resolver: &Resolver<'_>) -> Result<Values<Elements>> {
        let resolved = values.try_map(&self.shape, &mut |part, need| resolver.needed(name, part, need, &self.shape))?;
        if let Values::Runs { starts, values: Some(values) } = &resolved {
            let (runs, shape) = (starts.shape()?, values.shape()?);
            if runs != shape {
                return Err(resolver.misfit(values, &shape, &format!("{runs:?}")));
            }
        }
        Ok(resolved)
    }

    fn extent(&self, axis: usize) -> Result<u64> {
        self.shape.get(axis).copied().ok_or_else(|| Error::internal("no such axis"))
    }
}

/// The values of a column in the definition of a segment that is read from `files`. `None` for columns that every segment has.
fn values_of(segment: &Segment, column: &SegmentColumn, files: &[File]) -> Result<Option<Values>> {
    let values = match &column.source {
        Source::Index { axis } => Values::Index { axis: *axis },
        Source::Along { axis, values: AlongValues::Linear { origin, spacing } } => Values::Linear { axis: *axis, origin: *origin, spacing: *spacing },
        Source::Along { axis, values: AlongValues::Sampled { origin, rate } } => Values::Sampled { axis: *axis, origin: *origin, rate: *rate },
        Source::Along { axis, values: AlongValues::Listed(values) } => Values::Listed { axis: *axis, values: Literal(values.clone()) },
        Source::Coordinate { axis, dataset, column } if is_text_of_characters(&segment.file, *dataset, column)? => {
            Values::Texts { axis: *axis, dataset: path_of(&segment.file, *dataset)? }
        }
        Source::Coordinate { axis, dataset, column } => {
            let units = column.units().map(|units| UnitConversion { factor: units.factor, name: units.name.clone() });
            Values::Coordinate { axis: *axis, dataset: path_of(&segment.file, *dataset)?, part: coordinate_part(segment, *dataset)?, units }
        }
        Source::Variable { dataset, per_row: None, column } => {
            let units = column.assumed_units().map(str::to_owned);
            Values::Array(ArrayPart { file: index_of(&segment.file, files)?, units, ..ArrayPart::whole(path_of(&segment.file, *dataset)?) })
        }
        Source::Mapped { dataset, column, mapping } => {
            let (column, mapping) = (column.as_ref().clone(), mapping.clone());
            Values::Array(part_of(&Elements { dataset: *dataset, column, mapping, member: None, inherits: None }, files)?)
        }
        Source::Composed(composed) => {
            // The dimensions of these arrays are given by other means.
            let is_whole = matches!(**composed, Values::Repeated { .. } | Values::Joined { .. } | Values::Patches(_));
            let dimensions = |part: ArrayPart| if is_whole { ArrayPart { dimensions: None, ..part } } else { part };
            let mut values = composed.try_map(&segment.shape, &mut |array, _| part_of(array, files).map(dimensions))?;
            if let Values::Categories { ordered, .. } = &mut values {
                *ordered = column.field.dict_is_ordered().unwrap_or(false);
            }
            values
        }
        Source::Constant(value) => Values::Constant(Literal(value.clone())),
        // Every segment has a row number and the name of its file.
        Source::Row | Source::File => return Ok(None),
        Source::Member { dataset, member, column } => {
            let whole = ArrayPart::whole(path_of(&segment.file, *dataset)?).with_member(member_name(&segment.file, *dataset, *member)?);
            Values::Array(ArrayPart { file: index_of(&segment.file, files)?, timevals: column.datatype().has_timevals(), ..whole })
        }
        Source::Variable { .. } => return Err(Error::internal("a column that is not an array")),
    };
    Ok(Some(values))
}

fn index_of(file: &File, files: &[File]) -> Result<usize> {
    files.iter().position(|known| known.name() == file.name()).ok_or_else(|| Error::internal("a column without a file"))
}

fn path_of(file: &File, dataset: ObjectId) -> Result<String> {
    file.path_of(dataset).map(|path| path.to_string())
}

/// An array in the definition of a segment that is read from `files`.
fn part_of(array: &Elements, files: &[File]) -> Result<ArrayPart> {
    let mapping = &array.mapping;
    Ok(ArrayPart {
        file: index_of(&mapping.file, files)?,
        path: path_of(&mapping.file, array.dataset)?,
        dimensions: Some(mapping.dimensions.clone()),
        member: array.member.clone(),
        units: array.column.assumed_units().map(str::to_owned),
        inherits: array.inherits.clone(),
        timevals: array.column.datatype().has_timevals(),
    })
}

/// Start, count and step of the indexes that a segment has of a coordinate dataset; `None` for all.
fn coordinate_part(segment: &Segment, dataset: ObjectId) -> Result<Option<(u64, u64, u64)>> {
    let part = segment.coordinate_parts.iter().find(|(part, _)| *part == dataset).map(|(_, axis)| match axis {
        Axis::Range { start, count, step } => Ok((*start, *count, *step)),
        Axis::Indices(_) | Axis::Runs(_) => Err(Error::internal("a part of coordinates that is not a range")),
    });
    part.transpose()
}

/// The name of a member of a compound dataset.
fn member_name(file: &File, dataset: ObjectId, member: usize) -> Result<String> {
    let description = file.dataset(dataset)?;
    let name = match &description.datatype {
        Datatype::Compound { members, .. } => members.get(member).map(|member| member.name.clone()),
        _ => None,
    };
    name.ok_or_else(|| Error::internal("a member of a dataset that does not have it"))
}

/// A column that is put together from arrays.
fn composed_column(name: &str, values: Values<Elements>) -> Result<SegmentColumn> {
    Ok(SegmentColumn { field: Arc::new(values.field(name)?), source: Source::Composed(Arc::new(values)) })
}

/// Coordinates along a dimension of the rows, in another file than the segment.
fn elsewhere(array: Elements, axis: usize, part: Option<(u64, u64, u64)>, units: Option<&UnitConversion>) -> Result<Values<Elements>> {
    if units.is_some() {
        let message = "coordinates in another file than other coordinates of the table, whose units are converted";
        return Err(array.place(Error::unsupported(message)));
    }
    let (start, step) = part.map_or((0, 1), |(start, _, step)| (start, step));
    let mapping = RowMapping { file: array.mapping.file.clone(), dimensions: vec![DimensionMapping::Rows { start, step }] };
    Ok(Values::Spread { values: Elements { mapping: Arc::new(mapping), ..array }, axes: vec![axis] })
}

/// The field with more metadata.
fn described(field: Arc<Field>, metadata: &BTreeMap<String, String>) -> Arc<Field> {
    if metadata.is_empty() {
        return field;
    }
    let mut all = field.metadata().clone();
    all.extend(metadata.iter().map(|(key, value)| (key.clone(), value.clone())));
    Arc::new(field.as_ref().clone().with_metadata(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::ArrayRef;

    #[test]
    fn definitions_are_plain_data() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let time: ArrayRef = Arc::new(arrow_array::Float64Array::from(vec![f64::NAN]));
        let definition = SegmentDefinition::new("/Step#0", vec![3], vec![3])
            .with_column("time", Values::Constant(Literal(time)))
            .with_column("x", Values::Linear { axis: 0, origin: 0.1, spacing: f64::INFINITY })
            .with_column("y", Values::Array(ArrayPart::whole("/Step#0/y")));
        let text = serde_json::to_string(&definition)?;
        let back: SegmentDefinition = serde_json::from_str(&text)?;
        assert_eq!(serde_json::to_string(&back)?, text);
        assert_eq!(back.names().collect::<Vec<_>>(), ["time", "x", "y"]);
        let Some(ColumnDefinition { values: Values::Linear { origin, spacing, .. }, .. }) = back.columns.get(1) else { return Err("no column".into()) };
        assert_eq!((*origin, *spacing), (0.1, f64::INFINITY));
        Ok(())
    }
}
