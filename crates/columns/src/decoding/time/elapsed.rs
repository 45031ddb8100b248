//! Elapsed times: how long after the reference of its units a time of a column is, in the units' calendar.

use super::calendar::Calendar;
use super::{DAY, TimeUnits, reference};

impl TimeUnits {
    /// Microseconds from the reference to a timestamp of a column; `None` if the calendar lacks its date, or beyond 64 bits.
    pub fn elapsed(&self, timestamp: i64) -> Option<i64> {
        let (day, timestamp) = (DAY / 1_000, i128::from(timestamp));
        let count = match self.calendar {
            // Columns have the same date and clock in the calendar that everybody uses.
            Calendar::NoLeap => {
                let date = Calendar::ProlepticGregorian.date(timestamp.div_euclid(day))?;
                i128::from(self.calendar.day_number(date)?) * day + timestamp.rem_euclid(day)
            }
            _ => timestamp,
        };
        self.since_reference(count)
    }

    /// The same for a time of a calendar that columns have as text.
    pub fn elapsed_of_text(&self, text: &str) -> Option<i64> {
        self.since_reference(microseconds(reference::parse(text, self.calendar)?)?)
    }

    fn since_reference(&self, count: i128) -> Option<i64> {
        i64::try_from(count.checked_sub(microseconds(self.reference)?)?).ok()
    }
}

/// To the nearest microsecond, the later of two, as times are rounded.
fn microseconds(nanoseconds: i128) -> Option<i128> {
    Some(nanoseconds.checked_add(500)?.div_euclid(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_that_a_calendar_lacks_do_not_count() {
        let units = |units, calendar| TimeUnits::parse(units, Some(calendar)).ok().flatten();
        let day = 86_400_000_000;
        let first_of_march = 11_017 * day;
        let elapsed = |calendar| units("days since 2000-02-28", calendar).and_then(|units| units.elapsed(first_of_march + 1));
        assert_eq!((elapsed("standard"), elapsed("noleap")), (Some(2 * day + 1), Some(day + 1)));
        assert_eq!(units("days since 2000-02-28", "noleap").and_then(|units| units.elapsed(first_of_march - day)), None);
        let of_text = |text| units("days since 2000-02-28", "360_day").and_then(|units| units.elapsed_of_text(text));
        assert_eq!((of_text("2000-03-01T12:00:00"), of_text("2000-01-31")), (Some(3 * day + day / 2), None));
    }
}
