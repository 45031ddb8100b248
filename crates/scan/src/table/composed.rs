//! Columns that are put together from several arrays: codes with categories, values with a mask, ragged rows, scaled sums.
#![expect(clippy::exhaustive_enums, reason = "a new composition must be handled by each reader")]

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field, Metadata};
use hyperslab_array::{Cancellation, Error, ErrorKind, Result};

use super::connectivity::IndexRule;
use super::elements::Elements;
use super::nulls::{flags, integers, masked};
use super::owners::{OwnerArray, Owners};
use super::patches::{LoadedPatches, Patched};
use super::ragged::Bounds;
use super::repeated::RepeatedAxis;

/// What is read once for a composed column.
#[derive(Debug, Clone, Default)]
pub(crate) struct Loaded {
    /// Categories, or the values of owners.
    pub values: Option<ArrayRef>,
    /// The owners of rows.
    pub owners: Option<Arc<Owners>>,
    /// The boxes whose cells are the rows.
    pub patches: Option<LoadedPatches>,
}

/// A column's values from several arrays.
#[derive(Debug, Clone)]
pub enum Composed {
    /// Sums of scaled values, as doubles.
    Scaled {
        /// One value for each row, with its factor.
        terms: Vec<(Elements, f64)>,
        /// What is added.
        constant: f64,
        /// A further factor for each index along a dimension of the rows: a whole 1-D array, and the dimension.
        factors: Option<(Box<Elements>, usize)>,
        /// Metadata of the column: the arrays' own attributes may be about values that are not scaled.
        metadata: BTreeMap<String, String>,
    },
    /// A category for each row. Codes below 0 are null.
    Categories {
        /// One code for each row: an index into the categories.
        codes: Elements,
        /// The categories, a whole 1-D array.
        categories: Elements,
        /// One flag for each category: whether it is null.
        mask: Option<Box<Elements>>,
    },
    /// Values that may be null.
    Masked {
        /// One value for each row.
        values: Elements,
        /// One flag for each row: whether the value is null.
        mask: Elements,
    },
    /// A list for each row, of any length.
    Lists {
        /// A whole 1-D array that says where the values of each row begin and end.
        offsets: Elements,
        /// What it holds.
        bounds: Bounds,
        /// Of lists of lists: a whole 1-D array with the end of each inner list.
        inner: Option<Box<Elements>>,
        /// A whole array. Beyond one dimension, each index of its first dimension has a vector.
        values: Elements,
        /// The values are indexes below this number; `None` if they are others.
        extent: Option<u64>,
    },
    /// A vector for each row: all elements at an index of the first dimension.
    Vectors {
        /// A whole array of several dimensions.
        values: Elements,
    },
    /// Values along some dimensions of the rows, the same at all indexes of the others.
    Spread {
        /// One value for each index along `axes`.
        values: Elements,
        /// The dimensions of the rows, in the order of the array's.
        axes: Vec<usize>,
    },
    /// Rows in runs: for each row, the number of its run, or a value of the run. Null before the first run.
    Runs {
        /// A whole 1-D array: the first row of each run. Runs may be empty.
        starts: Elements,
        /// A value for each run, a whole 1-D array.
        values: Option<Box<Elements>>,
        /// Number of rows.
        rows: u64,
    },
    /// A list of indexes for each row, from a 2-D array with padding.
    Connectivity {
        /// The whole array, as stored.
        indexes: Elements,
        /// A whole 1-D array: the number of indexes of each row. Without it, missing indexes end a list.
        counts: Option<Box<Elements>>,
        /// What the indexes mean.
        rule: IndexRule,
    },
    /// Elements of an array along some dimensions of the rows, repeated along the others.
    Repeated {
        /// The whole array.
        values: Elements,
        /// What its dimensions are.
        axes: Vec<RepeatedAxis>,
    },
    /// Values of the owner of each index along a dimension of the rows.
    Joined(Box<Joined>),
    /// Values of the cells of boxes.
    Patches(Box<Patched>),
}

/// Values of owners.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Joined {
    /// The dimension of the rows.
    pub(crate) axis: usize,
    /// From the rows to their owners.
    pub(crate) steps: Vec<OwnerArray>,
    /// A value for each owner; `None` for the indexes of the owners.
    pub(crate) values: Option<Elements>,
}

impl Composed {
    /// The arrays that are read.
    pub(crate) fn arrays(&self) -> Vec<&Elements> {
        match self {
            Self::Categories { codes, categories, mask } => [codes, categories].into_iter().chain(mask.as_deref()).collect(),
            Self::Masked { values, mask } => vec![values, mask],
            Self::Scaled { terms, factors, .. } => {
                terms.iter().map(|(elements, _)| elements).chain(factors.iter().map(|(elements, _)| elements.as_ref())).collect()
            }
            Self::Lists { offsets, inner, values, .. } => [offsets, values].into_iter().chain(inner.as_deref()).collect(),
            Self::Vectors { values } | Self::Spread { values, .. } => vec![values],
            Self::Runs { starts, values, .. } => std::iter::once(starts).chain(values.as_deref()).collect(),
            Self::Connectivity { indexes, counts, .. } => std::iter::once(indexes).chain(counts.as_deref()).collect(),
            Self::Repeated { values, .. } => vec![values],
            Self::Joined(joined) => joined.steps.iter().map(|step| &step.array).chain(&joined.values).collect(),
            Self::Patches(patched) => patched.arrays(),
        }
    }

    /// Reads what all windows need. `known` is what was read for other columns; `shape` is that of the rows.
    pub(crate) fn load<'a>(&self, mut known: impl Iterator<Item = &'a Loaded>, shape: &[u64], cancellation: &Cancellation) -> Result<Loaded> {
        if let Self::Patches(patched) = self {
            let patches = patched.load(&known.filter_map(|known| known.patches.as_ref()).collect::<Vec<_>>(), cancellation)?;
            return Ok(Loaded { patches: Some(patches), ..Loaded::default() });
        }
        let Self::Joined(joined) = self else { return Ok(Loaded { values: self.dictionary(cancellation)?, ..Loaded::default() }) };
        let elements = shape.get(joined.axis).copied().ok_or_else(|| Error::internal("no such axis"))?;
        let owners = match known.find_map(|known| known.owners.as_ref().filter(|owners| owners.is_of(&joined.steps))) {
            Some(owners) => owners.clone(),
            None => Arc::new(Owners::load(&joined.steps, elements, cancellation)?),
        };
        let values = joined.values.as_ref().map(|values| values.read_all(cancellation)).transpose()?;
        Ok(Loaded { values, owners: Some(owners), patches: None })
    }

    /// What all windows need, if there is such: the categories, null where their mask says so; the first rows of runs.
    fn dictionary(&self, cancellation: &Cancellation) -> Result<Option<ArrayRef>> {
        if let Self::Runs { starts, rows, .. } = self {
            return run_starts(starts, *rows, cancellation).map(Some);
        }
        let Self::Categories { categories, mask, .. } = self else { return Ok(None) };
        let values = categories.read_all(cancellation)?;
        let Some(mask) = mask else { return Ok(Some(values)) };
        let flags = flags(&mask.read_all(cancellation)?).map_err(|error| mask.place(error))?;
        if flags.len() != values.len() {
            return Err(mask.place(Error::new(ErrorKind::Corrupt, format!("a mask of {} flags for {} categories", flags.len(), values.len()))));
        }
        masked(&values, &flags).map(Some)
    }

    /// The column's field. Categories that are text become an Arrow dictionary, other categories plain values.
    pub(crate) fn field(&self, name: &str, ordered: bool) -> Result<Field> {
        Ok(match self {
            Self::Categories { codes, categories, .. } => {
                let values = categories.column.field();
                let text = *values.data_type() == DataType::Utf8;
                let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                let data_type = if text { dictionary } else { values.data_type().clone() };
                let field = Field::new(name, data_type, true).with_metadata(codes.column.field().metadata().clone());
                if text { field.with_dict_is_ordered(ordered) } else { field }
            }
            Self::Scaled { metadata, .. } => {
                let nullable = self.arrays().iter().any(|array| array.column.field().is_nullable());
                Field::new(name, DataType::Float64, nullable).with_metadata(metadata.clone().into_iter().collect::<Metadata>())
            }
            Self::Masked { values, .. } => values.column.field().as_ref().clone().with_name(name).with_nullable(true),
            Self::Lists { inner, values, .. } => {
                let (item, metadata) = item_of(values)?;
                let mut list = DataType::List(Arc::new(item));
                if inner.is_some() {
                    list = DataType::List(Arc::new(Field::new("item", list, false)));
                }
                Field::new(name, list, false).with_metadata(metadata)
            }
            Self::Vectors { values } => {
                let (item, metadata) = item_of(values)?;
                Field::new(name, item.data_type().clone(), false).with_metadata(metadata)
            }
            Self::Spread { values, .. } => values.column.field().as_ref().clone().with_name(name),
            Self::Runs { values: Some(values), .. } => values.column.field().as_ref().clone().with_name(name).with_nullable(true),
            Self::Runs { values: None, .. } => Field::new(name, DataType::Int64, true),
            Self::Connectivity { rule, .. } => Field::new(name, DataType::List(Arc::new(rule.item())), false),
            Self::Repeated { values, axes } => {
                let item = values.column.field();
                let length = match axes.last() {
                    Some(RepeatedAxis::List) => values.shape().ok().and_then(|shape| i32::try_from(*shape.last()?).ok()),
                    _ => None,
                };
                let Some(length) = length else { return Ok(item.as_ref().clone().with_name(name)) };
                let list = DataType::FixedSizeList(Arc::new(Field::new("item", item.data_type().clone(), item.is_nullable())), length);
                Field::new(name, list, false).with_metadata(item.metadata().clone())
            }
            Self::Patches(patched) => patched.field(name),
            Self::Joined(joined) => match &joined.values {
                None => Field::new(name, DataType::Int64, false),
                Some(values) => {
                    let field = values.column.field().as_ref().clone().with_name(name);
                    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                    if *field.data_type() == DataType::Utf8 { field.with_data_type(dictionary) } else { field }
                }
            },
        })
    }

    /// Approximate bytes of one of `rows` rows.
    pub(crate) fn row_bytes(&self, rows: u64) -> u64 {
        match self {
            Self::Categories { codes, .. } => codes.width(),
            Self::Masked { values, mask } => values.width().saturating_add(mask.width()),
            Self::Scaled { terms, .. } => terms.iter().map(|(elements, _)| elements.width()).sum(),
            Self::Vectors { values } => {
                let count = values.shape().map_or(1, |shape| shape.iter().skip(1).fold(1, |n: u64, extent| n.saturating_mul(*extent)));
                count.saturating_mul(values.width())
            }
            Self::Spread { values, .. } => values.width(),
            Self::Runs { values, .. } => values.as_ref().map_or(8, |values| values.width()),
            Self::Lists { offsets, values, .. } => {
                let count = values.shape().map_or(0, |shape| shape.iter().fold(1, |n: u64, extent| n.saturating_mul(*extent)));
                offsets.width().saturating_add(count.saturating_mul(values.width()) / rows.max(1))
            }
            Self::Connectivity { indexes, .. } => {
                let count = indexes.shape().map_or(0, |shape| shape.iter().fold(1, |n: u64, extent| n.saturating_mul(*extent)));
                count.saturating_mul(8) / rows.max(1)
            }
            Self::Repeated { values, axes } => match axes.last() {
                Some(RepeatedAxis::List) => values.shape().map_or(1, |shape| shape.last().copied().unwrap_or(1)).saturating_mul(values.width()),
                _ => values.column.datatype().size(),
            },
            Self::Patches(patched) => patched.row_bytes(),
            Self::Joined(joined) => joined.values.as_ref().map_or(8, |values| values.column.datatype().size().min(8)),
        }
    }
}

/// The items of lists of an array's values: values, or beyond one dimension vectors, with the metadata of the array's column.
fn item_of(values: &Elements) -> Result<(Field, Metadata)> {
    let own = values.column.field();
    let (value, mut metadata) = (Field::new("item", own.data_type().clone(), own.is_nullable()), own.metadata().clone());
    let shape = values.shape()?;
    let Some((_, rest)) = shape.split_first().filter(|(_, rest)| !rest.is_empty()) else { return Ok((value, metadata)) };
    let length = rest.iter().try_fold(1u64, |length, extent| length.checked_mul(*extent)).and_then(|length| i32::try_from(length).ok());
    let length = length.ok_or_else(|| values.place(Error::unsupported(format!("vectors of shape {rest:?} are longer than an Arrow list can be"))))?;
    metadata.insert("shape".to_owned(), format!("[{}]", rest.iter().map(u64::to_string).collect::<Vec<_>>().join(",")));
    Ok((Field::new("item", DataType::FixedSizeList(Arc::new(value), length), false), metadata))
}

/// The first row of each run. `Corrupt` if these decrease or lead beyond the rows.
fn run_starts(starts: &Elements, rows: u64, cancellation: &Cancellation) -> Result<ArrayRef> {
    let read = integers(&starts.read_all(cancellation)?).map_err(|error| starts.place(error))?;
    let corrupt = |message: String| starts.place(Error::new(ErrorKind::Corrupt, message));
    let mut before = 0;
    for (run, start) in read.iter().enumerate() {
        if *start < before {
            return Err(corrupt(format!("run {run} begins at {start}, before {before}, where the run before it begins")));
        }
        if u64::try_from(*start).is_ok_and(|start| start > rows) {
            return Err(corrupt(format!("run {run} begins at {start}, but there are {rows} rows")));
        }
        before = *start;
    }
    Ok(Arc::new(Int64Array::new(read, None)))
}
