//! HDF5, in the terms of its file format specification (version 3.0).
//!
//! Each structure of the specification has a folder or file. [`Source`] reads metadata bytes and [`Cursor`]
//! parses fields from them; nothing else touches raw bytes.

mod attributes;
mod btree;
mod cache_image;
mod checksum;
mod chunk_locator;
mod cursor;
mod dataset;
mod driver;
pub mod edit;
mod embedded;
mod encoder;
mod file;
#[doc(hidden)]
pub mod fuzzing;
mod group;
mod header_blocks;
mod heap;
mod layout;
mod lazy_tree;
mod message;
mod object_header;
mod object_properties;
mod parsed_object;
pub mod recovered;
mod reference;
mod shared_heaps;
mod shared_message_table;
mod shared_messages;
mod source;
mod superblock;
pub mod survey;
mod virtual_dataset;
mod visited;
pub mod writer;

pub use attributes::of_root as root_attributes;
pub(crate) use cursor::Cursor;
pub use embedded::{encode_datatype, encode_selection, parse_datatype, parse_encoded_selection, parse_typed_reference};
pub(crate) use encoder::{Encoder, Widths};
pub use file::Hdf5File;
pub use reference::target as reference_target;
pub(crate) use source::Source;
pub use superblock::{StatedEnd, find_superblock, is_being_written, stated_end};
