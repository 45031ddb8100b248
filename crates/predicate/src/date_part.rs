//! Parts of times: `month(time)` and the like, of timestamps (in UTC) and of text that stands for dates of a model's calendar.

use std::sync::Arc;

use arrow_arith::temporal;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int32Array};
use arrow_schema::{DataType, Schema};
use hyperslab_array::shown::shown;
use hyperslab_array::{Error, Result};
use hyperslab_columns::ModelDates;
use serde::{Deserialize, Serialize};

use super::column::plain_text;
use super::names::type_name;

/// A part of a time, a whole number. There is no day of the year: timestamps with the dates of a calendar without leap years would
/// have another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum DatePart {
    Year,
    /// 1 to 4
    Quarter,
    /// 1 to 12
    Month,
    /// Day of the month, from 1
    Day,
    Hour,
    Minute,
    /// Without its fraction
    Second,
}

/// Parts by name, as in DuckDB and Spark.
const NAMES: [(&str, DatePart); 8] = [
    ("year", DatePart::Year),
    ("quarter", DatePart::Quarter),
    ("month", DatePart::Month),
    ("day", DatePart::Day),
    ("dayofmonth", DatePart::Day),
    ("hour", DatePart::Hour),
    ("minute", DatePart::Minute),
    ("second", DatePart::Second),
];

/// How the times of a column are stored.
#[derive(Debug, Clone, Copy)]
pub(super) enum Times {
    Timestamps,
    Texts,
}

impl DatePart {
    /// The part called `name`, in any case.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, part)| *part)
    }

    /// Inclusive bounds of its values.
    pub fn bounds(self) -> (i128, i128) {
        match self {
            Self::Year => (i32::MIN.into(), i32::MAX.into()),
            Self::Quarter => (1, 4),
            Self::Month => (1, 12),
            Self::Day => (1, 31),
            Self::Hour => (0, 23),
            Self::Minute | Self::Second => (0, 59),
        }
    }

    fn name(self) -> &'static str {
        NAMES.iter().find(|(_, part)| *part == self).map_or("", |(name, _)| name)
    }

    /// How the times of a column are stored; `InvalidInput` if it does not hold times.
    pub fn times(self, column: &str, data_type: &DataType, schema: &Schema) -> Result<Times> {
        if matches!(data_type, DataType::Timestamp(..)) {
            return Ok(Times::Timestamps);
        }
        match schema.field_with_name(column).ok().and_then(ModelDates::of_field) {
            Some(_) => Ok(Times::Texts),
            None => Err(Error::invalid_input(format!("predicate: {} needs a column of times; {} is {}", self.name(), shown(column), type_name(data_type)))),
        }
    }

    /// The part of each time; null where the time is null, or beyond the years that arrow computes with.
    pub fn of(self, times: Times, values: &ArrayRef) -> Result<ArrayRef> {
        match times {
            Times::Timestamps => temporal::date_part(values, self.of_arrow()).map_err(|error| Error::internal(error.to_string())),
            Times::Texts => {
                let texts = plain_text(values)?;
                let parts: Int32Array = texts.as_string::<i32>().iter().map(|text| text.and_then(|text| self.of_text(text))).collect();
                Ok(Arc::new(parts))
            }
        }
    }

    fn of_arrow(self) -> temporal::DatePart {
        match self {
            Self::Year => temporal::DatePart::Year,
            Self::Quarter => temporal::DatePart::Quarter,
            Self::Month => temporal::DatePart::Month,
            Self::Day => temporal::DatePart::Day,
            Self::Hour => temporal::DatePart::Hour,
            Self::Minute => temporal::DatePart::Minute,
            Self::Second => temporal::DatePart::Second,
        }
    }

    /// The part of `YYYY-MM-DD` or `YYYY-MM-DDThh:mm:ss`.
    fn of_text(self, text: &str) -> Option<i32> {
        let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i32>().ok();
        // At midnight there is no time of day.
        let clock = |range: std::ops::Range<usize>| if text.len() > 10 { number(range) } else { Some(0) };
        match self {
            Self::Year => number(0..4),
            Self::Quarter => Some((number(5..7)? + 2) / 3),
            Self::Month => number(5..7),
            Self::Day => number(8..10),
            Self::Hour => clock(11..13),
            Self::Minute => clock(14..16),
            Self::Second => clock(17..19),
        }
    }
}
