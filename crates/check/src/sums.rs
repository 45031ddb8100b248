//! Stat: where the bytes of a file are, and which of them are there for no good reason.

use std::collections::BTreeMap;

use hyperslab_array::{Error, Result};
use hyperslab_formats::hdf5::survey::{Extent, Purpose, StructureKind, Survey, SurveyedObject, gaps};
use hyperslab_formats::{Dataset, Object, StorageLayout};
use serde::Serialize;

/// Where the bytes of a file are.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Stat {
    /// The file.
    pub file: String,
    /// Its bytes.
    pub file_bytes: u64,
    /// Version of the superblock.
    pub superblock_version: Option<u8>,
    /// Numbers of groups, datasets, committed datatypes, links and attributes.
    pub groups: u64,
    /// Datasets.
    pub datasets: u64,
    /// Committed datatypes.
    pub datatypes: u64,
    /// Attributes of all objects.
    pub attributes: u64,
    /// Values of datasets, after filters.
    pub data_bytes: u64,
    /// Everything else that something leads to, without free space.
    pub metadata_bytes: u64,
    /// Ranges that a free-space manager lists.
    pub free_bytes: u64,
    /// Bytes that nothing leads to.
    pub unaccounted_bytes: u64,
    /// Bytes by what they hold, most first.
    pub kinds: Vec<KindStat>,
    /// The datasets, most bytes first.
    pub dataset_list: Vec<DatasetStat>,
    /// What is inefficient, and which command helps.
    pub advice: Vec<Advice>,
    /// Number of damaged structures, whose bytes may be among those that nothing leads to.
    pub damages: u64,
}

impl Stat {
    /// The sums as JSON.
    ///
    /// # Errors
    /// `Internal` if they cannot be written.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::internal(format!("sums that cannot be written as JSON: {error}")))
    }
}

/// Structures of one kind that are there for one purpose.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct KindStat {
    /// What they are.
    pub kind: &'static str,
    /// What for.
    pub purpose: &'static str,
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// One dataset.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DatasetStat {
    /// Its path.
    pub path: String,
    /// `compact`, `contiguous`, `chunked`, `external` or `virtual`.
    pub storage: &'static str,
    /// Extent.
    pub shape: Vec<u64>,
    /// Bytes of an element.
    pub element_bytes: u64,
    /// Bytes of all values, before filters; `None` beyond 64 bits.
    pub value_bytes: Option<u64>,
    /// Bytes in the file, after filters.
    pub stored_bytes: u64,
    /// `value_bytes` of the stored part for each stored byte.
    pub ratio: Option<f64>,
    /// Filters, in the order in which they are applied.
    pub filters: Vec<String>,
    /// Extent of a chunk.
    pub chunk_shape: Option<Vec<u64>>,
    /// Stored chunks.
    pub chunks: u64,
    /// Bytes of the smallest, the median and the largest stored chunk.
    pub chunk_bytes: Option<[u64; 3]>,
    /// Bytes of a chunk before filters.
    pub unfiltered_chunk_bytes: Option<u64>,
    /// Chunks to which filters were not applied.
    pub skipped_chunks: u64,
    /// Bytes of the index of its chunks.
    pub index_bytes: u64,
}

/// Something inefficient.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// The object; `None` for the file.
    pub path: Option<String>,
    /// What is inefficient.
    pub message: String,
    /// A command that helps.
    pub command: String,
}

/// Minimum bytes of a chunk; smaller chunks take longer to locate than to read.
const MIN_CHUNK_BYTES: u64 = 16 << 10;
/// The chunk cache of HDF5 1.14 for each dataset, in bytes: a larger chunk is decoded again for each read.
const CACHE_BYTES: u64 = 1 << 20;
/// Minimum bytes of a dataset that is worth advice.
const MIN_DATASET_BYTES: u64 = 1 << 20;
/// Version-1 B-trees of more chunks are slow to open: a read walks them node by node.
const MAX_TREE_CHUNKS: u64 = 100_000;
/// Number of attributes of one object from which a few datasets or one array attribute are better.
const MANY_ATTRIBUTES: u64 = 1000;
/// Minimum share of unused space in a file that is worth a repack, in percent.
const MIN_LOST_PERCENT: u64 = 10;
/// Minimum compression ratio that is worth decoding.
const MIN_RATIO: f64 = 1.05;

/// Sums up a survey of the file that `shown` names.
pub(crate) fn of_survey(shown: &str, survey: &Survey) -> Stat {
    let mut kinds: BTreeMap<(StructureKind, Purpose), (u64, u64)> = BTreeMap::new();
    let mut index_bytes: BTreeMap<u64, u64> = BTreeMap::new();
    for extent in &survey.extents {
        let (count, bytes) = kinds.entry((extent.kind, extent.purpose)).or_default();
        (*count, *bytes) = (*count + 1, *bytes + extent.length);
        if let Some(object) = extent.object.filter(|_| extent.purpose == Purpose::ChunkIndex) {
            *index_bytes.entry(object).or_default() += extent.length;
        }
    }
    let sum = |wanted: &dyn Fn(&Extent) -> bool| covered(survey.extents.iter().filter(|extent| wanted(extent)));
    let is_free = |extent: &Extent| extent.kind == StructureKind::FreeSpace;
    let data_bytes = sum(&|extent| extent.kind.is_data());
    let free_bytes = sum(&is_free);
    let count = |wanted: fn(&Object) -> bool| survey.objects.iter().filter(|object| object.object.as_ref().is_some_and(wanted)).count() as u64;
    let mut dataset_list: Vec<DatasetStat> = Vec::new();
    for object in &survey.objects {
        if let Some(Object::Dataset(dataset)) = &object.object {
            dataset_list.push(of_dataset(object, dataset, index_bytes.get(&object.address).copied().unwrap_or(0)));
        }
    }
    dataset_list.sort_by(|a, b| (b.stored_bytes, &a.path).cmp(&(a.stored_bytes, &b.path)));
    let mut kinds: Vec<KindStat> =
        kinds.into_iter().map(|((kind, purpose), (count, bytes))| KindStat { kind: kind.name(), purpose: purpose.name(), count, bytes }).collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.bytes));
    let unaccounted_bytes = gaps(&survey.extents, 0, survey.file_bytes).iter().map(|(_, length)| length).sum();
    let mut stat = Stat {
        file: shown.to_owned(),
        file_bytes: survey.file_bytes,
        superblock_version: survey.superblock_version,
        groups: count(Object::is_group),
        datasets: dataset_list.len() as u64,
        datatypes: count(|object| matches!(object, Object::Datatype(_))),
        attributes: survey.objects.iter().map(|object| object.attribute_count).sum(),
        data_bytes,
        metadata_bytes: sum(&|extent| !extent.kind.is_data() && !is_free(extent)),
        free_bytes,
        unaccounted_bytes,
        kinds,
        dataset_list,
        advice: Vec::new(),
        damages: survey.damages.len() as u64,
    };
    stat.advice = advice(&stat, survey);
    stat
}

/// Bytes that these extents cover, each counted once.
fn covered<'a>(extents: impl Iterator<Item = &'a Extent>) -> u64 {
    let mut ranges: Vec<(u64, u64)> = extents.map(|extent| (extent.offset, extent.end())).collect();
    ranges.sort_unstable();
    let (mut sum, mut at) = (0u64, 0);
    for (start, end) in ranges {
        sum = sum.saturating_add(end.saturating_sub(start.max(at)));
        at = at.max(end);
    }
    sum
}

fn of_dataset(object: &SurveyedObject, dataset: &Dataset, index_bytes: u64) -> DatasetStat {
    let mut sizes: Vec<u64> = object.chunks.iter().map(|chunk| chunk.length).collect();
    sizes.sort_unstable();
    let element_bytes = dataset.datatype.size();
    let unfiltered = dataset.chunk_shape.as_ref().map(|shape| shape.iter().fold(element_bytes, |n, extent| n.saturating_mul(*extent)));
    let stored_bytes = match dataset.storage {
        StorageLayout::Chunked => sizes.iter().fold(0u64, |sum, size| sum.saturating_add(*size)),
        _ => dataset.stored_bytes.unwrap_or(0),
    };
    let ratio = unfiltered.filter(|_| stored_bytes > 0).map(|bytes| bytes as f64 * sizes.len() as f64 / stored_bytes as f64);
    let at = |index: usize| sizes.get(index).copied();
    let chunk_bytes = at(0).zip(at(sizes.len() / 2)).zip(sizes.last().copied()).map(|((min, median), max)| [min, median, max]);
    DatasetStat {
        path: object.path.clone(),
        storage: match dataset.storage {
            StorageLayout::Compact => "compact",
            StorageLayout::Contiguous => "contiguous",
            StorageLayout::Chunked => "chunked",
            StorageLayout::External => "external",
            StorageLayout::Virtual => "virtual",
        },
        shape: dataset.dataspace.shape().to_vec(),
        element_bytes,
        value_bytes: dataset.value_bytes(),
        stored_bytes,
        ratio,
        filters: dataset.filters.iter().map(|filter| filter.name.clone()).collect(),
        chunk_shape: dataset.chunk_shape.clone(),
        chunks: sizes.len() as u64,
        chunk_bytes,
        unfiltered_chunk_bytes: unfiltered,
        skipped_chunks: object.chunks.iter().filter(|chunk| chunk.filter_mask != 0).count() as u64,
        index_bytes,
    }
}

fn advice(stat: &Stat, survey: &Survey) -> Vec<Advice> {
    let mut advice = Vec::new();
    let quoted = |path: &str| format!("'{}'", path.replace('\'', "'\\''"));
    let file = quoted(&stat.file);
    let mut add = |path: Option<&str>, message: String, command: String| advice.push(Advice { path: path.map(ToOwned::to_owned), message, command });
    let lost = stat.unaccounted_bytes.saturating_add(stat.free_bytes);
    if lost.saturating_mul(100) / stat.file_bytes.max(1) >= MIN_LOST_PERCENT && lost >= MIN_CHUNK_BYTES {
        let message = format!("{lost} of {} bytes are free or belong to nothing", stat.file_bytes);
        add(None, message, format!("hyperslab repack {file} smaller.h5"));
    }
    if stat.damages > 0 {
        add(None, format!("{} structures are damaged", stat.damages), format!("hyperslab check {file}"));
    }
    for dataset in &stat.dataset_list {
        let path = dataset.path.as_str();
        let one = quoted(path);
        let large = dataset.stored_bytes >= MIN_DATASET_BYTES;
        if let (Some(bytes), true) = (dataset.unfiltered_chunk_bytes, large) {
            if bytes < MIN_CHUNK_BYTES && dataset.chunks > 1 {
                let message = format!("{} chunks of {bytes} bytes: finding them costs more than reading them", dataset.chunks);
                add(Some(path), message, format!("hyperslab advise {file} {one}"));
            }
            if bytes > CACHE_BYTES && !dataset.filters.is_empty() {
                let message =
                    format!("chunks of {bytes} bytes do not fit the chunk cache of HDF5 ({CACHE_BYTES} bytes): other programs decode one for each read");
                add(Some(path), message, format!("hyperslab advise {file} {one}"));
            }
        }
        if dataset.chunks > MAX_TREE_CHUNKS {
            let is_old = survey.objects.iter().any(|object| object.path == dataset.path && !object.has_checksums);
            if is_old {
                let message = format!("{} chunks in a version-1 B-tree of {} bytes", dataset.chunks, dataset.index_bytes);
                add(Some(path), message, format!("hyperslab repack {file} better.h5 --dataset {one} --chunks …"));
            }
        }
        let compresses = dataset.filters.iter().any(|name| !["shuffle", "fletcher32"].contains(&name.as_str()));
        if let Some(ratio) = dataset.ratio.filter(|ratio| compresses && large && *ratio < MIN_RATIO) {
            let message = format!("{} saves {:.1} % only, and costs time for each read", dataset.filters.join(" + "), 100.0 * (1.0 - 1.0 / ratio.max(1.0)));
            add(Some(path), message, format!("hyperslab repack {file} plain.h5 --dataset {one} --compression none"));
        }
    }
    for object in survey.objects.iter().filter(|object| object.attribute_count >= MANY_ATTRIBUTES) {
        let message = format!("{} attributes of one object: each is looked up by itself", object.attribute_count);
        add(Some(&object.path), message, format!("hyperslab info {file} {}", quoted(&object.path)));
    }
    advice
}
