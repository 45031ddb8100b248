//! Goes through a whole file: visits its objects, also those without names, makes its chunk index, and finds the restart points of its chunks.

pub(crate) mod chunk_index;
pub(crate) mod referenced;
mod restart_points;
pub(crate) mod visit;
pub(crate) mod walk;
