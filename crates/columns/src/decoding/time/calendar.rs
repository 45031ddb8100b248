//! Calendars of CF 4.4.2: which dates they have, and their days in a continuous count.

/// How dates follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Calendar {
    /// Julian before 1582-10-15, Gregorian from there; no year 0.
    Standard,
    /// The Gregorian rule for all years; Arrow's own.
    ProlepticGregorian,
    /// The Julian rule for all years; no year 0.
    Julian,
    /// No 29 February.
    NoLeap,
    /// A 29 February each year.
    AllLeap,
    /// Twelve months of 30 days.
    Days360,
}

/// A day of a calendar. In calendars with a year 0 it is the one before year 1, else year -1 is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Date {
    pub year: i64,
    pub month: i64,
    pub day: i64,
}

/// Days before a month of a year without a 29 February.
const BEFORE_MONTH: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
/// Largest year and count of days in computations: beyond the range of a timestamp.
const MAX_YEARS: i64 = 1_000_000;
const MAX_DAYS: i64 = 366 * MAX_YEARS;

impl Calendar {
    /// The calendar of an attribute; letters of either case. `none`, `utc`, `tai` and unknown ones are `None`.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "standard" | "gregorian" => Self::Standard,
            "proleptic_gregorian" => Self::ProlepticGregorian,
            "julian" => Self::Julian,
            "noleap" | "365_day" => Self::NoLeap,
            "all_leap" | "366_day" => Self::AllLeap,
            "360_day" => Self::Days360,
            _ => return None,
        })
    }

    /// The name in CF.
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::ProlepticGregorian => "proleptic_gregorian",
            Self::Julian => "julian",
            Self::NoLeap => "noleap",
            Self::AllLeap => "all_leap",
            Self::Days360 => "360_day",
        }
    }

    /// Whether dates are, or since 1582 are, those that everybody uses.
    pub fn is_gregorian(self) -> bool {
        matches!(self, Self::Standard | Self::ProlepticGregorian)
    }

    /// Nanoseconds from the beginning of the calendar's count to its 1970-01-01.
    pub(super) fn of_1970(self) -> i128 {
        let days = self.day_number(Date { year: 1970, month: 1, day: 1 });
        i128::from(days.unwrap_or_default()) * super::DAY
    }

    /// Whether the calendar has days that Arrow's calendar lacks, so that its times are shown as text.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::AllLeap | Self::Days360)
    }

    /// The count of a day: from 1970-01-01 in calendars of real days, from year 0 in the others. `None`
    /// if the calendar has no such day.
    pub(super) fn day_number(self, date: Date) -> Option<i64> {
        let Date { year, month, day } = date;
        if !(-MAX_YEARS..=MAX_YEARS).contains(&year) || !(1..=12).contains(&month) {
            return None;
        }
        let first = Date { year: 1582, month: 10, day: 5 };
        let reform = Date { year: 1582, month: 10, day: 15 };
        let julian = match self {
            Self::Standard if date >= first && date < reform => return None,
            Self::Standard => date < reform,
            Self::Julian => true,
            _ => false,
        };
        let year = match self {
            Self::Standard | Self::Julian if year == 0 => return None,
            Self::Standard | Self::Julian if year < 0 => year + 1,
            _ => year,
        };
        let leap = match self {
            Self::AllLeap => true,
            Self::NoLeap | Self::Days360 => false,
            _ => year % 4 == 0 && (julian || year % 100 != 0 || year % 400 == 0),
        };
        if !(1..=self.month_length(month, leap)?).contains(&day) {
            return None;
        }
        Some(match self {
            Self::Days360 => 360 * year + 30 * (month - 1) + day - 1,
            Self::NoLeap | Self::AllLeap => {
                let before = BEFORE_MONTH.get(usize::try_from(month - 1).ok()?)? + i64::from(leap && month > 2);
                (if leap { 366 } else { 365 }) * year + before + day - 1
            }
            _ => real_day(year, month, day, julian),
        })
    }

    /// The day with this count. `None` for calendars with Julian days, and beyond a million years.
    pub(super) fn date(self, days: i128) -> Option<Date> {
        let days = i64::try_from(days).ok().filter(|days| (-MAX_DAYS..=MAX_DAYS).contains(days))?;
        let (length, leap) = match self {
            Self::Days360 => (360, false),
            Self::NoLeap => (365, false),
            Self::AllLeap => (366, true),
            Self::ProlepticGregorian => return Some(gregorian_date(days)),
            _ => return None,
        };
        let (year, mut day, mut month) = (days.div_euclid(length), days.rem_euclid(length), 1);
        loop {
            let in_month = self.month_length(month, leap)?;
            if day < in_month {
                return Some(Date { year, month, day: day + 1 });
            }
            (day, month) = (day - in_month, month + 1);
        }
    }

    fn month_length(self, month: i64, leap: bool) -> Option<i64> {
        Some(match (self, month) {
            (Self::Days360, 1..=12) => 30,
            (_, 2) => 28 + i64::from(leap),
            (_, 4 | 6 | 9 | 11) => 30,
            (_, 1..=12) => 31,
            _ => return None,
        })
    }
}

/// Days from 1970-01-01 (Gregorian), with a year 0.
fn real_day(year: i64, month: i64, day: i64, julian: bool) -> i64 {
    // March is the first month, so that the leap day is the last day of a year.
    let shifted = (14 - month) / 12;
    let (year, month) = (year - shifted, month + 12 * shifted - 3);
    let days = day + (153 * month + 2) / 5 + 365 * year + year.div_euclid(4);
    // 1970-01-01 is that many days after the last day of February of year 0 in each calendar.
    if julian { days - 719_471 } else { days - year.div_euclid(100) + year.div_euclid(400) - 719_469 }
}

/// The Gregorian date of a count of days from 1970-01-01.
fn gregorian_date(days: i64) -> Date {
    // Years begin in March, and 400 of them have 146,097 days.
    let since_march = days + 719_468;
    let (cycle, day) = (since_march.div_euclid(146_097), since_march.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (month, day) = (if month < 10 { month + 3 } else { month - 9 }, of_year - (153 * month + 2) / 5 + 1);
    Date { year: 400 * cycle + year + i64::from(month <= 2), month, day }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn day(calendar: Calendar, year: i64, month: i64, day: i64) -> Option<i64> {
        calendar.day_number(Date { year, month, day })
    }

    #[test]
    fn days_that_a_calendar_has_not_are_none() {
        use Calendar::*;
        for (calendar, year, month, of_month, exists) in [
            (Standard, 1900, 2, 29, false),
            (Standard, 1500, 2, 29, true),
            (Standard, 1582, 10, 4, true),
            (Standard, 1582, 10, 5, false),
            (Standard, 1582, 10, 14, false),
            (Standard, 0, 1, 1, false),
            (Julian, 1900, 2, 29, true),
            (Julian, 0, 1, 1, false),
            (ProlepticGregorian, 1582, 10, 10, true),
            (ProlepticGregorian, 0, 2, 29, true),
            (ProlepticGregorian, 1500, 2, 29, false),
            (NoLeap, 2000, 2, 29, false),
            (AllLeap, 1999, 2, 29, true),
            (AllLeap, 1999, 2, 30, false),
            (Days360, 1999, 2, 30, true),
            (Days360, 1999, 1, 31, false),
            (Days360, 1999, 13, 1, false),
            (Days360, 1999, 1, 0, false),
        ] {
            assert_eq!(day(calendar, year, month, of_month).is_some(), exists, "{calendar:?} {year}-{month}-{of_month}");
        }
    }

    #[test]
    fn real_days_are_counted_from_1970() {
        use Calendar::*;
        assert_eq!(day(ProlepticGregorian, 1970, 1, 1), Some(0));
        assert_eq!(day(Julian, 1969, 12, 19), Some(0));
        assert_eq!(day(Standard, 1582, 10, 15), Some(-141_427));
        assert_eq!(day(Standard, 1582, 10, 4), Some(-141_428));
        // The first day of the Julian period.
        assert_eq!(day(Standard, -4713, 1, 1), Some(-2_440_588));
        assert_eq!(day(ProlepticGregorian, -4713, 11, 24), Some(-2_440_588));
    }

    proptest! {
        #[test]
        fn a_count_and_its_date_are_the_same_day(days in -MAX_DAYS / 2..MAX_DAYS / 2) {
            for calendar in [Calendar::NoLeap, Calendar::AllLeap, Calendar::Days360, Calendar::ProlepticGregorian] {
                let date = calendar.date(days.into());
                prop_assert_eq!(date.and_then(|date| calendar.day_number(date)), Some(days));
                prop_assert!(calendar.date(i128::from(days) + 1) > date);
            }
        }

        #[test]
        fn real_days_are_chronos(days in -80_000_000i32..80_000_000) {
            use chrono::Datelike;
            if let Some(date) = chrono::NaiveDate::from_epoch_days(days) {
                let (year, month, of_month) = (date.year().into(), date.month().into(), date.day().into());
                prop_assert_eq!(day(Calendar::ProlepticGregorian, year, month, of_month), Some(days.into()));
            }
        }
    }
}
