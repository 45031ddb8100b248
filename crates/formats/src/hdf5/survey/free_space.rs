//! Free-space managers (specification III.F): of the file, and of fractal heaps.

use hyperslab_array::{Error, Result};

use super::log::Log;
use super::structure::{Purpose, StructureKind};
use crate::hdf5::{Source, checksum};

/// A manager's header.
struct Manager {
    sections: Option<u64>,
    section_count: u64,
    used_bytes: u64,
    allocated_bytes: u64,
    address_bits: u16,
    max_section_bytes: u64,
}

/// Bytes that hold every number up to `limit`, as the library computes them.
fn width_of_limit(limit: u64) -> usize {
    usize::try_from(limit.checked_ilog2().unwrap_or(0) / 8 + 1).unwrap_or(8)
}

/// Walks the manager at `address`. The sections of one `of_file` are ranges of the file.
pub(super) fn manager(log: &mut Log<'_>, address: u64, of_file: bool) -> Result<()> {
    let source = log.source;
    let (o, l) = (u64::from(source.offset_size), u64::from(source.length_size));
    let header_bytes = 4 + 2 + 4 * l + 2 + 2 + 2 + 2 + l + o + l + l + 4;
    let header = header(source, address, header_bytes);
    let Some(manager) = log.noted(StructureKind::FreeSpaceManager, address, header_bytes, header)? else { return Ok(()) };
    if !log.claim(StructureKind::FreeSpaceManager, address, header_bytes)? {
        return Ok(());
    }
    let Some(sections) = manager.sections else { return Ok(()) };
    let kind = StructureKind::FreeSpaceSections;
    let found = read_sections(source, address, sections, &manager, of_file);
    let Some(found) = log.noted(kind, sections, manager.allocated_bytes, found)? else { return Ok(()) };
    log.claim(kind, sections, manager.allocated_bytes)?;
    log.for_purpose(Purpose::FreeSpace, |log| found.into_iter().try_for_each(|(start, length)| log.extent(StructureKind::FreeSpace, start, length)))
}

fn header(source: &Source, address: u64, header_bytes: u64) -> Result<Manager> {
    let bytes = source.read(address, header_bytes)?;
    let mut cursor = source.cursor(&bytes, address);
    cursor.signature(b"FSHD")?;
    checksum::verify(&bytes, source.absolute(address)?, "a free-space manager")?;
    cursor.version(0, "a free-space manager")?;
    cursor.skip(1)?;
    cursor.length()?;
    cursor.length()?;
    let section_count = cursor.length()?;
    cursor.length()?;
    cursor.skip(2 + 2 + 2)?;
    let address_bits = cursor.u16()?;
    let max_section_bytes = cursor.length()?;
    let sections = cursor.address()?;
    let (used_bytes, allocated_bytes) = (cursor.length()?, cursor.length()?);
    if sections.is_some() && used_bytes > allocated_bytes {
        return Err(Error::corrupt(format!("free-space sections of {used_bytes} bytes in {allocated_bytes}")));
    }
    Ok(Manager { sections, section_count, used_bytes, allocated_bytes, address_bits, max_section_bytes })
}

/// Checks the sections; returns start and length of each if they describe space of a file.
fn read_sections(source: &Source, manager_address: u64, address: u64, manager: &Manager, of_file: bool) -> Result<Vec<(u64, u64)>> {
    let bytes = source.read(address, manager.used_bytes)?;
    let mut cursor = source.cursor(&bytes, address);
    cursor.signature(b"FSSE")?;
    checksum::verify(&bytes, source.absolute(address)?, "free-space sections")?;
    cursor.version(0, "free-space sections")?;
    if cursor.address()? != Some(manager_address) {
        return Err(Error::corrupt("free-space sections of another manager"));
    }
    let mut found = Vec::new();
    if !of_file {
        return Ok(found);
    }
    let count_bytes = width_of_limit(manager.section_count);
    let length_bytes = width_of_limit(manager.max_section_bytes);
    let offset_bytes = usize::from(manager.address_bits.div_ceil(8));
    while (found.len() as u64) < manager.section_count && cursor.remaining() > 4 {
        let count = cursor.uint(count_bytes)?;
        let length = cursor.uint(length_bytes)?;
        for _ in 0..count {
            source.budget.charge(size_of::<(u64, u64)>() as u64)?;
            let start = cursor.uint(offset_bytes)?;
            cursor.skip(1)?;
            found.push((start, length));
        }
    }
    Ok(found)
}
