//! Encoder: writes the fields of a structure in order, the inverse of [`super::Cursor`]. Files that we create
//! have addresses and lengths of 8 bytes; files that are edited may have shorter ones.

use hyperslab_array::{Error, Result};

use hyperslab_array::name::bytes_of;

use super::checksum;

/// Bytes of an address or a length in what we write.
pub(crate) const WIDTH: usize = 8;

/// Bytes of an address and of a length in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Widths {
    pub address: u8,
    pub length: u8,
}

impl Widths {
    /// Those of files that we create.
    pub const WIDE: Self = Self { address: 8, length: 8 };
}

/// Bytes of a structure, little endian.
#[derive(Debug, Clone)]
pub(crate) struct Encoder {
    bytes: Vec<u8>,
    widths: Widths,
}

impl Default for Encoder {
    fn default() -> Self {
        Self::of(Widths::WIDE)
    }
}

impl Encoder {
    /// A structure of a file with these widths.
    pub fn of(widths: Widths) -> Self {
        Self { bytes: Vec::new(), widths }
    }
    /// A structure that begins with a four-byte signature.
    pub fn signed(signature: &[u8; 4]) -> Self {
        Self { bytes: signature.to_vec(), widths: Widths::WIDE }
    }
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }
    pub fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }
    pub fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }
    /// A number of eight bytes in every file.
    pub fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }
    /// The low `size` bytes of a number that they hold.
    pub fn uint(&mut self, value: u64, size: usize) {
        let bytes = value.to_le_bytes();
        self.bytes(bytes.get(..size).unwrap_or(&bytes));
    }
    /// An address; `None` is the undefined address. Space that is allocated has addresses that the file can hold.
    pub fn address(&mut self, address: Option<u64>) {
        self.uint(address.unwrap_or(u64::MAX), self.widths.address.into());
    }
    /// A length.
    ///
    /// # Errors
    /// `Unsupported` for one that the lengths of the file cannot hold; the largest one stands for no limit.
    pub fn length(&mut self, length: u64) -> Result<()> {
        let width = self.widths.length;
        if width < 8 && length >= u64::MAX >> (64 - 8 * u32::from(width)) {
            return Err(Error::unsupported(format!("a length of {length} in a file whose lengths have {width} bytes")));
        }
        self.uint(length, width.into());
        Ok(())
    }
    /// The length that stands for no limit.
    pub fn no_limit(&mut self) {
        self.uint(u64::MAX, self.widths.length.into());
    }
    /// The bytes of a name, and the NUL that ends it.
    pub fn null_terminated(&mut self, text: &str) {
        self.bytes(&bytes_of(text));
        self.u8(0);
    }
    /// Zeros up to `length` bytes in all.
    pub fn pad_to(&mut self, length: usize) {
        if self.bytes.len() < length {
            self.bytes.resize(length, 0);
        }
    }
    /// The bytes written.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
    /// The bytes written, followed by their checksum.
    pub fn finish_with_checksum(mut self) -> Vec<u8> {
        let sum = checksum::lookup3(&self.bytes);
        self.u32(sum);
        self.bytes
    }
}

/// Bytes that hold every number up to `value`; at least one.
pub(crate) fn width_of(value: u64) -> usize {
    usize::try_from((64 - value.leading_zeros()).div_ceil(8).max(1)).unwrap_or(8)
}
