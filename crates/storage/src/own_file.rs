//! Opens files that an earlier process of the same user has left to go on with.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hyperslab_array::{Error, Result};
use rustix::fs::{Mode, OFlags};

/// Opens a file for reading and writing, or creates it. A symbolic link, and a file of another user, who could change it any time, are
/// refused.
///
/// # Errors
/// `InvalidInput` for what is not a regular file of this user; `Io`.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// let file = hyperslab_storage::open_own_file(&folder.path().join("log"))?;
/// assert_eq!(file.metadata()?.len(), 0);
/// # Ok::<(), hyperslab_array::Error>(())
/// ```
pub fn open_own_file(path: &Path) -> Result<File> {
    let failed = |error: std::io::Error| Error::from(error).in_file(path.display().to_string());
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::from_raw_mode(0o666)).map_err(|error| failed(error.into()))?);
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() || metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(Error::invalid_input("this is not a file of this user: remove it").in_file(path.display().to_string()));
    }
    Ok(file)
}
