//! Encoded datatypes: the bytes of `H5Tencode`, which are two bytes and a datatype message of a datatype as it is in memory. What
//! comes out is the datatype as a native HDF5 file would have it, and the form of its elements.

use hyperslab_array::name::name_of;
use hyperslab_array::{Datatype, Error, FloatLayout, Member, ReferenceKind, Result};
use hyperslab_arrow_container::elements::Datatype as Stored;
use hyperslab_formats::{Limits, hdf5};

use crate::form::{Form, FormMember, HEAP_BYTES, MEMORY_REFERENCE_BYTES, REFERENCE_BYTES};

/// `H5O_DTYPE_ID` and the version of the encoding.
const HEAD: [u8; 2] = [3, 0];
/// Class, version, bits and size of a datatype.
const COMMON_BYTES: usize = 8;
/// Most bytes of an element, as in Arrow.
const MAX_BYTES: u64 = i32::MAX as u64;

/// A datatype as it is shown, and the form of its elements.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Decoded {
    /// The datatype as a native HDF5 file would have it.
    pub shown: Datatype,
    /// The form of its elements.
    pub form: Form,
}

/// Decodes the bytes of `H5Tencode`.
///
/// # Errors
/// `Corrupt`, `Unsupported` or `LimitExceeded` if they cannot be parsed.
pub fn decode(encoded: &[u8], limits: &Limits) -> Result<Decoded> {
    let message = encoded.strip_prefix(&HEAD).ok_or_else(|| Error::corrupt("an encoded datatype of an unknown version"))?;
    let mut parser = Parser { rest: message, limits };
    let decoded = parser.datatype(limits.depth)?;
    if parser.rest.is_empty() { Ok(decoded.0) } else { Err(Error::corrupt("an encoded datatype with bytes after its end")) }
}

struct Parser<'a> {
    rest: &'a [u8],
    limits: &'a Limits,
}

/// What begins every datatype.
struct Head {
    class: u8,
    version: u8,
    bits: u32,
    /// Its size in memory.
    size: u64,
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl<'a> Parser<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(|| Error::corrupt("an encoded datatype that ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    /// A name, padded to 8 bytes before version 3.
    fn name(&mut self, version: u8) -> Result<String> {
        let length = self.rest.iter().position(|byte| *byte == 0).ok_or_else(|| Error::corrupt("a name in an encoded datatype that does not end"))?;
        let name = name_of(self.take(length)?);
        let padded = if version < 3 { (length + 1).next_multiple_of(8) } else { length + 1 };
        self.take(padded - length)?;
        Ok(name)
    }

    /// The next datatype, and its size in memory.
    fn datatype(&mut self, depth: u32) -> Result<(Decoded, u64)> {
        let depth = depth.checked_sub(1).ok_or_else(|| Error::limit_exceeded("datatypes nested too deeply"))?;
        let start = self.rest;
        let common = self.take(COMMON_BYTES)?;
        let head = Head {
            class: common.first().map_or(0, |byte| byte & 15),
            version: common.first().map_or(0, |byte| byte >> 4),
            bits: number(common.get(1..4).unwrap_or_default()) as u32,
            size: number(common.get(4..).unwrap_or_default()),
        };
        if !(1..=MAX_BYTES).contains(&head.size) {
            return Err(Error::corrupt(format!("an encoded datatype of {} bytes", head.size)));
        }
        let bytes = head.size as usize;
        let form = match head.class {
            0 | 4 => self.integer(&head)?,
            1 => self.float(&head)?,
            2 => {
                self.take(2)?;
                Form::Plain(Stored::Fixed(bytes))
            }
            3 => Form::Plain(Stored::Fixed(bytes)),
            5 => {
                self.take((head.bits & 0xff) as usize)?;
                Form::Plain(Stored::Fixed(bytes))
            }
            6 => return Ok((self.compound(&head, depth)?, head.size)),
            7 => match head.bits & 15 {
                0 | 1 => Form::Plain(Stored::Fixed(bytes)),
                2..=4 if bytes == MEMORY_REFERENCE_BYTES => {
                    let shown = Datatype::Reference { size: REFERENCE_BYTES as u64, kind: ReferenceKind::Standard };
                    return Ok((Decoded { shown, form: Form::Reference }, head.size));
                }
                kind => return Err(Error::corrupt(format!("an encoded reference of type {kind} and {bytes} bytes"))),
            },
            8 => {
                let (base, _) = self.datatype(depth)?;
                for _ in 0..head.bits & 0xffff {
                    self.name(head.version)?;
                }
                self.take((head.bits as usize & 0xffff).saturating_mul(bytes))?;
                base.form
            }
            9 => return Ok((self.variable(&head, start, depth)?, head.size)),
            10 => return Ok((self.array(&head, depth)?, head.size)),
            // A complex number, which is stored as its bytes.
            11 => {
                self.datatype(depth)?;
                Form::Plain(Stored::Fixed(bytes))
            }
            class => return Err(Error::unsupported(format!("datatype class {class} in a container"))),
        };
        let message = start.get(..start.len() - self.rest.len()).unwrap_or_default();
        let shown = hdf5::parse_datatype(message, self.limits)?;
        if shown.size() != form.bytes() as u64 {
            return Err(Error::corrupt(format!("an encoded datatype of {} bytes whose elements have {}", shown.size(), form.bytes())));
        }
        Ok((Decoded { shown, form }, head.size))
    }

    fn integer(&mut self, head: &Head) -> Result<Form> {
        let place = self.take(4)?;
        let (offset, precision) = (number(place.get(..2).unwrap_or_default()), number(place.get(2..).unwrap_or_default()));
        let bytes = head.size as usize;
        Ok(Form::Plain(match bytes {
            1 | 2 | 4 | 8 if offset == 0 && precision == 8 * head.size => {
                let is_bitfield = head.class == 4;
                Stored::Integer { bytes, signed: !is_bitfield && head.bits & 8 != 0, swapped: bytes > 1 && head.bits & 1 != 0 }
            }
            _ => Stored::Fixed(bytes),
        }))
    }

    fn float(&mut self, head: &Head) -> Result<Form> {
        let bytes = head.size as usize;
        let (bits, parts) = (self.take(4)?, self.take(4)?);
        let bias = number(self.take(4)?);
        let (offset, precision) = (number(bits.get(..2).unwrap_or_default()), number(bits.get(2..).unwrap_or_default()));
        let is_ieee = FloatLayout::ieee(head.size).is_some_and(|ieee| {
            let fields = [ieee.exponent_location, ieee.exponent_size, ieee.mantissa_location, ieee.mantissa_size];
            offset == 0
                && precision == 8 * head.size
                && fields == parts
                && (head.bits >> 8) & 0xff == u32::from(ieee.sign_location)
                && bias == u64::from(ieee.exponent_bias)
                && head.bits & 0x40 == 0
        });
        Ok(Form::Plain(if is_ieee { Stored::Float { bytes, swapped: head.bits & 1 != 0 } } else { Stored::Fixed(bytes) }))
    }

    fn variable(&mut self, head: &Head, start: &[u8], depth: u32) -> Result<Decoded> {
        let (mut base, _) = self.datatype(depth)?;
        match head.bits & 15 {
            0 => {
                // In sequences HDF5 stores references as they are in memory.
                if base.form == Form::Reference {
                    base.form = Form::MemoryReference;
                }
                let shown = Datatype::Sequence { size: HEAP_BYTES as u64, base: Box::new(base.shown) };
                Ok(Decoded { shown, form: Form::Sequence(Box::new(base.form)) })
            }
            1 => {
                let message = start.get(..start.len() - self.rest.len()).unwrap_or_default();
                let Datatype::VariableString { padding, character_set, .. } = hdf5::parse_datatype(message, self.limits)? else {
                    return Err(Error::corrupt("text of variable length of another class"));
                };
                let shown = Datatype::VariableString { size: HEAP_BYTES as u64, padding, character_set };
                Ok(Decoded { shown, form: Form::Text })
            }
            kind => Err(Error::corrupt(format!("variable-length data of type {kind}"))),
        }
    }

    fn array(&mut self, head: &Head, depth: u32) -> Result<Decoded> {
        let ndim = usize::from(self.take(1)?.first().copied().unwrap_or(0));
        if head.version < 3 {
            self.take(3)?;
        }
        let shape: Vec<u64> = self.take(4 * ndim)?.chunks_exact(4).map(number).collect();
        if head.version < 3 {
            self.take(4 * ndim)?;
        }
        let (base, base_size) = self.datatype(depth)?;
        let count = shape.iter().try_fold(1u64, |count, extent| count.checked_mul(*extent)).filter(|count| count.checked_mul(base_size) == Some(head.size));
        let count = count.ok_or_else(|| Error::corrupt(format!("an array of shape {shape:?} does not fill {} bytes", head.size)))?;
        let form = Form::Array { count: count as usize, element: Box::new(base.form) };
        Ok(Decoded { shown: Datatype::Array { base: Box::new(base.shown), shape }, form })
    }

    fn compound(&mut self, head: &Head, depth: u32) -> Result<Decoded> {
        let count = head.bits & 0xffff;
        let offset_bytes = if head.version < 3 { 4 } else { (64 - head.size.leading_zeros() as usize).div_ceil(8) };
        let mut given = Vec::new();
        for _ in 0..count {
            let name = self.name(head.version)?;
            let offset = number(self.take(offset_bytes)?);
            if head.version == 1 && self.take(28)?.iter().any(|byte| *byte != 0) {
                return Err(Error::unsupported("a member with dimensions of its own in an encoded datatype"));
            }
            let (datatype, size) = self.datatype(depth)?;
            if offset.checked_add(size).is_none_or(|end| end > head.size) {
                return Err(Error::corrupt(format!("member {name} lies outside of its compound")));
            }
            given.push(Given { name, offset: offset as usize, size: size as usize, datatype });
        }
        compound_of(head.size as usize, given)
    }
}

/// A member of a compound as it is in memory.
struct Given {
    name: String,
    offset: usize,
    size: usize,
    datatype: Decoded,
}

/// The compound as it is shown and stored. If members have another size than in memory, all move by the growth of those before
/// them, as in HDF5.
fn compound_of(size: usize, mut given: Vec<Given>) -> Result<Decoded> {
    if given.is_empty() {
        return Err(Error::corrupt("a compound without members"));
    }
    let moves = given.iter().any(|member| member.datatype.form.has_heap());
    if moves {
        given.sort_by_key(|member| member.offset);
    }
    let overlapping = || Error::corrupt("a compound whose members overlap");
    let moved = |at: usize, grown: usize, shrunk: usize| at.checked_add(grown).and_then(|at| at.checked_sub(shrunk)).ok_or_else(overlapping);
    let (mut grown, mut stored_grown, mut shrunk) = (0usize, 0usize, 0usize);
    let (mut shown, mut members) = (Vec::with_capacity(given.len()), Vec::with_capacity(given.len()));
    let mut spans = Vec::with_capacity(given.len());
    for Given { name, offset, size, datatype: Decoded { shown: datatype, form } } in given {
        let place = if moves { (moved(offset, grown, shrunk)?, moved(offset, stored_grown, shrunk)?) } else { (offset, offset) };
        grown = grown.saturating_add(form.bytes());
        stored_grown = stored_grown.saturating_add(form.stored().bytes());
        shrunk = shrunk.saturating_add(size);
        spans.push((place.0, place.0.saturating_add(form.bytes())));
        shown.push(Member { name: name.clone(), offset: place.0 as u64, datatype });
        members.push(FormMember { name, offset: place.0, stored_offset: place.1, form });
    }
    spans.sort_unstable();
    if spans.windows(2).any(|pair| matches!(pair, [(_, end), (next, _)] if next < end)) {
        return Err(overlapping());
    }
    let (bytes, stored_bytes) = if moves { (moved(size, grown, shrunk)?, moved(size, stored_grown, shrunk)?) } else { (size, size) };
    Ok(Decoded { shown: Datatype::Compound { size: bytes as u64, members: shown.into() }, form: Form::Compound { bytes, stored_bytes, members } })
}
