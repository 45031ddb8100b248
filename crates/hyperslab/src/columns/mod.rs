//! Arrays to Arrow and back: one table of types, conversion of values, attributes as field metadata.

mod attributes;
mod convert;
mod types;

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::Field;
use hyperslab_array::{Attribute, Datatype, Error, HeapObjects, Result};

pub use types::{arrow_type, datatype_of};

/// Attributes that change what stored values mean.
const CONVENTIONS: [&str; 8] = [
    "_FillValue", "missing_value", "scale_factor", "add_offset", "valid_min", "valid_max", "valid_range", "_Unsigned",
];

/// How one dataset (or compound member) becomes one Arrow column.
#[derive(Debug, Clone)]
pub struct Column {
    field: Arc<Field>,
    datatype: Datatype,
}

impl Column {
    /// The column `name` of elements of `datatype`, with its object's attributes as field metadata.
    /// Values are shown as stored; `decode` refuses, by name, a column whose attributes say that the
    /// stored values mean something else (fill values, scale and offset), so that none is shown wrong.
    /// CF times stay numbers with their units in the metadata.
    pub fn new(name: &str, datatype: &Datatype, attributes: &[Attribute], decode: bool) -> Result<Self> {
        if decode && let Some(found) = attributes.iter().find(|a| CONVENTIONS.contains(&a.name.as_str())) {
            return Err(Error::unsupported(format!(
                "decoding column {name:?} by its attribute {}; read it with decode off",
                found.name
            )));
        }
        let field = Field::new(name, arrow_type(datatype)?, false).with_metadata(attributes::metadata(attributes));
        Ok(Self { field: Arc::new(field), datatype: datatype.clone() })
    }
    /// Name, Arrow type, nullability and metadata.
    pub fn field(&self) -> &Arc<Field> {
        &self.field
    }
    /// Converts whole elements in the file's layout.
    pub fn to_arrow(&self, bytes: &[u8], heap: &HeapObjects) -> Result<ArrayRef> {
        convert::convert(&self.datatype, bytes, heap)
    }
}
