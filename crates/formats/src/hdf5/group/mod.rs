//! Groups: their links, whether kept in a symbol table, in the header, or densely (IV.C, III.A.1, III.G).

mod dense;
mod symbol_table;

use hyperslab_array::{Error, Result};

use super::Source;
use super::message::{group_info, symbol_table as symbol_table_message};
use super::writer::Space;
use super::message::link::{self, RawTarget};
use super::message::link_info;
use super::object_header::{ObjectHeader, kind};

/// What a link costs beside its name.
const LINK_COST: u64 = 100;

/// The links of the group with this header, or `None` when it is no group.
pub(crate) fn links(source: &Source, header: &ObjectHeader) -> Result<Option<Vec<(String, RawTarget)>>> {
    let mut links = Vec::new();
    let mut group = false;
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
        if let (Some(heap), Some(tree)) = (info.heap, info.name_tree) {
            dense::read(source, heap, tree, &mut links)?;
        }
    }
    if !group {
        return Ok(None);
    }
    check_count(source, links.len())?;
    links.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
    if let Some(pair) = links.windows(2).find(|pair| matches!(pair, [a, b] if a.0 == b.0)) {
        let name = pair.first().map_or("", |link| link.0.as_str());
        return Err(Error::corrupt(format!("two links called {name:?} in one group")));
    }
    Ok(Some(links))
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

/// Links up to this many stand in the group's header; more hard links stand in a symbol table, which has
/// found names quickly since the first release of HDF5.
const MOST_COMPACT: usize = 64;

/// The messages of a group with these links, of which what is outside of the header goes into `space`.
pub(crate) fn encode(space: &mut Space, links: &[(String, RawTarget)]) -> Result<Vec<(u16, u8, Vec<u8>)>> {
    let mut links: Vec<&(String, RawTarget)> = links.iter().collect();
    links.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
    for (name, _) in &links {
        link::check_name(name)?;
    }
    let hard: Vec<(&str, u64)> = links
        .iter()
        .filter_map(|(name, target)| match target {
            RawTarget::Hard(address) => Some((name.as_str(), *address)),
            _ => None,
        })
        .collect();
    if links.len() > MOST_COMPACT && hard.len() == links.len() {
        let (tree, heap) = symbol_table::encode(space, &hard)?;
        return Ok(vec![(kind::SYMBOL_TABLE, 0, symbol_table_message::encode(tree, heap))]);
    }
    let mut messages = vec![(kind::LINK_INFO, 0, link_info::encode_compact()), (kind::GROUP_INFO, 0, group_info::encode())];
    for (name, target) in links {
        messages.push((kind::LINK, 0, link::encode(name, target)?));
    }
    Ok(messages)
}

/// Keeps a link, where there is room for it.
fn add(source: &Source, links: &mut Vec<(String, RawTarget)>, link: (String, RawTarget)) -> Result<()> {
    source.budget.charge((link.0.len() as u64).saturating_add(LINK_COST))?;
    links.push(link);
    Ok(())
}

fn check_count(source: &Source, count: usize) -> Result<()> {
    if count as u64 > source.limits.links_per_group {
        return Err(Error::limit_exceeded(format!("more than {} links in one group", source.limits.links_per_group)));
    }
    Ok(())
}
