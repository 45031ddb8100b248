//! Commit: the fragments of a build become the index, all at once for each sidecar.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use hyperslab_array::{Error, ErrorKind, Result};

use crate::freshness::source::Stamp;
use crate::store::manifest::{ENDING, IndexedDataset, IndexedFile, Manifest, OF_FOLDER, SegmentName};
use super::fragment::DatasetFragment;
use super::task::IndexFragment;

/// Makes what tasks have built visible; the number of datasets. All parts of a dataset must be there
/// (`InvalidInput`); a file that has changed since is a `Conflict`, and nothing of its sidecar changes. May be
/// done again.
pub fn commit(fragments: &[IndexFragment]) -> Result<u64> {
    let datasets: Vec<&DatasetFragment> = fragments.iter().flat_map(|fragment| &fragment.datasets).collect();
    commit_datasets(&datasets)
}

/// As [`commit`], of what was built of each dataset.
pub(crate) fn commit_datasets(fragments: &[&DatasetFragment]) -> Result<u64> {
    let mut by_folder: BTreeMap<&PathBuf, Vec<&DatasetFragment>> = BTreeMap::new();
    for fragment in fragments.iter().copied() {
        by_folder.entry(&fragment.task.folder).or_default().push(fragment);
    }
    let mut count = 0;
    for (folder, fragments) in by_folder {
        let mut datasets: BTreeMap<(&str, &str, &str), Vec<&DatasetFragment>> = BTreeMap::new();
        for fragment in fragments {
            let task = &fragment.task;
            datasets.entry((&task.name, &task.path, &task.identity)).or_default().push(fragment);
        }
        count += datasets.len() as u64;
        let mut entries = Vec::new();
        for ((name, _, _), mut parts) in datasets {
            parts.sort_by_key(|fragment| fragment.task.part);
            parts.dedup_by_key(|fragment| fragment.task.part);
            let entry = joined(&parts)?;
            let task = &parts.first().ok_or_else(|| Error::internal("a dataset without fragments"))?.task;
            if Stamp::now(task.file.as_ref()) != Some(task.stamp) {
                return Err(Error::new(ErrorKind::Conflict, "the file has changed while its index was built: plan again").in_file(&task.file));
            }
            entries.push((name.to_owned(), task.stamp, entry));
        }
        Manifest::change(folder, |manifest| {
            // A sidecar of one file has no other: this one was called otherwise.
            let of_one = folder.file_name().and_then(|folder| folder.to_str()).filter(|folder| *folder != OF_FOLDER);
            if let Some((name, _, _)) = entries.iter().find(|(name, _, _)| of_one.and_then(|folder| folder.strip_suffix(ENDING)) == Some(name)) {
                manifest.files.iter_mut().filter(|file| file.name != *name).for_each(|file| {
                    file.name.clone_from(name);
                    file.stamp = Stamp::default();
                });
            }
            add(manifest, entries);
            Ok(())
        })?;
    }
    Ok(count)
}

/// The index of one dataset from all its parts.
fn joined(parts: &[&DatasetFragment]) -> Result<IndexedDataset> {
    let first = parts.first().ok_or_else(|| Error::internal("a dataset without fragments"))?;
    let task = &first.task;
    let whole = parts.len() as u64 == task.parts && parts.iter().enumerate().all(|(number, part)| {
        part.task.part == number as u64 && part.task.parts == task.parts && part.task.fingerprint == task.fingerprint && part.task.level == task.level
    });
    if !whole {
        return Err(Error::invalid_input(format!("{} of {} parts of the index of {} are here, or of another plan", parts.len(), task.parts, task.path)));
    }
    let mut segments: Vec<SegmentName> = Vec::new();
    for segment in parts.iter().flat_map(|part| &part.kept).chain(parts.iter().filter_map(|part| part.segment.as_ref())) {
        if !segments.contains(segment) {
            segments.push(segment.clone());
        }
    }
    Ok(IndexedDataset {
        path: task.path.clone(),
        identity: task.identity.clone(),
        data_type: task.data_type.clone(),
        level: task.level,
        shape: task.shape.clone(),
        grid: task.grid.clone(),
        fingerprint: task.fingerprint.clone(),
        segments,
    })
}

/// Puts the indexes of datasets into a manifest. Other datasets of a file that has changed are stale, and stay so:
/// they are kept for their parts that are still valid, under the stamp that they were built for.
pub(crate) fn add(manifest: &mut Manifest, entries: Vec<(String, Stamp, IndexedDataset)>) {
    {
        let replaced: HashSet<(&str, &str, &str)> = entries.iter().map(|(name, _, entry)| (name.as_str(), entry.path.as_str(), entry.identity.as_str())).collect();
        for file in &mut manifest.files {
            let name = &file.name;
            file.columns.retain(|column| !replaced.contains(&(name.as_str(), column.path.as_str(), column.identity.as_str())));
        }
    }
    // A file is listed once for each stamp; the first is looked at first.
    let mut places: HashMap<(String, Stamp), usize> = HashMap::new();
    for (number, file) in manifest.files.iter().enumerate() {
        places.entry((file.name.clone(), file.stamp)).or_insert(number);
    }
    let mut new: Vec<IndexedFile> = Vec::new();
    for (name, stamp, entry) in entries {
        let known = manifest.files.len();
        let place = *places.entry((name.clone(), stamp)).or_insert_with(|| {
            new.push(IndexedFile { name, stamp, columns: Vec::new() });
            known + new.len() - 1
        });
        let file = if place < known { manifest.files.get_mut(place) } else { new.get_mut(place - known) };
        if let Some(file) = file {
            file.columns.push(entry);
        }
    }
    new.reverse();
    new.append(&mut manifest.files);
    manifest.files = new;
    manifest.files.retain(|file| !file.columns.is_empty());
}
