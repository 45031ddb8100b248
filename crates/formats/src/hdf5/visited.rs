//! The addresses that a traversal of the file has visited, so that it visits none twice.

use std::collections::HashSet;

/// Maximum number of addresses stored without an allocation: most traversals are short.
const INLINE_ADDRESSES: usize = 8;

/// A set of addresses.
#[derive(Default)]
pub(crate) struct Visited {
    few: [u64; INLINE_ADDRESSES],
    count: usize,
    more: HashSet<u64>,
}

impl Visited {
    /// Adds `address`; returns whether it is new.
    pub fn insert(&mut self, address: u64) -> bool {
        if self.few.iter().take(self.count).any(|&known| known == address) {
            return false;
        }
        match self.few.get_mut(self.count) {
            Some(place) => {
                *place = address;
                self.count += 1;
                true
            }
            None => self.more.insert(address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_is_new_once() {
        let mut visited = Visited::default();
        for address in 0..100 {
            assert!(visited.insert(address * 7));
        }
        for address in 0..100 {
            assert!(!visited.insert(address * 7), "{address}");
        }
        assert!(visited.insert(1));
    }
}
