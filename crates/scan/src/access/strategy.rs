//! Chooses how the matching rows of a segment, or of one window, are found, and says why.
//!
//! All choices between [`AccessStrategy`] values are made here, with the thresholds of [`cost_model`](super::cost_model); the
//! other modules carry them out. Every strategy finds the same rows. Different questions about the same segment may use
//! different strategies: batches always read windows, because they need the windows' values, while counts and row numbers
//! can come from an index alone.

use std::fmt;

use hyperslab_array::{Cancellation, Result, Selection};

use super::cost_model::{CANDIDATE_MAX_ROW_FRACTION, LOOKUP_MAX_ROW_FRACTION, LOOKUP_ROWS_PER_CANDIDATE};
use super::indexed_predicate::IndexedPredicate;
use super::row_gather::GatherColumn;
use super::segment_scan::SegmentScan;
use crate::pruner::{Level, RowSelection};

/// How matching rows are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessStrategy {
    /// Every selected row matches: the conditions on dimensions are the whole predicate.
    AllRows,
    /// Read the predicate's columns window by window, and test every row.
    ScanWindows,
    /// Ask indexes about each window, and read only what they leave.
    PruneWindows,
    /// Take the number of matching rows from an index, without the rows.
    CountInIndex,
    /// Take the rows from indexes.
    LookUpRows,
    /// Take candidates from indexes, and read and test each of them.
    TestCandidates,
}

/// Why a strategy was chosen: what is known of the rows, next to the threshold that it was compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// There is no residual predicate.
    NothingToTest,
    /// No part of the predicate has an index.
    NoIndex,
    /// The best of the indexes has this level, at which it does not know rows.
    LevelWithoutRows(Level),
    /// Only part of the segment's rows are selected, and indexes number the rows of the selection.
    SomeRowsSelected,
    /// Indexes leave at most `upper` of `rows` rows, more than are tested one by one.
    ManyCandidates { upper: u64, rows: u64 },
    /// Indexes leave at most `upper` of `rows` rows, few enough to be tested one by one.
    FewCandidates { upper: u64, rows: u64 },
    /// A column of the predicate cannot be read at single rows.
    NoSingleValues,
    /// At least `lower` of `rows` rows match. Above that fraction, testing values that are read anyway is cheaper than an index.
    ManyMatches { lower: u64, rows: u64 },
    /// At least `lower` of `rows` rows match, few enough to ask an index.
    FewMatches { lower: u64, rows: u64 },
    /// Reading the tested columns costs more than asking the index.
    CostlyToRead,
    /// The index counts `count` of `rows` rows.
    ExactCount { count: u64, rows: u64 },
    /// Indexes answer the whole predicate.
    FullyIndexed,
}

/// A strategy, and why it was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub strategy: AccessStrategy,
    pub reason: Reason,
}

/// How to find the rows of a segment, with what that needs.
pub(crate) struct RowAccess<'a> {
    pub choice: Choice,
    /// The conditions to look up, each with the maximum number of rows that it leaves, fewest rows first. Empty if windows
    /// are scanned.
    pub lookups: Vec<(u64, &'a IndexedPredicate)>,
    /// The rows of the blocks that no zone rules out, if there are several conditions and zones rule out any block.
    pub zone_rows: Option<RowSelection>,
    /// The columns of the residual predicate, if they can be read at single rows. `None` also if they are not needed so far.
    pub candidate_columns: Option<Vec<GatherColumn>>,
}

/// How to count the rows of a segment.
pub(crate) enum CountAccess<'a> {
    /// The index has counted them.
    Counted { count: u64, choice: Choice },
    /// Find the rows.
    Rows(RowAccess<'a>),
}

impl SegmentScan {
    /// Whether indexes may find the matching rows of the whole segment with less work than reading columns.
    pub(crate) fn can_resolve_by_index(&self) -> bool {
        self.residual.is_some() && self.is_whole() && self.indexed_predicates.iter().any(|indexed| indexed.level() >= Level::Positions)
    }

    /// Whether all rows of the segment are selected.
    pub(crate) fn is_whole(&self) -> bool {
        self.selection.shape() == self.segment.shape
    }

    /// How to find the matching rows, numbered over the selected rows.
    pub(super) fn row_access(&self, cancellation: &Cancellation) -> Result<RowAccess<'_>> {
        let scan = |reason| {
            Ok(RowAccess { choice: Choice { strategy: AccessStrategy::ScanWindows, reason }, lookups: Vec::new(), zone_rows: None, candidate_columns: None })
        };
        if self.residual.is_none() {
            let choice = Choice { strategy: AccessStrategy::AllRows, reason: Reason::NothingToTest };
            return Ok(RowAccess { choice, lookups: Vec::new(), zone_rows: None, candidate_columns: None });
        }
        let rows = self.selection.element_count()?;
        let zone_rows = self.zone_rows(&self.selection)?;
        let most = zone_rows.as_ref().map_or(rows, RowSelection::len);
        // Start with the condition that leaves fewest rows.
        let with_positions = self.indexed_predicates.iter().filter(|indexed| indexed.level() >= Level::Positions);
        let mut lookups: Vec<(u64, &IndexedPredicate)> = match self.indexed_predicates.as_slice() {
            [_] if self.is_fully_indexed => with_positions.map(|only| (rows, only)).collect(),
            _ => with_positions
                .map(|indexed| Ok((indexed.count(&self.selection, zone_rows.as_ref(), cancellation)?.upper.min(most), indexed)))
                .collect::<Result<_>>()?,
        };
        lookups.sort_by_key(|(upper, _)| *upper);
        let Some(&(upper, _)) = lookups.first() else {
            let level = self.indexed_predicates.iter().map(IndexedPredicate::level).max();
            return scan(level.map_or(Reason::NoIndex, Reason::LevelWithoutRows));
        };
        let tests_candidates = !self.is_fully_indexed || lookups.len() < self.indexed_predicates.len();
        if tests_candidates && !can_test_candidates(upper, rows) {
            return scan(Reason::ManyCandidates { upper, rows });
        }
        let candidate_columns = if tests_candidates || lookups.len() > 1 { self.candidate_columns()? } else { None };
        let choice = match (tests_candidates, candidate_columns.is_some()) {
            (true, false) => return scan(Reason::NoSingleValues),
            (true, true) => Choice { strategy: AccessStrategy::TestCandidates, reason: Reason::FewCandidates { upper, rows } },
            (false, _) => Choice { strategy: AccessStrategy::LookUpRows, reason: Reason::FullyIndexed },
        };
        Ok(RowAccess { choice, lookups, zone_rows, candidate_columns })
    }

    /// How to find the numbers of the matching rows in the segment.
    pub(super) fn position_access(&self, cancellation: &Cancellation) -> Result<RowAccess<'_>> {
        if !self.indexed_predicates.is_empty() && !self.is_whole() {
            let reason = Reason::SomeRowsSelected;
            return Ok(RowAccess {
                choice: Choice { strategy: AccessStrategy::ScanWindows, reason },
                lookups: Vec::new(),
                zone_rows: None,
                candidate_columns: None,
            });
        }
        self.row_access(cancellation)
    }

    /// How to count the matching rows.
    pub(super) fn count_access(&self, cancellation: &Cancellation) -> Result<CountAccess<'_>> {
        let exact = match self.indexed_predicates.as_slice() {
            [only] if self.is_fully_indexed => only.count(&self.selection, None, cancellation)?.exact(),
            _ => None,
        };
        let Some(count) = exact else { return self.row_access(cancellation).map(CountAccess::Rows) };
        let reason = Reason::ExactCount { count, rows: self.selection.element_count()? };
        Ok(CountAccess::Counted { count, choice: Choice { strategy: AccessStrategy::CountInIndex, reason } })
    }

    /// Whether to ask the indexes of a condition about the `rows` rows of a window, or to test them all. `is_exact` if the
    /// indexes that were asked before have answered their conditions completely.
    pub(super) fn window_choice(
        &self,
        indexed: &IndexedPredicate,
        is_exact: bool,
        selection: &Selection,
        rows: u64,
        cancellation: &Cancellation,
    ) -> Result<Choice> {
        // If indexes have answered everything so far, the column would be read for this condition alone.
        let is_otherwise_unread = is_exact && indexed.terms.iter().all(|term| term.prefers_lookup);
        if indexed.level() < Level::Keys || is_otherwise_unread || !indexed.terms.iter().all(|term| term.is_cheap_to_read) {
            return Ok(Choice { strategy: AccessStrategy::PruneWindows, reason: Reason::CostlyToRead });
        }
        let lower = indexed.count(selection, None, cancellation)?.lower;
        Ok(match lower > LOOKUP_MAX_ROW_FRACTION.of(rows) {
            true => Choice { strategy: AccessStrategy::ScanWindows, reason: Reason::ManyMatches { lower, rows } },
            false => Choice { strategy: AccessStrategy::PruneWindows, reason: Reason::FewMatches { lower, rows } },
        })
    }

    /// How windows are read. Each window chooses for itself; this is the choice for the average one.
    fn batch_choice(&self, cancellation: &Cancellation) -> Result<Choice> {
        if self.residual.is_none() {
            return Ok(Choice { strategy: AccessStrategy::AllRows, reason: Reason::NothingToTest });
        }
        let rows = self.selection.element_count()?;
        let (mut last, mut is_exact) = (Choice { strategy: AccessStrategy::ScanWindows, reason: Reason::NoIndex }, self.is_fully_indexed);
        for indexed in self.indexed_predicates.iter() {
            last = self.window_choice(indexed, is_exact, &self.selection, rows, cancellation)?;
            if last.strategy == AccessStrategy::PruneWindows {
                break;
            }
            is_exact = false;
        }
        Ok(last)
    }

    /// What the strategy of `access` becomes once the only index has answered: the rows that it knows to match may be few, and those
    /// that may match many. The choice cannot say so before, because only the look-up shows it.
    fn settled(&self, access: &RowAccess<'_>, cancellation: &Cancellation) -> Result<Choice> {
        let [(_, only)] = access.lookups.as_slice() else { return Ok(access.choice) };
        if access.choice.reason != Reason::FullyIndexed || only.has_value_sets() {
            return Ok(access.choice);
        }
        let (bounds, rows) = (only.count(&self.selection, None, cancellation)?, self.selection.element_count()?);
        let (upper, candidates) = (bounds.upper, bounds.upper - bounds.lower);
        Ok(match candidates {
            0 => access.choice,
            few if can_test_candidates(few, rows) => Choice { strategy: AccessStrategy::TestCandidates, reason: Reason::FewCandidates { upper, rows } },
            _ => Choice { strategy: AccessStrategy::ScanWindows, reason: Reason::ManyCandidates { upper, rows } },
        })
    }

    /// Which strategies find the rows for batches, counts and row numbers, and why: one line for each strategy. No lines if
    /// nothing is tested. Asks indexes for counts, and finds where values are stored, but reads no values.
    pub(crate) fn explain_strategies(&self, cancellation: &Cancellation) -> Result<Vec<String>> {
        if self.residual.is_none() {
            return Ok(Vec::new());
        }
        let counts = match self.count_access(cancellation)? {
            CountAccess::Counted { choice, .. } => choice,
            CountAccess::Rows(access) => self.settled(&access, cancellation)?,
        };
        let positions = self.settled(&self.position_access(cancellation)?, cancellation)?;
        let chosen = [("batches", self.batch_choice(cancellation)?), ("counts", counts), ("row numbers", positions)];
        let mut lines: Vec<(Choice, Vec<&str>)> = Vec::new();
        for (question, choice) in chosen {
            match lines.iter_mut().find(|(known, _)| *known == choice) {
                Some((_, questions)) => questions.push(question),
                None => lines.push((choice, vec![question])),
            }
        }
        Ok(lines.into_iter().map(|(choice, questions)| format!("  {}: {choice}", questions.join(", "))).collect())
    }
}

/// Whether so few of `rows` rows are candidates that reading and testing them one by one is cheaper than reading all rows.
pub(super) fn can_test_candidates(candidates: u64, rows: u64) -> bool {
    candidates <= CANDIDATE_MAX_ROW_FRACTION.of(rows)
}

/// Whether testing the `remaining` rows one by one is cheaper than looking up a condition that leaves at most `upper` of
/// `rows` rows. A look-up costs as much as the smaller of the rows that match and those that do not.
pub(super) fn is_testing_cheaper(remaining: u64, upper: u64, rows: u64) -> bool {
    remaining <= upper.min(rows.saturating_sub(upper)) / LOOKUP_ROWS_PER_CANDIDATE
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, because {}", self.strategy, self.reason)
    }
}

impl fmt::Display for AccessStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AllRows => "take all selected rows",
            Self::ScanWindows => "scan windows",
            Self::PruneWindows => "scan windows without the rows that indexes rule out",
            Self::CountInIndex => "count in the index",
            Self::LookUpRows => "look up rows in indexes",
            Self::TestCandidates => "look up candidates in indexes and test each",
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lookup, candidate) = (LOOKUP_MAX_ROW_FRACTION.denominator(), CANDIDATE_MAX_ROW_FRACTION.denominator());
        match self {
            Self::NothingToTest => write!(f, "no condition is left to test"),
            Self::NoIndex => write!(f, "no index answers the condition"),
            Self::LevelWithoutRows(level) => write!(f, "indexes of level {} do not know rows", level.letter()),
            Self::SomeRowsSelected => write!(f, "conditions on dimensions leave only part of the rows"),
            Self::ManyCandidates { upper, rows } => {
                write!(f, "indexes leave up to {upper} of {rows} rows, and above 1/{candidate} a scan is cheaper than testing each")
            }
            Self::FewCandidates { upper, rows } => {
                write!(f, "indexes leave at most {upper} of {rows} rows, and up to 1/{candidate} testing each is cheaper than a scan")
            }
            Self::NoSingleValues => write!(f, "a tested column cannot be read at single rows"),
            Self::ManyMatches { lower, rows } => {
                write!(f, "at least {lower} of {rows} rows match, and above 1/{lookup} testing every row is cheaper than a look-up")
            }
            Self::FewMatches { lower, rows } => {
                write!(f, "at least {lower} of {rows} rows match, and up to 1/{lookup} a look-up is cheaper than testing every row")
            }
            Self::CostlyToRead => write!(f, "asking an index costs less than reading the tested columns"),
            Self::ExactCount { count, rows } => write!(f, "it knows that {count} of {rows} rows match"),
            Self::FullyIndexed => write!(f, "they answer the whole condition"),
        }
    }
}
