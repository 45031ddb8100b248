//! By index: what indexes alone tell of a column of all rows. `None` everywhere means that they do not.

use std::sync::Arc;

use arrow_array::ArrayRef;
use hyperslab_array::{Result, Selection};

use super::Plan;
use super::prune::{index_of, placed};
use super::pruner::{Bounds, ColumnIndex, KeyRange, KeyType};
use crate::Cancellation;

/// The indexes of a column, one for each part of the plan, and the elements of their datasets that are rows.
pub(crate) struct ColumnByIndex {
    parts: Vec<(Arc<dyn ColumnIndex>, Selection)>,
    key_type: KeyType,
}

impl Plan {
    /// The column's indexes, where every part has one and no row is left to test.
    pub(crate) fn by_index(&self, column: &str) -> Result<Option<ColumnByIndex>> {
        let mut parts = Vec::new();
        let mut key_type = None;
        for part in self.parts() {
            let Some(source) = part.segment.column(column).filter(|_| part.residual.is_none()).map(|column| &column.source) else { return Ok(None) };
            let Some((index, place)) = index_of(&part.segment, source) else { return Ok(None) };
            if index.key_type().is_none() || key_type.is_some_and(|known| Some(known) != index.key_type()) {
                return Ok(None);
            }
            key_type = index.key_type();
            parts.push((index, placed(place.as_ref(), &part.selection)?.into_owned()));
        }
        Ok(key_type.map(|key_type| ColumnByIndex { parts, key_type }))
    }
}

impl ColumnByIndex {
    pub fn key_type(&self) -> KeyType {
        self.key_type
    }

    /// How many values are neither null nor NaN.
    pub fn numbers(&self) -> Result<Option<u64>> {
        let mut numbers = 0;
        for (index, selection) in &self.parts {
            let Some((here, _, _)) = index.counts(selection)? else { return Ok(None) };
            numbers += here;
        }
        Ok(Some(numbers))
    }

    /// How many of these have keys below each of `keys`.
    pub fn below(&self, keys: &[u64], cancellation: &Cancellation) -> Result<Option<Vec<u64>>> {
        let mut totals = vec![0; keys.len()];
        for (index, selection) in &self.parts {
            let Some(bounds) = index.below(selection, keys, cancellation)? else { return Ok(None) };
            for (total, bounds) in totals.iter_mut().zip(bounds) {
                let Some(exact) = Bounds::exact(bounds) else { return Ok(None) };
                *total += exact;
            }
        }
        Ok(Some(totals))
    }

    /// The key of the value with this number in order.
    pub fn ranked(&self, number: u64, cancellation: &Cancellation) -> Result<Option<u64>> {
        if let [(index, selection)] = self.parts.as_slice() {
            return index.ranked(selection, number, cancellation);
        }
        // Of several parts: the greatest key with no more than `number` values below it.
        let (mut low, mut high) = self.key_type.range();
        while low < high {
            let middle = high - (high - low) / 2;
            match self.below(&[middle], cancellation)?.as_deref() {
                Some([below]) if *below <= number => low = middle,
                Some(_) => high = middle - 1,
                None => return Ok(None),
            }
        }
        Ok(Some(low))
    }

    /// Least and greatest value.
    pub fn extremes(&self) -> Result<Option<(u64, u64)>> {
        let mut all: Option<(u64, u64)> = None;
        for (index, selection) in &self.parts {
            let Some((numbers, _, _)) = index.counts(selection)? else { return Ok(None) };
            if numbers == 0 {
                continue;
            }
            let Some(KeyRange { least, greatest, exact: true }) = index.extremes(selection)? else { return Ok(None) };
            all = Some(all.map_or((least, greatest), |(low, high)| (low.min(least), high.max(greatest))));
        }
        Ok(all)
    }

    /// Values of keys.
    pub fn values(&self, keys: &[u64], data_type: &arrow_schema::DataType) -> Result<ArrayRef> {
        let keys: Vec<Option<u64>> = keys.iter().copied().map(Some).collect();
        self.key_type.array(&keys, data_type)
    }
}
