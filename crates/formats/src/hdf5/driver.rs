//! Driver information: files that are parts of one HDF5 file (specification II.B and IV.A.2.u). The
//! family driver cuts the file into members of equal size, the multi driver (split is a case of
//! it) has a member for each kind of data.

use std::path::Path;
use std::sync::Arc;

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_storage::{Piece, Pieces, Storage};

use super::{Cursor, Source};

/// Kinds of data in the multi driver's map: superblock, B-trees, raw data, global heap, local heap, headers.
const KINDS: u8 = 6;

/// How the members of a file make it up.
enum Driver {
    Family {
        member_bytes: u64,
    },
    /// First address and name template (`%s-m.h5`) of each member; the first holds the superblock.
    Multi {
        members: Vec<(u64, String)>,
    },
}

/// The source over all members of the file whose driver information block lies at `address`.
pub(super) fn joined_by_block(source: Source, address: u64) -> Result<Source> {
    let header = source.read(address, 16)?;
    let mut cursor = source.cursor(&header, address);
    let version = cursor.u8()?;
    if version != 0 {
        return Err(cursor.corrupt(format!("version {version} of the driver information block")));
    }
    cursor.skip(3)?;
    let size = cursor.u32()?;
    let name = cursor.take(8)?.to_vec();
    let body = source.read(address.saturating_add(16), size.into())?;
    let driver = parse(&name, &mut source.cursor(&body, address.saturating_add(16)))?;
    joined(source, driver)
}

/// As [`joined_by_block`], from a driver information message.
pub(super) fn joined_by_message(source: Source, cursor: &mut Cursor<'_>) -> Result<Source> {
    let version = cursor.u8()?;
    if version != 0 {
        return Err(cursor.corrupt(format!("version {version} of the driver information message")));
    }
    let name = cursor.take(8)?.to_vec();
    cursor.u16()?;
    let driver = parse(&name, cursor)?;
    joined(source, driver)
}

fn parse(name: &[u8], cursor: &mut Cursor<'_>) -> Result<Driver> {
    match name {
        b"NCSAfami" => Ok(Driver::Family { member_bytes: cursor.uint(8)? }),
        b"NCSAmult" => {
            let map = cursor.take(usize::from(KINDS))?;
            // Each kind is kept in the member of the kind that the map gives for it; 0 is its own.
            let mut kinds: Vec<u8> = Vec::new();
            for (number, target) in (1..=KINDS).zip(map) {
                let kind = if *target == 0 { number } else { *target };
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
            cursor.skip(2)?;
            let places = kinds.iter().map(|_| Ok((cursor.uint(8)?, cursor.uint(8)?).0)).collect::<Result<Vec<u64>>>()?;
            let mut members = Vec::new();
            for place in places {
                let template = cursor.null_terminated()?;
                let padding = (template.len() + 1).next_multiple_of(8) - (template.len() + 1);
                cursor.skip(padding.min(cursor.remaining()))?;
                members.push((place, String::from_utf8_lossy(template).into_owned()));
            }
            Ok(Driver::Multi { members })
        }
        other => Err(Error::unsupported(format!("a file of the driver {:?}", String::from_utf8_lossy(other)))),
    }
}

fn joined(source: Source, driver: Driver) -> Result<Source> {
    let storage = source.storage.clone();
    let name = Path::new(storage.name()).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let pieces = match driver {
        Driver::Family { member_bytes } => family(&storage, &name, member_bytes)?,
        Driver::Multi { members } => multi(&storage, &name, &members)?,
    };
    let storage: Arc<dyn Storage> = Arc::new(Pieces::new(storage.name(), pieces)?);
    Ok(Source { storage, ..source })
}

/// Members `name` with its last number counted up, as long as there are any.
fn family(first: &Arc<dyn Storage>, name: &str, member_bytes: u64) -> Result<Vec<Piece>> {
    if member_bytes == 0 {
        return Err(Error::corrupt("a family of files of 0 bytes"));
    }
    let digits = |c: char| c.is_ascii_digit();
    let end = name.rfind('0').map_or(0, |last| last + 1);
    let head = name.get(..end).unwrap_or_default().trim_end_matches(digits);
    let (number, tail) = (name.get(head.len()..end).unwrap_or_default(), name.get(end..).unwrap_or_default());
    if number.is_empty() || number.chars().any(|c| c != '0') {
        return Err(Error::invalid_input("one of a family of files: open its first member, the one with number 0"));
    }
    let width = number.len();
    let mut pieces = vec![Piece { start: 0, length: first.len().min(member_bytes), storage: first.clone(), offset: 0, zero_filled: true }];
    loop {
        let member = match first.beside(&format!("{head}{:0width$}{tail}", pieces.len())) {
            Ok(member) => member,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(pieces),
            Err(error) => return Err(error),
        };
        let start = member_bytes.checked_mul(pieces.len() as u64).ok_or_else(|| Error::corrupt("a family of files beyond 64 bits"))?;
        // Only the last member may be shorter than it says; others read as zeros at their end.
        if let Some(before) = pieces.last_mut() {
            before.length = member_bytes;
        }
        pieces.push(Piece { start, length: member.len().min(member_bytes), storage: member, offset: 0, zero_filled: true });
    }
}

/// The members whose names the templates give, each from its address to the next one's.
fn multi(first: &Arc<dyn Storage>, name: &str, members: &[(u64, String)]) -> Result<Vec<Piece>> {
    let stem = members.iter().find(|(start, _)| *start == 0).and_then(|(_, template)| {
        let (head, tail) = template.split_once("%s")?;
        name.strip_prefix(head)?.strip_suffix(tail)
    });
    let stem = stem.ok_or_else(|| {
        let templates: Vec<&str> = members.iter().map(|(_, template)| template.as_str()).collect();
        Error::invalid_input(format!("one of several files ({}): open the one that holds the superblock", templates.join(", ")))
    })?;
    let mut pieces = Vec::new();
    for (start, template) in members {
        let next = members.iter().map(|(other, _)| *other).filter(|other| other > start).min();
        let storage = if *start == 0 { first.clone() } else { first.beside(&template.replacen("%s", stem, 1))? };
        let length = storage.len().min(next.map_or(u64::MAX, |next| next - start));
        pieces.push(Piece { start: *start, length, storage, offset: 0, zero_filled: true });
    }
    Ok(pieces)
}
