//! Alike datasets: small contiguous datasets whose headers differ only in where their values are, as a million cells of MATLAB do.
//! Their headers are compared instead of parsed, and read some kilobytes at a time.

use std::sync::Arc;

use hyperslab_formats::{HeaderPattern, ObjectId};
use hyperslab_storage::Storage;

use crate::File;

/// Patterns that are kept. A file with more kinds of objects gains nothing from the comparisons.
const MAX_PATTERNS: usize = 48;
/// Bytes that are read at once while objects follow each other closely.
const WINDOW_BYTES: u64 = 64 << 10;
/// Objects at most this far apart follow each other closely.
const NEAR_BYTES: u64 = 4 << 10;

/// What was learned from the objects so far.
pub(crate) struct Alike {
    storage: Arc<dyn Storage>,
    user_block: u64,
    /// The most recent first.
    patterns: Vec<Known>,
    headers: Window,
    values: Window,
}

struct Known {
    pattern: HeaderPattern,
    place: usize,
    value_bytes: usize,
}

/// An object like one that was learned.
pub(crate) struct Found<'a> {
    /// The number that was given with the object that it is like.
    pub place: usize,
    pub values: &'a [u8],
}

impl Alike {
    /// `None` for a file in which headers cannot be compared, or each read waits for a round trip.
    pub fn new(file: &File) -> Option<Self> {
        let array_file = file.array_file();
        let storage = array_file.storage().clone();
        let is_fit = array_file.is_stored() && !storage.is_remote();
        is_fit.then(|| Self { storage, user_block: array_file.user_block_bytes(), patterns: Vec::new(), headers: Window::default(), values: Window::default() })
    }

    /// Learns how a dataset with `value_bytes` bytes of values looks. `place` is returned with those like it.
    pub fn learn(&mut self, file: &File, id: ObjectId, place: usize, value_bytes: usize) {
        if self.patterns.len() >= MAX_PATTERNS || value_bytes == 0 {
            return;
        }
        // The object was read already. If no pattern can be made of it, there is none.
        if let Ok(Some(pattern)) = file.array_file().header_pattern(id) {
            self.patterns.insert(0, Known { pattern, place, value_bytes });
        }
    }

    /// The object if it is like one that was learned. `None` also for what cannot be read: that is told by parsing the object.
    pub fn find(&mut self, file: &File, id: ObjectId) -> Option<Found<'_>> {
        let header = self.user_block.checked_add(file.array_file().tree().address(id)?)?;
        let longest = self.patterns.iter().map(|known| known.pattern.length()).max()?;
        let left = self.storage.len().checked_sub(header)?;
        let bytes = self.headers.get(self.storage.as_ref(), header, (longest as u64).min(left))?;
        let values_of = |known: &Known| known.pattern.values_at(bytes.get(..known.pattern.length())?);
        let (index, offset) = self.patterns.iter().enumerate().find_map(|(index, known)| Some((index, values_of(known)?)))?;
        // Kinds of objects come in runs.
        if let Some(before) = index.checked_sub(1) {
            self.patterns.swap(before, index);
            return self.found(before, offset);
        }
        self.found(index, offset)
    }

    fn found(&mut self, index: usize, offset: u64) -> Option<Found<'_>> {
        let known = self.patterns.get(index)?;
        let values = self.values.get(self.storage.as_ref(), offset, known.value_bytes as u64)?;
        Some(Found { place: known.place, values })
    }
}

/// Bytes of a file that were read together.
#[derive(Default)]
struct Window {
    start: u64,
    bytes: Vec<u8>,
    /// Where the last bytes that were asked for begin.
    last: u64,
}

impl Window {
    /// `length` bytes from `offset` on; `None` if they cannot be read.
    fn get(&mut self, storage: &dyn Storage, offset: u64, length: u64) -> Option<&[u8]> {
        let is_near = offset.abs_diff(self.last) <= NEAR_BYTES;
        self.last = offset;
        let end = offset.checked_add(length)?;
        let kept = self.start.checked_add(self.bytes.len() as u64)?;
        if offset < self.start || end > kept {
            let wanted = if is_near { WINDOW_BYTES.max(length) } else { length };
            // Values may follow each other backwards.
            let start = if is_near && offset < self.start { end.saturating_sub(wanted) } else { offset };
            let count = wanted.min(storage.len().checked_sub(start)?);
            if end > start.checked_add(count)? {
                return None;
            }
            self.start = start;
            self.bytes.resize(usize::try_from(count).ok()?, 0);
            if storage.read_exact_at(start, &mut self.bytes).is_err() {
                self.bytes.clear();
                return None;
            }
        }
        let start = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)
    }
}
