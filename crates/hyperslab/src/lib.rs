//! HDF5 and netCDF as Arrow: open a file, read a hyperslab, or plan a table scan, split it, and read
//! its batches. All that bindings import.
#![forbid(unsafe_code)]

mod cancellation;
mod chunk_cache;
pub mod columns;
mod counters;
mod file;
pub mod foreign;
#[cfg(test)]
mod gaps;
mod heap_salt;
pub mod index;
mod neighbours;
pub mod query;
mod read;
mod reference;
mod reference_text;
pub mod scan;
mod session;
mod shown;
mod suggest;
mod values;
mod virtual_dataset;
pub mod write;

pub use cancellation::Cancellation;
pub use counters::Counters;
pub use file::{File, Found};
pub use hyperslab_array::{
    Attribute, Axis, ByteOrder, CharacterSet, ChunkGrid, Dataspace, Datatype, Elements, EnumMember, Error, ErrorKind,
    FloatFormat, HeapObjects, HeapReference, Member, HyperslabAxis, ReferenceKind, ReferenceTarget, ReferencedPart, Result, Selection, StoredSelection,
    StringPadding,
};
pub use hyperslab_formats::{
    Content, Dataset, Dimension, DimensionScale, ExternalFile, FillTime, FilterDescription, Format, Group, Interpretation, Limits, Link,
    LinkTarget, Object, ObjectId, StorageLayout, Tree, VirtualMapping,
};
pub use hyperslab_formats::filter;
pub use reference::{Referenced, reference_target};
pub use neighbours::{MissingSources, PathPolicy};
pub use session::{Session, SessionOptions};
