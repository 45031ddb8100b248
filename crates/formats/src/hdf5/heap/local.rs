//! Local heap: the names of an old group (specification III.D).

use std::borrow::Cow;
use std::cmp::Ordering;

use hyperslab_array::name::name_of;
use hyperslab_array::{Error, Result};

use crate::hdf5::writer::Space;
use crate::hdf5::{Encoder, Source};

/// A heap whose data segment is longer is read text by text, where only a few of its texts are needed.
const MAX_WHOLE_BYTES: u64 = 64 << 10;
/// Bytes that are read for one text, and how many times more if that does not reach its end.
const TEXT_BYTES: u64 = 256;
const TEXT_GROWTH: u64 = 16;

/// A local heap: its data segment, or where that is.
pub(crate) struct LocalHeap<'a> {
    source: &'a Source,
    /// Address and length of the data segment.
    address: u64,
    length: u64,
    data: Option<Cow<'a, [u8]>>,
}

impl<'a> LocalHeap<'a> {
    /// Reads the heap whose header lies at `address`, to look up all of its texts.
    pub fn read(source: &'a Source, address: u64) -> Result<Self> {
        Self::open(source, address, u64::MAX)
    }
    /// Reads the heap whose header lies at `address`, to look up a few of its texts.
    pub fn read_for_few(source: &'a Source, address: u64) -> Result<Self> {
        Self::open(source, address, MAX_WHOLE_BYTES)
    }
    /// The most texts that the heap whose header lies at `address` can have: each takes a multiple of 8 bytes.
    pub fn max_texts(source: &'a Source, address: u64) -> Result<u64> {
        Ok(Self::open(source, address, 0)?.length / 8)
    }
    fn open(source: &'a Source, address: u64, max_whole_bytes: u64) -> Result<Self> {
        let header = source.read(address, 8 + 2 * u64::from(source.length_size) + u64::from(source.offset_size))?;
        let mut cursor = source.cursor(&header, address);
        cursor.signature(b"HEAP")?;
        cursor.version(0, "a local heap")?;
        cursor.skip(3)?;
        let length = cursor.length()?;
        cursor.length()?;
        let address = cursor.defined_address("a local heap's data segment")?;
        let data = if length <= max_whole_bytes { Some(source.read(address, length)?) } else { None };
        Ok(Self { source, address, length, data })
    }
    /// The NUL-terminated text at `offset` of the data segment, paid each time: entries may share one text.
    pub fn text(&self, offset: u64) -> Result<String> {
        let copy = |text: &[u8]| {
            let name = name_of(text);
            self.source.budget.charge(name.len() as u64).map(|()| name)
        };
        self.with_text(offset, |text| text.map(copy))?.ok_or_else(|| self.no_text(offset))?
    }
    /// How the bytes of the text at `offset` are ordered relative to `name`.
    pub fn compare(&self, offset: u64, name: &[u8]) -> Result<Ordering> {
        self.with_text(offset, |text| text.map(|text| text.cmp(name)))?.ok_or_else(|| self.no_text(offset))
    }
    fn no_text(&self, offset: u64) -> Error {
        let error = Error::corrupt(format!("no name at offset {offset} of a local heap"));
        match self.source.absolute(self.address) {
            Ok(place) => error.at_offset(place),
            Err(_) => error,
        }
    }
    /// Calls `use_text` with the text at `offset`, without its NUL; `None` if it has no end.
    fn with_text<T>(&self, offset: u64, use_text: impl Fn(Option<&[u8]>) -> Option<T>) -> Result<Option<T>> {
        let until_nul = |tail: &[u8]| tail.iter().position(|byte| *byte == 0).and_then(|end| use_text(tail.get(..end)));
        if let Some(data) = &self.data {
            return Ok(usize::try_from(offset).ok().and_then(|start| data.get(start..)).and_then(until_nul));
        }
        let left = self.length.saturating_sub(offset);
        let mut length = TEXT_BYTES.min(left);
        while length > 0 {
            let address = self.address.checked_add(offset).ok_or_else(|| self.no_text(offset))?;
            if let Some(found) = until_nul(&self.source.read(address, length)?) {
                return Ok(Some(found));
            }
            if length == left {
                break;
            }
            length = length.saturating_mul(TEXT_GROWTH).min(left);
        }
        Ok(None)
    }
}

/// Puts a heap with `texts`, all different from the empty text that comes first, into `space`; gives its
/// address and the offset of each text.
pub(crate) fn encode(space: &mut Space, texts: &[&str]) -> Result<(u64, Vec<u64>)> {
    /// The free list is empty.
    const NO_FREE: u64 = 1;
    let mut data = Encoder::default();
    data.u64(0);
    let mut offsets = Vec::with_capacity(texts.len());
    for text in texts {
        offsets.push(data.len() as u64);
        data.null_terminated(text);
        data.pad_to(data.len().next_multiple_of(8));
    }
    let data = data.finish();
    let address = space.put(&data);
    let mut encoder = Encoder::signed(b"HEAP");
    encoder.u32(0);
    encoder.u64(data.len() as u64);
    encoder.u64(NO_FREE);
    encoder.u64(address);
    Ok((space.put(&encoder.finish()), offsets))
}
