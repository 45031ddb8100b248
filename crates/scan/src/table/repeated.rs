//! Spread arrays: those along some dimensions of the rows, whose elements are repeated along the others.

use hyperslab_array::{Axis, Error, Result};
use serde::{Deserialize, Serialize};

/// What a dimension of a spread array is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "data models make them")]
pub enum RepeatedAxis {
    /// This dimension of the rows.
    Row(usize),
    /// One index, the same for all rows.
    Fixed(u64),
    /// The last dimension: its elements are a list, one for each row.
    List,
    /// The last dimension of an array of single characters: the length of its texts.
    Text,
    /// The last dimension, of two elements: the lower of them. Null if one of them is.
    Low,
    /// The last dimension, of two elements: the higher of them. Null if one of them is.
    High,
}

/// The axes of the array for a box of rows.
pub(crate) fn axes(spread: &[RepeatedAxis], rows: &[Axis], extents: &[u64]) -> Result<Vec<Axis>> {
    let axis = |(axis, extent): (&RepeatedAxis, &u64)| match axis {
        RepeatedAxis::Row(row) => rows.get(*row).cloned().ok_or_else(|| Error::internal("a spread array along a dimension that its rows lack")),
        RepeatedAxis::Fixed(index) => Ok(Axis::range(*index, index.saturating_add(1))),
        RepeatedAxis::List | RepeatedAxis::Text | RepeatedAxis::Low | RepeatedAxis::High => Ok(Axis::all(*extent)),
    };
    spread.iter().zip(extents).map(axis).collect()
}

/// For each row of a box, which of the values that were read it has; `None` if each has its own, in order.
pub(crate) fn places(spread: &[RepeatedAxis], rows: &[Axis]) -> Result<Option<Vec<u64>>> {
    let mut strides = vec![0u64; rows.len()];
    let (mut stride, mut order) = (1u64, Vec::new());
    for axis in spread.iter().rev() {
        let RepeatedAxis::Row(row) = axis else { continue };
        *strides.get_mut(*row).ok_or_else(|| Error::internal("no such axis"))? = stride;
        order.push(*row);
        stride = stride.saturating_mul(rows.get(*row).map_or(0, Axis::count));
    }
    if order.iter().rev().copied().eq(0..rows.len()) {
        return Ok(None);
    }
    let mut places = vec![0u64];
    for (axis, stride) in rows.iter().zip(strides) {
        let here = |place: u64| (0..axis.count()).map(move |index| place + index * stride);
        places = places.into_iter().flat_map(here).collect();
    }
    Ok(Some(places))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_find_their_elements() -> Result<()> {
        let rows = [Axis::range(0, 2), Axis::range(5, 8)];
        assert_eq!(places(&[RepeatedAxis::Row(0), RepeatedAxis::Row(1), RepeatedAxis::List], &rows)?, None);
        assert_eq!(places(&[RepeatedAxis::Row(1), RepeatedAxis::Fixed(4)], &rows)?, Some(vec![0, 1, 2, 0, 1, 2]));
        assert_eq!(places(&[RepeatedAxis::Row(1), RepeatedAxis::Row(0)], &rows)?, Some(vec![0, 2, 4, 1, 3, 5]));
        assert_eq!(places(&[], &rows)?, Some(vec![0; 6]));
        assert_eq!(axes(&[RepeatedAxis::Row(1), RepeatedAxis::Fixed(4)], &rows, &[9, 5])?, vec![Axis::range(5, 8), Axis::range(4, 5)]);
        assert!(axes(&[RepeatedAxis::Row(2)], &rows, &[9]).is_err());
        Ok(())
    }
}
