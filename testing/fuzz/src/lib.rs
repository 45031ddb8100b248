//! What the fuzz targets share: limits that a small file has no reason to meet, and reading all of a file.

pub mod filters;
pub mod parsers;
pub mod references;
pub mod short;

use std::sync::Arc;

use hyperslab_array::{Arrangement, Axis, ChunkBuffer, Dataspace, DecodedChunk, Error, ErrorKind, HeapObjects, Region, Result, Selection, scatter};
use hyperslab_formats::{ArrayFile, ChunkSource, Dataset, Interpretation, Limits, Link, Object, ObjectId, OpenOptions, StorageLayout, Tree, open};
use hyperslab_storage::Memory;

/// Larger datasets are read in part only.
const DATASET_BYTES: u64 = 1 << 20;

/// What an input of a few KiB may cost.
pub fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.objects = 500;
    limits.links_per_group = 500;
    limits.messages_per_object = 500;
    limits.metadata_block_bytes = 1 << 20;
    limits.metadata_bytes = 4 << 20;
    limits.chunk_bytes = 1 << 20;
    limits.attribute_bytes = 1 << 20;
    limits.heap_bytes = 4 << 20;
    limits.depth = 16;
    limits.chunks = 4096;
    limits.links_followed = 8;
    limits
}

/// An error is a result too, but none of ours may be `Internal`.
pub fn honest<T>(result: Result<T>) -> Option<T> {
    if let Err(error) = &result {
        assert!(error.kind() != ErrorKind::Internal, "{error}");
    }
    result.ok()
}

/// Numbers that depend on the input only.
pub struct Numbers(u64);

impl Numbers {
    /// Seeded with the input itself.
    pub fn new(data: &[u8]) -> Self {
        Self(data.iter().fold(0xcbf2_9ce4_8422_2325, |n, &b| (n ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)))
    }
    /// One of `0..n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) % n.max(1)
    }
}

/// A hyperslab of `shape`: of each dimension a range with a step, or a list of indexes. At most `most` a dimension.
pub fn hyperslab(numbers: &mut Numbers, shape: &[u64], most: u64) -> Selection {
    let axes = shape.iter().map(|&extent| {
        if extent == 0 {
            return Axis::all(0);
        }
        let start = numbers.below(extent);
        let step = 1 + numbers.below(4);
        let count = 1 + numbers.below(((extent - start).div_ceil(step)).min(most));
        match numbers.below(4) {
            0 => {
                let mut indices: Vec<u64> = (0..count.min(8)).map(|_| numbers.below(extent)).collect();
                indices.sort_unstable();
                indices.dedup();
                Axis::Indices(indices)
            }
            _ => Axis::Range { start, count, step },
        }
    });
    Selection::new(axes.collect(), shape).expect("a selection inside of its shape")
}

/// Opens `data` and reads all that is in it, each dataset whole and in parts, which must agree.
pub fn read_everything(data: &[u8], interpretation: Interpretation) {
    let storage = Arc::new(Memory::new("input", data.to_vec()));
    let Some(file) = honest(open(storage, &OpenOptions::new(limits(), interpretation))) else { return };
    let mut numbers = Numbers::new(data);
    // Half of the inputs are listed first, the others are read before anything is listed.
    let id = if numbers.below(2) == 0 { None } else { Some(file.tree().root()) };
    for id in id.into_iter().chain(objects(file.tree())) {
        for attribute in honest(file.tree().attributes(id)).iter().flat_map(|attributes| attributes.iter()) {
            if let Some(value) = honest(attribute.value.clone()) {
                std::hint::black_box(value.bytes.len());
            }
        }
        if let Some(Object::Dataset(dataset)) = honest(file.tree().object(id)) {
            honest(file.tree().dimensions(id, &|_| Err(Error::not_found("no path"))));
            read_dataset(file.as_ref(), id, &dataset, &mut numbers);
        }
    }
}

/// All objects that hard links reach. Each link is looked up by its name, too.
pub fn objects(tree: &dyn Tree) -> Vec<ObjectId> {
    let mut found = vec![tree.root()];
    let mut next = 0;
    while let Some(id) = found.get(next).copied() {
        next += 1;
        honest(tree.first_links(id, 3));
        let links = honest(tree.links(id)).unwrap_or_default();
        for link in &*links {
            honest(tree.link(id, &link.name));
            if let Some(member) = Link::object(link).filter(|member| !found.contains(member)) {
                found.push(member);
            }
        }
    }
    found
}

/// Bytes of `count` elements if they are few enough to be read.
fn bytes_of(dataset: &Dataset, selection: &Selection) -> Option<usize> {
    let bytes = honest(selection.element_count())?.checked_mul(dataset.datatype.size())?;
    usize::try_from(bytes).ok().filter(|_| bytes <= DATASET_BYTES)
}

fn read_dataset(file: &dyn ArrayFile, id: ObjectId, dataset: &Dataset, numbers: &mut Numbers) {
    if let Some(refusal) = &dataset.refusal {
        honest::<()>(Err(refusal.clone()));
        return;
    }
    // Those take other files; and netCDF-4's growth is the core crate's to fill.
    if matches!(dataset.storage, StorageLayout::Virtual | StorageLayout::External) || dataset.written_shape.is_some() {
        return;
    }
    if dataset.dataspace == Dataspace::Null {
        return;
    }
    let shape = dataset.dataspace.shape();
    let all = Selection::all(shape);
    let whole = bytes_of(dataset, &all).and_then(|length| honest(read(file, id, dataset, &all, length)));
    if let Some(bytes) = &whole {
        let mut heap = HeapObjects::limited(64 << 20);
        honest(file.resolve_heap(&dataset.datatype, bytes, &mut heap));
    }
    for _ in 0..3 {
        let part = hyperslab(numbers, shape, 64);
        let Some(length) = bytes_of(dataset, &part) else { continue };
        let found = read(file, id, dataset, &part, length);
        match &whole {
            None => {
                honest(found);
            }
            Some(whole) => {
                let size = usize::try_from(dataset.datatype.size()).expect("a size");
                assert_eq!(found.expect("a part of what could be read"), pick(whole, shape, &part, size), "{part:?} of {shape:?}");
            }
        }
    }
}

/// The elements of `part` in a dataset's bytes, the slow way.
pub fn pick(whole: &[u8], shape: &[u64], part: &Selection, size: usize) -> Vec<u8> {
    let mut rows = vec![0usize];
    for (axis, &extent) in part.axes().iter().zip(shape) {
        let wanted: Vec<u64> = (0..axis.count()).filter_map(|position| axis.index(position)).collect();
        rows = rows.iter().flat_map(|row| wanted.iter().map(move |index| row * extent as usize + *index as usize)).collect();
    }
    rows.into_iter().flat_map(|row| whole[row * size..(row + 1) * size].iter().copied()).collect()
}

/// What the core crate does, without its threads and its coalescing.
fn read(file: &dyn ArrayFile, id: ObjectId, dataset: &Dataset, selection: &Selection, length: usize) -> Result<Vec<u8>> {
    let size = usize::try_from(dataset.datatype.size()).map_err(|_| Error::limit_exceeded("an element"))?;
    let mut out = vec![0; length];
    let (mut raw, mut buffer) = (Vec::new(), ChunkBuffer::default());
    let target = Region::all(&selection.shape());
    for location in file.locate(id, selection)?.chunks {
        let chunk: DecodedChunk<'_> = match &location.source {
            ChunkSource::Fill => {
                let bytes = location.region.count.iter().try_fold(dataset.datatype.size(), |n, &extent| n.checked_mul(extent));
                // Contiguous blocks and clipped chunks: never more than a block.
                let Some(bytes) = bytes.filter(|n| *n <= 4 * DATASET_BYTES) else { continue };
                let decoded = &mut buffer.bytes;
                buffer.arrangement = Arrangement::Elements;
                decoded.clear();
                decoded.resize(bytes as usize, 0);
                if let Some(value) = dataset.fill_value.as_deref().filter(|value| value.len() == size && size > 0) {
                    decoded.chunks_exact_mut(size).for_each(|element| element.copy_from_slice(value));
                }
                buffer.chunk()
            }
            ChunkSource::Inline(bytes) => bytes.as_ref().into(),
            ChunkSource::Stored { offset, length, .. } => {
                let length = usize::try_from(*length).map_err(|_| Error::limit_exceeded("a chunk"))?;
                if !file.targets().is_empty() && offset.saturating_add(length as u64) > file.storage().len() {
                    return Err(Error::not_found("chunks in other files"));
                }
                if length as u64 > file.storage().len() {
                    return Err(Error::internal("a chunk that is longer than its file"));
                }
                raw.resize(length, 0);
                file.storage().read_exact_at(*offset, &mut raw)?;
                file.decode(id, &location, &raw, &mut buffer)?;
                buffer.chunk()
            }
        };
        scatter(chunk, &location.region, selection, &mut out, &target, size)?;
    }
    Ok(out)
}
