//! How objects of the file name other objects: paths, links, and references in elements and attributes.

pub(crate) mod links;
pub(crate) mod object_path;
pub(crate) mod object_references;
pub(crate) mod targets;
