//! The links of a group, as far as they can be read.

use std::collections::HashSet;

use hyperslab_array::name::name_of;
use hyperslab_array::{Error, Result};

use super::heap::{self, LocalTexts};
use super::log::Log;
use super::structure::{Purpose, StructureKind};
use super::tree_v2;
use crate::hdf5::Source;
use crate::hdf5::group;
use crate::hdf5::message::link::{self, LINK_COST, RawLink, RawTarget};
use crate::hdf5::message::link_info;
use crate::hdf5::object_header::{ObjectHeader, kind};
use crate::hdf5::visited::Visited;

/// Cache type of a symbolic link's entry.
const SOFT: u32 = 2;

/// A link that was found.
#[derive(Debug, Clone)]
pub(crate) struct FoundLink {
    /// `None` if the heap that holds it cannot be read.
    pub name: Option<String>,
    pub target: RawTarget,
    /// Whether the file states that the name is UTF-8.
    pub is_utf8: bool,
}

impl From<RawLink> for FoundLink {
    fn from(link: RawLink) -> Self {
        Self { name: Some(link.name), target: link.target, is_utf8: link.is_utf8 }
    }
}

/// The links of the group with this header, and whether they are all. `sizes` says how large the nodes of old groups are.
pub(super) fn of_group(log: &mut Log<'_>, header: &ObjectHeader<'_>, sizes: NodeSizes) -> Result<(Vec<FoundLink>, bool)> {
    log.for_purpose(Purpose::Links, |log| {
        let (mut links, mut is_whole) = (Vec::new(), true);
        let source = log.source;
        for message in header.all(kind::LINK) {
            let parsed = message.parse(source, link::parse);
            match log.noted(StructureKind::ObjectHeader, message.address, message.body.len() as u64, parsed)? {
                Some(link) => links.push(link.into()),
                None => is_whole = false,
            }
        }
        if let Some(message) = header.find(kind::SYMBOL_TABLE) {
            is_whole &= symbol_table(log, &message.body, message.address, sizes, &mut links)?;
        }
        if let Some(message) = header.find(kind::LINK_INFO) {
            let parsed = message.parse(source, link_info::parse);
            match log.noted(StructureKind::ObjectHeader, message.address, message.body.len() as u64, parsed)? {
                Some(info) => is_whole &= dense(log, &info, &mut links)?,
                None => is_whole = false,
            }
        }
        if group::is_group(header) {
            is_whole &= check_names(log, &mut links)?;
        }
        Ok((links, is_whole))
    })
}

/// A name that no link can have, or that another link has, is damage: it is lost, and what the link leads to is not.
fn check_names(log: &mut Log<'_>, links: &mut [FoundLink]) -> Result<bool> {
    log.source.budget.charge((links.len() * size_of::<&str>()) as u64)?;
    let mut seen = HashSet::new();
    let mut lost = Vec::new();
    for (number, link) in links.iter().enumerate() {
        let Some(name) = link.name.as_deref() else { continue };
        if name.is_empty() || name.contains('/') {
            lost.push((number, format!("a link called {name:?}")));
        } else if !seen.insert(name) {
            lost.push((number, format!("two links called {name:?} in one group")));
        }
    }
    let address = log.object.unwrap_or_default();
    if let Some((_, message)) = lost.first() {
        log.damage(StructureKind::ObjectHeader, address, 0, Error::corrupt(message.clone()))?;
    }
    for (number, _) in &lost {
        if let Some(link) = links.get_mut(*number) {
            link.name = None;
        }
    }
    Ok(lost.is_empty())
}

/// Entries of the nodes of old groups.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeSizes {
    /// Most links of a symbol table node.
    pub leaf_links: u64,
    /// Most children of a group's B-tree node.
    pub group_children: u64,
    /// Most children of a chunk B-tree's node.
    pub chunk_children: u64,
}

impl Default for NodeSizes {
    fn default() -> Self {
        Self { leaf_links: 8, group_children: 32, chunk_children: 64 }
    }
}

fn symbol_table(log: &mut Log<'_>, body: &[u8], place: u64, sizes: NodeSizes, links: &mut Vec<FoundLink>) -> Result<bool> {
    let source = log.source;
    let mut cursor = source.cursor(body, place);
    let addresses = cursor.defined_address("a group's B-tree").and_then(|tree| Ok((tree, cursor.defined_address("a group's local heap")?)));
    let Some((tree, heap)) = log.noted(StructureKind::ObjectHeader, place, body.len() as u64, addresses)? else { return Ok(false) };
    let texts = heap::local(log, heap)?;
    let mut is_whole = texts.is_some();
    let mut pending = vec![(tree, None::<u8>)];
    let mut seen = Visited::default();
    let mut last = Vec::new();
    while let Some((address, level)) = pending.pop() {
        let node = match seen.insert(address) {
            true => tree_node(source, address, level),
            false => Err(Error::corrupt("a group's B-tree that leads back into itself")),
        };
        let length = node_bytes(source, sizes);
        let Some((level, children)) = log.noted(StructureKind::GroupTree, address, length, node)? else {
            is_whole = false;
            continue;
        };
        log.claim(StructureKind::GroupTree, address, length)?;
        if level > 0 {
            pending.extend(children.into_iter().rev().map(|child| (child, Some(level))));
            continue;
        }
        for child in children {
            is_whole &= symbol_node(log, child, sizes, texts.as_ref(), &mut last, links)?;
        }
    }
    Ok(is_whole)
}

/// The links of the symbol table node at `address`, if all of its names are in `texts`, in order and not empty.
pub(super) fn links_in(source: &Source, address: u64, texts: &LocalTexts) -> Result<Option<Vec<FoundLink>>> {
    let (mut links, mut last) = (Vec::new(), Vec::new());
    for SymbolEntry { name, header, soft, .. } in symbol_entries(source, address)? {
        let Some(name) = texts.text(name).filter(|name| !name.is_empty() && last.as_slice() < *name) else {
            return Ok(None);
        };
        let text = name_of;
        let target_bytes = soft.and_then(|path| texts.text(path.into())).map_or(0, <[u8]>::len);
        source.budget.charge((LINK_COST + name.len() + target_bytes) as u64)?;
        let target = match (soft, header) {
            (Some(path), _) => texts.text(path.into()).map(|path| RawTarget::Soft(text(path))),
            (None, header) => header.map(RawTarget::Hard),
        };
        let Some(target) = target else { return Ok(None) };
        links.push(FoundLink { name: Some(text(name)), target, is_utf8: false });
        last = name.to_vec();
    }
    Ok((!links.is_empty()).then_some(links))
}

/// The names in the local heap of the old group with this header.
pub(super) fn names(log: &mut Log<'_>, header: &ObjectHeader<'_>) -> Result<Option<LocalTexts>> {
    let source = log.source;
    let Some(message) = header.find(kind::SYMBOL_TABLE) else { return Ok(None) };
    let mut cursor = source.cursor(&message.body, message.address);
    cursor.address()?;
    match cursor.address()? {
        Some(heap) => heap::local(log, heap),
        None => Ok(None),
    }
}

fn node_bytes(source: &Source, sizes: NodeSizes) -> u64 {
    let (o, l) = (u64::from(source.offset_size), u64::from(source.length_size));
    8 + 2 * o + sizes.group_children * (o + l) + l
}

/// Level and children of a node of a group's B-tree.
pub(super) fn tree_node(source: &Source, address: u64, parent_level: Option<u8>) -> Result<(u8, Vec<u64>)> {
    let (o, l) = (u64::from(source.offset_size), u64::from(source.length_size));
    let head_bytes = 8 + 2 * o;
    let head = source.read(address, head_bytes)?;
    let mut cursor = source.cursor(&head, address);
    cursor.signature(b"TREE")?;
    if cursor.u8()? != 0 {
        return Err(cursor.corrupt("a group's B-tree of another type than 0"));
    }
    let level = cursor.u8()?;
    if parent_level.is_some_and(|parent| level.checked_add(1) != Some(parent)) {
        return Err(cursor.corrupt("a B-tree node that is not one level below its parent"));
    }
    let entries = u64::from(cursor.u16()?);
    let bytes = source.read(address, head_bytes + entries * (l + o) + l)?;
    let mut cursor = source.cursor(&bytes, address);
    cursor.take_u64(head_bytes)?;
    cursor.length()?;
    let mut children = Vec::new();
    for _ in 0..entries {
        source.budget.charge(size_of::<u64>() as u64)?;
        children.push(cursor.defined_address("a B-tree node")?);
        cursor.length()?;
    }
    Ok((level, children))
}

/// The links of a symbol table node. `last` is the last name before them: names increase through a group.
fn symbol_node(log: &mut Log<'_>, address: u64, sizes: NodeSizes, texts: Option<&LocalTexts>, last: &mut Vec<u8>, links: &mut Vec<FoundLink>) -> Result<bool> {
    let source = log.source;
    let length = 8 + sizes.leaf_links * entry_bytes(source);
    let kind = StructureKind::SymbolTableNode;
    let entries = symbol_entries(source, address);
    let Some(entries) = log.noted(kind, address, length, entries)? else { return Ok(false) };
    if !log.claim(kind, address, length)? {
        return log.damage(kind, address, length, Error::corrupt("a symbol table node that is in two places")).map(|()| false);
    }
    let mut is_whole = true;
    for SymbolEntry { name, header, soft, place } in entries {
        // Links may share a text, each of which is kept.
        let length = |at: Option<u64>| at.and_then(|at| Some(texts?.text(at)?.len() as u64)).unwrap_or(0);
        source.budget.charge((LINK_COST as u64).saturating_add(length(Some(name))).saturating_add(length(soft.map(u64::from))))?;
        let name = texts.and_then(|texts| texts.text(name)).map(<[u8]>::to_vec);
        let text = name_of;
        if let Some(texts) = texts.filter(|_| name.is_none()) {
            let error = Error::corrupt("a link whose name is not in the local heap of its group");
            log.damage(StructureKind::LocalHeapData, texts.address(), texts.length(), error)?;
            is_whole = false;
        }
        if let Some(name) = &name {
            if *last >= *name && !(last.is_empty() && name.is_empty()) {
                let error = Error::corrupt(format!("the link {:?} is out of order: it is not found by its name", text(name)));
                log.damage(kind, place, entry_bytes(source), error)?;
                is_whole = false;
            }
            last.clone_from(name);
        }
        let target = match (soft, header) {
            (Some(path), _) => match texts.and_then(|texts| texts.text(path.into())) {
                Some(path) => RawTarget::Soft(text(path)),
                None => {
                    is_whole = false;
                    continue;
                }
            },
            (None, Some(header)) => RawTarget::Hard(header),
            (None, None) => {
                log.damage(kind, place, entry_bytes(source), Error::corrupt("a link to an undefined address"))?;
                is_whole = false;
                continue;
            }
        };
        links.push(FoundLink { name: name.as_deref().map(text), target, is_utf8: false });
    }
    Ok(is_whole)
}

fn entry_bytes(source: &Source) -> u64 {
    u64::from(source.length_size) + u64::from(source.offset_size) + 24
}

/// An entry of a symbol table node.
pub(super) struct SymbolEntry {
    /// Offset of the name in the heap.
    pub name: u64,
    pub header: Option<u64>,
    /// Offset of a soft link's path in the heap.
    pub soft: Option<u32>,
    place: u64,
}

/// The entries of the symbol table node at `address`.
pub(super) fn symbol_entries(source: &Source, address: u64) -> Result<Vec<SymbolEntry>> {
    let head = source.read(address, 8)?;
    let mut cursor = source.cursor(&head, address);
    cursor.signature(b"SNOD")?;
    cursor.version(1, "a symbol table node")?;
    cursor.skip(1)?;
    let count = u64::from(cursor.u16()?);
    let bytes = source.read(address, 8 + count * entry_bytes(source))?;
    let mut cursor = source.cursor(&bytes, address);
    cursor.skip(8)?;
    let mut entries = Vec::new();
    for _ in 0..count {
        source.budget.charge(size_of::<SymbolEntry>() as u64)?;
        let place = address.saturating_add(cursor.position() as u64);
        let (name, header, cache) = (cursor.length()?, cursor.address()?, cursor.u32()?);
        cursor.skip(4)?;
        let mut scratch = source.cursor(cursor.take(16)?, place);
        if cache > SOFT {
            return Err(cursor.corrupt(format!("a symbol table entry of cache type {cache}")));
        }
        let soft = if cache == SOFT { Some(scratch.u32()?) } else { None };
        entries.push(SymbolEntry { name, header, soft, place });
    }
    Ok(entries)
}

/// Record types of the trees by name and by order of creation, and bytes of a record's key.
const BY_NAME: (u8, usize) = (5, 4);
const BY_ORDER: (u8, usize) = (6, 8);

fn dense(log: &mut Log<'_>, info: &link_info::LinkInfo, links: &mut Vec<FoundLink>) -> Result<bool> {
    let source = log.source;
    let Some((heap, name_tree)) = info.heap.zip(info.name_tree) else { return Ok(true) };
    let opened = heap::fractal(log, heap)?;
    let Some((mut heap, has_all_blocks)) = opened else {
        // Its trees are there nevertheless, so that their bytes are accounted for.
        tree_v2::records(log, name_tree, &[BY_NAME.0], &mut |_, _, _| Ok(()))?;
        if let Some(tree) = info.order_tree {
            tree_v2::records(log, tree, &[BY_ORDER.0], &mut |_, _, _| Ok(()))?;
        }
        return Ok(false);
    };
    let before = links.len();
    let mut read = |log: &mut Log<'_>, tree: u64, (kind, key_bytes): (u8, usize), keep: bool, links: &mut Vec<FoundLink>| -> Result<bool> {
        let mut is_readable = true;
        let is_whole = tree_v2::records(log, tree, &[kind], &mut |log, _, record| {
            let mut cursor = source.cursor(record, tree);
            let link = (|| {
                cursor.skip(key_bytes)?;
                let object = heap.object(cursor.take(heap.id_bytes())?)?;
                link::parse(&mut source.cursor(&object, tree))
            })();
            match link {
                Ok(link) if keep => links.push(link.into()),
                Ok(_) => {}
                Err(error) => {
                    is_readable = false;
                    // Damage of the blocks that hold them is recorded already.
                    if has_all_blocks {
                        log.damage(StructureKind::HeapDirectBlock, tree, 0, error)?;
                    }
                }
            }
            Ok(())
        })?;
        Ok(is_whole && is_readable)
    };
    let by_name = read(log, name_tree, BY_NAME, true, links)?;
    let mut by_order = true;
    if let Some(tree) = info.order_tree {
        // The other tree helps out if the first is damaged.
        let mut others = Vec::new();
        by_order = read(log, tree, BY_ORDER, !by_name, &mut others)?;
        let known: HashSet<String> = links.iter().skip(before).filter_map(|link| link.name.clone()).collect();
        links.extend(others.into_iter().filter(|link| link.name.as_ref().is_none_or(|name| !known.contains(name))));
    }
    Ok(has_all_blocks && by_name && by_order)
}

impl FoundLink {
    /// Address of the object that a hard link leads to.
    pub fn address(&self) -> Option<u64> {
        match self.target {
            RawTarget::Hard(address) => Some(address),
            _ => None,
        }
    }
}
