//! A task: one writer's part of a plan. It defines objects, writes values into its own subfile, and returns a fragment. Tasks
//! never wait for each other.

use std::collections::BTreeMap;

use hyperslab_array::{Dataspace, Datatype, Elements, Error, HeapObjects, HeapReference, Result};
use hyperslab_reader::Session;
use hyperslab_storage::{EntryName, SharedFile, UniqueName};

use super::definitions::Definitions;
use super::plan::{WriteMode, WritePlan};
use super::shared_subfile::claimed;
use super::state::State;
use super::store::task::TaskStore;
use crate::file::allocator::{Allocator, checked_alignment};
use crate::file::dataset::state::DatasetWriter;
use crate::file::definition::{AttributeValue, DatasetDefinition, text_attribute};
use crate::file::file_writer::FileWriter;
use crate::file::references::links::Link;
use crate::file::references::object_path::normalized_path;
use crate::file::regions::region::Region;
use crate::file::reserved_attributes::SUBFILE_ATTRIBUTE;
use crate::shared::layout::name_of;

/// Which part of a dataset a task writes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extent {
    /// Any part, in the dataset's coordinates. The subfile has the chunks that were written.
    Any,
    /// This region, in the dataset's coordinates. The subfile has an array of just this region.
    Region(Region),
    /// The task's own rows along the first dimension, which follow the rows of the tasks before it. The shape has 0 rows, and
    /// coordinates count from the task's first row.
    Rows,
}

/// A running task. Dropping it without [`Task::finish`] leaves nothing.
pub struct Task {
    pub(crate) write_id: UniqueName,
    pub(crate) index: u64,
    pub(crate) name: EntryName,
    pub(crate) subfile: FileWriter,
    pub(crate) datasets: BTreeMap<String, TaskDataset>,
    /// Index of the shared subfile, if the task has a part of it.
    pub(crate) group: Option<u64>,
    pub(crate) checksums: bool,
    /// Whether the commit appends to an existing container, so that it may move rows of small subfiles to a tail.
    pub(crate) appends: bool,
    /// Objects that the plan defines.
    pub(crate) definitions: Definitions,
    /// Set if the subfile goes to an object store.
    pub(crate) store: Option<TaskStore>,
}

/// A dataset of the whole container, and the task's part of it.
pub(crate) struct TaskDataset {
    pub(crate) global: DatasetDefinition,
    pub(crate) extent: Extent,
    /// Value of a scalar.
    pub(crate) scalar: Option<Elements>,
    /// The region of the dataset in the shared subfile.
    pub(crate) shared: Option<Region>,
}

impl Task {
    pub(crate) fn begin(plan: &WritePlan, index: u64, session: &Session) -> Result<Self> {
        let store = plan.store.as_ref().map(|place| TaskStore::new(plan, place)).transpose()?;
        let folder = if store.is_some() { plan.folder() } else { plan.folder_for_writing()? };
        let attempt: String = UniqueName::generate().prefix(8).to_owned();
        let name = EntryName::parse(&format!("{index:04}-{attempt}.h5"))?;
        let place = folder.join(&name);
        let claimed = plan.sharing.as_ref().map(|sharing| Ok::<_, Error>((sharing, claimed(plan, sharing, index)?))).transpose()?;
        let alignment = || plan.sharing.as_ref().map_or_else(|| checked_alignment(plan.alignment), |sharing| Ok(Some(sharing.alignment)));
        let subfile = match &claimed {
            _ if let Some(store) = &store => store.subfile(&name, alignment()?, session)?,
            Some((sharing, Some((group, layout)))) => {
                let file = SharedFile::open(&folder.join(name_of(*group)))?;
                let shared = Allocator::shared(file, sharing.segments(layout, index)?, sharing.alignment);
                FileWriter::with_shared(&place, Some(sharing.alignment), shared, session)?
            }
            _ => FileWriter::in_place(&place, alignment()?, session)?,
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
            store,
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
                // Another attempt has claimed the part of the shared subfile, so this one writes its own file.
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

    /// The region of a dataset of the plan that this task writes.
    ///
    /// # Errors
    /// `NotFound` if the task has no such dataset.
    pub fn region(&self, path: &str) -> Result<&Region> {
        match self.datasets.get(&normalized_path(path)?).map(|local| &local.extent) {
            Some(Extent::Region(region)) => Ok(region),
            _ => Err(Error::not_found("this task writes no region of such a dataset").at_object(path)),
        }
    }

    /// Definition of a dataset in the whole container.
    ///
    /// # Errors
    /// `NotFound` if the task has no such dataset.
    pub fn definition(&self, path: &str) -> Result<&DatasetDefinition> {
        let local = self.datasets.get(&normalized_path(path)?);
        local.map(|local| &local.global).ok_or_else(|| Error::not_found("there is no such dataset in this task").at_object(path))
    }

    /// Index of the task.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Creates a link.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid path, or one that has another object; `Unsupported` for what HDF5 cannot store.
    pub fn create_link(&mut self, path: &str, link: Link) -> Result<()> {
        self.subfile.create_link(path, link)
    }

    /// Commits a datatype at this path.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid path, or one that has another object; `Unsupported` for what HDF5 cannot store.
    pub fn create_datatype(&mut self, path: &str, datatype: Datatype) -> Result<()> {
        self.subfile.create_datatype(path, datatype)
    }

    /// Creates a dataset of references to objects of the whole container.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid path, or one that has another object; `Unsupported` for what HDF5 cannot store.
    pub fn create_references(&mut self, path: &str, shape: Vec<u64>, targets: &[Option<String>]) -> Result<()> {
        self.subfile.create_references(path, shape, targets)
    }

    /// Sets an attribute of references to objects of the whole container.
    ///
    /// # Errors
    /// `NotFound` if there is no such object.
    pub fn set_references(&mut self, path: &str, name: &str, shape: Vec<u64>, targets: &[Option<String>]) -> Result<()> {
        self.refuse_reserved(path, name)?;
        self.subfile.set_references(path, name, shape, targets)
    }

    /// Attaches a dataset of the whole container as the scale of a dimension of another.
    ///
    /// # Errors
    /// `NotFound` if there is no such object; `InvalidInput` for a dimension that the dataset does not have.
    pub fn attach_scale(&mut self, path: &str, dimension: u32, scale: &str) -> Result<()> {
        let ndim = self.definition(path)?.dataspace.ndim();
        if usize::try_from(dimension).is_ok_and(|dimension| dimension >= ndim) {
            return Err(Error::invalid_input(format!("dimension {dimension} of {ndim}")).at_object(path));
        }
        self.subfile.set_external_scale(path, dimension, scale)
    }

    /// Opens a dataset of the plan for writing: `region` if given, else the task's own rows if it is written by rows, else any
    /// part.
    ///
    /// # Errors
    /// `NotFound` if the plan has no such dataset; `InvalidInput` for a region outside of it.
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

    /// Whether the plan has a dataset at this path that the task has not opened yet.
    pub fn is_planned(&self, path: &str) -> bool {
        normalized_path(path).is_ok_and(|path| !self.datasets.contains_key(&path) && self.definitions.dataset(&path).is_some())
    }

    fn refuse_reserved(&self, path: &str, name: &str) -> Result<()> {
        if normalized_path(path)?.is_empty() && name.starts_with("_hyperslab") {
            return Err(Error::invalid_input(format!("attribute {name} is reserved for Hyperslab")));
        }
        Ok(())
    }

    /// Creates a group and its parents.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid path, or one that has another object; `Unsupported` for what HDF5 cannot store.
    pub fn create_group(&mut self, path: &str) -> Result<()> {
        self.subfile.create_group(path)
    }

    /// Sets whether the file records the creation order of an object's attributes and, for a group, of its members. It does if
    /// any task asks for it.
    ///
    /// # Errors
    /// `NotFound` if there is no such object.
    pub fn set_tracked(&mut self, path: &str, tracked: bool) -> Result<()> {
        self.subfile.set_tracked(path, tracked)
    }

    /// Sets an attribute. All tasks that set it must give the same value.
    ///
    /// # Errors
    /// `NotFound` if there is no such object; `InvalidInput` for a link or a reserved name; `Unsupported` for a value
    /// that HDF5 cannot store.
    pub fn set_attribute(&mut self, path: &str, name: &str, value: AttributeValue) -> Result<()> {
        if value.value.datatype.has_references() {
            return Err(Error::unsupported("references in a parallel write: object addresses differ between subfiles").at_object(path));
        }
        self.refuse_reserved(path, name)?;
        self.subfile.set_attribute(path, name, value)
    }

    /// The task's own subfile: objects that it has defined and written.
    pub fn objects(&mut self) -> &mut FileWriter {
        &mut self.subfile
    }

    /// Creates a dataset of the whole container and says which part this task writes. Every task that writes to the dataset must
    /// call it with the same definition.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid path, or one that has another object; `Unsupported` for what HDF5 cannot store.
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
                // Other tasks write other chunks, so the subfile must be chunked.
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
                    return bad("a dataset that is written by rows must have 0 rows and an unlimited first dimension".to_owned());
                }
                if is_chosen {
                    // Each subfile chooses chunks that fit its rows.
                    local.chunk_shape = None;
                }
            }
        }
        self.subfile.create_dataset(&path, local)?;
        self.datasets.insert(path, TaskDataset { global, extent, scalar: None, shared: None });
        Ok(())
    }

    /// Grows a dataset that is written by rows to this shape.
    ///
    /// # Errors
    /// `NotFound` if the task has no such dataset; `InvalidInput` if it is not written by rows; `Unsupported` if it
    /// would shrink.
    pub fn grow(&mut self, path: &str, shape: Vec<u64>) -> Result<()> {
        let path = normalized_path(path)?;
        match self.datasets.get(&path) {
            Some(TaskDataset { extent: Extent::Rows, .. }) => {
                let before = self.subfile.definition(&path)?.dataspace;
                if before.shape().iter().zip(&shape).any(|(old, new)| new < old) {
                    return Err(Error::unsupported("shrinking a dataset in a task").at_object(format!("/{path}")));
                }
                self.subfile.resize(&path, shape)
            }
            Some(_) => Err(Error::invalid_input("only datasets that are written by rows can grow in a task").at_object(format!("/{path}"))),
            None => Err(Error::not_found("there is no such dataset in this task").at_object(format!("/{path}"))),
        }
    }

    /// Writes the elements of `region`; see [`FileWriter::write`].
    ///
    /// # Errors
    /// `NotFound` if the task has no such dataset. `InvalidInput` for a region outside of the task's own, or bytes that
    /// do not fit it; `Io` if the file cannot be written.
    pub fn write<'a>(&mut self, path: &str, region: &Region, bytes: &[u8], resolve: &'a dyn Fn(HeapReference) -> Result<&'a [u8]>) -> Result<()> {
        self.write_parts(path, region, bytes, None, resolve)
    }

    /// Writes parts of the elements of `region`; see [`FileWriter::write_parts`].
    ///
    /// # Errors
    /// As [`Task::write`].
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
            let start = region.start_from(&origin.start).ok()?;
            Some(Region { start, count: region.count.clone() }).filter(|inner| inner.fits(&origin.count))
        };
        let inner = within(own).ok_or_else(outside)?;
        // The shared subfile has the regions of other tasks, too.
        let inner = local.shared.as_ref().map_or(Some(inner), within).ok_or_else(outside)?;
        self.subfile.write_parts(&path, &inner, bytes, parts, resolve)
    }
}

/// The elements together with the heap values that they refer to.
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
    /// Begins the task with this index, or another attempt at it. Each attempt has its own subfile. Rows that tasks append are in
    /// the order of task indexes.
    ///
    /// # Errors
    /// `Cancelled` if the plan has begun and was aborted; `InvalidInput` for an index that the plan does not have; `Io`
    /// if the folder cannot be created.
    pub fn task(&self, index: u64, session: &Session) -> Result<Task> {
        Task::begin(self, index, session)
    }
}
