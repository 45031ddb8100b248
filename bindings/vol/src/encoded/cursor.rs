//! Cursor: reads encoded bytes in order, and never beyond their end.

use hyperslab_arrow_container::error::{Error, Result, error};

/// The rest of what is parsed.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    /// What is parsed, for errors.
    what: &'static str,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    /// An error that says what does not hold.
    pub fn bad(&self, why: impl std::fmt::Display) -> Error {
        error!("{} in the container is damaged: {why}", self.what)
    }

    /// An error unless something holds.
    pub fn require(&self, holds: bool, why: &str) -> Result<()> {
        if holds { Ok(()) } else { Err(self.bad(why)) }
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(|| self.bad("it ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    /// A little-endian number of up to 8 bytes.
    pub fn uint(&mut self, bytes: usize) -> Result<u64> {
        self.require(bytes <= 8, "a number has too many bytes")?;
        Ok(self.take(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    pub fn u8(&mut self) -> Result<u8> {
        self.take(1).map(|taken| taken.first().copied().unwrap_or_default())
    }

    /// A number after a byte that says how many bytes it has.
    pub fn sized(&mut self) -> Result<u64> {
        let bytes = self.u8()?;
        self.require((1..=8).contains(&bytes), "a number has no bytes, or too many")?;
        self.uint(bytes.into())
    }

    /// Text before a zero byte, which is consumed.
    pub fn text(&mut self) -> Result<&'a [u8]> {
        let length = self.rest.iter().position(|byte| *byte == 0).ok_or_else(|| self.bad("a name does not end"))?;
        let text = self.take(length)?;
        self.take(1)?;
        Ok(text)
    }

    /// An error unless all is read.
    pub fn end(&self) -> Result<()> {
        self.require(self.rest.is_empty(), "it has more bytes than it needs")
    }
}
