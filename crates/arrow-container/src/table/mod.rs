//! The values of a dataset: a store for each Arrow buffer, in memory while small, else in their final places in
//! the Arrow file that will be published, written and read by position.
//!
//! - [`store`]: memory, or record batches of a file; [`blocks`]: elements between a program's memory and the stores;
//!   [`kernel`]: records to columns and back, `vector`: by vector registers
//! - [`grow`]: room for elements, changes of shape, copies; [`frame`]: the Arrow file around the values;
//!   [`loaded`]: values that come from elsewhere; [`written`]: columns that several processes write and one publishes

mod blocks;
mod frame;
mod grow;
mod kernel;
mod loaded;
mod store;
#[cfg(target_arch = "x86_64")]
mod vector;
mod written;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use blocks::Part;
pub(crate) use loaded::LoadedLeaf;

use super::blob::Arena;
use super::fault::{Result, fault};
use super::kind::{Column, Kind, Leaf, columns};
use super::ranks::Ranks;
use super::shape::Space;
use store::{Backing, Batch, Store};

/// The values of one dataset.
pub(crate) struct Table {
    kind: Kind,
    columns: Vec<Column>,
    leaves: Vec<Leaf>,
    stores: Vec<Store>,
    /// The record batches of the file, in the order of their elements.
    batches: Vec<Batch>,
    count: u64,
    capacity: u64,
    /// Elements below this one may hold what was written; those above hold zeros.
    touched: u64,
    backing: Backing,
    folder: PathBuf,
    /// The processes that write the values together.
    ranks: Option<Arc<Ranks>>,
    /// One element in its form in the file; empty: zeros.
    fill: Vec<u8>,
    /// Keeps what blob names point at.
    arenas: Vec<Arc<Arena>>,
    /// Of each leaf in memory what this process has written, where it is one of several.
    written: Vec<written::Runs>,
    pub(crate) changed: bool,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("count", &self.count).field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

impl Table {
    fn empty(kind: &Kind, folder: &Path, ranks: Option<&Arc<Ranks>>, fill: Vec<u8>) -> Self {
        let columns = columns(kind);
        let leaves: Vec<Leaf> = columns.iter().flat_map(|column| column.leaves.clone()).collect();
        Self {
            kind: kind.clone(),
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
    pub(crate) fn create(kind: &Kind, space: &Space, folder: &Path, ranks: Option<&Arc<Ranks>>, fill: Vec<u8>) -> Result<Self> {
        let count = space.count().ok_or_else(|| fault!("more elements than can be counted"))?;
        let mut table = Self::empty(kind, folder, ranks, fill);
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
    pub(crate) fn keep(&mut self, arena: &Arc<Arena>) {
        self.arenas.push(Arc::clone(arena));
    }

    /// Whether a file is open for the values.
    pub(crate) fn in_file(&self) -> bool {
        !matches!(self.backing, Backing::None)
    }

    /// Whether this process does what one alone must do.
    fn leads(&self) -> bool {
        self.ranks.as_ref().is_none_or(|ranks| ranks.leads())
    }

    /// Every leaf where it lies in an element in its form in the file.
    pub(crate) fn every_part(&self) -> Vec<Part> {
        self.leaves.iter().enumerate().map(|(leaf, l)| Part { leaf, at: l.offset }).collect()
    }

    fn release(&mut self) {
        if let Backing::Aside(path, _) = std::mem::replace(&mut self.backing, Backing::None) {
            let _ = std::fs::remove_file(path);
        }
    }

    /// All elements in their form in the file, side by side.
    #[cfg(test)]
    pub(crate) fn records(&self) -> Result<Vec<u8>> {
        let width = self.kind.bytes();
        let mut out = vec![0; width * self.count as usize];
        self.read(&self.every_part(), 0, self.count as usize, &mut out, width)?;
        Ok(out)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if self.leads() {
            self.release();
        }
    }
}
