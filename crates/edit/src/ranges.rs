//! Ranges of a file, and where new structures may lie in them.

use std::collections::BTreeMap;

use hyperslab_formats::hdf5::edit::PageKind;

/// Alignment of new structures, in bytes: older readers expect no smaller one.
pub(crate) const ALIGNMENT: u64 = 8;

/// Start and length.
pub(crate) type Range = (u64, u64);

/// The pages of a file. A structure that is smaller than a page crosses no border of one, and a larger one begins at a border. Metadata and raw
/// data have pages of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paging {
    /// Where the first page begins.
    pub base: u64,
    pub page_bytes: u64,
}

/// Where a structure may lie.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rules {
    /// The first place that may be used.
    pub from: u64,
    pub paging: Option<Paging>,
}

impl Paging {
    /// The first border that is not in front of `at`.
    pub fn border(self, at: u64) -> Option<u64> {
        at.checked_sub(self.base)?.checked_next_multiple_of(self.page_bytes)?.checked_add(self.base)
    }
}

impl Rules {
    /// The first place from `at` on for a structure.
    fn place(&self, at: u64, bytes: u64) -> Option<u64> {
        let aligned = at.checked_next_multiple_of(ALIGNMENT)?;
        let Some(paging) = self.paging else { return Some(aligned) };
        let border = paging.border(aligned)?;
        if bytes < paging.page_bytes && aligned.checked_add(bytes)? <= border { Some(aligned) } else { Some(border) }
    }

    /// Bytes that a structure takes: nothing shares the last page of metadata that is as large as a page, because the HDF5 library writes these pages
    /// past its buffer of pages.
    pub fn taken(&self, kind: PageKind, bytes: u64) -> Option<u64> {
        match self.paging {
            Some(Paging { page_bytes, .. }) if kind == PageKind::Metadata && bytes >= page_bytes => bytes.checked_next_multiple_of(page_bytes),
            _ => Some(bytes),
        }
    }
}

/// Start and length of ranges that neither touch nor overlap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ranges(pub(super) BTreeMap<u64, u64>);

/// Ranges of each kind. Those of a file without pages are all metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pool {
    pub metadata: Ranges,
    pub raw: Ranges,
}

impl Ranges {
    /// Adds a range, which none of these overlaps.
    pub fn insert(&mut self, (start, length): Range) {
        let (mut start, mut end) = (start, start.saturating_add(length));
        if let Some((before, length)) = self.0.range(..=start).next_back().map(|(before, length)| (*before, *length))
            && before + length >= start
        {
            self.0.remove(&before);
            (start, end) = (before, end.max(before + length));
        }
        if let Some(length) = self.0.remove(&end) {
            end += length;
        }
        if end > start {
            self.0.insert(start, end - start);
        }
    }

    /// Takes room for `bytes` out of the smallest range that has it at a place that `rules` allow; returns where it begins. What is left stays,
    /// down to single bytes: they join their neighbors again later.
    fn take(&mut self, kind: PageKind, bytes: u64, rules: &Rules) -> Option<u64> {
        let taken = rules.taken(kind, bytes)?;
        let fits = |start: u64, length: u64| {
            let place = rules.place(start.max(rules.from), bytes)?;
            (place.checked_add(taken)? <= start + length).then_some((length, start, place))
        };
        let (length, start, place) = self.0.iter().filter_map(|(start, length)| fits(*start, *length)).min()?;
        self.0.remove(&start);
        self.insert((start, place - start));
        self.insert((place + taken, start + length - place - taken));
        Some(place)
    }

    /// Takes a range out, if one of these holds all of it.
    pub fn remove(&mut self, (start, length): Range) -> bool {
        let Some((first, held)) = self.0.range(..=start).next_back().map(|(first, held)| (*first, *held)) else { return false };
        if first + held < start + length {
            return false;
        }
        self.0.remove(&first);
        self.insert((first, start - first));
        self.insert((start + length, first + held - start - length));
        true
    }

    pub fn bytes(&self) -> u64 {
        self.0.values().sum()
    }
}

impl Pool {
    pub fn of(&mut self, kind: PageKind) -> &mut Ranges {
        match kind {
            PageKind::Metadata => &mut self.metadata,
            PageKind::Raw => &mut self.raw,
        }
    }

    /// Takes room for `bytes` of a kind; returns where it begins.
    pub fn take(&mut self, kind: PageKind, bytes: u64, rules: &Rules) -> Option<u64> {
        self.of(kind).take(kind, bytes, rules)
    }

    /// All ranges with their kinds, those of metadata first.
    pub fn iter(&self) -> impl Iterator<Item = (PageKind, Range)> {
        let of = |kind, ranges: &Ranges| ranges.0.iter().map(|(start, length)| (kind, (*start, *length))).collect::<Vec<_>>();
        of(PageKind::Metadata, &self.metadata).into_iter().chain(of(PageKind::Raw, &self.raw))
    }

    pub fn len(&self) -> usize {
        self.metadata.0.len() + self.raw.0.len()
    }

    pub fn bytes(&self) -> u64 {
        self.metadata.bytes() + self.raw.bytes()
    }

    /// Keeps the largest ranges.
    pub fn cut(&mut self, count: usize) {
        if self.len() > count {
            let mut by_length: Vec<_> = self.iter().map(|(kind, (start, length))| (length, start, kind)).collect();
            by_length.sort_unstable_by_key(|(length, start, _)| (*length, *start));
            let dropped = by_length.len() - count;
            for (_, start, kind) in by_length.into_iter().take(dropped) {
                self.of(kind).0.remove(&start);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_their_neighbors_and_the_tightest_is_taken() {
        let take = |ranges: &mut Ranges, bytes| ranges.take(PageKind::Metadata, bytes, &Rules::default());
        let mut ranges = Ranges::default();
        for range in [(80, 16), (0, 8), (24, 8), (16, 8), (8, 8), (200, 100), (96, 4)] {
            ranges.insert(range);
        }
        assert_eq!(ranges.0, BTreeMap::from([(0, 32), (80, 20), (200, 100)]));
        assert_eq!((take(&mut ranges, 17), take(&mut ranges, 30), take(&mut ranges, 101), take(&mut ranges, 90)), (Some(80), Some(0), None, Some(200)));
        assert_eq!(ranges.0, BTreeMap::from([(30, 2), (97, 3), (290, 10)]));
        assert_eq!((take(&mut ranges, 3), take(&mut ranges, 1)), (Some(296), None));
        ranges.insert((0, 30));
        assert_eq!(ranges.0, BTreeMap::from([(0, 32), (97, 3), (290, 6), (299, 1)]));
    }

    #[test]
    fn structures_keep_to_their_pages() {
        let rules = Rules { from: 700, paging: Some(Paging { base: 512, page_bytes: 1024 }) };
        let mut ranges = Ranges::default();
        ranges.insert((512, 8 * 1024));
        // Pages begin at 512, 1536, 2560, ...
        assert_eq!(ranges.take(PageKind::Raw, 100, &rules), Some(704));
        assert_eq!(ranges.take(PageKind::Raw, 1000, &rules), Some(1536));
        assert_eq!(ranges.take(PageKind::Raw, 1025, &rules), Some(2560));
        assert_eq!(ranges.take(PageKind::Raw, 20, &rules), Some(2536));
        assert_eq!(ranges.take(PageKind::Metadata, 1025, &rules), Some(4608));
        // Nothing shares the last page of the metadata: 5633 to 6656 are taken, too.
        assert_eq!((ranges.take(PageKind::Metadata, 2000, &rules), ranges.take(PageKind::Raw, 1024, &rules)), (Some(6656), None));
        assert_eq!(ranges.0, BTreeMap::from([(512, 192), (804, 732), (2556, 4), (3585, 1023)]));
    }
}
