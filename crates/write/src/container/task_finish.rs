//! Finishes a task: completes its subfile and returns its fragment.

use hyperslab_array::{Error, Result};
use hyperslab_formats::hdf5::writer::encode_datatype;

use super::dimensions::single_scales;
use super::fragment::{AttributeFragment, ChunkFragment, DatasetFragment, EntryKind, Fragment, ObjectFragment, OtherFragment, SharedPart, StoredValue};
use super::task::{Extent, Task};
use crate::encoding::checksum;
use crate::encoding::hex::Hex;
use crate::file::dataset::state::DatasetWriter;
use crate::file::object::{AttributeEntry, ObjectEntry};
use crate::file::regions::region::Region;
use crate::file::reserved_attributes::SUBFILE_ATTRIBUTE;

/// Maximum number of parts of a dataset per task, because readers search all of them.
const MAX_PARTS: usize = 1 << 16;

/// Subfiles of appended rows of up to this many bytes are stored in the fragment. Limits the data sent from tasks to the
/// commit.
const MAX_CONTENT_BYTES: u64 = 64 << 10;

impl Task {
    /// Whether [`Task::finish`] is fast: no chunk to encode and no sync.
    pub fn is_quick(&self) -> bool {
        !self.checksums && self.store.is_none() && (self.subfile.is_quick() || self.has_rows_to_move() && self.subfile.is_small(MAX_CONTENT_BYTES))
    }

    /// Whether the subfile has only appended rows, which the commit may move to a tail.
    fn has_rows_to_move(&self) -> bool {
        self.appends && !self.checksums && !self.datasets.is_empty() && self.datasets.values().all(|local| local.extent == Extent::Rows)
    }

    /// Finishes the subfile, syncs it, and returns the fragment to commit. Nothing is visible to readers yet. A small subfile of
    /// appended rows is not written to disk: its bytes are in the fragment. In an object store, this uploads the subfile.
    ///
    /// # Errors
    /// `Io` if the subfile cannot be written; `Unsupported` for too many separate parts of a dataset.
    pub fn finish(mut self) -> Result<Fragment> {
        self.subfile.flush()?;
        let mut fragment = Fragment::new(&self.write_id, self.index, self.name.clone());
        for (path, object) in self.subfile.objects() {
            fragment.add_object(path, object_fragment(path, object)?);
        }
        for (path, writer) in self.subfile.datasets() {
            fragment.add_dataset(path, self.dataset_fragment(path, writer)?);
        }
        fragment.shared = self.group.map(|group| Ok::<_, Error>(SharedPart { group, end: self.subfile.shared_top()? })).transpose()?;
        self.subfile.remove_shared_objects();
        if let Some(store) = &self.store {
            fragment.bytes = Some(store.upload(self.subfile, &self.name)?);
            return Ok(fragment);
        }
        let place = self.subfile.target().to_path_buf();
        if self.has_rows_to_move() {
            let (bytes, content) = self.subfile.finish_small(MAX_CONTENT_BYTES)?;
            (fragment.bytes, fragment.content) = (Some(bytes), content.map(Hex));
            return Ok(fragment);
        }
        fragment.bytes = self.subfile.finish_task()?;
        if self.checksums && fragment.bytes.is_some() {
            fragment.checksums = Some(checksum::of_file(&place)?);
        }
        // The commit syncs the directory entry.
        Ok(fragment)
    }

    /// What the task has written of a dataset.
    fn dataset_fragment(&self, path: &str, writer: &DatasetWriter) -> Result<DatasetFragment> {
        let (local, written) = (writer.definition(), writer.written());
        let Some(known) = self.datasets.get(path) else { return Err(Error::internal("a dataset that the task did not define")) };
        let origin = match (&known.shared, &known.extent) {
            (Some(whole), _) => whole.start.clone(),
            (None, Extent::Region(own)) => own.start.clone(),
            _ => vec![0; local.dataspace.ndim()],
        };
        let moved = |region: &Region| {
            let start = region.start.iter().zip(&origin).map(|(start, origin)| start + origin).collect();
            Region { start, count: region.count.clone() }
        };
        if written.len() > MAX_PARTS {
            let message = format!("{} separate parts of a dataset by one task: write adjacent regions", written.len());
            return Err(Error::unsupported(message).at_object(format!("/{path}")));
        }
        let mut dataset = DatasetFragment::new(
            &known.global,
            known.extent == Extent::Rows,
            origin.clone(),
            local.dataspace.shape().to_vec(),
            written.iter().map(moved).collect(),
            known.scalar.as_ref(),
        )?;
        dataset.shared = known.shared.is_some();
        dataset.growable = self.definitions.dataset(path).is_some_and(|planned| planned.growable);
        if dataset.shared {
            dataset.chunks = writer.stored().map(ChunkFragment::from).collect();
        }
        Ok(dataset)
    }
}

/// What an object of a subfile is, without the values of a dataset.
fn object_fragment(path: &str, object: &ObjectEntry) -> Result<ObjectFragment> {
    let (kind, other) = match (&object.link, &object.references, &object.datatype) {
        (Some(link), ..) => (EntryKind::Link, Some(OtherFragment::Link(link.clone()))),
        (_, Some(references), _) => (EntryKind::References, Some(OtherFragment::References(references.clone()))),
        (_, _, Some(datatype)) => (EntryKind::Datatype, Some(OtherFragment::Datatype(Hex(encode_datatype(datatype)?)))),
        _ if object.dataset.is_some() => (EntryKind::Dataset, None),
        _ => (EntryKind::Group, None),
    };
    let own = object.attributes.in_order().filter(|(name, _)| !path.is_empty() || *name != SUBFILE_ATTRIBUTE);
    let stored = |(name, attribute): (&str, &AttributeEntry)| match attribute {
        AttributeEntry::Value(value) => Some(StoredValue::new(value).map(|value| (name.to_owned(), AttributeFragment::Value(value)))),
        AttributeEntry::References(references) => Some(Ok((name.to_owned(), AttributeFragment::References(references.clone())))),
        AttributeEntry::OfScales(_) => None,
    };
    let attributes = own.filter_map(stored).collect::<Result<_>>()?;
    let (created, tracked) = (object.created, object.tracked);
    let scales = single_scales(&object.scales)?;
    Ok(ObjectFragment { kind, created, tracked, attributes, dataset: None, other, scales })
}
