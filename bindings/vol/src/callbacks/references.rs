//! Maps references in copied values: in another file, they would point to different objects.

use std::sync::Arc;

use crate::datatype;
use crate::ffi::*;
use crate::host::Host;
use hyperslab_arrow_container::elements::{Arena, BlobName, Datatype, REFERENCE_BYTES, is_null, is_whole, with_blob};
use hyperslab_arrow_container::error::{Result, error};
use hyperslab_arrow_container::model::ObjectId;

/// Byte offsets of the parts of a reference in its element in file form.
const FLAGS: usize = 1;
const LENGTH: usize = 2;
const NAME: usize = 6;
/// The token follows its length.
const TOKEN: usize = 3;
const TOKEN_IN_BLOB: usize = 1;

/// The places of references in the elements of a datatype.
#[derive(Debug)]
pub(crate) enum Holds {
    Nothing,
    /// An `H5T_STD_REF` reference.
    Reference,
    /// A reference of HDF5 before 1.12, or one in memory form: it begins with the object's ID. `region`: the number of a
    /// selection follows.
    Number {
        bytes: usize,
        region: bool,
    },
    Members(Vec<(usize, Self)>),
    Elements {
        width: usize,
        count: usize,
        element: Box<Self>,
    },
    Sequence {
        width: usize,
        element: Box<Self>,
    },
}

/// Maps the object of a reference (`None`: the reference is cleared) and the number of its selection.
pub(crate) struct Mapping<'a> {
    pub(crate) object: &'a mut dyn FnMut(ObjectId) -> Result<Option<ObjectId>>,
    pub(crate) region: &'a dyn Fn(u32) -> u32,
    /// Receives new blobs.
    pub(crate) arena: &'a Arc<Arena>,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|word| word.first_chunk()).map_or(0, |word| u64::from_le_bytes(*word))
}

fn half(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|word| word.first_chunk()).map_or(0, |word| u32::from_le_bytes(*word))
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) -> Result<()> {
    bytes.get_mut(at..at + value.len()).ok_or_else(|| error!("an element is truncated"))?.copy_from_slice(value);
    Ok(())
}

/// Clears a reference.
fn empty(bytes: &mut [u8]) -> Result<()> {
    bytes.fill(0);
    Ok(())
}

fn name_at(bytes: &[u8], at: usize) -> Result<BlobName> {
    bytes.get(at..at + 16).and_then(|name| name.try_into().ok()).ok_or_else(|| error!("an element is truncated"))
}

impl Holds {
    /// The references in a datatype in memory form, whose layout in the file is `decoded`.
    pub(crate) fn of(host: &Host, memory: hid_t, decoded: &Datatype) -> Result<Self> {
        // SAFETY: valid IDs of the host.
        unsafe {
            Ok(match ((host.call.H5Tget_class)(memory), decoded) {
                (H5T_REFERENCE, Datatype::Reference) => Self::Reference,
                (H5T_REFERENCE, Datatype::Fixed(bytes)) => Self::Number { bytes: *bytes, region: *bytes == 12 },
                (H5T_COMPOUND, Datatype::Compound { members, .. }) => {
                    let mut found = Vec::new();
                    for (index, name) in datatype::member_names(host, memory)?.iter().enumerate() {
                        let Some(member) = members.iter().find(|member| member.name == *name) else { continue };
                        match Self::of(host, datatype::member(host, memory, index as u32)?.id, &member.datatype)? {
                            Self::Nothing => {}
                            holds => found.push((member.offset, holds)),
                        }
                    }
                    if found.is_empty() { Self::Nothing } else { Self::Members(found) }
                }
                (H5T_ARRAY, Datatype::Array { count, element }) => match Self::of(host, datatype::base(host, memory)?.id, element)? {
                    Self::Nothing => Self::Nothing,
                    holds => Self::Elements { width: element.bytes(), count: *count, element: Box::new(holds) },
                },
                (H5T_VLEN, Datatype::Sequence(element)) => match Self::of(host, datatype::base(host, memory)?.id, element)? {
                    Self::Nothing => Self::Nothing,
                    holds => Self::Sequence { width: element.bytes(), element: Box::new(holds) },
                },
                _ => Self::Nothing,
            })
        }
    }

    /// Maps the references in one element.
    pub(crate) fn map(&self, element: &mut [u8], mapping: &mut Mapping<'_>) -> Result<()> {
        match self {
            Self::Nothing => Ok(()),
            Self::Reference => {
                let bytes = element.get_mut(..REFERENCE_BYTES).ok_or_else(|| error!("an element is truncated"))?;
                // A reference into a third file stays unchanged.
                if bytes.iter().all(|byte| *byte == 0) || bytes.get(FLAGS).is_some_and(|flags| flags & 1 != 0) {
                    return Ok(());
                }
                if is_whole(bytes.get(..LENGTH).unwrap_or_default()) {
                    return match (mapping.object)(word(bytes, TOKEN))? {
                        Some(object) => put(bytes, TOKEN, &object.to_le_bytes()),
                        None => empty(bytes),
                    };
                }
                let name = name_at(bytes, NAME)?;
                let mut blob = with_blob(&name, half(bytes, LENGTH) as usize, <[u8]>::to_vec)?;
                match (mapping.object)(word(&blob, TOKEN_IN_BLOB))? {
                    Some(object) => {
                        put(&mut blob, TOKEN_IN_BLOB, &object.to_le_bytes())?;
                        put(bytes, NAME, &mapping.arena.put(&blob)?)
                    }
                    None => empty(bytes),
                }
            }
            Self::Number { bytes, region } => {
                let bytes = element.get_mut(..*bytes).ok_or_else(|| error!("an element is truncated"))?;
                let object = word(bytes, 0);
                match if object == 0 { None } else { (mapping.object)(object)? } {
                    Some(object) => {
                        put(bytes, 0, &object.to_le_bytes())?;
                        if *region { put(bytes, 8, &(mapping.region)(half(bytes, 8)).to_le_bytes()) } else { Ok(()) }
                    }
                    None => empty(bytes),
                }
            }
            Self::Members(members) => members.iter().try_for_each(|(offset, holds)| holds.map(element.get_mut(*offset..).unwrap_or_default(), mapping)),
            Self::Elements { width, count, element: holds } => element.chunks_mut((*width).max(1)).take(*count).try_for_each(|one| holds.map(one, mapping)),
            Self::Sequence { width, element: holds } => {
                let name = name_at(element, 4)?;
                if is_null(&name) {
                    return Ok(());
                }
                let mut values = with_blob(&name, half(element, 0) as usize * width, <[u8]>::to_vec)?;
                values.chunks_mut((*width).max(1)).try_for_each(|one| holds.map(one, mapping))?;
                put(element, 4, &mapping.arena.put(&values)?)
            }
        }
    }
}
