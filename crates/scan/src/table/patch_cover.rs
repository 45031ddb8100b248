//! Which cells of a level lie below boxes of the next one: a tree of boxes.

use super::patch_boxes::{MAX_DIMENSIONS, PatchBox, PatchBoxes};

/// Boxes of a leaf.
const LEAF: usize = 8;

/// Boxes as a tree: each node bounds those below it, and has half of its parent's.
#[derive(Debug)]
pub(crate) struct Cover {
    boxes: Vec<PatchBox>,
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    bounds: PatchBox,
    /// Boxes of a leaf; of other nodes nothing.
    first: usize,
    count: usize,
    /// The second node below; the first follows its parent.
    second: usize,
}

impl Cover {
    /// The boxes of the next level in cells of this one, which have `ratio` cells of the next level along each direction.
    pub fn new(finer: &[PatchBox], ratio: [u64; MAX_DIMENSIONS]) -> Self {
        let ratio = ratio.map(|ratio| i64::try_from(ratio).unwrap_or(i64::MAX).max(1));
        let coarse = |corner: [i64; MAX_DIMENSIONS]| {
            let [i, j, k] = corner;
            let [along_i, along_j, along_k] = ratio;
            [i.div_euclid(along_i), j.div_euclid(along_j), k.div_euclid(along_k)]
        };
        let boxes = finer.iter().map(|fine| PatchBox { low: coarse(fine.low), high: coarse(fine.high) }).collect();
        let mut cover = Self { boxes, nodes: Vec::new() };
        cover.build(0, cover.boxes.len());
        cover
    }

    fn build(&mut self, first: usize, end: usize) {
        let Some(part) = self.boxes.get_mut(first..end) else { return };
        let Some(bounds) = part.iter().copied().reduce(union) else { return };
        let place = self.nodes.len();
        self.nodes.push(Node { bounds, first, count: part.len(), second: 0 });
        if part.len() <= LEAF {
            return;
        }
        let extent = |axis: &usize| bounds.high.get(*axis).zip(bounds.low.get(*axis)).map(|(high, low)| i128::from(*high) - i128::from(*low));
        let widest = (0..MAX_DIMENSIONS).max_by_key(extent).unwrap_or(0);
        let half = part.len() / 2;
        part.select_nth_unstable_by_key(half, |patch| {
            patch.low.get(widest).zip(patch.high.get(widest)).map(|(low, high)| i128::from(*low) + i128::from(*high))
        });
        self.build(first, first + half);
        let second = self.nodes.len();
        self.build(first + half, end);
        if let Some(node) = self.nodes.get_mut(place) {
            (node.count, node.second) = (0, second);
        }
    }

    /// Whether at least two of the boxes have cells of `wanted`.
    pub fn meets_several(&self, wanted: &PatchBox) -> bool {
        let (mut pending, mut found) = (vec![0usize], 0);
        while let Some(place) = pending.pop() {
            let Some(node) = self.nodes.get(place).filter(|node| meets(&node.bounds, wanted)) else { continue };
            match node.count {
                0 => pending.extend([node.second, place + 1]),
                count => found += self.boxes.get(node.first..node.first + count).unwrap_or_default().iter().filter(|patch| meets(patch, wanted)).count(),
            }
            if found > 1 {
                return true;
            }
        }
        false
    }

    /// The boxes that have cells of `wanted`.
    pub fn over(&self, wanted: &PatchBox) -> Vec<PatchBox> {
        let (mut pending, mut found) = (vec![0usize], Vec::new());
        while let Some(place) = pending.pop() {
            let Some(node) = self.nodes.get(place).filter(|node| meets(&node.bounds, wanted)) else { continue };
            match node.count {
                0 => pending.extend([node.second, place + 1]),
                count => found.extend(self.boxes.get(node.first..node.first + count).unwrap_or_default().iter().filter(|patch| meets(patch, wanted))),
            }
        }
        found
    }

    /// Whether the boxes cover all cells of `wanted`, or none of them.
    pub fn covering(&self, wanted: &PatchBox) -> Covering {
        let over = self.over(wanted);
        if over.is_empty() {
            return Covering::None;
        }
        let Some([nx, ny, nz]) = wanted.extents() else { return Covering::Some };
        let shared = |patch: &PatchBox| {
            let sides = patch.low.iter().zip(patch.high).zip(wanted.low.iter().zip(wanted.high));
            let shared = sides.map(|((low, high), (least, most))| high.min(most).abs_diff(*low.max(least)).saturating_add(1));
            shared.fold(1u64, u64::saturating_mul)
        };
        let (cells, lines) = (nx.saturating_mul(ny).saturating_mul(nz), ny.saturating_mul(nz));
        let covered = over.iter().fold(0u64, |sum, patch| sum.saturating_add(shared(patch)));
        if covered < cells || lines > MAX_LINES {
            return if over.iter().any(|patch| shared(patch) == cells) { Covering::All } else { Covering::Some };
        }
        // Boxes may overlap: only the lines tell.
        let ([i, low_j, low_k], [last, high_j, high_k]) = (wanted.low, wanted.high);
        let mut lines = (low_k..=high_k).flat_map(|k| (low_j..=high_j).map(move |j| (j, k)));
        let is_whole = lines.all(|(j, k)| spans(&over, [i, j, k], last) == [(i, last)]);
        if is_whole { Covering::All } else { Covering::Some }
    }
}

/// How much of a box finer boxes cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Covering {
    None,
    Some,
    All,
}

/// Lines of cells of a box that are looked at to see whether all of it is covered.
const MAX_LINES: u64 = 1 << 16;

/// The indexes from `first` to `last` along a line of cells that `boxes` cover, as ranges that increase and do not touch each other.
pub(crate) fn spans(boxes: &[PatchBox], [i, j, k]: [i64; MAX_DIMENSIONS], last: i64) -> Vec<(i64, i64)> {
    let here = boxes.iter().filter(|patch| {
        let ([low_i, low_j, low_k], [high_i, high_j, high_k]) = (patch.low, patch.high);
        low_i <= last && high_i >= i && (low_j..=high_j).contains(&j) && (low_k..=high_k).contains(&k)
    });
    let mut found: Vec<(i64, i64)> = here.map(|patch| (patch.low[0].max(i), patch.high[0].min(last))).collect();
    if found.len() < 2 {
        return found;
    }
    found.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::with_capacity(found.len());
    for (low, high) in found {
        match joined.last_mut() {
            Some((_, end)) if low <= end.saturating_add(1) => *end = high.max(*end),
            _ => joined.push((low, high)),
        }
    }
    joined
}

fn meets(one: &PatchBox, other: &PatchBox) -> bool {
    let highs = one.low.iter().zip(other.high).all(|(low, high)| *low <= high);
    highs && one.high.iter().zip(other.low).all(|(high, low)| *high >= low)
}

impl PatchBoxes {
    /// For each box whether boxes of the next level cover all of it or none of it; `None` if they cover part of it. The next level has `ratio`
    /// cells along each of the first `dimensions` directions of a cell.
    pub fn covered_boxes(&self, finer: &Self, ratio: u64, dimensions: usize) -> Vec<Option<bool>> {
        let cover = Cover::new(finer.boxes(), std::array::from_fn(|axis| if axis < dimensions { ratio } else { 1 }));
        let covered = |patch: &PatchBox| match cover.covering(patch) {
            Covering::None => Some(false),
            Covering::All => Some(true),
            Covering::Some => None,
        };
        self.boxes().iter().map(covered).collect()
    }

    /// A box that has cells of another one.
    pub fn overlapping(&self) -> Option<usize> {
        let cover = Cover::new(self.boxes(), [1; MAX_DIMENSIONS]);
        self.boxes().iter().position(|patch| cover.meets_several(patch))
    }
}

fn union(one: PatchBox, other: PatchBox) -> PatchBox {
    let pair = |one: [i64; MAX_DIMENSIONS], other: [i64; MAX_DIMENSIONS], choose: fn(i64, i64) -> i64| {
        let ([a, b, c], [x, y, z]) = (one, other);
        [choose(a, x), choose(b, y), choose(c, z)]
    };
    PatchBox { low: pair(one.low, other.low, i64::min), high: pair(one.high, other.high, i64::max) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_below_any_of_many_boxes_are_found() {
        // Pseudo-random boxes, among them many that overlap.
        let mut state = 7u64;
        let mut next = |below: i64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            i64::try_from(state >> 40).unwrap_or(0) % below
        };
        let mut boxes = Vec::new();
        for _ in 0..300 {
            let low = [next(200) - 100, next(40) - 20, next(6) - 3];
            let [i, j, k] = low;
            boxes.push(PatchBox { low, high: [i + next(9), j + next(3), k + next(2)] });
        }
        let cover = Cover::new(&boxes, [4, 2, 1]);
        let is_covered = |i: i64, j: i64, k: i64| {
            boxes.iter().any(|fine| {
                let ([a, b, c], [x, y, z]) = (fine.low, fine.high);
                (a.div_euclid(4)..=x.div_euclid(4)).contains(&i) && (b.div_euclid(2)..=y.div_euclid(2)).contains(&j) && (c..=z).contains(&k)
            })
        };
        let mut seen = [0; 3];
        for (j, k) in (-12..12).flat_map(|j| (-4..5).map(move |k| (j, k))) {
            let line = PatchBox { low: [-30, j, k], high: [29, j, k] };
            let ranges = spans(&cover.over(&line), line.low, 29);
            let flags: Vec<bool> = (-30..30).map(|i| ranges.iter().any(|(low, high)| (low..=high).contains(&&i))).collect();
            assert_eq!(flags, (-30..30).map(|i| is_covered(i, j, k)).collect::<Vec<_>>());
            for i in -30..28 {
                let small = PatchBox { low: [i, j, k], high: [i + 2, j + 1, k] };
                let all: Vec<bool> = (i..i + 3).flat_map(|i| [is_covered(i, j, k), is_covered(i, j + 1, k)]).collect();
                let expected = match (all.contains(&true), all.contains(&false)) {
                    (true, true) => Covering::Some,
                    (true, false) => Covering::All,
                    _ => Covering::None,
                };
                assert_eq!(cover.covering(&small), expected);
                seen[expected as usize] += 1;
            }
        }
        assert!(seen.iter().all(|count| *count > 10), "{seen:?}");
        let none = PatchBox { low: [0; 3], high: [0; 3] };
        assert_eq!(Cover::new(&[], [2; 3]).covering(&none), Covering::None);
    }
}
