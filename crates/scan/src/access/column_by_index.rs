//! Answers about a column from indexes alone, over all rows or over those selected by a condition on the column itself.
//! `None` always means that the indexes cannot answer.

use std::sync::Arc;

use arrow_array::ArrayRef;
use hyperslab_array::{Cancellation, Error, Result, Selection};
use hyperslab_predicate::{KeyType, ValueSet};

use super::cost_model::LOOKUP_MAX_INTERVALS;
use super::indexed_term::{index_of, mapped_selection};
use super::segment_scan::SegmentScan;
use crate::pruner::{ColumnIndex, CountBounds, Edge, KeyRange, Level, after};

/// The indexes of a column, one for each segment of the plan, with the elements of their datasets that are rows.
pub struct ColumnByIndex {
    parts: Vec<OnePart>,
    key_type: KeyType,
}

struct OnePart {
    index: Arc<dyn ColumnIndex>,
    selection: Selection,
    /// Inclusive key intervals of the matching values; `None` if all values match.
    intervals: Option<Vec<(u64, u64)>>,
}

impl ColumnByIndex {
    /// The indexes of a column in all of `parts`; `None` if one has no index, or if its residual predicate uses other columns.
    pub(crate) fn of<'a>(parts: impl Iterator<Item = &'a SegmentScan> + Clone, column: &str) -> Result<Option<Self>> {
        let (mut by_part, mut key_type) = (Vec::new(), None);
        for part in parts.clone() {
            let Some(intervals) = part.intervals_of(column) else { return Ok(None) };
            let Some(source) = part.segment.column(column).map(|column| &column.source) else { return Ok(None) };
            let Some((index, mapping)) = index_of(&part.segment, source) else { return Ok(None) };
            if index.key_type().is_none() || key_type.is_some_and(|known| Some(known) != index.key_type()) {
                return Ok(None);
            }
            key_type = index.key_type();
            by_part.push(OnePart { index, selection: mapped_selection(mapping.as_ref(), &part.selection)?.into_owned(), intervals });
        }
        let Some(key_type) = key_type else { return Ok(None) };
        for part in parts {
            part.count_index_blocks()?;
        }
        Ok(Some(Self { parts: by_part, key_type }))
    }
}

impl SegmentScan {
    /// The key intervals of a column that are equivalent to the residual predicate: `Some(None)` if there is no residual
    /// predicate, `None` if it is not equivalent to intervals of this column.
    fn intervals_of(&self, column: &str) -> Option<Option<Vec<(u64, u64)>>> {
        if self.residual.is_none() {
            return Some(None);
        }
        let mut set: Option<ValueSet> = None;
        for indexed in self.indexed_predicates.iter().filter(|_| self.is_fully_indexed) {
            let values = indexed.values_of(column)?;
            set = Some(match set {
                Some(set) => set.and(values),
                None => values.clone(),
            });
        }
        set.map(|set| set.intervals().to_vec()).filter(|intervals| intervals.len() <= LOOKUP_MAX_INTERVALS).map(Some)
    }
}

impl OnePart {
    /// For each edge, the number of matching values with keys below it.
    fn below(&self, edges: &[Edge], cancellation: &Cancellation) -> Result<Option<Vec<CountBounds>>> {
        let Some(intervals) = &self.intervals else { return self.index.below(&self.selection, edges, cancellation) };
        let ends = intervals.iter().flat_map(|(first, last)| [Some(*first), after(*last)]);
        let mut asked: Vec<Edge> = edges.iter().copied().chain(ends).collect();
        asked.sort_unstable();
        asked.dedup();
        let Some(counts) = self.index.below(&self.selection, &asked, cancellation)? else { return Ok(None) };
        let at = |edge: Edge| {
            let count = asked.binary_search(&edge).ok().and_then(|index| counts.get(index)).copied();
            count.ok_or_else(|| Error::internal("an edge without a count"))
        };
        let of_edge = |edge: &Edge| {
            intervals.iter().try_fold(CountBounds::default(), |sum, (first, last)| {
                // The lower of two edges; `None` is above every key.
                let end = if edge.is_some_and(|key| key <= *last) { *edge } else { after(*last) };
                if end.is_some_and(|end| end <= *first) {
                    return Ok(sum);
                }
                let (low, high) = (at(Some(*first))?, at(end)?);
                Ok(sum + CountBounds { lower: high.lower.saturating_sub(low.upper), upper: high.upper.saturating_sub(low.lower) })
            })
        };
        edges.iter().map(of_edge).collect::<Result<_>>().map(Some)
    }

    /// Number of matching values that are neither null nor NaN.
    fn numbers(&self, cancellation: &Cancellation) -> Result<Option<CountBounds>> {
        match self.intervals.as_ref().map(|intervals| intervals.last()) {
            None => Ok(self.index.counts(&self.selection)?.map(|(numbers, _, _)| CountBounds::exactly(numbers))),
            Some(None) => Ok(Some(CountBounds::exactly(0))),
            Some(Some((_, last))) => Ok(self.below(&[after(*last)], cancellation)?.and_then(|found| found.first().copied())),
        }
    }

    /// The key of the matching value with this rank, from 0.
    fn ranked(&self, rank: u64, cancellation: &Cancellation) -> Result<Option<u64>> {
        let Some(intervals) = &self.intervals else { return self.index.ranked(&self.selection, rank, cancellation) };
        let mut remaining = rank;
        for (first, last) in intervals {
            let Some(ends) = self.index.below(&self.selection, &[Some(*first), after(*last)], cancellation)? else { return Ok(None) };
            let exact: Option<Vec<u64>> = ends.into_iter().map(CountBounds::exact).collect();
            let Some([before, end]) = exact.as_deref() else { return Ok(None) };
            if remaining < end - before {
                return self.index.ranked(&self.selection, before + remaining, cancellation);
            }
            remaining -= end - before;
        }
        Ok(None)
    }
}

impl ColumnByIndex {
    /// How the column's values are ordered.
    pub fn key_type(&self) -> KeyType {
        self.key_type
    }

    /// Whether all of its indexes have a level that gives exact counts.
    pub fn is_exact(&self) -> bool {
        self.parts.iter().all(|part| part.index.level() >= Level::Exact)
    }

    /// Number of matching values that are neither null nor NaN.
    ///
    /// # Errors
    /// `Io` or `Corrupt` if the index cannot be read; `Cancelled`.
    pub fn numbers(&self, cancellation: &Cancellation) -> Result<Option<CountBounds>> {
        let mut numbers = CountBounds::default();
        for part in &self.parts {
            let Some(here) = part.numbers(cancellation)? else { return Ok(None) };
            numbers = numbers + here;
        }
        Ok(Some(numbers))
    }

    /// For each edge, the number of these values with keys below it.
    ///
    /// # Errors
    /// `Io` or `Corrupt` if the index cannot be read; `Cancelled`.
    pub fn below(&self, edges: &[Edge], cancellation: &Cancellation) -> Result<Option<Vec<CountBounds>>> {
        let mut totals = vec![CountBounds::default(); edges.len()];
        for part in &self.parts {
            let Some(bounds) = part.below(edges, cancellation)? else { return Ok(None) };
            totals.iter_mut().zip(bounds).for_each(|(total, bounds)| *total = *total + bounds);
        }
        Ok(Some(totals))
    }

    /// The key of the value with this rank, from 0.
    ///
    /// # Errors
    /// `Io` or `Corrupt` if the index cannot be read; `Cancelled`.
    pub fn ranked(&self, rank: u64, cancellation: &Cancellation) -> Result<Option<u64>> {
        if let [part] = self.parts.as_slice() {
            return part.ranked(rank, cancellation);
        }
        // Over several segments: the greatest key with at most `rank` values below it.
        let (mut low, mut high) = self.key_type.range();
        while low < high {
            let middle = high - (high - low) / 2;
            match self.below(&[Some(middle)], cancellation)?.and_then(|below| below.first()?.exact()) {
                Some(below) if below <= rank => low = middle,
                Some(_) => high = middle - 1,
                None => return Ok(None),
            }
        }
        Ok(Some(low))
    }

    /// Keys of the least and greatest value.
    ///
    /// # Errors
    /// `Io` or `Corrupt` if the index cannot be read; `Cancelled`.
    pub fn extremes(&self, cancellation: &Cancellation) -> Result<Option<(u64, u64)>> {
        let mut all: Option<(u64, u64)> = None;
        for part in &self.parts {
            let Some(numbers) = part.numbers(cancellation)?.and_then(CountBounds::exact) else { return Ok(None) };
            if numbers == 0 {
                continue;
            }
            let ends = match part.intervals {
                None => match part.index.extremes(&part.selection)? {
                    Some(KeyRange { min, max, exact: true }) => Some((min, max)),
                    _ => None,
                },
                Some(_) => part.ranked(0, cancellation)?.zip(part.ranked(numbers - 1, cancellation)?),
            };
            let Some((min, max)) = ends else { return Ok(None) };
            all = Some(all.map_or((min, max), |(low, high)| (low.min(min), high.max(max))));
        }
        Ok(all)
    }

    /// The values of keys, as an array of `data_type`.
    ///
    /// # Errors
    /// `Internal` if `data_type` is not the column's.
    pub fn values(&self, keys: &[u64], data_type: &arrow_schema::DataType) -> Result<ArrayRef> {
        let keys: Vec<Option<u64>> = keys.iter().copied().map(Some).collect();
        self.key_type.array(&keys, data_type)
    }
}
