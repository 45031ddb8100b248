//! The constants after `in`, shared by all copies of a predicate.

use std::sync::{Arc, Mutex};

use arrow_schema::DataType;
use hyperslab_array::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Literal;
use super::number::compared_exactly;
use super::set::Set;
use super::value_test::Test;

/// Named lists that a predicate may refer to: `id in ids`.
pub type Lists = [(String, List)];

/// Constants. Cheap to clone.
#[derive(Debug, Clone)]
pub struct List(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    members: Members,
    /// Sets for column types, cached on first use.
    sets: Mutex<Vec<(DataType, Arc<Set>)>>,
}

#[derive(Debug, Clone, PartialEq)]
enum Members {
    Literals(Vec<Literal>),
    /// Sorted and distinct.
    Integers(Vec<i128>),
    /// Without NaN.
    Floats(Vec<f64>),
}

/// The serialized form.
#[derive(Serialize, Deserialize)]
enum Wire {
    Literals(Vec<Literal>),
    /// The first integer, and the difference of each other one to its predecessor.
    Integers(i64, Vec<u64>),
    /// The bits of floats.
    Floats(Vec<u64>),
}

impl List {
    fn new(members: Members) -> Self {
        Self(Arc::new(Shared { members, sets: Mutex::default() }))
    }

    /// Constants as they were written.
    pub fn literals(literals: Vec<Literal>) -> Self {
        Self::new(Members::Literals(literals))
    }

    /// Integers, compared like constants of digits. Integers outside the range of every column type are dropped.
    pub fn integers(integers: impl IntoIterator<Item = i128>) -> Self {
        let fits = |number: &i128| i64::try_from(*number).is_ok() || u64::try_from(*number).is_ok();
        let mut integers: Vec<i128> = integers.into_iter().filter(fits).collect();
        integers.sort_unstable();
        integers.dedup();
        Self::new(Members::Integers(integers))
    }

    /// Floats, which compare by their exact values. NaN equals nothing.
    pub fn floats(floats: impl IntoIterator<Item = f64>) -> Self {
        Self::new(Members::Floats(floats.into_iter().filter(|float| !float.is_nan()).collect()))
    }

    /// Number of constants.
    pub fn len(&self) -> usize {
        match &self.0.members {
            Members::Literals(literals) => literals.len(),
            Members::Integers(integers) => integers.len(),
            Members::Floats(floats) => floats.len(),
        }
    }

    /// Whether it has no constants.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The constants one by one.
    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = Literal> + '_> {
        match &self.0.members {
            Members::Literals(literals) => Box::new(literals.iter().cloned()),
            Members::Integers(integers) => Box::new(integers.iter().map(|integer| Literal::Number(integer.to_string()))),
            Members::Floats(floats) => Box::new(floats.iter().map(|float| Literal::Number(format!("{float:?}")))),
        }
    }

    /// The floor of each constant; `None` if one of them is not a finite number.
    pub(super) fn floors(&self) -> Option<Vec<i128>> {
        match &self.0.members {
            Members::Integers(integers) => Some(integers.clone()),
            _ => self.iter().map(|literal| Some(literal.place()?.floor)).collect(),
        }
    }

    /// The set for a column of `data_type`; `test` returns the test for equality with a constant.
    pub(super) fn set(&self, data_type: &DataType, test: impl Fn(&Literal) -> Result<Test>) -> Result<Arc<Set>> {
        let known = self.0.sets.try_lock().ok();
        if let Some((_, set)) = known.as_ref().and_then(|sets| sets.iter().find(|(of, _)| of == data_type)) {
            return Ok(set.clone());
        }
        drop(known);
        let set = Arc::new(self.made(data_type, test)?);
        // Never wait: in a forked child, the thread that holds the lock may not exist.
        if let Ok(mut sets) = self.0.sets.try_lock() {
            sets.push((data_type.clone(), set.clone()));
        }
        Ok(set)
    }

    fn made(&self, data_type: &DataType, test: impl Fn(&Literal) -> Result<Test>) -> Result<Set> {
        let exactly = |integer: &i128| Some(*integer as f64).filter(|float| compared_exactly(*integer, *float) == Some(std::cmp::Ordering::Equal));
        let whole = |float: &f64| (float.trunc() == *float && float.abs() < 2f64.powi(100)).then_some(*float as i128);
        Ok(match &self.0.members {
            Members::Integers(integers) if data_type.is_integer() => Set::integers(data_type, integers.clone()),
            Members::Integers(integers) if data_type.is_floating() => Set::floats(integers.iter().filter_map(exactly).collect()),
            Members::Floats(floats) if data_type.is_integer() => Set::integers(data_type, floats.iter().filter_map(whole).collect()),
            Members::Floats(floats) if data_type.is_floating() => Set::floats(floats.clone()),
            _ => Set::of_tests(data_type, self.iter().map(|literal| test(&literal)))?,
        })
    }

    fn wire(&self) -> Result<Wire> {
        Ok(match &self.0.members {
            Members::Literals(literals) => Wire::Literals(literals.clone()),
            Members::Integers(integers) => {
                let beyond = |_| Error::internal("integers of a list that do not fit 64 bits");
                match integers.first().map(|first| i64::try_from(*first)) {
                    Some(Ok(first)) => {
                        let gaps = integers.iter().zip(integers.iter().skip(1)).map(|(low, high)| u64::try_from(high - low).map_err(beyond));
                        Wire::Integers(first, gaps.collect::<Result<_>>()?)
                    }
                    // All of them exceed the largest signed integer.
                    _ => Wire::Literals(self.iter().collect()),
                }
            }
            Members::Floats(floats) => Wire::Floats(floats.iter().map(|float| float.to_bits()).collect()),
        })
    }
}

impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.members == other.0.members
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.wire().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Ok(match Wire::deserialize(deserializer)? {
            Wire::Literals(literals) => Self::literals(literals),
            Wire::Integers(first, gaps) => {
                let sums = gaps.into_iter().scan(i128::from(first), |sum, gap| {
                    *sum = sum.checked_add(gap.into())?;
                    Some(*sum)
                });
                Self::integers(std::iter::once(i128::from(first)).chain(sums))
            }
            Wire::Floats(bits) => Self::floats(bits.into_iter().map(f64::from_bits)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sent(list: &List) -> std::result::Result<List, TestCaseError> {
        let fail = |error: serde_json::Error| TestCaseError::fail(error.to_string());
        serde_json::from_slice(&serde_json::to_vec(list).map_err(fail)?).map_err(fail)
    }

    proptest! {
        #[test]
        fn what_is_sent_arrives(signed in proptest::collection::vec(any::<i64>(), 0..30), unsigned in proptest::collection::vec(any::<u64>(), 0..30), floats in proptest::collection::vec(any::<f64>(), 0..30)) {
            for list in [
                List::integers(signed.iter().copied().map(i128::from)),
                List::integers(unsigned.iter().copied().map(i128::from)),
                List::integers([i64::MIN.into(), u64::MAX.into(), 0]),
                List::floats(floats.iter().copied().chain([f64::INFINITY, -0.0, f64::NAN])),
                List::literals(vec![Literal::Number("1e-3".to_owned()), Literal::Text("é'".to_owned())]),
            ] {
                let (arrived, list): (Vec<Literal>, Vec<Literal>) = (sent(&list)?.iter().collect(), list.iter().collect());
                prop_assert_eq!(arrived, list);
            }
        }
    }
}
