//! Whole counts of times as numpy's nanoseconds, in 64 bits: the usual case, in loops that need no wider numbers.

use arrow_schema::DataType;
use hyperslab_array::ByteOrder;

use super::numpy::{NAT, Stored};
use super::{Decoding, Kind};

/// A product and a sum that turn counts from `low` to `high` into nanoseconds without overflow.
struct Line {
    unit: i64,
    reference: i64,
    low: i64,
    high: i64,
}

impl Line {
    /// `None` if the unit or the reference exceed 64 bits, or numpy lacks dates of the calendar.
    fn of(kind: &Kind) -> Option<Self> {
        // The reform of the standard calendar is before the first nanosecond of 64 bits.
        let (unit, reference) = match kind {
            Kind::Time(time) if time.calendar().is_gregorian() => (time.step(), time.reference()),
            Kind::Duration(unit) => (*unit, 0),
            _ => return None,
        };
        // Of the whole numbers of units between the first and the last time of numpy, whose minimum is NaT.
        let (low, high) = (-(reference + i128::from(i64::MAX)).div_euclid(unit), (i128::from(i64::MAX) - reference).div_euclid(unit));
        let clamped = |count: i128| count.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Some(Self { unit: unit.try_into().ok()?, reference: reference.try_into().ok()?, low: clamped(low), high: clamped(high) })
    }
}

/// A whole number that may fit 64 bits with a sign.
trait Whole: Stored {
    fn count(self) -> Option<i64>;
}

macro_rules! whole {
    ($($type:ty)*) => {$(
        impl Whole for $type {
            #[inline(always)]
            fn count(self) -> Option<i64> {
                i64::try_from(self).ok()
            }
        }
    )*};
}
whole!(i8 u8 i16 u16 i32 u32 i64 u64);

impl Decoding {
    /// Decodes whole counts; `false`, with `out` undefined, if one of them is outside of numpy's times, or they are not of this form.
    pub(super) fn whole_times(&self, order: ByteOrder, stored: &[u8], out: &mut [u8]) -> bool {
        let Some(line) = Line::of(&self.kind).filter(|_| !self.is_packed()) else { return false };
        match self.meant {
            DataType::Int8 => put::<i8>(self, &line, order, stored, out),
            DataType::UInt8 => put::<u8>(self, &line, order, stored, out),
            DataType::Int16 => put::<i16>(self, &line, order, stored, out),
            DataType::UInt16 => put::<u16>(self, &line, order, stored, out),
            DataType::Int32 => put::<i32>(self, &line, order, stored, out),
            DataType::UInt32 => put::<u32>(self, &line, order, stored, out),
            DataType::Int64 => put::<i64>(self, &line, order, stored, out),
            DataType::UInt64 => put::<u64>(self, &line, order, stored, out),
            _ => false,
        }
    }
}

impl Decoding {
    /// Dates of floats: products of doubles, cut to whole nanoseconds. `false`, with `out` undefined, as of [`Decoding::whole_times`].
    pub(super) fn cut_times(&self, order: ByteOrder, stored: &[u8], out: &mut [u8]) -> bool {
        let Some(Line { unit, reference, .. }) = Line::of(&self.kind) else { return false };
        let mut are_inside = true;
        for (value, out) in self.floats(order, stored).into_iter().zip(out.as_chunks_mut::<8>().0) {
            let nanoseconds = value * unit as f64;
            let (time, is_outside) = (nanoseconds as i64).overflowing_add(reference);
            let is_date = (nanoseconds.abs() < i64::MAX as f64) & !is_outside & (time != NAT);
            are_inside &= is_date | value.is_nan();
            *out = if value.is_nan() { NAT } else { time }.to_ne_bytes();
        }
        are_inside
    }
}

fn put<S: Whole>(decoding: &Decoding, line: &Line, order: ByteOrder, stored: &[u8], out: &mut [u8]) -> bool {
    let marks = S::missing(&decoding.missing);
    match (order, marks.as_slice()) {
        // The order and the number of marks are looked at once: compilers make faster loops without them.
        (ByteOrder::Little, []) => each::<S>(line, ByteOrder::Little, stored, out, |_| false),
        (ByteOrder::Little, [mark]) => each::<S>(line, ByteOrder::Little, stored, out, |value| value == *mark),
        (_, marks) => each::<S>(line, order, stored, out, |value| marks.contains(&value)),
    }
}

#[inline(always)]
fn each<S: Whole>(line: &Line, order: ByteOrder, stored: &[u8], out: &mut [u8], is_missing: impl Fn(S) -> bool) -> bool {
    let mut are_inside = true;
    for (bytes, out) in stored.chunks_exact(size_of::<S>()).zip(out.as_chunks_mut::<8>().0) {
        let value = S::get(bytes, order);
        let is_missing = is_missing(value);
        let count = value.count();
        are_inside &= is_missing | count.is_some_and(|count| (line.low..=line.high).contains(&count));
        // Wraps only where the result is not used.
        let time = count.unwrap_or_default().wrapping_mul(line.unit).wrapping_add(line.reference);
        *out = if is_missing { NAT } else { time }.to_ne_bytes();
    }
    are_inside
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoding::Number;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn times_are_those_of_wide_numbers(
            count in prop_oneof![any::<i64>(), -200_000i64..200_000, Just(i64::MIN), Just(i64::MAX), Just(-i64::MAX)],
            shift in prop_oneof![Just(0u32), 0u32..64],
            missing in prop::sample::select(vec![None, Some(0), Some(-5)]),
            units in prop::sample::select(vec!["days since 1500-01-01", "seconds since 2000-01-01 06:00", "nanoseconds since 1970-01-01", "nanoseconds since 1969-12-31", "days since 2000-01-01", "hours", "days"]),
            calendar in prop::sample::select(vec!["standard", "proleptic_gregorian", "noleap"]),
            order in prop::sample::select(vec![ByteOrder::Little, ByteOrder::Big]),
        ) {
            let count = count >> shift;
            for stored in [DataType::Int64, DataType::Int32, DataType::UInt64] {
                let found = Decoding::of_times(&stored, units, Some(calendar), missing.map(Number::Integer));
                let decoding = found.ok().flatten().unwrap_or_else(|| unreachable!("times"));
                let bytes = match (&stored, order) {
                    (DataType::Int32, ByteOrder::Big) => (count as i32).to_be_bytes().to_vec(),
                    (DataType::Int32, _) => (count as i32).to_le_bytes().to_vec(),
                    (_, ByteOrder::Big) => count.to_be_bytes().to_vec(),
                    _ => count.to_le_bytes().to_vec(),
                };
                let (mut fast, mut wide) = ([0; 8], [0; 8]);
                let is_fast = decoding.whole_times(order, &bytes, &mut fast);
                let is_wide = decoding.wide_times(order, &bytes, &mut wide).unwrap_or(false);
                prop_assert!(!is_fast || (is_wide && fast == wide), "{units} {calendar} {stored}");
                // All are missing, or the reference or the count alone is beyond 64 bits.
                prop_assert!(is_fast || !is_wide || calendar == "noleap" || units.contains("1500") || stored == DataType::UInt64, "{units} {calendar} {stored}");
            }
        }
    }
}
