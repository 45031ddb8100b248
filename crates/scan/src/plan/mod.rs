//! Plans a scan: what it will read, from metadata and coordinate values only.

pub(crate) mod boxes;
mod cut;
mod file_stamp;
pub(crate) mod split;
pub(crate) mod targets;
pub(crate) mod top_bound;

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_predicate::Predicate;
use hyperslab_reader::{File, Session};
use hyperslab_storage::remote_counts;

use crate::access::box_conditions::CompositeFiles;
use crate::access::column_by_index::ColumnByIndex;
use crate::access::coordinate_columns::CoordinateCache;
use crate::access::cost_model::LOOKUP_MAX_ROW_FRACTION;
use crate::access::segment_scan::{Conditions, SegmentScan};
use crate::pruner::{CountBounds, Level, pruner_of};
use crate::request::{Naming, Nonconforming, ScanRequest};
use crate::table::conform::conform;
use crate::table::each::each_into;
use crate::table::members::Omitted;
use crate::table::model::named;
use crate::table::resolver::segments;
use crate::table::segment::Segment;
use crate::table::{chunk_count, columns};
use crate::window::Rows;

/// Maximum number of windows of one plan: 32 TiB of rows.
const MAX_WINDOWS: usize = 1 << 22;
/// Maximum number of splits of one plan, apart from the splits of small segments.
const MAX_SPLITS: u64 = 1 << 20;

/// A planned scan. Immutable, and cheap to clone.
#[derive(Clone)]
pub struct Plan {
    pub(crate) schema: SchemaRef,
    pub(crate) request: Arc<ScanRequest>,
    pub(crate) parts: Arc<Vec<Arc<SegmentScan>>>,
    omitted: Arc<Vec<Omitted>>,
    pub(crate) session: Session,
}

/// The size of a plan, before any limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanExtent {
    /// Rows that remain after the predicate's conditions on dimensions.
    pub rows: u64,
    /// Bytes of the decoded values that are read for these rows.
    pub value_bytes: u64,
    /// Whether nothing is left to test row by row, so that `rows` is the number of matching rows.
    pub exact: bool,
}

/// Chunks of the datasets that a plan reads. Datasets that are not chunked count as none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkCount {
    /// Chunks of the whole datasets.
    pub all: u64,
    /// Chunks that hold rows of the plan.
    pub left: u64,
}

impl PlanExtent {
    /// The size of a plan without rows, to which others are added.
    pub fn none() -> Self {
        Self { rows: 0, value_bytes: 0, exact: true }
    }
}

impl ChunkCount {
    /// No chunks, to which others are added.
    pub fn none() -> Self {
        Self { all: 0, left: 0 }
    }
}

impl Plan {
    /// Plans `request` over `files` as one table: files in the given order, rows in file order.
    ///
    /// # Errors
    /// `NotFound` for a missing path or column; `InvalidInput` for no files, batches of 0 rows, a predicate that does
    /// not fit the columns' types, or files whose tables differ (the error names both); `Unsupported` for arrays that
    /// cannot be columns.
    pub fn new(files: &[File], request: &ScanRequest) -> Result<Self> {
        Self::cancellable(files, request, &Cancellation::new())
    }

    /// As [`Plan::new`]; can be cancelled.
    ///
    /// # Errors
    /// As [`Plan::new`], and `Cancelled`.
    pub fn cancellable(files: &[File], request: &ScanRequest, cancellation: &Cancellation) -> Result<Self> {
        let first = files.first().ok_or_else(|| Error::invalid_input("a scan needs at least one file"))?;
        if request.batch_rows == 0 {
            return Err(Error::invalid_input("batch_rows must be at least 1"));
        }
        cancellation.check()?;
        let request = named(files, request)?;
        let segments = segments(files, &request, cancellation)?;
        let segments = match request.nonconforming {
            Nonconforming::Error => segments,
            Nonconforming::Null => conform(segments)?,
        };
        Self::of_segments(first.session(), segments, &request, cancellation)
    }

    /// Plans a scan of segments that are made already, by a query or from a split.
    ///
    /// # Errors
    /// As [`Plan::cancellable`].
    pub fn of_segments(session: &Session, segments: Vec<Segment>, request: &ScanRequest, cancellation: &Cancellation) -> Result<Self> {
        let table = columns::union_schema(&segments)?;
        let omitted = columns::omitted(&segments);
        let wanted: Arc<[String]> = columns::wanted_columns(&table, &segments, request, &omitted)?.into();
        let fields = wanted.iter().map(|name| table.field_with_name(name).cloned());
        let fields: Vec<Field> = fields.collect::<Result<_, _>>().map_err(|e| Error::internal(e.to_string()))?;
        let schema = Arc::new(Schema::new(fields));
        let conjuncts = request.predicate.clone().map(Predicate::conjuncts).unwrap_or_default();
        let coordinate_cache = Arc::<CoordinateCache>::default();
        let composite_files = CompositeFiles::default();
        let conditions = Conditions { conjuncts: &conjuncts, range: request.range.as_ref() };
        let part = |segment| {
            cancellation.check()?;
            SegmentScan::new(segment, &table, &wanted, conditions, coordinate_cache.clone(), &composite_files, cancellation).map(Arc::new)
        };
        let parts = each_into(session, segments, part);
        let parts = parts.map_err(|error| error.at_object(&request.path))?;
        Ok(Self { schema, request: Arc::new(request.clone()), parts: Arc::new(parts), omitted: Arc::new(omitted), session: session.clone() })
    }

    /// The plan with these columns nullable, because they are in other segments of their table.
    pub(crate) fn with_nullable(self, names: &[String]) -> Self {
        let field = |field: &Arc<Field>| field.as_ref().clone().with_nullable(field.is_nullable() || names.contains(field.name()));
        let fields: Vec<Field> = self.schema.fields().iter().map(field).collect();
        Self { schema: Arc::new(Schema::new(fields)), ..self }
    }

    /// Fails if a file that the plan reads was closed.
    ///
    /// # Errors
    /// `InvalidInput`, which names the file.
    pub fn check_open(&self) -> Result<()> {
        self.parts.iter().try_for_each(|part| {
            part.segment.opened.check_open()?;
            part.segment.file.check_open()
        })
    }

    /// Schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The data model whose table this is; `None` for the table of an object.
    pub fn model(&self) -> Option<&str> {
        match &self.request.naming {
            Naming::Model(model) => Some(model),
            Naming::Any | Naming::Path => None,
        }
    }

    /// Members of the groups that are not columns, each name once, with the reason.
    pub fn omitted(&self) -> &[Omitted] {
        &self.omitted
    }

    /// The size of the plan, from shapes alone.
    ///
    /// # Errors
    /// `LimitExceeded` beyond 64 bits.
    pub fn extent(&self) -> Result<PlanExtent> {
        let mut extent = PlanExtent::none();
        for part in self.parts.iter() {
            let rows = part.selection.element_count()?;
            extent.rows = extent.rows.saturating_add(rows);
            let row_bytes = part.row_bytes(&part.columns_read());
            extent.value_bytes = extent.value_bytes.saturating_add(rows.saturating_mul(row_bytes));
            extent.exact &= part.residual.is_none();
        }
        Ok(extent)
    }

    /// Number of chunks of the columns to be read, and of those that hold rows of the plan.
    ///
    /// # Errors
    /// `Internal` if a dataset of the plan is missing.
    pub fn chunk_count(&self) -> Result<ChunkCount> {
        let mut count = ChunkCount::none();
        for part in self.parts.iter() {
            let columns = part.columns_read();
            let (all, left) = chunk_count::touched(&part.segment, columns.iter(), &part.selection)?;
            count.all = count.all.saturating_add(all);
            count.left = count.left.saturating_add(left);
        }
        Ok(count)
    }

    /// Number of rows that remain after the predicate's conditions on dimensions.
    ///
    /// # Errors
    /// `LimitExceeded` beyond 64 bits.
    pub fn row_count(&self) -> Result<u64> {
        self.parts.iter().try_fold(0u64, |rows, part| Ok(rows.saturating_add(part.selection.element_count()?)))
    }

    /// All windows in row order; `LimitExceeded` if there are more than a plan may have.
    pub(crate) fn all_windows(&self) -> Result<Vec<(Arc<SegmentScan>, Rows)>> {
        let mut all = Vec::new();
        for part in self.parts.iter() {
            for rows in part.windows(&part.columns_read())? {
                if all.len() >= MAX_WINDOWS {
                    return Err(Error::limit_exceeded(format!("the rows are more than {MAX_WINDOWS} windows: ask for fewer")));
                }
                all.push((part.clone(), rows));
            }
        }
        Ok(all)
    }

    /// The column that holds `name`, which may be the dotted path of a compound member.
    pub fn column_of(&self, name: &str) -> Option<String> {
        let first = self.parts.first()?;
        let known = |name: &str| first.segment.column(name).is_some();
        let dots = name.rmatch_indices('.').filter_map(|(dot, _)| name.get(..dot));
        std::iter::once(name).chain(dots).find(|head| known(head)).map(str::to_owned)
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = &SegmentScan> + Clone {
        self.parts.iter().map(Arc::as_ref)
    }

    /// The shape of each segment's rows.
    pub fn shapes(&self) -> Vec<Vec<u64>> {
        self.parts.iter().map(|part| part.segment.shape.clone()).collect()
    }

    /// Describes how the scan will run: rows that remain after conditions on dimensions, columns tested row by row, indexes,
    /// and which strategy finds the matching rows for batches, counts and row numbers, with its reason.
    pub fn explain(&self) -> String {
        let lines = self.parts.iter().map(|part| {
            let product = |shape: &[u64]| shape.iter().fold(1u64, |n, &extent| n.saturating_mul(extent));
            let (all, left) = (product(&part.segment.shape), product(&part.selection.shape()));
            let rest = match &part.residual {
                None => "no test row by row".to_owned(),
                Some((_, needed)) => format!("tested row by row on {}", needed.join(", ")),
            };
            let boxes = part.boxes.map_or_else(String::new, |boxes| format!(" and {} of {} boxes", boxes.left, boxes.all));
            let line = format!("{} {}: {left} of {all} rows by dimensions{boxes}, {rest}", part.segment.file.name(), part.segment.path);
            let indexed_predicates = part.explain_indexes().unwrap_or_else(|error| vec![format!("an index fails: {}", error.message())]);
            let line = std::iter::once(line).chain(indexed_predicates).collect::<Vec<_>>().join("; ");
            let failed = |error: Error| vec![format!("  an index fails: {}", error.message())];
            let strategies = part.explain_strategies(&Cancellation::new()).unwrap_or_else(failed);
            std::iter::once(line).chain(strategies).collect::<Vec<_>>().join("\n")
        });
        let mut lines: Vec<String> = lines.collect();
        let mut said = BTreeSet::new();
        for part in self.parts.iter().filter(|part| part.residual.is_some()) {
            let file = &part.segment.file;
            if said.insert(file.name()) {
                lines.extend(pruner_of(&self.session).into_iter().flat_map(|pruner| pruner.remarks(file)));
            }
        }
        let is_remote = |part: &SegmentScan| part.segment.file.array_file().storage().is_remote();
        if self.parts().any(is_remote) {
            let counts = remote_counts();
            lines.push(format!(
                "remote files: this process has sent {} requests in {} rounds for {} bytes, and fetched {} bytes; {} reads were answered from memory",
                counts.requests, counts.rounds, counts.wanted_bytes, counts.fetched_bytes, counts.cache_hits
            ));
        }
        let counters = self.session.counters();
        if counters.parts_inflated() > 0 {
            lines.push(format!(
                "restart points: this session has inflated parts of chunks {} times, {} bytes less than the chunks have",
                counters.parts_inflated(),
                counters.inflating_skipped_bytes()
            ));
        }
        lines.extend(self.omitted.iter().map(|omitted| format!("not a column: {} {}", omitted.name, omitted.reason)));
        lines.join("\n")
    }

    /// Bounds of the number of matching rows, if indexes find them with less work than reading all; else `None`.
    ///
    /// # Errors
    /// `Io` or `Corrupt` if the index cannot be read; `Cancelled`.
    pub fn few_rows(&self, cancellation: &Cancellation) -> Result<Option<CountBounds>> {
        let (mut bounds, mut rows) = (CountBounds::default(), 0);
        for part in self.parts() {
            if !part.indexed_predicates.iter().any(|indexed| indexed.level() >= Level::Positions) {
                return Ok(None);
            }
            bounds = bounds + part.bounds(cancellation)?;
            rows += part.selection.element_count()?;
        }
        Ok(Some(bounds).filter(|bounds| bounds.upper <= LOOKUP_MAX_ROW_FRACTION.of(rows)))
    }

    /// The column's indexes, if every segment has one and the residual predicate uses no other column.
    ///
    /// # Errors
    /// `NotFound` for an unknown column.
    pub fn by_index(&self, column: &str) -> Result<Option<ColumnByIndex>> {
        ColumnByIndex::of(self.parts(), column)
    }
}
