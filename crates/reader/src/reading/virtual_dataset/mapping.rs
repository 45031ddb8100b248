//! Mapping: which selected elements a part of a virtual dataset holds, where they are in its source, and where they go in
//! the output. The elements of the two selections correspond in row-major order, whatever their shapes.

use hyperslab_array::{Axis, Error, HyperslabAxis, Result, Selection, StoredSelection};

use super::order::{Order, Run, lengths, order};
use super::source_part::SourcePart;

/// A box of a source that is read for only some of its elements has at most this many elements, or at most this many times
/// the number of wanted ones.
const BOX_ELEMENTS: u64 = 1 << 22;
const BOX_FACTOR: u64 = 4;

/// The selected elements that a part holds.
pub(super) struct TargetElements<'a> {
    part: &'a SourcePart,
    kind: Kind,
}

enum Kind {
    /// For a target that is a hyperslab: for each dimension the position in the output and the ordinal along the dimension.
    Axes { lengths: Vec<u64>, shared: Vec<Vec<(u64, u64)>> },
    /// Runs of elements in the order of the target, which has `total` elements.
    Runs { total: u64, runs: Vec<Run> },
}

/// A selection to read from the source at once, and where its values go.
pub(super) struct Wanted {
    pub selection: Selection,
    /// Runs by their ordinals among the values read; `None` if all values go to the target elements in order.
    runs: Option<Vec<Run>>,
}

/// The elements of `selection` that `part` holds; `None` if there are none.
pub(super) fn places<'a>(part: &'a SourcePart, selection: &Selection) -> Result<Option<TargetElements<'a>>> {
    let kind = match &part.target {
        StoredSelection::Hyperslab(axes) => {
            if axes.len() != selection.axes().len() {
                return Err(Error::corrupt("a virtual mapping of another number of dimensions"));
            }
            let shared: Vec<_> = axes.iter().zip(selection.axes()).map(|(axis, wanted)| axis.shared_with(wanted)).collect();
            if shared.iter().any(Vec::is_empty) {
                return Ok(None);
            }
            Kind::Axes { lengths: lengths(axes)?, shared }
        }
        target if !may_share(target, selection) => return Ok(None),
        target => {
            let target = order(target, &[])?;
            let runs = target.shared(selection)?;
            if runs.is_empty() {
                return Ok(None);
            }
            Kind::Runs { total: target.total()?, runs }
        }
    };
    Ok(Some(TargetElements { part, kind }))
}

/// Whether a box of the target may intersect the selection; checked without listing elements.
fn may_share(target: &StoredSelection, selection: &Selection) -> bool {
    let StoredSelection::Blocks(blocks) = target else { return true };
    blocks.iter().any(|(first, last)| {
        let bounds = first.iter().zip(last).zip(selection.axes());
        bounds.into_iter().all(|((first, last), axis)| axis.positions_within(*first, last.saturating_add(1)).1 > 0)
    })
}

/// The selected indexes of each source dimension, if the dimensions of more than one element correspond to the
/// target's in order.
fn by_axes(source: &[HyperslabAxis], lengths: &[u64], shared: &[Vec<(u64, u64)>]) -> Option<Vec<Axis>> {
    let mut long = lengths.iter().zip(shared).filter(|(length, _)| **length != 1);
    let mut wanted = Vec::with_capacity(source.len());
    for axis in source {
        if axis.len() == Some(1) {
            wanted.push(Axis::range(axis.start, axis.start.saturating_add(1)));
            continue;
        }
        let (_, shared) = long.next().filter(|(length, _)| axis.len() == Some(**length))?;
        wanted.push(increasing(shared.iter().map(|(_, ordinal)| axis.index(*ordinal)).collect()));
    }
    long.next().is_none().then_some(wanted)
}

impl TargetElements<'_> {
    /// What to read from a source of `shape`; `selection` is the one given to [`places`].
    pub fn of_source(&self, selection: &Selection, shape: &[u64]) -> Result<Vec<Wanted>> {
        let source = order(&self.part.source, shape)?;
        if let (Kind::Axes { lengths, shared }, Order::Axes(axes)) = (&self.kind, &source)
            && let Some(wanted) = by_axes(axes, lengths, shared)
        {
            return Ok(vec![Wanted { selection: inside(wanted, shape)?, runs: None }]);
        }
        let (total, runs) = match &self.kind {
            Kind::Runs { total, runs } => (*total, runs.clone()),
            Kind::Axes { .. } => {
                let target = order(&self.part.target, &[])?;
                (target.total()?, target.shared(selection)?)
            }
        };
        if source.total()? != total {
            return Err(Error::corrupt(format!("a virtual mapping of {total} elements onto {} of its source", source.total()?)));
        }
        // The location of each run in the source, in the order of the source.
        let mut pieces: Vec<(Vec<u64>, u64, u64)> = Vec::new();
        for run in &runs {
            let mut position = run.position;
            source.locate(run.number, run.count, &mut |coordinates, count| {
                if coordinates.len() != shape.len() {
                    return Err(Error::corrupt("a virtual mapping of another number of dimensions"));
                }
                pieces.push((coordinates.to_vec(), position, count));
                position += count;
                Ok(())
            })?;
        }
        pieces.sort_unstable();
        boxes(&pieces, shape)
    }

    /// Copies values read from the source to their places in `out`, which has `shape` elements of `size` bytes.
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
        match (&self.kind, &wanted.runs) {
            (_, Some(runs)) => runs.iter().try_for_each(|run| place(run.position, run.number, run.count)),
            (Kind::Axes { shared, .. }, None) => {
                let mut number = 0;
                rows(shared, shape, 0, &mut |position, count| {
                    place(position, number, count)?;
                    number += count;
                    Ok(())
                })
            }
            (Kind::Runs { .. }, None) => Err(Error::internal("runs of elements without numbers")),
        }
    }
}

/// Boxes of a source of `shape` that cover these pieces (coordinates of the first element, position in the output, count
/// along the last dimension), which are in the source's order. A box grows while it is small or mostly wanted.
fn boxes(pieces: &[(Vec<u64>, u64, u64)], shape: &[u64]) -> Result<Vec<Wanted>> {
    let no_piece = || Error::internal("a box without pieces of its source");
    let mut found = Vec::new();
    let mut begin = 0;
    let mut bounds: Vec<(u64, u64)> = Vec::new();
    let mut elements = 0u64;
    for (place, (coordinates, _, count)) in pieces.iter().enumerate() {
        let dimensions = coordinates.len();
        let own = coordinates.iter().enumerate().map(|(dimension, &first)| {
            let length = if dimension + 1 == dimensions { *count } else { 1 };
            (first, first.saturating_add(length))
        });
        let grown: Vec<(u64, u64)> = match bounds.is_empty() {
            true => own.clone().collect(),
            false => bounds.iter().zip(own.clone()).map(|(bound, own)| (bound.0.min(own.0), bound.1.max(own.1))).collect(),
        };
        let volume = grown.iter().fold(1u64, |n, (first, end)| n.saturating_mul(end - first));
        if place > begin && volume > BOX_ELEMENTS.max(BOX_FACTOR.saturating_mul(elements.saturating_add(*count))) {
            found.push(one_box(pieces.get(begin..place).ok_or_else(no_piece)?, &bounds, shape)?);
            (begin, elements, bounds) = (place, 0, own.collect());
        } else {
            bounds = grown;
        }
        elements = elements.saturating_add(*count);
    }
    found.push(one_box(pieces.get(begin..).ok_or_else(no_piece)?, &bounds, shape)?);
    Ok(found)
}

fn one_box(pieces: &[(Vec<u64>, u64, u64)], bounds: &[(u64, u64)], shape: &[u64]) -> Result<Wanted> {
    let selection = inside(bounds.iter().map(|(first, end)| Axis::range(*first, *end)).collect(), shape)?;
    let runs = pieces.iter().map(|(coordinates, position, count)| {
        let along = coordinates.iter().zip(bounds);
        let number = along.fold(0, |number, (index, (first, end))| number * (end - first) + (index - first));
        Run { position: *position, number, count: *count }
    });
    Ok(Wanted { runs: Some(runs.collect()), selection })
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

fn inside(axes: Vec<Axis>, shape: &[u64]) -> Result<Selection> {
    Selection::new(axes, shape).map_err(|error| Error::corrupt(format!("a virtual mapping that its source does not hold: {}", error.message())))
}

fn increasing(indexes: Vec<u64>) -> Axis {
    match indexes.as_slice() {
        [first, .., last] if last - first + 1 == indexes.len() as u64 => Axis::range(*first, last + 1),
        _ => Axis::Indices(indexes),
    }
}
