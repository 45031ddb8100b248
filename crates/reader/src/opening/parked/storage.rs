//! The bytes of a file that may be parked.

use std::fs::File;
use std::sync::Arc;

use hyperslab_array::Result;
use hyperslab_storage::Storage;

use super::state::Parked;

/// The storage of a file that is opened again if it was parked.
pub(super) struct ParkedStorage(pub Arc<Parked>);

impl Storage for ParkedStorage {
    fn len(&self) -> u64 {
        self.0.stamp().bytes()
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.0.opened()?.storage().read_exact_at(offset, buffer)
    }
    fn modified_nanoseconds(&self) -> Option<u64> {
        self.0.is_same().then(|| self.0.stamp().modified_nanoseconds())
    }
    fn is_unchanged(&self) -> bool {
        !self.is_closed() && self.0.is_same()
    }
    fn has_changed(&self) -> bool {
        !self.0.is_same()
    }
    fn close(&self) {
        self.0.close();
    }
    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
    fn file_with(&self, offset: u64, length: u64) -> Result<Option<(File, u64)>> {
        self.0.opened()?.storage().file_with(offset, length)
    }
    fn name(&self) -> &str {
        self.0.name()
    }
    fn beside(&self, name: &str) -> Result<Arc<dyn Storage>> {
        self.0.opened()?.storage().beside(name)
    }
}
