//! Partition: consecutive splits that one task reads, so that many small files do not make many tasks.

use std::ops::Range;

/// What opening one more split costs, as bytes that could be read instead.
const OPEN_BYTES: u64 = 256 << 10;

/// A partition of many small files weighs this at most.
const MAX_WEIGHT: u64 = 64 << 20;

/// Packs splits, in order, into partitions of about `target_bytes`; into at most `count` if given. If `cores` are,
/// many small splits make larger partitions than that, as long as about every core has one.
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
    for (number, &weight) in weights.iter().enumerate() {
        // An eighth above the target is what a split alone may have, too.
        match partitions.last_mut() {
            Some(last) if filled.saturating_add(weight) <= target.saturating_add(target / 8) => {
                last.end = number + 1;
                filled += weight;
            }
            _ => {
                partitions.push(number..number + 1);
                filled = weight;
            }
        }
    }
    partitions
}

/// Each split goes to the one of `count` equal parts that contains its middle.
fn balanced(weights: &[u64], count: usize) -> Vec<Range<usize>> {
    let total: u128 = weights.iter().map(|&w| u128::from(w)).sum();
    let mut partitions: Vec<(u128, Range<usize>)> = Vec::new();
    let mut before = 0u128;
    for (number, &weight) in weights.iter().enumerate() {
        let middle = 2 * before + u128::from(weight);
        let place = middle * count as u128 / (2 * total).max(1);
        before += u128::from(weight);
        match partitions.last_mut() {
            Some(last) if last.0 == place => last.1.end = number + 1,
            _ => partitions.push((place, number..number + 1)),
        }
    }
    partitions.into_iter().map(|(_, range)| range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(partitions: &[Range<usize>], splits: usize) -> bool {
        partitions.iter().flat_map(Clone::clone).eq(0..splits)
    }

    #[test]
    fn every_split_is_in_one_partition_and_the_order_stays() {
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
    fn small_files_share_a_partition_and_large_splits_do_not() {
        assert_eq!(pack(&[1000; 64], 64 << 20, None, None), vec![0..64]);
        assert_eq!(pack(&[64 << 20; 3], 64 << 20, None, None), vec![0..1, 1..2, 2..3]);
        assert_eq!(pack(&[64 << 20; 4], 1, Some(2), None), vec![0..2, 2..4]);
        // 5,000 files of 1.6 kB on two cores: 64 MiB are 255 of them.
        assert_eq!(pack(&[1600; 5000], 4 << 20, None, Some(2)).len(), 18);
        assert_eq!(pack(&[1600; 5000], 4 << 20, None, Some(100)).len(), 90);
    }
}
