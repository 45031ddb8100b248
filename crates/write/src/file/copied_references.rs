//! References in values of another file, as a file that is written takes them: by the path of the object, and the region.

use std::collections::HashMap;
use std::sync::Arc;

use hyperslab_array::{Datatype, Error, HeapObjects, HeapReference, HyperslabAxis, ReferenceKind, ReferencedPart, Result, StoredReference, StoredSelection};
use hyperslab_formats::hdf5::writer::each_reference;

/// The heap address of the names of targets. No heap object of a file is there.
const NAMES: u64 = 1;
/// The index of the first name, above those of values that are in memory.
const FIRST_INDEX: u32 = 1 << 30;

/// The file that references are copied from.
pub(crate) trait ReferencedObjects {
    /// References of one kind, elements of `size` bytes.
    fn stored_references(&self, kind: ReferenceKind, size: usize, bytes: &[u8]) -> Result<Vec<Option<StoredReference>>>;
    /// Path of the object at an address of the file; `None` if it is not copied.
    fn path_at(&self, address: u64) -> Result<Option<String>>;
    /// Number of dimensions of the dataset at an address of the file.
    fn ndim_at(&self, address: u64) -> Result<usize>;
}

/// The names of the targets of references, by the index that elements hold.
#[derive(Default)]
pub(crate) struct Names(Vec<Arc<[u8]>>);

impl Names {
    /// The name at a place, if it is one.
    pub fn get(&self, place: HeapReference) -> Option<&[u8]> {
        let index = place.index.checked_sub(FIRST_INDEX).filter(|_| place.address == NAMES)?;
        self.0.get(index as usize).map(|name| &**name)
    }

    /// Adds all names to the heap of a value.
    pub fn insert_into(&self, heap: &mut HeapObjects) {
        for (index, name) in (FIRST_INDEX..).zip(&self.0) {
            heap.insert(HeapReference { address: NAMES, index }, name.clone());
        }
    }
}

/// Replaces the references in elements of `source` by the indexes of the names of their targets.
///
/// # Errors
/// `Unsupported` for references to attributes, to other files, to single points, or to objects that are not in the file; `Corrupt`.
pub(crate) fn name_references(source: &dyn ReferencedObjects, datatype: &Datatype, bytes: &mut [u8]) -> Result<Names> {
    let mut found: HashMap<(ReferenceKind, usize), Vec<u8>> = HashMap::new();
    each_reference(datatype, bytes, &mut |kind, element| {
        found.entry((kind, element.len())).or_default().extend_from_slice(element);
        Ok(())
    })?;
    let mut names = Names::default();
    let mut indexes: HashMap<Vec<u8>, u32> = HashMap::new();
    let mut targets = HashMap::new();
    for ((kind, size), elements) in found {
        let mut of_kind = Vec::new();
        for reference in source.stored_references(kind, size, &elements)? {
            let name = reference.map(|reference| name_of(source, &reference)).transpose()?.flatten();
            of_kind.push(name.map_or(0, |name| {
                *indexes.entry(name).or_insert_with_key(|name| {
                    names.0.push(Arc::from(name.as_slice()));
                    FIRST_INDEX + (names.0.len() - 1) as u32
                })
            }));
        }
        targets.insert((kind, size), of_kind.into_iter());
    }
    each_reference(datatype, bytes, &mut |kind, element| {
        let next = targets.get_mut(&(kind, element.len())).and_then(Iterator::next);
        let index = next.ok_or_else(|| Error::internal("a reference that was not found before"))?;
        element.fill(0);
        element.get_mut(..4).ok_or_else(|| Error::corrupt("a reference of fewer than 4 bytes"))?.copy_from_slice(&index.to_le_bytes());
        Ok(())
    })?;
    Ok(names)
}

/// The name of a target: its path, and for a region a NUL and four numbers of 64 bits for each dimension. `None` if the object was not copied.
fn name_of(source: &dyn ReferencedObjects, reference: &StoredReference) -> Result<Option<Vec<u8>>> {
    if reference.file.is_some() {
        return Err(Error::unsupported("copying a reference to an object of another file"));
    }
    let Some(path) = source.path_at(reference.address)? else { return Ok(None) };
    let mut name = path.into_bytes();
    match &reference.part {
        ReferencedPart::Object => {}
        ReferencedPart::Attribute(_) => return Err(Error::unsupported("copying a reference to an attribute")),
        ReferencedPart::Region(selection) => {
            name.push(0);
            name.extend(axes_of(selection, || source.ndim_at(reference.address))?.iter().flatten().flat_map(|number| number.to_le_bytes()));
        }
    }
    Ok(Some(name))
}

/// Start, stride, count and block of each dimension; no dimension for all of the dataset.
fn axes_of(selection: &StoredSelection, ndim: impl Fn() -> Result<usize>) -> Result<Vec<[u64; 4]>> {
    let irregular = || Error::unsupported("copying a reference to a region of points or irregular blocks");
    match selection {
        StoredSelection::All => Ok(Vec::new()),
        StoredSelection::None => Ok(vec![[0, 1, 0, 0]; ndim()?]),
        StoredSelection::Points(_) => Err(irregular()),
        StoredSelection::Hyperslab(axes) => axes.iter().map(|axis| regular(axis).ok_or_else(irregular)).collect(),
        StoredSelection::Blocks(blocks) => regular_blocks(blocks).ok_or_else(irregular),
    }
}

fn regular(axis: &HyperslabAxis) -> Option<[u64; 4]> {
    Some([axis.start, axis.stride.max(1), axis.count?, axis.block?]).filter(|_| axis.limit.is_none())
}

/// Blocks that are those of a regular hyperslab, as such.
fn regular_blocks(blocks: &[(Vec<u64>, Vec<u64>)]) -> Option<Vec<[u64; 4]>> {
    let (first, last) = blocks.first()?;
    let sizes: Vec<u64> = first.iter().zip(last).map(|(first, last)| Some(last.checked_sub(*first)? + 1)).collect::<Option<_>>()?;
    let mut starts = vec![std::collections::BTreeSet::new(); first.len()];
    let mut distinct = std::collections::HashSet::new();
    for (first, last) in blocks {
        let own = first.iter().zip(last).map(|(first, last)| Some(last.checked_sub(*first)? + 1));
        if !own.eq(sizes.iter().map(|size| Some(*size))) || !distinct.insert(first) {
            return None;
        }
        starts.iter_mut().zip(first).for_each(|(starts, start)| {
            starts.insert(*start);
        });
    }
    let count = starts.iter().try_fold(1usize, |count, starts| count.checked_mul(starts.len()))?;
    if count != blocks.len() {
        return None;
    }
    let axis = |(starts, size): (&std::collections::BTreeSet<u64>, &u64)| {
        let starts: Vec<u64> = starts.iter().copied().collect();
        let stride = starts.get(1).map_or(*size, |second| second - starts[0]);
        let even = starts.windows(2).all(|pair| matches!(pair, [one, next] if next - one == stride));
        (even && stride >= *size).then(|| [starts[0], stride, starts.len() as u64, *size])
    };
    starts.iter().zip(&sizes).map(axis).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_are_a_hyperslab_are_found() {
        let block = |row: u64, column: u64| (vec![row, column], vec![row + 1, column]);
        let grid: Vec<_> = [2u64, 5].into_iter().flat_map(|row| [1u64, 4, 7].into_iter().map(move |column| block(row, column))).collect();
        assert_eq!(regular_blocks(&grid), Some(vec![[2, 3, 2, 2], [1, 3, 3, 1]]));
        // One block fewer, uneven distances, the same block twice, and another size are none.
        assert_eq!(regular_blocks(&grid[..5]), None);
        assert_eq!(regular_blocks(&[block(0, 0), block(2, 0), block(5, 0)]), None);
        assert_eq!(regular_blocks(&[block(0, 0), block(0, 0)]), None);
        assert_eq!(regular_blocks(&[block(0, 0), (vec![4, 0], vec![4, 0])]), None);
        assert_eq!(regular_blocks(&[]), None);
    }
}
