//! Block directory: the blocks of one dataset, and where each of them is in the index files.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use hyperslab_array::{Error, Region, Result, Selection};
use hyperslab_formats::ChunkLocation;
use hyperslab_scan::pruner::Level;

use super::audit_memory::{Finding, IndexState};
use super::index_files::IndexFiles;
use super::index_reader::{IndexFile, StoredRow};
use super::manifest::IndexedDataset;
use crate::block::block_grid::BlockGrid;
use crate::block::rank_query::RankCache;
use crate::block::words::has_other_unicode;

/// One block of a dataset.
pub(crate) struct BlockEntry {
    pub region: Region,
    /// Index file and row in it; `None` if the index lacks the block, which must then be read.
    pub row: Option<(usize, usize)>,
    /// Row-major index of its first element, if its elements are consecutive in the dataset.
    pub first: Option<u64>,
    /// The chunks from which single values can be read, once they were located; `None` inside if that is impossible.
    pub stored: OnceLock<Option<Vec<ChunkLocation>>>,
    /// Ranks that were found by reading values of the data.
    pub known_ranks: RankCache,
}

/// The blocks of a dataset, in the order of its grid.
pub(crate) struct BlockDirectory {
    pub shape: Vec<u64>,
    pub level: Level,
    grid: BlockGrid,
    entries: Vec<BlockEntry>,
    by_origin: HashMap<Vec<u64>, usize>,
    index_files: Vec<Arc<IndexFile>>,
    /// Whether it was found to disagree with the data.
    is_refuted: AtomicBool,
    /// What the process remembers its audits by; `None` if they are not remembered.
    pub state: Option<IndexState>,
    /// Whether this session has compared what it says with the data, and what it decided.
    audited: [AtomicBool; 2],
}

impl BlockDirectory {
    /// Notes that it disagrees with the data, so that no later query uses it.
    pub fn refute(&self) {
        self.is_refuted.store(true, Ordering::Relaxed);
        self.note(Finding::Refuted);
    }

    /// Whether neither this session nor another one of the process has audited its claims.
    pub fn is_first_audit(&self) -> bool {
        !self.audited[0].swap(true, Ordering::Relaxed) && !self.has(Finding::Claims)
    }

    /// Whether neither this session nor another one of the process has audited its decisions.
    pub fn is_first_decision(&self) -> bool {
        !self.audited[1].swap(true, Ordering::Relaxed) && !self.has(Finding::Decisions)
    }

    /// Whether an audit in this process has found this.
    pub fn has(&self, finding: Finding) -> bool {
        self.state.is_some_and(|state| state.has(finding))
    }

    /// Remembers what an audit has found.
    pub fn note(&self, finding: Finding) {
        if let Some(state) = self.state {
            state.note(finding);
        }
    }

    /// Whether it was found to disagree with the data.
    pub fn is_refuted(&self) -> bool {
        self.is_refuted.load(Ordering::Relaxed)
    }

    /// The directory of a dataset of `shape`. If several index files have a block, the last one counts.
    pub fn new(grid: BlockGrid, shape: Vec<u64>, level: Level, index_files: Vec<Arc<IndexFile>>) -> Result<Self> {
        let blocks = grid.all(&shape)?;
        let by_origin: HashMap<Vec<u64>, usize> = blocks.iter().enumerate().map(|(index, block)| (block.start.clone(), index)).collect();
        let mut entries: Vec<BlockEntry> = blocks
            .into_iter()
            .map(|region| {
                let first = linear(&region, &shape);
                BlockEntry { region, row: None, first, stored: OnceLock::new(), known_ranks: RankCache::default() }
            })
            .collect();
        for (file_index, index_file) in index_files.iter().enumerate() {
            for (row, stored) in index_file.rows.iter().enumerate() {
                let entry = by_origin.get(&stored.region.start).and_then(|index| entries.get_mut(*index));
                // A block of several columns is not a block of one, whatever its file says.
                let is_of_kind = (stored.level == Level::Composite) == (level == Level::Composite);
                let is_whole = Some(u64::from(stored.zone.elements())) == stored.region.elements();
                if let Some(entry) = entry.filter(|entry| is_of_kind && is_whole && entry.region == stored.region) {
                    entry.row = Some((file_index, row));
                }
            }
        }
        Ok(Self { shape, level, grid, entries, by_origin, index_files, is_refuted: AtomicBool::new(false), state: None, audited: Default::default() })
    }

    /// All blocks.
    pub fn entries(&self) -> &[BlockEntry] {
        &self.entries
    }

    /// A block's index file, and its row there.
    pub fn row(&self, entry: &BlockEntry) -> Option<(&IndexFile, &StoredRow)> {
        let (index_file, row) = entry.row?;
        let index_file = self.index_files.get(index_file)?;
        Some((index_file, index_file.rows.get(row)?))
    }

    /// The number of blocks whose words follow another version of Unicode. Reads the beginnings of the words of all blocks.
    pub fn blocks_of_other_unicode(&self) -> usize {
        let is_other = |entry: &&BlockEntry| {
            let Some((index_file, row)) = self.row(entry).filter(|(_, row)| row.level == Level::Words) else { return false };
            // Damaged ones are others' business.
            index_file.batch_samples(row).is_ok_and(|batch| batch.is_intact(row) && has_other_unicode(batch.starts(row)))
        };
        if self.level == Level::Words { self.entries.iter().filter(is_other).count() } else { 0 }
    }

    /// The row of the block with these bounds.
    pub fn at(&self, block: &Region) -> Option<&StoredRow> {
        let entry = self.entries.get(*self.by_origin.get(&block.start)?)?;
        self.row(entry).map(|(_, row)| row).filter(|row| row.region == *block)
    }

    /// The box of whole chunks that contains a block.
    pub fn around(&self, block: &Region) -> Region {
        self.grid.around(block, &self.shape)
    }

    /// The blocks that a selection touches.
    pub fn touched(&self, selection: &Selection) -> Result<Vec<&BlockEntry>> {
        if self.is_whole(selection) {
            return Ok(self.entries.iter().collect());
        }
        let blocks = self.grid.touched(&self.shape, selection)?;
        let entry = |block: Region| self.by_origin.get(&block.start).and_then(|index| self.entries.get(*index));
        blocks.into_iter().map(|block| entry(block).ok_or_else(|| Error::internal("a block is missing from its directory"))).collect()
    }

    /// Whether a selection has all elements of the dataset.
    pub fn is_whole(&self, selection: &Selection) -> bool {
        selection.axes().iter().zip(&self.shape).all(|(axis, extent)| *axis == hyperslab_array::Axis::all(*extent))
    }

    /// Whether a selection has all of a block's elements.
    pub fn covers(&self, selection: &Selection, block: &Region) -> bool {
        let axes = selection.axes().iter().zip(block.dimensions());
        axes.into_iter().all(|(axis, (start, count))| axis.positions_within(start, start + count).1 == count)
    }
}

/// The row-major index of a box's first element, if its elements are consecutive in a dataset of `shape`.
fn linear(block: &Region, shape: &[u64]) -> Option<u64> {
    let (mut first, mut stride, mut is_whole, mut is_consecutive) = (0u64, 1u64, true, true);
    for ((start, count), extent) in block.dimensions().zip(shape).rev() {
        // Starting with the fastest: any number of whole dimensions, a part of one dimension, then extents of 1.
        if !is_whole && count > 1 {
            is_consecutive = false;
        }
        is_whole &= count == *extent;
        first = first.checked_add(start.checked_mul(stride)?)?;
        stride = stride.checked_mul(*extent)?;
    }
    is_consecutive.then_some(first)
}

/// Opens the index files of a dataset of the data file `file`. The blocks of a build replace the blocks of earlier builds: if an
/// index file of a build is damaged, it is unknown which blocks it replaced, so that the files of earlier builds are not used.
pub(crate) fn open_directory(files: &IndexFiles, file: &Path, indexed: &IndexedDataset) -> Result<BlockDirectory> {
    let mut opened: Vec<(u64, bool, Option<IndexFile>)> = indexed
        .index_files
        .iter()
        .map(|entry| {
            let opened = files.open(file, entry, indexed.shape.len()).ok();
            let is_whole = opened.as_ref().is_some_and(|opened| opened.rows.len() as u64 == entry.blocks);
            (entry.build, is_whole, opened)
        })
        .collect();
    let trusted = opened.iter().filter(|(_, is_whole, _)| !is_whole).map(|(build, _, _)| *build).max().unwrap_or_default();
    opened.retain(|(build, _, _)| *build >= trusted);
    opened.sort_by_key(|(build, _, _)| *build);
    let index_files = opened.into_iter().filter_map(|(_, _, index_file)| index_file.map(Arc::new)).collect();
    BlockDirectory::new(indexed.grid.clone(), indexed.shape.clone(), indexed.level, index_files)
}
