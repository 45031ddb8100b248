//! Sweep: removes what builds have left that were killed. Only files whose names are of our form are touched.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_storage::{FolderLock, is_abandoned, locks_reach_all, open_regular, unique_name};

use super::manifest::{self, Manifest, is_segment_file, is_unique_name};

/// Locked, shared, by each process that builds into a sidecar and commits what it has built itself.
const BUILDING: &str = ".building";
/// How long the segments of tasks are kept that nobody has committed: these run anywhere, and end before the commit.
pub(crate) const OF_TASKS: Duration = Duration::from_secs(24 * 3600);

/// A name for a segment. Its first digit tells what process commits it: that which built it (0 to 7), or another.
pub(crate) fn segment_name(is_local: bool) -> String {
    let name = unique_name();
    let (first, rest) = name.split_at(1);
    let digit = u32::from_str_radix(first, 16).unwrap_or_default() % 8 + if is_local { 0 } else { 8 };
    format!("{digit:x}{rest}.arrow")
}

fn is_local(name: &str) -> bool {
    name.starts_with(|first| ('0'..='7').contains(&first))
}

/// Builds under way in this process: their segments are not swept.
pub(crate) struct Building(#[expect(dead_code, reason = "the locks live as long as their files are open")] Vec<File>);

impl Building {
    /// Begins builds into these sidecars.
    pub fn begin<'a>(folders: impl Iterator<Item = &'a PathBuf>) -> Result<Self> {
        let mut distinct: Vec<&PathBuf> = folders.collect();
        distinct.sort();
        distinct.dedup();
        let begin = |folder: &PathBuf| {
            let open = || {
                std::fs::create_dir_all(folder)?;
                let file = marker(folder)?;
                // Without locks nothing is swept before it is old.
                let _ = file.lock_shared();
                std::io::Result::Ok(file)
            };
            open().map_err(|error| Error::from(error).in_file(folder.display().to_string()))
        };
        distinct.into_iter().map(begin).collect::<Result<_>>().map(Self)
    }
}

fn marker(folder: &Path) -> std::io::Result<File> {
    let path = folder.join(BUILDING);
    match File::options().write(true).create_new(true).open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => open_regular(&path),
        made => made,
    }
}

/// A file that was being written, if a file is called so.
fn is_part(name: &str) -> bool {
    let inner = name.strip_prefix('.').and_then(|rest| rest.strip_suffix(".part")).and_then(|rest| rest.rsplit_once('.'));
    inner.is_some_and(|(target, unique)| is_unique_name(unique) && (is_segment_file(target) || target == manifest::NAME))
}

/// Removes leftovers from a sidecar, those of tasks if they are older than `age`; their names. Does nothing while another
/// process commits to it, and where the manifest cannot be read.
/// With `is_dry` nothing is removed.
pub(crate) fn sweep(folder: &Path, age: Duration, is_dry: bool) -> Result<Vec<String>> {
    let _lock = match FolderLock::take(folder) {
        Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => return Ok(Vec::new()),
        lock => lock?,
    };
    let used = match Manifest::read(folder) {
        Ok(manifest) => manifest.segments(),
        Err(error) if error.kind() == ErrorKind::NotFound => BTreeSet::new(),
        Err(_) => return Ok(Vec::new()),
    };
    let failed = |error: std::io::Error| Error::from(error).in_file(folder.display().to_string());
    let marker = marker(folder).ok();
    // On file systems of several machines a lock may be of one of them.
    let is_quiet = marker.as_ref().is_some_and(|marker| locks_reach_all(marker) && marker.try_lock().is_ok());
    let mut removed = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let metadata = entry.metadata().map_err(failed)?;
        let is_older = |age: Duration| metadata.modified().is_ok_and(|at| at.elapsed().is_ok_and(|since| since >= age));
        let is_left = if is_part(&name) {
            open_regular(entry.path()).is_ok_and(|file| is_abandoned(&file, age))
        } else {
            is_segment_file(&name) && !used.contains(&name) && (is_older(age) || (is_quiet && is_local(&name)))
        };
        if is_left && metadata.is_file() {
            if !is_dry {
                std::fs::remove_file(entry.path()).map_err(failed)?;
            }
            removed.push(name);
        }
    }
    removed.sort();
    Ok(removed)
}

/// Removes a sidecar that has no index, unless another process builds into it; best effort.
pub(crate) fn remove_unbuilt(folder: &Path) {
    let Ok(marker) = marker(folder) else { return };
    if marker.try_lock().is_err() {
        return;
    }
    let is_empty = std::fs::read_dir(folder).is_ok_and(|entries| entries.flatten().all(|entry| entry.file_name() == BUILDING));
    if is_empty {
        let _ = std::fs::remove_file(folder.join(BUILDING));
        let _ = std::fs::remove_dir(folder);
    }
}

/// Removes a sidecar: its files, and the folder if nothing else is in it.
pub(crate) fn remove_sidecar(folder: &Path) -> Result<()> {
    let failed = |error: std::io::Error| Error::from(error).in_file(folder.display().to_string());
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if [manifest::NAME, BUILDING].contains(&name.as_str()) || is_segment_file(&name) || is_part(&name) {
            std::fs::remove_file(entry.path()).map_err(failed)?;
        }
    }
    match std::fs::remove_dir(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::DirectoryNotEmpty => Err(failed(error)),
        _ => Ok(()),
    }
}
