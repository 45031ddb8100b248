//! Creating a file in place of what was there.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::io::Errno;

use super::open::is_hdf5;
use super::state::{Container, Options, register};
use crate::catalog::is_container;
use crate::error::{Result, error, os_error_message};
use crate::files::Folder;
use crate::files::archive::Archive;
use crate::files::names::sibling_path;
use crate::files::writer_lock::{check_writable, remove_leftovers, remove_leftovers_next_to, write_lock};
use crate::lock;
use crate::model::{Object, Tree};

/// How to create a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Create {
    /// There must be nothing of this name.
    New,
    /// What is there is replaced.
    Truncate,
}

/// netCDF-C asks HDF5 to open a folder only where an extended attribute has a name that ends in `.daos`.
fn mark(folder: &Path) {
    // A file system without extended attributes has no mark.
    let _ = rustix::fs::setxattr(folder, "user.hyperslab.daos", b"Hyperslab", rustix::fs::XattrFlags::empty());
}

fn generation_of(path: &Path) -> u64 {
    let generation = |name: &str| name.strip_prefix("links.")?.strip_suffix(".arrow")?.parse().ok();
    let known = match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().filter_map(|entry| entry.file_name().to_str().and_then(generation)).max(),
        Err(_) => Archive::open(path).ok().and_then(|archive| archive.names().filter_map(generation).max()),
    };
    known.unwrap_or(1)
}

impl Container {
    /// What is at a path makes way for a new file, or is refused; the generation of a container that was there.
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
                return Err(error!("{shown} is open in this program; close it before it is created anew"));
            }
            open.writable.store(false, Ordering::Relaxed);
            drop(lock(&open.lock).take());
        }
        if is_container(path) {
            return Ok(generation_of(path));
        }
        if path.is_dir() {
            return match std::fs::read_dir(path)?.next() {
                Some(_) => Err(error!("{shown} is a folder that holds other files; it is not replaced: remove it, or choose another name")),
                None => Ok(0),
            };
        }
        let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        if bytes > 0 && !is_hdf5(path) && !Archive::is_claimed(path) {
            return Err(error!("{shown} is a file, and no HDF5 file; it is not replaced: remove it, or choose another name"));
        }
        Ok(0)
    }

    /// Creates a file; readers see it at once, and what it held before until the first publishing.
    pub fn create(path: &Path, how: Create, root: Object, creation: Vec<u8>, options: Options) -> Result<Arc<Self>> {
        let shown = path.display();
        let cannot = |error: std::io::Error| error!("cannot create {shown}: {}", os_error_message(&error));
        let mut generation = Self::give_way(path, how)?;
        let (was_file, was_folder) = (path.is_file(), path.is_dir());
        if was_file && !options.one_file {
            std::fs::remove_file(path).map_err(|error| error!("cannot replace {shown}: {}", os_error_message(&error)))?;
        }
        if options.one_file && !was_file && !was_folder {
            // Nobody takes the name for a folder meanwhile, and there is something to lock.
            File::create_new(path).map_err(cannot)?;
        } else if !options.one_file && !was_folder {
            std::fs::create_dir(path).map_err(cannot)?;
        }
        if (options.one_file && was_folder) || (!options.one_file && was_file) {
            generation = 0;
        }
        let real = path.canonicalize()?;
        // What is there stays until the first publishing, which must not be the first to find out.
        check_writable(&real).map_err(cannot)?;
        let held = write_lock(&real)?;
        let folder = if options.one_file {
            if held.is_some() {
                remove_leftovers_next_to(&real);
            }
            let work = sibling_path(&real, "open");
            std::fs::create_dir(&work).map_err(cannot)?;
            Folder::plain(work)
        } else {
            mark(&real);
            if held.is_some() {
                remove_leftovers(&real);
            }
            Folder::plain(real.clone())
        };
        let container = Self::assemble(real.clone(), folder, options.one_file, Tree::new(creation, root), generation, true, options, held);
        container.changed.store(true, Ordering::Relaxed);
        if generation == 0 {
            container.publish()?;
        }
        register(&container);
        Ok(container)
    }
}
