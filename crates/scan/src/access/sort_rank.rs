//! Where the values of a column are in a sort order, and which is the first that a window can have, from dimensions and indexes.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use hyperslab_array::{Axis, Error, Result};
use hyperslab_predicate::KeyType;

use super::indexed_term::{index_of, mapped_selection};
use super::segment_scan::SegmentScan;
use crate::pruner::ColumnIndex;
use crate::request::SortKey;
use crate::table::mapping::RowMapping;
use crate::table::segment::Source;
use crate::window::{self, Rows};

/// Position of a value in a sort order: smaller ranks come first, and equal values have the same rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    class: Class,
    key: u64,
}

/// Nulls, values and NaN in the order in which they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    FirstNull,
    LargestNan,
    Value,
    LastNan,
    LastNull,
}

/// The order of the values of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RankOrder {
    pub key_type: KeyType,
    pub descending: bool,
    pub nulls_first: bool,
}

impl RankOrder {
    pub fn new(key_type: KeyType, sort: &SortKey) -> Self {
        Self { key_type, descending: sort.descending, nulls_first: sort.nulls_first }
    }

    pub fn null(self) -> Rank {
        Rank { class: if self.nulls_first { Class::FirstNull } else { Class::LastNull }, key: 0 }
    }

    pub fn nan(self) -> Rank {
        Rank { class: if self.descending { Class::LargestNan } else { Class::LastNan }, key: 0 }
    }

    pub fn value(self, key: u64) -> Rank {
        let key = match self.key_type {
            // 0.0 gets the key of -0.0, which is one less.
            KeyType::Float(width) if key == 1 << (8 * u32::from(width) - 1) => key - 1,
            _ => key,
        };
        Rank { class: Class::Value, key: if self.descending { !key } else { key } }
    }

    /// The key of a rank; `None` for nulls and NaN.
    pub fn key(self, rank: Rank) -> Option<u64> {
        (rank.class == Class::Value).then_some(if self.descending { !rank.key } else { rank.key })
    }

    /// The ranks of an array's values.
    pub fn ranks(self, values: &ArrayRef) -> Result<Vec<Rank>> {
        let keys = self.key_type.keys(values)?;
        let rank = |(index, key): (usize, Option<u64>)| match key {
            _ if values.is_null(index) => self.null(),
            Some(key) => self.value(key),
            None => self.nan(),
        };
        Ok(keys.into_iter().enumerate().map(rank).collect())
    }
}

/// What is known about the values of a column in each window.
pub(crate) enum KnownRanks {
    /// The values are the indexes of a dimension.
    Indexes { axis: usize },
    /// The values are those at the index along a dimension.
    Along { axis: usize, ranks: Vec<Rank> },
    /// The values have an index.
    Indexed { index: Arc<dyn ColumnIndex>, mapping: Option<Arc<RowMapping>>, nullable: bool },
}

impl KnownRanks {
    /// What is known about a column that the scan reads; `None` if its values must be read.
    pub fn of(part: &SegmentScan, column: &str, order: RankOrder) -> Result<Option<Self>> {
        let Some(found) = part.segment.column(column) else { return Ok(None) };
        let extent = |axis: usize| part.segment.shape.get(axis).copied().unwrap_or_default();
        Ok(match &found.source {
            Source::Index { axis } => Some(Self::Indexes { axis: *axis }),
            Source::Row if part.segment.shape.len() == 1 => Some(Self::Indexes { axis: 0 }),
            Source::Coordinate { axis, dataset, .. } => match part.coordinates.get(dataset) {
                Some(values) if values.len() as u64 >= extent(*axis) => Some(Self::Along { axis: *axis, ranks: order.ranks(values)? }),
                _ => None,
            },
            Source::Along { axis, values } => match values.all(extent(*axis)) {
                Some(values) if values.len() as u64 >= extent(*axis) => Some(Self::Along { axis: *axis, ranks: order.ranks(&values)? }),
                _ => None,
            },
            source => index_of(&part.segment, source).filter(|(index, _)| index.key_type() == Some(order.key_type)).map(|(index, mapping)| Self::Indexed {
                index,
                mapping,
                nullable: found.field.is_nullable(),
            }),
        })
    }

    /// A rank that is not after the rank of any value in the box `rows`; `None` if nothing is known.
    pub fn first(&self, part: &SegmentScan, order: RankOrder, rows: Rows) -> Result<Option<Rank>> {
        let selection = window::select(&part.selection, rows);
        match self {
            Self::Indexes { axis } => {
                let axis = selection.axes().get(*axis).ok_or_else(no_axis)?;
                let end = if order.descending { axis.count().checked_sub(1) } else { Some(0) };
                Ok(end.and_then(|position| axis.index(position)).and_then(|index| rank_of_index(index, order)))
            }
            Self::Along { axis, ranks } => Ok(ranks_at(ranks, selection.axes().get(*axis).ok_or_else(no_axis)?).min()),
            Self::Indexed { index, mapping, nullable } => {
                let selection = mapped_selection(mapping.as_ref(), &selection)?;
                let (counts, extremes) = (index.counts(&selection)?, index.extremes(&selection)?);
                if counts.is_none() && extremes.is_none() {
                    return Ok(None);
                }
                let may_be_nan = counts.map_or(matches!(order.key_type, KeyType::Float(_)), |(_, nans, _)| nans > 0);
                let may_be_null = counts.map_or(*nullable, |(_, _, nulls)| nulls > 0);
                let value = extremes.map(|range| order.value(if order.descending { range.max } else { range.min }));
                Ok([may_be_nan.then(|| order.nan()), may_be_null.then(|| order.null()), value].into_iter().flatten().min())
            }
        }
    }

    /// The key of the value that at least `count` selected rows do not come after, where only dimensions decide; `None` if
    /// there are fewer rows, or values must be read.
    pub fn nth_key(&self, part: &SegmentScan, order: RankOrder, count: u64) -> Result<Option<u64>> {
        let (Self::Indexes { axis } | Self::Along { axis, .. }) = self else { return Ok(None) };
        let axis = part.selection.axes().get(*axis).ok_or_else(no_axis)?;
        let rows_per_index = part.selection.element_count()?.checked_div(axis.count()).unwrap_or_default();
        let Some(position) = count.div_ceil(rows_per_index.max(1)).checked_sub(1).filter(|position| rows_per_index > 0 && *position < axis.count()) else {
            return Ok(None);
        };
        if let Self::Along { ranks, .. } = self {
            let mut ranks: Vec<Rank> = ranks_at(ranks, axis).filter(|rank| rank.class == Class::Value).collect();
            let Some(position) = usize::try_from(position).ok().filter(|position| *position < ranks.len()) else { return Ok(None) };
            let (_, rank, _) = ranks.select_nth_unstable(position);
            return Ok(order.key(*rank));
        }
        let position = if order.descending { axis.count() - 1 - position } else { position };
        Ok(axis.index(position).and_then(|index| rank_of_index(index, order)).and_then(|rank| order.key(rank)))
    }
}

fn no_axis() -> Error {
    Error::internal("a column along a dimension that its segment does not have")
}

fn ranks_at<'a>(ranks: &'a [Rank], axis: &'a Axis) -> impl Iterator<Item = Rank> + 'a {
    let index = |position| axis.index(position).and_then(|index| usize::try_from(index).ok());
    (0..axis.count()).filter_map(move |position| ranks.get(index(position)?).copied())
}

fn rank_of_index(index: u64, order: RankOrder) -> Option<Rank> {
    order.key_type.integers(index.into(), index.into()).map(|(key, _)| order.value(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Float64Array;

    #[test]
    fn nan_is_the_greatest_number_and_the_zeros_are_equal() -> Result<()> {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), None, Some(f64::NAN), Some(0.0), Some(-0.0), Some(f64::INFINITY), Some(-1.0)]));
        let sorted = |descending, nulls_first| {
            let ranks = RankOrder { key_type: KeyType::Float(8), descending, nulls_first }.ranks(&values)?;
            assert_eq!(ranks.get(3), ranks.get(4));
            let mut rows: Vec<usize> = (0..values.len()).collect();
            rows.sort_by_key(|row| ranks.get(*row).copied());
            Ok::<_, Error>(rows)
        };
        assert_eq!(sorted(false, true)?, [1, 6, 3, 4, 0, 5, 2]);
        assert_eq!(sorted(false, false)?, [6, 3, 4, 0, 5, 2, 1]);
        assert_eq!(sorted(true, false)?, [2, 5, 0, 3, 4, 6, 1]);
        assert_eq!(sorted(true, true)?, [1, 2, 5, 0, 3, 4, 6]);
        Ok(())
    }
}
