//! A damaged file as an [`ArrayFile`]: its tree, and the chunks that can be decoded, as a survey found them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use hyperslab_array::{
    Attribute, ChunkBuffer, ChunkGrid, Datatype, Error, HeapObjects, HeapReference, ReferenceKind, Region, Result, Selection, StoredReference,
};
use hyperslab_storage::{ForkMutex, Storage};

use super::heap::GlobalHeap;
use super::layout::{Layout, StoredDataset};
use super::object_header::ObjectHeader;
use super::survey::{FoundObject, LOST_AND_FOUND, Survey, SurveyedChunk, SurveyedObject};
use super::{Source, group, object_properties, reference};
use crate::array_file::collect_heap_references;
use crate::tree::PathOf;
use crate::{
    ArrayFile, Attributes, ChunkLocation, ChunkLocations, ChunkSource, Dataset, Dimension, DimensionScale, Format, Link, LinkTarget, Links, Object, ObjectId,
    ObjectProperties, Tree,
};

/// IDs of groups that are not in the file: the root, if it is lost, and the one of objects without names.
const ROOT: u64 = u64::MAX;
const LOST: u64 = u64::MAX - 1;
/// Deepest sequences in sequences whose heap objects are looked for.
const MAX_NESTING: u32 = 8;

/// What is left of a file.
pub struct RecoveredFile {
    source: Source,
    tree: Arc<RecoveredTree>,
    datasets: HashMap<u64, RecoveredDataset>,
    heap: LostHeap,
}

struct RecoveredDataset {
    description: Arc<Dataset>,
    stored: Arc<StoredDataset>,
    chunks: HashMap<Vec<u64>, SurveyedChunk>,
}

/// Heap collections that were looked at: their objects by number, or `None` for one that cannot be read.
type Collections = HashMap<u64, Option<HashMap<u32, FoundObject>>>;

/// Which values of variable length are lost.
#[derive(Default)]
struct LostHeap {
    collections: ForkMutex<Collections>,
    /// By object and start of a chunk, how many elements lead to heap objects that cannot be read.
    lost: ForkMutex<BTreeMap<(u64, Vec<u64>), u64>>,
}

struct RecoveredTree {
    source: Source,
    root: ObjectId,
    nodes: BTreeMap<u64, Node>,
}

struct Node {
    path: String,
    object: Object,
    attributes: Arc<Attributes>,
    links: Arc<Links>,
}

/// A link that a recovered file does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostLink {
    /// Path of the group.
    pub group: String,
    /// Name of the link.
    pub name: String,
    /// Why.
    pub reason: String,
}

impl RecoveredFile {
    /// What `survey` has found; takes layouts, links and attributes out of it. Also returns the links that are left out.
    ///
    /// # Errors
    /// `LimitExceeded` if it costs more than the file's budget.
    pub fn of(survey: &mut Survey) -> Result<(Self, Vec<LostLink>)> {
        let (mut nodes, mut datasets, mut lost_links) = (BTreeMap::new(), HashMap::new(), Vec::new());
        let readable: HashSet<u64> = survey.objects.iter().filter(|object| object.object.is_some()).map(|object| object.address).collect();
        let root = survey.root().map_or(ROOT, |root| root.address);
        let mut nameless: Vec<Link> = Vec::new();
        for object in &mut survey.objects {
            let Some(content) = object.object.clone() else { continue };
            let (mut links, mut names) = (Vec::new(), HashSet::new());
            for link in object.take_links() {
                let mut lose = |reason: &str| {
                    lost_links.push(LostLink { group: object.path.clone(), name: link.name.clone(), reason: reason.to_owned() });
                };
                match &link.target {
                    LinkTarget::Hard(id) if !readable.contains(&id.0) => lose("the object to which it leads cannot be read"),
                    _ if !names.insert(link.name.clone()) => lose("there is another link of this name"),
                    _ => links.push(link),
                }
            }
            if object.path.strip_prefix('/').and_then(|path| path.strip_prefix(LOST_AND_FOUND)).is_some_and(|rest| rest.rfind('/') == Some(0)) {
                let name = object.path.rsplit('/').next().unwrap_or_default();
                nameless.push(Link::new(name, LinkTarget::Hard(ObjectId(object.address))));
            }
            let list: Vec<Attribute> = std::mem::take(&mut object.attributes).into_iter().filter(|attribute| attribute.value.is_ok()).collect();
            let attributes = Arc::new(Attributes::new(list, object.tracks_attributes));
            if let (Object::Dataset(description), Some(stored)) = (&content, object.stored.take()) {
                let chunks = object.chunks.iter().map(|chunk| (chunk.position.clone(), chunk.clone()));
                datasets.insert(object.address, RecoveredDataset { description: description.clone(), stored: Arc::new(stored), chunks: chunks.collect() });
            }
            let links = Arc::new(in_order(&survey.source, object, links));
            nodes.insert(object.address, Node { path: object.path.clone(), object: content, attributes, links });
        }
        let tree = Arc::new(RecoveredTree::with_lost(survey.source.clone(), nodes, root, nameless));
        Ok((Self { source: survey.source.clone(), tree, datasets, heap: LostHeap::default() }, lost_links))
    }

    /// For each dataset of values of variable length that was read, by address, how many elements lead to heap objects that cannot
    /// be read. They are read as empty values.
    pub fn lost_values(&self) -> BTreeMap<u64, u64> {
        let mut sums = BTreeMap::new();
        if let Some(lost) = self.heap.lost.lock() {
            lost.iter().for_each(|((object, _), count)| *sums.entry(*object).or_default() += count);
        }
        sums
    }

    /// The same without the chunks, by address of the dataset and position, for which `is_lost` is true.
    #[must_use]
    pub fn without(&self, is_lost: &dyn Fn(u64, &[u64]) -> bool) -> Self {
        let left = |(address, dataset): (&u64, &RecoveredDataset)| {
            let chunks = dataset.chunks.iter().filter(|(position, _)| !is_lost(*address, position)).map(|(position, chunk)| (position.clone(), chunk.clone()));
            let left = RecoveredDataset { description: dataset.description.clone(), stored: dataset.stored.clone(), chunks: chunks.collect() };
            (*address, left)
        };
        Self { source: self.source.clone(), tree: self.tree.clone(), datasets: self.datasets.iter().map(left).collect(), heap: LostHeap::default() }
    }

    fn dataset(&self, id: ObjectId) -> Result<&RecoveredDataset> {
        self.datasets.get(&id.0).ok_or_else(|| Error::internal("a recovered dataset without layout"))
    }

    /// The bytes of the file from `offset` on, as many of `length` as there are.
    fn available(&self, offset: u64, length: u64) -> Result<Vec<u8>> {
        let count = self.source.storage.len().saturating_sub(offset).min(length);
        let mut bytes = super::source::zeroed(usize::try_from(count).map_err(|_| Error::limit_exceeded("values beyond memory"))?)?;
        self.source.storage.read_exact_at(offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Blocks of contiguous values; those that the file does not have are the fill value.
    fn blocks(&self, dataset: &RecoveredDataset, base: Option<u64>, size: u64, selection: &Selection) -> Result<Vec<ChunkLocation>> {
        let description = &dataset.description;
        let (shape, element) = (description.dataspace.shape(), description.datatype.size());
        let end = base.map_or(0, |base| base.saturating_add(size).min(self.source.storage.len()));
        let mut blocks = Vec::new();
        for origin in description.chunk_grid.touched(selection)? {
            let region = description.chunk_grid.clipped(origin)?;
            let first = region.start.iter().zip(shape).fold(0u64, |number, (index, extent)| number.saturating_mul(*extent).saturating_add(*index));
            let length = region.count.iter().fold(element, |n, count| n.saturating_mul(*count));
            let offset = base.map(|base| base.saturating_add(first.saturating_mul(element))).filter(|offset| *offset < end);
            let source = match offset {
                None => ChunkSource::Fill,
                Some(offset) if offset.saturating_add(length) > end => {
                    let mut bytes = self.available(offset, end - offset)?;
                    self.fill(description, &mut bytes, length)?;
                    ChunkSource::Inline(bytes.into())
                }
                Some(offset) => ChunkSource::Stored { offset, length, filter_mask: 0 },
            };
            blocks.push(ChunkLocation { region, source });
        }
        Ok(blocks)
    }

    /// Extends `bytes`, cut to whole elements, to `length` with the fill value.
    fn fill(&self, description: &Dataset, bytes: &mut Vec<u8>, length: u64) -> Result<()> {
        let element = usize::try_from(description.datatype.size()).unwrap_or(usize::MAX).max(1);
        let length = usize::try_from(length).map_err(|_| Error::limit_exceeded("values beyond memory"))?;
        bytes.truncate(bytes.len() / element * element);
        let zeros = vec![0; element];
        let fill = description.fill_value.as_deref().filter(|fill| fill.len() == element).unwrap_or(&zeros);
        bytes.try_reserve_exact(length.saturating_sub(bytes.len())).map_err(|_| Error::limit_exceeded("no memory for values"))?;
        while bytes.len() < length {
            bytes.extend_from_slice(fill);
        }
        Ok(())
    }

    /// Replaces elements that lead to lost heap objects by null references, in all of `chunks`, whose bytes are then in memory.
    fn without_lost_values(&self, id: ObjectId, dataset: &RecoveredDataset, chunks: &mut [ChunkLocation]) -> Result<()> {
        let datatype = &dataset.description.datatype;
        for chunk in chunks {
            let mut bytes = match &chunk.source {
                ChunkSource::Fill => continue,
                ChunkSource::Inline(bytes) => bytes.to_vec(),
                ChunkSource::Stored { offset, length, .. } => {
                    let mut buffer = ChunkBuffer::default();
                    self.decode(id, chunk, &self.available(*offset, *length)?, &mut buffer)?;
                    buffer.bytes
                }
            };
            let lost = self.null_lost(datatype, &mut bytes, MAX_NESTING)?;
            if lost > 0
                && let Some(mut counts) = self.heap.lost.lock()
            {
                counts.insert((id.0, chunk.region.start.clone()), lost);
            }
            chunk.source = ChunkSource::Inline(bytes.into());
        }
        Ok(())
    }

    /// Replaces elements that lead to lost heap objects; returns how many.
    fn null_lost(&self, datatype: &Datatype, bytes: &mut [u8], depth: u32) -> Result<u64> {
        let size = usize::try_from(datatype.size()).unwrap_or(usize::MAX).max(1);
        let mut lost = 0;
        for element in bytes.chunks_exact_mut(size) {
            if !self.is_readable(datatype, element, depth)? {
                element.fill(0);
                lost += 1;
            }
        }
        Ok(lost)
    }

    /// Whether all heap objects that an element leads to are there.
    fn is_readable(&self, datatype: &Datatype, element: &[u8], depth: u32) -> Result<bool> {
        let mut inner: Vec<(Datatype, Vec<u8>, HeapReference)> = Vec::new();
        let mut is_readable = true;
        let visited = collect_heap_references(datatype, element, &mut |base, element, reference| {
            is_readable &= HeapReference::parse(element).is_ok_and(|(count, _)| self.has_value(reference, count, base));
            if let Some(base) = base.filter(|base| base.uses_heap()) {
                inner.push((base.clone(), element.to_vec(), reference));
            }
            Ok(())
        });
        if visited.is_err() || !is_readable {
            return Ok(false);
        }
        for (base, element, reference) in inner {
            let Some(depth) = depth.checked_sub(1) else { return Ok(false) };
            let mut objects = self.source.heap_objects();
            GlobalHeap::fetch(&self.source.with_own_budget(), &[reference], &mut objects)?;
            let Ok(values) = objects.value(&element, base.size()).map(<[u8]>::to_vec) else { return Ok(false) };
            let size = usize::try_from(base.size()).unwrap_or(usize::MAX).max(1);
            for value in values.chunks_exact(size) {
                if !self.is_readable(&base, value, depth)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Whether the heap has an object of `count` items of a sequence, or bytes of a text. A text has no zeros, so one in a block of zeros is lost.
    fn has_value(&self, reference: HeapReference, count: u32, base: Option<&Datatype>) -> bool {
        let HeapReference { address, index } = reference;
        let Some(mut collections) = self.heap.collections.lock() else { return false };
        let objects = collections.entry(address).or_insert_with(|| super::survey::collection_found(&self.source.with_own_budget(), address).ok());
        let Some(found) = objects.as_ref().and_then(|objects| objects.get(&index)) else { return false };
        let is_long_enough = u64::from(count).checked_mul(base.map_or(1, Datatype::size)).is_some_and(|bytes| bytes <= found.length);
        is_long_enough && !(found.is_zeroed && base.is_none())
    }
}

/// The links of a group in the order of their creation if the group records it and is whole; else by their names.
fn in_order(source: &Source, object: &SurveyedObject, mut links: Vec<Link>) -> Links {
    let is_whole = object.is_whole && object.has_all_links && object.reattached_links == 0;
    let stored = is_whole.then(|| {
        let source = source.with_own_budget();
        let header = ObjectHeader::read(&source, object.address)?;
        group::links(&source, &header)
    });
    let Some(Ok(stored)) = stored.filter(|stored| stored.as_ref().is_ok_and(|stored| stored.tracked)) else { return Links::new(links, false) };
    let positions: HashMap<&str, usize> = stored.links.iter().enumerate().map(|(position, link)| (link.name.as_str(), position)).collect();
    links.sort_by_key(|link| positions.get(link.name.as_str()).copied().unwrap_or(usize::MAX));
    Links::new(links, true)
}

impl RecoveredTree {
    /// The tree with the group of objects without names, and a root if that is lost.
    fn with_lost(source: Source, mut nodes: BTreeMap<u64, Node>, root: u64, nameless: Vec<Link>) -> Self {
        let group = |path: &str, links: Vec<Link>| Node {
            path: path.to_owned(),
            object: Object::Group,
            attributes: Arc::default(),
            links: Arc::new(Links::new(links, false)),
        };
        let mut below: Vec<Link> = nodes.get(&root).map(|node| node.links.as_slice().to_vec()).unwrap_or_default();
        let is_tracked = nodes.get(&root).is_some_and(|node| node.links.is_tracked());
        if !nameless.is_empty() {
            nodes.insert(LOST, group(&format!("/{LOST_AND_FOUND}"), nameless));
            let mut name = LOST_AND_FOUND.to_owned();
            while below.iter().any(|link| link.name == name) {
                name.push('+');
            }
            below.push(Link::new(name, LinkTarget::Hard(ObjectId(LOST))));
        }
        match nodes.get_mut(&root) {
            Some(node) => node.links = Arc::new(Links::new(below, is_tracked)),
            None => drop(nodes.insert(root, group("/", below))),
        }
        Self { source, root: ObjectId(root), nodes }
    }

    fn node(&self, id: ObjectId) -> Result<&Node> {
        self.nodes.get(&id.0).ok_or_else(|| Error::not_found("an object that was not recovered"))
    }
}

impl Tree for RecoveredTree {
    fn root(&self) -> ObjectId {
        self.root
    }
    fn object(&self, id: ObjectId) -> Result<Object> {
        Ok(self.node(id)?.object.clone())
    }
    fn attributes(&self, id: ObjectId) -> Result<Arc<Attributes>> {
        Ok(self.node(id)?.attributes.clone())
    }
    fn links(&self, group: ObjectId) -> Result<Arc<Links>> {
        Ok(self.node(group)?.links.clone())
    }
    fn properties(&self, id: ObjectId) -> Result<ObjectProperties> {
        if [ROOT, LOST].contains(&id.0) {
            return Ok(ObjectProperties::default());
        }
        object_properties::read(&self.source.with_own_budget(), id.0)
    }
    fn dimensions(&self, dataset: ObjectId, _: &PathOf<'_>) -> Result<Arc<[DimensionScale]>> {
        let count = self.object(dataset)?.dataset().map_or(0, |dataset| dataset.dataspace.ndim());
        Ok(vec![DimensionScale::default(); count].into())
    }
    fn declared_dimensions(&self, _: ObjectId) -> Result<Arc<[Dimension]>> {
        Ok(Arc::default())
    }
    fn address(&self, id: ObjectId) -> Option<u64> {
        Some(id.0)
    }
    fn at_address(&self, address: u64) -> Option<ObjectId> {
        self.nodes.contains_key(&address).then_some(ObjectId(address))
    }
    fn path(&self, id: ObjectId) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(&self.nodes.get(&id.0)?.path))
    }
}

impl ArrayFile for RecoveredFile {
    fn format(&self) -> Format {
        Format::Hdf5
    }
    fn storage(&self) -> &Arc<dyn Storage> {
        &self.source.storage
    }
    fn is_stored(&self) -> bool {
        false
    }
    fn tree(&self) -> &dyn Tree {
        self.tree.as_ref()
    }

    fn locate(&self, id: ObjectId, selection: &Selection) -> Result<ChunkLocations> {
        let dataset = self.dataset(id)?;
        let description = &dataset.description;
        if selection.is_empty() || description.dataspace.element_count()? == 0 {
            return Ok(ChunkLocations::default());
        }
        let mut chunks = match &dataset.stored.layout {
            Layout::Compact(bytes) => {
                let length = description.dataspace.element_count()?.saturating_mul(description.datatype.size());
                let mut bytes = bytes.to_vec();
                bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
                self.fill(description, &mut bytes, length)?;
                vec![ChunkLocation { region: Region::all(description.dataspace.shape()), source: ChunkSource::Inline(bytes.into()) }]
            }
            Layout::Contiguous { address, size } => {
                let base = address.map(|address| self.source.absolute(address)).transpose()?;
                self.blocks(dataset, base, *size, selection)?
            }
            Layout::External => self.blocks_of_external(description, selection)?,
            Layout::Virtual => return Err(Error::internal("a virtual dataset has no chunks of its own")),
            Layout::Chunked(layout) => {
                let grid = ChunkGrid::new(layout.shape.clone(), layout.chunk_shape.clone())?;
                self.source.limits.check_read_chunks(grid.max_touched(selection), self.source.storage.len())?;
                let locate = |origin: Vec<u64>| {
                    let position: Vec<u64> = origin.iter().zip(&layout.chunk_shape).map(|(start, extent)| start / extent).collect();
                    Ok(match dataset.chunks.get(&position) {
                        Some(chunk) => ChunkLocation {
                            region: Region { start: origin, count: layout.chunk_shape.clone() },
                            source: ChunkSource::Stored { offset: chunk.offset, length: chunk.length, filter_mask: chunk.filter_mask },
                        },
                        None => ChunkLocation { region: grid.clipped(origin)?, source: ChunkSource::Fill },
                    })
                };
                grid.touched(selection)?.into_iter().map(locate).collect::<Result<_>>()?
            }
        };
        if description.datatype.uses_heap() {
            self.without_lost_values(id, dataset, &mut chunks)?;
        }
        Ok(ChunkLocations { chunks })
    }

    fn stored_bytes(&self, id: ObjectId) -> Result<u64> {
        let dataset = self.dataset(id)?;
        Ok(dataset.description.stored_bytes.unwrap_or_else(|| dataset.chunks.values().map(|chunk| chunk.length).fold(0, u64::saturating_add)))
    }

    fn decode(&self, id: ObjectId, location: &ChunkLocation, raw: &[u8], out: &mut ChunkBuffer) -> Result<()> {
        let dataset = self.dataset(id)?;
        let ChunkSource::Stored { filter_mask, .. } = location.source else {
            return Err(Error::internal("only stored chunks are decoded"));
        };
        let size = dataset.description.datatype.size();
        let bytes = location.region.count.iter().try_fold(size, |n, extent| n.checked_mul(*extent));
        let bytes = bytes.filter(|bytes| *bytes <= self.source.limits.chunk_bytes).and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(|| Error::limit_exceeded(format!("a chunk of shape {:?}", location.region.count)))?;
        if let Some(refusal) = &dataset.description.refusal {
            return Err(refusal.clone());
        }
        out.arrangement = hyperslab_array::Arrangement::Elements;
        let is_filtered = matches!(dataset.stored.layout, Layout::Chunked(_)) && !dataset.stored.pipeline.filters.is_empty();
        if is_filtered {
            return dataset.stored.pipeline.decode(raw, filter_mask, bytes, &mut out.bytes);
        }
        if raw.len() != bytes {
            return Err(Error::corrupt(format!("a chunk of {} bytes where {bytes} belong", raw.len())));
        }
        out.bytes.clear();
        out.bytes.extend_from_slice(raw);
        Ok(())
    }

    fn heap_objects(&self, references: &[HeapReference], objects: &mut HeapObjects) -> Result<()> {
        GlobalHeap::fetch(&self.source.with_own_budget(), references, objects)
    }

    fn references(&self, kind: ReferenceKind, size: usize, bytes: &[u8]) -> Result<Vec<Option<StoredReference>>> {
        reference::read(&self.source.with_own_budget(), kind, size, bytes)
    }
}

impl RecoveredFile {
    /// Blocks of external files, from byte 0 of their concatenation.
    fn blocks_of_external(&self, description: &Dataset, selection: &Selection) -> Result<Vec<ChunkLocation>> {
        let (shape, element) = (description.dataspace.shape(), description.datatype.size());
        let locate = |origin: Vec<u64>| {
            let region = description.chunk_grid.clipped(origin)?;
            let first = region.start.iter().zip(shape).fold(0u64, |number, (index, extent)| number.saturating_mul(*extent).saturating_add(*index));
            let length = region.count.iter().fold(element, |n, count| n.saturating_mul(*count));
            Ok(ChunkLocation { region, source: ChunkSource::Stored { offset: first.saturating_mul(element), length, filter_mask: 0 } })
        };
        description.chunk_grid.touched(selection)?.into_iter().map(locate).collect()
    }
}
