//! Reads windows in parallel, reduces each, and combines the results in row order.
//!
//! Windows are shared out to tasks whose number depends on the data alone, so that sums of floats are the same with any number
//! of threads.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use hyperslab_array::{Axis, Cancellation, Error, Result, Selection};
use rayon::prelude::*;

use super::accumulator::{Accumulator, At, Masks};
use super::elements::{AlongRun, Block, Column, Kind, beyond, both};
use super::fold::BLOCK;
use super::request::{LEFT_OUT, Reduction, SegmentClasses};
use super::result::record_batch;
use super::spans::{Groups, Span, spans};
use crate::access::segment_scan::SegmentScan;
use crate::access::window_columns::Window;
use crate::plan::Plan;
use crate::window::Rows;

/// Bytes of the results of all tasks.
const STATE_BYTES: usize = 256 << 20;
/// Tasks into which windows are shared out at most: more than a machine has threads, few enough to combine.
const MAX_TASKS: usize = 64;
/// Windows of one reduction at most.
const MAX_WINDOWS: usize = 1 << 22;

impl Plan {
    /// Whether [`Plan::reduce`] can compute this; nothing is read.
    ///
    /// # Errors
    /// `Unsupported` for values that cannot be reduced; `LimitExceeded` for too many groups.
    pub fn check_reduction(&self, reduction: &Reduction) -> Result<()> {
        self.prepared(reduction).map(drop)
    }

    /// The groups, the kind of each measure's values, and the bytes of the state of all groups.
    fn prepared(&self, reduction: &Reduction) -> Result<(GroupLayout, Vec<Kind>, usize)> {
        let kinds: Vec<Kind> = self.schema.fields().iter().map(|field| Kind::of(field.data_type())).collect();
        let layout = GroupLayout::new(reduction)?;
        let measures = reduction.measures.iter().map(|measure| measure.argument.kind(&kinds)).collect::<Result<Vec<Kind>>>()?;
        let state_bytes = layout.groups.saturating_mul(8 + reduction.measures.len() * Accumulator::bytes_per_group());
        if state_bytes > STATE_BYTES {
            return Err(Error::limit_exceeded(format!("a reduction to {} groups", layout.groups)));
        }
        Ok((layout, measures, state_bytes))
    }

    /// Aggregates the plan's columns by groups. `classes` has one entry for each segment.
    ///
    /// Returns a row for each group that has rows, in the order of the groups: the classes of segments and dimensions that
    /// have more than one (`segment`, `axis0` …), `rows`, and for each measure `count0`, and as asked `sum0`, `least0`, `most0`
    /// (NaN is greater than every number, as in SQL) and `squares0`, the sum of squared differences from the mean. If there is
    /// only one group, it is returned even without rows.
    ///
    /// # Errors
    /// `Unsupported` if rows would have to be tested one by one, or for values that cannot be reduced; `LimitExceeded` for too
    /// many groups; `InvalidInput` for classes that do not fit the segments. `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values
    /// cannot be read; `Cancelled`.
    pub fn reduce(&self, reduction: &Reduction, classes: &[SegmentClasses], cancellation: &Cancellation) -> Result<RecordBatch> {
        let (layout, measures, state_bytes) = self.prepared(reduction)?;
        let segments = self.classed(reduction, classes)?;
        let mut rows = vec![0u64; layout.groups];
        for (part, classes) in &segments {
            layout.count_rows(&part.selection, classes, &mut rows)?;
        }
        let make = || Partial::new(reduction, &measures, layout.groups);
        let total = if reduction.condition.is_none() && reduction.measures.is_empty() {
            make()?
        } else {
            let windows = self.reduced_windows(&segments)?;
            let tasks = shared_out(&windows, (STATE_BYTES / state_bytes.max(1)).clamp(1, MAX_TASKS));
            let (columns, run) = (self.column_names(), Mutex::new(None));
            let work = |task: &&[(usize, Rows)]| -> Result<Partial> {
                let mut partial = make()?;
                for (segment, rows) in *task {
                    let (part, classes) = segments.get(*segment).ok_or_else(|| Error::internal("no such segment"))?;
                    partial.add_window(&WindowReduction { part, classes, layout: &layout, reduction, columns: &columns, run: &run }, *rows, cancellation)?;
                }
                Ok(partial)
            };
            let partials: Vec<Partial> = self.session.compute(|| tasks.par_iter().map(work).collect::<Result<_>>())?;
            let mut partials = partials.into_iter();
            let mut total = partials.next().map_or_else(make, Ok)?;
            partials.try_for_each(|partial| total.merge(&partial))?;
            total
        };
        record_batch(&layout.classes, &rows, &total.rejected, &total.accumulators)
    }

    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The segments that have rows, without the indexes that are left out.
    fn classed<'a>(&self, reduction: &Reduction, classes: &'a [SegmentClasses]) -> Result<Vec<(SegmentScan, &'a SegmentClasses)>> {
        let unfit = || Error::invalid_input("classes that do not fit the segments of a plan");
        self.dimensions()?;
        if classes.len() != self.parts.len() {
            return Err(unfit());
        }
        let mut found = Vec::new();
        for (part, classes) in self.parts().zip(classes).filter(|(_, classes)| classes.class != LEFT_OUT) {
            let shape = &part.segment.shape;
            let vectors = classes.vectors.iter().zip(&reduction.vector_axes);
            let fits = shape.len() == reduction.axis_classes.len()
                && classes.axes.len() == shape.len()
                && classes.vectors.len() == reduction.vector_axes.len()
                && classes.class < reduction.segment_classes
                && vectors.into_iter().all(|(vector, axis)| shape.get(*axis) == Some(&(vector.len() as u64)));
            if !fits {
                return Err(unfit());
            }
            let mut axes = Vec::new();
            for ((axis, of_axis), (extent, count)) in part.selection.axes().iter().zip(&classes.axes).zip(shape.iter().zip(&reduction.axis_classes)) {
                axes.push(match of_axis {
                    None => axis.clone(),
                    Some(of_axis) => {
                        if of_axis.len() as u64 != *extent || of_axis.iter().any(|class| class >= count && *class != LEFT_OUT) {
                            return Err(unfit());
                        }
                        kept(axis, of_axis)?
                    }
                });
            }
            found.push((part.narrowed_to(Selection::new(axes, shape)?), classes));
        }
        Ok(found)
    }

    fn reduced_windows(&self, segments: &[(SegmentScan, &SegmentClasses)]) -> Result<Vec<(usize, Rows)>> {
        let mut all = Vec::new();
        for (number, (part, _)) in segments.iter().enumerate() {
            if part.selection.is_empty() {
                continue;
            }
            for rows in part.reduced_windows()? {
                if all.len() >= MAX_WINDOWS {
                    return Err(Error::limit_exceeded(format!("the rows are more than {MAX_WINDOWS} windows")));
                }
                all.push((number, rows));
            }
        }
        Ok(all)
    }
}

/// The indexes of an axis that are in a class.
fn kept(axis: &Axis, classes: &[u32]) -> Result<Axis> {
    let is_kept = |index: &u64| usize::try_from(*index).ok().and_then(|index| classes.get(index)).is_some_and(|class| *class != LEFT_OUT);
    if !classes.contains(&LEFT_OUT) {
        return Ok(axis.clone());
    }
    let indexes: Vec<u64> = axis.indexes().filter(is_kept).collect();
    let runs = indexes.chunk_by(|one, next| one + 1 == *next).map(|run| (run.first().copied().unwrap_or(0), run.len() as u64));
    Axis::of_runs(runs)
}

/// Windows in as many tasks of about equally many rows, each of adjacent windows.
fn shared_out(windows: &[(usize, Rows)], tasks: usize) -> Vec<&[(usize, Rows)]> {
    let all: u64 = windows.iter().map(|(_, rows)| rows.count()).sum();
    let aim = all.div_ceil(tasks as u64).max(1);
    let (mut shares, mut rest) = (Vec::new(), windows);
    while !rest.is_empty() {
        let before = rest.iter().scan(0, |rows, (_, window)| {
            let before = *rows;
            *rows += window.count();
            Some(before)
        });
        let count = before.take_while(|rows| *rows < aim).count();
        let (share, others) = rest.split_at(count.max(1));
        shares.push(share);
        rest = others;
    }
    shares
}

/// How groups are numbered: classes of segments, then of dimensions, the last one fastest.
struct GroupLayout {
    /// Number of classes of segments, and of each dimension.
    classes: Vec<u32>,
    /// Distance between the groups of adjacent classes.
    strides: Vec<usize>,
    groups: usize,
}

impl GroupLayout {
    fn new(reduction: &Reduction) -> Result<Self> {
        let classes: Vec<u32> = std::iter::once(reduction.segment_classes).chain(reduction.axis_classes.iter().copied()).collect();
        let mut strides = vec![0usize; classes.len()];
        let mut groups = 1usize;
        for (stride, count) in strides.iter_mut().zip(&classes).rev() {
            *stride = groups;
            let more = groups.checked_mul((*count).max(1) as usize).filter(|groups| *groups < u32::MAX as usize);
            groups = more.ok_or_else(|| Error::limit_exceeded("a reduction to more than 32 bits of groups"))?;
        }
        Ok(Self { classes, strides, groups })
    }

    fn of_segment(&self, classes: &SegmentClasses) -> usize {
        classes.class as usize * self.strides.first().copied().unwrap_or(0)
    }

    /// The part of the group's number that an index along a dimension gives.
    fn of_index(&self, classes: &SegmentClasses, axis: usize, index: u64) -> usize {
        let of_axis = classes.axes.get(axis).and_then(Option::as_ref);
        let class = of_axis.map_or(Some(0), |of_axis| of_axis.get(usize::try_from(index).ok()?).copied());
        class.unwrap_or(0) as usize * self.strides.get(axis + 1).copied().unwrap_or(0)
    }

    fn is_classed(&self, axis: usize) -> bool {
        self.classes.get(axis + 1).is_some_and(|count| *count > 1)
    }

    /// Adds the number of rows of a segment to each group.
    fn count_rows(&self, selection: &Selection, classes: &SegmentClasses, rows: &mut [u64]) -> Result<()> {
        let mut counts: Vec<(usize, u64)> = vec![(self.of_segment(classes), 1)];
        for (axis, indexes) in selection.axes().iter().enumerate() {
            let along: Vec<(usize, u64)> = if self.is_classed(axis) {
                let mut along = std::collections::BTreeMap::new();
                indexes.indexes().for_each(|index| *along.entry(self.of_index(classes, axis, index)).or_insert(0u64) += 1);
                along.into_iter().collect()
            } else {
                vec![(0, indexes.count())]
            };
            counts = counts.iter().flat_map(|(group, count)| along.iter().map(move |(more, times)| (group + more, count.saturating_mul(*times)))).collect();
        }
        for (group, count) in counts {
            let rows = rows.get_mut(group).ok_or_else(beyond)?;
            *rows = rows.saturating_add(count);
        }
        Ok(())
    }
}

/// What the windows of one segment have in common.
struct WindowReduction<'a> {
    part: &'a SegmentScan,
    classes: &'a SegmentClasses,
    layout: &'a GroupLayout,
    reduction: &'a Reduction,
    columns: &'a [String],
    /// The last run that a task has made: most windows of all tasks have the same.
    run: &'a Mutex<Option<Arc<Run>>>,
}

impl WindowReduction<'_> {
    fn shared_run(&self, window: &Selection) -> Arc<Run> {
        let mut known = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        match known.as_ref().filter(|run| run.is_of(self, window)) {
            Some(run) => run.clone(),
            None => known.insert(Arc::new(Run::of(self, window))).clone(),
        }
    }
}

/// The results of some windows.
struct Partial {
    /// Rows for which the condition does not hold, by group.
    rejected: Vec<u64>,
    accumulators: Vec<Accumulator>,
    /// The run of the last window: the next one has the same, unless the dimension that windows cut is a part of it.
    last_run: Option<Arc<Run>>,
}

impl Partial {
    fn new(reduction: &Reduction, kinds: &[Kind], groups: usize) -> Result<Self> {
        let accumulators = reduction.measures.iter().zip(kinds).map(|(measure, kind)| Accumulator::new(measure, *kind, groups));
        let rejected = vec![0; if reduction.condition.is_some() { groups } else { 0 }];
        Ok(Self { rejected, accumulators: accumulators.collect::<Result<_>>()?, last_run: None })
    }

    fn merge(&mut self, later: &Self) -> Result<()> {
        self.rejected.iter_mut().zip(&later.rejected).for_each(|(mine, other)| *mine += other);
        self.accumulators.iter_mut().zip(&later.accumulators).try_for_each(|(mine, other)| mine.merge(other))
    }

    fn add_window(&mut self, of: &WindowReduction<'_>, rows: Rows, cancellation: &Cancellation) -> Result<()> {
        let window = Window::new(of.part, rows, cancellation)?;
        let columns = window.columns(of.columns)?.into_iter().map(Column::new).collect::<Result<Vec<_>>>()?;
        let run = match self.last_run.take().filter(|run| run.is_of(of, &window.selection)) {
            Some(run) => run,
            None => of.shared_run(&window.selection),
        };
        self.last_run = Some(run.clone());
        let mut vectors = Vec::new();
        let mut start = 0;
        run.each_leading(of, &window.selection, |offset, scalars| {
            vectors.clear();
            vectors.extend(run.vectors.iter().zip(scalars).map(|(each, scalar)| match each {
                Some(each) => AlongRun::Each(each.clone()),
                None => AlongRun::Same(*scalar),
            }));
            let mut spans = SpanCursor::new(&run.spans);
            for first in (0..run.length).step_by(BLOCK) {
                let count = BLOCK.min(run.length - first);
                let block = Block { columns: &columns, vectors: &vectors, range: start + first..start + first + count, in_run: first };
                self.add_block(of.reduction, &block, offset, &mut spans)?;
            }
            start += run.length;
            Ok(())
        })
    }

    fn add_block<'a>(&mut self, reduction: &Reduction, block: &Block<'a>, offset: usize, spans: &mut SpanCursor<'a>) -> Result<()> {
        let pieces = spans.within(block.in_run..block.in_run + block.count());
        let condition = reduction.condition.as_ref().map(|condition| condition.passed(block)).transpose()?.filter(|passed| passed.contains(&0));
        if let Some(condition) = &condition {
            for (span, within) in &pieces {
                let mask = condition.get(within.clone()).ok_or_else(beyond)?;
                At::of(&span.groups, offset, block.in_run + within.start - span.elements.start, within.len())?.count_zeros(mask, &mut self.rejected)?;
            }
            if !condition.contains(&1) {
                return Ok(());
            }
        }
        for (measure, accumulator) in reduction.measures.iter().zip(&mut self.accumulators) {
            let values = measure.argument.values(block)?;
            let filter = measure.filter.as_ref().map(|filter| filter.passed(block)).transpose()?;
            let mask = both(values.valid, filter.map(Into::into));
            let kept = both(mask.clone(), condition.as_deref().map(Into::into));
            for (span, within) in &pieces {
                let at = At::of(&span.groups, offset, block.in_run + within.start - span.elements.start, within.len())?;
                let part = |mask| part_of(mask, within);
                let masks = Masks { condition: part(condition.as_deref())?, valid: part(mask.as_deref())?, kept: part(kept.as_deref())? };
                accumulator.add(&values.numbers.within(within.clone())?, masks, at)?;
            }
        }
        Ok(())
    }
}

fn part_of<'a>(mask: Option<&'a [u8]>, within: &Range<usize>) -> Result<Option<&'a [u8]>> {
    mask.map(|mask| mask.get(within.clone()).ok_or_else(beyond)).transpose()
}

/// The spans of a run, asked for in order.
struct SpanCursor<'a> {
    spans: &'a [Span],
    next: usize,
}

impl<'a> SpanCursor<'a> {
    fn new(spans: &'a [Span]) -> Self {
        Self { spans, next: 0 }
    }

    /// The spans that have elements in a block, with these elements numbered within the block.
    fn within(&mut self, block: Range<usize>) -> Vec<(&'a Span, Range<usize>)> {
        let mut found = Vec::new();
        while let Some(span) = self.spans.get(self.next).filter(|span| span.elements.start < block.end) {
            let (first, end) = (span.elements.start.max(block.start), span.elements.end.min(block.end));
            found.push((span, first - block.start..end - block.start));
            if span.elements.end > block.end {
                break;
            }
            self.next += 1;
        }
        found
    }
}

/// The trailing dimensions of a window, whose elements are adjacent.
struct Run {
    /// The scan of the segment.
    scan: u64,
    /// The first of its dimensions.
    first_axis: usize,
    /// Its indexes along them.
    axes: Vec<Axis>,
    length: usize,
    spans: Vec<Span>,
    /// The vectors along one of its dimensions, for each of its elements.
    vectors: Vec<Option<Arc<[f64]>>>,
}

impl Run {
    /// The first dimension and the length of a run that is long enough for full blocks, or as long as nothing changes along its
    /// dimensions.
    fn extent(of: &WindowReduction<'_>, window: &Selection) -> (usize, usize) {
        let is_plain = |axis: usize| !of.layout.is_classed(axis) && !of.reduction.vector_axes.contains(&axis);
        let (mut first_axis, mut length, mut changes) = (window.axes().len(), 1usize, false);
        for (axis, indexes) in window.axes().iter().enumerate().rev() {
            changes |= !is_plain(axis);
            // A longer run would repeat the same groups, and windows would not share it.
            if length >= BLOCK && changes {
                break;
            }
            let extent = usize::try_from(indexes.count()).unwrap_or(usize::MAX);
            (first_axis, length) = (axis, length.saturating_mul(extent));
        }
        (first_axis, length)
    }

    /// Whether this is the run of a window.
    fn is_of(&self, of: &WindowReduction<'_>, window: &Selection) -> bool {
        self.scan == of.part.id
            && Self::extent(of, window) == (self.first_axis, self.length)
            && window.axes().get(self.first_axis..) == Some(self.axes.as_slice())
    }

    fn of(of: &WindowReduction<'_>, window: &Selection) -> Self {
        let (first_axis, length) = Self::extent(of, window);
        let shape: Vec<usize> = window.axes().iter().map(|axis| usize::try_from(axis.count()).unwrap_or(usize::MAX)).collect();
        let axes: Vec<(usize, &Axis)> = window.axes().iter().enumerate().skip(first_axis).collect();
        let spans = if axes.iter().any(|(axis, _)| of.layout.is_classed(*axis)) {
            let mut groups: Vec<u32> = vec![0];
            for (axis, indexes) in &axes {
                let along: Vec<u32> = indexes.indexes().map(|index| of.layout.of_index(of.classes, *axis, index) as u32).collect();
                groups = groups.iter().flat_map(|group| along.iter().map(move |more| group + more)).collect();
            }
            spans(&groups)
        } else {
            vec![Span { elements: 0..length, groups: Groups::One(0) }]
        };
        let vectors = of.reduction.vector_axes.iter().enumerate().map(|(number, axis)| {
            let values = of.classes.vectors.get(number).filter(|_| *axis >= first_axis)?;
            let inner: usize = shape.iter().skip(axis + 1).product();
            let outer: usize = shape.iter().take(*axis).skip(first_axis).product();
            let along: Vec<f64> = window.axes().get(*axis)?.indexes().filter_map(|index| values.get(usize::try_from(index).ok()?).copied()).collect();
            let once: Vec<f64> = along.iter().flat_map(|value| std::iter::repeat_n(*value, inner)).collect();
            Some(once.repeat(outer).into())
        });
        let vectors = vectors.collect();
        Self { scan: of.part.id, first_axis, axes: window.axes().iter().skip(first_axis).cloned().collect(), length, spans, vectors }
    }

    /// Calls `work` for each run, with what the leading dimensions add to its groups, and the values of vectors along them.
    fn each_leading(&self, of: &WindowReduction<'_>, window: &Selection, mut work: impl FnMut(usize, &[f64]) -> Result<()>) -> Result<()> {
        let leading: Vec<(usize, Vec<u64>)> = window.axes().iter().take(self.first_axis).map(|axis| axis.indexes().collect()).enumerate().collect();
        let mut places = vec![0usize; leading.len()];
        let mut scalars = vec![0.0; self.vectors.len()];
        if self.length == 0 || leading.iter().any(|(_, indexes)| indexes.is_empty()) {
            return Ok(());
        }
        loop {
            let mut offset = of.layout.of_segment(of.classes);
            for ((axis, indexes), place) in leading.iter().zip(&places) {
                let index = indexes.get(*place).copied().unwrap_or(0);
                offset += of.layout.of_index(of.classes, *axis, index);
                for ((scalar, of_vector), values) in scalars.iter_mut().zip(&of.reduction.vector_axes).zip(&of.classes.vectors) {
                    if of_vector == axis {
                        *scalar = usize::try_from(index).ok().and_then(|index| values.get(index).copied()).ok_or_else(beyond)?;
                    }
                }
            }
            work(offset, &scalars)?;
            // The next place, the last dimension fastest.
            let mut axis = leading.len();
            loop {
                let Some(before) = axis.checked_sub(1) else { return Ok(()) };
                axis = before;
                let (Some(place), Some((_, indexes))) = (places.get_mut(axis), leading.get(axis)) else { return Err(beyond()) };
                *place += 1;
                if *place < indexes.len() {
                    break;
                }
                *place = 0;
            }
        }
    }
}
