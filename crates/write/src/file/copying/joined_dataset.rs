//! A dataset that goes on in other files: as it is in the first of them, with the extent and the values of all.

use std::sync::Arc;

use hyperslab_array::{Dataspace, Result};
use hyperslab_formats::filter::Pipeline;
use hyperslab_formats::hdf5::writer::widened;
use hyperslab_formats::{Dataset, ObjectId};
use hyperslab_reader::File;

use super::changes::Change;
use super::dataset::{DatasetCopy, described_like, pipeline};
use super::joined::Whole;
use crate::file::definition::DatasetDefinition;
use crate::file::finishing::MAX_COMPACT_BYTES;
use crate::file::regions::region::Region;

impl DatasetCopy<'_> {
    /// Copies `dataset` of the first file with the extent and the values that it has as a `whole`. References lead to objects of the joined file.
    pub fn joined(&mut self, file: &File, id: ObjectId, dataset: &Arc<Dataset>, whole: &Whole, committed: Option<String>) -> Result<()> {
        self.note_changes(dataset);
        let points = dataset.datatype.uses_heap() || dataset.datatype.has_references();
        let mut fill = match points {
            true => whole.dataset.portable_fill_value(|| whole.file.fill_heap(whole.id)),
            false => dataset.portable_fill_value(|| file.fill_heap(id)),
        }
        .map_err(|error| error.at_object(self.path))?;
        let fill_targets = match &mut fill {
            Some(fill) if dataset.datatype.has_references() => self.named(fill)?,
            _ => Vec::new(),
        };
        let mut definition = described_like(dataset).with_fill(fill.map(widened).transpose()?);
        definition.dataspace = whole.dataset.dataspace.clone();
        definition.committed = committed;
        if definition.is_compact && whole.dataset.value_bytes().is_none_or(|bytes| bytes > MAX_COMPACT_BYTES) {
            definition.is_compact = false;
            self.counts.changes.push(Change::new(self.path, "the values were in the object's header (compact layout), and are contiguous now"));
        }
        if whole.dataset.virtual_mappings.is_empty() {
            self.own_values(dataset, whole, definition, fill_targets.as_slice())?
        } else {
            self.as_one(&whole.file, &whole.dataset, definition, &fill_targets)?
        }
        self.note_storage(dataset)
    }

    /// Writes the values that the joined file has itself: references, counted times, and lengths of dimensions.
    fn own_values(
        &mut self,
        dataset: &Dataset,
        whole: &Whole,
        definition: DatasetDefinition,
        fill_targets: &[crate::file::references::targets::Target],
    ) -> Result<()> {
        let shape = whole.dataset.dataspace.shape();
        let chunk_shape = dataset.creation_chunk_shape().map(|chunk| [vec![1; shape.len().saturating_sub(chunk.len())], chunk.to_vec()].concat());
        let filters = if dataset.datatype.has_references() { Pipeline::default() } else { pipeline(dataset) };
        self.out.create_copied_dataset(self.path, DatasetDefinition { chunk_shape, filters, ..definition }, fill_targets)?;
        if whole.dataset.stored_bytes == Some(0) || matches!(whole.dataset.dataspace, Dataspace::Null) {
            return Ok(());
        }
        let all = Region::all(shape);
        self.reencode(&whole.file, whole.id, &whole.dataset, &all, &all, None)
    }

    /// Notes chunks and filters that are not as they were in the first file.
    fn note_storage(&mut self, dataset: &Dataset) -> Result<()> {
        let made = self.out.definition(self.path)?;
        let added = made.dataspace.shape().len().saturating_sub(dataset.dataspace.shape().len());
        let chunk_shape = made.chunk_shape.as_ref().map(|chunk| chunk.get(added..).unwrap_or_default());
        let is_virtual = !dataset.virtual_mappings.is_empty();
        let mut note = |text: &str| self.counts.changes.push(Change::new(self.path, text));
        if chunk_shape != dataset.creation_chunk_shape() && !is_virtual {
            note("the chunks have another shape than in the first file");
        }
        if made.filters != pipeline(dataset) && !dataset.datatype.has_references() && !is_virtual {
            note("the filters, or their parameters, are others than in the first file");
        }
        Ok(())
    }
}
