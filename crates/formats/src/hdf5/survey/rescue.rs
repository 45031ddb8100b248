//! Finds unreachable objects, links and chunks in the bytes that a survey has left over.

use std::collections::{HashMap, HashSet};

use hyperslab_array::Result;

use super::chunks::ChunkNode;
use super::found_chunks::{ChunkEvidence, SurveyedChunk};
use super::links::{self, FoundLink};
use super::log::Log;
use super::object::Keeping;
use super::structure::{Extent, Purpose, StructureKind};
use super::{Objects, Survey, SurveyProgress, SurveyedObject, gaps, header, heap, lost_path, object, scan};
use crate::hdf5::Source;
use crate::hdf5::layout::{ChunkedLayout, Layout, Locator};
use crate::{Object, StorageLayout};

/// Budget of a place that may begin a structure, in bytes.
pub(super) const PLACE_COST: u64 = 16;
/// Bytes that filters may add to a chunk.
pub(super) const FILTER_SLACK: u64 = 64 << 10;

/// Places of structures that nothing leads to.
#[derive(Default)]
pub(super) struct Places {
    headers: Vec<u64>,
    symbol_nodes: Vec<u64>,
    chunk_nodes: Vec<u64>,
    /// Nodes of version-2 B-trees.
    pub tree_nodes: Vec<u64>,
    /// Blocks of chunk arrays and of fractal heaps, by the address of the header that they name as their owner.
    pub owned: HashMap<u64, Vec<u64>>,
}

impl Survey {
    /// Looks for objects, links and chunks in the bytes that nothing leads to, and adds them. Objects that no link reaches get
    /// paths below `/lost+found`. Those of version 1 are recognized by their look.
    ///
    /// # Errors
    /// `Io`, `LimitExceeded` or `Cancelled`.
    pub fn rescue(&mut self, progress: &mut SurveyProgress<'_>) -> Result<()> {
        let source = self.source.clone();
        let mut places = self.places(&source)?;
        let mut log = Log::new(&source);
        let keeping = Keeping { attributes: true };
        let (list, by_address) = (std::mem::take(&mut self.objects), std::mem::take(&mut self.by_address));
        let mut objects = Objects { list, by_address, sizes: self.sizes, keeping };
        let known = objects.list.len();
        let mut free = std::mem::take(&mut places.symbol_nodes);
        objects.adopt_links(&mut log, &mut free, 0, progress)?;
        objects.adopt_dense_links(&mut log, &places.owned, &self.extents, 0, progress)?;
        let linked = objects.list.len();
        objects.adopt_objects(&mut log, &places.headers, progress)?;
        objects.adopt_links(&mut log, &mut free, known, progress)?;
        objects.adopt_dense_links(&mut log, &places.owned, &self.extents, linked, progress)?;
        for object in objects.list.iter_mut().skip(linked) {
            object.is_linked = false;
            object.is_guessed = !object.has_checksums;
        }
        self.extents.append(&mut log.extents);
        self.damages.append(&mut log.damages);
        objects.adopt_chunks(&source, &places.chunk_nodes, &self.extents)?;
        let mut log = Log::new(&source);
        objects.adopt_array_blocks(&mut log, &places.owned)?;
        objects.adopt_tree_nodes(&mut log, &places.tree_nodes)?;
        objects.adopt_attributes(&source, &places.owned, &self.extents)?;
        self.extents.append(&mut log.extents);
        (self.objects, self.by_address) = (objects.list, objects.by_address);
        Ok(())
    }

    /// What the bytes that nothing leads to look like. Collections of the global heap become extents.
    fn places(&mut self, source: &Source) -> Result<Places> {
        let (mut places, mut collections) = (Places::default(), Vec::new());
        let ranges = gaps(&self.extents, self.base_address, self.file_bytes);
        scan::candidates(source, &ranges, true, &mut |kind, offset| {
            let Some(address) = offset.checked_sub(source.base_address) else { return Ok(()) };
            let list = match kind {
                StructureKind::ObjectHeader => &mut places.headers,
                StructureKind::SymbolTableNode => &mut places.symbol_nodes,
                StructureKind::ChunkTree => &mut places.chunk_nodes,
                StructureKind::TreeNode => &mut places.tree_nodes,
                StructureKind::FixedArrayBlock | StructureKind::ExtensibleArrayBlock | StructureKind::HeapDirectBlock => {
                    let before_owner = if kind == StructureKind::HeapDirectBlock { 5 } else { 6 };
                    let owner = address.checked_add(before_owner).and_then(|at| {
                        let bytes = source.read(at, source.offset_size.into()).ok()?;
                        source.cursor(&bytes, at).address().ok()?
                    });
                    let Some(owner) = owner else { return Ok(()) };
                    source.budget.charge(2 * PLACE_COST)?;
                    places.owned.entry(owner).or_default().push(address);
                    return Ok(());
                }
                StructureKind::GlobalHeap => {
                    if let Ok(length) = heap::collection_bytes(source, address) {
                        source.budget.charge(size_of::<Extent>() as u64)?;
                        collections.push(Extent { offset, length, kind, purpose: Purpose::Values, object: None });
                    }
                    return Ok(());
                }
                _ => return Ok(()),
            };
            source.budget.charge(PLACE_COST)?;
            list.push(address);
            Ok(())
        })?;
        self.extents.append(&mut collections);
        Ok(places)
    }
}

impl Objects {
    /// Gives symbol table nodes that nothing leads to to the damaged groups from number `first` on whose heaps have their names. One
    /// that fits several groups belongs to none.
    fn adopt_links(&mut self, log: &mut Log<'_>, nodes: &mut Vec<u64>, first: usize, progress: &mut SurveyProgress<'_>) -> Result<()> {
        let source = log.source;
        let mut heaps = Vec::new();
        for (index, object) in self.list.iter().enumerate().skip(first) {
            if object.has_all_links || nodes.is_empty() || !matches!(object.object, Some(Object::Group)) {
                continue;
            }
            let mut scratch = Log::new(source);
            if let Some(found) = header::read(&mut scratch, object.address)?
                && let Some(texts) = links::names(&mut scratch, &found.header)?
            {
                heaps.push((index, texts));
            }
        }
        let mut adopted = Vec::new();
        nodes.retain(|node| {
            let fits = |(index, texts): &(usize, _)| Some((*index, links::links_in(source, *node, texts).ok().flatten()?));
            let mut fitting = heaps.iter().filter_map(fits).filter(|(index, links)| {
                let known: HashSet<&str> = self.list.get(*index).into_iter().flat_map(|object| &object.links).filter_map(|link| link.name.as_deref()).collect();
                links.iter().all(|link| link.name.as_deref().is_some_and(|name| !known.contains(name)))
            });
            let (one, other) = (fitting.next(), fitting.next());
            match (one, other) {
                (Some((index, links)), None) => {
                    adopted.push((index, *node, links));
                    false
                }
                _ => true,
            }
        });
        // If two nodes that fit a group contain the same name, at least one of them belongs to another group, whose heap is lost.
        let mut names: HashMap<(usize, &str), usize> = HashMap::new();
        for (index, _, links) in &adopted {
            links.iter().filter_map(|link| link.name.as_deref()).for_each(|name| *names.entry((*index, name)).or_default() += 1);
        }
        let is_alone = |(index, _, links): &&(usize, u64, Vec<FoundLink>)| {
            links.iter().filter_map(|link| link.name.as_deref()).all(|name| names.get(&(*index, name)) == Some(&1))
        };
        let alone: Vec<(usize, u64, Vec<FoundLink>)> = adopted.iter().filter(is_alone).cloned().collect();
        for (index, node, links) in alone {
            log.claim(StructureKind::SymbolTableNode, node, 8)?;
            self.reattach(log, index, links, progress)?;
        }
        Ok(())
    }

    /// Gives a group links that it has lost, and adds the objects that they lead to.
    pub(super) fn reattach(&mut self, log: &mut Log<'_>, index: usize, links: Vec<FoundLink>, progress: &mut SurveyProgress<'_>) -> Result<()> {
        let Some(group) = self.list.get_mut(index) else { return Ok(()) };
        group.reattached_links += links.len();
        let path = group.path.trim_end_matches('/').to_owned();
        let targets: Vec<(u64, String)> = links.iter().filter_map(|link| Some((link.address()?, format!("{path}/{}", link.name.as_deref()?)))).collect();
        group.links.extend(links);
        for (target, path) in targets {
            self.walk(log, target, &path, progress)?;
        }
        Ok(())
    }

    /// Adds the objects whose headers lie at some of these places, with all that their links reach.
    fn adopt_objects(&mut self, log: &mut Log<'_>, headers: &[u64], progress: &mut SurveyProgress<'_>) -> Result<()> {
        let source = log.source;
        let mut found: Vec<(u64, Vec<u64>, bool)> = Vec::new();
        let mut data: Vec<(u64, u64)> = Vec::new();
        for address in headers.iter().copied().filter(|address| !self.by_address.contains_key(address)) {
            let mut scratch = Log::new(source);
            let object = object::read(&mut scratch, address, String::new(), self.sizes, Keeping { attributes: false })?;
            let has_signature = object.has_checksums;
            let makes_sense = match &object.object {
                Some(Object::Group) => has_signature || object.has_all_links || !object.links.is_empty(),
                Some(Object::Dataset(dataset)) => has_signature || object.is_whole || dataset.storage == StorageLayout::Chunked,
                Some(Object::Datatype(_)) => object.is_whole,
                None => false,
            };
            if !makes_sense {
                continue;
            }
            let values = scratch.extents.iter().filter(|extent| extent.kind.is_data()).map(|extent| (extent.offset, extent.end()));
            source.budget.charge((PLACE_COST + object.links.len() as u64).saturating_mul(PLACE_COST))?;
            data.extend(values.filter(|(start, end)| !(*start..*end).contains(&source.base_address.saturating_add(address))));
            found.push((address, object.links.iter().filter_map(FoundLink::address).collect(), object.object.as_ref().is_some_and(Object::is_group)));
        }
        // What looks like a header among the values of another dataset is part of these values.
        data.sort_unstable();
        let is_value = |address: u64| {
            let offset = source.base_address.saturating_add(address);
            let before = data.partition_point(|(start, _)| *start <= offset);
            data.get(..before).unwrap_or_default().iter().rev().take(8).any(|(_, end)| offset < *end)
        };
        found.retain(|(address, _, _)| !is_value(*address));
        let targets: HashSet<u64> = found.iter().flat_map(|(address, links, _)| links.iter().filter(move |target| *target != address)).copied().collect();
        // Without a superblock, the first group to which nothing leads is taken for the root.
        if self.list.is_empty()
            && let Some((root, _, _)) = found.iter().find(|(address, links, is_group)| *is_group && !links.is_empty() && !targets.contains(address))
        {
            self.walk(log, *root, "/", progress)?;
        }
        let (parts, roots): (Vec<_>, Vec<_>) = found.iter().map(|(address, _, _)| *address).partition(|address| targets.contains(address));
        // Groups that lead to each other in a circle have no first one.
        for address in roots.into_iter().chain(parts) {
            if !self.by_address.contains_key(&address) {
                self.walk(log, address, &lost_path(address), progress)?;
            }
        }
        Ok(())
    }

    /// Gives leaves of chunk B-trees that nothing leads to to the damaged datasets to which they belong: because a leaf of the
    /// dataset is their neighbor, or because they fit no other.
    fn adopt_chunks(&mut self, source: &Source, nodes: &[u64], extents: &[Extent]) -> Result<()> {
        let is_damaged = |object: &SurveyedObject| !object.has_all_chunks && matches!(layout_of(object), Some(layout) if is_tree(layout));
        let damaged: Vec<usize> = self.list.iter().enumerate().filter(|(_, object)| is_damaged(object)).map(|(index, _)| index).collect();
        if damaged.is_empty() {
            return Ok(());
        }
        let mut own: Vec<HashSet<u64>> = damaged
            .iter()
            .map(|index| {
                let address = self.list.get(*index).map(|object| object.address);
                let nodes = extents.iter().filter(|extent| extent.kind == StructureKind::ChunkTree && extent.object == address);
                nodes.filter_map(|extent| extent.offset.checked_sub(source.base_address)).collect()
            })
            .collect();
        let mut rest: Vec<u64> = nodes.to_vec();
        // Neighbors first, as long as there are more of them; then what fits one dataset only.
        for by_neighbor in [true, false] {
            loop {
                let before = rest.len();
                let mut left = Vec::new();
                for node in rest {
                    let mut fitting = Vec::new();
                    for (slot, index) in damaged.iter().enumerate() {
                        let Some(chunks) = self.list.get(*index).map(|object| fitting_chunks(source, object, node)).transpose()?.flatten() else { continue };
                        let is_neighbor = own.get(slot).is_some_and(|own| chunks.neighbors.iter().any(|neighbor| own.contains(neighbor)));
                        if is_neighbor || !by_neighbor {
                            fitting.push((slot, *index, chunks));
                        }
                    }
                    match (fitting.pop(), fitting.is_empty()) {
                        (Some((slot, index, chunks)), true) => {
                            if let (Some(own), Some(object)) = (own.get_mut(slot), self.list.get_mut(index)) {
                                own.insert(node);
                                object.chunks.extend(chunks.list);
                            }
                        }
                        _ => left.push(node),
                    }
                }
                rest = left;
                if rest.len() == before || !by_neighbor {
                    break;
                }
            }
        }
        Ok(())
    }
}

pub(super) fn layout_of(object: &SurveyedObject) -> Option<&ChunkedLayout> {
    match object.stored.as_ref().map(|stored| &stored.layout) {
        Some(Layout::Chunked(layout)) => Some(layout),
        _ => None,
    }
}

fn is_tree(layout: &ChunkedLayout) -> bool {
    matches!(layout.locator, Locator::BtreeV1 { .. })
}

/// The chunks of a leaf, and the nodes next to it.
struct Fitting {
    list: Vec<SurveyedChunk>,
    neighbors: Vec<u64>,
}

/// The chunks of the leaf at `node`, if all of them can be chunks of `object` that it does not have yet.
fn fitting_chunks(source: &Source, object: &SurveyedObject, node: u64) -> Result<Option<Fitting>> {
    let (Some(layout), Some(stored)) = (layout_of(object), object.stored.as_ref()) else { return Ok(None) };
    let Ok(leaf) = ChunkNode::read(source, node, layout.shape.len()) else { return Ok(None) };
    if leaf.level != 0 || leaf.children.is_empty() {
        return Ok(None);
    }
    let Ok(chunks) = leaf.leaf_chunks(&layout.chunk_shape) else { return Ok(None) };
    let known: HashSet<&[u64]> = object.chunks.iter().map(|chunk| chunk.position.as_slice()).collect();
    let is_filtered = !stored.pipeline.filters.is_empty();
    let mut list = Vec::new();
    for (position, key, address) in chunks {
        let is_inside = position.iter().zip(&layout.chunk_shape).zip(&layout.shape).all(|((number, chunk), n)| number.saturating_mul(*chunk) < *n);
        let has_length = match is_filtered {
            true => key.length > 0 && key.length <= layout.chunk_bytes.saturating_mul(2).saturating_add(FILTER_SLACK),
            false => key.length == layout.chunk_bytes,
        };
        if !is_inside || !has_length || known.contains(position.as_slice()) {
            return Ok(None);
        }
        source.budget.charge((size_of::<SurveyedChunk>() + 8 * position.len()) as u64)?;
        let evidence = ChunkEvidence::Fit;
        list.push(SurveyedChunk { position, offset: source.absolute(address)?, length: key.length, filter_mask: key.filter_mask, evidence });
    }
    Ok(Some(Fitting { list, neighbors: leaf.left.into_iter().chain(leaf.right).collect() }))
}
