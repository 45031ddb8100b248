//! Creating containers.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::io::Errno;

use super::open::{generation_of, is_hdf5};
use super::state::{Container, Options, Parts, register};
use crate::catalog::is_container;
use crate::error::{Result, error, os_error_message};
use crate::files::Folder;
use crate::files::archive::Archive;
use crate::files::names::sibling_path;
use crate::files::writer_lock::{check_writable, remove_leftovers, remove_leftovers_next_to, write_lock};
use crate::lock;
use crate::model::{Object, Tree};

/// What to do if the path exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Create {
    /// Fail.
    New,
    /// Replace a container, an HDF5 file, an empty file or an empty folder; refuse anything else.
    Truncate,
}

/// Marks a folder for netCDF-C, which lets HDF5 open a folder only if it has an extended attribute whose name ends in `.daos`.
fn mark(folder: &Path) {
    // Best effort: the file system may not support extended attributes.
    let _ = rustix::fs::setxattr(folder, "user.hyperslab.daos", b"Hyperslab", rustix::fs::XattrFlags::empty());
}

impl Container {
    /// Checks that a new container may replace what is at `path`. Returns the generation of a container that is there.
    fn give_way(path: &Path, how: Create) -> Result<u64> {
        let shown = path.display();
        if std::fs::symlink_metadata(path).is_err() {
            return Ok(0);
        }
        if how == Create::New {
            return Err(error!("cannot create {shown}: errno = {}, error message = 'File exists'", Errno::EXIST.raw_os_error()));
        }
        if let Some(open) = path.canonicalize().ok().and_then(|real| Self::already_open(&real)) {
            if open.file_handles.load(Ordering::Relaxed) > 0 {
                return Err(error!("{shown} is open in this program; close it before creating it again"));
            }
            open.writable.store(false, Ordering::Relaxed);
            drop(lock(&open.lock).take());
        }
        if is_container(path) {
            return Ok(generation_of(path));
        }
        if path.is_dir() {
            return match std::fs::read_dir(path)?.next() {
                Some(_) => Err(error!("{shown} is a folder with other files and was not replaced; remove it, or choose another name")),
                None => Ok(0),
            };
        }
        let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        if bytes > 0 && !is_hdf5(path) && !Archive::is_claimed(path) {
            return Err(error!("{shown} is not an HDF5 file and was not replaced; remove it, or choose another name"));
        }
        Ok(0)
    }

    /// Creates a container. Readers see an empty container at once; if it replaces another one, they see the old state until
    /// the new one is first published.
    ///
    /// # Errors
    /// If the path may not be replaced or written, or another process has it open for writing.
    pub fn create(path: &Path, how: Create, root: Object, creation: Vec<u8>, options: Options) -> Result<Arc<Self>> {
        let shown = path.display();
        let cannot = |error: std::io::Error| error!("cannot create {shown}: {}", os_error_message(&error)).with_source(error);
        let mut generation = Self::give_way(path, how)?;
        let (was_file, was_folder) = (path.is_file(), path.is_dir());
        if was_file && !options.one_file {
            std::fs::remove_file(path).map_err(|error| error!("cannot replace {shown}: {}", os_error_message(&error)).with_source(error))?;
        }
        if options.one_file && !was_file && !was_folder {
            // Reserves the name, and gives the lock a file.
            File::create_new(path).map_err(cannot)?;
        } else if !options.one_file && !was_folder {
            std::fs::create_dir(path).map_err(cannot)?;
        }
        if (options.one_file && was_folder) || (!options.one_file && was_file) {
            generation = 0;
        }
        let real = path.canonicalize()?;
        // The old state stays until the first publishing, which is too late to find out that writing is not allowed.
        check_writable(&real).map_err(cannot)?;
        let held = write_lock(&real)?;
        let folder = if options.one_file {
            if held.is_some() {
                remove_leftovers_next_to(&real, None);
            }
            let work = sibling_path(&real, "open");
            std::fs::create_dir(&work).map_err(cannot)?;
            Folder::of_one_file(work, None)
        } else {
            mark(&real);
            if held.is_some() {
                remove_leftovers(&real);
            }
            Folder::plain(real.clone())
        };
        let container = Self::assemble(Parts {
            path: real.clone(),
            folder,
            one_file: options.one_file,
            owns_folder: true,
            tree: Tree::new(creation, root),
            generation,
            writable: true,
            options,
            lock: held,
        });
        container.changed.store(true, Ordering::Relaxed);
        if generation == 0 {
            // The file is empty, unless it is an HDF5 file.
            container.replaces_nothing.store(!was_file, Ordering::Relaxed);
            container.publish()?;
            container.replaces_nothing.store(!was_file, Ordering::Relaxed);
        }
        register(&container);
        Ok(container)
    }
}
