//! Fragments: what a task has defined and written, as plain data for the commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyperslab_array::{Elements, Envelope, Error, HeapObjects, HeapReference, Result};
use hyperslab_formats::filter::{Filter, Pipeline};
use hyperslab_formats::hdf5::writer::{HeapWriter, StoredChunk, encode_dataspace, encode_datatype, parse_dataspace, parse_datatype, store_values};
use hyperslab_storage::{EntryName, UniqueName};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::encoding::fill_time::{fill_time, stored_fill_time};
use crate::encoding::hex::Hex;
use crate::file::definition::{AttributeValue, DatasetDefinition};
use crate::file::references::links::Link;
use crate::file::references::object_references::ObjectReferences;
use crate::file::regions::region::Region;

/// Version of the encoding; raised when its meaning changes.
const ENVELOPE: Envelope = Envelope::new("a fragment", 6);

/// Kind of an entry: an object or a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum EntryKind {
    Group,
    Dataset,
    /// A dataset of references to objects.
    References,
    /// A committed datatype.
    Datatype,
    Link,
}

impl std::fmt::Display for EntryKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Group => "group",
            Self::Dataset => "dataset",
            Self::References => "dataset of references",
            Self::Datatype => "datatype",
            Self::Link => "link",
        })
    }
}

/// What one task has defined and written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fragment {
    version: u32,
    pub(crate) write_id: UniqueName,
    pub(crate) task: u64,
    /// File name of the subfile in the plan's folder.
    pub(crate) name: EntryName,
    /// Length of the subfile in bytes; `None` if everything is in a shared subfile.
    pub(crate) bytes: Option<u64>,
    /// Content of a small subfile that was not written to the plan's folder: the commit moves its rows to a tail, or writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Hex>,
    /// CRC-32 of each 16 MiB of the subfile, if the plan asks for checksums.
    pub(crate) checksums: Option<Vec<u32>>,
    /// The task's part of a shared subfile, if any.
    pub(crate) shared: Option<SharedPart>,
    pub(crate) objects: BTreeMap<String, ObjectFragment>,
}

/// What a task wrote of one dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenDataset {
    /// Path of the dataset.
    pub path: String,
    /// Whether the task appended rows of its own.
    pub has_rows: bool,
    /// Shape of the whole dataset; for rows, of those that the task appended.
    pub shape: Vec<u64>,
    /// Regions written, in coordinates of an array of this shape.
    pub regions: Vec<Region>,
}

/// A task's part of a shared subfile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SharedPart {
    pub group: u64,
    /// End of the last byte that the task wrote.
    pub end: u64,
}

/// A chunk in a shared subfile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChunkFragment {
    position: Vec<u64>,
    address: u64,
    length: u64,
    filter_mask: u32,
}

impl From<&ChunkFragment> for StoredChunk {
    fn from(chunk: &ChunkFragment) -> Self {
        Self { position: chunk.position.clone(), address: chunk.address, length: chunk.length, filter_mask: chunk.filter_mask }
    }
}

impl From<&StoredChunk> for ChunkFragment {
    fn from(chunk: &StoredChunk) -> Self {
        Self { position: chunk.position.clone(), address: chunk.address, length: chunk.length, filter_mask: chunk.filter_mask }
    }
}

/// An object or link that a task defined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ObjectFragment {
    pub kind: EntryKind,
    /// Number of objects that the task defined before it.
    pub created: u64,
    /// Whether the creation order of its attributes and members is recorded.
    pub tracked: bool,
    /// In creation order.
    pub attributes: Vec<(String, AttributeFragment)>,
    pub dataset: Option<DatasetFragment>,
    /// Set if it is neither a group nor a dataset of values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<OtherFragment>,
    /// Paths of the dimension scales of a dataset, by dimension.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scales: BTreeMap<u32, String>,
}

/// An entry that is neither a group nor a dataset of values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OtherFragment {
    Link(Link),
    References(ObjectReferences),
    /// Encoded as HDF5's datatype message.
    Datatype(Hex),
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum AttributeFragment {
    Value(StoredValue),
    References(ObjectReferences),
}

impl AttributeFragment {
    /// Whether both have the same value.
    pub fn same(&self, other: &Self) -> Result<bool> {
        match (self, other) {
            (Self::Value(a), Self::Value(b)) => a.same(b),
            (a, b) => Ok(a == b),
        }
    }
}

/// Datatype, dataspace and value; the first two are encoded as HDF5 messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredValue {
    datatype: Hex,
    dataspace: Hex,
    bytes: Hex,
    heap: Vec<(u64, u32, Hex)>,
}

/// A dataset that a task defined, and the part that it wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DatasetFragment {
    datatype: Hex,
    dataspace: Hex,
    fill_value: Option<Hex>,
    /// Name of the fill time, if it is not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fill_time: Option<String>,
    /// Whether the task appended rows: they follow the rows of the tasks before it.
    pub rows: bool,
    /// Start of the subfile's array in the dataset; 0 for rows.
    pub origin: Vec<u64>,
    /// Shape of the array in the subfile.
    pub shape: Vec<u64>,
    /// Regions written, in the dataset's coordinates.
    pub written: Vec<Region>,
    /// All of its values, if they are not in a subfile.
    pub scalar: Option<StoredValue>,
    /// Whether readers see that it can grow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub growable: bool,
    /// Path of its committed datatype.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed: Option<String>,
    /// Chunk shape and filters of a dataset of the plan, for the tasks that write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_shape: Option<Vec<u64>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<(u16, Option<String>, bool, Vec<u32>)>,
    /// Whether the values are in the shared subfile.
    pub shared: bool,
    /// Stored chunks in the shared subfile, except those at fixed offsets.
    pub chunks: Vec<ChunkFragment>,
}

impl StoredValue {
    pub fn new(value: &AttributeValue) -> Result<Self> {
        let mut heap: Vec<(u64, u32, Hex)> =
            value.value.heap.iter().map(|(reference, bytes)| (reference.address, reference.index, Hex(bytes.to_vec()))).collect();
        heap.sort_by_key(|(address, index, _)| (*address, *index));
        Ok(Self {
            datatype: Hex(encode_datatype(&value.value.datatype)?),
            dataspace: Hex(encode_dataspace(&value.dataspace)?),
            bytes: Hex(value.value.bytes.clone()),
            heap,
        })
    }

    /// Whether both have the same value; heap addresses of variable-length parts may differ.
    pub fn same(&self, other: &Self) -> Result<bool> {
        if self.datatype != other.datatype || self.dataspace != other.dataspace {
            return Ok(false);
        }
        let plain = |stored: &Self| {
            let mut value = stored.value()?.value;
            let mut heap = HeapWriter::new(8);
            let resolve = |reference| value.heap.object(reference);
            store_values(&value.datatype, &mut value.bytes, &resolve, &mut heap)?;
            Ok::<_, Error>((value.bytes, heap.finish()))
        };
        Ok(self == other || plain(self)? == plain(other)?)
    }

    pub fn value(&self) -> Result<AttributeValue> {
        let mut heap = HeapObjects::default();
        for (address, index, bytes) in &self.heap {
            heap.insert(HeapReference { address: *address, index: *index }, Arc::from(bytes.0.as_slice()));
        }
        let datatype = parse_datatype(&self.datatype.0)?;
        let dataspace = parse_dataspace(&self.dataspace.0)?;
        if dataspace.element_count()?.checked_mul(datatype.size()) != Some(self.bytes.0.len() as u64) {
            return Err(Error::invalid_input(format!("a fragment with a value of {} bytes for shape {:?}", self.bytes.0.len(), dataspace.shape())));
        }
        Ok(AttributeValue::new(dataspace, Elements { datatype, bytes: self.bytes.0.clone(), heap }))
    }
}

impl DatasetFragment {
    pub fn new(global: &DatasetDefinition, rows: bool, origin: Vec<u64>, shape: Vec<u64>, written: Vec<Region>, scalar: Option<&Elements>) -> Result<Self> {
        let scalar = scalar.map(|value| StoredValue::new(&AttributeValue::new(global.dataspace.clone(), value.clone())));
        Ok(Self {
            datatype: Hex(encode_datatype(&global.datatype)?),
            dataspace: Hex(encode_dataspace(&global.dataspace)?),
            fill_value: global.fill_value.clone().map(Hex),
            fill_time: stored_fill_time(global.fill_time),
            rows,
            origin,
            shape,
            written,
            scalar: scalar.transpose()?,
            shared: false,
            chunks: Vec::new(),
            growable: false,
            committed: global.committed.clone(),
            chunk_shape: None,
            filters: Vec::new(),
        })
    }

    /// Regions written, in coordinates of the subfile's array; `None` if one is outside of it.
    pub fn local_regions(&self) -> Option<Vec<Region>> {
        let local = |written: &Region| {
            let start = written.start_from(&self.origin).ok()?;
            Some(Region { start, count: written.count.clone() }).filter(|local| local.fits(&self.shape))
        };
        self.written.iter().map(local).collect()
    }

    /// The definition without chunks and filters, which belong to the subfiles.
    pub fn definition(&self) -> Result<DatasetDefinition> {
        Ok(DatasetDefinition {
            datatype: parse_datatype(&self.datatype.0)?,
            committed: self.committed.clone(),
            dataspace: parse_dataspace(&self.dataspace.0)?,
            chunk_shape: None,
            filters: Pipeline::default(),
            fill_value: self.fill_value.as_ref().map(|fill| fill.0.clone()),
            fill_heap: HeapObjects::default(),
            is_fill_undefined: false,
            fill_time: fill_time(self.fill_time.as_deref())?,
            allocation: None,
            is_compact: false,
        })
    }
}

impl DatasetFragment {
    /// The definition with chunks and filters, for a dataset of the plan.
    pub fn whole_definition(&self) -> Result<DatasetDefinition> {
        let filter = |(id, name, optional, parameters): &(u16, Option<String>, bool, Vec<u32>)| Filter {
            id: *id,
            name: name.clone(),
            optional: *optional,
            parameters: parameters.clone(),
        };
        let filters = Pipeline { filters: self.filters.iter().map(filter).collect() };
        Ok(DatasetDefinition { chunk_shape: self.chunk_shape.clone(), filters, ..self.definition()? })
    }
}

impl Fragment {
    pub(crate) fn new(write_id: &UniqueName, task: u64, name: EntryName) -> Self {
        Self {
            version: ENVELOPE.version(),
            write_id: write_id.clone(),
            task,
            name,
            bytes: None,
            content: None,
            checksums: None,
            shared: None,
            objects: BTreeMap::new(),
        }
    }

    /// Index of the task.
    pub fn task(&self) -> u64 {
        self.task
    }

    /// What the task wrote of each dataset, by path. Datasets without a written element are listed, too.
    ///
    /// # Errors
    /// `InvalidInput` for a dataspace that cannot be decoded.
    pub fn datasets(&self) -> Result<Vec<WrittenDataset>> {
        let datasets = self.objects.iter().filter_map(|(path, object)| Some((path, object.dataset.as_ref()?)));
        let written = |(path, dataset): (&String, &DatasetFragment)| {
            let shape = match dataset.rows {
                true => dataset.shape.clone(),
                false => parse_dataspace(&dataset.dataspace.0)?.shape().to_vec(),
            };
            Ok(WrittenDataset { path: path.clone(), has_rows: dataset.rows, shape, regions: dataset.written.clone() })
        };
        datasets.map(written).collect()
    }

    pub(crate) fn add_object(&mut self, path: &str, object: ObjectFragment) {
        self.objects.insert(path.to_owned(), object);
    }

    /// Objects by path, in creation order.
    pub(crate) fn in_order(&self) -> Vec<(&String, &ObjectFragment)> {
        let mut objects: Vec<(&String, &ObjectFragment)> = self.objects.iter().collect();
        objects.sort_by_key(|(_, object)| object.created);
        objects
    }

    pub(crate) fn add_dataset(&mut self, path: &str, dataset: DatasetFragment) {
        if let Some(object) = self.objects.get_mut(path) {
            object.dataset = Some(dataset);
        }
    }

    /// Decodes many fragments in parallel; keeps their order.
    ///
    /// # Errors
    /// As [`Fragment::decode`].
    pub fn decode_all(all: &[Vec<u8>]) -> Result<Vec<Self>> {
        /// Maximum bytes that are decoded in one thread, because starting others takes longer.
        const MAX_SEQUENTIAL_BYTES: usize = 256 << 10;
        if all.iter().map(Vec::len).sum::<usize>() <= MAX_SEQUENTIAL_BYTES {
            return all.iter().map(|bytes| Self::decode(bytes)).collect();
        }
        all.par_iter().map(|bytes| Self::decode(bytes)).collect()
    }

    /// Encodes as versioned JSON with a trailing checksum.
    ///
    /// # Errors
    /// `Internal` if the data cannot be encoded.
    pub fn encode(&self) -> Result<Vec<u8>> {
        ENVELOPE.encode(self)
    }

    /// Decodes [`Fragment::encode`].
    ///
    /// # Errors
    /// `InvalidInput` for damaged bytes, other versions and other data.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let fragment: Self = ENVELOPE.decode(bytes)?;
        if fragment.name.starts_with('.') || !fragment.name.ends_with(".h5") {
            return Err(Error::invalid_input(format!("a fragment with an invalid subfile name {:?}", fragment.name)));
        }
        if fragment.content.as_ref().is_some_and(|content| fragment.bytes != Some(content.0.len() as u64)) {
            return Err(Error::invalid_input("these bytes are not a fragment: its subfile is incomplete"));
        }
        Ok(fragment)
    }
}
