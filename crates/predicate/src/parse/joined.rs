//! Combining two conditions with a logical operator.

use super::super::Predicate;
use super::super::value::Operator;

/// A binary operator.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Binary {
    Or,
    Xor,
    And,
    AndNot,
    Test,
    Number(Operator),
}

pub(super) fn joined(left: Predicate, binary: Binary, right: Predicate) -> Predicate {
    // A chain of the same operator is one level of the tree.
    match (binary, left) {
        (Binary::Or, Predicate::Or(parts)) => Predicate::Or(with(parts, right)),
        (Binary::Or, left) => Predicate::Or(vec![left, right]),
        (Binary::Xor, Predicate::Xor(parts)) => Predicate::Xor(with(parts, right)),
        (Binary::Xor, left) => Predicate::Xor(vec![left, right]),
        (Binary::AndNot, left) => joined(left, Binary::And, negate(right, true)),
        (_, Predicate::And(parts)) => Predicate::And(with(parts, right)),
        (_, left) => Predicate::And(vec![left, right]),
    }
}

fn with(mut parts: Vec<Predicate>, last: Predicate) -> Vec<Predicate> {
    parts.push(last);
    parts
}

pub(super) fn single_or(mut parts: Vec<Predicate>, all: fn(Vec<Predicate>) -> Predicate) -> Predicate {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => all(with(parts, last)),
        None => all(parts),
    }
}

pub(super) fn negate(predicate: Predicate, negated: bool) -> Predicate {
    if negated { Predicate::Not(Box::new(predicate)) } else { predicate }
}
