//! Histogram: rows counted, or their weights added up, in bins of one or more columns.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch};
use arrow_schema::DataType;
use hyperslab_array::{Error, Result};

use super::Bins;

/// Cells of a histogram at most (1 GiB of counts).
const MOST_CELLS: usize = 1 << 27;
/// Cells up to which each window has a histogram of its own; beyond, it lists the cells of its rows.
pub(super) const FEW_CELLS: usize = 1 << 15;

/// The bins of all axes.
pub(super) struct Grid<'a> {
    bins: &'a [Bins],
    cells: usize,
}

/// What a window adds.
pub(super) enum Part {
    Counts(Vec<u64>),
    Sums(Vec<f64>),
    Cells(Vec<u32>, Option<Vec<f64>>),
}

/// Counts of rows, or sums of their weights; row-major over the axes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Totals {
    Counts(Vec<u64>),
    Sums(Vec<f64>),
}

impl<'a> Grid<'a> {
    /// `LimitExceeded` for more cells than a histogram may have.
    pub fn new(bins: &'a [Bins]) -> Result<Self> {
        let cells = bins.iter().try_fold(1usize, |cells, bins| cells.checked_mul(bins.count()));
        match cells.filter(|cells| *cells <= MOST_CELLS) {
            Some(cells) if !bins.is_empty() => Ok(Self { bins, cells }),
            Some(_) => Err(Error::invalid_input("a histogram has at least one axis")),
            None => Err(Error::limit_exceeded(format!("a histogram of more than {MOST_CELLS} cells: give fewer bins"))),
        }
    }

    pub fn empty(&self, weighted: bool) -> Totals {
        if weighted { Totals::Sums(vec![0.0; self.cells]) } else { Totals::Counts(vec![0; self.cells]) }
    }

    /// What the rows of a batch add: its first columns are the axes, one more is the weight. Rows with a null
    /// are in no bin.
    pub fn part(&self, batch: &RecordBatch, weighted: bool) -> Result<Part> {
        let columns = batch.columns().iter().map(doubles).collect::<Result<Vec<_>>>()?;
        let weights = if weighted { columns.get(self.bins.len()) } else { None };
        let cells = (0..batch.num_rows()).filter_map(|row| {
            let mut cell = 0;
            for (bins, column) in self.bins.iter().zip(&columns) {
                let value = column.is_valid(row).then(|| column.value(row))?;
                cell = cell * bins.count() + bins.bin(value)?;
            }
            let weight = match weights {
                Some(weights) => weights.is_valid(row).then(|| weights.value(row))?,
                None => 1.0,
            };
            Some((cell, weight))
        });
        let add = |slot: Option<&mut f64>, weight: f64| slot.into_iter().for_each(|sum| *sum += weight);
        Ok(match (self.cells <= FEW_CELLS, weighted) {
            (true, false) => {
                let mut counts = vec![0; self.cells];
                cells.for_each(|(cell, _)| counts.get_mut(cell).into_iter().for_each(|count| *count += 1));
                Part::Counts(counts)
            }
            (true, true) => {
                let mut sums = vec![0.0; self.cells];
                cells.for_each(|(cell, weight)| add(sums.get_mut(cell), weight));
                Part::Sums(sums)
            }
            (false, false) => Part::Cells(cells.map(|(cell, _)| cell as u32).collect(), None),
            (false, true) => {
                let (cells, weights) = cells.map(|(cell, weight)| (cell as u32, weight)).unzip();
                Part::Cells(cells, Some(weights))
            }
        })
    }
}

/// Adds the bytes of values to counts as [`Bins::add`] does; whether their type has bins.
pub(super) fn add_bytes(bins: &Bins, data_type: &DataType, bytes: &[u8], counts: &mut [u64]) -> bool {
    macro_rules! add {
        ($type:ty, $value:ident => $double:expr) => {
            bins.add(bytes.as_chunks().0.iter().map(|bytes| { let $value = <$type>::from_ne_bytes(*bytes); $double }), counts)
        };
    }
    match data_type {
        DataType::Int8 => add!(i8, v => f64::from(v)),
        DataType::Int16 => add!(i16, v => f64::from(v)),
        DataType::Int32 => add!(i32, v => f64::from(v)),
        DataType::Int64 => add!(i64, v => v as f64),
        DataType::UInt8 => add!(u8, v => f64::from(v)),
        DataType::UInt16 => add!(u16, v => f64::from(v)),
        DataType::UInt32 => add!(u32, v => f64::from(v)),
        DataType::UInt64 => add!(u64, v => v as f64),
        DataType::Float32 => add!(f32, v => f64::from(v)),
        DataType::Float64 => add!(f64, v => v),
        _ => return false,
    }
    true
}

impl Totals {
    /// Adds what a window has. Windows come in row order, so that sums do not depend on threads.
    pub fn add(&mut self, part: Part) {
        match (self, part) {
            (Self::Counts(totals), Part::Counts(counts)) => totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count),
            (Self::Sums(totals), Part::Sums(sums)) => totals.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum),
            (Self::Counts(totals), Part::Cells(cells, _)) => {
                cells.iter().for_each(|cell| totals.get_mut(*cell as usize).into_iter().for_each(|total| *total += 1));
            }
            (Self::Sums(totals), Part::Cells(cells, Some(weights))) => {
                let rows = cells.iter().zip(weights);
                rows.for_each(|(cell, weight)| totals.get_mut(*cell as usize).into_iter().for_each(|total| *total += weight));
            }
            _ => {}
        }
    }
}

/// A column of numbers as doubles.
fn doubles(array: &ArrayRef) -> Result<Float64Array> {
    if !array.data_type().is_numeric() && *array.data_type() != DataType::Boolean {
        return Err(Error::unsupported(format!("histograms of {}: only integers and floats have bins", array.data_type())));
    }
    let cast = arrow_cast::cast(array, &DataType::Float64).map_err(|e| Error::internal(e.to_string()))?;
    Ok(cast.as_primitive::<Float64Type>().clone())
}
