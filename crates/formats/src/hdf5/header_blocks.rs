//! The large blocks of object headers, by place: no two objects may have one, or parts of one, in common.
//!
//! No writer shares them. If objects could, each would cost a walk over the whole block whenever it is parsed, so that a small file of many
//! objects took time that grows with the square of its length.

use std::collections::BTreeMap;

/// By the start of each block, its end and the address of the header that it belongs to.
#[derive(Default)]
pub(crate) struct HeaderBlocks(BTreeMap<u64, (u64, u64)>);

impl HeaderBlocks {
    /// Remembers a block of a header; returns whether it is new. `None` if it overlaps another block.
    pub fn add(&mut self, header: u64, start: u64, end: u64) -> Option<bool> {
        if let Some((known, (known_end, owner))) = self.0.range(..end).next_back()
            && *known_end > start
        {
            return ((*known, *known_end, *owner) == (start, end, header)).then_some(false);
        }
        self.0.insert(start, (end, header));
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_belongs_to_one_header() {
        let mut blocks = HeaderBlocks::default();
        assert_eq!((blocks.add(1, 100, 200), blocks.add(1, 100, 200)), (Some(true), Some(false)));
        for (header, start, end) in [(2, 100, 200), (1, 100, 201), (1, 101, 200), (2, 150, 160), (2, 0, 101), (2, 199, 300), (2, 0, 1000)] {
            assert_eq!(blocks.add(header, start, end), None, "{header} {start}..{end}");
        }
        assert_eq!((blocks.add(2, 0, 100), blocks.add(1, 200, 201), blocks.add(2, 50, 210)), (Some(true), Some(true), None));
    }
}
