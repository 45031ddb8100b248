//! Recognizes a list of blocks that is a regular hyperslab. The older encoding of selections lists every hyperslab as
//! blocks; as a hyperslab it can be mapped dimension by dimension.

use hyperslab_array::{HyperslabAxis, StoredSelection};

/// The hyperslab that selects the same elements in the same order, if there is one.
pub(crate) fn regular(selection: &StoredSelection) -> Option<StoredSelection> {
    let StoredSelection::Blocks(blocks) = selection else { return None };
    let (first, _) = blocks.first()?;
    let axes: Vec<HyperslabAxis> = (0..first.len()).map(|dimension| axis(blocks, dimension)).collect::<Option<_>>()?;
    // As many distinct blocks as the grid has, each of them in it, are the whole grid.
    let grid = axes.iter().try_fold(1u64, |n, axis| n.checked_mul(axis.count?))?;
    let mut starts: Vec<&Vec<u64>> = blocks.iter().map(|(first, _)| first).collect();
    starts.sort_unstable();
    starts.dedup();
    (starts.len() == blocks.len() && grid == u64::try_from(blocks.len()).ok()?).then_some(StoredSelection::Hyperslab(axes))
}

/// The blocks along one dimension, if they have equal lengths and distances.
fn axis(blocks: &[(Vec<u64>, Vec<u64>)], dimension: usize) -> Option<HyperslabAxis> {
    let along = |(first, last): &(Vec<u64>, Vec<u64>)| Some((*first.get(dimension)?, *last.get(dimension)?));
    let mut pieces = blocks.iter().map(along).collect::<Option<Vec<_>>>()?;
    pieces.sort_unstable();
    pieces.dedup();
    let (start, last) = *pieces.first()?;
    let block = last.checked_sub(start)?.checked_add(1)?;
    let stride = match pieces.get(1) {
        Some((second, _)) => second.checked_sub(start)?,
        None => block,
    };
    if stride < block {
        return None;
    }
    let mut expected = start;
    for (first, last) in &pieces {
        if *first != expected || last.checked_sub(*first)? != block - 1 {
            return None;
        }
        expected = expected.checked_add(stride)?;
    }
    Some(HyperslabAxis { start, stride, count: Some(u64::try_from(pieces.len()).ok()?), block: Some(block), limit: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(list: &[([u64; 2], [u64; 2])]) -> StoredSelection {
        StoredSelection::Blocks(list.iter().map(|(first, last)| (first.to_vec(), last.to_vec())).collect())
    }

    #[test]
    fn blocks_of_a_grid_are_a_hyperslab() {
        let axis = |start, stride, count, block| HyperslabAxis { start, stride, count: Some(count), block: Some(block), limit: None };
        let one = regular(&blocks(&[([1, 2], [3, 9])]));
        assert_eq!(one, Some(StoredSelection::Hyperslab(vec![axis(1, 3, 1, 3), axis(2, 8, 1, 8)])));
        let four = regular(&blocks(&[([0, 0], [0, 1]), ([0, 4], [0, 5]), ([2, 0], [2, 1]), ([2, 4], [2, 5])]));
        assert_eq!(four, Some(StoredSelection::Hyperslab(vec![axis(0, 2, 2, 1), axis(0, 4, 2, 2)])));
    }

    #[test]
    fn other_blocks_stay_blocks() {
        assert!(regular(&blocks(&[([0, 0], [0, 1]), ([0, 4], [0, 5]), ([2, 0], [2, 1])])).is_none()); // a corner is missing
        assert!(regular(&blocks(&[([0, 0], [0, 1]), ([1, 0], [1, 2])])).is_none()); // two lengths
        assert!(regular(&blocks(&[([0, 0], [1, 1]), ([1, 0], [2, 1])])).is_none()); // they overlap
        assert!(regular(&blocks(&[([0, 0], [0, 0]), ([0, 0], [0, 0])])).is_none()); // one of them twice
        assert!(regular(&blocks(&[([0, 0], [0, 0]), ([1, 0], [1, 0]), ([3, 0], [3, 0])])).is_none()); // two distances
        assert!(regular(&blocks(&[])).is_none());
    }
}
