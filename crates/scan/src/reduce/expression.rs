//! Expressions: what is computed of each element before it is reduced.
//!
//! Types and results are those of SQL as DuckDB has it: NaN equals NaN and is greater than all other numbers, what is computed
//! of a null is null, and `and`, `or` have three values. Operations of 4-byte floats round to 4-byte floats.
#![expect(clippy::exhaustive_enums, reason = "bindings name the operations")]

use std::borrow::Cow;
use std::cmp::Ordering;

use hyperslab_array::{Error, Result};
use serde::Deserialize;

use super::elements::{Block, Kind, Numbers, Values, both};

/// An expression over columns, and vectors along dimensions.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "is", rename_all = "lowercase")]
pub enum Expression {
    /// A column, by its number.
    Column {
        /// Its number in the plan.
        column: usize,
    },
    /// A value for each index along a dimension.
    Vector {
        /// Its number in the reduction.
        vector: usize,
    },
    /// A constant.
    Number {
        /// Its value.
        value: f64,
    },
    /// A constant of an integer type.
    Integer {
        /// Its value.
        value: i64,
    },
    /// A float of 8 bytes.
    Double {
        /// What is converted.
        of: Box<Expression>,
    },
    /// `-x` or `abs(x)`.
    Unary {
        /// Which.
        operation: Unary,
        /// Its operand, a float.
        of: Box<Expression>,
    },
    /// Arithmetic of floats.
    Binary {
        /// Which.
        operation: Binary,
        /// The operand on the left.
        left: Box<Expression>,
        /// The operand on the right.
        right: Box<Expression>,
    },
    /// A comparison.
    Compare {
        /// Which.
        operation: Comparison,
        /// The operand on the left.
        left: Box<Expression>,
        /// The operand on the right.
        right: Box<Expression>,
    },
    /// Whether all, or any, of several conditions hold.
    Logic {
        /// Whether all must.
        all: bool,
        /// The conditions.
        of: Vec<Expression>,
    },
    /// The opposite of a condition.
    Not {
        /// The condition.
        of: Box<Expression>,
    },
    /// Whether a value is of some kind; never null, but for the kinds of numbers.
    Test {
        /// Which kind.
        what: Test,
        /// The value.
        of: Box<Expression>,
    },
}

/// Operations with one operand.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unary {
    /// `-x`.
    Negative,
    /// `abs(x)`.
    Absolute,
}

/// Operations with two operands.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Binary {
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
}

/// Comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Comparison {
    /// `=`.
    Equal,
    /// `<>`.
    Unequal,
    /// `<`.
    Less,
    /// `<=`.
    AtMost,
    /// `>`.
    Greater,
    /// `>=`.
    AtLeast,
}

/// Kinds of values.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Test {
    /// `is null`.
    Null,
    /// `isnan`.
    Nan,
    /// `isfinite`.
    Finite,
}

impl Comparison {
    /// The comparison with both sides exchanged.
    pub(super) fn exchanged(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::AtMost => Self::AtLeast,
            Self::Greater => Self::Less,
            Self::AtLeast => Self::AtMost,
            same => same,
        }
    }
}

fn mismatch() -> Error {
    Error::unsupported("an expression of these types in a reduction")
}

impl Expression {
    /// The type of its values, if columns have the types of `columns`.
    ///
    /// # Errors
    /// `Unsupported` for operands that do not go together.
    pub(super) fn kind(&self, columns: &[Kind]) -> Result<Kind> {
        let float = |kind: Kind| if matches!(kind, Kind::Float | Kind::Double) { Ok(kind) } else { Err(mismatch()) };
        match self {
            Self::Column { column } => columns.get(*column).copied().ok_or_else(|| Error::internal("no such column in a reduction")),
            Self::Vector { .. } => Ok(Kind::Double),
            Self::Number { .. } => Ok(Kind::Constant),
            Self::Integer { .. } => Ok(Kind::Integer),
            Self::Double { of } => match of.kind(columns)? {
                Kind::Opaque | Kind::Flag => Err(mismatch()),
                _ => Ok(Kind::Double),
            },
            Self::Unary { of, .. } => float(of.kind(columns)?),
            Self::Binary { left, right, .. } => match (left.kind(columns)?, right.kind(columns)?) {
                (Kind::Constant, Kind::Constant) => Err(mismatch()),
                (Kind::Constant, other) | (other, Kind::Constant) => float(other),
                (Kind::Float, Kind::Float) => Ok(Kind::Float),
                (left, right) => float(left).and(float(right)).and(Ok(Kind::Double)),
            },
            Self::Compare { left, right, .. } => match (left.kind(columns)?, right.kind(columns)?) {
                (Kind::Constant, Kind::Float | Kind::Double) | (Kind::Float | Kind::Double, Kind::Constant | Kind::Float | Kind::Double) => Ok(Kind::Flag),
                (Kind::Integer, Kind::Integer) => Ok(Kind::Flag),
                _ => Err(mismatch()),
            },
            Self::Logic { of, .. } => match of.iter().all(|one| one.kind(columns).is_ok_and(|kind| kind == Kind::Flag)) {
                true => Ok(Kind::Flag),
                false => Err(mismatch()),
            },
            Self::Not { of } => match of.kind(columns)? {
                Kind::Flag => Ok(Kind::Flag),
                _ => Err(mismatch()),
            },
            Self::Test { what: Test::Null, of } => of.kind(columns).map(|_| Kind::Flag),
            Self::Test { of, .. } => float(of.kind(columns)?).map(|_| Kind::Flag),
        }
    }

    /// The values of a block.
    pub(super) fn values<'a>(&self, block: &Block<'a>) -> Result<Values<'a>> {
        match self {
            Self::Column { column } => block.column(*column),
            Self::Vector { vector } => block.vector(*vector),
            Self::Number { value } => Ok(Values::of(Numbers::Constant(*value))),
            Self::Integer { value } => Ok(Values::of(Numbers::Integers(Cow::Owned(vec![*value; block.count()])))),
            Self::Double { of } => {
                let found = of.values(block)?;
                Ok(Values { numbers: found.numbers.into_doubles(block.count())?, valid: found.valid })
            }
            Self::Unary { operation, of } => {
                let found = of.values(block)?;
                let numbers = match (operation, found.numbers) {
                    (Unary::Negative, Numbers::Floats(values)) => Numbers::Floats(values.iter().map(|value| -value).collect()),
                    (Unary::Negative, Numbers::Doubles(values)) => Numbers::Doubles(values.iter().map(|value| -value).collect()),
                    (Unary::Absolute, Numbers::Floats(values)) => Numbers::Floats(values.iter().map(|value| value.abs()).collect()),
                    (Unary::Absolute, Numbers::Doubles(values)) => Numbers::Doubles(values.iter().map(|value| value.abs()).collect()),
                    _ => return Err(mismatch()),
                };
                Ok(Values { numbers, valid: found.valid })
            }
            Self::Binary { operation, left, right } => {
                let (left, right) = (left.values(block)?, right.values(block)?);
                let valid = both(left.valid, right.valid);
                let numbers = match pair(left.numbers, right.numbers, block.count())? {
                    Pair::Floats(left, right) => Numbers::Floats(arithmetic(*operation, &left, &right).into()),
                    Pair::Doubles(left, right) => Numbers::Doubles(arithmetic(*operation, &left, &right).into()),
                    Pair::Integers(..) => return Err(mismatch()),
                };
                Ok(Values { numbers, valid })
            }
            Self::Compare { operation, left, right } => {
                let (left, right) = (left.values(block)?, right.values(block)?);
                let valid = both(left.valid, right.valid);
                let flags = match (left.numbers, right.numbers) {
                    // The most frequent ones make no vector of the constant.
                    (Numbers::Floats(values), Numbers::Constant(constant)) => compare_constant(*operation, &values, constant as f32),
                    (Numbers::Doubles(values), Numbers::Constant(constant)) => compare_constant(*operation, &values, constant),
                    (Numbers::Constant(constant), Numbers::Floats(values)) => compare_constant(operation.exchanged(), &values, constant as f32),
                    (Numbers::Constant(constant), Numbers::Doubles(values)) => compare_constant(operation.exchanged(), &values, constant),
                    (left, right) => match pair(left, right, block.count())? {
                        Pair::Floats(left, right) => compare(*operation, &left, &right),
                        Pair::Doubles(left, right) => compare(*operation, &left, &right),
                        Pair::Integers(left, right) => {
                            left.iter().zip(right.iter()).map(|(left, right)| u8::from(holds(*operation, left.cmp(right)))).collect()
                        }
                    },
                };
                Ok(Values { numbers: Numbers::Flags(flags.into()), valid })
            }
            Self::Logic { all, of } => {
                let mut parts = of.iter().map(|one| one.flags(block));
                let Some(mut known) = parts.next().transpose()? else { return Err(mismatch()) };
                for next in parts {
                    known = logic(*all, known, next?);
                }
                Ok(Values { numbers: Numbers::Flags(known.0.into()), valid: known.1.map(Cow::Owned) })
            }
            Self::Not { of } => {
                let (flags, valid) = of.flags(block)?;
                Ok(Values { numbers: Numbers::Flags(flags.iter().map(|flag| 1 - flag).collect()), valid: valid.map(Cow::Owned) })
            }
            Self::Test { what, of } => {
                let found = of.values(block)?;
                let (flags, valid): (Vec<u8>, _) = match (what, &found.numbers) {
                    (Test::Null, _) => (found.valid.map_or_else(|| vec![0; block.count()], |valid| valid.iter().map(|valid| 1 - valid).collect()), None),
                    (Test::Nan, Numbers::Floats(values)) => (values.iter().map(|value| u8::from(value.is_nan())).collect(), found.valid),
                    (Test::Nan, Numbers::Doubles(values)) => (values.iter().map(|value| u8::from(value.is_nan())).collect(), found.valid),
                    (Test::Finite, Numbers::Floats(values)) => (values.iter().map(|value| u8::from(value.is_finite())).collect(), found.valid),
                    (Test::Finite, Numbers::Doubles(values)) => (values.iter().map(|value| u8::from(value.is_finite())).collect(), found.valid),
                    _ => return Err(mismatch()),
                };
                Ok(Values { numbers: Numbers::Flags(flags.into()), valid })
            }
        }
    }

    /// 1 for each element for which it is true: neither false nor null.
    pub(super) fn passed(&self, block: &Block<'_>) -> Result<Vec<u8>> {
        let (mut flags, valid) = self.flags(block)?;
        if let Some(valid) = valid {
            flags.iter_mut().zip(&valid).for_each(|(flag, valid)| *flag &= valid);
        }
        Ok(flags)
    }

    fn flags(&self, block: &Block<'_>) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
        let found = self.values(block)?;
        match found.numbers {
            Numbers::Flags(flags) => Ok((flags.into_owned(), found.valid.map(Cow::into_owned))),
            _ => Err(mismatch()),
        }
    }
}

enum Pair<'a> {
    Floats(Cow<'a, [f32]>, Cow<'a, [f32]>),
    Doubles(Cow<'a, [f64]>, Cow<'a, [f64]>),
    Integers(Cow<'a, [i64]>, Cow<'a, [i64]>),
}

/// Two operands in their common type.
fn pair<'a>(left: Numbers<'a>, right: Numbers<'a>, count: usize) -> Result<Pair<'a>> {
    let doubles = |numbers: Numbers<'a>| match numbers.into_doubles(count)? {
        Numbers::Doubles(values) => Ok(values),
        _ => Err(mismatch()),
    };
    Ok(match (left, right) {
        (Numbers::Floats(left), Numbers::Floats(right)) => Pair::Floats(left, right),
        (Numbers::Floats(left), Numbers::Constant(right)) => Pair::Floats(left, Cow::Owned(vec![right as f32; count])),
        (Numbers::Constant(left), Numbers::Floats(right)) => Pair::Floats(Cow::Owned(vec![left as f32; count]), right),
        (Numbers::Integers(left), Numbers::Integers(right)) => Pair::Integers(left, right),
        (Numbers::Integers(_), _) | (_, Numbers::Integers(_)) => return Err(mismatch()),
        (left, right) => Pair::Doubles(doubles(left)?, doubles(right)?),
    })
}

fn arithmetic<T>(operation: Binary, left: &[T], right: &[T]) -> Vec<T>
where
    T: Copy + std::ops::Add<Output = T> + std::ops::Sub<Output = T> + std::ops::Mul<Output = T> + std::ops::Div<Output = T>,
{
    let pairs = left.iter().zip(right).map(|(left, right)| (*left, *right));
    match operation {
        Binary::Add => pairs.map(|(left, right)| left + right).collect(),
        Binary::Subtract => pairs.map(|(left, right)| left - right).collect(),
        Binary::Multiply => pairs.map(|(left, right)| left * right).collect(),
        Binary::Divide => pairs.map(|(left, right)| left / right).collect(),
    }
}

fn holds(operation: Comparison, order: Ordering) -> bool {
    match operation {
        Comparison::Equal => order.is_eq(),
        Comparison::Unequal => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::AtMost => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::AtLeast => order.is_ge(),
    }
}

/// The order of floats in which NaN equals NaN and is the greatest.
fn compare<T: PartialOrd + Copy>(operation: Comparison, left: &[T], right: &[T]) -> Vec<u8> {
    let is_nan = |value: &T| value.partial_cmp(value).is_none();
    let order = |left: &T, right: &T| left.partial_cmp(right).unwrap_or_else(|| is_nan(left).cmp(&is_nan(right)));
    left.iter().zip(right).map(|(left, right)| u8::from(holds(operation, order(left, right)))).collect()
}

fn compare_constant<T: PartialOrd + Copy>(operation: Comparison, values: &[T], constant: T) -> Vec<u8> {
    if constant.partial_cmp(&constant).is_none() {
        return compare(operation, values, &vec![constant; values.len()]);
    }
    let mut flags = vec![0; values.len()];
    pulp::Arch::new().dispatch(CompareConstant { operation, values, constant, flags: &mut flags });
    flags
}

/// Comparisons with a number, compiled for each supported instruction set.
struct CompareConstant<'a, T> {
    operation: Comparison,
    values: &'a [T],
    constant: T,
    flags: &'a mut [u8],
}

impl<T: PartialOrd + Copy> pulp::NullaryFnOnce for CompareConstant<'_, T> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Self { operation, values, constant, flags } = self;
        let pairs = flags.iter_mut().zip(values);
        // NaN is greater than the constant: the comparisons that it passes are written as the opposite of one that it fails.
        match operation {
            Comparison::Equal => pairs.for_each(|(flag, value)| *flag = u8::from(*value == constant)),
            Comparison::Unequal => pairs.for_each(|(flag, value)| *flag = u8::from(*value != constant)),
            Comparison::Less => pairs.for_each(|(flag, value)| *flag = u8::from(*value < constant)),
            Comparison::AtMost => pairs.for_each(|(flag, value)| *flag = u8::from(*value <= constant)),
            Comparison::Greater => pairs.for_each(|(flag, value)| *flag = 1 - u8::from(*value <= constant)),
            Comparison::AtLeast => pairs.for_each(|(flag, value)| *flag = 1 - u8::from(*value < constant)),
        }
    }
}

type Flags = (Vec<u8>, Option<Vec<u8>>);

/// `and` and `or` of three values: a null decides nothing, unless the other side does.
fn logic(all: bool, left: Flags, right: Flags) -> Flags {
    let decisive = u8::from(!all);
    let is_valid = |valid: &Option<Vec<u8>>, at: usize| valid.as_ref().is_none_or(|valid| valid.get(at) == Some(&1));
    if left.1.is_none() && right.1.is_none() {
        let flags = left.0.iter().zip(&right.0);
        return (if all { flags.map(|(left, right)| left & right).collect() } else { flags.map(|(left, right)| left | right).collect() }, None);
    }
    let (mut flags, mut valid) = (Vec::with_capacity(left.0.len()), Vec::with_capacity(left.0.len()));
    for (at, (one, other)) in left.0.iter().zip(&right.0).enumerate() {
        let (one, other) = ((*one, is_valid(&left.1, at)), (*other, is_valid(&right.1, at)));
        let decided = one == (decisive, true) || other == (decisive, true);
        flags.push(if decided { decisive } else { 1 - decisive });
        valid.push(u8::from(decided || (one.1 && other.1)));
    }
    (flags, Some(valid))
}
