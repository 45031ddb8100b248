//! Editing: changes of structures in an existing file. Parsers read what a change has written, and each structure keeps its address,
//! so nothing else in the file changes.

mod attribute;
mod btree_v1;
mod dataset;
mod entry;
mod extensible_array;
mod file;
mod fixed_array;
mod header;
mod space;
mod superblock;

pub use attribute::{delete_attribute, set_attribute};
pub use dataset::{DatasetEdit, EditedStorage};
pub use file::FileEdit;
pub use space::Space;
pub use superblock::SuperblockImage;
