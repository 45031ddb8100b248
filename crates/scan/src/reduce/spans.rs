//! Spans: which group each element of a run belongs to. A run is the trailing dimensions of a window; all runs of a window have
//! the same groups, but for an offset that the leading dimensions give.

use std::ops::Range;

use hyperslab_array::Result;

use super::elements::beyond;

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

/// The groups of the elements of a block.
#[derive(Debug, Clone, Copy)]
pub(super) enum At<'a> {
    /// All in one.
    One(usize),
    /// Each in the next one.
    Following(usize),
    /// Each in any, relative to the first number.
    Each(usize, &'a [u32]),
}

impl<'a> At<'a> {
    /// The groups of a part of a span, of a run whose groups begin at `offset`.
    pub fn of(groups: &'a Groups, offset: usize, from: usize, count: usize) -> Result<Self> {
        Ok(match groups {
            Groups::One(group) => Self::One(offset + group),
            Groups::Following(group) => Self::Following(offset + group + from),
            Groups::Each(groups) => Self::Each(offset, groups.get(from..from + count).ok_or_else(beyond)?),
        })
    }

    /// Counts the elements whose mask is 0.
    pub fn count_zeros(self, mask: &[u8], counts: &mut [u64]) -> Result<()> {
        match self {
            Self::One(group) => {
                let kept: u64 = mask.chunks(128).map(|part| u64::from(part.iter().sum::<u8>())).sum();
                *counts.get_mut(group).ok_or_else(beyond)? += mask.len() as u64 - kept;
            }
            Self::Following(group) => {
                let counts = counts.get_mut(group..group + mask.len()).ok_or_else(beyond)?;
                counts.iter_mut().zip(mask).for_each(|(count, kept)| *count += u64::from(1 - kept));
            }
            Self::Each(offset, groups) => {
                for (group, _) in groups.iter().zip(mask).filter(|(_, kept)| **kept == 0) {
                    *counts.get_mut(offset + *group as usize).ok_or_else(beyond)? += 1;
                }
            }
        }
        Ok(())
    }
}

/// Whether a mask keeps an element.
pub(super) fn is_kept(mask: Option<&[u8]>, place: usize) -> bool {
    mask.is_none_or(|mask| mask.get(place) == Some(&1))
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
