//! The groups of a reduction as a record batch, or as summaries.

use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array, Float32Array, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::{Field, Schema};
use hyperslab_array::{Error, Result};

use super::accumulator::{Accumulator, Groupwise};
use super::fold::Number;
use super::quantile::Search;
use super::run::Reduced;
use crate::read::aggregate::{Extremes, Summary};

/// Digits of the greatest decimal number of 16 bytes.
const DIGITS: u8 = 38;

/// The groups that have rows, in order; the only one even without.
pub(super) fn record_batch(reduced: &Reduced) -> Result<RecordBatch> {
    let Reduced { layout, rows, accumulators, quantiles } = reduced;
    let kept: Vec<usize> = rows.iter().enumerate().filter(|(_, count)| **count > 0 || rows.len() == 1).map(|(group, _)| group).collect();
    let mut columns = Columns { kept: &kept, found: Vec::new() };
    let mut stride = rows.len();
    for (place, count) in layout.classes.iter().enumerate() {
        let count = (*count).max(1) as usize;
        stride /= count;
        if count > 1 {
            let name = place.checked_sub(1).map_or_else(|| "segment".to_owned(), |axis| format!("axis{axis}"));
            let class = |group: &usize| u32::try_from(group / stride % count).map_err(|_| Error::internal("a class beyond 32 bits"));
            columns.push(name, Arc::new(UInt32Array::from(kept.iter().map(class).collect::<Result<Vec<u32>>>()?)));
        }
    }
    columns.push("rows".to_owned(), Arc::new(counts(&kept, |group| rows.get(group).copied())?));
    for (number, accumulator) in accumulators.iter().enumerate() {
        let left_out = accumulator.left_out();
        let count = |group: usize| Some(rows.get(group)? - left_out.get(group)?);
        columns.push(format!("count{number}"), Arc::new(counts(&kept, count)?));
        let count = |group: usize| count(group).unwrap_or(0);
        match accumulator {
            Accumulator::Counted(_) => {}
            Accumulator::Floats(found) => columns.floats(number, found, count, |values| Arc::new(Float32Array::from(values))),
            Accumulator::Doubles(found) => columns.floats(number, found, count, |values| Arc::new(Float64Array::from(values))),
            Accumulator::Integers(found) => columns.integers(number, found, count)?,
        }
        if let Some(quantile) = quantiles.get(number).and_then(Option::as_ref) {
            columns.quantile(number, quantile, accumulator, count)?;
        }
    }
    columns.batch()
}

/// The results of an accumulator for some groups.
pub(super) fn summaries(accumulator: &Accumulator, rows: &[u64], groups: &[usize]) -> Vec<Summary> {
    let left_out = accumulator.left_out();
    let of_group = |group: &usize| {
        let at = |counts: &[u64]| counts.get(*group).copied().unwrap_or(0);
        let nulls = at(left_out);
        let (nans, extremes) = match accumulator {
            Accumulator::Counted(_) => (0, None),
            Accumulator::Floats(found) => (at(&found.nans), Some(float_extremes(found, *group))),
            Accumulator::Doubles(found) => (at(&found.nans), Some(float_extremes(found, *group))),
            Accumulator::Integers(found) => {
                let of = |values: &[i64]| values.get(*group).copied().unwrap_or(0).into();
                let sum = found.sums.get(*group).copied().unwrap_or(0);
                (0, Some(Extremes::Integer { minimum: of(&found.least), maximum: of(&found.most), sum }))
            }
        };
        let count = at(rows) - nulls - nans;
        Summary { count, nulls, nans, extremes: extremes.filter(|_| count > 0) }
    };
    groups.iter().map(of_group).collect()
}

fn float_extremes<T: Number<Total = f64>>(found: &Groupwise<T>, group: usize) -> Extremes {
    let of = |values: &[T]| values.get(group).map_or(0.0, |value| value.double());
    Extremes::Float { minimum: of(&found.least), maximum: of(&found.most), sum: found.sums.get(group).copied().unwrap_or(0.0) }
}

/// The value of a quantile, from the keys of the values on both sides and the share of the second one.
fn value_at<T: Number>((low, high, share): (u64, u64, f64), between: impl Fn(T, T, f64) -> T) -> T {
    if share == 0.0 { T::of_key(low) } else { between(T::of_key(low), T::of_key(high), share) }
}

/// A value between two doubles as DuckDB computes it, to the last bit.
fn mixed(low: f64, high: f64, share: f64) -> f64 {
    low.mul_add(1.0 - share, high * share)
}

fn counts(kept: &[usize], of: impl Fn(usize) -> Option<u64>) -> Result<Int64Array> {
    let count = |group: &usize| of(*group).and_then(|count| i64::try_from(count).ok()).ok_or_else(|| Error::limit_exceeded("more rows than 63 bits count"));
    Ok(Int64Array::from(kept.iter().map(count).collect::<Result<Vec<i64>>>()?))
}

struct Columns<'a> {
    kept: &'a [usize],
    found: Vec<(String, ArrayRef)>,
}

impl Columns<'_> {
    fn push(&mut self, name: String, values: ArrayRef) {
        self.found.push((name, values));
    }

    /// A value for each group that has any.
    fn of_groups<T, R>(&self, values: &[T], count: impl Fn(usize) -> u64, result: impl Fn(usize, &T) -> R) -> Vec<Option<R>> {
        self.kept.iter().map(|group| values.get(*group).filter(|_| count(*group) > 0).map(|value| result(*group, value))).collect()
    }

    fn floats<T: Number<Total = f64> + From<f32>>(
        &mut self,
        number: usize,
        found: &Groupwise<T>,
        count: impl Fn(usize) -> u64 + Copy,
        array: impl Fn(Vec<Option<T>>) -> ArrayRef,
    ) {
        if !found.sums.is_empty() {
            let sums = self.of_groups(&found.sums, count, |_, sum| *sum);
            self.push(format!("sum{number}"), Arc::new(Float64Array::from(sums)));
        }
        if !found.least.is_empty() {
            // NaN is greater than every number.
            let nans = |group: usize| found.nans.get(group).copied().unwrap_or(0);
            let least = self.of_groups(&found.least, count, |group, least| if nans(group) == count(group) { f32::NAN.into() } else { *least });
            let most = self.of_groups(&found.most, count, |group, most| if nans(group) > 0 { f32::NAN.into() } else { *most });
            self.push(format!("least{number}"), array(least));
            self.push(format!("most{number}"), array(most));
        }
        self.squares(number, found, count);
    }

    fn integers(&mut self, number: usize, found: &Groupwise<i64>, count: impl Fn(usize) -> u64 + Copy) -> Result<()> {
        if !found.sums.is_empty() {
            let sums = Decimal128Array::from(self.of_groups(&found.sums, count, |_, sum| *sum)).with_precision_and_scale(DIGITS, 0);
            let sums = sums.and_then(|sums| sums.validate_decimal_precision(DIGITS).map(|()| sums));
            self.push(format!("sum{number}"), Arc::new(sums.map_err(|error| Error::limit_exceeded(format!("a sum of integers: {error}")))?));
        }
        if !found.least.is_empty() {
            let (least, most) = (self.of_groups(&found.least, count, |_, least| *least), self.of_groups(&found.most, count, |_, most| *most));
            self.push(format!("least{number}"), Arc::new(Int64Array::from(least)));
            self.push(format!("most{number}"), Arc::new(Int64Array::from(most)));
        }
        self.squares(number, found, count);
        Ok(())
    }

    fn squares<T: Number>(&mut self, number: usize, found: &Groupwise<T>, count: impl Fn(usize) -> u64) {
        if !found.moments.is_empty() {
            // The difference from an infinite mean is no number.
            let squares = self.of_groups(&found.moments, count, |_, moments| if moments.mean.is_finite() { moments.squares } else { f64::NAN });
            self.push(format!("squares{number}"), Arc::new(Float64Array::from(squares)));
        }
    }

    fn quantile(&mut self, number: usize, quantile: &Search, of: &Accumulator, count: impl Fn(usize) -> u64) -> Result<()> {
        let each = |group: &usize| Some(quantile.found(*group)).filter(|_| count(*group) > 0);
        let places: Vec<Option<(u64, u64, f64)>> = self.kept.iter().map(each).collect();
        let low = |place: &Option<(u64, u64, f64)>| place.map(|(low, _, _)| low);
        let values: ArrayRef = match of {
            Accumulator::Floats(_) => {
                let between = |low: f32, high: f32, share: f64| (f64::from(high) - f64::from(low)).mul_add(share, low.into()) as f32;
                Arc::new(Float32Array::from_iter(places.iter().map(|place| place.map(|place| value_at(place, between)))))
            }
            Accumulator::Doubles(_) => Arc::new(Float64Array::from_iter(places.iter().map(|place| place.map(|place| value_at(place, mixed))))),
            Accumulator::Integers(_) if quantile.is_between() => {
                let between =
                    |(low, high, share)| if share == 0.0 { i64::of_key(low) as f64 } else { mixed(i64::of_key(low) as f64, i64::of_key(high) as f64, share) };
                Arc::new(Float64Array::from_iter(places.iter().map(|place| place.map(between))))
            }
            Accumulator::Integers(_) => Arc::new(Int64Array::from_iter(places.iter().map(|place| low(place).map(i64::of_key)))),
            Accumulator::Counted(_) => return Err(Error::internal("a quantile of values that are only counted")),
        };
        self.push(format!("quantile{number}"), values);
        Ok(())
    }

    fn batch(self) -> Result<RecordBatch> {
        let fields: Vec<Field> = self.found.iter().map(|(name, values)| Field::new(name, values.data_type().clone(), true)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.kept.len()));
        let columns = self.found.into_iter().map(|(_, values)| values).collect();
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).map_err(|error| Error::internal(error.to_string()))
    }
}
