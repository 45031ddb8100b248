//! External data files message (IV.A.2.h): raw data in files of its own.

use hyperslab_array::Result;

use crate::hdf5::Cursor;

/// A part of the raw data, its file's name still in a local heap.
pub(crate) struct Slot {
    /// Offset of the name in the heap.
    pub name: u64,
    /// Where the part begins in its file.
    pub offset: u64,
    /// Bytes; `None` is all that follows.
    pub length: Option<u64>,
}

/// The parts in order, and the address of the local heap with their files' names.
pub(crate) struct ExternalFiles {
    pub heap: u64,
    pub slots: Vec<Slot>,
}

pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<ExternalFiles> {
    let version = cursor.u8()?;
    if version != 1 {
        return Err(cursor.corrupt(format!("version {version} of the external data files message")));
    }
    cursor.skip(3)?;
    cursor.u16()?;
    let used = cursor.u16()?;
    let heap = cursor.defined_address("the heap of external file names")?;
    let unlimited = u64::MAX >> (64 - 8 * u32::from(cursor.length_size()));
    let slots = (0..used).map(|_| {
        let (name, offset, length) = (cursor.length()?, cursor.length()?, cursor.length()?);
        Ok(Slot { name, offset, length: (length != unlimited).then_some(length) })
    });
    Ok(ExternalFiles { heap, slots: slots.collect::<Result<_>>()? })
}
