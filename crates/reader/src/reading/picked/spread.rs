//! Spread: puts values that were read in increasing order into the places that lists of indexes ask for.

use std::ops::Range;

use hyperslab_array::{Cancellation, Error, Result, Selection};
use rayon::prelude::*;

/// Bytes of the result that are filled between two looks at the cancellation.
const PART_BYTES: usize = 1 << 20;

/// Where the values of a selection go in a result.
pub(super) struct Spread<'a> {
    /// The first dimension in which the result has several positions.
    cut: usize,
    /// From `cut` on, without later ones that are copied whole.
    dimensions: Vec<Dimension<'a>>,
    /// Bytes that are copied at once.
    run: usize,
}

/// A dimension of the values and of the result.
struct Dimension<'a> {
    /// For each position in the result that in the selection, unless they are the same.
    places: Option<&'a [u64]>,
    /// Bytes of one position in the values and in the result.
    value_bytes: usize,
    result_bytes: usize,
}

impl Dimension<'_> {
    /// Where the values of a position in the result are, in units of positions.
    fn place(&self, position: usize) -> Option<usize> {
        self.places.map_or(Some(position), |places| places.get(position).and_then(|place| usize::try_from(*place).ok()))
    }
}

impl<'a> Spread<'a> {
    /// Spreads elements of `size` bytes. `places` has for each dimension the position in the selection of each position in the
    /// result, unless they are the same.
    ///
    /// # Errors
    /// `Internal` if the sizes exceed memory.
    pub fn new(selection: &Selection, places: &'a [Option<Vec<u64>>], size: usize) -> Result<Self> {
        let too_large = || Error::internal("the values of a list of indexes exceed memory");
        let (mut value_bytes, mut result_bytes, mut cut) = (size, size, 0);
        let mut dimensions = Vec::with_capacity(places.len());
        for (index, (axis, places)) in selection.axes().iter().zip(places).enumerate().rev() {
            let count = usize::try_from(axis.count()).map_err(|_| too_large())?;
            let positions = places.as_ref().map_or(count, Vec::len);
            cut = if positions > 1 { index } else { cut };
            dimensions.push(Dimension { places: places.as_deref(), value_bytes, result_bytes });
            value_bytes = value_bytes.checked_mul(count).ok_or_else(too_large)?;
            result_bytes = result_bytes.checked_mul(positions).ok_or_else(too_large)?;
        }
        // Each dimension before the cut has one position, in the values and in the result.
        let mut dimensions: Vec<Dimension<'a>> = dimensions.into_iter().rev().skip(cut).collect();
        let mut run = size;
        while let [_, .., last] = dimensions.as_slice()
            && last.places.is_none()
        {
            dimensions.pop();
            run = dimensions.last().map_or(run, |last| last.value_bytes);
        }
        Ok(Self { cut, dimensions, run })
    }

    /// The first dimension in which the result has several positions.
    pub fn cut(&self) -> usize {
        self.cut
    }

    /// Puts the values of the positions `slab` of the selection's dimension [`Spread::cut`] into a part of the result, which
    /// begins at position `first` of that dimension. The other positions are left alone.
    ///
    /// # Errors
    /// `Internal` if the values are fewer than the places say.
    pub fn put(&self, values: &[u8], slab: &Range<u64>, first: usize, out: &mut [u8]) -> Result<()> {
        let fewer = || Error::internal("a list of indexes asks for values that were not read");
        let slab = usize::try_from(slab.start).map_err(|_| fewer())?..usize::try_from(slab.end).map_err(|_| fewer())?;
        rows(values, out, &self.dimensions, self.run, (first, slab)).ok_or_else(fewer)
    }

    /// Like [`Spread::put`] into the whole result, on the threads of the pool that it runs in.
    ///
    /// # Errors
    /// As [`Spread::put`]; `Cancelled`.
    pub fn put_in_parallel(&self, values: &[u8], slab: &Range<u64>, out: &mut [u8], cancellation: &Cancellation) -> Result<()> {
        let row = self.dimensions.first().map_or(1, |dimension| dimension.result_bytes.max(1));
        let rows = (PART_BYTES / row).max(1);
        out.par_chunks_mut(rows.saturating_mul(row)).enumerate().try_for_each(|(part, out)| {
            cancellation.check()?;
            self.put(values, slab, part * rows, out)
        })
    }
}

/// Fills the rows of `out` along the first of the dimensions, which are its positions from `first` on, from the rows of `values`, which
/// are the positions `slab` of the selection. Rows from other positions are left alone.
fn rows(values: &[u8], out: &mut [u8], dimensions: &[Dimension<'_>], run: usize, (first, slab): (usize, Range<usize>)) -> Option<()> {
    let (dimension, deeper) = dimensions.split_first()?;
    let place = |position: usize| dimension.place(first.checked_add(position)?);
    if deeper.is_empty() {
        return match run {
            1 => elements::<1>(values, out, place, slab),
            2 => elements::<2>(values, out, place, slab),
            4 => elements::<4>(values, out, place, slab),
            8 => elements::<8>(values, out, place, slab),
            16 => elements::<16>(values, out, place, slab),
            _ => runs(values, out, run, place, slab),
        };
    }
    for (position, row) in out.chunks_exact_mut(dimension.result_bytes.max(1)).enumerate() {
        let place = place(position)?;
        if slab.contains(&place) {
            let start = (place - slab.start).checked_mul(dimension.value_bytes)?;
            let values = values.get(start..start.checked_add(dimension.value_bytes)?)?;
            rows(values, row, deeper, run, (0, 0..usize::MAX))?;
        }
    }
    Some(())
}

/// Runs of any length.
fn runs(values: &[u8], out: &mut [u8], run: usize, place: impl Fn(usize) -> Option<usize>, slab: Range<usize>) -> Option<()> {
    for (position, to) in out.chunks_exact_mut(run.max(1)).enumerate() {
        let place = place(position)?;
        if slab.contains(&place) {
            let start = (place - slab.start).checked_mul(run)?;
            to.copy_from_slice(values.get(start..start.checked_add(run)?)?);
        }
    }
    Some(())
}

/// Runs of a length that the compiler knows: single elements.
fn elements<const N: usize>(values: &[u8], out: &mut [u8], place: impl Fn(usize) -> Option<usize>, slab: Range<usize>) -> Option<()> {
    let values = values.as_chunks::<N>().0;
    for (position, to) in out.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        let place = place(position)?;
        if slab.contains(&place) {
            *to = *values.get(place - slab.start)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperslab_array::Axis;
    use proptest::prelude::*;

    /// For each dimension its extent in the values, and the places of the result's positions.
    fn cases() -> impl Strategy<Value = Vec<(usize, Option<Vec<u64>>)>> {
        let dimension = (1usize..6).prop_flat_map(|extent| {
            let places = proptest::collection::vec(0..extent as u64, 2..9);
            (Just(extent), proptest::option::of(places))
        });
        proptest::collection::vec(dimension, 1..5).prop_filter("a list", |dimensions| dimensions.iter().any(|(_, places)| places.is_some()))
    }

    proptest! {
        #[test]
        fn values_come_to_their_places(case in cases(), size in prop_oneof![Just(1usize), Just(2), Just(3), Just(4), Just(8), Just(16), Just(24)], slabs in 1u64..4) {
            let fail = |error: Error| TestCaseError::fail(error.to_string());
            let (extents, places): (Vec<usize>, Vec<_>) = case.into_iter().unzip();
            let shape: Vec<u64> = extents.iter().map(|extent| *extent as u64).collect();
            let selection = Selection::new(shape.iter().map(|extent| Axis::all(*extent)).collect(), &shape).map_err(fail)?;
            let element = |number: usize| (0..size).map(move |byte| (number * 31 + byte * 7) as u8);
            let values: Vec<u8> = (0..extents.iter().product()).flat_map(element).collect();
            // The numbers of the elements that the result has, by nested loops.
            let numbers = extents.iter().zip(&places).fold(vec![0usize], |numbers, (extent, places)| {
                let along: Vec<usize> = places.as_ref().map_or_else(|| (0..*extent).collect(), |places| places.iter().map(|place| *place as usize).collect());
                numbers.iter().flat_map(|number| along.iter().map(move |index| number * extent + index)).collect()
            });
            let expected: Vec<u8> = numbers.into_iter().flat_map(element).collect();
            let spread = Spread::new(&selection, &places, size).map_err(fail)?;
            for parallel in [false, true] {
                let mut out = vec![0xA5; expected.len()];
                let extent = extents[spread.cut()];
                let row = values.len() / extent / extents[..spread.cut()].iter().product::<usize>();
                let step = (extent as u64).div_ceil(slabs);
                for start in (0..extent as u64).step_by(step as usize) {
                    let slab = start..(start + step).min(extent as u64);
                    let part = &values[slab.start as usize * row..slab.end as usize * row];
                    match parallel {
                        true => spread.put_in_parallel(part, &slab, &mut out, &Cancellation::new()).map_err(fail)?,
                        false => spread.put(part, &slab, 0, &mut out).map_err(fail)?,
                    }
                }
                prop_assert_eq!(&out, &expected);
            }
        }
    }

    #[test]
    fn places_beyond_the_values_are_an_error() -> Result<()> {
        let selection = Selection::new(vec![Axis::all(3), Axis::all(2)], &[3, 2])?;
        let places = [None, Some(vec![1, 0])];
        let spread = Spread::new(&selection, &places, 5)?;
        assert!(spread.put(&[0; 20], &(0..3), 0, &mut [0; 30]).is_err());
        assert!(spread.put(&[0; 30], &(0..3), 0, &mut [0; 30]).is_ok());
        Ok(())
    }
}
