//! Connectivity: a 2-D array of indexes with padding becomes a list of indexes for each row.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int64Array, ListArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use hyperslab_array::{Axis, Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::nulls::integers;

/// What the indexes of a 2-D array mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "data models make them")]
pub struct IndexRule {
    /// The dimension of the array along which the rows are: 0 or 1.
    pub axis: usize,
    /// The index of the first element; lists count from 0.
    pub start: i64,
    /// Number of elements: other indexes are an error.
    pub extent: u64,
    /// Numbers that stand for no element. Numbers beyond 63 bits are given by their bits. NaN always does.
    pub missing: Vec<i64>,
    /// What becomes of these.
    pub gaps: Gaps,
}

/// What becomes of missing indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "data models choose one")]
pub enum Gaps {
    /// They end a list. An index after them is an error.
    Padding,
    /// They are left out.
    Skipped,
    /// They are null, because the position of an index means something.
    Null,
}

/// Stands for NaN.
const NAN: i64 = i64::MIN;

impl IndexRule {
    /// The items of the lists.
    pub(crate) fn item(&self) -> Field {
        Field::new("item", DataType::Int64, self.gaps == Gaps::Null)
    }

    /// Lists from the indexes of `rows`, `width` for each row. `counts` are the numbers of indexes that rows have.
    ///
    /// # Errors
    /// `Corrupt` for indexes that are not whole numbers or out of range, and counts beyond the width.
    pub(crate) fn lists(&self, indexes: &ArrayRef, rows: &Axis, width: usize, counts: Option<&[i64]>) -> Result<ListArray> {
        let numbers = whole_numbers(indexes)?;
        let is_nan = indexes.data_type().is_floating();
        let count = usize::try_from(rows.count()).map_err(|_| Error::limit_exceeded("a window exceeds memory"))?;
        let mut items: Vec<Option<i64>> = Vec::with_capacity(numbers.len());
        let mut lengths = Vec::with_capacity(count);
        let corrupt = |row: usize, message: String| {
            let row = rows.index(row as u64).unwrap_or(row as u64);
            Error::new(ErrorKind::Corrupt, format!("{message} in row {row}"))
        };
        for row in 0..count {
            let own = match counts.map(|counts| counts.get(row).copied()) {
                None => width,
                Some(own) => {
                    let own = own.ok_or_else(|| Error::internal("a row without a count"))?;
                    let fits = usize::try_from(own).ok().filter(|own| *own <= width);
                    fits.ok_or_else(|| corrupt(row, format!("a count of {own} for {width} indexes")))?
                }
            };
            let (before, mut ended) = (items.len(), false);
            for position in 0..own {
                let place = if self.axis == 0 { row * width + position } else { position * count + row };
                let number = *numbers.get(place).ok_or_else(|| Error::internal("an index that was not read"))?;
                if (is_nan && number == NAN) || self.missing.contains(&number) {
                    ended = true;
                    if self.gaps == Gaps::Null {
                        items.push(None);
                    }
                    continue;
                }
                if ended && self.gaps == Gaps::Padding {
                    return Err(corrupt(row, format!("the index {number} follows a missing one")));
                }
                let index = number.checked_sub(self.start).filter(|index| u64::try_from(*index).is_ok_and(|index| index < self.extent));
                items.push(Some(index.ok_or_else(|| self.out_of_range(number)).map_err(|message| corrupt(row, message))?));
            }
            lengths.push(items.len() - before);
        }
        if i32::try_from(items.len()).is_err() {
            return Err(Error::limit_exceeded(format!("{count} rows have {} indexes, more than a batch of lists can hold", items.len())));
        }
        let items: Int64Array = match self.gaps {
            Gaps::Null => items.into(),
            _ => items.into_iter().flatten().collect::<Vec<i64>>().into(),
        };
        let list = ListArray::try_new(Arc::new(self.item()), OffsetBuffer::from_lengths(lengths), Arc::new(items), None);
        list.map_err(|error| Error::internal(error.to_string()))
    }

    fn out_of_range(&self, number: i64) -> String {
        let last = i128::from(self.start) + i128::from(self.extent) - 1;
        format!("the index {number} is not within {} to {last}", self.start)
    }
}

/// The numbers of an array: integers, or floating-point numbers that are whole.
pub(crate) fn whole_numbers(array: &ArrayRef) -> Result<Vec<i64>> {
    match array.data_type() {
        DataType::UInt64 => Ok(array.as_primitive::<UInt64Type>().values().iter().map(|number| number.cast_signed()).collect()),
        DataType::Float32 | DataType::Float64 => {
            let doubles = arrow_cast::cast(array, &DataType::Float64).map_err(|error| Error::internal(error.to_string()))?;
            let whole = |number: &f64| match number {
                number if number.is_nan() => Ok(NAN),
                // Fill values of netCDF are beyond 63 bits: they become the greatest number, in the rule as well.
                number if number.fract() == 0.0 => Ok(*number as i64),
                number => Err(Error::new(ErrorKind::Corrupt, format!("the index {number} is not a whole number"))),
            };
            doubles.as_primitive::<Float64Type>().values().iter().map(whole).collect()
        }
        _ => integers(array).map(|numbers| numbers.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Float64Array, Int32Array};

    fn rule(gaps: Gaps) -> IndexRule {
        IndexRule { axis: 0, start: 1, extent: 9, missing: vec![-1], gaps }
    }

    fn shown(list: &ListArray) -> Vec<Vec<Option<i64>>> {
        list.iter().flatten().map(|list| list.as_primitive::<arrow_array::types::Int64Type>().iter().collect()).collect()
    }

    #[test]
    fn missing_indexes_end_a_list_are_left_out_or_null() -> Result<()> {
        let indexes: ArrayRef = Arc::new(Int32Array::from(vec![1, 9, -1, -1, 5, 6]));
        let rows = Axis::range(4, 6);
        assert_eq!(shown(&rule(Gaps::Skipped).lists(&indexes, &rows, 3, None)?), [vec![Some(0), Some(8)], vec![Some(4), Some(5)]]);
        assert_eq!(shown(&rule(Gaps::Null).lists(&indexes, &rows, 3, None)?), [vec![Some(0), Some(8), None], vec![None, Some(4), Some(5)]]);
        let error = rule(Gaps::Padding).lists(&indexes, &rows, 3, None).err();
        assert!(error.is_some_and(|error| error.message() == "the index 5 follows a missing one in row 5"));
        let transposed = IndexRule { axis: 1, ..rule(Gaps::Skipped) };
        assert_eq!(shown(&transposed.lists(&indexes, &rows, 3, None)?), [vec![Some(0), Some(4)], vec![Some(8), Some(5)]]);
        Ok(())
    }

    #[test]
    fn counts_and_fractions_are_checked() -> Result<()> {
        let indexes: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, f64::NAN, 4.0, 77.0, 0.5]));
        let rows = Axis::range(0, 2);
        let rule = rule(Gaps::Padding);
        let whole: ArrayRef = indexes.slice(0, 5);
        assert_eq!(shown(&rule.lists(&whole, &Axis::range(0, 1), 3, None)?), [vec![Some(0), Some(1)]]);
        let message = |counts: Option<&[i64]>| rule.lists(&indexes, &rows, 3, counts).err().map(|error| error.message().to_owned());
        assert_eq!(message(None).as_deref(), Some("the index 0.5 is not a whole number"));
        let indexes: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 77, 4, 5, 77]));
        let message = |counts: Option<&[i64]>| rule.lists(&indexes, &rows, 3, counts).err().map(|error| error.message().to_owned());
        assert_eq!(message(None).as_deref(), Some("the index 77 is not within 1 to 9 in row 0"));
        assert_eq!(message(Some(&[2, 4])).as_deref(), Some("a count of 4 for 3 indexes in row 1"));
        assert_eq!(message(Some(&[2, -1])).as_deref(), Some("a count of -1 for 3 indexes in row 1"));
        assert_eq!(message(Some(&[2, 2])), None);
        Ok(())
    }
}
