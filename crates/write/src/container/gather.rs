//! Merges many small subfiles of one commit into few, before the commit makes anything visible. Programs based on the HDF5
//! library keep all subfiles open at the same time, so there should not be many.

use std::collections::{BTreeMap, HashMap};

use hyperslab_array::{Cancellation, Dataspace, Error, Result};
use hyperslab_reader::{File, Session};
use hyperslab_storage::{EntryName, Existing, UniqueName, max_open_files};

use super::master::Master;
use super::movable_parts::{MovableDataset, MovablePart};
use super::plan::WritePlan;
use super::record::SubfileRecord;
use crate::encoding::checksum;
use crate::file::allocator::checked_alignment;
use crate::file::copying::dataset::{CopyCounts, DatasetCopy, SourcePart, StorageFormat};
use crate::file::definition::{DatasetDefinition, text_attribute};
use crate::file::file_writer::FileWriter;
use crate::file::reading_session::reading_session;
use crate::file::regions::region::Region;
use crate::file::reserved_attributes::SUBFILE_ATTRIBUTE;

/// Maximum bytes of a subfile that is merged; larger ones are kept, because copying would take as long as writing them.
pub(crate) const MAX_SMALL_BYTES: u64 = 1 << 20;
/// Maximum number of small subfiles that are kept.
pub(crate) const MAX_SMALL_SUBFILES: usize = 16;
/// Maximum number of clusters of a dataset. If its parts are more scattered, nothing is merged.
const MAX_BOXES: usize = 16;
/// Maximum bytes of values to re-encode.
const MAX_REENCODED_BYTES: u64 = 256 << 20;

/// Parts of a dataset that are close to each other.
struct Cluster {
    /// Their bounding box.
    around: Region,
    /// Number of elements of the parts.
    elements: u64,
    /// Indexes of the parts in [`MovableDataset::parts`].
    parts: Vec<usize>,
}

/// Content of subfiles that came in fragments, by file name.
pub(super) type InlineContents<'a> = HashMap<&'a str, &'a [u8]>;

/// Opens a subfile of a plan: the content from its fragment if there is one, else the file.
pub(super) fn open_subfile(plan: &WritePlan, session: &Session, name: &str, contents: &InlineContents<'_>) -> Result<File> {
    let place = plan.folder().join(name);
    match contents.get(name) {
        Some(content) => session.open_content(&place, content),
        None => session.open(place),
    }
}

/// The subfiles of a commit. If there are more than may be open, the others are opened for each access.
struct SubfileSources<'a> {
    plan: &'a WritePlan,
    session: Session,
    /// Records by the name that the master uses.
    names: BTreeMap<String, &'a SubfileRecord>,
    open: HashMap<String, File>,
    contents: &'a InlineContents<'a>,
}

impl SubfileSources<'_> {
    fn file(&mut self, name: &str) -> Result<File> {
        if let Some(file) = self.open.get(name) {
            return Ok(file.clone());
        }
        let record = self.names.get(name).ok_or_else(|| Error::internal("a subfile of another commit"))?;
        let file = open_subfile(self.plan, &self.session, &record.name, self.contents)?;
        if self.open.len() < max_open_files() / 4 {
            self.open.insert(name.to_owned(), file.clone());
        }
        Ok(file)
    }

    fn part(&mut self, path: &str, loose: &MovablePart, origin: &[u64]) -> Result<SourcePart> {
        let found = self.file(&loose.file)?.find(path)?;
        let source = found.dataset()?;
        let region = Region { start: loose.region.start_from(origin)?, count: loose.region.count.clone() };
        Ok(SourcePart { file: found.file, id: found.object, source, local: loose.local.clone(), region, index: None })
    }
}

/// Merges the small subfiles of this commit into few, if there are many. Returns the subfiles of the commit afterwards; those
/// that were merged do not belong to it.
pub(crate) fn gather(
    plan: &WritePlan,
    master: &mut Master,
    folder: &str,
    subfiles: Vec<SubfileRecord>,
    contents: &InlineContents<'_>,
) -> Result<Vec<SubfileRecord>> {
    let (small, mut kept): (Vec<_>, Vec<_>) = subfiles.into_iter().partition(|subfile| subfile.bytes <= MAX_SMALL_BYTES);
    if small.len() <= MAX_SMALL_SUBFILES {
        kept.extend(small);
        kept.sort_by_key(|subfile| subfile.task);
        return Ok(kept);
    }
    let names: BTreeMap<String, &SubfileRecord> = small.iter().map(|subfile| (format!("{folder}/{}", subfile.name), subfile)).collect();
    let mut sources = SubfileSources { plan, session: reading_session()?, names, open: HashMap::new(), contents };
    let loose = master.movable(|file| sources.names.contains_key(file))?;
    let mut datasets = Vec::with_capacity(loose.len());
    let mut reencoded_bytes = 0u64;
    for loose in loose {
        let dataset = GatheredDataset::new(loose, &mut sources)?;
        reencoded_bytes = reencoded_bytes.saturating_add(dataset.reencoded_bytes);
        datasets.push(dataset);
    }
    let files = datasets.iter().map(|dataset| dataset.clusters.len()).max().unwrap_or(0);
    if files > MAX_BOXES || reencoded_bytes > MAX_REENCODED_BYTES {
        drop(sources);
        kept.extend(small);
        kept.sort_by_key(|subfile| subfile.task);
        return Ok(kept);
    }
    for subfile in &small {
        if let Some(expected) = &subfile.checksums {
            let place = plan.folder().join(&subfile.name);
            if !checksum::damaged(&place, expected)?.is_empty() {
                return Err(Error::corrupt("the bytes of this subfile are not those that the task wrote").in_file(place.display().to_string()));
            }
        }
    }
    for index in 0..files {
        let tasks = small.iter().map(|subfile| subfile.task).collect();
        kept.push(gathered_subfile(index, tasks, &datasets, &mut sources, master, folder)?);
    }
    kept.sort_by_key(|subfile| subfile.task);
    Ok(kept)
}

/// Writes the cluster with this index of each dataset into a new subfile, which replaces the subfiles of `tasks` in the master.
fn gathered_subfile(
    index: usize,
    tasks: Vec<u64>,
    datasets: &[GatheredDataset],
    sources: &mut SubfileSources<'_>,
    master: &mut Master,
    folder: &str,
) -> Result<SubfileRecord> {
    let plan = sources.plan;
    let name = EntryName::parse(&format!("gathered-{index:04}-{}.h5", UniqueName::generate().prefix(8)))?;
    let place = plan.folder().join(&name);
    let mut out = FileWriter::in_place(&place, checked_alignment(plan.alignment)?, &reading_session()?)?;
    if !plan.durable {
        out.without_sync();
    }
    out.set_attribute("", SUBFILE_ATTRIBUTE, text_attribute(&format!("{} {name}", plan.id())))?;
    for dataset in datasets {
        if let Some(cluster) = dataset.clusters.get(index) {
            dataset.write(cluster, &mut out, sources)?;
            for part in cluster.parts.iter().filter_map(|part| dataset.loose.parts.get(*part)) {
                let start = part.region.start_from(&cluster.around.start)?;
                master.move_part(&dataset.loose.path, part.index, &format!("{folder}/{name}"), &start)?;
            }
        }
    }
    let bytes = out.finish(Existing::Keep)?;
    let checksums = if plan.checksums { Some(checksum::of_file(&place)?) } else { None };
    SubfileRecord::of_tasks(name, bytes, tasks, checksums)
}

/// A dataset, its parts, and their clusters.
struct GatheredDataset {
    loose: MovableDataset,
    first: StorageFormat,
    /// Whether all sources have the same storage format.
    alike: bool,
    clusters: Vec<Cluster>,
    /// Bytes of values that must be re-encoded.
    reencoded_bytes: u64,
}

impl GatheredDataset {
    fn new(loose: MovableDataset, sources: &mut SubfileSources<'_>) -> Result<Self> {
        let (mut first, mut alike, mut fits) = (None::<StorageFormat>, true, true);
        let mut clusters: Vec<Cluster> = Vec::new();
        for (index, part) in loose.parts.iter().enumerate() {
            let source = sources.part(&loose.path, part, &vec![0; part.region.start.len()])?.source;
            let stored = StorageFormat::of(&source);
            alike &= first.as_ref().is_none_or(|first| *first == stored);
            if let Some(chunk) = &stored.chunk_shape {
                let axes = part.region.start.iter().zip(&part.local.start).zip(chunk);
                fits &= axes.into_iter().all(|((start, local), chunk)| start.abs_diff(*local).is_multiple_of((*chunk).max(1)));
            }
            first.get_or_insert(stored);
            let elements = part.region.elements().unwrap_or(u64::MAX);
            let joined = clusters.last_mut().and_then(|last| {
                let around = last.around.around(&part.region);
                let together = last.elements.saturating_add(elements);
                (around.elements()? <= together.saturating_mul(2)).then_some((last, around, together))
            });
            match joined {
                Some((last, around, together)) => {
                    (last.around, last.elements) = (around, together);
                    last.parts.push(index);
                }
                None => clusters.push(Cluster { around: part.region.clone(), elements, parts: vec![index] }),
            }
        }
        let first = first.ok_or_else(|| Error::internal("a dataset without parts"))?;
        if let (true, Some(chunk)) = (alike, &first.chunk_shape) {
            for cluster in &mut clusters {
                cluster.begin_on(chunk);
            }
        }
        let elements = clusters.iter().fold(0u64, |sum, cluster| sum.saturating_add(cluster.elements));
        let is_copied = first.filters.filters.is_empty() || (alike && fits);
        let reencoded_bytes = if is_copied { 0 } else { elements.saturating_mul(loose.definition.datatype.size()) };
        Ok(Self { loose, first, alike, clusters, reencoded_bytes })
    }

    fn write(&self, cluster: &Cluster, out: &mut FileWriter, sources: &mut SubfileSources<'_>) -> Result<()> {
        let definition = DatasetDefinition {
            // In a contiguous array, elements that no task wrote are never read.
            fill_value: self.loose.definition.fill_value.clone().filter(|_| self.first.chunk_shape.is_some()),
            fill_time: self.loose.definition.fill_time,
            ..DatasetDefinition::new(self.loose.definition.datatype.clone(), Dataspace::fixed(cluster.around.count.clone()))
        };
        let (cancellation, mut counts) = (Cancellation::new(), CopyCounts::default());
        let mut copy = DatasetCopy {
            out,
            path: &self.loose.path,
            cancellation: &cancellation,
            counts: &mut counts,
            grows: false,
            format: None,
            objects: None,
            checkpoints: None,
        };
        copy.create(definition, &self.first, self.alike, &[])?;
        for part in cluster.parts.iter().filter_map(|part| self.loose.parts.get(*part)) {
            let part = sources.part(&self.loose.path, part, &cluster.around.start)?;
            copy.put(&part, self.alike)?;
        }
        Ok(())
    }
}

impl Cluster {
    /// Aligns the start of the bounding box to the dataset's chunk grid, so that whole chunks can be copied.
    fn begin_on(&mut self, chunk: &[u64]) {
        for ((start, count), chunk) in self.around.start.iter_mut().zip(&mut self.around.count).zip(chunk) {
            let before = *start % (*chunk).max(1);
            *start -= before;
            *count += before;
        }
    }
}
