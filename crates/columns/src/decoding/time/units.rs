//! Units of time: how long one count is, and from when and in which calendar it counts.

use super::calendar::Calendar;
use super::{reference, unit};

/// A time unit of a calendar, counted from a reference time: `days since 2000-01-01`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeUnits {
    pub(super) calendar: Calendar,
    /// Nanoseconds of one unit.
    pub(super) unit: i128,
    /// The reference in nanoseconds of the calendar's count.
    pub(super) reference: i128,
}

/// Largest whole number before a unit (`3 hours since …`); keeps the product of a unit and the 53 bits of
/// a float within 127 bits.
const MAX_UNITS: i128 = 10_000;

impl TimeUnits {
    /// `units` as in UDUNITS-2: `[number] unit since reference`. No `calendar` is the standard one. `None` for
    /// other units than those of dates.
    ///
    /// # Errors
    /// What is not understood, or has an open meaning, of units of dates: their values stay numbers.
    pub fn parse(units: &str, calendar: Option<&str>) -> Result<Option<Self>, String> {
        let Some((step, date)) = split(units) else { return Ok(None) };
        let name = calendar.map_or("standard", str::trim);
        let calendar = Calendar::parse(name).ok_or_else(|| format!("the calendar {name:?} is unknown"))?;
        let (count, step) = match step.split_once(char::is_whitespace) {
            Some((count, step)) if count.bytes().all(|byte| byte.is_ascii_digit()) => (count.parse().unwrap_or(0), step.trim()),
            _ => (1, step),
        };
        if !(1..=MAX_UNITS).contains(&count) {
            return Err(format!("{units:?} does not count in 1 to {MAX_UNITS} units"));
        }
        let unit = unit::nanoseconds(step, calendar).and_then(|unit| unit.checked_mul(count)).ok_or_else(|| match step.to_lowercase().as_str() {
            "month" | "months" | "year" | "years" | "yr" | "yrs" => format!("{step:?} has no fixed length in the calendar {name:?}"),
            _ => format!("{step:?} is not a known unit of time"),
        })?;
        let reference = reference::parse(date, calendar).ok_or_else(|| format!("{date:?} is not a date of the calendar {name:?} in a known form"))?;
        Ok(Some(Self { calendar, unit, reference }))
    }

    /// Whether units are those of dates, understood or not.
    pub(crate) fn are_dates(units: &str) -> bool {
        split(units).is_some()
    }

    /// The calendar.
    pub fn calendar(&self) -> Calendar {
        self.calendar
    }

    /// Nanoseconds of one count.
    pub fn step(&self) -> i128 {
        self.unit
    }

    /// Nanoseconds from 1970-01-01 of the calendar to the reference; in the Julian calendar from the day that is 1970-01-01 to everybody.
    pub fn reference(&self) -> i128 {
        match self.calendar {
            Calendar::Standard | Calendar::ProlepticGregorian | Calendar::Julian => self.reference,
            calendar => self.reference - calendar.of_1970(),
        }
    }
}

/// Unit and date of `unit since date`, neither empty.
fn split(units: &str) -> Option<(&str, &str)> {
    let is_since = |word: &str| ["since", "after", "from", "ref", "@"].contains(&word.to_ascii_lowercase().as_str());
    let mut start = units.len() - units.trim_start().len();
    let mut before = None;
    // The word is the second or, after a number, the third one.
    for _ in 0..3 {
        let rest = units.get(start..)?;
        let word = rest.get(..rest.find(char::is_whitespace)?)?;
        let after = units.get(start + word.len()..)?.trim();
        if before.is_some() && is_since(word) {
            return (!after.is_empty()).then_some((before?, after));
        }
        before = Some(units.get(..start + word.len())?.trim());
        start += rest.len() - rest.get(word.len()..)?.trim_start().len();
    }
    None
}

/// Nanoseconds of a duration's unit. As in xarray, only plural words are durations: other variables have units such as `s`.
pub(crate) fn duration(units: &str) -> Option<i128> {
    let is_word = ["days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds"].contains(&units);
    is_word.then(|| unit::nanoseconds(units, Calendar::Standard)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_understood_says_why() {
        for units in ["K", "days", "since", "days since", "days since ", "days before 2000-01-01", "a b c since 2000-01-01", ""] {
            assert_eq!(TimeUnits::parse(units, None), Ok(None), "{units}");
        }
        for (units, calendar) in [
            ("0 days since 2000-01-01", None),
            ("10001 days since 2000-01-01", None),
            ("0.5 days since 2000-01-01", None),
            ("days since 2000-01-01", Some("none")),
            ("days since 2000-01-01", Some("tai")),
            ("days since 2000-01-01", Some("")),
            ("days since 2000-02-29", Some("noleap")),
            ("months since 2000-01-01", None),
            ("years since 2000-01-01", Some("360_day")),
            ("days since 01/02/2000", None),
        ] {
            assert!(TimeUnits::parse(units, calendar).is_err(), "{units} {calendar:?}");
        }
        for units in ["days  since\t2000-01-01 ", " Days SINCE 2000-01-01", "24 hours since 2000-01-01", "days @ 2000-01-01", "days since 2000/1/1"] {
            assert_eq!(TimeUnits::parse(units, Some("Standard")), TimeUnits::parse("days since 2000-01-01", None), "{units}");
        }
    }

    #[test]
    fn the_reference_is_counted_from_1970() {
        for calendar in ["standard", "proleptic_gregorian", "noleap", "all_leap", "360_day"] {
            let units = TimeUnits::parse("seconds since 1970-01-02", Some(calendar));
            assert_eq!(units.map(|units| units.map(|units| units.reference())), Ok(Some(86_400_000_000_000)), "{calendar}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = TimeUnits::parse(&text, Some(&text));
            let _ = TimeUnits::parse(&format!("3 days since {text}"), None);
        }
    }
}
