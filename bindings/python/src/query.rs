//! Query: which elements of arrays match a condition.

use std::sync::Arc;

use arrow_array::ffi::to_ffi;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::{Field, Schema};
use hyperslab::query::{Bins, Origin, QueryRequest};
use hyperslab::{Cancellation, Error, Result};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

use crate::error::raise;
use crate::file::File;
use crate::files::GivenFiles;
use crate::list;
use crate::name::{ColumnText, Name};
use crate::plan::Plan;
use crate::results::counting::{Step, Summary};
use crate::wait::{parse, wait};

/// A condition on arrays.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Query(Arc<hyperslab::query::Query>);

/// A column: its schema and its values (the Arrow PyCapsule interface).
type Column<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

impl Query {
    /// Runs `work` on another thread; Ctrl-C cancels it.
    fn ask<T: Send + 'static>(&self, py: Python<'_>, work: impl FnOnce(&hyperslab::query::Query, &Cancellation) -> Result<T> + Send + 'static) -> PyResult<T> {
        let (query, cancellation) = (self.0.clone(), Cancellation::new());
        let shared = cancellation.clone();
        wait(py, &cancellation, move || work(&query, &shared))
    }
}

#[pymethods]
impl Query {
    /// `variables` are names, each with the file and path of its array.
    #[new]
    #[pyo3(signature = (files, group, text=None, *, rows=None, variables=Vec::new(), lists=Vec::new(), file_pattern=None, file_captures=Vec::new(), decode=true))]
    #[expect(clippy::too_many_arguments, reason = "one for each keyword of a query")]
    fn new(
        py: Python<'_>,
        files: GivenFiles<'_>,
        group: Name,
        text: Option<ColumnText>,
        rows: Option<String>,
        variables: Vec<(ColumnText, PyRef<'_, File>, Name)>,
        lists: Vec<list::Named<'_>>,
        file_pattern: Option<String>,
        file_captures: Vec<(String, Vec<String>)>,
        decode: bool,
    ) -> PyResult<Self> {
        let files = files.files();
        let variables = variables.into_iter().map(|(name, file, path)| (name.0, Origin::new(file.0.clone(), path.0)));
        let lists = list::of_all(py, lists)?;
        let request = QueryRequest::new(group.0, text.map(|text| text.0))
            .with_rows(rows)
            .with_variables(variables.collect())
            .with_lists(lists)
            .with_file_pattern(file_pattern)
            .with_file_captures(file_captures)
            .with_decode(decode);
        let cancellation = Cancellation::new();
        let query = wait(py, &cancellation, move || hyperslab::query::Query::new(files.as_slice(), &request))?;
        Ok(Self(Arc::new(query)))
    }

    /// The matched groups.
    fn steps(&self, py: Python<'_>) -> PyResult<Vec<Step>> {
        let query = self.0.clone();
        let steps = parse(py, move || query.steps())?;
        Ok(steps.into_iter().map(|step| Step { file: step.file, group: step.group, shape: step.shape }).collect())
    }

    /// The query restricted to one step.
    fn step(&self, py: Python<'_>, number: usize) -> PyResult<Self> {
        self.0.step(number).map(|query| Self(Arc::new(query))).map_err(|error| raise(py, &error))
    }

    /// The query with one more condition.
    #[pyo3(signature = (text, lists=Vec::new()))]
    fn and_also(&self, py: Python<'_>, text: &str, lists: Vec<list::Named<'_>>) -> PyResult<Self> {
        self.0.and(text, &list::of_all(py, lists)?).map(|query| Self(Arc::new(query))).map_err(|error| raise(py, &error))
    }

    /// The variables in the condition.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let query = self.0.clone();
        parse(py, move || query.names())
    }

    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |query, cancellation| query.count(cancellation))
    }

    /// The number of matching rows in each step.
    fn counts(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        self.ask(py, |query, cancellation| query.counts(cancellation))
    }

    /// Lower and upper bound of the number of rows, from indexes alone.
    fn bounds(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let bounds = self.ask(py, |query, cancellation| query.bounds(cancellation))?;
        Ok((bounds.lower, bounds.upper))
    }

    /// Lower and upper bound of the number of rows in each bin, from the index of the variable alone.
    fn histogram_bounds(&self, py: Python<'_>, variable: String, edges: Vec<f64>) -> PyResult<Option<Vec<(u64, u64)>>> {
        let bounds = self.ask(py, move |query, cancellation| query.histogram_bounds(&variable, &Bins::new(edges)?, cancellation))?;
        Ok(bounds.map(|bounds| bounds.into_iter().map(|bounds| (bounds.lower, bounds.upper)).collect()))
    }

    /// The positions of the matching rows of each step, as Arrow columns of unsigned 64-bit integers.
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Column<'py>>> {
        let positions = self.ask(py, |query, cancellation| query.position_arrays(cancellation))?;
        positions.into_iter().map(|rows| capsules(py, rows)).collect()
    }

    /// The values of variables at the matching rows, one column each, if an index answers this without a scan; else `None`.
    fn values<'py>(&self, py: Python<'py>, variables: Vec<String>) -> PyResult<Option<Vec<Column<'py>>>> {
        let found = self.ask(py, move |query, cancellation| query.values(&variables, cancellation))?;
        found.map(|columns| columns.into_iter().map(|values| capsules(py, values)).collect()).transpose()
    }

    /// Plans a scan of columns of the matching rows.
    #[pyo3(signature = (columns, batch_rows=65536))]
    fn table(&self, py: Python<'_>, columns: Vec<String>, batch_rows: usize) -> PyResult<Plan> {
        let query = self.0.clone();
        parse(py, move || query.table(&columns, batch_rows)).map(Plan::of)
    }

    /// Aggregates of a numeric variable.
    fn summary(&self, py: Python<'_>, variable: String) -> PyResult<Summary> {
        self.ask(py, move |query, cancellation| query.summary(&variable, cancellation)).map(Summary::from)
    }

    /// Minimum and maximum of a variable, as an Arrow column; empty if there is none.
    fn extremes<'py>(&self, py: Python<'py>, variable: String) -> PyResult<Column<'py>> {
        let found = self.ask(py, move |query, cancellation| query.extremes(&variable, cancellation))?;
        capsules(py, found)
    }

    /// Counts of matching rows in bins as native 64-bit integers, or sums of weights as doubles; row-major over the axes.
    #[pyo3(signature = (axes, weights=None))]
    fn histogram<'py>(&self, py: Python<'py>, axes: Vec<(String, Vec<f64>)>, weights: Option<String>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.ask(py, move |query, cancellation| {
            let axes = axes.into_iter().map(|(name, edges)| Ok((name, Bins::new(edges)?))).collect::<Result<Vec<_>>>()?;
            Ok(match weights {
                None => query.histogram(&axes, cancellation)?.into_iter().flat_map(u64::to_ne_bytes).collect::<Vec<u8>>(),
                Some(weights) => query.weighted_histogram(&axes, &weights, cancellation)?.into_iter().flat_map(f64::to_ne_bytes).collect(),
            })
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The number of values of a variable, and the two values around each of `fractions` of the sorted values, as an Arrow
    /// column.
    fn order_statistics<'py>(&self, py: Python<'py>, variable: String, fractions: Vec<f64>) -> PyResult<(u64, Column<'py>)> {
        let found = self.ask(py, move |query, cancellation| {
            let places = |count: u64| -> Vec<u64> {
                let last = count.saturating_sub(1);
                let around = fractions.iter().flat_map(|fraction| {
                    let below = ((fraction * last as f64).floor() as u64).min(last);
                    [below, (below + 1).min(last)]
                });
                if count == 0 { Vec::new() } else { around.collect() }
            };
            query.order_statistics(&variable, places, cancellation)
        })?;
        Ok((found.count, capsules(py, found.values)?))
    }

    /// How the query will run.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        let query = self.0.clone();
        parse(py, move || query.explain())
    }
}

/// A column as a batch with only that column.
fn capsules(py: Python<'_>, values: ArrayRef) -> PyResult<Column<'_>> {
    let schema = Schema::new(vec![Field::new("value", values.data_type().clone(), true)]);
    let made = RecordBatch::try_new(Arc::new(schema), vec![values]).and_then(|batch| to_ffi(&StructArray::from(batch).to_data()));
    let (array, schema) = made.map_err(|e| raise(py, &Error::internal(format!("a column cannot leave Rust: {e}"))))?;
    Ok((PyCapsule::new_with_value(py, schema, c"arrow_schema")?, PyCapsule::new_with_value(py, array, c"arrow_array")?))
}
