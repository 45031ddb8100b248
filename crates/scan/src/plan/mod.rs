//! Plan: what a scan will read, from metadata (and coordinate values) only.

mod cut;
mod file_stamp;
pub(crate) mod split;

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_predicate::Predicate;
use hyperslab_reader::{File, Session};

use crate::access::column_by_index::ColumnByIndex;
use crate::access::coordinate_columns::CoordinateCache;
use crate::access::segment_scan::SegmentScan;
use crate::pruner::pruner_of;
use crate::request::ScanRequest;
use crate::table::{chunk_count, columns};
use crate::table::members::Omitted;
use crate::table::resolver::segments;
use crate::table::segment::Segment;
use crate::window::Rows;

/// Windows that one plan is cut into at most: 32 TiB of rows.
const MAX_WINDOWS: usize = 1 << 22;

/// A planned scan. Made once; cheap to clone.
#[derive(Clone)]
pub struct Plan {
    pub(crate) schema: SchemaRef,
    pub(crate) request: Arc<ScanRequest>,
    pub(crate) parts: Arc<Vec<Arc<SegmentScan>>>,
    omitted: Arc<Vec<Omitted>>,
    pub(crate) session: Session,
}

/// How much a plan will read, before any limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanExtent {
    /// Rows that the predicate's hyperslabs leave.
    pub rows: u64,
    /// Bytes of the values to be read for them, decoded.
    pub value_bytes: u64,
    /// Whether no predicate is left to test row by row, so that `rows` is the answer.
    pub exact: bool,
}

/// Chunks of the datasets that a plan reads; data that is not stored in chunks has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkCount {
    /// Of the whole datasets.
    pub all: u64,
    /// That the plan's rows reach into.
    pub left: u64,
}

impl Plan {
    /// Plans `request` over `files`: one table, files in the given order, in the files' row order.
    ///
    /// `NotFound` for a path or column that is not there, `InvalidInput` for a predicate that does
    /// not fit or files whose tables differ (both are named).
    pub fn new(files: &[File], request: &ScanRequest) -> Result<Self> {
        Self::cancellable(files, request, &Cancellation::new())
    }

    /// As [`Plan::new`]; `Cancelled` once `cancellation` is set.
    pub fn cancellable(files: &[File], request: &ScanRequest, cancellation: &Cancellation) -> Result<Self> {
        let first = files.first().ok_or_else(|| Error::invalid_input("a scan needs at least one file"))?;
        if request.batch_rows == 0 {
            return Err(Error::invalid_input("batch_rows must be at least 1"));
        }
        cancellation.check()?;
        Self::of_segments(first.session(), segments(files, request)?, request, cancellation)
    }

    /// The plan of segments that somebody else made: queries and splits.
    pub fn of_segments(
        session: &Session,
        segments: Vec<Segment>,
        request: &ScanRequest,
        cancellation: &Cancellation,
    ) -> Result<Self> {
        let table = columns::union_schema(&segments)?;
        let omitted = columns::omitted(&segments);
        let wanted = columns::wanted_columns(&table, &segments, request, &omitted)?;
        let fields = wanted.iter().map(|name| table.field_with_name(name).cloned());
        let fields: Vec<Field> = fields.collect::<Result<_, _>>().map_err(|e| Error::internal(e.to_string()))?;
        let schema = Arc::new(Schema::new(fields));
        let conjuncts = request.predicate.clone().map(Predicate::conjuncts).unwrap_or_default();
        let coordinate_cache = Arc::<CoordinateCache>::default();
        let parts = segments
            .into_iter()
            .map(|segment| {
                cancellation.check()?;
                SegmentScan::new(segment, &table, &wanted, &conjuncts, coordinate_cache.clone(), cancellation).map(Arc::new)
            })
            .collect::<Result<Vec<_>>>()
            .map_err(|error| error.at_object(&request.path))?;
        Ok(Self {
            schema,
            request: Arc::new(request.clone()),
            parts: Arc::new(parts),
            omitted: Arc::new(omitted),
            session: session.clone(),
        })
    }

    /// The plan with columns that can be null because they can elsewhere in their table.
    pub(crate) fn with_nullable(self, names: &[String]) -> Self {
        let field = |field: &Arc<Field>| field.as_ref().clone().with_nullable(field.is_nullable() || names.contains(field.name()));
        let fields: Vec<Field> = self.schema.fields().iter().map(field).collect();
        Self { schema: Arc::new(Schema::new(fields)), ..self }
    }

    /// Schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Members of the groups that are not columns, each name once, and why.
    pub fn omitted(&self) -> &[Omitted] {
        &self.omitted
    }

    /// What the plan comes to, from shapes alone.
    pub fn extent(&self) -> Result<PlanExtent> {
        let mut extent = PlanExtent { rows: 0, value_bytes: 0, exact: true };
        for part in self.parts.iter() {
            let rows = part.selection.element_count()?;
            extent.rows = extent.rows.saturating_add(rows);
            let row_bytes = part.row_bytes(&part.columns_read());
            extent.value_bytes = extent.value_bytes.saturating_add(rows.saturating_mul(row_bytes));
            extent.exact &= part.residual.is_none();
        }
        Ok(extent)
    }

    /// How many chunks hold the columns to be read, and how many of them lie in the rows that are left.
    pub fn chunk_count(&self) -> Result<ChunkCount> {
        let mut count = ChunkCount { all: 0, left: 0 };
        for part in self.parts.iter() {
            let columns = part.columns_read();
            let (all, left) = chunk_count::touched(&part.segment, columns.iter(), &part.selection)?;
            count.all = count.all.saturating_add(all);
            count.left = count.left.saturating_add(left);
        }
        Ok(count)
    }

    /// How many rows the predicate's hyperslabs leave.
    pub fn row_count(&self) -> Result<u64> {
        self.parts.iter().try_fold(0u64, |rows, part| Ok(rows.saturating_add(part.selection.element_count()?)))
    }

    /// All windows in row order; `LimitExceeded` for more of them than a plan may have.
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

    /// The column that a (perhaps dotted) name lies in.
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

    /// How the scan will run, for people: parts, rows after narrowing, what is tested row by row.
    pub fn explain(&self) -> String {
        let lines = self.parts.iter().map(|part| {
            let product = |shape: &[u64]| shape.iter().fold(1u64, |n, &extent| n.saturating_mul(extent));
            let (all, left) = (product(&part.segment.shape), product(&part.selection.shape()));
            let rest = match &part.residual {
                None => "no test row by row".to_owned(),
                Some((_, needed)) => format!("tested row by row on {}", needed.join(", ")),
            };
            let line = format!("{} {}: {left} of {all} rows by dimensions, {rest}", part.segment.file.name(), part.segment.path);
            let indexed_predicates = part.explain_indexes().unwrap_or_else(|error| vec![format!("an index fails: {}", error.message())]);
            std::iter::once(line).chain(indexed_predicates).collect::<Vec<_>>().join("; ")
        });
        let mut lines: Vec<String> = lines.collect();
        let mut said = BTreeSet::new();
        for part in self.parts.iter().filter(|part| part.residual.is_some()) {
            let file = &part.segment.file;
            if said.insert(file.name()) {
                lines.extend(pruner_of(&self.session).into_iter().flat_map(|pruner| pruner.remarks(file)));
            }
        }
        lines.extend(self.omitted.iter().map(|omitted| format!("not a column: {} {}", omitted.name, omitted.reason)));
        lines.join("\n")
    }

    /// The column's indexes, where every part has one, and no row is left to test but by this column's own values.
    pub fn by_index(&self, column: &str) -> Result<Option<ColumnByIndex>> {
        ColumnByIndex::of(self.parts(), column)
    }
}
