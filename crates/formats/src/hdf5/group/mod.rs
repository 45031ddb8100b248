//! Groups: their links, whether kept in a symbol table, in the header, or densely (IV.C, III.A.1, III.G).

mod dense;
mod symbol_table;

use hyperslab_array::{Error, Result};

use super::Source;
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
