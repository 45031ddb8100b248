//! Searches ranges that nothing leads to for structures, by their signatures.

use hyperslab_array::{Result, interruption};

use super::structure::StructureKind;
use crate::hdf5::Source;

/// Bytes that are read at once.
const WINDOW_BYTES: u64 = 1 << 20;
/// The longest signature with the bytes after it that are compared.
const OVERLAP_BYTES: u64 = 32;

/// Signatures, the byte that follows them (the version), and what they begin.
const SIGNATURES: [(&[u8; 4], u8, StructureKind); 21] = [
    (b"OHDR", 2, StructureKind::ObjectHeader),
    (b"GCOL", 1, StructureKind::GlobalHeap),
    (b"SNOD", 1, StructureKind::SymbolTableNode),
    (b"HEAP", 0, StructureKind::LocalHeap),
    (b"TREE", 0, StructureKind::GroupTree),
    (b"TREE", 1, StructureKind::ChunkTree),
    (b"BTHD", 0, StructureKind::TreeHeader),
    (b"BTLF", 0, StructureKind::TreeNode),
    (b"BTIN", 0, StructureKind::TreeNode),
    (b"FRHP", 0, StructureKind::FractalHeap),
    (b"FHDB", 0, StructureKind::HeapDirectBlock),
    (b"FHIB", 0, StructureKind::HeapIndirectBlock),
    (b"FAHD", 0, StructureKind::FixedArray),
    (b"FADB", 0, StructureKind::FixedArrayBlock),
    (b"EAHD", 0, StructureKind::ExtensibleArray),
    (b"EAIB", 0, StructureKind::ExtensibleArrayBlock),
    (b"EASB", 0, StructureKind::ExtensibleArrayBlock),
    (b"EADB", 0, StructureKind::ExtensibleArrayBlock),
    (b"FSHD", 0, StructureKind::FreeSpaceManager),
    (b"FSSE", 0, StructureKind::FreeSpaceSections),
    (b"SMTB", 0, StructureKind::SharedMessageTable),
];

/// Takes a structure that may begin at this absolute offset.
pub(super) type TakeCandidate<'a> = dyn FnMut(StructureKind, u64) -> Result<()> + 'a;

/// Gives every place in `ranges` that looks like the beginning of a structure to `take`, in order. With `old_headers`, also
/// places that may begin an object header of version 1, which has no signature: addresses that are multiples of 8.
pub(super) fn candidates(source: &Source, ranges: &[(u64, u64)], old_headers: bool, take: &mut TakeCandidate<'_>) -> Result<()> {
    let (storage, base) = (&source.storage, source.base_address);
    let mut buffer = Vec::new();
    for (start, length) in ranges {
        let end = start.saturating_add(*length).min(storage.len());
        let mut at = *start;
        while at < end {
            interruption::check_wait()?;
            let read = WINDOW_BYTES.saturating_add(OVERLAP_BYTES).min(end - at);
            // Members of a file of several may claim any length, and read as zeros.
            source.budget.charge_read(read)?;
            buffer.clear();
            buffer.resize(usize::try_from(read).unwrap_or(usize::MAX), 0);
            storage.read_exact_at(at, &mut buffer)?;
            let own = usize::try_from(WINDOW_BYTES.min(end - at)).unwrap_or(usize::MAX);
            for (index, window) in buffer.windows(5).enumerate().take(own) {
                let offset = at + index as u64;
                if let Some(kind) = signature(window) {
                    take(kind, offset)?;
                } else if old_headers && offset.saturating_sub(base).is_multiple_of(8) && may_be_old_header(buffer.get(index..).unwrap_or_default()) {
                    take(StructureKind::ObjectHeader, offset)?;
                }
            }
            at = at.saturating_add(WINDOW_BYTES);
        }
    }
    Ok(())
}

/// What begins with these five bytes.
fn signature(window: &[u8]) -> Option<StructureKind> {
    let (head, version) = window.split_first_chunk::<4>()?;
    // Most bytes are not a capital letter.
    if !head.first()?.is_ascii_uppercase() {
        return None;
    }
    let found = SIGNATURES.iter().find(|(signature, next, _)| *signature == head && version.first() == Some(next));
    found.map(|(_, _, kind)| *kind)
}

/// Bytes of a header of version 1 in front of its first message, and of a message in front of its body.
const OLD_PREFIX: usize = 16;
const OLD_MESSAGE: usize = 8;
/// Largest first block of such a header.
const MAX_OLD_BYTES: u32 = 1 << 20;

/// Whether the prefix and the head of the first message look like a header of version 1. The header itself is checked by the
/// caller.
fn may_be_old_header(bytes: &[u8]) -> bool {
    let Some(head) = bytes.first_chunk::<{ OLD_PREFIX + OLD_MESSAGE }>() else { return false };
    let [1, 0, count_low, count_high, l0, l1, l2, l3, s0, s1, s2, s3, 0, 0, 0, 0, kind, 0, length_low, length_high, flags, 0, 0, 0] = *head else {
        return false;
    };
    let (count, links) = (u16::from_le_bytes([count_low, count_high]), u32::from_le_bytes([l0, l1, l2, l3]));
    let (size, length) = (u32::from_le_bytes([s0, s1, s2, s3]), u16::from_le_bytes([length_low, length_high]));
    let first = u32::from(length).saturating_add(8);
    (1..=4096).contains(&count)
        && links <= 1 << 20
        && (first..=MAX_OLD_BYTES).contains(&size)
        && size.is_multiple_of(8)
        && length.is_multiple_of(8)
        && kind <= 0x18
        && flags <= 0x3f
}
