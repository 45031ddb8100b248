//! Says which values have no indexes, in the words of HDF5.

use arrow_schema::DataType;
use hyperslab_array::Error;

/// `Unsupported`: values of this type cannot be compared by a key.
pub(crate) fn not_indexed(data_type: &DataType) -> Error {
    Error::unsupported(match data_type {
        DataType::FixedSizeList(..) | DataType::List(_) | DataType::LargeList(_) => "an index of elements that are arrays".to_owned(),
        DataType::Struct(_) => "an index of whole records: indexes are of their members".to_owned(),
        DataType::Boolean => "an index of booleans".to_owned(),
        DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => "an index of bytes".to_owned(),
        other => format!("an index of values of the type {other}"),
    })
}
