//! Recovers what damaged HDF5 files hold: truncated ones, those whose writer was killed, and those overwritten in parts.
//!
//! [`recover`] walks what the superblock leads to, looks for objects, links and chunks in the rest of the file, decodes every chunk,
//! and copies what is right into a new file. The [`Recovery`] says what was saved, what was lost, and how sure each is. A value
//! that is lost is the fill value in the new file, and in the report.
#![forbid(unsafe_code)]
#![deny(clippy::exhaustive_enums, clippy::exhaustive_structs, clippy::missing_errors_doc)]

mod certainty;
mod lenient;
mod recover;
mod report;
mod values;

pub use recover::{RecoverOptions, recover};
pub use report::{Certainty, LostPart, RecoveredObject, RecoveredValues, Recovery};
