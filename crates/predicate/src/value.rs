//! Value: arithmetic over columns and constants, as written.
//!
//! A value is stored in postfix order, so that long sums need no recursion: binding, evaluation, serialization and dropping
//! are loops.

use hyperslab_array::suggest::suggestion;
use serde::{Deserialize, Serialize};

use super::Literal;
use super::date_part::DatePart;

/// A number that is computed for each row: steps of a stack machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Value(pub(super) Vec<Step>);

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Step {
    /// Pushes the value of a column.
    Column(String),
    /// Pushes a part of the time in a column.
    DatePart(DatePart, String),
    /// Pushes a constant.
    Constant(Literal),
    /// Negates the top of the stack.
    Negate,
    /// Pops two operands (the right one first) and pushes the result.
    Operator(Operator),
    /// Pops the function's arguments (the last one first) and pushes the result.
    Function(Function),
}

/// An operator on two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, always in floating point
    Divide,
    /// `%`, with the sign of the right side
    Remainder,
    /// `**`, `^`
    Power,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
}

/// A function of one or two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Function {
    Abs,
    Sign,
    Floor,
    Ceil,
    Trunc,
    Round,
    Sqrt,
    Cbrt,
    Exp,
    Expm1,
    Ln,
    Log1p,
    Log2,
    Log10,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Degrees,
    Radians,
    /// The fraction of a mantissa and a power of two, as in FastBit.
    Frexp,
    /// The fractional part, as in FastBit.
    Modf,
    Least,
    Greatest,
    Atan2,
    Hypot,
    /// Remainder with the sign of the left side, as in C.
    Fmod,
    /// x · 2ⁿ
    Ldexp,
    /// Rounded to a number of decimals.
    Round2,
    Pow,
}

/// Functions by name. A function may have several names.
const FUNCTIONS: [(&str, Function); 48] = [
    ("abs", Function::Abs),
    ("fabs", Function::Abs),
    ("sign", Function::Sign),
    ("floor", Function::Floor),
    ("ceil", Function::Ceil),
    ("trunc", Function::Trunc),
    ("round", Function::Round),
    ("sqrt", Function::Sqrt),
    ("cbrt", Function::Cbrt),
    ("exp", Function::Exp),
    ("expm1", Function::Expm1),
    ("ln", Function::Ln),
    ("log", Function::Ln),
    ("log1p", Function::Log1p),
    ("log2", Function::Log2),
    ("log10", Function::Log10),
    ("sin", Function::Sin),
    ("cos", Function::Cos),
    ("tan", Function::Tan),
    ("asin", Function::Asin),
    ("arcsin", Function::Asin),
    ("acos", Function::Acos),
    ("arccos", Function::Acos),
    ("atan", Function::Atan),
    ("arctan", Function::Atan),
    ("sinh", Function::Sinh),
    ("cosh", Function::Cosh),
    ("tanh", Function::Tanh),
    ("asinh", Function::Asinh),
    ("acosh", Function::Acosh),
    ("atanh", Function::Atanh),
    ("degrees", Function::Degrees),
    ("radians", Function::Radians),
    ("frexp", Function::Frexp),
    ("modf", Function::Modf),
    ("min", Function::Least),
    ("least", Function::Least),
    ("minimum", Function::Least),
    ("max", Function::Greatest),
    ("greatest", Function::Greatest),
    ("maximum", Function::Greatest),
    ("atan2", Function::Atan2),
    ("arctan2", Function::Atan2),
    ("hypot", Function::Hypot),
    ("fmod", Function::Fmod),
    ("ldexp", Function::Ldexp),
    ("round2", Function::Round2),
    ("pow", Function::Pow),
];

impl Function {
    /// The function called `name`, in any case.
    pub fn named(name: &str) -> Option<Self> {
        FUNCTIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, function)| *function)
    }
    /// `; nearest: …` with the names most similar to `name`.
    pub fn nearest(name: &str) -> String {
        suggestion(name, FUNCTIONS.iter().map(|(known, _)| *known), 4)
    }
    /// Number of arguments.
    pub fn arity(self) -> usize {
        match self {
            Self::Least | Self::Greatest | Self::Atan2 | Self::Hypot | Self::Fmod | Self::Ldexp | Self::Round2 | Self::Pow => 2,
            _ => 1,
        }
    }
}

impl Value {
    pub(super) fn column(name: String) -> Self {
        Self(vec![Step::Column(name)])
    }
    pub(super) fn date_part(part: DatePart, column: String) -> Self {
        Self(vec![Step::DatePart(part, column)])
    }
    pub(super) fn constant(literal: Literal) -> Self {
        Self(vec![Step::Constant(literal)])
    }
    /// The name, if the value is just a column.
    pub(super) fn as_column(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Step::Column(name)] => Some(name),
            _ => None,
        }
    }
    /// The name, if the value is the magnitude of a column.
    pub(super) fn as_magnitude(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Step::Column(name), Step::Function(Function::Abs)] => Some(name),
            _ => None,
        }
    }
    /// The constant, if the value is one.
    pub(super) fn as_constant(&self) -> Option<&Literal> {
        match self.0.as_slice() {
            [Step::Constant(literal)] => Some(literal),
            _ => None,
        }
    }
    /// Names of the columns used.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|step| match step {
            Step::Column(name) | Step::DatePart(_, name) => Some(name.as_str()),
            _ => None,
        })
    }
    /// This value followed by `step`.
    pub(super) fn then(mut self, step: Step) -> Self {
        self.0.push(step);
        self
    }
    /// Two values combined by an operator or function.
    pub(super) fn with(mut self, other: Self, step: Step) -> Self {
        self.0.extend(other.0);
        self.then(step)
    }
}
