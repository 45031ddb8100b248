//! The other files that one file has made us open, each once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hyperslab_array::{Error, Result};
use hyperslab_storage::Storage;

/// The files that one file has made us open, each once.
pub(crate) struct LinkedFiles<F> {
    pub files: Mutex<HashMap<PathBuf, F>>,
    pub external: Mutex<HashMap<usize, Arc<dyn Storage>>>,
    salted: Mutex<Vec<F>>,
    /// The folder that the file itself lies in, if it was opened by a symbolic link.
    pub real_folder: OnceLock<Option<PathBuf>>,
}

impl<F> Default for LinkedFiles<F> {
    fn default() -> Self {
        Self { files: Mutex::default(), external: Mutex::default(), salted: Mutex::default(), real_folder: OnceLock::new() }
    }
}

impl<F: Clone + PartialEq> LinkedFiles<F> {
    /// The number by which heap references of `file` are told from those of others.
    pub fn salt_of(&self, file: &F) -> Result<u16> {
        let mut files = self.salted.lock().unwrap_or_else(PoisonError::into_inner);
        let number = files.iter().position(|known| known == file).unwrap_or_else(|| {
            files.push(file.clone());
            files.len() - 1
        });
        u16::try_from(number).map_err(|_| Error::unsupported("variable-length values of more than 65536 files in one dataset"))
    }
    /// The file with this number.
    pub fn salted(&self, salt: u16) -> Result<F> {
        let files = self.salted.lock().unwrap_or_else(PoisonError::into_inner);
        files.get(usize::from(salt)).cloned().ok_or_else(|| Error::internal("a heap reference of no file"))
    }
}
