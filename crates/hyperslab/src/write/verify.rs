//! Verify: whether a container's files are all there, whole, and belong together.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use hyperslab_array::{Axis, Dataspace, Error, Result, Selection, StoredSelection};
use hyperslab_formats::Content;

use super::checksum;
use super::plan::container_of;
use super::state::{COMMIT_ATTRIBUTE, SUBFILE_ATTRIBUTE, reading_session, records, root_text};
use crate::{Cancellation, File, ObjectId};

/// What there is to say of a container.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    /// Each with the file it is about; none where all is well.
    pub problems: Vec<String>,
    /// Commits that the master is made of.
    pub commits: u64,
    /// Subfiles of all commits.
    pub subfiles: u64,
    /// Bytes of all subfiles.
    pub subfile_bytes: u64,
}

/// Checks the master at `path`, every subfile that its commits name, and every source of its virtual datasets; with
/// `values` also all bytes of the subfiles that have checksums, and all chunks of the others.
/// Fails where `path` is no container; what is wrong inside of one is a problem.
pub fn verify(path: &Path, values: bool) -> Result<Verification> {
    let session = reading_session()?;
    let master = session.open(path)?;
    let shown = path.display().to_string();
    let last = root_text(&master, COMMIT_ATTRIBUTE)
        .ok_or_else(|| Error::invalid_input("this is one file, not a master with subfiles: it names no commit").in_file(&shown))?;
    let mut found = Verification::default();
    let mut problem = |file: &str, what: &str| found.problems.push(format!("{file}: {what}"));
    let mut subfiles: BTreeMap<String, File> = BTreeMap::new();
    let container = container_of(path);
    let folder_name = container.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    match records(path, &last) {
        Err(error) => problem(&shown, &format!("its commits cannot be told: {error}")),
        Ok(records) => {
            found.commits = records.len() as u64;
            for (record, subfile) in records.iter().flat_map(|record| record.subfiles.iter().map(move |subfile| (record, subfile))) {
                let name = format!("{folder_name}/{}/{}", record.id, subfile.name);
                found.subfiles += 1;
                found.subfile_bytes = found.subfile_bytes.saturating_add(subfile.bytes);
                let place = container.join(&record.id).join(&subfile.name);
                match std::fs::metadata(&place) {
                    Err(error) => {
                        problem(&name, &format!("is not there: {error}"));
                        continue;
                    }
                    Ok(metadata) if metadata.len() != subfile.bytes => {
                        problem(&name, &format!("has {} bytes, the commit says {}", metadata.len(), subfile.bytes));
                    }
                    Ok(_) => {}
                }
                match session.open(&place) {
                    Err(error) => problem(&name, &format!("cannot be read: {error}")),
                    Ok(file) => {
                        if root_text(&file, SUBFILE_ATTRIBUTE) != Some(subfile.label(&record.id)) {
                            problem(&name, &format!("is not the subfile that task {} wrote", subfile.task));
                        }
                        unreadable(&file, &name, &mut problem);
                        if values {
                            match &subfile.checksums {
                                Some(expected) => match checksum::damaged(&place, expected) {
                                    Ok(pieces) => pieces.iter().for_each(|at| problem(&name, &format!("the {} bytes from byte {at} on are not those that were written", checksum::PIECE_BYTES))),
                                    Err(error) => problem(&name, &error.to_string()),
                                },
                                None => undecodable(&file, &name, &mut problem),
                            }
                        }
                        subfiles.insert(name, file);
                    }
                }
            }
        }
    }
    unreadable(&master, &shown, &mut problem);
    sources(&master, &shown, &subfiles, &mut problem);
    Ok(found)
}

fn unreadable(file: &File, name: &str, problem: &mut impl FnMut(&str, &str)) {
    for object in &file.tree().objects {
        if let Content::Unreadable(error) = &object.content {
            problem(name, &format!("{} cannot be read: {error}", object.path));
        }
        if let Some(error) = &object.attributes_error {
            problem(name, &format!("the attributes of {} cannot be read: {error}", object.path));
        }
    }
}

/// Reads all values, a slab at a time.
fn undecodable(file: &File, name: &str, problem: &mut impl FnMut(&str, &str)) {
    const SLAB_BYTES: u64 = 64 << 20;
    for (number, object) in file.tree().objects.iter().enumerate() {
        let Content::Dataset(dataset) = &object.content else { continue };
        let shape = dataset.dataspace.shape();
        if matches!(dataset.dataspace, Dataspace::Null) {
            continue;
        }
        let row = shape.iter().skip(1).fold(dataset.datatype.size(), |n, extent| n.saturating_mul(*extent)).max(1);
        let chunk = dataset.chunk_shape.as_ref().and_then(|chunk| chunk.first().copied()).unwrap_or(1).max(1);
        let step = (SLAB_BYTES / row).max(1).div_ceil(chunk).saturating_mul(chunk);
        let rows = shape.first().copied().unwrap_or(1);
        let mut first = 0;
        while first < rows {
            let count = step.min(rows - first);
            let axis = |(number, extent): (usize, &u64)| if number == 0 { Axis::Range { start: first, count, step: 1 } } else { Axis::Range { start: 0, count: *extent, step: 1 } };
            let read = Selection::new(shape.iter().enumerate().map(axis).collect(), shape).and_then(|selection| file.read(ObjectId(number), &selection, &Cancellation::new()));
            if let Err(error) = read {
                problem(name, &format!("the values of {} cannot be read: {error}", object.path));
                break;
            }
            first += count;
        }
    }
}

/// Whether every source that the master's datasets name is a dataset of a subfile that holds what is taken of it.
fn sources(master: &File, shown: &str, subfiles: &BTreeMap<String, File>, problem: &mut impl FnMut(&str, &str)) {
    let mut missing: HashMap<String, u64> = HashMap::new();
    for object in &master.tree().objects {
        let Content::Dataset(dataset) = &object.content else { continue };
        for mapping in dataset.virtual_mappings.iter() {
            let (name, path) = (mapping.file.replace("%%", "%"), mapping.dataset.replace("%%", "%"));
            let Some(file) = subfiles.get(&name) else {
                *missing.entry(name).or_default() += 1;
                continue;
            };
            let source = file.find(&path).and_then(|found| found.file.dataset(found.object).cloned());
            match source {
                Err(error) => problem(&name, &format!("{path}, a source of {}: {error}", object.path)),
                Ok(source) => {
                    if source.datatype != dataset.datatype {
                        problem(&name, &format!("{path}, a source of {}, has another datatype", object.path));
                    }
                    let StoredSelection::Hyperslab(axes) = &mapping.source_selection else { continue };
                    let ends = axes.iter().map(|axis| axis.extent_of(axis.len().unwrap_or(u64::MAX)));
                    let shape = source.dataspace.shape();
                    if axes.len() != shape.len() || ends.zip(shape).any(|(end, extent)| end > *extent) {
                        problem(&name, &format!("{path}, a source of {}, is too small: {shape:?}", object.path));
                    }
                }
            }
        }
    }
    for (name, count) in missing {
        problem(shown, &format!("takes {count} parts from {name}, which is no readable subfile of its commits"));
    }
}
