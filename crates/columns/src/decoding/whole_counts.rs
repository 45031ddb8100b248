//! numpy's times as stored counts, in 64 bits: the usual case, in loops that need no wider numbers and no division of whole counts.

use arrow_schema::DataType;
use hyperslab_array::ByteOrder;

use super::encode::Put;
use super::numpy::NAT;
use super::{Decoding, Kind};

/// A fraction that turns numpy's times from `low` to `high` into counts: `(time * factor - shift) / divisor`.
struct Fraction {
    factor: i64,
    shift: i64,
    divisor: i64,
    low: i64,
    high: i64,
}

impl Fraction {
    /// `None` if the numbers exceed 64 bits, or numpy lacks dates of the calendar.
    fn of(kind: &Kind, step: i128) -> Option<Self> {
        let (unit, reference, first) = match kind {
            Kind::Time(time) if time.calendar().is_gregorian() => (time.step(), time.reference(), time.reform()),
            Kind::Duration(unit) => (*unit, 0, None),
            _ => return None,
        };
        let common = gcd(gcd(step, unit), reference);
        let (factor, shift, divisor) = (step.checked_div(common)?, reference / common, unit / common);
        // Numerators of 64 bits, but the minimum. Dates before the reform of the calendar are other days in numpy.
        let (low, high) = ((shift - i128::from(i64::MAX)).checked_div_euclid(factor)? + 1, (shift + i128::from(i64::MAX)).checked_div_euclid(factor)?);
        let low = first.map_or(low, |first| low.max(first.div_euclid(step) + i128::from(first.rem_euclid(step) != 0)));
        let clamped = |time: i128| time.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Some(Self {
            factor: factor.try_into().ok().filter(|factor| *factor > 0)?,
            shift: shift.try_into().ok()?,
            divisor: divisor.try_into().ok().filter(|divisor| *divisor > 0)?,
            low: clamped(low),
            high: clamped(high),
        })
    }

    #[inline(always)]
    fn numerator(&self, time: i64) -> i64 {
        // Sums and products of wrapping numbers are right if the result is one of 64 bits.
        time.wrapping_mul(self.factor).wrapping_sub(self.shift)
    }
}

fn gcd(mut one: i128, mut other: i128) -> i128 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one.abs()
}

/// Division without a remainder by a positive number, as a product with the inverse of its odd part modulo 2^64.
struct Exact {
    inverse: i64,
    /// Bits that are zero in multiples.
    zeros: u32,
    /// The largest quotient of 64 bits. Those of numbers that are no multiples are larger.
    most: i64,
}

impl Exact {
    fn by(divisor: i64) -> Self {
        let zeros = divisor.trailing_zeros();
        let odd = divisor >> zeros;
        // Newton's iteration doubles the bits that are right: three at first.
        let inverse = (0..5).fold(odd, |inverse, _| inverse.wrapping_mul(2i64.wrapping_sub(odd.wrapping_mul(inverse))));
        Self { inverse, zeros, most: i64::MAX / odd }
    }

    /// The quotient, and whether the number is a multiple.
    #[inline(always)]
    fn divide(&self, number: i64) -> (i64, bool) {
        let quotient = (number >> self.zeros).wrapping_mul(self.inverse);
        (quotient, (number & ((1 << self.zeros) - 1) == 0) & (-self.most <= quotient) & (quotient <= self.most))
    }
}

impl Decoding {
    /// Encodes times of `step` nanoseconds; whether some are missing. `None`, with `out` undefined, if one of them cannot be stored or needs
    /// wider numbers.
    pub(super) fn whole_counts(&self, step: i128, times: &[u8], order: ByteOrder, out: &mut [u8]) -> Option<bool> {
        if self.is_packed() || times.len() / 8 * self.stored_size() != out.len() {
            return None;
        }
        let fraction = Fraction::of(&self.kind, step)?;
        match self.meant {
            DataType::Int8 => put_whole::<i8>(self, &fraction, order, times, out),
            DataType::UInt8 => put_whole::<u8>(self, &fraction, order, times, out),
            DataType::Int16 => put_whole::<i16>(self, &fraction, order, times, out),
            DataType::UInt16 => put_whole::<u16>(self, &fraction, order, times, out),
            DataType::Int32 => put_whole::<i32>(self, &fraction, order, times, out),
            DataType::UInt32 => put_whole::<u32>(self, &fraction, order, times, out),
            DataType::Int64 => put_whole::<i64>(self, &fraction, order, times, out),
            DataType::UInt64 => put_whole::<u64>(self, &fraction, order, times, out),
            DataType::Float32 => put_floats::<f32>(self, &fraction, order, times, out, |value| value as f32),
            DataType::Float64 => put_floats::<f64>(self, &fraction, order, times, out, |value| value),
            _ => None,
        }
    }
}

fn put_whole<S: Put + TryFrom<i64>>(decoding: &Decoding, fraction: &Fraction, order: ByteOrder, times: &[u8], out: &mut [u8]) -> Option<bool> {
    let marks = S::missing(&decoding.missing);
    let mark = marks.first().copied();
    let exact = Exact::by(fraction.divisor);
    if order == ByteOrder::Big {
        return each(fraction, ByteOrder::Big, times, out, mark, &marks, |numerator| whole(&exact, numerator));
    }
    // One mark, as nearly all have, is compared without a loop.
    match (mark, marks.as_slice()) {
        (Some(one), [_]) => each(fraction, ByteOrder::Little, times, out, mark, &[one], |numerator| whole(&exact, numerator)),
        _ => each(fraction, ByteOrder::Little, times, out, mark, &marks, |numerator| whole(&exact, numerator)),
    }
}

#[inline(always)]
fn whole<S: TryFrom<i64>>(exact: &Exact, numerator: i64) -> Option<S> {
    let (quotient, is_multiple) = exact.divide(numerator);
    S::try_from(quotient).ok().filter(|_| is_multiple)
}

fn put_floats<S: Put>(decoding: &Decoding, fraction: &Fraction, order: ByteOrder, times: &[u8], out: &mut [u8], nearest: impl Fn(f64) -> S) -> Option<bool> {
    let marks = S::missing(&decoding.missing);
    let mark = marks.first().copied().or(S::NAN);
    let divisor = fraction.divisor;
    // Above it a remainder is no double.
    if divisor >= 1 << 53 {
        return None;
    }
    each(fraction, order, times, out, mark, &marks, |numerator| {
        let (whole, rest) = (numerator.div_euclid(divisor), numerator.rem_euclid(divisor));
        Some(nearest(whole as f64 + rest as f64 / divisor as f64))
    })
}

#[inline(always)]
fn each<S: Put>(
    fraction: &Fraction,
    order: ByteOrder,
    times: &[u8],
    out: &mut [u8],
    mark: Option<S>,
    marks: &[S],
    count: impl Fn(i64) -> Option<S>,
) -> Option<bool> {
    let mut has_missing = false;
    for (bytes, out) in times.as_chunks::<8>().0.iter().zip(out.chunks_exact_mut(size_of::<S>())) {
        let time = i64::from_ne_bytes(*bytes);
        let stored = if time == NAT {
            has_missing = true;
            mark?
        } else if (fraction.low..=fraction.high).contains(&time) {
            count(fraction.numerator(time)).filter(|stored| !marks.contains(stored))?
        } else {
            return None;
        };
        stored.put(order, out);
    }
    Some(has_missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoding::{Decoded, Number};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn multiples_are_divided_and_others_are_seen(divisor in 1i64..1 << 62, quotient in any::<i64>(), other in -i64::MAX..=i64::MAX) {
            let divisor = divisor >> (quotient as u64 % 62);
            prop_assume!(divisor > 0);
            let exact = Exact::by(divisor);
            let quotient = quotient % (i64::MAX / divisor);
            prop_assert_eq!(exact.divide(quotient * divisor), (quotient, true));
            prop_assert_eq!(exact.divide(other).1, other % divisor == 0);
        }

        #[test]
        fn counts_are_those_of_wide_numbers(
            time in prop_oneof![any::<i64>(), (-200_000i64..200_000).prop_map(|day| day * 86_400), -20_000i64..20_000, Just(NAT), Just(i64::MAX)],
            step in prop::sample::select(vec![1i128, 1_000, 1_000_000_000, 86_400_000_000_000]),
            missing in prop::sample::select(vec![None, Some(0), Some(-5)]),
            units in prop::sample::select(vec!["days since 1500-01-01", "seconds since 2000-01-01 06:00", "nanoseconds since 1970-01-01", "days since 2000-01-01", "hours", "weeks", "milliseconds since 1-1-1"]),
            calendar in prop::sample::select(vec!["standard", "proleptic_gregorian", "noleap"]),
            order in prop::sample::select(vec![ByteOrder::Little, ByteOrder::Big]),
        ) {
            for stored in [DataType::Int64, DataType::Int32, DataType::UInt16, DataType::Float64, DataType::Float32] {
                let Ok(Some(decoding)) = Decoding::of_times(&stored, units, Some(calendar), missing.map(Number::Integer)) else { return Ok(()) };
                let (mut fast, mut wide) = (vec![0; decoding.stored_size()], vec![0; decoding.stored_size()]);
                let bytes = time.to_ne_bytes();
                let found = decoding.whole_counts(step, &bytes, order, &mut fast);
                let encoded = decoding.encode_wide(Decoded::Times { step, counts: &bytes }, order, &mut wide);
                if let Some(has_missing) = found {
                    let encoded = encoded.unwrap_or_else(|error| unreachable!("{error}"));
                    prop_assert!(encoded.problem.is_none() && encoded.has_missing == has_missing, "{units} {calendar} {stored} {step}");
                    prop_assert!(fast == wide, "{units} {calendar} {stored} {step}");
                } else if let Ok(encoded) = encoded {
                    let is_far = (i128::from(time) * step).abs() >= 1 << 62 || units.contains("1500") || units.contains("1-1-1");
                    prop_assert!(encoded.problem.is_some() || is_far || calendar == "noleap", "{units} {calendar} {stored} {step}: as wide numbers only");
                }
            }
        }
    }
}
