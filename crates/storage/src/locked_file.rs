//! A file with an advisory lock of this process.

use std::fs::File;
use std::ops::Deref;

/// A file that this process has locked. Dropping it releases the lock: closing the file would not, while a child that was forked meanwhile
/// has it open, too. A child leaves its parent's lock alone.
#[derive(Debug)]
pub struct LockedFile {
    file: File,
    process: u32,
}

impl LockedFile {
    /// A file that is locked now.
    pub fn new(file: File) -> Self {
        Self { file, process: std::process::id() }
    }
}

impl Deref for LockedFile {
    type Target = File;
    fn deref(&self) -> &File {
        &self.file
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            let _ = rustix::fs::flock(&self.file, rustix::fs::FlockOperation::Unlock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_although_the_file_is_open_elsewhere() -> std::io::Result<()> {
        let path = tempfile::NamedTempFile::new()?;
        let file = File::open(path.path())?;
        file.lock()?;
        let inherited = file.try_clone()?;
        drop(LockedFile::new(file));
        assert!(File::open(path.path())?.try_lock().is_ok(), "as in the parent of a forked child");
        let mut of_parent = LockedFile::new(inherited);
        of_parent.lock()?;
        of_parent.process += 1;
        let other = of_parent.try_clone()?;
        drop(of_parent);
        assert!(File::open(path.path())?.try_lock().is_err(), "as in the child");
        drop(other);
        Ok(())
    }
}
