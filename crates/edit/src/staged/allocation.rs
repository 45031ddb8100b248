//! Room for new structures: in free ranges, or after all that there is.

use hyperslab_array::{Error, Result};
use hyperslab_formats::hdf5::edit::PageKind;

use super::{BLOCK_BYTES, DIRECT_BYTES, MAX_REUSED_BYTES, Staged, zeros};
use crate::ranges::{ALIGNMENT, Paging, Rules};

impl Staged {
    /// Room for `bytes`, all zeros: in a free range, or after all that there is. Returns its offset.
    ///
    /// # Errors
    /// `Unsupported` beyond the largest file; `Io`.
    pub fn allocate(&self, kind: PageKind, bytes: u64) -> Result<u64> {
        let (from, committed_end) = {
            let state = self.state()?;
            let is_affordable = (state.blocks.len() as u64 * BLOCK_BYTES).saturating_add(bytes) <= MAX_REUSED_BYTES;
            (if is_affordable { 0 } else { state.committed_end }, state.committed_end)
        };
        self.allocate_from(kind, bytes, from, committed_end)
    }

    /// The same after the end of the committed file.
    ///
    /// # Errors
    /// As [`Staged::allocate`].
    pub fn allocate_new(&self, kind: PageKind, bytes: u64) -> Result<u64> {
        let committed_end = self.state()?.committed_end;
        self.allocate_from(kind, bytes, committed_end, committed_end)
    }

    fn allocate_from(&self, kind: PageKind, bytes: u64, from: u64, committed_end: u64) -> Result<u64> {
        let mut state = self.change()?;
        let Some(start) = state.free.take(kind, bytes, from) else {
            drop(state);
            return self.extend(kind, bytes);
        };
        if start < committed_end && start + bytes > committed_end {
            state.around_end = Some((start, bytes));
        }
        drop(state);
        self.write(start, &zeros(bytes)?)?;
        Ok(start)
    }

    /// Whether a structure lies in the committed file or in what was allocated.
    ///
    /// # Errors
    /// `Internal` after a panic during a change.
    pub fn holds(&self, offset: u64, bytes: u64) -> Result<bool> {
        let state = self.state()?;
        let end = offset.saturating_add(bytes);
        let is_around_end = offset < state.committed_end && end > state.committed_end;
        // A chunk may have become shorter since room was made for it.
        let is_allocated = state.around_end.is_some_and(|(start, allocated)| start == offset && bytes <= allocated);
        Ok(end <= state.end && (!is_around_end || is_allocated))
    }

    /// Room for `bytes` after all that there is; returns its offset.
    fn extend(&self, kind: PageKind, bytes: u64) -> Result<u64> {
        let mut state = self.change()?;
        let end = state.end;
        let paging = state.free.paging;
        let start = paging.map_or_else(|| end.checked_next_multiple_of(ALIGNMENT), |paging: Paging| paging.border(end));
        let stop = (|| {
            let stop = start?.checked_add(Rules { from: 0, paging }.taken(kind, bytes)?)?;
            let new_end = paging.map_or(Some(stop), |paging| paging.border(stop))?;
            (new_end <= self.max_end && i64::try_from(new_end).is_ok()).then_some((stop, new_end))
        })();
        let (Some(start), Some((stop, new_end))) = (start, stop) else { return Err(self.too_large(end.saturating_add(bytes))) };
        if paging.is_none() {
            state.free.release(kind, (end, start - end), 0);
        }
        // The rest of the last page is for others of the kind.
        state.free.release(kind, (stop, new_end - stop), 0);
        state.end = new_end;
        // A failed change may have left non-zero bytes here.
        let mut at = start;
        let stale_end = state.disk_end.min(state.end);
        while at < stale_end {
            let zeros = vec![0; usize::try_from(stale_end - at).unwrap_or(DIRECT_BYTES).min(DIRECT_BYTES)];
            self.write_new(&mut state, at, &zeros)?;
            at += zeros.len() as u64;
        }
        Ok(start)
    }

    fn too_large(&self, end: u64) -> Error {
        let what =
            format!("a file of {end} bytes, whose addresses allow {}: write larger values into another file", self.max_end.min(i64::MAX.cast_unsigned()));
        Error::unsupported(what).in_file(&self.name)
    }
}
