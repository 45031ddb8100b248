//! A map by name that remembers insertion order.

use std::collections::BTreeMap;

/// A map by name that remembers in which order names were first inserted.
#[derive(Debug, Clone)]
pub(crate) struct Ordered<T> {
    values: BTreeMap<String, (u64, T)>,
    next: u64,
}

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self { values: BTreeMap::new(), next: 0 }
    }
}

impl<T> Ordered<T> {
    /// Sets a value; an existing name keeps its position.
    pub fn insert(&mut self, name: &str, value: T) {
        match self.values.get_mut(name) {
            Some((_, known)) => *known = value,
            None => {
                self.values.insert(name.to_owned(), (self.next, value));
                self.next += 1;
            }
        }
    }

    /// Keeps only the values for which `keep` is true.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.values.retain(|_, (_, value)| keep(value));
    }

    pub fn get(&self, name: &str) -> Option<&T> {
        self.values.get(name).map(|(_, value)| value)
    }

    /// Removes a value and returns whether it existed.
    pub fn remove(&mut self, name: &str) -> bool {
        self.values.remove(name).is_some()
    }

    /// All values, in any order.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.values_mut().map(|(_, value)| value)
    }

    /// Names and values in insertion order.
    pub fn in_order(&self) -> impl Iterator<Item = (&str, &T)> {
        let mut all: Vec<(u64, &str, &T)> = self.values.iter().map(|(name, (order, value))| (*order, name.as_str(), value)).collect();
        all.sort_unstable_by_key(|(order, ..)| *order);
        all.into_iter().map(|(_, name, value)| (name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_set_again_keeps_its_place() {
        let mut ordered = Ordered::default();
        for (name, value) in [("z", 1), ("a", 2), ("m", 3), ("z", 4)] {
            ordered.insert(name, value);
        }
        assert_eq!(ordered.in_order().collect::<Vec<_>>(), [("z", &4), ("a", &2), ("m", &3)]);
        assert_eq!(ordered.get("a"), Some(&2));
    }
}
