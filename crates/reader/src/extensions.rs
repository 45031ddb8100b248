//! State that crates above the reader keep in a session.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

/// At most one value of each type, set when the session is created: for example the pruner that scans use. The reader does
/// not know these types.
#[derive(Clone, Default)]
pub struct Extensions(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Extensions {
    /// Adds `value`, replacing another value of its type.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.0.insert(TypeId::of::<T>(), Arc::new(value));
        self
    }

    /// The value of type `T`, if there is one.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_of_each_type() {
        let extensions = Extensions::default().with(1u8).with("text").with(2u8);
        assert_eq!(extensions.get::<u8>(), Some(&2));
        assert_eq!(extensions.get::<&str>(), Some(&"text"));
        assert_eq!(extensions.get::<u16>(), None);
    }
}
