//! Value set: which values of a column pass a condition, as intervals of keys.

use crate::Comparison;
use crate::KeyType;

/// Values of a column: intervals of keys, and whether NaN and null belong to it. Closed under and, or, not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueSet {
    key_type: KeyType,
    /// First and last key of each interval, increasing, with at least one key between adjacent intervals.
    intervals: Vec<(u64, u64)>,
    nan: bool,
    null: bool,
}

impl ValueSet {
    /// No value.
    pub fn none(key_type: KeyType) -> Self {
        Self { key_type, intervals: Vec::new(), nan: false, null: false }
    }

    /// Every value, NaN too, but not null.
    pub fn all(key_type: KeyType) -> Self {
        Self { key_type, intervals: vec![key_type.range()], nan: matches!(key_type, KeyType::Float(_)), null: false }
    }

    /// Null alone.
    pub fn only_null(key_type: KeyType) -> Self {
        Self { null: true, ..Self::none(key_type) }
    }

    /// The values whose keys lie within `first..=last`; keys that no value has are left out.
    pub fn keys(key_type: KeyType, first: u64, last: u64) -> Self {
        let (low, high) = key_type.range();
        let (first, last) = (first.max(low), last.min(high));
        Self { intervals: if first <= last { vec![(first, last)] } else { Vec::new() }, ..Self::none(key_type) }
    }

    /// The integers within `low..=high`.
    pub fn integers(key_type: KeyType, low: i128, high: i128) -> Self {
        Self { intervals: key_type.integers(low, high).into_iter().collect(), ..Self::none(key_type) }
    }

    /// The values for which `value comparison bound` holds as in IEEE 754; the bound is not rounded to the
    /// column's type.
    pub fn compared(key_type: KeyType, comparison: Comparison, bound: f64) -> Self {
        let (low, high) = key_type.range();
        let before = |edge: Option<u64>| match edge {
            None => (!bound.is_nan()).then_some((low, high)),
            Some(edge) => edge.checked_sub(1).filter(|last| *last >= low).map(|last| (low, last)),
        };
        let from = |edge: Option<u64>| edge.map(|edge| (edge, high));
        let interval = match comparison {
            Comparison::Less => before(key_type.at_least(bound)),
            Comparison::LessOrEqual => before(key_type.above(bound)),
            Comparison::Greater => from(key_type.above(bound)),
            Comparison::GreaterOrEqual => from(key_type.at_least(bound)),
            Comparison::Equal => match (from(key_type.at_least(bound)), before(key_type.above(bound))) {
                (Some((first, _)), Some((_, last))) if first <= last => Some((first, last)),
                _ => None,
            },
            Comparison::NotEqual => return Self::compared(key_type, Comparison::Equal, bound).not(),
        };
        Self { intervals: interval.into_iter().collect(), ..Self::none(key_type) }
    }

    /// How its values are ordered.
    pub fn key_type(&self) -> KeyType {
        self.key_type
    }
    /// First and last key of each interval, rising and disjoint.
    pub fn intervals(&self) -> &[(u64, u64)] {
        &self.intervals
    }
    /// Whether NaN belongs to it.
    pub fn has_nan(&self) -> bool {
        self.nan
    }
    /// Whether null belongs to it.
    pub fn has_null(&self) -> bool {
        self.null
    }
    /// The same with null, or without.
    pub fn with_null(self, null: bool) -> Self {
        Self { null, ..self }
    }
    /// Whether a key belongs to it.
    pub fn contains(&self, key: u64) -> bool {
        let after = self.intervals.partition_point(|(first, _)| *first <= key);
        after.checked_sub(1).and_then(|place| self.intervals.get(place)).is_some_and(|(_, last)| key <= *last)
    }
    /// Whether a value belongs to it: its key, `None` for NaN.
    pub fn contains_value(&self, key: Option<u64>) -> bool {
        key.map_or(self.nan, |key| self.contains(key))
    }

    /// The values that do not belong to it. Null stays out, as `not null` is null; see [`ValueSet::with_null`].
    #[expect(clippy::should_implement_trait, reason = "named like `and` and `or`, which have no operators of these names")]
    pub fn not(self) -> Self {
        let (low, high) = self.key_type.range();
        let mut intervals = Vec::with_capacity(self.intervals.len() + 1);
        let mut next = Some(low);
        for (first, last) in &self.intervals {
            if let Some(start) = next.filter(|start| start < first) {
                intervals.push((start, first - 1));
            }
            next = last.checked_add(1);
        }
        if let Some(start) = next.filter(|start| *start <= high) {
            intervals.push((start, high));
        }
        let nan = !self.nan && matches!(self.key_type, KeyType::Float(_));
        Self { key_type: self.key_type, intervals, nan, null: false }
    }

    /// The values of both.
    pub fn and(self, other: &Self) -> Self {
        let mut intervals = Vec::new();
        for (first, last) in &self.intervals {
            let begin = other.intervals.partition_point(|(_, end)| end < first);
            let touching = other.intervals.iter().skip(begin).take_while(|(start, _)| start <= last);
            intervals.extend(touching.map(|(start, end)| (*start.max(first), *end.min(last))));
        }
        Self { key_type: self.key_type, intervals, nan: self.nan && other.nan, null: self.null && other.null }
    }

    /// The values of either.
    pub fn or(self, other: &Self) -> Self {
        Self::any(self.key_type, [self, other.clone()])
    }

    /// The values of any of them.
    pub fn any(key_type: KeyType, sets: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::none(key_type);
        for set in sets {
            all.intervals.extend(set.intervals);
            all.nan |= set.nan;
            all.null |= set.null;
        }
        all.intervals.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::with_capacity(all.intervals.len());
        for (first, last) in all.intervals {
            match merged.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
                _ => merged.push((first, last)),
            }
        }
        Self { intervals: merged, nan: all.nan, null: all.null, key_type }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set() -> impl Strategy<Value = ValueSet> {
        proptest::collection::vec((any::<u8>(), any::<u8>()), 0..5).prop_map(|pairs| {
            pairs
                .into_iter()
                .fold(ValueSet::none(KeyType::Unsigned(1)), |set, (a, b)| set.or(&ValueSet::keys(KeyType::Unsigned(1), a.min(b).into(), a.max(b).into())))
        })
    }

    proptest! {
        #[test]
        fn sets_combine_as_their_members_do(a in set(), b in set()) {
            let (both, either, other) = (a.clone().and(&b), a.clone().or(&b), a.clone().not());
            for key in 0..=255u64 {
                prop_assert_eq!(both.contains(key), a.contains(key) && b.contains(key));
                prop_assert_eq!(either.contains(key), a.contains(key) || b.contains(key));
                prop_assert_eq!(other.contains(key), !a.contains(key));
            }
            for set in [&both, &either, &other] {
                prop_assert!(set.intervals().windows(2).all(|pair| pair[0].1 + 1 < pair[1].0 || set == &both));
            }
        }
        #[test]
        fn a_comparison_is_that_of_ieee(values in proptest::collection::vec(any::<f32>(), 1..20), bound in any::<f64>()) {
            use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
            let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE, 100.0256];
            let bounds = [bound, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 100.0256];
            for value in values.iter().copied().chain(special) {
                for bound in bounds.into_iter().chain([f64::from(value)]) {
                    let key = (!value.is_nan()).then(|| u64::from(crate::order_key::float32(value)));
                    let holds = |comparison| ValueSet::compared(KeyType::Float(4), comparison, bound).contains_value(key);
                    let wide = f64::from(value);
                    prop_assert_eq!(holds(Less), wide < bound);
                    prop_assert_eq!(holds(LessOrEqual), wide <= bound);
                    prop_assert_eq!(holds(Greater), wide > bound);
                    prop_assert_eq!(holds(GreaterOrEqual), wide >= bound);
                    prop_assert_eq!(holds(Equal), wide == bound);
                    prop_assert_eq!(holds(NotEqual), wide != bound, "{} != {}", wide, bound);
                }
            }
        }
    }
}
