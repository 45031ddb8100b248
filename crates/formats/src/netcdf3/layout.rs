//! Where the parts of a netCDF classic file lie, for those who check it.

use hyperslab_array::Result;
use hyperslab_storage::Storage;

use super::file::{is_record, plain_bytes, record_bytes};
use super::header;
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
            })
        });
        Ok(Self { header_bytes: header.bytes, records: header.records, record_bytes, variables: variables.collect::<Result<_>>()? })
    }
}
