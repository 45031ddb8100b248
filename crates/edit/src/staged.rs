//! A file with changes that are not committed: a storage that shows them to readers.
//!
//! Bytes after the end of the committed file are written to the disk at once, because nothing in the file leads to them yet.
//! Changes of committed bytes stay in memory, in images of whole blocks, until the commit puts them into its journal.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::ThreadId;

use hyperslab_array::{Error, Result};
use hyperslab_storage::{Storage, check_open};

use crate::disk::Disk;
use crate::free_space::FreeSpace;
use crate::savepoint::Savepoint;

/// Bytes of a block: of an image in the journal, and what a file system writes at least.
pub(crate) const BLOCK_BYTES: u64 = 4096;
/// Most bytes of committed blocks that one commit changes; more memory than that is not spent.
const MAX_STAGED_BYTES: u64 = 1 << 30;
/// Most bytes of one commit that go into free ranges: they are written twice, as all that is changed in place.
const MAX_REUSED_BYTES: u64 = 64 << 20;
/// Where new structures begin: readers of older versions expect nothing narrower.
const ALIGNMENT: u64 = 8;

/// A file with the changes of a transaction.
pub(crate) struct Staged {
    disk: Arc<dyn Disk>,
    name: String,
    closed: AtomicBool,
    state: RwLock<State>,
}

/// What a transaction has changed.
pub(crate) struct State {
    /// Bytes in front of this are committed.
    pub committed_end: u64,
    /// The end of what was allocated.
    pub end: u64,
    /// Images of changed blocks of the committed file, by their number.
    pub blocks: BTreeMap<u64, Vec<u8>>,
    /// Ranges that nothing leads to.
    pub free: FreeSpace,
    /// Number of changes made, by which views know that they are of an earlier state.
    pub generation: u64,
    /// The thread that makes a change: others must not read its parts.
    pub changing: Option<ThreadId>,
    /// What the change under way has overwritten.
    savepoint: Option<Savepoint>,
}

impl Staged {
    /// Nothing is changed yet of a file of `committed_end` bytes with these free ranges.
    pub fn new(disk: Arc<dyn Disk>, committed_end: u64, free: FreeSpace) -> Self {
        let name = disk.name().to_owned();
        Self {
            disk,
            name,
            closed: AtomicBool::new(false),
            state: RwLock::new(State { committed_end, end: committed_end, blocks: BTreeMap::new(), free, generation: 0, changing: None, savepoint: None }),
        }
    }

    /// Room for `bytes`, all zeros: in a free range, or after all that there is. Returns its offset.
    ///
    /// # Errors
    /// `Unsupported` beyond 63 bits; `Io`.
    pub fn allocate(&self, bytes: u64) -> Result<u64> {
        let mut state = self.change()?;
        let is_affordable = (state.blocks.len() as u64 * BLOCK_BYTES).saturating_add(bytes) <= MAX_REUSED_BYTES;
        if is_affordable && let Some(start) = state.free.take(bytes) {
            drop(state);
            self.write(start, &vec![0; usize::try_from(bytes).unwrap_or(0)])?;
            return Ok(start);
        }
        drop(state);
        self.extend(bytes)
    }

    /// Room for `bytes` after all that there is; returns its offset.
    ///
    /// # Errors
    /// `Unsupported` beyond 63 bits.
    pub fn extend(&self, bytes: u64) -> Result<u64> {
        let mut state = self.change()?;
        let start = state.end.next_multiple_of(ALIGNMENT);
        let end = state.end;
        state.free.release((end, start - end), 0);
        state.end = start.checked_add(bytes).filter(|end| i64::try_from(*end).is_ok()).ok_or_else(|| Error::unsupported("a file beyond 63 bits"))?;
        Ok(start)
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
        if !new.is_empty() {
            self.disk.write(offset + committed as u64, new)?;
        }
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
            target.iter_mut().zip(part).for_each(|(to, byte)| *to = *byte);
            (at, rest) = (at + length as u64, after);
        }
        Ok(())
    }

    /// Does `change` whole or not at all: after an error, nothing of it is left.
    ///
    /// # Errors
    /// That of `change`.
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

    /// The image of a block, as it is on the disk if it was not changed yet.
    fn block<'a>(&self, state: &'a mut State, number: u64) -> Result<&'a mut Vec<u8>> {
        if !state.blocks.contains_key(&number) {
            if (state.blocks.len() as u64 + 1) * BLOCK_BYTES > MAX_STAGED_BYTES {
                return Err(Error::limit_exceeded(format!("more than {MAX_STAGED_BYTES} bytes are changed in place: call flush() between the changes"))
                    .in_file(&self.name));
            }
            let start = number * BLOCK_BYTES;
            let length = BLOCK_BYTES.min(state.committed_end.saturating_sub(start));
            let mut image = vec![0; usize::try_from(length).unwrap_or(0)];
            self.disk.read(start, &mut image)?;
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
        let written = self.disk.len()?.saturating_sub(offset).min(buffer.len() as u64);
        let (there, beyond) = usize::try_from(written)
            .ok()
            .and_then(|written| buffer.split_at_mut_checked(written))
            .ok_or_else(|| Error::internal("a length beyond its buffer"))?;
        if !there.is_empty() {
            self.disk.read(offset, there)?;
        }
        // Allocated, and not written yet.
        beyond.fill(0);
        for (number, image) in state.blocks.range(offset / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES)) {
            let start = number * BLOCK_BYTES;
            let (from, to) = (start.max(offset), (start + image.len() as u64).min(end));
            let range = |base: u64| Some(usize::try_from(from.checked_sub(base)?).ok()?..usize::try_from(to.checked_sub(base)?).ok()?);
            if let (Some(target), Some(source)) = (range(offset).and_then(|range| buffer.get_mut(range)), range(start).and_then(|range| image.get(range))) {
                target.copy_from_slice(source);
            }
        }
        Ok(())
    }
}
