//! Times as numpy has them: nanoseconds since 1970, or counts from which cftime makes dates.

use super::calendar::{Calendar, Date};
use super::count::product;
use super::{DAY, TimeUnits};

/// A stored count, without missing ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Count {
    Integer(i128),
    Float(f64),
}

impl Count {
    /// The nearest number of nanoseconds of this many units.
    pub(crate) fn nanoseconds(self, unit: i128) -> Option<i128> {
        match self {
            Self::Integer(count) => count.checked_mul(unit),
            Self::Float(count) => Some((product(count, unit.checked_mul(2)?)?.checked_add(1)?) >> 1),
        }
    }
}

impl TimeUnits {
    /// Nanoseconds since 1970 of a time of a `datetime64[ns]`; `None` for others: of other calendars, before the reform of the
    /// standard calendar, or beyond 64 bits.
    pub(crate) fn datetime(&self, count: Count) -> Option<i64> {
        if !self.calendar.is_gregorian() {
            return None;
        }
        let nanoseconds = count.nanoseconds(self.unit)?.checked_add(self.reference)?;
        // The smallest number is numpy's NaT. The reform is before the first nanosecond of 64 bits.
        i64::try_from(nanoseconds).ok().filter(|found| *found != i64::MIN)
    }

    /// Nanoseconds since 1970 of the first date that is the same in the standard calendar and in numpy; `None` for other calendars.
    pub(crate) fn reform(&self) -> Option<i128> {
        let days = self.calendar.day_number(REFORM).filter(|_| self.calendar == Calendar::Standard)?;
        Some(i128::from(days) * DAY)
    }

    /// Microseconds since [`TimeUnits::epoch`], from which cftime makes a date. `None` beyond 64 bits.
    pub(crate) fn microseconds(&self, count: Count) -> Option<i64> {
        let nanoseconds = count.nanoseconds(self.unit)?.checked_add(self.reference())?;
        i64::try_from(nanoseconds.checked_add(500)?.div_euclid(1_000)).ok()
    }

    /// The date in the calendar from which [`TimeUnits::reference`] and dates of cftime count.
    pub fn epoch(&self) -> &'static str {
        if self.calendar == Calendar::Julian { "1969-12-19" } else { "1970-01-01" }
    }
}

/// The first day of the Gregorian calendar.
const REFORM: Date = Date { year: 1582, month: 10, day: 15 };
