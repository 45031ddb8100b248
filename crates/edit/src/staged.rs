//! A file with changes that are not committed: a storage that shows them to readers.
//!
//! Bytes after the end of the committed file may be written to the disk at any time, because nothing in the file leads to them yet: large ones
//! at once, small ones together. Changes of committed bytes stay in memory, in images of whole blocks, until the commit puts them into its
//! journal. The file is locked, so blocks that were read are kept.

mod allocation;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::ThreadId;

use hyperslab_array::{Error, Result};
use hyperslab_storage::{Storage, check_open};

use crate::disk::Disk;
use crate::free_space::FreeSpace;
use crate::savepoint::Savepoint;

/// Bytes of a block: the size of an image in the journal, and the minimum that a file system writes.
pub(crate) const BLOCK_BYTES: u64 = 4096;
/// Maximum bytes of committed blocks that one commit changes; limits its memory.
const MAX_STAGED_BYTES: u64 = 1 << 30;
/// Maximum bytes of one commit that go into free ranges: they are written twice, like all in-place changes.
const MAX_REUSED_BYTES: u64 = 64 << 20;
/// Minimum bytes of a write that goes to the disk at once, and of a read that bypasses the kept blocks.
const DIRECT_BYTES: usize = 64 << 10;
/// Maximum bytes kept in memory: new bytes, and committed bytes that were read.
const MAX_KEPT_BYTES: u64 = 8 << 20;

/// A file with the changes of a transaction.
pub(crate) struct Staged {
    disk: Arc<dyn Disk>,
    name: String,
    /// The largest end that the addresses of the file allow.
    max_end: u64,
    closed: AtomicBool,
    state: RwLock<State>,
    /// The committed bytes of blocks that were read and not changed, by their number.
    clean: Mutex<HashMap<u64, Box<[u8]>>>,
}

/// What a transaction has changed.
pub(crate) struct State {
    /// Bytes in front of this are committed.
    pub committed_end: u64,
    /// The end of what was allocated.
    pub end: u64,
    /// Images of changed blocks of the committed file, by their number.
    pub blocks: BTreeMap<u64, Vec<u8>>,
    /// Blocks with bytes after the committed end that are not on the disk yet, by their number.
    fresh: BTreeMap<u64, Vec<u8>>,
    /// Bytes of the file on the disk.
    disk_end: u64,
    /// Ranges that nothing leads to.
    pub free: FreeSpace,
    /// What was allocated last around the committed end, in a free range on both sides of it.
    around_end: Option<(u64, u64)>,
    /// Number of changes made, by which views know that they are of an earlier state.
    pub generation: u64,
    /// The thread that makes a change: others must not read its parts.
    pub changing: Option<ThreadId>,
    /// What the change under way has overwritten.
    savepoint: Option<Savepoint>,
}

impl Staged {
    /// Nothing is changed yet of a file of `committed_end` bytes, and at most `max_end`, with these free ranges.
    pub fn new(disk: Arc<dyn Disk>, committed_end: u64, max_end: u64, free: FreeSpace) -> Self {
        let name = disk.name().to_owned();
        let state = State {
            committed_end,
            end: committed_end,
            blocks: BTreeMap::new(),
            fresh: BTreeMap::new(),
            disk_end: committed_end,
            free,
            around_end: None,
            generation: 0,
            changing: None,
            savepoint: None,
        };
        Self { disk, name, max_end, closed: AtomicBool::new(false), state: RwLock::new(state), clean: Mutex::default() }
    }

    /// Changes bytes that are committed or allocated.
    ///
    /// # Errors
    /// `Io` if they cannot be written; `LimitExceeded` if the commit would change too much in place.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.remember(offset, bytes.len())?;
        let mut state = self.change()?;
        let end = offset.checked_add(bytes.len() as u64).filter(|end| *end <= state.end);
        end.ok_or_else(|| Error::internal("bytes written where nothing was allocated"))?;
        let committed = usize::try_from(state.committed_end.saturating_sub(offset)).unwrap_or(usize::MAX).min(bytes.len());
        let (in_place, new) = bytes.split_at_checked(committed).ok_or_else(|| Error::internal("more committed bytes than bytes"))?;
        self.write_new(&mut state, offset + committed as u64, new)?;
        let (mut at, mut rest) = (offset, in_place);
        while !rest.is_empty() {
            let (number, within) = (at / BLOCK_BYTES, at % BLOCK_BYTES);
            let block = self.block(&mut state, number)?;
            let target = usize::try_from(within).ok().and_then(|within| block.get_mut(within..)).unwrap_or_default();
            let length = target.len().min(rest.len());
            let (part, after) = rest.split_at(length);
            if length == 0 {
                return Err(Error::internal("a block that ends before its bytes"));
            }
            target.split_at_mut(length).0.copy_from_slice(part);
            (at, rest) = (at + length as u64, after);
        }
        Ok(())
    }

    /// Does `change` whole or not at all: after an error, nothing of it is left.
    ///
    /// # Errors
    /// The error of `change`.
    pub fn whole<T>(&self, change: impl FnOnce() -> Result<T>) -> Result<T> {
        {
            let mut state = self.change()?;
            state.changing = Some(std::thread::current().id());
            state.savepoint = Some(Savepoint { end: state.end, free: state.free.clone(), overwritten: Vec::new() });
        }
        let outcome = change();
        let savepoint = self.change()?.savepoint.take();
        let Some(savepoint) = savepoint else { return Err(Error::internal("a change without its savepoint")) };
        if outcome.is_err() {
            for (offset, bytes) in savepoint.overwritten.iter().rev() {
                self.write(*offset, bytes)?;
            }
            let mut state = self.change()?;
            (state.end, state.free) = (savepoint.end, savepoint.free);
            let end = state.end;
            state.fresh.retain(|number, _| number * BLOCK_BYTES < end);
            if let Some((number, block)) = state.fresh.last_entry().map(|entry| (*entry.key(), entry.into_mut())) {
                block.iter_mut().skip(usize::try_from(end - number * BLOCK_BYTES).unwrap_or(usize::MAX)).for_each(|byte| *byte = 0);
            }
        }
        let mut state = self.change()?;
        (state.generation, state.changing) = (state.generation + 1, None);
        drop(state);
        outcome
    }

    /// Keeps what a write overwrites.
    fn remember(&self, offset: u64, length: usize) -> Result<()> {
        let Some(end) = self.state()?.savepoint.as_ref().map(|savepoint| savepoint.end) else { return Ok(()) };
        let kept = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX).min(length);
        if kept > 0 {
            let mut bytes = vec![0; kept];
            self.read_exact_at(offset, &mut bytes)?;
            if let Some(savepoint) = &mut self.change()?.savepoint {
                savepoint.overwritten.push((offset, bytes));
            }
        }
        Ok(())
    }

    /// Writes bytes after the committed end.
    fn write_new(&self, state: &mut State, offset: u64, bytes: &[u8]) -> Result<()> {
        if bytes.len() >= DIRECT_BYTES {
            // Blocks that only a part of it covers have other new bytes.
            self.spill(state, offset / BLOCK_BYTES..(offset + bytes.len() as u64).div_ceil(BLOCK_BYTES))?;
            self.disk.write(offset, bytes)?;
            state.disk_end = state.disk_end.max(offset + bytes.len() as u64);
            return Ok(());
        }
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let (number, within) = (at / BLOCK_BYTES, at % BLOCK_BYTES);
            let block = self.fresh_block(state, number)?;
            let target = usize::try_from(within).ok().and_then(|within| block.get_mut(within..)).unwrap_or_default();
            let length = target.len().min(rest.len());
            let (part, after) = rest.split_at(length);
            target.split_at_mut(length).0.copy_from_slice(part);
            (at, rest) = (at + length as u64, after);
        }
        if state.fresh.len() as u64 * BLOCK_BYTES > MAX_KEPT_BYTES {
            self.spill(state, 0..u64::MAX)?;
        }
        Ok(())
    }

    /// The new bytes of a block.
    fn fresh_block<'a>(&self, state: &'a mut State, number: u64) -> Result<&'a mut Vec<u8>> {
        if !state.fresh.contains_key(&number) {
            let mut block = zeros(BLOCK_BYTES)?;
            let start = number * BLOCK_BYTES;
            let there = start.max(state.committed_end)..(start + BLOCK_BYTES).min(state.disk_end);
            if let Some(part) = within(start, &there).and_then(|range| block.get_mut(range)) {
                self.disk.read(there.start, part)?;
            }
            state.fresh.insert(number, block);
        }
        state.fresh.get_mut(&number).ok_or_else(|| Error::internal("a block that was just made"))
    }

    /// Writes the new bytes of these blocks to the disk.
    fn spill(&self, state: &mut State, numbers: Range<u64>) -> Result<()> {
        let mut runs: Vec<(u64, Vec<u8>)> = Vec::new();
        for (number, block) in state.fresh.range(numbers.clone()) {
            let start = number * BLOCK_BYTES;
            let new = start.max(state.committed_end)..(start + BLOCK_BYTES).min(state.end);
            let Some(bytes) = within(start, &new).and_then(|range| block.get(range)) else { continue };
            match runs.last_mut() {
                Some((first, run)) if *first + run.len() as u64 == new.start => run.extend(bytes),
                _ => runs.push((new.start, bytes.to_vec())),
            }
        }
        for (offset, bytes) in runs {
            self.disk.write(offset, &bytes)?;
            state.disk_end = state.disk_end.max(offset + bytes.len() as u64);
        }
        state.fresh.retain(|number, _| !numbers.contains(number));
        Ok(())
    }

    /// Writes all new bytes to the disk, in front of a commit.
    ///
    /// # Errors
    /// `Io`, such as of a full disk, after which the bytes are kept.
    pub fn write_out(&self) -> Result<()> {
        let mut state = self.change()?;
        self.spill(&mut state, 0..u64::MAX)
    }

    /// All changes are on the disk, in a file of `end` bytes.
    ///
    /// # Errors
    /// `Internal` after a panic during a change.
    pub fn committed(&self, end: u64) -> Result<RwLockWriteGuard<'_, State>> {
        let mut state = self.change()?;
        state.blocks.clear();
        (state.committed_end, state.disk_end) = (end, end);
        self.clean()?.clear();
        Ok(state)
    }

    /// Drops all changes since the last commit.
    ///
    /// # Errors
    /// `Io` if the file cannot be cut back to its length; its content is as before anyway.
    pub fn roll_back(&self) -> Result<()> {
        let mut state = self.change()?;
        state.blocks.clear();
        state.fresh.clear();
        state.free.roll_back();
        state.generation += 1;
        state.end = state.committed_end;
        // Also after a change or a commit that failed: what it wrote after the end is still there.
        if self.disk.len()? > state.committed_end {
            self.disk.set_len(state.committed_end)?;
        }
        state.disk_end = state.committed_end;
        Ok(())
    }

    fn clean(&self) -> Result<std::sync::MutexGuard<'_, HashMap<u64, Box<[u8]>>>> {
        self.clean.lock().map_err(|_| Error::internal("an earlier read failed half-way"))
    }

    /// The image of a block, as it is on the disk if it was not changed yet.
    fn block<'a>(&self, state: &'a mut State, number: u64) -> Result<&'a mut Vec<u8>> {
        if !state.blocks.contains_key(&number) {
            if (state.blocks.len() as u64 + 1) * BLOCK_BYTES > MAX_STAGED_BYTES {
                return Err(Error::limit_exceeded(format!("more than {MAX_STAGED_BYTES} bytes are changed in place: call flush() between the changes"))
                    .in_file(&self.name));
            }
            let start = number * BLOCK_BYTES;
            let length = BLOCK_BYTES.min(state.committed_end.saturating_sub(start));
            let mut image = zeros(length)?;
            match self.clean()?.remove(&number) {
                Some(known) => image = known.into_vec(),
                None => self.disk.read(start, &mut image)?,
            }
            state.blocks.insert(number, image);
        }
        state.blocks.get_mut(&number).ok_or_else(|| Error::internal("a block that was just loaded"))
    }

    /// The changes.
    pub fn state(&self) -> Result<RwLockReadGuard<'_, State>> {
        self.state.read().map_err(|_| Error::internal("an earlier change failed half-way"))
    }

    /// The changes, to change them.
    pub fn change(&self) -> Result<RwLockWriteGuard<'_, State>> {
        check_open(self)?;
        self.state.write().map_err(|_| Error::internal("an earlier change failed half-way"))
    }
}

impl Storage for Staged {
    fn len(&self) -> u64 {
        self.state.read().map_or(0, |state| state.end)
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_open(self)?;
        let state = self.state()?;
        self.read_from(&state, offset, buffer)
    }
    fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn beside(&self, name: &str) -> Result<Arc<dyn Storage>> {
        self.disk.beside(name)
    }
}

impl Staged {
    /// Fills `buffer` with bytes of the file as `state` has it.
    ///
    /// # Errors
    /// `Corrupt` beyond the end of the file; `Io`.
    pub fn read_from(&self, state: &State, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let end = offset.checked_add(buffer.len() as u64).filter(|end| *end <= state.end);
        let end =
            end.ok_or_else(|| Error::corrupt(format!("{} bytes are needed here but the file ends at byte {}", buffer.len(), state.end)).at_offset(offset))?;
        if buffer.len() < DIRECT_BYTES { self.read_blocks(state, offset..end, buffer) } else { self.read_directly(state, offset..end, buffer) }
    }

    /// Reads block by block; committed ones are kept.
    fn read_blocks(&self, state: &State, range: Range<u64>, buffer: &mut [u8]) -> Result<()> {
        for number in range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES) {
            let start = number * BLOCK_BYTES;
            let block_end = start + BLOCK_BYTES;
            let old = range.start.max(start)..range.end.min(block_end).min(state.committed_end);
            if let Some(target) = within(range.start, &old).and_then(|part| buffer.get_mut(part)) {
                let mut clean = self.clean()?;
                let image = match (state.blocks.get(&number), clean.contains_key(&number)) {
                    (Some(image), _) => image.as_slice(),
                    (None, true) => clean.get(&number).map_or(&[][..], |image| image),
                    (None, false) => {
                        let mut image = zeros(BLOCK_BYTES.min(state.committed_end - start))?;
                        self.disk.read(start, &mut image)?;
                        if clean.len() as u64 * BLOCK_BYTES >= MAX_KEPT_BYTES {
                            clean.clear();
                        }
                        clean.entry(number).or_insert(image.into_boxed_slice())
                    }
                };
                let source = within(start, &old).and_then(|part| image.get(part)).ok_or_else(|| Error::internal("a block that ends before its bytes"))?;
                target.copy_from_slice(source);
            }
            let new = range.start.max(start).max(state.committed_end)..range.end.min(block_end);
            if let Some(target) = within(range.start, &new).and_then(|part| buffer.get_mut(part)) {
                match state.fresh.get(&number).and_then(|block| block.get(within(start, &new)?)) {
                    Some(source) => target.copy_from_slice(source),
                    None => self.read_disk(state, new.start, target)?,
                }
            }
        }
        Ok(())
    }

    /// Reads past the blocks that are kept.
    fn read_directly(&self, state: &State, range: Range<u64>, buffer: &mut [u8]) -> Result<()> {
        self.read_disk(state, range.start, buffer)?;
        let numbers = range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES);
        let mut lay_over = |number: &u64, image: &[u8], valid: Range<u64>| {
            let start = number * BLOCK_BYTES;
            let part = valid.start.max(range.start)..valid.end.min(range.end);
            if let (Some(target), Some(source)) =
                (within(range.start, &part).and_then(|part| buffer.get_mut(part)), within(start, &part).and_then(|part| image.get(part)))
            {
                target.copy_from_slice(source);
            }
        };
        for (number, image) in state.blocks.range(numbers.clone()) {
            let start = number * BLOCK_BYTES;
            lay_over(number, image, start..start + image.len() as u64);
        }
        for (number, block) in state.fresh.range(numbers) {
            let start = number * BLOCK_BYTES;
            lay_over(number, block, start.max(state.committed_end)..start + BLOCK_BYTES);
        }
        Ok(())
    }

    /// Reads from the disk. What is allocated and was never written is zeros.
    fn read_disk(&self, state: &State, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let there = usize::try_from(state.disk_end.saturating_sub(offset)).unwrap_or(usize::MAX).min(buffer.len());
        let (there, beyond) = buffer.split_at_mut_checked(there).ok_or_else(|| Error::internal("a length beyond its buffer"))?;
        if !there.is_empty() {
            self.disk.read(offset, there)?;
        }
        beyond.fill(0);
        Ok(())
    }
}

/// A buffer of zeros.
fn zeros(bytes: u64) -> Result<Vec<u8>> {
    let bytes = usize::try_from(bytes).map_err(|_| Error::limit_exceeded(format!("{bytes} bytes exceed the address space")))?;
    Ok(vec![0; bytes])
}

/// A range of the file as one of bytes that begin at `base`; `None` if it is empty.
fn within(base: u64, range: &Range<u64>) -> Option<Range<usize>> {
    let place = |at: u64| usize::try_from(at.checked_sub(base)?).ok();
    if range.is_empty() { None } else { Some(place(range.start)?..place(range.end)?) }
}
