//! HDF5 and netCDF as Arrow: open a file, read a hyperslab, or plan a table scan, split it, and read
//! its batches. Everything that a binding imports.
//!
//! This crate holds no mechanism of its own. It joins the crates below and makes sessions that know
//! of indexes ([`new_session`]).
#![forbid(unsafe_code)]

mod session;

pub use hyperslab_columns as columns;
pub use hyperslab_index as index;
pub use hyperslab_predicate as predicate;
pub use hyperslab_query as query;
pub use hyperslab_reader::foreign;
pub use hyperslab_scan as scan;
pub use hyperslab_write as write;

pub use hyperslab_array::{
    Attribute, Axis, ByteOrder, Cancellation, CharacterSet, ChunkGrid, Dataspace, Datatype, Elements, EnumMember, Error, ErrorKind, FloatFormat, HeapObjects,
    HeapReference, HyperslabAxis, Member, ReferenceKind, ReferenceTarget, ReferencedPart, Result, Selection, StoredSelection, StringPadding,
};
pub use hyperslab_formats::filter;
pub use hyperslab_formats::{
    Content, Dataset, Dimension, DimensionScale, ExternalFile, FillTime, FilterDescription, Format, Group, Interpretation, Limits, Link, LinkTarget, Object,
    ObjectId, StorageLayout, Tree, VirtualMapping,
};
pub use hyperslab_reader::{Counters, File, Found, MissingSources, PathPolicy, Referenced, Session, SessionOptions, reference_target};
pub use session::{new_session, new_session_with_indexes};
