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
        let meets = |patch: &PatchBox| {
            let highs = patch.low.iter().zip(wanted.high).all(|(low, high)| *low <= high);
            highs && patch.high.iter().zip(wanted.low).all(|(high, low)| *high >= low)
        };
        let (mut pending, mut found) = (vec![0usize], 0);
        while let Some(place) = pending.pop() {
            let Some(node) = self.nodes.get(place).filter(|node| meets(&node.bounds)) else { continue };
            match node.count {
                0 => pending.extend([node.second, place + 1]),
                count => found += self.boxes.get(node.first..node.first + count).unwrap_or_default().iter().filter(|patch| meets(patch)).count(),
            }
            if found > 1 {
                return true;
            }
        }
        false
    }

    /// Sets the flags of covered cells. Cell `first` has the first flag; the others follow it along `i`.
    pub fn mark(&self, first: [i64; MAX_DIMENSIONS], flags: &mut [bool]) {
        let [i, j, k] = first;
        let last = i.saturating_add_unsigned((flags.len() as u64).saturating_sub(1));
        let meets = |patch: &PatchBox| {
            let ([low_i, low_j, low_k], [high_i, high_j, high_k]) = (patch.low, patch.high);
            low_i <= last && high_i >= i && (low_j..=high_j).contains(&j) && (low_k..=high_k).contains(&k)
        };
        let (mut pending, mut left) = (vec![0usize], flags.len());
        while let Some(place) = pending.pop() {
            let Some(node) = self.nodes.get(place).filter(|node| meets(&node.bounds)) else { continue };
            if node.count == 0 {
                pending.extend([node.second, place + 1]);
                continue;
            }
            for patch in self.boxes.get(node.first..node.first + node.count).unwrap_or_default().iter().filter(|patch| meets(patch)) {
                let ([low, ..], [high, ..]) = (patch.low, patch.high);
                let position = |index: i64| usize::try_from(index.abs_diff(i)).unwrap_or(usize::MAX);
                let below = flags.get_mut(position(low.max(i))..=position(high.min(last))).unwrap_or_default();
                left -= below.iter().filter(|flag| !**flag).count();
                below.fill(true);
            }
            if left == 0 {
                return;
            }
        }
    }
}

impl PatchBoxes {
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
        for (j, k) in (-12..12).flat_map(|j| (-4..5).map(move |k| (j, k))) {
            let mut flags = vec![false; 60];
            cover.mark([-30, j, k], &mut flags);
            assert_eq!(flags, (-30..30).map(|i| is_covered(i, j, k)).collect::<Vec<_>>());
        }
        let mut flags = [false];
        Cover::new(&[], [2; 3]).mark([0; 3], &mut flags);
        assert_eq!(flags, [false]);
    }
}
