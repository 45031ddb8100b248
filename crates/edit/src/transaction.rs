//! Transaction: changes of one file that become visible together, or not at all.

use std::path::Path;
use std::sync::Arc;

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::Limits;
use hyperslab_formats::hdf5::edit::{FileSpace, PageKind, Space, SuperblockImage};
use hyperslab_storage::Storage;

use crate::commit::{Prepared, settle, superblock};
use crate::disk::{Disk, LocalDisk};
use crate::free_space::{self, FreeSpace};
use crate::journal::Change;
use crate::ranges::{Paging, Pool, Range};
use crate::snapshot::Snapshot;
use crate::staged::{BLOCK_BYTES, Staged};

/// Changes of a file that this process has locked. Those that are not committed are dropped with it.
pub struct Transaction {
    disk: Arc<dyn Disk>,
    staged: Arc<Staged>,
    superblock: SuperblockImage,
    /// How the file divides its space.
    file_space: FileSpace,
    /// Whether a commit failed after the mark was written: its change is in the journal.
    is_in_doubt: bool,
}

impl Transaction {
    /// Locks the file at `path`, completes or drops what an interrupted edit left, and begins.
    ///
    /// # Errors
    /// `Conflict` while another program has the file open; `InvalidInput` if it is not HDF5; `NotFound`, `Io`, `Corrupt` or
    /// `Unsupported` if it cannot be edited.
    pub fn open(path: &Path) -> Result<Self> {
        Self::begin(Arc::new(LocalDisk::open(path)?)).map_err(|error| error.in_file(path.display().to_string()))
    }

    pub(crate) fn begin(disk: Arc<dyn Disk>) -> Result<Self> {
        settle(disk.as_ref())?;
        let superblock = superblock(disk.as_ref())?;
        if superblock.is_open_elsewhere() {
            return Err(Error::busy("a program has the file open for writing, or was killed while it had: close it there, or clear the flag with h5clear -s"));
        }
        let (stated, length) = (superblock.end()?, disk.len()?);
        if length < stated {
            return Err(Error::corrupt(format!("the file is truncated: it has {length} of {stated} bytes")));
        }
        // What lies after the stated end stays: it may belong to another program.
        let max_end = superblock.max_end();
        let as_it_is: Arc<dyn Storage> = Arc::new(Staged::new(disk.clone(), length, max_end, FreeSpace::default()));
        let file_space = FileSpace::read(as_it_is, &Limits::default())?;
        let paging = file_space.page_bytes.map(|page_bytes| Paging { base: superblock.place(), page_bytes });
        let read = |offset: u64, buffer: &mut [u8]| disk.read(offset, buffer).is_ok();
        let first = superblock.place().saturating_add(superblock.bytes().len() as u64);
        let may_be_listed = file_space.page_bytes.is_none_or(free_space::may_be_listed);
        let listed = if may_be_listed { free_space::find(&read, first, stated, superblock.place()) } else { None };
        let staged = Staged::new(disk.clone(), length, max_end, FreeSpace::of_file(listed, paging));
        Ok(Self { staged: Arc::new(staged), disk, superblock, file_space, is_in_doubt: false })
    }

    /// The file with all changes so far.
    pub fn storage(&self) -> Arc<dyn Storage> {
        self.staged.clone()
    }

    /// The file as it is until the next change.
    ///
    /// # Errors
    /// `Internal` after a panic during a change.
    pub fn snapshot(&self) -> Result<Arc<dyn Storage>> {
        Ok(Arc::new(Snapshot::new(self.staged.clone())?))
    }

    /// The absolute offset that addresses in the file count from.
    pub fn base_address(&self) -> u64 {
        self.superblock.place()
    }

    /// Room for `bytes` in a free range or at the end of the file; returns its offset. In a file of pages, it is in pages of this kind.
    ///
    /// # Errors
    /// `Unsupported` for a file beyond 63 bits, or beyond what its addresses can hold.
    pub fn allocate(&self, kind: PageKind, bytes: u64) -> Result<u64> {
        self.check()?;
        self.staged.allocate(kind, bytes)
    }

    /// Frees a range of the file that nothing refers to, allocated for this kind. It is used again after the next commit.
    ///
    /// # Errors
    /// `Internal` after a panic during a change.
    pub fn free(&self, kind: PageKind, offset: u64, bytes: u64) -> Result<()> {
        self.check()?;
        let mut state = self.staged.change()?;
        let (first, end) = (self.superblock.place() + self.superblock.bytes().len() as u64, state.committed_end);
        if offset >= first && offset.checked_add(bytes).is_some_and(|range_end| range_end <= state.end) {
            state.free.release(kind, (offset, bytes), end);
        }
        Ok(())
    }

    /// Changes bytes, which must lie in the file or have been allocated.
    ///
    /// # Errors
    /// `Io` if they cannot be written; `LimitExceeded` if too much is changed in place by one commit.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.check()?;
        self.staged.write(offset, bytes)
    }

    /// Does `change`, which writes and allocates, whole or not at all.
    ///
    /// # Errors
    /// That of `change`, after which nothing of it is left.
    pub fn whole<T>(&self, change: impl FnOnce() -> Result<T>) -> Result<T> {
        self.check()?;
        self.staged.whole(change)
    }

    /// Whether there are changes that are not committed.
    pub fn is_changed(&self) -> bool {
        self.staged.state().is_ok_and(|state| !state.blocks.is_empty() || state.end != state.committed_end)
    }

    /// Makes all changes visible at once, and returns whether there were any. After an error before that moment, the file is as
    /// before and the changes are kept: a later call tries again.
    ///
    /// # Errors
    /// `Io`, such as of a full disk. The message says if the change is committed and the next opening completes it.
    pub fn commit(&mut self) -> Result<bool> {
        self.check()?;
        if !self.is_changed() {
            return Ok(false);
        }
        let listed = self.list_free_space()?;
        self.state_end()?;
        self.staged.write_out()?;
        let Some(mut change) = self.change()? else { return Ok(false) };
        if let Some(List { place: (start, length), is_new: true, .. }) = &listed {
            change.runs.push((start + length - free_space::MAGIC_BYTES, free_space::MAGIC.to_vec()));
        }
        let in_file = |error: Error| if error.file().is_none() { error.in_file(self.disk.name()) } else { error };
        let (new, end) = (change.new.clone(), change.end);
        let prepared = Prepared::new(self.disk.as_ref(), change).map_err(in_file)?;
        if let Err(error) = prepared.mark().and_then(|marked| marked.apply()?.finish()) {
            self.is_in_doubt = true;
            let message = format!("{}; the edit is in its journal: the next opening for editing completes or drops it", error.message());
            return Err(in_file(Error::new(error.kind(), message)));
        }
        let mut state = self.staged.committed(end)?;
        state.free.commit(listed.map(|list| (list.place, list.ranges)));
        drop(state);
        self.superblock = new;
        Ok(true)
    }

    /// Drops all changes since the last commit.
    ///
    /// # Errors
    /// `Io` if the file cannot be cut back to its length; its content is as before anyway.
    pub fn roll_back(&mut self) -> Result<()> {
        self.check()?;
        self.staged.roll_back()
    }

    /// Puts the list of what is free after the commit into the last bytes of the file, as a part of the commit: a new one without its last
    /// magic number. `None` if the file has no list, or the one that it has is right.
    fn list_free_space(&self) -> Result<Option<List>> {
        let (end, listed, mut ranges) = {
            let state = self.staged.state()?;
            if !state.free.needs_list() {
                return Ok(None);
            }
            (state.end, state.free.listed.clone(), state.free.after_commit())
        };
        let base = self.base_address();
        if let Some(((start, length), found)) = listed {
            let list_end = start + length;
            if end - list_end <= free_space::LEFT_BYTES {
                if found == ranges {
                    return Ok(None);
                }
                if free_space::block_bytes(&ranges) <= length {
                    self.staged.write(start, &free_space::encode(&ranges, length, list_end, base))?;
                    return Ok(Some(List { place: (start, length), ranges, is_new: false }));
                }
            }
            self.staged.write(list_end - free_space::MAGIC_BYTES, &[0; 8])?;
            let mut state = self.staged.change()?;
            // The old list is free after this commit. If the commit fails and is tried again, this changes nothing.
            let committed_end = state.committed_end;
            state.free.release(PageKind::Metadata, (start, length), committed_end);
            ranges = state.free.after_commit();
        }
        let length = free_space::block_bytes(&ranges);
        let start = match self.staged.allocate_new(PageKind::Metadata, length) {
            // The file is nearly as large as its addresses allow. What is free is forgotten.
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                self.staged.change()?.free.loses_list = true;
                return Ok(None);
            }
            start => start?,
        };
        // It may have been free before: one that does not fit into the list any more is lost with the smallest of them.
        ranges = self.staged.state()?.free.after_commit();
        let mut list = free_space::encode(&ranges, length, start + length, base);
        list.truncate(list.len() - free_space::MAGIC.len());
        self.staged.write(start, &list)?;
        Ok(Some(List { place: (start, length), ranges, is_new: true }))
    }

    /// Writes where the file ends after the commit into its metadata, if that says so outside of the superblock.
    fn state_end(&self) -> Result<()> {
        let (end, committed_end) = {
            let state = self.staged.state()?;
            (state.end, state.committed_end)
        };
        if end == committed_end {
            return Ok(());
        }
        let address = end.checked_sub(self.base_address()).ok_or_else(|| Error::internal("an end in front of the superblock"))?;
        self.file_space.set_end(self.storage(), &Limits::default(), self, address)
    }

    /// The changes as a journal has them; `None` if there are none.
    fn change(&self) -> Result<Option<Change>> {
        let end = {
            let state = self.staged.state()?;
            if state.blocks.is_empty() && state.end == state.committed_end {
                return Ok(None);
            }
            state.end
        };
        let new = if end > self.staged.state()?.committed_end { self.superblock.with_end(end)? } else { self.superblock.clone() };
        let state = self.staged.state()?;
        let mut runs: Vec<(u64, Vec<u8>)> = Vec::new();
        for (number, image) in &state.blocks {
            match runs.last_mut() {
                Some((start, run)) if *start + run.len() as u64 == number * BLOCK_BYTES => run.extend(image),
                _ => runs.push((number * BLOCK_BYTES, image.clone())),
            }
        }
        // A run that covers the superblock must not clear the mark.
        let marked = new.with_mark(true);
        for (start, run) in &mut runs {
            for (at, byte) in (marked.place()..).zip(marked.bytes()) {
                if let Some(target) = at.checked_sub(*start).and_then(|at| usize::try_from(at).ok()).and_then(|at| run.get_mut(at)) {
                    *target = *byte;
                }
            }
        }
        Ok(Some(Change { old: self.superblock.clone(), new, old_end: state.committed_end, end, runs }))
    }

    fn check(&self) -> Result<()> {
        if !self.disk.is_ours() {
            return Err(Error::invalid_input("another process opened the file for editing: open it in this one").in_file(self.disk.name()));
        }
        if self.is_in_doubt {
            return Err(Error::invalid_input("an earlier commit was interrupted: close the file and open it again").in_file(self.disk.name()));
        }
        Ok(())
    }
}

/// The list of free space that a commit writes.
struct List {
    place: Range,
    ranges: Pool,
    /// Whether it lies after the end of the committed file.
    is_new: bool,
}

impl Space for Transaction {
    fn allocate(&self, kind: PageKind, bytes: u64) -> Result<u64> {
        let offset = Transaction::allocate(self, kind, bytes)?;
        offset.checked_sub(self.base_address()).ok_or_else(|| Error::internal("room in front of the superblock"))
    }
    fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        let offset = address.checked_add(self.base_address()).ok_or_else(|| Error::corrupt("an address beyond 64 bits"))?;
        Transaction::write(self, offset, bytes)
    }
    fn holds(&self, address: u64, bytes: u64) -> Result<bool> {
        let offset = address.checked_add(self.base_address()).ok_or_else(|| Error::corrupt("an address beyond 64 bits"))?;
        self.staged.holds(offset, bytes)
    }
    fn free(&self, kind: PageKind, address: u64, bytes: u64) -> Result<()> {
        let offset = address.checked_add(self.base_address()).ok_or_else(|| Error::corrupt("an address beyond 64 bits"))?;
        Transaction::free(self, kind, offset, bytes)
    }
    fn page_bytes(&self) -> Option<u64> {
        self.file_space.page_bytes
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.disk.is_ours() {
            // Best effort: what is left after the end of the file does no harm.
            let _ = self.roll_back();
            self.disk.release();
        }
        self.staged.close();
    }
}
