//! What the attributes of a variable say, as JSON in the metadata of its column.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use hyperslab_array::Attribute;
use hyperslab_array::Result;
use serde_json::{Map, Value, json};

use super::cell_methods;
use super::group::{Group, text};
use super::roles::grid_mapping_of;
use crate::grid::variables::Variable;
use crate::look::values;

/// `cell_methods` and `grid_mapping`. Attributes that do not parse are ignored: `validate` reports them.
pub(crate) fn metadata(group: &Group, variable: &Variable) -> BTreeMap<String, String> {
    let mut metadata = BTreeMap::new();
    if let Some(Ok(methods)) = text(variable, "cell_methods").map(|text| cell_methods::parse(&text)) {
        metadata.insert("cell_methods".to_owned(), cell_methods::json(&methods).to_string());
    }
    if let Some(Ok(mapping)) = grid_mapping_of(group, variable).map(grid_mapping) {
        metadata.insert("grid_mapping".to_owned(), mapping.to_string());
    }
    metadata
}

/// Attributes of a grid mapping (CF appendix F) that are text; those that are one number; and those that are several.
const TEXTS: [&str; 9] = [
    "grid_mapping_name",
    "crs_wkt",
    "geographic_crs_name",
    "geoid_name",
    "geopotential_datum_name",
    "horizontal_datum_name",
    "prime_meridian_name",
    "projected_crs_name",
    "reference_ellipsoid_name",
];
const NUMBERS: [&str; 19] = [
    "azimuth_of_central_line",
    "earth_radius",
    "false_easting",
    "false_northing",
    "grid_north_pole_latitude",
    "grid_north_pole_longitude",
    "inverse_flattening",
    "latitude_of_projection_origin",
    "longitude_of_central_meridian",
    "longitude_of_prime_meridian",
    "longitude_of_projection_origin",
    "north_pole_grid_longitude",
    "perspective_point_height",
    "scale_factor_at_central_meridian",
    "scale_factor_at_projection_origin",
    "semi_major_axis",
    "semi_minor_axis",
    "straight_vertical_longitude_from_pole",
    "standard_parallel",
];

/// The attributes of a grid mapping by their names, and the name of its variable. `Err` says what is wrong.
pub(crate) fn grid_mapping(variable: &Variable) -> std::result::Result<Value, String> {
    let mut object = Map::from_iter([("variable".to_owned(), json!(variable.name))]);
    for attribute in &variable.attributes.list {
        let value = value(attribute).map_err(|error| format!("its attribute {} cannot be read: {}", attribute.name, error.message()))?;
        let name = attribute.name.as_str();
        let count = value.as_array().map_or(1, Vec::len);
        let is_number = |value: &Value| value.is_number();
        let all_numbers = value.as_array().map_or_else(|| is_number(&value), |list| list.iter().all(is_number));
        let most = if name == "standard_parallel" { 2 } else { 1 };
        if NUMBERS.contains(&name) && (!all_numbers || count > most || count == 0) {
            return Err(format!("its attribute {name} is {value}, not {}", if most == 1 { "a number" } else { "one number or two" }));
        }
        if TEXTS.contains(&name) && !value.is_string() {
            return Err(format!("its attribute {name} is {value}, not text"));
        }
        object.insert(name.to_owned(), value);
    }
    match object.get("grid_mapping_name") {
        Some(_) => Ok(Value::Object(object)),
        None => Err("is the grid mapping of a variable, but has no attribute grid_mapping_name".to_owned()),
    }
}

/// The value of an attribute: a number, a text, or a list. Numbers that JSON lacks are text.
fn value(attribute: &Attribute) -> Result<Value> {
    let Some(array) = values(attribute)? else { return Ok(json!([])) };
    let all = (0..array.len()).map(|index| one(&array, index)).collect::<Vec<Value>>();
    Ok(match <[Value; 1]>::try_from(all) {
        Ok([one]) => one,
        Err(several) => Value::Array(several),
    })
}

fn one(array: &ArrayRef, index: usize) -> Value {
    let cast = |to: &DataType| arrow_cast::cast(array, to).ok();
    let shown = || json!(arrow_cast::display::array_value_to_string(array, index).unwrap_or_default());
    match array.data_type() {
        DataType::Float32 => {
            // The shortest decimal of the stored number, not of the nearest double.
            let number = array.as_primitive::<arrow_array::types::Float32Type>().value(index);
            number.to_string().parse::<f64>().ok().filter(|number| number.is_finite()).map_or_else(shown, |number| json!(number))
        }
        kind if kind.is_floating() => {
            let number = cast(&DataType::Float64).map(|doubles| doubles.as_primitive::<Float64Type>().value(index));
            number.filter(|number| number.is_finite()).map_or_else(shown, |number| json!(number))
        }
        kind if kind.is_integer() => {
            let number = cast(&DataType::Int64).filter(|whole| whole.is_valid(index)).map(|whole| whole.as_primitive::<Int64Type>().value(index));
            number.map_or_else(shown, |number| json!(number))
        }
        _ => shown(),
    }
}
