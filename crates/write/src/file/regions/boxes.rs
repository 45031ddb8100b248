//! Divides regions into boxes of a size, in row-major order.

use super::region::Region;

/// The boxes of `size` that a region consists of, those at its ends cut. A region without elements has none, a scalar one.
pub(crate) fn boxes(region: &Region, size: &[u64]) -> impl Iterator<Item = Region> {
    let Region { start: first, count } = region.clone();
    let size: Vec<u64> = size.iter().map(|extent| (*extent).max(1)).collect();
    // How far the next box is from the beginning of the region.
    let mut next = Some(vec![0u64; count.len()]).filter(|_| !count.contains(&0));
    std::iter::from_fn(move || {
        let at = next.take()?;
        let part = Region {
            start: first.iter().zip(&at).map(|(first, at)| first.saturating_add(*at)).collect(),
            count: at.iter().zip(&size).zip(&count).map(|((at, extent), count)| (*extent).min(count - at)).collect(),
        };
        let mut following = at;
        for ((place, extent), count) in following.iter_mut().zip(&size).zip(&count).rev() {
            *place = place.saturating_add(*extent);
            if *place < *count {
                next = Some(following);
                break;
            }
            *place = 0;
        }
        Some(part)
    })
}

/// The size of boxes of at most `max_chunks` whole chunks, as many as possible along the fastest dimensions.
pub(crate) fn size_of_chunks(shape: &[u64], chunk_shape: &[u64], max_chunks: u64) -> Vec<u64> {
    let mut left = max_chunks.max(1);
    let mut size: Vec<u64> = shape
        .iter()
        .zip(chunk_shape)
        .rev()
        .map(|(extent, chunk)| {
            let chunks = extent.div_ceil((*chunk).max(1)).clamp(1, left);
            left = (left / chunks).max(1);
            chunks.saturating_mul(*chunk)
        })
        .collect();
    size.reverse();
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_cover_a_region_once_in_order() {
        let region = Region { start: vec![2, 10, 0], count: vec![5, 4, 3] };
        let parts: Vec<Region> = boxes(&region, &[2, 3, 9]).collect();
        assert_eq!(parts.len(), 6);
        assert_eq!(parts.first().map(|part| (part.start.clone(), part.count.clone())), Some((vec![2, 10, 0], vec![2, 3, 3])));
        assert_eq!(parts.last().map(|part| (part.start.clone(), part.count.clone())), Some((vec![6, 13, 0], vec![1, 1, 3])));
        assert_eq!(parts.iter().filter_map(Region::elements).sum::<u64>(), 60);
        assert!(parts.is_sorted_by(|a, b| a.start < b.start));
        assert_eq!(boxes(&Region::all(&[]), &[]).count(), 1);
        assert_eq!(boxes(&Region::all(&[3, 0]), &[1, 1]).count(), 0);
    }

    #[test]
    fn a_box_has_no_more_chunks_than_wanted() {
        assert_eq!(size_of_chunks(&[100, 64, 10], &[1, 8, 10], 20), [2, 64, 10]);
        assert_eq!(size_of_chunks(&[100, 64, 10], &[1, 8, 10], 3), [1, 24, 10]);
        assert_eq!(size_of_chunks(&[5], &[2], 1000), [6]);
    }
}
