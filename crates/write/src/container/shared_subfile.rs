//! Completes shared subfiles: the commit adds the metadata that makes the bytes of several tasks an HDF5 file.

use std::ops::Range;
use std::path::{Path, PathBuf};

use hyperslab_array::{Error, Result};
use hyperslab_formats::hdf5::writer::StoredChunk;
use hyperslab_storage::{EntryName, SharedFile, UniqueName, create_whole};

use super::fragment::{DatasetFragment, Fragment};
use super::plan::WritePlan;
use super::record::{RECORD, SubfileRecord};
use crate::encoding::checksum;
use crate::file::dataset::placement::Placement;
use crate::file::dataset::state::DatasetWriter;
use crate::file::definition::{DatasetDefinition, text_attribute};
use crate::file::file_writer::FileWriter;
use crate::file::reading_session::reading_session;
use crate::file::reserved_attributes::SUBFILE_ATTRIBUTE;
use crate::shared::layout::{Layout, name_of};
use crate::shared::shared_datasets::SharedDatasets;

/// Marker file: tasks that begin from now on write their own files.
pub(crate) const CLOSED: &str = ".closed";

const MARK: &str = ".claimed";

/// Content of the marks that the commit has taken.
const TAKEN: &[u8] = b"commit";

/// Marker file: an attempt at this task writes into a shared subfile.
pub(crate) fn mark_of(folder: &Path, task: u64) -> PathBuf {
    folder.join(format!(".{task:04}{MARK}"))
}

/// Whether a file name is a mark's.
pub(crate) fn is_mark(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(MARK)
}

/// Takes the mark of a task, so that no attempt at it writes into the shared subfile from now on; whether none has it. Creating a
/// file is decided by the server, also if this machine's look-ups are old.
fn close(mark: &Path) -> Result<bool> {
    if create_whole(mark, TAKEN)? {
        return Ok(true);
    }
    // An earlier call of this commit may have taken it.
    std::fs::read(mark).map(|content| content == TAKEN).map_err(|error| Error::from(error).in_file(mark.display().to_string()))
}

/// Completes the shared subfile `group` with the data of these fragments. Idempotent, even after it was killed halfway.
pub(crate) fn complete(plan: &WritePlan, sharing: &SharedDatasets, group: u64, fragments: &[&Fragment]) -> Result<SubfileRecord> {
    let folder = plan.folder();
    let layout = sharing.layout(group)?;
    let place = folder.join(name_of(group));
    let shown = place.display().to_string();
    if !place.exists() {
        return Err(Error::not_found("the subfile that these tasks wrote does not exist").in_file(shown));
    }
    let (name, place) = name_to_complete(&folder, group, sharing.tasks(group).filter(|task| !fragments.iter().any(|fragment| fragment.task == *task)))?;
    let file = SharedFile::open(&place)?;
    let length = file.length()?;
    let session = reading_session()?;
    let mut subfile = FileWriter::deferred(&place, Some(sharing.alignment), &session)?;
    if !plan.durable {
        subfile.without_sync();
    }
    subfile.set_attribute("", SUBFILE_ATTRIBUTE, text_attribute(&format!("{} {name}", plan.id())))?;
    let (mut end, mut rest) = (layout.fixed_end, Vec::new());
    for (path, (_, definition, place)) in &layout.datasets {
        let mut dataset = DatasetWriter::in_shared(definition.clone(), place)?;
        for fragment in fragments {
            let bad = |what: &str| Error::invalid_input(format!("the fragment of task {}: {what}", fragment.task)).at_object(format!("/{path}"));
            let Some(found) = fragment.objects.get(path).and_then(|object| object.dataset.as_ref()) else { continue };
            let shape = definition.dataspace.shape();
            if !found.shared || found.shape != shape {
                return Err(bad("its layout is not that of the plan"));
            }
            let regions = found.local_regions().ok_or_else(|| bad("it claims to have written outside of its array"))?;
            if !found.chunks.is_empty() && *place != Placement::Segments {
                return Err(bad("it lists chunks whose offsets are fixed by the plan"));
            }
            let chunks = stored_chunks(found, definition, layout.fixed_end..length).map_err(|what| bad(&what))?;
            end = chunks.iter().map(|chunk| chunk.address.saturating_add(chunk.length)).fold(end, u64::max);
            dataset.add_written(&regions, chunks.into_iter())?;
        }
        rest.push((path, dataset));
    }
    for (path, dataset) in rest {
        dataset.fill_unwritten(|at, bytes| file.write_at(at, bytes)).map_err(|error| error.at_object(format!("/{path}")))?;
        subfile.create_prepared(path, dataset)?;
    }
    for fragment in fragments {
        let min_bytes = fragment.shared.as_ref().map_or(0, |shared| shared.end);
        if length < min_bytes {
            return Err(Error::corrupt(format!("the subfile has {length} bytes, task {} wrote it up to byte {min_bytes}", fragment.task)).in_file(shown));
        }
    }
    let bytes = subfile.finish_shared(&file, end.next_multiple_of(8))?;
    let checksums = if plan.checksums { Some(checksum::of_file(&place)?) } else { None };
    let tasks: Vec<u64> = fragments.iter().map(|fragment| fragment.task).collect();
    SubfileRecord::of_tasks(name, bytes, tasks, checksums)
}

/// The name and the place of the file to complete: the shared subfile itself, or a copy if an attempt at one of the tasks without a fragment, `others`,
/// may still be writing.
fn name_to_complete(folder: &Path, group: u64, others: impl Iterator<Item = u64>) -> Result<(EntryName, PathBuf)> {
    let mut is_loose = false;
    for task in others {
        is_loose |= !close(&mark_of(folder, task))?;
    }
    let place = folder.join(name_of(group));
    if !is_loose {
        return Ok((EntryName::parse(&name_of(group))?, place));
    }
    let name = EntryName::parse(&format!("shared-{group:04}-{}.h5", UniqueName::generate().prefix(8)))?;
    let copy = name.path_in(folder);
    std::fs::copy(&place, &copy).map_err(|error| Error::from(error).in_file(place.display().to_string()))?;
    Ok((name, copy))
}

/// The chunks that a fragment lists, if all of them are in the dataset, and their bytes within `segments`; otherwise what is wrong.
fn stored_chunks(found: &DatasetFragment, definition: &DatasetDefinition, segments: Range<u64>) -> std::result::Result<Vec<StoredChunk>, String> {
    let chunks: Vec<StoredChunk> = found.chunks.iter().map(StoredChunk::from).collect();
    let counts = definition.dataspace.shape().iter().zip(definition.chunk_shape.iter().flatten()).map(|(extent, chunk)| extent.div_ceil((*chunk).max(1)));
    let counts: Vec<u64> = counts.collect();
    for chunk in &chunks {
        let is_inside = chunk.position.len() == counts.len() && chunk.position.iter().zip(&counts).all(|(position, count)| position < count);
        let is_stored = chunk.address >= segments.start && chunk.address.checked_add(chunk.length).is_some_and(|stop| stop <= segments.end);
        if !is_inside || !is_stored {
            return Err(format!("a chunk at {:?} that is not in its subfile", chunk.position));
        }
    }
    Ok(chunks)
}

/// Checks that the fragment's part of a shared subfile agrees with the plan.
pub(crate) fn check(sharing: Option<&SharedDatasets>, fragment: &Fragment) -> Result<()> {
    let Some(shared) = &fragment.shared else {
        let stray = fragment.objects.values().any(|object| object.dataset.as_ref().is_some_and(|dataset| dataset.shared));
        return if stray {
            Err(Error::invalid_input(format!("the fragment of task {} has values in a shared subfile but does not say in which", fragment.task)))
        } else {
            Ok(())
        };
    };
    let group = sharing.filter(|sharing| sharing.factor > 1).map(|sharing| sharing.group_of(fragment.task)).transpose()?;
    if group != Some(shared.group) {
        return Err(Error::invalid_input(format!(
            "the fragment of task {} belongs to shared subfile {}, which the plan gives to others",
            fragment.task, shared.group
        )));
    }
    Ok(())
}

/// Claims a task's part of its shared subfile and returns the group and its layout. `None` if the task writes its own file:
/// it does not share, or another attempt has claimed its part.
pub(crate) fn claimed(plan: &WritePlan, sharing: &SharedDatasets, task: u64) -> Result<Option<(u64, Layout)>> {
    let folder = plan.folder();
    let group = sharing.group_of(task)?;
    if sharing.factor == 1 {
        return Ok(None);
    }
    // The mark decides: a commit takes those that no attempt has. `CLOSED` saves tasks that begin late from writing in vain.
    if !hyperslab_storage::claim(&mark_of(&folder, task))? || folder.join(CLOSED).exists() || folder.join(RECORD).exists() {
        return Ok(None);
    }
    Ok(Some((group, sharing.layout(group)?)))
}
