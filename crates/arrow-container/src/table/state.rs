//! A table, and what it is made of.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::store::{Backing, Batch, Part, Runs, Store};
use crate::elements::blob::Arena;
use crate::elements::dataspace::Dataspace;
use crate::elements::datatype::{Column, Datatype, Leaf, columns};
use crate::error::{Result, error};
use crate::ranks::Ranks;

/// The values of one dataset.
pub struct Table {
    pub(super) datatype: Datatype,
    pub(super) columns: Vec<Column>,
    pub(super) leaves: Vec<Leaf>,
    pub(super) stores: Vec<Store>,
    /// The record batches of the file, in the order of their elements.
    pub(super) batches: Vec<Batch>,
    pub(super) count: u64,
    pub(super) capacity: u64,
    /// Elements below this one may hold what was written; those above hold zeros.
    pub(super) touched: u64,
    pub(super) backing: Backing,
    pub(super) folder: PathBuf,
    /// The processes that write the values together.
    pub(super) ranks: Option<Arc<Ranks>>,
    /// One element in its form in the file; empty: zeros.
    pub(super) fill: Vec<u8>,
    /// Keeps what blob names point at.
    pub(super) arenas: Vec<Arc<Arena>>,
    /// Of each leaf in memory what this process has written, where it is one of several.
    pub(super) written: Vec<Runs>,
    pub(crate) changed: bool,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("count", &self.count).field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

impl Table {
    pub(super) fn empty(datatype: &Datatype, folder: &Path, ranks: Option<&Arc<Ranks>>, fill: Vec<u8>) -> Self {
        let columns = columns(datatype);
        let leaves: Vec<Leaf> = columns.iter().flat_map(|column| column.leaves.clone()).collect();
        Self {
            datatype: datatype.clone(),
            stores: leaves.iter().map(|_| Store::Memory(Vec::new())).collect(),
            batches: Vec::new(),
            written: vec![Vec::new(); leaves.len()],
            columns,
            leaves,
            count: 0,
            capacity: 0,
            touched: 0,
            backing: Backing::None,
            folder: folder.to_path_buf(),
            ranks: ranks.cloned(),
            fill,
            arenas: Vec::new(),
            changed: true,
        }
    }

    /// A new table of the elements of `space`, which hold `fill` (one element in its form in the file; empty: zeros).
    /// All of the `ranks` make it together.
    pub fn create(datatype: &Datatype, space: &Dataspace, folder: &Path, ranks: Option<&Arc<Ranks>>, fill: Vec<u8>) -> Result<Self> {
        let count = space.count().ok_or_else(|| error!("more elements than can be counted"))?;
        let mut table = Self::empty(datatype, folder, ranks, fill);
        let reserved = table.reserve(count, count, space).and_then(|()| {
            table.count = count;
            table.fill_elements(0, count)
        });
        match ranks {
            // Who writes first must not be filled over.
            Some(ranks) if table.fill.iter().any(|byte| *byte != 0) => ranks.agree(reserved)?,
            _ => reserved?,
        }
        Ok(table)
    }

    /// Keeps blobs that the values name.
    pub fn keep(&mut self, arena: &Arc<Arena>) {
        self.arenas.push(Arc::clone(arena));
    }

    /// Whether a file is open for the values.
    pub(crate) fn in_file(&self) -> bool {
        !matches!(self.backing, Backing::None)
    }

    /// Whether this process does what one alone must do.
    pub(super) fn is_leader(&self) -> bool {
        self.ranks.as_ref().is_none_or(|ranks| ranks.is_leader())
    }

    /// Every leaf where it lies in an element in its form in the file.
    pub fn all_parts(&self) -> Vec<Part> {
        self.leaves.iter().enumerate().map(|(leaf, l)| Part { leaf, at: l.offset }).collect()
    }

    pub(super) fn release(&mut self) {
        if let Backing::Aside(path, _) = std::mem::replace(&mut self.backing, Backing::None) {
            let _ = std::fs::remove_file(path);
        }
    }

    /// All elements in their form in the file, side by side.
    #[cfg(test)]
    pub(crate) fn records(&self) -> Result<Vec<u8>> {
        let width = self.datatype.bytes();
        let mut out = vec![0; width * self.count as usize];
        self.read(&self.all_parts(), 0, self.count as usize, &mut out, width)?;
        Ok(out)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if self.is_leader() {
            self.release();
        }
    }
}
