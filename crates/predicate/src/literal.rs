//! A constant as it was written: it is not rounded before the type of its column is known.

use hyperslab_array::shown::shown;
use hyperslab_array::{Error, Result};
use serde::{Deserialize, Serialize};

/// A constant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Literal {
    /// Decimal text of a number (`-3`, `1e-5`, `nan`).
    Number(String),
    /// Text, including dates and times.
    Text(String),
    /// `true` or `false`.
    Boolean(bool),
    /// Text from a query engine, which compares by bytes.
    Bytes(String),
}

/// The position of a number among the integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IntegerPosition {
    /// The largest integer that is not above it.
    pub floor: i128,
    /// Whether it equals that integer.
    pub exact: bool,
}

impl Literal {
    /// The nearest double of the number.
    pub(super) fn to_f64(&self) -> Option<f64> {
        match self {
            Self::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The exact position of the number among the integers; numbers beyond 127 bits saturate.
    pub(super) fn place(&self) -> Option<IntegerPosition> {
        let Self::Number(text) = self else { return None };
        if let Ok(floor) = text.parse::<i64>() {
            return Some(IntegerPosition { floor: floor.into(), exact: true });
        }
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.as_str()),
        };
        let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (digits, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if (whole.is_empty() && fraction.is_empty()) || !(whole.to_owned() + fraction).bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let all = format!("{whole}{fraction}");
        let all = all.trim_start_matches('0');
        // Position of the decimal point, counted from the start of `all`.
        let point = i64::try_from(all.len()).ok()? - i64::try_from(fraction.len()).ok()? + exponent;
        let zero = all.is_empty();
        if !zero && point > 38 {
            return Some(IntegerPosition { floor: if negative { i128::MIN } else { i128::MAX }, exact: false });
        }
        let split = usize::try_from(point.max(0)).ok()?;
        let padded = format!("{all:0<split$}");
        let (integer, rest) = padded.split_at_checked(split.min(padded.len()))?;
        let integer: i128 = if integer.is_empty() { 0 } else { integer.parse().ok()? };
        let exact = zero || rest.bytes().all(|b| b == b'0');
        let floor = match (negative, exact) {
            (false, _) => integer,
            (true, true) => -integer,
            (true, false) => -integer - 1,
        };
        Some(IntegerPosition { floor, exact })
    }

    /// A date or time in nanoseconds since 1970, UTC.
    pub(super) fn nanoseconds(&self) -> Result<i128> {
        let (Self::Text(text) | Self::Bytes(text)) = self else {
            return Err(Error::invalid_input("a time is compared with a text such as '2020-01-31' or '2020-01-31T12:00:00'"));
        };
        let text = text.trim();
        let of = |time: chrono::NaiveDateTime| i128::from(time.and_utc().timestamp()) * 1_000_000_000 + i128::from(time.and_utc().timestamp_subsec_nanos());
        if let Ok(time) = chrono::DateTime::parse_from_rfc3339(text) {
            return Ok(of(time.naive_utc()));
        }
        let plain = text.trim_end_matches('Z');
        for format in ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"] {
            if let Ok(time) = chrono::NaiveDateTime::parse_from_str(plain, format) {
                return Ok(of(time));
            }
        }
        let date = chrono::NaiveDate::parse_from_str(plain, "%Y-%m-%d");
        match date.ok().and_then(|date| date.and_hms_opt(0, 0, 0)) {
            Some(time) => Ok(of(time)),
            None => Err(Error::invalid_input(format!("'{}' is not a date or time; write '2020-01-31' or '2020-01-31T12:00:00'", shown(text)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_find_their_place_among_the_integers_without_rounding() {
        let place = |text: &str| Literal::Number(text.to_owned()).place().map(|p| (p.floor, p.exact));
        assert_eq!(place("18446744073709551615"), Some((u64::MAX.into(), true)));
        assert_eq!(place("9007199254740993.5"), Some((9007199254740993, false)));
        assert_eq!(place("-2.5"), Some((-3, false)));
        assert_eq!(place("-2"), Some((-2, true)));
        assert_eq!(place("1e3"), Some((1000, true)));
        assert_eq!(place("1.5e1"), Some((15, true)));
        assert_eq!(place("1e-5"), Some((0, false)));
        assert_eq!(place("0.0"), Some((0, true)));
        assert_eq!(place("-1e-5"), Some((-1, false)));
        assert_eq!(place("1e99"), Some((i128::MAX, false)));
        assert_eq!(place("nan"), None);
    }
}
