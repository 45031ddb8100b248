//! Checks HDF5 and netCDF classic files: every structure, checksum, link, reference and chunk; and shows where their bytes are.
//!
//! [`check`] gives a [`Report`] of typed findings. [`stat`] sums up what a file consists of, and what of that is inefficient.
#![forbid(unsafe_code)]
#![deny(clippy::exhaustive_enums, clippy::exhaustive_structs, clippy::missing_errors_doc)]

mod check;
mod classic;
mod classic_stat;
mod damage;
mod finding;
mod links;
mod options;
mod paths;
mod references;
mod report;
mod space;
mod stat_file;
mod sums;
mod values;

pub use check::check;
pub use finding::{Finding, KINDS, Severity};
pub use options::{CheckOptions, CheckProgress};
pub use report::Report;
pub use stat_file::stat;
pub use sums::{Advice, DatasetStat, KindStat, Stat};
