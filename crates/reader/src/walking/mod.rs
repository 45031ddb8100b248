//! Goes through a whole file: visits its objects, makes its chunk index, and finds the restart points of its chunks.

pub(crate) mod chunk_index;
mod restart_points;
pub(crate) mod visit;
pub(crate) mod walk;
