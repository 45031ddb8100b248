//! Columns that are put together from several arrays: codes with categories, values with a mask, ragged rows, scaled sums.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field, Metadata};
use hyperslab_array::{Cancellation, Error, ErrorKind, Result};

use super::elements::Elements;
use super::nulls::{flags, integers, masked};
use super::owners::Owners;
use super::patches::LoadedPatches;
use super::repeated::RepeatedAxis;
use super::values::Values;

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

impl Values<Elements> {
    /// The arrays that are read.
    pub(crate) fn arrays(&self) -> Vec<&Elements> {
        match self {
            Self::Index { .. } | Self::Linear { .. } | Self::Sampled { .. } | Self::Listed { .. } | Self::Constant(_) => Vec::new(),
            Self::Coordinate { .. } | Self::Texts { .. } => Vec::new(),
            Self::Missing { like: array } | Self::Array(array) => vec![array],
            Self::Categories { codes, categories, mask, .. } => [codes, categories].into_iter().chain(mask).collect(),
            Self::Masked { values, mask } => vec![values, mask],
            Self::Scaled { terms, factors, .. } => terms.iter().map(|term| &term.part).chain(factors.iter().map(|(factors, _)| factors)).collect(),
            Self::Lists { offsets, inner, values, .. } => [offsets, values].into_iter().chain(inner).collect(),
            Self::Vectors { values } | Self::Spread { values, .. } => vec![values],
            Self::Runs { starts, values, .. } => std::iter::once(starts).chain(values).collect(),
            Self::Connectivity { indexes, counts, .. } => std::iter::once(indexes).chain(counts).collect(),
            Self::Repeated { values, .. } => vec![values],
            Self::Joined { steps, values, .. } => steps.iter().map(|step| &step.part).chain(values).collect(),
            Self::Patches(patched) => patched.arrays(),
        }
    }

    /// Reads what all windows need. `known` is what was read for other columns; `shape` is the shape of the rows.
    pub(crate) fn load<'a>(&self, mut known: impl Iterator<Item = &'a Loaded>, shape: &[u64], cancellation: &Cancellation) -> Result<Loaded> {
        if let Self::Patches(patched) = self {
            let known: Vec<&LoadedPatches> = known.filter_map(|known| known.patches.as_ref()).collect();
            let patches = patched.load(&known, rows_of(shape)?, cancellation)?;
            return Ok(Loaded { patches: Some(patches), ..Loaded::default() });
        }
        let Self::Joined { axis, steps, values } = self else {
            return Ok(Loaded { values: self.dictionary(shape, cancellation)?, ..Loaded::default() });
        };
        let elements = shape.get(*axis).copied().ok_or_else(|| Error::internal("no such axis"))?;
        let owners = match known.find_map(|known| known.owners.as_ref().filter(|owners| owners.is_of(steps))) {
            Some(owners) => owners.clone(),
            None => Arc::new(Owners::load(steps, elements, cancellation)?),
        };
        let values = values.as_ref().map(|values| values.read_all(cancellation)).transpose()?;
        Ok(Loaded { values, owners: Some(owners), patches: None })
    }

    /// What all windows need, if there is such: the categories, null where their mask says so; the first rows of runs.
    fn dictionary(&self, shape: &[u64], cancellation: &Cancellation) -> Result<Option<ArrayRef>> {
        if let Self::Runs { starts, .. } = self {
            return run_starts(starts, rows_of(shape)?, cancellation).map(Some);
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
    pub(super) fn field(&self, name: &str) -> Result<Field> {
        Ok(match self {
            Self::Categories { codes, categories, ordered, .. } => {
                let values = categories.column.field();
                let text = *values.data_type() == DataType::Utf8;
                let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                let data_type = if text { dictionary } else { values.data_type().clone() };
                let field = Field::new(name, data_type, true).with_metadata(codes.column.field().metadata().clone());
                if text { field.with_dict_is_ordered(*ordered) } else { field }
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
            Self::Joined { values, .. } => match values {
                None => Field::new(name, DataType::Int64, false),
                Some(values) => {
                    let field = values.column.field().as_ref().clone().with_name(name);
                    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                    if *field.data_type() == DataType::Utf8 { field.with_data_type(dictionary) } else { field }
                }
            },
            _ => return Err(not_composed()),
        })
    }

    /// Approximate bytes of one of `rows` rows.
    pub(crate) fn row_bytes(&self, rows: u64) -> u64 {
        match self {
            Self::Categories { codes, .. } => codes.width(),
            Self::Masked { values, mask } => values.width().saturating_add(mask.width()),
            Self::Scaled { terms, .. } => terms.iter().map(|term| term.part.width()).sum(),
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
            Self::Joined { values, .. } => values.as_ref().map_or(8, |values| values.column.datatype().size().min(8)),
            _ => 8,
        }
    }
}

/// The error for values that are a source of their own, not put together from arrays.
pub(crate) fn not_composed() -> Error {
    Error::internal("a column that is not put together from arrays")
}

/// The number of rows of one dimension.
fn rows_of(shape: &[u64]) -> Result<u64> {
    shape.first().copied().ok_or_else(|| Error::internal("rows without a dimension"))
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
