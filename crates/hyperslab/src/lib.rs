//! HDF5 and netCDF as Arrow: open a file, read a hyperslab, or plan a table scan, split it, and read
//! its batches. Everything that a binding imports.
//!
//! This crate holds no mechanism of its own. It joins the crates below and makes sessions that know
//! of indexes ([`new_session`]).
//!
//! # Write, open and read
//!
//! A [`write::FileWriter`] writes one HDF5 file. A [`Session`] opens files, and [`File::read`] reads a [`Selection`].
//!
//! ```
//! # fn main() -> hyperslab::Result<()> {
//! use hyperslab::write::{DatasetDefinition, Existing, FileWriter, Region, no_heap};
//! use hyperslab::{Axis, ByteOrder, Cancellation, Dataspace, Datatype, Selection, SessionOptions, new_session};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("x.h5");
//! let session = new_session(SessionOptions::default())?;
//!
//! let mut writer = FileWriter::create(&path, Existing::Replace, None, &session)?;
//! let bytes_of_numbers = Datatype::integer(1, false, ByteOrder::Little);
//! writer.create_dataset("/x", DatasetDefinition::new(bytes_of_numbers, Dataspace::fixed(vec![2, 3])))?;
//! writer.write("/x", &Region::all(&[2, 3]), &[0, 1, 2, 3, 4, 5], &no_heap)?;
//! writer.finish(Existing::Replace)?;
//!
//! let found = session.open(&path)?.find("/x")?;
//! let last_column = Selection::new(vec![Axis::all(2), Axis::range(2, 3)], &[2, 3])?;
//! let read = found.file.read(found.object, &last_column, &Cancellation::new())?;
//! assert_eq!(read.bytes, [2, 5]);
//! # Ok(())
//! # }
//! ```
//!
//! # Scan, index and query
//!
//! A [`scan::Plan`] reads a table with a [`predicate::Predicate`]; an [`index::IndexPlan`] builds value indexes, which scans and
//! queries use by themselves; a [`query::Query`] applies a condition to groups of arrays.
//!
//! ```
//! # fn main() -> hyperslab::Result<()> {
//! # use hyperslab::write::{DatasetDefinition, Existing, FileWriter, Region, no_heap};
//! # use hyperslab::{ByteOrder, Dataspace, Datatype};
//! use hyperslab::index::{IndexPlan, IndexRequest, commit};
//! use hyperslab::predicate::Predicate;
//! use hyperslab::query::{Query, QueryRequest};
//! use hyperslab::scan::{Plan, ScanRequest};
//! use hyperslab::{Cancellation, SessionOptions, new_session};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("x.h5");
//! # let session = new_session(SessionOptions::default())?;
//! # let mut writer = FileWriter::create(&path, Existing::Replace, None, &session)?;
//! # writer.create_dataset("/x", DatasetDefinition::new(Datatype::integer(1, false, ByteOrder::Little), Dataspace::fixed(vec![6])))?;
//! # writer.write("/x", &Region::all(&[6]), &[0, 1, 2, 3, 4, 5], &no_heap)?;
//! # writer.finish(Existing::Replace)?;
//!
//! let now = Cancellation::new();
//! let request = ScanRequest::new("/").with_predicate(Some(Predicate::parse("x > 3")?));
//! let plan = Plan::new(&[session.open(&path)?], &request)?;
//! assert_eq!(plan.count(&now)?, 2);
//! assert!(plan.explain().contains("no index answers the condition"));
//!
//! let indexes = IndexPlan::new(&[session.open(&path)?], &IndexRequest::new(vec!["/x".to_owned()]), &now)?;
//! let built = indexes.tasks(1).iter().map(|task| task.run(&session, &now, &|_| ())).collect::<hyperslab::Result<Vec<_>>>()?;
//! commit(&built)?;
//!
//! let session = new_session(SessionOptions::default())?;
//! let query = Query::new(&[session.open(&path)?], &QueryRequest::new("/", Some("x > 3".to_owned())))?;
//! assert!(query.explain()?.contains("on x: 1 of 1 blocks left"));
//! assert_eq!(query.positions(&now)?, [[4, 5]]);
//! # Ok(())
//! # }
//! ```
//!
//! # Data models
//!
//! [`models::recognize`] says what a file means; a [`scan::ScanRequest`] with a model reads one of its tables.
//!
//! ```
//! # fn main() -> hyperslab::Result<()> {
//! # use hyperslab::write::{DatasetDefinition, Existing, FileWriter, Region, no_heap};
//! # use hyperslab::{ByteOrder, Cancellation, Dataspace, Datatype, SessionOptions, new_session};
//! use hyperslab::models::recognize;
//! use hyperslab::predicate::Predicate;
//! use hyperslab::scan::{Plan, ScanRequest};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("x.h5");
//! # let session = new_session(SessionOptions::default())?;
//! # let mut writer = FileWriter::create(&path, Existing::Replace, None, &session)?;
//! # for step in 0..3u8 {
//! #     let name = format!("/Step#{step}/x");
//! #     writer.create_dataset(&name, DatasetDefinition::new(Datatype::integer(1, false, ByteOrder::Little), Dataspace::fixed(vec![2])))?;
//! #     writer.write(&name, &Region::all(&[2]), &[step, step + 1], &no_heap)?;
//! # }
//! # writer.finish(Existing::Replace)?;
//!
//! let file = session.open(&path)?;
//! assert_eq!(recognize(&file)?[0].model, "h5part");
//! let request = ScanRequest::new("particles").with_predicate(Some(Predicate::parse("step > 0 and x = 2")?));
//! assert_eq!(Plan::new(&[file], &request)?.count(&Cancellation::new())?, 2);
//! # Ok(())
//! # }
//! ```
//!
//! # Write with many tasks
//!
//! A [`write::WritePlan`] is plain data that tasks on other machines decode; the commit makes one file of their fragments.
//!
//! ```
//! # fn main() -> hyperslab::Result<()> {
//! use hyperslab::write::{Commit, DatasetDefinition, Extent, Region, WriteMode, WritePlan, no_heap};
//! use hyperslab::{ByteOrder, Cancellation, Dataspace, Datatype, Selection, SessionOptions, new_session};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("x.h5");
//! let session = new_session(SessionOptions::default())?;
//! let plan = WritePlan::new(&path, WriteMode::Create, None)?;
//! let mut fragments = Vec::new();
//! for index in 0..2u8 {
//!     let mut task = plan.task(index.into(), &session)?;
//!     let mine = Region { start: vec![u64::from(index) * 2], count: vec![2] };
//!     let definition = DatasetDefinition::new(Datatype::integer(1, false, ByteOrder::Little), Dataspace::fixed(vec![4]));
//!     task.create_dataset("/x", definition, Extent::Region(mine.clone()))?;
//!     task.write("/x", &mine, &[index, index], &no_heap)?;
//!     fragments.push(task.finish()?);
//! }
//! assert!(matches!(plan.commit(&fragments)?, Commit::Committed(_)));
//!
//! let found = session.open(&path)?.find("/x")?;
//! assert_eq!(found.file.read(found.object, &Selection::all(&[4]), &Cancellation::new())?.bytes, [0, 0, 1, 1]);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![deny(clippy::exhaustive_enums, clippy::exhaustive_structs, clippy::missing_errors_doc)]

mod session;

pub use hyperslab_check as check;
pub use hyperslab_columns as columns;
pub use hyperslab_edit as edit;
pub use hyperslab_index as index;
pub use hyperslab_models as models;
pub use hyperslab_predicate as predicate;
pub use hyperslab_query as query;
pub use hyperslab_reader::foreign;
pub use hyperslab_recover as recover;
pub use hyperslab_scan as scan;
pub use hyperslab_write as write;

/// Where bytes lie, and what was measured on this machine.
pub mod storage {
    pub use hyperslab_storage::{
        ChunkIndexPlace, OpenedRanges, Output, Profile, ProfileSettings, RangeReader, RangesVersion, RemoteCounts, RemoteOpener, StorageOptions, StripedPart,
        TargetLayout, default_profile_path, is_address, list_objects, machine, profile, remote_counts, shown_address, take_cache_notices, target_layout,
        without_queries,
    };
}

pub use hyperslab_array::{
    Attribute, Axis, ByteOrder, Cancellation, CharacterSet, ChunkGrid, Dataspace, Datatype, Elements, EnumMember, Error, ErrorKind, FloatFormat, FloatLayout,
    HeapObjects, HeapReference, HyperslabAxis, Mantissa, Member, ReferenceKind, ReferenceTarget, ReferencedPart, Result, Selection, StoredSelection,
    StringPadding, TimeEncoding, interruption, name, suggest,
};
pub use hyperslab_formats::filter;
pub use hyperslab_formats::hdf5::edit::FileSpace;
pub use hyperslab_formats::hdf5::writer::widened_datatype;
pub use hyperslab_formats::{
    AllocationTime, Attributes, ChunkLocation, ChunkSource, CreationOrder, Dataset, Dimension, DimensionScale, ExternalFile, FillTime, FilterDescription,
    Format, Interpretation, Limits, Link, LinkTarget, Links, Object, ObjectId, ObjectProperties, StorageLayout, VirtualMapping,
};
pub use hyperslab_reader::{
    ChunkCache, Counters, EachRead, File, FileVersion, Found, Gathered, MadeChunkIndex, Mask, MissingSources, PathPolicy, Pick, Picked, Referenced,
    SCAN_CACHE_BYTES, Session, SessionOptions, Visit, Walk, Walked, decoding_memory_bound, reference_target,
};
pub use session::{extensions, new_session, new_session_with_indexes};
