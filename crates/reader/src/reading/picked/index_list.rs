//! Index list: indexes in any order as increasing ones, and the place of each entry of the list among them.

use hyperslab_array::{Axis, Cancellation, Result};
use rayon::prelude::*;

use crate::Session;

/// If the indexes lie in at most this many times as many, they are sorted as the bits of a set: in a time that grows with
/// their number, without comparing them.
const BITS_PER_INDEX: u64 = 64;
/// Fewer entries are sorted by the calling thread.
const MIN_PARALLEL_ENTRIES: usize = 1 << 16;

/// The indexes of a list as an axis, each once; and for each entry of the list its position in the axis, unless the list
/// increases already.
///
/// # Errors
/// `Cancelled`; `Internal` if the system starts no threads.
pub(super) fn sorted(indexes: &[u64], session: &Session, cancellation: &Cancellation) -> Result<(Axis, Option<Vec<u64>>)> {
    if indexes.is_sorted_by(|a, b| a < b) {
        return Ok((axis_of(indexes), None));
    }
    let last = indexes.iter().max().copied().unwrap_or(0);
    let (unique, places) = match last / BITS_PER_INDEX <= indexes.len() as u64 {
        true => by_bits(indexes, last, cancellation)?,
        false => by_comparison(indexes, session, cancellation)?,
    };
    Ok((axis_of(&unique), Some(places)))
}

/// Increasing indexes as an axis: a range if their distances are equal.
pub(super) fn axis_of(increasing: &[u64]) -> Axis {
    let range = match increasing {
        [] => Some((0, 1)),
        [only] => Some((*only, 1)),
        [first, second, ..] => {
            let step = second - first;
            let is_even = increasing.windows(2).all(|pair| matches!(pair, [a, b] if b - a == step));
            // A selection has an end after its last step, which has to be a number.
            let has_end = (increasing.len() as u64).checked_mul(step).and_then(|length| length.checked_add(*first)).is_some();
            (is_even && has_end).then_some((*first, step))
        }
    };
    match range {
        Some((start, step)) => Axis::Range { start, count: increasing.len() as u64, step },
        None => Axis::Indices(increasing.to_vec()),
    }
}

/// Sorts indexes that are at most `last`, as a set of bits.
fn by_bits(indexes: &[u64], last: u64, cancellation: &Cancellation) -> Result<(Vec<u64>, Vec<u64>)> {
    let word_of = |index: u64| usize::try_from(index / 64).unwrap_or(usize::MAX);
    let mut words = vec![0u64; word_of(last) + 1];
    for index in indexes {
        if let Some(word) = words.get_mut(word_of(*index)) {
            *word |= 1 << (index % 64);
        }
    }
    cancellation.check()?;
    // For each word, the number of indexes before it.
    let mut before = Vec::with_capacity(words.len());
    let mut unique = Vec::new();
    for (first, word) in (0u64..).step_by(64).zip(&words) {
        before.push(unique.len() as u64);
        let mut rest = *word;
        while rest != 0 {
            unique.push(first + u64::from(rest.trailing_zeros()));
            rest &= rest - 1;
        }
    }
    cancellation.check()?;
    let place = |index: &u64| {
        let at = word_of(*index);
        let below = words.get(at).map_or(0, |word| (word & ((1 << (index % 64)) - 1)).count_ones());
        before.get(at).map_or(0, |before| before + u64::from(below))
    };
    Ok((unique, indexes.iter().map(place).collect()))
}

/// Sorts indexes that lie far apart.
fn by_comparison(indexes: &[u64], session: &Session, cancellation: &Cancellation) -> Result<(Vec<u64>, Vec<u64>)> {
    let mut entries: Vec<(u64, usize)> = indexes.iter().copied().zip(0..).collect();
    match entries.len() < MIN_PARALLEL_ENTRIES {
        true => entries.sort_unstable(),
        false => session.compute(|| {
            entries.par_sort_unstable();
            Ok(())
        })?,
    }
    cancellation.check()?;
    let mut unique: Vec<u64> = Vec::new();
    let mut places = vec![0; indexes.len()];
    for (index, entry) in entries {
        if unique.last() != Some(&index) {
            unique.push(index);
        }
        if let Some(place) = places.get_mut(entry) {
            *place = unique.len() as u64 - 1;
        }
    }
    Ok((unique, places))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SessionOptions;
    use hyperslab_array::ErrorKind;
    use proptest::prelude::*;

    fn session() -> Result<Session> {
        Session::new(SessionOptions::default().with_threads(Some(2)))
    }

    fn lists() -> impl Strategy<Value = Vec<u64>> {
        prop_oneof![
            proptest::collection::vec(0u64..50, 0..80),
            proptest::collection::vec(any::<u64>(), 0..40),
            proptest::collection::vec(u64::MAX - 200..=u64::MAX, 0..40),
            (0u64..9, 1u64..1 << 62, 0u64..9).prop_map(|(start, step, count)| (0..count).map(|k| start.saturating_add(k.saturating_mul(step))).collect()),
        ]
    }

    proptest! {
        #[test]
        fn every_entry_is_found_at_its_place(list in lists()) {
            let fail = |error: hyperslab_array::Error| TestCaseError::fail(error.to_string());
            let (axis, places) = sorted(&list, &session().map_err(fail)?, &Cancellation::new()).map_err(fail)?;
            let unique: std::collections::BTreeSet<u64> = list.iter().copied().collect();
            let along: Vec<u64> = (0..axis.count()).filter_map(|position| axis.index(position)).collect();
            prop_assert_eq!(&along, &unique.into_iter().collect::<Vec<_>>());
            let found: Vec<u64> = match places {
                Some(places) => places.iter().filter_map(|place| axis.index(*place)).collect(),
                None => along,
            };
            prop_assert_eq!(found, list);
        }
        #[test]
        fn both_ways_of_sorting_agree(list in proptest::collection::vec(0u64..5000, 1..200)) {
            let fail = |error: hyperslab_array::Error| TestCaseError::fail(error.to_string());
            let last = list.iter().max().copied().unwrap_or(0);
            let bits = by_bits(&list, last, &Cancellation::new()).map_err(fail)?;
            prop_assert_eq!(bits, by_comparison(&list, &session().map_err(fail)?, &Cancellation::new()).map_err(fail)?);
        }
    }

    #[test]
    fn lists_with_equal_distances_are_ranges() {
        assert_eq!(axis_of(&[]), Axis::Range { start: 0, count: 0, step: 1 });
        assert_eq!(axis_of(&[7]), Axis::Range { start: 7, count: 1, step: 1 });
        assert_eq!(axis_of(&[4, 5, 6]), Axis::Range { start: 4, count: 3, step: 1 });
        assert_eq!(axis_of(&[4, 8, 12]), Axis::Range { start: 4, count: 3, step: 4 });
        assert_eq!(axis_of(&[4, 8, 13]), Axis::Indices(vec![4, 8, 13]));
        assert_eq!(axis_of(&[1, u64::MAX]), Axis::Indices(vec![1, u64::MAX]));
    }

    #[test]
    fn many_entries_are_sorted_by_all_threads_and_stop_when_asked() -> Result<()> {
        let list: Vec<u64> = (0..MIN_PARALLEL_ENTRIES as u64 + 5).map(|k| k.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        let (axis, places) = sorted(&list, &session()?, &Cancellation::new())?;
        let places = places.unwrap_or_default();
        assert!(list.iter().zip(&places).all(|(index, place)| axis.index(*place) == Some(*index)));
        let stopped = Cancellation::new();
        stopped.cancel();
        for list in [list, vec![3, 2, 1]] {
            assert_eq!(sorted(&list, &session()?, &stopped).map_err(|error| error.kind()), Err(ErrorKind::Cancelled));
        }
        Ok(())
    }
}
