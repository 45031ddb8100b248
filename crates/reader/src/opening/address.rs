//! Addresses of object stores and web servers as paths.

use std::path::Path;

use hyperslab_storage::is_address;

/// The address that a path is, if it is one.
pub(crate) fn address_of(path: &Path) -> Option<&str> {
    path.to_str().filter(|path| is_address(path))
}
