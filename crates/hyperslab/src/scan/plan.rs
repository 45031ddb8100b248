//! Plan: what a scan will read, from metadata (and coordinate values) only.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use hyperslab_array::{Error, Result, Selection};
use hyperslab_formats::ObjectId;
use rayon::prelude::*;

use super::chunks;
use super::narrow;
use super::pipeline::{Pipeline, Work};
use super::predicate::{BoundPredicate, Predicate};
use super::prune::{Pruning, pruning};
use super::pruner::Bounds;
use super::segment::{FILE, ROW, Segment, Source};
use super::spread::Spreads;
use super::table::segments;
use super::window::{self, Rows, WINDOW_BYTES, Windows};
use super::{Batches, ScanRequest, Split, SplitPolicy};
use crate::{Cancellation, File, Session};

/// Windows that one plan is cut into at most: 32 TiB of rows.
const MOST_WINDOWS: usize = 1 << 22;

/// A planned scan. Made once; cheap to clone.
#[derive(Clone)]
pub struct Plan {
    schema: SchemaRef,
    request: Arc<ScanRequest>,
    parts: Arc<Vec<Arc<Part>>>,
    session: Session,
    /// Whether the request says all there is to say, so that another process can plan the same.
    told: bool,
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

/// A segment with the rows that a predicate on its dimensions leaves.
pub(super) struct Part {
    pub segment: Segment,
    pub selection: Selection,
    /// Names of the wanted columns, in order.
    pub wanted: Vec<String>,
    /// What is left to test row by row, with the columns that it needs.
    pub residual: Option<(BoundPredicate, Vec<String>)>,
    /// Values of the coordinate datasets in use.
    pub coordinates: HashMap<ObjectId, ArrayRef>,
    /// What indexes know of the rest of the predicate.
    pub prunings: Vec<Pruning>,
    /// Whether all of the rest of the predicate is among them.
    pub all_pruned: bool,
    /// Its number among all parts of this process.
    pub number: u64,
    /// The columns of coordinates that the last windows of the plan have had.
    pub spreads: Arc<Spreads>,
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

    /// The plan of one object without wildcards, with the columns that wildcards gave it before.
    pub(super) fn of_one(file: &File, request: &ScanRequest, captures: &[(String, ArrayRef)]) -> Result<Self> {
        let segment = Segment::new(file, &request.path, request.layout, request.decode, captures)?;
        Self::of_segments(file.session(), vec![segment], request, &Cancellation::new())
    }

    /// The plan of segments that somebody else made: queries.
    pub(crate) fn of_segments(
        session: &Session,
        segments: Vec<Segment>,
        request: &ScanRequest,
        cancellation: &Cancellation,
    ) -> Result<Self> {
        let table = union_schema(&segments)?;
        let wanted = wanted_columns(&table, request)?;
        let fields = wanted.iter().map(|name| table.field_with_name(name).cloned());
        let fields: Vec<Field> = fields.collect::<Result<_, _>>().map_err(|e| Error::internal(e.to_string()))?;
        let schema = Arc::new(Schema::new(fields));
        let conjuncts = request.predicate.clone().map(Predicate::conjuncts).unwrap_or_default();
        let spreads = Arc::<Spreads>::default();
        let parts = segments
            .into_iter()
            .map(|segment| {
                cancellation.check()?;
                Part::new(segment, &table, &wanted, &conjuncts, spreads.clone(), cancellation).map(Arc::new)
            })
            .collect::<Result<Vec<_>>>()
            .map_err(|error| error.at_object(&request.path))?;
        Ok(Self {
            schema,
            request: Arc::new(request.clone()),
            parts: Arc::new(parts),
            session: session.clone(),
            told: true,
        })
    }

    /// A plan of segments that the request does not tell.
    pub(crate) fn without_splits(self) -> Self {
        Self { told: false, ..self }
    }

    /// The file that holds the first object.
    pub(super) fn first_file(&self) -> Option<&File> {
        self.parts.first().map(|part| &part.segment.file)
    }

    /// Schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Number of rows; from shapes alone where no predicate is left to test row by row.
    pub fn count(&self, cancellation: &Cancellation) -> Result<u64> {
        let limit = self.request.limit.unwrap_or(u64::MAX);
        let mut count = 0u64;
        for part in self.parts.iter() {
            if count >= limit {
                break;
            }
            let here = match &part.residual {
                None => part.selection.element_count()?,
                Some(_) if let Some(count) = part.count_by_index(cancellation)? => count,
                Some((_, needed)) => {
                    let windows = part.windows(needed)?;
                    self.session.compute(|| {
                        windows.par_bridge().map(|rows| part.matching(rows, cancellation)).try_reduce(|| 0, |a, b| Ok(a + b))
                    })?
                }
            };
            count = count.saturating_add(here);
        }
        Ok(count.min(limit))
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
            let (all, left) = chunks::touched(&part.segment, columns.iter(), &part.selection)?;
            count.all = count.all.saturating_add(all);
            count.left = count.left.saturating_add(left);
        }
        Ok(count)
    }

    /// The most rows that were asked for.
    pub(super) fn limit(&self) -> Option<u64> {
        self.request.limit
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    /// All windows in row order; `LimitExceeded` for more of them than a plan may have.
    pub(super) fn all_windows(&self) -> Result<Vec<(Arc<Part>, Rows)>> {
        let mut all = Vec::new();
        for part in self.parts.iter() {
            for rows in part.windows(&part.columns_read())? {
                if all.len() >= MOST_WINDOWS {
                    return Err(Error::limit_exceeded(format!("the rows are more than {MOST_WINDOWS} windows: ask for fewer")));
                }
                all.push((part.clone(), rows));
            }
        }
        Ok(all)
    }

    /// What `work` makes of each window of the segments that are `wanted`, side by side, and the number of the
    /// window's segment; handed to `take` in row order, a few at a time, so that no more than these are there at once.
    pub(super) fn for_windows<T: Send>(
        &self,
        wanted: impl Fn(usize) -> bool,
        work: impl Fn(&Part, Rows) -> Result<T> + Sync,
        mut take: impl FnMut(usize, T) -> Result<()> + Send,
    ) -> Result<()> {
        let parts = self.parts.iter().enumerate().filter(|(number, _)| wanted(*number));
        let windows = parts.map(|(number, part)| Ok((number, part, part.windows(&part.columns_read())?)));
        let windows = windows.collect::<Result<Vec<_>>>()?;
        let mut windows = windows.into_iter().flat_map(|(number, part, windows)| windows.map(move |rows| (number, part, rows)));
        self.session.compute(|| {
            let several = self.session.thread_count()?.saturating_mul(4).max(1);
            loop {
                let next: Vec<_> = windows.by_ref().take(several).collect();
                if next.is_empty() {
                    return Ok(());
                }
                let made: Vec<Result<(usize, T)>> = next.par_iter().map(|(number, part, rows)| Ok((*number, work(part, *rows)?))).collect();
                for outcome in made {
                    let (number, outcome) = outcome?;
                    take(number, outcome)?;
                }
            }
        })
    }

    /// The numbers of the rows of each segment, in the order of the segments.
    pub(crate) fn positions(&self, cancellation: &Cancellation) -> Result<Vec<Vec<u64>>> {
        // Indexes number the rows of the selection: of whole segments these are the rows' own numbers.
        let told = self.parts.iter().map(|part| {
            let whole = part.residual.is_some() && part.selection.shape() == part.segment.shape;
            let rows = if whole { part.rows_by_index(cancellation)? } else { None };
            rows.map(|rows| self.session.compute(|| Ok(rows.to_vec()))).transpose()
        });
        let told = told.collect::<Result<Vec<Option<Vec<u64>>>>>()?;
        let wanted: Vec<bool> = told.iter().map(Option::is_none).collect();
        let mut positions: Vec<Vec<u64>> = told.into_iter().map(Option::unwrap_or_default).collect();
        self.for_windows(
            |number| wanted.get(number).copied().unwrap_or(false),
            |part, rows| part.passing(rows, cancellation),
            |number, found| {
                if let Some(mine) = positions.get_mut(number) {
                    mine.extend(found);
                }
                Ok(())
            },
        )?;
        Ok(positions)
    }

    /// The column that a (perhaps dotted) name lies in.
    pub(crate) fn column_of(&self, name: &str) -> Option<String> {
        let first = self.parts.first()?;
        let known = |name: &str| first.segment.column(name).is_some();
        let dots = name.rmatch_indices('.').filter_map(|(dot, _)| name.get(..dot));
        std::iter::once(name).chain(dots).find(|head| known(head)).map(str::to_owned)
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().map(Arc::as_ref)
    }

    /// The shape of each segment's rows.
    pub(crate) fn shapes(&self) -> Vec<Vec<u64>> {
        self.parts.iter().map(|part| part.segment.shape.clone()).collect()
    }

    /// How many rows of each segment pass.
    pub(crate) fn counts(&self, cancellation: &Cancellation) -> Result<Vec<u64>> {
        let told = self.parts.iter().map(|part| match &part.residual {
            None => part.selection.element_count().map(Some),
            Some(_) => part.count_by_index(cancellation),
        });
        let told = told.collect::<Result<Vec<Option<u64>>>>()?;
        let mut counts: Vec<u64> = told.iter().map(|count| count.unwrap_or(0)).collect();
        self.for_windows(
            |number| told.get(number).is_some_and(Option::is_none),
            |part, rows| part.matching(rows, cancellation),
            |number, found| {
                if let Some(mine) = counts.get_mut(number) {
                    *mine += found;
                }
                Ok(())
            },
        )?;
        Ok(counts)
    }

    /// At least and at most so many rows pass, by indexes alone.
    pub(crate) fn bounds(&self, cancellation: &Cancellation) -> Result<Bounds> {
        self.parts.iter().try_fold(Bounds::default(), |sum, part| Ok(sum + part.bounds(cancellation)?))
    }

    /// What `work` makes of the wanted columns in each window, handed to `take` in row order.
    pub(crate) fn for_batches<T: Send>(
        &self,
        cancellation: &Cancellation,
        work: impl Fn(&RecordBatch) -> Result<T> + Sync,
        mut take: impl FnMut(T) -> Result<()> + Send,
    ) -> Result<()> {
        self.for_windows(|_| true, |part, rows| work(&part.read(rows, &self.schema, cancellation)?), |_, made| take(made))
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
            let prunings = part.explain_prunings().unwrap_or_else(|error| vec![format!("an index fails: {}", error.message())]);
            std::iter::once(line).chain(prunings).collect::<Vec<_>>().join("; ")
        });
        let mut lines: Vec<String> = lines.collect();
        let mut said = BTreeSet::new();
        for part in self.parts.iter().filter(|part| part.residual.is_some()) {
            let file = &part.segment.file;
            if said.insert(file.name()) {
                lines.extend(self.session.pruner().remarks(file));
            }
        }
        lines.join("\n")
    }

    /// Cuts the scan into units of reading that begin and end at chunk borders where the shape
    /// allows it, in row order. A limit holds for the scan, so it is cut into the splits only where
    /// no predicate is left to test; otherwise each split keeps to it alone.
    pub fn split(&self, policy: &SplitPolicy) -> Result<Vec<Split>> {
        if !self.told {
            return Err(Error::unsupported("splits of a query: give its condition to `table`, or ask in parts"));
        }
        let target = self.split_target(policy)?;
        let mut cuts: Vec<(usize, Rows, u64)> = Vec::new();
        let mut budget = self.request.limit.unwrap_or(u64::MAX);
        for (number, part) in self.parts.iter().enumerate() {
            let columns = part.columns_read();
            let row_bytes = part.row_bytes(&columns);
            for mut rows in part.windows_of(&columns, target)? {
                if part.residual.is_none() {
                    rows.end = rows.end.min(rows.start.saturating_add(budget));
                    budget -= rows.count();
                    if rows.count() == 0 {
                        continue;
                    }
                }
                if cuts.len() >= MOST_WINDOWS {
                    return Err(Error::limit_exceeded(format!(
                        "the rows are more than {MOST_WINDOWS} windows of {WINDOW_BYTES} bytes: ask for fewer"
                    )));
                }
                cuts.push((number, rows, rows.count().saturating_mul(row_bytes)));
            }
        }
        let mut groups: Vec<(usize, Rows, u64)> = Vec::new();
        for (number, rows, bytes) in cuts {
            match groups.last_mut() {
                Some(last) if last.0 == number && last.1.end == rows.start && last.2 + bytes <= target + target / 8 => {
                    last.1.end = rows.end;
                    last.2 += bytes;
                }
                _ => groups.push((number, rows, bytes)),
            }
        }
        groups
            .into_iter()
            .map(|(number, rows, _)| {
                let part = self.parts.get(number).ok_or_else(|| Error::internal("no such part"))?;
                Split::new(part, rows, &self.request)
            })
            .collect()
    }

    /// Bytes of values that a split aims for.
    fn split_target(&self, policy: &SplitPolicy) -> Result<u64> {
        let extent = self.extent()?;
        // A limit of a scan that tests no rows is known to end it early.
        let rows = self.request.limit.filter(|_| extent.exact).unwrap_or(u64::MAX).min(extent.rows);
        let total = u128::from(extent.value_bytes) * u128::from(rows) / u128::from(extent.rows.max(1));
        let total = u64::try_from(total).unwrap_or(u64::MAX);
        let target = match (policy.count, policy.target_bytes) {
            (Some(count), _) => total.div_ceil(count.max(1) as u64),
            (None, Some(bytes)) => bytes,
            (None, None) => 64 << 20,
        };
        // Finer splits than there may be windows are not what anybody means.
        Ok(target.max(total / (MOST_WINDOWS as u64 / 8)).max(1))
    }

    /// Reads everything here, in row order, decoding in parallel.
    pub fn batches(&self, cancellation: &Cancellation) -> Result<Batches> {
        let parts = self.parts.iter().map(|part| Ok((part.clone(), part.windows(&part.columns_read())?)));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let work = parts.into_iter().flat_map(|(part, windows)| part.work(windows));
        Ok(self.read(work, cancellation))
    }

    /// Reads the given rows of the only part: what a split does.
    pub(super) fn read_rows(&self, rows: Rows, cancellation: &Cancellation) -> Result<Batches> {
        let [part] = self.parts.as_slice() else {
            return Err(Error::internal("a split is of one object"));
        };
        let windows = part.windows(&part.columns_read())?;
        // The windows of a whole scan, clipped; what is left of one need not be a box, the pipeline sees to that.
        let mine = windows
            .skip_while(move |window| window.end <= rows.start)
            .take_while(move |window| window.start < rows.end)
            .map(move |window| Rows { start: window.start.max(rows.start), end: window.end.min(rows.end) });
        Ok(self.read(part.clone().work(mine), cancellation))
    }

    fn read(&self, work: impl Iterator<Item = Work> + Send + 'static, cancellation: &Cancellation) -> Batches {
        let limit = self.request.limit.unwrap_or(u64::MAX);
        let (session, schema) = (self.session.clone(), self.schema.clone());
        let pipeline = Pipeline::new(session, schema, work, limit, self.request.batch_rows, cancellation.clone());
        Batches::new(self.schema.clone(), pipeline)
    }
}

impl Part {
    fn new(
        segment: Segment,
        table: &Schema,
        wanted: &[String],
        conjuncts: &[Predicate],
        spreads: Arc<Spreads>,
        cancellation: &Cancellation,
    ) -> Result<Self> {
        static PARTS: AtomicU64 = AtomicU64::new(0);
        let mut axes: Vec<hyperslab_array::Axis> = Selection::all(&segment.shape).axes().to_vec();
        let mut residual: Option<Predicate> = None;
        let mut coordinates = HashMap::new();
        let mut empty = false;
        let (mut prunings, mut all_pruned) = (Vec::new(), true);
        for conjunct in conjuncts {
            let names = conjunct.columns();
            // Checks names and types even where the conjunct is then answered here.
            let bound = conjunct.bind(table)?;
            let mut only = names.iter();
            let single = only.next().filter(|_| only.next().is_none()).and_then(|name| segment.column(name));
            let answered = match single.map(|column| (column, &column.source)) {
                Some((column, Source::Constant(value))) => {
                    let keep = narrow::evaluate(&bound, &column.field, value.clone())?;
                    empty |= keep.true_count() == 0;
                    true
                }
                Some((column, source)) if axis_of(source, segment.shape.len()).is_some() => {
                    let axis = &axis_of(source, segment.shape.len()).unwrap_or_default();
                    let values = match &column.source {
                        Source::Coordinate { dataset, column, .. } => {
                            Some(load(&segment, *dataset, column, &mut coordinates, cancellation)?)
                        }
                        _ => None,
                    };
                    let extent = segment.shape.get(*axis).copied().unwrap_or(0);
                    let breaks = conjunct.integer_breaks().filter(|_| values.is_none());
                    let narrowed = match breaks {
                        Some(breaks) => narrow::narrow_integers(&bound, &column.field, &breaks, extent)?,
                        None => narrow::narrow(&bound, &column.field, values.as_ref(), extent)?,
                    };
                    if let Some(mine) = axes.get_mut(*axis) {
                        *mine = intersect(mine, &narrowed.axis);
                    }
                    narrowed.exact
                }
                _ => false,
            };
            if !answered {
                let known = pruning(&segment, table, conjunct, wanted);
                all_pruned &= known.is_some();
                prunings.extend(known);
                residual = Some(match residual.take() {
                    Some(rest) => rest.and(conjunct.clone()),
                    None => conjunct.clone(),
                });
            }
        }
        if empty {
            axes = vec![hyperslab_array::Axis::range(0, 0); axes.len().max(1)];
        }
        let selection = if empty && segment.shape.is_empty() {
            // A scalar has no axis to empty: an impossible predicate on it is tested on its row.
            residual = conjuncts.iter().cloned().reduce(Predicate::and);
            all_pruned = false;
            Selection::all(&[])
        } else {
            Selection::new(axes, &segment.shape)?
        };
        let residual = match residual {
            None => None,
            Some(predicate) => {
                let needed = predicate.columns().into_iter().map(|name| top_level(&name, table)).collect::<BTreeSet<_>>();
                Some((predicate.bind(table)?, needed.into_iter().collect()))
            }
        };
        let number = PARTS.fetch_add(1, Ordering::Relaxed);
        let wanted = wanted.to_vec();
        let mut part = Self { segment, selection, wanted, residual, coordinates, prunings, all_pruned, number, spreads };
        for name in part.columns_read() {
            if let Some(Source::Coordinate { dataset, column, .. }) = part.segment.column(&name).map(|c| &c.source) {
                let (dataset, column) = (*dataset, column.clone());
                load(&part.segment, dataset, &column, &mut part.coordinates, cancellation)?;
            }
        }
        Ok(part)
    }

    /// Every column that is wanted or tested.
    pub(super) fn columns_read(&self) -> Vec<String> {
        let mut names = self.wanted.clone();
        for name in self.residual.iter().flat_map(|(_, needed)| needed) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    fn windows(&self, columns: &[String]) -> Result<Windows> {
        self.windows_of(columns, WINDOW_BYTES)
    }

    /// Windows for splits of about `split_bytes`.
    fn windows_of(&self, columns: &[String], split_bytes: u64) -> Result<Windows> {
        window::windows(&self.selection, &self.segment.chunk_shape, self.row_bytes(columns), WINDOW_BYTES, split_bytes)
    }

    /// Windows as work of a pipeline.
    fn work(self: Arc<Self>, windows: impl Iterator<Item = Rows>) -> impl Iterator<Item = Work> {
        let row_bytes = self.row_bytes(&self.columns_read());
        windows.map(move |rows| Work { part: self.clone(), rows, bytes: rows.count().saturating_mul(row_bytes) })
    }

    /// Bytes of a row, roughly: what a window costs.
    fn row_bytes(&self, columns: &[String]) -> u64 {
        let mut datasets = BTreeSet::new();
        let mut bytes = 0u64;
        for column in columns.iter().filter_map(|name| self.segment.column(name)) {
            bytes += match &column.source {
                Source::Variable { dataset, per_row, .. } => {
                    let size = self.segment.file.dataset(*dataset).map_or(8, |d| d.datatype.size());
                    size.saturating_mul(per_row.unwrap_or(1))
                }
                Source::Placed { dataset, place, .. } => place.file.dataset(*dataset).map_or(8, |d| d.datatype.size()),
                Source::Member { dataset, .. } if datasets.insert(*dataset) => {
                    self.segment.file.dataset(*dataset).map_or(8, |d| d.datatype.size())
                }
                Source::Member { .. } => 0,
                _ => 8,
            };
        }
        bytes.max(1)
    }
}

/// The dimension that a column alone tells the place along. Row numbers do where there is but one.
fn axis_of(source: &Source, ndim: usize) -> Option<usize> {
    match source {
        Source::Index { axis } | Source::Coordinate { axis, .. } => Some(*axis),
        Source::Row if ndim == 1 => Some(0),
        _ => None,
    }
}

fn load(
    segment: &Segment,
    dataset: ObjectId,
    column: &crate::columns::Column,
    coordinates: &mut HashMap<ObjectId, ArrayRef>,
    cancellation: &Cancellation,
) -> Result<ArrayRef> {
    if let Some(values) = coordinates.get(&dataset) {
        return Ok(values.clone());
    }
    let values = segment.coordinate(dataset, column, cancellation)?;
    coordinates.insert(dataset, values.clone());
    Ok(values)
}

/// The indexes that both axes select.
fn intersect(a: &hyperslab_array::Axis, b: &hyperslab_array::Axis) -> hyperslab_array::Axis {
    use hyperslab_array::Axis;
    match (a, b) {
        (other, Axis::Range { start, count, step: 1 }) | (Axis::Range { start, count, step: 1 }, other) => {
            other.clip(*start, start + count)
        }
        _ => {
            let theirs: std::collections::HashSet<u64> = (0..b.count()).filter_map(|p| b.index(p)).collect();
            Axis::Indices((0..a.count()).filter_map(|p| a.index(p)).filter(|i| theirs.contains(i)).collect())
        }
    }
}

/// The column of the table that a (perhaps dotted) name lies in.
fn top_level(name: &str, table: &Schema) -> String {
    if table.field_with_name(name).is_ok() {
        return name.to_owned();
    }
    let mut end = name.len();
    while let Some(dot) = name.get(..end).and_then(|head| head.rfind('.')) {
        if let Some(head) = name.get(..dot).filter(|head| table.field_with_name(head).is_ok()) {
            return head.to_owned();
        }
        end = dot;
    }
    name.to_owned()
}

fn wanted_columns(table: &Schema, request: &ScanRequest) -> Result<Vec<String>> {
    let all = table.fields().iter().map(|f| f.name().clone());
    let Some(columns) = &request.columns else {
        return Ok(all.filter(|name| name != ROW && name != FILE).collect());
    };
    for name in columns {
        if table.field_with_name(name).is_err() {
            let mut names: Vec<String> = all.collect();
            names.sort_by_key(|candidate| crate::file::distance(candidate, name));
            return Err(Error::not_found(format!("there is no column {name:?}; there are: {}", names.join(", ")))
                .at_object(&request.path));
        }
    }
    Ok(columns.clone())
}

/// The schema of all segments, which must agree in names and types. A column that can be null in
/// one can be null in all.
fn union_schema(segments: &[Segment]) -> Result<Schema> {
    let Some(first) = segments.first() else {
        return Err(Error::not_found("no object matches"));
    };
    let mut fields: Vec<Field> = first.columns.iter().map(|c| c.field.as_ref().clone()).collect();
    for segment in segments.iter().skip(1) {
        let differs = |what: String| {
            Err(Error::invalid_input(format!(
                "{} in {} and {} in {} do not make one table: {what}",
                first.path,
                first.file.name(),
                segment.path,
                segment.file.name()
            )))
        };
        if segment.columns.len() != fields.len() {
            return differs(format!("{} and {} columns", fields.len(), segment.columns.len()));
        }
        for (field, column) in fields.iter_mut().zip(&segment.columns) {
            if field.name() != column.field.name() || field.data_type() != column.field.data_type() {
                return differs(format!(
                    "{} is {} here and {} is {} there; a dataset names its column, so give wildcards for groups and files",
                    field.name(),
                    field.data_type(),
                    column.field.name(),
                    column.field.data_type()
                ));
            }
            if column.field.is_nullable() {
                *field = field.clone().with_nullable(true);
            }
        }
    }
    Ok(Schema::new(fields))
}
