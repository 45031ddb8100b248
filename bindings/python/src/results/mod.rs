//! Results: what native calls return if it has several parts, as frozen Python classes with named attributes.

pub(crate) mod container;
pub(crate) mod counting;
pub(crate) mod index;
pub(crate) mod layout;
pub(crate) mod model;
pub(crate) mod object;
