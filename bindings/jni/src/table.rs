//! Table: maps the handles that Java holds to values. An unknown handle is an error, not a crash.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyperslab::{Error, Result};

/// Values by handle. Handles are never reused.
pub(crate) struct Table<T> {
    slots: Mutex<Option<Slots<T>>>,
    kind: &'static str,
}

struct Slots<T> {
    next: i64,
    values: HashMap<i64, Arc<T>>,
}

impl<T> Table<T> {
    /// An empty table. `kind` names its values in errors.
    pub const fn new(kind: &'static str) -> Self {
        Self { slots: Mutex::new(None), kind }
    }
    fn slots(&self) -> MutexGuard<'_, Option<Slots<T>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Adds a value and returns its handle.
    pub fn insert(&self, value: T) -> i64 {
        let mut slots = self.slots();
        let slots = slots.get_or_insert_with(|| Slots { next: 1, values: HashMap::new() });
        let handle = slots.next;
        slots.next += 1;
        slots.values.insert(handle, Arc::new(value));
        handle
    }
    /// The value of a handle; `InvalidInput` if the handle is unknown or was removed.
    pub fn find(&self, handle: i64) -> Result<Arc<T>> {
        let found = self.slots().as_ref().and_then(|slots| slots.values.get(&handle).cloned());
        found.ok_or_else(|| Error::invalid_input(format!("{} {handle} is closed", self.kind)))
    }
    /// Removes a value; `InvalidInput` if the handle is unknown or was removed.
    pub fn remove(&self, handle: i64) -> Result<Arc<T>> {
        let found = self.slots().as_mut().and_then(|slots| slots.values.remove(&handle));
        found.ok_or_else(|| Error::invalid_input(format!("{} {handle} is closed", self.kind)))
    }
    /// The number of values.
    pub fn len(&self) -> usize {
        self.slots().as_ref().map_or(0, |slots| slots.values.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_handle_is_invalid_and_never_reused() -> Result<()> {
        let table = Table::new("thing");
        let (a, b) = (table.insert("a"), table.insert("b"));
        assert_eq!(*table.find(a)?, "a");
        table.remove(a)?;
        assert!(table.find(a).is_err() && table.remove(a).is_err());
        assert_ne!(table.insert("c"), a);
        assert_eq!((*table.find(b)?, table.len()), ("b", 2));
        Ok(())
    }
}
