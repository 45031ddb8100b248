//! Scale-offset (6), applied: numbers become their distance from the smallest, in as few bits as that needs.
//!
//! As the HDF5 library does it, with the same rounding, so that both give the same values: the highest distance stands for
//! the fill value; floats are multiplied by a power of ten and rounded. Chunks whose distances would need all bits, or with
//! floats that are not finite, are stored unchanged after the header.

use hyperslab_array::{ByteOrder, Datatype, Error, Result};

use super::bits::BitWriter;

/// Number of parameters that the library stores.
const PARAMETERS: usize = 20;
/// How the parameters count.
const FLOAT_DIGITS: u32 = 0;
const INTEGER: u32 = 2;

/// The parameters for chunks of `elements` elements: `factor` is the number of bits of integers, at least (0 is as many as it takes),
/// or of decimal digits after the point of floats.
pub(super) fn parameters(datatype: &Datatype, factor: u32, elements: u64, fill: Option<&[u8]>) -> Result<Vec<u32>> {
    let (class, signed, order, scale) = match datatype {
        Datatype::Integer { signed, order, size: 1 | 2 | 4 | 8, .. } => (0, u32::from(*signed), *order, INTEGER),
        Datatype::Float { order, size: 4 | 8, .. } => (1, 0, *order, FLOAT_DIGITS),
        _ => return Err(Error::unsupported("scaleoffset of values that are not integers and no floats of 4 or 8 bytes")),
    };
    let size = datatype.size();
    let beyond = |_| Error::internal(format!("numbers of {size} bytes"));
    if class == 0 && u64::from(factor) > size * 8 {
        return Err(Error::invalid_input(format!("scaleoffset={factor}: integers of {size} bytes have at most {} bits", size * 8)));
    }
    let elements = u32::try_from(elements).map_err(|_| Error::unsupported("scaleoffset in chunks of 4 Gi elements"))?;
    let mut parameters = vec![scale, factor, elements, class, u32::try_from(size).map_err(beyond)?, signed, u32::from(order == ByteOrder::Big), 1];
    let mut bytes = match fill {
        Some(fill) => fill.to_vec(),
        None => vec![0; usize::try_from(size).map_err(beyond)?],
    };
    if order == ByteOrder::Big {
        bytes.reverse();
    }
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    parameters.extend(bytes.chunks(4).map(|word| word.iter().rev().fold(0u32, |n, byte| n << 8 | u32::from(*byte))));
    parameters.resize(PARAMETERS, 0);
    Ok(parameters)
}

/// What the parameters say of the numbers.
struct Numbers {
    size: usize,
    signed: bool,
    big_endian: bool,
    /// The fill value's bits.
    fill: u64,
}

pub(super) fn encode(input: &[u8], parameters: &[u32]) -> Result<Vec<u8>> {
    let word = |place: usize| parameters.get(place).copied().ok_or_else(|| Error::internal("too few parameters of scaleoffset"));
    let (factor, class, size) = (word(1)?, word(3)?, usize::try_from(word(4)?).unwrap_or(usize::MAX));
    if !matches!(size, 1 | 2 | 4 | 8) || !input.len().is_multiple_of(size) {
        return Err(Error::internal(format!("{} bytes in numbers of {size}", input.len())));
    }
    if class == 0 && u64::from(factor) == 8 * size as u64 {
        return Ok(input.to_vec());
    }
    let fill = u64::from(word(8)?) | if size == 8 { u64::from(word(9)?) << 32 } else { 0 };
    let numbers = Numbers { size, signed: word(5)? == 1, big_endian: word(6)? == 1, fill };
    let bits: Vec<u64> = input.chunks_exact(size).map(|number| numbers.bits(number)).collect();
    match class {
        0 => Ok(numbers.integers(&bits, factor)),
        _ if size == 4 => Ok(numbers.singles(&bits, factor)),
        _ => Ok(numbers.doubles(&bits, factor)),
    }
}

/// A whole number that is not negative, as a float has it; the callers have checked that it is below 2^62.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a distance from the smallest, in range")]
fn whole(number: f64) -> u64 {
    number as u64
}

/// Bits that `count` different distances need.
fn width_of(count: u128) -> u32 {
    u128::BITS - count.saturating_sub(1).leading_zeros()
}

impl Numbers {
    fn bits(&self, number: &[u8]) -> u64 {
        let add = |n: u64, byte: &u8| n << 8 | u64::from(*byte);
        if self.big_endian { number.iter().fold(0, add) } else { number.iter().rev().fold(0, add) }
    }

    fn full(&self) -> u32 {
        u32::try_from(8 * self.size).unwrap_or(64)
    }

    /// The number that bits stand for.
    fn integer(&self, bits: u64) -> i128 {
        let unused = 64 - self.full();
        if self.signed { i128::from((bits << unused).cast_signed() >> unused) } else { i128::from(bits) }
    }

    fn integers(&self, bits: &[u64], factor: u32) -> Vec<u8> {
        let known = || bits.iter().filter(|bits| **bits != self.fill).map(|bits| self.integer(*bits));
        let (low, high) = (known().min().unwrap_or(0), known().max().unwrap_or(0));
        // One distance more is for the fill value.
        let needed = width_of((high - low).unsigned_abs() + 2);
        // The library would cut off what does not fit; readers take the number of bits from the chunk.
        let width = needed.max(factor);
        let minimum = u64::try_from(low & i128::from(u64::MAX)).unwrap_or(0);
        if width >= self.full() {
            return self.stored(bits, minimum);
        }
        let distance = |bits: &u64| if *bits == self.fill { u64::MAX } else { u64::try_from(self.integer(*bits) - low).unwrap_or(u64::MAX) };
        packed(width, minimum, bits.iter().map(distance))
    }

    fn singles(&self, bits: &[u64], digits: u32) -> Vec<u8> {
        let single = |bits: u64| f32::from_bits(u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0));
        let (scale, near, fill) = (10f32.powf(digits as f32), 10f32.powf(-(digits as f32)), single(self.fill));
        let values: Vec<f32> = bits.iter().map(|bits| single(*bits)).collect();
        let is_fill = |value: f32| (value - fill).abs() < near;
        let known = || values.iter().copied().filter(|value| !is_fill(*value));
        let (low, high) = known()
            .fold(None, |found: Option<(f32, f32)>, value| Some(found.map_or((value, value), |(low, high)| (low.min(value), high.max(value)))))
            .unwrap_or((0.0, 0.0));
        let span = (high * scale - low * scale).round();
        let minimum = u64::from(low.to_bits());
        if !values.iter().all(|value| value.is_finite()) || !span.is_finite() || span >= 2f32.powi(30) {
            return self.stored(bits, minimum);
        }
        let width = width_of(u128::from(whole(f64::from(span))) + 2);
        packed(width, minimum, values.iter().map(|value| if is_fill(*value) { u64::MAX } else { whole(f64::from((value * scale - low * scale).round())) }))
    }

    fn doubles(&self, bits: &[u64], digits: u32) -> Vec<u8> {
        let (scale, near, fill) = (10f64.powf(f64::from(digits)), 10f64.powf(-f64::from(digits)), f64::from_bits(self.fill));
        let values: Vec<f64> = bits.iter().map(|bits| f64::from_bits(*bits)).collect();
        let is_fill = |value: f64| (value - fill).abs() < near;
        let known = || values.iter().copied().filter(|value| !is_fill(*value));
        let (low, high) = known()
            .fold(None, |found: Option<(f64, f64)>, value| Some(found.map_or((value, value), |(low, high)| (low.min(value), high.max(value)))))
            .unwrap_or((0.0, 0.0));
        let span = (high * scale - low * scale).round();
        let minimum = low.to_bits();
        if !values.iter().all(|value| value.is_finite()) || !span.is_finite() || span >= 2f64.powi(62) {
            return self.stored(bits, minimum);
        }
        let width = width_of(u128::from(whole(span)) + 2);
        packed(width, minimum, values.iter().map(|value| if is_fill(*value) { u64::MAX } else { whole((value * scale - low * scale).round()) }))
    }

    /// The numbers as they are, little endian.
    fn stored(&self, bits: &[u64], minimum: u64) -> Vec<u8> {
        let mut out = header(self.full(), minimum);
        bits.iter().for_each(|bits| out.extend(bits.to_le_bytes().iter().take(self.size)));
        out
    }
}

/// Number of bits, and the minimum in 8 of 16 bytes.
fn header(width: u32, minimum: u64) -> Vec<u8> {
    let mut out = width.to_le_bytes().to_vec();
    out.push(8);
    out.extend(minimum.to_le_bytes());
    out.extend([0; 8]);
    out
}

/// Distances in `width` bits each; one that is too high is the highest.
fn packed(width: u32, minimum: u64, distances: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut bits = BitWriter::default();
    let highest = u64::MAX.checked_shr(64 - width.min(64)).unwrap_or(0);
    distances.for_each(|distance| bits.put(distance.min(highest), width));
    let mut out = header(width, minimum);
    let (bits, is_full) = bits.finish();
    out.extend(bits);
    // The library stores one byte more than the bits fill, even if they fill the last one.
    out.extend(is_full.then_some(0));
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::filter::scaleoffset::decode;

    fn round_trip(datatype: &Datatype, factor: u32, bytes: &[u8], fill: Option<&[u8]>) -> Result<Vec<u8>> {
        let elements = bytes.len() as u64 / datatype.size();
        let parameters = parameters(datatype, factor, elements, fill)?;
        let mut out = Vec::new();
        decode(&encode(bytes, &parameters)?, &parameters, bytes.len(), &mut out)?;
        Ok(out)
    }

    proptest! {
        #[test]
        fn integers_come_back(numbers in proptest::collection::vec(any::<i64>(), 1..50), shift in 0u32..64, signed: bool, big: bool, width in 0usize..4, fill in proptest::option::of(0usize..50)) {
            let size = 1usize << width;
            let order = if big { ByteOrder::Big } else { ByteOrder::Little };
            let cut = |number: i64| {
                let mut bytes = (number >> shift).to_le_bytes().get(..size).map(<[u8]>::to_vec).unwrap_or_default();
                if big { bytes.reverse(); }
                bytes
            };
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| cut(*number)).collect();
            let fill = fill.and_then(|at| numbers.get(at)).map(|number| cut(*number));
            let datatype = Datatype::integer(size as u64, signed, order);
            let back = round_trip(&datatype, 0, &bytes, fill.as_deref());
            prop_assert_eq!(back.ok(), Some(bytes));
        }

        #[test]
        fn floats_come_back_to_so_many_digits(numbers in proptest::collection::vec(-1e6f64..1e6, 1..50), digits in 0u32..6) {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            let datatype = Datatype::Float { size: 8, order: ByteOrder::Little, format: hyperslab_array::FloatFormat::Ieee };
            let back = round_trip(&datatype, digits, &bytes, None).unwrap_or_default();
            for (number, back) in numbers.iter().zip(back.chunks_exact(8)) {
                let back = f64::from_le_bytes(back.try_into().unwrap_or_default());
                prop_assert!((number - back).abs() <= 1.01 * 10f64.powi(-digits.cast_signed()), "{} became {}", number, back);
            }
        }
    }

    #[test]
    fn chunks_whose_integers_need_more_bits_than_asked_for_take_them() {
        let datatype = Datatype::integer(4, false, ByteOrder::Little);
        let bytes: Vec<u8> = [1u32, 2, 300].iter().flat_map(|number| number.to_le_bytes()).collect();
        for factor in [2, 8, 9, 31, 32] {
            assert!(round_trip(&datatype, factor, &bytes, None).is_ok_and(|back| back == bytes), "{factor} bits");
        }
        assert!(parameters(&datatype, 33, 3, None).is_err());
    }
}
