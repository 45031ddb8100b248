//! Task: one writer's part of a plan. It defines objects, writes values into a subfile of its own, and gives a
//! fragment; it waits for nobody.

use std::collections::BTreeMap;

use hyperslab_array::{Dataspace, Datatype, Elements, Error, HeapObjects, HeapReference, Result};
use hyperslab_reader::Session;
use hyperslab_storage::{SharedFile, unique_name};

use crate::file::allocator::{Allocator, checked_alignment};
use crate::file::dataset::DatasetWriter;
use crate::file::definition::{AttributeValue, DatasetDefinition, text_attribute};
use crate::file::file_writer::FileWriter;
use crate::file::links::Link;
use crate::file::object_path::normalized_path;
use crate::file::region::Region;
use crate::file::reserved_attributes::SUBFILE_ATTRIBUTE;
use crate::shared::layout::name_of;
use super::definitions::Definitions;
use super::plan::{WriteMode, WritePlan};
use super::shared_subfile::claimed;
use super::state::State;

/// Which part of a dataset a task may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// Any, in the dataset's own coordinates; the subfile holds the chunks that were written.
    Any,
    /// This box, again in the dataset's coordinates; the subfile holds an array of just that.
    Region(Region),
    /// Rows of its own along the first dimension, which follow those of the tasks before. The shape says 0
    /// rows, and coordinates count from the task's first row.
    Rows,
}

/// A task under way. Dropped, it leaves nothing.
pub struct Task {
    pub(crate) write_id: String,
    pub(crate) index: u64,
    pub(crate) name: String,
    pub(crate) subfile: FileWriter,
    pub(crate) datasets: BTreeMap<String, TaskDataset>,
    /// The number of the subfile that other tasks write too.
    pub(crate) group: Option<u64>,
    pub(crate) checksums: bool,
    /// Whether the commit adds to a container that is there, and may move the rows of small subfiles to a tail.
    pub(crate) appends: bool,
    /// What the plan defines.
    pub(crate) definitions: Definitions,
}

/// A dataset as the whole container has it, and what of it is here.
pub(crate) struct TaskDataset {
    pub(crate) global: DatasetDefinition,
    pub(crate) extent: Extent,
    /// The value of a scalar.
    pub(crate) scalar: Option<Elements>,
    /// The part of the dataset that is in the subfile which other tasks write too.
    pub(crate) shared: Option<Region>,
}

impl Task {
    pub(crate) fn begin(plan: &WritePlan, index: u64, session: &Session) -> Result<Self> {
        let folder = plan.folder_for_writing()?;
        let attempt: String = unique_name().chars().take(8).collect();
        let name = format!("{index:04}-{attempt}.h5");
        let place = folder.join(&name);
        let claimed = plan.sharing.as_ref().map(|sharing| Ok::<_, Error>((sharing, claimed(plan, sharing, index)?))).transpose()?;
        let subfile = match &claimed {
            Some((sharing, Some((group, layout)))) => {
                let file = SharedFile::open(&folder.join(name_of(*group)))?;
                let shared = Allocator::shared(file, sharing.segments(layout, index)?, sharing.alignment);
                FileWriter::with_shared(&place, Some(sharing.alignment), shared, session)?
            }
            Some((sharing, None)) => FileWriter::in_place(&place, Some(sharing.alignment), session)?,
            None => FileWriter::in_place(&place, checked_alignment(plan.alignment)?, session)?,
        };
        let mut task = Self {
            write_id: plan.id.clone(),
            index,
            name,
            subfile,
            datasets: BTreeMap::new(),
            group: None,
            checksums: plan.checksums,
            appends: plan.mode == WriteMode::Append && matches!(plan.base, State::Committed { .. }) && plan.sharing.is_none(),
            definitions: plan.definitions.clone(),
        };
        if !plan.durable {
            task.subfile.without_sync();
        }
        if plan.tracked {
            task.subfile.track_order();
        }
        task.subfile.set_attribute("", SUBFILE_ATTRIBUTE, text_attribute(&format!("{} {index}", plan.id)))?;
        let Some((sharing, claimed)) = claimed else { return Ok(task) };
        for definition in sharing.definitions() {
            let (path, global) = definition?;
            let region = sharing.region(path, index)?;
            match claimed.as_ref().and_then(|(_, layout)| layout.datasets.get(path)) {
                // Another attempt has the place in the shared file: what this one writes goes into a file of its own.
                None => task.create_dataset(path, global, Extent::Region(region))?,
                Some((whole, local, place)) => {
                    task.subfile.create_prepared(path, DatasetWriter::in_shared(local.clone(), place)?)?;
                    task.datasets.insert(path.to_owned(), TaskDataset { global, extent: Extent::Region(region), scalar: None, shared: Some(whole.clone()) });
                }
            }
        }
        task.group = claimed.map(|(group, _)| group);
        Ok(task)
    }

    /// Which part of a dataset of the plan this task writes.
    pub fn region(&self, path: &str) -> Result<&Region> {
        match self.datasets.get(&normalized_path(path)?).map(|local| &local.extent) {
            Some(Extent::Region(region)) => Ok(region),
            _ => Err(Error::not_found("there is no dataset of which this task writes a region").at_object(path)),
        }
    }

    /// What a dataset is in the whole container.
    pub fn definition(&self, path: &str) -> Result<&DatasetDefinition> {
        let local = self.datasets.get(&normalized_path(path)?);
        local.map(|local| &local.global).ok_or_else(|| Error::not_found("there is no such dataset in this task").at_object(path))
    }

    /// The task's number.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Defines a link.
    pub fn create_link(&mut self, path: &str, link: Link) -> Result<()> {
        self.subfile.create_link(path, link)
    }

    /// Commits a datatype under this name.
    pub fn create_datatype(&mut self, path: &str, datatype: Datatype) -> Result<()> {
        self.subfile.create_datatype(path, datatype)
    }

    /// Defines a dataset of references to objects of the whole container.
    pub fn create_references(&mut self, path: &str, shape: Vec<u64>, targets: &[Option<String>]) -> Result<()> {
        self.subfile.create_references(path, shape, targets)
    }

    /// Sets an attribute that is references to objects of the whole container.
    pub fn set_references(&mut self, path: &str, name: &str, shape: Vec<u64>, targets: &[Option<String>]) -> Result<()> {
        self.refuse_reserved(path, name)?;
        self.subfile.set_references(path, name, shape, targets)
    }

    /// Makes a dataset of the whole container the scale of a dimension of another.
    pub fn attach_scale(&mut self, path: &str, dimension: u32, scale: &str) -> Result<()> {
        let ndim = self.definition(path)?.dataspace.ndim();
        if usize::try_from(dimension).is_ok_and(|dimension| dimension >= ndim) {
            return Err(Error::invalid_input(format!("dimension {dimension} of {ndim}")).at_object(path));
        }
        self.subfile.set_external_scale(path, dimension, scale)
    }

    /// Takes a dataset of the plan for writing: a region of it, else rows of the task's own if it is written by rows, else any
    /// part of it.
    pub fn open_dataset(&mut self, path: &str, region: Option<Region>) -> Result<()> {
        let path = normalized_path(path)?;
        let at = |error: Error| error.at_object(format!("/{path}"));
        let Some(planned) = self.definitions.dataset(&path) else {
            return Err(at(Error::not_found("there is no such dataset in the plan")));
        };
        if planned.scalar.is_some() {
            return Err(at(Error::invalid_input("the plan has the values of this dataset")));
        }
        let extent = match region {
            Some(_) if planned.rows => return Err(at(Error::invalid_input("a region of a dataset that is written by rows"))),
            Some(region) => Extent::Region(region),
            None if planned.rows => Extent::Rows,
            None => Extent::Any,
        };
        let definition = planned.whole_definition()?;
        self.create_dataset(&path, definition, extent)
    }

    /// Whether the plan defines a dataset at this path that the task has not opened yet.
    pub fn is_planned(&self, path: &str) -> bool {
        normalized_path(path).is_ok_and(|path| !self.datasets.contains_key(&path) && self.definitions.dataset(&path).is_some())
    }

    fn refuse_reserved(&self, path: &str, name: &str) -> Result<()> {
        if normalized_path(path)?.is_empty() && name.starts_with("_hyperslab") {
            return Err(Error::invalid_input(format!("attribute {name} is Hyperslab's own")));
        }
        Ok(())
    }

    /// Defines a group and those above it.
    pub fn create_group(&mut self, path: &str) -> Result<()> {
        self.subfile.create_group(path)
    }

    /// Whether the file records the order of an object's attributes and, if it is a group, of its members; a task that
    /// says so is enough.
    pub fn set_tracked(&mut self, path: &str, tracked: bool) -> Result<()> {
        self.subfile.set_tracked(path, tracked)
    }

    /// Sets an attribute, which all tasks that set it must set alike.
    pub fn set_attribute(&mut self, path: &str, name: &str, value: AttributeValue) -> Result<()> {
        if value.value.datatype.has_references() {
            return Err(Error::unsupported("references in a parallel write: subfiles have addresses of their own").at_object(path));
        }
        self.refuse_reserved(path, name)?;
        self.subfile.set_attribute(path, name, value)
    }

    /// The objects that this task has defined, and what it has written.
    pub fn objects(&mut self) -> &mut FileWriter {
        &mut self.subfile
    }

    /// Defines a dataset of the whole container, as every task must that writes to it, and says what of it this
    /// one writes.
    pub fn create_dataset(&mut self, path: &str, definition: DatasetDefinition, extent: Extent) -> Result<()> {
        let path = normalized_path(path)?;
        let is_chosen = definition.chunk_shape.is_none();
        let global = definition.checked().map_err(|error| error.at_object(format!("/{path}")))?;
        let bad = |message: String| Err(Error::invalid_input(message).at_object(format!("/{path}")));
        let mut local = DatasetDefinition { committed: None, ..global.clone() };
        match (&extent, &mut local.dataspace) {
            (Extent::Any, Dataspace::Scalar | Dataspace::Null) => {}
            (_, Dataspace::Scalar | Dataspace::Null) => return bad("a scalar or empty dataset has no regions and no rows".to_owned()),
            (Extent::Any, Dataspace::Simple { shape, max_shape }) => {
                *max_shape = shape.iter().copied().map(Some).collect();
                // Only chunks leave room for what others write.
                local = local.in_chunks();
            }
            (Extent::Region(region), Dataspace::Simple { shape, max_shape }) => {
                if !region.fits(shape) {
                    return bad(format!("{:?} elements from {:?} on in a dataset of shape {shape:?}", region.count, region.start));
                }
                *shape = region.count.clone();
                *max_shape = shape.iter().copied().map(Some).collect();
            }
            (Extent::Rows, Dataspace::Simple { shape, max_shape }) => {
                let (Some(rows), Some(max_rows)) = (shape.first_mut(), max_shape.first_mut()) else { return bad("rows of a scalar".to_owned()) };
                if *rows != 0 || max_rows.is_some() {
                    return bad("a dataset that is written by rows begins with 0 of them and grows without limit".to_owned());
                }
                if is_chosen {
                    // Each subfile has the chunks that fit its rows.
                    local.chunk_shape = None;
                }
            }
        }
        self.subfile.create_dataset(&path, local)?;
        self.datasets.insert(path, TaskDataset { global, extent, scalar: None, shared: None });
        Ok(())
    }

    /// Adds `count` rows to a dataset that is written by rows.
    pub fn grow(&mut self, path: &str, shape: Vec<u64>) -> Result<()> {
        let path = normalized_path(path)?;
        match self.datasets.get(&path) {
            Some(TaskDataset { extent: Extent::Rows, .. }) => {
                let before = self.subfile.definition(&path)?.dataspace;
                if before.shape().iter().zip(&shape).any(|(old, new)| new < old) {
                    return Err(Error::unsupported("making a dataset smaller in a task").at_object(format!("/{path}")));
                }
                self.subfile.resize(&path, shape)
            }
            Some(_) => Err(Error::invalid_input("only datasets that are written by rows grow in a task").at_object(format!("/{path}"))),
            None => Err(Error::not_found("there is no such dataset in this task").at_object(format!("/{path}"))),
        }
    }

    /// Writes the elements of `region`, as [`FileWriter::write`] does.
    pub fn write<'a>(&mut self, path: &str, region: &Region, bytes: &[u8], resolve: &'a dyn Fn(HeapReference) -> Result<&'a [u8]>) -> Result<()> {
        self.write_parts(path, region, bytes, None, resolve)
    }

    /// Writes these parts of the elements of `region`, as [`FileWriter::write_parts`] does.
    pub fn write_parts<'a>(
        &mut self,
        path: &str,
        region: &Region,
        bytes: &[u8],
        parts: Option<&[(usize, usize)]>,
        resolve: &'a dyn Fn(HeapReference) -> Result<&'a [u8]>,
    ) -> Result<()> {
        let path = normalized_path(path)?;
        let Some(local) = self.datasets.get_mut(&path) else {
            return Err(Error::not_found("there is no such dataset in this task").at_object(format!("/{path}")));
        };
        if matches!(local.global.dataspace, Dataspace::Scalar) {
            if parts.is_some() {
                return Err(Error::unsupported("writing some fields of a scalar in a task: give all of them").at_object(format!("/{path}")));
            }
            local.scalar = Some(with_heap_values(&local.global.datatype, bytes, resolve)?);
        }
        let Extent::Region(own) = &local.extent else { return self.subfile.write_parts(&path, region, bytes, parts, resolve) };
        let outside = || Error::invalid_input(format!("{region} is outside of this task's region {own}")).at_object(format!("/{path}"));
        let within = |origin: &Region| -> Option<Region> {
            let start: Option<Vec<u64>> = region.start.iter().zip(&origin.start).map(|(start, origin)| start.checked_sub(*origin)).collect();
            Some(Region { start: start?, count: region.count.clone() }).filter(|inner| inner.fits(&origin.count))
        };
        let inner = within(own).ok_or_else(outside)?;
        // In a shared file are those of other tasks before.
        let inner = local.shared.as_ref().map_or(Some(inner), within).ok_or_else(outside)?;
        self.subfile.write_parts(&path, &inner, bytes, parts, resolve)
    }
}

/// The elements with all that they point at.
fn with_heap_values<'a>(datatype: &Datatype, bytes: &[u8], resolve: &'a dyn Fn(HeapReference) -> Result<&'a [u8]>) -> Result<Elements> {
    let mut heap = HeapObjects::default();
    let mut seen = Vec::new();
    let noted = std::cell::RefCell::new(&mut seen);
    let note = |reference: HeapReference| {
        let value = resolve(reference)?;
        noted.borrow_mut().push((reference, std::sync::Arc::from(value)));
        Ok(value)
    };
    let mut scratch = bytes.to_vec();
    hyperslab_formats::hdf5::writer::store_values(datatype, &mut scratch, &note, &mut hyperslab_formats::hdf5::writer::HeapWriter::new(0))?;
    for (reference, value) in seen {
        heap.insert(reference, value);
    }
    Ok(Elements { datatype: datatype.clone(), bytes: bytes.to_vec(), heap })
}

impl WritePlan {
    /// Begins the task with this number, or another attempt at it: a subfile of its own. Rows that tasks
    /// append follow each other in the order of the numbers.
    pub fn task(&self, index: u64, session: &Session) -> Result<Task> {
        Task::begin(self, index, session)
    }
}
