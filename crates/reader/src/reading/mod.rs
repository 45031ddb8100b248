//! Reads values: hyperslabs of stored and virtual datasets, picked elements, many small objects, and one dataset of each of many files.

mod alike;
pub(crate) mod converted;
mod dataset_read;
#[cfg(test)]
mod gaps;
pub(crate) mod gather;
mod heap_origin;
pub(crate) mod picked;
pub mod read;
pub(crate) mod read_each;
pub(crate) mod stored;
pub(crate) mod value_bytes;
pub mod virtual_dataset;
