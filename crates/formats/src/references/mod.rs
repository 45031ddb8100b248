//! Chunk references: a JSON document that says where the chunks of Zarr arrays lie in other files, such as kerchunk and
//! VirtualiZarr write.
//!
//! Sources: kerchunk's reference specification, versions 0 and 1 (without generated references), and Zarr's storage
//! specification, version 2, whose metadata the document holds.

mod attributes;
mod chunk_table;
mod document;
mod element;
mod file;
mod metadata;

pub use file::ReferencesFile;

use hyperslab_array::Result;
use hyperslab_storage::Storage;

/// Bytes in which a document of references shows what it is.
const HEAD_BYTES: u64 = 4096;

/// Whether the bytes look like references: a JSON object whose first keys are keys of references or of Zarr's metadata.
pub(crate) fn is_references(storage: &dyn Storage) -> Result<bool> {
    let mut head = vec![0; usize::try_from(storage.len().min(HEAD_BYTES)).unwrap_or_default()];
    storage.read_exact_at(0, &mut head)?;
    let text = String::from_utf8_lossy(&head);
    let signs = ["\"refs\"", "\".zgroup\"", "\".zattrs\"", "\".zmetadata\"", "/.zarray\"", "\"zarr.json\"", "/zarr.json\""];
    Ok(text.trim_start().starts_with('{') && signs.iter().any(|sign| text.contains(sign)))
}
