//! The set of values that match a bound predicate on one column, which indexes can look up.
//!
//! Must agree with `evaluate`. A test that this module does not know yields `None` and is evaluated instead.

use std::cmp::Ordering;

use super::Comparison;
use super::bind::Bound;
use super::column::ColumnPath;
use super::value_test::Test;
use crate::{KeyType, ValueSet};

/// The non-null values that match, and the result for null (which may be null).
struct Outcome {
    values: ValueSet,
    null: Option<bool>,
}

/// Whether only the column called `name` itself is tested.
pub(super) fn is_of_column(bound: &Bound, name: &str) -> bool {
    let this = |path: &ColumnPath| matches!(path.0.as_slice(), [only] if only == name);
    match bound {
        Bound::And(parts) | Bound::Or(parts) | Bound::Xor(parts) => parts.iter().all(|part| is_of_column(part, name)),
        Bound::Not(part) => is_of_column(part, name),
        Bound::IsNull(path) | Bound::Test(path, _) | Bound::Like(path, _) | Bound::Match(path, _) | Bound::In(path, _) => this(path),
        Bound::Columns(left, _, right) => this(left) && this(right),
        Bound::Computed(number, _) => number.paths().all(this),
        Bound::Numbers(left, _, right) => left.paths().chain(right.paths()).all(this),
    }
}

/// The values for which `bound` is true, including null if it is true for null.
pub(super) fn value_set(bound: &Bound, key_type: KeyType) -> Option<ValueSet> {
    let Outcome { values, null } = outcome(bound, key_type)?;
    Some(values.with_null(null == Some(true)))
}

fn outcome(bound: &Bound, key_type: KeyType) -> Option<Outcome> {
    Some(match bound {
        Bound::And(parts) => {
            let outcomes = parts.iter().map(|part| outcome(part, key_type)).collect::<Option<Vec<_>>>()?;
            let null = match () {
                () if outcomes.iter().any(|part| part.null == Some(false)) => Some(false),
                () if outcomes.iter().all(|part| part.null == Some(true)) => Some(true),
                () => None,
            };
            // The intersection: the complement of the union of complements.
            let outside = ValueSet::any(key_type, outcomes.into_iter().map(|part| part.values.not()));
            Outcome { values: outside.not(), null }
        }
        Bound::Or(parts) => {
            let outcomes = parts.iter().map(|part| outcome(part, key_type)).collect::<Option<Vec<_>>>()?;
            let null = match () {
                () if outcomes.iter().any(|part| part.null == Some(true)) => Some(true),
                () if outcomes.iter().all(|part| part.null == Some(false)) => Some(false),
                () => None,
            };
            Outcome { values: ValueSet::any(key_type, outcomes.into_iter().map(|part| part.values)), null }
        }
        Bound::Not(part) => {
            let Outcome { values, null } = outcome(part, key_type)?;
            Outcome { values: values.not(), null: null.map(|null| !null) }
        }
        Bound::In(_, set) => Outcome { values: set.value_set(key_type)?, null: None },
        Bound::IsNull(_) => Outcome { values: ValueSet::none(key_type), null: Some(true) },
        Bound::Test(_, test) => Outcome { values: tested(test, key_type)?, null: None },
        // Every number equals itself, and NaN does not: so Spark's order is said, where NaN is the largest.
        Bound::Columns(left, comparison, right) if left.0 == right.0 => {
            let numbers = ValueSet::compared(key_type, Comparison::LessOrEqual, f64::INFINITY);
            let nan = ValueSet::all(key_type).and(&numbers.clone().not());
            let none = ValueSet::none(key_type);
            let equal = if comparison.holds(Some(Ordering::Equal)) { numbers } else { none.clone() };
            let unordered = if comparison.holds(None) { nan } else { none };
            Outcome { values: equal.or(&unordered), null: None }
        }
        Bound::Xor(_) | Bound::Columns(..) | Bound::Computed(..) | Bound::Numbers(..) | Bound::Like(..) | Bound::Match(..) => return None,
    })
}

fn tested(test: &Test, key_type: KeyType) -> Option<ValueSet> {
    Some(match test {
        Test::Between { low, high } => ValueSet::integers(key_type, *low, *high),
        Test::Outside { low, high } => ValueSet::integers(key_type, *low, *high).not(),
        Test::Float(comparison, literal) => ValueSet::compared(key_type, *comparison, *literal),
        Test::Boolean(comparison, literal) => {
            let passing = [false, true].into_iter().filter(|value| comparison.holds(Some(value.cmp(literal))));
            passing.fold(ValueSet::none(key_type), |set, value| set.or(&ValueSet::keys(key_type, value.into(), value.into())))
        }
        Test::Text(..) => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float32Array, Int64Array, RecordBatch, UInt64Array};
    use arrow_schema::{Field, Schema};
    use proptest::prelude::*;

    use super::super::Predicate;
    use crate::Condition;

    fn text() -> impl Strategy<Value = String> {
        let literal = prop_oneof![
            Just("0".to_owned()),
            Just("-0.0".to_owned()),
            Just("nan".to_owned()),
            Just("100.0256".to_owned()),
            Just("1e300".to_owned()),
            Just("9223372036854775807".to_owned()),
            Just("18446744073709551615".to_owned()),
            Just("-2.5".to_owned()),
            (-20i64..20).prop_map(|n| n.to_string()),
        ];
        let test = (prop_oneof![Just("<"), Just("<="), Just(">"), Just(">="), Just("=="), Just("!=")], literal.clone())
            .prop_map(|(comparison, literal)| format!("x {comparison} {literal}"));
        let leaf = prop_oneof![
            4 => test,
            1 => Just("x is null".to_owned()),
            1 => prop_oneof![Just("<"), Just("<="), Just("=="), Just("!=")].prop_map(|comparison| format!("x {comparison} x")),
            1 => (literal.clone(), literal).prop_map(|(a, b)| format!("x in ({a}, {b})")),
        ];
        leaf.prop_recursive(3, 12, 2, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} and {b})")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} or {b})")),
                inner.prop_map(|a| format!("(not {a})")),
            ]
        })
    }

    fn agree(text: &str, array: ArrayRef) -> Result<(), TestCaseError> {
        let fail = |e: hyperslab_array::Error| TestCaseError::fail(e.to_string());
        let field = Arc::new(Field::new("x", array.data_type().clone(), true));
        let schema = Arc::new(Schema::new(vec![field.clone()]));
        let bound = Predicate::parse(text).and_then(|p| p.bind(&schema)).map_err(fail)?;
        let batch = RecordBatch::try_new(schema, vec![array.clone()]).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let wanted = bound.evaluate(&batch).map_err(fail)?;
        let condition = Condition::new(&bound, &field).ok_or_else(|| TestCaseError::fail("no condition"))?;
        prop_assert_eq!(&condition.test(&array).map_err(fail)?, &wanted);
        let values = condition.values().ok_or_else(|| TestCaseError::fail("no value set"))?;
        let by_keys = Condition::of_values(values.clone()).test(&array).map_err(fail)?;
        prop_assert_eq!(&by_keys, &wanted, "{}", text);
        Ok(())
    }

    proptest! {
        #[test]
        fn sets_of_values_agree_with_evaluation(text in text(), floats in proptest::collection::vec(proptest::option::of(any::<f32>()), 0..20), integers in proptest::collection::vec(proptest::option::of(-25i64..25), 0..20)) {
            let special = [Some(f32::NAN), Some(0.0), Some(-0.0), Some(f32::INFINITY), Some(100.0256), Some(-2.5), None];
            agree(&text, Arc::new(Float32Array::from_iter(floats.into_iter().chain(special))))?;
            agree(&text, Arc::new(Int64Array::from_iter(integers.iter().copied().chain([Some(i64::MIN), Some(i64::MAX)]))))?;
            let unsigned = integers.iter().map(|n| n.map(|n| n.unsigned_abs()));
            agree(&text, Arc::new(UInt64Array::from_iter(unsigned.chain([Some(u64::MAX), Some(1 << 63), None]))))?;
        }
    }
}
