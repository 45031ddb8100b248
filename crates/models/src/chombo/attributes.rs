//! Attributes of levels: a number, or one for each direction, as a list or as a compound.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::DataType;
use hyperslab_array::{Attribute, Datatype, Error, Result};
use hyperslab_formats::Attributes;
use hyperslab_scan::PatchBox;

use crate::look::{numbers, values};

/// Names of the directions of indexes and of space.
const DIRECTIONS: [(&str, &str); 3] = [("i", "x"), ("j", "y"), ("k", "z")];

/// The members of a compound attribute of one element.
fn record(attribute: &Attribute) -> Result<Option<StructArray>> {
    let is_compound = attribute.value.as_ref().is_ok_and(|elements| matches!(elements.datatype, Datatype::Compound { .. }));
    let array = if is_compound { values(attribute)? } else { None };
    Ok(array.and_then(|array| array.as_any().downcast_ref::<StructArray>().cloned()).filter(|record| record.len() == 1))
}

fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    arrow_cast::cast(array, to).map_err(|error| Error::internal(error.to_string()))
}

fn double(array: &ArrayRef) -> Result<Option<f64>> {
    if !array.data_type().is_numeric() {
        return Ok(None);
    }
    let doubles = cast(array, &DataType::Float64)?;
    Ok(doubles.as_primitive::<Float64Type>().iter().flatten().next())
}

fn integer(array: &ArrayRef) -> Result<Option<i64>> {
    if !array.data_type().is_integer() {
        return Ok(None);
    }
    let integers = cast(array, &DataType::Int64)?;
    Ok(integers.as_primitive::<Int64Type>().iter().flatten().next())
}

/// One number for each direction, from one number, a list, or a compound such as `intvect` and `realvect`. `None` without the
/// attribute, or if it is something else.
pub(super) fn vector(attributes: &Attributes, name: &str, dimensions: usize) -> Result<Option<Vec<f64>>> {
    let Some(attribute) = attributes.get(name) else { return Ok(None) };
    if let Some(record) = record(attribute)? {
        let member = |(index, space): &(&str, &str)| {
            let names = [format!("intvect{index}"), (*index).to_owned(), (*space).to_owned(), format!("realvect{space}")];
            names.iter().find_map(|name| record.column_by_name(name)).map(double).transpose().map(Option::flatten)
        };
        return DIRECTIONS.iter().take(dimensions).map(member).collect();
    }
    Ok(match numbers(attribute)? {
        Some(one) if one.len() == 1 => Some(one.repeat(dimensions)),
        Some(list) if list.len() == dimensions => Some(list),
        _ => None,
    })
}

/// As [`vector`], of whole numbers from `least` on; `None` for other values, too.
pub(super) fn counts(attributes: &Attributes, name: &str, dimensions: usize, least: u64) -> Result<Option<Vec<u64>>> {
    let whole = |number: f64| (number.fract() == 0.0 && (0.0..=f64::from(i32::MAX)).contains(&number)).then_some(number as u64);
    let Some(vector) = vector(attributes, name, dimensions)? else { return Ok(None) };
    Ok(vector.into_iter().map(|number| whole(number).filter(|number| *number >= least)).collect())
}

/// One number.
pub(super) fn number(attributes: &Attributes, name: &str) -> Result<Option<f64>> {
    Ok(vector(attributes, name, 1)?.and_then(|numbers| numbers.first().copied()))
}

/// A box: a compound with `lo_i`, `hi_i` and so on.
pub(super) fn domain(attributes: &Attributes, name: &str, dimensions: usize) -> Result<Option<PatchBox>> {
    let Some(record) = attributes.get(name).map(record).transpose()?.flatten() else { return Ok(None) };
    let mut found = PatchBox { low: [0; 3], high: [0; 3] };
    for (axis, (direction, _)) in DIRECTIONS.iter().enumerate().take(dimensions) {
        for (corner, prefix) in [(&mut found.low, "lo"), (&mut found.high, "hi")] {
            let member = record.column_by_name(&format!("{prefix}_{direction}")).map(integer).transpose()?.flatten();
            let (Some(member), Some(slot)) = (member, corner.get_mut(axis)) else { return Ok(None) };
            *slot = member;
        }
    }
    Ok(Some(found))
}
