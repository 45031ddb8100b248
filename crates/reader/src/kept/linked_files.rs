//! The other files that were opened because one file names them, each once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hyperslab_formats::ObjectId;
use hyperslab_storage::{ForkMutex, Storage};

/// The files that were opened because one file names them, each once.
pub(crate) struct LinkedFiles<F> {
    pub files: ForkMutex<HashMap<PathBuf, F>>,
    pub external: ForkMutex<HashMap<ObjectId, Arc<dyn Storage>>>,
    /// Other files that heap references of virtual datasets come from.
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
    /// The index of `file` among those that heap references come from.
    pub fn index_of_origin(&self, file: &F) -> usize {
        let mut files = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        files.iter().position(|known| known == file).unwrap_or_else(|| {
            files.push(file.clone());
            files.len() - 1
        })
    }
    /// The file with this index.
    pub fn origin(&self, index: usize) -> Option<F> {
        self.origins.lock().unwrap_or_else(PoisonError::into_inner).get(index).cloned()
    }
}
