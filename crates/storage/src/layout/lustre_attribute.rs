//! Lustre's extended attribute `lustre.lov`: the layouts v1, v3 and composite, little endian.

use hyperslab_array::{Error, Result};

use super::{StripedPart, checked, ordered};

const V1: u32 = 0x0bd1_0bd0;
const V3: u32 = 0x0bd3_0bd0;
const SPECIFIC: u32 = 0x0bd5_0bd0;
const COMPOSITE: u32 = 0x0bd6_0bd0;
const FOREIGN: u32 = 0x0bd7_0bd0;
/// A composite layout with parts that extend themselves.
const SELF_EXTENDING: u32 = 0x0bd8_0bd0;

/// Magic, pattern, object ID of 16 bytes, stripe size, stripe count and layout generation.
const PLAIN_BYTES: usize = 32;
const POOL_BYTES: usize = 16;
/// Object ID of 16 bytes, generation and index of the target.
const TARGET_BYTES: usize = 24;
const COMPOSITE_BYTES: usize = 32;
const ENTRY_BYTES: usize = 48;

/// The values of a part are on the metadata server.
const PATTERN_METADATA: u32 = 0x100;
/// The part has its targets.
const ENTRY_HAS_TARGETS: u32 = 0x10;
/// The mirror is out of date.
const ENTRY_IS_STALE: u32 = 0x1;
/// The part holds parity, not values.
const ENTRY_IS_PARITY: u32 = 0x80;
/// The part is where another one may extend to.
const ENTRY_IS_EXTENSION: u32 = 0x40;
const ALL_TARGETS: u16 = 0xffff;

pub(super) fn parse(bytes: &[u8]) -> Result<Vec<StripedPart>> {
    match u32_at(bytes, 0)? {
        COMPOSITE | SELF_EXTENDING => composite(bytes),
        FOREIGN => Err(Error::unsupported("a foreign layout of Lustre")),
        _ => ordered(plain(bytes, 0, None, true)?.into_iter().collect()),
    }
}

/// A layout v1 or v3 for the bytes from `start` on; `None` if they are on the metadata server. `placed` says whether targets
/// follow.
fn plain(bytes: &[u8], start: u64, end: Option<u64>, placed: bool) -> Result<Option<StripedPart>> {
    let magic = u32_at(bytes, 0)?;
    let pool_bytes = match magic {
        V1 => 0,
        V3 | SPECIFIC => POOL_BYTES,
        other => return Err(Error::corrupt(format!("a layout of Lustre with the magic number {other:#010x}"))),
    };
    if u32_at(bytes, 4)? & 0xffff == PATTERN_METADATA {
        return Ok(None);
    }
    let stripe_bytes = u64::from(u32_at(bytes, 24)?);
    let count = u16_at(bytes, 28)?;
    let pool = part(bytes, PLAIN_BYTES, pool_bytes)?.split(|byte| *byte == 0).next().and_then(|name| std::str::from_utf8(name).ok());
    let pool = pool.filter(|name| !name.is_empty()).map(str::to_owned);
    let objects = bytes.get(PLAIN_BYTES + pool_bytes..).unwrap_or_default();
    // The attribute of a folder, and of a file without data, has no targets.
    let targets = match placed && count != ALL_TARGETS && !objects.is_empty() {
        true => (0..usize::from(count)).map(|index| u32_at(part(objects, index * TARGET_BYTES, TARGET_BYTES)?, 20)).collect::<Result<_>>()?,
        false => Vec::new(),
    };
    let stripe_count = (count != ALL_TARGETS).then_some(u32::from(count));
    checked(StripedPart { start, end, stripe_bytes, stripe_count, targets, pool }).map(Some)
}

fn composite(bytes: &[u8]) -> Result<Vec<StripedPart>> {
    let count = usize::from(u16_at(bytes, 14)?);
    let mut mirror = None;
    let mut parts = Vec::new();
    for index in 0..count {
        let entry = part(bytes, COMPOSITE_BYTES + index * ENTRY_BYTES, ENTRY_BYTES)?;
        let (id, flags) = (u32_at(entry, 0)?, u32_at(entry, 4)?);
        if flags & (ENTRY_IS_STALE | ENTRY_IS_PARITY | ENTRY_IS_EXTENSION) != 0 {
            continue;
        }
        // All mirrors hold the same bytes: the first is as good as any.
        if *mirror.get_or_insert(id >> 16) != id >> 16 {
            continue;
        }
        let (start, end) = (u64_at(entry, 8)?, u64_at(entry, 16)?);
        let (offset, length) = (u32_at(entry, 24)? as usize, u32_at(entry, 28)? as usize);
        let layout = part(bytes, offset, length)?;
        parts.extend(plain(layout, start, (end != u64::MAX).then_some(end), flags & ENTRY_HAS_TARGETS != 0)?);
    }
    ordered(parts)
}

fn part(bytes: &[u8], offset: usize, length: usize) -> Result<&[u8]> {
    let found = offset.checked_add(length).and_then(|end| bytes.get(offset..end));
    found.ok_or_else(|| Error::corrupt(format!("an attribute of {} bytes is too short for a layout of Lustre", bytes.len())))
}

fn u16_at(bytes: &[u8], offset: usize) -> Result<u16> {
    Ok(part(bytes, offset, 2)?.iter().rev().fold(0, |n, byte| n << 8 | u16::from(*byte)))
}

fn u32_at(bytes: &[u8], offset: usize) -> Result<u32> {
    Ok(part(bytes, offset, 4)?.iter().rev().fold(0, |n, byte| n << 8 | u32::from(*byte)))
}

fn u64_at(bytes: &[u8], offset: usize) -> Result<u64> {
    Ok(part(bytes, offset, 8)?.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte)))
}
