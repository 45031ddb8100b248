//! Constants in arithmetic: what has no column in it is computed once. Whole numbers stay exact.

use super::Literal;
use super::value::{Operator, Step};

/// A constant number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Constant {
    Integer(i128),
    Float(f64),
}

impl Constant {
    /// A number as it was written: digits alone are an integer (of up to 127 bits), all else is a float.
    pub fn of(literal: &Literal) -> Option<Self> {
        let Literal::Number(text) = literal else { return None };
        match text.parse::<i128>() {
            Ok(integer) => Some(Self::Integer(integer)),
            Err(_) => text.parse().ok().map(Self::Float),
        }
    }
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Float(float) => float,
        }
    }
    pub fn literal(self) -> Literal {
        Literal::Number(match self {
            Self::Integer(integer) => integer.to_string(),
            // As many digits as it takes to read the same float again.
            Self::Float(float) if float.is_nan() => "nan".to_owned(),
            Self::Float(float) => format!("{float:?}"),
        })
    }
}

/// The constant with its sign changed; `None` for what is not a number.
pub(super) fn negated(literal: &Literal) -> Option<Literal> {
    let Literal::Number(text) = literal else { return None };
    // As text, so that nothing is rounded.
    Some(Literal::Number(match text.strip_prefix('-') {
        Some(positive) => positive.to_owned(),
        None => format!("-{text}"),
    }))
}

/// What an operator makes of two constants; `None` for what has no value before rows are there (texts, bit
/// operations of fractions).
pub(super) fn folded(left: &Literal, operator: Operator, right: &Literal) -> Option<Literal> {
    let (left, right) = (Constant::of(left)?, Constant::of(right)?);
    if let (Constant::Integer(a), Constant::Integer(b)) = (left, right) {
        let exact = match operator {
            Operator::Add => a.checked_add(b),
            Operator::Subtract => a.checked_sub(b),
            Operator::Multiply => a.checked_mul(b),
            Operator::Remainder if b != 0 => floored_remainder(a, b),
            Operator::Power => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
            Operator::BitAnd => Some(a & b),
            Operator::BitOr => Some(a | b),
            Operator::Divide | Operator::Remainder => None,
        };
        if let Some(exact) = exact {
            return Some(Constant::Integer(exact).literal());
        }
    }
    if matches!(operator, Operator::BitAnd | Operator::BitOr) {
        return None;
    }
    Some(Constant::Float(float(left.to_f64(), operator, right.to_f64())).literal())
}

/// The remainder that has the divisor's sign.
pub(super) fn floored_remainder(a: i128, b: i128) -> Option<i128> {
    let remainder = a.checked_rem(b)?;
    Some(if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder })
}

/// An operator in double precision; bit operations have no meaning there and are NaN.
pub(super) fn float(a: f64, operator: Operator, b: f64) -> f64 {
    match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::Remainder => float_remainder(a, b),
        Operator::Power if b == 2.0 => a * a,
        Operator::Power => a.powf(b),
        Operator::BitAnd | Operator::BitOr => f64::NAN,
    }
}

/// As in numpy and Python: the divisor's sign, also for zero.
fn float_remainder(a: f64, b: f64) -> f64 {
    let remainder = a % b;
    if remainder == 0.0 {
        return 0f64.copysign(b);
    }
    if (remainder < 0.0) != (b < 0.0) && !remainder.is_nan() { remainder + b } else { remainder }
}

/// What a step makes of constants, last argument on top; `None` for steps that push.
pub(super) fn folded_step(step: &Step, arguments: &[&Literal]) -> Option<Literal> {
    match (step, arguments) {
        (Step::Negate, [one]) => negated(one),
        (Step::Operator(operator), [left, right]) => folded(left, *operator, right),
        _ => None,
    }
}
