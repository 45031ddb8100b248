//! Appends to an existing file: copies it into a new file that replaces it when complete.

use std::path::Path;

use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_formats::Object;
use hyperslab_reader::Session;
use hyperslab_storage::Existing;

use super::dataset::CopyCounts;
use super::objects::{CopyOptions, copy_objects};
use crate::file::file_writer::FileWriter;
use crate::file::reading_session::reading_session;
use crate::file::replaced_file::ReplacedFile;

impl FileWriter {
    /// Begins a file with the contents of `target` that replaces it on [`FileWriter::finish`]. Chunks are copied without
    /// decoding. If an error occurs or the process dies, the old file is unchanged.
    ///
    /// # Errors
    /// `NotFound` or `Io` if the file cannot be read; `Conflict` if another program has it open; `Unsupported` for a
    /// file that cannot be appended to.
    pub fn continued(target: &Path, alignment: Option<u64>, session: &Session) -> Result<Self> {
        let located = |error: Error| error.in_file(target.display().to_string());
        let base = ReplacedFile::lock(target)?;
        let file = reading_session()?.open(target)?;
        for walked in file.walk() {
            let path = &walked.path;
            if let Object::Dataset(dataset) = walked.object? {
                if !dataset.virtual_mappings.is_empty() {
                    return Err(located(
                        Error::unsupported("appending to a file whose values are in other files: append with a plan, or fuse it first").at_object(path),
                    ));
                }
                if !dataset.external_files.is_empty() {
                    return Err(located(Error::unsupported("appending to a file with external raw data").at_object(path)));
                }
            }
        }
        let mut out = Self::create(target, Existing::Replace, alignment, session)?;
        let mut options = CopyOptions { grows: true, ..CopyOptions::default() };
        copy_objects(&file, &mut out, &Cancellation::new(), &mut CopyCounts::default(), &mut options, &mut |_, _| {}).map_err(located)?;
        out.base = Some(base);
        Ok(out)
    }
}
