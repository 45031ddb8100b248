//! Fill values of variable length. The HDF5 library frees the heap objects of an element that it overwrites, so that no two elements may
//! share one, nor an element and the fill value.

use hyperslab_array::{Datatype, Elements, Error, HeapObjects, HeapReference, Result};

use crate::array_file::collect_heap_references;

/// Bytes of heap objects that are made at once.
const PIECE_BYTES: u64 = 8 << 20;
/// Bytes that the heap adds to each object.
const OBJECT_HEADER_BYTES: u64 = 16;

/// What a fill value of variable length points at. Unwritten elements are copies of the fill value until they are stored:
/// [`FillObjects::separate`] then gives each of them objects of its own.
#[derive(Debug, Clone)]
pub struct FillObjects {
    element_bytes: usize,
    parts: Vec<Part>,
    heap: HeapObjects,
}

/// A text or a sequence of the fill value.
#[derive(Debug, Clone)]
struct Part {
    /// Offset in the element.
    start: usize,
    datatype: Datatype,
    /// How the fill value refers to it.
    stored: Vec<u8>,
    /// Bytes of its objects in a heap.
    cost: u64,
}

impl FillObjects {
    /// What `fill`, an element of `datatype`, points at in `heap`; `None` if that is nothing. The objects that are made later are paid
    /// from the budget of `heap`.
    ///
    /// # Errors
    /// `InvalidInput` or `Corrupt` for a fill value that is not such an element, or whose objects are not in `heap`.
    pub fn of(datatype: &Datatype, fill: &[u8], heap: &HeapObjects) -> Result<Option<Self>> {
        let mut parts = Vec::new();
        find_parts(datatype, fill, 0, heap, &mut parts)?;
        let element_bytes = fill.len();
        Ok(if parts.is_empty() { None } else { Some(Self { element_bytes, parts, heap: heap.clone() }) })
    }

    /// Gives each of the elements in `bytes` that still refers to the objects of the fill value objects of its own. `store` stores what
    /// elements point at, and returns these elements as they are in the file.
    ///
    /// # Errors
    /// `LimitExceeded` if the budget is too small; errors of `store`.
    pub fn separate(&mut self, bytes: &mut [u8], store: &mut dyn FnMut(&Elements) -> Result<Vec<u8>>) -> Result<()> {
        for part in &self.parts {
            let place = |number: usize| number * self.element_bytes + part.start..number * self.element_bytes + part.start + part.stored.len();
            let shared = (0..bytes.len() / self.element_bytes.max(1)).filter(|number| bytes.get(place(*number)) == Some(part.stored.as_slice()));
            let shared: Vec<usize> = shared.collect();
            self.heap.charge(part.cost.saturating_mul(shared.len() as u64))?;
            let in_a_piece = usize::try_from(PIECE_BYTES / part.cost.max(1)).unwrap_or(usize::MAX).max(1);
            for numbers in shared.chunks(in_a_piece) {
                let elements = Elements { datatype: part.datatype.clone(), bytes: part.stored.repeat(numbers.len()), heap: self.heap.clone() };
                let stored = store(&elements)?;
                for (number, own) in numbers.iter().zip(stored.chunks_exact(part.stored.len())) {
                    bytes.get_mut(place(*number)).ok_or_else(|| Error::internal("an element outside of its chunk"))?.copy_from_slice(own);
                }
            }
        }
        Ok(())
    }
}

fn find_parts(datatype: &Datatype, bytes: &[u8], start: usize, heap: &HeapObjects, parts: &mut Vec<Part>) -> Result<()> {
    if !datatype.uses_heap() {
        return Ok(());
    }
    let outside = || Error::invalid_input("a fill value that is not an element of its datatype");
    let part = |offset: u64, size: u64| {
        let offset = usize::try_from(offset).ok()?;
        Some((start.checked_add(offset)?, bytes.get(offset..offset.checked_add(usize::try_from(size).ok()?)?)?))
    };
    match datatype {
        Datatype::VariableString { size, .. } | Datatype::Sequence { size, .. } => {
            let (start, stored) = part(0, *size).ok_or_else(outside)?;
            if HeapReference::parse(stored)?.1.is_some() {
                parts.push(Part { start, datatype: datatype.clone(), stored: stored.to_vec(), cost: cost(datatype, stored, heap)? });
            }
        }
        Datatype::Compound { members, .. } => {
            for member in members.iter() {
                let (start, stored) = part(member.offset, member.datatype.size()).ok_or_else(outside)?;
                find_parts(&member.datatype, stored, start, heap, parts)?;
            }
        }
        Datatype::Array { base, .. } => {
            let size = base.size().max(1);
            for number in 0..datatype.size() / size {
                let (start, stored) = part(number * size, size).ok_or_else(outside)?;
                find_parts(base, stored, start, heap, parts)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Bytes of the objects that elements point at, in a heap.
fn cost(datatype: &Datatype, bytes: &[u8], heap: &HeapObjects) -> Result<u64> {
    let mut total = 0u64;
    collect_heap_references(datatype, bytes, &mut |base, _, reference| {
        let value = heap.object(reference)?;
        let nested = base.map_or(Ok(0), |base| if base.uses_heap() { cost(base, value, heap) } else { Ok(0) })?;
        total = total.saturating_add(OBJECT_HEADER_BYTES + (value.len() as u64).next_multiple_of(8)).saturating_add(nested);
        Ok(())
    })?;
    Ok(total)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hyperslab_array::{ByteOrder, CharacterSet, Member, StringPadding};

    use super::*;

    fn text() -> Datatype {
        Datatype::VariableString { size: 16, padding: StringPadding::NullTerminated, character_set: CharacterSet::Utf8 }
    }

    fn stored(count: u32, address: u64, index: u32) -> Vec<u8> {
        [&count.to_le_bytes()[..], &address.to_le_bytes(), &index.to_le_bytes()].concat()
    }

    fn heap(budget: u64) -> HeapObjects {
        let mut heap = HeapObjects::limited(budget);
        heap.insert(HeapReference { address: 8, index: 1 }, Arc::from(&b"fill"[..]));
        heap
    }

    #[test]
    fn only_elements_that_share_the_fill_value_change() -> Result<()> {
        let datatype = Datatype::Compound {
            size: 40,
            members: vec![
                Member { name: "a".to_owned(), offset: 0, datatype: text() },
                Member { name: "n".to_owned(), offset: 16, datatype: Datatype::integer(8, false, ByteOrder::Little) },
                Member { name: "b".to_owned(), offset: 24, datatype: text() },
            ]
            .into(),
        };
        let fill = [stored(4, 8, 1), vec![7; 8], stored(0, 0, 0)].concat();
        let mut objects = FillObjects::of(&datatype, &fill, &heap(1000))?.ok_or_else(|| Error::internal("no text"))?;
        let other = [stored(4, 8, 2), vec![1; 8], stored(4, 8, 1)].concat();
        let mut bytes = [fill.clone(), other.clone(), fill.clone()].concat();
        let mut next = 10;
        let mut store = |elements: &Elements| {
            assert_eq!(elements.datatype, text());
            let mut made = Vec::new();
            for element in elements.bytes.chunks_exact(16) {
                assert_eq!(elements.heap.value(element, 1)?, b"fill");
                made.extend(stored(4, 8, next));
                next += 1;
            }
            Ok(made)
        };
        objects.separate(&mut bytes, &mut store)?;
        let own = |index| [stored(4, 8, index), vec![7; 8], stored(0, 0, 0)].concat();
        assert_eq!(bytes, [own(10), other, own(11)].concat());
        let before = bytes.clone();
        objects.separate(&mut bytes, &mut store)?;
        assert_eq!(bytes, before);
        Ok(())
    }

    #[test]
    fn many_objects_are_paid_from_the_budget() -> Result<()> {
        let fill = stored(4, 8, 1);
        let mut objects = FillObjects::of(&text(), &fill, &heap(100))?.ok_or_else(|| Error::internal("no text"))?;
        let mut store = |elements: &Elements| Ok(vec![0; elements.bytes.len()]);
        objects.separate(&mut fill.repeat(4), &mut store)?;
        let error = objects.separate(&mut fill.clone(), &mut store).err().map(|error| error.kind());
        assert_eq!(error, Some(hyperslab_array::ErrorKind::LimitExceeded));
        assert!(FillObjects::of(&text(), &[0; 16], &HeapObjects::default())?.is_none());
        Ok(())
    }
}
