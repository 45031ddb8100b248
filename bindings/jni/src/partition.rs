//! Partition: packs consecutive splits into one task, so that many small files do not need many tasks.

use std::ops::Range;

use hyperslab::scan::interleaved;

/// Cost of opening a split, as the number of bytes that could be read in that time.
const OPEN_BYTES: u64 = 256 << 10;

/// Maximum weight, in bytes, of a partition of many small files.
const MAX_WEIGHT: u64 = 64 << 20;

/// Packs splits in order into partitions of about `target_bytes`, or into at most `count` partitions. If `cores` is given,
/// partitions of many small splits can exceed `target_bytes`, as long as there is about one per core.
pub(crate) fn pack(value_bytes: &[u64], target_bytes: u64, count: Option<usize>, cores: Option<usize>) -> Vec<Range<usize>> {
    let weights: Vec<u64> = value_bytes.iter().map(|bytes| bytes.saturating_add(OPEN_BYTES)).collect();
    if let Some(count) = count {
        return balanced(&weights, count.max(1));
    }
    let whole = weights.iter().fold(0u64, |sum, weight| sum.saturating_add(*weight));
    let share = cores.map_or(0, |cores| whole / (cores.max(1) as u64));
    greedy(&weights, target_bytes.max(share.min(MAX_WEIGHT)).max(1))
}

fn greedy(weights: &[u64], target: u64) -> Vec<Range<usize>> {
    let mut partitions: Vec<Range<usize>> = Vec::new();
    let mut filled = 0u64;
    for (index, &weight) in weights.iter().enumerate() {
        // A single split may also exceed the target by an eighth.
        match partitions.last_mut() {
            Some(last) if filled.saturating_add(weight) <= target.saturating_add(target / 8) => {
                last.end = index + 1;
                filled += weight;
            }
            _ => {
                partitions.push(index..index + 1);
                filled = weight;
            }
        }
    }
    partitions
}

/// Assigns each split to the one of `count` equal shares that contains its middle.
fn balanced(weights: &[u64], count: usize) -> Vec<Range<usize>> {
    let total: u128 = weights.iter().map(|&w| u128::from(w)).sum();
    let mut partitions: Vec<(u128, Range<usize>)> = Vec::new();
    let mut sum = 0u128;
    for (index, &weight) in weights.iter().enumerate() {
        let middle = 2 * sum + u128::from(weight);
        let share = middle * count as u128 / (2 * total).max(1);
        sum += u128::from(weight);
        match partitions.last_mut() {
            Some(last) if last.0 == share => last.1.end = index + 1,
            _ => partitions.push((share, index..index + 1)),
        }
    }
    partitions.into_iter().map(|(_, range)| range).collect()
}

/// The partitions in an order in which consecutive ones read from different storage targets. `targets` has the targets of each
/// split with their bytes.
pub(crate) fn by_targets(partitions: &[Range<usize>], targets: &[&[(u32, u64)]]) -> Vec<Range<usize>> {
    let summed = partitions.iter().map(|range| {
        let mut sums: Vec<(u32, u64)> = Vec::new();
        for (target, bytes) in targets.get(range.clone()).unwrap_or_default().iter().copied().flatten() {
            match sums.iter_mut().find(|(known, _)| known == target) {
                Some((_, sum)) => *sum = sum.saturating_add(*bytes),
                None => sums.push((*target, *bytes)),
            }
        }
        sums
    });
    let summed: Vec<Vec<(u32, u64)>> = summed.collect();
    interleaved(summed.iter()).into_iter().filter_map(|index| partitions.get(index).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_of_one_target_do_not_follow_each_other() {
        let (one, two) = ([(1, 8), (2, 1)], [(2, 8)]);
        let targets = [&one[..], &one, &one, &two, &two, &two];
        assert_eq!(by_targets(&[0..1, 1..3, 3..4, 4..6], &targets), [0..1, 3..4, 1..3, 4..6]);
        assert_eq!(by_targets(&[0..1, 1..2], &[&[], &[]]), [0..1, 1..2], "nothing is known: the order of the rows");
    }

    fn covers(partitions: &[Range<usize>], splits: usize) -> bool {
        partitions.iter().flat_map(Clone::clone).eq(0..splits)
    }

    #[test]
    fn every_split_is_in_one_partition_in_order() {
        for count in [None, Some(1), Some(3), Some(100)] {
            for splits in [0, 1, 2, 7, 50] {
                let bytes: Vec<u64> = (0..splits).map(|n| (n * 7919) % 5 * (1 << 20)).collect();
                let partitions = pack(&bytes, 4 << 20, count, None);
                assert!(covers(&partitions, bytes.len()), "{count:?} {splits}");
                assert!(partitions.len() <= count.unwrap_or(usize::MAX));
            }
        }
    }

    #[test]
    fn only_small_files_share_a_partition() {
        assert_eq!(pack(&[1000; 64], 64 << 20, None, None), vec![0..64]);
        assert_eq!(pack(&[64 << 20; 3], 64 << 20, None, None), vec![0..1, 1..2, 2..3]);
        assert_eq!(pack(&[64 << 20; 4], 1, Some(2), None), vec![0..2, 2..4]);
        // 5,000 files of 1.6 kB on two cores: 64 MiB are 255 of them.
        assert_eq!(pack(&[1600; 5000], 4 << 20, None, Some(2)).len(), 18);
        assert_eq!(pack(&[1600; 5000], 4 << 20, None, Some(100)).len(), 90);
    }
}
