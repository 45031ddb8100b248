//! Folders of files that only this user writes and reads.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::temporary_name::unique_name;
use crate::{EntryName, open_regular};

/// A folder that belongs to this user, and that others cannot write to.
#[derive(Debug, Clone)]
pub(super) struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// The folder at `path`, which is created for this user alone if there is none.
    ///
    /// # Errors
    /// If it cannot be created, belongs to another user, or others may write to it.
    pub fn at(path: &Path) -> std::io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        Self::existing(path)
    }

    /// The folder at `path`.
    ///
    /// # Errors
    /// As of [`PrivateFolder::at`]; `NotFound` if there is none.
    pub fn existing(path: &Path) -> std::io::Result<Self> {
        check_owner(&std::fs::metadata(path)?, "folder")?;
        Ok(Self(path.to_path_buf()))
    }

    /// A folder in it, which is created if there is none. A symbolic link is an error.
    pub fn folder(&self, name: &EntryName) -> std::io::Result<Self> {
        let path = name.path_in(&self.0);
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let found = path.symlink_metadata()?;
        if !found.is_dir() {
            return Err(std::io::Error::other("there is something else than a folder"));
        }
        check_owner(&found, "folder")?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file, which appears whole under its name or not at all, and replaces one of that name.
    pub fn write(&self, name: &EntryName, fill: impl FnOnce(&mut File) -> std::io::Result<()>) -> std::io::Result<()> {
        write_whole(&name.path_in(&self.0), 0o600, fill)
    }
}

/// Writes a file with this mode, which appears whole under its name or not at all, and replaces one of that name.
pub(super) fn write_whole(path: &Path, mode: u32, fill: impl FnOnce(&mut File) -> std::io::Result<()>) -> std::io::Result<()> {
    let aside = path.with_file_name(format!(".{}.part", unique_name()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&aside)?;
    let written = fill(&mut file).and_then(|()| file.flush()).and_then(|()| std::fs::rename(&aside, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&aside);
    }
    written
}

/// Opens a file of this user. A file of another user, a symbolic link, a pipe and a device are errors.
pub(super) fn open_private(path: &Path) -> std::io::Result<(File, Metadata)> {
    let file = open_regular(path)?;
    let metadata = file.metadata()?;
    check_owner(&metadata, "file")?;
    Ok((file, metadata))
}

/// An error unless this user alone can write to it.
fn check_owner(found: &Metadata, what: &str) -> std::io::Result<()> {
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(std::io::Error::other(format!("the {what} belongs to another user")));
    }
    if found.mode() & 0o022 != 0 {
        return Err(std::io::Error::other(format!("other users may write to the {what} (chmod go-w changes that)")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn folders_and_files_are_for_this_user_alone() -> Outcome {
        let outside = tempfile::tempdir()?;
        let root = outside.path().join("a/b");
        let folder = PrivateFolder::at(&root)?.folder(&EntryName::parse("inside")?)?;
        let name = EntryName::parse("x")?;
        folder.write(&name, |file| file.write_all(b"one"))?;
        folder.write(&name, |file| file.write_all(b"two"))?;
        assert_eq!(std::fs::read(folder.path().join("x"))?, b"two");
        assert_eq!(std::fs::metadata(folder.path().join("x"))?.mode() & 0o777, 0o600);
        for path in [root.as_path(), folder.path()] {
            assert_eq!(std::fs::metadata(path)?.mode() & 0o777, 0o700);
        }
        assert!(folder.write(&name, |_| Err(std::io::Error::other("full"))).is_err());
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 1, "nothing is left");
        std::os::unix::fs::symlink(folder.path(), root.join("link"))?;
        assert!(PrivateFolder::at(&root)?.folder(&EntryName::parse("link")?).is_err());
        std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o770))?;
        assert!(PrivateFolder::at(&root).is_err_and(|error| error.to_string().contains("other users may write")));
        std::fs::set_permissions(folder.path().join("x"), std::fs::Permissions::from_mode(0o666))?;
        assert!(open_private(&folder.path().join("x")).is_err());
        Ok(())
    }
}
