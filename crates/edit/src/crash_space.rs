//! Tests: free ranges of files, with and without pages, when a machine stops at any call of a commit.

use std::sync::Arc;

use hyperslab_array::Result;
use hyperslab_formats::Limits;
use hyperslab_formats::hdf5::edit::{FileSpace, PageKind, Space};
use hyperslab_storage::Memory;

use crate::commit::settle;
use crate::crash::{Content, Random, Recorder, killed, opened_by_others, powerless, sample, size};
use crate::crash_objects::{empty_file, kept_pages};
use crate::transaction::Transaction;

/// The bytes of a file that are in use, by place: what a program that follows its structures sees.
type Used = Vec<(u64, Vec<u8>)>;

fn is_whole(content: &Content, used: &Used) -> bool {
    used.iter().all(|(at, bytes)| content.file.get(size(*at)..size(*at) + bytes.len()) == Some(bytes.as_slice()))
}

/// Bytes of the pages of a file.
fn stated_pages(content: &Content) -> Result<Option<u64>> {
    Ok(FileSpace::read(Arc::new(Memory::new("pages", content.file.clone())), &Limits::default())?.page_bytes)
}

/// What bytes in use are, for the pages of a file that has some.
fn kind_of(bytes: &[u8]) -> PageKind {
    if bytes.len().is_multiple_of(2) { PageKind::Metadata } else { PageKind::Raw }
}

/// The first and last of the pages of `page_bytes` with a structure.
fn pages_of(at: u64, bytes: &[u8], page_bytes: u64) -> (u64, u64) {
    (at / page_bytes, (at + bytes.len() as u64 - 1) / page_bytes)
}

/// Writes random bytes into room that the transaction gives, which must not be in use, and must keep to the pages of the file.
fn write_somewhere(transaction: &Transaction, used: &mut Used, random: &mut Random) -> Result<()> {
    let length = random.below(3000) + 1;
    let bytes = random.bytes(length);
    let at = transaction.allocate(kind_of(&bytes), bytes.len() as u64)?;
    assert!(used.iter().all(|(start, found)| *start >= at + bytes.len() as u64 || start + found.len() as u64 <= at), "in use already");
    if let Some(page_bytes) = Space::page_bytes(transaction) {
        let (first, last) = pages_of(at, &bytes, page_bytes);
        assert!(if bytes.len() as u64 >= page_bytes { at.is_multiple_of(page_bytes) } else { first == last }, "{length} bytes at {at}");
        let shares = |(start, other): &(u64, Vec<u8>)| {
            let (other_first, other_last) = pages_of(*start, other, page_bytes);
            first <= other_last && other_first <= last
        };
        assert!(used.iter().filter(|other| shares(other)).all(|(_, other)| kind_of(other) == kind_of(&bytes)), "a page of two kinds");
    }
    transaction.write(at, &bytes)?;
    used.push((at, bytes));
    Ok(())
}

#[test]
fn ranges_are_used_again_only_after_the_commit_that_frees_them() -> Result<()> {
    let mut random = Random(3);
    let plain = sample(2, 512, &mut random);
    reused_after_commits(plain, 60, &mut random)?;
    for page_bytes in [512, 4096] {
        reused_after_commits(empty_file(false, Some(page_bytes))?, 30, &mut random)?;
    }
    reused_after_commits(kept_pages()?, 30, &mut random)
}

fn reused_after_commits(mut content: Content, rounds: usize, random: &mut Random) -> Result<()> {
    let (mut refused, mut largest) = (0, 0);
    let mut used: Used = Vec::new();
    let begun = content.file.len();
    for round in 0..rounds {
        let before = content.clone();
        let disk = Recorder::new(before.clone());
        let mut transaction = Transaction::begin(disk.clone())?;
        let mut next = used.clone();
        for _ in 0..=random.below(6) {
            if next.len() > 6 {
                let (at, bytes) = next.swap_remove(random.below(next.len()));
                transaction.free(kind_of(&bytes), at, bytes.len() as u64)?;
            }
            write_somewhere(&transaction, &mut next, random)?;
            if random.below(8) == 0 {
                transaction.roll_back()?;
                next.clone_from(&used);
            }
        }
        transaction.commit()?;
        drop(transaction);
        let (calls, after) = (disk.calls(), disk.content());
        assert!(is_whole(&after, &next), "round {round}");
        for stop in 0..=calls.len() {
            for attempt in 0..6 {
                let left = if attempt == 0 { killed(&before, &calls, stop, random) } else { powerless(&before, &calls, stop, random) };
                let found = opened_by_others(&left);
                refused += usize::from(found.is_none());
                assert!(found.is_none() || is_whole(&left, &used) || is_whole(&left, &next), "round {round}, call {stop}: {:?}", calls.get(stop));
                let second = Recorder::new(left);
                settle(second.as_ref())?;
                assert!(is_whole(&second.content(), &used) || is_whole(&second.content(), &next), "round {round}, call {stop}");
            }
        }
        (content, used) = (after, next);
        largest = largest.max(used.iter().map(|(_, bytes)| bytes.len()).sum::<usize>());
    }
    // Little of a page of 4 KiB may be in use.
    let most = begun + 3 * largest + if stated_pages(&content)?.is_some() { 3 * largest + 20_000 } else { 0 };
    assert!(refused > 0 && content.file.len() < most, "{} bytes with {largest} in use", content.file.len());
    Ok(())
}

#[test]
fn what_a_stopped_edit_leaves_is_never_taken_for_the_free_space_of_the_file() -> Result<()> {
    let mut random = Random(11);
    let mut left_over = 0;
    for round in 0..100 {
        let mut content = sample([0, 1, 2, 3][round % 4], 0, &mut random);
        let mut used: Used = Vec::new();
        for _ in 0..12 {
            let before = content.clone();
            let disk = Recorder::new(before.clone());
            let mut transaction = Transaction::begin(disk.clone())?;
            let mut next = used.clone();
            for _ in 0..=random.below(4) {
                if next.len() > 2 && random.coin() {
                    let (at, bytes) = next.swap_remove(random.below(next.len()));
                    transaction.free(kind_of(&bytes), at, bytes.len() as u64)?;
                }
                write_somewhere(&transaction, &mut next, &mut random)?;
            }
            transaction.commit()?;
            drop(transaction);
            let (calls, after) = (disk.calls(), disk.content());
            // Most of these stop in front of the mark.
            let stop = if random.coin() { calls.len() } else { random.below(4) };
            let left = if random.coin() { killed(&before, &calls, stop, &mut random) } else { powerless(&before, &calls, stop, &mut random) };
            let settled = Recorder::new(left);
            settle(settled.as_ref())?;
            content = settled.content();
            let is_new = opened_by_others(&content) == opened_by_others(&after);
            left_over += usize::from(!is_new && content.file.len() > before.file.len());
            used = if is_new { next } else { used };
            assert!(is_whole(&content, &used));
        }
    }
    assert!(left_over > 100, "{left_over} edits left something");
    Ok(())
}
