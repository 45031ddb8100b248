//! Subarray: a part of an array in brackets after its name, with numpy's meaning.

use hyperslab_array::{Error, Result};
use hyperslab_scan::DimensionMapping;

/// The expression in brackets, with one entry for each of the first dimensions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Subarray(Vec<Part>);

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Index(i128),
    Slice { start: Option<i128>, end: Option<i128>, step: u64 },
}

impl Subarray {
    /// Parses an expression such as `[0:100,:,3]`.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |what: &str| Error::invalid_input(format!("the part {text} of an array: {what}; write for example [0:100,:,3]"));
        let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).ok_or_else(|| wrong("brackets are missing"))?;
        let number = |digits: &str| digits.trim().parse::<i64>().map(i128::from).map_err(|_| wrong(&format!("{digits:?} is not an index")));
        let optional = |digits: Option<&&str>| match digits.map(|digits| digits.trim()) {
            None | Some("") => Ok(None),
            Some(digits) => number(digits).map(Some),
        };
        let parts = inner.split(',').map(|part| {
            let bounds: Vec<&str> = part.split(':').collect();
            Ok(match bounds.as_slice() {
                [index] => Part::Index(number(index)?),
                [_, _] | [_, _, _] => {
                    let step = optional(bounds.get(2))?.unwrap_or(1);
                    let step = u64::try_from(step).ok().filter(|step| *step > 0).ok_or_else(|| wrong("a step is 1 or more"))?;
                    Part::Slice { start: optional(bounds.first())?, end: optional(bounds.get(1))?, step }
                }
                _ => return Err(wrong("a slice has at most two colons")),
            })
        });
        Ok(Self(parts.collect::<Result<_>>()?))
    }

    /// Maps rows to the elements of an array of `shape`; also returns the shape of the rows. Dimensions that are not given
    /// are selected whole, negative indexes count from the end, slices are clipped to the extent.
    pub fn resolve(&self, shape: &[u64]) -> Result<(Vec<DimensionMapping>, Vec<u64>)> {
        if self.0.len() > shape.len() {
            return Err(Error::invalid_input(format!("a part of {} dimensions of an array of shape {shape:?}", self.0.len())));
        }
        let whole = Part::Slice { start: None, end: None, step: 1 };
        let mut rows = Vec::new();
        let mut dimensions = Vec::with_capacity(shape.len());
        for (axis, &extent) in shape.iter().enumerate() {
            let from_end = |index: i128| if index < 0 { index + i128::from(extent) } else { index };
            match self.0.get(axis).unwrap_or(&whole) {
                Part::Index(index) => {
                    let found = u64::try_from(from_end(*index)).ok().filter(|index| *index < extent);
                    let message = || Error::invalid_input(format!("index {index} is out of range for a dimension of extent {extent}"));
                    dimensions.push(DimensionMapping::Fixed(found.ok_or_else(message)?));
                }
                Part::Slice { start, end, step } => {
                    let clipped = |index: Option<i128>, otherwise: u64| match index {
                        None => otherwise,
                        Some(index) => u64::try_from(from_end(index).clamp(0, extent.into())).unwrap_or(0),
                    };
                    let (start, end) = (clipped(*start, 0), clipped(*end, extent));
                    rows.push(end.saturating_sub(start).div_ceil(*step));
                    dimensions.push(DimensionMapping::Rows { start, step: *step });
                }
            }
        }
        Ok((dimensions, rows))
    }
}

/// Splits a name into the array's name and the subarray in brackets.
pub(super) fn split_subarray(name: &str) -> Option<(&str, &str)> {
    let open = name.rfind('[').filter(|_| name.ends_with(']'))?;
    Some((name.get(..open)?, name.get(open..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_mean_what_they_mean_in_numpy() -> Result<()> {
        let place = |text: &str, shape: &[u64]| Subarray::parse(text)?.resolve(shape);
        let rows = |start, step| DimensionMapping::Rows { start, step };
        assert_eq!(place("[0:100,:,3]", &[50, 4, 9])?, (vec![rows(0, 1), rows(0, 1), DimensionMapping::Fixed(3)], vec![50, 4]));
        assert_eq!(place("[-3:]", &[10, 2])?, (vec![rows(7, 1), rows(0, 1)], vec![3, 2]));
        assert_eq!(place("[1:8:3,-1]", &[10, 2])?, (vec![rows(1, 3), DimensionMapping::Fixed(1)], vec![3]));
        assert_eq!(place("[5:2]", &[10])?.1, [0]);
        for (wrong, shape) in [("[10]", vec![10]), ("[0,0]", vec![10]), ("[::0]", vec![10]), ("[a]", vec![1]), ("[1:2:3:4]", vec![9]), ("[-11]", vec![10])] {
            assert!(place(wrong, &shape).is_err(), "{wrong}");
        }
        Ok(())
    }
}
