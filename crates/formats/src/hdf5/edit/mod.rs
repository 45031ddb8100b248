//! Editing: changes of structures in an existing file. Parsers read what a change has written, and each structure keeps its address,
//! so nothing else in the file changes.

mod attribute;
mod btree_v1;
mod btree_v2;
mod chunk_records;
mod dataset;
mod dense;
mod entry;
mod extensible_array;
mod file;
mod file_space;
mod fixed_array;
mod fractal_heap;
mod group;
mod header;
mod implicit_chunks;
mod local_heap;
mod object;
mod removal;
mod space;
mod superblock;
mod symbol_table;

pub use attribute::{delete_attribute, set_attribute};
pub use dataset::{DatasetEdit, EditedStorage};
pub use file::FileEdit;
pub use file_space::FileSpace;
pub use group::{insert_link, remove_link};
pub use object::{committed_datatype, count_link, create_dataset, create_datatype, create_group, replace_fill_value, tracks_links};
pub use removal::release_link;
pub use space::{PageKind, Space};
pub use superblock::SuperblockImage;
