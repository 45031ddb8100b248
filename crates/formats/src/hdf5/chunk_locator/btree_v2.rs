//! Version-2 B-tree of record types 10 and 11: two or more unlimited dimensions.

use hyperslab_array::Result;

use super::{Found, parse_entry};
use crate::hdf5::{Source, btree};

pub(super) fn locate(source: &Source, address: u64, found: &mut Found<'_>) -> Result<()> {
    let ndim = found.layout.shape.len();
    btree::v2::records(source, address, &[10, 11], &mut |kind, record| {
        let mut cursor = source.cursor(record, address);
        let entry = record.len().saturating_sub(8 * ndim);
        let chunk = parse_entry(&mut cursor, found.layout, kind == 11, entry)?;
        let position = (0..ndim).map(|_| cursor.u64()).collect::<Result<Vec<_>>>()?;
        match chunk {
            Some((address, length, mask)) => found.add(source, position, address, length, mask),
            None => Ok(()),
        }
    })
}
