//! Read-only tables of values from files that are not containers.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::kernel::deinterleave;
use super::lane::Lane;
use super::state::Table;
use super::store::{Backing, Batch, Published, Store};
use crate::elements::blob::Arena;
use crate::elements::datatype::{Datatype, Leaf};
use crate::error::{Result, error};

/// The values of a leaf.
#[derive(Debug)]
pub(crate) enum LoadedLeaf {
    InMemory(Vec<u8>),
    /// (number of elements, offset in the file) for each record batch.
    InFile(Vec<(u64, u64)>),
}

impl LoadedLeaf {
    /// Splits `count` contiguous elements of `width` bytes into their leaves.
    pub(crate) fn of_records(width: usize, leaves: &[Leaf], records: &[u8], count: u64) -> Result<Vec<Self>> {
        if records.len() as u64 != count.saturating_mul(width as u64) {
            return Err(error!("{} bytes of values, but {count} elements of {width} bytes were expected", records.len()));
        }
        let mut out: Vec<Vec<u8>> = leaves.iter().map(|leaf| vec![0; leaf.bytes * count as usize]).collect();
        let lanes: Vec<Lane> = leaves.iter().map(|leaf| Lane { at: leaf.offset, bytes: leaf.bytes, swap_bytes: leaf.swap_bytes }).collect();
        deinterleave(records, width, &lanes, &mut out.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>())?;
        Ok(out.into_iter().map(Self::InMemory).collect())
    }
}

impl Table {
    /// Creates a table of `count` elements from the values of its leaves.
    pub(crate) fn loaded(datatype: &Datatype, count: u64, leaves: Vec<LoadedLeaf>, file: Option<File>, arenas: Vec<Arc<Arena>>) -> Result<Self> {
        let mut table = Self::empty(datatype, Path::new("").into(), None, Some(Vec::new()));
        if leaves.len() != table.leaves.len() {
            return Err(error!("{} columns of values, but the datatype has {}", leaves.len(), table.leaves.len()));
        }
        table.stores.clear();
        for (index, (leaf, loaded)) in table.leaves.iter().zip(leaves).enumerate() {
            match loaded {
                LoadedLeaf::InMemory(bytes) if bytes.len() as u64 == count.saturating_mul(leaf.bytes as u64) => table.stores.push(Store::Memory(bytes)),
                LoadedLeaf::InFile(places) if places.iter().map(|(elements, _)| elements).sum::<u64>() == count => {
                    if table.batches.is_empty() {
                        let mut first = 0;
                        table.batches.extend(places.iter().map(|(elements, _)| {
                            first += elements;
                            Batch { first: first - elements, end: first, offsets: vec![0; table.leaves.len()], ..Batch::default() }
                        }));
                    }
                    if table.batches.len() != places.len() {
                        return Err(error!("columns are split into different record batches"));
                    }
                    for (batch, (elements, offset)) in table.batches.iter_mut().zip(places) {
                        if batch.end - batch.first != elements {
                            return Err(error!("columns are split into different record batches"));
                        }
                        batch.offsets[index] = offset;
                    }
                    table.stores.push(Store::File);
                }
                _ => return Err(error!("a column does not have {count} elements")),
            }
        }
        if let Some(file) = file {
            table.backing = Backing::Published(Published::foreign(file));
        }
        (table.count, table.capacity, table.touched) = (count, count, count);
        (table.arenas, table.changed) = (arenas, false);
        Ok(table)
    }
}
