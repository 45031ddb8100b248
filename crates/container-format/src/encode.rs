//! Encoded datatypes and property lists of new containers: the bytes that `H5Tdecode` and `H5Pdecode` understand.

use hyperslab_array::{Datatype, Error, Member, ReferenceKind, Result};
use hyperslab_formats::{AllocationTime, Dataset, FillTime, hdf5};

use crate::form::MEMORY_REFERENCE_BYTES;

/// Sizes in memory of text and sequences of variable length.
const TEXT_BYTES: u64 = 8;
const SEQUENCE_BYTES: u64 = 16;
/// Bytes of a filter's name, with the closing NUL. Longer names are cut.
pub const FILTER_NAME_BYTES: usize = 12;

/// The bytes of `H5Tencode` of a datatype.
///
/// # Errors
/// `Unsupported` for a datatype that a container cannot have.
pub fn encode_datatype(datatype: &Datatype) -> Result<Vec<u8>> {
    let mut encoded = vec![3, 0];
    encoded.extend(hdf5::encode_datatype(&in_memory(datatype)?)?);
    Ok(encoded)
}

/// A datatype as it is in memory: values of variable length are addresses there, and members after them move.
fn in_memory(datatype: &Datatype) -> Result<Datatype> {
    Ok(match datatype {
        Datatype::VariableString { padding, character_set, .. } => {
            Datatype::VariableString { size: TEXT_BYTES, padding: *padding, character_set: *character_set }
        }
        Datatype::Sequence { base, .. } => Datatype::Sequence { size: SEQUENCE_BYTES, base: Box::new(in_memory(base)?) },
        Datatype::Array { base, shape } => Datatype::Array { base: Box::new(in_memory(base)?), shape: shape.clone() },
        Datatype::Reference { kind: ReferenceKind::Standard, .. } => Datatype::Reference { size: MEMORY_REFERENCE_BYTES as u64, kind: ReferenceKind::Standard },
        Datatype::Compound { size, members } => {
            let mut moved = Vec::with_capacity(members.len());
            for member in members.iter() {
                moved.push((member.datatype.size(), Member { datatype: in_memory(&member.datatype)?, ..member.clone() }));
            }
            if moved.iter().all(|(before, member)| *before == member.datatype.size() && !member.datatype.uses_heap()) {
                return Ok(Datatype::Compound { size: *size, members: moved.into_iter().map(|(_, member)| member).collect() });
            }
            moved.sort_by_key(|(_, member)| member.offset);
            let (mut grown, mut shrunk) = (0u64, 0u64);
            for (before, member) in &mut moved {
                member.offset = (member.offset + grown).checked_sub(shrunk).ok_or_else(|| Error::corrupt("a compound whose members overlap"))?;
                grown = grown.saturating_add(member.datatype.size());
                shrunk = shrunk.saturating_add(*before);
            }
            let size = size.saturating_add(grown).checked_sub(shrunk).ok_or_else(|| Error::corrupt("a compound whose members overlap"))?;
            Datatype::Compound { size, members: moved.into_iter().map(|(_, member)| member).collect() }
        }
        other => other.clone(),
    })
}

/// The bytes of `H5Pencode2` of the creation property list that a dataset had: chunks, filters, fill value. A fill value of variable
/// length is not in it.
///
/// # Errors
/// `Unsupported` for chunks, filters or a datatype that cannot be encoded.
pub fn encode_properties(dataset: &Dataset) -> Result<Vec<u8>> {
    let mut out = vec![0, 5];
    out.extend(b"layout\0");
    match dataset.creation_chunk_shape() {
        None => out.push(u8::from(!dataset.is_created_compact())),
        Some(shape) => {
            out.push(2);
            out.push(u8::try_from(shape.len()).map_err(|_| Error::unsupported("chunks of this many dimensions"))?);
            for extent in shape {
                out.extend(u32::try_from(*extent).map_err(|_| Error::unsupported("chunks of 4 Gi elements"))?.to_le_bytes());
            }
        }
    }
    out.extend(b"pline\0");
    out.push(4);
    sized(&mut out, dataset.creation_filters().len() as u64);
    for filter in dataset.creation_filters() {
        out.extend(u32::from(filter.id).to_le_bytes());
        out.extend(u32::from(filter.optional).to_le_bytes());
        out.push(u8::from(filter.stored_name.is_some()));
        if let Some(text) = &filter.stored_name {
            let mut name = [0; FILTER_NAME_BYTES];
            let length = text.len().min(FILTER_NAME_BYTES - 1);
            name[..length].copy_from_slice(&text.as_bytes()[..length]);
            out.extend(name);
        }
        sized(&mut out, filter.parameters.len() as u64);
        filter.parameters.iter().for_each(|value| out.extend(value.to_le_bytes()));
    }
    out.extend(b"fill_value\0");
    // Space is allocated when values are written (chunks: as they are).
    out.push(match dataset.allocation {
        Some(AllocationTime::Early) => 1,
        Some(AllocationTime::Late) => 2,
        Some(AllocationTime::Incremental) => 3,
        None if dataset.creation_chunk_shape().is_some() => 3,
        None => 2,
    });
    out.push(match dataset.fill_time {
        FillTime::Alloc => 0,
        FillTime::Never => 1,
        FillTime::IfSet => 2,
    });
    match dataset.fill_value.as_ref().filter(|_| !dataset.datatype.uses_heap() && !dataset.datatype.has_references()) {
        None if dataset.is_fill_undefined => out.extend(u64::MAX.to_le_bytes()),
        None => out.extend(0u64.to_le_bytes()),
        Some(value) => {
            out.extend((value.len() as u64).to_le_bytes());
            out.extend(value);
            let datatype = encode_datatype(&dataset.datatype)?;
            sized(&mut out, datatype.len() as u64);
            out.extend(datatype);
        }
    }
    out.push(0);
    Ok(out)
}

/// A number after the number of its bytes.
fn sized(out: &mut Vec<u8>, number: u64) {
    let bytes = (64 - number.leading_zeros() as usize).div_ceil(8).max(1);
    out.push(bytes as u8);
    out.extend(&number.to_le_bytes()[..bytes]);
}
