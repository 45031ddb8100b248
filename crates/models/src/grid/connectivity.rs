//! Connectivity variables: which numbers are indexes, and which stand for none.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_schema::DataType;
use hyperslab_array::{Attribute, Datatype, Error, Result};

use super::variables::Variable;
use crate::look::{text_of, texts, values};

/// The numbers of a variable that stand for no index: `_FillValue` and `missing_value`, and flags that mean `out_of_mesh`.
pub(crate) fn missing(variable: &Variable) -> Result<Vec<i64>> {
    let mut missing = Vec::new();
    for name in ["_FillValue", "missing_value"] {
        if let Some(attribute) = variable.attributes.get(name) {
            missing.extend(whole_numbers(attribute)?);
        }
    }
    if let (Some(flags), Some(meanings)) = (variable.attributes.get("flag_values"), text_of(&variable.attributes, "flag_meanings")?) {
        let outside = whole_numbers(flags)?.into_iter().zip(meanings.split_whitespace()).filter(|(_, meaning)| *meaning == "out_of_mesh");
        missing.extend(outside.map(|(flag, _)| flag));
    }
    // A fill value is often given as -1, even if the indexes are unsigned.
    if let Datatype::Integer { size: size @ ..8, signed: false, .. } = variable.datatype {
        for number in missing.iter_mut().filter(|number| **number < 0) {
            *number += 1_i64 << (8 * size);
        }
    }
    Ok(missing)
}

/// The numbers of an attribute as indexes are compared: beyond 63 bits by their bits, floats cut off at 63 bits.
pub(crate) fn whole_numbers(attribute: &Attribute) -> Result<Vec<i64>> {
    let Some(array) = values(attribute)? else { return Ok(Vec::new()) };
    let cast = |to: &DataType| arrow_cast::cast(&array, to).map_err(|error| Error::internal(error.to_string()));
    Ok(match array.data_type() {
        DataType::UInt64 => array.as_primitive::<UInt64Type>().values().iter().map(|number| number.cast_signed()).collect(),
        kind if kind.is_floating() => {
            let doubles = cast(&DataType::Float64)?;
            let whole = doubles.as_primitive::<Float64Type>().values().iter().filter(|number| number.fract() == 0.0).map(|number| *number as i64);
            whole.collect()
        }
        kind if kind.is_integer() => cast(&DataType::Int64)?.as_primitive::<Int64Type>().iter().flatten().collect(),
        // Some programs write numbers as text.
        _ => texts(attribute)?.unwrap_or_default().iter().filter_map(|text| text.trim().parse().ok()).collect(),
    })
}
