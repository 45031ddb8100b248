//! Parked files: of many open files, the most recently used ones are in memory. The others are opened again when they are used.

mod file;
mod pool;
mod state;
mod storage;

pub(crate) use file::parkable;
pub(crate) use pool::MIN_PARKED;
