//! A bound arithmetic value: its columns exist and its steps have types.
//!
//! Every integer step has bounds that follow from the types of its columns. If they fit 127 bits, the step is exact, and
//! computed in 64 bits if they fit those; otherwise it is computed in double precision. The choice depends only on types
//! and constants, never on the values of rows.

use std::cmp::Ordering;

use arrow_schema::{DataType, Schema};
use hyperslab_array::shown::shown;
use hyperslab_array::{Error, Result};

use super::column::{ColumnPath, resolve};
use super::constant::Constant;
use super::date_part::{DatePart, Times};
use super::names::{literal_name, type_name};
use super::value::{Function, Operator, Step, Value};

/// The type of a step's result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// An integer within inclusive bounds.
    Integer { low: i128, high: i128 },
    /// A double.
    Float,
}

impl Kind {
    /// Whether it is computed in 64 bits.
    pub fn is_short(self) -> bool {
        matches!(self, Self::Integer { low, high } if i64::try_from(low).is_ok() && i64::try_from(high).is_ok())
    }
}

/// A step and the kind of its result.
#[derive(Debug, Clone)]
pub(super) struct Typed {
    pub step: BoundStep,
    pub kind: Kind,
}

/// A step of [`Value`] with resolved columns.
#[derive(Debug, Clone)]
pub(super) enum BoundStep {
    Column(ColumnPath),
    DatePart(DatePart, Times, ColumnPath),
    Constant(Constant),
    Negate,
    Operator(Operator),
    Function(Function),
}

/// A bound value: steps of a stack machine that leave one number on the stack.
#[derive(Debug, Clone)]
pub(super) struct Number(Vec<Typed>);

impl Number {
    /// Resolves columns and types each step. `NotFound` for a missing column, `InvalidInput` for one that is not numeric.
    pub fn bind(value: &Value, schema: &Schema) -> Result<Self> {
        let mut steps = Vec::with_capacity(value.0.len());
        let mut stack: Vec<Kind> = Vec::new();
        for step in &value.0 {
            let (step, kind) = match step {
                Step::Column(name) => {
                    let (path, data_type) = resolve(name, schema)?;
                    (BoundStep::Column(path), of_column(name, data_type)?)
                }
                Step::DatePart(part, name) => {
                    let (path, data_type) = resolve(name, schema)?;
                    let (low, high) = part.bounds();
                    (BoundStep::DatePart(*part, part.times(name, data_type, schema)?, path), Kind::Integer { low, high })
                }
                Step::Constant(literal) => {
                    let constant = Constant::of(literal)
                        .ok_or_else(|| Error::invalid_input(format!("predicate: {} cannot be computed with; give a number", literal_name(literal))))?;
                    (BoundStep::Constant(constant), of_constant(constant))
                }
                Step::Negate => (BoundStep::Negate, negated(taken(&mut stack)?)),
                Step::Operator(operator) => {
                    let (right, left) = (taken(&mut stack)?, taken(&mut stack)?);
                    (BoundStep::Operator(*operator), between(left, *operator, right, steps.last())?)
                }
                Step::Function(function) => {
                    let last = taken(&mut stack)?;
                    let kind = match function.arity() {
                        1 => of_function(*function, last),
                        _ => of_two(*function, taken(&mut stack)?, last),
                    };
                    (BoundStep::Function(*function), kind)
                }
            };
            stack.push(kind);
            steps.push(Typed { step, kind });
        }
        match stack.as_slice() {
            [_] => Ok(Self(steps)),
            _ => Err(unbalanced()),
        }
    }

    pub fn kind(&self) -> Kind {
        self.0.last().map_or(Kind::Float, |step| step.kind)
    }

    pub fn steps(&self) -> &[Typed] {
        &self.0
    }

    pub fn paths(&self) -> impl Iterator<Item = &ColumnPath> {
        self.0.iter().filter_map(|typed| match &typed.step {
            BoundStep::Column(path) | BoundStep::DatePart(_, _, path) => Some(path),
            _ => None,
        })
    }
}

/// The error for malformed steps: predicates are also read from splits, which are untrusted input.
pub(super) fn unbalanced() -> Error {
    Error::invalid_input("predicate: the steps of a computed number do not fit together")
}

fn taken(stack: &mut Vec<Kind>) -> Result<Kind> {
    stack.pop().ok_or_else(unbalanced)
}

fn of_column(name: &str, data_type: &DataType) -> Result<Kind> {
    let integer = |low: i128, high: i128| Ok(Kind::Integer { low, high });
    match data_type {
        DataType::Boolean => integer(0, 1),
        DataType::Int8 => integer(i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => integer(i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => integer(i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => integer(i64::MIN.into(), i64::MAX.into()),
        DataType::UInt8 => integer(0, u8::MAX.into()),
        DataType::UInt16 => integer(0, u16::MAX.into()),
        DataType::UInt32 => integer(0, u32::MAX.into()),
        DataType::UInt64 => integer(0, u64::MAX.into()),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => Ok(Kind::Float),
        other => Err(Error::invalid_input(format!("predicate: {} is {}; only numbers can be computed with", shown(name), type_name(other)))),
    }
}

fn of_constant(constant: Constant) -> Kind {
    match constant {
        Constant::Integer(integer) => Kind::Integer { low: integer, high: integer },
        Constant::Float(_) => Kind::Float,
    }
}

fn bounded(low: Option<i128>, high: Option<i128>) -> Kind {
    match (low, high) {
        (Some(low), Some(high)) => Kind::Integer { low, high },
        _ => Kind::Float,
    }
}

fn negated(kind: Kind) -> Kind {
    match kind {
        Kind::Integer { low, high } => bounded(high.checked_neg(), low.checked_neg()),
        Kind::Float => Kind::Float,
    }
}

fn between(left: Kind, operator: Operator, right: Kind, last: Option<&Typed>) -> Result<Kind> {
    let (Kind::Integer { low: a, high: b }, Kind::Integer { low: c, high: d }) = (left, right) else {
        return match operator {
            Operator::BitAnd | Operator::BitOr => {
                Err(Error::invalid_input("predicate: & and | between numbers need integers; between conditions, put these in parentheses or write && and ||"))
            }
            _ => Ok(Kind::Float),
        };
    };
    Ok(match operator {
        Operator::Add => bounded(a.checked_add(c), b.checked_add(d)),
        Operator::Subtract => bounded(a.checked_sub(d), b.checked_sub(c)),
        Operator::Multiply => products(&[a, b], &[c, d]),
        Operator::Divide => Kind::Float,
        Operator::Remainder if c > 0 => bounded(Some(0), d.checked_sub(1)),
        Operator::Remainder if d < 0 => bounded(c.checked_add(1), Some(0)),
        // With a divisor that may be 0, the result need not be an integer.
        Operator::Remainder => Kind::Float,
        Operator::Power => match last {
            Some(Typed { step: BoundStep::Constant(Constant::Integer(exponent)), .. }) => power(a, b, *exponent),
            _ => Kind::Float,
        },
        Operator::BitAnd | Operator::BitOr => {
            // As many bits as the longest bound has, and a sign bit if one of them is negative.
            let length = |n: i128| 128 - (if n < 0 { !n } else { n }).leading_zeros();
            let bits = [a, b, c, d].into_iter().map(length).max().unwrap_or(0);
            let max = 1i128.checked_shl(bits).and_then(|power| power.checked_sub(1)).unwrap_or(i128::MAX);
            Kind::Integer { low: if a < 0 || c < 0 { -max - 1 } else { 0 }, high: max }
        }
    })
}

fn products(left: &[i128], right: &[i128]) -> Kind {
    let all = left.iter().flat_map(|a| right.iter().map(|b| a.checked_mul(*b)));
    match all.collect::<Option<Vec<i128>>>() {
        Some(all) => bounded(all.iter().min().copied(), all.iter().max().copied()),
        None => Kind::Float,
    }
}

/// Bounds of a power with a constant exponent; a negative exponent gives fractions.
fn power(low: i128, high: i128, exponent: i128) -> Kind {
    let Ok(exponent) = u32::try_from(exponent) else { return Kind::Float };
    let ends = [low.checked_pow(exponent), high.checked_pow(exponent)];
    let (Some(a), Some(b)) = (ends[0], ends[1]) else { return Kind::Float };
    let min = if low <= 0 && high >= 0 && exponent > 0 { 0 } else { a.min(b) };
    Kind::Integer { low: min.min(a).min(b), high: a.max(b) }
}

fn of_function(function: Function, kind: Kind) -> Kind {
    let Kind::Integer { low, high } = kind else { return Kind::Float };
    match function {
        Function::Floor | Function::Ceil | Function::Trunc | Function::Round => kind,
        Function::Sign => Kind::Integer { low: -1, high: 1 },
        Function::Abs => bounded(Some(0), low.checked_abs().zip(high.checked_abs()).map(|(a, b)| a.max(b))),
        _ => Kind::Float,
    }
}

fn of_two(function: Function, left: Kind, right: Kind) -> Kind {
    match (function, left, right) {
        (Function::Least, Kind::Integer { low: a, high: b }, Kind::Integer { low: c, high: d }) => Kind::Integer { low: a.min(c), high: b.min(d) },
        (Function::Greatest, Kind::Integer { low: a, high: b }, Kind::Integer { low: c, high: d }) => Kind::Integer { low: a.max(c), high: b.max(d) },
        _ => Kind::Float,
    }
}

/// Compares an integer with a double without rounding either; `None` for NaN.
pub(super) fn compared_exactly(integer: i128, float: f64) -> Option<Ordering> {
    const BEYOND: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    if float.is_nan() {
        None
    } else if float >= BEYOND {
        Some(Ordering::Less)
    } else if float < -BEYOND {
        Some(Ordering::Greater)
    } else {
        let whole = float.trunc();
        // If the integer parts are equal, the fraction decides.
        Some(integer.cmp(&(whole as i128)).then_with(|| whole.partial_cmp(&float).unwrap_or(Ordering::Equal)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_are_compared_without_rounding() {
        assert_eq!(compared_exactly(9_007_199_254_740_993, 9_007_199_254_740_992.0), Some(Ordering::Greater));
        assert_eq!(compared_exactly(-9_007_199_254_740_993, -9_007_199_254_740_992.0), Some(Ordering::Less));
        assert_eq!(compared_exactly(u64::MAX.into(), 18_446_744_073_709_551_616.0), Some(Ordering::Less));
        assert_eq!(compared_exactly(-2, -2.5), Some(Ordering::Greater));
        assert_eq!(compared_exactly(2, 2.5), Some(Ordering::Less));
        assert_eq!(compared_exactly(0, -0.0), Some(Ordering::Equal));
        assert_eq!(compared_exactly(i128::MIN, -1.7e38), Some(Ordering::Less));
        assert_eq!(compared_exactly(i128::MAX, f64::INFINITY), Some(Ordering::Less));
        assert_eq!(compared_exactly(1, f64::NAN), None);
    }
}
