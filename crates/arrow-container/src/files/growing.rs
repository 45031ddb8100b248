//! The next state of a container that is one file. Large values are written straight into the file that will replace the archive, each
//! dataset in a region of its own, so that publishing does not copy them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::archive::{HEAD, Sealed, move_footer};
use super::names::unique_name;
use super::piece::Piece;
use crate::error::{Result, error};
use crate::lock;

/// If a file has more unused bytes than 1/8 of its used bytes, its files are copied to a new one when it is published.
const MAX_UNUSED_FRACTION: u64 = 8;

/// The growing file of a container, once there is one.
type Slot = Arc<Mutex<Option<Arc<Growing>>>>;

/// Where a container writes new values: in files of their own in a folder, or in regions of the file that will replace the archive.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub(crate) path: PathBuf,
    growing: Option<Slot>,
}

impl Workspace {
    /// Files of their own in this folder.
    pub(super) fn folder(path: PathBuf) -> Self {
        Self { path, growing: None }
    }

    /// Regions of a growing file in this folder.
    pub(super) fn of_one_file(path: PathBuf) -> Self {
        Self { path, growing: Some(Slot::default()) }
    }

    /// Reserves a region for values of `bytes` bytes, which are 0; `None` if values are written to files of their own. The byte at
    /// `head` in the region is at a multiple of `alignment` in the file.
    pub(crate) fn region(&self, bytes: u64, head: u64, alignment: u64) -> Result<Option<Region>> {
        let Some(slot) = &self.growing else { return Ok(None) };
        let growing = match &mut *lock(slot) {
            Some(growing) => Arc::clone(growing),
            none => Arc::clone(none.insert(Arc::new(Growing::new(&self.path)?))),
        };
        let start = {
            let mut state = lock(&growing.state);
            let start = (state.end + head).next_multiple_of(alignment) - head;
            // First without what an attempt to publish has left: the region has to be zeros.
            growing.file.set_len(state.end)?;
            growing.file.set_len(start + bytes)?;
            state.end = start + bytes;
            state.regions.insert(start, (bytes, Use::Open));
            start
        };
        Ok(Some(Region { growing, start, bytes }))
    }

    /// The growing file.
    pub(super) fn growing(&self) -> Option<Arc<Growing>> {
        lock(self.growing.as_ref()?).clone()
    }

    /// Values that are written from now on are in another file.
    pub(crate) fn forget_growing(&self) {
        if let Some(slot) = &self.growing {
            lock(slot).take();
        }
    }
}

impl From<&Path> for Workspace {
    fn from(path: &Path) -> Self {
        Self::folder(path.to_owned())
    }
}

/// What a region is used for.
#[derive(Debug)]
enum Use {
    /// Values that a table is still writing.
    Open,
    /// The Arrow file of this name, which is complete.
    Complete(String),
    /// Nothing.
    Free,
}

#[derive(Debug)]
struct State {
    /// End of the last region.
    end: u64,
    /// Length and use of each region, by its offset.
    regions: BTreeMap<u64, (u64, Use)>,
    /// The offsets of complete files, by name.
    names: BTreeMap<String, u64>,
}

/// A file that will replace the archive.
#[derive(Debug)]
pub(crate) struct Growing {
    file: Arc<File>,
    path: PathBuf,
    state: Mutex<State>,
}

/// A part of a [`Growing`] file that one table writes. If it is dropped, it is unused.
#[derive(Debug)]
pub(crate) struct Region {
    growing: Arc<Growing>,
    /// Its offset in the file.
    pub(crate) start: u64,
    /// Its length.
    pub(crate) bytes: u64,
}

impl Growing {
    fn new(folder: &Path) -> Result<Self> {
        let path = folder.join(format!(".{}.part", unique_name()));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file = file.map_err(|error| error!("cannot write in {}: {error}", folder.display()).with_source(error))?;
        let state = State { end: HEAD, regions: BTreeMap::new(), names: BTreeMap::new() };
        Ok(Self { file: Arc::new(file), path, state: Mutex::new(state) })
    }

    /// The bytes of the complete file of this name.
    pub(super) fn piece(&self, name: &str) -> Result<Option<Piece>> {
        let state = lock(&self.state);
        let Some((start, (bytes, _))) = state.names.get(name).and_then(|start| state.regions.get_key_value(start)) else { return Ok(None) };
        Ok(Some(Piece::part(Arc::clone(&self.file), *start, *bytes)))
    }

    /// Whether tables still write to it.
    pub(super) fn is_open(&self) -> bool {
        lock(&self.state).regions.values().any(|(_, using)| matches!(using, Use::Open))
    }

    /// Frees the region at `start`, which nothing reads. Best effort: this only saves space.
    fn free(&self, state: &mut State, start: u64) {
        let Some((bytes, using)) = state.regions.get_mut(&start) else { return };
        *using = Use::Free;
        let bytes = *bytes;
        if state.end != start + bytes {
            punch(&self.file, start, bytes);
            return;
        }
        while let Some((_, (_, Use::Free))) = state.regions.last_key_value() {
            state.regions.pop_last();
        }
        let end = state.regions.last_key_value().map_or(HEAD, |(start, (bytes, _))| start + bytes);
        if self.file.set_len(end).is_ok() {
            state.end = end;
        }
    }

    /// Removes the file's name.
    pub(super) fn unlink(&self) {
        drop(std::fs::remove_file(&self.path));
    }

    /// Prepares the file for completion, so that it holds the files among `kept` which are complete in it, one after the other. `None`
    /// if a table still writes to it, or too much of it is unused.
    pub(super) fn seal(&self, kept: &BTreeSet<String>) -> Result<Option<Sealed>> {
        let mut state = lock(&self.state);
        let mut members: Vec<(u64, u64, String)> = Vec::new();
        for (start, (bytes, using)) in &state.regions {
            match using {
                Use::Open => return Ok(None),
                Use::Complete(name) if kept.contains(name) => members.push((*start, *bytes, name.clone())),
                _ => {}
            }
        }
        let used: u64 = members.iter().map(|(_, bytes, _)| bytes).sum();
        let Some((first, _, _)) = members.first() else { return Ok(None) };
        let first = *first;
        if (state.end - HEAD).saturating_sub(used) > used / MAX_UNUSED_FRACTION {
            return Ok(None);
        }
        // A failed attempt may have left bytes after the last region.
        self.file.set_len(state.end)?;
        let ends: Vec<u64> = members.iter().skip(1).map(|(start, _, _)| *start).chain([state.end]).collect();
        for ((start, bytes, _), end) in members.iter().zip(&ends) {
            if start + bytes != *end {
                move_footer(&self.file, *start, *bytes, end - start)?;
                if let Some((bytes, _)) = state.regions.get_mut(start) {
                    *bytes = end - start;
                }
            }
        }
        let members = members.into_iter().zip(ends).map(|((_, _, name), end)| (name, end)).collect();
        Ok(Some(Sealed { file: Arc::clone(&self.file), path: self.path.clone(), start: first, members }))
    }
}

impl Region {
    pub(crate) fn file(&self) -> &Arc<File> {
        &self.growing.file
    }

    /// Writes at an offset in the region.
    pub(crate) fn write_at(&self, bytes: &[u8], at: u64) -> Result<()> {
        if at.checked_add(bytes.len() as u64).is_none_or(|end| end > self.bytes) {
            return Err(error!("{} bytes at {at} exceed the space of {} bytes for a dataset", bytes.len(), self.bytes));
        }
        Ok(self.growing.file.write_all_at(bytes, self.start + at)?)
    }

    /// Records that the first `bytes` bytes of the region, a multiple of 64, are the Arrow file of this name.
    pub(crate) fn complete(self, name: &str, bytes: u64) -> Result<()> {
        let mut state = lock(&self.growing.state);
        if state.end == self.start + self.bytes {
            self.growing.file.set_len(self.start + bytes)?;
            state.end = self.start + bytes;
        }
        state.regions.insert(self.start, (bytes, Use::Complete(name.to_owned())));
        // Values that changed again before they were published: the table has left the earlier ones.
        if let Some(earlier) = state.names.insert(name.to_owned(), self.start) {
            self.growing.free(&mut state, earlier);
        }
        Ok(())
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let mut state = lock(&self.growing.state);
        if let Some((_, Use::Open)) = state.regions.get(&self.start) {
            self.growing.free(&mut state, self.start);
        }
    }
}

/// Frees the disk space of a range of bytes.
#[cfg(target_os = "linux")]
fn punch(file: &File, at: u64, bytes: u64) {
    use rustix::fs::{FallocateFlags, fallocate};
    let _ = fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, bytes);
}

#[cfg(not(target_os = "linux"))]
fn punch(_: &File, _: u64, _: u64) {}
