//! Four members of four records at a time, in registers of 16 bytes, which every x86-64 has; records that are put
//! together leave as whole lines of the cache where the processor has registers of 64 bytes.
#![expect(unsafe_code, reason = "loads and stores of vector registers")]

use std::arch::x86_64::{
    __m128, _mm_loadu_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_setzero_ps, _mm_sfence, _mm_storeu_ps, _mm_stream_ps, _mm_unpackhi_ps, _mm_unpacklo_ps, _mm512_castps128_ps512, _mm512_insertf32x4,
    _mm512_stream_ps,
};
use std::ops::Range;

use super::lane::Lane;

fn transpose([a, b, c, d]: [__m128; 4]) -> [__m128; 4] {
    // SAFETY: these instructions are part of x86-64.
    unsafe {
        let (ab_low, cd_low, ab_high, cd_high) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d), _mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
        [_mm_movelh_ps(ab_low, cd_low), _mm_movehl_ps(cd_low, ab_low), _mm_movelh_ps(ab_high, cd_high), _mm_movehl_ps(cd_high, ab_high)]
    }
}

/// # Safety
/// The records from `at` on and each of the four columns must hold the records of `range`.
pub(super) unsafe fn deinterleave(records: &[u8], stride: usize, at: usize, columns: &mut [&mut [u8]], range: Range<usize>) {
    let [a, b, c, d] = columns else { return };
    let to = [a.as_mut_ptr(), b.as_mut_ptr(), c.as_mut_ptr(), d.as_mut_ptr()];
    let mut i = range.start;
    // SAFETY: the caller's promise.
    unsafe {
        let from = records.as_ptr().add(at);
        while i + 4 <= range.end {
            let record = |j: usize| _mm_loadu_ps(from.add((i + j) * stride).cast());
            for (to, four) in to.iter().zip(transpose([record(0), record(1), record(2), record(3)])) {
                _mm_storeu_ps(to.add(i * 4).cast(), four);
            }
            i += 4;
        }
        for i in i..range.end {
            for (j, to) in to.iter().enumerate() {
                std::ptr::copy_nonoverlapping(from.add(i * stride + 4 * j), to.add(i * 4), 4);
            }
        }
    }
}

/// # Safety
/// As for [`apart`].
pub(super) unsafe fn interleave(columns: &[&[u8]], records: &mut [u8], stride: usize, at: usize, range: Range<usize>) {
    let [a, b, c, d] = columns else { return };
    let from = [a.as_ptr(), b.as_ptr(), c.as_ptr(), d.as_ptr()];
    let mut i = range.start;
    // SAFETY: the caller's promise.
    unsafe {
        let to = records.as_mut_ptr().add(at);
        while i + 4 <= range.end {
            for (j, record) in transpose(from.map(|from| _mm_loadu_ps(from.add(i * 4).cast()))).into_iter().enumerate() {
                _mm_storeu_ps(to.add((i + j) * stride).cast(), record);
            }
            i += 4;
        }
        for i in i..range.end {
            for (j, from) in from.iter().enumerate() {
                std::ptr::copy_nonoverlapping(from.add(i * 4), to.add(i * stride + 4 * j), 4);
            }
        }
    }
}

/// As [`together`] for records that are nothing but fours of members, each record written once and past the
/// caches, so that the memory it goes to is not read first.
///
/// # Safety
/// As for [`apart`], and every four of a record must begin at a multiple of 16 bytes.
pub(super) unsafe fn interleave_streamed(columns: &[&[u8]], quads: &[usize], lanes: &[Lane], records: &mut [u8], stride: usize, count: usize) {
    let whole = count / 4 * 4;
    // SAFETY: the caller's promise.
    unsafe {
        let to = records.as_mut_ptr();
        for i in (0..whole).step_by(4) {
            for first in quads {
                let four = [0, 1, 2, 3].map(|j| _mm_loadu_ps(columns.get_unchecked(first + j).as_ptr().add(i * 4).cast()));
                let at = lanes.get_unchecked(*first).at;
                for (j, record) in transpose(four).into_iter().enumerate() {
                    _mm_stream_ps(to.add((i + j) * stride + at).cast(), record);
                }
            }
        }
        _mm_sfence();
        for first in quads {
            interleave(&columns[*first..*first + 4], records, stride, lanes[*first].at, whole..count);
        }
    }
}

/// As [`together_streamed`] in whole lines of the cache, which reach the memory sooner than their quarters; `false`
/// where the processor or the records are not of the kind. `quads` are in the order of their places in the record.
///
/// # Safety
/// As for [`together_streamed`].
pub(super) unsafe fn interleave_cache_lines(columns: &[&[u8]], quads: &[usize], lanes: &[Lane], records: &mut [u8], stride: usize, count: usize) -> bool {
    if count < 12 || !is_x86_feature_detected!("avx512f") {
        return false;
    }
    let from: Vec<*const u8> = quads.iter().flat_map(|first| &columns[*first..*first + 4]).map(|column| column.as_ptr()).collect();
    // Quarters of a line between the last line's end and the first record.
    let before = records.as_ptr().addr() % 64 / 16;
    let to = records.as_mut_ptr();
    // SAFETY: the caller's promise, and the processor has the registers.
    let done = unsafe {
        match (quads.len(), before) {
            (1, 0) => lines::<1, 0>(&from, to, count),
            (1, 1) => lines::<1, 1>(&from, to, count),
            (1, 2) => lines::<1, 2>(&from, to, count),
            (1, 3) => lines::<1, 3>(&from, to, count),
            (2, 0) => lines::<2, 0>(&from, to, count),
            (2, 1) => lines::<2, 1>(&from, to, count),
            (2, 2) => lines::<2, 2>(&from, to, count),
            (2, 3) => lines::<2, 3>(&from, to, count),
            _ => return false,
        }
    };
    for first in quads {
        for edge in [0..4, done..count] {
            // SAFETY: as above.
            unsafe { interleave(&columns[*first..*first + 4], records, stride, lanes[*first].at, edge) };
        }
    }
    true
}

/// Records of `QUADS` times four members, of which the first lies `BEFORE` quarters behind the beginning of a line.
/// The first four records, and those from the one that is given back on, are left to the caller.
///
/// # Safety
/// Each of the columns, four a quad, must hold `count` members, and `to` have room for as many records.
#[target_feature(enable = "avx512f")]
unsafe fn lines<const QUADS: usize, const BEFORE: usize>(from: &[*const u8], to: *mut u8, count: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe {
        // In the order of memory: what the line before left over, and four records.
        let mut quarters = [[_mm_setzero_ps(); 4]; 3];
        let put = |quarters: &mut [[__m128; 4]; 3], i: usize| {
            for quad in 0..QUADS {
                let four = transpose([0, 1, 2, 3].map(|j| _mm_loadu_ps(from.get_unchecked(quad * 4 + j).add(i * 4).cast())));
                for (j, record) in four.into_iter().enumerate() {
                    let place = BEFORE + j * QUADS + quad;
                    quarters[place / 4][place % 4] = record;
                }
            }
        };
        put(&mut quarters, 0);
        let whole = count / 4 * 4;
        for i in (4..whole).step_by(4) {
            quarters[0] = quarters[QUADS];
            put(&mut quarters, i);
            let line = to.add(i * QUADS * 16).sub(BEFORE * 16);
            for (n, [a, b, c, d]) in quarters.into_iter().take(QUADS).enumerate() {
                let low = _mm512_insertf32x4::<1>(_mm512_castps128_ps512(a), b);
                _mm512_stream_ps(line.add(n * 64).cast(), _mm512_insertf32x4::<3>(_mm512_insertf32x4::<2>(low, c), d));
            }
        }
        _mm_sfence();
        // What the last line left over is in no line.
        whole - 4
    }
}
