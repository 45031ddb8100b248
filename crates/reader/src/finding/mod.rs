//! Finds and describes the objects of a file: by path, by reference, and with their attributes, links and dimensions.

mod dataset;
pub(crate) mod find;
mod objects;
mod path_of;
pub(crate) mod reference;
mod reference_text;
pub(crate) mod stored_references;
