//! Histogram: counts rows, or adds up their weights, in bins of one or more columns.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use hyperslab_array::{Error, Result};
use hyperslab_scan::{Bins, append_doubles, is_countable};

/// Maximum number of cells of a histogram (1 GiB of counts).
const MAX_CELLS: usize = 1 << 27;
/// Maximum number of cells for which each window has its own histogram; with more, it lists the cells of its rows.
pub(super) const MAX_DENSE_CELLS: usize = 1 << 15;
/// Rows that are processed together.
const BLOCK_ROWS: usize = 4096;
/// The cell of a row outside the histogram.
const NO_CELL: u32 = u32::MAX;

/// The bins of all axes.
pub(super) struct Grid<'a> {
    bins: &'a [Bins],
    cells: usize,
    weighted: bool,
}

/// The result of one window. Counts and sums have an extra cell for rows outside the histogram.
pub(super) enum WindowTotals {
    Counts(Vec<u64>),
    Sums(Vec<f64>),
    Cells(Vec<u32>),
    Weights(Vec<(u32, f64)>),
}

/// Counts of rows or sums of their weights, row-major over the axes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Totals {
    Counts(Vec<u64>),
    Sums(Vec<f64>),
}

impl<'a> Grid<'a> {
    /// `LimitExceeded` for more cells than the maximum.
    pub fn new(bins: &'a [Bins], weighted: bool) -> Result<Self> {
        let cells = bins.iter().try_fold(1usize, |cells, bins| cells.checked_mul(bins.count()));
        match cells.filter(|cells| *cells <= MAX_CELLS) {
            Some(cells) if !bins.is_empty() => Ok(Self { bins, cells, weighted }),
            Some(_) => Err(Error::invalid_input("a histogram has at least one axis")),
            None => Err(Error::limit_exceeded(format!("a histogram of more than {MAX_CELLS} cells: give fewer bins"))),
        }
    }

    pub fn empty(&self) -> Totals {
        if self.weighted { Totals::Sums(vec![0.0; self.cells]) } else { Totals::Counts(vec![0; self.cells]) }
    }

    /// The result of a window without rows.
    pub fn part(&self) -> WindowTotals {
        match (self.cells <= MAX_DENSE_CELLS, self.weighted) {
            (true, false) => WindowTotals::Counts(vec![0; self.cells + 1]),
            (true, true) => WindowTotals::Sums(vec![0.0; self.cells + 1]),
            (false, false) => WindowTotals::Cells(Vec::new()),
            (false, true) => WindowTotals::Weights(Vec::new()),
        }
    }

    /// Adds the rows of a batch: its first columns are the axes, the next is the weight. Rows with a null are not counted.
    pub fn add_batch(&self, part: &mut WindowTotals, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter().map(plain).collect::<Result<Vec<ArrayData>>>()?;
        let bytes = columns.iter().map(|column| Ok((column.data_type(), bytes_of(column)?))).collect::<Result<Vec<_>>>()?;
        let nulls = columns.iter().filter_map(ArrayData::nulls).filter(|nulls| nulls.null_count() > 0).collect::<Vec<_>>();
        self.add(part, batch.num_rows(), &bytes, |first, cells| {
            for nulls in &nulls {
                let valid = nulls.iter().skip(first);
                cells.iter_mut().zip(valid).filter(|(_, valid)| !valid).for_each(|(cell, _)| *cell = NO_CELL);
            }
        })
    }

    /// Adds rows, given the bytes of their [countable](is_countable) columns: the axes, and the weight if there is one.
    pub fn add_rows(&self, part: &mut WindowTotals, rows: usize, columns: &[(&DataType, &[u8])]) -> Result<()> {
        self.add(part, rows, columns, |_, _| {})
    }

    /// Adds rows, some at a time; `exclude` gets the first row number and the rows' cells, and may clear some.
    fn add(&self, part: &mut WindowTotals, rows: usize, columns: &[(&DataType, &[u8])], exclude: impl Fn(usize, &mut [u32])) -> Result<()> {
        let (axes, weight) = columns.split_at_checked(self.bins.len()).ok_or_else(|| Error::internal("an axis without values"))?;
        let weight = weight.first().filter(|_| self.weighted);
        let (mut cells, mut weights) = (vec![0; BLOCK_ROWS.min(rows)], Vec::new());
        let mut first = 0;
        while first < rows {
            let count = BLOCK_ROWS.min(rows - first);
            let cells = cells.get_mut(..count).ok_or_else(|| Error::internal("a block of rows without cells"))?;
            cells.fill(0);
            for (bins, column) in self.bins.iter().zip(axes) {
                let (mut rest, all) = (&mut *cells, bins.count() as u32);
                let known = bins.slots(column.0, slice(*column, first, count)?, &mut |slots| {
                    let some = slots.len().min(rest.len());
                    let (mine, others) = std::mem::take(&mut rest).split_at_mut(some);
                    for (cell, slot) in mine.iter_mut().zip(slots) {
                        let bin = slot.wrapping_sub(1);
                        *cell = if bin < all && *cell != NO_CELL { cell.wrapping_mul(all).wrapping_add(bin) } else { NO_CELL };
                    }
                    rest = others;
                });
                if !known || !rest.is_empty() {
                    return Err(Error::internal("values of a type without bins"));
                }
            }
            exclude(first, cells);
            if let Some(weight) = weight {
                weights.clear();
                if !append_doubles(weight.0, slice(*weight, first, count)?, &mut weights) || weights.len() != count {
                    return Err(Error::internal("weights that are not numbers"));
                }
            }
            self.take(part, cells, &weights);
            first += count;
        }
        Ok(())
    }

    /// Adds rows to their cells.
    fn take(&self, part: &mut WindowTotals, cells: &[u32], weights: &[f64]) {
        let place = |cell: u32| (cell as usize).min(self.cells);
        match part {
            WindowTotals::Counts(counts) => cells.iter().for_each(|cell| counts.get_mut(place(*cell)).into_iter().for_each(|count| *count += 1)),
            WindowTotals::Sums(sums) => {
                for (cell, weight) in cells.iter().zip(weights) {
                    sums.get_mut(place(*cell)).into_iter().for_each(|sum| *sum += weight);
                }
            }
            WindowTotals::Cells(all) => all.extend(cells.iter().filter(|cell| **cell != NO_CELL)),
            WindowTotals::Weights(all) => all.extend(cells.iter().copied().zip(weights.iter().copied()).filter(|(cell, _)| *cell != NO_CELL)),
        }
    }
}

impl Totals {
    /// Adds the result of a window. Windows are added in row order, so that sums do not depend on the number of threads.
    pub fn add(&mut self, part: WindowTotals) -> Result<()> {
        match (self, part) {
            (Self::Counts(totals), WindowTotals::Counts(counts)) => totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count),
            (Self::Sums(totals), WindowTotals::Sums(sums)) => totals.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum),
            (Self::Counts(totals), WindowTotals::Cells(cells)) => {
                cells.iter().for_each(|cell| totals.get_mut(*cell as usize).into_iter().for_each(|total| *total += 1));
            }
            (Self::Sums(totals), WindowTotals::Weights(rows)) => {
                rows.iter().for_each(|(cell, weight)| totals.get_mut(*cell as usize).into_iter().for_each(|total| *total += weight));
            }
            _ => return Err(Error::internal("counts and sums in one histogram")),
        }
        Ok(())
    }
}

/// The bytes of some of a column's rows.
fn slice<'a>((data_type, bytes): (&DataType, &'a [u8]), first: usize, count: usize) -> Result<&'a [u8]> {
    let width = data_type.primitive_width().ok_or_else(|| Error::internal(format!("a column of {data_type} without a width")))?;
    bytes.get(first * width..(first + count) * width).ok_or_else(|| Error::internal("rows beyond the values"))
}

/// The bytes of a column's values.
fn bytes_of(column: &ArrayData) -> Result<&[u8]> {
    let all = column.buffers().first().map(|buffer| (column.data_type(), buffer.as_slice()));
    slice(all.ok_or_else(|| Error::internal("a column without values"))?, column.offset(), column.len())
}

/// A column of numbers, cast to a type that has bins if necessary.
fn plain(array: &ArrayRef) -> Result<ArrayData> {
    if is_countable(array.data_type()) {
        return Ok(array.to_data());
    }
    if !array.data_type().is_numeric() && *array.data_type() != DataType::Boolean {
        return Err(Error::unsupported(format!("histograms of {}: only integers and floats have bins", array.data_type())));
    }
    let cast = arrow_cast::cast(array, &DataType::Float64).map_err(|e| Error::internal(e.to_string()))?;
    Ok(cast.to_data())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float32Array, Float64Array, Int16Array};
    use proptest::prelude::*;

    use super::*;

    type Outcome = std::result::Result<(), TestCaseError>;

    /// Rows put into cells, and their weights added up, one after the other.
    fn naive(bins: &[Bins], rows: &[(f32, i16, Option<f64>)], all: &mut [(u64, f64)]) {
        for (x, y, z) in rows {
            let (Some(z), [a, b]) = (z, bins) else { continue };
            if let (Some(x), Some(y)) = (a.bin(f64::from(*x)), b.bin(f64::from(*y))) {
                all[x * b.count() + y].0 += 1;
                all[x * b.count() + y].1 += z;
            }
        }
    }

    fn same(bins: &[Bins], rows: &[(f32, i16, Option<f64>)], cut: usize) -> Outcome {
        let failed = |error: Error| TestCaseError::fail(error.to_string());
        let cells = bins.iter().map(Bins::count).product();
        let (mut sums, mut wanted) = (vec![0.0; cells], vec![(0u64, 0.0f64); cells]);
        let mut counts = vec![0u64; cells];
        for weighted in [false, true] {
            let grid = Grid::new(bins, weighted).map_err(failed)?;
            let mut totals = grid.empty();
            for rows in [&rows[..cut], &rows[cut..]] {
                let columns: Vec<ArrayRef> = vec![
                    Arc::new(Float32Array::from_iter_values(rows.iter().map(|row| row.0))),
                    Arc::new(Int16Array::from_iter_values(rows.iter().map(|row| row.1))),
                    Arc::new(rows.iter().map(|row| row.2).collect::<Float64Array>()),
                ];
                let batch = RecordBatch::try_from_iter(["x", "y", "z"].into_iter().zip(columns)).map_err(|error| TestCaseError::fail(error.to_string()))?;
                let mut part = grid.part();
                grid.add_batch(&mut part, &batch).map_err(failed)?;
                totals.add(part).map_err(failed)?;
            }
            match totals {
                Totals::Counts(found) => counts = found,
                Totals::Sums(found) => sums = found,
            }
        }
        // A window is summed before it is added, or added row by row if there are many cells.
        for rows in [&rows[..cut], &rows[cut..]] {
            let mut here = if cells <= MAX_DENSE_CELLS { vec![(0, 0.0); cells] } else { std::mem::take(&mut wanted) };
            naive(bins, rows, &mut here);
            if cells <= MAX_DENSE_CELLS {
                wanted.iter_mut().zip(here).for_each(|(all, here)| *all = (all.0 + here.0, all.1 + here.1));
            } else {
                wanted = here;
            }
        }
        prop_assert_eq!(counts, wanted.iter().map(|cell| cell.0).collect::<Vec<_>>());
        prop_assert_eq!(sums, wanted.iter().map(|cell| cell.1).collect::<Vec<_>>());
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn rows_are_counted_and_weighed_in_their_cells(
            rows in proptest::collection::vec((prop_oneof![-2f32..8.0, Just(f32::NAN), Just(6.0)], -5i16..70, proptest::option::weighted(0.9, -1e3f64..1e3)), 0..200),
            times in prop_oneof![Just(1usize), Just(50)],
            cut in 0usize..200,
            bins in prop_oneof![Just((64, 64)), Just((1, 7)), Just((400, 300))],
        ) {
            let edges = |count: u32, high: f64| (0..=count).map(|n| f64::from(n) * (high / f64::from(count))).collect::<Vec<f64>>();
            let bins = [Bins::new(edges(bins.0, 6.0)), Bins::new(edges(bins.1, 64.0))];
            let bins = bins.into_iter().collect::<Result<Vec<Bins>>>().map_err(|error| TestCaseError::fail(error.to_string()))?;
            // More than one block of rows.
            let rows: Vec<_> = rows.iter().copied().cycle().take(rows.len() * times).collect();
            same(&bins, &rows, cut.min(rows.len()))?;
        }
    }
}
