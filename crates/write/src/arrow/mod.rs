//! Copies a file into a container of Arrow files, as the VOL connector writes them.
//!
//! - `objects`: the objects of a file as objects of a container; `values`: elements as a container stores them; `references`: references there
//! - `convert`: the copy of a whole file

pub(crate) mod convert;
mod objects;
mod references;
mod values;
