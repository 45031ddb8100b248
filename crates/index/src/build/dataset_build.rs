//! Dataset build: builds the blocks of one task of a dataset and writes them to an index file.
//!
//! Blocks of the previous build are kept if their source is unchanged: for filtered data the hash of the stored chunks
//! decides, otherwise the hash of the values.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use arrow_array::{Array, ArrayRef};
use hyperslab_array::{Axis, Cancellation, Error, ErrorKind, Region, Result, Selection};
use hyperslab_reader::{File, Session};
use rayon::prelude::*;

use super::dataset_task::{DatasetFragment, DatasetTask};
use crate::block::block_builder::{Block, Builder};
use crate::block::block_grid::block_elements;
use crate::block::block_runs::each_run;
use crate::block::zone::Zone;
use crate::freshness::indexed_parts::IndexedParts;
use crate::store::block_directory::BlockDirectory;
use crate::store::index_file::{BATCH_BLOCKS, IndexFileWriter, Row};
use crate::store::index_file_name::{IndexFileName, IndexFilePlace};
use crate::store::index_files::IndexFiles;
use crate::store::manifest::IndexFileEntry;
use crate::store::shared_file::SharedFile;

/// Most bytes of blocks that a thread holds before it writes them: words of long texts take many times what others take.
const MAX_GROUP_BYTES: usize = 64 << 20;

/// What each build needs besides its task.
#[derive(Clone, Copy)]
pub(crate) struct BuildContext<'a> {
    pub file: &'a File,
    /// Opens index files of previous builds.
    pub previous: &'a IndexFiles,
    pub cancellation: &'a Cancellation,
    /// Called with the number of bytes of values processed since the last call.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// Builds the blocks of a task with the session's threads. Writes an index file of its own, to which nothing refers before
/// the commit.
pub(crate) fn build_alone(task: &DatasetTask, context: BuildContext<'_>) -> Result<DatasetFragment> {
    with_build(task, context, |build| build.alone(context.file.session()))
}

/// Builds the blocks of a task in this thread, into a file that other datasets share.
pub(crate) fn build_into(task: &DatasetTask, context: BuildContext<'_>, builder: &mut Builder, shared: &SharedFile) -> Result<DatasetFragment> {
    with_build(task, context, |build| build.build_shared(builder, shared))
}

fn with_build(task: &DatasetTask, context: BuildContext<'_>, work: impl FnOnce(&Build<'_>) -> Result<DatasetFragment>) -> Result<DatasetFragment> {
    let file = context.file;
    let values = task.values(file)?;
    // Shape and grid say how many blocks there are.
    if !values.fits(file, &task.shape, &task.grid)? {
        return Err(Error::new(ErrorKind::Conflict, "the dataset has another shape than when its index was planned; plan again").in_file(file.name()));
    }
    let fragment = work(&Build { task, context, values: &values })?;
    if values.is_virtual(file)? && values.fingerprint(file)? != task.fingerprint {
        return Err(Error::new(ErrorKind::Conflict, "a source of the virtual dataset has changed since its index was planned; plan again").in_file(file.name()));
    }
    Ok(fragment)
}

struct Build<'a> {
    task: &'a DatasetTask,
    context: BuildContext<'a>,
    values: &'a IndexedParts,
}

/// The blocks of one box of whole chunks, which are built or kept together.
struct Unit {
    around: Region,
    blocks: Vec<Region>,
}

/// Groups of units of about one batch of blocks each; the last ones are smaller, so that all threads end at about the same
/// time.
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

/// Syncs a file after each message, once for all that have arrived meanwhile, until the senders are gone.
fn sync_after_each(file: Option<&std::fs::File>, written: &mpsc::Receiver<()>) -> std::io::Result<()> {
    while written.recv().is_ok() {
        while written.try_recv().is_ok() {}
        // The system reports a failed sync only once: the sync at the end would not see it.
        file.map_or(Ok(()), std::fs::File::sync_data)?;
    }
    Ok(())
}

/// The result of a unit.
enum Outcome {
    Built(Vec<Row>),
    /// Number of blocks, which stay in the previous index files.
    Kept(u64),
}

impl Build<'_> {
    /// The units of this task, and the directory of the previous build.
    fn prepare(&self) -> Result<(Vec<Unit>, BlockDirectory)> {
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
        let boundary = |part: u64| usize::try_from(u128::from(count) * u128::from(part) / u128::from(task.parts)).unwrap_or(usize::MAX);
        let (start, end) = (boundary(task.part), boundary(task.part + 1));
        let units = units.into_iter().take(end).skip(start).collect();
        let index_files = task.previous.iter().filter_map(|entry| self.context.previous.open(self.context.file.path(), entry, task.shape.len()).ok());
        let directory = BlockDirectory::new(task.grid.clone(), task.shape.clone(), task.level, index_files.map(Arc::new).collect())?;
        Ok((units, directory))
    }

    fn fragment(&self, index_file: Option<IndexFileEntry>, kept_blocks: u64) -> DatasetFragment {
        let kept = if kept_blocks > 0 { self.task.previous.clone() } else { Vec::new() };
        let built_blocks = index_file.as_ref().map_or(0, |index_file| index_file.blocks);
        DatasetFragment { task: self.task.clone(), index_file, kept, built_blocks, kept_blocks }
    }

    /// Builds in this thread, into a shared file.
    fn build_shared(&self, builder: &mut Builder, shared: &SharedFile) -> Result<DatasetFragment> {
        let (units, previous) = self.prepare()?;
        let (mut rows, mut kept_blocks) = (Vec::new(), 0);
        for unit in &units {
            match self.unit(builder, unit, &previous)? {
                Outcome::Built(more) => rows.extend(more),
                Outcome::Kept(blocks) => kept_blocks += blocks,
            }
        }
        let index_file = if rows.is_empty() { None } else { Some(shared.add(self.task.shape.len(), &rows, self.task.build_number())?) };
        Ok(self.fragment(index_file, kept_blocks))
    }

    /// Builds in the session's threads, into a file of its own.
    fn alone(&self, session: &Session) -> Result<DatasetFragment> {
        let task = self.task;
        let (units, previous) = self.prepare()?;
        std::fs::create_dir_all(&task.folder).map_err(|error| Error::from(error).in_file(task.folder.display().to_string()))?;
        let name = IndexFileName::generate(task.is_local);
        let writer = IndexFileWriter::create(&name.path_in(&task.folder), task.shape.len())?;
        let (built, kept) = (AtomicU64::new(0), AtomicU64::new(0));
        let groups = groups(&units, session.thread_count()?.max(1));
        // A thread syncs what was written while the rest is built, so that the final sync is short.
        let (syncer, (written, more)) = (writer.syncer(), mpsc::channel::<()>());
        let writer = Mutex::new(writer);
        let sync = std::thread::spawn(move || sync_after_each(syncer.as_ref(), &more));
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let write = |rows: &[Row]| -> Result<()> {
            built.fetch_add(rows.len() as u64, Ordering::Relaxed);
            for rows in rows.chunks(BATCH_BLOCKS) {
                let batch = IndexFileWriter::batch(task.shape.len(), rows)?;
                writer.lock().unwrap_or_else(PoisonError::into_inner).write(&batch)?;
                // The syncing thread only ends early if a sync fails, which is reported below.
                if written.send(()).is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
            }
            Ok(())
        };
        // Each thread takes the next group, builds it, and writes it while other threads build.
        let of_thread = || {
            let mut builder = Builder::default();
            while let Some(units) = groups.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !failed.load(Ordering::Relaxed)) {
                kept.fetch_add(self.group(&mut builder, units, &previous, write)?, Ordering::Relaxed);
            }
            Ok(())
        };
        let outcome = session.compute(|| {
            (0..rayon::current_num_threads()).into_par_iter().try_for_each(|_| of_thread().inspect_err(|_: &Error| failed.store(true, Ordering::Relaxed)))
        });
        drop(written);
        let synced = sync.join().map_err(|_| Error::internal("the thread that syncs an index file has panicked"))?;
        outcome?;
        synced.map_err(|error| Error::io(error, "cannot sync the index").in_file(task.folder.display().to_string()))?;
        let writer = writer.into_inner().unwrap_or_else(PoisonError::into_inner);
        let built = built.load(Ordering::Relaxed);
        let kept_blocks = kept.load(Ordering::Relaxed);
        let index_file = match built {
            0 => None,
            blocks => Some(IndexFileEntry { bytes: writer.finish()?, place: IndexFilePlace::Sidecar(name), blocks, build: task.build_number(), offset: 0 }),
        };
        Ok(self.fragment(index_file, kept_blocks))
    }

    /// Builds a group of units and gives their rows to `write`; returns the number of blocks that are kept.
    fn group(&self, builder: &mut Builder, units: &[Unit], previous: &BlockDirectory, write: impl Fn(&[Row]) -> Result<()>) -> Result<u64> {
        let (mut rows, mut bytes, mut kept) = (Vec::new(), 0, 0);
        for unit in units {
            match self.unit(builder, unit, previous)? {
                Outcome::Built(more) => {
                    bytes += more.iter().map(|row| row.block.bytes()).sum::<usize>();
                    rows.extend(more);
                }
                Outcome::Kept(blocks) => kept += blocks,
            }
            if bytes > MAX_GROUP_BYTES {
                write(&std::mem::take(&mut rows))?;
                bytes = 0;
            }
        }
        write(&rows)?;
        Ok(kept)
    }

    /// Builds the blocks of a unit, or keeps the blocks of the previous build if nothing has changed.
    fn unit(&self, builder: &mut Builder, unit: &Unit, previous: &BlockDirectory) -> Result<Outcome> {
        self.context.cancellation.check()?;
        let source = self.values.chunk_hash(self.context.file, &unit.around, self.context.cancellation)?;
        let filtered = self.values.is_filtered(self.context.file)?;
        let before: Option<Vec<Zone>> = unit.blocks.iter().map(|block| previous.at(block).filter(|row| row.source == source).map(|row| row.zone)).collect();
        let elements: u64 = block_elements(&unit.around)?;
        let width = self.values.value_bytes();
        if before.is_some() && filtered {
            (self.context.progress)(elements * width);
            return Ok(Outcome::Kept(unit.blocks.len() as u64));
        }
        let whole = self.values.read(self.context.file, &unit.around, &self.task.shape, self.context.cancellation)?;
        let of_block = |block| whole.iter().map(|whole| part(whole, &unit.around, block)).collect::<Result<Vec<ArrayRef>>>();
        let parts = unit.blocks.iter().map(of_block).collect::<Result<Vec<_>>>()?;
        if let Some(zones) = before {
            // Unfiltered values may have been overwritten in place.
            let mut same = true;
            for (part, zone) in parts.iter().zip(&zones) {
                same &= self.values.hash_of(builder, part)? == zone.hash;
            }
            if same {
                (self.context.progress)(elements * width);
                return Ok(Outcome::Kept(unit.blocks.len() as u64));
            }
        }
        let rows = unit.blocks.iter().zip(&parts).map(|(region, part)| {
            let block: Block = self.values.build(builder, part, self.task.level)?;
            Ok(Row { region: region.clone(), block, source })
        });
        let rows = rows.collect::<Result<Vec<_>>>()?;
        (self.context.progress)(elements * width);
        Ok(Outcome::Built(rows))
    }
}

/// Extracts the values of `block` from the values of the box `around` it.
fn part(whole: &ArrayRef, around: &Region, block: &Region) -> Result<ArrayRef> {
    if around == block {
        return Ok(whole.clone());
    }
    // The block as a selection of the box around it.
    let axes = block.dimensions().zip(&around.start).map(|((start, count), base)| Axis::range(start - base, start - base + count));
    let selection = Selection::new(axes.collect(), &around.count)?;
    let origin = Region::all(&around.count);
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
        return Err(Error::internal("a block is outside its chunks"));
    }
    if let [(start, count)] = slices.as_slice() {
        return Ok(whole.slice(*start, *count));
    }
    let parts: Vec<ArrayRef> = slices.iter().map(|(start, count)| whole.slice(*start, *count)).collect();
    let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
    arrow_select::concat::concat(&parts).map_err(|error| Error::internal(error.to_string()))
}
