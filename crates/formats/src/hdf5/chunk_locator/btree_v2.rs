//! Version-2 B-tree of record types 10 and 11: two or more unlimited dimensions.

use hyperslab_array::{Error, Result};

use super::entry::parse_entry;
use super::found::Sink;
use crate::hdf5::{Source, btree};

pub(super) fn locate(source: &Source, address: u64, found: &mut impl Sink) -> Result<()> {
    let ndim = found.layout().shape.len();
    let mut last: Option<Vec<u64>> = None;
    btree::v2::records(source, address, &[10, 11], &mut |kind, record| {
        let mut cursor = source.cursor(record, address);
        let entry = record.len().saturating_sub(8 * ndim);
        let chunk = parse_entry(&mut cursor, found.layout(), kind == 11, entry)?;
        let position = (0..ndim).map(|_| cursor.u64()).collect::<Result<Vec<_>>>()?;
        // The library finds a chunk by its position: one out of order is lost to it.
        if last.as_ref().is_some_and(|last| *last >= position) {
            return Err(Error::corrupt(format!("a chunk B-tree with the chunk {position:?} out of order")).at_offset(source.absolute(address)?));
        }
        let added = match chunk {
            Some((address, length, mask)) => found.add(source, &position, address, length, mask),
            None => Ok(()),
        };
        last = Some(position);
        added
    })
}
