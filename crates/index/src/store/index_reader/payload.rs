//! Payload: reads the large parts of a row. Small ranges are read and cached by page.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use hyperslab_array::{Error, Result};
use hyperslab_storage::Storage;

use super::{IndexFile, KEPT_BYTES, MAX_KEPT_BYTES, ORDER, PACKED, PAGE_BYTES, Page, Span, StoredRow};
use crate::block::rank_query::{Part, Payload};

/// The large parts of a row.
pub(crate) struct RowPayload<'a> {
    pub index_file: &'a IndexFile,
    pub row: &'a StoredRow,
}

impl Payload for RowPayload<'_> {
    fn length(&self, part: Part) -> usize {
        self.span(part).1.length
    }
    fn bytes<'a>(&'a self, part: Part, range: std::ops::Range<usize>, scratch: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        let (part, span) = self.span(part);
        if range.end > span.length || range.start > range.end {
            return Err(Error::corrupt("a block of the index is truncated").in_file(self.index_file.file.name()));
        }
        let page = range.start / PAGE_BYTES;
        if range.end <= (page + 1) * PAGE_BYTES {
            let slot = self.row.first_page(part) + page;
            let pages = self.row.kept.get_or_init(|| self.row.checksums.iter().map(|_| OnceLock::new()).collect());
            let within = range.start - page * PAGE_BYTES..range.end - page * PAGE_BYTES;
            let found = match pages.get(slot) {
                Some(kept) if kept.get().is_none() => {
                    self.read(part, span, page * PAGE_BYTES..((page + 1) * PAGE_BYTES).min(span.length), scratch)?;
                    if KEPT_BYTES.fetch_add(scratch.len() as u64, Ordering::Relaxed) + scratch.len() as u64 > MAX_KEPT_BYTES {
                        KEPT_BYTES.fetch_sub(scratch.len() as u64, Ordering::Relaxed);
                        scratch.as_slice()
                    } else {
                        &kept.get_or_init(|| Page(scratch.as_slice().into())).0
                    }
                }
                kept => kept.and_then(OnceLock::get).map_or(&[][..], |page| &page.0),
            };
            return found.get(within).ok_or_else(|| self.index_file.damaged_part());
        }
        self.read(part, span, range, scratch)?;
        Ok(scratch)
    }
}

impl RowPayload<'_> {
    /// Reads a range of a part's bytes into `out` and verifies the checksums of its pages once.
    fn read(&self, part: usize, span: Span, range: std::ops::Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        let first_sum = self.row.first_page(part);
        let pages = range.start / PAGE_BYTES..range.end.div_ceil(PAGE_BYTES);
        if pages.clone().all(|page| self.row.is_marked(first_sum + page)) {
            out.resize(range.len(), 0);
            return self.index_file.read_at(span.offset + range.start as u64, out);
        }
        let start = pages.start * PAGE_BYTES;
        out.resize((pages.end * PAGE_BYTES).min(span.length) - start, 0);
        self.index_file.read_at(span.offset + start as u64, out)?;
        for (page, bytes) in pages.clone().zip(out.chunks(PAGE_BYTES)) {
            if self.row.checksums.get(first_sum + page) != Some(&crc32fast::hash(bytes)) {
                return Err(self.index_file.damaged_part());
            }
        }
        pages.for_each(|page| self.row.mark(first_sum + page));
        out.truncate(range.end - start);
        out.drain(..range.start - start);
        Ok(())
    }

    /// The index of a part among the large parts, and its bytes in the index file.
    fn span(&self, part: Part) -> (usize, Span) {
        let [_, _, order, packed, _] = self.row.parts;
        match part {
            Part::Order => (ORDER, order),
            Part::Packed => (PACKED, packed),
        }
    }
}
