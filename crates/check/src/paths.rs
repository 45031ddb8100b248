//! Paths of objects by the address of their header.

use hyperslab_formats::hdf5::survey::Survey;

pub(crate) struct Paths<'a>(pub &'a Survey);

impl Paths<'_> {
    /// The path of an object.
    pub fn of(&self, address: Option<u64>) -> Option<&str> {
        Some(self.0.object(address?)?.path.as_str())
    }
}
