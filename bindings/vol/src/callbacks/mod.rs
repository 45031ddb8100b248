//! HDF5's callbacks, one file for each group. Each callback is generic over the slot of the host, runs inside
//! [`crate::guard`], and leaves the work to safe code.

pub(crate) mod attribute;
pub(crate) mod blob;
pub(crate) mod copy;
pub(crate) mod dataset;
pub(crate) mod datatype;
pub(crate) mod file;
pub(crate) mod group;
pub(crate) mod info;
pub(crate) mod introspect;
pub(crate) mod iterate;
pub(crate) mod link;
pub(crate) mod location;
pub(crate) mod object;
pub(crate) mod references;
pub(crate) mod token;
