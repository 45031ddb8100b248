//! Scale-offset (6): numbers as their distance from the smallest, in as few bits as that needs.
//!
//! A chunk begins with the number of bits, the size of the minimum and the minimum (padded to 16
//! bytes). The highest distance stands for the fill value if there is one. Floating-point numbers
//! were multiplied by a power of ten before (D-scaling), and lost what followed the point.

use hyperslab_array::{Error, Result};

use super::bits::unpack;

/// Bits, size of the minimum, minimum.
const HEADER_BYTES: usize = 4 + 1 + 16;

/// What the parameters say.
struct Numbers {
    count: usize,
    size: usize,
    big_endian: bool,
    kind: Kind,
    /// The fill value's bits, if one is defined.
    fill: Option<u64>,
}

/// What a distance means.
enum Kind {
    Integer,
    /// Decimal digits after the point.
    Float {
        digits: i32,
    },
}

pub(super) fn decode(input: &[u8], parameters: &[u32], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
    let word = |place: usize| parameters.get(place).copied().ok_or_else(|| Error::corrupt("too few parameters"));
    let (scale_type, scale_factor) = (word(0)?, word(1)?.cast_signed());
    let size_bytes = word(4)?;
    let kind = match (word(3)?, scale_type) {
        (0, 2) => Kind::Integer,
        (1, 0) => Kind::Float { digits: scale_factor },
        (1, 1) => return Err(Error::unsupported("scaleoffset filter (number 6) with E-scaling")),
        (class, _) => return Err(Error::corrupt(format!("scale type {scale_type} for datatype class {class}"))),
    };
    let fits = match kind {
        Kind::Integer => matches!(size_bytes, 1 | 2 | 4 | 8),
        Kind::Float { .. } => matches!(size_bytes, 4 | 8),
    };
    if matches!(kind, Kind::Integer) && i64::from(scale_factor) == i64::from(size_bytes) * 8 {
        // All bits were asked for: the filter did nothing.
        if input.len() > max_bytes {
            return Err(Error::corrupt("more bytes than the chunk holds"));
        }
        out.clear();
        out.extend_from_slice(input);
        return Ok(());
    }
    if !fits {
        return Err(Error::unsupported(format!("scaleoffset filter (number 6) of numbers of {size_bytes} bytes")));
    }
    let fill = match word(7)? {
        0 => None,
        _ if size_bytes == 8 => Some(u64::from(word(8)?) | u64::from(word(9)?) << 32),
        _ => Some(u64::from(word(8)?) & mask(size_bytes * 8)),
    };
    let numbers = Numbers {
        count: usize::try_from(word(2)?).unwrap_or(usize::MAX),
        size: usize::try_from(size_bytes).unwrap_or(usize::MAX),
        big_endian: word(6)? == 1,
        kind,
        fill,
    };
    numbers.decode(input, max_bytes, out)
}

/// The lowest `bits` bits.
fn mask(bits: u32) -> u64 {
    u64::MAX.checked_shr(64 - bits.min(64)).unwrap_or(0)
}

impl Numbers {
    fn decode(&self, input: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
        let Self { count, size, .. } = *self;
        let total = count.checked_mul(size).filter(|total| *total <= max_bytes);
        let total = total.ok_or_else(|| Error::corrupt(format!("{count} numbers of {size} bytes where {max_bytes} belong")))?;
        let short = || Error::corrupt("an incomplete stream");
        let (bits, rest) = input.split_first_chunk::<4>().ok_or_else(short)?;
        let bits = u32::from_le_bytes(*bits);
        let (minimum_size, rest) = rest.split_first().ok_or_else(short)?;
        let minimum = rest.iter().take(usize::from(*minimum_size).min(8)).rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let full = u32::try_from(size * 8).unwrap_or(u32::MAX);
        if bits > full {
            return Err(Error::corrupt(format!("{bits} bits for a number of {size} bytes")));
        }
        // A header may be the whole chunk: without distances, each number is the minimum.
        let packed = input.get(HEADER_BYTES..).unwrap_or_default();
        let needed = u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(bits.into()).div_ceil(8);
        if u64::try_from(packed.len()).unwrap_or(u64::MAX) < needed {
            return Err(short());
        }
        out.resize(total, 0);
        if bits == full {
            // The range has no room for distances, so the numbers were stored, little endian.
            for (number, stored) in out.chunks_exact_mut(size).zip(packed.chunks_exact(size)) {
                number.copy_from_slice(stored);
                if self.big_endian {
                    number.reverse();
                }
            }
            return Ok(());
        }
        match self.kind {
            Kind::Integer => self.restore(packed, bits, out, |distance| distance.wrapping_add(minimum)),
            Kind::Float { digits } if size == 4 => {
                let [a, b, c, d, ..] = minimum.to_le_bytes();
                let minimum = f32::from_le_bytes([a, b, c, d]);
                let scale = 10f32.powf(digits as f32);
                self.restore(packed, bits, out, |distance| {
                    // The library computes in the dataset's own precision; to be equal, so do we.
                    (distance.cast_signed() as f32 / scale + minimum).to_bits().into()
                })
            }
            Kind::Float { digits } => {
                let minimum = f64::from_bits(minimum);
                let scale = 10f64.powf(f64::from(digits));
                self.restore(packed, bits, out, |distance| (distance.cast_signed() as f64 / scale + minimum).to_bits())
            }
        }
        .ok_or_else(short)
    }

    /// Fills `out` with what `number` makes of distances.
    fn restore(&self, packed: &[u8], bits: u32, out: &mut [u8], number: impl Fn(u64) -> u64) -> Option<()> {
        let highest = mask(bits);
        let with_fill = |distance| match self.fill {
            Some(fill) if distance == highest => fill,
            _ => number(distance),
        };
        match self.size {
            1 => unpack::<1>(packed, bits, self.big_endian, out, with_fill),
            2 => unpack::<2>(packed, bits, self.big_endian, out, with_fill),
            4 => unpack::<4>(packed, bits, self.big_endian, out, with_fill),
            _ => unpack::<8>(packed, bits, self.big_endian, out, with_fill),
        }
    }
}
