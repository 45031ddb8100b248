//! Order: the elements of a stored selection by their ordinals: in row-major order, points in the order of their list.
//! Elements are never listed one by one, except points that the file lists, and rows of a union of boxes.

use hyperslab_array::{Axis, Error, HyperslabAxis, Result, Selection, StoredSelection};

/// Most rows of a union of boxes.
const MAX_ROWS: u64 = 1 << 22;
/// Most runs of elements in one read.
const MAX_RUNS: usize = 1 << 23;

/// Adjacent elements: their position in the output, and the ordinal of the first in the selection's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub position: u64,
    pub number: u64,
    pub count: u64,
}

/// A selection whose elements have ordinals.
#[derive(Debug)]
pub(super) enum Order<'a> {
    Axes(Vec<HyperslabAxis>),
    Points(&'a [Vec<u64>]),
    Rows(Vec<Row>),
}

/// Adjacent elements along the last dimension.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    /// All coordinates but the last.
    before: Vec<u64>,
    first: u64,
    /// One beyond the last.
    end: u64,
    /// The ordinal of the first.
    number: u64,
}

fn too_many(what: &str) -> Error {
    Error::limit_exceeded(format!("a virtual mapping with more than {what}: read it in parts"))
}

/// How many elements each axis selects; the unlimited ones were cut to what their source has.
pub(super) fn lengths(axes: &[HyperslabAxis]) -> Result<Vec<u64>> {
    axes.iter().map(|axis| axis.len().ok_or_else(|| Error::corrupt("a virtual selection that is unlimited in two dimensions"))).collect()
}

/// The order of a selection in a dataset of `shape`.
pub(super) fn order<'a>(selection: &'a StoredSelection, shape: &[u64]) -> Result<Order<'a>> {
    Ok(match selection {
        StoredSelection::None => Order::Points(&[]),
        StoredSelection::All => Order::Axes(shape.iter().map(|&extent| HyperslabAxis::all(extent)).collect()),
        StoredSelection::Points(points) => Order::Points(points),
        StoredSelection::Hyperslab(axes) => Order::Axes(axes.clone()),
        StoredSelection::Blocks(blocks) => Order::Rows(rows(blocks)?),
    })
}

/// The union of boxes as rows in row-major order.
fn rows(blocks: &[(Vec<u64>, Vec<u64>)]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (first, last) in blocks {
        let (Some((start, before)), Some((stop, last))) = (first.split_last(), last.split_last()) else { continue };
        let extents: Vec<u64> = before.iter().zip(last).map(|(first, last)| (last + 1).saturating_sub(*first)).collect();
        let of_block = extents.iter().try_fold(1u64, |n, extent| n.checked_mul(*extent));
        let of_block = of_block.filter(|n| n.saturating_add(rows.len() as u64) <= MAX_ROWS).ok_or_else(|| too_many("4194304 rows of boxes"))?;
        for number in 0..of_block {
            let mut rest = number;
            let mut place = before.to_vec();
            for (index, extent) in place.iter_mut().zip(&extents).rev() {
                *index += rest % extent;
                rest /= extent;
            }
            rows.push(Row { before: place, first: *start, end: stop.saturating_add(1), number: 0 });
        }
    }
    rows.sort_unstable();
    // Boxes may overlap: shared elements count once.
    let mut joined: Vec<Row> = Vec::with_capacity(rows.len());
    for row in rows {
        match joined.last_mut().filter(|last| last.before == row.before && row.first <= last.end) {
            Some(last) => last.end = last.end.max(row.end),
            None => joined.push(row),
        }
    }
    let mut number = 0u64;
    for row in &mut joined {
        row.number = number;
        number = number.checked_add(row.end - row.first).ok_or_else(|| Error::corrupt("a selection beyond 64 bits"))?;
    }
    Ok(joined)
}

impl Order<'_> {
    /// How many elements there are.
    pub fn total(&self) -> Result<u64> {
        let total = match self {
            Self::Axes(axes) => axes.iter().try_fold(1u64, |n, axis| n.checked_mul(axis.len()?)),
            Self::Points(points) => Some(points.len() as u64),
            Self::Rows(rows) => Some(rows.last().map_or(0, |row| row.number + (row.end - row.first))),
        };
        total.ok_or_else(|| Error::corrupt("a virtual mapping beyond 64 bits"))
    }

    /// The elements that are also in `wanted`, in the order of their ordinals.
    pub fn shared(&self, wanted: &Selection) -> Result<Vec<Run>> {
        let mut runs: Vec<Run> = Vec::new();
        let mut add = |position: u64, number: u64, count: u64| {
            if let Some(last) = runs.last_mut().filter(|last| last.position + last.count == position && last.number + last.count == number) {
                last.count += count;
                return Ok(());
            }
            if runs.len() >= MAX_RUNS {
                return Err(too_many("8388608 runs of elements"));
            }
            runs.push(Run { position, number, count });
            Ok(())
        };
        let ndim = wanted.axes().len();
        let other_ndim = || Error::corrupt("a virtual mapping of another number of dimensions");
        match self {
            Self::Axes(axes) => {
                if axes.len() != ndim {
                    return Err(other_ndim());
                }
                let shared: Vec<Vec<(u64, u64)>> = axes.iter().zip(wanted.axes()).map(|(axis, wanted)| axis.shared_with(wanted)).collect();
                let lengths = lengths(axes)?;
                of_axes(&shared, &lengths, &wanted.shape(), (0, 0), &mut add)?;
            }
            Self::Points(points) => {
                for (number, point) in (0..).zip(*points) {
                    if point.len() != ndim {
                        return Err(other_ndim());
                    }
                    if let Some(position) = place(point, wanted.axes()) {
                        add(position, number, 1)?;
                    }
                }
            }
            Self::Rows(rows) => {
                for row in rows {
                    let Some((last, before)) = wanted.axes().split_last().filter(|(_, before)| before.len() == row.before.len()) else {
                        return Err(other_ndim());
                    };
                    let Some(place) = place(&row.before, before) else { continue };
                    let (first, count) = last.positions_within(row.first, row.end);
                    for along in first..first.saturating_add(count) {
                        let index = last.index(along).and_then(|index| index.checked_sub(row.first));
                        let index = index.ok_or_else(|| Error::internal("an index outside of its row"))?;
                        add(place * last.count() + along, row.number + index, 1)?;
                    }
                }
            }
        }
        Ok(runs)
    }

    /// Calls `visit(coordinates of the first, count)` for the elements with these ordinals, in runs along the last dimension.
    pub fn locate(&self, number: u64, count: u64, visit: &mut dyn FnMut(&[u64], u64) -> Result<()>) -> Result<()> {
        let missing = || Error::corrupt("a virtual mapping of more elements than its source has");
        let (mut number, mut left) = (number, count);
        while left > 0 {
            let (coordinates, together) = match self {
                Self::Axes(axes) => {
                    let mut coordinates = vec![0; axes.len()];
                    let (mut rest, mut together) = (number, 1);
                    for (dimension, (place, axis)) in coordinates.iter_mut().zip(axes).enumerate().rev() {
                        let length = axis.len().filter(|length| *length > 0).ok_or_else(missing)?;
                        let ordinal = rest % length;
                        *place = axis.index(ordinal);
                        rest /= length;
                        if dimension + 1 == axes.len() {
                            let of_block = axis.block.filter(|block| *block > 0).map_or(u64::MAX, |block| block - ordinal % block);
                            together = of_block.min(length - ordinal);
                        }
                    }
                    if rest > 0 {
                        return Err(missing());
                    }
                    (coordinates, together)
                }
                Self::Points(points) => {
                    let point = usize::try_from(number).ok().and_then(|number| points.get(number));
                    (point.cloned().ok_or_else(missing)?, 1)
                }
                Self::Rows(rows) => {
                    let after = rows.partition_point(|row| row.number <= number);
                    let row = after.checked_sub(1).and_then(|place| rows.get(place)).ok_or_else(missing)?;
                    let first = row.first + (number - row.number);
                    let together = row.end.checked_sub(first).filter(|together| *together > 0).ok_or_else(missing)?;
                    let mut coordinates = row.before.clone();
                    coordinates.push(first);
                    (coordinates, together)
                }
            };
            let together = together.min(left);
            visit(&coordinates, together)?;
            number += together;
            left -= together;
        }
        Ok(())
    }
}

/// Calls `add(position, ordinal, count)` for each shared run: position in the output, ordinal along the dimension.
fn of_axes(shared: &[Vec<(u64, u64)>], lengths: &[u64], shape: &[u64], at: (u64, u64), add: &mut dyn FnMut(u64, u64, u64) -> Result<()>) -> Result<()> {
    let ((Some((axis, deeper)), Some((length, lengths))), Some((extent, shape))) = ((shared.split_first(), lengths.split_first()), shape.split_first()) else {
        return add(at.0, at.1, 1);
    };
    axis.iter().try_for_each(|(position, ordinal)| of_axes(deeper, lengths, shape, (at.0 * extent + position, at.1 * length + ordinal), add))
}

/// Row-major position of coordinates among those that `axes` want.
fn place(coordinates: &[u64], axes: &[Axis]) -> Option<u64> {
    coordinates.iter().zip(axes).try_fold(0u64, |place, (index, axis)| {
        let (first, count) = axis.positions_within(*index, index.saturating_add(1));
        (count > 0).then_some(place * axis.count() + first)
    })
}
