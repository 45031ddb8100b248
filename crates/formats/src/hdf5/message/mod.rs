//! See the specification.
