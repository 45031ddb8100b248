//! Paths of objects in an HDF5 file.

use hyperslab_array::{Error, Result};

/// Removes empty components and leading and trailing slashes; refuses `.`, `..` and NUL.
pub(crate) fn normalized_path(path: &str) -> Result<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if parts.iter().any(|part| *part == "." || *part == ".." || part.contains('\0')) {
        return Err(Error::invalid_input(format!("{path:?} is not a path in an HDF5 file")));
    }
    Ok(parts.join("/"))
}
