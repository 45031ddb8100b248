//! The rows of boxes that conditions on their numbers, indexes and centers leave.

use hyperslab_array::{Axis, Error, Result};

use super::patch_boxes::{MAX_DIMENSIONS, PatchBox, PatchBoxes};
use super::patch_cover::{Cover, Covering};

/// Maximum number of runs of rows. Beyond it, whole lines and planes of boxes are rows that are tested one by one.
const MAX_RUNS: u64 = 1 << 20;

/// Numbers, as inclusive ranges that increase and do not touch each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Numbers(Vec<(i64, i64)>);

impl Numbers {
    /// From ranges that increase.
    pub fn of_ranges(ranges: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let mut all: Vec<(i64, i64)> = Vec::new();
        for (first, last) in ranges {
            match all.last_mut() {
                Some((_, end)) if end.checked_add(1).is_none_or(|next| next >= first) => *end = last.max(*end),
                _ => all.push((first, last)),
            }
        }
        Self(all)
    }

    /// Those from `low` to `high`.
    fn within(&self, low: i64, high: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
        let first = self.0.partition_point(|(_, last)| *last < low);
        let ranges = self.0.get(first..).unwrap_or_default().iter().take_while(move |(first, _)| *first <= high);
        ranges.map(move |(first, last)| ((*first).max(low), (*last).min(high)))
    }

    fn has_any(&self, low: i64, high: i64) -> bool {
        self.within(low, high).next().is_some()
    }
}

/// A condition on the cells of boxes.
#[derive(Debug)]
pub(crate) enum CellTest {
    /// The number of the box is one of these.
    Box(Numbers),
    /// The index along a direction is one of these.
    Index(usize, Numbers),
    /// Whether a finer box lies over the cell.
    Covered(bool),
    /// All of these hold.
    All(Vec<CellTest>),
    /// One of these holds.
    Any(Vec<CellTest>),
    /// Only the cells tell.
    Unknown,
}

/// The rows that are left.
#[derive(Debug)]
pub(crate) struct BoxRows {
    pub axis: Axis,
    /// Boxes that have any of the rows.
    pub boxes: usize,
    /// For each test, whether it holds for all rows, so that it need not be tested again.
    pub resolved: Vec<bool>,
}

impl CellTest {
    /// Whether cells of box `number` may pass.
    fn may_hold(&self, number: usize, patch: &PatchBox, cover: Option<&Cover>) -> bool {
        match self {
            Self::Box(numbers) => i64::try_from(number).is_ok_and(|number| numbers.has_any(number, number)),
            Self::Index(axis, numbers) => patch.low.get(*axis).zip(patch.high.get(*axis)).is_none_or(|(low, high)| numbers.has_any(*low, *high)),
            Self::Covered(wanted) => cover.is_none_or(|cover| cover.covering(patch) != if *wanted { Covering::None } else { Covering::All }),
            Self::All(tests) => tests.iter().all(|test| test.may_hold(number, patch, cover)),
            Self::Any(tests) => tests.iter().any(|test| test.may_hold(number, patch, cover)),
            Self::Unknown => true,
        }
    }
}

impl PatchBoxes {
    /// The rows for which `tests` may hold. `cover` is the cover of the next level, if it is known.
    pub(crate) fn rows_of(&self, tests: &[CellTest], cover: Option<&Cover>) -> Result<BoxRows> {
        let (mut runs, mut count, mut is_exact): (Vec<(u64, u64)>, u64, bool) = (Vec::new(), 0, true);
        let mut left = 0;
        // Whether no box that is left is covered in part.
        let mut is_covered_whole = true;
        let asks_cover = tests.iter().any(|test| matches!(test, CellTest::Covered(_)));
        for ((number, patch), (start, end)) in self.boxes().iter().enumerate().zip(self.row_ranges()) {
            if !tests.iter().all(|test| test.may_hold(number, patch, cover)) {
                continue;
            }
            let Some(spans) = spans(tests, patch) else { continue };
            left += 1;
            is_covered_whole &= asks_cover && cover.is_some_and(|cover| cover.covering(patch) != Covering::Some);
            let [nx, ny, nz] = patch.extents().ok_or_else(|| Error::internal("a box beyond 64 bits"))?;
            let [along_i, along_j, along_k] = &spans;
            let is_whole = |spans: &[(u64, u64)], extent: u64| matches!(spans, [(0, count)] if *count == extent);
            let (whole_lines, whole_planes) = (is_whole(along_i, nx), is_whole(along_i, nx) && is_whole(along_j, ny));
            let size = |spans: &[(u64, u64)]| spans.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
            let needed = match (whole_planes, whole_lines) {
                (true, _) => along_k.len() as u64,
                (_, true) => size(along_k).saturating_mul(along_j.len() as u64),
                _ => size(along_k).saturating_mul(size(along_j)).saturating_mul(along_i.len() as u64),
            };
            count = count.saturating_add(needed);
            let lines = Lines { start, nx, ny };
            if whole_planes && is_whole(along_k, nz) {
                runs.push((start, end - start));
            } else if needed > MAX_RUNS || runs.len() as u64 + needed > MAX_RUNS {
                // Rows between the first and the last one.
                is_exact = false;
                let first = |spans: &[(u64, u64)]| spans.first().map_or(0, |(first, _)| *first);
                let last = |spans: &[(u64, u64)]| spans.last().map_or(0, |(first, count)| first + count - 1);
                let (begin, end) = (lines.row(first(along_i), first(along_j), first(along_k)), lines.row(last(along_i), last(along_j), last(along_k)));
                runs.push((begin, end + 1 - begin));
            } else {
                lines.push(&spans, (whole_lines, whole_planes), &mut runs);
            }
        }
        let is_resolved = |test: &CellTest| match test {
            CellTest::Box(_) | CellTest::Index(..) => is_exact,
            CellTest::Covered(_) => is_covered_whole && cover.is_some(),
            CellTest::All(_) | CellTest::Any(_) | CellTest::Unknown => false,
        };
        let resolved = tests.iter().map(is_resolved).collect();
        Ok(BoxRows { axis: Axis::of_runs(runs)?, boxes: left, resolved })
    }
}

/// The cells of a box that pass, as ranges of `(first, count)` along each direction from its lowest cell on. `None` if there are none.
/// Where the cells of a box are in rows: line after line, plane after plane.
struct Lines {
    start: u64,
    nx: u64,
    ny: u64,
}

impl Lines {
    fn row(&self, i: u64, j: u64, k: u64) -> u64 {
        self.start + (k * self.ny + j) * self.nx + i
    }

    /// Adds the rows of the cells in `spans` to `runs`. Whole lines, or whole planes, are runs together.
    fn push(&self, spans: &[Vec<(u64, u64)>; MAX_DIMENSIONS], (whole_lines, whole_planes): (bool, bool), runs: &mut Vec<(u64, u64)>) {
        let [along_i, along_j, along_k] = spans;
        for &(k, planes) in along_k {
            if whole_planes {
                runs.push((self.row(0, 0, k), planes * self.ny * self.nx));
                continue;
            }
            for k in k..k + planes {
                for &(j, lines) in along_j {
                    if whole_lines {
                        runs.push((self.row(0, j, k), lines * self.nx));
                        continue;
                    }
                    for j in j..j + lines {
                        runs.extend(along_i.iter().map(|(i, cells)| (self.row(*i, j, k), *cells)));
                    }
                }
            }
        }
    }
}

fn spans(tests: &[CellTest], patch: &PatchBox) -> Option<[Vec<(u64, u64)>; MAX_DIMENSIONS]> {
    let mut spans = [const { Vec::new() }; MAX_DIMENSIONS];
    for (axis, (slot, (low, high))) in spans.iter_mut().zip(patch.low.into_iter().zip(patch.high)).enumerate() {
        let mut left = vec![(low, high)];
        for test in tests {
            if let CellTest::Index(along, numbers) = test
                && *along == axis
            {
                left = left.into_iter().flat_map(|(low, high)| numbers.within(low, high)).collect();
            }
        }
        *slot = left.into_iter().map(|(first, last)| (first.abs_diff(low), last.abs_diff(first) + 1)).collect();
        if slot.is_empty() {
            return None;
        }
    }
    Some(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(low: [i64; 3], high: [i64; 3]) -> PatchBox {
        PatchBox { low, high }
    }

    #[test]
    fn rows_are_those_of_the_cells_that_pass_one_by_one() -> Result<()> {
        let list = vec![patch([-3, 0, 0], [2, 3, 2]), patch([3, 0, 0], [9, 3, 2]), patch([-3, 4, -2], [4, 5, 0])];
        let boxes = PatchBoxes::new(list.clone())?;
        let numbers = |ranges: &[(i64, i64)]| Numbers::of_ranges(ranges.iter().copied());
        let sets = [vec![(-3, 9)], vec![(-2, 0), (2, 3)], vec![(0, 0)], vec![(2, 2), (4, 4), (6, 8)], vec![], vec![(100, 200)]];
        for (a, b, c) in (0..216).map(|n| (n % 6, n / 6 % 6, n / 36)) {
            let tests: Vec<CellTest> = [a, b, c].iter().enumerate().map(|(axis, set)| CellTest::Index(axis, numbers(&sets[*set]))).collect();
            let mut expected = Vec::new();
            let mut row = 0;
            for one in &list {
                for k in one.low[2]..=one.high[2] {
                    for j in one.low[1]..=one.high[1] {
                        for i in one.low[0]..=one.high[0] {
                            let passes = [i, j, k].iter().zip([a, b, c]).all(|(index, set)| sets[set].iter().any(|(low, high)| (low..=high).contains(&index)));
                            expected.extend(passes.then_some(row));
                            row += 1;
                        }
                    }
                }
            }
            let found = boxes.rows_of(&tests, None)?;
            assert_eq!(found.axis.indexes().collect::<Vec<_>>(), expected, "{a} {b} {c}");
            assert!(found.resolved.iter().all(|resolved| *resolved));
        }
        let any = CellTest::Any(vec![CellTest::Index(0, numbers(&[(9, 9)])), CellTest::All(vec![CellTest::Box(numbers(&[(2, 2)])), CellTest::Unknown])]);
        let found = boxes.rows_of(&[any], None)?;
        assert_eq!((found.boxes, found.resolved, found.axis), (2, vec![false], Axis::range(72, 72 + 84 + 48)));
        Ok(())
    }

    #[test]
    fn a_box_with_more_runs_than_allowed_is_tested_row_by_row() -> Result<()> {
        let boxes = PatchBoxes::new(vec![patch([0, 0, 0], [9, 1 << 20, 1 << 20]), patch([0, 0, 0], [0, 0, 0])])?;
        let found = boxes.rows_of(&[CellTest::Index(0, Numbers::of_ranges([(3, 4)]))], None)?;
        assert_eq!((found.boxes, found.resolved), (1, vec![false]));
        assert_eq!(found.axis, Axis::range(3, boxes.cells() - 1 - 5));
        Ok(())
    }
}
