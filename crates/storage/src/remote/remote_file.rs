//! A remote object as a [`Storage`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use bytes::Bytes;
use hyperslab_array::{Cancellation, Error, Result, interruption};

use super::address::{encoded_name, shown_address};
use super::blocks::BLOCK_BYTES;
use super::cache_settings::{CacheSettings, ChunkIndexChoice};
use super::chunk_index::{Chosen, ChunkIndex, beside, choose, open_with_index};
use super::counts;
use super::disk_blocks::ObjectBlocks;
use super::engine::{engine, started_engine};
use super::fetch::Fetch;
use super::fetched::Fetched;
use super::identity::{ObjectVersion, Place};
use super::object::{Head, Object, Origin, engine_and_store, get_head};
use super::opener::{OpenedRanges, RangesVersion, RemoteOpener};
use super::options::StorageOptions;
use super::range_reader::RangeReader;
use super::ranges::{Gaps, MAX_REQUEST_BYTES};
use super::version::Version;
use super::wait::{blocking, wait_for};
use crate::restart_points::RestartPoints;
use crate::{Storage, check_open, check_range};

/// Bytes that come with the request that opens an object: most metadata of most files.
const HEAD_BYTES: u64 = 1 << 20;
/// Shorter reads are of metadata, and fetch whole blocks.
const MAX_BLOCK_READ: usize = 256 << 10;
/// Gaps between blocks of metadata are kept, too, and often hold further metadata.
const BLOCK_GAPS: Gaps = Gaps { always: 256 << 10, most: 256 << 10 };
/// Bytes at the end of an object that are fetched with the first metadata outside of the head.
const TAIL_BYTES: u64 = 512 << 10;
/// Maximum bytes that are prefetched: they must fit into what is kept.
const MAX_PREFETCH_BYTES: u64 = 24 << 20;

/// Blocks that are fetched for a missing one when metadata was missing for the first time, the second, and from then on: metadata lies
/// together, and at 100 MB/s the bytes cost less than another wait.
const NEIGHBORS: [u64; 3] = [4, 16, 32];
/// Most bytes of such neighbors in a round.
const MAX_NEIGHBOR_BYTES: u64 = 4 << 20;

/// Bytes of a chunk index in the store beyond what the length of the object justifies, unless the reader says otherwise.
const MAX_EXTRA_INDEX_BYTES: u64 = 32 << 20;

/// The number of the next object that is opened.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// An open object of an object store or an HTTP server, or what a [`RangeReader`] reads.
pub struct RemoteFile {
    object: Arc<Object>,
    head: Bytes,
    /// Metadata that is in a local file.
    index: Option<Arc<ChunkIndex>>,
    /// The blocks that are kept on disk.
    disk: Option<Arc<ObjectBlocks>>,
    /// Identifies it among all openings of this process.
    number: u64,
    is_closed: AtomicBool,
    /// Whether the end of the object was fetched: with the first metadata that is not in the head, because many writers put
    /// metadata there.
    has_tail: AtomicBool,
    /// How often metadata was missing.
    rounds: AtomicU32,
}

impl Drop for RemoteFile {
    fn drop(&mut self) {
        self.forget();
    }
}

impl RemoteFile {
    /// Opens the object at an address: `s3://`, `gs://`, `az://`, `abfs://`, `http://` or `https://`. Its beginning comes with
    /// the same request.
    ///
    /// # Errors
    /// `NotFound` if there is none; `InvalidInput` for an address or options that are not valid; `Unsupported` for another
    /// scheme, or a server that does not answer requests for ranges; `Io` for what the store or the network refuses.
    pub fn open(address: &str, options: &StorageOptions) -> Result<Self> {
        Self::open_within(address, options, MAX_EXTRA_INDEX_BYTES)
    }

    /// As [`RemoteFile::open`], with a chunk index in the store of at most `max_extra_bytes` beyond what the length of the object justifies.
    /// A longer one is not used.
    ///
    /// # Errors
    /// As [`RemoteFile::open`].
    pub fn open_within(address: &str, options: &StorageOptions, max_extra_bytes: u64) -> Result<Self> {
        Self::open_with(address, options, Some(max_extra_bytes))
    }

    /// As [`RemoteFile::open`], without a chunk index: its metadata describes the present version.
    ///
    /// # Errors
    /// As [`RemoteFile::open`].
    pub fn open_unindexed(address: &str, options: &StorageOptions) -> Result<Self> {
        Self::open_with(address, options, None)
    }

    fn open_with(address: &str, options: &StorageOptions, max_extra_bytes: Option<u64>) -> Result<Self> {
        let name = shown_address(address).into_owned();
        let open = || {
            let origin = Origin::of_address(address, options);
            let (engine, located) = engine_and_store(&origin)?;
            let settings = CacheSettings::of(options)?;
            let place = Place::of(address, &located.ok_or_else(|| Error::internal("an address without a store"))?.server);
            let at = |at: &str| Origin::of_address(at, options);
            let mut file = match (&settings.chunk_index, max_extra_bytes) {
                (_, None) => Self::of_object(origin, &name)?,
                (ChunkIndexChoice::Beside, Some(max)) => Self::with_index_at(origin, &name, address, at(&beside(address)), false, max)?,
                (ChunkIndexChoice::Object(index), Some(max)) => Self::with_index_at(origin, &name, address, at(index), true, max)?,
                _ => match choose(&settings, &place)? {
                    Some(chosen) => Self::of_index(origin, name.clone(), chosen),
                    None => Self::of_object(origin, &name)?,
                },
            };
            if let Some((folder, max_bytes)) = &settings.blocks
                && let Some(version) = ObjectVersion::of(&place, &file.object.version, file.object.length)
            {
                file.disk = engine.disk(folder, *max_bytes).map(|disk| Arc::new(disk.of(&version)));
            }
            Ok(file)
        };
        open().map_err(|error: Error| error.in_file(&name))
    }

    /// What `reader` reads, of `length` bytes. `version` identifies it, if its owner knows one.
    ///
    /// # Errors
    /// That of the reader.
    pub fn of_reader(name: &str, reader: Arc<dyn RangeReader>, length: u64, version: Option<String>) -> Result<Self> {
        let opened = Head { bytes: Bytes::new(), length, version: Version { etag: version, modified: None } };
        Self::new(Origin::Reader(reader), name.to_owned(), opened).with_head()
    }

    /// Opens the file at an address by `opener`, on a thread of its own: this one looks whether it was interrupted.
    ///
    /// # Errors
    /// Those of the opener and its reader.
    pub fn open_by(address: &str, opener: &Arc<dyn RemoteOpener>) -> Result<Self> {
        let name = shown_address(address).into_owned();
        let opened = blocking({
            let (address, opener) = (address.to_owned(), opener.clone());
            move || opener.open(&address)
        });
        let OpenedRanges { reader, version } = opened.map_err(|error: Error| error.in_file(&name))?;
        let modified = version.modified_milliseconds.and_then(chrono::DateTime::from_timestamp_millis);
        let opened = Head { bytes: Bytes::new(), length: version.length, version: Version { etag: version.tag, modified } };
        let origin = Origin::Opened { address: address.to_owned(), opener: opener.clone(), reader };
        Self::new(origin, name, opened).with_head()
    }

    /// The version of the file at an address, by `opener`.
    ///
    /// # Errors
    /// Those of the opener.
    pub fn version_by(address: &str, opener: &Arc<dyn RemoteOpener>) -> Result<RangesVersion> {
        let (address, opener) = (address.to_owned(), opener.clone());
        blocking(move || opener.version(&address))
    }

    /// With its first bytes.
    fn with_head(mut self) -> Result<Self> {
        let mut head = vec![0; usize::try_from(self.object.length.min(HEAD_BYTES)).unwrap_or_default()];
        if !head.is_empty() {
            self.fetch_into(0, &mut head)?;
        }
        self.head = head.into();
        Ok(self)
    }

    fn new(origin: Origin, name: String, opened: Head) -> Self {
        let Head { bytes: head, length, version } = opened;
        let object = Arc::new(Object { origin, name, length, version, is_confirmed: AtomicBool::new(true), own_index: None });
        Self {
            object,
            head,
            index: None,
            disk: None,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            is_closed: AtomicBool::new(false),
            has_tail: AtomicBool::new(false),
            rounds: AtomicU32::new(0),
        }
    }

    fn of_object(origin: Origin, name: &str) -> Result<Self> {
        let opened = open_head(&origin)?;
        Ok(Self::new(origin, name.to_owned(), opened))
    }

    /// With the chunk index that is the object at another address, if it is of this version. The store has said so, so that nothing is to be
    /// asked before the first value.
    fn with_index_at(origin: Origin, name: &str, address: &str, at: Origin, is_named: bool, max_extra_bytes: u64) -> Result<Self> {
        let (head, index) = open_with_index(&origin, address, at, is_named, max_extra_bytes)?;
        let Some(index) = index else { return Ok(Self::new(origin, name.to_owned(), head)) };
        let file = Self::of_index(origin, name.to_owned(), Chosen { index, own: None });
        file.object.is_confirmed.store(true, Ordering::Relaxed);
        Ok(file)
    }

    /// The version that a chunk index is of, whose metadata it has.
    fn of_index(origin: Origin, name: String, chosen: Chosen) -> Self {
        let Chosen { index, own: own_index } = chosen;
        let (version, length) = (index.version(), index.object_bytes());
        let object = Arc::new(Object { origin, name, length, version, is_confirmed: AtomicBool::new(false), own_index });
        Self {
            object,
            head: Bytes::new(),
            index: Some(Arc::new(index)),
            disk: None,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            is_closed: AtomicBool::new(false),
            // Metadata that the index lacks is little.
            has_tail: AtomicBool::new(true),
            rounds: AtomicU32::new(0),
        }
    }

    /// Another opening of the same version, with blocks in memory of its own.
    fn again(&self) -> Self {
        Self {
            object: self.object.clone(),
            head: self.head.clone(),
            index: self.index.clone(),
            disk: self.disk.clone(),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            is_closed: AtomicBool::new(false),
            has_tail: AtomicBool::new(self.index.is_some()),
            rounds: AtomicU32::new(0),
        }
    }

    /// What identifies its version in other processes.
    ///
    /// # Errors
    /// `Unsupported` if the store gives no strong entity tag.
    pub(super) fn identified(&self) -> Result<ObjectVersion> {
        let address = self.address()?;
        let (_, located) = engine_and_store(&self.object.origin)?;
        let place = Place::of(address, &located.map(|located| located.server).unwrap_or_default());
        ObjectVersion::of(&place, &self.object.version, self.object.length).ok_or_else(|| {
            let what = "a chunk index of an object without a strong entity tag (ETag), by which a later version could be told";
            Error::unsupported(what).in_file(self.name())
        })
    }

    /// The address that it was opened by.
    ///
    /// # Errors
    /// `Unsupported` for a file object.
    pub(super) fn address(&self) -> Result<&str> {
        match &self.object.origin {
            Origin::Store { address, .. } => Ok(address),
            Origin::Reader(_) => Err(Error::unsupported("a chunk index of a file object: give its address").in_file(self.name())),
            Origin::Opened { .. } => Err(Error::unsupported("a chunk index of a file that a program opens in a way of its own").in_file(self.name())),
        }
    }

    pub(super) fn modified(&self) -> Option<chrono::DateTime<chrono::Utc>> {
        self.object.version.modified
    }

    /// Asks whether the object is still of the version that a chunk index is of, unless something was asked already.
    fn check_version(&self) -> Result<()> {
        if self.object.is_confirmed.load(Ordering::Relaxed) || self.object.length == 0 {
            return Ok(());
        }
        self.fetch_into(0, &mut [0])
    }

    /// As [`RemoteFile::check_version`], before values are read that the chunk index has. If they were put there to be read without a request,
    /// they are of the version that was indexed, as all metadata is.
    fn check_kept(&self) -> Result<()> {
        if self.index.as_ref().is_some_and(|index| index.has_values()) { Ok(()) } else { self.check_version() }
    }

    /// Begins to fetch values.
    fn begin_fetch(&self, ranges: &[(u64, u64)], cancellation: &Cancellation) -> Result<Fetched> {
        Fetched::begin(&self.object, Arc::new(self.again()), self.disk.clone(), ranges, cancellation)
    }

    /// Drops the blocks that are kept of it.
    fn forget(&self) {
        if let Some(engine) = started_engine() {
            engine.blocks().forget(self.number);
        }
    }

    /// The bytes from `offset` on if they came when it was opened.
    fn in_head(&self, offset: u64, length: usize) -> Option<&[u8]> {
        if let Some(index) = &self.index {
            return index.slice(offset, length);
        }
        let start = usize::try_from(offset).ok()?;
        self.head.get(start..start.checked_add(length)?)
    }

    fn fetch_into(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let fetch = Fetch::begin(&self.object, &[(offset, buffer.len() as u64)], Gaps::NONE, MAX_REQUEST_BYTES, interruption::current_cancellation())?;
        match fetch.read(offset, buffer)? {
            true => Ok(()),
            false => Err(Error::internal("a fetch without the bytes that it fetched")),
        }
    }

    /// Fetches the blocks that `ranges` touch and that are not kept, all in one round, and keeps them. Returns whether any
    /// was missing.
    fn fetch_blocks(&self, ranges: &[(u64, u64)], max_bytes: u64) -> Result<bool> {
        let mut missing = self.missing_blocks(ranges, max_bytes)?;
        if missing.is_empty() {
            return Ok(false);
        }
        self.take_from_disk(&mut missing)?;
        if missing.is_empty() {
            return Ok(true);
        }
        self.add_neighbors(&mut missing)?;
        if !self.has_tail.swap(true, Ordering::Relaxed) {
            let start = self.object.length.saturating_sub(TAIL_BYTES).max(self.head.len() as u64);
            missing.extend(self.missing_blocks(&[(start, self.object.length.saturating_sub(start))], TAIL_BYTES + BLOCK_BYTES)?);
            missing.sort_unstable();
            missing.dedup();
        }
        self.take_from_disk(&mut missing)?;
        let wanted: Vec<(u64, u64)> = missing.iter().map(|block| self.place_of(*block)).collect();
        let fetch = Fetch::begin(&self.object, &wanted, BLOCK_GAPS, MAX_REQUEST_BYTES, interruption::current_cancellation())?;
        for (index, piece) in fetch.pieces().iter().enumerate() {
            let Some(bytes) = fetch.wait(index)? else { continue };
            let mut blocks = engine()?.blocks();
            // Also the blocks of gaps: they were paid for.
            for block in piece.start / BLOCK_BYTES..piece.end.div_ceil(BLOCK_BYTES) {
                let (offset, length) = self.place_of(block);
                let start = offset.checked_sub(piece.start).and_then(|start| usize::try_from(start).ok());
                let range = start.zip(usize::try_from(length).ok()).map(|(start, length)| start..start + length);
                if let Some(bytes) = range.and_then(|range| bytes.get(range)) {
                    blocks.put(self.number, block, bytes);
                }
            }
            drop(blocks);
            if let Some(disk) = &self.disk {
                disk.put_all(piece.start, &bytes);
            }
        }
        Ok(true)
    }

    /// Moves blocks that are on disk to those in memory, and leaves the others in `missing`.
    fn take_from_disk(&self, missing: &mut Vec<u64>) -> Result<()> {
        let Some(disk) = &self.disk else { return Ok(()) };
        let engine = engine()?;
        missing.retain(|block| {
            let found = disk.get(*block);
            if let Some(bytes) = &found {
                counts::add(&counts::DISK_HITS, 1);
                engine.blocks().put(self.number, *block, bytes);
            }
            found.is_none()
        });
        Ok(())
    }

    /// The blocks that `ranges` touch and that are neither kept nor in the head, sorted; at most `max_bytes` of them.
    fn missing_blocks(&self, ranges: &[(u64, u64)], max_bytes: u64) -> Result<Vec<u64>> {
        let blocks = engine()?.blocks();
        let mut missing = Vec::new();
        let mut left = max_bytes / BLOCK_BYTES;
        for &(offset, length) in ranges {
            let end = offset.saturating_add(length).min(self.object.length);
            if offset >= end || self.in_head(offset, usize::try_from(end - offset).unwrap_or(usize::MAX)).is_some() {
                continue;
            }
            for block in offset / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES) {
                if left == 0 {
                    break;
                }
                if missing.last() != Some(&block) && !blocks.has(self.number, block) {
                    missing.push(block);
                    left -= 1;
                }
            }
        }
        drop(blocks);
        missing.sort_unstable();
        missing.dedup();
        Ok(missing)
    }

    /// Adds the blocks around missing ones: the more, the more rounds there were.
    fn add_neighbors(&self, missing: &mut Vec<u64>) -> Result<()> {
        let neighbors = NEIGHBORS.get(self.rounds.fetch_add(1, Ordering::Relaxed) as usize).or(NEIGHBORS.last()).copied().unwrap_or(1);
        let affordable = MAX_NEIGHBOR_BYTES / BLOCK_BYTES / (missing.len() as u64).max(1);
        let group = neighbors.min(affordable.max(1));
        let groups: Vec<(u64, u64)> = missing.iter().map(|block| (block / group * group * BLOCK_BYTES, group * BLOCK_BYTES)).filter(|_| group > 1).collect();
        missing.extend(self.missing_blocks(&groups, MAX_NEIGHBOR_BYTES)?);
        missing.sort_unstable();
        missing.dedup();
        Ok(())
    }

    /// Offset and length of a block.
    fn place_of(&self, block: u64) -> (u64, u64) {
        let offset = block.saturating_mul(BLOCK_BYTES);
        (offset, BLOCK_BYTES.min(self.object.length.saturating_sub(offset)))
    }

    /// Fills `buffer` from kept blocks; false if one of them is missing.
    fn read_kept(&self, offset: u64, buffer: &mut [u8]) -> Result<bool> {
        let mut blocks = engine()?.blocks();
        let (mut at, mut rest) = (offset, buffer);
        while !rest.is_empty() {
            let Some(bytes) = blocks.get(self.number, at / BLOCK_BYTES) else { return Ok(false) };
            let from = usize::try_from(at % BLOCK_BYTES).unwrap_or(usize::MAX);
            let Some(part) = bytes.get(from..).filter(|part| !part.is_empty()) else { return Ok(false) };
            let count = part.len().min(rest.len());
            let (here, later) = crate::split(rest, count as u64)?;
            here.copy_from_slice(part.get(..count).unwrap_or_default());
            (at, rest) = (at + count as u64, later);
        }
        Ok(true)
    }
}

/// The beginning of an object. Waits in this thread, which looks whether it was interrupted.
fn open_head(origin: &Origin) -> Result<Head> {
    let (engine, located) = engine_and_store(origin)?;
    let located = located.ok_or_else(|| Error::internal("an address without a store"))?;
    counts::add(&counts::ROUNDS, 1);
    wait_for(async move { get_head(engine, &located, HEAD_BYTES).await })
}

impl Storage for RemoteFile {
    fn len(&self) -> u64 {
        self.object.length
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_open(self)?;
        check_range(self, offset, buffer.len())?;
        counts::add(&counts::WANTED, buffer.len() as u64);
        if let Some(kept) = self.in_head(offset, buffer.len()) {
            counts::add(&counts::HITS, 1);
            buffer.copy_from_slice(kept);
            return Ok(());
        }
        if self.index.as_ref().is_some_and(|index| index.read_into(offset, buffer)) {
            counts::add(&counts::HITS, 1);
            return Ok(());
        }
        if buffer.len() > MAX_BLOCK_READ {
            return match self.disk {
                None => self.fetch_into(offset, buffer),
                Some(_) => {
                    let cancellation = interruption::current_cancellation().unwrap_or_default();
                    self.begin_fetch(&[(offset, buffer.len() as u64)], &cancellation)?.read_exact_at(offset, buffer)
                }
            };
        }
        if self.read_kept(offset, buffer)? {
            counts::add(&counts::HITS, 1);
            return Ok(());
        }
        self.fetch_blocks(&[(offset, buffer.len() as u64)], u64::MAX)?;
        // Other threads may have added blocks that evicted these.
        if self.read_kept(offset, buffer)? { Ok(()) } else { self.fetch_into(offset, buffer) }
    }
    fn kept(&self, offset: u64, length: usize) -> Option<&[u8]> {
        if self.is_closed() { None } else { self.in_head(offset, length) }
    }
    fn is_remote(&self) -> bool {
        true
    }
    fn prefetch(&self, ranges: &[(u64, u64)]) -> Result<()> {
        check_open(self)?;
        let Some(index) = &self.index else { return self.fetch_blocks(ranges, MAX_PREFETCH_BYTES).map(drop) };
        // Lengths may be guesses, but what was read when the index was made begins in it.
        let outside: Vec<(u64, u64)> = ranges.iter().copied().filter(|(offset, _)| !index.has(*offset)).collect();
        if outside.is_empty() { Ok(()) } else { self.fetch_blocks(&outside, MAX_PREFETCH_BYTES).map(drop) }
    }
    fn fetched(&self, ranges: &[(u64, u64)], cancellation: &Cancellation) -> Result<Option<Arc<dyn Storage>>> {
        check_open(self)?;
        let is_here = |offset, length: u64| match &self.index {
            Some(index) => index.covers(offset, length),
            None => usize::try_from(length).is_ok_and(|length| self.in_head(offset, length).is_some()),
        };
        let outside: Vec<(u64, u64)> = ranges.iter().copied().filter(|&(offset, length)| length > 0 && !is_here(offset, length)).collect();
        for &(offset, length) in &outside {
            check_range(self, offset, usize::try_from(length).unwrap_or(usize::MAX))?;
        }
        if outside.is_empty() {
            return self.check_kept().map(|()| None);
        }
        counts::add(&counts::WANTED, outside.iter().map(|(_, length)| length).sum());
        let fetched = self.begin_fetch(&outside, cancellation)?;
        if fetched.is_from_disk() {
            self.check_version()?;
        }
        Ok(Some(Arc::new(fetched)))
    }
    fn confirm(&self, offset: u64, length: u64) -> Result<()> {
        let is_here = self.index.as_ref().is_some_and(|index| index.covers(offset, length));
        match is_here {
            true => self.check_kept(),
            false if self.disk.is_some() => self.check_version(),
            false => Ok(()),
        }
    }
    fn modified_nanoseconds(&self) -> Option<u64> {
        u64::try_from(self.object.version.modified?.timestamp_nanos_opt()?).ok()
    }
    fn version(&self) -> Option<&str> {
        self.object.version.etag.as_deref()
    }
    fn restart_points(&self) -> Option<Arc<RestartPoints>> {
        self.index.as_ref()?.restart_points().cloned()
    }
    /// All bytes are of the version that was opened.
    fn is_unchanged(&self) -> bool {
        !self.is_closed()
    }
    fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.forget();
    }
    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }
    fn name(&self) -> &str {
        &self.object.name
    }
    fn beside(&self, name: &str) -> Result<Arc<dyn Storage>> {
        if let Origin::Reader(_) = &self.object.origin {
            return Err(Error::unsupported(format!("{name} beside {}, which is a file object", self.name())));
        }
        if name.is_empty() || name.contains('/') || name == "." || name == ".." {
            return Err(Error::invalid_input(format!("{name:?} is not a name of a file beside this one")).in_file(self.name()));
        }
        let (address, options) = match &self.object.origin {
            Origin::Store { address, options, .. } => (address, options),
            Origin::Opened { address, opener, .. } => {
                let folder = address.rsplit_once('/').map_or(address.as_str(), |(folder, _)| folder);
                return Ok(Arc::new(Self::open_by(&format!("{folder}/{name}"), opener)?));
            }
            Origin::Reader(_) => return Err(Error::internal("a file object with a folder").in_file(self.name())),
        };
        let (path, query) = address.split_once('?').map_or((address.as_str(), None), |(path, query)| (path, Some(query)));
        let folder = path.rsplit_once('/').map_or(path, |(folder, _)| folder);
        let name = encoded_name(name);
        let other = query.map_or_else(|| format!("{folder}/{name}"), |query| format!("{folder}/{name}?{query}"));
        // A chunk index that is named is of this object.
        Ok(Arc::new(Self::open(&other, &options.of_others())?))
    }
}
