//! Times of calendars that Arrow does not support, as ISO 8601 text whose byte order is chronological.

use std::collections::HashMap;

use arrow_schema::Field;

use super::calendar::Calendar;
use super::{DAY, MINUTE, reference};

/// Field metadata of a column of times: the name of their calendar, if it is not the one that everybody uses.
const KEY: &str = "hyperslab:calendar";

/// Marks the metadata of a column of times.
pub(crate) fn mark(calendar: Calendar, metadata: &mut HashMap<String, String>) {
    if !calendar.is_gregorian() {
        metadata.insert(KEY.to_owned(), calendar.name().to_owned());
    }
}

/// A column whose text stands for dates of a calendar that Arrow does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelDates(Calendar);

impl ModelDates {
    pub(super) fn of(calendar: Calendar) -> Option<Self> {
        calendar.is_text().then_some(Self(calendar))
    }

    /// What the metadata of a column of times says.
    pub fn of_field(field: &Field) -> Option<Self> {
        Self::of(Calendar::parse(field.metadata().get(KEY)?)?)
    }

    /// The calendar's name in CF.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The text by which a time compares with the column's, to the nanosecond. `None` if `text` is no
    /// date of the calendar.
    pub fn literal(self, text: &str) -> Option<String> {
        iso(self.0, reference::parse(text.trim(), self.0)?)
    }
}

/// `YYYY-MM-DD` at midnight, else `YYYY-MM-DDThh:mm:ss` with a fraction if there is one. A shorter text is
/// then the beginning of a later one or differs before, so bytes order them. `None` outside of the years 0
/// to 9999, whose texts would not be ordered.
pub(super) fn iso(calendar: Calendar, nanoseconds: i128) -> Option<String> {
    let date = calendar.date(nanoseconds.div_euclid(DAY)).filter(|date| (0..=9999).contains(&date.year))?;
    let mut text = format!("{:04}-{:02}-{:02}", date.year, date.month, date.day);
    let clock = nanoseconds.rem_euclid(DAY);
    if clock != 0 {
        let (minutes, rest) = (clock / MINUTE, clock % MINUTE);
        let (seconds, fraction) = (rest / 1_000_000_000, rest % 1_000_000_000);
        text += &format!("T{:02}:{:02}:{seconds:02}", minutes / 60, minutes % 60);
        if fraction != 0 {
            text += format!(".{fraction:09}").trim_end_matches('0');
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_literal_is_the_text_of_the_same_time() {
        let of = |text| ModelDates(Calendar::Days360).literal(text);
        for text in ["2000-02-30", "2000-2-30", "2000-02-30T00:00:00", "2000-02-30 00:00Z", "2000-02-30T01:00:00+01:00"] {
            assert_eq!(of(text).as_deref(), Some("2000-02-30"), "{text}");
        }
        assert_eq!(of("2000-02-30T12:00").as_deref(), Some("2000-02-30T12:00:00"));
        assert_eq!(of("2000-02-30 12:00:00.2500").as_deref(), Some("2000-02-30T12:00:00.25"));
        for none in ["2000-01-31", "x", "", "10000-01-01", "0000-01-01T00:00:00+01:00"] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn bytes_order_the_texts_as_time_does(days in 0i128..3_599_999, nanoseconds in 0..DAY, other in -2..2 * DAY, coarse in 0u32..10) {
            let step = 10i128.pow(coarse);
            let first = days * DAY + nanoseconds / step * step;
            for second in [first + other, first + other.div_euclid(DAY) * DAY, days * DAY] {
                for calendar in [Calendar::Days360, Calendar::AllLeap] {
                    let (a, b) = (iso(calendar, first), iso(calendar, second));
                    if a.is_some() && b.is_some() {
                        prop_assert_eq!(a.cmp(&b), first.cmp(&second));
                    }
                    if let Some(text) = a {
                        prop_assert_eq!(reference::parse(&text, calendar), Some(first));
                    }
                }
            }
        }
    }
}
