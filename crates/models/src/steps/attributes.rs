//! Attributes of steps as columns: one value for each step, null where a step does not have the attribute.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_schema::DataType;
use hyperslab_array::{Error, Result};
use hyperslab_formats::Attributes;
use hyperslab_scan::Omitted;

use crate::look::{free_name, one_value};

/// Columns by name, each with a value for each step.
pub(crate) type NamedColumns = Vec<(String, ArrayRef)>;

/// Columns of attributes, in the order in which they were first seen.
pub(crate) struct AttributeColumns {
    rows: usize,
    names: Vec<String>,
    columns: BTreeMap<String, Vec<Option<ArrayRef>>>,
    omitted: Vec<Omitted>,
}

impl AttributeColumns {
    /// No columns, of `rows` rows.
    pub fn new(rows: usize) -> Self {
        Self { rows, names: Vec::new(), columns: BTreeMap::new(), omitted: Vec::new() }
    }

    /// Sets the values of an object's attributes at `row`. Their columns are named after `prefix`.
    pub fn set(&mut self, row: usize, prefix: &str, attributes: &Attributes) {
        for attribute in attributes {
            let name = format!("{prefix}{}", attribute.name);
            match one_value(attribute) {
                Ok(value) => self.put(row, &name, value),
                Err(error) => {
                    if !self.omitted.iter().any(|omitted| omitted.name == name) {
                        self.omitted.push(Omitted::new(name, format!("cannot be a column: {}", error.message())));
                    }
                }
            }
        }
    }

    fn put(&mut self, row: usize, name: &str, value: Option<ArrayRef>) {
        let rows = self.rows;
        let column = self.columns.entry(name.to_owned()).or_insert_with(|| {
            self.names.push(name.to_owned());
            vec![None; rows]
        });
        if let Some(slot) = column.get_mut(row) {
            *slot = value;
        }
    }

    /// The columns, each with its values by row, and what cannot be a column.
    pub fn finish(mut self, taken: &mut BTreeSet<String>) -> Result<(NamedColumns, Vec<Omitted>)> {
        let mut columns = Vec::new();
        for name in std::mem::take(&mut self.names) {
            let values = self.columns.remove(&name).unwrap_or_default();
            let mut types: Vec<&DataType> = values.iter().flatten().map(|value| value.data_type()).collect();
            types.dedup();
            match types.as_slice() {
                [] => self.omitted.push(Omitted::new(name, "has no value")),
                [one] => {
                    let null = new_null_array(one, 1);
                    let parts: Vec<&dyn Array> = values.iter().map(|value| value.as_ref().unwrap_or(&null).as_ref()).collect();
                    let column = arrow_select::concat::concat(&parts).map_err(|error| Error::internal(error.to_string()))?;
                    columns.push((free_name(&name, "attribute", taken), column));
                }
                [first, second, ..] => self.omitted.push(Omitted::new(name, format!("is {first} in one step and {second} in another"))),
            }
        }
        Ok((columns, self.omitted))
    }
}
