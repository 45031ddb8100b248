//! Overlay: a storage with some of its bytes replaced.

use std::fs::File;
use std::sync::Arc;

use hyperslab_array::{Error, Result};

use crate::{Storage, check_range, split};

/// The bytes of `base`, except where patches replace them. A patch may lie beyond the end of `base`.
pub struct Overlay {
    base: Arc<dyn Storage>,
    /// First byte and bytes; later patches win.
    patches: Vec<(u64, Vec<u8>)>,
    length: u64,
}

impl Overlay {
    /// Lays patches (first byte, bytes) over `base`.
    pub fn new(base: Arc<dyn Storage>, patches: Vec<(u64, Vec<u8>)>) -> Self {
        let ends = patches.iter().map(|(start, bytes)| start.saturating_add(bytes.len() as u64));
        let length = ends.max().unwrap_or(0).max(base.len());
        Self { base, patches, length }
    }
}

impl Storage for Overlay {
    fn len(&self) -> u64 {
        self.length
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range(self, offset, buffer.len())?;
        let there = self.base.len().saturating_sub(offset).min(buffer.len() as u64);
        let (stored, beyond) = split(buffer, there)?;
        if !stored.is_empty() {
            self.base.read_exact_at(offset, stored)?;
        }
        beyond.fill(0);
        for (start, bytes) in &self.patches {
            let (from, to) = (offset.max(*start), (offset + buffer.len() as u64).min(start.saturating_add(bytes.len() as u64)));
            if from >= to {
                continue;
            }
            let range = |base: u64| Some(usize::try_from(from - base).ok()?..usize::try_from(to - base).ok()?);
            let target = range(offset).and_then(|range| buffer.get_mut(range));
            let (target, patch) =
                target.zip(range(*start).and_then(|range| bytes.get(range))).ok_or_else(|| Error::internal("a patch outside of its bytes"))?;
            target.copy_from_slice(patch);
        }
        Ok(())
    }
    fn file_with(&self, offset: u64, length: u64) -> Result<Option<(File, u64)>> {
        let end = offset.saturating_add(length);
        let is_patched = self.patches.iter().any(|(start, bytes)| *start < end && offset < start.saturating_add(bytes.len() as u64));
        if is_patched { Ok(None) } else { self.base.file_with(offset, length) }
    }
    fn is_unchanged(&self) -> bool {
        self.base.is_unchanged()
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
}
