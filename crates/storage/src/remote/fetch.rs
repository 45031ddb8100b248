//! A fetch: requests of one read that run side by side, and land while earlier ones are being decoded.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use hyperslab_array::{Cancellation, Error, Result, interruption};
use tokio::task::AbortHandle;

use super::disk_blocks::ObjectBlocks;
use super::engine::engine;
use super::object::{Object, engine_and_store};
use super::ranges::{Gaps, merged};
use super::{POLL, counts};

/// Bytes of all fetches of the process that are on their way, or have landed and were not read. What a reader waits for is
/// requested beyond that.
const MAX_AHEAD_BYTES: u64 = 128 << 20;
/// Most bytes and ranges that are asked of a reader (of Python, for example) at once.
const MAX_READER_BYTES: u64 = 32 << 20;
/// Most bytes that are asked at once of a reader that reads several batches side by side.
const MAX_ASIDE_BYTES: u64 = 8 << 20;
const MAX_READER_RANGES: usize = 256;

static AHEAD: AtomicU64 = AtomicU64::new(0);

enum State {
    Waiting,
    /// Requested; `None` while a thread of ours reads it.
    Running(Option<AbortHandle>),
    Landed(Bytes),
    Failed(Error),
    /// All of its wanted bytes were read.
    Done,
}

struct Slot {
    state: State,
    /// Wanted bytes that were not read yet.
    unread: u64,
    /// Whether its blocks were put on disk.
    is_kept: bool,
}

struct Shared {
    slots: Mutex<Vec<Slot>>,
    landed: Condvar,
}

impl Shared {
    fn slots(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn land(&self, index: usize, outcome: Result<Bytes>) {
        if let Some(slot) = self.slots().get_mut(index) {
            slot.state = outcome.map_or_else(State::Failed, State::Landed);
        }
        self.landed.notify_all();
    }
}

/// The requests of one read, sorted by their place in the object.
pub(super) struct Fetch {
    object: Arc<Object>,
    pieces: Vec<Range<u64>>,
    shared: Arc<Shared>,
    /// The first piece that was not requested beforehand.
    next: AtomicUsize,
    cancellation: Option<Cancellation>,
    /// Where whole blocks of what lands are kept.
    disk: Option<Arc<ObjectBlocks>>,
}

impl Drop for Fetch {
    fn drop(&mut self) {
        let mut slots = self.shared.slots();
        for (slot, piece) in slots.iter_mut().zip(&self.pieces) {
            if let State::Running(Some(request)) = &slot.state {
                request.abort();
            }
            if matches!(slot.state, State::Running(_) | State::Landed(_) | State::Failed(_)) {
                AHEAD.fetch_sub(piece.end - piece.start, Ordering::Relaxed);
            }
            slot.state = State::Done;
        }
    }
}

impl Fetch {
    /// Begins to fetch `ranges`, merged over `gaps` into requests of at most `max_bytes`.
    pub fn begin(object: &Arc<Object>, ranges: &[(u64, u64)], gaps: Gaps, max_bytes: u64, cancellation: Option<Cancellation>) -> Result<Self> {
        Self::begin_pieces(object, merged(ranges, gaps, max_bytes), ranges, None, cancellation)
    }

    /// Begins to fetch `pieces`; `ranges` of them will be read.
    pub fn begin_pieces(
        object: &Arc<Object>,
        pieces: Vec<Range<u64>>,
        ranges: &[(u64, u64)],
        disk: Option<Arc<ObjectBlocks>>,
        cancellation: Option<Cancellation>,
    ) -> Result<Self> {
        let mut slots: Vec<Slot> = pieces.iter().map(|_| Slot { state: State::Waiting, unread: 0, is_kept: false }).collect();
        for &(offset, length) in ranges {
            let first = pieces.partition_point(|piece| piece.end <= offset);
            for (piece, slot) in pieces.iter().zip(&mut slots).skip(first) {
                let overlap = piece.end.min(offset.saturating_add(length)).saturating_sub(piece.start.max(offset));
                if overlap == 0 {
                    break;
                }
                slot.unread += overlap;
            }
        }
        counts::add(&counts::ROUNDS, u64::from(!pieces.is_empty()));
        let shared = Arc::new(Shared { slots: Mutex::new(slots), landed: Condvar::new() });
        let fetch = Self { object: object.clone(), pieces, shared, next: AtomicUsize::new(0), cancellation, disk };
        fetch.advance()?;
        Ok(fetch)
    }

    /// The fetched ranges.
    pub fn pieces(&self) -> &[Range<u64>] {
        &self.pieces
    }

    /// Requests further pieces as far as memory allows.
    fn advance(&self) -> Result<()> {
        if let Some(reader) = self.object.origin.reader() {
            return if reader.reads_aside() { self.advance_aside() } else { Ok(()) };
        }
        let mut slots = self.shared.slots();
        loop {
            let index = self.next.load(Ordering::Relaxed);
            let Some((slot, piece)) = slots.get_mut(index).zip(self.pieces.get(index)) else { break };
            if !matches!(slot.state, State::Waiting) {
                self.next.store(index + 1, Ordering::Relaxed);
                continue;
            }
            let bytes = piece.end - piece.start;
            let within = |ahead: u64| ahead.checked_add(bytes).filter(|ahead| *ahead <= MAX_AHEAD_BYTES);
            if AHEAD.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_err() {
                break;
            }
            match self.request(index, piece) {
                Ok(request) => slot.state = State::Running(Some(request)),
                Err(error) => {
                    AHEAD.fetch_sub(bytes, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Has further pieces read on threads of the engine, as far as memory allows.
    fn advance_aside(&self) -> Result<()> {
        loop {
            let mut slots = self.shared.slots();
            let index = self.next.load(Ordering::Relaxed);
            let Some((slot, piece)) = slots.get(index).zip(self.pieces.get(index)) else { return Ok(()) };
            if !matches!(slot.state, State::Waiting) {
                self.next.store(index + 1, Ordering::Relaxed);
                continue;
            }
            let room = MAX_AHEAD_BYTES.saturating_sub(AHEAD.load(Ordering::Relaxed));
            if piece.end - piece.start > room {
                return Ok(());
            }
            let claimed = self.claim(&mut slots, index, room.min(MAX_ASIDE_BYTES));
            drop(slots);
            self.read_aside(claimed)?;
        }
    }

    /// Reads claimed pieces on a thread of the engine.
    fn read_aside(&self, claimed: Vec<usize>) -> Result<()> {
        let wanted = self.places(&claimed);
        let (object, shared) = (self.object.clone(), self.shared.clone());
        engine()?.runtime.spawn_blocking(move || read_claimed(&object, &shared, &claimed, &wanted));
        Ok(())
    }

    /// Offsets and lengths of pieces.
    fn places(&self, claimed: &[usize]) -> Vec<(u64, u64)> {
        claimed.iter().filter_map(|index| self.pieces.get(*index)).map(|piece| (piece.start, piece.end - piece.start)).collect()
    }

    /// Sends the request for a piece.
    fn request(&self, index: usize, piece: &Range<u64>) -> Result<AbortHandle> {
        let (engine, located) = engine_and_store(&self.object.origin)?;
        let located = located.ok_or_else(|| Error::internal("a request without a store"))?;
        let (object, shared, piece) = (self.object.clone(), self.shared.clone(), piece.clone());
        let task = engine.runtime.spawn(async move {
            let outcome = object.get(engine, &located, piece).await;
            shared.land(index, outcome);
        });
        Ok(task.abort_handle())
    }

    /// The bytes of a piece; `None` if they were dropped because all that was wanted of them was read.
    pub fn wait(&self, index: usize) -> Result<Option<Bytes>> {
        let piece = self.pieces.get(index).ok_or_else(|| Error::internal("a piece that is not fetched"))?;
        let mut slots = self.shared.slots();
        loop {
            let Some(slot) = slots.get_mut(index) else { return Ok(None) };
            match &slot.state {
                State::Landed(bytes) => {
                    let bytes = bytes.clone();
                    let is_kept = std::mem::replace(&mut slot.is_kept, true);
                    drop(slots);
                    if let Some(disk) = self.disk.as_ref().filter(|_| !is_kept) {
                        disk.put_all(piece.start, &bytes);
                    }
                    return Ok(Some(bytes));
                }
                State::Failed(error) => return Err(error.clone()),
                State::Done => return Ok(None),
                State::Running(_) => {}
                // What a reader waits for comes before all else, beyond the limit of memory.
                State::Waiting => match self.object.origin.reader() {
                    None => {
                        let request = self.request(index, piece)?;
                        AHEAD.fetch_add(piece.end - piece.start, Ordering::Relaxed);
                        slot.state = State::Running(Some(request));
                    }
                    Some(reader) => {
                        let is_aside = reader.reads_aside();
                        let claimed = self.claim(&mut slots, index, if is_aside { MAX_ASIDE_BYTES } else { MAX_READER_BYTES });
                        drop(slots);
                        match is_aside {
                            true => self.read_aside(claimed)?,
                            false => read_claimed(&self.object, &self.shared, &claimed, &self.places(&claimed)),
                        }
                        slots = self.shared.slots();
                        continue;
                    }
                },
            }
            self.check()?;
            slots = self.shared.landed.wait_timeout(slots, POLL).map_or_else(|poisoned| poisoned.into_inner().0, |(slots, _)| slots);
        }
    }

    fn check(&self) -> Result<()> {
        self.cancellation.as_ref().map_or(Ok(()), Cancellation::check)?;
        interruption::check_wait()
    }

    /// Marks the piece `index` and waiting ones after it, of up to `max_bytes` together, as being read.
    fn claim(&self, slots: &mut [Slot], index: usize, max_bytes: u64) -> Vec<usize> {
        let mut claimed = Vec::new();
        let mut bytes = 0;
        for (number, (slot, piece)) in slots.iter_mut().zip(&self.pieces).enumerate().skip(index) {
            let length = piece.end - piece.start;
            if !matches!(slot.state, State::Waiting) || !claimed.is_empty() && (bytes + length > max_bytes || claimed.len() >= MAX_READER_RANGES) {
                break;
            }
            bytes += length;
            slot.state = State::Running(None);
            claimed.push(number);
        }
        AHEAD.fetch_add(bytes, Ordering::Relaxed);
        claimed
    }

    /// Fills `buffer` from `offset` on; false if the pieces do not hold all of it.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<bool> {
        let end = offset.saturating_add(buffer.len() as u64);
        let first = self.pieces.partition_point(|piece| piece.end <= offset);
        let mut at = offset;
        let mut rest = buffer;
        let mut index = first;
        while at < end {
            let Some(piece) = self.pieces.get(index).filter(|piece| piece.start <= at) else { return Ok(false) };
            let Some(bytes) = self.wait(index)? else { return Ok(false) };
            let count = piece.end.min(end) - at;
            let range = usize::try_from(at - piece.start).ok().zip(usize::try_from(count).ok()).map(|(from, count)| from..from + count);
            let (here, later) = crate::split(rest, count)?;
            let part = range.and_then(|range| bytes.get(range)).ok_or_else(|| Error::internal("a piece is shorter than its request"))?;
            here.copy_from_slice(part);
            (at, rest) = (at + count, later);
            self.was_read(index, count);
            index += 1;
        }
        Ok(true)
    }

    /// Drops a piece once all of its wanted bytes were read, which makes room for others.
    fn was_read(&self, index: usize, count: u64) {
        let mut slots = self.shared.slots();
        let Some((slot, piece)) = slots.get_mut(index).zip(self.pieces.get(index)) else { return };
        slot.unread = slot.unread.saturating_sub(count);
        if slot.unread == 0 && matches!(slot.state, State::Landed(_)) {
            slot.state = State::Done;
            AHEAD.fetch_sub(piece.end - piece.start, Ordering::Relaxed);
            drop(slots);
            // A piece that cannot be requested now has its error when it is read.
            let _ = self.advance();
        }
    }
}

/// Reads claimed pieces, whose offsets and lengths are `wanted`, by the object's reader.
fn read_claimed(object: &Object, shared: &Shared, claimed: &[usize], wanted: &[(u64, u64)]) {
    let Some(reader) = object.origin.reader() else { return };
    if claimed.iter().all(|index| shared.slots().get(*index).is_none_or(|slot| matches!(slot.state, State::Done))) {
        // Its fetch was dropped meanwhile.
        return;
    }
    counts::add(&counts::REQUESTS, wanted.len() as u64);
    let outcome = reader.read_ranges(wanted).and_then(|answers| check_answers(wanted, answers));
    match outcome {
        Ok(answers) => claimed.iter().zip(answers).for_each(|(index, bytes)| shared.land(*index, Ok(bytes))),
        Err(error) => claimed.iter().for_each(|index| shared.land(*index, Err(error.clone().in_file(&object.name)))),
    }
}

/// What a reader gave, checked against what it was asked for.
fn check_answers(wanted: &[(u64, u64)], answers: Vec<Vec<u8>>) -> Result<Vec<Bytes>> {
    if answers.len() != wanted.len() {
        return Err(Error::new(hyperslab_array::ErrorKind::Io, format!("{} ranges were asked for, and {} came", wanted.len(), answers.len())));
    }
    for ((offset, length), answer) in wanted.iter().zip(&answers) {
        counts::add(&counts::FETCHED, answer.len() as u64);
        if answer.len() as u64 != *length {
            let message = format!("{} bytes came where {length} were asked for", answer.len());
            return Err(Error::new(hyperslab_array::ErrorKind::Io, message).at_offset(*offset));
        }
    }
    Ok(answers.into_iter().map(Bytes::from).collect())
}
