//! Replacing files: the file that a path leads to, what a new file takes over from the one that it replaces, and renaming
//! without replacing.

use std::fs::{File, Metadata, OpenOptions};
use std::io::ErrorKind::{AlreadyExists, NotFound};
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hyperslab_array::{Error, Result};
use rustix::fs::{Access, AtFlags, CWD, RenameFlags, XattrFlags};
use rustix::io::Errno;

/// Most symbolic links followed for one path, as in the kernel.
const MAX_LINKS: usize = 40;
/// Extended attributes that hold access control lists: POSIX and NFS version 4.
const ACCESS_LISTS: [&str; 2] = ["system.posix_acl_access", "system.nfs4_acl"];
const MAX_ACCESS_LIST_BYTES: usize = 64 << 10;

/// The file that `path` leads to after following symbolic links; it need not exist. `path` itself if it is not a link.
/// Links that the kernel does not follow for this process are an error.
pub fn real_path(path: &Path) -> Result<PathBuf> {
    let failed = |error: std::io::Error| Error::from(error).in_file(path.display().to_string());
    let mut place = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        if !place.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return Ok(place);
        }
        match place.metadata() {
            Ok(_) => return place.canonicalize().map_err(failed),
            Err(error) if error.kind() != NotFound => return Err(failed(error)),
            // A dangling link: its target is the file to create.
            Err(_) => place = crate::folder_of(&place).join(place.read_link().map_err(failed)?),
        }
    }
    Err(failed(Errno::LOOP.into()))
}

/// Checks that a file may be put at `target`: nothing is there, or a regular file that this process may write.
pub fn check_replaceable(target: &Path) -> Result<()> {
    InheritedMetadata::of(target).map(drop)
}

/// What a path is if it is not a regular file; `None` for a regular file.
pub(crate) fn other_kind(metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    match () {
        () if kind.is_dir() => Some("a folder"),
        () if kind.is_fifo() => Some("a named pipe"),
        () if kind.is_socket() => Some("a socket"),
        () if kind.is_char_device() || kind.is_block_device() => Some("a device"),
        () => None,
    }
}

/// What a new file takes over from the one that it replaces: permissions, owner, group and access control list.
#[derive(Debug)]
pub(crate) struct InheritedMetadata {
    mode: u32,
    owner: u32,
    group: u32,
    access_lists: Vec<(&'static str, Vec<u8>)>,
}

impl InheritedMetadata {
    /// Reads it from the file at `target`; `None` if there is none or it is a symbolic link. A file that is not regular, or
    /// that this process may not write, must not be replaced: an error.
    pub fn of(target: &Path) -> Result<Option<Self>> {
        let failed = |error: std::io::Error| Error::from(error).in_file(target.display().to_string());
        let found = match target.symlink_metadata() {
            Err(error) if error.kind() == NotFound => return Ok(None),
            found => found.map_err(failed)?,
        };
        if let Some(kind) = other_kind(&found) {
            return Err(Error::invalid_input(format!("this is {kind}, not a file")).in_file(target.display().to_string()));
        }
        if found.is_symlink() {
            return Ok(None);
        }
        // Other errors leave the answer open.
        if let Err(error @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) = rustix::fs::accessat(CWD, target, Access::WRITE_OK, AtFlags::EACCESS) {
            return Err(Error::io(error.into(), "cannot replace").in_file(target.display().to_string()));
        }
        let access_lists = ACCESS_LISTS.into_iter().filter_map(|name| {
            // Few files have one: query first, so that the common case allocates nothing.
            rustix::fs::getxattr_query(target, name).ok()?;
            let mut list = vec![0; MAX_ACCESS_LIST_BYTES];
            let length = rustix::fs::getxattr(target, name, &mut list).ok()?;
            list.truncate(length);
            Some((name, list))
        });
        Ok(Some(Self { mode: found.mode() & 0o777, owner: found.uid(), group: found.gid(), access_lists: access_lists.collect() }))
    }

    /// Applies it to `file`, as far as this process may. The file never gets more permissions than the replaced one had.
    pub fn give(&self, file: &File) -> std::io::Result<()> {
        let before = file.metadata()?;
        if before.gid() != self.group {
            let _ = std::os::unix::fs::fchown(file, None, Some(self.group));
        }
        if before.uid() != self.owner {
            let _ = std::os::unix::fs::fchown(file, Some(self.owner), None);
        }
        let mut is_complete = file.metadata()?.gid() == self.group;
        for (name, list) in &self.access_lists {
            is_complete &= rustix::fs::fsetxattr(file, *name, list, XattrFlags::empty()).is_ok();
        }
        if self.access_lists.is_empty() {
            // Remove the list that the folder gives to new files.
            let _ = rustix::fs::fremovexattr(file, ACCESS_LISTS[0]);
        }
        // If the group or a list could not be set, the group permissions would apply to other people: grant only what
        // everyone has.
        let mode = if is_complete { self.mode } else { self.mode & !0o070 | (self.mode >> 3 & self.mode & 0o7) << 3 };
        if file.metadata()?.mode() & 0o777 != mode {
            // This fails on file systems without permissions; the file was created for its owner only.
            let _ = file.set_permissions(std::fs::Permissions::from_mode(mode));
        }
        Ok(())
    }
}

/// Renames `aside` to `target`; `AlreadyExists` if that name is taken. Atomic if the file system can rename without
/// replacing or has hard links. Otherwise an empty file reserves the name first, which readers may see for a moment.
pub(crate) fn rename_new(aside: &Path, target: &Path) -> std::io::Result<()> {
    match rustix::fs::renameat_with(CWD, aside, CWD, target, RenameFlags::NOREPLACE) {
        // The file system, the kernel or a sandbox does not support it.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM) => {}
        renamed => return renamed.map_err(Into::into),
    }
    match std::fs::hard_link(aside, target) {
        // If a server's answer was lost, the second attempt finds the link that the first one made.
        Err(error) if error.kind() == AlreadyExists && !is_same_file(aside, target) => return Err(error),
        Err(error) if error.kind() != AlreadyExists => {}
        _ => {
            let _ = std::fs::remove_file(aside);
            return Ok(());
        }
    }
    OpenOptions::new().write(true).create_new(true).open(target)?;
    std::fs::rename(aside, target).inspect_err(|_| {
        if target.symlink_metadata().is_ok_and(|found| found.len() == 0) {
            let _ = std::fs::remove_file(target);
        }
    })
}

/// Creates a small file with its whole content unless it exists; returns whether it did. Does not sync it to disk.
pub fn create_whole(path: &Path, content: &[u8]) -> Result<bool> {
    create_with_mode(path, content, 0o666)
}

/// As [`create_whole`], for a file that only its owner may read.
pub fn create_private(path: &Path, content: &[u8]) -> Result<bool> {
    create_with_mode(path, content, 0o600)
}

fn create_with_mode(path: &Path, content: &[u8], mode: u32) -> Result<bool> {
    let failed = |error: std::io::Error| Error::from(error).in_file(path.display().to_string());
    let aside = path.with_file_name(format!(".{}.part", crate::unique_name()));
    let write = || OpenOptions::new().write(true).create_new(true).mode(mode).open(&aside)?.write_all(content);
    let created = write().and_then(|()| rename_new(&aside, path));
    if created.is_err() {
        let _ = std::fs::remove_file(&aside);
    }
    match created {
        Err(error) if error.kind() == AlreadyExists => Ok(false),
        created => created.map(|()| true).map_err(failed),
    }
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    let id = |path: &Path| path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()));
    id(a).is_some_and(|first| id(b) == Some(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn links_are_followed_to_files_that_need_not_exist() -> Outcome {
        let folder = tempfile::tempdir()?;
        let place = |name: &str| folder.path().join(name);
        std::fs::create_dir(place("far"))?;
        for (link, target) in [("one", "far/x"), ("two", "one"), ("far/back", "../one"), ("round", "round")] {
            std::os::unix::fs::symlink(target, place(link))?;
        }
        assert_eq!(real_path(&place("x"))?, place("x"));
        assert_eq!(real_path(&place("two"))?, place("far/x"));
        assert_eq!(real_path(&place("far/back"))?, place("far/../far/x"));
        std::fs::write(place("far/x"), b"")?;
        for link in ["one", "two", "far/back"] {
            assert_eq!(real_path(&place(link))?, place("far/x").canonicalize()?);
        }
        assert!(real_path(&place("round")).is_err());
        Ok(())
    }

    #[test]
    fn a_file_gets_a_name_that_nothing_has() -> Outcome {
        let folder = tempfile::tempdir()?;
        let (aside, target, link) = (folder.path().join("a"), folder.path().join("b"), folder.path().join("c"));
        std::fs::write(&aside, b"new")?;
        rename_new(&aside, &target)?;
        assert!(!aside.exists() && std::fs::read(&target)? == b"new");
        std::fs::write(&aside, b"newer")?;
        std::os::unix::fs::symlink("nothing", &link)?;
        for taken in [&target, &link] {
            assert!(rename_new(&aside, taken).is_err_and(|error| error.kind() == AlreadyExists));
        }
        assert!(aside.exists() && std::fs::read(&target)? == b"new");
        Ok(())
    }
}
