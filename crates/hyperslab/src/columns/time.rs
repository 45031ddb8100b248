//! CF time: `units: "days since 1970-01-01"` and calendars, as microseconds since 1970 (CF 4.4).

use hyperslab_array::{Error, Result};

/// Seconds, minutes … counted from a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeUnits {
    /// Microseconds of one unit, as a fraction: nanoseconds of one unit.
    unit_nanoseconds: i128,
    /// The reference in microseconds since 1970-01-01T00:00:00 UTC.
    reference: i128,
}

const DAY: i128 = 86_400_000_000;

impl TimeUnits {
    /// `None` where Arrow cannot hold the times exactly: another calendar, months or years, a
    /// reference that is no date. Such values stay numbers.
    pub fn parse(units: &str, calendar: Option<&str>) -> Option<Self> {
        let (unit, reference) = units.split_once(" since ")?;
        let unit_nanoseconds = match unit.trim().to_ascii_lowercase().as_str() {
            "nanosecond" | "nanoseconds" | "nanosec" | "nanosecs" | "ns" => 1,
            "microsecond" | "microseconds" | "microsec" | "microsecs" | "us" => 1_000,
            "millisecond" | "milliseconds" | "millisec" | "millisecs" | "msec" | "msecs" | "ms" => 1_000_000,
            "second" | "seconds" | "sec" | "secs" | "s" => 1_000_000_000,
            "minute" | "minutes" | "min" | "mins" => 60_000_000_000,
            "hour" | "hours" | "hr" | "hrs" | "h" => 3_600_000_000_000,
            "day" | "days" | "d" => 86_400_000_000_000,
            _ => return None,
        };
        let mixed = match calendar.map(str::to_ascii_lowercase).as_deref() {
            None | Some("standard" | "gregorian") => true,
            Some("proleptic_gregorian") => false,
            _ => return None,
        };
        Some(Self { unit_nanoseconds, reference: instant(reference.trim(), mixed)? })
    }

    /// Microseconds since 1970 of an integer time.
    pub fn instant_of_integer(&self, value: i128) -> Result<i64> {
        let offset = value.checked_mul(self.unit_nanoseconds).map(|n| n.div_euclid(1_000));
        self.at(offset, || value.to_string())
    }

    /// Microseconds since 1970 of a time, to the nearest microsecond.
    pub fn instant_of_float(&self, value: f64) -> Result<i64> {
        // Whole units first: days since year 1 leave no digits for microseconds otherwise.
        let whole = value.trunc();
        let offset = (whole.abs() < 1e18).then(|| {
            let nanoseconds = (whole as i128).checked_mul(self.unit_nanoseconds)?;
            let part = ((value - whole) * self.unit_nanoseconds as f64 / 1e3).round() as i128;
            Some(nanoseconds.div_euclid(1_000) + part)
        });
        self.at(offset.flatten(), || value.to_string())
    }

    fn at(&self, offset: Option<i128>, value: impl Fn() -> String) -> Result<i64> {
        let instant = offset.and_then(|offset| offset.checked_add(self.reference));
        instant.and_then(|n| i64::try_from(n).ok()).ok_or_else(|| {
            Error::invalid_input(format!("the time {} lies outside of what a timestamp holds: read with decode off", value()))
        })
    }
}

/// Microseconds since 1970 of `Y-M-D[(T| )h[:m[:s]]][ zone]`. `mixed` is the standard calendar:
/// Julian before 1582-10-15.
fn instant(text: &str, mixed: bool) -> Option<i128> {
    let (date, rest) = match text.find(['T', ' ']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?.trim()),
        None => (text, ""),
    };
    let mut parts = date.splitn(3, '-');
    let year: i64 = parts.next()?.parse().ok()?;
    let month: i64 = parts.next()?.parse().ok()?;
    let day: i64 = parts.next()?.parse().ok()?;
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(0..=9999).contains(&year) {
        return None;
    }
    let julian = mixed && (year, month, day) < (1582, 10, 15);
    let days = day_number(year, month, day, julian) - day_number(1970, 1, 1, false);
    let (clock, zone) = split_zone(rest)?;
    Some(i128::from(days) * DAY + clock_microseconds(clock)? - zone)
}

/// Days in a continuous count (the Julian day number, up to a constant).
fn day_number(year: i64, month: i64, day: i64, julian: bool) -> i64 {
    // March is the first month, so that the leap day is the last day of a year.
    let shifted = (14 - month) / 12;
    let (year, month) = (year + 4800 - shifted, month + 12 * shifted - 3);
    let days = day + (153 * month + 2) / 5 + 365 * year + year / 4;
    if julian { days - 32083 } else { days - year / 100 + year / 400 - 32045 }
}

/// The clock and the zone's offset in microseconds.
fn split_zone(text: &str) -> Option<(&str, i128)> {
    let plain = text.trim_end_matches("UTC").trim_end_matches("GMT").trim_end_matches('Z').trim();
    let Some(at) = plain.rfind(['+', '-']) else { return Some((plain, 0)) };
    let (clock, zone) = (plain.get(..at)?.trim(), plain.get(at + 1..)?);
    let (hours, minutes) = match zone.split_once(':') {
        Some((hours, minutes)) => (hours, minutes),
        None if zone.len() > 2 => zone.split_at_checked(zone.len() - 2)?,
        None => (zone, "0"),
    };
    let offset = (hours.parse::<i128>().ok()? * 60 + minutes.parse::<i128>().ok()?) * 60_000_000;
    Some((clock, if plain.get(at..=at)? == "-" { -offset } else { offset }))
}

fn clock_microseconds(text: &str) -> Option<i128> {
    if text.is_empty() {
        return Some(0);
    }
    let mut parts = text.splitn(3, ':');
    let hours: i128 = parts.next()?.parse().ok()?;
    let minutes: i128 = parts.next().map_or(Some(0), |m| m.parse().ok())?;
    let seconds: f64 = parts.next().map_or(Some(0.0), |s| s.parse().ok())?;
    if hours > 24 || minutes > 59 || !(0.0..61.0).contains(&seconds) {
        return None;
    }
    Some((hours * 60 + minutes) * 60_000_000 + (seconds * 1e6).round() as i128)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(units: &str, calendar: Option<&str>, value: f64) -> Option<i64> {
        TimeUnits::parse(units, calendar)?.instant_of_float(value).ok()
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
    }

    #[test]
    fn what_a_timestamp_cannot_hold_stays_numeric() {
        assert_eq!(TimeUnits::parse("days since 2000-01-01", Some("noleap")), None);
        assert_eq!(TimeUnits::parse("months since 2000-01-01", None), None);
        assert_eq!(TimeUnits::parse("K", None), None);
        assert!(TimeUnits::parse("days since 2000-01-01", None).is_some_and(|u| u.instant_of_float(1e300).is_err()));
    }
}
