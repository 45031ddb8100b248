//! The native half of `spark/native`: one file for each `Native*` Java class.
//!
//! What crosses: requests as one JSON text, splits as bytes, record batches as addresses of Arrow C
//! Data structures, errors and panics as exceptions. A handle is a number in a table, so that a
//! handle of something closed is an exception and never a wild pointer.

mod aggregate;
mod boundary;
mod exported;
mod idle_session;
mod losses;
mod native_batch;
mod native_file;
mod native_plan;
mod native_reader;
mod native_write;
mod partition;
mod request;
mod spark_type;
mod table;
mod union;
mod write_request;
mod written_type;
