//! The regions of an array that were not written, for the fill value.

use super::region::Region;

/// Splits `whole` minus `regions` into disjoint regions.
pub(crate) fn unwritten_regions(whole: Region, regions: &[Region]) -> Vec<Region> {
    let first = |region: &Region| region.rows_range().start;
    let end = |region: &Region| region.rows_range().end;
    let mut sorted: Vec<&Region> = regions.iter().collect();
    sorted.sort_by_key(|region| first(region));
    let (mut done, mut left) = (Vec::new(), vec![whole]);
    left.retain(|whole| !whole.count.contains(&0));
    for region in sorted {
        let mut next = Vec::with_capacity(left.len());
        for piece in left {
            // Later regions begin at or after this one, so a piece that ends before it is final.
            if end(&piece) <= first(region) { done.push(piece) } else { without(piece, region, &mut next) }
        }
        left = next;
    }
    done.append(&mut left);
    done
}

/// Adds the regions of `piece` minus `region` to `out`.
fn without(mut piece: Region, region: &Region, out: &mut Vec<Region>) {
    let Some(shared) = piece.shared(region) else { return out.push(piece) };
    let axes = shared.start.iter().zip(&shared.count).map(|(start, count)| (*start, start.saturating_add(*count)));
    for (axis, (from, to)) in axes.enumerate() {
        let cut = |start: u64, end: u64, out: &mut Vec<Region>| {
            let mut part = piece.clone();
            if let (true, Some(first), Some(count)) = (start < end, part.start.get_mut(axis), part.count.get_mut(axis)) {
                (*first, *count) = (start, end - start);
                out.push(part);
            }
        };
        let Some((start, count)) = piece.start.get(axis).copied().zip(piece.count.get(axis).copied()) else { return };
        cut(start, from, out);
        cut(to, start.saturating_add(count), out);
        if let (Some(first), Some(count)) = (piece.start.get_mut(axis), piece.count.get_mut(axis)) {
            (*first, *count) = (from, to - from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn region(axes: &[(u64, u64)]) -> Region {
        Region { start: axes.iter().map(|axis| axis.0).collect(), count: axes.iter().map(|axis| axis.1).collect() }
    }

    proptest! {
        #[test]
        fn every_element_is_written_or_in_one_box(
            shape in proptest::collection::vec(0u64..6, 1..4),
            boxes in proptest::collection::vec(proptest::collection::vec((0u64..6, 0u64..4), 3), 0..6),
        ) {
            let boxes: Vec<Region> = boxes.iter().map(|axes| region(&axes[..shape.len()])).collect();
            let left = unwritten_regions(Region::all(&shape), &boxes);
            let has = |region: &Region, at: &[u64]| region.start.iter().zip(&region.count).zip(at).all(|((start, count), at)| (*start..start + count).contains(at));
            let total: u64 = shape.iter().product();
            for index in 0..total {
                let mut rest = index;
                let mut at = vec![0; shape.len()];
                for axis in (0..shape.len()).rev() {
                    at[axis] = rest % shape[axis];
                    rest /= shape[axis];
                }
                let written = boxes.iter().any(|region| has(region, &at));
                prop_assert_eq!(left.iter().filter(|region| has(region, &at)).count(), usize::from(!written), "{:?}", at);
            }
            prop_assert!(left.iter().all(|region| region.fits(&shape) && !region.count.contains(&0)));
        }
    }
}
