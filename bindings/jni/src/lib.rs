//! The Rust half of `spark/native`, with one file for each `Native*` Java class.
//!
//! Requests cross the boundary as JSON, splits as bytes, record batches as addresses of Arrow C Data structures, and errors
//! and panics as exceptions. Handles are keys of a table, so using a closed handle raises an exception instead of
//! dereferencing a dangling pointer.

mod aggregate;
mod appending;
mod boundary;
mod exported;
mod losses;
mod moving;
mod named_table;
mod native_batch;
mod native_file;
mod native_files;
mod native_names;
mod native_plan;
mod native_reader;
mod native_staged_write;
mod native_write;
mod partition;
mod request;
mod session_pool;
mod shared_chunks;
mod spark_type;
mod table;
mod union;
mod write_request;
mod written_type;
