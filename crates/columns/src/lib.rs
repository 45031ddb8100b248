//! Arrays to Arrow and back: one table of types, conversion of values, attributes as field metadata.
#![forbid(unsafe_code)]
#![deny(clippy::exhaustive_enums, clippy::exhaustive_structs, clippy::missing_errors_doc)]

mod attributes;
mod convert;
pub mod decoding;
mod types;

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Metadata};
use hyperslab_array::{Attribute, Datatype, Error, HeapObjects, Result};

pub use attributes::text as attribute_text;
pub use decoding::time::ModelDates;
pub use decoding::{Conventions, Decoding};
pub use types::{arrow_type, datatype_of};

/// Field metadata of a column whose attributes state what is not understood, and so was not decoded.
const UNDECODED: &str = "hyperslab:undecoded";

/// How one dataset (or compound member) becomes one Arrow column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    field: Arc<Field>,
    datatype: Datatype,
    decoding: Option<Decoding>,
    units: Option<Units>,
    assumed_units: Option<String>,
}

/// A conversion of units: doubles that are `factor` times the values of a file.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "data models make them")]
pub struct Units {
    /// What values are multiplied by.
    pub factor: f64,
    /// Name of the units, which is the column's metadata `units`.
    pub name: String,
}

impl Column {
    /// The column `name` of elements of `datatype`, with its object's attributes as field metadata.
    /// `conventions` decode: fill and missing values and those out of the valid range become null, packed values are
    /// unpacked, CF times become timestamps (UTC, microseconds), or text if their calendar has days that Arrow does not
    /// support. Times that are not understood stay numbers: the metadata say why.
    ///
    /// # Errors
    /// `Unsupported` for a datatype without an Arrow type; `Corrupt` for attributes that cannot be read.
    pub fn new(name: &str, datatype: &Datatype, attributes: &[Attribute], conventions: Conventions) -> Result<Self> {
        let stored = arrow_type(datatype)?;
        let decoding = Decoding::new(datatype, attributes, conventions)?;
        let mut metadata = attributes::metadata(attributes);
        if let Some(time) = decoding.as_ref().and_then(Decoding::time) {
            decoding::time::mark(time.calendar(), &mut metadata);
        }
        if let Some(decoding) = decoding.as_ref().filter(|decoding| !decoding.problems().is_empty()) {
            let messages: Vec<&str> = decoding.problems().iter().map(|problem| problem.message.as_str()).collect();
            metadata.insert(UNDECODED.to_owned(), messages.join("; "));
        }
        let decoding = decoding.filter(Decoding::changes_columns);
        let (data_type, nullable) = match &decoding {
            Some(decoding) => (decoding.column_type(), decoding.can_be_null()),
            None => (stored, matches!(datatype, Datatype::Reference { .. })),
        };
        metadata.extend(types::reference_metadata(datatype));
        let field = Field::new(name, data_type, nullable).with_metadata(metadata);
        Ok(Self { field: Arc::new(field), datatype: datatype.clone(), decoding, units: None, assumed_units: None })
    }
    /// Like [`Column::new`], with `units` in place of the attribute of this name.
    ///
    /// # Errors
    /// As [`Column::new`].
    pub fn with_assumed_units(name: &str, datatype: &Datatype, attributes: &[Attribute], conventions: Conventions, units: &str) -> Result<Self> {
        let others = attributes.iter().filter(|attribute| attribute.name != "units").cloned();
        let attributes: Vec<Attribute> = others.chain([attributes::of_text("units", units)]).collect();
        Ok(Self { assumed_units: Some(units.to_owned()), ..Self::new(name, datatype, &attributes, conventions)? })
    }
    /// The units that count in place of the array's attribute, if the column has such.
    pub fn assumed_units(&self) -> Option<&str> {
        self.assumed_units.as_deref()
    }
    /// The column in other units, as doubles.
    ///
    /// # Errors
    /// `Unsupported` if the values are not integers or floating-point numbers.
    pub fn with_units(self, units: Units) -> Result<Self> {
        let given = self.field.data_type();
        if !given.is_integer() && !given.is_floating() {
            return Err(Error::unsupported(format!("the units of {given}, which is not a number")));
        }
        let mut metadata = self.field.metadata().clone();
        metadata.insert("units".to_owned(), units.name.clone());
        let field = Field::new(self.field.name(), DataType::Float64, self.field.is_nullable()).with_metadata(metadata);
        Ok(Self { field: Arc::new(field), units: Some(units), ..self })
    }
    /// The column with other metadata.
    #[must_use]
    pub fn with_metadata(self, metadata: Metadata) -> Self {
        Self { field: Arc::new(self.field.as_ref().clone().with_metadata(metadata)), ..self }
    }
    /// The conversion of units, if there is one.
    pub fn units(&self) -> Option<&Units> {
        self.units.as_ref()
    }
    /// Name, Arrow type, nullability and metadata.
    pub fn field(&self) -> &Arc<Field> {
        &self.field
    }
    /// The datatype of the elements.
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }
    /// Converts whole elements in the file's layout.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are not whole elements, or references to missing heap objects; `InvalidInput` for times
    /// that Arrow cannot hold; `LimitExceeded` for too much text in one batch.
    pub fn to_arrow(&self, bytes: &[u8], heap: &HeapObjects) -> Result<ArrayRef> {
        self.decode(convert::convert(&self.datatype, bytes, heap)?)
    }
    /// Like [`Column::to_arrow`], but does not copy numbers that already have Arrow's layout.
    ///
    /// # Errors
    /// As [`Column::to_arrow`].
    pub fn take_arrow(&self, bytes: Buffer, heap: &HeapObjects) -> Result<ArrayRef> {
        self.decode(match convert::in_place(&self.datatype, &bytes)? {
            Some(array) => array,
            None => convert::convert(&self.datatype, &bytes, heap)?,
        })
    }
    /// Whether values are shown as stored: numbers in native byte order and layout.
    pub fn is_as_stored(&self) -> bool {
        self.decoding.is_none() && self.units.is_none() && matches!(convert::in_place(&self.datatype, &Buffer::from_vec(Vec::<u64>::new())), Ok(Some(_)))
    }
    fn decode(&self, stored: ArrayRef) -> Result<ArrayRef> {
        let decoded = match &self.decoding {
            Some(decoding) => decoding.column(&stored)?,
            None => stored,
        };
        let Some(Units { factor, .. }) = &self.units else { return Ok(decoded) };
        let doubles = arrow_cast::cast(&decoded, &DataType::Float64).map_err(convert::arrow)?;
        Ok(Arc::new(doubles.as_primitive::<Float64Type>().unary::<_, Float64Type>(|value| value * factor)))
    }
}
