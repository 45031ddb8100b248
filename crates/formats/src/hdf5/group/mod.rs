//! Groups: their links, whether kept in a symbol table, in the header, or densely (IV.C, III.A.1, III.G).

mod dense;
mod limits;
mod symbol_table;

use hyperslab_array::{Error, Result};

use self::limits::{add, check_count};
use super::Source;
use super::message::link::{self, RawLink, RawTarget};
use super::message::link_info;
use super::message::{group_info, symbol_table as symbol_table_message};
use super::object_header::{ObjectHeader, kind};
use super::writer::{DenseStorage, Space};

/// A group's links.
pub(crate) struct RawLinks {
    pub links: Vec<RawLink>,
    /// Whether the group tracks the creation order of links; then they are in that order, else in name order.
    pub tracked: bool,
}

/// The links of the group with this header, or `None` when it is no group.
pub(crate) fn links(source: &Source, header: &ObjectHeader) -> Result<Option<RawLinks>> {
    let mut links = Vec::new();
    let mut group = false;
    let mut tracked = false;
    if let Some(message) = header.find(kind::SYMBOL_TABLE) {
        group = true;
        let mut cursor = source.cursor(&message.body, message.address);
        let tree = cursor.defined_address("a group's B-tree")?;
        let heap = cursor.defined_address("a group's local heap")?;
        symbol_table::read(source, tree, heap, &mut links)?;
    }
    for message in header.all(kind::LINK) {
        group = true;
        add(source, &mut links, message.parse(source, link::parse)?)?;
    }
    if let Some(message) = header.find(kind::LINK_INFO) {
        group = true;
        let info = message.parse(source, link_info::parse)?;
        tracked = info.tracked;
        if let (Some(heap), Some(tree)) = (info.heap, info.name_tree) {
            dense::read(source, heap, tree, &mut links)?;
        }
    }
    if !group {
        return Ok(None);
    }
    check_count(source, links.len())?;
    links.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
    if let Some(pair) = links.windows(2).find(|pair| matches!(pair, [a, b] if a.name == b.name)) {
        let name = pair.first().map_or("", |link| link.name.as_str());
        return Err(Error::corrupt(format!("two links called {name:?} in one group")));
    }
    if tracked {
        links.sort_by_key(|link| link.creation_order.unwrap_or(i64::MAX));
    }
    Ok(Some(RawLinks { links, tracked }))
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

/// Links up to this many stand in the group's header, whose links the library looks through one by one.
const MAX_COMPACT: usize = 64;

/// The messages of a group with these links; structures outside of the header are written to `space`. A `tracked` group
/// records that its links were created in this order.
///
/// If there are too many links for the header, they go into a symbol table, which all readers know, provided that all are
/// hard links without creation order. Otherwise they go into dense storage.
pub(crate) fn encode(space: &mut Space, links: &[(String, RawTarget)], tracked: bool) -> Result<Vec<(u16, u8, Vec<u8>)>> {
    let mut links: Vec<&(String, RawTarget)> = links.iter().collect();
    if !tracked {
        links.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
    }
    for (name, _) in &links {
        link::check_name(name)?;
    }
    let hard = || -> Option<Vec<(&str, u64)>> {
        let hard = links.iter().map(|(name, target)| match target {
            RawTarget::Hard(address) => Some((name.as_str(), *address)),
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
    for (order, (name, target)) in (0..).zip(&links) {
        encoded.push((name.clone(), link::encode(name, target, tracked.then_some(order))?));
    }
    let dense = if many { Some(DenseStorage::of_links(space, &encoded, tracked)?) } else { None };
    let info = link_info::encode(tracked.then_some(links.len() as u64), dense);
    let mut messages = vec![(kind::LINK_INFO, 0, info), (kind::GROUP_INFO, 0, group_info::encode())];
    if !many {
        messages.extend(encoded.into_iter().map(|(_, link)| (kind::LINK, 0, link)));
    }
    Ok(messages)
}
