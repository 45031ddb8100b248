//! Values of a time variable as Arrow timestamps or text.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, TimestampMicrosecondArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use hyperslab_array::{Error, Result};

use super::calendar::Calendar;
use super::text::iso;
use super::{DAY, TimeUnits};

impl TimeUnits {
    /// Type of the decoded values.
    pub(crate) fn data_type(&self) -> DataType {
        match self.calendar.is_text() {
            true => DataType::Utf8,
            false => DataType::Timestamp(TimeUnit::Microsecond, None),
        }
    }

    /// The times of integers, but for nulls.
    pub(crate) fn of_integers(&self, values: &[i128], nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let count = |value: i128| self.rounded(value.checked_mul(self.unit)?);
        self.array(values, nulls, count)
    }

    /// The times of floats, but for nulls.
    pub(crate) fn of_floats(&self, values: &[f64], nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        self.array(values, nulls, |value| self.rounded(product(value, self.unit)?))
    }

    /// Microseconds of the calendar's count, to the nearest, `nanoseconds` after the reference. What was
    /// cut below a nanosecond cannot change it.
    fn rounded(&self, nanoseconds: i128) -> Option<i128> {
        Some(nanoseconds.checked_add(self.reference)?.checked_add(500)?.div_euclid(1_000))
    }

    fn array<T: Copy + ToString>(&self, values: &[T], nulls: Option<NullBuffer>, count: impl Fn(T) -> Option<i128>) -> Result<ArrayRef> {
        let valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        if !self.calendar.is_text() {
            let time = |(row, value): (usize, &T)| match valid(row) {
                true => count(*value).and_then(|n| self.timestamp(n)).ok_or_else(|| outside(value, "a timestamp holds")),
                false => Ok(0),
            };
            let times = values.iter().enumerate().map(time).collect::<Result<Vec<i64>>>()?;
            return Ok(Arc::new(TimestampMicrosecondArray::new(times.into(), nulls)));
        }
        let mut builder = StringBuilder::with_capacity(values.len(), values.len().saturating_mul(19));
        let mut total = 0usize;
        for (row, value) in values.iter().enumerate() {
            if !valid(row) {
                builder.append_null();
                continue;
            }
            let text = count(*value).and_then(|n| iso(self.calendar, n.checked_mul(1_000)?));
            let text = text.ok_or_else(|| outside(value, "the years 0 to 9999"))?;
            total = total.saturating_add(text.len());
            if i32::try_from(total).is_err() {
                return Err(Error::limit_exceeded("2 GiB of times as text in one batch; ask for fewer rows, or read with decode off"));
            }
            builder.append_value(text);
        }
        Ok(Arc::new(builder.finish()))
    }

    /// Microseconds since 1970 of a count of microseconds.
    fn timestamp(&self, count: i128) -> Option<i64> {
        let microseconds = match self.calendar {
            Calendar::NoLeap => {
                let day = DAY / 1_000;
                // Every date of this calendar is one of Arrow's.
                let days = Calendar::ProlepticGregorian.day_number(self.calendar.date(count.div_euclid(day))?)?;
                i128::from(days) * day + count.rem_euclid(day)
            }
            _ => count,
        };
        i64::try_from(microseconds).ok()
    }
}

fn outside(value: &impl ToString, what: &str) -> Error {
    Error::invalid_input(format!("the time {} lies outside of what {what}: read with decode off", value.to_string()))
}

/// Largest integer that is not above `value * unit`. Exact, because a float is an integer times a power of two.
pub(super) fn product(value: f64, unit: i128) -> Option<i128> {
    if !value.is_finite() {
        return None;
    }
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52) & 0x7ff, i128::from(bits & ((1 << 52) - 1)));
    // Subnormal numbers have no leading one, and the exponent of the smallest normal number.
    let (mantissa, shift) = match exponent {
        0 => (fraction, -1_074),
        _ => (fraction | 1 << 52, i64::try_from(exponent).ok()? - 1_075),
    };
    let product = mantissa.checked_mul(if value < 0.0 { -unit } else { unit })?;
    match u32::try_from(shift) {
        Ok(up) => product.checked_mul(1i128.checked_shl(up).filter(|power| *power > 0)?),
        // A shift to the right rounds down, also of negative numbers; 127 bits leave the sign alone.
        Err(_) => Some(product >> shift.unsigned_abs().min(127)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::TimestampMicrosecondType;
    use proptest::prelude::*;

    fn at(units: &str, calendar: Option<&str>, value: f64) -> Option<i64> {
        let array = TimeUnits::parse(units, calendar).ok()??.of_floats(&[value], None).ok()?;
        Some(array.as_primitive::<TimestampMicrosecondType>().value(0))
    }

    fn text(units: &str, calendar: &str, value: f64) -> Option<String> {
        let array = TimeUnits::parse(units, Some(calendar)).ok()??.of_floats(&[value], None).ok()?;
        Some(array.as_string::<i32>().value(0).to_owned())
    }

    #[test]
    fn times_are_those_of_cftime() {
        // cftime.num2date(value, units, calendar), as microseconds since 1970.
        assert_eq!(at("days since 1970-01-01", None, 1.5), Some(129_600_000_000));
        assert_eq!(at("hours since 1900-01-01 00:00:0.0", Some("gregorian"), 1_000_000.0), Some(1_391_011_200_000_000));
        // The standard calendar has two days less between year 1 and 1970 than the proleptic one.
        assert_eq!(at("days since 0001-01-01", Some("standard"), 719_164.0), Some(0));
        assert_eq!(at("days since 0001-01-01", Some("proleptic_gregorian"), 719_162.0), Some(0));
        assert_eq!(at("seconds since 2000-01-01T00:00:00+01:00", None, 0.0), Some(946_681_200_000_000));
        assert_eq!(at("seconds since 2000-01-01 12:30:15.25 UTC", None, 0.0), Some(946_729_815_250_000));
        assert_eq!(at("days since 2000-02-28", Some("noleap"), 1.0), Some(951_868_800_000_000));
        assert_eq!(text("days since 2000-02-28", "360_day", 2.25).as_deref(), Some("2000-02-30T06:00:00"));
        assert_eq!(text("days since 1999-02-28", "all_leap", 1.0).as_deref(), Some("1999-02-29"));
        assert_eq!(text("months since 1999-02-30", "360_day", 12.5).as_deref(), Some("2000-03-15"));
    }

    #[test]
    fn what_a_column_cannot_hold_is_an_error() {
        for calendar in ["standard", "noleap", "360_day"] {
            for value in [1e300, -1e300, f64::INFINITY, 1e9, 1e18, f64::MAX] {
                let time = TimeUnits::parse("days since 2000-01-01", Some(calendar)).ok().flatten();
                assert!(time.is_some_and(|time| time.of_floats(&[value], None).is_err()), "{calendar} {value}");
            }
            for value in [i128::from(u64::MAX), i128::from(i64::MIN)] {
                let time = TimeUnits::parse("10000 tropical_years since 999999-01-01", Some(calendar)).ok().flatten();
                assert!(time.is_some_and(|time| time.of_integers(&[value], None).is_err()), "{calendar} {value}");
            }
        }
    }

    #[test]
    fn nulls_are_not_decoded() {
        let nulls = NullBuffer::from(vec![false, true]);
        for calendar in ["standard", "360_day"] {
            let time = TimeUnits::parse("days since 2000-01-01", Some(calendar)).ok().flatten();
            let array = time.and_then(|time| time.of_floats(&[1e300, 0.0], Some(nulls.clone())).ok());
            assert!(array.is_some_and(|array| array.is_null(0) && array.is_valid(1)), "{calendar}");
        }
    }

    proptest! {
        #[test]
        fn a_product_is_the_floor_of_the_exact_one(mantissa in -(1i64 << 53)..1 << 53, down in 0i32..90, unit in 1i128..1 << 69) {
            let value = mantissa as f64 * 2f64.powi(-down);
            prop_assert_eq!(product(value, unit), Some((i128::from(mantissa) * unit).div_euclid(1 << down)));
        }

        #[test]
        fn integers_and_whole_floats_are_the_same_time(value in -100_000i32..100_000, calendar in prop::sample::select(vec!["standard", "julian", "noleap"])) {
            for units in ["hours since 2000-01-01 00:00:00.1234567", "tropical_years since 2000-01-01", "nanoseconds since 2000-01-01"] {
                let time = TimeUnits::parse(units, Some(calendar)).ok().flatten();
                let whole = time.and_then(|time| time.of_integers(&[value.into()], None).ok());
                let float = time.and_then(|time| time.of_floats(&[value.into()], None).ok());
                prop_assert!(whole.is_some());
                prop_assert_eq!(whole.as_deref(), float.as_deref());
            }
        }

        #[test]
        fn no_value_panics(bits: u64, value: i64, wide: i128) {
            for calendar in ["standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day"] {
                for units in ["ns since -999999-01-01", "10000 tropical_years since 999999-12-30 23:59 -23:59"] {
                    let time = TimeUnits::parse(units, Some(calendar)).ok().flatten();
                    prop_assert!(time.is_some());
                    let Some(time) = time else { continue };
                    let _ = time.of_floats(&[f64::from_bits(bits)], None);
                    let _ = time.of_integers(&[value.into()], None);
                    let _ = time.of_integers(&[wide], None);
                }
            }
        }
    }
}
