//! Target: the destination of written values, either a separate file or a task of a parallel write.

use hyperslab::write::{AttributeValue, DatasetDefinition, Existing, Extent, FileWriter, Link, Region, Task};
use hyperslab::{Datatype, Elements, Error, HeapReference, Result, VirtualMapping};

/// The result of finishing a target.
pub(crate) enum Ended {
    /// The length of the file.
    Length(u64),
    /// The bytes of the fragment.
    Fragment(Vec<u8>),
}

/// Resolves heap references in values.
pub(crate) type Resolve<'a> = &'a dyn Fn(HeapReference) -> Result<&'a [u8]>;

/// The operations of both, as Python calls them.
pub(crate) trait Target: Send {
    fn create_group(&mut self, path: &str) -> Result<()>;
    /// Returns the chunk shape.
    fn create_dataset(&mut self, path: &str, definition: DatasetDefinition, extent: Option<Extent>) -> Result<Option<Vec<u64>>>;
    fn create_link(&mut self, path: &str, link: Link) -> Result<()>;
    /// Defines a virtual dataset.
    fn create_virtual(&mut self, path: &str, _definition: DatasetDefinition, _mappings: Vec<VirtualMapping>) -> Result<()> {
        Err(Error::unsupported("virtual datasets in a parallel write").at_object(path))
    }
    fn create_datatype(&mut self, path: &str, datatype: Datatype) -> Result<()>;
    /// Opens a dataset of the plan for writing.
    fn open_dataset(&mut self, path: &str, _region: Option<Region>) -> Result<()> {
        Err(Error::invalid_input("a dataset of a plan, in a file of its own").at_object(path))
    }
    /// Whether the plan defines a dataset at this path that the task has not opened yet.
    fn is_planned(&self, _path: &str) -> bool {
        false
    }
    /// Writes a dataset of references, or, if `name` is given, an attribute.
    fn set_references(&mut self, path: &str, name: Option<&str>, shape: Vec<u64>, targets: &[Option<String>]) -> Result<()>;
    fn set_attribute(&mut self, path: &str, name: &str, value: AttributeValue) -> Result<()>;
    fn attach_scale(&mut self, path: &str, dimension: u32, scale: &str) -> Result<()>;
    /// Whether the order of an object's attributes and members is recorded.
    fn set_tracked(&mut self, path: &str, tracked: bool) -> Result<()>;
    fn resize(&mut self, path: &str, shape: Vec<u64>) -> Result<()>;
    /// Writes whole elements of a region, or only `parts` of each: offsets and lengths in bytes.
    fn write<'a>(&mut self, path: &str, region: &Region, bytes: &[u8], parts: Option<&[(usize, usize)]>, resolve: Resolve<'a>) -> Result<()>;
    /// Writes the elements of a region at these row-major positions in it.
    fn write_scattered<'a>(
        &mut self,
        path: &str,
        _region: &Region,
        _elements: &[u64],
        _bytes: &[u8],
        _parts: Option<&[(usize, usize)]>,
        _resolve: Resolve<'a>,
    ) -> Result<()> {
        Err(Error::unsupported("writing by masks or lists of indexes in a parallel write: write slices").at_object(path))
    }
    /// The current values of a region.
    fn read(&mut self, path: &str, _region: &Region) -> Result<Elements> {
        Err(Error::unsupported("reading values back in a parallel write: read the file after the commit").at_object(path))
    }
    /// Removes a name.
    fn remove(&mut self, path: &str) -> Result<()> {
        Err(Error::unsupported("removing objects in a parallel write").at_object(path))
    }
    /// Renames an object.
    fn rename(&mut self, from: &str, _to: &str) -> Result<()> {
        Err(Error::unsupported("moving objects in a parallel write").at_object(from))
    }
    /// The objects that have been defined so far.
    fn objects(&mut self) -> &mut FileWriter;
    /// The definition of a dataset, and the region that may be written, `None` for all of it.
    fn definition(&mut self, path: &str) -> Result<(DatasetDefinition, Option<Region>)>;
    /// Whether `finish` returns without waiting for the disk.
    fn is_quick(&self) -> bool {
        false
    }
    fn finish(self: Box<Self>, existing: Existing) -> Result<Ended>;
}

impl Target for FileWriter {
    fn create_group(&mut self, path: &str) -> Result<()> {
        FileWriter::create_group(self, path)
    }

    fn create_dataset(&mut self, path: &str, definition: DatasetDefinition, extent: Option<Extent>) -> Result<Option<Vec<u64>>> {
        if extent.is_some() {
            return Err(Error::invalid_input("regions and rows of tasks, in a file of its own"));
        }
        FileWriter::create_dataset(self, path, definition)?;
        Ok(FileWriter::definition(self, path)?.chunk_shape)
    }

    fn create_link(&mut self, path: &str, link: Link) -> Result<()> {
        FileWriter::create_link(self, path, link)
    }

    fn create_virtual(&mut self, path: &str, definition: DatasetDefinition, mappings: Vec<VirtualMapping>) -> Result<()> {
        FileWriter::create_virtual(self, path, definition, mappings)
    }

    fn create_datatype(&mut self, path: &str, datatype: Datatype) -> Result<()> {
        FileWriter::create_datatype(self, path, datatype)
    }

    fn write_scattered<'a>(
        &mut self,
        path: &str,
        region: &Region,
        elements: &[u64],
        bytes: &[u8],
        parts: Option<&[(usize, usize)]>,
        resolve: Resolve<'a>,
    ) -> Result<()> {
        FileWriter::write_scattered(self, path, region, elements, bytes, parts, resolve)
    }

    fn read(&mut self, path: &str, region: &Region) -> Result<Elements> {
        FileWriter::read(self, path, region)
    }

    fn remove(&mut self, path: &str) -> Result<()> {
        FileWriter::remove(self, path)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        FileWriter::rename(self, from, to)
    }

    fn objects(&mut self) -> &mut FileWriter {
        self
    }

    fn set_references(&mut self, path: &str, name: Option<&str>, shape: Vec<u64>, targets: &[Option<String>]) -> Result<()> {
        match name {
            None => FileWriter::create_references(self, path, shape, targets),
            Some(name) => FileWriter::set_references(self, path, name, shape, targets),
        }
    }

    fn set_attribute(&mut self, path: &str, name: &str, value: AttributeValue) -> Result<()> {
        FileWriter::set_attribute(self, path, name, value)
    }

    fn attach_scale(&mut self, path: &str, dimension: u32, scale: &str) -> Result<()> {
        FileWriter::attach_scale(self, path, dimension, scale)
    }

    fn set_tracked(&mut self, path: &str, tracked: bool) -> Result<()> {
        FileWriter::set_tracked(self, path, tracked)
    }

    fn resize(&mut self, path: &str, shape: Vec<u64>) -> Result<()> {
        FileWriter::resize(self, path, shape)
    }

    fn write<'a>(&mut self, path: &str, region: &Region, bytes: &[u8], parts: Option<&[(usize, usize)]>, resolve: Resolve<'a>) -> Result<()> {
        FileWriter::write_parts(self, path, region, bytes, parts, resolve)
    }

    fn definition(&mut self, path: &str) -> Result<(DatasetDefinition, Option<Region>)> {
        Ok((FileWriter::definition(self, path)?, None))
    }

    fn finish(self: Box<Self>, existing: Existing) -> Result<Ended> {
        FileWriter::finish(*self, existing).map(Ended::Length)
    }
}

impl Target for Task {
    fn create_group(&mut self, path: &str) -> Result<()> {
        Task::create_group(self, path)
    }

    fn create_dataset(&mut self, path: &str, definition: DatasetDefinition, extent: Option<Extent>) -> Result<Option<Vec<u64>>> {
        let chunk_shape = definition.chunk_shape.clone();
        Task::create_dataset(self, path, definition, extent.unwrap_or(Extent::Any))?;
        Ok(chunk_shape)
    }

    fn objects(&mut self) -> &mut FileWriter {
        Task::objects(self)
    }

    fn create_link(&mut self, path: &str, link: Link) -> Result<()> {
        Task::create_link(self, path, link)
    }

    fn create_datatype(&mut self, path: &str, datatype: Datatype) -> Result<()> {
        Task::create_datatype(self, path, datatype)
    }

    fn open_dataset(&mut self, path: &str, region: Option<Region>) -> Result<()> {
        Task::open_dataset(self, path, region)
    }

    fn is_planned(&self, path: &str) -> bool {
        Task::is_planned(self, path)
    }

    fn set_references(&mut self, path: &str, name: Option<&str>, shape: Vec<u64>, targets: &[Option<String>]) -> Result<()> {
        match name {
            None => Task::create_references(self, path, shape, targets),
            Some(name) => Task::set_references(self, path, name, shape, targets),
        }
    }

    fn set_attribute(&mut self, path: &str, name: &str, value: AttributeValue) -> Result<()> {
        Task::set_attribute(self, path, name, value)
    }

    fn attach_scale(&mut self, path: &str, dimension: u32, scale: &str) -> Result<()> {
        Task::attach_scale(self, path, dimension, scale)
    }

    fn set_tracked(&mut self, path: &str, tracked: bool) -> Result<()> {
        Task::set_tracked(self, path, tracked)
    }

    fn resize(&mut self, path: &str, shape: Vec<u64>) -> Result<()> {
        Task::grow(self, path, shape)
    }

    fn write<'a>(&mut self, path: &str, region: &Region, bytes: &[u8], parts: Option<&[(usize, usize)]>, resolve: Resolve<'a>) -> Result<()> {
        Task::write_parts(self, path, region, bytes, parts, resolve)
    }

    fn definition(&mut self, path: &str) -> Result<(DatasetDefinition, Option<Region>)> {
        Ok((Task::definition(self, path)?.clone(), Task::region(self, path).ok().cloned()))
    }

    fn is_quick(&self) -> bool {
        Task::is_quick(self)
    }

    fn finish(self: Box<Self>, _: Existing) -> Result<Ended> {
        Ok(Ended::Fragment(Task::finish(*self)?.encode()?))
    }
}
