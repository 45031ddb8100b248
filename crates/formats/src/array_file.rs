//! The interface between file formats and everything above: the trait [`ArrayFile`].

use std::borrow::Cow;
use std::sync::Arc;

use hyperslab_array::{Arrangement, ChunkBuffer, Datatype, Error, HeapObjects, HeapReference, ReferenceKind, Region, Result, Selection, StoredReference};
use hyperslab_storage::Storage;

use crate::{Format, HeaderPattern, ObjectId, Target, Tree};

/// Where the bytes of one chunk are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChunkSource {
    /// `length` bytes at absolute `offset` of the file's storage, to be given to `decode`.
    Stored {
        /// Absolute byte offset (base address included).
        offset: u64,
        /// Stored bytes, after filters.
        length: u64,
        /// Filters of the pipeline that were skipped: bit i for filter i.
        filter_mask: u32,
    },
    /// The decoded bytes themselves (compact layout).
    Inline(Arc<[u8]>),
    /// Never written: the fill value (see [`crate::Dataset::fill_value`]), zeros without one.
    Fill,
}

/// One chunk: its place in the dataset and its bytes' place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkLocation {
    /// The elements of its decoded bytes (HDF5 chunks hang over the edge of the dataset, contiguous blocks do not).
    pub region: Region,
    /// Where the bytes are.
    pub source: ChunkSource,
}

/// The chunks that a selection touches, row-major by origin, each exactly once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChunkLocations {
    /// The chunks.
    pub chunks: Vec<ChunkLocation>,
}

/// An open file of some format. It describes, locates and decodes; it never fetches chunk bytes, spawns threads or
/// knows Arrow.
pub trait ArrayFile: Send + Sync {
    /// The format, as found in the bytes.
    fn format(&self) -> Format;
    /// Where the bytes are.
    fn storage(&self) -> &Arc<dyn Storage>;
    /// Whether the storage holds the arrays' bytes as they are, so that they can be read there without `decode`, and opening the
    /// path again gives the same arrays. False for arrays that a program provides.
    fn is_stored(&self) -> bool {
        true
    }
    /// Bytes in front of the format's own first byte, which belong to the user (HDF5's user block).
    fn user_block_bytes(&self) -> u64 {
        0
    }
    /// The other files that hold its chunks, of chunk references.
    fn targets(&self) -> &[Target] {
        &[]
    }
    /// The same over a storage that joins all [`ArrayFile::targets`]; `None` if it has none.
    fn over(&self, storage: Arc<dyn Storage>) -> Option<Arc<dyn ArrayFile>> {
        drop(storage);
        None
    }
    /// Groups, datasets, attributes and dimensions.
    fn tree(&self) -> &dyn Tree;
    /// Recognizes the headers of datasets that differ from this one only in where their values are, which lie side by side as they
    /// are read. `None` if there is no such pattern.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported` or `Io` if the header cannot be parsed.
    fn header_pattern(&self, dataset: ObjectId) -> Result<Option<HeaderPattern>> {
        let _ = dataset;
        Ok(None)
    }
    /// The chunks of `dataset` that `selection` touches. Reads metadata. A contiguous dataset
    /// is divided along [`crate::Dataset::chunk_grid`] into blocks that are contiguous in the file.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported` or `Io` if metadata cannot be read; `LimitExceeded` for too many chunks; the dataset's
    /// refusal.
    fn locate(&self, dataset: ObjectId, selection: &Selection) -> Result<ChunkLocations>;
    /// Bytes of the dataset's values in the file, after filters. Reads metadata, in time that the file's length bounds: chunks
    /// that were never written are not looked at.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported` or `Io` if metadata cannot be read; `LimitExceeded` if it is too much.
    fn stored_bytes(&self, dataset: ObjectId) -> Result<u64>;
    /// Decodes a stored chunk: `raw` holds its bytes, and `out` (cleared first) receives exactly
    /// `product(location.region.count) * datatype.size()` bytes and their arrangement. Reads nothing.
    ///
    /// # Errors
    /// `Corrupt` or `Unsupported` for bytes that cannot be decoded.
    fn decode(&self, dataset: ObjectId, location: &ChunkLocation, raw: &[u8], out: &mut ChunkBuffer) -> Result<()>;
    /// How the bytes are arranged that inflating a stored chunk gives, if it is one zlib stream and nothing else: a part of it can be inflated from
    /// restart points. `None` for another chunk.
    ///
    /// # Errors
    /// As [`ArrayFile::decode`], for what is wrong with the dataset.
    fn deflated(&self, dataset: ObjectId, location: &ChunkLocation) -> Result<Option<Arrangement>> {
        let _ = (dataset, location);
        Ok(None)
    }
    /// Reads heap objects into `objects`, except those that are there already.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read; `LimitExceeded` if they are too large.
    fn heap_objects(&self, references: &[HeapReference], objects: &mut HeapObjects) -> Result<()>;

    /// Parses stored references (`bytes` holds whole elements of `size` bytes) without reading their
    /// targets; `None` for null references. May read heap objects.
    ///
    /// # Errors
    /// `Unsupported` for a format without references; `Corrupt` for bytes that are not references.
    fn references(&self, kind: ReferenceKind, size: usize, bytes: &[u8]) -> Result<Vec<Option<StoredReference>>> {
        let count = bytes.len().checked_div(size).unwrap_or(0);
        Err(Error::unsupported(format!(
            "{count} {} references in this format",
            match kind {
                ReferenceKind::Object => "object",
                ReferenceKind::Region => "region",
                ReferenceKind::Standard => "standard",
            }
        )))
    }

    /// Fetches all heap objects that `bytes` (elements of `datatype`) point at, nested ones too.
    ///
    /// # Errors
    /// As [`ArrayFile::heap_objects`].
    fn resolve_heap(&self, datatype: &Datatype, bytes: &[u8], objects: &mut HeapObjects) -> Result<()> {
        resolve_heap(datatype, bytes, objects, &mut |references, objects| self.heap_objects(references, objects))
    }
}

/// Fetches heap objects into the second.
type HeapFetch<'a> = dyn FnMut(&[HeapReference], &mut HeapObjects) -> Result<()> + 'a;

/// Calls `fetch` for all heap objects that `bytes` (elements of `datatype`) point at, including nested ones.
pub(crate) fn resolve_heap(datatype: &Datatype, bytes: &[u8], objects: &mut HeapObjects, fetch: &mut HeapFetch<'_>) -> Result<()> {
    if !datatype.uses_heap() {
        return Ok(());
    }
    let mut pending = vec![(Cow::Borrowed(datatype), Cow::Borrowed(bytes))];
    // Each round goes one level deeper into nested sequences. The depth of the datatype bounds the number of
    // rounds, and the budget of `objects` bounds the work of each.
    while !pending.is_empty() {
        let mut references = Vec::new();
        let mut inner = Vec::new();
        for (datatype, bytes) in &pending {
            collect_heap_references(datatype, bytes, &mut |base, element, reference| {
                let (count, _) = HeapReference::parse(element)?;
                objects.charge(u64::from(count).saturating_mul(base.map_or(1, Datatype::size)))?;
                references.push(reference);
                if let Some(base) = base.filter(|base| base.uses_heap()) {
                    inner.push((base.clone(), element.to_vec()));
                }
                Ok(())
            })?;
        }
        references.sort_unstable();
        references.dedup();
        fetch(&references, objects)?;
        pending = inner
            .into_iter()
            .map(|(base, element)| {
                let value = objects.value(&element, base.size())?.to_vec();
                Ok((Cow::Owned(base), Cow::Owned(value)))
            })
            .collect::<Result<_>>()?;
    }
    Ok(())
}

/// Takes the base datatype of a sequence (none for strings), the stored element, and what it points at.
pub type HeapVisit<'a> = dyn FnMut(Option<&Datatype>, &[u8], HeapReference) -> Result<()> + 'a;

/// Calls `visit(base datatype of a sequence, stored element, reference)` for every variable-length
/// value in `bytes` (whole elements of `datatype`), without looking inside the values.
///
/// # Errors
/// That of `visit`; `Corrupt` for bytes that are not whole elements.
pub fn collect_heap_references(datatype: &Datatype, bytes: &[u8], visit: &mut HeapVisit<'_>) -> Result<()> {
    let size = usize::try_from(datatype.size()).map_err(|_| Error::corrupt("an element exceeds memory"))?;
    if size == 0 {
        return Ok(());
    }
    match datatype {
        Datatype::VariableString { .. } | Datatype::Sequence { .. } => {
            let base = match datatype {
                Datatype::Sequence { base, .. } => Some(base.as_ref()),
                _ => None,
            };
            for element in bytes.chunks_exact(size) {
                if let (_, Some(reference)) = HeapReference::parse(element)? {
                    visit(base, element, reference)?;
                }
            }
        }
        Datatype::Compound { members, .. } => {
            for member in members.iter().filter(|m| m.datatype.uses_heap()) {
                let range = usize::try_from(member.offset)
                    .ok()
                    .zip(usize::try_from(member.datatype.size()).ok())
                    .and_then(|(start, n)| Some(start..start.checked_add(n)?));
                for element in bytes.chunks_exact(size) {
                    let part = range
                        .clone()
                        .and_then(|r| element.get(r))
                        .ok_or_else(|| Error::corrupt(format!("member {} lies outside of its compound", member.name)))?;
                    collect_heap_references(&member.datatype, part, visit)?;
                }
            }
        }
        Datatype::Array { base, .. } => collect_heap_references(base, bytes, visit)?,
        _ => {}
    }
    Ok(())
}
