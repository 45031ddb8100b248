//! Reads windows in parallel, reduces each, and combines the results in row order.
//!
//! Windows are shared out to tasks whose number depends on the data alone, so that sums of floats are the same with any number
//! of threads.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ArrayRef;
use hyperslab_array::{Axis, Cancellation, Error, Result, Selection};
use hyperslab_reader::Session;
use rayon::prelude::*;

use super::accumulator::{Accumulator, Masks};
use super::elements::{AlongRun, Block, Column, Kind, beyond, both};
use super::expression::Expression;
use super::fold::BLOCK;
use super::groups::GroupLayout;
use super::known::{Answer, Known};
use super::quantile::{self, Search};
use super::request::{Measure, Reduction, SegmentClasses};
use super::spans::{At, Groups, Span, spans};
use crate::access::segment_scan::SegmentScan;
use crate::access::window_columns::Window;
use crate::window::{Rows, select};

/// Tasks into which windows are shared out at most: more than a machine has threads, few enough to combine.
const MAX_TASKS: usize = 64;
/// Rows that a task reduces in a turn, and each thread before work of others can begin; more if windows are larger.
const ROWS_OF_A_TURN: u64 = 1 << 18;
const ROWS_OF_A_THREAD: u64 = 1 << 21;
/// Windows of one reduction at most.
const MAX_WINDOWS: usize = 1 << 22;

/// A reduction, and the rows that it reads.
pub(super) struct Work<'a> {
    /// Names and types of the columns that expressions use.
    pub columns: Vec<(String, Kind)>,
    pub reduction: &'a Reduction,
    pub segments: Vec<(SegmentScan, &'a SegmentClasses)>,
    /// The most bytes of the results of all tasks.
    pub state_bytes: usize,
}

/// The results of all rows.
pub(super) struct Reduced {
    pub layout: GroupLayout,
    /// Number of rows of each group.
    pub rows: Vec<u64>,
    /// For each measure the results of each group.
    pub accumulators: Vec<Accumulator>,
    /// For each measure its quantile.
    pub quantiles: Vec<Option<Search>>,
}

impl Work<'_> {
    /// The groups, the kind of each measure's values, and the bytes of the results of a task.
    ///
    /// # Errors
    /// `Unsupported` for values that cannot be reduced; `LimitExceeded` for too many groups.
    pub fn prepared(&self) -> Result<(GroupLayout, Vec<Kind>, usize)> {
        let layout = GroupLayout::new(self.reduction)?;
        let kinds: Vec<Kind> = self.columns.iter().map(|(_, kind)| *kind).collect();
        let measures = self.reduction.measures.iter().map(|measure| measure.argument.kind(&kinds)).collect::<Result<Vec<Kind>>>()?;
        let quantiles = self.reduction.measures.iter().filter(|measure| measure.quantile.is_some()).count();
        let of_quantiles = if quantiles == 0 { 0 } else { quantiles.saturating_mul(quantile::bytes_per_group(layout.groups)?) };
        let bytes_per_group = bytes_per_group(measures.len()).saturating_add(of_quantiles);
        let state_bytes = layout.groups.saturating_mul(bytes_per_group);
        if state_bytes > self.state_bytes {
            return Err(Error::limit_exceeded(format!("a reduction to {} groups", layout.groups)));
        }
        Ok((layout, measures, state_bytes))
    }

    pub fn run(&self, session: &Session, cancellation: &Cancellation) -> Result<Reduced> {
        let Self { reduction, segments, .. } = self;
        let (layout, measures, state_bytes) = self.prepared()?;
        let mut rows = vec![0u64; layout.groups];
        for (part, classes) in segments {
            layout.count_rows(&part.selection, classes, &mut rows)?;
        }
        let is_tested = reduction.condition.is_some() || segments.iter().any(|(part, _)| part.residual.is_some());
        if !is_tested && reduction.measures.is_empty() {
            return Ok(Reduced { layout, rows, accumulators: Vec::new(), quantiles: Vec::new() });
        }
        let begun = |(measure, kind): (&Measure, &Kind)| Some(Search::new(measure.quantile?, kind.bits(), layout.groups));
        let mut quantiles: Vec<Option<Search>> = reduction.measures.iter().zip(&measures).map(begun).collect();
        let windows = self.windows()?;
        let tasks = shared_out(&windows, (self.state_bytes / state_bytes.max(1)).clamp(1, MAX_TASKS));
        let pass = Pass { work: self, reduction, layout: &layout, kinds: &measures, is_tested, session, cancellation };
        let total = pass.run(&tasks, &advancing(&mut quantiles, None)?)?;
        rows.iter_mut().zip(&total.rejected).for_each(|(rows, rejected)| *rows -= rejected);
        let mut later = Reduction::clone(reduction);
        // Everything else is known after the first pass.
        later.measures.iter_mut().for_each(|measure| (measure.sum, measure.extremes, measure.deviations) = (false, false, false));
        let pass = Pass { reduction: &later, ..pass };
        let mut searches = advancing(&mut quantiles, Some(&total))?;
        while searches.iter().any(Option::is_some) {
            let counted = pass.run(&tasks, &searches)?;
            searches = advancing(&mut quantiles, Some(&counted))?;
        }
        Ok(Reduced { layout, rows, accumulators: total.accumulators, quantiles })
    }

    /// What indexes know of each segment.
    fn known(&self, reduction: &Reduction) -> Vec<Option<Known>> {
        self.segments.iter().map(|(part, _)| Known::of(part, reduction, &self.columns)).collect()
    }

    /// The number of windows, and of those whose values are not read.
    pub fn answered(&self, cancellation: &Cancellation) -> Result<(u64, u64)> {
        let (layout, ..) = self.prepared()?;
        let known = self.known(self.reduction);
        let (mut windows, mut answered) = (0, 0);
        for (number, rows) in self.windows()? {
            windows += 1;
            let segment = self.segments.get(number).zip(known.get(number).and_then(Option::as_ref));
            let Some(((part, classes), known)) = segment else { continue };
            let selection = select(&part.selection, rows);
            let only_group = layout.only_group(&selection, classes);
            answered += u64::from(matches!(known.answer(&selection, only_group.is_some(), cancellation)?, Answer::Passing(_) | Answer::Values(_)));
        }
        Ok((windows, answered))
    }

    fn windows(&self) -> Result<Vec<(usize, Rows)>> {
        let mut all = Vec::new();
        for (number, (part, _)) in self.segments.iter().enumerate() {
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

/// The quantiles that need another pass, after what the last one has counted.
fn advancing(quantiles: &mut [Option<Search>], counted: Option<&Partial>) -> Result<Vec<Option<Arc<Search>>>> {
    for (quantile, accumulator) in quantiles.iter_mut().zip(counted.iter().flat_map(|counted| &counted.accumulators)) {
        if let (Some(quantile), Some(digits)) = (quantile, accumulator.digits()) {
            quantile.advance(digits)?;
        }
    }
    Ok(quantiles.iter().map(|quantile| quantile.as_ref().filter(|quantile| !quantile.is_done()).map(|quantile| Arc::new(quantile.clone()))).collect())
}

/// One pass over the data.
struct Pass<'a> {
    work: &'a Work<'a>,
    reduction: &'a Reduction,
    layout: &'a GroupLayout,
    kinds: &'a [Kind],
    is_tested: bool,
    session: &'a Session,
    cancellation: &'a Cancellation,
}

impl Pass<'_> {
    fn run(&self, tasks: &[&[(usize, Rows)]], searches: &[Option<Arc<Search>>]) -> Result<Partial> {
        let Self { work, reduction, layout, kinds, is_tested, session, cancellation } = *self;
        let make = || Partial::new(reduction, kinds, layout.groups, is_tested, searches);
        let (columns, run) = (work.columns.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), Mutex::new(None));
        let known = work.known(reduction);
        let mut turns = tasks.iter().map(|task| Ok((make()?, *task))).collect::<Result<Vec<_>>>()?;
        let take_turn = |(partial, left): &mut (Partial, &[(usize, Rows)])| -> Result<()> {
            let mut taken = 0;
            while let Some(((segment, rows), rest)) = left.split_first().filter(|_| taken < ROWS_OF_A_TURN) {
                let (part, classes) = work.segments.get(*segment).ok_or_else(|| Error::internal("no such segment"))?;
                let known = known.get(*segment).and_then(Option::as_ref);
                partial.add_window(&WindowReduction { part, classes, layout, reduction, columns: &columns, run: &run, known }, *rows, cancellation)?;
                taken += rows.count();
                *left = rest;
            }
            Ok(())
        };
        let turn_rows = tasks.iter().copied().flatten().map(|(_, rows)| rows.count()).max().unwrap_or(0).max(ROWS_OF_A_TURN);
        let at_once = session.thread_count()?.saturating_mul(usize::try_from(ROWS_OF_A_THREAD / turn_rows).unwrap_or(0).max(1));
        loop {
            let mut next: Vec<_> = turns.iter_mut().filter(|(_, left)| !left.is_empty()).take(at_once).collect();
            if next.is_empty() {
                break;
            }
            // Others' work is done between two turns: threads finish what they have before they take what is new.
            session.compute(|| next.par_iter_mut().try_for_each(|turn| take_turn(turn)))?;
        }
        let mut partials = turns.into_iter().map(|(partial, _)| partial);
        let mut total = partials.next().map_or_else(make, Ok)?;
        partials.try_for_each(|partial| total.merge(&partial))?;
        Ok(total)
    }
}

/// Bytes of the results of one group.
pub(super) fn bytes_per_group(measures: usize) -> usize {
    size_of::<u64>() + measures.saturating_mul(Accumulator::bytes_per_group())
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

/// What is read of a window.
struct Values {
    /// `None` if the segment's own predicate keeps no row: if an index says so, nothing is read.
    columns: Option<Vec<Column>>,
    /// 1 for each row that the predicate keeps; `None` if there is no predicate.
    passed: Option<Vec<u8>>,
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
    known: Option<&'a Known>,
}

impl WindowReduction<'_> {
    fn read(&self, window: &Window<'_>, rows: Rows, cancellation: &Cancellation) -> Result<Values> {
        let columns = |values: Vec<ArrayRef>| values.into_iter().map(Column::new).collect::<Result<Vec<_>>>();
        let Some((predicate, needed)) = &self.part.residual else {
            return Ok(Values { columns: Some(columns(window.columns(self.columns)?)?), passed: None });
        };
        if self.part.is_pruned(rows)? {
            return Ok(Values { columns: None, passed: Some(vec![0; window.count]) });
        }
        let tested = window.batch_of(needed)?;
        let passed: Vec<u8> = predicate.evaluate_cancellable(&tested, cancellation)?.values().iter().map(u8::from).collect();
        if !passed.contains(&1) {
            return Ok(Values { columns: None, passed: Some(passed) });
        }
        let others: Vec<String> = self.columns.iter().filter(|name| !needed.contains(name)).cloned().collect();
        let mut read = window.columns(&others)?.into_iter();
        let in_order = self.columns.iter().map(|name| tested.column_by_name(name).cloned().or_else(|| read.next()));
        let in_order = in_order.collect::<Option<Vec<_>>>().ok_or_else(|| Error::internal("a column of a reduction was not read"))?;
        Ok(Values { columns: Some(columns(in_order)?), passed: Some(passed) })
    }

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
    fn new(reduction: &Reduction, kinds: &[Kind], groups: usize, is_tested: bool, searches: &[Option<Arc<Search>>]) -> Result<Self> {
        let accumulators = reduction.measures.iter().zip(kinds).zip(searches);
        let accumulators = accumulators.map(|((measure, kind), search)| Accumulator::new(measure, *kind, groups, search.as_ref()));
        let rejected = vec![0; if is_tested { groups } else { 0 }];
        Ok(Self { rejected, accumulators: accumulators.collect::<Result<_>>()?, last_run: None })
    }

    fn merge(&mut self, later: &Self) -> Result<()> {
        self.rejected.iter_mut().zip(&later.rejected).for_each(|(mine, other)| *mine += other);
        self.accumulators.iter_mut().zip(&later.accumulators).try_for_each(|(mine, other)| mine.merge(other))
    }

    fn add_window(&mut self, of: &WindowReduction<'_>, rows: Rows, cancellation: &Cancellation) -> Result<()> {
        let window = Window::new(of.part, rows, cancellation)?;
        let only_group = of.known.and_then(|_| of.layout.only_group(&window.selection, of.classes));
        let mut condition = of.reduction.condition.as_ref();
        match of.known.map_or(Ok(Answer::Unknown), |known| known.answer(&window.selection, only_group.is_some(), cancellation))? {
            Answer::Unknown => {}
            Answer::AllPass => condition = None,
            Answer::Passing(passing) => return self.reject(of, &window.selection, passing, only_group),
            Answer::Values(summaries) => {
                // Without one group, there is nothing to add.
                let values = self.accumulators.iter_mut().zip(summaries);
                return only_group.map_or(Ok(()), |group| values.into_iter().try_for_each(|(values, summary)| values.add_known(group, summary)));
            }
        }
        let Values { columns, passed } = of.read(&window, rows, cancellation)?;
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
                let block =
                    Block { columns: columns.as_deref().unwrap_or_default(), vectors: &vectors, range: start + first..start + first + count, in_run: first };
                let condition = condition.filter(|_| columns.is_some());
                self.add_block(of.reduction, condition, &block, passed.as_deref(), offset, &mut spans)?;
            }
            start += run.length;
            Ok(())
        })
    }

    /// Rejects the rows of a window but for `passing` ones, which are in `only_group`.
    fn reject(&mut self, of: &WindowReduction<'_>, window: &Selection, passing: u64, only_group: Option<usize>) -> Result<()> {
        of.layout.count_rows(window, of.classes, &mut self.rejected)?;
        if passing > 0 {
            let rejected = only_group.and_then(|group| self.rejected.get_mut(group)).ok_or_else(beyond)?;
            *rejected -= passing;
        }
        Ok(())
    }

    fn add_block<'a>(
        &mut self,
        reduction: &Reduction,
        condition: Option<&Expression>,
        block: &Block<'a>,
        passed: Option<&[u8]>,
        offset: usize,
        spans: &mut SpanCursor<'a>,
    ) -> Result<()> {
        let pieces = spans.within(block.in_run..block.in_run + block.count());
        let condition = condition.map(|condition| condition.passed(block)).transpose()?;
        let condition = both(condition.map(Into::into), part_of(passed, &block.range)?.map(Into::into)).filter(|passed| passed.contains(&0));
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
