//! Restart points of deflated chunks: finds the places where inflating can begin, and inflates from them.
//!
//! A place is the beginning of a deflate block, with the output before it (the window) to which the blocks refer. That idea is zran's, of zlib's
//! examples, and indexed_gzip's; that a window needs only the bytes to which the output refers is rapidgzip's.

use std::cell::RefCell;

use flate2::{Compress, Compression, FlushCompress, Status as CompressStatus};
use hyperslab_array::{Error, Result};
use hyperslab_storage::MadePoint;
use zlib_rs::{Inflate, InflateFlush, Status};

use super::deflate::MAX_EXPANSION;

/// Maximum distance in bytes that deflate refers back.
const WINDOW_BYTES: usize = 32 << 10;
/// Bits of the header of a zlib stream.
const HEADER_BITS: u64 = 16;
/// Bits that an inflater may hold of a byte that it has taken, and of those before.
const MAX_HELD_BITS: u64 = 63;
/// Bytes inflated as a quick check of a place before the full check.
const TRIED_BYTES: usize = 1 << 10;
/// Longest prefix of empty blocks: a dynamic one and three fixed ones, 121 bits, and the byte that they share with the first block.
const MAX_PREFIX_BYTES: usize = 17;

thread_local! {
    // Its memory is more than a small chunk's, so each thread keeps one.
    static INFLATE: RefCell<Option<Inflate>> = const { RefCell::new(None) };
}

/// Bits, the lowest of each byte first, as deflate counts them.
#[derive(Default)]
struct Bits {
    bytes: [u8; MAX_PREFIX_BYTES],
    count: usize,
}

impl Bits {
    fn push(&mut self, value: u32, bits: usize) {
        for bit in 0..bits {
            if let Some(byte) = self.bytes.get_mut(self.count / 8)
                && value >> bit & 1 == 1
            {
                *byte |= 1 << (self.count % 8);
            }
            self.count += 1;
        }
    }

    /// A block with the fixed codes that holds nothing: 10 bits.
    fn push_fixed(&mut self) {
        self.push(0b010, 3);
        self.push(0, 7);
    }

    /// A block with codes of its own that holds nothing: 91 bits, an odd number.
    fn push_dynamic(&mut self) {
        self.push(0b100, 3);
        // 257 codes of literals and lengths, one of distances, 18 of lengths of codes.
        self.push(0, 5);
        self.push(0, 5);
        self.push(14, 4);
        // In deflate's order, the third is of 18 (many zeros), and the last of these is of 1. Each gets one bit: 0 is 1, and 1 is 18.
        for index in 0..18 {
            self.push(u32::from(index == 2 || index == 17), 3);
        }
        // The literal 0 and the end of the block have codes of one bit, and so has the one distance.
        self.push(0, 1);
        self.push(1, 1);
        self.push(138 - 11, 7);
        self.push(1, 1);
        self.push(117 - 11, 7);
        self.push(0, 1);
        self.push(0, 1);
        // The end.
        self.push(1, 1);
    }
}

/// Empty blocks after which the next one begins `bit` bits within the byte `first`, whose higher bits are its. An inflater that can only begin at a
/// byte begins with them: they keep the bytes of the stream where they are, as stored blocks need it.
fn prefix(bit: usize, first: u8) -> Bits {
    let mut bits = Bits::default();
    if bit % 2 == 1 {
        bits.push_dynamic();
    }
    while bits.count % 8 != bit % 8 {
        bits.push_fixed();
    }
    let (whole, shared) = (bits.count / 8, bits.count % 8);
    if let Some(byte) = bits.bytes.get_mut(whole).filter(|_| shared > 0) {
        *byte |= first & (0xff << shared);
        bits.count += 8 - shared;
    }
    bits
}

/// Inflates deflate blocks that begin `bit` bits after the first one of `raw`, into all of `out`. `window` is the output before them, or empty if they do
/// not refer to it.
fn inflate_at(raw: &[u8], bit: u64, window: &[u8], out: &mut [u8]) -> Result<()> {
    let damaged = || Error::corrupt("the compressed bytes do not go on at a restart point");
    let start = usize::try_from(bit / 8).map_err(|_| damaged())?;
    let raw = raw.get(start..).unwrap_or_default();
    let (first, after) = raw.split_first().ok_or_else(damaged)?;
    let shared = usize::try_from(bit % 8).unwrap_or(0);
    let prefix = prefix(shared, *first);
    let rest = if shared == 0 { raw } else { after };
    INFLATE.with_borrow_mut(|inflate| {
        let inflate = inflate.get_or_insert_with(|| Inflate::new(false, 15));
        inflate.reset(false);
        if !window.is_empty() {
            inflate.set_dictionary(window).map_err(|_| damaged())?;
        }
        let mut written = 0;
        for mut input in [prefix.bytes.get(..prefix.count / 8).unwrap_or_default(), rest] {
            while !input.is_empty() && written < out.len() {
                let (before_in, before_out) = (inflate.total_in(), inflate.total_out());
                let status = inflate.decompress(input, out.get_mut(written..).unwrap_or_default(), InflateFlush::NoFlush).map_err(|_| damaged())?;
                let taken = usize::try_from(inflate.total_in() - before_in).unwrap_or(usize::MAX);
                let more = usize::try_from(inflate.total_out() - before_out).unwrap_or(usize::MAX);
                input = input.get(taken..).unwrap_or_default();
                written += more;
                if status == Status::StreamEnd || taken == 0 && more == 0 {
                    return if written == out.len() { Ok(()) } else { Err(damaged()) };
                }
            }
        }
        if written == out.len() { Ok(()) } else { Err(damaged()) }
    })
}

/// Inflates the part of a stream that follows a restart point, into all of `out`, which must not be longer than what the part holds. `raw` are the
/// stream's bytes from the one on that holds the point's first bit, which is bit `bit` of that byte; `window` and `window_bytes` belong to the point.
///
/// # Errors
/// `Corrupt` if these bytes cannot be inflated so.
pub fn inflate_part(raw: &[u8], bit: u8, window: &[u8], window_bytes: u32, out: &mut [u8]) -> Result<()> {
    if out.len() > raw.len().saturating_mul(MAX_EXPANSION) {
        return Err(Error::corrupt("the compressed bytes after a restart point are too few"));
    }
    let window = match usize::try_from(window_bytes) {
        Ok(0) => Vec::new(),
        Ok(length) if length <= WINDOW_BYTES => {
            let mut inflated = vec![0; length];
            inflate_at(window, 0, &[], &mut inflated)?;
            inflated
        }
        _ => return Err(Error::corrupt("a window of a restart point is too long")),
    };
    inflate_at(raw, u64::from(bit), &window, out)
}

/// Finds restart points in the zlib stream `raw` of a chunk, `interval` bytes of output from each other or more. `output` is a buffer for all of its
/// output, which must be as long as this is. Each point is tried: what is inflated from it is the same as when all of the stream is inflated. `None` if the
/// stream is damaged or has another length, and if it has no points but its beginning.
pub fn restart_points(raw: &[u8], interval: u64, output: &mut [u8]) -> Option<Vec<MadePoint>> {
    let places = block_starts(raw, interval.max(1), output)?;
    let mut points = vec![(0, HEADER_BITS, Vec::new())];
    let mut places = places.into_iter().peekable();
    while let Some((start, taken)) = places.next() {
        let end = places.peek().map_or(output.len(), |(next, _)| *next);
        let (before, after) = output.split_at_checked(start)?;
        let window = before.get(before.len().saturating_sub(WINDOW_BYTES)..)?;
        let here = after.get(..end - start)?;
        if let Some((bit, window)) = restart(raw, taken, window, here)
            && points.last().is_some_and(|(_, last, _)| *last < bit)
        {
            points.push((start, bit, window));
        }
    }
    if points.len() < 2 {
        return None;
    }
    let ends: Vec<usize> = points.iter().skip(1).map(|(_, bit, _)| usize::try_from(bit.div_ceil(8)).unwrap_or(usize::MAX)).chain([raw.len()]).collect();
    points
        .into_iter()
        .zip(ends)
        .map(|((output, bit, window), end)| {
            let bytes = raw.get(usize::try_from(bit / 8).ok()?..end)?;
            Some(MadePoint {
                output: output as u64,
                bit,
                checksum: crc32fast::hash(bytes),
                window_bytes: u32::try_from(window.len()).ok()?,
                window: if window.is_empty() { Vec::new() } else { deflated(&window)? },
            })
        })
        .collect()
}

/// Inflates all of a zlib stream. Returns the places where blocks begin, `interval` bytes of output from each other or more: the output before them, and
/// how many bytes of the stream were taken then.
fn block_starts(raw: &[u8], interval: u64, output: &mut [u8]) -> Option<Vec<(usize, u64)>> {
    let mut inflate = Inflate::new(true, 15);
    let mut places: Vec<(usize, u64)> = Vec::new();
    loop {
        let (taken, written) = (usize::try_from(inflate.total_in()).ok()?, usize::try_from(inflate.total_out()).ok()?);
        let last = places.last().map_or(0, |(start, _)| *start);
        if written > 0 && written < output.len() && (written - last) as u64 >= interval {
            places.push((written, inflate.total_in()));
        }
        let status = inflate.decompress(raw.get(taken..)?, output.get_mut(written..)?, InflateFlush::Block).ok()?;
        let is_same = (taken, written) == (usize::try_from(inflate.total_in()).ok()?, usize::try_from(inflate.total_out()).ok()?);
        match status {
            Status::StreamEnd => break,
            Status::Ok if !is_same => {}
            _ => return None,
        }
    }
    (inflate.total_out() == output.len() as u64).then_some(places)
}

/// Finds where a block begins: its first bit, and the window with the bytes that the block refers to; the other bytes are zeros. The inflater has taken
/// `taken` bytes of input, but does not say how many bits of them it still holds, so each number is tried.
fn restart(raw: &[u8], taken: u64, window: &[u8], here: &[u8]) -> Option<(u64, Vec<u8>)> {
    let mut tried = vec![0; here.len()];
    let short = here.len().min(TRIED_BYTES);
    (0..=MAX_HELD_BITS).find_map(|held| {
        let bit = taken.checked_mul(8)?.checked_sub(held).filter(|bit| *bit >= HEADER_BITS)?;
        let mut gives = |window: &[u8], length: usize| {
            let out = tried.get_mut(..length)?;
            inflate_at(raw, bit, window, out).ok()?;
            (Some(&*out) == here.get(..length)).then_some(())
        };
        gives(window, short)?;
        let window = referred(raw, bit, window, here.len());
        gives(&window, here.len())?;
        Some((bit, window))
    })
}

/// The bytes of a window to which the output after it refers, the others zeros; empty if it refers to none.
fn referred(raw: &[u8], bit: u64, window: &[u8], length: usize) -> Vec<u8> {
    // References reach this far, and what is copied from a copy is copied from the window first.
    let length = length.min(WINDOW_BYTES);
    let numbers = || 0..window.len();
    let low: Vec<u8> = numbers().map(|index| index.to_le_bytes()[0]).collect();
    let inverted: Vec<u8> = low.iter().map(|byte| !byte).collect();
    let high: Vec<u8> = numbers().map(|index| index.to_le_bytes()[1]).collect();
    // What differs between windows of numbers and of inverted numbers comes from the window, and the numbers say from where.
    let [mut from_low, mut from_inverted, mut from_high] = [vec![0; length], vec![0; length], vec![0; length]];
    let inflated = inflate_at(raw, bit, &low, &mut from_low)
        .and_then(|()| inflate_at(raw, bit, &inverted, &mut from_inverted))
        .and_then(|()| inflate_at(raw, bit, &high, &mut from_high));
    if inflated.is_err() {
        return window.to_vec();
    }
    let mut found = vec![0; window.len()];
    let mut is_needed = false;
    for ((low, inverted), high) in from_low.iter().zip(&from_inverted).zip(&from_high) {
        let index = usize::from(u16::from_le_bytes([*low, *high]));
        if low != inverted
            && let Some((to, from)) = found.get_mut(index).zip(window.get(index))
        {
            (*to, is_needed) = (*from, true);
        }
    }
    if is_needed { found } else { Vec::new() }
}

/// A window, compressed.
fn deflated(window: &[u8]) -> Option<Vec<u8>> {
    let mut compress = Compress::new(Compression::new(6), false);
    let mut out = Vec::with_capacity(window.len() + 64);
    (compress.compress_vec(window, &mut out, FlushCompress::Finish).ok()? == CompressStatus::StreamEnd).then_some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(number: u64) -> usize {
        usize::try_from(number).unwrap_or(usize::MAX)
    }

    /// Inflates each part by itself.
    fn by_parts(raw: &[u8], points: &[MadePoint], length: usize) -> Result<Vec<u8>> {
        let mut out = vec![0; length];
        let mut next = points.iter().skip(1);
        for point in points {
            let (end, last) = next.next().map_or((length, raw.len()), |next| (at(next.output), at(next.bit.div_ceil(8))));
            let bytes = raw.get(at(point.bit / 8)..last).unwrap_or_default();
            assert_eq!(crc32fast::hash(bytes), point.checksum);
            let out = out.get_mut(at(point.output)..end).unwrap_or_default();
            inflate_part(bytes, u8::try_from(point.bit % 8).unwrap_or(9), &point.window, point.window_bytes, out)?;
        }
        Ok(out)
    }

    fn compressed(bytes: &[u8], level: u32, flush_every: usize) -> Vec<u8> {
        let mut compress = Compress::new(Compression::new(level), true);
        let mut out = Vec::new();
        for part in bytes.chunks(flush_every) {
            let before = at(compress.total_in());
            loop {
                out.reserve(part.len() + 1024);
                let rest = part.get(at(compress.total_in()) - before..).unwrap_or_default();
                assert!(compress.compress_vec(rest, &mut out, FlushCompress::Partial).is_ok());
                if at(compress.total_in()) - before == part.len() && out.len() < out.capacity() {
                    break;
                }
            }
        }
        loop {
            out.reserve(1024);
            if compress.compress_vec(&[], &mut out, FlushCompress::Finish).is_ok_and(|status| status == CompressStatus::StreamEnd) {
                return out;
            }
        }
    }

    /// Bytes of some of 256 values, which compress somewhat.
    fn sample(length: usize, shift: u32) -> Vec<u8> {
        (0u32..).take(length).map(|index| (index.wrapping_mul(2_654_435_761) >> shift).to_le_bytes()[0]).collect()
    }

    #[test]
    fn empty_blocks_end_at_every_bit() {
        for bit in 0..8u8 {
            // Bits of what is before, then a stored block: three bits, up to the next byte, its length twice, and its bytes.
            let mut raw = vec![(1 << bit) - 1];
            raw.extend(vec![0; usize::from(bit > 5)]);
            raw.extend([3, 0, 252, 255, 7, 8, 9]);
            let mut out = [0; 3];
            assert!(inflate_at(&raw, u64::from(bit), &[], &mut out).is_ok(), "{bit}");
            assert_eq!(out, [7, 8, 9], "{bit}");
            assert!(prefix(usize::from(bit), 0).count <= MAX_PREFIX_BYTES * 8);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 24 }))]
        #[test]
        fn parts_are_the_whole(
            seed: u64, alphabet in 1u64..300, level in 0u32..=9, length in 1usize..400_000, interval in 1u64..100_000, flush_every in 5_000usize..200_000
        ) {
            let mut state = seed | 1;
            let bytes: Vec<u8> = (0..length).map(|index| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((state >> 40) % alphabet + (index as u64 >> 12)).to_le_bytes()[0]
            }).collect();
            let raw = compressed(&bytes, level, flush_every);
            let mut output = vec![0; length];
            if let Some(points) = restart_points(&raw, interval, &mut output) {
                prop_assert_eq!(&output, &bytes);
                prop_assert!(points.iter().zip(points.iter().skip(1)).all(|(point, next)| point.output + interval <= next.output));
                prop_assert_eq!(by_parts(&raw, &points, length)?, bytes);
            } else {
                prop_assert!(length as u64 <= interval + flush_every as u64, "no points");
            }
        }
    }

    #[test]
    fn a_damaged_stream_has_no_points() {
        let bytes = sample(200_000, 27);
        let raw = compressed(&bytes, 4, 20_000);
        let mut output = vec![0; bytes.len()];
        assert!(restart_points(&raw, 30_000, &mut output).is_some_and(|points| points.len() > 3));
        let mut wrong = raw.clone();
        wrong.last_mut().into_iter().for_each(|last| *last ^= 1);
        assert!(restart_points(&wrong, 30_000, &mut output).is_none(), "its checksum");
        assert!(restart_points(raw.get(..raw.len() / 2).unwrap_or_default(), 30_000, &mut output).is_none());
        assert!(restart_points(&raw, 30_000, &mut vec![0; bytes.len() - 1]).is_none());
        assert!(restart_points(&raw, 30_000, &mut vec![0; bytes.len() + 1]).is_none());
    }

    #[test]
    fn wrong_windows_and_places_are_errors_or_other_bytes_and_no_panic() {
        let raw = compressed(&sample(100_000, 29), 6, 20_000);
        let mut out = vec![0; 5_000];
        for bit in 0..8 {
            for start in (0..raw.len()).step_by(977) {
                let rest = raw.get(start..).unwrap_or_default();
                let _ = inflate_part(rest, bit, &[], 0, &mut out);
                let _ = inflate_part(rest, bit, &raw, 32 << 10, &mut out);
            }
        }
        assert!(inflate_part(&raw, 0, &raw, (32 << 10) + 1, &mut out).is_err());
        assert!(inflate_part(&[], 0, &[], 0, &mut out).is_err());
        assert!(inflate_part(&[1, 0], 0, &[], 0, &mut out).is_err());
    }
}
