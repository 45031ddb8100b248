//! Transposes four members of four records at a time in 16-byte registers, which every x86-64 processor has. With AVX-512,
//! joined records are written as whole cache lines.
#![expect(unsafe_code, reason = "loads and stores of vector registers")]

use std::arch::x86_64::{
    __m128, _mm_loadu_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_setzero_ps, _mm_sfence, _mm_storeu_ps, _mm_stream_ps, _mm_unpackhi_ps, _mm_unpacklo_ps,
    _mm512_castps128_ps512, _mm512_insertf32x4, _mm512_stream_ps,
};
use std::ops::Range;

use super::lane::Lane;

fn transpose([a, b, c, d]: [__m128; 4]) -> [__m128; 4] {
    // SAFETY: SSE is part of x86-64.
    unsafe {
        let (ab_low, cd_low, ab_high, cd_high) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d), _mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
        [_mm_movelh_ps(ab_low, cd_low), _mm_movehl_ps(cd_low, ab_low), _mm_movelh_ps(ab_high, cd_high), _mm_movehl_ps(cd_high, ab_high)]
    }
}

/// Splits four adjacent members at offset `at` of the records in `range` into four columns.
///
/// # Safety
/// The records from `at` on and each of the four columns must hold the records of `range`.
pub(super) unsafe fn deinterleave(records: &[u8], stride: usize, at: usize, columns: &mut [&mut [u8]], range: Range<usize>) {
    let [a, b, c, d] = columns else { return };
    let to = [a.as_mut_ptr(), b.as_mut_ptr(), c.as_mut_ptr(), d.as_mut_ptr()];
    let mut i = range.start;
    // SAFETY: as the caller promises.
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

/// The reverse of [`deinterleave`].
///
/// # Safety
/// As for [`deinterleave`].
pub(super) unsafe fn interleave(columns: &[&[u8]], records: &mut [u8], stride: usize, at: usize, range: Range<usize>) {
    let [a, b, c, d] = columns else { return };
    let from = [a.as_ptr(), b.as_ptr(), c.as_ptr(), d.as_ptr()];
    let mut i = range.start;
    // SAFETY: as the caller promises.
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

/// As [`interleave`], for records that consist of quads only. Streaming stores write each record once, without reading its
/// memory into the cache first.
///
/// # Safety
/// As for [`deinterleave`], and every quad of a record must be aligned to 16 bytes.
pub(super) unsafe fn interleave_streamed(columns: &[&[u8]], quads: &[usize], lanes: &[Lane], records: &mut [u8], stride: usize, count: usize) {
    let whole = count / 4 * 4;
    // SAFETY: as the caller promises.
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

/// As [`interleave_streamed`], in whole cache lines, which are faster to write than parts of lines. Returns `false` if the
/// processor or the layout of the records does not allow it. `quads` are in the order of their offsets in the record.
///
/// # Safety
/// As for [`interleave_streamed`].
pub(super) unsafe fn interleave_cache_lines(columns: &[&[u8]], quads: &[usize], lanes: &[Lane], records: &mut [u8], stride: usize, count: usize) -> bool {
    if count < 12 || !is_x86_feature_detected!("avx512f") {
        return false;
    }
    let from: Vec<*const u8> = quads.iter().flat_map(|first| &columns[*first..*first + 4]).map(|column| column.as_ptr()).collect();
    // Quarters of a cache line before the first record.
    let before = records.as_ptr().addr() % 64 / 16;
    let to = records.as_mut_ptr();
    // SAFETY: as the caller promises, and the processor has AVX-512.
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

/// Writes records of `QUADS` times four members. The first record begins `BEFORE` quarters into a cache line. The caller
/// writes the first four records, and those from the returned index on.
///
/// # Safety
/// Each of the columns, four per quad, must hold `count` members, and `to` must have space for `count` records.
#[target_feature(enable = "avx512f")]
unsafe fn lines<const QUADS: usize, const BEFORE: usize>(from: &[*const u8], to: *mut u8, count: usize) -> usize {
    // SAFETY: as the caller promises.
    unsafe {
        // In memory order: what the previous line left over, then four records.
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
        // What the last line left over was not written.
        whole - 4
    }
}
