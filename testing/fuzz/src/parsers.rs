//! The parsers of HDF5's messages, heaps and trees, each by itself.

use hyperslab_array::Selection;
use hyperslab_formats::hdf5::fuzzing::{self, ChunkedArray, Structures};

use super::{Numbers, honest, hyperslab, limits};

/// A header message: its kind and its body.
pub fn message(data: &[u8]) {
    let [kind, body @ ..] = data else { return };
    honest(fuzzing::message(u16::from(*kind), body, &limits()));
}

/// An object of a heap: which kind of heap, address (2), offset or count (2), heap ID (8), the file.
pub fn heap(data: &[u8]) {
    let Some((&[kind, a, b, c, d], rest)) = data.split_first_chunk() else { return };
    let Some((id, file)) = rest.split_first_chunk::<8>() else { return };
    let (address, number) = (u64::from(u16::from_le_bytes([a, b])), u16::from_le_bytes([c, d]));
    let structures = Structures::new(file, &limits());
    match kind % 4 {
        0 => drop(honest(structures.local_heap(address, u64::from(number)))),
        1 => drop(honest(structures.global_heap(address, u32::from(number % 64)))),
        2 => {
            honest(structures.fractal_heap(address, id)).inspect(|object| assert!(object.len() <= 1 << 20));
        }
        _ => {
            let length = u64::from(u16::from_le_bytes([id[0], id[1]]));
            honest(structures.managed_object(address, u64::from(number), length)).inspect(|object| assert_eq!(object.len() as u64, length));
        }
    }
}

/// A tree, array or object header: which, address (2), a heap's address (2), number of dimensions, shape (2 each
/// of 4), chunk (1 each of 4), which dimensions are unlimited, bytes of an element, the file.
pub fn tree(data: &[u8]) {
    let Some((&[kind, a, b, c, d, ndim], rest)) = data.split_first_chunk() else { return };
    let Some((head, file)) = rest.split_first_chunk::<14>() else { return };
    let (address, heap) = (u64::from(u16::from_le_bytes([a, b])), u64::from(u16::from_le_bytes([c, d])));
    let structures = Structures::new(file, &limits());
    match kind % 10 {
        0 => drop(honest(structures.object_header(address))),
        1 => drop(honest(structures.group_tree(address, heap))),
        2 => drop(honest(structures.dense_links(address, heap))),
        3 => drop(honest(structures.records(address))),
        indexing => chunks(&structures, indexing - 4, address, usize::from(1 + ndim % 4), head, &mut Numbers::new(data)),
    }
}

/// What is found for a part of the dataset is found for the whole too, at the same place.
fn chunks(structures: &Structures, indexing: u8, address: u64, ndim: usize, head: &[u8; 14], numbers: &mut Numbers) {
    let shape: Vec<u64> = (0..ndim).map(|n| u64::from(u16::from_le_bytes([head[2 * n], head[2 * n + 1]]))).collect();
    let chunk: Vec<u64> = (0..ndim).map(|n| u64::from(head[8 + n]).max(1)).collect();
    let unlimited = |n: usize| head[12] & 1 << n != 0;
    let max_shape = shape.iter().enumerate().map(|(n, &extent)| (!unlimited(n)).then_some(extent)).collect();
    let element_size = u64::from(head[13]).max(1);
    let array = ChunkedArray { indexing, address, shape: shape.clone(), max_shape, chunk_shape: chunk, element_size };
    let locate = |selection: &Selection| honest(structures.chunks(&array, selection));
    let all = locate(&Selection::all(&shape));
    for _ in 0..3 {
        let part = locate(&hyperslab(numbers, &shape, 16));
        if let (Some(all), Some(part)) = (&all, &part) {
            part.iter().for_each(|found| assert!(all.contains(found), "{found:?} is not one of {all:?}"));
        }
        // A part may do without damaged nodes; the whole does not.
        assert!(all.is_none() || part.is_some(), "a part of what is found is not");
    }
}
