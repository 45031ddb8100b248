//! Named table: values by the names that Java gives them, for as long as the process runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Values by name.
pub(crate) struct NamedTable<T>(Mutex<Option<HashMap<String, Arc<T>>>>);

impl<T> NamedTable<T> {
    /// An empty table.
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }
    fn values(&self) -> MutexGuard<'_, Option<HashMap<String, Arc<T>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Adds a value, unless the name is known.
    pub fn insert(&self, name: String, value: T) {
        self.values().get_or_insert_default().entry(name).or_insert_with(|| Arc::new(value));
    }
    /// The value of a name.
    pub fn find(&self, name: &str) -> Option<Arc<T>> {
        self.values().as_ref()?.get(name).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_of_a_name_stays() {
        let table = NamedTable::new();
        assert!(table.find("a").is_none());
        table.insert("a".to_owned(), 1);
        table.insert("a".to_owned(), 2);
        assert_eq!(table.find("a").as_deref(), Some(&1));
    }
}
