//! Resolves a request to objects, with their rows and columns.

pub(crate) mod along;
pub(crate) mod boundary;
pub(crate) mod builder;
pub(crate) mod chunk_count;
pub(crate) mod column_order;
pub(crate) mod columns;
pub(crate) mod composed;
pub(crate) mod conform;
pub(crate) mod connectivity;
pub(crate) mod definition;
pub(crate) mod definition_arrays;
pub(crate) mod each;
pub(crate) mod elements;
pub(crate) mod file_names;
pub(crate) mod literal;
pub(crate) mod mapping;
pub(crate) mod members;
pub(crate) mod model;
pub(crate) mod nulls;
pub(crate) mod owners;
pub(crate) mod ragged;
pub(crate) mod repeated;
pub(crate) mod resolver;
pub(crate) mod segment;
pub(crate) mod shared_columns;
pub(crate) mod wildcard;
