//! Objects of object stores and HTTP servers, read by ranges.
//!
//! Each read of a remote object waits for a round trip, so requests are few and run side by side: the beginning of an object
//! comes with the request that opens it, metadata is fetched in blocks that are kept, and the chunks of a read are requested
//! together before the first of them is decoded. All requests name the version that was opened: if the object is replaced, they
//! fail with `Conflict`.

mod address;
mod answer;
mod blocks;
mod counts;
mod engine;
mod fetch;
mod interrupt;
mod listing;
mod located;
mod object;
mod options;
mod ranges;
mod remote_file;

pub use address::{is_address, shown_address, without_queries};
pub use counts::{RemoteCounts, remote_counts};
pub use interrupt::{current_cancellation, interruptible, set_interrupt_check};
pub use listing::list_objects;
pub use object::RangeReader;
pub use options::StorageOptions;
pub use remote_file::RemoteFile;
