//! Building the index of one dataset, or of some of its blocks: plain data that says what, and plain data that it leaves.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use arrow_array::{Array, ArrayRef};
use hyperslab_array::{Cancellation, Error, ErrorKind, Result};
use hyperslab_columns::Column;
use hyperslab_formats::{ObjectId, StorageLayout};
use hyperslab_reader::{File, Session, read};
use hyperslab_scan::pruner::Level;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::freshness::source::{self, Stamp};
use crate::query::block_directory::Table;
use crate::query::matching_rows::each_run;
use crate::store::index_file::{BATCH_BLOCKS, Row, SegmentWriter};
use crate::store::index_files::SegmentFiles;
use crate::store::manifest::{self, SegmentName, check_segments, is_segment_file};
use crate::store::shared_files::SharedSegments;
use crate::store::sweep::{self, segment_name};
use super::block::{Block, Builder, Zone};
use super::block_grid::{BlockBox, BlockGrid};
use super::plan::column_of;

/// A file that was changed so lately that it may be changed again within the same tick of its clock.
const TICK: std::time::Duration = std::time::Duration::from_millis(50);
/// Elements of a dataset up to which its segment shares a file with others: as many as two blocks have. One thread builds
/// them at once, and a file of its own costs more than the index in it.
const SMALL_ELEMENTS: u64 = 1 << 17;

/// Some of the blocks of one dataset, to be built.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DatasetTask {
    /// Path of the file.
    pub(crate) file: String,
    /// Path of the dataset.
    pub(crate) path: String,
    /// The sidecar.
    pub(crate) folder: PathBuf,
    /// The file's name in it.
    pub(crate) name: String,
    pub(crate) stamp: Stamp,
    pub(crate) identity: String,
    pub(crate) data_type: String,
    raw: bool,
    pub(crate) level: Level,
    pub(crate) shape: Vec<u64>,
    pub(crate) grid: BlockGrid,
    pub(crate) fingerprint: String,
    /// Segments of an index that may be valid in parts.
    previous: Vec<SegmentName>,
    /// Which of the tasks of its dataset, and of how many.
    pub(crate) part: u64,
    pub(crate) parts: u64,
    /// Whether the process that has planned it builds and commits it.
    #[serde(skip)]
    pub(crate) is_local: bool,
}

/// What was built of one dataset.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DatasetFragment {
    pub(crate) task: DatasetTask,
    /// The new segment, unless nothing was to be built.
    pub(crate) segment: Option<SegmentName>,
    /// Those of the previous segments of which blocks were kept.
    pub(crate) kept: Vec<SegmentName>,
    /// Blocks that were built, and kept.
    pub(crate) built_blocks: u64,
    pub(crate) kept_blocks: u64,
}

impl DatasetFragment {
    /// Refuses names that lead out of the index's own folder: bytes of fragments may come from anywhere.
    pub(crate) fn check(&self) -> Result<()> {
        self.task.check_names()?;
        check_segments(&self.kept)?;
        match &self.segment {
            Some(segment) if !is_segment_file(&segment.name) => Err(Error::invalid_input("these bytes are no fragment of an index: its segment is elsewhere")),
            _ => Ok(()),
        }
    }

    /// Removes the file of its segment, which will not be committed; best effort.
    pub(crate) fn discard(&self) {
        if let Some(segment) = &self.segment {
            let _ = std::fs::remove_file(self.task.folder.join(&segment.name));
        }
    }
}

impl DatasetTask {
    /// Removes the folder of an index that was not built, if there is no other index in it; best effort.
    pub(crate) fn discard(&self) {
        sweep::remove_unbuilt(&self.folder);
    }

    #[expect(clippy::too_many_arguments, reason = "one for each field")]
    pub(crate) fn new(
        file: String,
        path: String,
        folder: PathBuf,
        name: String,
        stamp: Stamp,
        identity: String,
        data_type: String,
        raw: bool,
        level: Level,
        shape: Vec<u64>,
        grid: BlockGrid,
        fingerprint: String,
        previous: Vec<SegmentName>,
    ) -> Self {
        Self { file, path, folder, name, stamp, identity, data_type, raw, level, shape, grid, fingerprint, previous, part: 0, parts: 1, is_local: true }
    }

    /// The number of this build: after those whose blocks it may keep.
    fn build_number(&self) -> u64 {
        self.previous.iter().map(|segment| segment.build.saturating_add(1)).max().unwrap_or_default()
    }

    /// Refuses names that lead out of the index's own folder: bytes of tasks may come from anywhere.
    pub(crate) fn check_names(&self) -> Result<()> {
        let is_plain = |name: &str| !name.is_empty() && !name.contains(['/', '\0']) && name != "." && name != "..";
        let of_file = Path::new(&self.file).file_name().and_then(|name| name.to_str());
        let of_index = self.folder.file_name().and_then(|name| name.to_str());
        if !is_plain(&self.name) || of_file != Some(self.name.as_str()) || !of_index.is_some_and(|name| name.ends_with(manifest::ENDING)) {
            return Err(Error::invalid_input("these bytes are no task of an index: its names lead elsewhere"));
        }
        check_segments(&self.previous)
    }

    pub(crate) fn elements(&self) -> u64 {
        self.shape.iter().fold(1, |n, extent| n.saturating_mul(*extent))
    }

    /// The same in `parts`, where there are so many whole chunks.
    pub(crate) fn cut(&self, parts: u64) -> Vec<Self> {
        let parts = parts.min(self.grid.outer_count(&self.shape)).max(1);
        (0..parts).map(|part| Self { part, parts, ..self.clone() }).collect()
    }

    /// `Conflict` unless the file is the one that was planned. Waits until a change within the same tick of its clock
    /// would show.
    pub(crate) fn check(&self, file: &File) -> Result<()> {
        if let Some(age) = std::fs::metadata(file.path()).ok().and_then(|m| m.modified().ok()).and_then(|at| at.elapsed().ok()).filter(|age| *age < TICK) {
            std::thread::sleep(TICK - age);
        }
        let planned = Some(self.stamp);
        if Stamp::of(file) != planned || Stamp::now(file.path()) != planned {
            return Err(Error::new(ErrorKind::Conflict, "the file has changed since its index was planned: plan again").in_file(file.name()));
        }
        Ok(())
    }

    /// Whether it goes into a segment file that datasets share.
    pub(crate) fn is_small(&self) -> bool {
        self.elements() <= SMALL_ELEMENTS
    }

    /// Builds the blocks with the session's threads, into a segment file of their own that nothing refers to before the
    /// commit. `progress` is called with the number of bytes of values processed since the last call.
    pub(crate) fn build(&self, file: &File, previous: &SegmentFiles, cancellation: &Cancellation, progress: &(dyn Fn(u64) + Sync)) -> Result<DatasetFragment> {
        self.with_build(file, cancellation, progress, |build| build.alone(file.session(), previous))
    }

    /// Builds the blocks in this thread, into a segment file that other datasets share.
    pub(crate) fn build_small(&self, file: &File, builder: &mut Builder, shared: &SharedSegments, previous: &SegmentFiles, cancellation: &Cancellation, progress: &(dyn Fn(u64) + Sync)) -> Result<DatasetFragment> {
        self.with_build(file, cancellation, progress, |build| build.among_others(builder, shared, previous))
    }

    fn with_build(&self, file: &File, cancellation: &Cancellation, progress: &(dyn Fn(u64) + Sync), work: impl FnOnce(&Build<'_>) -> Result<DatasetFragment>) -> Result<DatasetFragment> {
        let found = file.find(&self.path)?;
        let column = column_of(file, found.object, self.raw)?;
        let fragment = work(&Build { task: self, file, dataset: found.object, column: &column, cancellation, progress })?;
        if file.dataset(found.object)?.storage == StorageLayout::Virtual && source::fingerprint(file, found.object)? != self.fingerprint {
            return Err(Error::new(ErrorKind::Conflict, "a source of the virtual dataset has changed since its index was planned: plan again").in_file(file.name()));
        }
        Ok(fragment)
    }
}

struct Build<'a> {
    task: &'a DatasetTask,
    file: &'a File,
    dataset: ObjectId,
    column: &'a Column,
    cancellation: &'a Cancellation,
    progress: &'a (dyn Fn(u64) + Sync),
}

/// The blocks of some whole chunks, and what the index had for them.
struct Unit {
    around: BlockBox,
    blocks: Vec<BlockBox>,
}

/// Units of about a batch each; the last ones are smaller, so that all threads end at about the same time.
fn groups(units: &[Unit], threads: usize) -> Vec<&[Unit]> {
    let blocks_of_unit = units.first().map_or(1, |unit| unit.blocks.len()).max(1);
    let batch = (BATCH_BLOCKS / blocks_of_unit).max(1);
    let (mut groups, mut rest) = (Vec::new(), units);
    while !rest.is_empty() {
        let share = rest.len().div_ceil(2 * threads).clamp(batch.div_ceil(8), batch);
        let (group, others) = rest.split_at(share.min(rest.len()));
        groups.push(group);
        rest = others;
    }
    groups
}

/// What became of a unit.
enum Outcome {
    Built(Vec<Row>),
    /// So many blocks; they are in the previous segments.
    Kept(u64),
}

impl Build<'_> {
    /// The chunks to build with their blocks, and the index that there was before.
    fn prepare(&self, previous: &SegmentFiles) -> Result<(Vec<Unit>, Table)> {
        let task = self.task;
        let mut units: Vec<Unit> = Vec::new();
        for block in task.grid.all(&task.shape)? {
            let around = task.grid.around(&block, &task.shape);
            match units.last_mut().filter(|unit| unit.around == around) {
                Some(unit) => unit.blocks.push(block),
                None => units.push(Unit { around, blocks: vec![block] }),
            }
        }
        let count = units.len() as u64;
        let mine = |part: u64| usize::try_from(u128::from(count) * u128::from(part) / u128::from(task.parts)).unwrap_or(usize::MAX);
        let (start, end) = (mine(task.part), mine(task.part + 1));
        let units = units.into_iter().take(end).skip(start).collect();
        let segments = task.previous.iter().filter_map(|segment| previous.segment(self.file.path(), segment, task.shape.len()).ok());
        let table = Table::new(task.grid.clone(), task.shape.clone(), task.level, segments.map(Arc::new).collect())?;
        Ok((units, table))
    }

    fn fragment(&self, segment: Option<SegmentName>, kept_blocks: u64) -> DatasetFragment {
        let kept = if kept_blocks > 0 { self.task.previous.clone() } else { Vec::new() };
        let built_blocks = segment.as_ref().map_or(0, |segment| segment.blocks);
        DatasetFragment { task: self.task.clone(), segment, kept, built_blocks, kept_blocks }
    }

    fn among_others(&self, builder: &mut Builder, shared: &SharedSegments, previous: &SegmentFiles) -> Result<DatasetFragment> {
        let (units, previous) = self.prepare(previous)?;
        let (mut rows, mut kept_blocks) = (Vec::new(), 0);
        for unit in &units {
            match self.unit(builder, unit, &previous)? {
                Outcome::Built(more) => rows.extend(more),
                Outcome::Kept(blocks) => kept_blocks += blocks,
            }
        }
        let segment = if rows.is_empty() { None } else { Some(shared.add(self.task.shape.len(), &rows, self.task.build_number())?) };
        Ok(self.fragment(segment, kept_blocks))
    }

    fn alone(&self, session: &Session, previous: &SegmentFiles) -> Result<DatasetFragment> {
        let task = self.task;
        let (units, previous) = self.prepare(previous)?;
        std::fs::create_dir_all(&task.folder).map_err(|error| Error::from(error).in_file(task.folder.display().to_string()))?;
        let name = segment_name(task.is_local);
        let writer = SegmentWriter::create(&task.folder.join(&name), task.shape.len())?;
        let (built, kept) = (AtomicU64::new(0), AtomicU64::new(0));
        let groups = groups(&units, session.thread_count()?.max(1));
        // What is written goes to the disk while the rest is built: at the end there is little to wait for.
        let (syncer, (written, more)) = (writer.syncer(), mpsc::channel::<()>());
        let writer = Mutex::new(writer);
        let sync = std::thread::spawn(move || {
            while more.recv().is_ok() {
                while more.try_recv().is_ok() {}
                // The system reports such a failure once: the sync at the end would not see it.
                syncer.as_ref().map_or(Ok(()), std::fs::File::sync_data)?;
            }
            std::io::Result::Ok(())
        });
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        // Each thread takes the next group, builds it, and writes it while the others build.
        let of_thread = || {
            let mut builder = Builder::default();
            while let Some(units) = groups.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !failed.load(Ordering::Relaxed)) {
                let mut rows = Vec::new();
                for unit in *units {
                    match self.unit(&mut builder, unit, &previous)? {
                        Outcome::Built(more) => rows.extend(more),
                        Outcome::Kept(blocks) => {
                            kept.fetch_add(blocks, Ordering::Relaxed);
                        }
                    }
                }
                built.fetch_add(rows.len() as u64, Ordering::Relaxed);
                for rows in rows.chunks(BATCH_BLOCKS) {
                    let batch = SegmentWriter::batch(task.shape.len(), rows)?;
                    writer.lock().unwrap_or_else(PoisonError::into_inner).write(&batch)?;
                    // The thread that syncs ends before only when syncing fails, which is reported below.
                    if written.send(()).is_err() {
                        failed.store(true, Ordering::Relaxed);
                    }
                }
            }
            Ok(())
        };
        let outcome = session.compute(|| {
            (0..rayon::current_num_threads()).into_par_iter().try_for_each(|_| of_thread().inspect_err(|_: &Error| failed.store(true, Ordering::Relaxed)))
        });
        drop(written);
        let synced = sync.join().map_err(|_| Error::internal("syncing the segment ended without a result"))?;
        outcome?;
        synced.map_err(|error| Error::new(ErrorKind::Io, format!("cannot sync the index: {error}")).in_file(task.folder.display().to_string()))?;
        let writer = writer.into_inner().unwrap_or_else(PoisonError::into_inner);
        let built = built.load(Ordering::Relaxed);
        let kept_blocks = kept.load(Ordering::Relaxed);
        let segment = match built {
            0 => None,
            blocks => Some(SegmentName { bytes: writer.finish()?, name, blocks, build: task.build_number(), offset: 0 }),
        };
        Ok(self.fragment(segment, kept_blocks))
    }

    /// Builds the blocks of a unit, unless the previous index has them and nothing has changed.
    fn unit(&self, builder: &mut Builder, unit: &Unit, previous: &Table) -> Result<Outcome> {
        self.cancellation.check()?;
        let source = source::chunks(self.file, self.dataset, &unit.around, self.cancellation)?;
        let filtered = !self.file.dataset(self.dataset)?.filters.is_empty();
        let before: Option<Vec<Zone>> = unit
            .blocks
            .iter()
            .map(|block| previous.at(block).filter(|row| row.source == source).map(|row| row.zone))
            .collect();
        let elements: u64 = unit.around.elements();
        let width = self.file.dataset(self.dataset)?.datatype.size();
        if before.is_some() && filtered {
            (self.progress)(elements * width);
            return Ok(Outcome::Kept(unit.blocks.len() as u64));
        }
        let whole = self.read(&unit.around)?;
        let parts = unit.blocks.iter().map(|block| part(&whole, &unit.around, block)).collect::<Result<Vec<_>>>()?;
        if let Some(zones) = before {
            // Plain values may have been written over in their place.
            let mut same = true;
            for (part, zone) in parts.iter().zip(&zones) {
                same &= builder.build(part, Level::Zone)?.zone.hash == zone.hash;
            }
            if same {
                (self.progress)(elements * width);
                return Ok(Outcome::Kept(unit.blocks.len() as u64));
            }
        }
        let rows = unit.blocks.iter().zip(&parts).map(|(place, part)| {
            let block: Block = builder.build(part, self.task.level)?;
            Ok(Row { place: place.clone(), block, source })
        });
        let rows = rows.collect::<Result<Vec<_>>>()?;
        (self.progress)(elements * width);
        Ok(Outcome::Built(rows))
    }

    fn read(&self, place: &BlockBox) -> Result<ArrayRef> {
        read_block(self.file, self.dataset, self.column, place, &self.task.shape, self.cancellation)
    }
}

/// The values of a box of a dataset of `shape`, as `column` shows them.
pub(crate) fn read_block(file: &File, dataset: ObjectId, column: &Column, place: &BlockBox, shape: &[u64], cancellation: &Cancellation) -> Result<ArrayRef> {
    let selection = place.selection(shape)?;
    let inner = || {
        let bytes = read::read_values(file, dataset, &selection, cancellation)?;
        let mut heap = read::heap(file, dataset, column.datatype(), &bytes)?;
        file.name_references(column.datatype(), &bytes, &mut heap)?;
        column.take_arrow(bytes.into_buffer(), &heap)
    };
    inner().map_err(|error| file.place(dataset, error))
}

/// The values of `block` among those `around` it.
fn part(whole: &ArrayRef, around: &BlockBox, block: &BlockBox) -> Result<ArrayRef> {
    if around == block {
        return Ok(whole.clone());
    }
    // The block as a selection of the box around it.
    let axes = block.origin.iter().zip(&around.origin).zip(&block.shape).map(|((start, base), count)| hyperslab_array::Axis::range(start - base, start - base + count));
    let selection = hyperslab_array::Selection::new(axes.collect(), &around.shape)?;
    let origin = BlockBox { origin: vec![0; around.shape.len()], shape: around.shape.clone() };
    let mut slices: Vec<(usize, usize)> = Vec::new();
    let index = |n: u64| usize::try_from(n).map_err(|_| Error::limit_exceeded("a chunk exceeds memory"));
    let mut outcome = Ok(());
    each_run(&origin, &selection, &mut |source, _, count| match (index(source), index(count)) {
        (Ok(start), Ok(count)) => match slices.last_mut() {
            Some((first, length)) if *first + *length == start => *length += count,
            _ => slices.push((start, count)),
        },
        (Err(error), _) | (_, Err(error)) => outcome = Err(error),
    });
    outcome?;
    if slices.iter().any(|(start, count)| start + count > whole.len()) {
        return Err(Error::internal("a block beyond its chunks"));
    }
    if let [(start, count)] = slices.as_slice() {
        return Ok(whole.slice(*start, *count));
    }
    let parts: Vec<ArrayRef> = slices.iter().map(|(start, count)| whole.slice(*start, *count)).collect();
    let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
    arrow_select::concat::concat(&parts).map_err(|error| Error::internal(error.to_string()))
}
