//! The other files that were opened because one file names them, each once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hyperslab_array::{Error, Result};
use hyperslab_formats::ObjectId;
use hyperslab_storage::{ForkMutex, Storage};

/// The files that were opened because one file names them, each once.
pub(crate) struct LinkedFiles<F> {
    pub files: ForkMutex<HashMap<PathBuf, F>>,
    pub external: ForkMutex<HashMap<ObjectId, Arc<dyn Storage>>>,
    /// By their origin.
    origins: Mutex<Vec<F>>,
    /// The folder of the file itself, if it was opened through a symbolic link.
    pub real_folder: OnceLock<Option<PathBuf>>,
}

impl<F> Default for LinkedFiles<F> {
    fn default() -> Self {
        Self { files: ForkMutex::default(), external: ForkMutex::default(), origins: Mutex::default(), real_folder: OnceLock::new() }
    }
}

impl<F> LinkedFiles<F> {
    /// Removes the files and external raw data that are open.
    pub fn take(&self) -> (Vec<F>, Vec<Arc<dyn Storage>>) {
        fn all<K, V>(known: &ForkMutex<HashMap<K, V>>) -> Vec<V> {
            known.lock().map(|mut known| std::mem::take(&mut *known).into_values().collect()).unwrap_or_default()
        }
        let mut files = all(&self.files);
        files.append(&mut self.origins.lock().unwrap_or_else(PoisonError::into_inner));
        (files, all(&self.external))
    }
}

impl<F: Clone + PartialEq> LinkedFiles<F> {
    /// The origin of heap references of `file`: its index among the files that values come from.
    pub fn origin_of(&self, file: &F) -> Result<u16> {
        let mut files = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        let index = files.iter().position(|known| known == file).unwrap_or_else(|| {
            files.push(file.clone());
            files.len() - 1
        });
        u16::try_from(index).map_err(|_| Error::unsupported("variable-length values of more than 65536 files in one dataset"))
    }
    /// The file of this origin.
    pub fn file_of_origin(&self, origin: u16) -> Result<F> {
        let files = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        files.get(usize::from(origin)).cloned().ok_or_else(|| Error::internal("a heap reference of no file"))
    }
}
