//! The description of a dataset; a virtual dataset has the extent that follows from its sources.
//!
//! The one recursion between files of this crate goes through methods of [`File`] here and in `read`: the extent and the
//! values of a virtual dataset come from its sources, which may be virtual datasets themselves. `File::step_to` bounds it.

use std::sync::Arc;

use hyperslab_array::{Error, Result};
use hyperslab_formats::{Dataset, Object, ObjectId};

use crate::File;
use crate::reading::virtual_dataset;

impl File {
    /// The dataset with this ID. The error says what the object is instead, or why it cannot be read.
    ///
    /// # Errors
    /// `InvalidInput` if the object is something else; the object's own error if it cannot be read; `Internal` for an
    /// ID of another file.
    pub fn dataset(&self, id: ObjectId) -> Result<Arc<Dataset>> {
        match self.object(id)? {
            Object::Dataset(dataset) if dataset.virtual_mappings.is_empty() => Ok(dataset),
            Object::Dataset(dataset) => self.virtual_dataset(id, dataset),
            other => Err(self.place(id, Error::invalid_input(format!("this is {}, not a dataset", other.kind())))),
        }
    }
    /// A virtual dataset with its present extent, which is determined once.
    fn virtual_dataset(&self, id: ObjectId, dataset: Arc<Dataset>) -> Result<Arc<Dataset>> {
        // A source in the same file, while extents are being determined: as it was written.
        if self.is_as_written() {
            return Ok(dataset);
        }
        if let Some(present) = self.present_extents().and_then(|known| known.get(&id).cloned()) {
            return Ok(present.unwrap_or(dataset));
        }
        let present = virtual_dataset::with_present_extent(&self.as_written(), &dataset).map_err(|error| self.place(id, error))?;
        let present = present.map(Arc::new);
        if let Some(mut known) = self.present_extents() {
            known.insert(id, present.clone());
        }
        Ok(present.unwrap_or(dataset))
    }
}
