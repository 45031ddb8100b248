//! Editing existing HDF5 files. Changes of a [`Transaction`] become visible together: after a kill or a power cut at any moment,
//! the file is as before or as after the last commit (decision 29).
#![forbid(unsafe_code)]
#![deny(clippy::missing_errors_doc)]

mod commit;
mod copy;
mod disk;
mod editor;
mod fill;
mod free_space;
mod heap;
mod journal;
mod objects;
mod ranges;
mod savepoint;
mod snapshot;
mod staged;
mod transaction;
mod values;

pub use copy::CopyOptions;
pub use editor::Editor;
pub use hyperslab_formats::hdf5::writer::{NewDataset, NewStorage};
pub use transaction::Transaction;

#[cfg(test)]
mod crash;
#[cfg(test)]
mod crash_objects;
#[cfg(test)]
mod crash_space;
