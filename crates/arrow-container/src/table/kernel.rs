//! Splits records into columns and joins them again. Adjacent members of four bytes are processed four at a time with SIMD
//! instructions, all others in a loop for each width.
#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "calls the vector kernel with bounds that it has checked"))]

use crate::elements::arrow_arrays;
use crate::error::{Result, error};

use super::lane::Lane;
#[cfg(target_arch = "x86_64")]
use super::vector;

/// Bytes of records per pass over the members: few enough to stay in the L1 cache.
const NEAR_BYTES: usize = 16 << 10;
/// Records per pass over the members.
const NEAR_RECORDS: std::ops::RangeInclusive<usize> = 64..=512;
/// Above this many bytes in total, joined records are written with streaming stores: they would evict the caches otherwise.
#[cfg(target_arch = "x86_64")]
const STREAMED_BYTES: usize = if cfg!(test) { 64 << 10 } else { 4 << 20 };

/// The number of records; an error if a column or the records are too short.
fn records_in(lanes: &[Lane], column_bytes: impl Fn(usize) -> usize, record_bytes: usize, stride: usize) -> Result<usize> {
    let Some(count) = lanes.iter().enumerate().find(|(_, lane)| lane.bytes > 0).map(|(i, lane)| column_bytes(i) / lane.bytes) else { return Ok(0) };
    for (i, lane) in lanes.iter().enumerate() {
        let needed = count.checked_sub(1).map_or(Some(0), |before| before.checked_mul(stride)?.checked_add(lane.at)?.checked_add(lane.bytes));
        if column_bytes(i) != count * lane.bytes || needed.is_none_or(|needed| needed > record_bytes) {
            return Err(error!("the memory buffer is too short"));
        }
        if lane.bytes > stride {
            return Err(error!("elements overlap in memory"));
        }
    }
    Ok(count)
}

/// Finds groups of four adjacent lanes of four bytes. Returns the first lane of each group, and all other lanes.
fn quads(lanes: &[Lane]) -> (Vec<usize>, Vec<usize>) {
    let (mut found, mut left, mut i) = (Vec::new(), Vec::new(), 0);
    while i < lanes.len() {
        let four = lanes
            .get(i..i + 4)
            .filter(|four| four.iter().enumerate().all(|(j, lane)| lane.bytes == 4 && lane.swap_bytes == 1 && lane.at == four[0].at + 4 * j));
        if four.is_some() && cfg!(target_arch = "x86_64") {
            found.push(i);
            i += 4;
        } else {
            left.push(i);
            i += 1;
        }
    }
    (found, left)
}

/// The quads in the order of their offsets; `None` if they do not cover the whole record.
#[cfg(target_arch = "x86_64")]
fn side_by_side(quads: &[usize], lanes: &[Lane], stride: usize) -> Option<Vec<usize>> {
    let mut ordered = quads.to_vec();
    ordered.sort_unstable_by_key(|first| lanes[*first].at);
    let dense = ordered.iter().enumerate().all(|(place, first)| lanes[*first].at == place * 16);
    (dense && ordered.len() * 16 == stride).then_some(ordered)
}

fn near_records(stride: usize) -> usize {
    (NEAR_BYTES / stride.max(1)).clamp(*NEAR_RECORDS.start(), *NEAR_RECORDS.end())
}

/// Splits records of `stride` bytes: `columns[i]` receives the members at `lanes[i]`.
pub(super) fn deinterleave(records: &[u8], stride: usize, lanes: &[Lane], columns: &mut [&mut [u8]]) -> Result<()> {
    let count = records_in(lanes, |i| columns.get(i).map_or(0, |column| column.len()), records.len(), stride)?;
    let (quads, left) = quads(lanes);
    let each = near_records(stride);
    for near in (0..count).step_by(each) {
        let now = near..count.min(near + each);
        #[cfg(target_arch = "x86_64")]
        for first in &quads {
            // SAFETY: `records_in` has checked that the records and the four columns hold `count`.
            unsafe { vector::deinterleave(records, stride, lanes[*first].at, &mut columns[*first..*first + 4], now.clone()) };
        }
        for i in &left {
            let lane = &lanes[*i];
            let out = &mut columns[*i][now.start * lane.bytes..now.end * lane.bytes];
            gather(&records[now.start * stride + lane.at..], stride, lane.bytes, out);
            arrow_arrays::swap(out, lane.swap_bytes);
        }
    }
    let _ = quads;
    Ok(())
}

/// Joins columns to records of `stride` bytes. Bytes between the members stay unchanged.
///
/// # Errors
/// If a column or the records are too short, or a member is longer than a record.
pub fn interleave(columns: &[&[u8]], lanes: &[Lane], records: &mut [u8], stride: usize) -> Result<()> {
    let count = records_in(lanes, |i| columns.get(i).map_or(0, |column| column.len()), records.len(), stride)?;
    let (quads, left) = quads(lanes);
    #[cfg(target_arch = "x86_64")]
    if left.is_empty()
        && count * stride >= STREAMED_BYTES
        && records.as_ptr().addr().is_multiple_of(16)
        && let Some(quads) = side_by_side(&quads, lanes, stride)
    {
        // SAFETY: `records_in` has checked that the records and the columns hold `count`; quads cover each record
        // entirely, and the first record is aligned to 16 bytes.
        unsafe {
            if !vector::interleave_cache_lines(columns, &quads, lanes, records, stride, count) {
                vector::interleave_streamed(columns, &quads, lanes, records, stride, count);
            }
        }
        return Ok(());
    }
    let each = near_records(stride);
    for near in (0..count).step_by(each) {
        let now = near..count.min(near + each);
        #[cfg(target_arch = "x86_64")]
        for first in &quads {
            // SAFETY: as above.
            unsafe { vector::interleave(&columns[*first..*first + 4], records, stride, lanes[*first].at, now.clone()) };
        }
        for i in &left {
            let lane = &lanes[*i];
            scatter(&columns[*i][now.start * lane.bytes..now.end * lane.bytes], stride, lane, &mut records[now.start * stride + lane.at..]);
        }
    }
    let _ = quads;
    Ok(())
}

pub(super) fn gather(source: &[u8], stride: usize, width: usize, out: &mut [u8]) {
    fn words<const N: usize>(source: &[u8], stride: usize, out: &mut [u8]) {
        for (to, from) in out.as_chunks_mut::<N>().0.iter_mut().zip(source.chunks(stride)) {
            if let Some(from) = from.first_chunk::<N>() {
                *to = *from;
            }
        }
    }
    match width {
        0 => {}
        _ if width == stride => out.copy_from_slice(&source[..out.len()]),
        1 => words::<1>(source, stride, out),
        2 => words::<2>(source, stride, out),
        4 => words::<4>(source, stride, out),
        8 => words::<8>(source, stride, out),
        _ => out.chunks_exact_mut(width).zip(source.chunks(stride)).for_each(|(to, from)| to.copy_from_slice(&from[..width])),
    }
}

fn scatter(source: &[u8], stride: usize, lane: &Lane, target: &mut [u8]) {
    fn words<const N: usize>(source: &[u8], stride: usize, swapped: bool, target: &mut [u8]) {
        for (from, to) in source.as_chunks::<N>().0.iter().zip(target.chunks_mut(stride)) {
            if let Some(to) = to.first_chunk_mut::<N>() {
                *to = *from;
                if swapped {
                    to.reverse();
                }
            }
        }
    }
    let (width, swapped) = (lane.bytes, lane.swap_bytes > 1);
    match width {
        0 => {}
        _ if width == stride => {
            target[..source.len()].copy_from_slice(source);
            arrow_arrays::swap(&mut target[..source.len()], lane.swap_bytes);
        }
        1 => words::<1>(source, stride, false, target),
        2 if lane.swap_bytes <= 2 => words::<2>(source, stride, swapped, target),
        4 if !swapped || lane.swap_bytes == 4 => words::<4>(source, stride, swapped, target),
        8 if !swapped || lane.swap_bytes == 8 => words::<8>(source, stride, swapped, target),
        _ => source.chunks_exact(width).zip(target.chunks_mut(stride)).for_each(|(from, to)| {
            to[..width].copy_from_slice(from);
            arrow_arrays::swap(&mut to[..width], lane.swap_bytes);
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Lane, deinterleave, interleave};
    use crate::error::Error;

    fn naive(records: &[u8], stride: usize, lane: &Lane, count: usize) -> Vec<u8> {
        (0..count)
            .flat_map(|i| {
                records[i * stride + lane.at..][..lane.bytes]
                    .chunks(lane.swap_bytes.max(1))
                    .flat_map(|word| word.iter().rev().copied().collect::<Vec<_>>())
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    fn lane(at: usize, bytes: usize, swap_bytes: usize) -> Lane {
        Lane { at, bytes, swap_bytes }
    }

    #[test]
    fn every_shape_of_record_is_taken_apart_as_one_by_one_and_put_together_again() -> Result<(), Error> {
        let four = |n: usize| (0..n).map(|i| lane(4 * i, 4, 1)).collect::<Vec<_>>();
        let shapes = [
            (32, four(8)),
            (48, four(12)),
            (35, four(7)),
            (32, [four(4), vec![lane(16, 8, 1), lane(24, 8, 8)]].concat()),
            (16, four(4)),
            (32, [four(8).split_off(4), four(4)].concat()),
            (40, vec![lane(1, 4, 4), lane(5, 4, 1), lane(9, 16, 4), lane(30, 2, 2), lane(25, 3, 1), lane(39, 1, 1)]),
            (4, vec![lane(0, 4, 1)]),
            (12, vec![lane(8, 4, 1), lane(4, 4, 1), lane(0, 4, 1)]),
        ];
        for (stride, lanes) in shapes {
            // The last one is large enough to go past the caches.
            for count in [0, 1, 3, 4, 511, 515, 1030, (70 << 10) / stride + 3] {
                let records: Vec<u8> = (0..count * stride).map(|i| (i * 7 + i / 251) as u8).collect();
                let mut columns: Vec<Vec<u8>> = lanes.iter().map(|lane| vec![0; lane.bytes * count]).collect();
                deinterleave(&records, stride, &lanes, &mut columns.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>())?;
                for (lane, column) in lanes.iter().zip(&columns) {
                    assert!(*column == naive(&records, stride, lane, count), "{lane:?} of {stride}, {count} times");
                }
                for shift in [0, 4, 16, 32, 48] {
                    let mut room = vec![0xa5; records.len() + 128];
                    let start = room.as_ptr().align_offset(64) + shift;
                    let back = &mut room[start..start + records.len()];
                    interleave(&columns.iter().map(Vec::as_slice).collect::<Vec<_>>(), &lanes, back, stride)?;
                    let covered = |i: usize| lanes.iter().any(|lane| (lane.at..lane.at + lane.bytes).contains(&(i % stride)));
                    assert!(
                        back.iter().enumerate().all(|(i, byte)| *byte == if covered(i) { records[i] } else { 0xa5 }),
                        "{lanes:?} of {stride}, {count} times"
                    );
                }
            }
        }
        Ok(())
    }

    #[test]
    fn memory_that_ends_early_is_refused() {
        let lanes = [lane(0, 4, 1), lane(4, 4, 1)];
        let (mut a, mut b) = ([0; 8], [0; 8]);
        assert!(deinterleave(&[0; 15], 8, &lanes, &mut [&mut a, &mut b]).is_err());
        assert!(deinterleave(&[0; 16], 8, &lanes, &mut [&mut a, &mut [0; 4]]).is_err());
        assert!(interleave(&[&a, &b], &lanes, &mut [0; 15], 8).is_err());
        assert!(interleave(&[&a, &b], &lanes, &mut [0; 99], 3).is_err());
    }
}
