//! Verifies that all files of a container exist, are complete, and belong together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use hyperslab_array::{Axis, Cancellation, Dataspace, Datatype, Error, Result, Selection, StoredSelection};
use hyperslab_formats::{ChunkSource, Object, ObjectId};
use hyperslab_reader::{File, Session, Walked};
use hyperslab_storage::{real_path, remove_leftovers};

use crate::container::commit::too_many_subfiles_remark;
use crate::container::commit_name::commit_named_in;
use crate::container::folder::write_id_of;
use crate::container::lineage::{container_of, home_of, living, records};
use crate::container::record::RECORD;
use crate::container::state::root_text;
use crate::container::tail::commits_in;
use crate::encoding::checksum;
use crate::file::reading_session::reading_session;
use crate::file::reserved_attributes::SUBFILE_ATTRIBUTE;

/// Result of [`verify`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Verification {
    /// Problems, each with its file; empty if the container is valid.
    pub problems: Vec<String>,
    /// Remarks that do not affect values, each with its file.
    pub remarks: Vec<String>,
    /// Number of commits that the master uses.
    pub commits: u64,
    /// Number of subfiles of all commits.
    pub subfiles: u64,
    /// Bytes of all subfiles.
    pub subfile_bytes: u64,
}

/// Checks the master at `path`, every subfile of its commits, and every source of its virtual datasets. With `values`, also
/// checks all bytes of subfiles that have checksums and decodes all chunks of the others.
///
/// # Errors
/// `InvalidInput` if `path` is not a container; `NotFound` or `Io` if it cannot be read. Damage inside of a container
/// is reported in [`Verification::problems`].
pub fn verify(path: &Path, values: bool) -> Result<Verification> {
    let session = reading_session()?;
    let master = session.open(path)?;
    let shown = path.display().to_string();
    let root = master.attributes(master.root())?;
    let last =
        commit_named_in(&root.list).ok_or_else(|| Error::invalid_input("this is one file, not a master with subfiles: it names no commit").in_file(&shown))?;
    let mut found = Verification::default();
    // Open one subfile at a time: there may be more than files may be open.
    let mut takes = takes(&master);
    found.remarks.extend(too_many_subfiles_remark(path, takes.len()));
    let mut problem = |file: &str, what: &str| found.problems.push(format!("{file}: {what}"));
    let path = &real_path(path)?;
    let container = home_of(path, &last).unwrap_or_else(|| container_of(path));
    let folder_name = container.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    match records(&container, &last) {
        Err(error) => problem(&shown, &format!("its commits cannot be determined: {error}")),
        Ok(records) => {
            let names = std::iter::once(&last).chain(records.iter().filter_map(|record| record.previous.as_ref()));
            found.commits = (records.len() + names.map(|name| commits_in(&container, name).len()).sum::<usize>()) as u64;
            for (record, subfile) in records.iter().flat_map(|record| record.subfiles.iter().map(move |subfile| (record, subfile))) {
                found.subfiles += 1;
                found.subfile_bytes = found.subfile_bytes.saturating_add(subfile.bytes);
                let name = format!("{folder_name}/{}/{}", record.id, subfile.name);
                let place = container.join(&record.id).join(&subfile.name);
                let Some(file) = opened(&session, &place, subfile.bytes, &name, &mut problem) else { continue };
                if root_text(&file, SUBFILE_ATTRIBUTE) != Some(subfile.label(&record.id)) {
                    problem(&name, &format!("is not the subfile that task {} wrote", subfile.task));
                }
                unreadable(&file, &name, &mut problem);
                if values {
                    match &subfile.checksums {
                        Some(expected) => damaged(&place, expected, &name, &mut problem),
                        None => undecodable(&file, &name, &mut problem),
                    }
                }
                if let Some(takes) = takes.remove(&name) {
                    sources(&file, &name, &takes, &mut problem);
                }
            }
        }
    }
    unreadable(&master, &shown, &mut problem);
    for (name, takes) in takes {
        problem(&shown, &format!("uses {} parts of {name}, which is not a readable subfile of its commits", takes.len()));
    }
    let leftovers = remove_leftovers(path, Duration::from_secs(24 * 3600), true)
        .into_iter()
        .map(|left| format!("{}: left by a writer that was killed; vacuum removes it", left.display()));
    found.remarks.extend(leftovers);
    found.remarks.extend(orphans(&container, &folder_name)?);
    Ok(found)
}

/// Remarks on commits in the container that no master next to it uses.
fn orphans(container: &Path, folder_name: &str) -> Result<Vec<String>> {
    if !container.exists() {
        return Ok(Vec::new());
    }
    let (living, mut orphans) = (living(container)?, Vec::new());
    for entry in std::fs::read_dir(container).map_err(|error| Error::from(error).in_file(container.display().to_string()))?.flatten() {
        let (name, place) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        let Some(id) = write_id_of(&name).filter(|id| *id == name.as_str()) else { continue };
        let is_known = living.folders.contains(&id) || living.superseded.iter().any(|old| old.folder == id);
        if !is_known && place.join(RECORD).exists() {
            orphans.push(format!("{folder_name}/{name}: belongs to no master in this folder; vacuum removes it with `orphans`"));
        }
    }
    orphans.sort();
    Ok(orphans)
}

/// Opens the subfile at `place`, which should have `bytes` bytes; `None` if it cannot be read.
fn opened(session: &Session, place: &Path, bytes: u64, name: &str, problem: &mut impl FnMut(&str, &str)) -> Option<File> {
    match std::fs::metadata(place) {
        Err(error) => {
            problem(name, &format!("does not exist: {error}"));
            return None;
        }
        Ok(metadata) if metadata.len() != bytes => problem(name, &format!("has {} bytes, the commit says {bytes}", metadata.len())),
        Ok(_) => {}
    }
    session.open(place).inspect_err(|error| problem(name, &format!("cannot be read: {error}"))).ok()
}

/// Reports the pieces of a subfile that do not have the checksums that were computed when it was written.
fn damaged(place: &Path, expected: &[u32], name: &str, problem: &mut impl FnMut(&str, &str)) {
    match checksum::damaged(place, expected) {
        Ok(pieces) => {
            pieces.iter().for_each(|at| problem(name, &format!("the {} bytes from byte {at} on are not those that were written", checksum::PIECE_BYTES)))
        }
        Err(error) => problem(name, &error.to_string()),
    }
}

fn unreadable(file: &File, name: &str, problem: &mut impl FnMut(&str, &str)) {
    for walked in file.walk() {
        if let Err(error) = &walked.object {
            problem(name, &format!("{} cannot be read: {error}", walked.path));
        } else if let Err(error) = file.attributes(walked.id) {
            problem(name, &format!("the attributes of {} cannot be read: {error}", walked.path));
        }
    }
}

/// Reads all values slab by slab and reports those that cannot be decoded.
fn undecodable(file: &File, name: &str, problem: &mut impl FnMut(&str, &str)) {
    const SLAB_BYTES: u64 = 64 << 20;
    let mut seen = BTreeSet::new();
    for Walked { path, id, object, .. } in file.walk() {
        let Ok(Object::Dataset(dataset)) = object else { continue };
        let shape = dataset.dataspace.shape();
        if matches!(dataset.dataspace, Dataspace::Null) {
            continue;
        }
        // A tail has several datasets for the same bytes.
        if dataset.chunk_shape.is_none() && first_address(file, id, shape).is_some_and(|address| !seen.insert(address)) {
            continue;
        }
        let row = shape.iter().skip(1).fold(dataset.datatype.size(), |n, extent| n.saturating_mul(*extent)).max(1);
        let chunk = dataset.chunk_shape.as_ref().and_then(|chunk| chunk.first().copied()).unwrap_or(1).max(1);
        let step = (SLAB_BYTES / row).max(1).div_ceil(chunk).saturating_mul(chunk);
        let rows = shape.first().copied().unwrap_or(1);
        let mut first = 0;
        while first < rows {
            let count = step.min(rows - first);
            let axis = |(index, extent): (usize, &u64)| {
                if index == 0 { Axis::Range { start: first, count, step: 1 } } else { Axis::Range { start: 0, count: *extent, step: 1 } }
            };
            let read =
                Selection::new(shape.iter().enumerate().map(axis).collect(), shape).and_then(|selection| file.read(id, &selection, &Cancellation::new()));
            if let Err(error) = read {
                problem(name, &format!("the values of {path} cannot be read: {error}"));
                break;
            }
            first += count;
        }
    }
}

/// File offset of the first element, if it is stored in the file.
fn first_address(file: &File, id: ObjectId, shape: &[u64]) -> Option<u64> {
    let first = Selection::new(shape.iter().map(|_| Axis::Range { start: 0, count: 1, step: 1 }).collect(), shape).ok()?;
    match file.array_file().locate(id, &first).ok()?.chunks.first()?.source {
        ChunkSource::Stored { offset, .. } => Some(offset),
        _ => None,
    }
}

/// A part of a dataset of the master, and its source in a subfile.
struct MappedSource {
    object: String,
    datatype: Datatype,
    dataset: String,
    selection: StoredSelection,
}

/// The sources of the master's datasets, by subfile.
fn takes(master: &File) -> BTreeMap<String, Vec<MappedSource>> {
    let mut takes: BTreeMap<String, Vec<MappedSource>> = BTreeMap::new();
    for walked in master.walk() {
        let Ok(Object::Dataset(dataset)) = walked.object else { continue };
        for mapping in dataset.virtual_mappings.iter() {
            let take = MappedSource {
                object: walked.path.clone(),
                datatype: dataset.datatype.clone(),
                dataset: mapping.dataset.replace("%%", "%"),
                selection: mapping.source_selection.clone(),
            };
            takes.entry(mapping.file.replace("%%", "%")).or_default().push(take);
        }
    }
    takes
}

/// Checks that every source in this subfile is a dataset with the right datatype and a sufficient shape.
fn sources(file: &File, name: &str, takes: &[MappedSource], problem: &mut impl FnMut(&str, &str)) {
    for take in takes {
        let (path, object) = (&take.dataset, &take.object);
        match file.find(path).and_then(|found| found.dataset()) {
            Err(error) => problem(name, &format!("{path}, a source of {object}: {error}")),
            Ok(source) => {
                if source.datatype != take.datatype {
                    problem(name, &format!("{path}, a source of {object}, has another datatype"));
                }
                let StoredSelection::Hyperslab(axes) = &take.selection else { continue };
                let ends = axes.iter().map(|axis| axis.extent_of(axis.len().unwrap_or(u64::MAX)));
                let shape = source.dataspace.shape();
                if axes.len() != shape.len() || ends.zip(shape).any(|(end, extent)| end > *extent) {
                    problem(name, &format!("{path}, a source of {object}, is too small: {shape:?}"));
                }
            }
        }
    }
}
