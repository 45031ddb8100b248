//! The description of a dataset; that of a virtual one has the extent that its sources give it now.
//!
//! The one recursion between files of this crate goes through methods of [`File`] here and in `read`: the extent and the
//! values of a virtual dataset come from its sources, which may be virtual datasets themselves. `File::step_to` bounds it.

use hyperslab_array::{Error, Result};
use hyperslab_formats::{Content, Dataset, ObjectId};

use crate::{File, virtual_dataset};

impl File {
    /// The dataset with this ID. The error says what the object is instead, or why it cannot be read.
    ///
    /// # Errors
    /// `InvalidInput` if the object is something else; the object's own error if it cannot be read; `Internal` for an
    /// ID of another file.
    pub fn dataset(&self, id: ObjectId) -> Result<&Dataset> {
        let object = self.object(id)?;
        let what = match &object.content {
            Content::Dataset(dataset) if dataset.virtual_mappings.is_empty() => return Ok(dataset),
            Content::Dataset(dataset) => return self.virtual_dataset(id, dataset),
            Content::Unreadable(error) => {
                return Err(error.clone().at_object(&object.path).in_file(self.name()));
            }
            Content::Group(_) => "a group",
            Content::Datatype(_) => "a committed datatype",
        };
        Err(Error::invalid_input(format!("this is {what}, not a dataset")).at_object(&object.path).in_file(self.name()))
    }
    /// A virtual dataset with its present extent; the extents of all virtual datasets of the file are determined at once.
    fn virtual_dataset<'a>(&'a self, id: ObjectId, dataset: &'a Dataset) -> Result<&'a Dataset> {
        // A source in the same file, while extents are being determined: as it was written.
        if self.is_as_written() {
            return Ok(dataset);
        }
        let grown = self.grown(|| {
            let here = self.as_written();
            let datasets = self.tree().objects.iter().enumerate().filter_map(|(index, object)| match &object.content {
                Content::Dataset(dataset) if !dataset.virtual_mappings.is_empty() => Some((ObjectId(index), dataset)),
                _ => None,
            });
            datasets.filter_map(|(id, dataset)| Some((id, virtual_dataset::with_present_extent(&here, dataset).transpose()?))).collect()
        });
        match grown.get(&id) {
            None => Ok(dataset),
            Some(Ok(dataset)) => Ok(dataset),
            Some(Err(error)) => Err(self.place(id, error.clone())),
        }
    }
}
