//! The superblock of a file that is edited: its end, and the mark that an edit is being applied.

use hyperslab_array::{Error, Result};
use hyperslab_storage::Storage;

use crate::hdf5::checksum;
use crate::hdf5::superblock::{APPLYING, find_superblock};

/// Bytes of the longest superblock.
const MAX_BYTES: usize = 64;

/// A superblock as it is in a file, of any version. Changes stay within one sector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuperblockImage {
    place: u64,
    bytes: Vec<u8>,
    fields: Fields,
}

/// Where fields are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fields {
    flags: usize,
    /// The base address; the end of the file is two addresses later.
    base: usize,
    /// Bytes of an address.
    width: usize,
    has_checksum: bool,
}

impl SuperblockImage {
    /// Reads the superblock of a file.
    ///
    /// # Errors
    /// `InvalidInput` for a file that is not HDF5; `Unsupported` for another version; `Io`; `Corrupt` if it is cut off. Its checksum is not verified.
    pub fn read(storage: &dyn Storage) -> Result<Self> {
        let place = find_superblock(storage)?.ok_or_else(|| Error::invalid_input("this is not an HDF5 file: only HDF5 files can be edited"))?;
        let mut room = [0; MAX_BYTES];
        let available = usize::try_from(storage.len().saturating_sub(place)).unwrap_or(usize::MAX).min(MAX_BYTES);
        let bytes = room.get_mut(..available).unwrap_or_default();
        storage.read_exact_at(place, bytes)?;
        Self::parse(place, bytes).map_err(|error| error.at_offset(place))
    }

    /// The superblock that `bytes` begin with.
    fn parse(place: u64, bytes: &[u8]) -> Result<Self> {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
        let (fields, length) = match byte(8) {
            version @ (0 | 1) => {
                let (base, width) = (24 + 4 * usize::from(version), usize::from(byte(13)));
                (Fields { flags: 20, base, width, has_checksum: false }, base + 4 * width)
            }
            2 | 3 => {
                let width = usize::from(byte(9));
                (Fields { flags: 11, base: 12, width, has_checksum: true }, 12 + 4 * width + size_of::<u32>())
            }
            version => return Err(Error::unsupported(format!("version {version} of the HDF5 superblock"))),
        };
        if ![2, 4, 8].contains(&fields.width) {
            return Err(Error::corrupt(format!("addresses of {} bytes", fields.width)));
        }
        let bytes = bytes.get(..length).ok_or_else(|| Error::corrupt("the superblock ends too early"))?.to_vec();
        Ok(Self { place, bytes, fields })
    }

    /// Its place and bytes, for a journal.
    pub fn encode(&self) -> Vec<u8> {
        let mut encoded = self.place.to_le_bytes().to_vec();
        encoded.push(u8::try_from(self.bytes.len()).unwrap_or(u8::MAX));
        encoded.extend(&self.bytes);
        encoded
    }

    /// What [`Self::encode`] wrote, taken off the front of `rest`; `None` for other bytes.
    pub fn decode(rest: &mut &[u8]) -> Option<Self> {
        let (place, after) = rest.split_first_chunk()?;
        let (length, after) = after.split_first()?;
        let (bytes, after) = after.split_at_checked(usize::from(*length))?;
        *rest = after;
        Self::parse(u64::from_le_bytes(*place), bytes).ok().filter(|image| image.bytes.len() == bytes.len())
    }

    /// The absolute offset of its first byte.
    pub fn place(&self) -> u64 {
        self.place
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether an edit was being applied when it was written.
    pub fn is_marked(&self) -> bool {
        self.flags() & APPLYING != 0
    }

    /// Whether its checksum is right, if it has one: no write of it was torn.
    pub fn is_whole(&self) -> bool {
        let sum = self.bytes.split_last_chunk::<4>();
        !self.fields.has_checksum || sum.is_some_and(|(content, sum)| checksum::lookup3(content) == u32::from_le_bytes(*sum))
    }

    /// Whether a program has the file open for writing, or was killed while it had.
    pub fn is_open_elsewhere(&self) -> bool {
        self.fields.has_checksum && self.flags() & !APPLYING != 0
    }

    /// Whether it is of a version that has extensions.
    pub(super) fn may_be_extended(&self) -> bool {
        self.fields.has_checksum
    }

    /// The largest end that the file can have: its addresses hold all places in front of it, and none of them is the undefined address.
    pub fn max_end(&self) -> u64 {
        let undefined = u64::MAX >> (64 - 8 * self.fields.width.min(8));
        (undefined - 1).saturating_sub(self.address(0).unwrap_or_default()).saturating_add(self.place)
    }

    /// Half of the children of a full node in a B-tree of chunks, which version 1 says.
    pub(super) fn chunk_tree_k(&self) -> Option<u16> {
        match (self.bytes.get(8), self.bytes.get(24..26)) {
            (Some(1), Some([low, high])) => Some(u16::from_le_bytes([*low, *high])),
            _ => None,
        }
    }

    /// Half of the links in a full symbol table node, and of the children of a full node in a group's B-tree, which versions 0 and 1 say.
    pub(super) fn group_k(&self) -> Option<(u16, u16)> {
        match (self.fields.has_checksum, self.bytes.get(16..20)) {
            (false, Some([leaf_low, leaf_high, tree_low, tree_high])) => {
                Some((u16::from_le_bytes([*leaf_low, *leaf_high]), u16::from_le_bytes([*tree_low, *tree_high])))
            }
            _ => None,
        }
    }

    /// Where versions 0 and 1 say what they know of the root group, counted from the superblock: after its name and its address.
    pub(super) fn root_cache(&self) -> Option<u64> {
        let length_bytes = self.bytes.get(14).copied().filter(|_| !self.fields.has_checksum)?;
        Some((self.fields.base + 5 * self.fields.width + usize::from(length_bytes)) as u64)
    }

    /// The absolute offset of the first byte after all that the file's metadata speaks of.
    ///
    /// # Errors
    /// `Corrupt` if it states none.
    pub fn end(&self) -> Result<u64> {
        let stated = self.address(2).zip(self.address(0)).and_then(|(end, base)| end.checked_sub(base)?.checked_add(self.place));
        stated.ok_or_else(|| Error::corrupt("the superblock states no end of the file").at_offset(self.place))
    }

    /// The same with or without the mark.
    pub fn with_mark(&self, is_marked: bool) -> Self {
        let mut changed = self.clone();
        if let Some(flags) = changed.bytes.get_mut(self.fields.flags) {
            *flags = if is_marked { *flags | APPLYING } else { *flags & !APPLYING };
        }
        changed.sealed()
    }

    /// The same with another end.
    ///
    /// # Errors
    /// `Unsupported` if the file's addresses are too narrow for it.
    pub fn with_end(&self, end: u64) -> Result<Self> {
        let width = self.fields.width;
        let stored = end.checked_sub(self.place).and_then(|end| end.checked_add(self.address(0)?)).filter(|end| width == 8 || end >> (8 * width) == 0);
        let stored = stored.ok_or_else(|| Error::unsupported(format!("a file of {end} bytes whose addresses have {width}")))?;
        let mut changed = self.clone();
        let from = self.fields.base + 2 * width;
        let field = changed.bytes.get_mut(from..from + width).ok_or_else(|| Error::internal("a superblock without an end"))?;
        field.iter_mut().zip(stored.to_le_bytes()).for_each(|(to, byte)| *to = byte);
        Ok(changed.sealed())
    }

    /// Whether each byte of `found` is the one in `self` or one in `others`: what a torn write can leave.
    pub fn may_be_torn_into(&self, others: &[&Self], found: &[u8]) -> bool {
        let is_known = |(at, byte): (usize, &u8)| [self].iter().chain(others).any(|image| image.bytes.get(at) == Some(byte));
        found.len() == self.bytes.len() && found.iter().enumerate().all(is_known)
    }

    fn flags(&self) -> u8 {
        self.bytes.get(self.fields.flags).copied().unwrap_or_default()
    }

    fn address(&self, number: usize) -> Option<u64> {
        let from = self.fields.base + number * self.fields.width;
        let mut wide = [0; 8];
        wide.iter_mut().zip(self.bytes.get(from..from + self.fields.width)?).for_each(|(to, byte)| *to = *byte);
        Some(u64::from_le_bytes(wide))
    }

    fn sealed(mut self) -> Self {
        if self.fields.has_checksum
            && let Some((content, sum)) = self.bytes.split_last_chunk_mut::<4>()
        {
            *sum = checksum::lookup3(content).to_le_bytes();
        }
        self
    }
}
