//! Chunk references as an [`ArrayFile`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use hyperslab_array::{ChunkBuffer, Error, HeapObjects, HeapReference, Result, Selection};
use hyperslab_storage::Storage;
use serde_json::{Map, Value};

use super::attributes::{DIMENSIONS, attributes, missing_value};
use super::chunk_table::{ChunkTable, StoredChunk};
use super::document::{Document, Entry};
use super::metadata::{self, ArrayMetadata};
use crate::budget::Budget;
use crate::filter::Pipeline;
use crate::tree::dataset as dataset_of;
use crate::tree_in_memory::{Content, Group, Node, TreeBuilder, TreeInMemory};
use crate::{ArrayFile, ChunkLocation, ChunkLocations, ChunkSource, Dimension, DimensionScale, Format, Limits, Link, LinkTarget, ObjectId, Target, Tree};

/// Bytes of memory that a reference takes in addition to its content.
const REFERENCE_COST: u64 = 64;
/// Other files are so far apart in the storage that joins them that no read is extended from one to the next.
const GAP_BYTES: u64 = 1 << 30;

/// Chunk references. The chunks are read from the storage that [`ArrayFile::over`] gets; before, only metadata and what is in the
/// document can be read.
pub struct ReferencesFile {
    parts: Arc<Parts>,
    storage: Arc<dyn Storage>,
}

struct Parts {
    tree: TreeInMemory,
    /// By object ID; groups have none.
    arrays: Vec<Option<(Pipeline, ChunkTable)>>,
    targets: Vec<Target>,
    starts: Vec<u64>,
}

impl ReferencesFile {
    /// Parses the document.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported`, `LimitExceeded` or `Io` if it cannot be parsed.
    pub fn open(storage: Arc<dyn Storage>, limits: &Limits) -> Result<Self> {
        let budget = Budget::new(storage.len(), limits.metadata_bytes);
        budget.charge(storage.len())?;
        let mut bytes = Vec::new();
        let length = usize::try_from(storage.len()).map_err(|_| Error::limit_exceeded("references beyond memory"))?;
        bytes.try_reserve_exact(length).map_err(|_| Error::limit_exceeded(format!("no memory for {length} bytes of references")))?;
        bytes.resize(length, 0);
        storage.read_exact_at(0, &mut bytes)?;
        let parts = Arc::new(Parts::of(&Document::parse(&bytes, &budget)?, limits, &budget)?);
        Ok(Self { parts, storage })
    }
}

/// Metadata of the object at a path.
#[derive(Default)]
struct Described {
    array: Option<ArrayMetadata>,
    attributes: Map<String, Value>,
}

/// Chunks of an array while they are put together.
#[derive(Default)]
struct Chunks {
    stored: Vec<StoredChunk>,
    inside: Vec<(u64, Arc<[u8]>)>,
}

impl Parts {
    fn of(document: &Document<'_>, limits: &Limits, budget: &Budget) -> Result<Self> {
        let described = describe(document, limits, budget)?;
        let mut chunks: HashMap<&str, Chunks> = HashMap::new();
        let mut targets = Targets::default();
        for (key, entry) in &document.entries {
            if key.rsplit('/').next().is_some_and(|name| name.starts_with('.')) {
                continue;
            }
            budget.charge(REFERENCE_COST)?;
            let (path, array, numbers) =
                array_of(key, &described).ok_or_else(|| Error::corrupt("a reference of a chunk of no array").at_object(key.to_string()))?;
            // As in Zarr, a chunk outside of the shape is left over from a larger one.
            let Some(number) = chunk_number(array, numbers).map_err(|error| error.at_object(key.to_string()))? else { continue };
            let chunks = chunks.entry(path).or_default();
            match entry {
                Entry::Range { file, offset, length } => {
                    if *length > limits.chunk_bytes {
                        return Err(Error::limit_exceeded(format!("a chunk of {length} bytes")).at_object(key.to_string()));
                    }
                    let target = targets.number(file, *offset, *length, budget).map_err(|error| error.at_object(key.to_string()))?;
                    chunks.stored.push(StoredChunk { number, target, offset: *offset, length: *length });
                }
                Entry::Whole { file } => {
                    return Err(Error::unsupported(format!("a reference to all of {file}, without offset and length")).at_object(key.to_string()));
                }
                Entry::Text(_) | Entry::Json(_) => {
                    let decoded = decoded(array, &entry.content()?, budget).map_err(|error| error.at_object(key.to_string()))?;
                    chunks.inside.push((number, decoded));
                }
            }
        }
        let (targets, starts) = targets.placed()?;
        let (tree, arrays) = tree(described, chunks);
        Ok(Self { tree, arrays, targets, starts })
    }
}

/// The bytes of a chunk that is in the document.
fn decoded(array: &ArrayMetadata, raw: &[u8], budget: &Budget) -> Result<Arc<[u8]>> {
    if array.dataset.refusal.is_some() {
        return Ok(Arc::from([]));
    }
    let elements = array.dataset.chunk_grid.chunk_shape().iter().try_fold(array.dataset.datatype.size(), |n, extent| n.checked_mul(*extent));
    let bytes = elements.and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(|| Error::limit_exceeded("a chunk beyond memory"))?;
    budget.charge(bytes as u64)?;
    let mut out = Vec::new();
    array.pipeline.decode(raw, 0, bytes, &mut out)?;
    Ok(out.into())
}

/// Arrays and attributes by path; the root group is the empty path.
fn describe<'d>(document: &'d Document<'_>, limits: &Limits, budget: &Budget) -> Result<BTreeMap<&'d str, Described>> {
    let mut described: BTreeMap<&str, Described> = BTreeMap::new();
    for (key, entry) in &document.entries {
        let (path, name) = key.rsplit_once('/').unwrap_or(("", key));
        let at = |error: Error| error.at_object(key.to_string());
        match name {
            ".zgroup" | ".zarray" | ".zattrs" => {}
            "zarr.json" => return Err(at(Error::unsupported("metadata of Zarr's version 3 in references: version 2 is read"))),
            _ => continue,
        }
        if path.is_empty() && name == ".zarray" {
            return Err(at(Error::unsupported("references of one array without a group")));
        }
        if path.split('/').count() > limits.depth as usize {
            return Err(at(Error::limit_exceeded("groups that are nested deeper than the limit depth")));
        }
        if !path.is_empty() && path.split('/').any(str::is_empty) {
            return Err(at(Error::corrupt("a path with an empty name")));
        }
        let said = entry.json().map_err(at)?;
        budget.charge(REFERENCE_COST + key.len() as u64 + said.to_string().len() as u64)?;
        let object = described.entry(path).or_default();
        match name {
            ".zarray" => object.array = Some(metadata::array(&said, limits).map_err(at)?),
            ".zattrs" => match said {
                Value::Object(attributes) => object.attributes = attributes,
                _ => return Err(at(Error::corrupt("attributes that are no object"))),
            },
            _ => {}
        }
        if described.len() as u64 > limits.objects {
            return Err(Error::limit_exceeded(format!("more than {} objects", limits.objects)));
        }
    }
    let paths: Vec<&str> = described.keys().copied().collect();
    // Groups need not be named: those above an array are there.
    for path in paths {
        let mut above = path;
        while let Some((group, _)) = above.rsplit_once('/') {
            described.entry(group).or_default();
            above = group;
        }
    }
    described.entry("").or_default();
    if let Some((path, _)) = described.iter().find(|(path, object)| object.array.is_some() && has_members(&described, path)) {
        return Err(Error::corrupt("an array that has members").at_object((*path).to_owned()));
    }
    Ok(described)
}

fn has_members(described: &BTreeMap<&str, Described>, path: &str) -> bool {
    let prefix = format!("{path}/");
    let mut after = described.range::<str, _>((std::ops::Bound::Excluded(path), std::ops::Bound::Unbounded)).map(|(other, _)| *other);
    // Names with characters below the slash sort between a group and its members.
    after.by_ref().take_while(|other| other.starts_with(path)).any(|other| other.starts_with(&prefix))
}

/// The array to which the key of a chunk belongs, its path, and the rest of the key.
fn array_of<'d, 'm, 'k>(key: &'k str, described: &'m BTreeMap<&'d str, Described>) -> Option<(&'d str, &'m ArrayMetadata, &'k str)> {
    let mut end = key.len();
    // With slashes between the numbers, a key has more parts than the path of its array.
    loop {
        let (path, rest) = match key.get(..end)?.rfind('/') {
            Some(at) => (key.get(..at)?, key.get(at + 1..)?),
            None => ("", key),
        };
        if let Some((path, Described { array: Some(array), .. })) = described.get_key_value(path) {
            return Some((*path, array, rest));
        }
        if path.is_empty() {
            return None;
        }
        end = path.len();
    }
}

/// The number of the chunk with these coordinates; `None` if it lies outside of the array.
fn chunk_number(array: &ArrayMetadata, numbers: &str) -> Result<Option<u64>> {
    let grid = &array.dataset.chunk_grid;
    let wrong = || Error::corrupt(format!("the chunk {numbers:?} of an array of {} dimensions", grid.shape().len()));
    let counts = grid.chunk_counts();
    if counts.is_empty() {
        return if numbers == "0" { Ok(Some(0)) } else { Err(wrong()) };
    }
    let mut number = Some(0u64);
    let mut parts = numbers.split(array.separator);
    for count in counts {
        let part: u64 = parts.next().and_then(|part| part.parse().ok()).ok_or_else(wrong)?;
        number = number.filter(|_| part < count).and_then(|number| number.checked_mul(count)?.checked_add(part));
    }
    if parts.next().is_some() { Err(wrong()) } else { Ok(number) }
}

/// The other files while they are put together.
#[derive(Default)]
struct Targets {
    numbers: HashMap<String, u32>,
    /// Bytes up to the last that is needed.
    found: Vec<(String, u64)>,
}

impl Targets {
    fn number(&mut self, file: &str, offset: u64, length: u64, budget: &Budget) -> Result<u32> {
        let end = offset.checked_add(length).ok_or_else(|| Error::corrupt("a reference beyond 64 bits"))?;
        let number = match self.numbers.get(file) {
            Some(number) => *number,
            None => {
                budget.charge(REFERENCE_COST + 2 * file.len() as u64)?;
                let number = u32::try_from(self.found.len()).map_err(|_| Error::limit_exceeded("references to more than 4 billion files"))?;
                self.numbers.insert(file.to_owned(), number);
                self.found.push((file.to_owned(), 0));
                number
            }
        };
        if let Some((_, length)) = self.found.get_mut(number as usize) {
            *length = end.max(*length);
        }
        Ok(number)
    }

    /// The files, and where each begins.
    fn placed(self) -> Result<(Vec<Target>, Vec<u64>)> {
        let mut start = 0u64;
        let mut targets = Vec::with_capacity(self.found.len());
        for (file, length) in self.found {
            targets.push(Target { file, start, length });
            start = start.checked_add(length).and_then(|end| end.checked_add(GAP_BYTES)).ok_or_else(|| Error::corrupt("references beyond 64 bits"))?;
        }
        let starts = targets.iter().map(|target| target.start).collect();
        Ok((targets, starts))
    }
}

/// The tree, and the chunks of its arrays by object ID.
fn tree(described: BTreeMap<&str, Described>, mut chunks: HashMap<&str, Chunks>) -> (TreeInMemory, Vec<Option<(Pipeline, ChunkTable)>>) {
    let ids: HashMap<&str, ObjectId> = described.keys().enumerate().map(|(index, path)| (*path, ObjectId::of_index(index))).collect();
    let mut nodes: Vec<Node> = Vec::with_capacity(described.len());
    let mut arrays = Vec::with_capacity(described.len());
    // The scale of a dimension is the array of one dimension with its name, in its group.
    let scales: BTreeSet<&str> = described
        .iter()
        .filter(|(path, object)| {
            let names = dimension_names(object);
            names.len() == 1 && names.first().is_some_and(|name| name.as_deref() == path.rsplit('/').next())
        })
        .map(|(path, _)| *path)
        .collect();
    // kerchunk gives arrays without missing values no fill value, and says of others only the fill value. VirtualiZarr gives all of them
    // one, mostly zero, and the value of missing ones as an attribute.
    let some_have_none = described.values().filter_map(|object| object.array.as_ref()).any(|array| array.dataset.fill_value.is_none());
    for (path, object) in described {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let name = path.rsplit('/').next().unwrap_or_default();
        let names = dimension_names(&object);
        let own = object.array.as_ref().map(|array| array.dataset.datatype.clone());
        let mut node = Node::new(format!("/{path}"), Content::Group(Group::default()));
        node.attributes = attributes(&object.attributes, own.as_ref());
        if let Some(array) = &object.array {
            node.attributes.extend(missing_value(&object.attributes, &array.dataset, some_have_none));
        }
        node.attributes_tracked = true;
        let mut declared = Vec::new();
        arrays.push(object.array.map(|array| {
            let extents = array.dataset.chunk_grid.shape().to_vec();
            let scale = |name: &str| {
                let place = if parent.is_empty() { name.to_owned() } else { format!("{parent}/{name}") };
                scales.get(place.as_str()).and_then(|place| ids.get(place)).copied()
            };
            let dimensions = names.iter().map(|name| DimensionScale { name: name.clone(), scale: name.as_deref().and_then(scale) }).collect();
            declared =
                names.iter().zip(&extents).filter_map(|(name, extent)| Some(Dimension { name: name.clone()?, extent: *extent, unlimited: false })).collect();
            node.content = Content::Dataset(Box::new(array.dataset), dimensions);
            let Chunks { stored, inside } = chunks.remove(path).unwrap_or_default();
            (array.pipeline, ChunkTable::new(stored, inside))
        }));
        if let (false, Some(Node { content: Content::Group(group), .. })) = (path.is_empty(), ids.get(parent).and_then(|id| nodes.get_mut(id.index()))) {
            group.links.push(Link::new(name, LinkTarget::Hard(ObjectId::of_index(arrays.len() - 1))));
            for dimension in declared {
                if !group.dimensions.iter().any(|known| known.name == dimension.name) {
                    group.dimensions.push(dimension);
                }
            }
        }
        nodes.push(node);
    }
    (TreeBuilder { nodes }.build(), arrays)
}

/// The names of an array's dimensions: as many as it has.
fn dimension_names(object: &Described) -> Vec<Option<String>> {
    let Some(array) = &object.array else { return Vec::new() };
    let ndim = array.dataset.chunk_grid.shape().len();
    let said = object.attributes.get(DIMENSIONS).and_then(Value::as_array).filter(|names| names.len() == ndim);
    match said {
        Some(names) => names.iter().map(|name| name.as_str().map(str::to_owned)).collect(),
        None => vec![None; ndim],
    }
}

impl ReferencesFile {
    fn array(&self, id: ObjectId) -> Result<&(Pipeline, ChunkTable)> {
        self.parts.arrays.get(id.index()).and_then(Option::as_ref).ok_or_else(|| Error::internal("no such array"))
    }
}

impl ArrayFile for ReferencesFile {
    fn format(&self) -> Format {
        Format::References
    }
    fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }
    fn tree(&self) -> &dyn Tree {
        &self.parts.tree
    }
    fn targets(&self) -> &[Target] {
        &self.parts.targets
    }
    fn over(&self, storage: Arc<dyn Storage>) -> Option<Arc<dyn ArrayFile>> {
        Some(Arc::new(Self { parts: self.parts.clone(), storage }))
    }

    fn locate(&self, id: ObjectId, selection: &Selection) -> Result<ChunkLocations> {
        let dataset = dataset_of(&self.parts.tree, id)?;
        if let Some(refusal) = &dataset.refusal {
            return Err(refusal.clone());
        }
        self.array(id)?.1.locate(&dataset.chunk_grid, selection, &self.parts.starts)
    }

    fn stored_bytes(&self, id: ObjectId) -> Result<u64> {
        Ok(self.array(id)?.1.stored_bytes())
    }

    fn decode(&self, id: ObjectId, location: &ChunkLocation, raw: &[u8], out: &mut ChunkBuffer) -> Result<()> {
        let dataset = dataset_of(&self.parts.tree, id)?;
        let ChunkSource::Stored { filter_mask, .. } = location.source else { return Err(Error::internal("only stored chunks are decoded")) };
        let size = dataset.datatype.size();
        let bytes = location.region.count.iter().try_fold(size, |n, &extent| n.checked_mul(extent)).and_then(|n| usize::try_from(n).ok());
        let bytes = bytes.ok_or_else(|| Error::limit_exceeded(format!("a chunk of shape {:?}", location.region.count)))?;
        let room = out.bytes.len();
        out.bytes.try_reserve_exact(bytes.saturating_sub(room)).map_err(|_| Error::limit_exceeded(format!("no memory to decode a chunk of {bytes} bytes")))?;
        self.array(id)?.0.decode_chunk(raw, filter_mask, bytes..=bytes, usize::try_from(size).unwrap_or(usize::MAX), out)
    }

    fn heap_objects(&self, references: &[HeapReference], _: &mut HeapObjects) -> Result<()> {
        match references.first() {
            None => Ok(()),
            Some(_) => Err(Error::internal("references have no heap")),
        }
    }
}
