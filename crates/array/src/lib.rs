//! The data model of HDF5 without any I/O: dataspaces, selections, chunk grids, datatypes, attributes
//! and element values.
//!
//! `formats` fills these types from files, and `columns` converts them to Arrow.
#![forbid(unsafe_code)]
#![deny(clippy::missing_errors_doc)]

mod attribute;
mod axis_runs;
mod cancellation;
mod chunk_buffer;
mod chunk_grid;
mod dataspace;
mod datatype;
mod elements;
mod envelope;
mod error;
pub mod interleave;
pub mod interruption;
pub mod name;
mod planes;
mod region;
mod region_runs;
mod scatter;
mod selection;
pub mod shown;
mod stored_reference;
mod stored_selection;
pub mod suggest;

pub use attribute::Attribute;
pub use axis_runs::{AxisRuns, Run};
pub use cancellation::Cancellation;
pub use chunk_buffer::{Arrangement, ChunkBuffer, DecodedChunk};
pub use chunk_grid::ChunkGrid;
pub use dataspace::{Dataspace, MAX_NDIM};
pub use datatype::{ByteOrder, CharacterSet, Datatype, EnumMember, FloatFormat, FloatLayout, Mantissa, Member, ReferenceKind, StringPadding, TimeEncoding};
pub use elements::{Elements, HeapObjects, HeapReference};
pub use envelope::Envelope;
pub use error::{Error, ErrorKind, Result};
pub use planes::join_planes;
pub use region::Region;
pub use region_runs::{copy_region, region_runs};
pub use scatter::{Placement, scatter};
pub use selection::{Axis, Selection};
pub use stored_reference::{ReferenceTarget, ReferencedPart, StoredReference};
pub use stored_selection::{HyperslabAxis, StoredSelection};
