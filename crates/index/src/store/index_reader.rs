//! Index reader: an open index file. Its rows are in memory; their large parts are read on demand.

mod payload;

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arrow_ipc::{Buffer, root_as_footer, root_as_message};
use hyperslab_array::{Error, Region, Result};
use hyperslab_scan::pruner::Level;
use hyperslab_storage::{LocalFile, Storage};

use super::index_file::{LARGE_COLUMNS, PAGE_BYTES, level_of, row_checksum};
use crate::block::zone::Zone;

pub(crate) use payload::RowPayload;

/// Maximum number of bytes that all index files together cache in memory. Further bytes are read each time.
const MAX_KEPT_BYTES: u64 = 1 << 30;
static KEPT_BYTES: AtomicU64 = AtomicU64::new(0);

/// Maximum number of bytes of one piece of metadata of an index file.
const MAX_METADATA_BYTES: u64 = 64 << 20;
/// Maximum number of rows in a batch.
const MAX_BATCH_ROWS: u64 = 1 << 16;

/// A range of the file's bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    offset: u64,
    length: usize,
}

/// The row of one block in an index file.
#[derive(Debug)]
pub(crate) struct StoredRow {
    pub region: Region,
    pub level: Level,
    pub zone: Zone,
    pub source: u64,
    /// Samples, starts, order, packed, bitmaps.
    parts: [Span; LARGE_COLUMNS],
    checksums: Vec<u32>,
    /// One bit per page; set once the page's checksum was found to match.
    verified: Box<[AtomicU64]>,
    /// Cached pages, because only a part of them was requested: the next query is often about the same values.
    kept: OnceLock<Box<[OnceLock<Page>]>>,
    batch: usize,
    /// Its row in the index file.
    index: usize,
}

/// A cached page.
#[derive(Debug)]
struct Page(Box<[u8]>);

impl Drop for Page {
    fn drop(&mut self) {
        KEPT_BYTES.fetch_sub(self.0.len() as u64, Ordering::Relaxed);
    }
}

const SAMPLES: usize = 0;
const STARTS: usize = 1;
const ORDER: usize = 2;
const PACKED: usize = 3;
const BITMAPS: usize = 4;

/// Samples and starts of all rows of a batch.
#[derive(Debug)]
pub(crate) struct BatchSamples {
    base: [u64; 2],
    bytes: [Vec<u8>; 2],
    /// The index of the batch's first row, and for each of its rows, whether its samples and starts match their checksums.
    intact: (usize, Vec<bool>),
}

impl Drop for BatchSamples {
    fn drop(&mut self) {
        let mine: usize = self.bytes.iter().map(Vec::len).sum();
        KEPT_BYTES.fetch_sub(mine as u64, Ordering::Relaxed);
    }
}

/// Samples that the index file caches, or that were read for one query because the cache is full.
pub(crate) enum BatchSamplesRef<'a> {
    Cached(&'a BatchSamples),
    Owned(Box<BatchSamples>),
}

impl Deref for BatchSamplesRef<'_> {
    type Target = BatchSamples;
    fn deref(&self) -> &BatchSamples {
        match self {
            Self::Cached(batch_samples) => batch_samples,
            Self::Owned(batch_samples) => batch_samples,
        }
    }
}

/// An open index file.
pub(crate) struct IndexFile {
    file: Arc<LocalFile>,
    /// Where it begins in `file`, and its length, in bytes.
    base: u64,
    length: u64,
    pub rows: Vec<StoredRow>,
    /// Number of damaged rows, which `rows` lacks.
    pub damaged: u64,
    batches: Vec<(Span, Span, OnceLock<BatchSamples>)>,
}

fn bad(what: &str) -> Error {
    Error::corrupt(format!("not a valid index file: {what}"))
}

impl IndexFile {
    /// Opens the index file of `length` bytes that begins at `base` of `file`, for blocks with `ndim` dimensions. Omits rows
    /// whose checksum does not match; `Corrupt` if the rows cannot be read at all.
    pub fn open(file: Arc<LocalFile>, base: u64, length: u64, ndim: usize) -> Result<Self> {
        if base.checked_add(length).is_none_or(|end| end > file.len()) {
            return Err(bad("it ends after the end of its file").in_file(file.name()));
        }
        let mut index_file = Self { file, base, length, rows: Vec::new(), damaged: 0, batches: Vec::new() };
        index_file.load(ndim).map_err(|error| error.in_file(index_file.file.name()))?;
        Ok(index_file)
    }

    fn bytes(&self, offset: u64, length: u64, max: u64) -> Result<Vec<u8>> {
        let length = usize::try_from(length).ok().filter(|length| *length as u64 <= max).ok_or_else(|| bad("a part is too long"))?;
        let mut bytes = vec![0; length];
        self.read_at(offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads the bytes that begin at `offset` of the index file.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let offset = self.base.checked_add(offset).ok_or_else(|| bad("a part is out of range"))?;
        self.file.read_exact_at(offset, bytes)
    }

    fn load(&mut self, ndim: usize) -> Result<()> {
        let end = self.length;
        let tail = self.bytes(end.checked_sub(10).ok_or_else(|| bad("it is too short"))?, 10, 10)?;
        let (size, magic) = tail.split_at_checked(4).ok_or_else(|| bad("it is too short"))?;
        if magic != b"ARROW1" {
            return Err(bad("its end is not that of an Arrow file"));
        }
        let size =
            size.first_chunk().map(|size| i32::from_le_bytes(*size)).and_then(|size| u64::try_from(size).ok()).ok_or_else(|| bad("its footer is invalid"))?;
        let footer = self.bytes((end - 10).checked_sub(size).ok_or_else(|| bad("its footer is invalid"))?, size, MAX_METADATA_BYTES)?;
        let footer = root_as_footer(&footer).map_err(|error| bad(&format!("its footer is invalid: {error}")))?;
        let blocks: Vec<(u64, u64, u64)> = footer
            .recordBatches()
            .iter()
            .flatten()
            .map(|block| {
                let whole = |n: i64| u64::try_from(n).map_err(|_| bad("a batch has a negative offset"));
                Ok((whole(block.offset())?, whole(block.metaDataLength().into())?, whole(block.bodyLength())?))
            })
            .collect::<Result<_>>()?;
        for (offset, metadata_length, body_length) in blocks {
            let metadata = self.bytes(offset, metadata_length, MAX_METADATA_BYTES)?;
            // The message follows a marker of 4 bytes and a length of 4 bytes.
            let message = metadata.get(8..).ok_or_else(|| bad("a message is too short"))?;
            let message = root_as_message(message).map_err(|error| bad(&format!("a message is invalid: {error}")))?;
            let batch = message.header_as_record_batch().ok_or_else(|| bad("a message is not a record batch"))?;
            let rows = u64::try_from(batch.length()).ok().filter(|rows| *rows <= MAX_BATCH_ROWS).ok_or_else(|| bad("a batch has too many rows"))?;
            let buffers = batch.buffers().ok_or_else(|| bad("a batch has no buffers"))?;
            let body = offset.checked_add(metadata_length).ok_or_else(|| bad("a batch is out of range"))?;
            let body_end = body.checked_add(body_length).filter(|end| *end <= self.length).ok_or_else(|| bad("a batch is out of range"))?;
            let mut spans = Vec::with_capacity(buffers.len());
            for buffer in buffers.iter() {
                spans.push(span(buffer, body, body_end)?);
            }
            self.load_batch(ndim, rows, &spans)?;
        }
        Ok(())
    }

    /// Loads the rows of a batch from its buffers. Each column has a validity buffer, then its values.
    fn load_batch(&mut self, ndim: usize, rows: u64, spans: &[Span]) -> Result<()> {
        let batch = self.batches.len();
        let rows_here = usize::try_from(rows).map_err(|_| bad("a batch has too many rows"))?;
        let columns = self.columns(ndim, rows_here, spans)?;
        for row in 0..rows_here {
            match columns.row(row, batch, self.rows.len()) {
                Some(stored) => self.rows.push(stored),
                None => self.damaged += 1,
            }
        }
        let mut whole = columns.large.iter().map(|(_, span)| *span);
        let (Some(samples), Some(starts)) = (whole.next(), whole.next()) else { return Err(Error::internal("an index file without its large columns")) };
        self.batches.push((samples, starts, OnceLock::new()));
        Ok(())
    }

    /// Reads the columns of a batch from its buffers.
    fn columns(&self, ndim: usize, rows: usize, spans: &[Span]) -> Result<BatchColumns> {
        // Two lists (validity; validity and values of the items), eight integers, six binaries, one integer.
        let buffer = |index: usize| spans.get(index).copied().ok_or_else(|| bad("a buffer is missing"));
        let longs = |index: usize, count: usize| -> Result<Vec<u64>> {
            let found = self.integers(buffer(index)?, count, 8)?;
            Ok(found.chunks_exact(8).filter_map(|n| n.first_chunk()).map(|n| u64::from_le_bytes(*n)).collect())
        };
        let shorts = |index: usize, count: usize| -> Result<Vec<u32>> {
            let found = self.integers(buffer(index)?, count, 4)?;
            Ok(found.chunks_exact(4).filter_map(|n| n.first_chunk()).map(|n| u32::from_le_bytes(*n)).collect())
        };
        let extents = rows.checked_mul(ndim).ok_or_else(|| bad("too many dimensions"))?;
        let (origins, shapes) = (longs(2, extents)?, longs(5, extents)?);
        let levels = self.integers(buffer(7)?, rows, 1)?;
        let (numbers, nans, nulls) = (shorts(9, rows)?, shorts(11, rows)?, shorts(13, rows)?);
        let (min, max) = (longs(15, rows)?, longs(17, rows)?);
        let (hash, source) = (longs(19, rows)?, longs(21, rows)?);
        let mut large = Vec::new();
        for column in 0..LARGE_COLUMNS + 1 {
            large.push((longs(23 + 3 * column, rows + 1)?, buffer(24 + 3 * column)?));
        }
        let row_sums = shorts(23 + 3 * (LARGE_COLUMNS + 1), rows)?;
        let (sum_ends, sum_span) = large.pop().ok_or_else(|| bad("the checksums are missing"))?;
        let sums = self.bytes(sum_span.offset, sum_span.length as u64, MAX_METADATA_BYTES)?;
        Ok(BatchColumns { ndim, origins, shapes, levels, numbers, nans, nulls, min, max, hash, source, large, row_sums, sum_ends, sums })
    }

    /// Reads `count` elements of `width` bytes from the beginning of a buffer.
    fn integers(&self, span: Span, count: usize, width: usize) -> Result<Vec<u8>> {
        let length = count.checked_mul(width).filter(|length| *length <= span.length).ok_or_else(|| bad("a buffer is too short"))?;
        self.bytes(span.offset, length as u64, MAX_METADATA_BYTES)
    }

    /// The samples and starts of the batch that `row` is in.
    pub fn batch_samples(&self, row: &StoredRow) -> Result<BatchSamplesRef<'_>> {
        let (samples, starts, kept) = self.batches.get(row.batch).ok_or_else(|| Error::internal("a row of an index file belongs to no batch"))?;
        if let Some(batch_samples) = kept.get() {
            return Ok(BatchSamplesRef::Cached(batch_samples));
        }
        let read = |span: &Span| self.bytes(span.offset, span.length as u64, 1 << 32);
        let mut batch_samples = BatchSamples { base: [samples.offset, starts.offset], bytes: [read(samples)?, read(starts)?], intact: (0, Vec::new()) };
        // Verify after each read: the bytes may have changed since the last one.
        let first = self.rows.partition_point(|other| other.batch < row.batch);
        let here = self.rows.iter().skip(first).take_while(|other| other.batch == row.batch);
        let is_intact = |row: &StoredRow| [SAMPLES, STARTS].iter().all(|part| row.pages_fit(*part, batch_samples.part(row, *part)));
        batch_samples.intact = (first, here.map(is_intact).collect());
        let mine = batch_samples.bytes.iter().map(|bytes| bytes.len() as u64).sum::<u64>();
        let before = KEPT_BYTES.fetch_add(mine, Ordering::Relaxed);
        Ok(if before + mine <= MAX_KEPT_BYTES {
            BatchSamplesRef::Cached(kept.get_or_init(|| batch_samples))
        } else {
            BatchSamplesRef::Owned(Box::new(batch_samples))
        })
    }

    /// The bitmaps of a row.
    pub fn bitmaps(&self, row: &StoredRow) -> Result<Vec<u8>> {
        let [.., span] = row.parts;
        let bytes = self.bytes(span.offset, span.length as u64, 1 << 32)?;
        if row.pages_fit(BITMAPS, &bytes) { Ok(bytes) } else { Err(self.damaged_part()) }
    }

    /// Whether all parts of a row match their checksums. Reads all of them.
    pub fn is_intact(&self, row: &StoredRow) -> Result<bool> {
        let mut parts = row.parts.iter().enumerate();
        parts.try_fold(true, |is_intact, (part, span)| Ok(is_intact && row.pages_fit(part, &self.bytes(span.offset, span.length as u64, 1 << 32)?)))
    }

    fn damaged_part(&self) -> Error {
        Error::corrupt("a checksum of the index does not match").in_file(self.file.name())
    }
}

impl BatchSamples {
    fn part(&self, row: &StoredRow, part: usize) -> &[u8] {
        let found = (|| {
            let span = row.parts.get(part)?;
            let start = usize::try_from(span.offset.checked_sub(*self.base.get(part)?)?).ok()?;
            self.bytes.get(part)?.get(start..start.checked_add(span.length)?)
        })();
        found.unwrap_or_default()
    }
    /// Whether a row's samples and starts match their checksums.
    pub fn is_intact(&self, row: &StoredRow) -> bool {
        let (first, intact) = &self.intact;
        row.index.checked_sub(*first).and_then(|place| intact.get(place)) == Some(&true)
    }
    /// A row's samples.
    pub fn samples(&self, row: &StoredRow) -> &[u8] {
        self.part(row, SAMPLES)
    }
    /// The starts of a row's groups.
    pub fn starts(&self, row: &StoredRow) -> &[u8] {
        self.part(row, STARTS)
    }
}

impl StoredRow {
    /// The index of a part's first checksum.
    fn first_page(&self, part: usize) -> usize {
        self.parts.iter().take(part).map(|span| span.length.div_ceil(PAGE_BYTES)).sum()
    }
    fn pages_fit(&self, part: usize, bytes: &[u8]) -> bool {
        let length = self.parts.get(part).map_or(0, |span| span.length);
        let sums = self.checksums.get(self.first_page(part)..).unwrap_or_default();
        bytes.len() == length && bytes.chunks(PAGE_BYTES).zip(sums).all(|(page, sum)| crc32fast::hash(page) == *sum)
    }
    fn is_marked(&self, page: usize) -> bool {
        self.verified.get(page / 64).is_some_and(|word| word.load(Ordering::Relaxed) >> (page % 64) & 1 == 1)
    }
    fn mark(&self, page: usize) {
        if let Some(word) = self.verified.get(page / 64) {
            word.fetch_or(1 << (page % 64), Ordering::Relaxed);
        }
    }
}

fn span(buffer: &Buffer, body: u64, end: u64) -> Result<Span> {
    let (offset, length) = (u64::try_from(buffer.offset()), u64::try_from(buffer.length()));
    let (Ok(offset), Ok(length)) = (offset, length) else { return Err(bad("a buffer has a negative offset")) };
    let offset = body.checked_add(offset).ok_or_else(|| bad("a buffer is outside its batch"))?;
    offset.checked_add(length).filter(|last| *last <= end).ok_or_else(|| bad("a buffer is outside its batch"))?;
    Ok(Span { offset, length: usize::try_from(length).map_err(|_| bad("a buffer exceeds memory"))? })
}

/// The columns of a batch in memory, except for the large ones.
struct BatchColumns {
    ndim: usize,
    origins: Vec<u64>,
    shapes: Vec<u64>,
    levels: Vec<u8>,
    numbers: Vec<u32>,
    nans: Vec<u32>,
    nulls: Vec<u32>,
    min: Vec<u64>,
    max: Vec<u64>,
    hash: Vec<u64>,
    source: Vec<u64>,
    /// Where the values of each large column end, by row, and all of them.
    large: Vec<(Vec<u64>, Span)>,
    row_sums: Vec<u32>,
    /// Checksums of the pages of the large columns, and where the checksums of each row end.
    sum_ends: Vec<u64>,
    sums: Vec<u8>,
}

impl BatchColumns {
    /// A row of this batch, which is row `index` of the index file; `None` if it is damaged.
    fn row(&self, row: usize, batch: usize, index: usize) -> Option<StoredRow> {
        let at = |list: &[u64]| list.get(row).copied();
        let short = |list: &[u32]| list.get(row).copied();
        let extents = row * self.ndim..(row + 1) * self.ndim;
        let region = Region { start: self.origins.get(extents.clone())?.to_vec(), count: self.shapes.get(extents)?.to_vec() };
        let zone = Zone {
            numbers: short(&self.numbers)?,
            nans: short(&self.nans)?,
            nulls: short(&self.nulls)?,
            min: at(&self.min)?,
            max: at(&self.max)?,
            hash: at(&self.hash)?,
        };
        let mut parts = [Span::default(); LARGE_COLUMNS];
        for (part, (ends, span)) in parts.iter_mut().zip(&self.large) {
            *part = within(*span, *ends.get(row)?, *ends.get(row + 1)?)?;
        }
        let sums = within(Span { offset: 0, length: self.sums.len() }, *self.sum_ends.get(row)?, *self.sum_ends.get(row + 1)?)
            .and_then(|span| self.sums.get(usize::try_from(span.offset).ok()?..)?.get(..span.length))?;
        let (level, source) = (*self.levels.get(row)?, at(&self.source)?);
        let lengths = parts.map(|part| part.length as u64);
        if row_checksum(&region, level, &zone, source, lengths, sums) != short(&self.row_sums)? {
            return None;
        }
        if zone.numbers > 0 && !zone.is_consistent() {
            return None;
        }
        let pages = |part: &Span| part.length.div_ceil(PAGE_BYTES);
        if sums.len() != parts.iter().map(pages).sum::<usize>() * 4 {
            return None;
        }
        let checksums = sums.chunks_exact(4).filter_map(|n| n.first_chunk()).map(|n| u32::from_le_bytes(*n)).collect::<Vec<_>>();
        let verified = (0..checksums.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Some(StoredRow { region, level: level_of(level)?, zone, source, parts, checksums, verified, kept: OnceLock::new(), batch, index })
    }
}

fn within(span: Span, start: u64, end: u64) -> Option<Span> {
    let length = usize::try_from(end.checked_sub(start)?).ok()?;
    (end <= span.length as u64).then_some(Span { offset: span.offset.checked_add(start)?, length })
}
