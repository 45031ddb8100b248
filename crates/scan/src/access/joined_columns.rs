//! Reads columns whose values are repeated: arrays along some dimensions of the rows, and values of the owners of rows.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, FixedSizeListArray, Int32Array, Int64Array, UInt64Array};
use arrow_ord::ord::make_comparator;
use arrow_schema::{ArrowError, DataType, Field, SortOptions};
use hyperslab_array::{Axis, Error, Result, Selection};

use super::window_columns::{Window, positions, take};
use crate::table::composed::Loaded;
use crate::table::elements::Elements;
use crate::table::owners::OwnerStep;
use crate::table::repeated::{self, RepeatedAxis};

fn internal(error: ArrowError) -> Error {
    Error::internal(error.to_string())
}

impl Window<'_> {
    /// The elements of a spread array at the window's rows.
    pub(super) fn repeated(&self, field: &Field, values: &Elements, axes: &[RepeatedAxis]) -> Result<ArrayRef> {
        let rows = self.selection.axes();
        let shape = values.shape()?;
        let selection = Selection::new(repeated::axes(axes, rows, &shape)?, &shape).map_err(|error| values.place(error))?;
        let (bytes, heap) = self.read_of(&values.mapping.file, values.dataset, &selection, values.column.datatype())?;
        let mut read = values.column.take_arrow(bytes.into_buffer(), &heap).map_err(|error| values.place(error))?;
        match axes.last() {
            Some(RepeatedAxis::Low) => read = one_of_two(&read, Ordering::is_le)?,
            Some(RepeatedAxis::High) => read = one_of_two(&read, Ordering::is_gt)?,
            _ => {}
        }
        let places = repeated::places(axes, rows)?;
        if let DataType::FixedSizeList(item, length) = field.data_type() {
            let count = places.as_ref().map_or(self.count, |_| usize::try_from(*length).map_or(0, |length| read.len().checked_div(length).unwrap_or(0)));
            let list = FixedSizeListArray::try_new_with_length(item.clone(), *length, read, None, count).map_err(internal)?;
            read = Arc::new(list);
        }
        match places {
            None => Ok(read),
            Some(places) => take(&read, places),
        }
    }

    /// The values of the rows' owners along dimension `axis`, or the indexes of the owners if there are no values.
    pub(super) fn joined(&self, field: &Field, axis: usize, steps: &[OwnerStep<Elements>], loaded: &Loaded) -> Result<ArrayRef> {
        let owners = loaded.owners.as_ref().ok_or_else(|| Error::internal("owners were not loaded"))?;
        let first = steps.first().ok_or_else(|| Error::internal("owners without a step"))?;
        let (outer, mine, inner) = self.around(axis)?;
        let found = owners.at(mine, first, |array| self.elements(array, std::slice::from_ref(mine)))?;
        let along = match &loaded.values {
            None => indexes(&found)?,
            Some(values) => values_of(field, values, &found)?,
        };
        if (outer, inner) == (1, 1) { Ok(along) } else { take(&along, positions(&Axis::all(mine.count()), inner, outer)?) }
    }
}

/// From each pair of values, takes the first if `is_first` holds for their order, else the second; null if one of them is null.
fn one_of_two(values: &ArrayRef, is_first: fn(Ordering) -> bool) -> Result<ArrayRef> {
    let compare = make_comparator(values, values, SortOptions::default()).map_err(internal)?;
    let choose = |pair: usize| {
        let (first, second) = (2 * pair, 2 * pair + 1);
        let is_known = values.is_valid(first) && values.is_valid(second);
        is_known.then(|| if is_first(compare(first, second)) { first as u64 } else { second as u64 })
    };
    let chosen: UInt64Array = (0..values.len() / 2).map(choose).collect();
    arrow_select::take::take(values, &chosen, None).map_err(internal)
}

fn indexes(owners: &UInt64Array) -> Result<ArrayRef> {
    let beyond = || Error::unsupported("an index beyond 63 bits");
    let indexes = owners.values().iter().map(|owner| i64::try_from(*owner).map_err(|_| beyond()));
    Ok(Arc::new(Int64Array::from(indexes.collect::<Result<Vec<i64>>>()?)))
}

/// Text as an Arrow dictionary, because each is the value of many rows.
fn values_of(field: &Field, values: &ArrayRef, owners: &UInt64Array) -> Result<ArrayRef> {
    if !matches!(field.data_type(), DataType::Dictionary(..)) {
        return arrow_select::take::take(values, owners, None).map_err(internal);
    }
    let key = |owner: &u64| {
        let index = usize::try_from(*owner).map_err(|_| Error::internal("an owner beyond memory"))?;
        let key = i32::try_from(*owner).map_err(|_| Error::unsupported("more than 2 Gi texts"))?;
        Ok(values.is_valid(index).then_some(key))
    };
    let keys = owners.values().iter().map(key).collect::<Result<Int32Array>>()?;
    let texts = values.as_string::<i32>().clone();
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(texts)).map_err(internal)?))
}
