//! Mapping: which wanted elements a part of a virtual dataset holds, where they are in its source,
//! and where they go.

use hyperslab_array::{Axis, Error, HyperslabAxis, Result, Selection, StoredSelection};

use super::part::Part;

/// Elements of a selection that are counted one by one, at most.
const MOST_COUNTED: u64 = 1 << 26;

/// The wanted elements that a part holds.
pub(super) struct Places<'a> {
    source: &'a StoredSelection,
    kind: Kind,
}

enum Kind {
    /// For each dimension: position in the output, and number of the element along the dimension.
    Axes { lengths: Vec<u64>, shared: Vec<Vec<(u64, u64)>> },
    /// For each element: position in the output, and number in the selection's order.
    Counted { total: u64, elements: Vec<(u64, u64)> },
}

/// What to read of the source, and which of the values read belongs to which place.
pub(super) struct Wanted {
    pub selection: Selection,
    /// For counted elements, their numbers among the values read.
    numbers: Option<Vec<u64>>,
}

/// What `part` holds of `selection`; `None` where it is nothing.
pub(super) fn places<'a>(part: &'a Part, selection: &Selection) -> Result<Option<Places<'a>>> {
    let kind = match &part.target {
        StoredSelection::Hyperslab(axes) if maps_by_axes(&part.source, axes) => {
            if axes.len() != selection.axes().len() {
                return Err(Error::corrupt("a virtual mapping of another number of dimensions"));
            }
            let shared: Vec<_> = axes.iter().zip(selection.axes()).map(|(axis, wanted)| axis.shared_with(wanted)).collect();
            if shared.iter().any(Vec::is_empty) {
                return Ok(None);
            }
            Kind::Axes { lengths: axes.iter().map(|axis| axis.len().unwrap_or(0)).collect(), shared }
        }
        target => {
            let shape = selection.shape();
            let mut elements = Vec::new();
            let total = each(target, &mut |number, coordinates| {
                let mut position = 0u64;
                for ((&index, axis), &extent) in coordinates.iter().zip(selection.axes()).zip(&shape) {
                    let (first, count) = axis.positions_within(index, index.saturating_add(1));
                    if count == 0 {
                        return;
                    }
                    position = position * extent + first;
                }
                elements.push((position, number));
            })?;
            if elements.is_empty() {
                return Ok(None);
            }
            Kind::Counted { total, elements }
        }
    };
    Ok(Some(Places { source: &part.source, kind }))
}

/// Whether both selections are regular and their dimensions of more than one element match in order.
fn maps_by_axes(source: &StoredSelection, target: &[HyperslabAxis]) -> bool {
    match source {
        StoredSelection::All => true,
        StoredSelection::Hyperslab(source) => {
            let long = |axes: &[HyperslabAxis]| axes.iter().filter_map(HyperslabAxis::len).filter(|len| *len != 1).collect::<Vec<_>>();
            long(source) == long(target)
        }
        _ => false,
    }
}

impl Places<'_> {
    /// What to read of a source of `shape`.
    pub fn of_source(&self, shape: &[u64]) -> Result<Wanted> {
        let whole: Vec<HyperslabAxis> = shape.iter().map(|&extent| HyperslabAxis::all(extent)).collect();
        let source = match self.source {
            StoredSelection::All => StoredSelection::Hyperslab(whole),
            source => source.clone(),
        };
        match (&self.kind, &source) {
            (Kind::Axes { lengths, shared }, StoredSelection::Hyperslab(axes)) => {
                let mut long = lengths.iter().zip(shared).filter(|(len, _)| **len != 1);
                let mut wanted = Vec::with_capacity(axes.len());
                for axis in axes {
                    if axis.len() == Some(1) {
                        wanted.push(Axis::range(axis.start, axis.start.saturating_add(1)));
                        continue;
                    }
                    let Some((_, shared)) = long.next().filter(|(len, _)| axis.len() == Some(**len)) else {
                        return Err(Error::corrupt(format!(
                            "a virtual mapping of {lengths:?} elements onto a source of shape {shape:?}"
                        )));
                    };
                    wanted.push(increasing(shared.iter().map(|(_, ordinal)| axis.index(*ordinal)).collect()));
                }
                if long.next().is_some() {
                    return Err(Error::corrupt(format!(
                        "a virtual mapping of {lengths:?} elements onto a source of shape {shape:?}"
                    )));
                }
                Ok(Wanted { selection: inside(wanted, shape)?, numbers: None })
            }
            (Kind::Counted { total, elements }, source) => counted(source, *total, elements, shape),
            _ => Err(Error::internal("a virtual mapping by axes of no hyperslab")),
        }
    }

    /// Puts the values read of the source at their places in `out`, of `shape` elements of `size` bytes.
    pub fn put(&self, wanted: &Wanted, bytes: &[u8], size: usize, shape: &[u64], out: &mut [u8]) -> Result<()> {
        let mut place = |position: u64, number: u64, count: u64| {
            let range = |first: u64| {
                let start = usize::try_from(first).ok()?.checked_mul(size)?;
                Some(start..start.checked_add(usize::try_from(count).ok()?.checked_mul(size)?)?)
            };
            let (from, to) = (range(number).and_then(|r| bytes.get(r)), range(position).and_then(|r| out.get_mut(r)));
            match (from, to) {
                (Some(from), Some(to)) => {
                    to.copy_from_slice(from);
                    Ok(())
                }
                _ => Err(Error::internal("a virtual mapping beyond its values")),
            }
        };
        match (&self.kind, &wanted.numbers) {
            (Kind::Axes { shared, .. }, _) => {
                let mut number = 0;
                rows(shared, shape, 0, &mut |position, count| {
                    place(position, number, count)?;
                    number += count;
                    Ok(())
                })
            }
            (Kind::Counted { elements, .. }, Some(numbers)) => {
                elements.iter().zip(numbers).try_for_each(|((position, _), number)| place(*position, *number, 1))
            }
            (Kind::Counted { .. }, None) => Err(Error::internal("counted elements without numbers")),
        }
    }
}

/// Calls `visit(first position, count)` for the runs of positions in row-major order.
fn rows(shared: &[Vec<(u64, u64)>], shape: &[u64], row: u64, visit: &mut dyn FnMut(u64, u64) -> Result<()>) -> Result<()> {
    let (Some((axis, deeper)), Some((extent, rest))) = (shared.split_first(), shape.split_first()) else {
        return visit(row, 1);
    };
    let row = row * extent;
    if deeper.is_empty() {
        let adjacent = |a: &(u64, u64), b: &(u64, u64)| b.0 == a.0 + 1;
        return axis.chunk_by(adjacent).try_for_each(|run| match run.first() {
            Some((position, _)) => visit(row + position, run.len() as u64),
            None => Ok(()),
        });
    }
    axis.iter().try_for_each(|(position, _)| rows(deeper, rest, row + position, visit))
}

fn counted(source: &StoredSelection, total: u64, elements: &[(u64, u64)], shape: &[u64]) -> Result<Wanted> {
    // The elements' coordinates in the source, then the smallest box that holds them all.
    let mut by_number: Vec<Option<Vec<u64>>> = vec![None; usize::try_from(total).map_err(|_| Error::limit_exceeded("a selection beyond memory"))?];
    let there = each(source, &mut |number, coordinates| {
        if let Some(place) = usize::try_from(number).ok().and_then(|n| by_number.get_mut(n)) {
            *place = Some(coordinates.to_vec());
        }
    })?;
    if there != total {
        return Err(Error::corrupt(format!("a virtual mapping of {there} elements onto {total}")));
    }
    let coordinates = elements.iter().map(|(_, number)| {
        let found = usize::try_from(*number).ok().and_then(|n| by_number.get(n)).and_then(Option::as_ref);
        found.filter(|c| c.len() == shape.len()).ok_or_else(|| Error::corrupt("a virtual mapping of another number of dimensions"))
    });
    let coordinates: Vec<&Vec<u64>> = coordinates.collect::<Result<_>>()?;
    let bounds = (0..shape.len()).map(|dimension| {
        let along = || coordinates.iter().filter_map(|c| c.get(dimension).copied());
        let (first, last) = (along().min().unwrap_or(0), along().max().unwrap_or(0));
        Axis::range(first, last.saturating_add(1))
    });
    let selection = inside(bounds.collect(), shape)?;
    let numbers = coordinates.iter().map(|coordinates| {
        let along = coordinates.iter().zip(selection.axes());
        along.fold(0, |number, (index, axis)| number * axis.count() + axis.positions_within(*index, index + 1).0)
    });
    let numbers = numbers.collect();
    Ok(Wanted { selection, numbers: Some(numbers) })
}

fn inside(axes: Vec<Axis>, shape: &[u64]) -> Result<Selection> {
    Selection::new(axes, shape).map_err(|error| Error::corrupt(format!("a virtual mapping that its source does not hold: {}", error.message())))
}

fn increasing(indexes: Vec<u64>) -> Axis {
    match indexes.as_slice() {
        [first, .., last] if last - first + 1 == indexes.len() as u64 => Axis::range(*first, last + 1),
        _ => Axis::Indices(indexes),
    }
}

/// Calls `visit(number, coordinates)` for each element in the selection's order; gives how many there are.
fn each(selection: &StoredSelection, visit: &mut dyn FnMut(u64, &[u64])) -> Result<u64> {
    let too_many = || Error::limit_exceeded(format!("a selection of more than {MOST_COUNTED} elements that is no plain hyperslab"));
    match selection {
        StoredSelection::None => Ok(0),
        StoredSelection::All => Err(Error::internal("all of an unknown extent")),
        StoredSelection::Points(points) => {
            points.iter().zip(0..).for_each(|(point, number)| visit(number, point));
            Ok(points.len() as u64)
        }
        StoredSelection::Hyperslab(axes) => {
            let count = axes.iter().try_fold(1u64, |n, axis| n.checked_mul(axis.len()?));
            let count = count.filter(|n| *n <= MOST_COUNTED).ok_or_else(too_many)?;
            let mut coordinates = vec![0; axes.len()];
            for number in 0..count {
                let mut rest = number;
                for (place, axis) in coordinates.iter_mut().zip(axes).rev() {
                    let len = axis.len().unwrap_or(1).max(1);
                    *place = axis.index(rest % len);
                    rest /= len;
                }
                visit(number, &coordinates);
            }
            Ok(count)
        }
        StoredSelection::Blocks(blocks) => {
            // The union in row-major order, whatever the order of the blocks.
            let volume = |(first, last): &(Vec<u64>, Vec<u64>)| {
                first.iter().zip(last).try_fold(1u64, |n, (first, last)| n.checked_mul(last - first + 1))
            };
            let count = blocks.iter().try_fold(0u64, |n, block| n.checked_add(volume(block)?));
            count.filter(|n| *n <= MOST_COUNTED).ok_or_else(too_many)?;
            let mut all = std::collections::BTreeSet::new();
            for block in blocks {
                let axes = block.0.iter().zip(&block.1).map(|(first, last)| HyperslabAxis::block(*first, last - first + 1));
                each(&StoredSelection::Hyperslab(axes.collect()), &mut |_, coordinates| {
                    all.insert(coordinates.to_vec());
                })?;
            }
            all.iter().zip(0..).for_each(|(coordinates, number)| visit(number, coordinates));
            Ok(all.len() as u64)
        }
    }
}
