//! Moves elements between the caller's memory and the stores, block by block; records are split into columns and joined
//! again on the way.

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use super::kernel::{deinterleave, interleave};
use super::lane::Lane;
use super::state::Table;
use super::store::{Backing, Batch, Part, Store, parts_of};
use crate::error::{Result, error};
use crate::files::preallocate::preallocate;
use crate::ranks::is_multi_process;

/// Elements per block: small enough that their bytes stay in the processor's cache.
const BLOCK_ELEMENTS: usize = 32 << 10;
/// Bytes per write call. For larger writes Linux allocates large folios of page cache, and finding these took longer than
/// the rest of the write.
pub(super) const WRITTEN_BYTES: usize = 128 << 10;
/// Bytes of interleaved records that justify one more thread.
const THREAD_BYTES: usize = 8 << 20;
/// Maximum number of threads; with more, memory bandwidth is the limit.
const MAX_THREADS: usize = 4;

thread_local! {
    /// The columns of one block.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Threads that split and join records: `HYPERSLAB_VOL_THREADS`, or the number of cores.
fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        let asked = std::env::var("HYPERSLAB_VOL_THREADS").ok().and_then(|text| text.parse().ok());
        asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_THREADS))).max(1)
    })
}

/// Splits the scratch buffer into one piece for each lane.
fn cut<'a>(mut scratch: &'a mut [u8], lanes: &[Lane], count: usize) -> Vec<&'a mut [u8]> {
    let mut pieces = Vec::with_capacity(lanes.len());
    for lane in lanes {
        let (piece, rest) = scratch.split_at_mut(lane.bytes * count);
        pieces.push(piece);
        scratch = rest;
    }
    pieces
}

/// Writes in pieces that end at multiples of `WRITTEN_BYTES` in the file. Linux then keeps each piece in one folio, which
/// is read and mapped in two thirds of the time that many small pages take.
pub(super) fn write_pieces(file: &File, mut bytes: &[u8], mut at: u64) -> Result<()> {
    while !bytes.is_empty() {
        let to_the_border = WRITTEN_BYTES - (at % WRITTEN_BYTES as u64) as usize;
        let (piece, rest) = bytes.split_at(to_the_border.min(bytes.len()));
        file.write_all_at(piece, at)?;
        at += piece.len() as u64;
        bytes = rest;
    }
    Ok(())
}

pub(super) fn place(batch: &Batch, leaf: usize, bytes: usize, element: u64) -> u64 {
    batch.offsets.get(leaf).copied().unwrap_or(0) + (element - batch.first) * bytes as u64
}

impl Table {
    fn check(&self, start: u64, count: usize) -> Result<()> {
        match start.checked_add(count as u64) {
            Some(end) if end <= self.count => Ok(()),
            _ => Err(error!("elements {start} to {} are out of range: there are {}", start.saturating_add(count as u64), self.count)),
        }
    }

    fn lane(&self, part: &Part) -> Lane {
        let leaf = &self.leaves[part.leaf];
        Lane { at: part.at, bytes: leaf.bytes, swap_bytes: leaf.swap_bytes }
    }

    /// The parts whose leaves are in a file, and those in memory.
    fn in_file_and_memory(&self, parts: &[Part]) -> (Vec<Part>, Vec<Part>) {
        parts.iter().partition(|part| matches!(self.stores[part.leaf], Store::File))
    }

    /// The number of threads for `count` elements of `stride` bytes whose `parts` are in a file.
    pub(super) fn threads_for(&self, parts: &[Part], count: usize, stride: usize) -> usize {
        if parts.len() < 2 || is_multi_process() { 1 } else { (count * stride / THREAD_BYTES).clamp(1, threads()) }
    }

    /// Writes `count` elements from `source`, `stride` bytes apart, to the leaves of `parts`, from element `start` on.
    ///
    /// # Errors
    /// If elements are beyond the table, `source` is too short, or the file cannot be written.
    pub fn write(&mut self, parts: &[Part], start: u64, count: usize, source: &[u8], stride: usize) -> Result<()> {
        self.put(parts, start, count, source, stride)?;
        if self.ranks.is_some() {
            parts.iter().for_each(|part| self.note(part.leaf, start, count as u64));
        }
        Ok(())
    }

    /// As [`Table::write`], for elements that other ranks have or do not need, such as fill values.
    pub(super) fn put(&mut self, parts: &[Part], start: u64, count: usize, source: &[u8], stride: usize) -> Result<()> {
        self.check(start, count)?;
        if let Some(mut copy) = self.copy_without(parts, &(start..start + count as u64))? {
            copy.put(parts, start, count, source, stride)?;
            copy.settle()?;
            self.replace_with(copy);
            return Ok(());
        }
        self.own(None)?;
        self.touched = self.touched.max(start + count as u64);
        let (in_file, in_memory) = self.in_file_and_memory(parts);
        for part in &in_memory {
            let lane = self.lane(part);
            let Store::Memory(all) = &mut self.stores[part.leaf] else { continue };
            let to = all.get_mut(start as usize * lane.bytes..(start as usize + count) * lane.bytes);
            deinterleave(source, stride, &[lane], &mut [to.ok_or_else(|| error!("elements are beyond the end of the table"))?])?;
        }
        let lanes: Vec<Lane> = in_file.iter().map(|part| self.lane(part)).collect();
        if self.keep_tail(&in_file, &lanes, start, count, source, stride)? {
            return Ok(());
        }
        // One thread: Linux serializes writes to a file.
        self.write_file(&in_file, start, count, source, stride)
    }

    /// Allocates the blocks of `count` elements of leaves in a file, which are written next.
    pub(super) fn preallocate(&self, parts: &[Part], start: u64, count: u64) -> Result<()> {
        let file = self.backing.file()?;
        for (batch, first, held) in parts_of(&self.batches, start, count) {
            for part in parts {
                let bytes = self.leaves[part.leaf].bytes;
                preallocate(file, place(batch, part.leaf, bytes, first), held * bytes as u64);
            }
        }
        Ok(())
    }

    pub(super) fn write_file(&self, parts: &[Part], start: u64, count: usize, source: &[u8], stride: usize) -> Result<()> {
        if parts.is_empty() {
            return Ok(());
        }
        let (file, lanes) = (self.backing.file()?, parts.iter().map(|part| self.lane(part)).collect::<Vec<_>>());
        let row: usize = lanes.iter().map(|lane| lane.bytes).sum();
        self.preallocate(parts, start, count as u64)?;
        SCRATCH.with_borrow_mut(|scratch| {
            for (batch, first, held) in parts_of(&self.batches, start, count as u64) {
                let records = source.get((first - start) as usize * stride..).ok_or_else(|| error!("the memory buffer is too short"))?;
                if let ([part], [lane]) = (parts, &lanes[..])
                    && lane.bytes == stride
                    && lane.swap_bytes == 1
                {
                    let bytes = records.get(..held as usize * stride).ok_or_else(|| error!("the memory buffer is too short"))?;
                    let at = place(batch, part.leaf, lane.bytes, first);
                    write_pieces(file, bytes, at)?;
                    continue;
                }
                for done in (0..held as usize).step_by(BLOCK_ELEMENTS) {
                    let now = BLOCK_ELEMENTS.min(held as usize - done);
                    if scratch.len() < now * row {
                        scratch.resize(now * row, 0);
                    }
                    let mut columns = cut(scratch, &lanes, now);
                    deinterleave(records.get(done * stride..).ok_or_else(|| error!("the memory buffer is too short"))?, stride, &lanes, &mut columns)?;
                    for ((part, lane), column) in parts.iter().zip(&lanes).zip(columns) {
                        write_pieces(file, column, place(batch, part.leaf, lane.bytes, first + done as u64))?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Reads `count` elements from element `start` on into `target`, `stride` bytes apart.
    ///
    /// # Errors
    /// If elements are beyond the table, `target` is too short, or the file cannot be read.
    pub fn read(&self, parts: &[Part], start: u64, count: usize, target: &mut [u8], stride: usize) -> Result<()> {
        self.check(start, count)?;
        self.settle()?;
        let (in_file, in_memory) = self.in_file_and_memory(parts);
        if !in_memory.is_empty() {
            let (mut lanes, mut columns) = (Vec::new(), Vec::new());
            for part in &in_memory {
                let lane = self.lane(part);
                let Store::Memory(all) = &self.stores[part.leaf] else { continue };
                columns.push(
                    all.get(start as usize * lane.bytes..(start as usize + count) * lane.bytes)
                        .ok_or_else(|| error!("elements are beyond the end of the table"))?,
                );
                lanes.push(lane);
            }
            interleave(&columns, &lanes, target, stride)?;
        }
        let threads = self.threads_for(&in_file, count, stride);
        if threads == 1 {
            return self.read_file(&in_file, start, count, target, stride);
        }
        let each = count.div_ceil(threads);
        std::thread::scope(|scope| {
            let in_file = &in_file;
            let mut pieces = target.chunks_mut(each * stride).enumerate().map(|(i, piece)| {
                let now = each.min(count.saturating_sub(i * each));
                move || self.read_file(in_file, start + (i * each) as u64, now, piece, stride)
            });
            let own = pieces.next();
            let others: Vec<_> = pieces.map(|piece| scope.spawn(piece)).collect();
            let own = own.map_or(Ok(()), |mut own| own());
            others.into_iter().map(|other| other.join().unwrap_or_else(|_| Err(error!("a thread of the connector panicked")))).fold(own, Result::and)
        })
    }

    fn read_file(&self, parts: &[Part], start: u64, count: usize, target: &mut [u8], stride: usize) -> Result<()> {
        if parts.is_empty() {
            return Ok(());
        }
        let lanes: Vec<Lane> = parts.iter().map(|part| self.lane(part)).collect();
        for (batch, first, held) in parts_of(&self.batches, start, count as u64) {
            let (held, at) = (held as usize, |part: &Part, lane: &Lane, done: usize| place(batch, part.leaf, lane.bytes, first + done as u64));
            let records = target.get_mut((first - start) as usize * stride..).ok_or_else(|| error!("the memory buffer is too short"))?;
            if let ([part], [lane]) = (parts, &lanes[..])
                && lane.bytes == stride
                && lane.swap_bytes == 1
            {
                let to = records.get_mut(..held * stride).ok_or_else(|| error!("the memory buffer is too short"))?;
                self.backing.file()?.read_exact_at(to, at(part, lane, 0))?;
                continue;
            }
            if let Backing::Published(published) = &self.backing {
                let mapped: Option<Vec<&[u8]>> = parts.iter().zip(&lanes).map(|(part, lane)| published.mapped(at(part, lane, 0), held * lane.bytes)).collect();
                if let Some(columns) = mapped {
                    interleave(&columns, &lanes, records, stride)?;
                    continue;
                }
            }
            self.read_blocks(parts, &lanes, held, records, stride, at)?;
        }
        Ok(())
    }

    /// Reads without a memory map.
    fn read_blocks(
        &self,
        parts: &[Part],
        lanes: &[Lane],
        count: usize,
        records: &mut [u8],
        stride: usize,
        at: impl Fn(&Part, &Lane, usize) -> u64,
    ) -> Result<()> {
        let (file, row) = (self.backing.file()?, lanes.iter().map(|lane| lane.bytes).sum::<usize>());
        SCRATCH.with_borrow_mut(|scratch| {
            for done in (0..count).step_by(BLOCK_ELEMENTS) {
                let now = BLOCK_ELEMENTS.min(count - done);
                if scratch.len() < now * row {
                    scratch.resize(now * row, 0);
                }
                let columns = cut(scratch, lanes, now);
                let mut read: Vec<&[u8]> = Vec::with_capacity(columns.len());
                for ((part, lane), column) in parts.iter().zip(lanes).zip(columns) {
                    file.read_exact_at(column, at(part, lane, done))?;
                    read.push(column);
                }
                interleave(&read, lanes, records.get_mut(done * stride..).ok_or_else(|| error!("the memory buffer is too short"))?, stride)?;
            }
            Ok(())
        })
    }
}
