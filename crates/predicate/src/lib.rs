//! Predicates select rows: parsed from text or a Substrait expression, bound to a schema, evaluated on record batches.
//!
//! docs/queries.md describes the grammar. Conditions combine tests of columns and of values computed from them
//! (arithmetic: `value`, `number`, `compute`). The constants after `in` form a `list`; converted to a column's type, it is
//! a `set` with a hash `lookup`.
#![forbid(unsafe_code)]
#![deny(clippy::exhaustive_enums, clippy::exhaustive_structs, clippy::missing_errors_doc)]

mod bind;
mod bits;
mod bound_predicate;
mod column;
mod column_condition;
mod comparison;
mod compute;
mod constant;
mod date_part;
mod evaluate;
mod expression;
mod key_set;
mod lex;
mod list;
mod literal;
mod lookup;
mod names;
mod number;
pub mod order_key;
mod parse;
mod set;
mod substrait;
mod value;
mod value_set;
mod value_test;
pub mod word;
mod word_test;

pub use bound_predicate::BoundPredicate;
pub use column_condition::Condition;
pub use comparison::Comparison;
pub use expression::Predicate;
pub use key_set::ValueSet;
pub use list::{List, Lists};
pub use literal::Literal;
pub use order_key::KeyType;
pub use value::Value;
pub use word_test::WordTest;
