//! Reference dates: `2000-1-1`, `1970-01-01T00:00:00.5Z`, `1970-01-01 00:00 -6:00`, `19700101T0000`, `1970/1/1`, `01-JAN-1970`.
//!
//! A form that UDUNITS-2, cftime or xarray read as different times is none.

use super::calendar::{Calendar, Date};
use super::{DAY, MINUTE};

/// Nanoseconds of the calendar's count, UTC. `None` for what is not a date and time of the calendar.
pub(super) fn parse(text: &str, calendar: Calendar) -> Option<i128> {
    let before = |at: usize| text.get(..at).and_then(|date| date.chars().next_back());
    // Names of months have a `T`, too, but no digit before it.
    let separates = |(at, byte): (usize, char)| byte == ' ' || (matches!(byte, 'T' | 't') && before(at).is_some_and(|before| before.is_ascii_digit()));
    let (date, rest) = match text.char_indices().find(|place| separates(*place)).map(|(at, _)| at) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?.trim()),
        None => match text.strip_suffix(['Z', 'z']) {
            Some(date) => (date, ""),
            None => (text, ""),
        },
    };
    let days = calendar.day_number(parse_date(date)?)?;
    let (clock, zone) = split_zone(rest)?;
    Some(i128::from(days) * DAY + parse_clock(clock)? - zone)
}

/// A number written in digits only, at least one and at most `max_digits` of them.
fn digits(text: &str, max_digits: usize) -> Option<i64> {
    let plain = (1..=max_digits).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// English names of months, as UDUNITS-2's and xarray's dates have them.
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// `D-MON-Y`, with a year of four digits.
fn parse_named(text: &str) -> Option<Date> {
    let mut parts = text.splitn(3, '-');
    let (day, name, year) = (parts.next()?, parts.next()?, parts.next()?);
    let name = name.to_ascii_lowercase();
    let month = MONTHS.iter().position(|month| *month == name)?;
    let year = digits(year, 4).filter(|_| year.len() == 4)?;
    Some(Date { year, month: i64::try_from(month).ok()? + 1, day: digits(day, 2)? })
}

/// `Y-M-D`, `YYYY/M/D`, `Y-M`, `Y`, `YYYYMMDD` or `D-MON-YYYY`.
fn parse_date(text: &str) -> Option<Date> {
    if let Some(date) = parse_named(text) {
        return Some(date);
    }
    // Without four digits in front, the order of year, month and day is open.
    if text.split_once('/').is_some_and(|(year, rest)| year.len() == 4 && rest.contains('/') && !text.contains('-')) {
        return parse_date(&text.replace('/', "-"));
    }
    let (negative, plain) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = plain.splitn(3, '-');
    let (year, month, day) = match (parts.next()?, parts.next(), parts.next()) {
        (packed, None, None) if packed.len() == 8 => {
            digits(packed, 8)?;
            (digits(packed.get(..4)?, 4)?, digits(packed.get(4..6)?, 2)?, digits(packed.get(6..)?, 2)?)
        }
        (year, None, None) => (digits(year, 4)?, 1, 1),
        (year, Some(month), None) => (digits(year, 6)?, digits(month, 2)?, 1),
        (year, Some(month), Some(day)) => (digits(year, 6)?, digits(month, 2)?, digits(day, 2)?),
        (_, None, Some(_)) => return None,
    };
    Some(Date { year: if negative { -year } else { year }, month, day })
}

/// The clock, and the zone's offset from UTC in nanoseconds.
fn split_zone(text: &str) -> Option<(&str, i128)> {
    let upper = text.to_ascii_uppercase();
    for name in ["UTC", "GMT", "Z"] {
        if upper.ends_with(name) {
            return Some((text.get(..text.len() - name.len())?.trim(), 0));
        }
    }
    // UDUNITS-2 takes a third word as a zone, with or without a sign.
    let (clock, zone) = match (text.rfind(['+', '-']), text.split_once(char::is_whitespace)) {
        (Some(at), _) => (text.get(..at)?.trim(), text.get(at..)?),
        (None, Some((clock, zone))) => (clock, zone.trim()),
        (None, None) => return Some((text, 0)),
    };
    // Straight after a date, UDUNITS-2 takes it for a clock before midnight, cftime for a zone.
    if clock.is_empty() {
        return None;
    }
    let (negative, plain) = match zone.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, zone.strip_prefix('+').unwrap_or(zone)),
    };
    let (hours, minutes) = match plain.split_once(':') {
        Some((hours, minutes)) => (hours, minutes),
        None if plain.len() > 2 => plain.split_at_checked(plain.len() - 2)?,
        None => (plain, "0"),
    };
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let offset = i128::from(hours * 60 + minutes) * MINUTE;
    Some((clock, if negative { -offset } else { offset }))
}

/// Nanoseconds after midnight of `h[:m[:s[.f]]]`, `hhmm` or `hhmmss[.f]`.
fn parse_clock(text: &str) -> Option<i128> {
    if text.is_empty() {
        return Some(0);
    }
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let mut parts = whole.splitn(3, ':');
    let (hours, minutes, seconds) = match (parts.next()?, parts.next(), parts.next()) {
        (packed, None, None) if packed.len() == 4 || packed.len() == 6 => {
            digits(packed, 6)?;
            (packed.get(..2)?, Some(packed.get(2..4)?), packed.get(4..).filter(|seconds| !seconds.is_empty()))
        }
        parts => parts,
    };
    // Only seconds have a fraction.
    if fraction.is_some() && seconds.is_none() {
        return None;
    }
    let of = |part: Option<&str>| part.map_or(Some(0), |part| digits(part, 2));
    let (hours, minutes, seconds) = (digits(hours, 2)?, of(minutes)?, of(seconds)?);
    if hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    // `12:00:5.` has an empty fraction. Digits beyond nanoseconds do not count.
    let fraction = fraction.unwrap_or_default();
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let nanoseconds = digits(format!("{fraction:0<9}").get(..9)?, 9)?;
    Some(i128::from(((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hours(text: &str) -> Option<f64> {
        parse(text, Calendar::ProlepticGregorian).map(|n| n as f64 / (60 * MINUTE) as f64)
    }

    #[test]
    fn forms_of_files_are_read() {
        for (text, wanted) in [
            ("1970-01-01", 0.0),
            ("1970-1-1", 0.0),
            ("+1970-1-1", 0.0),
            ("1970", 0.0),
            ("1970-02", 31.0 * 24.0),
            ("19700102", 24.0),
            ("1970/01/02", 24.0),
            ("1970/1/2 12:00", 36.0),
            ("02-JAN-1970", 24.0),
            ("2-jan-1970 06:00:00", 30.0),
            ("01-OCT-1970T01:00", 273.0 * 24.0 + 1.0),
            ("19700101T1230", 12.5),
            ("1970-01-01 123000", 12.5),
            ("1970-01-01Z", 0.0),
            ("1970-01-01T00:00:00Z", 0.0),
            ("1970-01-01t06:00z", 6.0),
            ("1970-01-01 00:00:0.0", 0.0),
            ("1970-01-01 00:00:00.", 0.0),
            ("1970-01-01 6", 6.0),
            ("1970-01-01 00:00:00 UTC", 0.0),
            ("1970-01-01 00:00:00 GMT", 0.0),
            ("1970-01-01 00:00:00 0:00", 0.0),
            ("1970-01-01 00:00:00 6:00", -6.0),
            ("1970-01-01 00:00:00 -6:00", 6.0),
            ("1970-01-01 00:00:00 -06", 6.0),
            ("1970-01-01 00:00:00 -600", 6.0),
            ("1970-01-01T00:00:00-0630", 6.5),
            ("1970-01-01 00:00:00 +5:30", -5.5),
            ("1970-01-01  00:00:00.5  +01:00", -1.0 + 0.5 / 3600.0),
            ("-0001-01-01", -719_893.0 * 24.0),
        ] {
            assert_eq!(hours(text), Some(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "-",
            "--",
            "T",
            "today",
            "1970-13-01",
            "1970-02-29",
            "1970-01-00",
            "1970-1-1-1",
            "01/01/1970",
            "1970/01",
            "1970/01-01",
            "01-JANU-1970",
            "01-JAN-70",
            "1970-JAN-01",
            "1970-001",
            "197001",
            "1970-01-01 24:00",
            "1970-01-01 00:60",
            "1970-01-01 00:00:60",
            "1970-01-01 00:00:00 EST",
            "1970-01-01 -06:00",
            "1970-01-01 +6",
            "1970-01-01 0.5",
            "1970-01-01 00:00:00 +99:00",
            "1970-01-01 00:00:00.5.5",
            "1970-01-01 00:00:00e1",
            "1970-01-01 00:00:inf",
            "99999999999999999999-01-01",
            "1970-01-01 ::",
            "1970-01-01 00:00:00 1 2",
            "1970-01-01T\u{e9}",
            "\u{e9}-01-01",
            "19\u{e9}00101",
            "1970-01-01 00:00:00 +\u{e9}\u{e9}",
        ] {
            assert_eq!(hours(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*", near in "[-+0-9TZ:. ]{0,30}") {
            for text in [text, near.clone(), format!("1970-01-01{near}"), format!("1970-01-01 00:00{near}")] {
                for calendar in [Calendar::Standard, Calendar::Days360] {
                    parse(&text, calendar);
                }
            }
        }
    }
}
