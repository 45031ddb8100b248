//! Bytes of `H5Tencode` and `H5Pencode2` that come from a container. `H5Tdecode` and `H5Pdecode` take no length and trust what they
//! read, and conversions trust the sizes of a datatype: so all is parsed and checked here before HDF5 sees it.
//!
//! What these modules accept is what HDF5 1.14 to 2.2 encode. Anything else is refused, which HDF5 would perhaps read.

mod cursor;
mod datatype;
mod properties;

pub(crate) use datatype::check_datatype;
pub(crate) use properties::{ListClass, check_properties};
