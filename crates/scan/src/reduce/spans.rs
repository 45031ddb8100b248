//! Spans: which group each element of a run belongs to. A run is the trailing dimensions of a window; all runs of a window have
//! the same groups, but for an offset that the leading dimensions give.

use std::ops::Range;

/// Elements of a run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub elements: Range<usize>,
    pub groups: Groups,
}

/// The groups of the elements of a span, relative to the run's.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Groups {
    /// All in one.
    One(usize),
    /// Each in the next one.
    Following(usize),
    /// Each in any.
    Each(Vec<u32>),
}

/// Elements of a span of one group, from which on such spans are quicker than looking up the group of each element.
const MIN_MEAN_LENGTH: usize = 24;

/// The spans of a run whose elements have these groups.
pub(super) fn spans(groups: &[u32]) -> Vec<Span> {
    let Some(first) = groups.first() else { return Vec::new() };
    let starts: Vec<usize> =
        std::iter::once(0).chain(groups.windows(2).enumerate().filter(|(_, pair)| pair.first() != pair.last()).map(|(at, _)| at + 1)).collect();
    if groups.len() / starts.len() >= MIN_MEAN_LENGTH {
        let ends = starts.iter().skip(1).copied().chain([groups.len()]);
        let one = |(start, end): (usize, usize)| Span { elements: start..end, groups: Groups::One(groups.get(start).map_or(0, |group| *group as usize)) };
        return starts.iter().copied().zip(ends).map(one).collect();
    }
    // Rows of following groups, as of longitudes.
    let breaks: Vec<usize> = std::iter::once(0).chain(groups.windows(2).enumerate().filter(|(_, pair)| !follows(pair)).map(|(at, _)| at + 1)).collect();
    if groups.len() / breaks.len() >= MIN_MEAN_LENGTH {
        let ends = breaks.iter().skip(1).copied().chain([groups.len()]);
        let some =
            |(start, end): (usize, usize)| Span { elements: start..end, groups: Groups::Following(groups.get(start).map_or(0, |group| *group as usize)) };
        return breaks.iter().copied().zip(ends).map(some).collect();
    }
    match groups.iter().all(|group| group == first) {
        true => vec![Span { elements: 0..groups.len(), groups: Groups::One(*first as usize) }],
        false => vec![Span { elements: 0..groups.len(), groups: Groups::Each(groups.to_vec()) }],
    }
}

fn follows(pair: &[u32]) -> bool {
    matches!(pair, [one, next] if one.checked_add(1) == Some(*next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_element_is_in_one_span_with_its_group(runs in proptest::collection::vec((0u32..9, 1usize..60, any::<bool>()), 0..12)) {
            let groups: Vec<u32> = runs.iter().flat_map(|(first, length, follow)| (0..*length as u32).map(move |at| first + if *follow { at } else { 0 })).collect();
            let mut found = Vec::new();
            for span in spans(&groups) {
                prop_assert_eq!(span.elements.start, found.len());
                match span.groups {
                    Groups::One(group) => found.extend(span.elements.map(|_| group as u32)),
                    Groups::Following(group) => found.extend((0..span.elements.len() as u32).map(|at| group as u32 + at)),
                    Groups::Each(each) => found.extend(each),
                }
            }
            prop_assert_eq!(found, groups);
        }
    }
}
