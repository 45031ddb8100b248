//! Run: a query, and what can be asked of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::ArrayRef;
use hyperslab_array::{Error, Result};

use super::histogram::{FEW_CELLS, Grid, Totals, add_bytes};
use super::quantile::{key_type, keys, select_values};
use super::step::{Step, steps};
use super::variable::{Names, segment};
use super::{Bins, OrderStatistics, QueryRequest};
use crate::scan::predicate::Predicate;
use crate::scan::pruner::{Bounds, KeyType};
use crate::scan::{ColumnByIndex, Plan, ScanRequest, Segment, Summary};
use crate::{Cancellation, File, Session};

/// Rows of a block of an index, about.
const BLOCK_ROWS: u64 = 1 << 16;
/// So many values are put into bins in the time of one look-up in a block.
const VALUES_OF_A_LOOK_UP: u64 = 16;

/// A question asked of arrays. Made from metadata alone; cheap to clone.
#[derive(Clone)]
pub struct Query {
    session: Session,
    request: Arc<QueryRequest>,
    steps: Arc<Vec<Step>>,
    predicate: Option<Predicate>,
    /// Names whose shapes make the rows: of the text, and `rows`.
    names: Arc<Vec<String>>,
}

/// One step of a query.
#[derive(Debug, Clone)]
pub struct StepDescription {
    /// The file.
    pub file: String,
    /// The group in it.
    pub group: String,
    /// The shape of the arrays, which is that of the rows.
    pub shape: Vec<u64>,
}

impl Query {
    /// Looks up groups and names. `NotFound` for one that is not there, `InvalidInput` for a name that may be
    /// several arrays, arrays of different shapes, and a condition that does not fit the arrays' types.
    pub fn new(files: &[File], request: &QueryRequest) -> Result<Self> {
        let first = files.first().ok_or_else(|| Error::invalid_input("a query needs at least one file"))?;
        let predicate = request.text.as_deref().map(Predicate::parse).transpose()?;
        let mut names: Vec<String> = request.rows.iter().cloned().collect();
        names.extend(predicate.iter().flat_map(Predicate::columns));
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        let query = Self {
            session: first.session().clone(),
            request: Arc::new(request.clone()),
            steps: Arc::new(steps(files, request)?),
            predicate,
            names: Arc::new(names),
        };
        if !query.names.is_empty() {
            // What is wrong is said now, not when something is asked.
            query.plan(&[])?;
        }
        Ok(query)
    }

    /// The same question of one of its steps.
    pub fn step(&self, number: usize) -> Result<Self> {
        let step = self.steps.get(number).ok_or_else(|| Error::invalid_input(format!("step {number} of {}", self.steps.len())))?;
        Ok(Self { steps: Arc::new(vec![step.clone()]), ..self.clone() })
    }

    /// The question with one more condition.
    pub fn and(&self, text: &str) -> Result<Self> {
        let more = Predicate::parse(text)?;
        let predicate = Some(match self.predicate.clone() {
            Some(predicate) => predicate.and(more.clone()),
            None => more.clone(),
        });
        // The rows stay what they are; where nothing has said what they are, the new names do.
        let names = if self.names.is_empty() { Arc::new(more.columns().into_iter().collect()) } else { self.names.clone() };
        Ok(Self { predicate, names, ..self.clone() })
    }

    /// The scan of `columns`, in the order given.
    fn plan(&self, columns: &[String]) -> Result<Plan> {
        self.plan_in_batches(columns, 65_536)
    }

    fn plan_in_batches(&self, columns: &[String], batch_rows: usize) -> Result<Plan> {
        let tested: Vec<String> = self.predicate.iter().flat_map(Predicate::columns).collect();
        let others: Vec<String> = columns.iter().cloned().chain(tested).collect();
        let names = match self.names.as_slice() {
            [] => Names { rows: columns, others: &others },
            rows => Names { rows, others: &others },
        };
        let segments = self.steps.iter().map(|step| segment(step, &self.request, &names)).collect::<Result<Vec<Segment>>>()?;
        let request = ScanRequest {
            columns: Some(columns.to_vec()),
            predicate: self.predicate.clone(),
            decode: self.request.decode,
            batch_rows,
            ..ScanRequest::new(self.request.group.clone())
        };
        Plan::of_segments(&self.session, segments, &request, &Cancellation::new())
    }

    /// The steps, in order.
    pub fn steps(&self) -> Result<Vec<StepDescription>> {
        let plan = self.plan(&[])?;
        let shapes = plan.shapes();
        let described = self.steps.iter().zip(shapes).map(|(step, shape)| StepDescription { file: step.file.name(), group: step.path.clone(), shape });
        Ok(described.collect())
    }

    /// The names that the condition and `rows` speak of, as columns of the table.
    pub fn names(&self) -> Result<Vec<String>> {
        let plan = self.plan(&[])?;
        let mut columns: Vec<String> = Vec::new();
        for name in self.names.iter() {
            // Members of compounds are shown with their compound.
            let head = plan.column_of(name).ok_or_else(|| Error::internal(format!("no column {name}")))?;
            if !columns.contains(&head) {
                columns.push(head);
            }
        }
        Ok(columns)
    }

    /// How many rows satisfy the condition.
    pub fn count(&self, cancellation: &Cancellation) -> Result<u64> {
        Ok(self.counts(cancellation)?.iter().sum())
    }

    /// How many rows of each step do.
    pub fn counts(&self, cancellation: &Cancellation) -> Result<Vec<u64>> {
        self.plan(&[])?.counts(cancellation)
    }

    /// The rows of each step that satisfy the condition: row-major numbers in the step's shape, rising.
    pub fn positions(&self, cancellation: &Cancellation) -> Result<Vec<Vec<u64>>> {
        self.plan(&[])?.positions(cancellation)
    }

    /// As [`Query::positions`], in arrays of unsigned 64-bit integers, whose memory is used again.
    pub fn position_arrays(&self, cancellation: &Cancellation) -> Result<Vec<ArrayRef>> {
        self.plan(&[])?.position_arrays(cancellation)
    }

    /// Columns of the rows that satisfy the condition: variables, dimensions, what wildcards matched, `_row` and
    /// `_file`. Values are read only where the condition has left rows.
    pub fn table(&self, columns: &[String], batch_rows: usize) -> Result<Plan> {
        if batch_rows == 0 {
            return Err(Error::invalid_input("batch_rows must be at least 1"));
        }
        self.plan_in_batches(columns, batch_rows)
    }

    /// Least, greatest, sum and counts of a variable over the rows that satisfy the condition.
    pub fn summary(&self, variable: &str, cancellation: &Cancellation) -> Result<Summary> {
        self.plan(&[variable.to_owned()])?.summary(variable, cancellation)
    }

    /// How many of the rows that satisfy the condition lie in each bin, row-major over `axes` (a variable and its
    /// bins each). Rows where one of the variables is null or NaN are in no bin.
    pub fn histogram(&self, axes: &[(String, Bins)], cancellation: &Cancellation) -> Result<Vec<u64>> {
        if let Some(counts) = self.counts_of_gathered(axes, cancellation)? {
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

    /// As [`Query::histogram`], with the sums of a variable instead of counts. The same for any number of threads.
    pub fn weighted_histogram(&self, axes: &[(String, Bins)], weights: &str, cancellation: &Cancellation) -> Result<Vec<f64>> {
        match self.totals(axes, Some(weights), cancellation)? {
            Totals::Sums(sums) => Ok(sums),
            Totals::Counts(_) => Err(Error::internal("sums that are counts")),
        }
    }

    /// Least and greatest value of a variable over the rows that satisfy the condition, neither null nor NaN; an
    /// empty array where there are none.
    pub fn extremes(&self, variable: &str, cancellation: &Cancellation) -> Result<ArrayRef> {
        let plan = self.plan(&[variable.to_owned()])?;
        let data_type = plan.schema().field_with_name(variable).map_err(|e| Error::internal(e.to_string()))?.data_type().clone();
        if let Some(index) = plan.by_index(variable)?
            && let Some((least, greatest)) = index.extremes(cancellation)?
        {
            return index.values(&[least, greatest], &data_type);
        }
        let mut all: Option<(u64, u64)> = None;
        plan.for_batches(
            cancellation,
            |batch| {
                let keys = keys(batch.column_by_name(variable).ok_or_else(|| Error::internal("no such column"))?)?;
                Ok(keys.iter().min().copied().zip(keys.iter().max().copied()))
            },
            |found| {
                if let Some((least, greatest)) = found {
                    all = Some(all.map_or((least, greatest), |(low, high)| (low.min(least), high.max(greatest))));
                }
                Ok(())
            },
        )?;
        let ends: Vec<Option<u64>> = all.into_iter().flat_map(|(least, greatest)| [Some(least), Some(greatest)]).collect();
        key_type(&data_type)?.array(&ends, &data_type)
    }

    /// At least and at most so many rows satisfy the condition: what indexes tell without the data, and nothing
    /// where there are none.
    pub fn bounds(&self, cancellation: &Cancellation) -> Result<Bounds> {
        self.plan(&[])?.bounds(cancellation)
    }

    /// As [`Query::histogram`] of one variable, from its index alone: at least and at most so many in each bin. `None`
    /// where there is no index, or where the condition is about other variables.
    pub fn histogram_bounds(&self, variable: &str, bins: &Bins, cancellation: &Cancellation) -> Result<Option<Vec<Bounds>>> {
        let Some(index) = self.plan(&[variable.to_owned()])?.by_index(variable)? else { return Ok(None) };
        if matches!(index.key_type(), KeyType::Signed(8) | KeyType::Unsigned(8)) {
            // Such integers are rounded to doubles before they are put into bins.
            return Ok(None);
        }
        let Some(numbers) = index.numbers(cancellation)? else { return Ok(None) };
        let edges = bins.edges();
        let last = edges.len().saturating_sub(1);
        let keys = edges.iter().enumerate().map(|(number, edge)| if number == last { index.key_type().above(*edge) } else { index.key_type().at_least(*edge) });
        let keys: Vec<Option<u64>> = keys.collect();
        let asked: Vec<u64> = keys.iter().copied().flatten().collect();
        let Some(below) = index.below(&asked, cancellation)? else { return Ok(None) };
        // Beyond the greatest key lie no values: all are below.
        let mut known = below.into_iter();
        let below: Vec<Bounds> = keys.iter().map(|key| key.and_then(|_| known.next()).unwrap_or(numbers)).collect();
        let between = |pair: &[Bounds]| match pair {
            [low, high] => Bounds { least: high.least.saturating_sub(low.most), most: high.most.saturating_sub(low.least) },
            _ => Bounds::default(),
        };
        Ok(Some(below.windows(2).map(between).collect()))
    }

    /// The values of variables at the rows that satisfy the condition, whole, where an index tells these rows and the
    /// values can be had one by one: then no batches are read. `None` elsewhere.
    pub fn values(&self, variables: &[String], cancellation: &Cancellation) -> Result<Option<Vec<ArrayRef>>> {
        self.plan(variables)?.gathered(cancellation)
    }

    /// Counts in bins of one variable whose values can be had one by one, unless its index tells them with less work.
    fn counts_of_gathered(&self, axes: &[(String, Bins)], cancellation: &Cancellation) -> Result<Option<Vec<u64>>> {
        let [(variable, bins)] = axes else { return Ok(None) };
        if bins.count() > FEW_CELLS {
            return Ok(None);
        }
        let plan = self.plan(&[variable.to_owned()])?;
        if let Some(index) = plan.by_index(variable)?.filter(ColumnByIndex::is_exact) {
            // Each edge is looked up in each block.
            let look_ups = plan.row_count()?.div_ceil(BLOCK_ROWS).saturating_mul(bins.edges().len() as u64);
            if index.numbers(cancellation)?.is_none_or(|numbers| numbers.most > look_ups.saturating_mul(VALUES_OF_A_LOOK_UP)) {
                return Ok(None);
            }
        }
        let known = AtomicBool::new(true);
        let counts = plan.fold_gathered(
            cancellation,
            || vec![0u64; bins.count() + 2],
            |counts, data_type, bytes| {
                if !add_bytes(bins, data_type, bytes, counts) {
                    known.store(false, Ordering::Relaxed);
                }
                Ok(())
            },
        )?;
        let Some(counts) = counts.filter(|_| known.load(Ordering::Relaxed)) else { return Ok(None) };
        let mut totals = vec![0; bins.count()];
        for counts in counts {
            totals.iter_mut().zip(counts.iter().skip(1)).for_each(|(total, count)| *total += count);
        }
        Ok(Some(totals))
    }

    /// Counts in bins of one variable, where its index alone tells them.
    fn counts_by_index(&self, axes: &[(String, Bins)], cancellation: &Cancellation) -> Result<Option<Vec<u64>>> {
        let [(variable, bins)] = axes else { return Ok(None) };
        let bounds = self.histogram_bounds(variable, bins, cancellation)?;
        Ok(bounds.and_then(|bounds| bounds.into_iter().map(Bounds::exact).collect()))
    }

    fn totals(&self, axes: &[(String, Bins)], weights: Option<&str>, cancellation: &Cancellation) -> Result<Totals> {
        let bins: Vec<Bins> = axes.iter().map(|(_, bins)| bins.clone()).collect();
        let grid = Grid::new(&bins)?;
        let names: Vec<String> = axes.iter().map(|(name, _)| name.clone()).chain(weights.map(str::to_owned)).collect();
        let mut totals = grid.empty(weights.is_some());
        self.each_once(&names)?.for_batches(
            cancellation,
            |batch| grid.part(&by_name(batch, &names)?, weights.is_some()),
            |part| {
                totals.add(part);
                Ok(())
            },
        )?;
        Ok(totals)
    }

    /// The values at `places(count)` of the sorted values of a variable, over the rows that satisfy the condition and
    /// whose value is neither null nor NaN. No values where a place is beyond.
    pub fn order_statistics(&self, variable: &str, places: impl Fn(u64) -> Vec<u64>, cancellation: &Cancellation) -> Result<OrderStatistics> {
        let plan = self.plan(&[variable.to_owned()])?;
        let field = plan.schema().field_with_name(variable).map_err(|e| Error::internal(e.to_string()))?;
        let data_type = field.data_type().clone();
        if let Some(index) = plan.by_index(variable)?
            && let Some(count) = index.numbers(cancellation)?.and_then(Bounds::exact)
        {
            let found = places(count).into_iter().map(|place| if place < count { index.ranked(place, cancellation) } else { Ok(None) });
            if let Some(keys) = found.collect::<Result<Option<Vec<u64>>>>()? {
                return Ok(OrderStatistics { count, values: index.values(&keys, &data_type)? });
            }
        }
        select_values(&data_type, places, &mut |of, take| {
            plan.for_batches(
                cancellation,
                |batch| Ok(of(keys(batch.column_by_name(variable).ok_or_else(|| Error::internal("no such column"))?)?)),
                |found| {
                    take(found);
                    Ok(())
                },
            )
        })
    }

    /// How the query will run, for people.
    pub fn explain(&self) -> Result<String> {
        Ok(self.plan(&[])?.explain())
    }

    /// A plan of columns that may be named more than once.
    fn each_once(&self, names: &[String]) -> Result<Plan> {
        let mut seen = BTreeSet::new();
        let once: Vec<String> = names.iter().filter(|name| seen.insert((*name).clone())).cloned().collect();
        self.plan(&once)
    }
}

/// The columns in the order of `names`, which may name one twice.
fn by_name(batch: &arrow_array::RecordBatch, names: &[String]) -> Result<arrow_array::RecordBatch> {
    let schema = batch.schema();
    let places = names.iter().map(|name| schema.index_of(name).map_err(|e| Error::internal(e.to_string())));
    batch.project(&places.collect::<Result<Vec<_>>>()?).map_err(|e| Error::internal(e.to_string()))
}
