//! Szip (4), applied: the parameters of a dataset; the decoded size, then scan lines through [`super::aec_encode`].

use hyperslab_array::{ByteOrder, Datatype, Error, Result};

use super::aec::Coding;
use super::aec_encode;
use crate::filter::bits::BitWriter;
use crate::filter::shuffle;

/// Options of the library: any split, entropy coding, byte order, distances between neighbors, no header of its own.
const ALLOW_K13: u32 = 1;
const ENTROPY_CODING: u32 = 4;
const LSB: u32 = 8;
const MSB: u32 = 16;
const NEAREST_NEIGHBOR: u32 = 32;
const RAW: u32 = 128;
const MAX_LINE: u64 = 4096;
const MAX_BLOCKS: u64 = 128;

/// The parameters for chunks of this shape: `options` says entropy coding or neighbors, `block` the pixels of a block.
pub(in crate::filter) fn parameters(datatype: &Datatype, options: u32, block: u32, chunk_shape: &[u64]) -> Result<Vec<u32>> {
    let (order, bytes) = match datatype {
        Datatype::Integer { order, size: size @ (1 | 2 | 4 | 8), .. } => (*order, *size),
        Datatype::Float { order, size: size @ (2 | 4 | 8), .. } => (*order, *size),
        _ => return Err(Error::unsupported("szip of values that are not integers and no floats of 2, 4 or 8 bytes")),
    };
    if block == 0 || block > 32 || block % 2 == 1 {
        return Err(Error::invalid_input(format!("szip with blocks of {block} pixels: give an even number from 2 to 32")));
    }
    let elements = chunk_shape.iter().fold(1u64, |n, extent| n.saturating_mul(*extent));
    let (row, block) = (chunk_shape.last().copied().unwrap_or(1), u64::from(block));
    if elements < block {
        return Err(Error::invalid_input(format!("szip with blocks of {block} pixels in chunks of {elements}: give fewer, or larger chunks")));
    }
    let line = if row < block {
        elements.min(block * MAX_BLOCKS)
    } else if row <= MAX_LINE {
        row.min(block * MAX_BLOCKS)
    } else {
        block * MAX_BLOCKS
    };
    let word = |n: u64| u32::try_from(n).map_err(|_| Error::internal(format!("{n} as a parameter of szip")));
    let kind = if options & NEAREST_NEIGHBOR != 0 { NEAREST_NEIGHBOR } else { ENTROPY_CODING };
    let options = ALLOW_K13 | kind | RAW | if order == ByteOrder::Big { MSB } else { LSB };
    Ok(vec![options, word(block)?, word(bytes * 8)?, word(line)?])
}

pub(in crate::filter) fn encode(input: &[u8], parameters: &[u32]) -> Result<Vec<u8>> {
    let &[options, block, pixel_bits, line, ..] = parameters else { return Err(Error::internal("too few parameters of szip")) };
    let total = u32::try_from(input.len()).map_err(|_| Error::unsupported("szip of chunks of 4 GiB"))?;
    let planes = match pixel_bits {
        32 => 4,
        64 => 8,
        _ => 1,
    };
    let in_planes;
    let bytes = if planes == 1 {
        input
    } else {
        in_planes = shuffle::encode(input, planes);
        &in_planes
    };
    let wide = planes == 1 && pixel_bits == 16;
    let samples: Vec<u32> = match wide {
        false => bytes.iter().map(|byte| u32::from(*byte)).collect(),
        true => bytes
            .chunks_exact(2)
            .map(|pair| {
                if options & MSB != 0 {
                    pair.iter().fold(0, |n, byte| n << 8 | u32::from(*byte))
                } else {
                    pair.iter().rev().fold(0, |n, byte| n << 8 | u32::from(*byte))
                }
            })
            .collect(),
    };
    let size = |n: u32| usize::try_from(n).unwrap_or(usize::MAX).max(1);
    let coding = Coding {
        sample_bits: if wide { 16 } else { 8 },
        block: size(block),
        blocks: size(line.div_ceil(block.max(1))),
        predicted: options & NEAREST_NEIGHBOR != 0,
    };
    let mut bits = BitWriter::default();
    samples.chunks(size(line)).for_each(|line| aec_encode::interval(&coding, line, &mut bits));
    let mut out = total.to_le_bytes().to_vec();
    out.extend(bits.finish().0);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::filter::szip::decode;

    proptest! {
        #[test]
        fn numbers_come_back(numbers in proptest::collection::vec(any::<u64>(), 64..400), shift in 0u32..64, size in 0u32..4, big: bool, neighbors: bool, block in 1u32..17, row in 1u64..70) {
            let size = 1u64 << size;
            let order = if big { ByteOrder::Big } else { ByteOrder::Little };
            let datatype = Datatype::integer(size, false, order);
            let length = usize::try_from(size).unwrap_or(1);
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| {
                let mut bytes = (number >> shift).to_le_bytes().get(..length).map(<[u8]>::to_vec).unwrap_or_default();
                if big { bytes.reverse(); }
                bytes
            }).collect();
            let rows = numbers.len() as u64 / row;
            let bytes = bytes.get(..usize::try_from(rows * row * size).unwrap_or(0)).unwrap_or_default();
            let options = if neighbors { NEAREST_NEIGHBOR } else { ENTROPY_CODING };
            match parameters(&datatype, options, 2 * block, &[rows, row]) {
                Err(_) => prop_assert!(rows * row < u64::from(2 * block)),
                Ok(parameters) => {
                    let mut out = Vec::new();
                    let encoded = encode(bytes, &parameters).unwrap_or_default();
                    prop_assert!(decode(&encoded, &parameters, bytes.len(), &mut out).is_ok());
                    prop_assert_eq!(out, bytes);
                }
            }
        }
    }
}
