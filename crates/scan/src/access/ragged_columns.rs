//! Reads ragged rows, lists of lists and vectors.

use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeListArray, ListArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, FieldRef};
use hyperslab_array::{Axis, Error, ErrorKind, Result};

use super::window_columns::Window;
use crate::table::elements::Elements;
use crate::table::mapping::DimensionMapping;
use crate::table::nulls::integers;
use crate::table::ragged::Bounds;

/// The arrays of ragged rows.
pub(super) struct Ragged<'a> {
    pub offsets: &'a Elements,
    pub bounds: Bounds,
    /// Ends of the inner lists, if rows are lists of lists.
    pub inner: Option<&'a Elements>,
    pub values: &'a Elements,
    /// The values are indexes below this number.
    pub extent: Option<u64>,
}

/// Where the values of each of several lists begin and end.
type Spans = Vec<(u64, u64)>;

impl Window<'_> {
    /// A list for each row of the window, or a list of lists.
    pub(super) fn lists_of(&self, field: &Field, ragged: Ragged<'_>) -> Result<ArrayRef> {
        let [rows] = self.selection.axes() else { return Err(Error::internal("ragged rows of several dimensions")) };
        let item = item_of(field.data_type())?;
        let Some(inner) = ragged.inner else {
            let spans = self.spans(ragged.offsets, ragged.bounds, first_extent(ragged.values)?, rows)?;
            let items = self.items(item, ragged.values, &axis_of(&spans, ragged.values)?)?;
            if let Some(extent) = ragged.extent {
                check_indexes(&items, &spans, rows, extent).map_err(|error| ragged.values.place(error))?;
            }
            return list(item, &spans, items);
        };
        let outer = self.spans(ragged.offsets, ragged.bounds, first_extent(inner)?, rows)?;
        let spans = self.spans(inner, Bounds::Ends, first_extent(ragged.values)?, &axis_of(&outer, inner)?)?;
        let values = item_of(item.data_type())?;
        let lists = list(values, &spans, self.items(values, ragged.values, &axis_of(&spans, ragged.values)?)?)?;
        list(item, &outer, lists)
    }

    /// A vector for each row of the window.
    pub(super) fn vectors(&self, field: &Field, values: &Elements) -> Result<ArrayRef> {
        let [rows] = self.selection.axes() else { return Err(Error::internal("vectors in rows of several dimensions")) };
        self.items(&Arc::new(field.clone()), values, rows)
    }

    /// The values at some indexes of an array's first dimension; beyond one dimension, vectors.
    fn items(&self, field: &FieldRef, values: &Elements, indexes: &Axis) -> Result<ArrayRef> {
        let rest = values.shape()?.into_iter().skip(1).map(Axis::all);
        let read = self.elements(values, &std::iter::once(indexes.clone()).chain(rest).collect::<Vec<_>>())?;
        let DataType::FixedSizeList(item, length) = field.data_type() else { return Ok(read) };
        if values.shape()?.len() < 2 {
            return Ok(read);
        }
        let count = usize::try_from(indexes.count()).map_err(|_| Error::limit_exceeded("a window exceeds memory"))?;
        let vectors = FixedSizeListArray::try_new_with_length(item.clone(), *length, read, None, count);
        vectors.map(|vectors| Arc::new(vectors) as ArrayRef).map_err(|error| Error::internal(error.to_string()))
    }

    /// Where the values of each of `rows` begin and end, of `count` values.
    fn spans(&self, offsets: &Elements, bounds: Bounds, count: u64, rows: &Axis) -> Result<Spans> {
        let last = rows.count().checked_sub(1).and_then(|last| rows.index(last));
        let Some((first, last)) = rows.index(0).zip(last) else { return Ok(Vec::new()) };
        let length = first_extent(offsets)?;
        let needed = bounds.needed(first, last, length);
        let from = needed.index(0).unwrap_or(first);
        let read = integers(&self.elements(offsets, &[needed])?).map_err(|error| offsets.place(error))?;
        bounds.of_rows(rows, &read, from, length, count).map_err(|error| offsets.place(error))
    }
}

/// Number of values along the first dimension from where the list begins.
fn first_extent(array: &Elements) -> Result<u64> {
    let start = match array.mapping.dimensions.first() {
        Some(DimensionMapping::Rows { start, .. }) => *start,
        _ => 0,
    };
    let extent = array.shape()?.first().copied().ok_or_else(|| Error::internal("a list without a dimension"))?;
    Ok(extent.saturating_sub(start))
}

fn item_of(list: &DataType) -> Result<&FieldRef> {
    match list {
        DataType::List(item) => Ok(item),
        _ => Err(Error::internal("ragged rows that are not lists")),
    }
}

/// The indexes of the values in `spans`. `LimitExceeded` if they are more than lists can hold.
fn axis_of(spans: &Spans, values: &Elements) -> Result<Axis> {
    let total = spans.iter().fold(0u64, |total, (start, end)| total.saturating_add(end - start));
    if i32::try_from(total).is_err() {
        let message = format!("{} rows have {total} values, more than a batch of lists can hold: ask for fewer rows at a time", spans.len());
        return Err(values.place(Error::limit_exceeded(message)));
    }
    let adjacent = spans.windows(2).all(|pair| matches!(pair, [(_, end), (start, _)] if end == start));
    Ok(match (adjacent, spans.first(), spans.last()) {
        (true, Some((start, _)), Some((_, end))) => Axis::range(*start, *end),
        (_, None, _) => Axis::range(0, 0),
        _ => Axis::Indices(spans.iter().flat_map(|(start, end)| *start..*end).collect()),
    })
}

/// `Corrupt` if an item of a row is not an index below `extent`.
fn check_indexes(items: &ArrayRef, spans: &Spans, rows: &Axis, extent: u64) -> Result<()> {
    let indexes = integers(items)?;
    let is_outside = |index: &i64| u64::try_from(*index).map_or(true, |index| index >= extent);
    let Some(place) = indexes.iter().position(is_outside) else { return Ok(()) };
    let mut before = 0u64;
    let row = spans.iter().position(|(start, end)| {
        before += end - start;
        before > place as u64
    });
    let row = row.and_then(|row| rows.index(row as u64)).unwrap_or_default();
    let index = indexes.get(place).copied().unwrap_or_default();
    Err(Error::new(ErrorKind::Corrupt, format!("the index {index} of row {row} is not below {extent}")))
}

fn list(item: &FieldRef, spans: &Spans, items: ArrayRef) -> Result<ArrayRef> {
    let lengths = spans.iter().map(|(start, end)| usize::try_from(end - start).unwrap_or(usize::MAX));
    let list = ListArray::try_new(item.clone(), OffsetBuffer::from_lengths(lengths), items, None);
    list.map(|list| Arc::new(list) as ArrayRef).map_err(|error| Error::internal(error.to_string()))
}
