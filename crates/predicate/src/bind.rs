//! Binding: resolves names to columns and turns literals into tests in the columns' own types.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::StringArray;
use arrow_schema::{DataType, Schema, TimeUnit};
use hyperslab_array::shown::shown;
use hyperslab_array::{Error, Result};
use hyperslab_columns::ModelDates;

use super::column::{ColumnPath, resolve};
use super::constant::{Constant, negated};
use super::list::List;
use super::literal::IntegerPosition;
use super::names::{literal_name, type_name};
use super::number::{Kind, Number, compared_exactly};
use super::set::Set;
use super::value_test::Test;
use super::word::Words;
use super::{Comparison, Literal, Predicate, Value};

/// A predicate whose columns exist and whose tests fit their types.
#[derive(Debug, Clone)]
pub(super) enum Bound {
    And(Vec<Bound>),
    Or(Vec<Bound>),
    Xor(Vec<Bound>),
    Not(Box<Bound>),
    IsNull(ColumnPath),
    Test(ColumnPath, Test),
    Columns(ColumnPath, Comparison, ColumnPath),
    /// A computed number, and a test of it.
    Computed(Number, Test),
    Numbers(Number, Comparison, Number),
    Like(ColumnPath, String),
    /// Text that contains all of these words.
    Match(ColumnPath, Words),
    /// One of several constants.
    In(ColumnPath, Arc<Set>),
}

impl Bound {
    /// Number of tests and arithmetic steps per row.
    pub fn cost(&self) -> usize {
        match self {
            Self::And(parts) | Self::Or(parts) | Self::Xor(parts) => parts.iter().map(Self::cost).sum(),
            Self::Not(part) => part.cost(),
            Self::Computed(number, _) => number.steps().len(),
            Self::Numbers(left, _, right) => left.steps().len() + right.steps().len(),
            Self::IsNull(_) | Self::Test(..) | Self::Columns(..) | Self::Like(..) | Self::Match(..) | Self::In(..) => 1,
        }
    }
}

pub(super) fn bind(predicate: &Predicate, schema: &Schema) -> Result<Bound> {
    let all = |parts: &[Predicate]| parts.iter().map(|part| bind(part, schema)).collect::<Result<Vec<_>>>();
    Ok(match predicate {
        Predicate::And(parts) => Bound::And(all(parts)?),
        Predicate::Or(parts) => Bound::Or(all(parts)?),
        Predicate::Xor(parts) => Bound::Xor(all(parts)?),
        Predicate::Not(part) => Bound::Not(Box::new(bind(part, schema)?)),
        Predicate::IsNull { column } => Bound::IsNull(resolve(column, schema)?.0),
        Predicate::Compare { column, comparison, literal } => {
            let (path, data_type) = resolve(column, schema)?;
            Bound::Test(path, test(column, data_type, *comparison, dated(column, data_type, *comparison, schema, literal)?.as_ref())?)
        }
        Predicate::In { column, literals } => one_of(column, literals, schema)?,
        Predicate::CompareColumns { left, comparison, right } => compared_columns(left, *comparison, right, schema)?,
        Predicate::CompareValues { left, comparison, right } => match (left.as_constant(), right.as_constant()) {
            (None, None) => Bound::Numbers(Number::bind(left, schema)?, *comparison, Number::bind(right, schema)?),
            (None, Some(literal)) => with_constant(left, *comparison, literal, schema)?,
            (Some(literal), None) => with_constant(right, comparison.mirrored(), literal, schema)?,
            (Some(_), Some(_)) => return Err(Error::invalid_input("predicate: a comparison needs a column on one side")),
        },
        Predicate::Like { column, pattern } => {
            let (path, data_type) = resolve(column, schema)?;
            if !is_text(data_type) {
                return Err(Error::invalid_input(format!("predicate: {} is {}; only text is like a pattern", shown(column), type_name(data_type))));
            }
            check_pattern(pattern)?;
            Bound::Like(path, pattern.clone())
        }
        Predicate::Match { column, texts } => {
            let (path, data_type) = resolve(column, schema)?;
            if !is_text(data_type) {
                return Err(Error::invalid_input(format!("predicate: {} is {}; only text has words", shown(column), type_name(data_type))));
            }
            let words = Words::of_texts(texts).ok_or_else(|| Error::invalid_input("predicate: there is no word to match"))?;
            Bound::Match(path, words)
        }
    })
}

fn one_of(column: &str, literals: &List, schema: &Schema) -> Result<Bound> {
    let (path, data_type) = resolve(column, schema)?;
    if literals.is_empty() {
        return Ok(Bound::Or(Vec::new()));
    }
    let tested = |literal: &Literal| {
        let comparison = Comparison::Equal;
        test(column, data_type, comparison, dated(column, data_type, comparison, schema, literal)?.as_ref())
    };
    let is_dated = schema.field_with_name(column).ok().and_then(ModelDates::of_field).is_some();
    let set = if is_dated { Arc::new(Set::of_tests(data_type, literals.iter().map(|literal| tested(&literal)))?) } else { literals.set(data_type, tested)? };
    Ok(Bound::In(path, set))
}

fn compared_columns(left: &str, comparison: Comparison, right: &str, schema: &Schema) -> Result<Bound> {
    let ((left_path, left_type), (right_path, right_type)) = (resolve(left, schema)?, resolve(right, schema)?);
    if left_type.is_numeric() && right_type.is_numeric() && (left_type.is_floating() != right_type.is_floating()) {
        let number = |name: &str| Number::bind(&Value::column(name.to_owned()), schema);
        return Ok(Bound::Numbers(number(left)?, comparison, number(right)?));
    }
    if !comparable(left_type, right_type) {
        return Err(Error::invalid_input(format!(
            "predicate: {} ({}) and {} ({}) cannot be compared",
            shown(left),
            type_name(left_type),
            shown(right),
            type_name(right_type)
        )));
    }
    Ok(Bound::Columns(left_path, comparison, right_path))
}

fn with_constant(value: &Value, comparison: Comparison, literal: &Literal, schema: &Schema) -> Result<Bound> {
    match magnitude(value, comparison, literal, schema)? {
        Some(bound) => Ok(bound),
        None => computed(Number::bind(value, schema)?, comparison, literal),
    }
}

/// Turns `abs(column)` compared with a constant into comparisons of the column itself, which indexes can answer.
fn magnitude(value: &Value, comparison: Comparison, literal: &Literal, schema: &Schema) -> Result<Option<Bound>> {
    let (Some(column), Some(constant), Some(opposite)) = (value.as_magnitude(), literal.to_f64(), negated(literal)) else { return Ok(None) };
    let (path, data_type) = resolve(column, schema)?;
    if !data_type.is_integer() && !data_type.is_floating() {
        return Ok(None);
    }
    let tests = |negative: Comparison| -> Result<Vec<Bound>> {
        let upper = Bound::Test(path.clone(), test(column, data_type, comparison, literal)?);
        Ok(vec![upper, Bound::Test(path.clone(), test(column, data_type, negative, &opposite)?)])
    };
    Ok(match comparison {
        Comparison::Greater | Comparison::GreaterOrEqual => Some(Bound::Or(tests(comparison.mirrored())?)),
        Comparison::Less | Comparison::LessOrEqual => Some(Bound::And(tests(comparison.mirrored())?)),
        // No magnitude equals a negative number.
        Comparison::Equal if constant >= 0.0 => Some(Bound::Or(tests(comparison)?)),
        Comparison::NotEqual if constant >= 0.0 => Some(Bound::And(tests(comparison)?)),
        Comparison::Equal | Comparison::NotEqual => None,
    })
}

/// A comparison of a computed number with a constant, which is not rounded.
fn computed(number: Number, comparison: Comparison, literal: &Literal) -> Result<Bound> {
    let misfit = || Error::invalid_input(format!("predicate: a number is compared with a number, not with {}", literal_name(literal)));
    let test = match number.kind() {
        Kind::Integer { .. } => integer_test(comparison, literal).ok_or_else(misfit)?,
        Kind::Float => float_test(comparison, literal).ok_or_else(misfit)?,
    };
    Ok(Bound::Computed(number, test))
}

fn test(column: &str, data_type: &DataType, comparison: Comparison, literal: &Literal) -> Result<Test> {
    let misfit = |what: &str| {
        Error::invalid_input(format!("predicate: {} is {}; compare it with {what}, not with {}", shown(column), type_name(data_type), literal_name(literal)))
    };
    Ok(match data_type {
        DataType::Boolean => match literal {
            Literal::Boolean(value) => Test::Boolean(comparison, *value),
            Literal::Number(text) if text == "0" || text == "1" => Test::Boolean(comparison, text == "1"),
            _ => return Err(misfit("true or false")),
        },
        data_type if data_type.is_integer() => integer_test(comparison, literal).ok_or_else(|| misfit("a number"))?,
        data_type if data_type.is_floating() => float_test(comparison, literal).ok_or_else(|| misfit("a number"))?,
        DataType::Timestamp(unit, _) => {
            let nanoseconds = literal.nanoseconds().map_err(|_| misfit("a date or time as text: '2020-01-31' or '2020-01-31T12:00:00'"))?;
            let unit = match unit {
                TimeUnit::Second => 1_000_000_000,
                TimeUnit::Millisecond => 1_000_000,
                TimeUnit::Microsecond => 1_000,
                TimeUnit::Nanosecond => 1,
            };
            let place = IntegerPosition { floor: nanoseconds.div_euclid(unit), exact: nanoseconds.rem_euclid(unit) == 0 };
            range(comparison, place)
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => text(comparison, literal).ok_or_else(|| misfit("a text in single quotes"))?,
        DataType::Dictionary(_, value) if matches!(**value, DataType::Utf8) => text(comparison, literal).ok_or_else(|| misfit("a text in single quotes"))?,
        _ => return Err(Error::unsupported(format!("predicate: comparisons of {}, which is {}", shown(column), type_name(data_type)))),
    })
}

/// For times: a year or a month as its first day. For a column of text that stands for dates of a model's calendar: the
/// literal as the text of the same time.
fn dated<'a>(column: &str, data_type: &DataType, comparison: Comparison, schema: &Schema, literal: &'a Literal) -> Result<Cow<'a, Literal>> {
    let Literal::Text(text) = literal else { return Ok(Cow::Borrowed(literal)) };
    let dates = schema.field_with_name(column).ok().and_then(ModelDates::of_field);
    let first_day = match dates.is_some() || matches!(data_type, DataType::Timestamp(..)) {
        true => first_day(column, comparison, text)?,
        false => None,
    };
    let Some(dates) = dates else { return Ok(first_day.map_or(Cow::Borrowed(literal), |day| Cow::Owned(Literal::Text(day)))) };
    let text = dates.literal(first_day.as_deref().unwrap_or(text)).ok_or_else(|| {
        let calendar = dates.name();
        Error::invalid_input(format!(
            "predicate: {column} has dates of the calendar {calendar}, and {:?} is none; write '2000-02-28' or '2000-02-28T12:00:00'",
            shown(text)
        ))
    })?;
    Ok(Cow::Owned(Literal::Text(text)))
}

/// The first day of a year ('1990') or month ('1990-03'); `None` for any other text. Only "before" and "from" have one
/// meaning for a period: `InvalidInput` for other comparisons.
fn first_day(column: &str, comparison: Comparison, text: &str) -> Result<Option<String>> {
    let is_number = |part: &str, digits: usize| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
    let (period, day) = match text.trim().split_once('-') {
        None if is_number(text.trim(), 4) => ("year", format!("{}-01-01", text.trim())),
        Some((year, month)) if is_number(year, 4) && is_number(month, 2) => ("month", format!("{}-01", text.trim())),
        _ => return Ok(None),
    };
    match comparison {
        Comparison::Less | Comparison::GreaterOrEqual => Ok(Some(day)),
        _ => Err(Error::invalid_input(format!(
            "predicate: '{}' is a {period}, which is only allowed after < and >=; write \"{} >= '{day}'\" or a day such as '{day}'",
            shown(text),
            shown(column)
        ))),
    }
}

fn text(comparison: Comparison, literal: &Literal) -> Option<Test> {
    match literal {
        Literal::Text(text) | Literal::Bytes(text) => Some(Test::Text(comparison, text.clone())),
        _ => None,
    }
}

fn never(comparison: Comparison) -> Test {
    match comparison {
        Comparison::NotEqual => Test::Outside { low: 1, high: 0 },
        _ => Test::Between { low: 1, high: 0 },
    }
}

/// The integers for which `integer comparison constant` holds, without rounding the constant.
fn range(comparison: Comparison, IntegerPosition { floor, exact }: IntegerPosition) -> Test {
    let (all_low, all_high) = (i128::MIN, i128::MAX);
    let above = floor.saturating_add(1);
    match comparison {
        Comparison::Equal if !exact => never(comparison),
        Comparison::NotEqual if !exact => never(comparison),
        Comparison::Equal => Test::Between { low: floor, high: floor },
        Comparison::NotEqual => Test::Outside { low: floor, high: floor },
        Comparison::Less if exact => match floor.checked_sub(1) {
            Some(high) => Test::Between { low: all_low, high },
            None => Test::Between { low: 1, high: 0 },
        },
        Comparison::Less | Comparison::LessOrEqual => Test::Between { low: all_low, high: floor },
        Comparison::GreaterOrEqual if exact => Test::Between { low: floor, high: all_high },
        Comparison::Greater | Comparison::GreaterOrEqual => Test::Between { low: above, high: all_high },
    }
}

/// The test of an integer; `None` if the literal is not a number.
fn integer_test(comparison: Comparison, literal: &Literal) -> Option<Test> {
    match (literal.place(), literal.to_f64()) {
        (Some(place), _) => Some(range(comparison, place)),
        (None, Some(infinite)) if infinite == f64::INFINITY => Some(range(comparison, IntegerPosition { floor: i128::MAX, exact: false })),
        (None, Some(infinite)) if infinite == f64::NEG_INFINITY => Some(range(comparison, IntegerPosition { floor: i128::MIN, exact: false })),
        // NaN equals no integer.
        (None, Some(_)) => Some(never(comparison)),
        (None, None) => None,
    }
}

/// The test of a float; `None` if the literal is not a number. A constant with a point or an exponent means the nearest
/// double. One of digits only means exactly that integer; if no double equals it, every float is on one side of it.
fn float_test(comparison: Comparison, literal: &Literal) -> Option<Test> {
    let nearest = literal.to_f64()?;
    let Some(Constant::Integer(exact)) = Constant::of(literal) else { return Some(Test::Float(comparison, nearest)) };
    let test = match compared_exactly(exact, nearest) {
        Some(std::cmp::Ordering::Equal) | None => return Some(Test::Float(comparison, nearest)),
        // The constant lies above the nearest float, with no float between the two.
        Some(std::cmp::Ordering::Greater) => match comparison {
            Comparison::Less | Comparison::LessOrEqual => Comparison::LessOrEqual,
            Comparison::Greater | Comparison::GreaterOrEqual => Comparison::Greater,
            same => return Some(Test::Float(same, f64::NAN)),
        },
        Some(std::cmp::Ordering::Less) => match comparison {
            Comparison::Less | Comparison::LessOrEqual => Comparison::Less,
            Comparison::Greater | Comparison::GreaterOrEqual => Comparison::GreaterOrEqual,
            same => return Some(Test::Float(same, f64::NAN)),
        },
    };
    Some(Test::Float(test, nearest))
}

/// `InvalidInput` for a pattern that cannot be matched because it is too long.
fn check_pattern(pattern: &str) -> Result<()> {
    let (none, pattern) = (StringArray::new_null(0), StringArray::new_scalar(pattern));
    let matched = arrow_string::like::like(&none, &pattern);
    matched
        .map(|_| ())
        .map_err(|_| Error::invalid_input(format!("predicate: the pattern of `like` has {} bytes, which is too long", pattern.into_inner().value(0).len())))
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8) || matches!(data_type, DataType::Dictionary(_, value) if **value == DataType::Utf8)
}

fn comparable(left: &DataType, right: &DataType) -> bool {
    (left.is_integer() && right.is_integer())
        || (left.is_floating() && right.is_floating())
        || (is_text(left) && is_text(right))
        || (left == right && matches!(left, DataType::Boolean | DataType::Timestamp(..)))
}
