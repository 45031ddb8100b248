//! Tests: a machine that stops after any call of a commit, by a kill or by a power cut that tears and reorders what was not synced.

use std::sync::{Arc, Mutex, PoisonError};

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::hdf5::edit::{PageKind, SuperblockImage};
use hyperslab_storage::{Memory, Storage};

use crate::commit::{Settled, settle};
use crate::disk::Disk;
use crate::journal::Change;
use crate::transaction::Transaction;

/// A call that changes the disk, or waits for it.
#[derive(Debug, Clone)]
pub(crate) enum Call {
    Write(u64, Vec<u8>),
    SetLen(u64),
    Sync,
}

/// Content of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Content {
    pub file: Vec<u8>,
}

impl Content {
    fn do_call(&mut self, call: &Call) {
        match call {
            Call::Write(offset, bytes) => self.write(size(*offset), bytes),
            Call::SetLen(length) => self.file.resize(size(*length), 0),
            Call::Sync => {}
        }
    }
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.file.resize(self.file.len().max(offset + bytes.len()), 0);
        if let Some(target) = self.file.get_mut(offset..offset + bytes.len()) {
            target.copy_from_slice(bytes);
        }
    }
}

pub(crate) fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A disk in memory that records its calls and may fail after some of them.
#[derive(Default)]
pub(crate) struct Recorder {
    content: Mutex<Content>,
    calls: Mutex<Vec<Call>>,
    /// The number of the call that fails.
    fails_at: Option<usize>,
}

impl Recorder {
    pub(crate) fn new(content: Content) -> Arc<Self> {
        Arc::new(Self { content: Mutex::new(content), ..Self::default() })
    }
    fn call(&self, call: Call) -> Result<()> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if self.fails_at == Some(calls.len()) {
            calls.push(Call::Sync);
            return Err(Error::new(ErrorKind::Io, "no space left on device"));
        }
        self.content.lock().unwrap_or_else(PoisonError::into_inner).do_call(&call);
        calls.push(call);
        Ok(())
    }
    pub(crate) fn content(&self) -> Content {
        self.content.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Disk for Recorder {
    fn name(&self) -> &'static str {
        "recorded.h5"
    }
    fn len(&self) -> Result<u64> {
        Ok(self.content().file.len() as u64)
    }
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        Memory::new("recorded", self.content().file).read_exact_at(offset, buffer)
    }
    fn write(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.call(Call::Write(offset, bytes.to_vec()))
    }
    fn set_len(&self, bytes: u64) -> Result<()> {
        self.call(Call::SetLen(bytes))
    }
    fn sync(&self) -> Result<()> {
        self.call(Call::Sync)
    }
    fn release(&self) {}
    fn beside(&self, _: &str) -> Result<Arc<dyn Storage>> {
        Err(Error::unsupported("another file"))
    }
}

/// Random numbers, the same in each run.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        size(self.0 >> 33) % end.max(1)
    }
    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 0
    }
    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| u8::try_from(self.below(256)).unwrap_or(0)).collect()
    }
}

/// What a kill in the middle of call number `stop` leaves: all calls before it, and part of it.
pub(crate) fn killed(before: &Content, calls: &[Call], stop: usize, random: &mut Random) -> Content {
    let mut content = before.clone();
    calls.iter().take(stop).for_each(|call| content.do_call(call));
    if let Some(Call::Write(offset, bytes)) = calls.get(stop) {
        content.write(size(*offset), bytes.get(..random.below(bytes.len() + 1)).unwrap_or_default());
    }
    content
}

/// What a power cut before call number `stop` leaves: all that was synced, and any part of the rest in any order.
pub(crate) fn powerless(before: &Content, calls: &[Call], stop: usize, random: &mut Random) -> Content {
    let done = calls.get(..stop).unwrap_or_default();
    let mut content = before.clone();
    let file_synced = done.iter().rposition(|call| matches!(call, Call::Sync)).map_or(0, |at| at + 1);
    let sector = [1, 8, 512][random.below(3)];
    for (number, call) in done.iter().enumerate() {
        let is_synced = number < file_synced;
        match call {
            Call::Write(offset, bytes) if !is_synced => {
                let mut at = size(*offset);
                let end = at + bytes.len();
                while at < end {
                    let next = (at / sector * sector + sector).min(end);
                    if random.coin() {
                        content.write(at, bytes.get(at - size(*offset)..next - size(*offset)).unwrap_or_default());
                    }
                    at = next;
                }
            }
            Call::SetLen(_) if !is_synced && random.coin() => {}
            Call::Write(..) | Call::SetLen(_) => content.do_call(call),
            _ => {}
        }
    }
    content
}

/// What a program that knows nothing of journals finds: `None` if it refuses the file.
pub(crate) fn opened_by_others(content: &Content) -> Option<Vec<u8>> {
    let image = SuperblockImage::read(&Memory::new("crashed", content.file.clone())).ok()?;
    // A torn superblock of version 2 or 3 has another checksum.
    let is_whole = image.with_mark(image.is_marked()) == image;
    let end = image.end().ok().filter(|_| !image.is_marked() && is_whole)?;
    content.file.get(..size(end)).map(<[u8]>::to_vec)
}

/// A file of random bytes after a superblock of some version, which states its end.
pub(crate) fn sample(version: u8, user_block: usize, random: &mut Random) -> Content {
    let mut file = random.bytes(30_000);
    let mut superblock = b"\x89HDF\r\n\x1a\n".to_vec();
    match version {
        0 | 1 => {
            superblock.extend([version, 0, 0, 0, 0, 8, 8, 0, 4, 0, 16, 0, 0, 0, 0, 0]);
            superblock.extend(vec![0; 4 * usize::from(version)]);
        }
        _ => superblock.extend([version, 8, 8, 0]),
    }
    for address in [0, u64::MAX, 30_000 - user_block as u64, 96] {
        superblock.extend(address.to_le_bytes());
    }
    superblock.extend([0; 4]);
    file[user_block..user_block + superblock.len()].copy_from_slice(&superblock);
    let image = SuperblockImage::read(&Memory::new("sample", file.clone())).map(|image| image.with_mark(false));
    let sealed = image.map(|image| image.bytes().to_vec()).unwrap_or_default();
    file[user_block..user_block + sealed.len()].copy_from_slice(&sealed);
    Content { file }
}

/// Random changes; some need no new bytes.
fn change(transaction: &Transaction, random: &mut Random) -> Result<()> {
    for _ in 0..=random.below(4) {
        let offset = 1024 + random.below(28_000);
        let bytes = random.below((30_000 - offset).min(9_000)) + 1;
        transaction.write(offset as u64, &random.bytes(bytes.min(30_000 - offset)))?;
    }
    for _ in 0..random.below(3) {
        let bytes = random.below(6_000) + 1;
        let offset = transaction.allocate(PageKind::Raw, bytes as u64)?;
        transaction.write(offset, &random.bytes(bytes))?;
    }
    Ok(())
}

#[test]
fn a_machine_that_stops_at_any_call_leaves_the_old_or_the_new_file() -> Result<()> {
    let mut random = Random(28);
    for round in 0..12 {
        let before = sample([0, 1, 2, 3][round % 4], if round % 3 == 0 { 512 } else { 0 }, &mut random);
        let disk = Recorder::new(before.clone());
        let mut transaction = Transaction::begin(disk.clone())?;
        change(&transaction, &mut random)?;
        assert!(transaction.commit()?);
        drop(transaction);
        let (calls, after) = (disk.calls(), disk.content());
        let (old, new) = (opened_by_others(&before), opened_by_others(&after));
        assert!(old.is_some() && new.is_some() && old != new && after.file.len() >= before.file.len());
        let (mut refused, mut completed, mut dropped) = (0, 0, 0);
        for stop in 0..=calls.len() {
            for attempt in 0..24 {
                let left = if attempt % 4 == 0 { killed(&before, &calls, stop, &mut random) } else { powerless(&before, &calls, stop, &mut random) };
                let found = opened_by_others(&left);
                assert!(found.is_none() || found == old || found == new, "round {round}, call {stop}: {:?}", calls.get(stop));
                refused += usize::from(found.is_none());
                // The machine may stop again while the edit is completed.
                let second = Recorder::new(left.clone());
                let outcome = settle(second.as_ref())?;
                // No journal is left.
                assert!(outcome == Settled::Nothing || Change::find(second.as_ref())?.is_none(), "round {round}, call {stop}");
                match outcome {
                    Settled::Completed => completed += 1,
                    Settled::Dropped => dropped += 1,
                    Settled::Nothing => {}
                }
                let again = random.below(second.calls().len() + 1);
                let twice = Recorder::new(powerless(&left, &second.calls(), again, &mut random));
                settle(twice.as_ref())?;
                for settled in [second.content(), twice.content()] {
                    let found = opened_by_others(&settled);
                    assert!(found.is_some() && (found == old || found == new), "round {round}, call {stop}");
                    assert!(stop < calls.len() || found == new, "a commit that had ended is lost");
                }
            }
        }
        assert!(refused > 0 && completed > 0 && dropped > 0, "{refused} refused, {completed} completed, {dropped} dropped");
    }
    Ok(())
}

#[test]
fn a_call_that_fails_leaves_the_old_file_or_one_that_the_next_opening_completes() -> Result<()> {
    let mut random = Random(5);
    for version in 0..4 {
        let before = sample(version, 0, &mut random);
        let seed = random.0;
        let mut outcomes = [0, 0];
        for fails_at in 0..40 {
            let disk = Arc::new(Recorder { content: Mutex::new(before.clone()), calls: Mutex::default(), fails_at: Some(fails_at) });
            let mut transaction = Transaction::begin(disk.clone())?;
            if change(&transaction, &mut Random(seed)).is_err() {
                transaction.roll_back()?;
                assert_eq!(disk.content(), before);
                continue;
            }
            let Err(error) = transaction.commit() else { continue };
            let old = opened_by_others(&before);
            let is_in_doubt = error.message().contains("the next opening");
            outcomes[usize::from(is_in_doubt)] += 1;
            if !is_in_doubt {
                assert_eq!(opened_by_others(&disk.content()), old);
                // The disk has room again.
                assert!(transaction.commit()?);
                assert_ne!(opened_by_others(&disk.content()), old);
                continue;
            }
            assert!(transaction.commit().is_err() && transaction.write(2000, b"x").is_err());
            drop(transaction);
            let disk = Recorder::new(disk.content());
            settle(disk.as_ref())?;
            assert!(opened_by_others(&disk.content()).is_some());
        }
        assert!(outcomes[0] >= 2 && outcomes[1] > 2, "{outcomes:?}");
    }
    Ok(())
}

#[test]
fn a_marked_file_without_its_journal_is_an_error_and_stays_as_it_is() -> Result<()> {
    let mut random = Random(7);
    for version in 0..4 {
        let mut content = sample(version, 0, &mut random);
        let marked = SuperblockImage::read(&Memory::new("marked", content.file.clone()))?.with_mark(true);
        content.write(0, marked.bytes());
        let cut = [content.file.clone(), b"hyperslab edit journal 2 that is cut o".to_vec()].concat();
        for file in [content.file, cut] {
            let disk = Recorder::new(Content { file });
            assert!(Transaction::begin(disk.clone()).is_err_and(|error| error.kind() == ErrorKind::Corrupt && error.message().contains("journal")));
            assert!(disk.calls().is_empty());
        }
    }
    Ok(())
}

#[test]
fn staged_changes_are_seen_and_rolled_back() -> Result<()> {
    let mut random = Random(11);
    let before = sample(0, 0, &mut random);
    let disk = Recorder::new(before.clone());
    let mut transaction = Transaction::begin(disk.clone())?;
    let mut model = before.file.clone();
    for _ in 0..60 {
        let offset = random.below(model.len());
        let length = random.below(model.len() - offset).min(10_000);
        let bytes = random.bytes(length);
        if offset > 100 {
            transaction.write(offset as u64, &bytes)?;
            model[offset..offset + length].copy_from_slice(&bytes);
        }
        if random.below(4) == 0 {
            let at = transaction.allocate(PageKind::Raw, 5_001)?;
            model.resize(size(at) + 5_001, 0);
        }
        let from = random.below(model.len());
        let mut found = vec![1; random.below(model.len() - from)];
        transaction.storage().read_exact_at(from as u64, &mut found)?;
        assert!(found == model[from..from + found.len()]);
    }
    assert!(transaction.storage().len() == model.len() as u64);
    transaction.roll_back()?;
    assert_eq!(disk.content(), before);
    assert!(!transaction.commit()?);
    Ok(())
}

#[test]
fn the_journal_of_another_file_changes_nothing() -> Result<()> {
    let mut random = Random(13);
    for (version, end_field) in [(0, 40), (1, 44), (2, 28), (3, 28)] {
        let mut content = sample(version, 0, &mut random);
        let found = SuperblockImage::read(&Memory::new("sample", content.file.clone()))?;
        let with_other_byte = |at: usize| {
            let mut encoded = found.encode();
            if let Some(byte) = encoded.get_mut(at) {
                *byte ^= 1;
            }
            SuperblockImage::decode(&mut encoded.as_slice()).ok_or_else(|| Error::internal("another superblock"))
        };
        let end = content.file.len() as u64;
        // Place and length precede the superblock's bytes. Each byte of the file's superblock is one of the two.
        let (old, new) = (with_other_byte(9 + end_field)?, with_other_byte(10 + end_field)?);
        let journal = Change { old, new, old_end: end, end, runs: vec![(2000, vec![0xee; 100])] }.encode();
        content.file.extend(journal);
        let disk = Recorder::new(content.clone());
        assert_eq!(settle(disk.as_ref())?, Settled::Nothing, "version {version}");
        assert!(disk.content() == content);
    }
    Ok(())
}

#[test]
fn what_a_change_that_failed_has_written_is_not_seen() -> Result<()> {
    let mut random = Random(17);
    let before = sample(2, 0, &mut random);
    let disk = Recorder::new(before);
    let mut transaction = Transaction::begin(disk.clone())?;
    for length in [10, 5_000, 100_000] {
        let failed = transaction.whole(|| -> Result<()> {
            let at = transaction.allocate(PageKind::Raw, length)?;
            transaction.write(at, &vec![0xee; size(length)])?;
            Err(Error::invalid_input("this change fails"))
        });
        assert!(failed.is_err());
        let at = transaction.allocate(PageKind::Raw, length + 1)?;
        let mut found = vec![1; size(length) + 1];
        transaction.storage().read_exact_at(at, &mut found)?;
        assert!(found.iter().all(|byte| *byte == 0), "{length} bytes");
    }
    assert!(transaction.commit()?);
    let end = transaction.storage().len();
    assert!(disk.content().file.len() as u64 == end && disk.content().file[30_000..].iter().all(|byte| *byte == 0));
    Ok(())
}
