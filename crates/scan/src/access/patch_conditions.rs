//! Conditions on the columns of the cells of boxes that are computed: they rule out boxes and cells before any component is read.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array};
use arrow_schema::Schema;
use hyperslab_array::{Axis, Cancellation, Result};
use hyperslab_predicate::Predicate;

use super::cost_model::{AXIS_MAX_INDICES, DIMENSION_TEST_INDICES};
use super::dimension_ranges;
use crate::table::composed::Loaded;
use crate::table::elements::Elements;
use crate::table::patch_boxes::PatchBoxes;
use crate::table::patch_rows::{CellTest, Numbers};
use crate::table::patches::{LoadedPatches, PatchValues, center};
use crate::table::segment::{Segment, SegmentColumn, Source};
use crate::table::values::Values;

/// The rows that conditions on computed columns leave.
pub(super) struct PatchRows {
    pub axis: Axis,
    pub boxes: BoxCount,
    /// For each condition, whether it need not be tested row by row.
    pub resolved: Vec<bool>,
}

/// Boxes of a segment: those that have rows, and all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BoxCount {
    pub left: usize,
    pub all: usize,
}

/// Narrows the rows of a segment of boxes by `conjuncts`. `None` if none of them is on its computed columns. What is loaded for
/// columns is added to `loaded`.
pub(super) fn patch_rows(
    segment: &Segment,
    table: &Schema,
    conjuncts: &[&Predicate],
    loaded: &mut Vec<(String, Loaded)>,
    cancellation: &Cancellation,
) -> Result<Option<PatchRows>> {
    let mut conditions = Conditions { segment, table, loaded, cancellation };
    let tests = conjuncts.iter().map(|conjunct| conditions.test(conjunct)).collect::<Result<Vec<CellTest>>>()?;
    if tests.iter().all(|test| matches!(test, CellTest::Unknown)) {
        return Ok(None);
    }
    let known = || loaded.iter().filter_map(|(_, loaded)| loaded.patches.as_ref());
    let Some(boxes) = known().next().map(|patches| patches.boxes.clone()) else { return Ok(None) };
    let cover = known().find_map(|patches| patches.cover.clone());
    let rows = boxes.rows_of(&tests, cover.as_deref())?;
    Ok(Some(PatchRows { axis: rows.axis, boxes: BoxCount { left: rows.boxes, all: boxes.boxes().len() }, resolved: rows.resolved }))
}

struct Conditions<'a> {
    segment: &'a Segment,
    table: &'a Schema,
    loaded: &'a mut Vec<(String, Loaded)>,
    cancellation: &'a Cancellation,
}

impl<'a> Conditions<'a> {
    /// What a condition says of the cells of a box.
    fn test(&mut self, predicate: &Predicate) -> Result<CellTest> {
        let names = predicate.columns();
        let mut only = names.iter();
        let (Some(name), None) = (only.next(), only.next()) else {
            return Ok(match predicate {
                Predicate::And(parts) => CellTest::All(self.tests(parts)?),
                Predicate::Or(parts) => CellTest::Any(self.tests(parts)?),
                _ => CellTest::Unknown,
            });
        };
        let segment = self.segment;
        let Some(column) = segment.column(name) else { return Ok(CellTest::Unknown) };
        let Source::Composed(composed) = &column.source else { return Ok(CellTest::Unknown) };
        let Values::Patches(patched) = composed.as_ref() else { return Ok(CellTest::Unknown) };
        match &patched.what {
            PatchValues::Covered { .. } => {
                let mask = self.evaluate(predicate, column, Arc::new(BooleanArray::from(vec![false, true])))?;
                Ok(match [passes(&mask, 0), passes(&mask, 1)] {
                    [false, true] => self.load(name, composed)?.map_or(CellTest::Unknown, |_| CellTest::Covered(true)),
                    [true, false] => self.load(name, composed)?.map_or(CellTest::Unknown, |_| CellTest::Covered(false)),
                    _ => CellTest::Unknown,
                })
            }
            PatchValues::Box => {
                let Some(loaded) = self.load(name, composed)? else { return Ok(CellTest::Unknown) };
                let all = i64::try_from(loaded.boxes.boxes().len()).unwrap_or(i64::MAX);
                let ranges = if all > 0 { vec![(0, all - 1)] } else { Vec::new() };
                Ok(self.numbers(predicate, column, &ranges, |place| number_of(&loaded.boxes, place))?.map_or(CellTest::Unknown, CellTest::Box))
            }
            PatchValues::Index { axis } => {
                let Some(loaded) = self.load(name, composed)? else { return Ok(CellTest::Unknown) };
                let numbers = self.numbers(predicate, column, &ranges_along(&loaded.boxes, *axis), |index| index)?;
                Ok(numbers.map_or(CellTest::Unknown, |numbers| CellTest::Index(*axis, numbers)))
            }
            PatchValues::Center { axis, origin, spacing } => {
                let Some(loaded) = self.load(name, composed)? else { return Ok(CellTest::Unknown) };
                let numbers = self.numbers(predicate, column, &ranges_along(&loaded.boxes, *axis), |index| center(index, *origin, *spacing))?;
                Ok(numbers.map_or(CellTest::Unknown, |numbers| CellTest::Index(*axis, numbers)))
            }
            _ => Ok(CellTest::Unknown),
        }
    }

    fn tests(&mut self, parts: &[Predicate]) -> Result<Vec<CellTest>> {
        parts.iter().map(|part| self.test(part)).collect()
    }

    /// The boxes of a column, and the cover if it is that. `None` for a column of other boxes than the columns before.
    fn load(&mut self, name: &str, composed: &Values<Elements>) -> Result<Option<LoadedPatches>> {
        if let Some((_, known)) = self.loaded.iter().find(|(known, _)| known == name) {
            return Ok(known.patches.clone());
        }
        let new = composed.load(self.loaded.iter().map(|(_, loaded)| loaded), &self.segment.shape, self.cancellation)?;
        let (first, mine) = (self.loaded.first().and_then(|(_, loaded)| loaded.patches.as_ref()), new.patches.clone());
        let is_other = first.zip(mine.as_ref()).is_some_and(|(first, mine)| !Arc::ptr_eq(&first.boxes, &mine.boxes));
        if is_other {
            return Ok(None);
        }
        self.loaded.push((name.to_owned(), new));
        Ok(mine)
    }

    fn evaluate(&self, predicate: &Predicate, column: &SegmentColumn, values: ArrayRef) -> Result<BooleanArray> {
        dimension_ranges::evaluate(&predicate.bind(self.table)?, &column.field, values)
    }

    /// The numbers among `ranges` whose values, as `value` says, pass. `None` if these are too many to test.
    fn numbers<T: Tested>(&self, predicate: &Predicate, column: &SegmentColumn, ranges: &[(i64, i64)], value: impl Fn(i64) -> T) -> Result<Option<Numbers>> {
        let count = ranges.iter().fold(0u64, |sum, (first, last)| sum.saturating_add(last.abs_diff(*first)).saturating_add(1));
        if count > AXIS_MAX_INDICES {
            return Ok(None);
        }
        let mut kept: Vec<(i64, i64)> = Vec::new();
        for &(first, last) in ranges {
            let mut next = Some(first);
            while let Some(begin) = next.filter(|begin| *begin <= last) {
                self.cancellation.check()?;
                let end = begin.saturating_add_unsigned(DIMENSION_TEST_INDICES - 1).min(last);
                let values = T::array((begin..=end).map(&value).collect());
                let mask = self.evaluate(predicate, column, values)?;
                let mask = if mask.null_count() > 0 { arrow_select::filter::prep_null_mask_filter(&mask) } else { mask };
                for (from, to) in mask.values().set_slices() {
                    kept.push((begin.saturating_add_unsigned(from as u64), begin.saturating_add_unsigned(to as u64 - 1)));
                }
                next = end.checked_add(1);
            }
        }
        Ok(Some(Numbers::of_ranges(kept)))
    }
}

/// A number that conditions test.
trait Tested: Sized {
    fn array(values: Vec<Self>) -> ArrayRef;
}

impl Tested for i64 {
    fn array(values: Vec<Self>) -> ArrayRef {
        Arc::new(Int64Array::from(values))
    }
}

impl Tested for f64 {
    fn array(values: Vec<Self>) -> ArrayRef {
        Arc::new(Float64Array::from(values))
    }
}

/// The number in its file of the box at a place.
fn number_of(boxes: &PatchBoxes, place: i64) -> i64 {
    usize::try_from(place).ok().and_then(|place| boxes.number(place)).map_or(place, u64::cast_signed)
}

fn passes(mask: &BooleanArray, index: usize) -> bool {
    mask.is_valid(index) && mask.value(index)
}

/// The indexes of the cells of all boxes along a direction, as ranges that increase.
fn ranges_along(boxes: &PatchBoxes, axis: usize) -> Vec<(i64, i64)> {
    let mut ranges: Vec<(i64, i64)> = boxes.boxes().iter().filter_map(|patch| Some((*patch.low.get(axis)?, *patch.high.get(axis)?))).collect();
    ranges.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::new();
    for (low, high) in ranges {
        match joined.last_mut() {
            Some((_, end)) if end.checked_add(1).is_none_or(|next| next >= low) => *end = high.max(*end),
            _ => joined.push((low, high)),
        }
    }
    joined
}
