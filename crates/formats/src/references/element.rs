//! Elements: the datatypes of numpy's array protocol, and values of JSON as their bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyperslab_array::{ByteOrder, CharacterSet, Datatype, EnumMember, Error, Member, Result, StringPadding};
use serde_json::Value;

/// Members of a compound are at most nested so deep.
const MAX_DEPTH: u32 = 16;

/// The datatype of a `dtype` in Zarr's metadata. One that is not read is `Unsupported`, with its size if it has one.
///
/// # Errors
/// `Corrupt` for what is not a datatype.
pub(super) fn datatype(said: &Value) -> Result<Datatype> {
    nested(said, 0)
}

fn nested(said: &Value, depth: u32) -> Result<Datatype> {
    if let Some(text) = said.as_str() {
        return simple(text);
    }
    let members = said.as_array().filter(|members| !members.is_empty() && depth < MAX_DEPTH).ok_or_else(|| Error::corrupt(format!("the dtype {said}")))?;
    let mut size = 0u64;
    let mut known = Vec::with_capacity(members.len());
    for member in members {
        let (name, inner) = match member.as_array().map(Vec::as_slice) {
            Some([Value::String(name), inner]) => (name, inner),
            Some([Value::String(_), _, _]) => return Ok(Datatype::Unsupported { size: 1, class: "a compound with arrays in a reference".to_owned() }),
            _ => return Err(Error::corrupt(format!("the member {member} of a dtype"))),
        };
        let datatype = nested(inner, depth + 1)?;
        let bytes = datatype.size();
        known.push(Member { name: name.clone(), offset: size, datatype });
        size = size.checked_add(bytes).ok_or_else(|| Error::corrupt("a dtype beyond 64 bits"))?;
    }
    Ok(Datatype::Compound { size, members: known.into() })
}

fn simple(text: &str) -> Result<Datatype> {
    let no = || Error::corrupt(format!("the dtype {text:?}"));
    let mut letters = text.chars();
    let order = match letters.next() {
        Some('<' | '|') => ByteOrder::Little,
        Some('>') => ByteOrder::Big,
        _ => return Err(no()),
    };
    let kind = letters.next().ok_or_else(no)?;
    let digits: String = letters.by_ref().take_while(char::is_ascii_digit).collect();
    let size: u64 = if kind == 'O' && digits.is_empty() { 8 } else { digits.parse().map_err(|_| no())? };
    let number = |size| Datatype::float(size, order);
    Ok(match (kind, size) {
        ('i', 1 | 2 | 4 | 8) => Datatype::integer(size, true, order),
        ('u', 1 | 2 | 4 | 8) => Datatype::integer(size, false, order),
        ('f', 2 | 4 | 8) => number(size),
        ('c', 8 | 16) => {
            let member = |name: &str, offset| Member { name: name.to_owned(), offset, datatype: number(size / 2) };
            Datatype::Compound { size, members: [member("r", 0), member("i", size / 2)].into() }
        }
        ('b', 1) => {
            let member = |name: &str, value| EnumMember { name: name.to_owned(), value };
            Datatype::Enum { base: Box::new(Datatype::integer(1, true, order)), members: [member("FALSE", 0), member("TRUE", 1)].into() }
        }
        ('S', 1..) => Datatype::FixedString { size, padding: StringPadding::NullPadded, character_set: CharacterSet::Utf8 },
        ('V', 1..) => Datatype::Opaque { size, tag: String::new() },
        ('U', 1..) => Datatype::Unsupported { size: size.checked_mul(4).ok_or_else(no)?, class: "text in UTF-32".to_owned() },
        ('M' | 'm', 8) => Datatype::Unsupported { size, class: format!("the numpy type {text}") },
        ('O', _) => Datatype::Unsupported { size: 8, class: "Python objects".to_owned() },
        _ => return Err(no()),
    })
}

/// The bytes of a value of JSON as one element; `None` if it has no such value. Numbers that are not finite are texts.
pub(super) fn element(value: &Value, datatype: &Datatype) -> Option<Vec<u8>> {
    let size = usize::try_from(datatype.size()).ok()?;
    match datatype {
        Datatype::Integer { signed, order, .. } => {
            let whole = value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9e15);
            let number = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from)).or_else(|| {
                // Some writers give whole numbers as floats.
                whole.and_then(|number| format!("{number:.0}").parse().ok())
            })?;
            let bits = u32::try_from(size.checked_mul(8)?).ok()?;
            let (least, most) = if *signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
            (least..=most).contains(&number).then_some(())?;
            ordered(number.to_le_bytes().get(..size)?.to_vec(), *order)
        }
        Datatype::Float { order, .. } => {
            let number = match value.as_str() {
                None => value.as_f64()?,
                Some("NaN") => f64::NAN,
                Some("Infinity") => f64::INFINITY,
                Some("-Infinity") => f64::NEG_INFINITY,
                // As xarray writes the fill value of an array of Zarr, version 3: the bytes of a double.
                Some(coded) => f64::from_le_bytes(STANDARD.decode(coded).ok()?.try_into().ok()?),
            };
            let bytes = match size {
                // A half has no type here; writers mostly mean zero or NaN by one.
                2 => half_bits(number)?.to_le_bytes().to_vec(),
                #[expect(clippy::cast_possible_truncation, reason = "the nearest single is what is meant")]
                4 => (number as f32).to_le_bytes().to_vec(),
                8 => number.to_le_bytes().to_vec(),
                _ => return None,
            };
            ordered(bytes, *order)
        }
        Datatype::Enum { base, .. } => match value.as_bool() {
            Some(truth) => element(&Value::from(u8::from(truth)), base),
            None => element(value, base),
        },
        Datatype::Compound { members, .. } => match (value.as_array().map(Vec::as_slice), members.as_ref()) {
            (Some([real, imaginary]), [first, second]) if first.name == "r" && second.name == "i" => {
                Some([element(real, &first.datatype)?, element(imaginary, &second.datatype)?].concat())
            }
            _ => coded(value, size),
        },
        Datatype::FixedString { .. } | Datatype::Opaque { .. } => coded(value, size),
        _ => None,
    }
}

/// Base64 of the bytes of one element; shorter elements are padded with zeros.
fn coded(value: &Value, size: usize) -> Option<Vec<u8>> {
    let mut bytes = match value.as_str()? {
        "" => Vec::new(),
        text => STANDARD.decode(text).ok()?,
    };
    (bytes.len() <= size).then(|| bytes.resize(size, 0))?;
    Some(bytes)
}

fn ordered(mut bytes: Vec<u8>, order: ByteOrder) -> Option<Vec<u8>> {
    if order == ByteOrder::Big {
        bytes.reverse();
    }
    Some(bytes)
}

/// The bits of a half, of numbers that are one exactly and normal, zero, infinite or no number.
fn half_bits(number: f64) -> Option<u16> {
    let bits = number.to_bits();
    let sign = u16::try_from(bits >> 63).ok()? << 15;
    if number == 0.0 {
        return Some(sign);
    }
    if number.is_nan() {
        return Some(sign | 0x7e00);
    }
    if number.is_infinite() {
        return Some(sign | 0x7c00);
    }
    let exponent = i64::try_from((bits >> 52) & 0x7ff).ok()? - 1023 + 15;
    let mantissa = bits & ((1 << 52) - 1);
    let is_exact = (1..=30).contains(&exponent) && mantissa.trailing_zeros() >= 42 || mantissa == 0 && (1..=30).contains(&exponent);
    is_exact.then(|| Some(sign | u16::try_from(exponent).ok()? << 10 | u16::try_from(mantissa >> 42).ok()?))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_bytes_of_their_datatype() -> Result<()> {
        let of = |dtype: &str, value: &str| Ok::<_, Error>(element(&serde_json::from_str(value).unwrap_or_default(), &simple(dtype)?));
        assert_eq!(of("<i2", "-2")?, Some(vec![0xfe, 0xff]));
        assert_eq!(of(">u2", "65535.0")?, Some(vec![0xff, 0xff]));
        assert_eq!(of(">i2", "258")?, Some(vec![1, 2]));
        assert_eq!(of("<u8", "18446744073709551615")?, Some(vec![0xff; 8]));
        assert_eq!(of("|u1", "256")?, None);
        assert_eq!(of("|i1", "-128")?, Some(vec![0x80]));
        assert_eq!(of("<i4", "1.5")?, None);
        assert_eq!(of("<f4", "1e20")?, Some(1e20f32.to_le_bytes().to_vec()));
        assert_eq!(of(">f8", "\"NaN\"")?, Some(f64::NAN.to_be_bytes().to_vec()));
        assert_eq!(of("<f4", "\"AAAAAAAA+H8=\"")?.map(|bytes| bytes.len()), Some(4));
        assert_eq!(of("<f2", "-1.5")?, Some(vec![0x00, 0xbe]));
        assert_eq!(of("<f2", "0.1")?, None);
        assert_eq!(of("|b1", "true")?, Some(vec![1]));
        assert_eq!(of("<c8", "[1, \"NaN\"]")?.map(|bytes| bytes.len()), Some(8));
        assert_eq!(of("|S3", "\"YQ==\"")?, Some(b"a\0\0".to_vec()));
        assert!(simple("<i3").is_err() && simple("i4").is_err() && simple("<f").is_err() && simple("").is_err());
        Ok(())
    }
}
