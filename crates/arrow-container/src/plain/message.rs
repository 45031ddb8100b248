//! Encodes datatypes as `H5Tencode` does: two bytes, then a datatype message of version 3 (HDF5 File Format Specification,
//! section IV.A.2.d).

use super::form::Form;

/// The bytes of `H5Tencode` for the datatype in memory.
pub(super) fn encode(form: &Form) -> Vec<u8> {
    let mut out = vec![3, 0];
    out.extend(message(form));
    out
}

fn head(class: u8, bits: [u8; 3], bytes: usize) -> Vec<u8> {
    let mut out = vec![3 << 4 | class, bits[0], bits[1], bits[2]];
    out.extend_from_slice(&u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes());
    out
}

fn integer(bytes: usize, signed: bool) -> Vec<u8> {
    let mut out = head(0, [if signed { 8 } else { 0 }, 0, 0], bytes);
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&(bytes as u16 * 8).to_le_bytes());
    out
}

fn float(bytes: usize) -> Vec<u8> {
    let (exponent_bits, mantissa_bits, bias): (u8, u8, u32) = match bytes {
        2 => (5, 10, 15),
        4 => (8, 23, 127),
        _ => (11, 52, 1023),
    };
    // Normalized with an implied leading one; the sign is the highest bit.
    let mut out = head(1, [0x20, bytes as u8 * 8 - 1, 0], bytes);
    out.extend_from_slice(&[0, 0, bytes as u8 * 8, 0, mantissa_bits, exponent_bits, 0, mantissa_bits]);
    out.extend_from_slice(&bias.to_le_bytes());
    out
}

fn message(form: &Form) -> Vec<u8> {
    match form {
        Form::Integer { bytes, signed } => integer(*bytes, *signed),
        Form::Float { bytes } => float(*bytes),
        Form::Flag { nulls } => {
            // As h5py defines `bool`.
            let names: &[&str] = if *nulls { &["FALSE", "TRUE", "NULL"] } else { &["FALSE", "TRUE"] };
            let mut out = head(8, [names.len() as u8, 0, 0], 1);
            out.extend(integer(1, true));
            names.iter().for_each(|name| out.extend_from_slice(format!("{name}\0").as_bytes()));
            out.extend(0..names.len() as u8);
            out
        }
        Form::Opaque { bytes } => head(5, [0; 3], *bytes),
        Form::Text => {
            // A zero-terminated UTF-8 string.
            let mut out = head(9, [1, 1, 0], form.memory_bytes());
            out.extend(integer(1, false));
            out
        }
        Form::Bytes => {
            let mut out = head(9, [0; 3], form.memory_bytes());
            out.extend(integer(1, false));
            out
        }
        Form::List(element) => {
            let mut out = head(9, [0; 3], form.memory_bytes());
            out.extend(message(element));
            out
        }
        Form::Array(count, element) => {
            let mut out = head(10, [0; 3], form.memory_bytes());
            out.push(1);
            out.extend_from_slice(&u32::try_from(*count).unwrap_or(u32::MAX).to_le_bytes());
            out.extend(message(element));
            out
        }
        Form::Struct(members) => {
            let bytes = form.memory_bytes();
            let [low, high] = (members.len() as u16).to_le_bytes();
            let mut out = head(6, [low, high, 0], bytes);
            // Offsets take as many bytes as the size of the compound needs.
            let width = (usize::BITS - bytes.leading_zeros()).div_ceil(8).max(1) as usize;
            let mut at = 0;
            for (name, member) in members {
                out.extend_from_slice(name.as_bytes());
                out.push(0);
                out.extend_from_slice(at_width(at, width).as_slice());
                out.extend(message(member));
                at += member.memory_bytes();
            }
            out
        }
    }
}

fn at_width(value: usize, width: usize) -> Vec<u8> {
    value.to_le_bytes().iter().copied().take(width).collect()
}
