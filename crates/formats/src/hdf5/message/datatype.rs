//! Datatype message (IV.A.2.d).

use hyperslab_array::name::bytes_of;
use hyperslab_array::{
    ByteOrder, CharacterSet, Datatype, EnumMember, Error, FloatFormat, FloatLayout, Mantissa, Member, ReferenceKind, Result, StringPadding, TimeEncoding,
};

use crate::hdf5::encoder::width_of;
use crate::hdf5::{Cursor, Encoder};

/// Deepest nesting of datatypes that is followed whatever the limit says: threads' stacks are not endless.
const MAX_DEPTH: u32 = 256;

/// A datatype in which no more than `depth` are nested (the limit of that name).
pub(crate) fn parse(cursor: &mut Cursor<'_>, depth: u32) -> Result<Datatype> {
    nested(cursor, depth.min(MAX_DEPTH))
}

fn nested(cursor: &mut Cursor<'_>, depth: u32) -> Result<Datatype> {
    cursor.keep(size_of::<Datatype>())?;
    let Some(depth) = depth.checked_sub(1) else {
        return Err(Error::limit_exceeded("datatypes nested too deeply").at_offset(cursor.offset_in_file()));
    };
    let start = cursor.clone();
    let head = cursor.u8()?;
    let (class, version) = (head & 0x0f, head >> 4);
    let bits = cursor.uint(3)?;
    let bits = u32::try_from(bits).unwrap_or(0);
    let size = u64::from(cursor.u32()?);
    if !(1..=5).contains(&version) {
        return Err(start.corrupt(format!("version {version} of the datatype message")));
    }
    if size == 0 && class != 5 && class != 3 {
        return Err(start.corrupt("a datatype of 0 bytes"));
    }
    match class {
        0 => {
            let (bit_offset, bit_precision) = (cursor.u16()?, cursor.u16()?);
            check_bits(&start, size, bit_offset, bit_precision)?;
            Ok(Datatype::Integer { size, signed: bits & 8 != 0, order: order(bits), bit_offset, bit_precision })
        }
        1 => float(cursor, &start, bits, size),
        2 => time(cursor, bits, size),
        3 => Ok(Datatype::FixedString { size, padding: padding(&start, bits & 0x0f)?, character_set: character_set(&start, (bits >> 4) & 0x0f)? }),
        4 => {
            let (bit_offset, bit_precision) = (cursor.u16()?, cursor.u16()?);
            check_bits(&start, size, bit_offset, bit_precision)?;
            Ok(Datatype::Bitfield { size, order: order(bits) })
        }
        5 => opaque(cursor, bits, size),
        6 => compound(cursor, &start, version, bits & 0xffff, size, depth),
        7 => reference(&start, bits, size),
        8 => enumeration(cursor, &start, version, bits & 0xffff, depth),
        9 => variable_length(cursor, &start, bits, size, depth),
        10 => array_of_base(cursor, &start, version, size, depth),
        11 => complex(cursor, &start, size, depth),
        other => Err(start.corrupt(format!("datatype class {other}"))),
    }
}

fn time(cursor: &mut Cursor<'_>, bits: u32, size: u64) -> Result<Datatype> {
    let precision = u64::from(cursor.u16()?);
    Ok(match size {
        4 | 8 if precision == size * 8 => Datatype::Time { size, order: order(bits), encoding: TimeEncoding::Stored },
        _ => Datatype::Unsupported { size, class: format!("time of {precision} bits") },
    })
}

fn opaque(cursor: &mut Cursor<'_>, bits: u32, size: u64) -> Result<Datatype> {
    let tag = cursor.take(usize::try_from(bits & 0xff).unwrap_or(0))?;
    Ok(Datatype::Opaque { size, tag: cursor.text(tag)? })
}

fn reference(start: &Cursor<'_>, bits: u32, size: u64) -> Result<Datatype> {
    let kind = match bits & 0x0f {
        0 => ReferenceKind::Object,
        1 => ReferenceKind::Region,
        2..=4 => ReferenceKind::Standard,
        other => return Err(start.corrupt(format!("reference type {other}"))),
    };
    Ok(Datatype::Reference { size, kind })
}

fn variable_length(cursor: &mut Cursor<'_>, start: &Cursor<'_>, bits: u32, size: u64, depth: u32) -> Result<Datatype> {
    let base = nested(cursor, depth)?;
    match bits & 0x0f {
        0 => Ok(Datatype::Sequence { size, base: Box::new(stored_item(base, cursor.offset_size())) }),
        1 => Ok(Datatype::VariableString { size, padding: padding(start, (bits >> 4) & 0x0f)?, character_set: character_set(start, (bits >> 8) & 0x0f)? }),
        other => Err(start.corrupt(format!("variable-length type {other}"))),
    }
}

/// An array, with its extents and the type of its elements.
fn array_of_base(cursor: &mut Cursor<'_>, start: &Cursor<'_>, version: u8, size: u64, depth: u32) -> Result<Datatype> {
    let ndim = usize::from(cursor.u8()?);
    if version < 3 {
        cursor.skip(3)?;
    }
    let shape = (0..ndim).map(|_| cursor.u32().map(u64::from)).collect::<Result<Vec<_>>>()?;
    if version < 3 {
        cursor.skip(4 * ndim)?;
    }
    let base = nested(cursor, depth)?;
    array(start, base, shape, size)
}

/// A complex number, as a compound of its two parts.
fn complex(cursor: &mut Cursor<'_>, start: &Cursor<'_>, size: u64, depth: u32) -> Result<Datatype> {
    let base = nested(cursor, depth)?;
    // Other bases would double what is kept with each level.
    if !matches!(base, Datatype::Float { .. }) {
        return Err(start.corrupt("a complex number that is not made of floating-point numbers"));
    }
    let half = base.size();
    if half.checked_mul(2) != Some(size) {
        return Err(start.corrupt("a complex number that is not two parts"));
    }
    let member = |name: &str, offset| Member { name: name.to_owned(), offset, datatype: base.clone() };
    Ok(Datatype::Compound { size, members: [member("r", 0), member("i", half)].into() })
}

fn order(bits: u32) -> ByteOrder {
    if bits & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big }
}

fn check_bits(place: &Cursor<'_>, size: u64, offset: u16, precision: u16) -> Result<()> {
    if u64::from(offset) + u64::from(precision) > size.saturating_mul(8) || precision == 0 {
        return Err(place.corrupt(format!("{precision} bits from bit {offset} on in a number of {size} bytes")));
    }
    Ok(())
}

fn padding(place: &Cursor<'_>, bits: u32) -> Result<StringPadding> {
    match bits {
        0 => Ok(StringPadding::NullTerminated),
        1 => Ok(StringPadding::NullPadded),
        2 => Ok(StringPadding::SpacePadded),
        other => Err(place.corrupt(format!("string padding {other}"))),
    }
}

fn character_set(place: &Cursor<'_>, bits: u32) -> Result<CharacterSet> {
    match bits {
        0 => Ok(CharacterSet::Ascii),
        1 => Ok(CharacterSet::Utf8),
        other => Err(place.corrupt(format!("character set {other}"))),
    }
}

fn float(cursor: &mut Cursor<'_>, start: &Cursor<'_>, bits: u32, size: u64) -> Result<Datatype> {
    let order = match (bits & 1, (bits >> 6) & 1) {
        (0, 0) => ByteOrder::Little,
        (1, 0) => ByteOrder::Big,
        (1, 1) => {
            // The properties still have to be consumed for what follows in a compound.
            cursor.skip(12)?;
            return Ok(Datatype::Unsupported { size, class: "VAX floating-point".to_owned() });
        }
        _ => return Err(start.corrupt("a floating-point byte order that is not defined")),
    };
    let mantissa = match (bits >> 4) & 3 {
        0 => Mantissa::AsStored,
        1 => Mantissa::AlwaysSet,
        2 => Mantissa::Implied,
        _ => return Err(start.corrupt("a mantissa normalization that is not defined")),
    };
    let layout = FloatLayout {
        bit_offset: cursor.u16()?,
        bit_precision: cursor.u16()?,
        sign_location: (bits >> 8).to_le_bytes()[0],
        exponent_location: cursor.u8()?,
        exponent_size: cursor.u8()?,
        mantissa_location: cursor.u8()?,
        mantissa_size: cursor.u8()?,
        exponent_bias: cursor.u32()?,
        mantissa,
    };
    check_bits(start, size, layout.bit_offset, layout.bit_precision)?;
    if FloatLayout::ieee(size) == Some(layout) {
        return Ok(Datatype::float(size, order));
    }
    let end = |location: u8, count: u8| u64::from(location) + u64::from(count);
    let ends = [end(layout.exponent_location, layout.exponent_size), end(layout.mantissa_location, layout.mantissa_size), end(layout.sign_location, 1)];
    if ends.into_iter().any(|end| end > size * 8) {
        return Err(start.corrupt("a floating-point number whose parts lie outside of it"));
    }
    Ok(Datatype::Float { size, order, format: FloatFormat::Custom(layout) })
}

/// A member's or enumeration's name; padded to eight bytes before version 3.
fn name(cursor: &mut Cursor<'_>, version: u8) -> Result<String> {
    let text = cursor.null_terminated()?;
    if version < 3 {
        let length = text.len() + 1;
        cursor.skip(length.next_multiple_of(8) - length)?;
    }
    cursor.text(text)
}

fn array(place: &Cursor<'_>, base: Datatype, shape: Vec<u64>, size: u64) -> Result<Datatype> {
    let bytes = shape.iter().try_fold(base.size(), |n, &extent| n.checked_mul(extent));
    // Text and opaque values may have no bytes, but not an array of them.
    if bytes != Some(size) || size == 0 {
        return Err(place.corrupt(format!("an array of shape {shape:?} does not fill {size} bytes")));
    }
    Ok(Datatype::Array { base: Box::new(base), shape })
}

/// Bytes of the shortest member of a compound: an empty name, an offset, a datatype.
const MIN_MEMBER_BYTES: usize = 1 + 1 + 8;

fn compound(cursor: &mut Cursor<'_>, start: &Cursor<'_>, version: u8, count: u32, size: u64, depth: u32) -> Result<Datatype> {
    // Each member takes some bytes of the message.
    let mut members = cursor.list(usize::try_from(count).unwrap_or(usize::MAX).min(cursor.remaining() / MIN_MEMBER_BYTES))?;
    let offset_bytes = usize::try_from((64 - size.leading_zeros()).div_ceil(8)).unwrap_or(8);
    for _ in 0..count {
        let name = name(cursor, version)?;
        let offset = if version >= 3 { cursor.uint(offset_bytes)? } else { u64::from(cursor.u32()?) };
        let mut shape = Vec::new();
        if version == 1 {
            let ndim = usize::from(cursor.u8()?);
            cursor.skip(3 + 4 + 4)?;
            let extents = (0..4).map(|_| cursor.u32().map(u64::from)).collect::<Result<Vec<_>>>()?;
            if ndim > 4 {
                return Err(start.corrupt(format!("a compound member of {ndim} dimensions")));
            }
            shape = extents.into_iter().take(ndim).collect();
        }
        let mut datatype = nested(cursor, depth)?;
        if !shape.is_empty() {
            let bytes = shape.iter().try_fold(datatype.size(), |n, &extent| n.checked_mul(extent));
            let bytes = bytes.ok_or_else(|| start.corrupt("a compound member beyond 64 bits"))?;
            datatype = array(start, datatype, shape, bytes)?;
        }
        if offset.checked_add(datatype.size()).is_none_or(|end| end > size) {
            return Err(start.corrupt(format!("member {name} lies outside of its compound")));
        }
        members.push(Member { name, offset, datatype });
    }
    let mut spans: Vec<(u64, u64)> = members.iter().map(|m| (m.offset, m.offset.saturating_add(m.datatype.size()))).collect();
    spans.sort_unstable();
    if spans.windows(2).any(|pair| matches!(pair, [(_, end), (next, _)] if next < end)) {
        return Err(start.corrupt("a compound whose members overlap"));
    }
    Ok(Datatype::Compound { size, members: members.into() })
}

fn enumeration(cursor: &mut Cursor<'_>, start: &Cursor<'_>, version: u8, count: u32, depth: u32) -> Result<Datatype> {
    let base = nested(cursor, depth)?;
    let Datatype::Integer { size, signed, order, .. } = base else {
        return Err(start.corrupt("an enumeration over something that is not an integer"));
    };
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(cursor.remaining() + 1);
    cursor.keep(count.saturating_mul(size_of::<EnumMember>()))?;
    let names = (0..count).map(|_| name(cursor, version)).collect::<Result<Vec<_>>>()?;
    let mut members = Vec::with_capacity(count);
    for name in names {
        let bytes = cursor.take_u64(size)?;
        members.push(EnumMember { name, value: integer(start, bytes, signed, order)? });
    }
    Ok(Datatype::Enum { base: Box::new(base), members: members.into() })
}

fn integer(place: &Cursor<'_>, bytes: &[u8], signed: bool, order: ByteOrder) -> Result<i128> {
    if bytes.is_empty() || bytes.len() > 15 {
        return Err(place.corrupt(format!("an enumeration value of {} bytes", bytes.len())));
    }
    let fold = |n: i128, b: &u8| (n << 8) | i128::from(*b);
    let value = match order {
        ByteOrder::Little => bytes.iter().rev().fold(0, fold),
        ByteOrder::Big => bytes.iter().fold(0, fold),
    };
    let bits = 8 * bytes.len();
    Ok(if signed && (value >> (bits - 1)) & 1 == 1 { value - (1 << bits) } else { value })
}

/// The items of a sequence as they are stored. The library writes the size in memory of references of HDF5 1.12 here, and stores them as
/// anywhere else: a type, flags, a size of 4 bytes, and a place in the heap.
fn stored_item(base: Datatype, offset_size: u8) -> Datatype {
    const SIZE_IN_MEMORY: u64 = 64;
    match base {
        Datatype::Reference { size: SIZE_IN_MEMORY, kind: ReferenceKind::Standard } => {
            Datatype::Reference { size: 10 + u64::from(offset_size), kind: ReferenceKind::Standard }
        }
        other => other,
    }
}

/// Version of the message of a reference of HDF5 1.12, and of those that contain it.
const STANDARD_REFERENCE_VERSION: u8 = 4;

/// The version of a compound or an array.
fn version_over(datatype: &Datatype) -> u8 {
    fn has_standard(datatype: &Datatype) -> bool {
        match datatype {
            Datatype::Reference { kind, .. } => *kind == ReferenceKind::Standard,
            Datatype::Sequence { base, .. } | Datatype::Array { base, .. } => has_standard(base),
            Datatype::Compound { members, .. } => members.iter().any(|member| has_standard(&member.datatype)),
            _ => false,
        }
    }
    if has_standard(datatype) { STANDARD_REFERENCE_VERSION } else { 3 }
}

/// The message: version 3 of compound, enum, array and what is made of them, 4 of references of HDF5 1.12 and what is made of
/// them, else version 1.
pub(crate) fn encode(datatype: &Datatype) -> Result<Vec<u8>> {
    let mut encoder = Encoder::default();
    put(datatype, &mut encoder, crate::Limits::default().depth)?;
    Ok(encoder.finish())
}

/// Class, version, class bits and size, which begin every datatype.
fn head(encoder: &mut Encoder, class: u8, version: u8, bits: u32, size: u64) -> Result<()> {
    let size = u32::try_from(size).map_err(|_| Error::unsupported(format!("elements of {size} bytes: HDF5 allows 4 GiB")))?;
    encoder.u8(version << 4 | class);
    encoder.uint(u64::from(bits), 3);
    encoder.u32(size);
    Ok(())
}

fn put(datatype: &Datatype, encoder: &mut Encoder, depth: u32) -> Result<()> {
    let depth = depth.checked_sub(1).ok_or_else(|| Error::limit_exceeded("datatypes nested too deeply"))?;
    let order_bits = |order: &ByteOrder| u32::from(*order == ByteOrder::Big);
    match datatype {
        Datatype::Integer { size, signed, order, bit_offset, bit_precision } => {
            head(encoder, 0, 1, order_bits(order) | u32::from(*signed) << 3, *size)?;
            encoder.u16(*bit_offset);
            encoder.u16(*bit_precision);
        }
        Datatype::Float { size, order, format } => put_float(encoder, *size, *order, format)?,
        Datatype::FixedString { size, padding, character_set } => {
            let (padding, set) = text_bits(padding, character_set);
            head(encoder, 3, 1, padding | set << 4, *size)?;
        }
        Datatype::VariableString { size, padding, character_set } => {
            let (padding, set) = text_bits(padding, character_set);
            head(encoder, 9, 1, 1 | padding << 4 | set << 8, *size)?;
            // What it is made of: characters.
            put(&Datatype::integer(1, false, ByteOrder::Little), encoder, depth)?;
        }
        Datatype::Bitfield { size, order } => {
            head(encoder, 4, 1, order_bits(order), *size)?;
            encoder.u16(0);
            encoder.u16(u16::try_from(size.saturating_mul(8)).map_err(|_| Error::unsupported("a bit field this large"))?);
        }
        Datatype::Time { size, order, .. } => {
            head(encoder, 2, 1, order_bits(order), *size)?;
            encoder.u16(u16::try_from(size.saturating_mul(8)).map_err(|_| Error::unsupported("a time this large"))?);
        }
        Datatype::Opaque { size, tag } => put_opaque(encoder, *size, tag)?,
        Datatype::Compound { size, members } => put_compound(encoder, version_over(datatype), *size, members, depth)?,
        Datatype::Reference { size, kind: ReferenceKind::Object } => head(encoder, 7, 1, 0, *size)?,
        Datatype::Reference { size, kind: ReferenceKind::Region } => head(encoder, 7, 1, 1, *size)?,
        // The type of reference in memory (`H5R_OBJECT2`), and the version of its encoding.
        Datatype::Reference { size, kind: ReferenceKind::Standard } => head(encoder, 7, STANDARD_REFERENCE_VERSION, 2 | 1 << 4, *size)?,
        Datatype::Enum { base, members } => put_enum(encoder, base, members, depth)?,
        Datatype::Sequence { size, base } => {
            let base_bytes = encode(base)?;
            let version = base_bytes.first().map_or(1, |head| head >> 4);
            head(encoder, 9, version, 0, *size)?;
            put(base, encoder, depth)?;
        }
        Datatype::Array { base, shape } => {
            head(encoder, 10, version_over(datatype), 0, datatype.size())?;
            put_extents(encoder, shape)?;
            put(base, encoder, depth)?;
        }
        Datatype::Unsupported { class, .. } => return Err(Error::unsupported(format!("writing datatype class {class}"))),
    }
    Ok(())
}

/// Class bits of a text's padding and character set, each shifted to the right.
fn text_bits(padding: &StringPadding, set: &CharacterSet) -> (u32, u32) {
    let padding = match padding {
        StringPadding::NullTerminated => 0,
        StringPadding::NullPadded => 1,
        StringPadding::SpacePadded => 2,
    };
    (padding, u32::from(*set == CharacterSet::Utf8))
}

fn put_opaque(encoder: &mut Encoder, size: u64, tag: &str) -> Result<()> {
    let bytes = bytes_of(tag);
    let length = (bytes.len() + 1).next_multiple_of(8);
    let length = u8::try_from(length).map_err(|_| Error::unsupported("an opaque type's tag of more than 247 bytes"))?;
    let length = if tag.is_empty() { 0 } else { length };
    head(encoder, 5, 1, u32::from(length), size)?;
    let end = encoder.len() + usize::from(length);
    encoder.bytes(&bytes);
    encoder.pad_to(end);
    Ok(())
}

fn put_compound(encoder: &mut Encoder, version: u8, size: u64, members: &[Member], depth: u32) -> Result<()> {
    let count = u16::try_from(members.len()).map_err(|_| Error::unsupported("a compound of 64 Ki members or more"))?;
    if members.is_empty() {
        return Err(Error::unsupported("a compound without members"));
    }
    head(encoder, 6, version, u32::from(count), size)?;
    let width = width_of(size);
    for member in members {
        if member.offset.checked_add(member.datatype.size()).is_none_or(|end| end > size) {
            return Err(Error::invalid_input(format!("member {} lies outside of its compound", member.name)));
        }
        put_name(encoder, &member.name)?;
        encoder.uint(member.offset, width);
        put(&member.datatype, encoder, depth)?;
    }
    Ok(())
}

/// The number of an array's dimensions, and its extents.
fn put_extents(encoder: &mut Encoder, shape: &[u64]) -> Result<()> {
    encoder.u8(u8::try_from(shape.len()).ok().filter(|n| *n <= 32).ok_or_else(|| Error::unsupported("an array type of more than 32 dimensions"))?);
    for extent in shape {
        encoder.u32(u32::try_from(*extent).map_err(|_| Error::unsupported("an array type with an extent of 2³² or more"))?);
    }
    Ok(())
}

fn put_name(encoder: &mut Encoder, name: &str) -> Result<()> {
    if name.contains('\0') {
        return Err(Error::invalid_input(format!("{name:?}: a name in a datatype with a NUL")));
    }
    encoder.null_terminated(name);
    Ok(())
}

fn put_float(encoder: &mut Encoder, size: u64, order: ByteOrder, format: &FloatFormat) -> Result<()> {
    let layout = match format {
        FloatFormat::Ieee => FloatLayout::ieee(size).ok_or_else(|| Error::unsupported(format!("an IEEE float of {size} bytes")))?,
        FloatFormat::Custom(layout) => *layout,
    };
    let normalization = match layout.mantissa {
        Mantissa::AsStored => 0,
        Mantissa::AlwaysSet => 1,
        Mantissa::Implied => 2,
    };
    head(encoder, 1, 1, u32::from(order == ByteOrder::Big) | normalization << 4 | u32::from(layout.sign_location) << 8, size)?;
    encoder.u16(layout.bit_offset);
    encoder.u16(layout.bit_precision);
    encoder.bytes(&[layout.exponent_location, layout.exponent_size, layout.mantissa_location, layout.mantissa_size]);
    encoder.u32(layout.exponent_bias);
    Ok(())
}

fn put_enum(encoder: &mut Encoder, base: &Datatype, members: &[EnumMember], depth: u32) -> Result<()> {
    let Datatype::Integer { size, signed, order, .. } = base else {
        return Err(Error::unsupported("an enumeration over something that is not an integer"));
    };
    let count = u16::try_from(members.len()).map_err(|_| Error::unsupported("an enumeration of 64 Ki names or more"))?;
    head(encoder, 8, 3, u32::from(count), *size)?;
    put(base, encoder, depth)?;
    for member in members.iter() {
        put_name(encoder, &member.name)?;
    }
    let width = usize::try_from(*size).unwrap_or(usize::MAX);
    let bits = u32::try_from(size.saturating_mul(8)).unwrap_or(u32::MAX).min(120);
    let range = if *signed { -(1i128 << (bits - 1))..1i128 << (bits - 1) } else { 0..1i128 << bits };
    for EnumMember { name, value } in members {
        let all = value.to_le_bytes();
        let Some(bytes) = all.get(..width).filter(|_| range.contains(value)) else {
            return Err(Error::invalid_input(format!("{name} = {value} in an enumeration of {size} bytes")));
        };
        let mut bytes = bytes.to_vec();
        if *order == ByteOrder::Big {
            bytes.reverse();
        }
        encoder.bytes(&bytes);
    }
    Ok(())
}
