//! Reductions: grouped aggregates that are computed on windows of arrays, without record batches and without columns of coordinates.
//!
//! Groups are separable: each index along a dimension has a class, and the group of an element is the combination of the
//! classes of its indexes (the logical queries over arrays of SciHadoop, H5Spark and FastQuery). Whoever asks computes classes
//! and weights from the coordinates, which are short; the arrays themselves are read once, window by window.
//!
//! - [`request`]: what is reduced, and by which groups.
//! - [`expression`]: what is computed of each element before it is reduced, with SQL's rules for NaN and null.
//! - `dimensions`: the columns along dimensions, from which callers make classes.
//! - `elements`: the values of a window by their types, and blocks of them.
//! - `fold`: sums and extremes of a block.
//! - `spans`: which group each element of a run belongs to.
//! - `accumulator`: sums and extremes of all groups.
//! - `quantile`: the values at ranks, found in a few passes.
//! - `known`: what indexes know of a window, so that its values need not be read.
//! - `run`: reads windows in parallel and combines them in an order that does not depend on threads.
//! - `groups`: groups as numbers.
//! - `result`: the groups as a record batch, or as summaries.
//! - `classed`: reduces a plan by classes that callers give.
//! - `classes`: which indexes have equal values.
//! - `split`: the groups of one split by columns along dimensions.

mod accumulator;
mod classed;
mod classes;
pub(crate) mod dimensions;
mod elements;
pub mod expression;
mod fold;
mod groups;
mod known;
mod quantile;
pub mod request;
mod result;
mod run;
mod spans;
pub mod split;
