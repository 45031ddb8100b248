//! Plan: a table scan, planned from metadata.

use hyperslab::Cancellation;
use hyperslab::Error;
use hyperslab::predicate::Predicate;
use hyperslab::scan::{Layout, Naming, Nonconforming, Reduction, ScanRequest, SplitPolicy, interleaved};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

use crate::cancellation;
use crate::error::raise;
use crate::files::GivenFiles;
use crate::list;
use crate::name::{ColumnText, Name};
use crate::reader::{Reader, schema_capsule};
use crate::reduction::{Batch, GivenClasses, SegmentDimensions, segment_classes};
use crate::results::counting::Summary;
use crate::results::layout::StorageLayout;
use crate::wait::{parse, wait};

/// An encoded split, with the numbers of its storage targets and their bytes.
type PlacedBytes<'py> = (Bound<'py, PyBytes>, Vec<(u32, u64)>);

/// A planned scan.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Plan(std::sync::Arc<hyperslab::scan::Plan>);

impl Plan {
    /// Wraps a plan.
    pub(crate) fn of(plan: hyperslab::scan::Plan) -> Self {
        Self(std::sync::Arc::new(plan))
    }
}

fn nonconforming(word: &str) -> Result<Nonconforming, Error> {
    match word {
        "error" => Ok(Nonconforming::Error),
        "null" => Ok(Nonconforming::Null),
        other => Err(Error::unknown_choice("nonconforming", other, &["error", "null"])),
    }
}

#[pymethods]
impl Plan {
    /// `where_text` is applied exactly; `substrait` keeps a superset of the rows that its expression keeps.
    #[new]
    #[pyo3(signature = (files, path, *, file_pattern=None, model=None, layout=None, columns=None, where_text=None, lists=Vec::new(), substrait=None, limit=None, batch_rows=65536, decode=true, nonconforming=None))]
    #[expect(clippy::too_many_arguments, reason = "one for each keyword of a scan request")]
    fn new(
        py: Python<'_>,
        files: GivenFiles<'_>,
        path: Name,
        file_pattern: Option<String>,
        model: Option<String>,
        layout: Option<&str>,
        columns: Option<Vec<ColumnText>>,
        where_text: Option<ColumnText>,
        lists: Vec<list::Named<'_>>,
        substrait: Option<&[u8]>,
        limit: Option<u64>,
        batch_rows: usize,
        decode: bool,
        nonconforming: Option<&str>,
    ) -> PyResult<Self> {
        let files = files.files();
        let mut request = ScanRequest::new(path);
        let lists = list::of_all(py, lists)?;
        let prepared = (|| {
            request.layout = layout.map(str::parse::<Layout>).transpose()?;
            request.nonconforming = nonconforming.map(self::nonconforming).transpose()?.unwrap_or_default();
            let text = where_text.map(|text| Predicate::parse_with(&text.0, &lists)).transpose()?;
            let expression = substrait.map(Predicate::from_substrait).transpose()?.flatten();
            request.predicate = match (text, expression) {
                (Some(a), Some(b)) => Some(a.and(b)),
                (a, b) => a.or(b),
            };
            Ok(())
        })();
        prepared.map_err(|error: Error| raise(py, &error))?;
        request.file_pattern = file_pattern;
        request.naming = Naming::of(model);
        request.columns = columns.map(|columns| columns.into_iter().map(|column| column.0).collect());
        request.limit = limit;
        request.batch_rows = batch_rows;
        request.decode = decode;
        let plan = wait(py, &Cancellation::new(), move || hyperslab::scan::Plan::new(files.as_slice(), &request))?;
        Ok(Self(std::sync::Arc::new(plan)))
    }

    /// The data model whose table this is; `None` for the table of an object.
    #[getter]
    fn model(&self) -> Option<&str> {
        self.0.model()
    }

    /// The schema as an Arrow PyCapsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, self.0.schema())
    }

    /// Number of rows.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let (plan, cancellation) = (self.0.clone(), Cancellation::new());
        let shared = cancellation.clone();
        wait(py, &cancellation, move || plan.check_open().and_then(|()| plan.count(&shared)))
    }

    /// Aggregates of a numeric column.
    fn summary(&self, py: Python<'_>, column: ColumnText) -> PyResult<Summary> {
        let (plan, cancellation) = (self.0.clone(), Cancellation::new());
        let shared = cancellation.clone();
        wait(py, &cancellation, move || plan.check_open().and_then(|()| plan.summary(&column.0, &shared))).map(Summary::from)
    }

    /// Counts the values of a numeric column in each bin.
    fn histogram(&self, py: Python<'_>, column: ColumnText, edges: Vec<f64>) -> PyResult<Vec<u64>> {
        let (plan, cancellation) = (self.0.clone(), Cancellation::new());
        let shared = cancellation.clone();
        wait(py, &cancellation, move || plan.check_open().and_then(|()| plan.histogram(&column.0, &edges, &shared)))
    }

    /// The dimensions of each segment, with the names of the columns along them.
    fn dimensions(&self, py: Python<'_>) -> PyResult<Vec<SegmentDimensions>> {
        let found = self.0.dimensions().map_err(|error| raise(py, &error))?;
        Ok(found.into_iter().map(|found| (found.shape, found.along, found.constant)).collect())
    }

    /// The values of columns along a dimension of a segment, or of those with one value.
    #[pyo3(signature = (segment, axis, names, cancellation=None))]
    fn along(
        &self,
        py: Python<'_>,
        segment: usize,
        axis: Option<usize>,
        names: Vec<ColumnText>,
        cancellation: Option<&cancellation::Cancellation>,
    ) -> PyResult<Batch> {
        let (plan, cancellation) = (self.0.clone(), cancellation::Cancellation::of(cancellation));
        let shared = cancellation.clone();
        let names: Vec<String> = names.into_iter().map(|name| name.0).collect();
        wait(py, &cancellation, move || plan.check_open().and_then(|()| plan.along(segment, axis, &names, &shared))).map(Batch)
    }

    /// An error if `reduce` cannot compute this; nothing is read.
    fn check_reduction(&self, py: Python<'_>, reduction: &str) -> PyResult<()> {
        Reduction::parse(reduction).and_then(|reduction| self.0.check_reduction(&reduction)).map_err(|error| raise(py, &error))
    }

    /// Aggregates by groups; `reduction` is JSON.
    #[pyo3(signature = (reduction, classes, cancellation=None))]
    fn reduce(&self, py: Python<'_>, reduction: &str, classes: Vec<GivenClasses>, cancellation: Option<&cancellation::Cancellation>) -> PyResult<Batch> {
        let reduction = Reduction::parse(reduction).map_err(|error| raise(py, &error))?;
        let (plan, cancellation) = (self.0.clone(), cancellation::Cancellation::of(cancellation));
        let shared = cancellation.clone();
        wait(py, &cancellation, move || {
            plan.check_open()?;
            let classes: Vec<_> = classes.into_iter().map(segment_classes).collect();
            plan.reduce(&reduction, &classes, &shared)
        })
        .map(Batch)
    }

    /// The number of windows of a reduction, and of those whose values are not read.
    fn reduced_windows(&self, py: Python<'_>, reduction: &str, classes: Vec<GivenClasses>) -> PyResult<(u64, u64)> {
        let reduction = Reduction::parse(reduction).map_err(|error| raise(py, &error))?;
        let (plan, cancellation) = (self.0.clone(), cancellation::Cancellation::of(None));
        let shared = cancellation.clone();
        let classes: Vec<_> = classes.into_iter().map(segment_classes).collect();
        wait(py, &cancellation, move || plan.reduced_windows(&reduction, &classes, &shared))
    }

    /// Names of members of the groups that are not columns, each with the reason.
    fn omitted(&self) -> Vec<(String, String)> {
        self.0.omitted().iter().map(|omitted| (omitted.name.clone(), omitted.reason.clone())).collect()
    }

    /// Least and most number of matching rows, if indexes find them with less work than reading all.
    fn few_rows(&self, py: Python<'_>) -> PyResult<Option<(u64, u64)>> {
        let (plan, cancellation) = (self.0.clone(), cancellation::Cancellation::of(None));
        let shared = cancellation.clone();
        let found = wait(py, &cancellation, move || plan.few_rows(&shared))?;
        Ok(found.map(|bounds| (bounds.lower, bounds.upper)))
    }

    /// How the scan will run.
    fn explain(&self) -> String {
        self.0.explain()
    }

    /// The encoded splits in row order.
    #[pyo3(signature = (count=None, target_bytes=None))]
    fn split<'py>(&self, py: Python<'py>, count: Option<usize>, target_bytes: Option<u64>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let plan = self.0.clone();
        let policy = SplitPolicy::default().with_target_bytes(target_bytes).with_count(count);
        let encoded =
            parse(py, move || plan.check_open().and_then(|()| plan.split(&policy))?.iter().map(|split| split.encode()).collect::<hyperslab::Result<Vec<_>>>())?;
        Ok(encoded.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
    }

    /// The encoded splits, interleaved by storage targets, each with the numbers of its targets and their bytes.
    #[pyo3(signature = (count=None, target_bytes=None, layout=None))]
    fn split_placed<'py>(
        &self,
        py: Python<'py>,
        count: Option<usize>,
        target_bytes: Option<u64>,
        layout: Option<&StorageLayout>,
    ) -> PyResult<Vec<PlacedBytes<'py>>> {
        let (plan, layout) = (self.0.clone(), layout.map(|layout| layout.0.clone()));
        let policy = SplitPolicy::default().with_target_bytes(target_bytes).with_count(count);
        let placed = parse(py, move || {
            plan.check_open()?;
            let placed = plan.split_placed(&policy, layout.as_ref())?;
            let order = interleaved(placed.iter().map(|placed| &placed.targets));
            let placed = order.into_iter().filter_map(|index| placed.get(index));
            placed.map(|placed| Ok((placed.split.encode()?, placed.targets.clone()))).collect::<hyperslab::Result<Vec<_>>>()
        })?;
        Ok(placed.into_iter().map(|(bytes, targets)| (PyBytes::new(py, &bytes), targets)).collect())
    }

    /// Reads everything in row order.
    fn read(&self, py: Python<'_>) -> PyResult<Reader> {
        let (plan, cancellation) = (self.0.clone(), Cancellation::new());
        let shared = cancellation.clone();
        let batches = wait(py, &cancellation, move || plan.check_open().and_then(|()| plan.batches(&shared)))?;
        Ok(Reader::new(batches, cancellation))
    }
}
