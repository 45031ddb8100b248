//! Superblock (specification II.A): the base address and the root of the file.

use std::sync::Arc;

use hyperslab_array::{Error, Result};
use hyperslab_storage::Storage;

use super::object_header::{ObjectHeader, kind};
use super::shared_heaps::SharedMessages;
use super::{Cursor, Encoder, Source, cache_image, checksum, driver, shared_message_table};
use crate::Limits;
use crate::budget::Budget;

const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// The bit of the consistency flags that marks a file to which an edit is being applied. HDF5 reserves it: all versions of the
/// library refuse to open such a file ("bad flag value for superblock"), and `h5clear` does not clear it.
pub(crate) const APPLYING: u8 = 1 << 7;

/// The absolute offset of the HDF5 signature: 0, 512, 1024, … (a user block may come before it).
///
/// # Errors
/// `Io` if the file cannot be read.
pub fn find_superblock(storage: &dyn Storage) -> Result<Option<u64>> {
    let mut offset = 0u64;
    while offset.checked_add(8).is_some_and(|end| end <= storage.len()) {
        let mut found = [0; 8];
        storage.read_exact_at(offset, &mut found)?;
        if found == SIGNATURE {
            return Ok(Some(offset));
        }
        offset = if offset == 0 { 512 } else { offset.saturating_mul(2) };
    }
    Ok(None)
}

/// Whether a writer has the file open in SWMR mode, which lets others read at the same time: flags of a
/// version-3 superblock. Its metadata may then be read during a change.
///
/// # Errors
/// `Io` if the file cannot be read.
pub fn is_being_written(storage: &dyn Storage) -> Result<bool> {
    /// Open for writing, and for others to read.
    const WRITING: u8 = 1 << 0 | 1 << 2;
    let Some(place) = find_superblock(storage)? else { return Ok(false) };
    if place.saturating_add(12) > storage.len() {
        return Ok(false);
    }
    let mut head = [0; 12];
    storage.read_exact_at(place, &mut head)?;
    Ok(matches!(head, [.., 3, _, _, flags] if flags & WRITING == WRITING))
}

/// The end of a file according to its superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatedEnd {
    /// Offset of the first byte after all that the metadata speaks of.
    pub end: u64,
    /// Whether the superblock says that a program has the file open for writing.
    pub is_open_for_writing: bool,
}

/// The end that the superblock states; `None` for files that are not HDF5.
///
/// # Errors
/// `Io` if the file cannot be read; `Unsupported` or `Corrupt` for its superblock.
pub fn stated_end(storage: &dyn Storage) -> Result<Option<StatedEnd>> {
    let Some(place) = find_superblock(storage)? else { return Ok(None) };
    let mut room = [0; 64];
    let available = usize::try_from(storage.len().saturating_sub(place)).unwrap_or(usize::MAX).min(room.len());
    let bytes = room.get_mut(..available).unwrap_or_default();
    storage.read_exact_at(place, bytes)?;
    let bytes: &[u8] = bytes;
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
    let (width, addresses, flags) = match byte(8) {
        0 => (byte(13), 24, 0),
        1 => (byte(13), 28, 0),
        2 | 3 => (byte(9), 12, byte(11)),
        version => return Err(Error::unsupported(format!("version {version} of the HDF5 superblock")).at_offset(place)),
    };
    let width = usize::from(width);
    let address = |number: usize| {
        let found = bytes.get(addresses + number * width..addresses + (number + 1) * width).filter(|found| found.len() <= 8);
        let mut wide = [0; 8];
        wide.iter_mut().zip(found?).for_each(|(to, from)| *to = *from);
        Some(u64::from_le_bytes(wide))
    };
    // Addresses count from the signature: the file may have been moved after a user block.
    let end = address(2).zip(address(0)).and_then(|(end, base)| end.checked_sub(base)?.checked_add(place));
    let end = end.ok_or_else(|| Error::corrupt("the superblock states no end of the file").at_offset(place))?;
    Ok(Some(StatedEnd { end, is_open_for_writing: flags & 1 == 1 }))
}

/// The content of the superblock.
pub(crate) struct Superblock {
    pub source: Source,
    /// Object header of the root group.
    pub root: u64,
    /// Object header of the superblock extension.
    pub extension: Option<u64>,
    /// Driver information block.
    pub driver: Option<u64>,
}

impl Superblock {
    /// Parses the superblock at absolute offset `place`. Addresses count from there: a file that was
    /// moved after a user block keeps working although its base address is the old one.
    /// Other members of a file of several are opened only if `joins_members`.
    pub fn read(storage: Arc<dyn Storage>, place: u64, limits: &Limits, joins_members: bool) -> Result<Self> {
        Self::parse(storage, place, limits)?.extended(joins_members)
    }

    fn parse(storage: Arc<dyn Storage>, place: u64, limits: &Limits) -> Result<Self> {
        let mut room = [0; 160];
        let available = usize::try_from(storage.len().saturating_sub(place)).unwrap_or(usize::MAX).min(room.len());
        let bytes = room.get_mut(..available).unwrap_or_default();
        storage.read_exact_at(place, bytes)?;
        let bytes: &[u8] = bytes;
        let budget = Arc::new(Budget::new(storage.len(), limits.metadata_bytes));
        let mut cursor = Cursor::new(bytes, place, 8, 8, &budget);
        cursor.skip(8)?;
        let version = cursor.u8()?;
        let (offset_size, length_size) = match version {
            0 | 1 => {
                cursor.skip(4)?;
                let sizes = (cursor.u8()?, cursor.u8()?);
                cursor.skip(1)?;
                sizes
            }
            2 | 3 => (cursor.u8()?, cursor.u8()?),
            _ => {
                return Err(Error::unsupported(format!("version {version} of the HDF5 superblock")).at_offset(place));
            }
        };
        for size in [offset_size, length_size] {
            if ![2, 4, 8].contains(&size) {
                return Err(cursor.corrupt(format!("offsets or lengths of {size} bytes")));
            }
        }
        let budget = budget.clone();
        let source = Source { storage, base_address: place, offset_size, length_size, limits: limits.clone(), shared_messages: Arc::default(), budget };
        let mut fields = source.cursor(bytes, 0);
        fields.skip(cursor.position())?;
        if version < 2 {
            fields.skip(2 + 2)?;
            check_applied(fields.u8()?)?;
            fields.skip(3)?;
            if version == 1 {
                fields.skip(4)?;
            }
            fields.address()?;
            fields.address()?;
            fields.address()?;
            let driver = fields.address()?;
            fields.length()?;
            let root = fields.defined_address("the root group")?;
            return Ok(Self { source, root, extension: None, driver });
        }
        check_applied(fields.u8()?)?;
        fields.address()?;
        let extension = fields.address()?;
        fields.address()?;
        let root = fields.defined_address("the root group")?;
        let end = fields.position() + 4;
        let whole = bytes.get(..end).ok_or_else(|| fields.corrupt("the superblock ends too early"))?;
        checksum::verify(whole, place, "the superblock")?;
        Ok(Self { source, root, extension, driver: None })
    }

    /// Brings in what lies outside of the superblock: other members of the file, tables of shared
    /// messages, a metadata cache image.
    fn extended(mut self, joins_members: bool) -> Result<Self> {
        let check = || match joins_members {
            true => Ok(()),
            false => Err(Error::unsupported("a file of several members (driver family, multi or split), and paths=\"none\" opens no other files")),
        };
        if let Some(driver) = self.driver {
            check()?;
            self.source = driver::joined_by_block(self.source, driver)?;
        }
        let Some(extension) = self.extension else { return Ok(self) };
        let source = self.source.clone();
        let header = ObjectHeader::read(&source, extension)?;
        if let Some(message) = header.find(kind::DRIVER_INFO) {
            check()?;
            let mut cursor = self.source.cursor(&message.body, message.address);
            self.source = driver::joined_by_message(self.source.clone(), &mut cursor)?;
        }
        self.source = cache_image::with_image(self.source, &header)?;
        self.source.shared_messages = Arc::new(SharedMessages::new(shared_message_table::heaps(&self.source, &header)?));
        Ok(self)
    }
}

/// `Conflict` if the consistency flags say that an edit is being applied.
fn check_applied(flags: u8) -> Result<()> {
    if flags & APPLYING == 0 {
        return Ok(());
    }
    Err(Error::busy("an edit is being applied to this file, or was interrupted: open it once with mode \"r+\", which completes the edit from its journal"))
}

/// Bytes of what [`encode`] gives.
pub(crate) const ENCODED_BYTES: u64 = 48;

/// Version 2, of HDF5 1.8: the file begins at byte `base` and ends at byte `end` after that.
pub(crate) fn encode(root: u64, extension: Option<u64>, end: u64, base: u64) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.bytes(&SIGNATURE);
    encoder.bytes(&[2, 8, 8, 0]);
    encoder.u64(base);
    encoder.address(extension);
    encoder.u64(base.saturating_add(end));
    encoder.u64(root);
    encoder.finish_with_checksum()
}
