//! The table: its columns, stores and backing file.

use std::sync::{Arc, Mutex};

use super::store::{Backing, Batch, Part, Runs, Store, Tail};
use crate::elements::blob::Arena;
use crate::elements::dataspace::Dataspace;
use crate::elements::datatype::{Column, Datatype, Leaf, columns};
use crate::error::{Result, error};
use crate::files::Workspace;
use crate::ranks::Ranks;

/// The values of one dataset.
pub struct Table {
    pub(super) datatype: Datatype,
    pub(super) columns: Vec<Column>,
    pub(super) leaves: Vec<Leaf>,
    pub(super) stores: Vec<Store>,
    /// The record batches of the file, in element order.
    pub(super) batches: Vec<Batch>,
    pub(super) count: u64,
    pub(super) capacity: u64,
    /// Elements from this index on were never written and hold zeros.
    pub(super) touched: u64,
    pub(super) backing: Backing,
    pub(super) workspace: Workspace,
    /// The ranks that write the values together.
    pub(super) ranks: Option<Arc<Ranks>>,
    /// The fill value: one element in file form; empty: zeros. `None` if it was not asked for yet.
    pub(super) fill: Option<Vec<u8>>,
    /// Keeps alive the blobs that the values name.
    pub(super) arenas: Vec<Arc<Arena>>,
    /// For each leaf in memory, the elements that this rank has written. Unused without ranks.
    pub(super) written: Vec<Runs>,
    pub(crate) changed: bool,
    /// Elements that were written last and are not in the file yet.
    pub(super) tail: Mutex<Option<Tail>>,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("count", &self.count).field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

impl Table {
    pub(super) fn empty(datatype: &Datatype, workspace: Workspace, ranks: Option<&Arc<Ranks>>, fill: Option<Vec<u8>>) -> Self {
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
            workspace,
            ranks: ranks.cloned(),
            fill,
            arenas: Vec::new(),
            changed: true,
            tail: Mutex::new(None),
        }
    }

    /// Creates a table for the elements of `space`, filled with `fill` (one element in file form; empty: zeros). Collective
    /// if there are `ranks`. Large values are written to the `workspace`: a folder, or the workspace of a container.
    ///
    /// # Errors
    /// If there are more elements than a file or memory can hold, or the file cannot be written.
    pub fn create(datatype: &Datatype, space: &Dataspace, workspace: impl Into<Workspace>, ranks: Option<&Arc<Ranks>>, fill: Vec<u8>) -> Result<Self> {
        let count = space.count().ok_or_else(|| error!("the number of elements exceeds 64 bits"))?;
        let mut table = Self::empty(datatype, workspace.into(), ranks, Some(fill));
        let reserved = table.reserve(count, count, space).and_then(|()| {
            table.count = count;
            table.fill_elements(0, count)
        });
        match ranks {
            // No rank may write before the leader has filled the file.
            Some(ranks) if table.known_fill()?.iter().any(|byte| *byte != 0) => ranks.agree(reserved)?,
            _ => reserved?,
        }
        Ok(table)
    }

    /// Keeps an arena alive whose blobs the values name.
    pub fn keep(&mut self, arena: &Arc<Arena>) {
        self.arenas.push(Arc::clone(arena));
    }

    /// Whether opening the values again costs little: none are decoded.
    pub(crate) fn opens_fast(&self) -> bool {
        !self.has_heap()
    }

    /// Whether the fill value is known. It is not if the values were opened to be read or written only.
    pub fn knows_fill(&self) -> bool {
        self.fill.is_some()
    }

    /// Sets the fill value: one element in file form; empty: zeros.
    pub(crate) fn set_fill(&mut self, fill: Vec<u8>) {
        self.fill = Some(fill);
    }

    pub(super) fn known_fill(&self) -> Result<&[u8]> {
        self.fill.as_deref().ok_or_else(|| error!("the fill value of the dataset is not known"))
    }

    /// Whether the values are in an open file.
    pub(crate) fn in_file(&self) -> bool {
        !matches!(self.backing, Backing::None)
    }

    /// Whether this process does the work that only one rank may do.
    pub(super) fn is_leader(&self) -> bool {
        self.ranks.as_ref().is_none_or(|ranks| ranks.is_leader())
    }

    /// Whether several ranks write the values together.
    pub fn is_shared(&self) -> bool {
        self.ranks.is_some()
    }

    /// All leaves, for elements in file form.
    pub fn all_parts(&self) -> Vec<Part> {
        self.leaves.iter().enumerate().map(|(leaf, l)| Part { leaf, at: l.offset }).collect()
    }

    pub(super) fn release(&mut self) {
        if let Backing::Aside(aside) = std::mem::replace(&mut self.backing, Backing::None) {
            aside.remove();
        }
    }

    /// All elements in file form, contiguous.
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
