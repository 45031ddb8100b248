//! Runs of adjacent indexes: what an axis selects that is neither a range nor single indexes.

use crate::{Error, Result};

/// Indexes that are adjacent both in the source and in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Run {
    /// First index in the source dimension.
    pub source: u64,
    /// First position in the selection.
    pub target: u64,
    /// Number of indexes.
    pub count: u64,
}

/// Indexes as runs that increase and do not touch each other. Takes memory for runs, not for indexes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AxisRuns {
    /// With the position of each run in the selection.
    runs: Vec<Run>,
}

impl AxisRuns {
    /// Runs of `(first index, number of indexes)`. Those that touch become one; empty ones are left out.
    ///
    /// # Errors
    /// `InvalidInput` for runs that overlap or do not increase, and for indexes beyond 64 bits.
    pub fn new(runs: impl IntoIterator<Item = (u64, u64)>) -> Result<Self> {
        let mut all: Vec<Run> = Vec::new();
        for (source, count) in runs.into_iter().filter(|(_, count)| *count > 0) {
            if source.checked_add(count).is_none() {
                return Err(Error::invalid_input("the indexes of a selection exceed 64 bits"));
            }
            match all.last_mut() {
                Some(last) if last.source + last.count > source => return Err(Error::invalid_input("the indexes of a selection must increase")),
                Some(last) if last.source + last.count == source => last.count += count,
                Some(last) => {
                    let target = last.target + last.count;
                    all.push(Run { source, target, count });
                }
                None => all.push(Run { source, target: 0, count }),
            }
        }
        Ok(Self { runs: all })
    }

    /// The runs: `source` is the first index, `target` its position.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Number of indexes.
    pub fn count(&self) -> u64 {
        self.runs.last().map_or(0, |last| last.target + last.count)
    }

    /// The index at `position`.
    pub(crate) fn index(&self, position: u64) -> Option<u64> {
        let run = self.runs.get(self.runs.partition_point(|run| run.target <= position).checked_sub(1)?)?;
        let further = position - run.target;
        (further < run.count).then(|| run.source + further)
    }

    /// The position of the first index that is at least `bound`.
    pub(crate) fn position_at_or_after(&self, bound: u64) -> u64 {
        match self.runs.get(self.runs.partition_point(|run| run.source + run.count <= bound)) {
            Some(run) => run.target + bound.saturating_sub(run.source),
            None => self.count(),
        }
    }

    /// The runs of the positions from `first` to before `end`, cut where these lie within a run.
    pub(crate) fn of_positions(&self, first: u64, end: u64) -> impl Iterator<Item = Run> + '_ {
        let begin = self.runs.partition_point(|run| run.target + run.count <= first);
        let wanted = self.runs.get(begin..).unwrap_or_default().iter().take_while(move |run| run.target < end);
        wanted.map(move |run| {
            let (from, to) = (run.target.max(first), (run.target + run.count).min(end));
            Run { source: run.source + (from - run.target), target: from, count: to.saturating_sub(from) }
        })
    }

    /// The indexes at the positions `first..first + count`.
    pub(crate) fn sub_axis(&self, first: u64, count: u64) -> Self {
        let runs = self.of_positions(first, first.saturating_add(count)).map(|run| Run { target: run.target - first, ..run });
        Self { runs: runs.collect() }
    }

    /// All indexes with `start` added; `None` beyond 64 bits.
    pub fn shifted(&self, start: u64) -> Option<Self> {
        let end = self.runs.last().map_or(0, |last| last.source + last.count);
        start.checked_add(end)?;
        Some(Self { runs: self.runs.iter().map(|run| Run { source: run.source + start, ..*run }).collect() })
    }
}
