//! Objects of object stores and HTTP servers, read by ranges.
//!
//! Each read of a remote object waits for a round trip, so requests are few and run side by side: the beginning of an object
//! comes with the request that opens it, metadata is fetched in blocks that are kept, and the chunks of a read are requested
//! together before the first of them is decoded. All requests name the version that was opened: if the object is replaced, they
//! fail with `Conflict`.

mod address;
mod answer;
mod aws_profile;
mod blocks;
mod cache_settings;
mod chunk_index;
mod counts;
mod disk_blocks;
mod engine;
mod fetch;
mod fetched;
mod identity;
mod listing;
mod located;
mod object;
mod objects;
mod opener;
mod options;
mod private_folder;
mod range_reader;
mod ranges;
mod recorder;
mod remote_file;
mod upload;
mod version;
mod wait;

pub(crate) use address::scheme;
pub use address::{encoded_name, is_address, shown_address, without_queries};
pub use chunk_index::LocalIndex;
pub use counts::{RemoteCounts, remote_counts};
pub use listing::{ListedObject, list_objects};
pub use objects::{
    FoundObject, ObjectTag, PutCondition, abort_upload, list_files, list_folder, object_name, object_tag, put_object, read_object, remove_objects,
};
pub use opener::{OpenedRanges, RangesVersion, RemoteOpener};
pub use options::StorageOptions;
pub use range_reader::RangeReader;
pub(crate) use ranges::MAX_REQUEST_BYTES;
pub use recorder::{ChunkIndexPlace, Recorder, SavedChunkIndex};
pub use remote_file::RemoteFile;
pub use upload::UPLOAD_NOTE;
pub(crate) use upload::{UploadTarget, check_writable, upload};

/// How often a thread that waits asks whether its caller still wants the answer.
const POLL: std::time::Duration = std::time::Duration::from_millis(50);
