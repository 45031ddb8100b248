//! Elements: the bytes of values as the file lays them out, with the heap objects they point at.

use std::collections::HashMap;
use std::sync::Arc;

use crate::{Datatype, Error, ReferenceKind, Result};

/// Where a variable-length value lives: a global heap collection and an object in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HeapReference {
    /// Address of the global heap collection, relative to the base address.
    pub address: u64,
    /// Index of the object in the collection.
    pub index: u32,
}

impl HeapReference {
    /// Reads the stored form (length, address, index; little endian) of `element`.
    ///
    /// Returns the number of sequence elements (bytes for a string) and the reference, or `None`
    /// for an empty value (length 0, address 0 or undefined).
    ///
    /// # Errors
    /// `Corrupt` if `element` is too short.
    pub fn parse(element: &[u8]) -> Result<(u32, Option<Self>)> {
        let bad = || Error::corrupt(format!("a variable-length reference of {} bytes", element.len()));
        element.len().checked_sub(8).filter(|n| (2..=8).contains(n)).ok_or_else(bad)?;
        let (length, place) = element.split_first_chunk().ok_or_else(bad)?;
        let length = u32::from_le_bytes(*length);
        Ok((length, if length == 0 { None } else { Self::parse_place(place)? }))
    }

    /// Reads an address and an index (little endian), as region references store them; `None` if the
    /// address is 0 or undefined.
    ///
    /// # Errors
    /// `Corrupt` if `place` is too short.
    pub fn parse_place(place: &[u8]) -> Result<Option<Self>> {
        let bad = || Error::corrupt(format!("a heap reference of {} bytes", place.len()));
        let address_size = place.len().checked_sub(4).filter(|n| (2..=8).contains(n)).ok_or_else(bad)?;
        let (address, index) = place.split_last_chunk().ok_or_else(bad)?;
        let index = u32::from_le_bytes(*index);
        let address = match address.first_chunk() {
            Some(all) => u64::from_le_bytes(*all),
            None => address.iter().rev().fold(0u64, |n, &b| (n << 8) | u64::from(b)),
        };
        let undefined = u64::MAX >> (64 - 8 * address_size);
        Ok((address != 0 && address != undefined).then_some(Self { address, index }))
    }
}

/// A reference of some kind and its bytes in the file.
type StoredElement = (ReferenceKind, Box<[u8]>);

/// The heap objects that some elements point at, and the names of the targets of references among them:
/// read before conversion, so that conversion needs no I/O.
#[derive(Debug, Clone, Default)]
pub struct HeapObjects {
    /// Objects that were added together, by the address of their collection.
    collections: HashMap<u64, Collection>,
    /// All others.
    objects: HashMap<HeapReference, Arc<[u8]>>,
    names: HashMap<StoredElement, Option<Arc<str>>>,
    /// Bytes that may still be fetched or made of what was fetched.
    left: u64,
}

/// Objects of one global heap collection: thousands of short strings take no memory of their own.
#[derive(Debug, Clone, Default)]
struct Collection {
    bytes: Vec<u8>,
    /// Index of each object, increasing, and where it ends in `bytes`; it begins where the one before ends.
    ends: Vec<(u32, usize)>,
}

impl Collection {
    fn object(&self, index: u32) -> Option<&[u8]> {
        // Most often all objects from the first on are there.
        let first = self.ends.first()?.0;
        let guess = usize::try_from(index.checked_sub(first)?).ok()?;
        let place = match self.ends.get(guess) {
            Some((there, _)) if *there == index => guess,
            _ => self.ends.binary_search_by_key(&index, |(index, _)| *index).ok()?,
        };
        let start = place.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |(_, end)| *end);
        self.bytes.get(start..self.ends.get(place)?.1)
    }
}

impl HeapObjects {
    /// None yet, and at most `most_bytes` of them (see [`Self::charge`]). The default has no room for any.
    pub fn limited(most_bytes: u64) -> Self {
        Self { left: most_bytes, ..Self::default() }
    }
    /// Raises the budget by more bytes.
    pub fn allow(&mut self, more_bytes: u64) {
        self.left = self.left.saturating_add(more_bytes);
    }
    /// Bytes left of the budget.
    pub fn left(&self) -> u64 {
        self.left
    }
    /// Charges bytes that are read, or that a value will have: a few bytes of a file can point at one object
    /// any number of times.
    ///
    /// # Errors
    /// `LimitExceeded` if too few are left.
    pub fn charge(&mut self, bytes: u64) -> Result<()> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            Error::limit_exceeded("the variable-length values of this read are larger than its file justifies (limit heap_bytes): read fewer at a time")
        })?;
        Ok(())
    }
    /// Adds an object.
    pub fn insert(&mut self, reference: HeapReference, bytes: Arc<[u8]>) {
        self.objects.insert(reference, bytes);
    }
    /// Adds objects of the collection at `address`: the index and bytes of each. Of objects with the same index, the last counts.
    pub fn insert_collection(&mut self, address: u64, mut objects: Vec<(u32, &[u8])>) {
        if self.collections.contains_key(&address) {
            self.objects.extend(objects.into_iter().map(|(index, bytes)| (HeapReference { address, index }, Arc::from(bytes))));
            return;
        }
        objects.reverse();
        objects.sort_by_key(|(index, _)| *index);
        objects.dedup_by_key(|(index, _)| *index);
        let mut collection =
            Collection { bytes: Vec::with_capacity(objects.iter().map(|(_, bytes)| bytes.len()).sum()), ends: Vec::with_capacity(objects.len()) };
        for (index, bytes) in objects {
            collection.bytes.extend_from_slice(bytes);
            collection.ends.push((index, collection.bytes.len()));
        }
        self.collections.insert(address, collection);
    }
    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.collections.is_empty()
    }
    /// Whether the object is already here.
    pub fn contains(&self, reference: HeapReference) -> bool {
        self.find(reference).is_some()
    }
    fn find(&self, reference: HeapReference) -> Option<&[u8]> {
        let collection = self.collections.get(&reference.address);
        let found = collection.and_then(|collection| collection.object(reference.index));
        // One that was added alone counts: it was added later.
        if self.objects.is_empty() { found } else { self.objects.get(&reference).map(AsRef::as_ref).or(found) }
    }
    /// The bytes of an object.
    ///
    /// # Errors
    /// `Corrupt` if the file has no such object.
    pub fn object(&self, reference: HeapReference) -> Result<&[u8]> {
        self.find(reference).ok_or_else(|| Error::corrupt(format!("no object {} in this global heap collection", reference.index)).at_offset(reference.address))
    }
    /// The bytes of one variable-length element (`count * base_size` of them), empty when the
    /// element is empty. For strings `base_size` is 1.
    ///
    /// # Errors
    /// `Corrupt` if the element is too short, or its object is missing or shorter than it says.
    pub fn value(&self, element: &[u8], base_size: u64) -> Result<&[u8]> {
        let (count, reference) = HeapReference::parse(element)?;
        let Some(reference) = reference else { return Ok(&[]) };
        let object = self.object(reference)?;
        let wanted = u64::from(count).checked_mul(base_size);
        wanted.and_then(|n| usize::try_from(n).ok()).and_then(|n| object.get(..n)).ok_or_else(|| {
            Error::corrupt(format!("a variable-length value of {count} elements of {base_size} bytes lies in a heap object of {} bytes", object.len()))
                .at_offset(reference.address)
        })
    }
    /// Adds the name of a stored reference's target; `None` for a null reference.
    pub fn insert_name(&mut self, kind: ReferenceKind, element: &[u8], name: Option<Arc<str>>) {
        self.names.insert((kind, element.into()), name);
    }
    /// Whether the name of a stored reference's target is known.
    pub fn has_name(&self, kind: ReferenceKind, element: &[u8]) -> bool {
        self.names.contains_key(&(kind, Box::<[u8]>::from(element)))
    }
    /// The name of a stored reference's target; `None` for a null reference.
    ///
    /// # Errors
    /// `Internal` if the reference was not followed before.
    pub fn name(&self, kind: ReferenceKind, element: &[u8]) -> Result<Option<&str>> {
        let name = self.names.get(&(kind, Box::<[u8]>::from(element))).ok_or_else(|| Error::internal("a reference that was not followed"))?;
        Ok(name.as_deref())
    }
    /// All objects and their bytes, in any order.
    pub fn iter(&self) -> impl Iterator<Item = (HeapReference, &[u8])> {
        let together = self.collections.iter().flat_map(move |(&address, collection)| {
            let replaced = move |index: &u32| self.objects.contains_key(&HeapReference { address, index: *index });
            let indexes = collection.ends.iter().map(|(index, _)| *index).filter(move |index| !replaced(index));
            indexes.filter_map(move |index| Some((HeapReference { address, index }, collection.object(index)?)))
        });
        together.chain(self.objects.iter().map(|(reference, bytes)| (*reference, bytes.as_ref())))
    }
    /// Takes over all objects of `other`.
    pub fn extend(&mut self, other: Self) {
        for (address, collection) in other.collections {
            let objects = collection.ends.iter().filter_map(|(index, _)| Some((*index, collection.object(*index)?))).collect();
            self.insert_collection(address, objects);
        }
        self.objects.extend(other.objects);
        self.names.extend(other.names);
    }
}

/// Values of one datatype: `bytes` in the file's layout and the heap objects they point at.
#[derive(Debug, Clone)]
pub struct Elements {
    /// Datatype of each element.
    pub datatype: Datatype,
    /// `count * datatype.size()` bytes, row-major.
    pub bytes: Vec<u8>,
    /// What variable-length parts point at.
    pub heap: HeapObjects,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_a_collection_are_found_in_any_order_and_with_gaps() -> Result<()> {
        let at = |address, index| HeapReference { address, index };
        let mut heap = HeapObjects::default();
        heap.insert_collection(8, vec![(9, b"nine"), (1, b"one"), (2, b""), (9, b"NINE"), (4, b"four")]);
        heap.insert_collection(8, vec![(5, b"five"), (1, b"ONE")]);
        heap.insert(at(8, 4), Arc::from(b"FOUR".as_slice()));
        heap.insert_collection(16, vec![(3, b"three")]);
        let mut both = HeapObjects::default();
        both.insert_collection(16, vec![(7, b"seven")]);
        both.extend(heap);
        for (reference, expected) in
            [(at(8, 1), "ONE"), (at(8, 2), ""), (at(8, 4), "FOUR"), (at(8, 5), "five"), (at(8, 9), "NINE"), (at(16, 3), "three"), (at(16, 7), "seven")]
        {
            assert_eq!(both.object(reference)?, expected.as_bytes());
        }
        let mut all: Vec<_> = both.iter().collect();
        all.sort_unstable();
        assert_eq!(all.len(), 7);
        assert!(all.iter().all(|(reference, bytes)| both.object(*reference).is_ok_and(|found| found == *bytes)));
        for missing in [at(8, 0), at(8, 3), at(8, 10), at(16, 2), at(24, 1)] {
            assert!(!both.contains(missing) && both.object(missing).is_err());
        }
        Ok(())
    }
}
