//! Histograms of the rows that satisfy a query's condition.

use arrow_array::RecordBatch;
use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_predicate::KeyType;
use hyperslab_scan::pruner::CountBounds;
use hyperslab_scan::{BinCounter, Bins, ColumnByIndex, Plan, is_countable};

use super::Query;
use super::histogram::{Grid, MAX_DENSE_CELLS, Totals};

/// Approximate number of rows of an index block.
const INDEX_BLOCK_ROWS: u64 = 1 << 16;
/// Number of values that are counted in bins in the time of one look-up in an index block.
const VALUES_PER_LOOKUP: u64 = 16;

impl Query {
    /// Number of rows in each bin that satisfy the condition, row-major over `axes` (a variable and its bins each). Rows in
    /// which a variable is null or NaN are not counted.
    ///
    /// # Errors
    /// `NotFound` for an unknown variable; `Unsupported` if it does not hold integers or floats; `LimitExceeded` for
    /// too many bins. `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
    pub fn histogram(&self, axes: &[(String, Bins)], cancellation: &Cancellation) -> Result<Vec<u64>> {
        if let Some(counts) = self.count_single_values(axes, cancellation)? {
            return Ok(counts);
        }
        if let Some(counts) = self.counts_by_index(axes, cancellation)? {
            return Ok(counts);
        }
        match self.totals(axes, None, cancellation)? {
            Totals::Counts(counts) => Ok(counts),
            Totals::Sums(_) => Err(Error::internal("counts that are sums")),
        }
    }

    /// As [`Query::histogram`], with sums of a variable instead of counts. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// As [`Query::histogram`].
    pub fn weighted_histogram(&self, axes: &[(String, Bins)], weights: &str, cancellation: &Cancellation) -> Result<Vec<f64>> {
        match self.totals(axes, Some(weights), cancellation)? {
            Totals::Sums(sums) => Ok(sums),
            Totals::Counts(_) => Err(Error::internal("sums that are counts")),
        }
    }

    /// Lower and upper bound of the counts of [`Query::histogram`] of one variable, from its index alone. `None` if there is
    /// no index, or the condition uses other variables.
    ///
    /// # Errors
    /// `NotFound` for an unknown variable; `Io` or `Corrupt` if the index cannot be read; `Cancelled`.
    pub fn histogram_bounds(&self, variable: &str, bins: &Bins, cancellation: &Cancellation) -> Result<Option<Vec<CountBounds>>> {
        let Some(by_index) = self.plan(&[variable.to_owned()])?.by_index(variable)? else { return Ok(None) };
        if matches!(by_index.key_type(), KeyType::Signed(8) | KeyType::Unsigned(8)) {
            // 64-bit integers are rounded to doubles before they are compared with edges.
            return Ok(None);
        }
        let edges = bins.edges();
        let last = edges.len().saturating_sub(1);
        let keys =
            edges.iter().enumerate().map(|(index, edge)| if index == last { by_index.key_type().above(*edge) } else { by_index.key_type().at_least(*edge) });
        let Some(below) = by_index.below(&keys.collect::<Vec<_>>(), cancellation)? else { return Ok(None) };
        let between = |(low, high): (&CountBounds, &CountBounds)| CountBounds {
            lower: high.lower.saturating_sub(low.upper),
            upper: high.upper.saturating_sub(low.lower),
        };
        Ok(Some(below.iter().zip(below.iter().skip(1)).map(between).collect()))
    }

    /// Counts in bins of one variable whose values can be read at single rows, unless its index answers with less work.
    fn count_single_values(&self, axes: &[(String, Bins)], cancellation: &Cancellation) -> Result<Option<Vec<u64>>> {
        let [(variable, bins)] = axes else { return Ok(None) };
        if bins.count() > MAX_DENSE_CELLS {
            return Ok(None);
        }
        let plan = self.plan(&[variable.to_owned()])?;
        if plan.schema().fields().iter().any(|field| !is_countable(field.data_type())) {
            return Ok(None);
        }
        if let Some(index) = plan.by_index(variable)?.filter(ColumnByIndex::is_exact) {
            // Each edge is looked up in each block.
            let lookups = plan.row_count()?.div_ceil(INDEX_BLOCK_ROWS).saturating_mul(bins.edges().len() as u64);
            if index.numbers(cancellation)?.is_none_or(|numbers| numbers.upper > lookups.saturating_mul(VALUES_PER_LOOKUP)) {
                return Ok(None);
            }
        }
        let counts = plan.fold_matching_values(
            cancellation,
            || BinCounter::new(bins),
            |counts, data_type, bytes| if counts.add(data_type, bytes) { Ok(()) } else { Err(Error::internal("values of a type without bins")) },
        )?;
        let Some(counts) = counts else { return Ok(None) };
        let mut totals = vec![0; bins.count()];
        for counts in counts {
            totals.iter_mut().zip(counts.finish()).for_each(|(total, count)| *total += count);
        }
        Ok(Some(totals))
    }

    /// Counts in bins of one variable, if its index alone answers exactly.
    fn counts_by_index(&self, axes: &[(String, Bins)], cancellation: &Cancellation) -> Result<Option<Vec<u64>>> {
        let [(variable, bins)] = axes else { return Ok(None) };
        let bounds = self.histogram_bounds(variable, bins, cancellation)?;
        Ok(bounds.and_then(|bounds| bounds.into_iter().map(CountBounds::exact).collect()))
    }

    fn totals(&self, axes: &[(String, Bins)], weights: Option<&str>, cancellation: &Cancellation) -> Result<Totals> {
        let bins: Vec<Bins> = axes.iter().map(|(_, bins)| bins.clone()).collect();
        let grid = Grid::new(&bins, weights.is_some())?;
        let names: Vec<String> = axes.iter().map(|(name, _)| name.clone()).chain(weights.map(str::to_owned)).collect();
        let plan = self.each_once(&names)?;
        let mut totals = grid.empty();
        if self.add_single_values(&plan, &grid, &names, &mut totals, cancellation)? {
            return Ok(totals);
        }
        plan.for_batches(
            cancellation,
            |batch| {
                let mut part = grid.part();
                grid.add_batch(&mut part, &by_name(batch, &names)?)?;
                Ok(part)
            },
            |part| totals.add(part),
        )?;
        Ok(totals)
    }

    /// Adds the rows of all windows without reading batches. Returns `false`, and adds nothing, if the values of a column
    /// cannot be read at single rows.
    fn add_single_values(&self, plan: &Plan, grid: &Grid<'_>, names: &[String], totals: &mut Totals, cancellation: &Cancellation) -> Result<bool> {
        let schema = plan.schema();
        if schema.fields().iter().any(|field| !is_countable(field.data_type())) {
            return Ok(false);
        }
        let places = names.iter().map(|name| schema.index_of(name).map_err(|e| Error::internal(e.to_string()))).collect::<Result<Vec<usize>>>()?;
        plan.for_matching_pieces(
            cancellation,
            || grid.part(),
            |part, rows, columns| {
                let columns: Vec<_> = places.iter().filter_map(|place| columns.get(*place).copied()).collect();
                grid.add_rows(part, rows, &columns)
            },
            |part| totals.add(part),
        )
    }
}

/// The columns in the order of `names`, which may contain duplicates.
fn by_name(batch: &RecordBatch, names: &[String]) -> Result<RecordBatch> {
    let schema = batch.schema();
    let places = names.iter().map(|name| schema.index_of(name).map_err(|e| Error::internal(e.to_string())));
    batch.project(&places.collect::<Result<Vec<_>>>()?).map_err(|e| Error::internal(e.to_string()))
}
