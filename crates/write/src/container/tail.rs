//! The tail: a subfile with space for the rows of later commits, so that small appends do not each create a file.
//!
//! Its datasets are contiguous, with capacity for more rows than they have. A commit writes its rows after those that the
//! master uses, and the new master uses them, too. Bytes that an older master uses never change. Unused capacity is a hole in
//! the file and takes no disk space.
//!
//! Only the commit that appends the next line to the tail's list of commits may write, and only if the last line is the
//! commit that the current master names. So copied masters, killed commits, and committers on file systems without locks
//! never overwrite each other's rows: one of them continues the tail, the others begin new ones.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

use hyperslab_array::{Axis, Cancellation, Dataspace, Datatype, Error, Result, Selection};
use hyperslab_formats::{ChunkSource, ObjectId};
use hyperslab_reader::{File, Session};
use hyperslab_storage::{Existing, SharedFile};

use crate::file::allocator::checked_alignment;
use crate::file::definition::{DatasetDefinition, text_attribute};
use crate::file::file_writer::FileWriter;
use crate::file::memory_length::memory_length;
use crate::file::reading_session::reading_session;
use crate::file::region::Region;
use crate::file::reserved_attributes::SUBFILE_ATTRIBUTE;
use super::commit_name::{CommitName, is_id};
use super::gather::{InlineContents, MAX_SMALL_BYTES, MAX_SMALL_SUBFILES, open_subfile};
use super::master::Master;
use super::movable_parts::{MovableDataset, MovablePart};
use super::plan::WritePlan;
use super::record::SubfileRecord;

/// File name of a tail, in the folder of the commit that created it.
pub(crate) const TAIL: &str = "rows.h5";
/// File next to the tail that lists the commits that added rows, one per line.
const COMMITS: &str = "rows.commits";
/// Bytes of a line: a commit id and a newline.
const LINE_BYTES: u64 = 33;
/// Maximum bytes of a subfile with filters whose rows are moved: a tail has no filters.
const MAX_FILTERED_BYTES: u64 = 64 << 10;
/// Minimum capacity of a dataset in a tail, in bytes.
const MIN_CAPACITY_BYTES: u64 = 16 << 10;
/// Maximum capacity of a dataset in a tail, in bytes.
const MAX_CAPACITY_BYTES: u64 = 64 << 20;
/// Maximum number of datasets that a new tail takes over from the previous one.
const MAX_DATASETS: usize = 64;

/// Where the rows of a commit were written.
pub(crate) enum Appended {
    /// They stay in the tasks' subfiles.
    No,
    /// Into a new tail in the commit's folder.
    New(SubfileRecord),
    /// Into the existing tail in this folder.
    Existing(String),
}

/// A dataset of a tail.
struct TailDataset {
    path: String,
    datatype: Datatype,
    shape: Vec<u64>,
    /// File offset of its first byte.
    address: u64,
}

impl TailDataset {
    fn row_bytes(&self) -> u64 {
        row_bytes(&self.datatype, &self.shape)
    }
}

fn row_bytes(datatype: &Datatype, shape: &[u64]) -> u64 {
    shape.iter().skip(1).fold(datatype.size(), |n, extent| n.saturating_mul(*extent)).max(1)
}

/// Moves the rows of these subfiles into a tail, if the subfiles contain nothing else.
pub(crate) fn append(plan: &WritePlan, master: &mut Master, base: &CommitName, folder: &str, subfiles: &[SubfileRecord], contents: &InlineContents<'_>) -> Result<Appended> {
    if plan.checksums || subfiles.is_empty() || subfiles.len() > MAX_SMALL_SUBFILES || subfiles.iter().any(|subfile| subfile.bytes > MAX_SMALL_BYTES) {
        return Ok(Appended::No);
    }
    let session = reading_session()?;
    let mut files = Vec::with_capacity(subfiles.len());
    for subfile in subfiles {
        files.push((format!("{folder}/{}", subfile.name), subfile, open_subfile(plan, &session, &subfile.name, contents)?));
    }
    let all = master.movable(|file| files.iter().any(|(name, ..)| name == file))?;
    let has_filters = |loose: &MovableDataset, part: &MovablePart| {
        let Some((_, subfile, file)) = files.iter().find(|(name, ..)| *name == part.file) else { return true };
        let found = file.find(&loose.path).and_then(|found| found.dataset().map(|dataset| dataset.filters.clone()));
        // Keep values with a checksum filter where they are.
        found.map_or(true, |filters| filters.iter().any(|filter| filter.id == 3) || (!filters.is_empty() && subfile.bytes > MAX_FILTERED_BYTES))
    };
    let fits = |loose: &MovableDataset| {
        let (datatype, shape) = (&loose.definition.datatype, loose.definition.dataspace.shape());
        let is_rows = |part: &MovablePart| part.region.start.iter().skip(1).all(|start| *start == 0) && part.region.count.get(1..) == shape.get(1..);
        loose.has_earlier_parts && !datatype.uses_heap() && !datatype.has_references() && loose.parts.iter().all(|part| is_rows(part) && !has_filters(loose, part))
    };
    if all.is_empty() || !all.iter().all(fits) {
        return Ok(Appended::No);
    }
    let container = plan.container();
    let container_name = folder.rsplit_once('/').map_or("", |(above, _)| above);
    let old = container.join(&base.folder).join(TAIL);
    let seen = format!("{container_name}/{}/{TAIL}", base.folder);
    let old_datasets = if old.is_file() { tail_datasets(&session, &old)? } else { Vec::new() };
    let needed = |loose: &MovableDataset| loose.parts.iter().filter_map(|part| part.region.count.first()).fold(0u64, |sum, rows| sum.saturating_add(*rows));
    let has_capacity = |loose: &MovableDataset| -> Result<bool> {
        let tail_dataset = old_datasets.iter().find(|tail_dataset| tail_dataset.path == loose.path && tail_dataset.datatype == loose.definition.datatype);
        let tail_dataset = tail_dataset.filter(|tail_dataset| tail_dataset.shape.get(1..) == loose.definition.dataspace.shape().get(1..));
        let Some(capacity) = tail_dataset.and_then(|tail_dataset| tail_dataset.shape.first()) else { return Ok(false) };
        Ok(master.rows_in(&loose.path, &seen)?.checked_add(needed(loose)).is_some_and(|rows| rows <= *capacity))
    };
    let mut fits_tail = !old_datasets.is_empty();
    for loose in &all {
        fits_tail = fits_tail && has_capacity(loose)?;
    }
    if fits_tail && claim(&container.join(&base.folder), base, plan.id())? {
        let tail = SharedFile::open(&old)?;
        for loose in &all {
            let tail_dataset = old_datasets.iter().find(|tail_dataset| tail_dataset.path == loose.path).ok_or_else(|| Error::internal("a dataset that is not in the tail"))?;
            let mut row = master.rows_in(&loose.path, &seen)?;
            for part in &loose.parts {
                let values = values(&files, loose, part)?;
                tail.write_at(tail_dataset.address + row * tail_dataset.row_bytes(), &values)?;
                row = move_to_tail(master, loose, part, &seen, row)?;
            }
        }
        if plan.durable {
            tail.sync_values()?;
        }
        return Ok(Appended::Existing(base.folder.clone()));
    }
    let place = plan.folder().join(TAIL);
    let mut out = match FileWriter::in_place(&place, checked_alignment(plan.alignment)?, &session) {
        // Another commit of this plan created it and was killed or still runs: leave the rows in the tasks' subfiles.
        Err(_) if place.exists() => return Ok(Appended::No),
        out => out?,
    };
    if !plan.durable {
        out.without_sync();
    }
    out.set_attribute("", SUBFILE_ATTRIBUTE, text_attribute(&format!("{} {TAIL}", plan.id())))?;
    let seen_new = format!("{folder}/{TAIL}");
    let capacity = |row_bytes: u64, now: u64, before: u64| {
        let aim = before.saturating_mul(2).max(now.saturating_mul(4)).saturating_mul(row_bytes).clamp(MIN_CAPACITY_BYTES, MAX_CAPACITY_BYTES);
        (aim / row_bytes).max(now)
    };
    let define = |out: &mut FileWriter, path: &str, datatype: &Datatype, rest: &[u64], rows: u64| {
        let shape: Vec<u64> = std::iter::once(rows).chain(rest.iter().skip(1).copied()).collect();
        out.create_dataset(path, DatasetDefinition::new(datatype.clone(), Dataspace::fixed(shape)))
    };
    for loose in &all {
        let (datatype, shape) = (&loose.definition.datatype, loose.definition.dataspace.shape());
        define(&mut out, &loose.path, datatype, shape, capacity(row_bytes(datatype, shape), needed(loose), master.rows_in(&loose.path, &seen)?))?;
        let mut row = 0;
        for part in &loose.parts {
            let values = values(&files, loose, part)?;
            let mut region = part.region.clone();
            region.start.iter_mut().take(1).for_each(|start| *start = row);
            out.write(&loose.path, &region, &values, &crate::file::file_writer::no_heap)?;
            row = move_to_tail(master, loose, part, &seen_new, row)?;
        }
    }
    // Keep capacity for other growing datasets, for the next commit.
    for tail_dataset in old_datasets.iter().take(MAX_DATASETS).filter(|tail_dataset| !all.iter().any(|loose| loose.path == tail_dataset.path)) {
        let rows = capacity(tail_dataset.row_bytes(), 1, master.rows_in(&tail_dataset.path, &seen)?);
        define(&mut out, &tail_dataset.path, &tail_dataset.datatype, &tail_dataset.shape, rows)?;
        let nothing = vec![0; memory_length(tail_dataset.row_bytes())?];
        out.write(&tail_dataset.path, &Region::rows(&std::iter::once(rows).chain(tail_dataset.shape.iter().skip(1).copied()).collect::<Vec<_>>(), 0, 1), &nothing, &crate::file::file_writer::no_heap)?;
    }
    let bytes = out.finish(Existing::Keep)?;
    let tasks: Vec<u64> = subfiles.iter().map(|subfile| subfile.task).collect();
    Ok(Appended::New(SubfileRecord::of_tasks(TAIL.to_owned(), bytes, tasks, None)?))
}

/// Moves a part in the master to `row` of the tail and returns the next free row.
fn move_to_tail(master: &mut Master, loose: &MovableDataset, part: &MovablePart, file: &str, row: u64) -> Result<u64> {
    let mut start = vec![0; part.region.start.len()];
    start.iter_mut().take(1).for_each(|start| *start = row);
    master.move_part(&loose.path, part.index, file, &start)?;
    let rows = part.region.count.first().ok_or_else(|| Error::internal("rows of a scalar"))?;
    row.checked_add(*rows).ok_or_else(|| Error::internal("more than 2⁶⁴ rows in a tail"))
}

/// The values of a part, encoded as in files.
fn values(files: &[(String, &SubfileRecord, File)], loose: &MovableDataset, part: &MovablePart) -> Result<Vec<u8>> {
    let file = files.iter().find(|(name, ..)| *name == part.file).map(|(.., file)| file).ok_or_else(|| Error::internal("a subfile of another commit"))?;
    let found = file.find(&loose.path)?;
    let source = found.file.dataset(found.object)?;
    if source.datatype != loose.definition.datatype {
        return Err(Error::corrupt("a subfile has another datatype than its fragment says").at_object(&loose.path).in_file(file.name()));
    }
    let axes = part.local.start.iter().zip(&part.local.count).map(|(start, count)| Axis::Range { start: *start, count: *count, step: 1 });
    let selection = Selection::new(axes.collect(), source.dataspace.shape())?;
    Ok(found.file.read(found.object, &selection, &Cancellation::new())?.bytes)
}

/// Opens a tail and locates its datasets.
fn tail_datasets(session: &Session, tail: &Path) -> Result<Vec<TailDataset>> {
    let file = session.open(tail)?;
    let mut datasets = Vec::new();
    for (index, object) in file.tree().objects.iter().enumerate() {
        let hyperslab_formats::Content::Dataset(dataset) = &object.content else { continue };
        let shape = dataset.dataspace.shape().to_vec();
        let first = Selection::new(shape.iter().map(|_| Axis::Range { start: 0, count: 1, step: 1 }).collect(), &shape)?;
        let located = file.array_file().locate(ObjectId(index), &first)?;
        let Some(ChunkSource::Stored { offset, .. }) = located.chunks.first().map(|chunk| &chunk.source) else { continue };
        datasets.push(TailDataset { path: object.path.trim_start_matches('/').to_owned(), datatype: dataset.datatype.clone(), shape, address: *offset });
    }
    Ok(datasets)
}

/// Whether a file in the folder of a commit is the list of commits of its tail, or a claim of its capacity.
pub(crate) fn is_claim(name: &str) -> bool {
    name == COMMITS || name.strip_prefix('.').and_then(|name| name.strip_suffix(".next")).is_some_and(is_id)
}

/// Marker file: a commit has claimed the capacity after the rows of commit `id`.
fn claim_mark(folder: &Path, id: &str) -> std::path::PathBuf {
    folder.join(format!(".{id}.next"))
}

/// Appends a commit to the list of a tail. Returns whether it follows `base`, so that it may write after the rows of `base`.
fn claim(folder: &Path, base: &CommitName, id: &str) -> Result<bool> {
    let place = folder.join(COMMITS);
    let failed = |error: std::io::Error| Error::from(error).in_file(place.display().to_string());
    let mut list = OpenOptions::new().read(true).append(true).create(true).open(&place).map_err(failed)?;
    let length = list.metadata().map_err(failed)?.len();
    let line = |at: u64| {
        let mut line = vec![0; 33];
        list.read_exact_at(&mut line, at).map_err(failed)?;
        Ok::<_, Error>(String::from_utf8_lossy(line.get(..32).unwrap_or_default()).into_owned())
    };
    let last = match length.checked_sub(LINE_BYTES) {
        None => base.folder.clone(),
        Some(at) => line(at)?,
    };
    // Appending is not atomic on every file system, creating a file is. The marker of the previous commit is not needed any
    // more, because its line is not the last one.
    if !length.is_multiple_of(LINE_BYTES) || last != base.id || !hyperslab_storage::claim(&claim_mark(folder, &base.id))? {
        return Ok(false);
    }
    if let Some(at) = length.checked_sub(2 * LINE_BYTES) {
        let _ = std::fs::remove_file(claim_mark(folder, &line(at)?));
    } else if length == LINE_BYTES {
        let _ = std::fs::remove_file(claim_mark(folder, folder.file_name().and_then(|name| name.to_str()).unwrap_or_default()));
    }
    (&list).write_all(format!("{id}\n").as_bytes()).map_err(failed)?;
    let is_next = line(length)? == id;
    list.flush().map_err(failed)?;
    Ok(is_next)
}

/// The commits that added rows to a tail, up to `last`, oldest first.
pub(crate) fn commits_in(container: &Path, last: &CommitName) -> Vec<String> {
    let list = std::fs::read_to_string(container.join(&last.folder).join(COMMITS)).unwrap_or_default();
    let mut commits: Vec<String> = list.lines().take_while(|line| is_id(line)).map(str::to_owned).collect();
    match commits.iter().position(|id| *id == last.id) {
        Some(at) => commits.truncate(at + 1),
        // The commit that created the folder, or one whose line was lost in a crash.
        None if last.id == last.folder => commits.clear(),
        None => commits.push(last.id.clone()),
    }
    commits
}
