//! [`FileWriter`] writes one complete HDF5 file. Values are written as they arrive, in aligned blocks. Metadata is written
//! at the end in one piece, before the first aligned block if it fits there. The superblock is written last.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hyperslab_array::{Cancellation, Datatype, Elements, Error, HeapReference, Result};
use hyperslab_formats::VirtualMapping;
use hyperslab_formats::hdf5::writer::{FillObjects, LibraryVersion, NewProperties, encode_datatype, replace_references, stored_values};
use hyperslab_reader::Session;
use hyperslab_storage::{Existing, StorageOptions};

use super::allocator::{Allocator, checked_alignment};
use super::dataset::state::DatasetWriter;
use super::definition::{AttributeValue, DatasetDefinition, check_attribute};
use super::object::{AttachedScale, AttributeEntry, ObjectEntry};
use super::references::object_path::normalized_path;
use super::references::object_references::ObjectReferences;
use super::references::targets::{ReferenceTargets, Target, in_heap, in_list};
use super::replaced_file::ReplacedFile;
use super::virtual_mappings;

/// One HDF5 file that is being written.
pub struct FileWriter {
    pub(crate) allocator: Allocator,
    /// This task's part of a shared subfile.
    pub(crate) shared: Option<Allocator>,
    pub(crate) session: Session,
    /// Objects by absolute path without the leading `/`; the root is the empty path.
    pub(crate) objects: BTreeMap<String, ObjectEntry>,
    /// The error of a write that failed halfway. The file cannot be finished.
    pub(crate) broken: Option<Error>,
    /// Whether [`FileWriter::finish`] syncs to disk.
    pub(crate) durable: bool,
    /// Whether new objects track creation order.
    tracked: bool,
    /// Number of objects and links defined so far.
    pub(crate) created: u64,
    /// The order of the next dimension scale.
    attached_scales: u64,
    /// The targets of all references in the file.
    pub(crate) targets: ReferenceTargets,
    /// The existing file that this one was copied from and replaces.
    pub(crate) base: Option<ReplacedFile>,
    /// The newest version of the HDF5 library whose structures the file may have.
    pub(crate) newest: LibraryVersion,
}

impl FileWriter {
    /// Begins a file that gets the name `target`, a path or an address of an object store, when it is finished. Blocks of at least `alignment` bytes, a power of two,
    /// begin at multiples of it; `None` uses the block or stripe size of the file system. If `existing` does not allow a file
    /// of this name, this fails early; [`FileWriter::finish`] checks again.
    ///
    /// # Errors
    /// `Conflict` if `existing` does not allow a file of this name; `InvalidInput` for an alignment that is not a power of
    /// two; `Io` if the file cannot be created.
    pub fn create(target: &Path, existing: Existing, alignment: Option<u64>, session: &Session) -> Result<Self> {
        Ok(Self::new(Allocator::own(target, existing, checked_alignment(alignment)?, session.storage_options())?, session))
    }

    /// Begins a file that has the name `target` from the start, in a folder that readers do not look into.
    pub(crate) fn in_place(target: &Path, alignment: Option<u64>, session: &Session) -> Result<Self> {
        Ok(Self::new(Allocator::in_place(target, alignment)?, session))
    }

    /// Begins the object at an address, one of many parts of a write, which is uploaded when it is finished.
    pub(crate) fn for_object(address: &str, alignment: Option<u64>, options: &StorageOptions, session: &Session) -> Result<Self> {
        Ok(Self::new(Allocator::object(address, checked_alignment(alignment)?, options)?, session))
    }

    /// Begins a task's own file, created with its first write if any, next to the task's part of a shared subfile.
    pub(crate) fn with_shared(target: &Path, alignment: Option<u64>, shared: Allocator, session: &Session) -> Result<Self> {
        Ok(Self { shared: Some(shared), ..Self::new(Allocator::deferred(target, alignment)?, session) })
    }

    /// Begins a file that is created with its first write.
    pub(crate) fn deferred(target: &Path, alignment: Option<u64>, session: &Session) -> Result<Self> {
        Ok(Self::new(Allocator::deferred(target, alignment)?, session))
    }

    pub(crate) fn new(allocator: Allocator, session: &Session) -> Self {
        let objects = BTreeMap::from([(String::new(), ObjectEntry::default())]);
        Self {
            allocator,
            shared: None,
            session: session.clone(),
            objects,
            broken: None,
            durable: true,
            tracked: false,
            created: 0,
            attached_scales: 0,
            targets: ReferenceTargets::default(),
            base: None,
            newest: LibraryVersion::default(),
        }
    }

    /// Whether finishing is fast: no chunk to encode and no sync.
    pub(crate) fn is_quick(&self) -> bool {
        !self.durable && !self.objects.values().any(|object| object.dataset.as_ref().is_some_and(DatasetWriter::has_partial_chunks))
    }

    /// Whether the values of each dataset, and each chunk, have at most `max_bytes`.
    pub(crate) fn is_small(&self, max_bytes: u64) -> bool {
        self.datasets().all(|(_, dataset)| {
            let definition = dataset.definition();
            let bytes_of = |extents: &[u64]| extents.iter().fold(definition.datatype.size(), |n, extent| n.saturating_mul(*extent));
            let chunk = definition.chunk_shape.as_deref().map_or(0, bytes_of);
            bytes_of(definition.dataspace.shape()).max(chunk) <= max_bytes
        })
    }

    /// Reserves a user block at the beginning of the file: 0 bytes, or a power of two of at least 512. Call it before the first
    /// write.
    ///
    /// # Errors
    /// `InvalidInput` for another number of bytes, or after the first write.
    pub fn set_user_block(&mut self, bytes: u64) -> Result<()> {
        if bytes != 0 && (bytes < 512 || !bytes.is_power_of_two()) {
            return Err(Error::invalid_input(format!("a user block of {bytes} bytes: give 0 or a power of two of at least 512")));
        }
        self.allocator.set_user_block(bytes);
        Ok(())
    }

    /// Writes only structures that this version of the HDF5 library knows. Call it before objects are created and before
    /// [`FileWriter::set_pages`].
    pub fn set_newest(&mut self, newest: LibraryVersion) {
        self.newest = newest;
    }

    /// Fills the beginning of the user block, whose bytes are otherwise 0.
    ///
    /// # Errors
    /// `InvalidInput` for more bytes than the user block has; `Io`.
    pub fn write_user_block(&mut self, bytes: &[u8]) -> Result<()> {
        self.allocator.write_user_block(bytes)
    }

    /// Divides the file into pages of `page_bytes` (HDF5's file space strategy PAGE): metadata and values are in separate pages.
    /// Page sizes are multiples of 8 from 512 bytes to 1 GiB; a user block must be whole pages. Call it before the first write.
    ///
    /// # Errors
    /// `InvalidInput` for another page size, or after the first write; `Unsupported` in a file for HDF5 1.8.
    pub fn set_pages(&mut self, page_bytes: u64) -> Result<()> {
        self.newest.check_pages()?;
        if !(512..=1 << 30).contains(&page_bytes) || !page_bytes.is_multiple_of(8) {
            return Err(Error::invalid_input(format!("pages of {page_bytes} bytes: give a multiple of 8 from 512 to 1073741824")));
        }
        if !self.allocator.user_block().is_multiple_of(page_bytes) {
            return Err(Error::invalid_input(format!(
                "a user block of {} bytes in a file with pages of {page_bytes}: give a multiple of the page size",
                self.allocator.user_block()
            )));
        }
        self.allocator.set_pages(page_bytes);
        Ok(())
    }

    /// Lets the caller cancel: writes then fail with `Cancelled`, and the file cannot be finished.
    pub fn cancel_with(&mut self, cancellation: &Cancellation) {
        for allocator in [Some(&mut self.allocator), self.shared.as_mut()].into_iter().flatten() {
            allocator.cancellation = cancellation.clone();
        }
    }

    /// Finishes without waiting until the bytes are on disk.
    pub fn without_sync(&mut self) {
        self.durable = false;
    }

    /// Records the creation order of attributes and group members: for the root, and for all objects defined later.
    pub fn track_order(&mut self) {
        self.tracked = true;
        if let Some(root) = self.objects.get_mut("") {
            root.tracked = true;
        }
    }

    /// Sets whether the file records the creation order of an object's attributes and, for a group, of its members.
    ///
    /// # Errors
    /// `NotFound` if there is no such object.
    pub fn set_tracked(&mut self, path: &str, tracked: bool) -> Result<()> {
        let object = self.object(path)?;
        object.tracked = tracked;
        object.copied = None;
        Ok(())
    }

    /// Sets what the file says of a copied object beyond its content.
    pub(crate) fn set_properties(&mut self, path: &str, properties: NewProperties) -> Result<()> {
        let object = self.object(path)?;
        object.tracked = if object.is_group() { properties.link_order.is_tracked } else { properties.attribute_order.is_tracked };
        object.copied = Some(Box::new(properties));
        Ok(())
    }

    /// Sets which names of a copied group's links have another character set than they need.
    pub(crate) fn set_other_names(&mut self, path: &str, names: BTreeSet<String>) -> Result<()> {
        let object = self.object(path)?;
        if !names.is_empty() {
            object.copied.get_or_insert_with(|| Box::new(NewProperties::tracked(object.tracked))).other_names = names;
        }
        Ok(())
    }

    /// Gives a `DIMENSION_LIST` or `REFERENCE_LIST` its place after the attributes that were set so far.
    pub(crate) fn place_scales(&mut self, path: &str, name: &str, datatype: Datatype) -> Result<()> {
        self.object(path)?.attributes.insert(name, AttributeEntry::OfScales(datatype));
        Ok(())
    }

    /// A new object with the next id.
    pub(crate) fn new_object(&mut self) -> ObjectEntry {
        self.created += 1;
        ObjectEntry { created: self.created, id: self.created, tracked: self.tracked, ..ObjectEntry::default() }
    }

    /// The path that the file gets.
    pub fn target(&self) -> &Path {
        self.allocator.target()
    }

    pub(crate) fn error_at(&self, path: &str, error: Error) -> Error {
        error.at_object(format!("/{path}")).in_file(self.target().display().to_string())
    }

    /// Creates a group and its parents; existing groups are unchanged.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid path, or one that has another object; `Unsupported` for what HDF5 cannot store.
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
                return Err(self.error_at(&path, Error::invalid_input(format!("/{above} is not a group"))));
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

    /// Creates a dataset and its parent groups.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid path, or one that has another object; `Unsupported` for what HDF5 cannot store.
    pub fn create_dataset(&mut self, path: &str, definition: DatasetDefinition) -> Result<()> {
        let heap = definition.fill_heap.clone();
        self.create_named_dataset(path, definition, &|index| in_heap(&|place| heap.object(place), index))
    }

    /// Like [`FileWriter::create_dataset`], but references in the fill value are numbers of `targets`, from 1 on, as
    /// [`FileWriter::write_copied`] takes them.
    pub(crate) fn create_copied_dataset(&mut self, path: &str, definition: DatasetDefinition, targets: &[Target]) -> Result<()> {
        self.create_named_dataset(path, definition, &|number| in_list(targets, number))
    }

    /// `named` gives the target of a reference by the number that the fill value holds.
    fn create_named_dataset(&mut self, path: &str, definition: DatasetDefinition, named: &dyn Fn(u32) -> Result<Target>) -> Result<()> {
        let is_chosen = definition.chunk_shape.is_none();
        self.check_datatype(path, &definition.datatype)?;
        let definition = definition.checked_own().map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        let (definition, fill) = self.store_fill(definition, named).map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        let dataset = DatasetWriter { fill, ..if is_chosen { DatasetWriter::growing(definition) } else { DatasetWriter::new(definition) } };
        self.define(path, ObjectEntry { dataset: Some(dataset), ..ObjectEntry::default() })
    }

    /// Stores what a fill value of variable length points at, so that unwritten elements can refer to it until they are stored. The targets
    /// of its references get ids.
    fn store_fill(&mut self, mut definition: DatasetDefinition, named: &dyn Fn(u32) -> Result<Target>) -> Result<(DatasetDefinition, Option<FillObjects>)> {
        let Some(fill) = definition.fill_value.take() else { return Ok((definition, None)) };
        let mut elements = Elements { datatype: definition.datatype.clone(), bytes: fill, heap: std::mem::take(&mut definition.fill_heap) };
        replace_references(&mut elements, &mut |_, element| self.targets.register(element, named))?;
        if definition.datatype.uses_heap() {
            let left = elements.heap.left();
            elements.bytes = self.allocator.store_elements(&elements)?;
            elements.heap = stored_values(self.allocator.storage()?, self.allocator.user_block(), &elements.datatype, &elements.bytes)?;
            let more = elements.heap.left().saturating_sub(left);
            elements.heap.charge(more)?;
        }
        let fill = FillObjects::of(&elements.datatype, &elements.bytes, &elements.heap)?;
        Ok((definition.with_fill(Some(elements)), fill))
    }

    /// Checks that the versions of HDF5 that the file is for know the datatype.
    fn check_datatype(&self, path: &str, datatype: &Datatype) -> Result<()> {
        self.newest.check_datatype(datatype).map_err(|error| self.error_at(path.trim_start_matches('/'), error))
    }

    /// Creates a dataset in chunks that [`FileWriter::put_chunk`] gets as another file has them, through the same filters, which need
    /// not be ones that are written.
    pub(crate) fn create_copy(&mut self, path: &str, definition: DatasetDefinition) -> Result<()> {
        self.check_datatype(path, &definition.datatype)?;
        let definition = definition.checked_copy().map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        let (definition, _) = self.store_fill(definition, &no_target).map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        self.define(path, ObjectEntry { dataset: Some(DatasetWriter::new(definition)), ..ObjectEntry::default() })
    }

    /// Creates a virtual dataset.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid path, or one that has another object; `Unsupported` for what HDF5 cannot store.
    pub fn create_virtual(&mut self, path: &str, definition: DatasetDefinition, mappings: Vec<VirtualMapping>) -> Result<()> {
        if definition.datatype.has_references() {
            let refusal = Error::unsupported("references in a virtual dataset: object addresses differ between files");
            return Err(self.error_at(path.trim_start_matches('/'), refusal));
        }
        let definition = definition.checked_own().and_then(|definition| {
            self.newest.check_virtual()?;
            virtual_mappings::check(&mappings, definition.dataspace.shape())?;
            self.store_fill(definition, &no_target)
        });
        let (definition, _) = definition.map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        self.define(path, ObjectEntry { dataset: Some(DatasetWriter::new_virtual(definition, mappings)), ..ObjectEntry::default() })
    }

    /// Adds a dataset that was prepared by the caller.
    pub(crate) fn create_prepared(&mut self, path: &str, dataset: DatasetWriter) -> Result<()> {
        self.define(path, ObjectEntry { dataset: Some(dataset), ..ObjectEntry::default() })
    }

    /// File offset of a contiguous dataset that has values.
    pub(crate) fn address(&mut self, path: &str) -> Result<u64> {
        self.dataset(path)?.address().ok_or_else(|| Error::internal("the address of a dataset without values"))
    }

    /// Creates a dataset of references to the objects at these paths. The objects must exist when the file is finished.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid path, or one that has another object; `Unsupported` for what HDF5 cannot store.
    pub fn create_references(&mut self, path: &str, shape: Vec<u64>, targets: &[Option<String>]) -> Result<()> {
        let references = ObjectReferences::new(shape, targets).map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        self.create_object_references(path, references)
    }

    /// See [`FileWriter::create_references`].
    pub(crate) fn create_object_references(&mut self, path: &str, references: ObjectReferences) -> Result<()> {
        self.define(path, ObjectEntry { references: Some(references), ..ObjectEntry::default() })
    }

    /// Sets an attribute of references to the objects at these paths. The objects must exist when the file is finished.
    ///
    /// # Errors
    /// `NotFound` if there is no such object.
    pub fn set_references(&mut self, path: &str, name: &str, shape: Vec<u64>, targets: &[Option<String>]) -> Result<()> {
        let references = ObjectReferences::new(shape, targets).map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        self.set_object_references(path, name, references)
    }

    /// See [`FileWriter::set_references`].
    pub(crate) fn set_object_references(&mut self, path: &str, name: &str, references: ObjectReferences) -> Result<()> {
        let object = self.object(path)?;
        if object.link.is_some() {
            return Err(Error::invalid_input("a link has no attributes").at_object(path));
        }
        object.attributes.insert(name, AttributeEntry::References(references));
        Ok(())
    }

    /// Commits a datatype at this path. Dataset definitions can refer to it.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid path, or one that has another object; `Unsupported` for what HDF5 cannot store.
    pub fn create_datatype(&mut self, path: &str, datatype: Datatype) -> Result<()> {
        self.check_datatype(path, &datatype)?;
        encode_datatype(&datatype).map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        self.define(path, ObjectEntry { datatype: Some(datatype), ..ObjectEntry::default() })
    }

    pub(crate) fn object(&mut self, path: &str) -> Result<&mut ObjectEntry> {
        let path = self.resolve(path)?;
        self.objects.get_mut(&path).ok_or_else(|| Error::internal("an object that was removed"))
    }

    /// Sets an attribute, replacing one of the same name.
    ///
    /// # Errors
    /// `NotFound` if there is no such object; `InvalidInput` for a link or a reserved name; `Unsupported` for a value
    /// that HDF5 cannot store.
    pub fn set_attribute(&mut self, path: &str, name: &str, value: AttributeValue) -> Result<()> {
        check_attribute(name, &value).map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        self.check_datatype(path, &value.value.datatype)?;
        self.object(path)?;
        let mut value = value;
        if value.value.datatype.has_references() {
            let heap = value.value.heap.clone();
            let named = |index| in_heap(&|place| heap.object(place), index);
            value = self.targets.register_attribute(value, &named).map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        }
        self.object(path)?.attributes.insert(name, AttributeEntry::Value(Box::new(value)));
        Ok(())
    }

    /// Like [`FileWriter::set_attribute`], but references are numbers of `targets`, from 1 on.
    pub(crate) fn set_copied_attribute(&mut self, path: &str, name: &str, value: AttributeValue, targets: &[Target]) -> Result<()> {
        self.check_datatype(path, &value.value.datatype)?;
        let checked = check_attribute(name, &value).and_then(|()| self.targets.register_attribute(value, &|number| in_list(targets, number)));
        let value = checked.map_err(|error| self.error_at(path.trim_start_matches('/'), error))?;
        self.object(path)?.attributes.insert(name, AttributeEntry::Value(Box::new(value)));
        Ok(())
    }

    /// Attaches a dataset as a scale of a dimension (HDF5 dimension scales, as used by netCDF-4), after the scales that the dimension has.
    ///
    /// # Errors
    /// `NotFound` if there is no such object. `InvalidInput` for a dimension that the dataset does not have.
    pub fn attach_scale(&mut self, path: &str, dimension: u32, scale: &str) -> Result<()> {
        let scale = self.resolve(scale)?;
        if self.object(path)?.scales.get(&dimension).is_some_and(|known| known.iter().any(|known| known.path == scale)) {
            return Ok(());
        }
        self.attach_copied_scale(path, dimension, &scale, self.attached_scales)
    }

    /// The same, for a scale that the dimension does not have yet, which lists the dimension in the place `order`.
    pub(crate) fn attach_copied_scale(&mut self, path: &str, dimension: u32, scale: &str, order: u64) -> Result<()> {
        let scale = self.resolve(scale)?;
        self.dataset(&scale)?;
        let ndim = self.dataset(path)?.definition().dataspace.ndim();
        if usize::try_from(dimension).is_ok_and(|dimension| dimension >= ndim) {
            return Err(Error::invalid_input(format!("dimension {dimension} of {ndim}")).at_object(path));
        }
        self.object(path)?.scales.entry(dimension).or_default().push(AttachedScale { path: scale, order });
        self.attached_scales = self.attached_scales.max(order.saturating_add(1));
        Ok(())
    }

    /// Detaches a scale from a dimension of a dataset. It stays a scale.
    ///
    /// # Errors
    /// `NotFound` if there is no such object, or if the scale is not attached there.
    pub fn detach_scale(&mut self, path: &str, dimension: u32, scale: &str) -> Result<()> {
        let scale = self.resolve(scale)?;
        let object = self.object(path)?;
        let attached = object.scales.entry(dimension).or_default();
        let Some(place) = attached.iter().position(|known| known.path == scale) else {
            return Err(Error::not_found(format!("/{scale} is not attached to dimension {dimension}")).at_object(path));
        };
        attached.remove(place);
        object.scales.retain(|_, attached| !attached.is_empty());
        Ok(())
    }

    /// The absolute paths of the scales that are attached to a dataset, in order, by dimension.
    ///
    /// # Errors
    /// `NotFound` if there is no such object.
    pub fn scales(&mut self, path: &str) -> Result<BTreeMap<u32, Vec<String>>> {
        let paths = |attached: &Vec<AttachedScale>| attached.iter().map(|scale| format!("/{}", scale.path)).collect();
        Ok(self.object(path)?.scales.iter().map(|(dimension, attached)| (*dimension, paths(attached))).collect())
    }

    /// Attaches the scale of a dimension that is not in this file, but elsewhere in the container.
    pub(crate) fn set_external_scale(&mut self, path: &str, dimension: u32, scale: &str) -> Result<()> {
        let scale = AttachedScale { path: normalized_path(scale)?, order: self.attached_scales };
        self.object(path)?.scales.insert(dimension, vec![scale]);
        self.attached_scales += 1;
        Ok(())
    }

    /// Removes everything that may refer to other files of the container: links, references, dimension scales and committed
    /// datatypes.
    pub(crate) fn remove_shared_objects(&mut self) {
        self.objects.retain(|_, object| object.link.is_none() && object.references.is_none() && object.datatype.is_none());
        for object in self.objects.values_mut() {
            object.scales.clear();
            object.attributes.retain(|attribute| matches!(attribute, AttributeEntry::Value(_)));
        }
    }

    /// The current definition of a dataset.
    ///
    /// # Errors
    /// `NotFound` if the path does not exist, `InvalidInput` if it is not a dataset.
    pub fn definition(&mut self, path: &str) -> Result<DatasetDefinition> {
        Ok(self.dataset(path)?.definition().clone())
    }

    pub(crate) fn dataset(&mut self, path: &str) -> Result<&mut DatasetWriter> {
        let shown = path.to_owned();
        let object = self.object(path)?;
        object.dataset.as_mut().ok_or_else(|| Error::invalid_input("this is not a dataset").at_object(shown))
    }

    /// Resizes a dataset. Elements outside of the new shape are lost: if it grows again, they have the fill value.
    ///
    /// # Errors
    /// `NotFound` if there is no such dataset; `InvalidInput` for a shape that it may not have; `Unsupported` if a
    /// dataset without chunks would shrink.
    pub fn resize(&mut self, path: &str, shape: Vec<u64>) -> Result<()> {
        let path = self.resolve(path)?;
        let shown = format!("/{path}");
        let Some(dataset) = self.objects.get_mut(&path).and_then(|object| object.dataset.as_mut()) else {
            return Err(Error::invalid_input("this is not a dataset").at_object(shown));
        };
        dataset.resize(shape, &mut self.allocator).map_err(|error| error.at_object(shown))
    }

    /// Stores an encoded chunk; `filter_mask` has a bit for each filter that was skipped.
    pub(crate) fn put_chunk(&mut self, path: &str, position: Vec<u64>, bytes: &[u8], filter_mask: u32) -> Result<()> {
        let path = normalized_path(path)?;
        let dataset = self.objects.get_mut(&path).and_then(|object| object.dataset.as_mut());
        dataset.ok_or_else(|| Error::internal("a chunk of an unknown dataset"))?.put_chunk(position, bytes, filter_mask, &mut self.allocator)
    }

    /// End of the last byte written to the shared subfile.
    pub(crate) fn shared_top(&self) -> Result<u64> {
        self.shared.as_ref().map(Allocator::top).ok_or_else(|| Error::internal("a task without a shared subfile"))
    }

    /// All datasets by path.
    pub(crate) fn datasets(&self) -> impl Iterator<Item = (&str, &DatasetWriter)> {
        self.objects.iter().filter_map(|(path, object)| Some((path.as_str(), object.dataset.as_ref()?)))
    }

    /// All objects and links by path.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (&str, &ObjectEntry)> {
        self.objects.iter().map(|(path, object)| (path.as_str(), object))
    }
}

/// The target of a reference in a fill value whose datatype has none.
fn no_target(_: u32) -> Result<Target> {
    Err(Error::internal("a reference in a datatype that has none"))
}

/// A `resolve` function for values without variable-length parts.
///
/// # Errors
/// `InvalidInput` always: such a value refers to nothing.
pub fn no_heap<'a>(_: HeapReference) -> Result<&'a [u8]> {
    Err(Error::invalid_input("a variable-length value is missing"))
}
