//! Superblock (specification II.A).
use hyperslab_array::Result;
use hyperslab_storage::Storage;

/// The absolute offset of the HDF5 signature: 0, 512, 1024, … (a user block may come before it).
pub fn find_superblock(_storage: &dyn Storage) -> Result<Option<u64>> {
    Ok(None)
}
