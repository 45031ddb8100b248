//! Opening and deleting containers.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::io::Errno;

use super::state::{Container, Options, Parts, register};
use crate::catalog::{self, CATALOG, Loaded, is_container};
use crate::elements::datatype::DecodeDatatype;
use crate::error::{Result, error, os_error_message};
use crate::files::Folder;
use crate::files::archive::Archive;
use crate::files::names::sibling_path;
use crate::files::reader_lock;
use crate::files::regular::open_named;
use crate::files::writer_lock::{check_writable, folders_next_to, remove_leftovers, remove_leftovers_next_to, write_lock};
#[cfg(feature = "plain")]
use crate::plain;

/// How often a catalog is read if a writer replaces it meanwhile.
const MAX_TRIES: u32 = 10;

pub(super) fn is_hdf5(path: &Path) -> bool {
    use std::io::Read;
    let mut start = [0; 8];
    open_named(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"\x89HDF\r\n\x1a\n"
}

/// The generation of a container; 1 if it is not known.
pub(super) fn generation_of(path: &Path) -> u64 {
    let generation = |name: &str| name.strip_prefix("links.")?.strip_suffix(".arrow")?.parse().ok();
    let known = match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().filter_map(|entry| entry.file_name().to_str().and_then(generation)).max(),
        Err(_) => Archive::open(path).ok().and_then(|archive| archive.names().filter_map(generation).max()),
    };
    known.unwrap_or(1)
}

/// What a file that cannot be opened is, if it is a known form of Arrow or Parquet files.
fn other_form(path: &Path) -> Option<&'static str> {
    #[cfg(feature = "plain")]
    return plain::other_form(path);
    #[cfg(not(feature = "plain"))]
    {
        let _ = path;
        None
    }
}

impl Container {
    /// Opens a container, or a plain Arrow or Parquet file for reading. A container that this process has open already is
    /// shared.
    ///
    /// # Errors
    /// If there is no such container, it is damaged, or it cannot be written but `writable` is asked for.
    pub fn open(path: &Path, writable: bool, options: Options, decode: DecodeDatatype<'_>) -> Result<Arc<Self>> {
        Self::open_as(path, if writable { Opening::Writing } else { Opening::Reading }, options, decode)
    }

    /// As [`Container::open`].
    pub(super) fn open_as(path: &Path, opening: Opening<'_>, options: Options, decode: DecodeDatatype<'_>) -> Result<Arc<Self>> {
        let writable = opening != Opening::Reading;
        let shown = path.display();
        let real = path.canonicalize().map_err(|error| error!("cannot open {shown}: {}", os_error_message(&error)).with_source(error))?;
        if let Some(container) = Self::opened_again(&real, path, writable)? {
            return Ok(container);
        }
        let one_file = Archive::is_claimed(&real);
        #[cfg(feature = "plain")]
        if !one_file && plain::is_plain(&real) {
            return Self::open_plain(&real, path, writable, options, decode);
        }
        check_form(&real, path, one_file)?;
        let held = if opening == Opening::Writing { write_lock(&real)? } else { None };
        if writable && (std::fs::metadata(&real)?.permissions().readonly() || check_writable(&real).is_err()) {
            return Err(error!(
                "{shown} cannot be written; open it for reading: errno = {}, error message = 'Permission denied'",
                Errno::ACCESS.raw_os_error()
            ));
        }
        let WorkingFolder { folder, flushed } = WorkingFolder::of(&real, path, one_file, opening, held.is_some())?;
        let reads_folder = !one_file && !writable;
        let mut loaded = Self::load_held(&folder, decode, reads_folder);
        // A writer may replace the catalog while it is read.
        for _ in 1..MAX_TRIES {
            if loaded.is_ok() || !reads_folder {
                break;
            }
            loaded = Self::load_held(&folder, decode, reads_folder);
        }
        if loaded.is_err() && one_file && opening == Opening::Writing {
            drop(std::fs::remove_dir(&*folder));
        }
        let (Loaded { tree, generation, .. }, reading) = loaded?;
        let held = held.or(reading);
        let owns_folder = opening == Opening::Writing;
        let container = Self::assemble(Parts { path: real.clone(), folder, one_file, owns_folder, tree, generation, writable, options, lock: held });
        container.changed.store(flushed.is_some(), Ordering::Relaxed);
        container.flushed.store(flushed.is_some(), Ordering::Relaxed);
        register(&container);
        Ok(container)
    }

    /// The container, if it is open in this program.
    fn opened_again(real: &Path, shown: &Path, writable: bool) -> Result<Option<Arc<Self>>> {
        // A container that is open only through other handles, such as a reference that was never released, keeps its state
        // and is opened again.
        let open = Self::already_open(real).filter(|open| open.writable.load(Ordering::Relaxed) || open.file_handles.load(Ordering::Relaxed) > 0);
        if let Some(container) = open {
            if writable && !container.writable.load(Ordering::Relaxed) {
                return Err(error!("{} is open for reading in this program; close it before opening it for writing", shown.display()));
            }
            return Ok(Some(container));
        }
        Ok(None)
    }

    /// Opens a plain Arrow or Parquet file as a container.
    #[cfg(feature = "plain")]
    fn open_plain(real: &Path, shown: &Path, writable: bool, options: Options, decode: DecodeDatatype<'_>) -> Result<Arc<Self>> {
        if writable {
            return Err(error!(
                "{} is a plain Arrow or Parquet file, which can only be read; copy it into a container with h5repack to change it",
                shown.display()
            ));
        }
        let container = Self::assemble(Parts {
            path: real.to_path_buf(),
            folder: Folder::plain(real.parent().unwrap_or(real)),
            one_file: false,
            owns_folder: false,
            tree: plain::open(real, decode)?,
            generation: 0,
            writable: false,
            options,
            lock: None,
        });
        register(&container);
        Ok(container)
    }
}

/// How a container is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening<'a> {
    Reading,
    /// Takes the writer lock.
    Writing,
    /// For writing by a rank that is not the leader, which holds the lock and writes into this folder.
    Following(&'a Path),
}

/// Checks that `real` is a container: a folder with a catalog, or one file.
fn check_form(real: &Path, shown: &Path, one_file: bool) -> Result<()> {
    let shown = shown.display();
    if !real.is_dir() && !one_file {
        return Err(match (is_hdf5(real), other_form(real)) {
            (_, Some(form)) => error!("{shown} is {form}"),
            (true, _) => error!("{shown} is a native HDF5 file; unset HDF5_VOL_CONNECTOR to open it, or copy it into a container with h5repack"),
            (false, _) => error!("{shown} is not a container of Arrow files, nor a plain Arrow or Parquet file"),
        });
    }
    if real.is_dir() && !real.join(CATALOG).exists() {
        return Err(error!("{shown} is a folder without {CATALOG}: not a container, or one whose creation was interrupted"));
    }
    Ok(())
}

/// The folder of a container that is open: its own, or for one file that is written a new one next to it.
struct WorkingFolder {
    folder: Folder,
    /// A later state than the file's that ranks had flushed into it before they were killed.
    flushed: Option<PathBuf>,
}

impl WorkingFolder {
    /// Removes leftovers if this program holds the writer lock.
    fn of(real: &Path, shown: &Path, one_file: bool, opening: Opening<'_>, is_locked: bool) -> Result<Self> {
        let mut flushed = None;
        let folder = match (one_file, opening) {
            (false, _) => {
                if is_locked {
                    remove_leftovers(real);
                }
                Folder::plain(real.to_path_buf())
            }
            (true, Opening::Reading) => Folder::of_one_file(real.to_path_buf(), Some(Archive::open(real)?)),
            (true, Opening::Following(folder)) => Folder::of_one_file(folder.to_owned(), Some(Archive::open(real)?)),
            (true, Opening::Writing) => {
                let archive = Archive::open(real)?;
                if is_locked {
                    flushed = flushed_next_to(real);
                    remove_leftovers_next_to(real, flushed.as_deref());
                }
                let work = match &flushed {
                    Some(folder) => folder.clone(),
                    None => new_folder_next_to(real, shown)?,
                };
                Folder::of_one_file(work, Some(archive))
            }
        };
        Ok(Self { folder, flushed })
    }
}

/// The folder next to one file into which ranks have flushed a later state than the file's before they were killed.
fn flushed_next_to(real: &Path) -> Option<PathBuf> {
    let of_file = generation_of(real);
    folders_next_to(real).into_iter().find(|folder| folder.join(CATALOG).exists() && generation_of(folder) > of_file)
}

/// Makes the folder in which changes of one file lie until they are published.
fn new_folder_next_to(real: &Path, shown: &Path) -> Result<PathBuf> {
    let work = sibling_path(real, "open");
    std::fs::create_dir(&work)
        .map_err(|error| error!("{} cannot be written: cannot create a folder next to it: {}", shown.display(), os_error_message(&error)).with_source(error))?;
    Ok(work)
}

impl Container {
    /// Loads the catalog. With `holds`, its files stay until the second result is dropped.
    fn load_held(folder: &Folder, decode: DecodeDatatype<'_>, holds: bool) -> Result<(Loaded, Option<File>)> {
        let loaded = catalog::load(folder, decode)?;
        let held = if holds { reader_lock::hold(&folder.join(&loaded.links))? } else { None };
        folder.open_packs(&loaded.packs)?;
        Ok((loaded, held))
    }
}

/// Deletes a container.
///
/// # Errors
/// If the path is not a container, or it is open in this process.
pub fn delete(path: &Path) -> Result<()> {
    let shown = path.display();
    let cannot = |error: std::io::Error| error!("cannot delete {shown}: {}", os_error_message(&error)).with_source(error);
    let real = path.canonicalize().map_err(cannot)?;
    if Container::already_open(&real).is_some() {
        return Err(error!("{shown} is open in this program; close it before deleting it"));
    }
    if !is_container(&real) {
        return Err(error!("{shown} is not a container of Arrow files and was not deleted"));
    }
    if real.is_dir() { std::fs::remove_dir_all(&real) } else { std::fs::remove_file(&real) }.map_err(cannot)
}

/// Whether a path is a container, or a plain Arrow or Parquet file.
pub fn is_accessible(path: &Path) -> bool {
    #[cfg(feature = "plain")]
    if plain::is_plain(path) {
        return true;
    }
    is_container(path)
}
