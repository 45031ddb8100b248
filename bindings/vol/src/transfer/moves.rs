//! Decides which members are copied directly between a column and memory, and which the host converts.

use std::ffi::c_void;
use std::sync::Arc;

use crate::datatype;
use crate::ffi::*;
use crate::host::{Host, Owned};
use hyperslab_arrow_container::elements::{Datatype, Member, columns};
use hyperslab_arrow_container::error::{Result, error};
use hyperslab_arrow_container::table::Part;

/// A member that the host converts.
pub(crate) struct Conversion {
    /// Its leaves, in file form.
    pub(super) parts: Vec<Part>,
    /// Its byte offset in an element in memory.
    pub(super) at: usize,
    pub(super) file_bytes: usize,
    pub(super) memory_bytes: usize,
    pub(super) file: Owned,
    pub(super) memory: Owned,
    /// Whether the conversion needs the existing values as background, because it contains compounds.
    pub(super) background: bool,
}

/// How each column is moved.
#[derive(Default)]
pub(crate) struct Moves {
    pub(super) direct: Vec<Part>,
    /// Bytes of an element in memory that are copied directly.
    pub(super) direct_bytes: usize,
    pub(super) converted: Vec<Conversion>,
}

/// The moves of the last transfer, and the encoded datatype in memory that they are for.
pub(crate) type KnownMoves = Option<(Vec<u8>, Arc<Moves>)>;

impl Moves {
    /// Whether what is copied directly fills elements of this many bytes in memory.
    pub(super) fn is_whole(&self, element_bytes: usize) -> bool {
        self.converted.is_empty() && self.direct_bytes == element_bytes
    }
}

/// Pairs a datatype of the file with one in memory. `leaf` counts the leaves of the file.
struct Pairing<'a> {
    host: &'a Host,
    handle: *mut c_void,
    moves: Moves,
    leaf: usize,
}

fn leaves_below(decoded: &Datatype) -> usize {
    match decoded {
        Datatype::Compound { members, .. } => members.iter().map(|member| leaves_below(&member.datatype)).sum(),
        _ => 1,
    }
}

impl Pairing<'_> {
    /// `direct`: whether the datatype's leaves are the column's; otherwise the column has one leaf.
    fn pair(&mut self, decoded: &Datatype, file: Owned, memory: Owned, at: usize, direct: bool) -> Result<()> {
        let host = self.host;
        // SAFETY: valid IDs of the host.
        unsafe {
            let class = (host.call.H5Tget_class)(memory.id);
            if let (Datatype::Compound { members, .. }, true, H5T_COMPOUND) = (decoded, direct, class) {
                return self.members(members, &file, &memory, at, |_| true);
            }
            let bytes = decoded.bytes();
            let count = if direct { leaves_below(decoded) } else { 1 };
            let mut offsets: Vec<usize> = Vec::new();
            if direct {
                columns(decoded).iter().for_each(|column| offsets.extend(column.leaves.iter().map(|leaf| leaf.offset)));
            } else {
                offsets.push(0);
            }
            offsets.truncate(count);
            let first = self.leaf;
            self.leaf += count;
            let parts = |base: usize| offsets.iter().enumerate().map(|(i, offset)| Part::new(first + i, base + offset)).collect::<Vec<_>>();
            if !decoded.has_heap() && (host.call.H5Tequal)(file.id, memory.id) > 0 {
                self.moves.direct.extend(parts(at));
                self.moves.direct_bytes += (host.call.H5Tget_size)(memory.id);
                return Ok(());
            }
            let background = (host.call.H5Tdetect_class)(file.id, H5T_COMPOUND) > 0;
            let (file_bytes, memory_bytes) = ((host.call.H5Tget_size)(file.id), (host.call.H5Tget_size)(memory.id));
            if file_bytes != bytes {
                return Err(error!("a datatype of {file_bytes} bytes in the file, but the columns have {bytes}"));
            }
            self.moves.converted.push(Conversion { parts: parts(0), at, file_bytes, memory_bytes, file, memory, background });
            Ok(())
        }
    }

    fn members(&mut self, members: &[Member], file: &Owned, memory: &Owned, at: usize, direct: impl Fn(usize) -> bool) -> Result<()> {
        let host = self.host;
        let names = datatype::member_names(host, memory.id)?;
        for (index, member) in members.iter().enumerate() {
            let direct = direct(index);
            let Some(place) = names.iter().position(|name| *name == member.name) else {
                self.leaf += if direct { leaves_below(&member.datatype) } else { 1 };
                continue;
            };
            // SAFETY: a valid ID of the host, and an index below its number of members.
            let offset = unsafe { (host.call.H5Tget_member_offset)(memory.id, place as u32) };
            let (mut below_file, below_memory) = (datatype::member(host, file.id, index as u32)?, datatype::member(host, memory.id, place as u32)?);
            if member.datatype.has_heap() {
                // HDF5 returns a member's datatype in memory form.
                below_file = datatype::in_file(host, self.handle, below_file.id)?;
            }
            self.pair(&member.datatype, below_file, below_memory, at + offset, direct)?;
        }
        Ok(())
    }
}

pub(super) fn moves(host: &Host, handle: *mut c_void, decoded: &Datatype, file: Owned, memory: Owned) -> Result<Moves> {
    let columns = columns(decoded);
    let mut pairing = Pairing { host, handle, moves: Moves::default(), leaf: 0 };
    // SAFETY: a valid ID of the host.
    let class = unsafe { (host.call.H5Tget_class)(memory.id) };
    match (decoded, class) {
        (Datatype::Compound { members, .. }, H5T_COMPOUND) => {
            pairing.members(members, &file, &memory, 0, |index| columns.get(index).is_some_and(|column| column.direct))?
        }
        (Datatype::Compound { .. }, _) => return Err(error!("a compound cannot be converted to a datatype that is not a compound")),
        _ => pairing.pair(decoded, file, memory, 0, columns.first().is_some_and(|column| column.direct))?,
    }
    Ok(pairing.moves)
}
