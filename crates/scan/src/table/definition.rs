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
use super::bits;
use super::column_order::ColumnOrder;
use super::composed::{Composed, Joined};
use super::connectivity::IndexRule;
use super::definition_arrays::{ArrayPart, OwnerStep, Resolver, Stage, is_text_of_characters, member_index};
use super::elements::Elements;
use super::literal::Literal;
use super::mapping::{DimensionMapping, RowMapping};
use super::members::Omitted;
use super::patch_definition::{BoxList, PatchValues, list_values, patch_values, resolve_patches};
use super::ragged::Bounds;
use super::repeated::RepeatedAxis;
use super::segment::{Segment, SegmentColumn, Source, metadata_columns};

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

/// The values of a column.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Values {
    /// Indexes along a dimension of the rows.
    Index {
        /// The dimension.
        axis: usize,
    },
    /// `origin + index * spacing` along a dimension of the rows.
    Linear {
        /// The dimension.
        axis: usize,
        /// Value at index 0.
        #[serde(with = "bits")]
        origin: f64,
        /// Distance between the values of adjacent indexes.
        #[serde(with = "bits")]
        spacing: f64,
    },
    /// `index / rate + origin` along a dimension of the rows: the times of regular samples.
    Sampled {
        /// The dimension.
        axis: usize,
        /// Value at index 0.
        #[serde(with = "bits")]
        origin: f64,
        /// Samples for each unit of the values.
        #[serde(with = "bits")]
        rate: f64,
    },
    /// One value for each index along a dimension of the rows.
    Listed {
        /// The dimension.
        axis: usize,
        /// The values.
        values: Literal,
    },
    /// Values of a coordinate dataset of the segment's file along a dimension: all, or `(start, count, step)`.
    Coordinate {
        /// The dimension.
        axis: usize,
        /// Path of the dataset.
        dataset: String,
        /// Start, count and step.
        part: Option<(u64, u64, u64)>,
        /// Conversion to other units.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        units: Option<UnitConversion>,
    },
    /// Texts of a 2-D dataset of single characters along a dimension of the rows, without padding.
    Texts {
        /// The dimension.
        axis: usize,
        /// Path of the dataset.
        dataset: String,
    },
    /// The same value in every row: an array of one value, which may be null.
    Constant(Literal),
    /// Null in every row: other segments of the table have an array that this one lacks.
    Missing {
        /// An array of another segment, whose type the column has.
        like: ArrayPart,
    },
    /// Elements of an array.
    Array(ArrayPart),
    /// Codes into a list of categories, a 1-D array. Codes below 0 are null. Text becomes an Arrow dictionary.
    Categories {
        /// One code for each row.
        codes: ArrayPart,
        /// The categories, a whole 1-D array, or a scalar for a single one.
        categories: ArrayPart,
        /// One flag for each category: whether it is null.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mask: Option<ArrayPart>,
        /// Whether the categories have an order.
        ordered: bool,
    },
    /// Values that may be null.
    Masked {
        /// One value for each row.
        values: ArrayPart,
        /// One flag for each row: whether the value is null.
        mask: ArrayPart,
    },
    /// Ragged rows, as lists.
    Lists {
        /// A 1-D array, or what is left of it from some index on: where the values of each row begin, or end.
        offsets: ArrayPart,
        /// What it holds.
        #[serde(default, skip_serializing_if = "Bounds::is_offsets")]
        bounds: Bounds,
        /// Of lists of lists: a whole 1-D array with the end of each inner list.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inner: Option<ArrayPart>,
        /// A whole array, or what is left of a list from some index on. Beyond one dimension, the items are vectors.
        values: ArrayPart,
        /// The items are indexes below this number; others are an error. `None` if they are other values.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        extent: Option<u64>,
    },
    /// A vector for each row: all elements at an index of the first dimension of a whole array.
    Vectors {
        /// An array of several dimensions.
        values: ArrayPart,
    },
    /// Values along some dimensions of the rows, the same at all indexes of the others.
    Spread {
        /// One value for each index along `axes`.
        values: ArrayPart,
        /// The dimensions of the rows, in the order of the array's.
        axes: Vec<usize>,
    },
    /// Rows in runs: the number of the run of each row, or a value of the run.
    Runs {
        /// A whole 1-D array: the first row of each run.
        starts: ArrayPart,
        /// A whole 1-D array: a value for each run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        values: Option<ArrayPart>,
    },
    /// Doubles: the sum of arrays, each multiplied with a factor, and of a constant.
    Scaled {
        /// At least one.
        terms: Vec<Term>,
        /// What is added.
        #[serde(with = "bits")]
        constant: f64,
        /// A further factor for each index along a dimension: a whole 1-D array, and the dimension.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        factors: Option<(ArrayPart, usize)>,
        /// Metadata of the column, such as its unit.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        metadata: BTreeMap<String, String>,
    },
    /// Lists of indexes from a 2-D array with padding, such as the nodes of faces.
    Connectivity {
        /// The whole 2-D array.
        indexes: ArrayPart,
        /// A whole 1-D array: the number of indexes of each row.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counts: Option<ArrayPart>,
        /// What the indexes mean.
        rule: IndexRule,
    },
    /// An array along some dimensions of the rows, whose elements are repeated along the others.
    Repeated {
        /// The whole array.
        values: ArrayPart,
        /// What each of its dimensions is. A dimension of the rows occurs once at most.
        axes: Vec<RepeatedAxis>,
    },
    /// Values of owners, such as the position of the station that observed.
    Joined {
        /// The dimension of the rows whose indexes have owners.
        axis: usize,
        /// From rows to their owners, the owners of these, and so on; at least one.
        steps: Vec<OwnerStep>,
        /// A value for each of the last owners: a whole 1-D array, or a 2-D array of characters. `None` for their indexes.
        values: Option<ArrayPart>,
    },
    /// Values of the cells of boxes: rows are cells, box after box, the first index fastest.
    Patches {
        /// The boxes.
        boxes: Box<BoxList>,
        /// Number of directions: 1 to 3.
        dimensions: usize,
        /// What the column holds.
        what: Box<PatchValues>,
    },
}

impl Values {
    /// Ragged rows whose values begin and end at `offsets`, one more than there are rows.
    pub fn lists(offsets: ArrayPart, values: ArrayPart) -> Self {
        Self::Lists { offsets, bounds: Bounds::Offsets, inner: None, values, extent: None }
    }

    /// As [`Values::lists`], of indexes from 0 up to `extent`.
    pub fn index_lists(offsets: ArrayPart, values: ArrayPart, extent: u64) -> Self {
        Self::Lists { offsets, bounds: Bounds::Offsets, inner: None, values, extent: Some(extent) }
    }

    /// The sum of `terms` and `constant`.
    pub fn scaled(terms: Vec<Term>, constant: f64) -> Self {
        Self::Scaled { terms, constant, factors: None, metadata: BTreeMap::new() }
    }
}

/// An array with a factor.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Term {
    /// One value for each row.
    part: ArrayPart,
    #[serde(with = "bits")]
    factor: f64,
}

impl Term {
    /// The values of `part`, multiplied with `factor`.
    pub fn new(part: ArrayPart, factor: f64) -> Self {
        Self { part, factor }
    }
}

/// A conversion of units in a definition: doubles that are `factor` times the values of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnitConversion {
    /// What values are multiplied by.
    #[serde(with = "bits")]
    factor: f64,
    /// Name of the units.
    name: String,
}

impl UnitConversion {
    /// From radians to `name`, the degrees of a longitude or latitude.
    pub fn degrees(name: impl Into<String>) -> Self {
        Self { factor: 180.0 / std::f64::consts::PI, name: name.into() }
    }
}

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
        let index = |file: &File| files.iter().position(|known| known.name() == file.name()).ok_or_else(|| Error::internal("a column without a file"));
        let path = |file: &File, dataset: ObjectId| file.path_of(dataset).map(|path| path.to_string());
        let part = |array: &Elements| -> Result<ArrayPart> {
            let mapping = &array.mapping;
            Ok(ArrayPart {
                file: index(&mapping.file)?,
                path: path(&mapping.file, array.dataset)?,
                dimensions: Some(mapping.dimensions.clone()),
                member: array.member.clone(),
                units: array.column.assumed_units().map(str::to_owned),
                inherits: array.inherits.clone(),
                timevals: array.column.datatype().has_timevals(),
            })
        };
        // Of these parts the dimensions are given by other means.
        let whole = |array: &Elements| part(array).map(|part| ArrayPart { dimensions: None, ..part });
        let mut columns = Vec::new();
        for column in &segment.columns {
            let values = match &column.source {
                Source::Index { axis } => Values::Index { axis: *axis },
                Source::Along { axis, values: AlongValues::Linear { origin, spacing } } => Values::Linear { axis: *axis, origin: *origin, spacing: *spacing },
                Source::Along { axis, values: AlongValues::Sampled { origin, rate } } => Values::Sampled { axis: *axis, origin: *origin, rate: *rate },
                Source::Along { axis, values: AlongValues::Listed(values) } => Values::Listed { axis: *axis, values: Literal(values.clone()) },
                Source::Coordinate { axis, dataset, column } if is_text_of_characters(&segment.file, *dataset, column)? => {
                    Values::Texts { axis: *axis, dataset: path(&segment.file, *dataset)? }
                }
                Source::Coordinate { axis, dataset, column } => {
                    let units = column.units().map(|units| UnitConversion { factor: units.factor, name: units.name.clone() });
                    let part = segment.coordinate_parts.iter().find(|(part, _)| part == dataset).map(|(_, axis)| match axis {
                        Axis::Range { start, count, step } => Ok((*start, *count, *step)),
                        Axis::Indices(_) | Axis::Runs(_) => Err(Error::internal("a part of coordinates that is not a range")),
                    });
                    Values::Coordinate { axis: *axis, dataset: path(&segment.file, *dataset)?, part: part.transpose()?, units }
                }
                Source::Variable { dataset, per_row: None, column } => {
                    let units = column.assumed_units().map(str::to_owned);
                    Values::Array(ArrayPart { file: index(&segment.file)?, units, ..ArrayPart::whole(path(&segment.file, *dataset)?) })
                }
                Source::Mapped { dataset, column, mapping } => Values::Array(part(&Elements {
                    dataset: *dataset,
                    column: column.as_ref().clone(),
                    mapping: mapping.clone(),
                    member: None,
                    inherits: None,
                })?),
                Source::Composed(composed) => match composed.as_ref() {
                    Composed::Categories { codes, categories, mask } => {
                        let ordered = column.field.dict_is_ordered().unwrap_or(false);
                        Values::Categories { codes: part(codes)?, categories: part(categories)?, mask: mask.as_deref().map(part).transpose()?, ordered }
                    }
                    Composed::Masked { values, mask } => Values::Masked { values: part(values)?, mask: part(mask)? },
                    Composed::Lists { offsets, bounds, inner, values, extent } => {
                        let inner = inner.as_deref().map(part).transpose()?;
                        Values::Lists { offsets: part(offsets)?, bounds: *bounds, inner, values: part(values)?, extent: *extent }
                    }
                    Composed::Vectors { values } => Values::Vectors { values: part(values)? },
                    Composed::Spread { values, axes } => Values::Spread { values: part(values)?, axes: axes.clone() },
                    Composed::Runs { starts, values, .. } => Values::Runs { starts: part(starts)?, values: values.as_deref().map(part).transpose()? },
                    Composed::Scaled { terms, constant, factors, metadata } => {
                        let terms = terms.iter().map(|(elements, factor)| Ok(Term::new(part(elements)?, *factor)));
                        let factors = factors.as_ref().map(|(elements, axis)| Ok::<_, Error>((part(elements)?, *axis))).transpose()?;
                        Values::Scaled { terms: terms.collect::<Result<_>>()?, constant: *constant, factors, metadata: metadata.clone() }
                    }
                    Composed::Connectivity { indexes, counts, rule } => {
                        let counts = counts.as_deref().map(part).transpose()?;
                        Values::Connectivity { indexes: part(indexes)?, counts, rule: rule.clone() }
                    }
                    Composed::Patches(patched) => {
                        let boxes = Box::new(list_values(&patched.boxes, whole)?);
                        Values::Patches { boxes, dimensions: patched.dimensions, what: Box::new(patch_values(patched, whole)?) }
                    }
                    Composed::Repeated { values, axes } => Values::Repeated { values: whole(values)?, axes: axes.clone() },
                    Composed::Joined(joined) => {
                        let steps = joined.steps.iter().map(|step| Ok(OwnerStep::new(whole(&step.array)?, step.ownership, step.owners)));
                        let values = joined.values.as_ref().map(whole).transpose()?;
                        Values::Joined { axis: joined.axis, steps: steps.collect::<Result<_>>()?, values }
                    }
                },
                Source::Constant(value) => Values::Constant(Literal(value.clone())),
                // Every segment has a row number and the name of its file.
                Source::Row | Source::File => continue,
                Source::Member { dataset, member, column } => {
                    let description = segment.file.dataset(*dataset)?;
                    let name = match &description.datatype {
                        Datatype::Compound { members, .. } => members.get(*member).map(|member| member.name.clone()),
                        _ => None,
                    };
                    let name = name.ok_or_else(|| Error::internal("a member of a dataset that does not have it"))?;
                    let whole = ArrayPart::whole(path(&segment.file, *dataset)?).with_member(name);
                    Values::Array(ArrayPart { file: index(&segment.file)?, timevals: column.datatype().has_timevals(), ..whole })
                }
                Source::Variable { .. } => return Err(Error::internal("a column that is not an array")),
            };
            let metadata = column.field.metadata().iter().filter(|(key, _)| key.starts_with(METADATA_PREFIX));
            let metadata = metadata.map(|(key, value)| (key.clone(), value.clone())).collect();
            columns.push(ColumnDefinition { name: column.field.name().clone(), values, metadata });
        }
        let (shape, chunk_shape) = (segment.shape.clone(), segment.chunk_shape.clone());
        Ok(Self {
            path: segment.path.clone(),
            file: index(&segment.file)?,
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
    /// `NotFound` for a missing array; `InvalidInput` for an array whose shape is not that of the rows; `Unsupported` for
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
        let malformed = |what: &str| match stage {
            Stage::Defined => Error::internal(format!("the definition of a table: {what}")),
            Stage::Planned => Error::invalid_input(format!("these bytes are not a split: {what}")),
        };
        let opened = files.first().ok_or_else(|| malformed("no file"))?;
        let home = match stage {
            Stage::Defined => self.home(opened),
            Stage::Planned => files.get(self.file).ok_or_else(|| malformed("a file without a name"))?.clone(),
        };
        let file = &home;
        if self.chunk_shape.len() != self.shape.len() || self.chunk_shape.contains(&0) {
            return Err(malformed("the shape of its chunks"));
        }
        let extent = |axis: usize| self.shape.get(axis).copied().ok_or_else(|| malformed("a dimension too many"));
        let resolver = Resolver { files, decode, stage };
        let mut columns: Vec<SegmentColumn> = Vec::with_capacity(self.columns.len() + 2);
        let mut coordinate_parts = Vec::new();
        for ColumnDefinition { name, values, metadata } in &self.columns {
            let plain = |data_type: DataType, nullable| Arc::new(Field::new(name, data_type, nullable));
            let (field, source) = match values {
                Values::Index { axis } => {
                    extent(*axis)?;
                    (plain(DataType::Int64, false), Source::Index { axis: *axis })
                }
                Values::Linear { axis, origin, spacing } => {
                    extent(*axis)?;
                    let values = AlongValues::Linear { origin: *origin, spacing: *spacing };
                    (plain(DataType::Float64, false), Source::Along { axis: *axis, values })
                }
                Values::Sampled { axis, origin, rate } => {
                    extent(*axis)?;
                    let values = AlongValues::Sampled { origin: *origin, rate: *rate };
                    (plain(DataType::Float64, false), Source::Along { axis: *axis, values })
                }
                Values::Listed { axis, values: Literal(values) } => {
                    if extent(*axis)? != values.len() as u64 {
                        return Err(malformed("a list of another length than its dimension"));
                    }
                    let field = plain(values.data_type().clone(), values.null_count() > 0);
                    (field, Source::Along { axis: *axis, values: AlongValues::Listed(values.clone()) })
                }
                Values::Constant(Literal(value)) => {
                    if value.len() != 1 {
                        return Err(malformed("a constant of several values"));
                    }
                    (plain(value.data_type().clone(), value.null_count() > 0), Source::Constant(value.clone()))
                }
                Values::Missing { like } => {
                    let like = resolver.array(name, like)?;
                    let field = like.column.field().as_ref().clone().with_nullable(true);
                    let null = arrow_array::new_null_array(field.data_type(), 1);
                    (Arc::new(field), Source::Constant(null))
                }
                Values::Texts { axis, dataset } => {
                    let count = extent(*axis)?;
                    let part = ArrayPart { file: self.file, ..ArrayPart::whole(dataset.clone()) };
                    let array = resolver.texts(name, &part, count)?;
                    if array.mapping.file == *file {
                        let Elements { dataset, column, .. } = array;
                        (column.field().clone(), Source::Coordinate { axis: *axis, dataset, column: Arc::new(column) })
                    } else {
                        let axes = vec![RepeatedAxis::Row(*axis), RepeatedAxis::Text];
                        let composed = Composed::Repeated { values: resolver.repeated(name, &part, &axes, &self.shape)?, axes };
                        (Arc::new(composed.field(name, false)?), Source::Composed(Arc::new(composed)))
                    }
                }
                Values::Coordinate { axis, dataset, part, units } => {
                    let count = extent(*axis)?;
                    let array = resolver.array(name, &ArrayPart { file: self.file, ..ArrayPart::whole(dataset.clone()) })?;
                    match part {
                        None => resolver.check_whole(&array, &[count])?,
                        Some((start, length, step)) => {
                            if *length != count {
                                return Err(malformed("coordinates of another length"));
                            }
                            resolver.check_within(&array, &[DimensionMapping::Rows { start: *start, step: *step }], &[count])?;
                        }
                    }
                    if array.mapping.file == *file {
                        if let Some((start, _, step)) = part {
                            coordinate_parts.push((array.dataset, Axis::Range { start: *start, count, step: *step }));
                        }
                        let Elements { dataset, mut column, .. } = array;
                        if let Some(UnitConversion { factor, name }) = units {
                            column = column.with_units(Units { factor: *factor, name: name.clone() }).map_err(|error| file.place(dataset, error))?;
                        }
                        (column.field().clone(), Source::Coordinate { axis: *axis, dataset, column: Arc::new(column) })
                    } else {
                        let composed = elsewhere(array, *axis, *part, units.as_ref())?;
                        (Arc::new(composed.field(name, false)?), Source::Composed(Arc::new(composed)))
                    }
                }
                Values::Array(part) => {
                    let array = resolver.rows(name, part, &self.shape)?;
                    let Elements { dataset, column, mapping, member, .. } = array;
                    let field = column.field().clone();
                    if let Some(member) = member {
                        let field = described(field, metadata);
                        if part.dimensions.is_some() {
                            return Err(malformed("part of a member of a compound dataset"));
                        }
                        if mapping.file != *file {
                            let message = format!("a table of compound datasets in two files, {} and {}", file.name(), mapping.file.name());
                            return Err(mapping.file.place(dataset, Error::unsupported(message)));
                        }
                        let member = member_index(&*file.dataset(dataset)?, &member)?;
                        columns.push(SegmentColumn { field, source: Source::Member { dataset, member, column: Arc::new(column) } });
                        continue;
                    }
                    match part.dimensions.is_none() && mapping.file == *file {
                        true => (field, Source::Variable { dataset, column: Arc::new(column), per_row: None }),
                        false => (field, Source::Mapped { dataset, column: Arc::new(column), mapping }),
                    }
                }
                Values::Categories { codes, categories, mask, ordered } => {
                    let mask = mask.as_ref().map(|mask| resolver.list(name, mask, None).map(Box::new)).transpose()?;
                    let (codes, categories) = (resolver.rows(name, codes, &self.shape)?, resolver.categories(name, categories)?);
                    let composed = Composed::Categories { codes, categories, mask };
                    (Arc::new(composed.field(name, *ordered)?), Source::Composed(Arc::new(composed)))
                }
                Values::Masked { values, mask } => {
                    let composed = Composed::Masked { values: resolver.rows(name, values, &self.shape)?, mask: resolver.rows(name, mask, &self.shape)? };
                    (Arc::new(composed.field(name, false)?), Source::Composed(Arc::new(composed)))
                }
                Values::Connectivity { indexes, counts, rule } => {
                    let [rows] = self.shape.as_slice() else { return Err(malformed("lists of indexes in rows of several dimensions")) };
                    let raw = Resolver { decode: false, ..resolver };
                    let counts = counts.as_ref().map(|counts| raw.list(name, counts, Some(*rows)).map(Box::new)).transpose()?;
                    let composed = Composed::Connectivity { indexes: raw.table(name, indexes, rule, *rows)?, counts, rule: rule.clone() };
                    (Arc::new(composed.field(name, false)?), Source::Composed(Arc::new(composed)))
                }
                Values::Scaled { terms, constant, factors, metadata } => {
                    let terms = terms.iter().map(|Term { part, factor }| Ok((resolver.numbers(name, part, &self.shape)?, *factor)));
                    let terms = terms.collect::<Result<Vec<_>>>()?;
                    if terms.is_empty() {
                        return Err(malformed("a sum without terms"));
                    }
                    let factors = match factors {
                        Some((part, axis)) => Some((Box::new(resolver.numbers(name, part, &[extent(*axis)?])?), *axis)),
                        None => None,
                    };
                    let composed = Composed::Scaled { terms, constant: *constant, factors, metadata: metadata.clone() };
                    (Arc::new(composed.field(name, false)?), Source::Composed(Arc::new(composed)))
                }
                Values::Lists { offsets, bounds, inner, values, extent } => {
                    let [rows] = self.shape.as_slice() else { return Err(malformed("ragged rows of several dimensions")) };
                    let count = bounds.length(*rows).ok_or_else(|| malformed("too many rows"))?;
                    let offsets = resolver.list_or_rest(name, offsets, Some(count))?;
                    let inner = inner.as_ref().map(|inner| resolver.list(name, inner, None).map(Box::new)).transpose()?;
                    let composed = Composed::Lists { offsets, bounds: *bounds, inner, values: resolver.list_or_rest(name, values, None)?, extent: *extent };
                    (Arc::new(composed.field(name, false)?), Source::Composed(Arc::new(composed)))
                }
                Values::Vectors { values } => {
                    let [rows] = self.shape.as_slice() else { return Err(malformed("vectors in rows of several dimensions")) };
                    let composed = Composed::Vectors { values: resolver.whole(name, values, Some(*rows))? };
                    (Arc::new(composed.field(name, false)?), Source::Composed(Arc::new(composed)))
                }
                Values::Spread { values, axes } => {
                    let distinct: BTreeSet<&usize> = axes.iter().collect();
                    if distinct.len() != axes.len() {
                        return Err(malformed("a dimension twice"));
                    }
                    let shape = axes.iter().map(|axis| extent(*axis)).collect::<Result<Vec<u64>>>()?;
                    let composed = Composed::Spread { values: resolver.rows(name, values, &shape)?, axes: axes.clone() };
                    (Arc::new(composed.field(name, false)?), Source::Composed(Arc::new(composed)))
                }
                Values::Runs { starts, values } => {
                    let [rows] = self.shape.as_slice() else { return Err(malformed("runs in rows of several dimensions")) };
                    let starts = resolver.list(name, starts, None)?;
                    let runs = starts.shape()?.first().copied();
                    let values = values.as_ref().map(|values| resolver.list(name, values, runs).map(Box::new)).transpose()?;
                    let composed = Composed::Runs { starts, values, rows: *rows };
                    (Arc::new(composed.field(name, false)?), Source::Composed(Arc::new(composed)))
                }
                Values::Repeated { values, axes } => {
                    let composed = Composed::Repeated { values: resolver.repeated(name, values, axes, &self.shape)?, axes: axes.clone() };
                    (Arc::new(composed.field(name, false)?), Source::Composed(Arc::new(composed)))
                }
                Values::Patches { boxes, dimensions, what } => {
                    let [rows] = self.shape.as_slice() else { return Err(malformed("cells of boxes in rows of several dimensions")) };
                    let patched = resolve_patches(&resolver, name, boxes, *dimensions, what, *rows)?;
                    let composed = Composed::Patches(Box::new(patched.ok_or_else(|| malformed("boxes of other dimensions"))?));
                    (Arc::new(composed.field(name, false)?), Source::Composed(Arc::new(composed)))
                }
                Values::Joined { axis, steps, values } => {
                    let (steps, owners) = resolver.owners(name, steps, extent(*axis)?)?;
                    let values = values.as_ref().map(|values| resolver.of_owners(name, values, owners)).transpose()?;
                    let composed = Composed::Joined(Box::new(Joined { axis: *axis, steps, values }));
                    (Arc::new(composed.field(name, false)?), Source::Composed(Arc::new(composed)))
                }
            };
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
}

/// Coordinates along a dimension of the rows, in another file than that of the segment.
fn elsewhere(array: Elements, axis: usize, part: Option<(u64, u64, u64)>, units: Option<&UnitConversion>) -> Result<Composed> {
    if units.is_some() {
        let message = "coordinates in another file than other coordinates of the table, whose units are converted";
        return Err(array.place(Error::unsupported(message)));
    }
    let (start, step) = part.map_or((0, 1), |(start, _, step)| (start, step));
    let mapping = RowMapping { file: array.mapping.file.clone(), dimensions: vec![DimensionMapping::Rows { start, step }] };
    Ok(Composed::Spread { values: Elements { mapping: Arc::new(mapping), ..array }, axes: vec![axis] })
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
