//! A remote object as a [`Storage`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use bytes::Bytes;
use hyperslab_array::{Cancellation, Error, Result, interruption};

use super::POLL;
use super::address::shown_address;
use super::blocks::BLOCK_BYTES;
use super::counts;
use super::engine::{engine, started_engine};
use super::fetch::Fetch;
use super::object::{Head, Object, Origin, RangeReader, Version, engine_and_store, get_head};
use super::options::StorageOptions;
use super::ranges::{Gaps, MAX_REQUEST_BYTES};
use crate::{Storage, check_open, check_range};

/// Bytes that come with the request that opens an object: most metadata of most files.
const HEAD_BYTES: u64 = 1 << 20;
/// Shorter reads are of metadata, and fetch whole blocks.
const MAX_BLOCK_READ: usize = 256 << 10;
/// With 64 requests of 50 ms side by side and 100 MB/s, a further request takes as long as 80 KB.
const VALUE_GAPS: Gaps = Gaps { always: 64 << 10, most: 1 << 20 };
/// Gaps between blocks of metadata are kept, too, and often hold further metadata.
const BLOCK_GAPS: Gaps = Gaps { always: 256 << 10, most: 256 << 10 };
/// Bytes at the end of an object that are fetched with the first metadata outside of the head.
const TAIL_BYTES: u64 = 512 << 10;
/// Most bytes that are fetched because somebody will need them: they must fit into what is kept.
const MAX_PREFETCH_BYTES: u64 = 24 << 20;

/// Blocks that come with a missing one when metadata was missing for the second time, the third, and so on: metadata lies together, and
/// at 100 MB/s the bytes cost less than another wait.
const MOST_NEIGHBORS: u64 = 16;
/// Most bytes of such neighbors in a round.
const MAX_NEIGHBOR_BYTES: u64 = 4 << 20;

/// The number of the next object that is opened.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// An open object of an object store or an HTTP server, or what a [`RangeReader`] reads.
pub struct RemoteFile {
    object: Arc<Object>,
    head: Bytes,
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
        let name = shown_address(address).into_owned();
        let origin = Origin::of_address(address, options);
        let opened = open_head(&origin).map_err(|error| error.in_file(&name))?;
        Ok(Self::new(origin, name, opened))
    }

    /// What `reader` reads, of `length` bytes. `version` identifies it, if its owner knows one.
    ///
    /// # Errors
    /// That of the reader.
    pub fn of_reader(name: &str, reader: Arc<dyn RangeReader>, length: u64, version: Option<String>) -> Result<Self> {
        let opened = Head { bytes: Bytes::new(), length, version: Version { etag: version, modified: None } };
        let mut file = Self::new(Origin::Reader(reader), name.to_owned(), opened);
        let mut head = vec![0; usize::try_from(length.min(HEAD_BYTES)).unwrap_or_default()];
        if !head.is_empty() {
            file.fetch_into(0, &mut head)?;
        }
        file.head = head.into();
        Ok(file)
    }

    fn new(origin: Origin, name: String, opened: Head) -> Self {
        let Head { bytes: head, length, version } = opened;
        let object = Arc::new(Object { origin, name, length, version });
        Self {
            object,
            head,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            is_closed: AtomicBool::new(false),
            has_tail: AtomicBool::new(false),
            rounds: AtomicU32::new(0),
        }
    }

    /// Drops the blocks that are kept of it.
    fn forget(&self) {
        if let Some(engine) = started_engine() {
            engine.blocks().forget(self.number);
        }
    }

    /// The bytes from `offset` on if they came when it was opened.
    fn in_head(&self, offset: u64, length: usize) -> Option<&[u8]> {
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
        self.add_neighbors(&mut missing)?;
        if !self.has_tail.swap(true, Ordering::Relaxed) {
            let start = self.object.length.saturating_sub(TAIL_BYTES).max(self.head.len() as u64);
            missing.extend(self.missing_blocks(&[(start, self.object.length.saturating_sub(start))], TAIL_BYTES + BLOCK_BYTES)?);
            missing.sort_unstable();
            missing.dedup();
        }
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
        }
        Ok(true)
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
        let round = self.rounds.fetch_add(1, Ordering::Relaxed).min(MOST_NEIGHBORS.ilog2());
        let affordable = MAX_NEIGHBOR_BYTES / BLOCK_BYTES / (missing.len() as u64).max(1);
        let group = (1 << round).min(affordable.max(1));
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

/// The outcome of `work`, which runs on the threads of the engine. It is dropped if the caller is interrupted.
pub(super) fn wait_for<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let task = engine()?.runtime.spawn(async move {
        let _ = sender.send(work.await);
    });
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(outcome) => return outcome,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                if let Err(error) = interruption::check_wait() {
                    task.abort();
                    return Err(error);
                }
            }
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return Err(Error::internal("a request ended without an outcome")),
        }
    }
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
        if buffer.len() > MAX_BLOCK_READ {
            return self.fetch_into(offset, buffer);
        }
        if self.read_kept(offset, buffer)? {
            counts::add(&counts::HITS, 1);
            return Ok(());
        }
        self.fetch_blocks(&[(offset, buffer.len() as u64)], u64::MAX)?;
        // Other threads may have put so many blocks that these are gone.
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
        self.fetch_blocks(ranges, MAX_PREFETCH_BYTES).map(drop)
    }
    fn fetched(&self, ranges: &[(u64, u64)], cancellation: &Cancellation) -> Result<Option<Arc<dyn Storage>>> {
        check_open(self)?;
        let outside: Vec<(u64, u64)> = ranges
            .iter()
            .copied()
            .filter(|&(offset, length)| usize::try_from(length).is_ok_and(|length| length > 0 && self.in_head(offset, length).is_none()))
            .collect();
        for &(offset, length) in &outside {
            check_range(self, offset, usize::try_from(length).unwrap_or(usize::MAX))?;
        }
        if outside.is_empty() {
            return Ok(None);
        }
        counts::add(&counts::WANTED, outside.iter().map(|(_, length)| length).sum());
        let fetch = Fetch::begin(&self.object, &outside, VALUE_GAPS, MAX_REQUEST_BYTES, Some(cancellation.clone()))?;
        let base = Self {
            object: self.object.clone(),
            head: self.head.clone(),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            is_closed: AtomicBool::new(false),
            has_tail: AtomicBool::new(false),
            rounds: AtomicU32::new(0),
        };
        Ok(Some(Arc::new(Fetched { base, fetch })))
    }
    fn modified_nanoseconds(&self) -> Option<u64> {
        u64::try_from(self.object.version.modified?.timestamp_nanos_opt()?).ok()
    }
    fn version(&self) -> Option<&str> {
        self.object.version.etag.as_deref()
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
        let Origin::Store { address, options, .. } = &self.object.origin else {
            return Err(Error::unsupported(format!("{name} beside {}, which is a file object", self.name())));
        };
        if name.is_empty() || name.contains('/') || name == "." || name == ".." {
            return Err(Error::invalid_input(format!("{name:?} is no name of a file beside this one")).in_file(self.name()));
        }
        let (path, query) = address.split_once('?').map_or((address.as_str(), None), |(path, query)| (path, Some(query)));
        let folder = path.rsplit_once('/').map_or(path, |(folder, _)| folder);
        let other = query.map_or_else(|| format!("{folder}/{name}"), |query| format!("{folder}/{name}?{query}"));
        Ok(Arc::new(Self::open(&other, options)?))
    }
}

/// A remote file of which some ranges are on their way.
struct Fetched {
    base: RemoteFile,
    fetch: Fetch,
}

impl Storage for Fetched {
    fn len(&self) -> u64 {
        self.base.len()
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range(self, offset, buffer.len())?;
        if self.fetch.read(offset, buffer)? { Ok(()) } else { self.base.read_exact_at(offset, buffer) }
    }
    fn kept(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.base.kept(offset, length)
    }
    fn is_remote(&self) -> bool {
        true
    }
    fn is_unchanged(&self) -> bool {
        self.base.is_unchanged()
    }
    fn name(&self) -> &str {
        self.base.name()
    }
}
