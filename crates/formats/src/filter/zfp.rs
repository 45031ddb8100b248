//! zfp (32013): blocks of 4 numbers a dimension, in a stream of bits. What the filter's plug-in for HDF5 puts
//! around it: the parameters hold a word of versions and then zfp's own header (its magic, the chunk's type and
//! shape, the mode), so that a stored chunk is blocks only.
//!
//! Blocks are taken one by one, for then it is known how many bits were there and how many were read.

use hyperslab_array::{Error, Result};
use zfp_rs::codec::block::decode_block;
use zfp_rs::{ZFP_MIN_EXP, ZfpBitStreamRef, ZfpConfig, ZfpDimensionality, ZfpHeaderMask, ZfpScalar, ZfpScalarType};

/// Words of the header that the plug-in reads.
const MAX_WORDS: usize = 6;

/// What the parameters say.
struct Header {
    config: ZfpConfig,
    kind: ZfpScalarType,
    /// The fastest dimension first; 0 if there is none.
    shape: [usize; 4],
    /// The writer's numbers had their most significant byte first, and so have the dataset's.
    swapped: bool,
}

/// Decodes one chunk; at most `max_bytes` bytes take the place of what was in `out`.
pub(super) fn decode(input: &[u8], parameters: &[u32], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
    let header = header(parameters)?;
    match header.kind {
        ZfpScalarType::I32 => decode_numbers::<i32>(input, &header, max_bytes, out),
        ZfpScalarType::I64 => decode_numbers::<i64>(input, &header, max_bytes, out),
        ZfpScalarType::F32 => decode_numbers::<f32>(input, &header, max_bytes, out),
        ZfpScalarType::F64 => decode_numbers::<f64>(input, &header, max_bytes, out),
    }
}

fn header(parameters: &[u32]) -> Result<Header> {
    let words = match parameters {
        [_versions, words @ ..] if words.len() <= MAX_WORDS => words,
        _ => return Err(Error::corrupt(format!("{} parameters", parameters.len()))),
    };
    // The header is a stream of bytes, which the parameters hold as numbers of the writer's byte order.
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let swapped = !bytes.starts_with(b"zfp");
    if swapped {
        bytes = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    }
    match bytes.as_slice() {
        [b'z', b'f', b'p', 5, ..] => {}
        [b'z', b'f', b'p', version, ..] => return Err(Error::unsupported(format!("version {version} of zfp's codec"))),
        _ => return Err(Error::corrupt("the parameters hold no header of zfp's")),
    }
    let words = stream(&bytes);
    let read = ZfpBitStreamRef::from_words(&words).read_header(ZfpHeaderMask::FULL);
    let read = read.map_err(|error| Error::corrupt(error.to_string()))?;
    let (Some(metadata), Some(config)) = (read.metadata, read.config) else {
        return Err(Error::corrupt("the header lacks a part"));
    };
    // Below, the library of zfp counts bits down below zero and so ignores the budget.
    let least = match (metadata.scalar_type, config.min_exp() < ZFP_MIN_EXP) {
        (ZfpScalarType::I32 | ZfpScalarType::I64, false) => 0,
        (ZfpScalarType::I32, true) => 5,
        (ZfpScalarType::I64, true) => 6,
        (ZfpScalarType::F32, false) => 9,
        (ZfpScalarType::F64, false) => 12,
        (ZfpScalarType::F32, true) => 15,
        (ZfpScalarType::F64, true) => 19,
    };
    if config.max_bits() < least {
        return Err(Error::unsupported(format!("blocks of {} bits, less than their heads have", config.max_bits())));
    }
    Ok(Header { config, kind: metadata.scalar_type, shape: metadata.dims, swapped })
}

/// Bytes as the words that zfp reads, with zeros after the last.
fn stream(bytes: &[u8]) -> Vec<u64> {
    let (whole, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(target, byte)| *target = *byte);
    whole.iter().chain(std::iter::once(&last)).map(|word| u64::from_le_bytes(*word)).collect()
}

/// A number, as the dataset's bytes.
trait Number: ZfpScalar {
    const BYTES: usize;
    fn store(self, swapped: bool, target: &mut [u8]);
}

macro_rules! number {
    ($($kind:ty)*) => {$(
        impl Number for $kind {
            const BYTES: usize = size_of::<$kind>();
            fn store(self, swapped: bool, target: &mut [u8]) {
                target.copy_from_slice(&if swapped { self.to_be_bytes() } else { self.to_le_bytes() });
            }
        }
    )*};
}
number!(i32 i64 f32 f64);

fn decode_numbers<T: Number>(input: &[u8], header: &Header, max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
    let damaged = || Error::corrupt("the compressed bytes are damaged or end early");
    let ndim = header.shape.iter().take_while(|extent| **extent > 0).count();
    let dimensionality = match ndim {
        1 => ZfpDimensionality::D1,
        2 => ZfpDimensionality::D2,
        3 => ZfpDimensionality::D3,
        4 => ZfpDimensionality::D4,
        _ => return Err(damaged()),
    };
    let [nx, ny, nz, nw] = header.shape.map(|extent| extent.max(1));
    let elements = [ny, nz, nw].iter().try_fold(nx, |n, extent| n.checked_mul(*extent));
    let bytes = elements.and_then(|n| n.checked_mul(T::BYTES)).filter(|n| *n <= max_bytes);
    let bytes = bytes.ok_or_else(|| Error::corrupt(format!("{nx} x {ny} x {nz} x {nw} numbers are more than the chunk holds")))?;
    // No block takes less than a bit; what is there cannot be more blocks than bits.
    let bits = input.len().checked_mul(8).ok_or_else(damaged)?;
    let blocks = [ny, nz, nw].iter().fold(nx.div_ceil(4), |n, extent| n.saturating_mul(extent.div_ceil(4)));
    if blocks > bits {
        return Err(damaged());
    }
    out.resize(bytes, 0);

    let words = stream(input);
    let mut source = ZfpBitStreamRef::from_words(&words);
    let mut values = [T::default(); 256];
    let values = values.get_mut(..dimensionality.block_size()).ok_or_else(damaged)?;
    let mut read = 0usize;
    for (w, z, y, x) in origins(nx, ny, nz, nw) {
        let taken = decode_block(&mut source, &header.config, values, dimensionality).map_err(|_| damaged())?;
        read = read.saturating_add(taken);
        if read > bits {
            return Err(damaged());
        }
        for (number, row) in values.chunks(4).enumerate() {
            let (ry, rz, rw) = (y + number % 4, z + number / 4 % 4, w + number / 16);
            // A block may reach beyond the chunk.
            if ry >= ny || rz >= nz || rw >= nw {
                continue;
            }
            let start = (((rw * nz + rz) * ny + ry) * nx + x) * T::BYTES;
            let length = (nx - x).min(4) * T::BYTES;
            let target = out.get_mut(start..start + length).ok_or_else(damaged)?;
            target.chunks_exact_mut(T::BYTES).zip(row).for_each(|(target, value)| value.store(header.swapped, target));
        }
    }
    Ok(())
}

/// Where the blocks begin, in the order of the stream; as (w, z, y, x).
fn origins(nx: usize, ny: usize, nz: usize, nw: usize) -> impl Iterator<Item = (usize, usize, usize, usize)> {
    let planes = move |w| (0..nz).step_by(4).map(move |z| (w, z));
    let rows = move |(w, z)| (0..ny).step_by(4).map(move |y| (w, z, y));
    (0..nw).step_by(4).flat_map(planes).flat_map(rows).flat_map(move |(w, z, y)| (0..nx).step_by(4).map(move |x| (w, z, y, x)))
}

#[cfg(test)]
#[expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test fails by panic")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use zfp_rs::{ZfpBitStream, ZfpField, ZfpFieldMetadata};

    /// Parameters and stored bytes of a chunk, as the plug-in makes them.
    fn encode<T: ZfpScalar>(values: &[T], shape: [usize; 4], config: &ZfpConfig) -> (Vec<u32>, Vec<u8>) {
        let metadata = ZfpFieldMetadata { scalar_type: T::SCALAR_TYPE, dims: shape };
        let mut head = ZfpBitStream::new(64).expect("memory");
        head.write_header(config, &metadata, ZfpHeaderMask::FULL).expect("a header");
        head.flush();
        let mut parameters = vec![0x1011_5110];
        parameters.extend(head.as_bytes().as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)));
        let field = ZfpField::new(values, shape).expect("a field");
        let mut stream = ZfpBitStream::new(1 << 16).expect("memory");
        let size = stream.compress(config, &field).expect("compressed");
        (parameters, stream.as_bytes()[..size].to_vec())
    }

    proptest! {
        #[test]
        fn whole_numbers_come_back_in_every_shape(shape in prop::collection::vec(1usize..7, 1..=4), seed in any::<i32>()) {
            let mut extents = [0; 4];
            extents[..shape.len()].copy_from_slice(&shape);
            let count: i32 = shape.iter().map(|n| i32::try_from(*n).expect("small")).product();
            let values: Vec<i32> = (0..count).map(|n| n.wrapping_mul(seed)).collect();
            let (parameters, stored) = encode(&values, extents, &ZfpConfig::reversible());
            let expected: Vec<u8> = values.iter().flat_map(|n| n.to_le_bytes()).collect();
            let mut out = vec![7; 3];
            prop_assert!(decode(&stored, &parameters, expected.len(), &mut out).is_ok());
            prop_assert_eq!(&out, &expected);
            prop_assert!(decode(&stored, &parameters, expected.len() - 1, &mut out).is_err(), "more than the chunk");
            // A writer of the other byte order.
            let swapped: Vec<u32> = parameters.iter().map(|word| word.swap_bytes()).collect();
            prop_assert!(decode(&stored, &swapped, expected.len(), &mut out).is_ok());
            prop_assert_eq!(out, values.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<u8>>());
        }
    }

    #[test]
    fn a_stream_that_ends_early_is_corrupt() {
        let values: Vec<f64> = (0..64).map(|n| f64::from(n).sin()).collect();
        let (parameters, stored) = encode(&values, [8, 8, 0, 0], &ZfpConfig::fixed_precision(20));
        let mut out = Vec::new();
        let ends: Vec<usize> = (0..=stored.len()).filter(|end| decode(&stored[..*end], &parameters, 512, &mut out).is_ok()).collect();
        // Only what fills up the last word can be spared.
        assert!(ends.len() <= 8 && ends.last() == Some(&stored.len()), "{ends:?}");
    }

    #[test]
    fn headers_that_are_none_are_errors() {
        let (good, stored) = encode(&[1.0f32; 4], [4, 0, 0, 0], &ZfpConfig::reversible());
        let refused = |parameters: &[u32]| decode(&stored, parameters, 16, &mut Vec::new()).expect_err("refused").to_string();
        assert!(refused(&[]).contains("parameters"));
        assert!(refused(&[0; 9]).contains("parameters"));
        assert!(refused(&[0, 1, 2, 3]).contains("no header"));
        let older = [good[0], good[1] & 0x00ff_ffff | 4 << 24, good[2], good[3]];
        assert!(refused(&older).contains("version 4"));
        let config = ZfpConfig::expert(1, 8, 64, -1074).expect("parameters");
        let (tight, _) = encode(&[1.0f32; 4], [4, 0, 0, 0], &config);
        assert!(refused(&tight).contains("blocks of 8 bits"));
    }
}
