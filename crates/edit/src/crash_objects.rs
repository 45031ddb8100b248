//! Tests: a machine that stops at any call of a commit that creates, links, removes and describes objects.

use std::sync::Arc;

use hyperslab_array::{ByteOrder, Dataspace, Datatype, Error, Result};
use hyperslab_formats::filter::Pipeline;
use hyperslab_formats::hdf5::edit::{FileEdit, create_dataset, create_group, insert_link, release_link, remove_link, set_attribute};
use hyperslab_formats::hdf5::writer::{
    NewContent, NewDataset, NewFile, NewObject, NewProperties, NewStorage, SUPERBLOCK_BYTES, encode_metadata, encode_superblock,
};
use hyperslab_formats::{FillTime, Limits, LinkTarget, Object, ObjectId, OpenOptions, open};
use hyperslab_storage::Memory;

use crate::commit::settle;
use crate::crash::{Content, Random, Recorder, killed, opened_by_others, powerless};
use crate::transaction::Transaction;

/// A file with an empty root group.
pub(crate) fn empty_file(tracked: bool, page_bytes: Option<u64>) -> Result<Content> {
    let root = NewObject { attributes: Vec::new(), properties: NewProperties::tracked(tracked), content: NewContent::Group(Vec::new()) };
    let metadata = encode_metadata(&NewFile { objects: vec![root], ..NewFile::default() }, SUPERBLOCK_BYTES, page_bytes)?;
    let end = SUPERBLOCK_BYTES + metadata.bytes.len() as u64;
    let end = end.next_multiple_of(page_bytes.unwrap_or(1));
    let mut file = encode_superblock(&metadata, end, 0);
    file.extend(metadata.bytes);
    file.resize(usize::try_from(end).unwrap_or(usize::MAX), 0);
    Ok(Content { file })
}

/// A file of HDF5 with pages of 512 bytes, which keeps its free space.
pub(crate) fn kept_pages() -> Result<Content> {
    let parts = [
        (
            0,
            "894844460d0a1a0a03080800000000000000000030000000000000000002000000000000cc00000000000000146fc07d4f484452022060590d6b60590d6b60590d6b60590d6b811\
             77d001401010101000000000000000002000000000000000000020000000000004f01000000000000ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
             ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff8c515f3d4f4844520200780212000\
             00000ffffffffffffffffffffffffffffffff0a02000100000058",
        ),
        (331, "c5b9c8ac4653484400013c00000000000000010000000000000001"),
        (
            373,
            "0300500078003f00ffffffffffffff7fa1010000000000002300000000000000230000000000000079c6a58846535345004f01000000000000013c00000000000000c4010000000\
             00000013b62ea2b",
        ),
    ];
    of_parts(512, &parts)
}

/// A file of HDF5 whose addresses and lengths have 4 bytes.
fn narrow_file() -> Result<Content> {
    let head = "894844460d0a1a0a0304040000000000ffffffff9b0000002000000022f532984f484452022060590d6b60590d6b60590d6b60590d6b60020a00000000ffffffffffffffff0a0200\
                0100000048";
    of_parts(155, &[(0, head), (151, "aa54d92b")])
}

/// A file of zeros with these bytes.
fn of_parts(length: usize, parts: &[(usize, &str)]) -> Result<Content> {
    let mut file = vec![0; length];
    for (at, digits) in parts {
        for (index, pair) in digits.as_bytes().chunks(2).enumerate() {
            let byte = std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
            file[at + index] = byte.ok_or_else(|| Error::internal("digits that are not hexadecimal"))?;
        }
    }
    Ok(Content { file })
}

/// The paths of a file with the kinds of objects, and their attributes.
fn listed(file: &[u8]) -> Result<Vec<String>> {
    let opened = open(Arc::new(Memory::new("listed.h5", file.to_vec())), &OpenOptions::default())?;
    let tree = opened.tree();
    let mut found = Vec::new();
    let mut pending = vec![(String::new(), tree.root())];
    while let Some((path, object)) = pending.pop() {
        let kind = tree.object(object)?;
        let attributes = tree.attributes(object)?;
        let names: Vec<String> =
            attributes.iter().map(|attribute| format!("{} {:?}", attribute.name, attribute.value.as_ref().map(|value| value.bytes.len()).ok())).collect();
        found.push(format!("{path} {} {names:?}", kind.kind()));
        if !matches!(kind, Object::Group) {
            continue;
        }
        for link in tree.links(object)?.iter() {
            let path = format!("{path}/{}", link.name);
            match &link.target {
                LinkTarget::Hard(target) => pending.push((path, *target)),
                other => found.push(format!("{path} {other:?}")),
            }
        }
    }
    found.sort();
    Ok(found)
}

fn dataset() -> NewDataset {
    NewDataset {
        datatype: Datatype::integer(4, true, ByteOrder::Little),
        committed: None,
        dataspace: Dataspace::fixed(vec![10]),
        fill_value: None,
        is_fill_undefined: false,
        fill_time: FillTime::default(),
        allocation: None,
        filters: Pipeline::default(),
        storage: NewStorage::Contiguous(None),
    }
}

/// One random change of the members of some group.
fn change(file: &FileEdit<'_>, groups: &mut Vec<(ObjectId, Vec<String>)>, random: &mut Random, number: usize) -> Result<()> {
    let at = random.below(groups.len());
    let tracked = random.coin();
    let Some((group, names)) = groups.get_mut(at) else { return Ok(()) };
    let group = *group;
    let name = format!("{}{number}", ["n", "ü", "a longer name of a member "][random.below(3)]);
    match random.below(6) {
        0 => {
            let made = create_group(file, tracked, tracked)?;
            insert_link(file, group, &name, &LinkTarget::Hard(made))?;
            groups.push((made, Vec::new()));
        }
        1 | 2 => {
            let made = create_dataset(file, &dataset(), None, tracked)?;
            insert_link(file, group, &name, &LinkTarget::Hard(made))?;
            names.push(name);
        }
        3 => {
            insert_link(file, group, &name, &LinkTarget::Soft("/somewhere".to_owned()))?;
            names.push(name);
        }
        4 if !names.is_empty() => {
            let gone = names.swap_remove(random.below(names.len()));
            if let LinkTarget::Hard(object) = remove_link(file, group, &gone)? {
                release_link(file, object)?;
            }
        }
        _ => {
            let max_bytes = if random.below(20) == 0 { 80_000 } else { 60 };
            let bytes = random.below(max_bytes);
            let text = Datatype::Opaque { size: 1, tag: String::new() };
            set_attribute(file, group, &format!("a{}", random.below(100)), &text, &Dataspace::fixed(vec![bytes as u64]), &random.bytes(bytes))?;
        }
    }
    Ok(())
}

#[test]
fn objects_are_there_whole_or_not_at_all() -> Result<()> {
    let mut random = Random(41);
    let mut refused = 0;
    let files = [(empty_file(false, None)?, 12), (empty_file(true, None)?, 12), (empty_file(true, Some(512))?, 8), (kept_pages()?, 8), (narrow_file()?, 8)];
    for (mut content, rounds) in files {
        let root = open(Arc::new(Memory::new("root.h5", content.file.clone())), &OpenOptions::default())?.tree().root();
        let mut groups = vec![(root, Vec::new())];
        let mut number = 0;
        for round in 0..rounds {
            let before = content.clone();
            let disk = Recorder::new(before.clone());
            let mut transaction = Transaction::begin(disk.clone())?;
            for _ in 0..=random.below(60) {
                number += 1;
                transaction.whole(|| change(&FileEdit::open(transaction.storage(), &Limits::default(), &transaction)?, &mut groups, &mut random, number))?;
            }
            transaction.commit()?;
            drop(transaction);
            let (calls, after) = (disk.calls(), disk.content());
            let whole = |content: &Content| opened_by_others(content).map(|file| listed(&file)).transpose();
            let missing = || Error::internal("a file that others refuse");
            let (old, new) = (whole(&before)?.ok_or_else(missing)?, whole(&after)?.ok_or_else(missing)?);
            for stop in 0..=calls.len() {
                for attempt in 0..4 {
                    let left = if attempt == 0 { killed(&before, &calls, stop, &mut random) } else { powerless(&before, &calls, stop, &mut random) };
                    match whole(&left)? {
                        None => refused += 1,
                        Some(found) => assert!(found == old || found == new, "round {round}, call {stop}: {:?}", calls.get(stop)),
                    }
                    let second = Recorder::new(left);
                    settle(second.as_ref())?;
                    let found = whole(&second.content())?.ok_or_else(missing)?;
                    assert!(found == old || found == new, "round {round}, call {stop}");
                }
            }
            content = after;
        }
    }
    assert!(refused > 0);
    Ok(())
}
