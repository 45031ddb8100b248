//! Commit: makes the fragments of a build visible, atomically for each sidecar.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hyperslab_array::{Error, ErrorKind, Result};

use super::dataset_task::DatasetFragment;
use super::task::IndexFragment;
use crate::store::manifest::{FOLDER_SIDECAR_NAME, IndexFileEntry, IndexedDataset, Manifest, SIDECAR_SUFFIX};
use crate::store::stamp::Stamp;

/// Makes the results of tasks visible and returns the number of datasets. Can be repeated.
///
/// # Errors
/// `InvalidInput` if parts of a dataset are missing; `Conflict` if a data file has changed since the plan, in which
/// case its sidecar stays as it was; `Io` if the manifest cannot be written.
pub fn commit(fragments: &[IndexFragment]) -> Result<u64> {
    let datasets: Vec<&DatasetFragment> = fragments.iter().flat_map(|fragment| &fragment.datasets).collect();
    commit_datasets(&datasets)
}

/// As [`commit`], for fragments of datasets.
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
            let task = &parts.first().ok_or_else(|| Error::internal("a dataset has no fragments"))?.task;
            if Stamp::now(task.file.as_ref()) != Some(task.stamp) {
                return Err(Error::new(ErrorKind::Conflict, "the file has changed while its index was built; plan again").in_file(&task.file));
            }
            entries.push((name.to_owned(), task.stamp, entry));
        }
        Manifest::change(folder, |manifest| {
            // A sidecar of one data file only describes this file: entries with other names are from before it was renamed.
            let of_one = folder.file_name().and_then(|folder| folder.to_str()).filter(|folder| *folder != FOLDER_SIDECAR_NAME);
            if let Some((name, _, _)) = entries.iter().find(|(name, _, _)| of_one.and_then(|folder| folder.strip_suffix(SIDECAR_SUFFIX)) == Some(name)) {
                manifest.files.iter_mut().filter(|file| file.name != *name).for_each(|file| {
                    file.name.clone_from(name);
                    file.stamp = Stamp::default();
                });
            }
            manifest.add(entries)
        })?;
    }
    Ok(count)
}

/// Joins all parts of one dataset's index.
fn joined(parts: &[&DatasetFragment]) -> Result<IndexedDataset> {
    let first = parts.first().ok_or_else(|| Error::internal("a dataset has no fragments"))?;
    let task = &first.task;
    let is_complete = parts.len() as u64 == task.parts
        && parts.iter().enumerate().all(|(index, part)| {
            part.task.part == index as u64
                && part.task.parts == task.parts
                && part.task.fingerprint == task.fingerprint
                && part.task.level == task.level
                && part.task.others == task.others
        });
    if !is_complete {
        return Err(Error::invalid_input(format!(
            "the index of {2} needs {1} parts of one plan, but {0} were given, or some are of another plan",
            parts.len(),
            task.parts,
            task.label()
        )));
    }
    let mut index_files: Vec<IndexFileEntry> = Vec::new();
    for index_file in parts.iter().flat_map(|part| &part.kept).chain(parts.iter().filter_map(|part| part.index_file.as_ref())) {
        if !index_files.contains(index_file) {
            index_files.push(index_file.clone());
        }
    }
    Ok(IndexedDataset {
        path: task.path.clone(),
        member: task.member.clone(),
        others: task.others.clone(),
        identity: task.identity.clone(),
        data_type: task.data_type.clone(),
        level: task.level,
        shape: task.shape.clone(),
        grid: task.grid.clone(),
        fingerprint: task.fingerprint.clone(),
        index_files,
        seal: None,
        is_own: true,
    })
}
