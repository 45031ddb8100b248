//! Paths of objects in an HDF5 file.

use hyperslab_array::{Error, Result};

/// Removes empty components, `.`, and leading and trailing slashes; refuses NUL. `..` is a name like any other, as in HDF5.
pub(crate) fn normalized_path(path: &str) -> Result<String> {
    if path.contains('\0') {
        return Err(Error::invalid_input(format!("{path:?} is not a path in an HDF5 file")));
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    Ok(parts.join("/"))
}
