//! Computes arithmetic over the columns of a batch, a block of rows at a time, so that intermediate results stay in the
//! cache.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer};
use arrow_schema::DataType;
use hyperslab_array::{Error, Result};

use super::Comparison;
use super::column::column;
use super::constant::{Constant, float, floored_remainder};
use super::number::{BoundStep, Kind, Number, compared_exactly, unbalanced};
use super::value::{Function, Operator};
use super::value_test::Test;

/// Rows computed at a time.
const BLOCK: usize = 2048;

/// The numbers of a block of rows, or one number for all of them.
enum Numbers {
    Short(Vec<i64>),
    Long(Vec<i128>),
    Float(Vec<f64>),
}

/// Which rows pass a test of a computed number.
pub(super) fn tested(number: &Number, test: &Test, batch: &RecordBatch) -> Result<BooleanArray> {
    let machine = Machine::new(number, batch)?;
    let mask = in_blocks(batch.num_rows(), |start, rows| {
        let numbers = machine.run(start, rows)?;
        Ok(match (test, &numbers) {
            (Test::Between { low, high }, Numbers::Short(values)) => mask(values, rows, |value| (*low..=*high).contains(&value.into())),
            (Test::Between { low, high }, Numbers::Long(values)) => mask(values, rows, |value| (*low..=*high).contains(&value)),
            (Test::Outside { low, high }, Numbers::Short(values)) => mask(values, rows, |value| !(*low..=*high).contains(&value.into())),
            (Test::Outside { low, high }, Numbers::Long(values)) => mask(values, rows, |value| !(*low..=*high).contains(&value)),
            (Test::Float(comparison, literal), Numbers::Float(values)) => mask(values, rows, |value| comparison.holds(value.partial_cmp(literal))),
            _ => return Err(Error::internal("a test of another kind of number")),
        })
    })?;
    Ok(BooleanArray::new(mask, machine.nulls))
}

/// In which rows the comparison of two computed numbers holds.
pub(super) fn compared(left: &Number, comparison: Comparison, right: &Number, batch: &RecordBatch) -> Result<BooleanArray> {
    let (left, right) = (Machine::new(left, batch)?, Machine::new(right, batch)?);
    let holds = |order| comparison.holds(order);
    let mask = in_blocks(batch.num_rows(), |start, rows| {
        let (a, b) = (left.run(start, rows)?, right.run(start, rows)?);
        let found = match (&a, &b) {
            (Numbers::Float(a), Numbers::Float(b)) => zip(a, b, |a, b| holds(a.partial_cmp(&b))),
            (Numbers::Float(a), b) => zip(a, &b.long(), |a, b| holds(compared_exactly(b, a).map(std::cmp::Ordering::reverse))),
            (a, Numbers::Float(b)) => zip(&a.long(), b, |a, b| holds(compared_exactly(a, b))),
            (Numbers::Short(a), Numbers::Short(b)) => zip(a, b, |a, b| holds(Some(a.cmp(&b)))),
            (a, b) => zip(&a.long(), &b.long(), |a, b| holds(Some(a.cmp(&b)))),
        };
        Ok(mask(&found, rows, |found| found))
    })?;
    Ok(BooleanArray::new(mask, NullBuffer::union(left.nulls.as_ref(), right.nulls.as_ref())))
}

fn in_blocks(rows: usize, mut block: impl FnMut(usize, usize) -> Result<BooleanBuffer>) -> Result<BooleanBuffer> {
    let mut mask = BooleanBufferBuilder::new(rows);
    for start in (0..rows).step_by(BLOCK) {
        mask.append_buffer(&block(start, BLOCK.min(rows - start))?);
    }
    Ok(mask.finish())
}

fn mask<T: Copy>(values: &[T], rows: usize, test: impl Fn(T) -> bool) -> BooleanBuffer {
    match values {
        // One value stands for every row.
        [one] => {
            if test(*one) {
                BooleanBuffer::new_set(rows)
            } else {
                BooleanBuffer::new_unset(rows)
            }
        }
        values => super::bits::bits(values, test),
    }
}

/// Applies `with` to each pair; a side with one value has it in every row.
fn zip<A: Copy, B: Copy, O>(left: &[A], right: &[B], with: impl Fn(A, B) -> O) -> Vec<O> {
    match (left, right) {
        ([a], right) => right.iter().map(|b| with(*a, *b)).collect(),
        (left, [b]) => left.iter().map(|a| with(*a, *b)).collect(),
        (left, right) => left.iter().zip(right).map(|(a, b)| with(*a, *b)).collect(),
    }
}

impl Numbers {
    fn long(&self) -> Vec<i128> {
        match self {
            Self::Short(values) => values.iter().map(|value| i128::from(*value)).collect(),
            Self::Long(values) => values.clone(),
            Self::Float(_) => Vec::new(),
        }
    }
    fn float(self) -> Vec<f64> {
        match self {
            Self::Short(values) => values.into_iter().map(|value| value as f64).collect(),
            Self::Long(values) => values.into_iter().map(|value| value as f64).collect(),
            Self::Float(values) => values,
        }
    }
    /// Integers in 64 bits if their kind fits, else in 128. The bounds of the kind guarantee that no bits are lost.
    fn of_long(values: Vec<i128>, kind: Kind) -> Self {
        if kind.is_short() { Self::Short(values.into_iter().map(|value| value as i64).collect()) } else { Self::Long(values) }
    }
}

/// A computed number and the columns of a batch that it uses.
struct Machine<'a> {
    number: &'a Number,
    /// Numbers for each step that reads a column, in their order.
    columns: Vec<ArrayRef>,
    /// Where any of the columns is null.
    nulls: Option<NullBuffer>,
}

impl<'a> Machine<'a> {
    fn new(number: &'a Number, batch: &RecordBatch) -> Result<Self> {
        let mut columns = Vec::new();
        let mut nulls = None;
        for typed in number.steps() {
            let (values, missing) = match &typed.step {
                BoundStep::Column(path) => column(batch, path)?,
                BoundStep::DatePart(part, times, path) => {
                    let (values, missing) = column(batch, path)?;
                    let parts = part.of(*times, &values)?;
                    let missing = NullBuffer::union(missing.as_ref(), parts.logical_nulls().as_ref());
                    (parts, missing)
                }
                _ => continue,
            };
            nulls = NullBuffer::union(nulls.as_ref(), missing.as_ref());
            columns.push(values);
        }
        Ok(Self { number, columns, nulls })
    }

    fn run(&self, start: usize, rows: usize) -> Result<Numbers> {
        let mut stack: Vec<Numbers> = Vec::new();
        let mut columns = self.columns.iter();
        for typed in self.number.steps() {
            let made = match &typed.step {
                BoundStep::Column(_) | BoundStep::DatePart(..) => {
                    let values = columns.next().ok_or_else(unbalanced)?;
                    loaded(&values.slice(start, rows), typed.kind)?
                }
                BoundStep::Constant(Constant::Integer(integer)) => Numbers::of_long(vec![*integer], typed.kind),
                BoundStep::Constant(Constant::Float(float)) => Numbers::Float(vec![*float]),
                BoundStep::Negate => negated(taken(&mut stack)?, typed.kind),
                BoundStep::Operator(operator) => {
                    let (right, left) = (taken(&mut stack)?, taken(&mut stack)?);
                    operated(left, *operator, right, typed.kind)
                }
                BoundStep::Function(function) => {
                    let last = taken(&mut stack)?;
                    match function.arity() {
                        1 => of_one(*function, last, typed.kind),
                        _ => of_two(*function, taken(&mut stack)?, last, typed.kind),
                    }
                }
            };
            stack.push(made);
        }
        taken(&mut stack)
    }
}

fn taken(stack: &mut Vec<Numbers>) -> Result<Numbers> {
    stack.pop().ok_or_else(unbalanced)
}

fn loaded(array: &ArrayRef, kind: Kind) -> Result<Numbers> {
    fn short<T: ArrowPrimitiveType>(array: &ArrayRef) -> Numbers
    where
        T::Native: Into<i64>,
    {
        Numbers::Short(array.as_primitive::<T>().values().iter().map(|value| (*value).into()).collect())
    }
    fn float<T: ArrowPrimitiveType>(array: &ArrayRef) -> Numbers
    where
        T::Native: Into<f64>,
    {
        Numbers::Float(array.as_primitive::<T>().values().iter().map(|value| (*value).into()).collect())
    }
    let loaded = match array.data_type() {
        DataType::Boolean => Numbers::Short(array.as_boolean().values().iter().map(i64::from).collect()),
        DataType::Int8 => short::<Int8Type>(array),
        DataType::Int16 => short::<Int16Type>(array),
        DataType::Int32 => short::<Int32Type>(array),
        DataType::Int64 => short::<Int64Type>(array),
        DataType::UInt8 => short::<UInt8Type>(array),
        DataType::UInt16 => short::<UInt16Type>(array),
        DataType::UInt32 => short::<UInt32Type>(array),
        DataType::UInt64 => Numbers::Long(array.as_primitive::<UInt64Type>().values().iter().map(|value| i128::from(*value)).collect()),
        DataType::Float16 => float::<Float16Type>(array),
        DataType::Float32 => float::<Float32Type>(array),
        DataType::Float64 => float::<Float64Type>(array),
        other => return Err(Error::internal(format!("a number that is {other}"))),
    };
    match (&loaded, kind) {
        (Numbers::Float(_), Kind::Float) | (Numbers::Short(_) | Numbers::Long(_), Kind::Integer { .. }) => Ok(loaded),
        _ => Err(Error::internal("a number of another type than was bound")),
    }
}

fn negated(number: Numbers, kind: Kind) -> Numbers {
    match (number, kind) {
        (Numbers::Short(values), kind) if kind.is_short() => Numbers::Short(values.into_iter().map(i64::wrapping_neg).collect()),
        (number, Kind::Float) => Numbers::Float(number.float().into_iter().map(|value| -value).collect()),
        (number, kind) => Numbers::of_long(number.long().into_iter().map(i128::wrapping_neg).collect(), kind),
    }
}

/// Applies an operator. The kind's bounds contain every integer result, so wrapping never happens.
fn operated(left: Numbers, operator: Operator, right: Numbers, kind: Kind) -> Numbers {
    if kind == Kind::Float {
        return Numbers::Float(zip(&left.float(), &right.float(), |a, b| float(a, operator, b)));
    }
    if let (Numbers::Short(a), Numbers::Short(b), true) = (&left, &right, kind.is_short()) {
        match operator {
            Operator::Add => return Numbers::Short(zip(a, b, i64::wrapping_add)),
            Operator::Subtract => return Numbers::Short(zip(a, b, i64::wrapping_sub)),
            Operator::Multiply => return Numbers::Short(zip(a, b, i64::wrapping_mul)),
            Operator::BitAnd => return Numbers::Short(zip(a, b, |a, b| a & b)),
            Operator::BitOr => return Numbers::Short(zip(a, b, |a, b| a | b)),
            _ => {}
        }
    }
    let values = zip(&left.long(), &right.long(), |a, b| match operator {
        Operator::Add => a.wrapping_add(b),
        Operator::Subtract => a.wrapping_sub(b),
        Operator::Multiply => a.wrapping_mul(b),
        Operator::BitAnd => a & b,
        Operator::BitOr => a | b,
        Operator::Remainder => floored_remainder(a, b).unwrap_or(0),
        Operator::Power => a.wrapping_pow(u32::try_from(b).unwrap_or(0)),
        Operator::Divide => 0,
    });
    Numbers::of_long(values, kind)
}

fn of_one(function: Function, number: Numbers, kind: Kind) -> Numbers {
    match (kind, function) {
        (Kind::Integer { .. }, Function::Abs) => Numbers::of_long(number.long().into_iter().map(i128::wrapping_abs).collect(), kind),
        (Kind::Integer { .. }, Function::Sign) => Numbers::of_long(number.long().into_iter().map(i128::signum).collect(), kind),
        // Rounding leaves integers as they are.
        (Kind::Integer { .. }, _) => number,
        (Kind::Float, function) => Numbers::Float(number.float().into_iter().map(|value| of_float(function, value)).collect()),
    }
}

fn of_two(function: Function, left: Numbers, right: Numbers, kind: Kind) -> Numbers {
    match (kind, function) {
        (Kind::Integer { .. }, Function::Greatest) => Numbers::of_long(zip(&left.long(), &right.long(), i128::max), kind),
        (Kind::Integer { .. }, _) => Numbers::of_long(zip(&left.long(), &right.long(), i128::min), kind),
        (Kind::Float, function) => Numbers::Float(zip(&left.float(), &right.float(), |a, b| of_floats(function, a, b))),
    }
}

fn of_float(function: Function, x: f64) -> f64 {
    match function {
        Function::Abs => x.abs(),
        Function::Sign if x == 0.0 || x.is_nan() => x,
        Function::Sign => 1f64.copysign(x),
        Function::Floor => x.floor(),
        Function::Ceil => x.ceil(),
        Function::Trunc => x.trunc(),
        Function::Round => x.round_ties_even(),
        Function::Sqrt => x.sqrt(),
        Function::Cbrt => x.cbrt(),
        Function::Exp => x.exp(),
        Function::Expm1 => x.exp_m1(),
        Function::Ln => x.ln(),
        Function::Log1p => x.ln_1p(),
        Function::Log2 => x.log2(),
        Function::Log10 => x.log10(),
        Function::Sin => x.sin(),
        Function::Cos => x.cos(),
        Function::Tan => x.tan(),
        Function::Asin => x.asin(),
        Function::Acos => x.acos(),
        Function::Atan => x.atan(),
        Function::Sinh => x.sinh(),
        Function::Cosh => x.cosh(),
        Function::Tanh => x.tanh(),
        Function::Asinh => x.asinh(),
        Function::Acosh => x.acosh(),
        Function::Atanh => x.atanh(),
        Function::Degrees => x.to_degrees(),
        Function::Radians => x.to_radians(),
        Function::Frexp => fraction(x),
        Function::Modf => {
            if x.is_infinite() {
                0f64.copysign(x)
            } else {
                (x - x.trunc()).copysign(x)
            }
        }
        _ => f64::NAN,
    }
}

/// The part in 0.5 … 1 of a number that is written as such a part times a power of two.
fn fraction(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    // Numbers too small for a full mantissa get one first.
    let x = if x.abs() < f64::MIN_POSITIVE { x * 2f64.powi(54) } else { x };
    f64::from_bits((x.to_bits() & (MANTISSA | 1 << 63)) | 1022 << 52)
}

fn of_floats(function: Function, a: f64, b: f64) -> f64 {
    match function {
        Function::Least | Function::Greatest if a.is_nan() || b.is_nan() => f64::NAN,
        Function::Least => a.min(b),
        Function::Greatest => a.max(b),
        Function::Atan2 => a.atan2(b),
        Function::Hypot => a.hypot(b),
        Function::Fmod => a % b,
        Function::Ldexp => {
            // In three steps, so that neither end of the exponents is passed on the way.
            let exponent = if b.is_nan() { return f64::NAN } else { b.trunc().clamp(-2200.0, 2200.0) as i32 };
            let (first, second) = (exponent / 3, exponent - 2 * (exponent / 3));
            a * 2f64.powi(first) * 2f64.powi(first) * 2f64.powi(second)
        }
        Function::Round2 => {
            let scale = 10f64.powi(if b.is_nan() { return f64::NAN } else { b.trunc().clamp(-300.0, 300.0) as i32 });
            (a * scale).round_ties_even() / scale
        }
        _ => f64::NAN,
    }
}
