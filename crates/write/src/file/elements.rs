//! Writes and reads back values of datasets, and reads back attributes.

use std::borrow::Cow;

use hyperslab_array::{Elements, Error, ErrorKind, HeapObjects, HeapReference, Result};
use hyperslab_formats::hdf5::writer::{each_reference, store_values_with, stored_values};

use super::definition::AttributeValue;
use super::file_writer::FileWriter;
use super::memory_length::memory_length;
use super::object::AttributeEntry;
use super::references::targets::{Target, in_heap, in_list};
use super::regions::region::Region;

/// Resolves heap references in values.
type Resolve<'a> = &'a dyn Fn(HeapReference) -> Result<&'a [u8]>;

impl FileWriter {
    /// Writes the elements of `region`: `bytes` are row-major and encoded as in the file; `resolve` gives the values that
    /// variable-length elements refer to.
    ///
    /// # Errors
    /// `NotFound` if there is no such dataset; `InvalidInput` for a region outside of it, or bytes that do not fit the
    /// region; `Io` if the file cannot be written.
    pub fn write<'a>(&mut self, path: &str, region: &Region, bytes: &[u8], resolve: Resolve<'a>) -> Result<()> {
        self.write_parts(path, region, bytes, None, resolve)
    }

    /// Like [`FileWriter::write`], but writes only `parts` of each element, given as offsets and lengths in bytes. The other
    /// bytes keep their values.
    ///
    /// # Errors
    /// As [`FileWriter::write`].
    pub fn write_parts<'a>(&mut self, path: &str, region: &Region, bytes: &[u8], parts: Option<&[(usize, usize)]>, resolve: Resolve<'a>) -> Result<()> {
        self.write_some(path, region, bytes, ElementSubset { parts, elements: None }, resolve, &|index| in_heap(resolve, index))
    }

    /// Like [`FileWriter::write`], but references are numbers of `targets`, from 1 on.
    pub(crate) fn write_copied<'a>(&mut self, path: &str, region: &Region, bytes: &[u8], resolve: Resolve<'a>, targets: &[Target]) -> Result<()> {
        self.write_some(path, region, bytes, ElementSubset { parts: None, elements: None }, resolve, &|number| in_list(targets, number))
    }

    /// Like [`FileWriter::write_parts`], but writes only the elements with these row-major indexes in `region`; `bytes` has
    /// just those.
    ///
    /// # Errors
    /// As [`FileWriter::write`].
    pub fn write_scattered<'a>(
        &mut self,
        path: &str,
        region: &Region,
        elements: &[u64],
        bytes: &[u8],
        parts: Option<&[(usize, usize)]>,
        resolve: Resolve<'a>,
    ) -> Result<()> {
        self.write_some(path, region, bytes, ElementSubset { parts, elements: Some(elements) }, resolve, &|index| in_heap(resolve, index))
    }

    /// `named` gives the target of a reference by the number that the element holds.
    fn write_some<'a>(
        &mut self,
        path: &str,
        region: &Region,
        bytes: &[u8],
        chosen: ElementSubset<'_>,
        resolve: Resolve<'a>,
        named: &dyn Fn(u32) -> Result<Target>,
    ) -> Result<()> {
        let path = self.resolve(path)?;
        let session = self.session.clone();
        let file = self.target().display().to_string();
        let Some(dataset) = self.objects.get_mut(&path).and_then(|object| object.dataset.as_mut()) else {
            return Err(self.error_at(&path, Error::not_found("there is no such dataset in the file that is written")));
        };
        let allocator = match &mut self.shared {
            Some(shared) if dataset.is_shared() => shared,
            _ => &mut self.allocator,
        };
        let datatype = dataset.definition().datatype.clone();
        let targets = &mut self.targets;
        let mut write = || {
            let mut bytes = Cow::Borrowed(bytes);
            let mut register = |_, element: &mut [u8]| targets.register(element, named);
            if datatype.uses_heap() {
                bytes = Cow::Owned(allocator.put_in_heap(bytes.len(), |heap| {
                    let mut stored = bytes.to_vec();
                    store_values_with(&datatype, &mut stored, resolve, heap, &mut register)?;
                    Ok(stored)
                })?);
            } else if datatype.has_references() {
                each_reference(&datatype, bytes.to_mut(), &mut register)?;
            }
            if !chosen.is_all() {
                let mut all = dataset.read(region, allocator)?;
                chosen.replace(&mut all, &bytes, datatype.size())?;
                allocator.separate(dataset.fill.as_mut(), &mut all)?;
                bytes = Cow::Owned(all);
            }
            dataset.write(region, &bytes, allocator, &session)
        };
        let written = write().map_err(|error| error.at_object(format!("/{path}")).in_file(file));
        if let Err(error) = &written
            && !matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported)
        {
            self.broken = Some(error.clone());
        }
        written
    }

    /// Reads back the elements of `region`. Elements that were never written have the fill value.
    ///
    /// # Errors
    /// `NotFound` if there is no such dataset; `InvalidInput` for a region outside of it; `Unsupported` for a virtual
    /// dataset; `Io` if the file cannot be read.
    pub fn read(&mut self, path: &str, region: &Region) -> Result<Elements> {
        let path = self.resolve(path)?;
        let Some(dataset) = self.objects.get(&path).and_then(|object| object.dataset.as_ref()) else {
            return Err(self.error_at(&path, Error::invalid_input("this is not a dataset")));
        };
        let read = || {
            let allocator = match &self.shared {
                Some(_) if dataset.is_shared() => return Err(Error::unsupported("reading back a file that several tasks write")),
                _ => &self.allocator,
            };
            let datatype = dataset.definition().datatype.clone();
            let bytes = dataset.read(region, allocator)?;
            let heap =
                if datatype.uses_heap() { stored_values(allocator.storage()?, allocator.user_block(), &datatype, &bytes)? } else { HeapObjects::default() };
            Ok(Elements { datatype, bytes, heap })
        };
        read().map_err(|error: Error| self.error_at(&path, error))
    }

    /// Names of an object's attributes, in the order in which they were first set.
    ///
    /// # Errors
    /// `NotFound` if there is no such object.
    pub fn attribute_names(&mut self, path: &str) -> Result<Vec<String>> {
        let object = self.object(path)?;
        let attributes = object.attributes.in_order();
        let mut names: Vec<String> = attributes.filter(|(_, entry)| !matches!(entry, AttributeEntry::OfScales(_))).map(|(name, _)| name.to_owned()).collect();
        if !object.tracked {
            names.sort();
        }
        Ok(names)
    }

    /// The value of an attribute, `None` if it does not exist.
    ///
    /// # Errors
    /// `NotFound` if there is no such object.
    pub fn attribute(&mut self, path: &str, name: &str) -> Result<Option<AttributeValue>> {
        match self.object(path)?.attributes.get(name) {
            None | Some(AttributeEntry::OfScales(_)) => Ok(None),
            Some(AttributeEntry::Value(value)) => Ok(Some(value.as_ref().clone())),
            Some(AttributeEntry::References(references)) => {
                let references = references.clone();
                Ok(Some(self.targets.value_of(&references)))
            }
        }
    }

    /// Copies all attributes from one object to another, replacing attributes of the same name.
    ///
    /// # Errors
    /// `NotFound` if there is no such object.
    pub fn copy_attributes(&mut self, from: &str, to: &str) -> Result<()> {
        let attributes = self.object(from)?.attributes.clone();
        let target = self.object(to)?;
        for (name, attribute) in attributes.in_order() {
            target.attributes.insert(name, attribute.clone());
        }
        Ok(())
    }

    /// Removes an attribute.
    ///
    /// # Errors
    /// `NotFound` if there is no such object or attribute.
    pub fn remove_attribute(&mut self, path: &str, name: &str) -> Result<()> {
        if self.object(path)?.attributes.remove(name) {
            return Ok(());
        }
        let path = self.resolve(path)?;
        Err(self.error_at(&path, Error::not_found(format!("there is no attribute '{name}'"))))
    }
}

/// Which elements of a region, and which bytes of each element, are written. The rest keeps its value.
struct ElementSubset<'a> {
    /// Offsets and lengths in bytes within each element.
    parts: Option<&'a [(usize, usize)]>,
    /// Row-major indexes of elements.
    elements: Option<&'a [u64]>,
}

impl ElementSubset<'_> {
    fn is_all(&self) -> bool {
        self.parts.is_none() && self.elements.is_none()
    }

    /// Copies the subset from `bytes` into `all`; elements have `size` bytes.
    fn replace(&self, all: &mut [u8], bytes: &[u8], size: u64) -> Result<()> {
        let size = memory_length(size)?.max(1);
        let count = self.elements.map_or(all.len() / size, <[u64]>::len);
        if bytes.len() != count.saturating_mul(size) {
            return Err(Error::invalid_input(format!("{} bytes for {count} elements of {size} bytes", bytes.len())));
        }
        let whole = [(0, size)];
        for (index, new) in bytes.chunks_exact(size).enumerate() {
            let index = match self.elements {
                None => Some(index),
                Some(indexes) => indexes.get(index).and_then(|index| usize::try_from(*index).ok()),
            };
            let start = index.and_then(|index| index.checked_mul(size));
            let element = start.and_then(|start| all.get_mut(start..start.checked_add(size)?));
            let element = element.ok_or_else(|| Error::invalid_input("an element outside of its region"))?;
            for (offset, length) in self.parts.unwrap_or(&whole) {
                let range = *offset..offset.saturating_add(*length);
                match element.get_mut(range.clone()).zip(new.get(range)) {
                    Some((part, new)) => part.copy_from_slice(new),
                    None => return Err(Error::internal("a part outside of its element")),
                }
            }
        }
        Ok(())
    }
}
