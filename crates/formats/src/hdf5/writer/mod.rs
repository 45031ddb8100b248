//! Writing: a file's metadata from a description of its objects.
//!
//! Values come first: the caller writes chunks, contiguous values and heaps ([`HeapWriter`],
//! [`store_values`]) anywhere after the superblock and records their addresses. [`encode_metadata`] then plans
//! the address of every structure and returns the bytes of all metadata, packed, for one write after the
//! values. [`encode_superblock`] comes last: without it, the file is not an HDF5 file.

mod address_width;
mod dense;
mod description;
mod fill_objects;
mod library_version;
mod metadata;
mod pages;
mod references;
mod space;
mod target_part;
mod values;

pub use super::heap::HeapWriter;
pub use address_width::widened_datatype;
pub(crate) use address_width::{narrow_refusal, with_addresses};
pub(crate) use dense::DenseStorage;
pub use description::{NewAttribute, NewContent, NewDataset, NewFile, NewLink, NewObject, NewProperties, NewStorage, NewTarget, StoredChunk, TargetObject};
pub use fill_objects::FillObjects;
pub use library_version::LibraryVersion;
pub use metadata::{EncodedMetadata, SUPERBLOCK_BYTES, encode_metadata, encode_superblock};
pub use pages::{PageKind, Pages};
pub use references::{EachReference, Pointed, Sequences, check_references, each_nested_reference, each_reference, number_references, replace_references};
pub(crate) use space::Space;
pub use target_part::TargetPart;
pub use values::{place_references, place_values, store_values, store_values_with, stored_offsets, stored_values, values_in_file, widened};

use hyperslab_array::{Dataspace, Datatype, Result, StoredSelection};

/// A datatype as its header message: HDF5's own serialised form.
///
/// # Errors
/// `Unsupported` or `InvalidInput` for a datatype that HDF5 cannot store.
pub fn encode_datatype(datatype: &Datatype) -> Result<Vec<u8>> {
    super::message::datatype::encode(datatype)
}

/// The datatype of [`encode_datatype`].
///
/// # Errors
/// `Corrupt`, `Unsupported` or `LimitExceeded` for bytes that are not one.
pub fn parse_datatype(bytes: &[u8]) -> Result<Datatype> {
    let limits = crate::Limits::default();
    let budget = crate::budget::Budget::new(bytes.len() as u64, limits.metadata_bytes);
    super::message::datatype::parse(&mut super::Cursor::new(bytes, 0, 8, 8, &budget), limits.depth)
}

/// A dataspace as its header message.
///
/// # Errors
/// `Unsupported` for more dimensions than HDF5 has.
pub fn encode_dataspace(dataspace: &Dataspace) -> Result<Vec<u8>> {
    super::message::dataspace::encode(dataspace)
}

/// The dataspace of [`encode_dataspace`].
///
/// # Errors
/// `Corrupt` or `Unsupported` for bytes that are not one.
pub fn parse_dataspace(bytes: &[u8]) -> Result<Dataspace> {
    let budget = crate::budget::Budget::new(bytes.len() as u64, crate::Limits::default().metadata_bytes);
    super::message::dataspace::parse(&mut super::Cursor::new(bytes, 0, 8, 8, &budget))
}

/// The selection of [`encode_selection`].
///
/// # Errors
/// `Corrupt` or `LimitExceeded` for bytes that are not one.
pub fn parse_selection(bytes: &[u8]) -> Result<StoredSelection> {
    let budget = crate::budget::Budget::new(bytes.len() as u64, crate::Limits::default().metadata_bytes);
    super::message::selection::parse(&mut super::Cursor::new(bytes, 0, 8, 8, &budget))
}

/// A selection as region references and virtual datasets keep it.
///
/// # Errors
/// `Unsupported` for a selection that HDF5 cannot store.
pub fn encode_selection(selection: &StoredSelection) -> Result<Vec<u8>> {
    let mut encoder = super::Encoder::default();
    super::message::selection::encode(selection, &mut encoder)?;
    Ok(encoder.finish())
}
