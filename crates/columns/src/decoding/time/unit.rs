//! Units of time by the names that files use, in nanoseconds (UDUNITS-2).

use super::DAY;
use super::calendar::Calendar;

/// A tropical year of UDUNITS-2: exactly 365.242198781 days.
const TROPICAL_YEAR: i128 = 31_556_925_974_678_400;
const SECOND: i128 = 1_000_000_000;

/// Nanoseconds of a unit. Names are known in either case; symbols of two letters that begin with a capital
/// `M` are not, because `Ms` is a megasecond. Months and years have no length, except that of a month of 30 days: files
/// mean those of the calendar, where UDUNITS-2 and CF 4.4 have a tropical year, and xarray and cftime refuse them.
pub(super) fn nanoseconds(name: &str, calendar: Calendar) -> Option<i128> {
    if name.len() == 2 && name.starts_with('M') {
        return None;
    }
    let name = name.to_lowercase();
    Some(match name.as_str() {
        "nanosecond" | "nanoseconds" | "nanosec" | "nanosecs" | "nsec" | "nsecs" | "ns" => 1,
        "microsecond" | "microseconds" | "microsec" | "microsecs" | "usec" | "usecs" | "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "millisecond" | "milliseconds" | "millisec" | "millisecs" | "msec" | "msecs" | "ms" => 1_000_000,
        "second" | "seconds" | "sec" | "secs" | "s" => SECOND,
        "minute" | "minutes" | "min" | "mins" => 60 * SECOND,
        "hour" | "hours" | "hr" | "hrs" | "h" => 3_600 * SECOND,
        "day" | "days" | "d" => DAY,
        "week" | "weeks" => 7 * DAY,
        "fortnight" | "fortnights" => 14 * DAY,
        // As cftime counts there.
        "month" | "months" if calendar == Calendar::Days360 => 30 * DAY,
        "tropical_year" | "tropical_years" => TROPICAL_YEAR,
        "common_year" | "common_years" => 365 * DAY,
        "leap_year" | "leap_years" => 366 * DAY,
        "julian_year" | "julian_years" => 365 * DAY + DAY / 4,
        "gregorian_year" | "gregorian_years" => 31_556_952 * SECOND,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_and_years_have_no_length() {
        let of = |name| nanoseconds(name, Calendar::Standard);
        for name in ["month", "months", "year", "years", "yr"] {
            assert_eq!(of(name), None, "{name}");
        }
        assert_eq!(of("tropical_year"), Some(365 * DAY + 242_198_781 * (DAY / 1_000_000_000)));
        assert_eq!(nanoseconds("months", Calendar::Days360), Some(30 * DAY));
        assert_eq!(nanoseconds("common_year", Calendar::Days360), Some(365 * DAY));
    }

    #[test]
    fn capitals_are_the_same_unit_unless_they_are_another() {
        let of = |name| nanoseconds(name, Calendar::Standard);
        for (name, same) in [("Days", "day"), ("HOURS", "h"), ("D", "d"), ("Min", "minute"), ("MSEC", "ms"), ("Julian_year", "julian_years")] {
            assert!(of(name).is_some() && of(name) == of(same), "{name}");
        }
        for unknown in ["Ms", "MS", "m", "M", "y", "a", "", "K"] {
            assert_eq!(of(unknown), None, "{unknown}");
        }
    }
}
