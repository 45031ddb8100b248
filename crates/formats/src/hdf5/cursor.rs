//! Cursor: reads the fields of a structure from its bytes, in order, with bounds checks.

use hyperslab_array::name::name_of;
use hyperslab_array::{Error, Result};

use crate::budget::Budget;

/// A position in bytes that were read from the file. All integers are little endian.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Absolute offset of `bytes` in the file, for errors.
    start: u64,
    offset_size: u8,
    length_size: u8,
    /// Pays for what is kept of the bytes.
    budget: &'a Budget,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub fn new(bytes: &'a [u8], start: u64, offset_size: u8, length_size: u8, budget: &'a Budget) -> Self {
        Self { bytes, position: 0, start, offset_size, length_size, budget }
    }
    /// Absolute offset in the file of the next byte.
    pub fn offset_in_file(&self) -> u64 {
        self.start.saturating_add(self.position as u64)
    }
    /// Position in the bytes given.
    pub fn position(&self) -> usize {
        self.position
    }
    /// Bytes left.
    pub fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }
    /// Bytes of an address in this file.
    pub fn offset_size(&self) -> u8 {
        self.offset_size
    }
    /// Bytes of a length in this file.
    pub fn length_size(&self) -> u8 {
        self.length_size
    }
    /// The budget that pays for what is kept.
    pub fn budget(&self) -> &'a Budget {
        self.budget
    }
    /// Pays for `bytes` of memory.
    pub fn keep(&self, bytes: usize) -> Result<()> {
        self.budget.charge(bytes as u64).map_err(|error| error.at_offset(self.offset_in_file()))
    }
    /// A vector with room for `count` values, which are paid for.
    pub fn list<T>(&self, count: usize) -> Result<Vec<T>> {
        self.keep(count.saturating_mul(size_of::<T>()))?;
        let mut list = Vec::new();
        list.try_reserve_exact(count).map_err(|_| Error::limit_exceeded(format!("no memory for {count} values")).at_offset(self.offset_in_file()))?;
        Ok(list)
    }
    /// A copy of the next `count` bytes.
    pub fn bytes(&mut self, count: u64) -> Result<Vec<u8>> {
        let bytes = self.take_u64(count)?;
        let mut copy = self.list(bytes.len())?;
        copy.extend_from_slice(bytes);
        Ok(copy)
    }
    /// `bytes` as text up to the first NUL, where names end for the library. See [`name_of`].
    pub fn text(&self, bytes: &[u8]) -> Result<String> {
        let bytes = bytes.split(|&b| b == 0).next().unwrap_or_default();
        let name = name_of(bytes);
        self.keep(name.len())?;
        Ok(name)
    }
    /// A `Corrupt` error at the present place.
    pub fn corrupt(&self, message: impl Into<String>) -> Error {
        Error::corrupt(message).at_offset(self.offset_in_file())
    }
    /// The next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        match self.bytes.get(self.position..).and_then(|rest| rest.get(..count)) {
            Some(taken) => {
                self.position += count;
                Ok(taken)
            }
            None => Err(self.too_early(count)),
        }
    }
    /// The next `N` bytes, for a length known at compile time.
    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.bytes.get(self.position..).and_then(|rest| rest.first_chunk()) {
            Some(taken) => {
                self.position += N;
                Ok(*taken)
            }
            None => Err(self.too_early(N)),
        }
    }
    #[cold]
    fn too_early(&self, count: usize) -> Error {
        self.corrupt(format!("a structure ends {} bytes too early", count.saturating_sub(self.remaining())))
    }
    /// The next `count` bytes, as a `u64` count from the file.
    pub fn take_u64(&mut self, count: u64) -> Result<&'a [u8]> {
        self.take(usize::try_from(count).unwrap_or(usize::MAX))
    }
    #[inline]
    pub fn skip(&mut self, count: usize) -> Result<()> {
        self.take(count).map(|_| ())
    }
    /// An unsigned integer of `size` bytes (0 to 8).
    #[inline]
    pub fn uint(&mut self, size: usize) -> Result<u64> {
        match size {
            8 => self.u64(),
            0..8 => Ok(self.take(size)?.iter().rev().fold(0, |n, &b| (n << 8) | u64::from(b))),
            _ => Err(self.corrupt(format!("an integer of {size} bytes"))),
        }
    }
    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        self.array().map(u8::from_le_bytes)
    }
    #[inline]
    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }
    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }
    #[inline]
    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }
    /// An address; `None` is the undefined address (all bits set).
    #[inline]
    pub fn address(&mut self) -> Result<Option<u64>> {
        let size = self.offset_size;
        let value = self.uint(usize::from(size))?;
        let undefined = u64::MAX >> (64 - 8 * u32::from(size.clamp(1, 8)));
        Ok((value != undefined).then_some(value))
    }
    /// An address that must be defined.
    pub fn defined_address(&mut self, what: &str) -> Result<u64> {
        let place = self.offset_in_file();
        self.address()?.ok_or_else(|| Error::corrupt(format!("the address of {what} is undefined")).at_offset(place))
    }
    /// A length.
    #[inline]
    pub fn length(&mut self) -> Result<u64> {
        self.uint(usize::from(self.length_size))
    }
    /// Checks a four-byte signature.
    pub fn signature(&mut self, expected: &[u8; 4]) -> Result<()> {
        let place = self.offset_in_file();
        let found = self.take(4)?;
        if found == expected {
            return Ok(());
        }
        Err(Error::corrupt(format!("expected the signature {:?}, found {:?}", String::from_utf8_lossy(expected), String::from_utf8_lossy(found)))
            .at_offset(place))
    }
    /// Checks the version byte of a structure; another version is `Unsupported`.
    pub fn version(&mut self, expected: u8, what: &str) -> Result<()> {
        let place = self.offset_in_file();
        match self.u8()? {
            version if version == expected => Ok(()),
            version => Err(Error::unsupported(format!("version {version} of {what}")).at_offset(place)),
        }
    }
    /// A NUL-terminated string; the NUL is consumed.
    pub fn null_terminated(&mut self) -> Result<&'a [u8]> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let Some(length) = rest.iter().position(|&b| b == 0) else {
            return Err(self.corrupt("a string without its terminating NUL"));
        };
        let text = self.take(length)?;
        self.skip(1)?;
        Ok(text)
    }
}
