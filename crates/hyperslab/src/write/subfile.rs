//! Subfile: one complete HDF5 file under way. Values go out as they come, each block aligned; metadata follows
//! in one piece, into the room before the first block where it fits; the superblock comes last.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use hyperslab_array::{Datatype, Error, ErrorKind, HeapReference, Result};
use hyperslab_formats::VirtualMapping;
use hyperslab_formats::hdf5::writer::{HeapWriter, SUPERBLOCK_BYTES, encode_datatype, encode_metadata, encode_superblock, store_values};
use hyperslab_storage::{Existing, SharedFile};

use super::boxes::Region;
use super::continued::Base;
use super::dataset::DatasetWriter;
use super::definition::{AttributeValue, DatasetDefinition};
use super::links::Link;
use super::description::{chosen, describe, numbers};
use super::ordered::Ordered;
use super::pointers::Pointers;
use super::room::Blocks;
use crate::Session;

/// A file of as many objects has more metadata than goes before its values: it is not tried.
const FEW_OBJECTS: usize = 1 << 10;

/// One HDF5 file that is being written.
pub struct Subfile {
    blocks: Blocks,
    /// The part of a file that others write too.
    shared: Option<Blocks>,
    session: Session,
    /// By absolute path without the first `/`; the root is the empty path.
    objects: BTreeMap<String, Object>,
    /// Why the file cannot become whole any more: a write that failed half-way.
    broken: Option<Error>,
    /// Whether the end waits for the disk.
    durable: bool,
    /// Whether objects that are defined from now on track the order of creation.
    tracked: bool,
    /// Objects that were defined, links too.
    created: u64,
    /// A collection of variable-length values with room for more, and where it is.
    small_heap: Option<(u64, HeapWriter)>,
    /// The file whose place it takes, if it began with that.
    pub(super) base: Option<Base>,
}

/// Bytes of elements whose values may go into a collection together with others.
const MAX_SMALL_BYTES: usize = 4096;
/// Bytes of a value for which a collection has room that is kept for more.
const SMALL_VALUE_BYTES: usize = 256;

/// The value of an attribute.
#[derive(Debug)]
pub(super) enum Attribute {
    Value(AttributeValue),
    /// References to objects.
    References(Pointers),
}

#[derive(Debug, Default)]
pub(super) struct Object {
    /// How many objects were defined before it.
    pub(super) created: u64,
    /// Whether the file records the order of its attributes and, of a group, of its members.
    pub(super) tracked: bool,
    pub(super) attributes: Ordered<Attribute>,
    pub(super) dataset: Option<DatasetWriter>,
    /// References to objects instead of values.
    pub(super) pointers: Option<Pointers>,
    /// A link instead of an object.
    pub(super) link: Option<Link>,
    /// A committed datatype instead of a group.
    pub(super) datatype: Option<Datatype>,
    /// Paths of the dimension scales of a dataset, by dimension.
    pub(super) scales: BTreeMap<u32, String>,
}

impl Object {
    /// Whether it is a group.
    pub(super) fn is_group(&self) -> bool {
        self.dataset.is_none() && self.link.is_none() && self.pointers.is_none() && self.datatype.is_none()
    }
}

impl Subfile {
    /// Begins a file that will be called `target`. Blocks of `alignment` bytes or more begin at multiples of
    /// it, a power of two; `None` asks the file system for its block or stripe. `existing` says at once whether there may be
    /// such a file; [`Subfile::finish`] decides.
    pub fn create(target: &Path, existing: Existing, alignment: Option<u64>, session: &Session) -> Result<Self> {
        Ok(Self::over(Blocks::own(target, existing, checked_alignment(alignment)?)?, session))
    }

    /// Begins a file that is called `target` from its beginning, where nobody looks.
    pub(super) fn in_place(target: &Path, alignment: Option<u64>, session: &Session) -> Result<Self> {
        Ok(Self::over(Blocks::in_place(target, alignment)?, session))
    }

    /// Begins a file whose first bytes may come late or never, beside a part of one that others write too.
    pub(super) fn beside(target: &Path, alignment: Option<u64>, shared: Blocks, session: &Session) -> Result<Self> {
        Ok(Self { shared: Some(shared), ..Self::over(Blocks::later(target, alignment)?, session) })
    }

    /// Begins a file that will be called `target` as soon as something belongs into it.
    pub(super) fn later(target: &Path, alignment: Option<u64>, session: &Session) -> Result<Self> {
        Ok(Self::over(Blocks::later(target, alignment)?, session))
    }

    pub(super) fn over(blocks: Blocks, session: &Session) -> Self {
        let objects = BTreeMap::from([(String::new(), Object::default())]);
        Self { blocks, shared: None, session: session.clone(), objects, broken: None, durable: true, tracked: false, created: 0, small_heap: None, base: None }
    }

    /// Whether its end has nothing to wait for: no chunk to encode, and not the disk.
    pub(super) fn is_quick(&self) -> bool {
        !self.durable && !self.objects.values().any(|object| object.dataset.as_ref().is_some_and(DatasetWriter::is_waiting))
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
    fn new_object(&mut self) -> Object {
        self.created += 1;
        Object { created: self.created, tracked: self.tracked, ..Object::default() }
    }

    /// The name that the file will have.
    pub fn target(&self) -> &Path {
        self.blocks.target()
    }

    fn place(&self, path: &str, error: Error) -> Error {
        error.at_object(format!("/{path}")).in_file(self.target().display().to_string())
    }

    /// Defines a group and those above it; one that is there already stays as it is.
    pub fn create_group(&mut self, path: &str) -> Result<()> {
        let path = normal(path)?;
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
                return Err(self.place(&path, Error::invalid_input(format!("/{above} is no group"))));
            }
        }
        Ok(())
    }

    fn define(&mut self, path: &str, object: Object) -> Result<()> {
        let path = normal(path)?;
        if self.objects.contains_key(&path) {
            return Err(self.place(&path, Error::invalid_input("there is an object of this name already")));
        }
        let above = path.rsplit_once('/').map_or("", |(above, _)| above).to_owned();
        self.create_group(&above)?;
        let Object { created, tracked, .. } = self.new_object();
        self.objects.insert(path, Object { created, tracked, ..object });
        Ok(())
    }

    /// Defines a dataset, and the groups above it.
    pub fn create_dataset(&mut self, path: &str, definition: DatasetDefinition) -> Result<()> {
        let is_chosen = definition.chunk_shape.is_none();
        let definition = definition.checked().map_err(|error| self.place(path.trim_start_matches('/'), error))?;
        let dataset = if is_chosen { DatasetWriter::growing(definition) } else { DatasetWriter::new(definition) };
        self.define(path, Object { dataset: Some(dataset), ..Object::default() })
    }

    /// Defines a dataset whose values are in others.
    pub fn create_virtual(&mut self, path: &str, definition: DatasetDefinition, mappings: Vec<VirtualMapping>) -> Result<()> {
        let definition = definition.checked().map_err(|error| self.place(path.trim_start_matches('/'), error))?;
        self.define(path, Object { dataset: Some(DatasetWriter::of_others(definition, mappings)), ..Object::default() })
    }

    /// Defines a dataset whose values go into the file that others write too.
    pub(super) fn create_shared(&mut self, path: &str, dataset: DatasetWriter) -> Result<()> {
        self.define(path, Object { dataset: Some(dataset), ..Object::default() })
    }

    /// Defines a dataset of references to the objects at these paths, which must be there when the file ends.
    pub fn create_references(&mut self, path: &str, shape: Vec<u64>, targets: &[Option<String>]) -> Result<()> {
        let pointers = Pointers::new(shape, targets).map_err(|error| self.place(path.trim_start_matches('/'), error))?;
        self.create_pointers(path, pointers)
    }

    /// As [`Subfile::create_references`].
    pub(super) fn create_pointers(&mut self, path: &str, pointers: Pointers) -> Result<()> {
        self.define(path, Object { pointers: Some(pointers), ..Object::default() })
    }

    /// Sets an attribute that is references to the objects at these paths, which must be there when the file ends.
    pub fn set_references(&mut self, path: &str, name: &str, shape: Vec<u64>, targets: &[Option<String>]) -> Result<()> {
        let pointers = Pointers::new(shape, targets).map_err(|error| self.place(path.trim_start_matches('/'), error))?;
        self.set_pointers(path, name, pointers)
    }

    /// As [`Subfile::set_references`].
    pub(super) fn set_pointers(&mut self, path: &str, name: &str, pointers: Pointers) -> Result<()> {
        let object = self.object(path)?;
        if object.link.is_some() {
            return Err(Error::invalid_input("a link has no attributes").at_object(path));
        }
        object.attributes.insert(name, Attribute::References(pointers));
        Ok(())
    }

    /// Defines a link.
    pub fn create_link(&mut self, path: &str, link: Link) -> Result<()> {
        let link = link.checked().map_err(|error| self.place(path.trim_start_matches('/'), error))?;
        self.define(path, Object { link: Some(link), ..Object::default() })
    }

    /// Commits a datatype under this name, for datasets whose definition names it.
    pub fn create_datatype(&mut self, path: &str, datatype: Datatype) -> Result<()> {
        encode_datatype(&datatype).map_err(|error| self.place(path.trim_start_matches('/'), error))?;
        self.define(path, Object { datatype: Some(datatype), ..Object::default() })
    }

    fn object(&mut self, path: &str) -> Result<&mut Object> {
        let path = normal(path)?;
        if !self.objects.contains_key(&path) {
            return Err(self.place(&path, Error::not_found("there is no such object in the file that is written")));
        }
        self.objects.get_mut(&path).ok_or_else(|| Error::internal("an object that went away"))
    }

    /// Sets an attribute, in place of one of the same name.
    pub fn set_attribute(&mut self, path: &str, name: &str, value: AttributeValue) -> Result<()> {
        let checked = check_attribute(name, &value);
        checked.map_err(|error| self.place(path.trim_start_matches('/'), error))?;
        let object = self.object(path)?;
        if object.link.is_some() {
            return Err(Error::invalid_input("a link has no attributes").at_object(path));
        }
        object.attributes.insert(name, Attribute::Value(value));
        Ok(())
    }

    /// Makes a dataset the scale of a dimension (HDF5's dimension scales, as netCDF-4 has them).
    pub fn attach_scale(&mut self, path: &str, dimension: u32, scale: &str) -> Result<()> {
        let scale = normal(scale)?;
        self.dataset(&scale)?;
        let ndim = self.dataset(path)?.definition().dataspace.ndim();
        if usize::try_from(dimension).is_ok_and(|dimension| dimension >= ndim) {
            return Err(Error::invalid_input(format!("dimension {dimension} of {ndim}")).at_object(path));
        }
        self.object(path)?.scales.insert(dimension, scale);
        Ok(())
    }

    /// Notes a scale of a dimension that is not in this file, but in the whole of which it is a part.
    pub(super) fn note_scale(&mut self, path: &str, dimension: u32, scale: &str) -> Result<()> {
        let scale = normal(scale)?;
        self.object(path)?.scales.insert(dimension, scale);
        Ok(())
    }

    /// Takes out what leads to objects that may be in other files of the same whole: links, references, dimension scales and
    /// committed datatypes.
    pub(super) fn forget_others(&mut self) {
        self.objects.retain(|_, object| object.link.is_none() && object.pointers.is_none() && object.datatype.is_none());
        for object in self.objects.values_mut() {
            object.scales.clear();
            object.attributes.retain(|attribute| matches!(attribute, Attribute::Value(_)));
        }
    }

    /// The definition of a dataset as it is now; `NotFound` or `InvalidInput` where there is none.
    pub fn definition(&mut self, path: &str) -> Result<DatasetDefinition> {
        Ok(self.dataset(path)?.definition().clone())
    }

    fn dataset(&mut self, path: &str) -> Result<&mut DatasetWriter> {
        let shown = path.to_owned();
        let object = self.object(path)?;
        object.dataset.as_mut().ok_or_else(|| Error::invalid_input("this is no dataset").at_object(shown))
    }

    /// Grows a dataset to `shape`.
    pub fn grow(&mut self, path: &str, shape: Vec<u64>) -> Result<()> {
        self.dataset(path)?.grow(shape).map_err(|error| error.at_object(path))
    }

    /// Writes `bytes`, the elements of `region` row-major, in the layout of the file; what variable-length
    /// parts point at comes from `resolve`.
    pub fn write<'a>(&mut self, path: &str, region: &Region, bytes: &[u8], resolve: &'a dyn Fn(HeapReference) -> Result<&'a [u8]>) -> Result<()> {
        self.write_parts(path, region, bytes, None, resolve)
    }

    /// As [`Subfile::write`]. Of `parts`, offsets and lengths in bytes, only these parts of each element are written; the
    /// others stay as they are.
    pub fn write_parts<'a>(
        &mut self,
        path: &str,
        region: &Region,
        bytes: &[u8],
        parts: Option<&[(usize, usize)]>,
        resolve: &'a dyn Fn(HeapReference) -> Result<&'a [u8]>,
    ) -> Result<()> {
        let path = normal(path)?;
        let session = self.session.clone();
        let file = self.target().display().to_string();
        let Some(dataset) = self.objects.get_mut(&path).and_then(|object| object.dataset.as_mut()) else {
            return Err(self.place(&path, Error::not_found("there is no such dataset in the file that is written")));
        };
        let blocks = match &mut self.shared {
            Some(shared) if dataset.is_shared() => shared,
            _ => &mut self.blocks,
        };
        let datatype = dataset.definition().datatype.clone();
        // Only files of the writer's own have heaps; many values need a collection of their own anyway.
        let mut no_heap = None;
        let small_heap = if dataset.is_shared() || bytes.len() > MAX_SMALL_BYTES { &mut no_heap } else { &mut self.small_heap };
        let mut write = || {
            let mut bytes = Cow::Borrowed(bytes);
            if datatype.uses_heap() {
                put_in_heap(&datatype, bytes.to_mut(), resolve, small_heap, blocks)?;
            }
            if let Some(parts) = parts {
                let mut elements = dataset.read(region, blocks)?;
                replace_parts(&mut elements, &bytes, datatype.size(), parts)?;
                bytes = Cow::Owned(elements);
            }
            dataset.write(region, &bytes, blocks, &session)
        };
        let written = write().map_err(|error| error.at_object(format!("/{path}")).in_file(file));
        if let Err(error) = &written
            && !matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported)
        {
            self.broken = Some(error.clone());
        }
        written
    }

    /// Stores a chunk as it is: it went through the dataset's filters but those of the mask.
    pub(super) fn put_chunk(&mut self, path: &str, position: Vec<u64>, bytes: &[u8], filter_mask: u32) -> Result<()> {
        let path = normal(path)?;
        let dataset = self.objects.get_mut(&path).and_then(|object| object.dataset.as_mut());
        dataset.ok_or_else(|| Error::internal("a chunk of no dataset"))?.put_chunk(position, bytes, filter_mask, &mut self.blocks)
    }

    /// Writes the chunks that still wait for elements.
    pub(super) fn flush(&mut self) -> Result<()> {
        let session = self.session.clone();
        for object in self.objects.values_mut() {
            let Some(dataset) = &mut object.dataset else { continue };
            match &mut self.shared {
                Some(shared) if dataset.is_shared() => dataset.flush(shared, &session)?,
                _ => dataset.flush(&mut self.blocks, &session)?,
            }
        }
        Ok(())
    }

    /// Where the last byte ends that went into the file that others write too.
    pub(super) fn shared_top(&self) -> u64 {
        self.shared.as_ref().map_or(0, Blocks::top)
    }

    /// Paths of the datasets.
    pub(super) fn datasets(&self) -> impl Iterator<Item = (&str, &DatasetWriter)> {
        self.objects.iter().filter_map(|(path, object)| Some((path.as_str(), object.dataset.as_ref()?)))
    }

    /// All objects and links by path.
    pub(super) fn objects(&self) -> impl Iterator<Item = (&str, &Object)> {
        self.objects.iter().map(|(path, object)| (path.as_str(), object))
    }

    /// Writes what is left and makes the file visible; its length in bytes. An error leaves no file, and so does
    /// one that a write met before, whoever caught it.
    pub fn finish(self, existing: Existing) -> Result<u64> {
        self.finish_if(existing, |_| Ok(()))
    }

    /// As [`Subfile::finish`]; `decide` is called with the name of the complete file before it gets its own, and an error of
    /// it leaves no file.
    pub(super) fn finish_if(mut self, existing: Existing, decide: impl FnOnce(&Path) -> Result<()>) -> Result<u64> {
        let end = self.complete(|_| true)?;
        let mut output = self.blocks.into_output()?;
        if !self.durable {
            output.without_sync();
        }
        if let Some(base) = &self.base {
            base.check()?;
        }
        output.publish_if(end, existing, decide)?;
        Ok(end)
    }

    /// Writes what is left and everything that describes it; where the file ends.
    fn complete(&mut self, own: impl Fn(&DatasetWriter) -> bool) -> Result<u64> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        self.flush()?;
        for pointers in self.objects.values_mut().filter_map(|object| object.pointers.as_mut()) {
            pointers.address = Some(self.blocks.allocate(pointers.bytes())?);
        }
        let file = describe(&self.objects, &own)?;
        let name = self.target().display().to_string();
        let encode = |at: u64| encode_metadata(&file, at).map_err(|error| error.in_file(&name));
        // Beside the superblock, where there is room before the values: readers get both at once.
        let in_front = match self.blocks.front().filter(|front| front.start == SUPERBLOCK_BYTES) {
            Some(front) if self.objects.len() < FEW_OBJECTS => Some(encode(front.start)?).filter(|metadata| metadata.bytes.len() as u64 <= front.stop - front.start),
            _ => None,
        };
        let (at, metadata, end) = match in_front {
            Some(metadata) => (SUPERBLOCK_BYTES, metadata, self.blocks.end()),
            None => {
                let at = self.blocks.allocate(0)?;
                let metadata = encode(at)?;
                let end = at + metadata.bytes.len() as u64;
                (at, metadata, end)
            }
        };
        let chosen = chosen(&self.objects, &own);
        let numbers = numbers(&chosen);
        for pointers in chosen.values().filter_map(|object| object.pointers.as_ref()) {
            let values = pointers.values(&numbers, &metadata.addresses)?;
            self.blocks.write_at(pointers.address.unwrap_or(0), &values)?;
        }
        let mut superblock = encode_superblock(metadata.root, end);
        if at == SUPERBLOCK_BYTES {
            superblock.extend_from_slice(&metadata.bytes);
        } else {
            self.blocks.write_at(at, &metadata.bytes)?;
        }
        self.blocks.write_at(0, &superblock)?;
        Ok(end)
    }

    /// Ends a task's part: what is in a file of its own becomes visible there, and nothing where there is none.
    /// Gives that file's length.
    pub(super) fn finish_part(mut self) -> Result<Option<u64>> {
        let shared = match self.shared.take() {
            None => return self.finish(Existing::Keep).map(Some),
            Some(shared) => shared.into_shared()?,
        };
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        if self.durable {
            shared.sync()?;
        }
        let has_own = self.objects.values().any(|object| object.dataset.as_ref().is_some_and(|dataset| !dataset.is_shared()));
        if !has_own && self.blocks.is_later() {
            return Ok(None);
        }
        let end = self.complete(|dataset| !dataset.is_shared())?;
        let mut output = self.blocks.into_output()?;
        if !self.durable {
            output.without_sync();
        }
        output.publish(end, Existing::Keep)?;
        Ok(Some(end))
    }

    /// Makes a file that several tasks have filled an HDF5 file: all metadata from byte `at` on; its length.
    pub(super) fn finish_shared(&self, file: &SharedFile, at: u64) -> Result<u64> {
        let metadata = encode_metadata(&describe(&self.objects, |_| true)?, at).map_err(|error| error.in_file(file.path().display().to_string()))?;
        let end = at + metadata.bytes.len() as u64;
        file.write_at(at, &metadata.bytes)?;
        file.write_at(0, &encode_superblock(metadata.root, end))?;
        file.end_at(end)?;
        if self.durable {
            file.sync()?;
        }
        Ok(end)
    }
}

/// Stores what the elements in `bytes` point at, and points them there. Few values go into the collection `small` together
/// with those of earlier writes: a collection has 4 KiB or more.
fn put_in_heap<'a>(datatype: &Datatype, bytes: &mut [u8], resolve: &'a dyn Fn(HeapReference) -> Result<&'a [u8]>, small: &mut Option<(u64, HeapWriter)>, blocks: &mut Blocks) -> Result<()> {
    if let Some((at, heap)) = small {
        let (mut more, mut elements) = (heap.clone(), bytes.to_vec());
        store_values(datatype, &mut elements, resolve, &mut more)?;
        if more.is_small(0) {
            blocks.write_at(*at, &more.clone().finish())?;
            bytes.copy_from_slice(&elements);
            *heap = more;
            return Ok(());
        }
    }
    let at = blocks.open_end()?;
    let mut heap = HeapWriter::new(at);
    store_values(datatype, bytes, resolve, &mut heap)?;
    let collection = heap.clone().finish();
    blocks.write_open(at, &collection)?;
    // Empty values make no collection, so that there is no place to keep.
    if !collection.is_empty() && heap.is_small(SMALL_VALUE_BYTES) {
        *small = Some((at, heap));
    }
    Ok(())
}

/// Copies `parts` of each element of `size` bytes from `bytes` to `elements`.
fn replace_parts(elements: &mut [u8], bytes: &[u8], size: u64, parts: &[(usize, usize)]) -> Result<()> {
    let size = usize::try_from(size).unwrap_or(usize::MAX).max(1);
    for (element, new) in elements.chunks_exact_mut(size).zip(bytes.chunks_exact(size)) {
        for (offset, length) in parts {
            let range = *offset..offset.saturating_add(*length);
            match element.get_mut(range.clone()).zip(new.get(range)) {
                Some((part, new)) => part.copy_from_slice(new),
                None => return Err(Error::internal("a part outside of its element")),
            }
        }
    }
    Ok(())
}

/// The alignment, if blocks can have it.
pub(super) fn checked_alignment(alignment: Option<u64>) -> Result<Option<u64>> {
    match alignment {
        Some(alignment) if !alignment.is_power_of_two() || alignment < 8 => Err(Error::invalid_input("an alignment that is no power of two from 8 on")),
        alignment => Ok(alignment),
    }
}

pub(super) fn check_attribute(name: &str, value: &AttributeValue) -> Result<()> {
    let bytes = value.dataspace.element_count()?.checked_mul(value.value.datatype.size());
    if bytes != Some(value.value.bytes.len() as u64) {
        return Err(Error::invalid_input(format!("attribute {name:?}: {} bytes for shape {:?}", value.value.bytes.len(), value.dataspace.shape())));
    }
    const MOST: u64 = 64 << 20;
    if bytes.is_some_and(|bytes| bytes > MOST) {
        return Err(Error::unsupported(format!("attribute {name:?} of {} bytes: what is larger than 64 MiB belongs into a dataset", value.value.bytes.len())));
    }
    Ok(())
}

/// A path without the slashes around it.
pub(super) fn normal(path: &str) -> Result<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if parts.iter().any(|part| *part == "." || *part == ".." || part.contains('\0')) {
        return Err(Error::invalid_input(format!("{path:?} is no path in an HDF5 file")));
    }
    Ok(parts.join("/"))
}

/// No values in a heap.
pub fn no_heap<'a>(_: HeapReference) -> Result<&'a [u8]> {
    Err(Error::invalid_input("a variable-length value that is not there"))
}
