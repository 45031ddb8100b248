//! Local heap: the names of an old group (specification III.D).

use std::borrow::Cow;

use hyperslab_array::{Error, Result};

use crate::hdf5::writer::Space;
use crate::hdf5::{Encoder, Source};

/// The data segment of a local heap.
pub(crate) struct LocalHeap<'a> {
    data: Cow<'a, [u8]>,
    offset: u64,
}

impl<'a> LocalHeap<'a> {
    /// Reads the heap whose header lies at `address`.
    pub fn read(source: &'a Source, address: u64) -> Result<Self> {
        let header = source.read(address, 8 + 2 * u64::from(source.length_size) + u64::from(source.offset_size))?;
        let mut cursor = source.cursor(&header, address);
        cursor.signature(b"HEAP")?;
        cursor.version(0, "a local heap")?;
        cursor.skip(3)?;
        let size = cursor.length()?;
        cursor.length()?;
        let data_address = cursor.defined_address("a local heap's data segment")?;
        Ok(Self { data: source.read(data_address, size)?, offset: source.absolute(data_address)? })
    }
    /// The NUL-terminated text at `offset` of the data segment.
    pub fn text(&self, offset: u64) -> Result<String> {
        let tail = usize::try_from(offset).ok().and_then(|start| self.data.get(start..));
        let text = tail.and_then(|tail| tail.split(|&b| b == 0).next().filter(|text| text.len() < tail.len()));
        let text = text.ok_or_else(|| Error::corrupt(format!("no name at offset {offset} of a local heap")).at_offset(self.offset))?;
        Ok(String::from_utf8_lossy(text).into_owned())
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
