//! Overlay: a storage with some of its bytes replaced.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use hyperslab_array::{Cancellation, Error, Result};

use crate::{RestartPoints, Storage, check_range, split};

/// The bytes of `base`, except where patches replace them. A patch may lie beyond the end of `base`.
pub struct Overlay {
    base: Arc<dyn Storage>,
    /// By their first byte, parts of patches that do not overlap.
    parts: BTreeMap<u64, Part>,
    length: u64,
}

/// A part of a patch.
struct Part {
    patch: Arc<[u8]>,
    range: Range<usize>,
}

impl Part {
    /// Its beginning as far as `length` bytes, and the rest.
    fn split(self, length: usize) -> (Self, Self) {
        let middle = self.range.start.saturating_add(length).min(self.range.end);
        (Self { patch: self.patch.clone(), range: self.range.start..middle }, Self { patch: self.patch, range: middle..self.range.end })
    }
}

impl Overlay {
    /// Lays patches (first byte, bytes) over `base`; later ones win.
    pub fn new(base: Arc<dyn Storage>, patches: Vec<(u64, Vec<u8>)>) -> Self {
        let ends = patches.iter().map(|(start, bytes)| start.saturating_add(bytes.len() as u64));
        let length = ends.max().unwrap_or(0).max(base.len());
        let mut parts = BTreeMap::new();
        for (start, bytes) in patches {
            if bytes.is_empty() {
                continue;
            }
            let end = start.saturating_add(bytes.len() as u64);
            cut(&mut parts, start);
            cut(&mut parts, end);
            // What it covers goes, each part once.
            let covered: Vec<u64> = parts.range(start..end).map(|(first, _)| *first).collect();
            for first in covered {
                parts.remove(&first);
            }
            let range = 0..bytes.len();
            parts.insert(start, Part { patch: bytes.into(), range });
        }
        Self { base, parts, length }
    }

    /// Whether all of these bytes come from `base`.
    fn is_base(&self, offset: u64, length: u64) -> bool {
        let end = offset.saturating_add(length);
        end <= self.base.len() && self.touched(offset..end).next().is_none()
    }

    /// The parts that touch `range`, with the offset of their first byte.
    fn touched(&self, range: Range<u64>) -> impl Iterator<Item = (u64, &[u8])> {
        let before = self.parts.range(..range.start).next_back();
        let parts = before.into_iter().chain(self.parts.range(range.clone()));
        let with_bytes = parts.filter_map(|(start, part)| Some((*start, part.patch.get(part.range.clone())?)));
        with_bytes.filter(move |(start, bytes)| start.saturating_add(bytes.len() as u64) > range.start)
    }
}

/// Splits the part that `offset` is within, if there is one.
fn cut(parts: &mut BTreeMap<u64, Part>, offset: u64) {
    let Some((&start, part)) = parts.range(..offset).next_back() else { return };
    let Some(within) = usize::try_from(offset - start).ok().filter(|within| *within < part.range.len()) else { return };
    if let Some(part) = parts.remove(&start) {
        let (head, tail) = part.split(within);
        parts.insert(start, head);
        parts.insert(offset, tail);
    }
}

impl Storage for Overlay {
    fn len(&self) -> u64 {
        self.length
    }
    fn reaches(&self, end: u64) -> bool {
        end <= self.length || self.base.reaches(end)
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range(self, offset, buffer.len())?;
        let there = self.base.len().saturating_sub(offset).min(buffer.len() as u64);
        let (stored, beyond) = split(buffer, there)?;
        if !stored.is_empty() {
            self.base.read_exact_at(offset, stored)?;
        }
        beyond.fill(0);
        for (start, bytes) in self.touched(offset..offset.saturating_add(buffer.len() as u64)) {
            let (from, to) = (offset.max(start), (offset + buffer.len() as u64).min(start.saturating_add(bytes.len() as u64)));
            if from >= to {
                continue;
            }
            let range = |base: u64| Some(usize::try_from(from - base).ok()?..usize::try_from(to - base).ok()?);
            let target = range(offset).and_then(|range| buffer.get_mut(range));
            let (target, patch) = target.zip(range(start).and_then(|range| bytes.get(range))).ok_or_else(|| Error::internal("a patch outside of its bytes"))?;
            target.copy_from_slice(patch);
        }
        Ok(())
    }
    fn file_with(&self, offset: u64, length: u64) -> Result<Option<(File, u64)>> {
        if self.is_base(offset, length) { self.base.file_with(offset, length) } else { Ok(None) }
    }
    fn kept(&self, offset: u64, length: usize) -> Option<&[u8]> {
        if self.is_base(offset, length as u64) { self.base.kept(offset, length) } else { None }
    }
    fn keep(&self, offset: u64) {
        self.base.keep(offset);
    }
    fn is_remote(&self) -> bool {
        self.base.is_remote()
    }
    fn prefetch(&self, ranges: &[(u64, u64)]) -> Result<()> {
        let within: Vec<(u64, u64)> = ranges.iter().copied().filter(|(offset, length)| self.is_base(*offset, *length)).collect();
        self.base.prefetch(&within)
    }
    fn fetched(&self, ranges: &[(u64, u64)], cancellation: &Cancellation) -> Result<Option<Arc<dyn Storage>>> {
        if ranges.iter().all(|(offset, length)| self.is_base(*offset, *length)) { self.base.fetched(ranges, cancellation) } else { Ok(None) }
    }
    fn confirm(&self, offset: u64, length: u64) -> Result<()> {
        self.base.confirm(offset, length)
    }
    fn restart_points(&self) -> Option<Arc<RestartPoints>> {
        self.base.restart_points()
    }
    fn version(&self) -> Option<&str> {
        self.base.version()
    }
    fn modified_nanoseconds(&self) -> Option<u64> {
        self.base.modified_nanoseconds()
    }
    fn stamped_bytes(&self) -> u64 {
        self.base.stamped_bytes()
    }
    fn is_divided(&self) -> bool {
        self.base.is_divided()
    }
    fn is_edited(&self) -> bool {
        self.base.is_edited()
    }
    fn is_unchanged(&self) -> bool {
        self.base.is_unchanged()
    }
    fn has_changed(&self) -> bool {
        self.base.has_changed()
    }
    fn close(&self) {
        self.base.close();
    }
    fn is_closed(&self) -> bool {
        self.base.is_closed()
    }
    fn name(&self) -> &str {
        self.base.name()
    }
    fn beside(&self, name: &str) -> Result<Arc<dyn Storage>> {
        self.base.beside(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;

    #[test]
    fn patches_stand_over_the_base_and_beyond_its_end() -> Result<()> {
        let base = Arc::new(Memory::new("m", b"0123456789".to_vec()));
        let whole = Overlay::new(base, vec![(2, b"ab".to_vec()), (3, b"XY".to_vec()), (11, b"z".to_vec())]);
        assert_eq!(whole.len(), 12);
        for from in 0..12usize {
            for to in from..=12 {
                let mut out = vec![9; to - from];
                whole.read_exact_at(from as u64, &mut out)?;
                assert_eq!(out, &b"01aXY56789\0z"[from..to]);
            }
        }
        assert!(whole.read_exact_at(12, &mut [0]).is_err());
        Ok(())
    }

    #[test]
    fn later_patches_win_wherever_they_overlap() -> Result<()> {
        let mut state = 1u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let mut expected = [0; 40];
            let mut patches = Vec::new();
            for value in 1..=random(12) {
                let (start, length) = (random(30), random(11));
                let value = u8::try_from(value).unwrap_or(0);
                patches.push((start, vec![value; usize::try_from(length).unwrap_or(0)]));
                expected.iter_mut().zip(0u64..).filter(|(_, at)| (start..start + length).contains(at)).for_each(|(byte, _)| *byte = value);
            }
            let whole = Overlay::new(Arc::new(Memory::new("m", vec![0; 40])), patches);
            for start in 0..40usize {
                let mut out = vec![9; 40 - start];
                whole.read_exact_at(start as u64, &mut out)?;
                assert_eq!(Some(out.as_slice()), expected.get(start..));
            }
        }
        Ok(())
    }
}
