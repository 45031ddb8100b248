//! Restart points: places inside of deflate streams where inflating can begin, so that a part of a large chunk is fetched and inflated
//! without the rest of it. They lie in a chunk index.
//!
//! All numbers are little-endian. The section begins with a table of streams, sorted by offset: offset in the object (8), length (8), bytes
//! of output (8), place of its points (8), their number (4) and the checksum of their table (4). The points of a stream are a table, for
//! each point its output (8), its bit (8), place (8), length (4) and checksum (4) of its window, checksum of the compressed bytes up to
//! the next point (4) and length of the window when inflated (4); then the windows. Places count from the end of the table of streams.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use hyperslab_array::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::notices::add_of_cache;
use crate::temporary_name::nameless;

/// Bytes of a stream in the table.
const STREAM_BYTES: usize = 8 + 8 + 8 + 8 + 4 + 4;
/// Bytes of a point in the table of its stream.
const POINT_BYTES: usize = 8 + 8 + 8 + 4 + 4 + 4 + 4;
/// Maximum distance in bytes that deflate refers back.
const MAX_WINDOW_BYTES: u32 = 32 << 10;
/// Maximum bytes of a compressed window.
const MAX_STORED_WINDOW_BYTES: u32 = 33 << 10;

/// A point of a stream as it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadePoint {
    /// Bytes of output before it.
    pub output: u64,
    /// Its place in the stream, in bits from the stream's first byte on.
    pub bit: u64,
    /// CRC-32 of the stream's bytes from the one that holds the point's first bit up to the next point's, which is included if that
    /// point begins within a byte; of the last point up to the end of the stream.
    pub checksum: u32,
    /// The output before it, compressed; empty if what follows does not refer to it.
    pub window: Vec<u8>,
    /// Length of the window when inflated, in bytes.
    pub window_bytes: u32,
}

/// A place in a deflate stream where inflating can begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestartPoint {
    /// Bytes of output before it.
    pub output: u64,
    /// Its place in the stream, in bits from the stream's first byte on.
    pub bit: u64,
    /// CRC-32 of the stream's bytes up to the next point: see [`MadePoint::checksum`].
    pub checksum: u32,
    /// Length of the window when inflated, in bytes; 0 without one.
    pub window_bytes: u32,
    window: (u64, u32),
    window_checksum: u32,
}

/// The points of one stream: the first at its beginning, then with increasing output and bit.
#[derive(Debug)]
pub struct RestartStream {
    /// Length of the stream in bytes.
    pub length: u64,
    /// Bytes of its output.
    pub output_bytes: u64,
    /// The points, at least two.
    pub points: Vec<RestartPoint>,
}

impl RestartStream {
    /// The point at or before a byte of the output.
    pub fn index_at(&self, output: u64) -> usize {
        self.points.partition_point(|point| point.output <= output).saturating_sub(1)
    }
    /// The output between a point and the next one.
    pub fn output_of(&self, index: usize) -> (u64, u64) {
        let start = self.points.get(index).map_or(self.output_bytes, |point| point.output);
        (start, self.points.get(index + 1).map_or(self.output_bytes, |point| point.output))
    }
    /// The bytes of the stream between a point and the next one, as the checksum counts them.
    pub fn bytes_of(&self, index: usize) -> (u64, u64) {
        let start = self.points.get(index).map_or(self.length, |point| point.bit / 8);
        (start, self.points.get(index + 1).map_or(self.length, |point| point.bit.div_ceil(8)))
    }
}

/// Where a section of restart points is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Section {
    /// Length in bytes.
    pub bytes: u64,
    /// Number of streams in its table.
    streams: u64,
    /// Checksum of the table.
    checksum: u32,
    /// Requested interval between points, in bytes of output.
    interval: u64,
}

#[derive(Debug)]
struct Stream {
    offset: u64,
    length: u64,
    output_bytes: u64,
    /// After the table of streams.
    place: u64,
    count: u32,
    checksum: u32,
    /// Once they were read; `None` if they are damaged.
    points: OnceLock<Option<Arc<RestartStream>>>,
}

/// What holds the bytes of an index.
#[derive(Debug, Clone)]
pub(crate) enum IndexBytes {
    File(Arc<File>),
    Memory(Bytes),
}

impl IndexBytes {
    fn read(&self, place: u64, length: usize) -> Option<Vec<u8>> {
        match self {
            Self::File(file) => {
                let mut bytes = Vec::new();
                bytes.try_reserve_exact(length).ok()?;
                bytes.resize(length, 0);
                file.read_exact_at(&mut bytes, place).ok()?;
                Some(bytes)
            }
            Self::Memory(all) => {
                let start = usize::try_from(place).ok()?;
                all.get(start..start.checked_add(length)?).map(<[u8]>::to_vec)
            }
        }
    }
}

/// The restart points of a file's chunks.
#[derive(Debug)]
pub struct RestartPoints {
    streams: Vec<Stream>,
    bytes: IndexBytes,
    /// Where the section's table of streams ends in the index, and the length of what follows.
    start: u64,
    length: u64,
    interval: u64,
    /// For messages.
    name: String,
}

fn corrupt(why: &str) -> Error {
    Error::corrupt(format!("this is not a valid chunk index: {why}; make it again"))
}

/// Takes numbers from the front of an entry.
struct Entry<'a>(&'a [u8]);

impl Entry<'_> {
    fn long(&mut self) -> u64 {
        let (here, rest) = self.0.split_first_chunk::<8>().map_or((0, [].as_slice()), |(here, rest)| (u64::from_le_bytes(*here), rest));
        self.0 = rest;
        here
    }
    fn word(&mut self) -> u32 {
        let (here, rest) = self.0.split_first_chunk::<4>().map_or((0, [].as_slice()), |(here, rest)| (u32::from_le_bytes(*here), rest));
        self.0 = rest;
        here
    }
}

impl RestartPoints {
    /// The points of a section that begins at `start` of an index; `object_bytes` is the length of what the index is of.
    ///
    /// # Errors
    /// `Corrupt` if its table is damaged.
    pub(crate) fn open(bytes: IndexBytes, start: u64, section: &Section, object_bytes: u64, name: &str) -> Result<Self> {
        let table_bytes = section.streams.checked_mul(STREAM_BYTES as u64).filter(|table| *table <= section.bytes);
        let table_bytes = table_bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(|| corrupt("its table of streams is too long"))?;
        let table = bytes.read(start, table_bytes).ok_or_else(|| corrupt("its table of streams cannot be read"))?;
        if crc32fast::hash(&table) != section.checksum {
            return Err(corrupt("its table of streams is damaged"));
        }
        let length_after = section.bytes.saturating_sub(table.len() as u64);
        let mut streams: Vec<Stream> = Vec::with_capacity(table.len() / STREAM_BYTES);
        for entry in table.chunks_exact(STREAM_BYTES) {
            let mut entry = Entry(entry);
            let (offset, length, output_bytes, place) = (entry.long(), entry.long(), entry.long(), entry.long());
            let (count, checksum) = (entry.word(), entry.word());
            let is_inside = offset.checked_add(length).is_some_and(|end| end <= object_bytes);
            let points_end = u64::from(count).checked_mul(POINT_BYTES as u64).and_then(|bytes| bytes.checked_add(place));
            let follows = streams.last().is_none_or(|last| last.offset < offset);
            if !is_inside || !follows || count < 2 || points_end.is_none_or(|end| end > length_after) {
                return Err(corrupt("its table of streams is wrong"));
            }
            streams.push(Stream { offset, length, output_bytes, place, count, checksum, points: OnceLock::new() });
        }
        let start = start.saturating_add(table.len() as u64);
        Ok(Self { streams, bytes, start, length: length_after, interval: section.interval, name: name.to_owned() })
    }

    /// Bytes of output between points, as was asked for when they were made.
    pub fn interval(&self) -> u64 {
        self.interval
    }

    /// The points of the stream at `offset` of the file, if there are some and they are undamaged.
    pub fn stream(&self, offset: u64, length: u64) -> Option<Arc<RestartStream>> {
        let index = self.streams.binary_search_by_key(&offset, |stream| stream.offset).ok()?;
        let stream = self.streams.get(index).filter(|stream| stream.length == length)?;
        stream
            .points
            .get_or_init(|| {
                let found = self.parsed(stream);
                if found.is_none() {
                    self.report("its restart points are damaged");
                }
                found.map(Arc::new)
            })
            .clone()
    }

    /// Says once that these points are not used.
    pub fn report(&self, why: &str) {
        add_of_cache(format!("the chunk index {} does not fit ({why}): whole chunks are read instead; make it again", self.name));
    }

    fn parsed(&self, stream: &Stream) -> Option<RestartStream> {
        let table_bytes = usize::try_from(stream.count).ok()?.checked_mul(POINT_BYTES)?;
        let table = self.bytes.read(self.start.checked_add(stream.place)?, table_bytes)?;
        if crc32fast::hash(&table) != stream.checksum {
            return None;
        }
        let mut points: Vec<RestartPoint> = Vec::with_capacity(table.len() / POINT_BYTES);
        for entry in table.chunks_exact(POINT_BYTES) {
            let mut entry = Entry(entry);
            let (output, bit, place) = (entry.long(), entry.long(), entry.long());
            let (stored, window_checksum, checksum, window_bytes) = (entry.word(), entry.word(), entry.word(), entry.word());
            let follows = points.last().map_or(output == 0, |last| last.output < output && last.bit < bit);
            let has_window = window_bytes <= MAX_WINDOW_BYTES && u64::from(window_bytes) <= output && (stored == 0) == (window_bytes == 0);
            let is_inside = place.checked_add(u64::from(stored)).is_some_and(|end| end <= self.length) && stored <= MAX_STORED_WINDOW_BYTES;
            if !follows || !has_window || !is_inside || output >= stream.output_bytes || bit / 8 >= stream.length {
                return None;
            }
            points.push(RestartPoint { output, bit, checksum, window_bytes, window: (place, stored), window_checksum });
        }
        Some(RestartStream { length: stream.length, output_bytes: stream.output_bytes, points })
    }

    /// The compressed window of a point, empty if it needs none.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged.
    pub fn window(&self, point: &RestartPoint) -> Result<Vec<u8>> {
        let (place, stored) = point.window;
        let damaged = || Error::corrupt("a window of its restart points is damaged");
        let window = usize::try_from(stored).ok().and_then(|length| self.bytes.read(self.start.checked_add(place)?, length)).ok_or_else(damaged)?;
        if crc32fast::hash(&window) == point.window_checksum { Ok(window) } else { Err(damaged()) }
    }
}

/// Restart points while they are made. The windows are in a temporary file.
#[derive(Debug)]
pub struct RestartPointsBuilder {
    streams: Vec<Stream>,
    windows: File,
    bytes: u64,
    points: u64,
    interval: u64,
}

impl RestartPointsBuilder {
    /// Points `interval` bytes of output from each other.
    ///
    /// # Errors
    /// `Io` if there can be no temporary file.
    pub fn new(interval: u64) -> Result<Self> {
        let windows = nameless().map_err(|error| Error::io(error, "cannot write the chunk index to a temporary file"))?;
        Ok(Self { streams: Vec::new(), windows, bytes: 0, points: 0, interval })
    }

    /// Number of streams that have points.
    pub fn streams(&self) -> u64 {
        self.streams.len() as u64
    }

    /// Number of points.
    pub fn points(&self) -> u64 {
        self.points
    }

    /// Adds the points of the stream of `length` bytes at `offset` of the file. Each offset is added once.
    ///
    /// # Errors
    /// `Io` if the temporary file cannot be written; `LimitExceeded` for more than 2^32 points.
    pub fn add(&mut self, offset: u64, length: u64, output_bytes: u64, points: &[MadePoint]) -> Result<()> {
        let count = u32::try_from(points.len()).map_err(|_| Error::limit_exceeded(format!("{} restart points in a chunk", points.len())))?;
        let place = self.bytes;
        let mut window_place = place + (points.len() * POINT_BYTES) as u64;
        let mut table = Vec::with_capacity(points.len() * POINT_BYTES);
        for point in points {
            let stored = u32::try_from(point.window.len()).map_err(|_| Error::internal("a window of more than 4 GiB"))?;
            table.extend_from_slice(&point.output.to_le_bytes());
            table.extend_from_slice(&point.bit.to_le_bytes());
            table.extend_from_slice(&window_place.to_le_bytes());
            table.extend_from_slice(&stored.to_le_bytes());
            table.extend_from_slice(&crc32fast::hash(&point.window).to_le_bytes());
            table.extend_from_slice(&point.checksum.to_le_bytes());
            table.extend_from_slice(&point.window_bytes.to_le_bytes());
            window_place += u64::from(stored);
        }
        let checksum = crc32fast::hash(&table);
        points.iter().for_each(|point| table.extend_from_slice(&point.window));
        self.windows.write_all(&table).map_err(|error| Error::io(error, "cannot write the chunk index to a temporary file"))?;
        self.bytes += table.len() as u64;
        self.points += points.len() as u64;
        self.streams.push(Stream { offset, length, output_bytes, place, count, checksum, points: OnceLock::new() });
        Ok(())
    }

    /// The table of streams, and what describes the section.
    pub(crate) fn table(&self) -> (Vec<u8>, Section) {
        let mut order: Vec<&Stream> = self.streams.iter().collect();
        order.sort_unstable_by_key(|stream| stream.offset);
        let table_bytes = (order.len() * STREAM_BYTES) as u64;
        let mut table = Vec::with_capacity(order.len() * STREAM_BYTES);
        for stream in order {
            for number in [stream.offset, stream.length, stream.output_bytes, stream.place] {
                table.extend_from_slice(&number.to_le_bytes());
            }
            table.extend_from_slice(&stream.count.to_le_bytes());
            table.extend_from_slice(&stream.checksum.to_le_bytes());
        }
        let section =
            Section { bytes: table_bytes + self.bytes, streams: self.streams.len() as u64, checksum: crc32fast::hash(&table), interval: self.interval };
        (table, section)
    }

    /// Copies tables of points and windows.
    pub(crate) fn copy_to(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let mut windows = &self.windows;
        windows.seek(SeekFrom::Start(0))?;
        std::io::copy(&mut windows.take(self.bytes), out)?;
        windows.seek(SeekFrom::End(0)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    fn made(output: u64, bit: u64, window: &[u8]) -> MadePoint {
        let window_bytes = u32::try_from(window.len() * 2).unwrap_or(0);
        MadePoint { output, bit, checksum: 7, window: window.to_vec(), window_bytes }
    }

    /// The bytes of a section with two streams, which were not added in the order of their offsets.
    fn section() -> std::result::Result<(Vec<u8>, Section), Box<dyn std::error::Error>> {
        let mut builder = RestartPointsBuilder::new(100)?;
        builder.add(500, 90, 1000, &[made(0, 16, &[]), made(400, 333, b"window")])?;
        builder.add(20, 60, 700, &[made(0, 16, &[]), made(100, 101, &[]), made(350, 400, b"other")])?;
        assert_eq!((builder.streams(), builder.points()), (2, 5));
        let (mut bytes, section) = builder.table();
        builder.copy_to(&mut bytes)?;
        // A second copy is the same.
        let mut again = builder.table().0;
        builder.copy_to(&mut again)?;
        assert_eq!((bytes.len() as u64, &bytes), (section.bytes, &again));
        Ok((bytes, section))
    }

    fn opened(bytes: &[u8], section: &Section) -> Result<RestartPoints> {
        let content = [b"before", bytes].concat();
        RestartPoints::open(IndexBytes::Memory(content.into()), 6, section, 600, "x.chunks")
    }

    #[test]
    fn what_was_added_is_found() -> Outcome {
        let (bytes, section) = section()?;
        let points = opened(&bytes, &section)?;
        assert!(points.interval() == 100 && points.stream(20, 61).is_none() && points.stream(21, 60).is_none());
        let stream = points.stream(20, 60).ok_or("no stream")?;
        assert_eq!((stream.length, stream.output_bytes, stream.points.len()), (60, 700, 3));
        assert_eq!([0, 99, 100, 349, 350, 699].map(|output| stream.index_at(output)), [0, 0, 1, 1, 2, 2]);
        assert_eq!([0, 1, 2].map(|index| stream.output_of(index)), [(0, 100), (100, 350), (350, 700)]);
        assert_eq!([0, 1, 2].map(|index| stream.bytes_of(index)), [(2, 13), (12, 50), (50, 60)]);
        assert_eq!(points.window(&stream.points[2])?, b"other");
        assert!(points.window(&stream.points[0])?.is_empty());
        let stream = points.stream(500, 90).ok_or("no stream")?;
        assert_eq!(points.window(&stream.points[1])?, b"window");
        Ok(())
    }

    #[test]
    fn no_damage_is_believed() -> Outcome {
        let (bytes, section) = section()?;
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let Ok(points) = opened(&changed, &section) else { continue };
            let streams = [(20, 60), (500, 90)].map(|(offset, length)| points.stream(offset, length));
            let windows = streams.iter().flatten().flat_map(|stream| &stream.points).map(|point| points.window(point));
            let is_found = streams.iter().any(Option::is_none) | windows.map(|window| window.is_err()).fold(false, |any, is_wrong| any | is_wrong);
            assert!(is_found, "bit {bit}");
        }
        for length in 0..bytes.len() {
            if let Ok(points) = opened(&bytes[..length], &section) {
                [(20, 60), (500, 90)].into_iter().filter_map(|(offset, length)| points.stream(offset, length)).for_each(|stream| {
                    stream.points.iter().for_each(|point| drop(points.window(point)));
                });
            }
        }
        Ok(())
    }

    #[test]
    fn points_that_cannot_be_are_refused_with_right_checksums() -> Outcome {
        let first = || made(0, 16, &[]);
        let long = MadePoint { window_bytes: MAX_WINDOW_BYTES + 1, ..made(100_000, 99, b"w") };
        for (points, is_opened) in [
            (vec![first()], false),
            (vec![made(1, 16, &[]), made(2, 99, &[])], true),
            (vec![first(), made(0, 99, &[])], true),
            (vec![first(), made(5, 16, &[])], true),
            (vec![first(), made(200_000, 99, &[])], true),
            (vec![first(), made(5, 8 * 60, &[])], true),
            (vec![first(), made(5, 99, b"before the beginning")], true),
            (vec![first(), long], true),
            (vec![first(), MadePoint { window_bytes: 0, ..made(50, 99, b"w") }], true),
        ] {
            let mut builder = RestartPointsBuilder::new(100)?;
            builder.add(20, 60, 200_000, &points)?;
            let (mut bytes, section) = builder.table();
            builder.copy_to(&mut bytes)?;
            let found = opened(&bytes, &section);
            assert_eq!(found.is_ok(), is_opened, "{points:?}");
            assert!(found.map_or(true, |found| found.stream(20, 60).is_none()), "{points:?}");
        }
        for (offset, length) in [(600, 1), (u64::MAX, 2), (541, 60)] {
            let mut builder = RestartPointsBuilder::new(100)?;
            builder.add(offset, length, 1000, &[first(), made(5, 99, &[])])?;
            let (mut bytes, section) = builder.table();
            builder.copy_to(&mut bytes)?;
            assert!(opened(&bytes, &section).is_err(), "outside of the object");
            for section in [Section { streams: u64::MAX, ..section.clone() }, Section { streams: 1 << 58, ..section.clone() }, Section { bytes: 3, ..section }]
            {
                assert!(opened(&bytes, &section).is_err());
            }
        }
        Ok(())
    }
}
