//! Arrays to Arrow and back: one table of types, CF decoding, attributes as field metadata.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::Field;
use hyperslab_array::{Attribute, Datatype, Error, HeapObjects, Result};

/// How one dataset (or compound member) becomes one Arrow column.
#[derive(Debug, Clone)]
pub struct Column {
    field: Arc<Field>,
}

impl Column {
    /// The column `name` of elements of `datatype`, with its object's attributes as field metadata.
    /// `decode` applies netCDF conventions (fill and missing values, scale and offset, CF time).
    pub fn new(_name: &str, _datatype: &Datatype, _attributes: &[Attribute], _decode: bool) -> Result<Self> {
        Err(Error::unsupported("stub"))
    }
    /// Name, Arrow type, nullability and metadata.
    pub fn field(&self) -> &Arc<Field> {
        &self.field
    }
    /// Converts whole elements in the file's layout.
    pub fn to_arrow(&self, _bytes: &[u8], _heap: &HeapObjects) -> Result<ArrayRef> {
        Err(Error::unsupported("stub"))
    }
}
