//! Local heap: the names of an old group (specification III.D).

use std::borrow::Cow;

use hyperslab_array::{Error, Result};

use crate::hdf5::Source;

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
        cursor.skip(4)?;
        let size = cursor.length()?;
        cursor.length()?;
        let data_address = cursor.defined_address("a local heap's data segment")?;
        Ok(Self { data: source.read(data_address, size)?, offset: source.absolute(data_address)? })
    }
    /// The NUL-terminated text at `offset` of the data segment.
    pub fn text(&self, offset: u64) -> Result<String> {
        let tail = usize::try_from(offset).ok().and_then(|start| self.data.get(start..));
        let text = tail.and_then(|tail| tail.split(|&b| b == 0).next().filter(|text| text.len() < tail.len()));
        let text = text.ok_or_else(|| {
            Error::corrupt(format!("no name at offset {offset} of a local heap")).at_offset(self.offset)
        })?;
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}
