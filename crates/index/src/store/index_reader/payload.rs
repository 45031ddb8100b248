//! Payload: the large parts of a row, page by page where little is asked for.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use hyperslab_array::{Error, Result};
use hyperslab_storage::Storage;

use crate::query::rank_query::{Part, Payload};
use super::{KEPT_BYTES, MOST_KEPT_BYTES, ORDER, PACKED, PAGE_BYTES, Page, Segment, Span, StoredRow};

/// A row's large parts.
pub(crate) struct RowPayload<'a> {
    pub segment: &'a Segment,
    pub row: &'a StoredRow,
}

impl Payload for RowPayload<'_> {
    fn length(&self, part: Part) -> usize {
        self.span(part).1.length
    }
    fn bytes<'a>(&'a self, part: Part, range: std::ops::Range<usize>, scratch: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        let (number, span) = self.span(part);
        if range.end > span.length || range.start > range.end {
            return Err(Error::corrupt("a part of the index is shorter than it says").in_file(self.segment.file.name()));
        }
        let page = range.start / PAGE_BYTES;
        if range.end <= (page + 1) * PAGE_BYTES {
            let slot = self.row.first_page(number) + page;
            let pages = self.row.kept.get_or_init(|| self.row.checksums.iter().map(|_| OnceLock::new()).collect());
            let within = range.start - page * PAGE_BYTES..range.end - page * PAGE_BYTES;
            let found = match pages.get(slot) {
                Some(kept) if kept.get().is_none() => {
                    self.read(number, span, page * PAGE_BYTES..((page + 1) * PAGE_BYTES).min(span.length), scratch)?;
                    if KEPT_BYTES.fetch_add(scratch.len() as u64, Ordering::Relaxed) + scratch.len() as u64 > MOST_KEPT_BYTES {
                        KEPT_BYTES.fetch_sub(scratch.len() as u64, Ordering::Relaxed);
                        scratch.as_slice()
                    } else {
                        &kept.get_or_init(|| Page(scratch.as_slice().into())).0
                    }
                }
                kept => kept.and_then(OnceLock::get).map_or(&[][..], |page| &page.0),
            };
            return found.get(within).ok_or_else(|| self.segment.damaged_part());
        }
        self.read(number, span, range, scratch)?;
        Ok(scratch)
    }
}

impl RowPayload<'_> {
    /// Puts a range of a part's bytes into `out`.
    fn read(&self, number: usize, span: Span, range: std::ops::Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        let first_sum = self.row.first_page(number);
        let pages = range.start / PAGE_BYTES..range.end.div_ceil(PAGE_BYTES);
        if pages.clone().all(|page| self.row.is_marked(first_sum + page)) {
            out.resize(range.len(), 0);
            return self.segment.read_at(span.offset + range.start as u64, out);
        }
        let start = pages.start * PAGE_BYTES;
        out.resize((pages.end * PAGE_BYTES).min(span.length) - start, 0);
        self.segment.read_at(span.offset + start as u64, out)?;
        for (page, bytes) in pages.clone().zip(out.chunks(PAGE_BYTES)) {
            if self.row.checksums.get(first_sum + page) != Some(&crc32fast::hash(bytes)) {
                return Err(self.segment.damaged_part());
            }
        }
        pages.for_each(|page| self.row.mark(first_sum + page));
        out.truncate(range.end - start);
        out.drain(..range.start - start);
        Ok(())
    }

    fn span(&self, part: Part) -> (usize, Span) {
        let number = match part {
            Part::Order => ORDER,
            Part::Packed => PACKED,
        };
        (number, self.row.parts.get(number).copied().unwrap_or_default())
    }
}
