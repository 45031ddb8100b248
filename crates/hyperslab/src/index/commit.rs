//! Commit: the fragments of a build become the index, all at once for each sidecar.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hyperslab_array::{Error, ErrorKind, Result};

use super::fragment::IndexFragment;
use super::manifest::{ENDING, OF_FOLDER, IndexedDataset, IndexedFile, Manifest, SegmentName};
use super::source::Stamp;

/// Makes what tasks have built visible; the number of datasets. All parts of a dataset must be there
/// (`InvalidInput`); a file that has changed since is a `Conflict`, and nothing of its sidecar changes. May be
/// done again.
pub fn commit(fragments: &[IndexFragment]) -> Result<u64> {
    let mut by_folder: BTreeMap<&PathBuf, Vec<&IndexFragment>> = BTreeMap::new();
    for fragment in fragments {
        by_folder.entry(&fragment.task.folder).or_default().push(fragment);
    }
    let mut count = 0;
    for (folder, fragments) in by_folder {
        let mut datasets: BTreeMap<(&str, &str, &str), Vec<&IndexFragment>> = BTreeMap::new();
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
            for (name, stamp, entry) in entries {
                // A sidecar of one file has no other: this one was called otherwise.
                let of_one = folder.file_name().and_then(|folder| folder.to_str()).filter(|folder| *folder != OF_FOLDER);
                if of_one.and_then(|folder| folder.strip_suffix(ENDING)) == Some(&name) {
                    manifest.files.iter_mut().filter(|file| file.name != name).for_each(|file| {
                        file.name.clone_from(&name);
                        file.stamp = Stamp::default();
                    });
                }
                add(manifest, name, stamp, entry);
            }
            Ok(())
        })?;
    }
    Ok(count)
}

/// The index of one dataset from all its parts.
fn joined(parts: &[&IndexFragment]) -> Result<IndexedDataset> {
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

/// Puts a dataset's index into a manifest. Other datasets of a file that has changed are stale, and stay so:
/// they are kept for their parts that are still valid, under the stamp that they were built for.
pub(super) fn add(manifest: &mut Manifest, name: String, stamp: Stamp, entry: IndexedDataset) {
    // A file is listed once for each stamp; the first is looked at first.
    let place = manifest.files.iter().position(|file| file.name == name && file.stamp == stamp);
    manifest.files.iter_mut().filter(|file| file.name == name).for_each(|file| {
        file.columns.retain(|column| column.path != entry.path || column.identity != entry.identity);
    });
    match place.and_then(|place| manifest.files.get_mut(place)) {
        Some(file) => file.columns.push(entry),
        None => manifest.files.insert(0, IndexedFile { name, stamp, columns: vec![entry] }),
    }
    manifest.files.retain(|file| !file.columns.is_empty());
}
