//! Aggregates over the matching rows, without returning batches. Windows are aggregated in parallel and combined in row
//! order, so that sums of floats do not depend on the number of threads.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::DataType;
use hyperslab_array::{Cancellation, Error, Result};
use rayon::prelude::*;

use crate::bins::counter::BinCounter;
use crate::bins::intervals::Bins;
use crate::bins::number_types::is_countable;
use crate::plan::Plan;

macro_rules! for_number {
    ($array:expr, $integer:ident, $float:ident) => {
        match $array.data_type() {
            DataType::Int8 => $integer::<Int8Type>($array),
            DataType::Int16 => $integer::<Int16Type>($array),
            DataType::Int32 => $integer::<Int32Type>($array),
            DataType::Int64 => $integer::<Int64Type>($array),
            DataType::UInt8 => $integer::<UInt8Type>($array),
            DataType::UInt16 => $integer::<UInt16Type>($array),
            DataType::UInt32 => $integer::<UInt32Type>($array),
            DataType::UInt64 => $integer::<UInt64Type>($array),
            DataType::Float16 => $float::<Float16Type>($array),
            DataType::Float32 => $float::<Float32Type>($array),
            DataType::Float64 => $float::<Float64Type>($array),
            other => Err(Error::unsupported(format!("sums and extremes of {other}: only integers and floats have them"))),
        }
    };
}

/// Count, extremes and sum of a column. Nulls and NaN are counted separately and otherwise ignored.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Values that are neither null nor NaN.
    pub count: u64,
    /// Rows whose value is null.
    pub nulls: u64,
    /// Rows whose value is not a number.
    pub nans: u64,
    /// Extremes and sum; `None` without values.
    pub extremes: Option<Extremes>,
}

/// Minimum, maximum and sum, in a type that can hold them.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "callers convert each kind of number in a way of its own")]
pub enum Extremes {
    /// Exact results for integers.
    Integer {
        /// Minimum.
        minimum: i128,
        /// Maximum.
        maximum: i128,
        /// Sum.
        sum: i128,
    },
    /// Results for floats, summed in double precision.
    Float {
        /// Minimum.
        minimum: f64,
        /// Maximum.
        maximum: f64,
        /// Sum.
        sum: f64,
    },
}

/// How NaN is treated, and how wide a sum of integers is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// As numpy's `nanmin`, `nanmax` and `nansum`: NaN is ignored, sums of integers are exact.
    Numpy,
    /// As Spark: NaN is greater than every number and makes a sum NaN; a sum of integers that overflows 64 bits wraps around
    /// or is `InvalidInput`.
    Spark {
        /// Whether it wraps around (Spark without ANSI).
        wraps: bool,
    },
}

/// A result in a type that can hold it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "callers convert each kind of number in a way of its own")]
pub enum Number {
    /// The result for a column of integers.
    Integer(i128),
    /// The result for a column of floats.
    Float(f64),
}

impl Summary {
    /// The summary of an array of integers or floats.
    ///
    /// # Errors
    /// `Unsupported` for other types.
    pub fn of(array: &ArrayRef) -> Result<Self> {
        for_number!(array, integers, floats)
    }

    /// NaN if it is the result by Spark's rule: it is greater than every number (`wins`), or there are no numbers.
    fn nan(&self, rule: Rule, wins: bool) -> Option<Number> {
        let is_result = rule != Rule::Numpy && self.nans > 0 && (wins || self.count == 0);
        is_result.then_some(Number::Float(f64::NAN))
    }

    /// The minimum; `None` without values.
    pub fn minimum(&self, rule: Rule) -> Option<Number> {
        self.nan(rule, false).or_else(|| {
            self.extremes.map(|extremes| match extremes {
                Extremes::Integer { minimum, .. } => Number::Integer(minimum),
                Extremes::Float { minimum, .. } => Number::Float(minimum),
            })
        })
    }

    /// The maximum; `None` without values.
    pub fn maximum(&self, rule: Rule) -> Option<Number> {
        self.nan(rule, true).or_else(|| {
            self.extremes.map(|extremes| match extremes {
                Extremes::Integer { maximum, .. } => Number::Integer(maximum),
                Extremes::Float { maximum, .. } => Number::Float(maximum),
            })
        })
    }

    /// The sum; `None` without values.
    ///
    /// # Errors
    /// `InvalidInput` for a sum that overflows 64 bits, if `rule` does not wrap around.
    pub fn sum(&self, rule: Rule) -> Result<Option<Number>> {
        if let Some(nan) = self.nan(rule, true) {
            return Ok(Some(nan));
        }
        match (self.extremes, rule) {
            (None, _) => Ok(None),
            (Some(Extremes::Float { sum, .. }), _) => Ok(Some(Number::Float(sum))),
            (Some(Extremes::Integer { sum, .. }), Rule::Numpy) => Ok(Some(Number::Integer(sum))),
            (Some(Extremes::Integer { sum, .. }), Rule::Spark { wraps }) => match i64::try_from(sum) {
                Ok(sum) => Ok(Some(Number::Integer(sum.into()))),
                Err(_) if wraps => Ok(Some(Number::Integer(lowest_64_bits(sum).into()))),
                Err(_) => Err(Error::invalid_input("a sum of integers overflows 64 bits (ARITHMETIC_OVERFLOW)")),
            },
        }
    }

    /// Combines two summaries, `self` before `other`.
    ///
    /// # Errors
    /// `LimitExceeded` for a sum of integers that exceeds 128 bits; `Internal` for summaries of different types.
    pub fn and(self, other: Self) -> Result<Self> {
        let extremes = match (self.extremes, other.extremes) {
            (Some(Extremes::Integer { minimum, maximum, sum }), Some(Extremes::Integer { minimum: low, maximum: high, sum: more })) => {
                let sum = sum.checked_add(more).ok_or_else(|| Error::limit_exceeded("a sum of integers overflows 128 bits"))?;
                Some(Extremes::Integer { minimum: minimum.min(low), maximum: maximum.max(high), sum })
            }
            (Some(Extremes::Float { minimum, maximum, sum }), Some(Extremes::Float { minimum: low, maximum: high, sum: more })) => {
                Some(Extremes::Float { minimum: minimum.min(low), maximum: maximum.max(high), sum: sum + more })
            }
            (one, None) => one,
            (None, other) => other,
            _ => return Err(Error::internal("a column of two types")),
        };
        Ok(Self { count: self.count + other.count, nulls: self.nulls + other.nulls, nans: self.nans + other.nans, extremes })
    }
}

impl Plan {
    /// Count, extremes and sum of a column over the matching rows.
    ///
    /// # Errors
    /// `NotFound` for an unknown column; `Unsupported` if it does not hold integers or floats. `Io`, `Corrupt`,
    /// `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
    pub fn summary(&self, column: &str, cancellation: &Cancellation) -> Result<Summary> {
        self.over_windows(column, cancellation, Summary::of)?.into_iter().try_fold(Summary::default(), Summary::and)
    }

    /// Number of values in each bin: `edges[i] <= value < edges[i + 1]`, as in numpy; the last bin includes its upper edge.
    /// Nulls, NaN and values outside are not counted.
    ///
    /// # Errors
    /// `InvalidInput` for edges that do not increase; `NotFound` for an unknown column; `Unsupported` if it does not
    /// hold integers or floats. `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read;
    /// `Cancelled`.
    pub fn histogram(&self, column: &str, edges: &[f64], cancellation: &Cancellation) -> Result<Vec<u64>> {
        let bins = Bins::new(edges.to_vec())?;
        let mut total = vec![0; bins.count()];
        for counts in self.over_windows(column, cancellation, |array| counted(array, &bins))? {
            for (sum, count) in total.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        Ok(total)
    }

    /// The results of `work` for the column in each window, in row order.
    fn over_windows<T: Send>(&self, column: &str, cancellation: &Cancellation, work: impl Fn(&ArrayRef) -> Result<T> + Sync) -> Result<Vec<T>> {
        let of = |batch: &RecordBatch| {
            let array = batch.column_by_name(column);
            work(array.ok_or_else(|| Error::not_found(format!("the plan has no column {column:?}")))?)
        };
        if self.request.limit.is_some() {
            let mut batches = self.batches(cancellation)?;
            return std::iter::from_fn(|| batches.next_batch()).map(|batch| of(&batch?)).collect();
        }
        let windows = self.all_windows()?;
        self.session.compute(|| windows.par_iter().map(|(part, rows)| of(&part.read(*rows, self.schema(), cancellation)?)).collect())
    }
}

fn lowest_64_bits(sum: i128) -> i64 {
    let [a, b, c, d, e, f, g, h, ..] = sum.to_le_bytes();
    i64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// The values that are not null.
fn valid<T: ArrowPrimitiveType>(array: &ArrayRef) -> impl Iterator<Item = T::Native> + '_ {
    let array = array.as_primitive::<T>();
    array.values().iter().enumerate().filter(|(row, _)| array.is_valid(*row)).map(|(_, value)| *value)
}

fn integers<T: ArrowPrimitiveType>(array: &ArrayRef) -> Result<Summary>
where
    T::Native: Into<i128> + Ord,
{
    let nulls = array.null_count() as u64;
    let count = array.len() as u64 - nulls;
    let (mut minimum, mut maximum, mut sum) = (None, None, 0i128);
    let mut add = |value: T::Native| {
        minimum = Some(minimum.map_or(value, |least: T::Native| least.min(value)));
        maximum = Some(maximum.map_or(value, |most: T::Native| most.max(value)));
        sum += value.into();
    };
    match nulls {
        0 => array.as_primitive::<T>().values().iter().for_each(|value| add(*value)),
        _ => valid::<T>(array).for_each(add),
    }
    let extremes = minimum.zip(maximum).map(|(minimum, maximum)| Extremes::Integer { minimum: minimum.into(), maximum: maximum.into(), sum });
    Ok(Summary { count, nulls, nans: 0, extremes })
}

/// Number of independent partial results, so that the compiler can vectorize the loops.
const LANES: usize = 8;

/// Values that are summed before they are compared: few enough to stay in the processor's first cache. A multiple of `LANES`.
const PASS_VALUES: usize = 4096;

/// Partial results of floats: the value at position `i` belongs to lane `i % LANES`.
#[derive(Clone, Copy)]
struct Lanes {
    least: [f64; LANES],
    most: [f64; LANES],
    sums: [f64; LANES],
    nans: u64,
}

impl Lanes {
    fn new() -> Self {
        Self { least: [f64::INFINITY; LANES], most: [f64::NEG_INFINITY; LANES], sums: [0.0; LANES], nans: 0 }
    }

    /// Adds up to `PASS_VALUES` values. The first one belongs to the first lane.
    fn add<V: Copy + Into<f64>>(&mut self, values: &[V]) {
        let (blocks, rest) = values.as_chunks::<LANES>();
        let mut sums = self.sums;
        let mut sum_up = |block: &[V]| sums.iter_mut().zip(block).for_each(|(sum, value)| *sum += (*value).into());
        blocks.iter().for_each(|block| sum_up(block));
        sum_up(rest);
        if sums.iter().any(|sum| sum.is_nan()) {
            // NaN is left out, or there are infinities of both signs.
            values.chunks(LANES).for_each(|block| self.add_numbers(block));
        } else {
            self.sums = sums;
        }
        let (mut least, mut most) = (self.least, self.most);
        let mut compare = |block: &[V]| {
            for ((least, most), value) in least.iter_mut().zip(&mut most).zip(block) {
                let value = (*value).into();
                // False for NaN.
                *least = if value < *least { value } else { *least };
                *most = if value > *most { value } else { *most };
            }
        };
        blocks.iter().for_each(|block| compare(block));
        compare(rest);
        (self.least, self.most) = (least, most);
    }

    fn add_numbers<V: Copy + Into<f64>>(&mut self, block: &[V]) {
        for (sum, value) in self.sums.iter_mut().zip(block) {
            let value = (*value).into();
            *sum += if value.is_nan() { 0.0 } else { value };
            self.nans += u64::from(value.is_nan());
        }
    }
}

fn floats<T: ArrowPrimitiveType>(array: &ArrayRef) -> Result<Summary>
where
    T::Native: Into<f64>,
{
    let nulls = array.null_count() as u64;
    let mut lanes = Lanes::new();
    if nulls == 0 {
        array.as_primitive::<T>().values().chunks(PASS_VALUES).for_each(|values| lanes.add(values));
    } else {
        let mut values = valid::<T>(array);
        loop {
            let pass: Vec<T::Native> = values.by_ref().take(PASS_VALUES).collect();
            if pass.is_empty() {
                break;
            }
            lanes.add(&pass);
        }
    }
    let count = array.len() as u64 - nulls - lanes.nans;
    let extremes = (count > 0).then(|| Extremes::Float {
        minimum: lanes.least.into_iter().fold(f64::INFINITY, f64::min),
        maximum: lanes.most.into_iter().fold(f64::NEG_INFINITY, f64::max),
        sum: lanes.sums.iter().sum(),
    });
    Ok(Summary { count, nulls, nans: lanes.nans, extremes })
}

/// The counts of one array's values.
fn counted(array: &ArrayRef, bins: &Bins) -> Result<Vec<u64>> {
    let unsupported = || Error::unsupported(format!("histograms of {}: only integers and floats have bins", array.data_type()));
    let numbers = match array.data_type() {
        known if is_countable(known) => array.clone(),
        DataType::Float16 => Arc::new(array.as_primitive::<Float16Type>().unary::<_, Float64Type>(f64::from)),
        _ => return Err(unsupported()),
    };
    let numbers = match numbers.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
        Some(nulls) => {
            let valid = BooleanArray::new(nulls.into_inner(), None);
            arrow_select::filter::filter(&numbers, &valid).map_err(|error| Error::internal(error.to_string()))?
        }
        None => numbers,
    };
    let data = numbers.to_data();
    let width = data.data_type().primitive_width().ok_or_else(unsupported)?;
    let bytes = data.buffers().first().and_then(|buffer| buffer.as_slice().get(data.offset() * width..(data.offset() + data.len()) * width));
    let mut counter = BinCounter::new(bins);
    match counter.add(data.data_type(), bytes.ok_or_else(|| Error::internal("a column without values"))?) {
        true => Ok(counter.finish()),
        false => Err(unsupported()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Float32Array, Int64Array};

    const SPARK: Rule = Rule::Spark { wraps: false };

    fn of(values: Vec<Option<f32>>) -> Result<Summary> {
        Summary::of(&(Arc::new(Float32Array::from(values)) as ArrayRef))
    }

    fn is_nan(number: Option<Number>) -> bool {
        matches!(number, Some(Number::Float(value)) if value.is_nan())
    }

    #[test]
    fn nan_is_left_out_as_in_numpy_and_above_every_number_as_in_spark() -> Result<()> {
        for nan in [f32::NAN, -f32::NAN] {
            let mixed = of(vec![Some(1.0), Some(nan), None, Some(f32::INFINITY), Some(-2.0)])?;
            assert_eq!(mixed.minimum(SPARK), Some(Number::Float(-2.0)));
            assert!(is_nan(mixed.maximum(SPARK)) && is_nan(mixed.sum(SPARK)?));
            assert_eq!((mixed.minimum(Rule::Numpy), mixed.maximum(Rule::Numpy)), (Some(Number::Float(-2.0)), Some(Number::Float(f64::INFINITY))));
            let alone = of(vec![Some(nan), None])?;
            assert!(is_nan(alone.minimum(SPARK)) && is_nan(alone.maximum(SPARK)) && is_nan(alone.sum(SPARK)?));
            assert_eq!((alone.minimum(Rule::Numpy), alone.sum(Rule::Numpy)?), (None, None));
        }
        assert_eq!((of(vec![None])?.minimum(SPARK), of(vec![])?.sum(SPARK)?), (None, None));
        Ok(())
    }

    /// Value by value, in the same lanes.
    fn naive(values: &[Option<f32>]) -> Summary {
        let mut sums = [0.0; LANES];
        let numbers: Vec<f64> = values.iter().flatten().map(|value| f64::from(*value)).collect();
        for (row, value) in numbers.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            sums[row % LANES] += value;
        }
        let nans = numbers.iter().filter(|value| value.is_nan()).count() as u64;
        let count = numbers.len() as u64 - nans;
        let extremes = (count > 0).then(|| Extremes::Float {
            minimum: numbers.iter().copied().fold(f64::INFINITY, f64::min),
            maximum: numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            sum: sums.iter().sum(),
        });
        Summary { count, nulls: values.iter().filter(|value| value.is_none()).count() as u64, nans, extremes }
    }

    #[test]
    fn floats_are_as_one_by_one_to_the_bit() -> Result<()> {
        let specials = [Some(f32::NAN), Some(f32::INFINITY), Some(f32::NEG_INFINITY), None, Some(-0.0)];
        for rows in [0usize, 1, 7, 8, 9, PASS_VALUES - 1, PASS_VALUES, PASS_VALUES + 3, 3 * PASS_VALUES + 5] {
            // No special value, then each alone, then all of them, at places in the first pass, the last one, and between.
            for kinds in 0..=specials.len() + 1 {
                let mut values: Vec<Option<f32>> = (0..rows).map(|row| Some(((row * 2_654_435) % 10_007) as f32 / 7.0 - 300.0)).collect();
                for (at, special) in specials.iter().enumerate().filter(|(at, _)| kinds == at + 1 || kinds > specials.len()) {
                    for row in [at, rows / 2 + at, rows.saturating_sub(at + 1)] {
                        if let Some(value) = values.get_mut(row) {
                            *value = *special;
                        }
                    }
                }
                let (found, expected) = (of(values.clone())?, naive(&values));
                assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{rows} rows, {kinds}");
            }
        }
        Ok(())
    }

    #[test]
    fn a_sum_beyond_64_bits_is_exact_wraps_or_is_an_error() -> Result<()> {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, 1]));
        let summary = Summary::of(&column)?;
        assert_eq!(summary.sum(Rule::Numpy)?, Some(Number::Integer(1 << 63)));
        assert_eq!(summary.sum(Rule::Spark { wraps: true })?, Some(Number::Integer(i64::MIN.into())));
        assert!(summary.sum(SPARK).is_err());
        let back = Summary::of(&(Arc::new(Int64Array::from(vec![-1])) as ArrayRef))?;
        assert_eq!(summary.and(back)?.sum(SPARK)?, Some(Number::Integer(i64::MAX.into())));
        Ok(())
    }

    #[test]
    fn a_column_of_two_types_is_internal() -> Result<()> {
        let integers = Summary::of(&(Arc::new(Int64Array::from(vec![1])) as ArrayRef))?;
        let both = integers.and(of(vec![Some(1.0)])?);
        assert!(both.is_err_and(|error| error.kind() == hyperslab_array::ErrorKind::Internal));
        Ok(())
    }

    #[test]
    fn histograms_leave_out_nulls_and_count_half_precision() -> Result<()> {
        let bins = Bins::new(vec![0.0, 1.0, 2.0])?;
        let column: ArrayRef = Arc::new(Float32Array::from(vec![Some(9.0), Some(0.5), None, Some(2.0), Some(f32::NAN), Some(-1.0)]));
        assert_eq!(counted(&column, &bins)?, [1, 1]);
        assert_eq!(counted(&column.slice(2, 3), &bins)?, [0, 1]);
        let half: ArrayRef = Arc::new(column.as_primitive::<Float32Type>().unary::<_, Float16Type>(<Float16Type as ArrowPrimitiveType>::Native::from_f32));
        assert_eq!(counted(&half, &bins)?, [1, 1]);
        let text: ArrayRef = Arc::new(arrow_array::StringArray::from(vec!["a"]));
        assert!(counted(&text, &bins).is_err_and(|error| error.kind() == hyperslab_array::ErrorKind::Unsupported));
        Ok(())
    }
}
