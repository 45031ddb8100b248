//! The file of a chunk index: a header with the version of the object, a table of extents with their checksums, and their bytes.
//!
//! All numbers are little-endian. Magic (8 bytes), version of this format (4), checksum (4) of what follows up to the first extent's
//! bytes, length of the description (8), number of extents (8), the description (JSON), then for each extent its offset in the object
//! (8), its length (4) and its checksum (4), then the bytes of all extents. In format 2, restart points follow (`restart_points`); an
//! index without them has format 1.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use hyperslab_array::{Error, Result};
use serde::{Deserialize, Serialize};

use super::super::address::shown_address;
use super::super::identity::ObjectVersion;
use super::super::version::Version;
use crate::notices::add_of_cache;
use crate::restart_points::{IndexBytes, RestartPoints, RestartPointsBuilder, Section};

const MAGIC: &[u8; 8] = b"HSCHUNKS";
const FORMAT: u32 = 1;
const FORMAT_WITH_POINTS: u32 = 2;
const HEADER_BYTES: u64 = 8 + 4 + 4 + 8 + 8;
const EXTENT_BYTES: u64 = 8 + 4 + 4;
/// Longest extent: what is read and checked at once.
const MAX_EXTENT_BYTES: u64 = 64 << 10;
/// Maximum bytes of a description; a longer one is not Hyperslab's.
const MAX_DESCRIPTION_BYTES: u64 = 64 << 10;
/// Maximum bytes of extents that are read when the index is opened.
const MAX_EAGER_BYTES: u64 = 1 << 20;

/// What an index is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Description {
    pub version: ObjectVersion,
    /// Time of the object's last change, in nanoseconds since 1970, if the store says it.
    pub modified: Option<i64>,
    /// Whether it has values, too: these are read from it without asking whether the object was replaced, as its metadata is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_values: bool,
    /// Restart points that follow the extents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<Section>,
}

/// A run of the object's bytes.
struct Extent {
    /// In the object.
    offset: u64,
    length: u32,
    checksum: u32,
    /// In the file of the index.
    place: u64,
    /// The bytes once they were read; `None` if they are damaged.
    bytes: OnceLock<Option<Bytes>>,
}

impl Extent {
    fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }
}

/// An open chunk index.
pub(in super::super) struct ChunkIndex {
    pub(super) description: Description,
    /// Sorted and disjoint.
    extents: Vec<Extent>,
    /// The file, if not all bytes were read when it was opened.
    file: Option<Arc<File>>,
    points: Option<Arc<RestartPoints>>,
    /// For messages.
    name: String,
}

fn failed(error: std::io::Error) -> Error {
    Error::io(error, "cannot read the chunk index")
}

fn corrupt(why: &str) -> Error {
    Error::corrupt(format!("this is not a valid chunk index: {why}; make it again"))
}

impl ChunkIndex {
    /// Reads an index, and the bytes of its extents if they are few.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged, `Unsupported` for a later format, or `Io`.
    pub(super) fn read(mut file: File, name: String) -> Result<Self> {
        let file_bytes = file.metadata().map_err(failed)?.len();
        let (mut index, start, end) = Self::table(&mut file, file_bytes, name)?;
        if end - start <= MAX_EAGER_BYTES {
            let mut all = Vec::new();
            (&mut file).take(end - start).read_to_end(&mut all).map_err(failed)?;
            index.take(&all.into(), start)?;
        }
        // Few points are kept in memory, so that files with points need no open descriptors.
        let points_bytes = file_bytes - end;
        let in_memory = usize::try_from(points_bytes).ok().filter(|_| points_bytes <= MAX_EAGER_BYTES).map(|length| vec![0; length]);
        if let Some(mut points) = in_memory {
            file.read_exact_at(&mut points, end).map_err(failed)?;
            index.take_points(&IndexBytes::Memory(points.into()), 0)?;
        }
        let file = Arc::new(file);
        if points_bytes > MAX_EAGER_BYTES {
            index.take_points(&IndexBytes::File(file.clone()), end)?;
        }
        index.file = (end - start > MAX_EAGER_BYTES).then_some(file);
        Ok(index)
    }

    /// An index that is in memory.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged, or `Unsupported` for a later format.
    pub(super) fn of_bytes(bytes: &Bytes, name: String) -> Result<Self> {
        let (mut index, start, end) = Self::table(&mut bytes.as_ref(), bytes.len() as u64, name)?;
        index.take(&bytes.slice(usize::try_from(start).unwrap_or(usize::MAX).min(bytes.len())..), start)?;
        index.take_points(&IndexBytes::Memory(bytes.clone()), end)?;
        Ok(index)
    }

    /// Opens the restart points, which begin at `start`.
    fn take_points(&mut self, bytes: &IndexBytes, start: u64) -> Result<()> {
        if let Some(section) = &self.description.points {
            let points = RestartPoints::open(bytes.clone(), start, section, self.description.version.bytes, &self.name)?;
            self.points = Some(Arc::new(points));
        }
        Ok(())
    }

    /// The restart points of the object's chunks, if it has some.
    pub fn restart_points(&self) -> Option<&Arc<RestartPoints>> {
        self.points.as_ref()
    }

    /// Reads the table of an index of `file_bytes`. Also says where the bytes of the extents begin and end.
    fn table(file: &mut impl Read, file_bytes: u64, name: String) -> Result<(Self, u64, u64)> {
        let mut header = [0; 32];
        file.read_exact(&mut header).map_err(|_| corrupt("it is too short"))?;
        let word = |at: usize| header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
        let long = |at: usize| header.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
        if header.get(..8) != Some(MAGIC) {
            return Err(corrupt("it does not begin like one"));
        }
        if word(8) != FORMAT && word(8) != FORMAT_WITH_POINTS {
            let formats = format!("{FORMAT} and {FORMAT_WITH_POINTS}");
            return Err(Error::unsupported(format!("this chunk index has format {}, and this version reads {formats}: make it again", word(8))));
        }
        let (description_bytes, count) = (long(16), long(24));
        let table_bytes = count.checked_mul(EXTENT_BYTES).and_then(|bytes| bytes.checked_add(description_bytes));
        // A wrong length must not cost memory.
        let table_bytes = table_bytes.filter(|bytes| description_bytes <= MAX_DESCRIPTION_BYTES && bytes.saturating_add(HEADER_BYTES) <= file_bytes);
        let table_bytes = table_bytes.ok_or_else(|| corrupt("it is too short"))?;
        let mut table = vec![0; usize::try_from(table_bytes).map_err(|_| corrupt("it is too long"))?];
        file.read_exact(&mut table).map_err(failed)?;
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(header.get(16..).unwrap_or_default());
        checksum.update(&table);
        if checksum.finalize() != word(12) {
            return Err(corrupt("its table is damaged"));
        }
        let (description, table) = usize::try_from(description_bytes).ok().and_then(|length| table.split_at_checked(length)).unwrap_or_default();
        let description: Description = serde_json::from_slice(description).map_err(|_| corrupt("its description is damaged"))?;
        let mut place = HEADER_BYTES + table_bytes;
        let mut extents: Vec<Extent> = Vec::with_capacity(table.len() / 16);
        for entry in table.as_chunks::<16>().0 {
            let [o0, o1, o2, o3, o4, o5, o6, o7, l0, l1, l2, l3, c0, c1, c2, c3] = *entry;
            let offset = u64::from_le_bytes([o0, o1, o2, o3, o4, o5, o6, o7]);
            let (length, checksum) = (u32::from_le_bytes([l0, l1, l2, l3]), u32::from_le_bytes([c0, c1, c2, c3]));
            let end = offset.checked_add(u64::from(length)).filter(|end| *end <= description.version.bytes);
            let follows = extents.last().is_none_or(|last| last.end() <= offset);
            if end.is_none() || !follows || length == 0 || u64::from(length) > MAX_EXTENT_BYTES {
                return Err(corrupt("its extents overlap"));
            }
            extents.push(Extent { offset, length, checksum, place, bytes: OnceLock::new() });
            place += u64::from(length);
        }
        if (word(8) == FORMAT_WITH_POINTS) != description.points.is_some() {
            return Err(corrupt("its format and its description differ"));
        }
        let points_bytes = description.points.as_ref().map_or(0, |section| section.bytes);
        if place.checked_add(points_bytes) != Some(file_bytes) {
            return Err(corrupt("its length is wrong"));
        }
        Ok((Self { description, extents, file: None, points: None, name }, HEADER_BYTES + table_bytes, place))
    }

    /// Takes the bytes of all extents, which begin at `start`.
    fn take(&mut self, all: &Bytes, start: u64) -> Result<()> {
        for extent in &self.extents {
            let at = usize::try_from(extent.place - start).unwrap_or(usize::MAX);
            let range = at..at.saturating_add(usize::try_from(extent.length).unwrap_or(usize::MAX));
            let bytes = (range.end <= all.len()).then(|| all.slice(range)).filter(|bytes| crc32fast::hash(bytes) == extent.checksum);
            if bytes.is_none() {
                return Err(corrupt("its bytes are damaged"));
            }
            let _ = extent.bytes.set(bytes);
        }
        Ok(())
    }

    /// Whether it is of this version of an object, which may have been copied with its index to another place.
    pub(super) fn is_of(&self, address: &str, version: &Version, bytes: u64) -> bool {
        let name = |address: &str| address.rsplit('/').next().map(str::to_owned);
        let ours = &self.description.version;
        name(&shown_address(address)) == name(ours.place.address()) && version.strong_etag().as_deref() == Some(ours.etag()) && bytes == ours.bytes
    }

    /// The version of the object.
    pub fn version(&self) -> Version {
        let modified = self.description.modified.map(chrono::DateTime::from_timestamp_nanos);
        Version { etag: Some(self.description.version.etag().to_owned()), modified }
    }

    /// Whether it has values that are read from it without a request.
    pub fn has_values(&self) -> bool {
        self.description.has_values
    }

    /// Length of the object in bytes.
    pub fn object_bytes(&self) -> u64 {
        self.description.version.bytes
    }

    /// The bytes of an extent, if they are as they were written.
    fn bytes_of<'a>(&self, extent: &'a Extent) -> Option<&'a Bytes> {
        let read = || {
            let mut bytes = vec![0; usize::try_from(extent.length).ok()?];
            let is_right = self.file.as_ref()?.read_exact_at(&mut bytes, extent.place).is_ok() && crc32fast::hash(&bytes) == extent.checksum;
            if !is_right {
                add_of_cache(format!("the chunk index {} is damaged: what it lacks is fetched; make it again", self.name));
            }
            is_right.then(|| Bytes::from(bytes))
        };
        extent.bytes.get_or_init(read).as_ref()
    }

    /// The extents from the one on that holds `offset`.
    fn from(&self, offset: u64) -> &[Extent] {
        let first = self.extents.partition_point(|extent| extent.end() <= offset);
        self.extents.get(first..).unwrap_or_default()
    }

    /// Whether the index has the byte at `offset`: what begins there was read when the index was made.
    pub fn has(&self, offset: u64) -> bool {
        self.from(offset).first().is_some_and(|extent| extent.offset <= offset)
    }

    /// Whether it has all of a range.
    pub fn covers(&self, offset: u64, length: u64) -> bool {
        let end = offset.saturating_add(length);
        let mut at = offset;
        for extent in self.from(offset) {
            if at >= end || extent.offset > at {
                break;
            }
            at = extent.end();
        }
        at >= end
    }

    /// Bytes of one extent.
    pub fn slice(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let extent = self.from(offset).first().filter(|extent| extent.offset <= offset)?;
        let start = usize::try_from(offset - extent.offset).ok()?;
        self.bytes_of(extent)?.get(start..start.checked_add(length)?)
    }

    /// Fills `buffer` from `offset` on; false if the index does not have all of that.
    pub fn read_into(&self, offset: u64, buffer: &mut [u8]) -> bool {
        let (mut at, mut rest) = (offset, buffer);
        for extent in self.from(offset) {
            if rest.is_empty() {
                break;
            }
            let Some(start) = at.checked_sub(extent.offset).and_then(|start| usize::try_from(start).ok()) else { return false };
            let Some(part) = self.bytes_of(extent).and_then(|bytes| bytes.get(start..)).filter(|part| !part.is_empty()) else { return false };
            let count = part.len().min(rest.len());
            let Some((here, later)) = rest.split_at_mut_checked(count) else { return false };
            here.copy_from_slice(part.get(..count).unwrap_or_default());
            (at, rest) = (at + count as u64, later);
        }
        rest.is_empty()
    }
}

/// Cuts sorted and disjoint ranges into extents.
pub(in super::super) fn extents(ranges: &[(u64, u64)]) -> impl Iterator<Item = (u64, u64)> + '_ {
    ranges.iter().flat_map(|&(offset, length)| {
        (0..length.div_ceil(MAX_EXTENT_BYTES)).map(move |number| {
            let start = number * MAX_EXTENT_BYTES;
            (offset + start, MAX_EXTENT_BYTES.min(length - start))
        })
    })
}

/// Writes an index of sorted and disjoint ranges, which `read` reads one after the other, with restart points if there are some. The
/// bytes of all ranges are read twice: once for their checksums.
///
/// # Errors
/// Those of `read`, or `Io`.
pub(in super::super) fn write(
    out: &mut dyn Write,
    description: &Description,
    ranges: &[(u64, u64)],
    read: &mut dyn FnMut(u64, u64) -> Result<Vec<u8>>,
    points: Option<&RestartPointsBuilder>,
) -> Result<()> {
    let failed = |error: std::io::Error| Error::io(error, "cannot write the chunk index");
    let (streams, section) = points.map(RestartPointsBuilder::table).unzip();
    let format = if section.is_some() { FORMAT_WITH_POINTS } else { FORMAT };
    let text = serde_json::to_vec(&Description { points: section, ..description.clone() }).map_err(|error| Error::internal(error.to_string()))?;
    let count = extents(ranges).count() as u64;
    let mut rest = Vec::new();
    rest.extend_from_slice(&(text.len() as u64).to_le_bytes());
    rest.extend_from_slice(&count.to_le_bytes());
    rest.extend_from_slice(&text);
    for (offset, length) in extents(ranges) {
        rest.extend_from_slice(&offset.to_le_bytes());
        rest.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        rest.extend_from_slice(&crc32fast::hash(&read(offset, length)?).to_le_bytes());
    }
    out.write_all(MAGIC).map_err(failed)?;
    out.write_all(&format.to_le_bytes()).map_err(failed)?;
    out.write_all(&crc32fast::hash(&rest).to_le_bytes()).map_err(failed)?;
    out.write_all(&rest).map_err(failed)?;
    for (offset, length) in extents(ranges) {
        out.write_all(&read(offset, length)?).map_err(failed)?;
    }
    if let Some((points, streams)) = points.zip(streams) {
        out.write_all(&streams).map_err(failed)?;
        points.copy_to(out).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::identity::Place;
    use super::*;

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    fn description(bytes: u64) -> Option<Description> {
        let version = Version { etag: Some("\"1\"".to_owned()), modified: None };
        Some(Description { version: ObjectVersion::of(&Place::of("s3://b/k", ""), &version, bytes)?, modified: Some(5), has_values: false, points: None })
    }

    fn written(object: &[u8], ranges: &[(u64, u64)]) -> std::result::Result<Vec<u8>, Box<dyn std::error::Error>> {
        let mut out = Vec::new();
        let mut read = |offset: u64, length: u64| Ok(object[offset as usize..(offset + length) as usize].to_vec());
        write(&mut out, &description(object.len() as u64).ok_or("no version")?, ranges, &mut read, None)?;
        Ok(out)
    }

    fn opened(content: &[u8]) -> std::result::Result<Result<ChunkIndex>, Box<dyn std::error::Error>> {
        let mut file = tempfile::tempfile()?;
        file.write_all(content)?;
        std::io::Seek::rewind(&mut file)?;
        Ok(ChunkIndex::read(file, "x.chunks".to_owned()))
    }

    #[test]
    fn it_has_its_ranges_and_nothing_else() -> Outcome {
        let object: Vec<u8> = (0..3_000_000u32).map(|number| (number * 7 / 3 % 251) as u8).collect();
        for ranges in [&[(0, 10), (10, 5), (100, 1), (200_000, 150_000)][..], &[(5, 20), (1000, 2_500_000)]] {
            let index = opened(&written(&object, ranges)?)??;
            assert_eq!(index.file.is_some(), ranges.len() == 2, "a large one is not read whole");
            for (offset, length) in
                [(0, 15), (0, 16), (3, 9), (5, 20), (100, 1), (99, 2), (200_000, 150_000), (250_000, 70_000), (349_999, 1), (350_000, 1), (1000, 2_000_000)]
            {
                let within = |byte: u64| ranges.iter().any(|(start, length)| (*start..start + length).contains(&byte));
                let has_all = (offset..offset + length).all(within);
                let mut buffer = vec![0; length as usize];
                assert_eq!(index.covers(offset, length), has_all, "{offset} {length}");
                assert_eq!(index.read_into(offset, &mut buffer), has_all);
                assert_eq!(index.has(offset), within(offset));
                let expected = &object[offset as usize..(offset + length) as usize];
                if has_all {
                    assert_eq!(buffer, expected);
                }
                assert!(index.slice(offset, length as usize).is_none_or(|slice| slice == expected));
            }
        }
        Ok(())
    }

    #[test]
    fn no_damage_is_believed() -> Outcome {
        let object: Vec<u8> = (0..200u8).collect();
        let whole = written(&object, &[(0, 30), (50, 20)])?;
        opened(&whole)??;
        for bit in 0..whole.len() * 8 {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(opened(&changed)?.is_err(), "bit {bit}");
        }
        for length in 0..whole.len() {
            assert!(opened(&whole[..length])?.is_err(), "{length} bytes");
        }
        assert!(opened(&[whole.as_slice(), b"x"].concat())?.is_err());
        Ok(())
    }

    #[test]
    fn damage_of_a_large_one_is_found_where_it_is_read() -> Outcome {
        let object = vec![3; 4 << 20];
        let mut whole = written(&object, &[(0, 2 << 20)])?;
        let last = whole.len() - 1;
        whole[last] ^= 1;
        let index = opened(&whole)??;
        let mut buffer = [0; 100];
        assert!(index.read_into(0, &mut buffer) && !index.read_into((2 << 20) - 50, &mut buffer[..50]));
        Ok(())
    }
}
