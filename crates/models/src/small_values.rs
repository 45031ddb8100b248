//! Values of few elements that say what other arrays mean: units, start times, offsets, texts.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, StringArray};
use arrow_schema::DataType;
use hyperslab_array::{Cancellation, Error, Result, Selection};
use hyperslab_columns::{Column, Conventions};
use hyperslab_formats::{Attributes, Dataset};
use serde_json::{Map, Number, Value};

use crate::budget::Budget;
use crate::look::{Member, values};

/// Bytes of an array that is read as a whole to know what a file means.
const MAX_BYTES: u64 = 1 << 20;

/// Whether a dataset has values, of at most 1 MiB.
pub(crate) fn is_small(dataset: &Dataset) -> bool {
    let bytes = dataset.dataspace.element_count().map(|count| count.saturating_mul(dataset.datatype.size().max(1)));
    bytes.is_ok_and(|bytes| (1..=MAX_BYTES).contains(&bytes))
}

/// The values of a dataset of few elements, flat; `None` if it is not a dataset, or has more than 1 MiB or no values.
///
/// # Errors
/// `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if they cannot be read.
pub(crate) fn values_of(member: &Member) -> Result<Option<ArrayRef>> {
    let (Ok((found, _)), Some(dataset)) = (&member.object, member.dataset()) else { return Ok(None) };
    if let Some(refusal) = &dataset.refusal {
        return Err(refusal.clone().at_object(&member.path));
    }
    if !is_small(dataset) {
        return Ok(None);
    }
    let read = || {
        let elements = found.file.read(found.object, &Selection::all(dataset.dataspace.shape()), &Cancellation::default())?;
        let column = Column::new(&member.name, &elements.datatype.with_references_as_bytes(), &[], Conventions::Raw)?;
        column.to_arrow(&elements.bytes, &elements.heap)
    };
    read().map(Some).map_err(|error| error.at_object(&member.path))
}

/// The one value of a dataset.
fn single(member: &Member) -> Result<Option<ArrayRef>> {
    let is_one = member.dataset().is_some_and(|dataset| dataset.dataspace.element_count().is_ok_and(|count| count == 1));
    if is_one { values_of(member) } else { Ok(None) }
}

/// The text of a dataset of one text.
pub(crate) fn text_in(member: Option<&Member>) -> Result<Option<String>> {
    let Some(values) = member.map(single).transpose()?.flatten() else { return Ok(None) };
    Ok(values.as_any().downcast_ref::<StringArray>().and_then(|texts| texts.iter().flatten().next().map(str::to_owned)))
}

/// The number in a dataset of one number.
pub(crate) fn number_in(member: Option<&Member>) -> Result<Option<f64>> {
    let Some(values) = member.map(single).transpose()?.flatten().filter(|values| values.data_type().is_numeric()) else { return Ok(None) };
    let doubles = arrow_cast::cast(&values, &DataType::Float64).map_err(|error| Error::internal(error.to_string()))?;
    Ok(doubles.as_primitive::<Float64Type>().iter().flatten().next())
}

/// An array as JSON: one value, or a list of several. Numbers that JSON cannot express become text: `NaN`, `Infinity`.
pub(crate) fn json(array: &ArrayRef) -> Value {
    let mut items: Vec<Value> = (0..array.len()).map(|index| item(array, index)).collect();
    if items.len() == 1 { items.pop().unwrap_or(Value::Null) } else { Value::Array(items) }
}

fn item(array: &ArrayRef, index: usize) -> Value {
    if array.is_null(index) {
        return Value::Null;
    }
    if let Some(texts) = array.as_any().downcast_ref::<StringArray>() {
        return Value::String(texts.value(index).to_owned());
    }
    if let Some(flags) = array.as_any().downcast_ref::<BooleanArray>() {
        return Value::Bool(flags.value(index));
    }
    let text = arrow_cast::display::array_value_to_string(array, index).unwrap_or_default();
    if array.data_type().is_integer() {
        return text.parse::<Number>().map_or(Value::String(text), Value::Number);
    }
    if array.data_type().is_floating() {
        let doubles = arrow_cast::cast(&array.slice(index, 1), &DataType::Float64).ok();
        let double = doubles.as_ref().and_then(|doubles| doubles.as_primitive::<Float64Type>().iter().flatten().next());
        return match double {
            Some(double) if double.is_infinite() => Value::String(if double > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()),
            Some(double) => Number::from_f64(double).map_or_else(|| Value::String("NaN".to_owned()), Value::Number),
            None => Value::String(text),
        };
    }
    Value::String(text)
}

/// Some attributes as members of a JSON object.
///
/// # Errors
/// `LimitExceeded` if the budget does not suffice.
pub(crate) fn put_attributes(into: &mut Map<String, Value>, attributes: &Attributes, names: &[&str], budget: &mut Budget) -> Result<()> {
    for name in names {
        if let Some(values) = attributes.get(name).and_then(|attribute| values(attribute).ok().flatten()) {
            budget.pay(cost(&values), name)?;
            into.insert((*name).to_owned(), json(&values));
        }
    }
    Ok(())
}

/// Bytes of an array as JSON, about.
pub(crate) fn cost(values: &ArrayRef) -> u64 {
    (values.get_array_memory_size() as u64).saturating_add((values.len() as u64).saturating_mul(64))
}

/// The values of a dataset of few elements as JSON; `None` if it is not a dataset, or has many elements.
pub(crate) fn member_json(member: &Member, budget: &mut Budget) -> Result<Option<Value>> {
    let Some(values) = values_of(member)? else { return Ok(None) };
    budget.pay(cost(&values).saturating_add(member.path.len() as u64), &member.path)?;
    Ok(Some(json(&values)))
}
