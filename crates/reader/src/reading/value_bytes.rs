//! Value bytes: where a file has the values of a dataset in one piece, as they are in memory, so that they can be mapped.

use hyperslab_array::{Error, Result, Selection};
use hyperslab_formats::{ChunkSource, Dataset, ObjectId, StorageLayout};

use crate::File;

/// The values of a dataset as one run of bytes of a file.
#[derive(Debug)]
#[non_exhaustive]
pub struct ValueBytes {
    /// The file as it was opened, whatever its path leads to now.
    pub file: std::fs::File,
    /// First byte.
    pub offset: u64,
    /// Number of bytes: elements in row-major order, each as in the file.
    pub length: u64,
}

impl File {
    /// The run of bytes that holds all values of a dataset. There must be some.
    ///
    /// # Errors
    /// `Unsupported`, with the reason, if there is no such run: chunks, filters, values in the object header, in several files or
    /// in memory, values that were never written. `Corrupt` if the file ends before them.
    pub fn value_bytes(&self, id: ObjectId) -> Result<ValueBytes> {
        self.check_open()?;
        let dataset = self.dataset(id)?;
        self.run_of(id, &dataset).map_err(|error| self.place(id, error))
    }

    fn run_of(&self, id: ObjectId, dataset: &Dataset) -> Result<ValueBytes> {
        let no = |why: &str| Error::unsupported(format!("the values cannot be mapped: {why}"));
        if let Some(refusal) = &dataset.refusal {
            return Err(refusal.clone());
        }
        match dataset.storage {
            StorageLayout::Contiguous | StorageLayout::External if dataset.filters.is_empty() && self.array_file().is_stored() => {}
            StorageLayout::Compact => return Err(no("they are in the object header (compact layout)")),
            StorageLayout::Virtual => return Err(no("they are in other datasets (virtual layout)")),
            _ => return Err(no("they are stored in chunks")),
        }
        let mut run: Option<(u64, u64)> = None;
        for chunk in self.array_file().locate(id, &Selection::all(dataset.dataspace.shape()))?.chunks {
            let ChunkSource::Stored { offset, length, .. } = chunk.source else { return Err(no("some of them were never written")) };
            run = match run {
                None => Some((offset, length)),
                Some((first, known)) if first.checked_add(known) == Some(offset) => Some((first, known + length)),
                Some(_) => return Err(no("other values lie between them (records of netCDF-3)")),
            };
        }
        let (offset, length) = run.ok_or_else(|| no("there are none"))?;
        if Some(length) != dataset.value_bytes() {
            return Err(no("some of them were never written"));
        }
        let storage = match dataset.storage {
            StorageLayout::External => self.external_storage(id, &dataset.external_files)?,
            _ => self.array_file().storage().clone(),
        };
        let (file, offset) = storage.file_with(offset, length)?.ok_or_else(|| no("they are in several files, or in memory"))?;
        Ok(ValueBytes { file, offset, length })
    }
}
