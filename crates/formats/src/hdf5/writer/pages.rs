//! Pages: addresses in a file of the file space strategy PAGE. The HDF5 library reads such a file page by page, so that no
//! structure smaller than a page may cross a page border, and metadata and raw data are in pages of their own.

use std::ops::Range;

/// Where structures begin.
const ALIGNMENT: u64 = 8;

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    /// Everything that describes objects.
    Metadata,
    /// Values, and the global heaps and huge objects that the HDF5 library treats alike.
    Raw,
}

/// The pages of a file that are in use.
#[derive(Debug, Clone)]
pub struct Pages {
    page_bytes: u64,
    /// Address of the first page that is free.
    end: u64,
    /// Free bytes at the end of the page that takes small structures.
    metadata: Range<u64>,
    /// Free bytes at the end of the page that takes small values.
    raw: Range<u64>,
}

impl Pages {
    /// Pages of `page_bytes`, a multiple of 8, from address `start` on; the rest of the page that it is in takes metadata.
    pub fn new(page_bytes: u64, start: u64) -> Self {
        let end = round_up(start, page_bytes);
        Self { page_bytes, end, metadata: start..end, raw: end..end }
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Address of the first page that is free.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Room for `length` bytes: within a page, or from the beginning of one on if a page is too small.
    pub fn allocate(&mut self, kind: PageKind, length: u64) -> u64 {
        let open = match kind {
            PageKind::Metadata => &mut self.metadata,
            PageKind::Raw => &mut self.raw,
        };
        let small = round_up(open.start, ALIGNMENT);
        if length < self.page_bytes && small.saturating_add(length) <= open.end {
            open.start = small.saturating_add(length);
            return small;
        }
        let (at, stop) = (self.end, self.end.saturating_add(length));
        self.end = round_up(stop, self.page_bytes);
        if length < self.page_bytes {
            *open = stop..self.end;
        }
        at
    }

    /// Where small values go next, and where the free bytes there end.
    pub fn open_raw(&self) -> Range<u64> {
        round_up(self.raw.start, ALIGNMENT)..self.raw.end
    }

    /// An address from which on any number of bytes is free for values.
    pub fn raw_end(&self) -> u64 {
        if self.raw.end == self.end { round_up(self.raw.start, ALIGNMENT) } else { self.end }
    }

    /// Takes `length` bytes for values from an address on that [`Pages::raw_end`] or [`Pages::open_raw`] gave.
    pub fn take_raw(&mut self, at: u64, length: u64) {
        let stop = at.saturating_add(length);
        let page_end = round_up(stop, self.page_bytes);
        self.end = self.end.max(page_end);
        self.raw = stop..page_end;
    }
}

fn round_up(address: u64, multiple: u64) -> u64 {
    address.checked_next_multiple_of(multiple).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_structures_share_pages_of_their_kind_and_cross_no_border() {
        let mut pages = Pages::new(512, 48);
        let (mut taken, mut owners) = (Vec::new(), std::collections::BTreeMap::new());
        for (index, length) in [0, 8, 500, 13, 511, 512, 100, 1000, 1, 300, 513, 200, 200].into_iter().enumerate() {
            let kind = if index % 3 == 0 { PageKind::Raw } else { PageKind::Metadata };
            let at = pages.allocate(kind, length);
            assert!(at.is_multiple_of(8) && at >= 48 && at + length <= pages.end() && pages.end().is_multiple_of(512));
            assert!(if length < 512 { length == 0 || at / 512 == (at + length - 1) / 512 } else { at.is_multiple_of(512) }, "{length} bytes at {at}");
            if length > 0 {
                taken.push(at..at + length);
                assert!((at / 512..=(at + length - 1) / 512).all(|page| *owners.entry(page).or_insert(kind) == kind));
            }
        }
        taken.sort_unstable_by_key(|range| range.start);
        assert!(taken.windows(2).all(|pair| matches!(pair, [a, b] if a.end <= b.start)));
        let at = pages.raw_end();
        pages.take_raw(at, 700);
        assert!(pages.raw_end() >= at + 700 && pages.end().is_multiple_of(512));
    }
}
