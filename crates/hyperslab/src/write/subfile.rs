//! Subfile: one complete HDF5 file under way. Values go out as they come, each block aligned; metadata follows
//! in one piece; the superblock comes last.

use std::collections::BTreeMap;
use std::path::Path;

use hyperslab_array::{Error, ErrorKind, HeapReference, Result};
use hyperslab_formats::VirtualMapping;
use hyperslab_formats::hdf5::writer::{
    HeapWriter, NewAttribute, NewContent, NewFile, NewLink, NewObject, SUPERBLOCK_BYTES, encode_metadata, encode_superblock, store_values,
};
use hyperslab_storage::{Existing, Output};

use super::boxes::Region;
use super::dataset::DatasetWriter;
use super::definition::{AttributeValue, DatasetDefinition};
use crate::Session;

/// A file under way and where its next bytes go.
#[derive(Debug)]
pub(super) struct Blocks {
    pub output: Output,
    end: u64,
    alignment: u64,
}

impl Blocks {
    /// Room for `length` bytes; what fills a block of the file system begins on one.
    pub fn allocate(&mut self, length: u64) -> Result<u64> {
        let alignment = if length >= self.alignment { self.alignment } else { 8 };
        let start = self.end.checked_next_multiple_of(alignment);
        let end = start.and_then(|start| start.checked_add(length)).filter(|end| i64::try_from(*end).is_ok());
        let (Some(start), Some(end)) = (start, end) else {
            return Err(Error::unsupported("a file of 8 EiB or more"));
        };
        self.end = end;
        Ok(start)
    }
}

/// One HDF5 file that is being written.
pub struct Subfile {
    blocks: Blocks,
    session: Session,
    /// By absolute path without the first `/`; the root is the empty path.
    objects: BTreeMap<String, Object>,
    /// Why the file cannot become whole any more: a write that failed half-way.
    broken: Option<Error>,
}

#[derive(Debug, Default)]
struct Object {
    attributes: BTreeMap<String, AttributeValue>,
    dataset: Option<DatasetWriter>,
    /// A symbolic link instead of an object.
    link: Option<NewLink>,
}

impl Subfile {
    /// Begins a file that will be called `target`. Blocks of `alignment` bytes or more begin at multiples of
    /// it, a power of two; `None` asks the file system for its block or stripe.
    pub fn create(target: &Path, alignment: Option<u64>, session: &Session) -> Result<Self> {
        if alignment.is_some_and(|alignment| !alignment.is_power_of_two() || alignment < 8) {
            return Err(Error::invalid_input("an alignment that is no power of two from 8 on"));
        }
        let output = Output::create(target)?;
        let alignment = alignment.unwrap_or_else(|| output.block_bytes());
        let objects = BTreeMap::from([(String::new(), Object::default())]);
        Ok(Self { blocks: Blocks { output, end: SUPERBLOCK_BYTES, alignment }, session: session.clone(), objects, broken: None })
    }

    /// The name that the file will have.
    pub fn target(&self) -> &Path {
        self.blocks.output.target()
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
            let object = self.objects.entry(above.clone()).or_default();
            if object.dataset.is_some() || object.link.is_some() {
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
        self.objects.insert(path, object);
        Ok(())
    }

    /// Defines a dataset, and the groups above it.
    pub fn create_dataset(&mut self, path: &str, definition: DatasetDefinition) -> Result<()> {
        let definition = definition.checked().map_err(|error| self.place(path.trim_start_matches('/'), error))?;
        self.define(path, Object { dataset: Some(DatasetWriter::new(definition)), ..Object::default() })
    }

    /// Defines a dataset whose values are in others.
    pub fn create_virtual(&mut self, path: &str, definition: DatasetDefinition, mappings: Vec<VirtualMapping>) -> Result<()> {
        let definition = definition.checked().map_err(|error| self.place(path.trim_start_matches('/'), error))?;
        self.define(path, Object { dataset: Some(DatasetWriter::of_others(definition, mappings)), ..Object::default() })
    }

    /// Defines a link to a path of this file, or of another.
    pub fn create_link(&mut self, path: &str, file: Option<&str>, target: &str) -> Result<()> {
        let link = match file {
            None => NewLink::Soft(target.to_owned()),
            Some(file) => NewLink::External { file: file.to_owned(), path: target.to_owned() },
        };
        self.define(path, Object { link: Some(link), ..Object::default() })
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
        object.attributes.insert(name.to_owned(), value);
        Ok(())
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
        let path = normal(path)?;
        let session = self.session.clone();
        let file = self.target().display().to_string();
        let Some(dataset) = self.objects.get_mut(&path).and_then(|object| object.dataset.as_mut()) else {
            return Err(self.place(&path, Error::not_found("there is no such dataset in the file that is written")));
        };
        let blocks = &mut self.blocks;
        let datatype = dataset.definition().datatype.clone();
        let mut write = || {
            if !datatype.uses_heap() {
                return dataset.write(region, bytes, blocks, &session);
            }
            let mut bytes = bytes.to_vec();
            let at = blocks.allocate(0)?;
            let mut heap = HeapWriter::new(at);
            store_values(&datatype, &mut bytes, resolve, &mut heap)?;
            let heap = heap.finish();
            // Aligned to 8 as `at` is, whatever its length.
            blocks.end = at + heap.len() as u64;
            blocks.output.write_at(at, &heap)?;
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

    /// Paths of the datasets with the regions of each that were written.
    pub(super) fn written(&self) -> impl Iterator<Item = (&str, &DatasetDefinition, &[Region])> {
        self.objects.iter().filter_map(|(path, object)| {
            let dataset = object.dataset.as_ref()?;
            Some((path.as_str(), dataset.definition(), dataset.written()))
        })
    }

    /// Paths of all objects but links with their attributes; whether each is a group.
    pub(super) fn all_attributes(&self) -> impl Iterator<Item = (&str, bool, &BTreeMap<String, AttributeValue>)> {
        let objects = self.objects.iter().filter(|(_, object)| object.link.is_none());
        objects.map(|(path, object)| (path.as_str(), object.dataset.is_none(), &object.attributes))
    }

    /// Writes what is left and makes the file visible; its length in bytes. An error leaves no file, and so does
    /// one that a write met before, whoever caught it.
    pub fn finish(mut self, existing: Existing) -> Result<u64> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        let session = self.session.clone();
        for object in self.objects.values_mut() {
            if let Some(dataset) = &mut object.dataset {
                dataset.flush(&mut self.blocks, &session)?;
            }
        }
        let file = describe(&self.objects)?;
        let at = self.blocks.allocate(0)?;
        let metadata = encode_metadata(&file, at).map_err(|error| error.in_file(self.target().display().to_string()))?;
        let end = at + metadata.bytes.len() as u64;
        self.blocks.output.write_at(at, &metadata.bytes)?;
        self.blocks.output.write_at(0, &encode_superblock(metadata.root, end))?;
        self.blocks.output.publish(end, existing)?;
        Ok(end)
    }
}

fn check_attribute(name: &str, value: &AttributeValue) -> Result<()> {
    let bytes = value.dataspace.element_count()?.checked_mul(value.value.datatype.size());
    if bytes != Some(value.value.bytes.len() as u64) {
        return Err(Error::invalid_input(format!("attribute {name:?}: {} bytes for shape {:?}", value.value.bytes.len(), value.dataspace.shape())));
    }
    // An attribute stands in its object's header, as one message.
    const MOST: u64 = 65_000;
    if bytes.is_some_and(|bytes| bytes > MOST) {
        return Err(Error::unsupported(format!("attribute {name:?} of {} bytes: what is larger than 64 KiB belongs into a dataset", value.value.bytes.len())));
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

fn describe(objects: &BTreeMap<String, Object>) -> Result<NewFile> {
    // The empty path sorts first, so the root is number 0.
    let numbers: BTreeMap<&str, usize> =
        objects.iter().filter(|(_, object)| object.link.is_none()).enumerate().map(|(number, (path, _))| (path.as_str(), number)).collect();
    let mut members: BTreeMap<&str, Vec<(String, NewLink)>> = BTreeMap::new();
    for (path, object) in objects.iter().filter(|(path, _)| !path.is_empty()) {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let link = match (&object.link, numbers.get(path.as_str())) {
            (Some(link), _) => link.clone(),
            (None, Some(number)) => NewLink::Hard(*number),
            (None, None) => return Err(Error::internal("an object without a number")),
        };
        members.entry(above).or_default().push((name.to_owned(), link));
    }
    let mut file = NewFile::default();
    for path in numbers.keys() {
        let Some(object) = objects.get(*path) else { continue };
        let attribute = |(name, value): (&String, &AttributeValue)| NewAttribute { name: name.clone(), dataspace: value.dataspace.clone(), value: value.value.clone() };
        let content = match &object.dataset {
            Some(dataset) => NewContent::Dataset(Box::new(dataset.description())),
            None => NewContent::Group(members.remove(path).unwrap_or_default()),
        };
        file.objects.push(NewObject { attributes: object.attributes.iter().map(attribute).collect(), content });
    }
    Ok(file)
}

/// No values in a heap.
pub fn no_heap<'a>(_: HeapReference) -> Result<&'a [u8]> {
    Err(Error::invalid_input("a variable-length value that is not there"))
}
