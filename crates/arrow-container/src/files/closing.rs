//! Closes files that were replaced, without waiting: if nothing else has such a file open, the system frees its pages and blocks when
//! it is closed, and first waits until the disk has what it is writing of them.

use std::fs::File;
use std::path::Path;

use super::regular::open_part;

/// Smaller files are closed at once: a thread costs more.
const MIN_BYTES: u64 = 256 << 10;

/// Closes files and what else holds them, in a thread of its own.
pub(crate) fn close_later(files: impl Send + 'static) {
    // If no thread can be started, they are closed here.
    drop(std::thread::Builder::new().name("hyperslab-close".to_owned()).spawn(move || drop(files)));
}

/// Removes a file's name. Returns the file if it is large, so that the caller decides when its space is freed.
pub(crate) fn unlink(path: &Path) -> Option<File> {
    let file = open_part(path).ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.len() >= MIN_BYTES));
    // A file that cannot be removed stays; a later publishing tries again.
    drop(std::fs::remove_file(path));
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_gone_at_once_and_large_files_stay_open() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (small, large) = (folder.path().join("small"), folder.path().join("large"));
        std::fs::write(&small, b"x")?;
        std::fs::write(&large, vec![1; MIN_BYTES as usize])?;
        assert!(unlink(&small).is_none() && unlink(&folder.path().join("none")).is_none());
        let file = unlink(&large);
        assert!(file.as_ref().is_some_and(|file| file.metadata().is_ok_and(|metadata| metadata.len() == MIN_BYTES)));
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
        let (closed, waits) = std::sync::mpsc::channel::<()>();
        close_later((file, closed));
        assert!(waits.recv().is_err(), "the thread drops what it got");
        Ok(())
    }
}
