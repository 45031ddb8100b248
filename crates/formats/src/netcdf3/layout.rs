//! Where the parts of a netCDF classic file lie, for those who check it.

use hyperslab_array::Result;
use hyperslab_storage::Storage;

use super::file::{is_record, plain_bytes, record_bytes};
use super::header::{self, Header, Variable};
use crate::Limits;

/// Where the parts of a file lie.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassicLayout {
    /// Bytes of the header.
    pub header_bytes: u64,
    /// Number of records; `None` if the writer did not know.
    pub records: Option<u64>,
    /// Bytes from one record to the next.
    pub record_bytes: u64,
    /// Number of attributes, of the file and of all variables.
    pub attributes: u64,
    /// The variables, in the order of the header.
    pub variables: Vec<ClassicVariable>,
}

/// Where a variable lies.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassicVariable {
    /// Name.
    pub name: String,
    /// Offset of its first byte.
    pub begin: u64,
    /// Bytes of its values, of one record if it has records, without padding.
    pub bytes: u64,
    /// The same with padding, as the header states it; the header of a variable of 4 GiB or more states too little.
    pub stated_bytes: u64,
    /// Whether it has records.
    pub is_record: bool,
    /// Extent of each dimension, without the record dimension.
    pub fixed_shape: Vec<u64>,
    /// Bytes of an element.
    pub element_bytes: u64,
}

impl ClassicLayout {
    /// Reads it from the header.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported`, `LimitExceeded` or `Io` if the header cannot be parsed.
    pub fn of(storage: &dyn Storage, limits: &Limits) -> Result<Self> {
        let header = header::parse(storage, limits)?;
        let record_bytes = record_bytes(&header)?;
        let variables = header.variables.iter().map(|variable| {
            Ok(ClassicVariable {
                name: variable.name.clone(),
                begin: variable.begin,
                bytes: plain_bytes(variable, &header)?,
                stated_bytes: variable.stated_bytes,
                is_record: is_record(variable, &header.dimensions),
                fixed_shape: fixed_shape(variable, &header),
                element_bytes: variable.datatype.size(),
            })
        });
        let attributes = header.variables.iter().map(|variable| variable.attributes.len()).sum::<usize>().saturating_add(header.attributes.len()) as u64;
        Ok(Self { attributes, header_bytes: header.bytes, records: header.records, record_bytes, variables: variables.collect::<Result<_>>()? })
    }
}

/// Extents of the dimensions of a variable that are not records.
fn fixed_shape(variable: &Variable, header: &Header) -> Vec<u64> {
    let dimensions = variable.dimensions.iter().filter_map(|number| header.dimensions.get(*number));
    let skipped = usize::from(is_record(variable, &header.dimensions));
    dimensions.skip(skipped).map(|dimension| dimension.extent).collect()
}
