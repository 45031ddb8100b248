//! What was used recently, within a bound.

use std::collections::BTreeMap;

/// Values by address, in trees: a file chooses the addresses, so hashing would need a keyed hash, and most files have few
/// objects. When those that were used since the last turn reach half of the bound, all others are dropped.
pub(crate) struct Recent<T> {
    young: BTreeMap<u64, (T, u64)>,
    old: BTreeMap<u64, (T, u64)>,
    young_bytes: u64,
    max_bytes: u64,
}

impl<T: Clone> Recent<T> {
    /// Keeps values of about `max_bytes`.
    pub fn new(max_bytes: u64) -> Self {
        Self { young: BTreeMap::new(), old: BTreeMap::new(), young_bytes: 0, max_bytes }
    }
    /// The value at `address`, if it is kept.
    pub fn get(&mut self, address: u64) -> Option<T> {
        if let Some((value, _)) = self.young.get(&address) {
            return Some(value.clone());
        }
        let (value, bytes) = self.old.remove(&address)?;
        self.insert(address, value.clone(), bytes);
        Some(value)
    }
    /// Keeps a value of `bytes`.
    pub fn insert(&mut self, address: u64, value: T, bytes: u64) {
        if self.young_bytes >= self.max_bytes / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes = self.young_bytes.saturating_add(bytes);
        self.young.insert(address, (value, bytes));
    }
    /// Accounts for `bytes` more of the value at `address`.
    pub fn grow(&mut self, address: u64, bytes: u64) {
        if let Some((_, own)) = self.young.get_mut(&address) {
            *own = own.saturating_add(bytes);
            self.young_bytes = self.young_bytes.saturating_add(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_the_rest_is_bounded() {
        let mut recent = Recent::new(100);
        for address in 0..1000 {
            recent.insert(address, address, 10);
            assert_eq!(recent.get(0), Some(0), "at {address}");
            assert!(recent.young.len() + recent.old.len() <= 12);
        }
        assert_eq!((recent.get(1), recent.get(999)), (None, Some(999)));
        recent.grow(999, 1000);
        recent.insert(1000, 1000, 1);
        recent.insert(1001, 1001, 1);
        assert_eq!(recent.get(999), Some(999), "the largest was used last");
    }
}
