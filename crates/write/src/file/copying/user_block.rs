//! The user block: bytes in front of an HDF5 file, which belong to its user.

use hyperslab_array::{Error, Result};
use hyperslab_reader::File;

use crate::file::file_writer::FileWriter;
use crate::file::memory_length::memory_length;

/// Copies what is in front of the HDF5 file.
pub(crate) fn copy_user_block(file: &File, bytes: u64, out: &mut FileWriter) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    if bytes > file.session().limits().metadata_block_bytes {
        return Err(Error::limit_exceeded(format!("a user block of {bytes} bytes")).in_file(file.array_file().storage().name().to_owned()));
    }
    let mut content = vec![0; memory_length(bytes)?];
    file.array_file().storage().read_exact_at(0, &mut content)?;
    out.write_user_block(&content)
}
