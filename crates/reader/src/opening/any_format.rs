//! Opens bytes of any format: the formats of `formats`, and containers of Arrow files.

use std::path::Path;
use std::sync::Arc;

use hyperslab_array::Result;
use hyperslab_container_format::{ContainerFile, is_folder, is_one_file};
use hyperslab_formats::{ArrayFile, OpenOptions};
use hyperslab_storage::{Storage, check_open};

/// Opens a file of any supported format.
///
/// # Errors
/// As [`hyperslab_formats::open`].
pub(crate) fn open(storage: Arc<dyn Storage>, options: &OpenOptions) -> Result<Arc<dyn ArrayFile>> {
    check_open(storage.as_ref())?;
    if is_one_file(storage.as_ref()).map_err(|error| error.in_file(storage.name()))? {
        return Ok(Arc::new(ContainerFile::open_one_file(storage, options)?));
    }
    hyperslab_formats::open(storage, options)
}

/// Opens a container that is a folder; `None` if the path is something else.
///
/// # Errors
/// As [`ContainerFile::open_folder`].
pub(crate) fn open_folder(path: &Path, beneath: Option<&Path>, options: &OpenOptions) -> Result<Option<Arc<dyn ArrayFile>>> {
    if !is_folder(path) {
        return Ok(None);
    }
    Ok(Some(Arc::new(ContainerFile::open_folder(path, beneath, options)?)))
}
