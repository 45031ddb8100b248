//! Paths of objects: an object knows its ID only, and may have several paths. The one by which it was found first is used.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use hyperslab_formats::ObjectId;
use hyperslab_storage::ForkMutex;

/// The paths that are known of one file.
#[derive(Default)]
pub(crate) struct Paths {
    /// The paths of objects that were found by path.
    found: ForkMutex<HashMap<ObjectId, Arc<str>>>,
    /// The paths of all objects that hard links reach, computed when first needed.
    all: OnceLock<HashMap<ObjectId, Arc<str>>>,
}

impl Paths {
    /// Remembers the path by which an object was found, unless one is known.
    pub fn add(&self, id: ObjectId, path: &str) {
        if let Some(mut found) = self.found.lock() {
            found.entry(id).or_insert_with(|| Arc::from(path));
        }
    }
    /// The path of an object, if it is known.
    pub fn get(&self, id: ObjectId) -> Option<Arc<str>> {
        let found = self.found.lock().and_then(|found| found.get(&id).cloned());
        found.or_else(|| self.all.get()?.get(&id).cloned())
    }
    /// The path of an object among all that hard links reach, which `find_all` finds on the first call.
    pub fn get_or_search(&self, id: ObjectId, find_all: impl FnOnce() -> HashMap<ObjectId, Arc<str>>) -> Option<Arc<str>> {
        self.all.get_or_init(find_all).get(&id).cloned()
    }
}
