//! Subfile: one complete HDF5 file under way. Values go out as they come, each block aligned; metadata follows
//! in one piece, into the room before the first block where it fits; the superblock comes last.

use std::collections::BTreeMap;
use std::path::Path;

use hyperslab_array::{Cancellation, Datatype, Error, HeapReference, Result};
use hyperslab_formats::VirtualMapping;
use hyperslab_formats::hdf5::writer::{HeapWriter, encode_datatype};
use hyperslab_reader::Session;
use hyperslab_storage::Existing;

use super::allocator::{Allocator, checked_alignment};
use super::dataset::DatasetWriter;
use super::definition::{AttributeValue, DatasetDefinition, check_attribute};
use super::object::{AttributeEntry, ObjectEntry};
use super::object_path::normalized_path;
use super::object_references::ObjectReferences;
use super::reference_targets::ReferenceTargets;
use super::replaced_file::ReplacedFile;

/// One HDF5 file that is being written.
pub struct FileWriter {
    pub(crate) allocator: Allocator,
    /// The part of a file that others write too.
    pub(crate) shared: Option<Allocator>,
    pub(crate) session: Session,
    /// By absolute path without the first `/`; the root is the empty path.
    pub(crate) objects: BTreeMap<String, ObjectEntry>,
    /// Why the file cannot become whole any more: a write that failed half-way.
    pub(crate) broken: Option<Error>,
    /// Whether the end waits for the disk.
    pub(crate) durable: bool,
    /// Whether objects that are defined from now on track the order of creation.
    tracked: bool,
    /// Objects that were defined, links too.
    pub(crate) created: u64,
    /// A collection of variable-length values with room for more, and where it is.
    pub(crate) small_heap: Option<(u64, HeapWriter)>,
    /// What references of the file point at.
    pub(crate) targets: ReferenceTargets,
    /// The file whose place it takes, if it began with that.
    pub(crate) base: Option<ReplacedFile>,
}

impl FileWriter {
    /// Begins a file that will be called `target`. Blocks of `alignment` bytes or more begin at multiples of
    /// it, a power of two; `None` asks the file system for its block or stripe. `existing` says at once whether there may be
    /// such a file; [`FileWriter::finish`] decides.
    pub fn create(target: &Path, existing: Existing, alignment: Option<u64>, session: &Session) -> Result<Self> {
        Ok(Self::new(Allocator::own(target, existing, checked_alignment(alignment)?)?, session))
    }

    /// Begins a file that is called `target` from its beginning, where nobody looks.
    pub(crate) fn in_place(target: &Path, alignment: Option<u64>, session: &Session) -> Result<Self> {
        Ok(Self::new(Allocator::in_place(target, alignment)?, session))
    }

    /// Begins a file whose first bytes may come late or never, beside a part of one that others write too.
    pub(crate) fn with_shared(target: &Path, alignment: Option<u64>, shared: Allocator, session: &Session) -> Result<Self> {
        Ok(Self { shared: Some(shared), ..Self::new(Allocator::deferred(target, alignment)?, session) })
    }

    /// Begins a file that will be called `target` as soon as something belongs into it.
    pub(crate) fn deferred(target: &Path, alignment: Option<u64>, session: &Session) -> Result<Self> {
        Ok(Self::new(Allocator::deferred(target, alignment)?, session))
    }

    pub(crate) fn new(allocator: Allocator, session: &Session) -> Self {
        let objects = BTreeMap::from([(String::new(), ObjectEntry::default())]);
        Self { allocator, shared: None, session: session.clone(), objects, broken: None, durable: true, tracked: false, created: 0, small_heap: None, targets: ReferenceTargets::default(), base: None }
    }

    /// Whether its end has nothing to wait for: no chunk to encode, and not the disk.
    pub(crate) fn is_quick(&self) -> bool {
        !self.durable && !self.objects.values().any(|object| object.dataset.as_ref().is_some_and(DatasetWriter::has_partial_chunks))
    }

    /// Whether all values and the chunks that hold them are of up to `max_bytes` for each dataset.
    pub(crate) fn is_small(&self, max_bytes: u64) -> bool {
        self.datasets().all(|(_, dataset)| {
            let definition = dataset.definition();
            let bytes_of = |extents: &[u64]| extents.iter().fold(definition.datatype.size(), |n, extent| n.saturating_mul(*extent));
            let chunk = definition.chunk_shape.as_deref().map_or(0, bytes_of);
            bytes_of(definition.dataspace.shape()).max(chunk) <= max_bytes
        })
    }

    /// Leaves `bytes` free at the beginning of the file, before anything is written: a power of two from 512 on.
    pub fn set_user_block(&mut self, bytes: u64) -> Result<()> {
        if bytes != 0 && (bytes < 512 || !bytes.is_power_of_two()) {
            return Err(Error::invalid_input(format!("a user block of {bytes} bytes: give 0, 512, or 512 doubled any number of times")));
        }
        self.allocator.set_user_block(bytes);
        Ok(())
    }

    /// Makes the file one of pages of `page_bytes`, before anything is written (HDF5's file space strategy PAGE): metadata and
    /// values lie in pages of their own. A multiple of 8 from 512 bytes to 1 GiB; a user block must be whole pages.
    pub fn set_pages(&mut self, page_bytes: u64) -> Result<()> {
        if !(512..=1 << 30).contains(&page_bytes) || !page_bytes.is_multiple_of(8) {
            return Err(Error::invalid_input(format!("pages of {page_bytes} bytes: give a multiple of 8 from 512 to 1073741824")));
        }
        if !self.allocator.user_block().is_multiple_of(page_bytes) {
            return Err(Error::invalid_input(format!("a user block of {} bytes in a file with pages of {page_bytes}: give a multiple of the page size", self.allocator.user_block())));
        }
        self.allocator.set_pages(page_bytes);
        Ok(())
    }

    /// From now on, writing ends with `Cancelled` when this is cancelled, and the file cannot become whole any more.
    pub fn cancel_with(&mut self, cancellation: &Cancellation) {
        for allocator in [Some(&mut self.allocator), self.shared.as_mut()].into_iter().flatten() {
            allocator.cancellation = cancellation.clone();
        }
    }

    /// Leaves it to the operating system when the bytes get to the disk.
    pub fn without_sync(&mut self) {
        self.durable = false;
    }

    /// Records the order in which attributes and the members of groups were created: of the root, and of all objects that
    /// are defined from now on.
    pub fn track_order(&mut self) {
        self.tracked = true;
        if let Some(root) = self.objects.get_mut("") {
            root.tracked = true;
        }
    }

    /// Whether the file records the order of an object's attributes and, if it is a group, of its members.
    pub fn set_tracked(&mut self, path: &str, tracked: bool) -> Result<()> {
        self.object(path)?.tracked = tracked;
        Ok(())
    }

    /// The next object to define.
    pub(crate) fn new_object(&mut self) -> ObjectEntry {
        self.created += 1;
        ObjectEntry { created: self.created, id: self.created, tracked: self.tracked, ..ObjectEntry::default() }
    }

    /// The name that the file will have.
    pub fn target(&self) -> &Path {
        self.allocator.target()
    }

    pub(crate) fn error_at(&self, path: &str, error: Error) -> Error {
        error.at_object(format!("/{path}")).in_file(self.target().display().to_string())
    }

    /// Defines a group and those above it; one that is there already stays as it is.
    pub fn create_group(&mut self, path: &str) -> Result<()> {
        let path = self.resolve_parent(path)?;
        let mut above = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if !above.is_empty() {
                above.push('/');
            }
            above.push_str(part);
            if !self.objects.contains_key(&above) {
                let group = self.new_object();
                self.objects.insert(above.clone(), group);
            }
            if let Some(object) = self.objects.get(&above)
                && !object.is_group()
            {
                return Err(self.error_at(&path, Error::invalid_input(format!("/{above} is no group"))));
            }
        }
        Ok(())
    }

    pub(crate) fn define(&mut self, path: &str, object: ObjectEntry) -> Result<()> {
        let path = self.resolve_parent(path)?;
        if self.objects.contains_key(&path) {
            return Err(self.error_at(&path, Error::invalid_input("there is an object of this name already")));
        }
        let above = path.rsplit_once('/').map_or("", |(above, _)| above).to_owned();
        self.create_group(&above)?;
        let ObjectEntry { created, id, tracked, .. } = self.new_object();
        self.objects.insert(path, ObjectEntry { created, id, tracked, ..object });
        Ok(())
    }

    /// Defines a dataset, and the groups above it.
    pub fn create_dataset(&mut self, path: &str, definition: DatasetDefinition) -> Result<()> {
        let is_chosen = definition.chunk_shape.is_none();
        let definition = definition.checked_own().map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        let dataset = if is_chosen { DatasetWriter::growing(definition) } else { DatasetWriter::new(definition) };
        self.define(path, ObjectEntry { dataset: Some(dataset), ..ObjectEntry::default() })
    }

    /// Defines a dataset whose values are in others.
    pub fn create_virtual(&mut self, path: &str, definition: DatasetDefinition, mappings: Vec<VirtualMapping>) -> Result<()> {
        let definition = definition.checked().map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        self.define(path, ObjectEntry { dataset: Some(DatasetWriter::new_virtual(definition, mappings)), ..ObjectEntry::default() })
    }

    /// Defines a dataset whose values go into the file that others write too.
    pub(crate) fn create_prepared(&mut self, path: &str, dataset: DatasetWriter) -> Result<()> {
        self.define(path, ObjectEntry { dataset: Some(dataset), ..ObjectEntry::default() })
    }

    /// Defines a dataset of references to the objects at these paths, which must be there when the file ends.
    pub fn create_references(&mut self, path: &str, shape: Vec<u64>, targets: &[Option<String>]) -> Result<()> {
        let references = ObjectReferences::new(shape, targets).map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        self.create_object_references(path, references)
    }

    /// As [`FileWriter::create_references`].
    pub(crate) fn create_object_references(&mut self, path: &str, references: ObjectReferences) -> Result<()> {
        self.define(path, ObjectEntry { references: Some(references), ..ObjectEntry::default() })
    }

    /// Sets an attribute that is references to the objects at these paths, which must be there when the file ends.
    pub fn set_references(&mut self, path: &str, name: &str, shape: Vec<u64>, targets: &[Option<String>]) -> Result<()> {
        let references = ObjectReferences::new(shape, targets).map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        self.set_object_references(path, name, references)
    }

    /// As [`FileWriter::set_references`].
    pub(crate) fn set_object_references(&mut self, path: &str, name: &str, references: ObjectReferences) -> Result<()> {
        let object = self.object(path)?;
        if object.link.is_some() {
            return Err(Error::invalid_input("a link has no attributes").at_object(path));
        }
        object.attributes.insert(name, AttributeEntry::References(references));
        Ok(())
    }

    /// Commits a datatype under this name, for datasets whose definition names it.
    pub fn create_datatype(&mut self, path: &str, datatype: Datatype) -> Result<()> {
        encode_datatype(&datatype).map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        self.define(path, ObjectEntry { datatype: Some(datatype), ..ObjectEntry::default() })
    }

    pub(crate) fn object(&mut self, path: &str) -> Result<&mut ObjectEntry> {
        let path = self.resolve(path)?;
        self.objects.get_mut(&path).ok_or_else(|| Error::internal("an object that went away"))
    }

    /// Sets an attribute, in place of one of the same name.
    pub fn set_attribute(&mut self, path: &str, name: &str, value: AttributeValue) -> Result<()> {
        let checked = check_attribute(name, &value);
        checked.map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        self.object(path)?;
        let mut value = value;
        if value.value.datatype.has_references() {
            value = self.targets.register_attribute(value).map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        }
        self.object(path)?.attributes.insert(name, AttributeEntry::Value(value));
        Ok(())
    }

    /// Makes a dataset the scale of a dimension (HDF5's dimension scales, as netCDF-4 has them).
    pub fn attach_scale(&mut self, path: &str, dimension: u32, scale: &str) -> Result<()> {
        let scale = self.resolve(scale)?;
        self.dataset(&scale)?;
        let ndim = self.dataset(path)?.definition().dataspace.ndim();
        if usize::try_from(dimension).is_ok_and(|dimension| dimension >= ndim) {
            return Err(Error::invalid_input(format!("dimension {dimension} of {ndim}")).at_object(path));
        }
        self.object(path)?.scales.insert(dimension, scale);
        Ok(())
    }

    /// Notes a scale of a dimension that is not in this file, but in the whole of which it is a part.
    pub(crate) fn set_external_scale(&mut self, path: &str, dimension: u32, scale: &str) -> Result<()> {
        let scale = normalized_path(scale)?;
        self.object(path)?.scales.insert(dimension, scale);
        Ok(())
    }

    /// Takes out what leads to objects that may be in other files of the same whole: links, references, dimension scales and
    /// committed datatypes.
    pub(crate) fn remove_shared_objects(&mut self) {
        self.objects.retain(|_, object| object.link.is_none() && object.references.is_none() && object.datatype.is_none());
        for object in self.objects.values_mut() {
            object.scales.clear();
            object.attributes.retain(|attribute| matches!(attribute, AttributeEntry::Value(_)));
        }
    }

    /// The definition of a dataset as it is now; `NotFound` or `InvalidInput` where there is none.
    pub fn definition(&mut self, path: &str) -> Result<DatasetDefinition> {
        Ok(self.dataset(path)?.definition().clone())
    }

    pub(crate) fn dataset(&mut self, path: &str) -> Result<&mut DatasetWriter> {
        let shown = path.to_owned();
        let object = self.object(path)?;
        object.dataset.as_mut().ok_or_else(|| Error::invalid_input("this is no dataset").at_object(shown))
    }

    /// Sets the extent of a dataset. What falls outside is gone: if the dataset grows again, the fill value is there.
    pub fn resize(&mut self, path: &str, shape: Vec<u64>) -> Result<()> {
        let path = self.resolve(path)?;
        let shown = format!("/{path}");
        let Some(dataset) = self.objects.get_mut(&path).and_then(|object| object.dataset.as_mut()) else {
            return Err(Error::invalid_input("this is no dataset").at_object(shown));
        };
        dataset.resize(shape, &mut self.allocator).map_err(|error| error.at_object(shown))
    }

    /// Stores a chunk as it is: it went through the dataset's filters but those of the mask.
    pub(crate) fn put_chunk(&mut self, path: &str, position: Vec<u64>, bytes: &[u8], filter_mask: u32) -> Result<()> {
        let path = normalized_path(path)?;
        let dataset = self.objects.get_mut(&path).and_then(|object| object.dataset.as_mut());
        dataset.ok_or_else(|| Error::internal("a chunk of no dataset"))?.put_chunk(position, bytes, filter_mask, &mut self.allocator)
    }

    /// Where the last byte ends that went into the file that others write too.
    pub(crate) fn shared_top(&self) -> Result<u64> {
        self.shared.as_ref().map(Allocator::top).ok_or_else(|| Error::internal("a task without a shared subfile"))
    }

    /// Paths of the datasets.
    pub(crate) fn datasets(&self) -> impl Iterator<Item = (&str, &DatasetWriter)> {
        self.objects.iter().filter_map(|(path, object)| Some((path.as_str(), object.dataset.as_ref()?)))
    }

    /// All objects and links by path.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (&str, &ObjectEntry)> {
        self.objects.iter().map(|(path, object)| (path.as_str(), object))
    }
}

/// No values in a heap.
pub fn no_heap<'a>(_: HeapReference) -> Result<&'a [u8]> {
    Err(Error::invalid_input("a variable-length value that is not there"))
}
