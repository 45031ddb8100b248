//! Finds regions that overlap.

use std::collections::HashSet;

use super::region::Region;

/// The indexes of two regions that have elements in common, and these elements. Only pairs for which `is_compared` is true count.
///
/// The regions are compared in the order of the dimension along which they begin at the most places: if each of many tasks writes
/// some columns of all rows, all regions begin at row 0, and in the order of the rows each would be compared with all others.
pub(crate) fn overlap(regions: &[&Region], is_compared: impl Fn(usize, usize) -> bool) -> Option<(usize, usize, Region)> {
    let axis = separating_axis(regions);
    let mut order: Vec<(u64, u64, usize)> = regions
        .iter()
        .enumerate()
        .filter(|(_, region)| !region.count.contains(&0))
        .map(|(index, region)| {
            let start = region.start.get(axis).copied().unwrap_or(0);
            (start, start.saturating_add(region.count.get(axis).copied().unwrap_or(1)), index)
        })
        .collect();
    order.sort_by_key(|(start, ..)| *start);
    order.iter().enumerate().find_map(|(place, (_, end, one))| {
        let after = order.get(place + 1..)?.iter().take_while(|(start, ..)| start < end);
        after.filter(|(.., other)| is_compared(*one, *other)).find_map(|(.., other)| {
            let shared = regions.get(*other)?.shared(regions.get(*one)?)?;
            Some((*one, *other, shared))
        })
    })
}

/// The dimension along which regions begin at the most places; the first of several.
fn separating_axis(regions: &[&Region]) -> usize {
    let ndim = regions.iter().map(|region| region.start.len()).max().unwrap_or(0);
    let places = |axis: &usize| regions.iter().filter_map(|region| region.start.get(*axis)).collect::<HashSet<_>>().len();
    (0..ndim).rev().max_by_key(places).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Regions of one number of dimensions, some of them empty, in a small space.
    fn regions() -> impl Strategy<Value = Vec<Region>> {
        (1usize..4).prop_flat_map(|ndim| {
            let region = proptest::collection::vec((0u64..6, 0u64..3), ndim)
                .prop_map(|axes| Region { start: axes.iter().map(|a| a.0).collect(), count: axes.iter().map(|a| a.1).collect() });
            proptest::collection::vec(region, 0..9)
        })
    }

    proptest! {
        #[test]
        fn an_overlap_is_found_if_any_pair_has_one(regions in regions(), odd in any::<bool>()) {
            let all: Vec<&Region> = regions.iter().collect();
            let is_compared = |a: usize, b: usize| !odd || a % 2 != b % 2;
            let pairs = (0..all.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
            let any = pairs.filter(|(a, b)| is_compared(*a, *b)).any(|(a, b)| {
                let (a, b) = (all[a], all[b]);
                !a.count.contains(&0) && !b.count.contains(&0)
                    && (0..a.start.len()).all(|axis| a.start[axis] < b.start[axis] + b.count[axis] && b.start[axis] < a.start[axis] + a.count[axis])
            });
            let found = overlap(&all, is_compared);
            prop_assert_eq!(found.is_some(), any);
            if let Some((a, b, shared)) = found {
                prop_assert!(is_compared(a, b));
                prop_assert_eq!(all[a].shared(all[b]), Some(shared));
            }
        }
    }

    #[test]
    fn columns_of_all_rows_are_compared_with_their_neighbors_only() {
        let columns: Vec<Region> = (0..100_000).map(|column| Region { start: vec![0, column], count: vec![1_000_000, 1] }).collect();
        let compared = std::cell::Cell::new(0);
        let count = |_: usize, _: usize| {
            compared.set(compared.get() + 1);
            true
        };
        assert_eq!(overlap(&columns.iter().collect::<Vec<_>>(), count), None);
        assert_eq!(compared.get(), 0);
    }
}
