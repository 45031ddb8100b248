//! Opens and closes files: local ones, content in memory, files at addresses, files that are being written, and files that other files link to.

pub(crate) mod address;
pub(crate) mod any_format;
pub(crate) mod closing;
pub(crate) mod live_file;
mod open;
pub(crate) mod open_linked;
mod parked;
mod targets;
