//! The tail: a subfile with space for the rows of later commits, so that small appends do not each create a file.
//!
//! Its datasets are contiguous, with capacity for more rows than they have. A commit writes its rows after those that the
//! master uses, and the new master uses them, too. Bytes that an older master uses never change. Unused capacity is a hole in
//! the file and takes no disk space.
//!
//! ```text
//! bytes    rows of commit 0 | rows of commit 1 | capacity ...
//! /0/x     ^-- the master of commit 0 uses this many rows
//! /1/x     ^------------------ the master of commit 1 uses this many
//! /2/x     for commit 2
//! ```
//!
//! Each dataset is in the file several times: as many *views*, one per commit, whose layouts have the same address. The HDF5
//! library keeps up to 64 KiB after the last row that it read (its sieve buffer), and all handles of a process share that
//! buffer, even if one of them opened an earlier state of the file. The buffer belongs to a dataset, so the rows of a commit
//! must be read through a dataset that no earlier master uses; otherwise a program would see fill values for them.
//!
//! Only the commit that appends the next line to the tail's list of commits may write, and only if the last line is the
//! commit that the current master names. So copied masters, killed commits, and committers on file systems without locks
//! never overwrite each other's rows: one of them continues the tail, the others begin new ones.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use hyperslab_array::{Cancellation, Dataspace, Datatype, Envelope, Error, Result};
use hyperslab_formats::Limits;
use hyperslab_formats::hdf5::root_attributes;
use hyperslab_formats::hdf5::writer::{encode_datatype, parse_datatype};
use hyperslab_reader::{File, Session};
use hyperslab_storage::{EntryName, Existing, LocalFile, SharedFile, Storage, UniqueName};
use serde::{Deserialize, Serialize};

use super::commit_name::CommitName;
use super::gather::{InlineContents, MAX_SMALL_BYTES, MAX_SMALL_SUBFILES, open_subfile};
use super::master::Master;
use super::movable_parts::{MovableDataset, MovablePart};
use super::plan::WritePlan;
use super::record::SubfileRecord;
use crate::encoding::hex::Hex;
use crate::file::allocator::checked_alignment;
use crate::file::dataset::state::DatasetWriter;
use crate::file::definition::{DatasetDefinition, text_attribute};
use crate::file::file_writer::{FileWriter, no_heap};
use crate::file::memory_length::memory_length;
use crate::file::reading_session::reading_session;
use crate::file::regions::region::Region;
use crate::file::reserved_attributes::SUBFILE_ATTRIBUTE;

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
/// Minimum number of views of a dataset. A new tail has twice as many as the previous one had commits.
const MIN_VIEWS: u64 = 16;
/// Maximum number of views of all datasets of a tail, if that leaves [`MIN_VIEWS`] for each. Readers that list all objects of
/// a file take some microseconds for each.
const MAX_ALL_VIEWS: u64 = 1024;
/// Root attribute of a tail with its [`TailLayout`].
const LAYOUT_ATTRIBUTE: &str = "_hyperslab_tail";
/// Tails with a [`TailLayout`] of another version are read, but not appended to.
const LAYOUT: Envelope = Envelope::new("a layout of a tail", 1);

/// Where the rows of a commit were written.
pub(crate) enum Appended {
    /// They stay in the tasks' subfiles.
    No,
    /// Into a new tail in the commit's folder.
    New(SubfileRecord),
    /// Into the existing tail in this folder.
    Existing(UniqueName),
}

/// Where the datasets of a tail are, so that a commit need not read the tail's objects.
#[derive(Serialize, Deserialize)]
struct TailLayout {
    version: u32,
    /// Number of views of each dataset.
    views: u64,
    datasets: Vec<TailDataset>,
}

/// A dataset of a tail.
#[derive(Serialize, Deserialize)]
struct TailDataset {
    path: String,
    /// The datatype as a datatype message.
    datatype: Hex,
    /// Shape, with the capacity as its number of rows.
    shape: Vec<u64>,
    /// File offset of its first byte.
    address: u64,
}

impl TailLayout {
    /// Reads the layout of a tail; `None` if it was written by another version.
    fn read(tail: &Path) -> Result<Option<Self>> {
        let shown = tail.display().to_string();
        let file = LocalFile::open(tail)?;
        let bytes = file.len();
        let attributes = root_attributes(Arc::new(file), &Limits::default()).map_err(|error| error.in_file(&shown))?.unwrap_or_default();
        let Some(attribute) = attributes.iter().find(|attribute| attribute.name == LAYOUT_ATTRIBUTE) else { return Ok(None) };
        let value = attribute.value.as_ref().map_err(|error| error.clone().in_file(&shown))?;
        if LAYOUT.check_version(&value.bytes).is_err() {
            return Ok(None);
        }
        let layout: Self = serde_json::from_slice(&value.bytes).map_err(|e| Error::corrupt(format!("not a layout of a tail: {e}")).in_file(&shown))?;
        for dataset in &layout.datasets {
            let length = dataset.row_bytes()?.checked_mul(dataset.capacity()?);
            if length.and_then(|length| length.checked_add(dataset.address)).is_none_or(|end| end > bytes) {
                return Err(Error::corrupt(format!("the capacity of /{} ends after the end of the file", dataset.path)).in_file(&shown));
            }
        }
        Ok(Some(layout))
    }

    fn dataset(&self, path: &str) -> Option<&TailDataset> {
        self.datasets.iter().find(|dataset| dataset.path == path)
    }
}

impl TailDataset {
    fn datatype(&self) -> Result<Datatype> {
        parse_datatype(&self.datatype.0)
    }

    fn row_bytes(&self) -> Result<u64> {
        Ok(row_bytes(&self.datatype()?, &self.shape))
    }

    /// Number of rows that there is space for.
    fn capacity(&self) -> Result<u64> {
        self.shape.first().copied().ok_or_else(|| Error::corrupt("a scalar in a tail").at_object(format!("/{}", self.path)))
    }
}

/// Path of a view of the dataset `path` in a tail.
fn view_path(view: u64, path: &str) -> String {
    format!("{view}/{path}")
}

fn row_bytes(datatype: &Datatype, shape: &[u64]) -> u64 {
    shape.iter().skip(1).fold(datatype.size(), |n, extent| n.saturating_mul(*extent)).max(1)
}

/// Moves the rows of these subfiles into a tail, if the subfiles contain nothing else.
pub(crate) fn append(
    plan: &WritePlan,
    master: &mut Master,
    base: &CommitName,
    folder: &str,
    subfiles: &[SubfileRecord],
    contents: &InlineContents<'_>,
) -> Result<Appended> {
    if plan.checksums || subfiles.is_empty() || subfiles.len() > MAX_SMALL_SUBFILES || subfiles.iter().any(|subfile| subfile.bytes > MAX_SMALL_BYTES) {
        return Ok(Appended::No);
    }
    let session = reading_session()?;
    let mut files = Vec::with_capacity(subfiles.len());
    for subfile in subfiles {
        files.push((format!("{folder}/{}", subfile.name), subfile, open_subfile(plan, &session, &subfile.name, contents)?));
    }
    let datasets = master.movable(|file| files.iter().any(|(name, ..)| name == file))?;
    if datasets.is_empty() || !datasets.iter().all(|loose| is_rows(&files, loose)) {
        return Ok(Appended::No);
    }
    let container_name = folder.rsplit_once('/').map_or("", |(above, _)| above);
    let rows = Rows { plan, base, files, datasets, seen: format!("{container_name}/{}/{TAIL}", base.folder) };
    let old = plan.container().join(&base.folder).join(TAIL);
    let layout = if old.is_file() { TailLayout::read(&old)? } else { None };
    if let Some(layout) = &layout
        && rows.continue_tail(master, &old, layout)?
    {
        return Ok(Appended::Existing(base.folder.clone()));
    }
    rows.begin_tail(master, folder, layout.as_ref(), &session)
}

/// A subfile with the name that the master has for it.
type Subfile<'a> = (String, &'a SubfileRecord, File);

/// Whether these subfiles have only whole rows of a dataset, as a tail can hold them.
fn is_rows(files: &[Subfile<'_>], loose: &MovableDataset) -> bool {
    let has_filters = |part: &MovablePart| {
        let Some((_, subfile, file)) = files.iter().find(|(name, ..)| *name == part.file) else { return true };
        let found = file.find(&loose.path).and_then(|found| found.dataset().map(|dataset| dataset.filters.clone()));
        // Keep values with a checksum filter where they are.
        found.map_or(true, |filters| filters.iter().any(|filter| filter.id == 3) || (!filters.is_empty() && subfile.bytes > MAX_FILTERED_BYTES))
    };
    let (datatype, shape) = (&loose.definition.datatype, loose.definition.dataspace.shape());
    let is_whole = |part: &MovablePart| part.region.start.iter().skip(1).all(|start| *start == 0) && part.region.count.get(1..) == shape.get(1..);
    loose.has_earlier_parts && !datatype.uses_heap() && !datatype.has_references() && loose.parts.iter().all(|part| is_whole(part) && !has_filters(part))
}

/// Number of new rows of a dataset.
fn new_rows(loose: &MovableDataset) -> u64 {
    loose.parts.iter().filter_map(|part| part.region.count.first()).fold(0u64, |sum, rows| sum.saturating_add(*rows))
}

/// The rows of a commit, which are moved into a tail.
struct Rows<'a> {
    plan: &'a WritePlan,
    base: &'a CommitName,
    files: Vec<Subfile<'a>>,
    datasets: Vec<MovableDataset>,
    /// Name in the master of the tail of the commit before.
    seen: String,
}

impl Rows<'_> {
    /// Whether the tail of the commit before has space for the new rows of a dataset.
    fn has_capacity(&self, master: &Master, layout: &TailLayout, loose: &MovableDataset) -> Result<bool> {
        let Some(found) = layout.dataset(&loose.path) else { return Ok(false) };
        let fits = found.datatype()? == loose.definition.datatype && found.shape.get(1..) == loose.definition.dataspace.shape().get(1..);
        let capacity = found.capacity()?;
        Ok(fits && master.rows_in(&loose.path, &self.seen)?.checked_add(new_rows(loose)).is_some_and(|rows| rows <= capacity))
    }

    /// Writes the rows into the tail of the commit before, at `place`. `false` if it lacks the space, or another commit has claimed it.
    fn continue_tail(&self, master: &mut Master, place: &Path, layout: &TailLayout) -> Result<bool> {
        for loose in &self.datasets {
            if !self.has_capacity(master, layout, loose)? {
                return Ok(false);
            }
        }
        let Some(view) = claim(&self.plan.container().join(&self.base.folder), self.base, self.plan.id(), layout.views)? else { return Ok(false) };
        let tail = SharedFile::open(place)?;
        for loose in &self.datasets {
            let found = layout.dataset(&loose.path).ok_or_else(|| Error::internal("a dataset that is not in the tail"))?;
            let mut row = master.rows_in(&loose.path, &self.seen)?;
            for part in &loose.parts {
                let values = values(&self.files, loose, part)?;
                tail.write_at(found.address + row * found.row_bytes()?, &values)?;
                row = move_to_tail(master, loose, part, &self.seen, row)?;
            }
            master.set_source_dataset(&loose.path, &self.seen, &view_path(view, &loose.path))?;
        }
        if self.plan.durable {
            tail.sync_values()?;
        }
        Ok(true)
    }

    /// Writes the rows into a new tail in `folder`, with space for more than the tail before has.
    fn begin_tail(&self, master: &mut Master, folder: &str, before: Option<&TailLayout>, session: &Session) -> Result<Appended> {
        let place = self.plan.folder().join(TAIL);
        let mut out = match FileWriter::in_place(&place, checked_alignment(self.plan.alignment)?, session) {
            // Another commit of this plan created it and was killed or still runs: leave the rows in the tasks' subfiles.
            Err(_) if place.exists() => return Ok(Appended::No),
            out => out?,
        };
        if !self.plan.durable {
            out.without_sync();
        }
        out.set_attribute("", SUBFILE_ATTRIBUTE, text_attribute(&format!("{} {TAIL}", self.plan.id())))?;
        let seen_new = format!("{folder}/{TAIL}");
        // Keep capacity for other growing datasets, for the next commit.
        let is_other = |found: &&TailDataset| !self.datasets.iter().any(|loose| loose.path == found.path);
        let other: Vec<&TailDataset> = before.iter().flat_map(|layout| &layout.datasets).filter(is_other).take(MAX_DATASETS).collect();
        let count = (self.datasets.len() + other.len()).max(1) as u64;
        let commits = commits_in(&self.plan.container(), self.base).len() as u64 + 1;
        let views = commits.saturating_mul(2).clamp(MIN_VIEWS, (MAX_ALL_VIEWS / count).max(MIN_VIEWS));
        let mut tail = NewTail { out, layout: TailLayout { version: LAYOUT.version(), views, datasets: Vec::new() } };
        for loose in &self.datasets {
            let (datatype, shape) = (&loose.definition.datatype, loose.definition.dataspace.shape());
            let capacity = capacity(row_bytes(datatype, shape), new_rows(loose), master.rows_in(&loose.path, &self.seen)?);
            let (mut row, mut rows) = (0, Vec::with_capacity(loose.parts.len()));
            for part in &loose.parts {
                rows.push((row, values(&self.files, loose, part)?));
                row = move_to_tail(master, loose, part, &seen_new, row)?;
            }
            tail.define(&loose.path, datatype, shape, capacity, &rows)?;
            master.set_source_dataset(&loose.path, &seen_new, &view_path(0, &loose.path))?;
        }
        for found in other {
            let rows = capacity(found.row_bytes()?, 1, master.rows_in(&found.path, &self.seen)?);
            tail.define(&found.path, &found.datatype()?, &found.shape, rows, &[(0, vec![0; memory_length(found.row_bytes()?)?])])?;
        }
        let bytes = tail.finish()?;
        let tasks: Vec<u64> = self.files.iter().map(|(_, subfile, _)| subfile.task).collect();
        Ok(Appended::New(SubfileRecord::of_tasks(EntryName::parse(TAIL)?, bytes, tasks, None)?))
    }
}

/// Number of rows of a dataset that a new tail has space for, if it has `now` new rows and had `before` rows.
fn capacity(row_bytes: u64, now: u64, before: u64) -> u64 {
    let aim = before.saturating_mul(2).max(now.saturating_mul(4)).saturating_mul(row_bytes).clamp(MIN_CAPACITY_BYTES, MAX_CAPACITY_BYTES);
    (aim / row_bytes).max(now)
}

/// A tail that is being written.
struct NewTail {
    out: FileWriter,
    layout: TailLayout,
}

impl NewTail {
    /// Creates the views of a dataset with space for `rows` rows. `rest` is its shape; `values` are rows from the given ones on.
    fn define(&mut self, path: &str, datatype: &Datatype, rest: &[u64], rows: u64, values: &[(u64, Vec<u8>)]) -> Result<()> {
        let shape: Vec<u64> = std::iter::once(rows).chain(rest.iter().skip(1).copied()).collect();
        let definition = DatasetDefinition::new(datatype.clone(), Dataspace::fixed(shape.clone()));
        self.out.create_dataset(&view_path(0, path), definition.clone())?;
        for (row, values) in values {
            let rows = values.len() as u64 / row_bytes(datatype, &shape);
            self.out.write(&view_path(0, path), &Region::rows(&shape, *row, rows), values, &no_heap)?;
        }
        let address = self.out.address(&view_path(0, path))?;
        for view in 1..self.layout.views {
            self.out.create_prepared(&view_path(view, path), DatasetWriter::at(definition.clone(), address))?;
        }
        self.layout.datasets.push(TailDataset { path: path.to_owned(), datatype: Hex(encode_datatype(datatype)?), shape, address });
        Ok(())
    }

    /// Writes the layout and the metadata. Returns the length of the file.
    fn finish(mut self) -> Result<u64> {
        let layout = serde_json::to_string(&self.layout).map_err(|e| Error::internal(format!("cannot encode the layout of a tail: {e}")))?;
        self.out.set_attribute("", LAYOUT_ATTRIBUTE, text_attribute(&layout))?;
        self.out.finish(Existing::Keep)
    }
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
fn values(files: &[Subfile<'_>], loose: &MovableDataset, part: &MovablePart) -> Result<Vec<u8>> {
    let file = files.iter().find(|(name, ..)| *name == part.file).map(|(.., file)| file).ok_or_else(|| Error::internal("a subfile of another commit"))?;
    let found = file.find(&loose.path)?;
    let source = found.file.dataset(found.object)?;
    if source.datatype != loose.definition.datatype {
        return Err(Error::corrupt("a subfile has another datatype than its fragment says").at_object(&loose.path).in_file(file.name()));
    }
    let selection = part.local.selection(source.dataspace.shape())?;
    Ok(found.file.read(found.object, &selection, &Cancellation::new())?.bytes)
}

/// Whether a file in the folder of a commit is the list of commits of its tail, or a claim of its capacity.
pub(crate) fn is_claim(name: &str) -> bool {
    name == COMMITS || name.strip_prefix('.').and_then(|name| name.strip_suffix(".next")).is_some_and(|id| UniqueName::parse(id).is_ok())
}

/// Marker file: a commit has claimed the capacity after the rows of commit `id`.
fn claim_mark(folder: &Path, id: &str) -> std::path::PathBuf {
    folder.join(format!(".{id}.next"))
}

/// Appends a commit to the list of a tail with this many views. Returns its view if it follows `base`, so that it may write
/// after the rows of `base`.
fn claim(folder: &Path, base: &CommitName, id: &str, views: u64) -> Result<Option<u64>> {
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
        None => base.folder.to_string(),
        Some(at) => line(at)?,
    };
    // Appending is not atomic on every file system, creating a file is. The marker of the previous commit is not needed any
    // more, because its line is not the last one.
    // The commit that created the tail has view 0.
    let view = length / LINE_BYTES + 1;
    if view >= views || !length.is_multiple_of(LINE_BYTES) || base.id != last.as_str() || !hyperslab_storage::claim(&claim_mark(folder, &base.id))? {
        return Ok(None);
    }
    if let Some(at) = length.checked_sub(2 * LINE_BYTES) {
        let _ = std::fs::remove_file(claim_mark(folder, &line(at)?));
    } else if length == LINE_BYTES {
        let _ = std::fs::remove_file(claim_mark(folder, folder.file_name().and_then(|name| name.to_str()).unwrap_or_default()));
    }
    (&list).write_all(format!("{id}\n").as_bytes()).map_err(failed)?;
    let is_next = line(length)? == id;
    list.flush().map_err(failed)?;
    Ok(is_next.then_some(view))
}

/// The commits that added rows to a tail, up to `last`, oldest first.
pub(crate) fn commits_in(container: &Path, last: &CommitName) -> Vec<UniqueName> {
    let list = std::fs::read_to_string(container.join(&last.folder).join(COMMITS)).unwrap_or_default();
    let mut commits: Vec<UniqueName> = list.lines().map_while(|line| UniqueName::parse(line).ok()).collect();
    match commits.iter().position(|id| *id == last.id) {
        Some(at) => commits.truncate(at + 1),
        // The commit that created the folder, or one whose line was lost in a crash.
        None if last.id == last.folder => commits.clear(),
        None => commits.push(last.id.clone()),
    }
    commits
}
