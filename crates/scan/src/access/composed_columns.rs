//! Reads columns that are put together from several arrays.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, ListArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use hyperslab_array::{Axis, Datatype, Error, ErrorKind, Member, Result, Selection};
use hyperslab_columns::{Column, Decoding};

use super::window_columns::Window;
use crate::table::composed::{Composed, Elements};
use crate::table::connectivity::IndexRule;
use crate::table::definition_arrays::member_index;
use crate::table::nulls::{flags, integers, masked};

impl Window<'_> {
    /// The values of a composed column at the window's rows. `dictionary` has the categories, if there are any.
    pub(super) fn composed(&self, field: &Field, composed: &Composed, dictionary: Option<&ArrayRef>) -> Result<ArrayRef> {
        match composed {
            Composed::Categories { codes, .. } => {
                let categories = dictionary.ok_or_else(|| Error::internal("categories were not loaded"))?;
                categorical(field, codes, &self.elements(codes, self.selection.axes())?, categories)
            }
            Composed::Masked { values, mask } => {
                let shown = self.elements(values, self.selection.axes())?;
                let flags = flags(&self.elements(mask, self.selection.axes())?).map_err(|error| mask.place(error))?;
                masked(&shown, &flags)
            }
            Composed::Lists { offsets, values } => self.lists_of(field, offsets, values),
            Composed::Scaled { terms, constant } => {
                let read = terms.iter().map(|(elements, factor)| Ok((self.elements(elements, self.selection.axes())?, *factor)));
                scaled_sum(&read.collect::<Result<Vec<_>>>()?, *constant)
            }
            Composed::Connectivity { indexes, counts, rule } => self.index_lists(indexes, counts.as_deref(), rule),
        }
    }

    fn index_lists(&self, indexes: &Elements, counts: Option<&Elements>, rule: &IndexRule) -> Result<ArrayRef> {
        let [rows] = self.selection.axes() else { return Err(Error::internal("lists of indexes in rows of several dimensions")) };
        let shape = indexes.shape()?;
        let width = shape.get(1 - rule.axis.min(1)).copied().ok_or_else(|| Error::internal("a table of indexes of one dimension"))?;
        let axes = if rule.axis == 0 { [rows.clone(), Axis::all(width)] } else { [Axis::all(width), rows.clone()] };
        let read = self.elements(indexes, &axes)?;
        let counts = match counts {
            Some(counts) => {
                let read = self.elements(counts, std::slice::from_ref(rows))?;
                Some(integers(&read).map_err(|error| counts.place(error))?)
            }
            None => None,
        };
        let width = usize::try_from(width).map_err(|_| Error::limit_exceeded("a window exceeds memory"))?;
        let list = rule.lists(&read, rows, width, counts.as_deref());
        list.map(|list| Arc::new(list) as ArrayRef).map_err(|error| indexes.place(error))
    }

    /// The elements of an array for `rows`.
    pub(super) fn elements(&self, elements: &Elements, rows: &[Axis]) -> Result<ArrayRef> {
        let selection = elements.selection(rows)?;
        if let Some(member) = &elements.member {
            return self.member_elements(elements, member, &selection);
        }
        let (bytes, heap) = self.read_of(&elements.mapping.file, elements.dataset, &selection, elements.column.datatype())?;
        elements.column.take_arrow(bytes.into_buffer(), &heap).map_err(|error| elements.place(error))
    }

    /// The values of one member of a compound dataset.
    fn member_elements(&self, elements: &Elements, name: &str, selection: &Selection) -> Result<ArrayRef> {
        let file = &elements.mapping.file;
        let description = file.dataset(elements.dataset)?;
        let Datatype::Compound { size, members } = &description.datatype else { return Err(Error::internal("a member without a compound")) };
        let member = members.get(member_index(&description, name)?).ok_or_else(|| Error::internal("no such member"))?;
        let member = Member { datatype: elements.column.datatype().clone(), ..member.clone() };
        let projected = Datatype::Compound { size: *size, members: vec![member] };
        let (bytes, heap) = self.read_of(file, elements.dataset, selection, &projected)?;
        let record = Column::new("record", &projected, &[], Decoding::Raw)?.to_arrow(&bytes, &heap).map_err(|error| elements.place(error))?;
        let record = record.as_any().downcast_ref::<StructArray>().and_then(|record| record.column_by_name(name));
        record.cloned().ok_or_else(|| Error::internal("a compound is not a struct"))
    }

    fn lists_of(&self, field: &Field, offsets: &Elements, values: &Elements) -> Result<ArrayRef> {
        let DataType::List(item) = field.data_type() else { return Err(Error::internal("ragged rows that are not lists")) };
        let [rows] = self.selection.axes() else { return Err(Error::internal("ragged rows of several dimensions")) };
        let bounds = self.bounds(offsets, values, rows)?;
        let total = bounds.iter().map(|(start, end)| end - start).sum::<u64>();
        if i32::try_from(total).is_err() {
            let message = format!("{} rows have {total} values, more than a batch of lists can hold: ask for fewer rows at a time", bounds.len());
            return Err(values.place(Error::limit_exceeded(message)));
        }
        let adjacent = bounds.windows(2).all(|pair| matches!(pair, [(_, end), (start, _)] if end == start));
        let axis = match (adjacent, bounds.first(), bounds.last()) {
            (true, Some((start, _)), Some((_, end))) => Axis::range(*start, *end),
            (_, None, _) => Axis::range(0, 0),
            _ => Axis::Indices(bounds.iter().flat_map(|(start, end)| *start..*end).collect()),
        };
        let items = self.elements(values, &[axis])?;
        let lengths = bounds.iter().map(|(start, end)| usize::try_from(end - start).unwrap_or(usize::MAX));
        let list = ListArray::try_new(item.clone(), OffsetBuffer::from_lengths(lengths), items, None);
        list.map(|list| Arc::new(list) as ArrayRef).map_err(|error| Error::internal(error.to_string()))
    }

    /// Where the values of each row begin and end. `Corrupt` if that contradicts the order of rows or the number of values.
    fn bounds(&self, offsets: &Elements, values: &Elements, rows: &Axis) -> Result<Vec<(u64, u64)>> {
        let ends = rows.index(0).zip(rows.count().checked_sub(1).and_then(|last| rows.index(last)));
        let Some((first, last)) = ends else { return Ok(Vec::new()) };
        let stop = last.checked_add(2).ok_or_else(|| Error::internal("a row beyond 64 bits"))?;
        let read = self.elements(offsets, &[Axis::range(first, stop)])?;
        let read = integers(&read).map_err(|error| offsets.place(error))?;
        let count = values.shape()?.first().copied().unwrap_or(0);
        let corrupt = |message: String| offsets.place(Error::new(ErrorKind::Corrupt, message));
        let offset = |row: u64| {
            let index = usize::try_from(row - first).map_err(|_| Error::internal("row index"))?;
            let value = read.get(index).copied().ok_or_else(|| Error::internal("an offset that was not read"))?;
            let offset = u64::try_from(value).ok().filter(|offset| *offset <= count);
            offset.ok_or_else(|| corrupt(format!("offset {row} is {value}, but there are {count} values")))
        };
        let bound = |position: u64| {
            let row = rows.index(position).ok_or_else(|| Error::internal("axis position"))?;
            let (start, end) = (offset(row)?, offset(row + 1)?);
            if end < start {
                return Err(corrupt(format!("offsets decrease: {start} at {row}, {end} at {}", row + 1)));
            }
            Ok((start, end))
        };
        (0..rows.count()).map(bound).collect()
    }
}

/// `constant + factor * values + …`; null where one of the values is.
fn scaled_sum(terms: &[(ArrayRef, f64)], constant: f64) -> Result<ArrayRef> {
    let mut sum: Option<Float64Array> = None;
    for (values, factor) in terms {
        let cast = arrow_cast::cast(values, &DataType::Float64).map_err(|error| Error::internal(error.to_string()))?;
        let scaled: Float64Array = cast.as_primitive::<Float64Type>().unary(|value| value * factor);
        sum = Some(match sum {
            None => scaled,
            Some(sum) => sum.iter().zip(&scaled).map(|(a, b)| Some(a? + b?)).collect(),
        });
    }
    let sum = sum.ok_or_else(|| Error::internal("a sum without terms"))?;
    let shifted: Float64Array = if constant == 0.0 { sum } else { sum.unary(|value| value + constant) };
    Ok(Arc::new(shifted))
}

/// Arrow dictionaries of text, values of other types.
fn categorical(field: &Field, codes: &Elements, read: &ArrayRef, categories: &ArrayRef) -> Result<ArrayRef> {
    let read = integers(read).map_err(|error| codes.place(error))?;
    let count = categories.len();
    let key = |code: &i64| match usize::try_from(*code) {
        Err(_) => Ok(None),
        Ok(index) if index < count && categories.is_null(index) => Ok(None),
        Ok(index) if index < count => i32::try_from(index).map(Some).map_err(|_| Error::unsupported("more than 2 Gi categories")),
        Ok(_) => Err(codes.place(Error::new(ErrorKind::Corrupt, format!("code {code} of {count} categories")))),
    };
    let keys = read.iter().map(key).collect::<Result<Int32Array>>()?;
    let internal = |error: arrow_schema::ArrowError| Error::internal(error.to_string());
    match field.data_type() {
        DataType::Dictionary(..) => Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, categories.clone()).map_err(internal)?)),
        _ => arrow_select::take::take(categories, &keys, None).map_err(internal),
    }
}
