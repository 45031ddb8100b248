//! A segment that is open: its rows in memory, its large parts read where they lie.

mod payload;

use std::collections::HashSet;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_ipc::{Buffer, root_as_footer, root_as_message};
use hyperslab_array::{Error, Result};
use hyperslab_scan::pruner::Level;
use hyperslab_storage::{LocalFile, Storage};

use crate::build::block::Zone;
use crate::build::block_grid::BlockBox;
use super::index_file::{LARGE, PAGE_BYTES, level_of, row_checksum};

pub(crate) use payload::RowPayload;

/// Bytes that are kept in memory by all segments together; beyond, they are read each time.
const MOST_KEPT_BYTES: u64 = 1 << 30;
static KEPT_BYTES: AtomicU64 = AtomicU64::new(0);

/// Bytes of metadata of a segment, at most.
const MOST_METADATA_BYTES: u64 = 64 << 20;
/// Rows of a batch, at most.
const MOST_ROWS: u64 = 1 << 16;

/// A range of the file's bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    offset: u64,
    length: usize,
}

/// One block as the segment has it.
#[derive(Debug)]
pub(crate) struct StoredRow {
    pub place: BlockBox,
    pub level: Level,
    pub zone: Zone,
    pub source: u64,
    /// Samples, starts, order, packed, bitmaps.
    parts: [Span; LARGE],
    checksums: Vec<u32>,
    /// Pages of order and packed keys whose checksum fitted.
    verified: Box<[AtomicU64]>,
    /// Pages of which a part was asked for: the next question is often about the same values.
    kept: OnceLock<Box<[OnceLock<Page>]>>,
    batch: usize,
    /// Its number in the segment.
    number: usize,
}

/// A page in memory.
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

/// Samples and starts of a batch, once they were asked for.
#[derive(Debug)]
pub(crate) struct Directory {
    base: [u64; 2],
    bytes: [Vec<u8>; 2],
    /// Rows of the batch whose checksums fit, by their number in the segment.
    sound: HashSet<usize>,
}

impl Drop for Directory {
    fn drop(&mut self) {
        let mine: usize = self.bytes.iter().map(Vec::len).sum();
        KEPT_BYTES.fetch_sub(mine as u64, Ordering::Relaxed);
    }
}

/// A directory that the segment keeps, or one that was read anew since it keeps no more.
pub(crate) enum AnyDirectory<'a> {
    Kept(&'a Directory),
    Own(Box<Directory>),
}

impl Deref for AnyDirectory<'_> {
    type Target = Directory;
    fn deref(&self) -> &Directory {
        match self {
            Self::Kept(directory) => directory,
            Self::Own(directory) => directory,
        }
    }
}

/// An open segment.
pub(crate) struct Segment {
    file: Arc<LocalFile>,
    /// Where it begins in the file, and its length.
    base: u64,
    length: u64,
    pub rows: Vec<StoredRow>,
    /// How many rows are damaged and left out.
    pub damaged: u64,
    directories: Vec<(Span, Span, OnceLock<Directory>)>,
}

fn bad(what: &str) -> Error {
    Error::corrupt(format!("no segment of an index: {what}"))
}

impl Segment {
    /// The segment of `length` bytes that begins at `base` of a file, of blocks with `ndim` dimensions. Rows whose
    /// checksum does not fit are left out; `Corrupt` if no rows can be read.
    pub fn of_file(file: Arc<LocalFile>, base: u64, length: u64, ndim: usize) -> Result<Self> {
        if base.checked_add(length).is_none_or(|end| end > file.len()) {
            return Err(bad("it is beyond its file").in_file(file.name()));
        }
        let mut segment = Self { file, base, length, rows: Vec::new(), damaged: 0, directories: Vec::new() };
        segment.load(ndim).map_err(|error| error.in_file(segment.file.name()))?;
        Ok(segment)
    }

    fn bytes(&self, offset: u64, length: u64, most: u64) -> Result<Vec<u8>> {
        let length = usize::try_from(length).ok().filter(|length| *length as u64 <= most).ok_or_else(|| bad("a part is too long"))?;
        let mut bytes = vec![0; length];
        self.read_at(offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads from `offset` of the segment on.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let place = self.base.checked_add(offset).ok_or_else(|| bad("a part beyond the file"))?;
        self.file.read_exact_at(place, bytes)
    }

    fn load(&mut self, ndim: usize) -> Result<()> {
        let end = self.length;
        let tail = self.bytes(end.checked_sub(10).ok_or_else(|| bad("it is too short"))?, 10, 10)?;
        let (size, magic) = tail.split_at_checked(4).ok_or_else(|| bad("it is too short"))?;
        if magic != b"ARROW1" {
            return Err(bad("its end is not that of an Arrow file"));
        }
        let size = size.first_chunk().map(|size| i32::from_le_bytes(*size)).and_then(|size| u64::try_from(size).ok()).ok_or_else(|| bad("footer"))?;
        let footer = self.bytes((end - 10).checked_sub(size).ok_or_else(|| bad("footer"))?, size, MOST_METADATA_BYTES)?;
        let footer = root_as_footer(&footer).map_err(|error| bad(&format!("footer: {error}")))?;
        let blocks: Vec<(u64, u64, u64)> = footer
            .recordBatches()
            .iter()
            .flatten()
            .map(|block| {
                let whole = |n: i64| u64::try_from(n).map_err(|_| bad("a batch at a negative place"));
                Ok((whole(block.offset())?, whole(block.metaDataLength().into())?, whole(block.bodyLength())?))
            })
            .collect::<Result<_>>()?;
        for (offset, metadata_length, body_length) in blocks {
            let metadata = self.bytes(offset, metadata_length, MOST_METADATA_BYTES)?;
            // A marker of 4 bytes and a length of 4 bytes come before the message.
            let message = metadata.get(8..).ok_or_else(|| bad("a message is too short"))?;
            let message = root_as_message(message).map_err(|error| bad(&format!("a message: {error}")))?;
            let batch = message.header_as_record_batch().ok_or_else(|| bad("a message is no record batch"))?;
            let rows = u64::try_from(batch.length()).ok().filter(|rows| *rows <= MOST_ROWS).ok_or_else(|| bad("rows of a batch"))?;
            let buffers = batch.buffers().ok_or_else(|| bad("a batch without buffers"))?;
            let body = offset.checked_add(metadata_length).ok_or_else(|| bad("a batch beyond the file"))?;
            let body_end = body.checked_add(body_length).filter(|end| *end <= self.length).ok_or_else(|| bad("a batch beyond the file"))?;
            let mut spans = Vec::with_capacity(buffers.len());
            for buffer in buffers.iter() {
                spans.push(span(buffer, body, body_end)?);
            }
            self.load_batch(ndim, rows, &spans)?;
        }
        Ok(())
    }

    /// The rows of a batch from its buffers: of each column its validity, then its values.
    fn load_batch(&mut self, ndim: usize, rows: u64, spans: &[Span]) -> Result<()> {
        let number = self.directories.len();
        let rows_here = usize::try_from(rows).map_err(|_| bad("rows of a batch"))?;
        // Two lists (validity; validity and values of the items), eight numbers, six binaries, a number.
        let buffer = |place: usize| spans.get(place).copied().ok_or_else(|| bad("a buffer is missing"));
        let longs = |place: usize, count: usize| -> Result<Vec<u64>> {
            let found = self.wide(buffer(place)?, count, 8)?;
            Ok(found.chunks_exact(8).filter_map(|n| n.first_chunk()).map(|n| u64::from_le_bytes(*n)).collect())
        };
        let shorts = |place: usize, count: usize| -> Result<Vec<u32>> {
            let found = self.wide(buffer(place)?, count, 4)?;
            Ok(found.chunks_exact(4).filter_map(|n| n.first_chunk()).map(|n| u32::from_le_bytes(*n)).collect())
        };
        let places = rows_here.checked_mul(ndim).ok_or_else(|| bad("dimensions"))?;
        let (origins, shapes) = (longs(2, places)?, longs(5, places)?);
        let levels = self.wide(buffer(7)?, rows_here, 1)?;
        let (numbers, nans, nulls) = (shorts(9, rows_here)?, shorts(11, rows_here)?, shorts(13, rows_here)?);
        let (least, greatest) = (longs(15, rows_here)?, longs(17, rows_here)?);
        let (hash, source) = (longs(19, rows_here)?, longs(21, rows_here)?);
        let mut large = Vec::new();
        for column in 0..LARGE + 1 {
            large.push((longs(23 + 3 * column, rows_here + 1)?, buffer(24 + 3 * column)?));
        }
        let row_sums = shorts(23 + 3 * (LARGE + 1), rows_here)?;
        let (sum_ends, sum_span) = large.pop().ok_or_else(|| bad("checksums"))?;
        let sums = self.bytes(sum_span.offset, sum_span.length as u64, MOST_METADATA_BYTES)?;
        for row in 0..rows_here {
            let stored = (|| {
                let at = |list: &[u64]| list.get(row).copied();
                let short = |list: &[u32]| list.get(row).copied();
                let place = BlockBox {
                    origin: origins.get(row * ndim..(row + 1) * ndim)?.to_vec(),
                    shape: shapes.get(row * ndim..(row + 1) * ndim)?.to_vec(),
                };
                let zone = Zone {
                    numbers: short(&numbers)?,
                    nans: short(&nans)?,
                    nulls: short(&nulls)?,
                    least: at(&least)?,
                    greatest: at(&greatest)?,
                    hash: at(&hash)?,
                };
                let mut parts = [Span::default(); LARGE];
                for (part, (ends, span)) in parts.iter_mut().zip(&large) {
                    *part = within(*span, *ends.get(row)?, *ends.get(row + 1)?)?;
                }
                let sums = within(Span { offset: 0, length: sums.len() }, *sum_ends.get(row)?, *sum_ends.get(row + 1)?)
                    .and_then(|span| sums.get(usize::try_from(span.offset).ok()?..)?.get(..span.length))?;
                let (level, source) = (*levels.get(row)?, at(&source)?);
                let lengths = parts.map(|part| part.length as u64);
                if row_checksum(&place, level, &zone, source, lengths, sums) != short(&row_sums)? {
                    return None;
                }
                let pages = |part: &Span| part.length.div_ceil(PAGE_BYTES);
                if sums.len() != parts.iter().map(pages).sum::<usize>() * 4 {
                    return None;
                }
                let checksums = sums.chunks_exact(4).filter_map(|n| n.first_chunk()).map(|n| u32::from_le_bytes(*n)).collect::<Vec<_>>();
                let verified = (0..checksums.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
                Some(StoredRow { place, level: level_of(level)?, zone, source, parts, checksums, verified, kept: OnceLock::new(), batch: number, number: self.rows.len() })
            })();
            match stored {
                Some(stored) => self.rows.push(stored),
                None => self.damaged += 1,
            }
        }
        let mut whole = large.iter().map(|(_, span)| *span);
        let (samples, starts) = (whole.next().unwrap_or_default(), whole.next().unwrap_or_default());
        self.directories.push((samples, starts, OnceLock::new()));
        Ok(())
    }

    /// A buffer of `count` elements of `width` bytes.
    fn wide(&self, span: Span, count: usize, width: usize) -> Result<Vec<u8>> {
        let length = count.checked_mul(width).filter(|length| *length <= span.length).ok_or_else(|| bad("a buffer is too short"))?;
        self.bytes(span.offset, length as u64, MOST_METADATA_BYTES)
    }

    /// Samples and starts of a row's batch.
    pub fn directory(&self, row: &StoredRow) -> Result<AnyDirectory<'_>> {
        let (samples, starts, kept) = self.directories.get(row.batch).ok_or_else(|| Error::internal("no such batch"))?;
        if let Some(directory) = kept.get() {
            return Ok(AnyDirectory::Kept(directory));
        }
        let read = |span: &Span| self.bytes(span.offset, span.length as u64, 1 << 32);
        let mut directory = Directory { base: [samples.offset, starts.offset], bytes: [read(samples)?, read(starts)?], sound: HashSet::new() };
        // What was read is tested each time: another read may bring other bytes.
        let here = self.rows.iter().filter(|other| other.batch == row.batch);
        let is_sound = |row: &&StoredRow| [SAMPLES, STARTS].iter().all(|part| row.pages_fit(*part, directory.part(row, *part)));
        directory.sound = here.filter(is_sound).map(|row| row.number).collect();
        let mine = directory.bytes.iter().map(|bytes| bytes.len() as u64).sum::<u64>();
        let before = KEPT_BYTES.fetch_add(mine, Ordering::Relaxed);
        Ok(if before + mine <= MOST_KEPT_BYTES { AnyDirectory::Kept(kept.get_or_init(|| directory)) } else { AnyDirectory::Own(Box::new(directory)) })
    }

    /// The bitmaps of a row.
    pub fn bitmaps(&self, row: &StoredRow) -> Result<Vec<u8>> {
        let [.., span] = row.parts;
        let bytes = self.bytes(span.offset, span.length as u64, 1 << 32)?;
        if row.pages_fit(BITMAPS, &bytes) { Ok(bytes) } else { Err(self.damaged_part()) }
    }

    fn damaged_part(&self) -> Error {
        Error::corrupt("a checksum of the index does not fit").in_file(self.file.name())
    }
}

impl Directory {
    fn part(&self, row: &StoredRow, part: usize) -> &[u8] {
        let found = (|| {
            let span = row.parts.get(part)?;
            let start = usize::try_from(span.offset.checked_sub(*self.base.get(part)?)?).ok()?;
            self.bytes.get(part)?.get(start..start.checked_add(span.length)?)
        })();
        found.unwrap_or_default()
    }
    /// Whether the checksums of a row's samples and starts fit.
    pub fn is_sound(&self, row: &StoredRow) -> bool {
        self.sound.contains(&row.number)
    }
    /// A row's samples.
    pub fn samples(&self, row: &StoredRow) -> &[u8] {
        self.part(row, SAMPLES)
    }
    /// Where a row's groups begin.
    pub fn starts(&self, row: &StoredRow) -> &[u8] {
        self.part(row, STARTS)
    }
}

impl StoredRow {
    /// Number of a part's first checksum.
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
    let (Ok(offset), Ok(length)) = (offset, length) else { return Err(bad("a buffer at a negative place")) };
    let offset = body.checked_add(offset).ok_or_else(|| bad("a buffer beyond its batch"))?;
    offset.checked_add(length).filter(|last| *last <= end).ok_or_else(|| bad("a buffer beyond its batch"))?;
    Ok(Span { offset, length: usize::try_from(length).map_err(|_| bad("a buffer exceeds memory"))? })
}

fn within(span: Span, start: u64, end: u64) -> Option<Span> {
    let length = usize::try_from(end.checked_sub(start)?).ok()?;
    (end <= span.length as u64).then_some(Span { offset: span.offset.checked_add(start)?, length })
}
