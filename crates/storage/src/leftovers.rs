//! Leftover files: temporary files of writers that were killed, and how to tell them from files that are being written.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::folder::folder_of;
use crate::open_regular;
use crate::temporary_name::is_aside;

/// A writer locks its file shortly after creating it, so a younger file without a lock may still have a writer.
const MIN_LOCKED_AGE: Duration = Duration::from_secs(10);
/// Without reliable locks, a file counts as a leftover after this time without a change.
const MIN_UNLOCKED_AGE: Duration = Duration::from_secs(24 * 3600);

/// Whether the writer of a temporary file has ended, judged by its lock on this machine; `None` if the file system has no
/// locks. If it has ended, this takes the lock, which is held as long as `file` is open.
pub fn is_left(file: &File) -> Option<bool> {
    match rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Some(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Some(false),
        Err(_) => None,
    }
}

/// Whether a lock on this file reaches all of its possible writers: its file system belongs to this machine alone.
pub fn locks_reach_all(file: &File) -> bool {
    /// ext2 to ext4, XFS, Btrfs, tmpfs, overlayfs, ZFS, F2FS, bcachefs, exFAT, FAT, NTFS (magic numbers of `statfs`).
    const LOCAL: [u64; 12] =
        [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1, 0xf2f5_2010, 0xca45_1a4e, 0x2011_bab0, 0x4d44, 0x7366_746e, 0x5346_544e];
    let kind = rustix::fs::fstatfs(file).ok().and_then(|found| u64::try_from(found.f_type).ok());
    kind.is_some_and(|kind| LOCAL.contains(&(kind & 0xffff_ffff)))
}

/// Whether a temporary file is a leftover: its lock is free, and on file systems that are shared by machines or have no
/// locks it has also not changed for `age`. The lock is then held as long as `file` is open.
pub fn is_abandoned(file: &File, age: Duration) -> bool {
    let is_older = |age: Duration| file.metadata().and_then(|found| found.modified()).is_ok_and(|at| at.elapsed().is_ok_and(|since| since >= age));
    match is_left(file) {
        Some(true) if locks_reach_all(file) => is_older(MIN_LOCKED_AGE.min(age)),
        Some(false) => false,
        _ => is_older(age),
    }
}

/// Leftover files next to `target` of writers that were killed (see [`is_abandoned`]). Removes them unless `is_dry`.
pub fn remove_leftovers(target: &Path, age: Duration, is_dry: bool) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder_of(target)) else { return Vec::new() };
    let mut left = Vec::new();
    for entry in entries.flatten() {
        if !entry.file_name().to_str().is_some_and(|name| is_aside(target, name)) {
            continue;
        }
        let path = entry.path();
        // The lock is held until the file is removed.
        let Some(file) = open_regular(&path).ok().filter(|file| is_abandoned(file, age)) else { continue };
        if is_dry || std::fs::remove_file(&path).is_ok() {
            left.push(path);
        }
        drop(file);
    }
    left.sort();
    left
}

/// Removes leftovers as the next writer of `target` does.
pub(crate) fn remove_abandoned(target: &Path) {
    remove_leftovers(target, MIN_UNLOCKED_AGE, false);
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn files_of_writers_that_live_and_files_that_are_not_ours_stay() -> Outcome {
        let folder = tempfile::tempdir()?;
        let target = folder.path().join("x.h5");
        let aged = |name: &str| -> std::io::Result<File> {
            let file = File::create(folder.path().join(name))?;
            file.set_modified(SystemTime::now() - Duration::from_secs(60))?;
            Ok(file)
        };
        let hex = "0123456789abcdef0123456789abcdef";
        let alive = aged(&format!(".x.h5.{}.part", hex.replace('0', "f")))?;
        alive.lock()?;
        for name in [".x.h5.part".to_owned(), format!(".y.h5.{hex}.part"), format!("x.h5.{hex}.part"), format!(".x.h5.{}.part", &hex[1..])] {
            aged(&name)?;
        }
        let dead = folder.path().join(format!(".x.h5.{hex}.part"));
        aged(&format!(".x.h5.{hex}.part"))?;
        let young = folder.path().join(format!(".x.h5.{}.part", hex.replace('1', "e")));
        std::fs::write(&young, b"")?;
        let reaches = locks_reach_all(&alive);
        assert_eq!(remove_leftovers(&target, MIN_UNLOCKED_AGE, true), if reaches { vec![dead.clone()] } else { vec![] });
        assert!(dead.exists());
        assert_eq!(remove_leftovers(&target, Duration::from_secs(30), false), [dead]);
        assert_eq!(remove_leftovers(&target, Duration::ZERO, false), [young]);
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 5);
        Ok(())
    }
}
