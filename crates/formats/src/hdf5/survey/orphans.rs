//! Gives parts of chunk indexes that nothing leads to back to their datasets: blocks of arrays, which name their owners, and nodes of
//! version-2 B-trees, which are known by what they list.

use std::collections::{HashMap, HashSet};

use hyperslab_array::Result;

use super::found_chunks::{ChunkEvidence, Found, SurveyedChunk, entry_bytes};
use super::log::Log;
use super::rescue::{FILTER_SLACK, layout_of};
use super::structure::{Purpose, StructureKind};
use super::{Objects, SurveyedObject, extensible_array, fixed_array};
use crate::hdf5::chunk_locator::entry::parse_entry;
use crate::hdf5::layout::{ChunkedLayout, Locator};
use crate::hdf5::{Source, checksum};

/// Bytes of a node that are looked at: writers use nodes of 512 and 2,048 bytes.
const MAX_NODE_BYTES: u64 = 4096;
/// Signature, version and type of a node of a version-2 B-tree.
const NODE_HEAD: usize = 6;
/// Record types of chunks without and with filters.
const CHUNKS: u8 = 10;
const FILTERED_CHUNKS: u8 = 11;
/// Bytes that may be hashed to find out how long nodes are: this, and as many times the bytes of the file.
const HASHED_BYTES: u64 = 64 << 20;
const HASHED_TIMES: u64 = 64;

impl Objects {
    /// Gives blocks of fixed and extensible arrays to the datasets whose indexes are damaged.
    pub(super) fn adopt_array_blocks(&mut self, log: &mut Log<'_>, owned: &HashMap<u64, Vec<u64>>) -> Result<()> {
        let source = log.source;
        for object in self.list.iter_mut().filter(|object| !object.has_all_chunks) {
            let Some(layout) = layout_of(object) else { continue };
            let (Locator::FixedArray { address } | Locator::ExtensibleArray { address }) = &layout.locator else { continue };
            let Some(places) = owned.get(address) else { continue };
            let is_filtered = object.stored.as_ref().is_some_and(|stored| !stored.pipeline.filters.is_empty());
            let (mut scratch, mut found) = (Log::new(source), Found::new(layout, ChunkEvidence::OwnedBlock));
            match layout.locator {
                Locator::FixedArray { .. } => fixed_array::orphans(&mut scratch, *address, places, is_filtered, &mut found)?,
                _ => extensible_array::orphans(&mut scratch, *address, places, is_filtered, &mut found)?,
            }
            let chunks = found.chunks;
            add(log, object, chunks)?;
        }
        Ok(())
    }

    /// Gives nodes of version-2 B-trees to the damaged datasets to which they belong: those that they fit, if they fit one only.
    pub(super) fn adopt_tree_nodes(&mut self, log: &mut Log<'_>, nodes: &[u64]) -> Result<()> {
        let source = log.source;
        let is_damaged =
            |object: &SurveyedObject| !object.has_all_chunks && layout_of(object).is_some_and(|layout| matches!(layout.locator, Locator::BtreeV2 { .. }));
        let damaged: Vec<usize> = self.list.iter().enumerate().filter(|(_, object)| is_damaged(object)).map(|(index, _)| index).collect();
        let mut allowed = HASHED_BYTES.saturating_add(source.storage.len().saturating_mul(HASHED_TIMES));
        for node in nodes.iter().filter(|_| !damaged.is_empty()) {
            let Ok(bytes) = source.read_up_to(*node, MAX_NODE_BYTES) else { continue };
            let mut fitting: Vec<(usize, Vec<SurveyedChunk>)> = Vec::new();
            let mut lists: HashMap<usize, Option<Vec<&[u8]>>> = HashMap::new();
            for index in &damaged {
                let Some((object, layout)) = self.list.get(*index).and_then(|object| Some((object, layout_of(object)?))) else { continue };
                let is_filtered = object.stored.as_ref().is_some_and(|stored| !stored.pipeline.filters.is_empty());
                if bytes.get(NODE_HEAD - 1) != Some(if is_filtered { &FILTERED_CHUNKS } else { &CHUNKS }) {
                    continue;
                }
                for entry in entry_bytes(source, layout, is_filtered) {
                    let entry = usize::try_from(entry).unwrap_or(usize::MAX);
                    let record_bytes = entry.saturating_add(8 * layout.shape.len());
                    let records = lists.entry(record_bytes).or_insert_with(|| records(source, &bytes, record_bytes, &mut allowed));
                    let Some(records) = records else { continue };
                    if let Some(chunks) = fitting_records(source, object, layout, *node, records, entry, is_filtered)? {
                        fitting.push((*index, chunks));
                        break;
                    }
                }
            }
            if let (Some((index, chunks)), true) = (fitting.pop(), fitting.is_empty())
                && let Some(object) = self.list.get_mut(index)
            {
                add(log, object, chunks)?;
            }
        }
        Ok(())
    }
}

/// Adds those chunks to an object that it does not have yet.
fn add(log: &mut Log<'_>, object: &mut SurveyedObject, chunks: Vec<SurveyedChunk>) -> Result<()> {
    let mut known: HashSet<Vec<u64>> = object.chunks.iter().map(|chunk| chunk.position.clone()).collect();
    (log.object, log.purpose) = (Some(object.address), Purpose::Data);
    for chunk in chunks {
        if known.insert(chunk.position.clone()) {
            let address = chunk.offset.saturating_sub(log.source.base_address);
            log.extent(StructureKind::Chunk, address, chunk.length)?;
            object.chunks.push(chunk);
        }
    }
    Ok(())
}

/// The records of a node whose number of records is not known: the number for which its checksum is right.
fn records<'b>(source: &Source, bytes: &'b [u8], record_bytes: usize, allowed: &mut u64) -> Option<Vec<&'b [u8]>> {
    let is_leaf = bytes.starts_with(b"BTLF");
    // The pointers of an inner node: an address, the records of the child, and of all below it if that has children.
    let pointers: &[usize] = if is_leaf { &[0] } else { &[1, 2, 3, 4] };
    for count in 1..=bytes.len() / record_bytes.max(1) {
        for pointer in pointers {
            let below = if is_leaf { 0 } else { (count + 1) * (usize::from(source.offset_size) + pointer) };
            let used = NODE_HEAD + count * record_bytes + below;
            let Some((content, rest)) = bytes.split_at_checked(used) else { continue };
            let Some(stored) = rest.first_chunk().map(|sum| u32::from_le_bytes(*sum)) else { continue };
            *allowed = allowed.checked_sub(used as u64)?;
            if checksum::lookup3(content) == stored {
                let records = content.get(NODE_HEAD..NODE_HEAD + count * record_bytes)?;
                return Some(records.chunks_exact(record_bytes).collect());
            }
        }
    }
    None
}

/// The chunks that these records list, if all of them can be chunks of `object` that it does not have yet.
fn fitting_records(
    source: &Source,
    object: &SurveyedObject,
    layout: &ChunkedLayout,
    node: u64,
    records: &[&[u8]],
    entry: usize,
    is_filtered: bool,
) -> Result<Option<Vec<SurveyedChunk>>> {
    let known: HashSet<&[u64]> = object.chunks.iter().map(|chunk| chunk.position.as_slice()).collect();
    let (mut chunks, mut last): (Vec<SurveyedChunk>, Vec<u64>) = (Vec::new(), Vec::new());
    for record in records {
        let mut cursor = source.cursor(record, node);
        let parsed = parse_entry(&mut cursor, layout, is_filtered, entry);
        let position = (0..layout.shape.len()).map(|_| cursor.u64()).collect::<Result<Vec<_>>>();
        let (Ok(Some((address, length, filter_mask))), Ok(position)) = (parsed, position) else { return Ok(None) };
        let is_inside = position.iter().zip(&layout.chunk_shape).zip(&layout.shape).all(|((number, chunk), n)| number.saturating_mul(*chunk) < *n);
        let has_length = length > 0 && length <= layout.chunk_bytes.saturating_mul(2).saturating_add(FILTER_SLACK);
        if !is_inside || !has_length || last >= position || known.contains(position.as_slice()) {
            return Ok(None);
        }
        source.budget.charge((size_of::<SurveyedChunk>() + 8 * position.len()) as u64)?;
        let Ok(offset) = source.absolute(address) else { return Ok(None) };
        chunks.push(SurveyedChunk { position: position.clone(), offset, length, filter_mask, evidence: ChunkEvidence::Fit });
        last = position;
    }
    Ok(Some(chunks))
}
