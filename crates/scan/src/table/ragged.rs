//! Ragged rows: what an array says about where the values of each row begin and end.

use hyperslab_array::{Axis, Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// What the array that divides values into rows holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "data models choose one")]
pub enum Bounds {
    /// One more number than there are rows: row `i` has the values from number `i` up to number `i + 1`.
    #[default]
    Offsets,
    /// Where each row ends. The first begins at 0, the others where the row before ends.
    Ends,
    /// Where each row begins. The last ends with the values, the others where the next row begins.
    Starts,
}

impl Bounds {
    /// The default, which is left out of a serialized definition.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
    pub(super) fn is_offsets(&self) -> bool {
        *self == Self::Offsets
    }

    /// The length of the array for this number of rows; `None` if that exceeds 64 bits.
    pub(super) fn length(self, rows: u64) -> Option<u64> {
        if self == Self::Offsets { rows.checked_add(1) } else { Some(rows) }
    }

    /// The numbers that are needed for the rows from `first` to `last` of an array of `length` numbers.
    pub(crate) fn needed(self, first: u64, last: u64, length: u64) -> Axis {
        match self {
            Self::Offsets | Self::Starts => Axis::range(first, last.saturating_add(2).min(length)),
            Self::Ends => Axis::range(first.saturating_sub(1), last.saturating_add(1).min(length)),
        }
    }

    /// Where the values of each of `rows` begin and end. `numbers` are those from index `from` on of an array of `length`
    /// numbers; there are `count` values.
    ///
    /// # Errors
    /// `Corrupt` for numbers that decrease or lead beyond the values.
    pub(crate) fn of_rows(self, rows: &Axis, numbers: &[i64], from: u64, length: u64, count: u64) -> Result<Vec<(u64, u64)>> {
        let corrupt = |message: String| Error::new(ErrorKind::Corrupt, message);
        let number = |index: u64| {
            let position = index.checked_sub(from).and_then(|position| usize::try_from(position).ok());
            let value = position.and_then(|position| numbers.get(position)).copied().ok_or_else(|| Error::internal("an offset that was not read"))?;
            let offset = u64::try_from(value).ok().filter(|offset| *offset <= count);
            offset.ok_or_else(|| corrupt(format!("offset {index} is {value}, but there are {count} values")))
        };
        let row_of = |position: u64| rows.index(position).ok_or_else(|| Error::internal("axis position"));
        let bound = |position: u64| {
            let row = row_of(position)?;
            let (start, end) = match self {
                Self::Offsets => (number(row)?, number(row + 1)?),
                Self::Ends if row == 0 => (0, number(row)?),
                Self::Ends => (number(row - 1)?, number(row)?),
                Self::Starts if row + 1 >= length => (number(row)?, count),
                Self::Starts => (number(row)?, number(row + 1)?),
            };
            if end < start {
                let (one, other) = if self == Self::Ends { (row.saturating_sub(1), row) } else { (row, row + 1) };
                return Err(corrupt(format!("offsets decrease: {start} at {one}, {end} at {other}")));
            }
            Ok((start, end))
        };
        (0..rows.count()).map(bound).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(kind: Bounds, rows: Axis, numbers: &[i64]) -> Result<Vec<(u64, u64)>> {
        let length = numbers.len() as u64;
        let last = rows.index(rows.count() - 1).ok_or_else(|| Error::internal("no rows"))?;
        let needed = kind.needed(rows.index(0).unwrap_or(0), last, length);
        let from = needed.index(0).unwrap_or(0);
        let read: Vec<i64> =
            (0..needed.count()).filter_map(|position| needed.index(position)).filter_map(|index| numbers.get(index as usize).copied()).collect();
        kind.of_rows(&rows, &read, from, length, 7)
    }

    #[test]
    fn rows_are_bounded_by_offsets_ends_or_starts() -> Result<()> {
        assert_eq!(bounds(Bounds::Offsets, Axis::range(1, 3), &[0, 2, 2, 7])?, [(2, 2), (2, 7)]);
        assert_eq!(bounds(Bounds::Ends, Axis::range(0, 3), &[2, 2, 7])?, [(0, 2), (2, 2), (2, 7)]);
        assert_eq!(bounds(Bounds::Ends, Axis::range(2, 3), &[2, 2, 7])?, [(2, 7)]);
        assert_eq!(bounds(Bounds::Starts, Axis::range(0, 3), &[0, 2, 5])?, [(0, 2), (2, 5), (5, 7)]);
        assert_eq!(bounds(Bounds::Starts, Axis::Indices(vec![0, 2]), &[0, 2, 5])?, [(0, 2), (5, 7)]);
        Ok(())
    }

    #[test]
    fn numbers_that_decrease_or_lead_beyond_the_values_are_refused() {
        let message = |kind, numbers: &[i64]| bounds(kind, Axis::range(0, 2), numbers).err().map(|error| error.message().to_owned());
        assert_eq!(message(Bounds::Ends, &[3, 1]).as_deref(), Some("offsets decrease: 3 at 0, 1 at 1"));
        assert_eq!(message(Bounds::Ends, &[3, 8]).as_deref(), Some("offset 1 is 8, but there are 7 values"));
        assert_eq!(message(Bounds::Starts, &[-1, 2]).as_deref(), Some("offset 0 is -1, but there are 7 values"));
        assert_eq!(message(Bounds::Offsets, &[0, 5, 4]).as_deref(), Some("offsets decrease: 5 at 1, 4 at 2"));
    }
}
