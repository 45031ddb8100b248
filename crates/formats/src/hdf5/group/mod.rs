//! Groups: their links, whether kept in a symbol table, in the header, or densely (IV.C, III.A.1, III.G).

mod dense;
mod limits;
mod symbol_table;

use hyperslab_array::name::compare;
use hyperslab_array::{Error, Result};

use self::limits::check_count;
use super::Source;
use super::heap::LocalHeap;
use super::message::link::{self, RawLink, RawTarget};
use super::message::link_info;
use super::message::{group_info, symbol_table as symbol_table_message};
use super::object_header::{ObjectHeader, kind};
use super::writer::{DenseStorage, Space};
use crate::CreationOrder;

/// A group's links.
pub(crate) struct RawLinks {
    pub links: Vec<RawLink>,
    /// Whether the group tracks the creation order of links; then they are in that order, else in name order.
    pub tracked: bool,
}

/// All links of the group with this header.
pub(crate) fn links(source: &Source, header: &ObjectHeader<'_>) -> Result<RawLinks> {
    let mut links = Vec::new();
    if let Some(table) = SymbolTable::of(source, header)? {
        symbol_table::read(source, table.tree, table.heap, &mut links)?;
    }
    for message in header.all(kind::LINK) {
        links.push(message.parse(source, link::parse)?);
    }
    if let Some((heap, tree)) = dense_storage(source, header)? {
        dense::read(source, heap, tree, &mut links)?;
    }
    let tracked = is_tracked(source, header)?;
    check_count(source, links.len())?;
    links.sort_by(|a, b| compare(&a.name, &b.name));
    if let Some(pair) = links.windows(2).find(|pair| matches!(pair, [a, b] if a.name == b.name)) {
        let name = pair.first().map_or("", |link| link.name.as_str());
        return Err(Error::corrupt(format!("two links called {name:?} in one group")));
    }
    if tracked {
        links.sort_by_key(|link| link.creation_order.unwrap_or(i64::MAX));
    }
    Ok(RawLinks { links, tracked })
}

/// Whether an object with this header is a group.
pub(crate) fn is_group(header: &ObjectHeader<'_>) -> bool {
    [kind::SYMBOL_TABLE, kind::LINK, kind::LINK_INFO].iter().any(|kind| header.find(*kind).is_some())
}

/// Whether the group with this header tracks the order in which its links were created.
pub(crate) fn is_tracked(source: &Source, header: &ObjectHeader<'_>) -> Result<bool> {
    match header.find(kind::LINK_INFO) {
        Some(message) => Ok(message.parse(source, link_info::parse)?.tracked),
        None => Ok(false),
    }
}

/// Up to `max` links of the group with this header, in any order, without those that would be expensive to find: of dense
/// storage that is not indexed by the order of creation.
pub(crate) fn first_links(source: &Source, header: &ObjectHeader<'_>, max: usize) -> Result<Vec<RawLink>> {
    let mut links = Vec::new();
    for message in header.all(kind::LINK).take(max) {
        links.push(message.parse(source, link::parse)?);
    }
    if let Some(table) = SymbolTable::of(source, header)?.filter(|_| links.len() < max) {
        symbol_table::read_first(source, table.tree, table.heap, max, &mut links)?;
    }
    if let Some(message) = header.find(kind::LINK_INFO).filter(|_| links.len() < max) {
        let info = message.parse(source, link_info::parse)?;
        if let Some((heap, order_tree)) = info.heap.zip(info.order_tree) {
            dense::read_first(source, heap, order_tree, max, &mut links)?;
        }
    }
    links.truncate(max);
    Ok(links)
}

/// An upper bound for the number of links of the group with this header, found without listing them.
pub(crate) fn max_links(source: &Source, header: &ObjectHeader<'_>) -> Result<u64> {
    let compact = header.all(kind::LINK).count() as u64;
    let old = match SymbolTable::of(source, header)? {
        Some(table) => LocalHeap::max_texts(source, table.heap)?,
        None => 0,
    };
    let dense = match dense_storage(source, header)? {
        Some((_, tree)) => dense::count(source, tree)?,
        None => 0,
    };
    Ok(compact.saturating_add(old).saturating_add(dense))
}

/// The number of links of the group with this header; `None` if only listing them tells it.
pub(crate) fn link_count(source: &Source, header: &ObjectHeader<'_>) -> Result<Option<u64>> {
    if header.find(kind::SYMBOL_TABLE).is_some() {
        return Ok(None);
    }
    let count = max_links(source, header)?;
    check_count(source, usize::try_from(count).unwrap_or(usize::MAX))?;
    Ok(Some(count))
}

/// The link called `name` of the group with this header, found without listing the others.
pub(crate) fn link(source: &Source, header: &ObjectHeader<'_>, name: &str) -> Result<Option<RawLink>> {
    for message in header.all(kind::LINK) {
        let link = message.parse(source, link::parse)?;
        if link.name == name {
            return Ok(Some(link));
        }
    }
    if let Some(table) = SymbolTable::of(source, header)?
        && let Some(link) = symbol_table::find(source, table.tree, table.heap, name)?
    {
        return Ok(Some(link));
    }
    match dense_storage(source, header)? {
        Some((heap, tree)) => dense::find(source, heap, tree, name),
        None => Ok(None),
    }
}

/// Where a group's symbol table is.
struct SymbolTable {
    tree: u64,
    heap: u64,
}

impl SymbolTable {
    fn of(source: &Source, header: &ObjectHeader<'_>) -> Result<Option<Self>> {
        let Some(message) = header.find(kind::SYMBOL_TABLE) else { return Ok(None) };
        let mut cursor = source.cursor(&message.body, message.address);
        let tree = cursor.defined_address("a group's B-tree")?;
        let heap = cursor.defined_address("a group's local heap")?;
        Ok(Some(Self { tree, heap }))
    }
}

/// Heap and B-tree of a group's dense storage.
fn dense_storage(source: &Source, header: &ObjectHeader<'_>) -> Result<Option<(u64, u64)>> {
    let Some(message) = header.find(kind::LINK_INFO) else { return Ok(None) };
    let info = message.parse(source, link_info::parse)?;
    Ok(info.heap.zip(info.name_tree))
}

/// How many links a symbol table has, for fuzzing.
pub(super) fn symbol_table_links(source: &Source, tree: u64, heap: u64) -> Result<usize> {
    let mut links = Vec::new();
    symbol_table::read(source, tree, heap, &mut links)?;
    Ok(links.len())
}

/// How many links dense storage has, for fuzzing.
pub(super) fn dense_links(source: &Source, heap: u64, tree: u64) -> Result<usize> {
    let mut links = Vec::new();
    dense::read(source, heap, tree, &mut links)?;
    Ok(links.len())
}

/// Maximum number of links in a group's header, which the library searches linearly.
const MAX_COMPACT: usize = 64;

/// The messages of a group with these links; structures outside of the header are written to `space`. If `order` is tracked, the
/// group records that its links were created in this order.
///
/// If there are too many links for the header, they go into a symbol table, which all readers know, provided that all are
/// hard links without creation order whose names are ASCII. Otherwise they go into dense storage.
pub(crate) fn encode(space: &mut Space, mut links: Vec<RawLink>, order: CreationOrder) -> Result<Vec<(u16, u8, Vec<u8>)>> {
    let tracked = order.is_tracked;
    if !tracked {
        links.sort_by(|a, b| compare(&a.name, &b.name));
    }
    for link in &links {
        link::check_name(&link.name)?;
    }
    let hard = || -> Option<Vec<(&str, u64)>> {
        let hard = links.iter().map(|link| match link.target {
            RawTarget::Hard(address) if !link.is_utf8 => Some((link.name.as_str(), address)),
            _ => None,
        });
        hard.collect()
    };
    let many = links.len() > MAX_COMPACT;
    if let Some(hard) = hard().filter(|_| many && !tracked) {
        let (tree, heap) = symbol_table::encode(space, &hard)?;
        return Ok(vec![(kind::SYMBOL_TABLE, 0, symbol_table_message::encode(tree, heap))]);
    }
    let mut encoded = Vec::with_capacity(links.len());
    for (position, link) in (0..).zip(links) {
        let ordered = RawLink { creation_order: tracked.then_some(position), ..link };
        let message = link::encode(&ordered)?;
        encoded.push((ordered.name, message));
    }
    let dense = if many { Some(DenseStorage::of_links(space, &encoded, order.is_indexed)?) } else { None };
    let info = link_info::encode(tracked.then_some(encoded.len() as u64), order.is_indexed, dense);
    let mut messages = vec![(kind::LINK_INFO, 0, info), (kind::GROUP_INFO, 0, group_info::encode())];
    if !many {
        messages.extend(encoded.into_iter().map(|(_, link)| (kind::LINK, 0, link)));
    }
    Ok(messages)
}
