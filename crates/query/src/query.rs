//! A query and its results.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::ArrayRef;
use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_predicate::{List, Lists, Predicate};
use hyperslab_reader::{File, Session};
use hyperslab_scan::pruner::CountBounds;
use hyperslab_scan::{Plan, ScanRequest, Segment, Summary};

use super::matched_group::{MatchedGroup, matched_groups};
use super::quantile::{key_type, keys, select_values};
use super::variable::{Names, segment};
use super::{OrderStatistics, QueryRequest};

/// A condition on arrays. Made from metadata alone; cheap to clone.
#[derive(Clone)]
pub struct Query {
    session: Session,
    request: Arc<QueryRequest>,
    steps: Arc<Vec<MatchedGroup>>,
    predicate: Option<Predicate>,
    /// Names with the shape of the rows: `rows` and the names in the condition.
    names: Arc<Vec<String>>,
}

/// One step of a query.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StepDescription {
    /// The file.
    pub file: String,
    /// The group in it.
    pub group: String,
    /// Shape of the arrays, and so of the rows.
    pub shape: Vec<u64>,
}

impl Query {
    /// Looks up groups and names.
    ///
    /// # Errors
    /// `NotFound` for a missing group or name; `InvalidInput` for an ambiguous name, arrays of different shapes, or a
    /// condition that does not fit the arrays' types.
    pub fn new(files: &[File], request: &QueryRequest) -> Result<Self> {
        let first = files.first().ok_or_else(|| Error::invalid_input("a query needs at least one file"))?;
        let predicate = request.text.as_deref().map(|text| Predicate::parse_with(text, &request.lists)).transpose()?;
        let mut names: Vec<String> = request.rows.iter().cloned().collect();
        names.extend(predicate.iter().flat_map(Predicate::columns));
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        let query = Self {
            session: first.session().clone(),
            request: Arc::new(request.clone()),
            steps: Arc::new(matched_groups(files, request)?),
            predicate,
            names: Arc::new(names),
        };
        if !query.names.is_empty() {
            // Report errors now, not at the first result.
            query.plan(&[])?;
        }
        Ok(query)
    }

    /// The same query on one of its steps.
    ///
    /// # Errors
    /// `InvalidInput` for an index that is out of range.
    pub fn step(&self, index: usize) -> Result<Self> {
        let step = self.steps.get(index).ok_or_else(|| Error::invalid_input(format!("step {index} of {}", self.steps.len())))?;
        Ok(Self { steps: Arc::new(vec![step.clone()]), ..self.clone() })
    }

    /// The query with one more condition, which may use `lists` and the lists of the request.
    ///
    /// # Errors
    /// `InvalidInput` for a text that is not a condition, or does not fit the arrays' types; `NotFound` for an unknown
    /// name.
    pub fn and(&self, text: &str, lists: &Lists) -> Result<Self> {
        let known: Vec<(String, List)> = lists.iter().chain(&self.request.lists).cloned().collect();
        let more = Predicate::parse_with(text, &known)?;
        let predicate = Some(match self.predicate.clone() {
            Some(predicate) => predicate.and(more.clone()),
            None => more.clone(),
        });
        // The rows stay the same; if nothing determined them before, the new names do.
        let names = if self.names.is_empty() { Arc::new(more.columns().into_iter().collect()) } else { self.names.clone() };
        Ok(Self { predicate, names, ..self.clone() })
    }

    /// The scan of `columns`, in the given order.
    pub(super) fn plan(&self, columns: &[String]) -> Result<Plan> {
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
        let request = ScanRequest::new(self.request.group.clone())
            .with_columns(Some(columns.to_vec()))
            .with_predicate(self.predicate.clone())
            .with_decode(self.request.decode)
            .with_batch_rows(batch_rows);
        Plan::of_segments(&self.session, segments, &request, &Cancellation::new())
    }

    /// The steps, in order.
    ///
    /// # Errors
    /// `Internal` if a plan of no columns fails.
    pub fn steps(&self) -> Result<Vec<StepDescription>> {
        let plan = self.plan(&[])?;
        let shapes = plan.shapes();
        let described = self.steps.iter().zip(shapes).map(|(step, shape)| StepDescription { file: step.file.name(), group: step.path.clone(), shape });
        Ok(described.collect())
    }

    /// The names in the condition and `rows`, as columns of the table.
    ///
    /// # Errors
    /// `Internal` if a name has no column.
    pub fn names(&self) -> Result<Vec<String>> {
        let plan = self.plan(&[])?;
        let mut columns: Vec<String> = Vec::new();
        for name in self.names.iter() {
            // Members of compounds are part of their compound's column.
            let head = plan.column_of(name).ok_or_else(|| Error::internal(format!("no column {name}")))?;
            if !columns.contains(&head) {
                columns.push(head);
            }
        }
        Ok(columns)
    }

    /// Number of rows that satisfy the condition.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
    pub fn count(&self, cancellation: &Cancellation) -> Result<u64> {
        Ok(self.counts(cancellation)?.iter().sum())
    }

    /// Number of rows of each step that satisfy the condition.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
    pub fn counts(&self, cancellation: &Cancellation) -> Result<Vec<u64>> {
        self.plan(&[])?.counts(cancellation)
    }

    /// The rows of each step that satisfy the condition, as row-major numbers in the step's shape, in increasing order.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
    pub fn positions(&self, cancellation: &Cancellation) -> Result<Vec<Vec<u64>>> {
        self.plan(&[])?.positions(cancellation)
    }

    /// As [`Query::positions`], as arrays of unsigned 64-bit integers in reused memory.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
    pub fn position_arrays(&self, cancellation: &Cancellation) -> Result<Vec<ArrayRef>> {
        self.plan(&[])?.position_arrays(cancellation)
    }

    /// Columns of the rows that satisfy the condition: variables, dimensions, captures of wildcards, `_row` and `_file`.
    /// Reads values only at matching rows.
    ///
    /// # Errors
    /// `NotFound` for an unknown column; `InvalidInput` for batches of 0 rows.
    pub fn table(&self, columns: &[String], batch_rows: usize) -> Result<Plan> {
        if batch_rows == 0 {
            return Err(Error::invalid_input("batch_rows must be at least 1"));
        }
        self.plan_in_batches(columns, batch_rows)
    }

    /// Minimum, maximum, sum and counts of a variable over the rows that satisfy the condition.
    ///
    /// # Errors
    /// `NotFound` for an unknown variable; `Unsupported` if it does not hold integers or floats. `Io`, `Corrupt`,
    /// `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
    pub fn summary(&self, variable: &str, cancellation: &Cancellation) -> Result<Summary> {
        self.plan(&[variable.to_owned()])?.summary(variable, cancellation)
    }

    /// Minimum and maximum of a variable over the rows that satisfy the condition, without nulls and NaN; an empty array if
    /// there are no values.
    ///
    /// # Errors
    /// `NotFound` for an unknown variable; `Unsupported` if its values have no order. `Io`, `Corrupt`, `Unsupported` or
    /// `LimitExceeded` if values cannot be read; `Cancelled`.
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

    /// Lower and upper bound of the number of rows that satisfy the condition, from indexes alone; without indexes these are
    /// 0 and the number of rows.
    ///
    /// # Errors
    /// `Io` or `Corrupt` if the index cannot be read; `Cancelled`.
    pub fn bounds(&self, cancellation: &Cancellation) -> Result<CountBounds> {
        self.plan(&[])?.bounds(cancellation)
    }

    /// The values of variables at the rows that satisfy the condition, as whole arrays, without reading batches. `None` if
    /// no index finds the rows, or the values cannot be read at single rows.
    ///
    /// # Errors
    /// `NotFound` for an unknown variable. `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read;
    /// `Cancelled`.
    pub fn values(&self, variables: &[String], cancellation: &Cancellation) -> Result<Option<Vec<ArrayRef>>> {
        self.plan(variables)?.matching_columns(cancellation)
    }

    /// The values with the ranks `ranks(count)`, from 0, among the sorted values of a variable that are neither null nor NaN,
    /// over the rows that satisfy the condition. No values if a rank is `count` or more.
    ///
    /// # Errors
    /// `NotFound` for an unknown variable; `Unsupported` if its values have no order. `Io`, `Corrupt`, `Unsupported` or
    /// `LimitExceeded` if values cannot be read; `Cancelled`.
    pub fn order_statistics(&self, variable: &str, ranks: impl Fn(u64) -> Vec<u64>, cancellation: &Cancellation) -> Result<OrderStatistics> {
        let plan = self.plan(&[variable.to_owned()])?;
        let field = plan.schema().field_with_name(variable).map_err(|e| Error::internal(e.to_string()))?;
        let data_type = field.data_type().clone();
        if let Some(index) = plan.by_index(variable)?
            && let Some(count) = index.numbers(cancellation)?.and_then(CountBounds::exact)
        {
            let found = ranks(count).into_iter().map(|rank| if rank < count { index.ranked(rank, cancellation) } else { Ok(None) });
            if let Some(keys) = found.collect::<Result<Option<Vec<u64>>>>()? {
                return Ok(OrderStatistics { count, values: index.values(&keys, &data_type)? });
            }
        }
        select_values(&data_type, ranks, &mut |of, take| {
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

    /// Describes how the query will run.
    ///
    /// # Errors
    /// `Io` or `Corrupt` if an index cannot be read.
    pub fn explain(&self) -> Result<String> {
        Ok(self.plan(&[])?.explain())
    }

    /// A plan of columns without duplicates.
    pub(super) fn each_once(&self, names: &[String]) -> Result<Plan> {
        let mut seen = BTreeSet::new();
        let once: Vec<String> = names.iter().filter(|name| seen.insert((*name).clone())).cloned().collect();
        self.plan(&once)
    }
}
