//! Where a reader finds the Arrow files of a container.

use std::io::{Read, Seek};

use crate::error::Result;

/// An open file.
pub trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// The Arrow files of a container, by name.
pub trait Source {
    /// The container, for messages.
    fn name(&self) -> String;
    /// Opens the file of this name.
    ///
    /// # Errors
    /// If there is no such file, or it cannot be read.
    fn open(&self, name: &str) -> Result<Box<dyn ReadSeek>>;
}
