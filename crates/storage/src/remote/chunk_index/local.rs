//! Chunk indexes of local files: they hold restart points only, because metadata of local files needs no request.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab_array::{Error, ErrorKind, Result};

use super::super::cache_settings::{CacheSettings, ChunkIndexChoice};
use super::super::identity::{ObjectVersion, Place};
use super::super::options::StorageOptions;
use super::super::recorder::{ChunkIndexPlace, SavedChunkIndex, write_local};
use super::super::version::Version;
use super::choice::{choose, name_in_folder};
use super::format::{ChunkIndex, Description, write};
use crate::notices::add_of_cache;
use crate::restart_points::{RestartPoints, RestartPointsBuilder};
use crate::{is_address, open_regular};

/// Where the chunk index of a local file is, and which version of the file it describes.
#[derive(Debug, Clone)]
pub struct LocalIndex {
    /// The path without symbolic links.
    path: PathBuf,
    version: Version,
    object: ObjectVersion,
}

impl LocalIndex {
    /// The index of the file at `path`, with this length and modification time in nanoseconds since 1970. `None` if the path is not UTF-8, or
    /// the file is gone.
    pub fn of(path: &Path, bytes: u64, modified_nanoseconds: u64) -> Option<Self> {
        let path = std::fs::canonicalize(path).ok()?;
        let version = Version { etag: Some(format!("\"local-{modified_nanoseconds}\"")), modified: None };
        let object = ObjectVersion::of(&Place::of_local(path.to_str()?), &version, bytes)?;
        Some(Self { path, version, object })
    }

    /// Whether the options name an index of their own, so that it is an error if there is none.
    pub fn is_named(options: &StorageOptions) -> bool {
        options.get("chunk_index").is_some() && options != &options.of_others()
    }

    fn beside(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".chunks");
        name.into()
    }

    /// Writes an index of the points. It appears when it is complete, and replaces one that is there.
    ///
    /// # Errors
    /// `InvalidInput` if there is no cache folder for it; `Unsupported` if it shall go to an address; `Io`.
    pub fn save(&self, points: &RestartPointsBuilder, place: &ChunkIndexPlace, options: &StorageOptions) -> Result<SavedChunkIndex> {
        let name = name_in_folder(&self.object.place);
        let path = match place {
            ChunkIndexPlace::CacheFolder => None,
            ChunkIndexPlace::Beside => Some(self.beside()),
            ChunkIndexPlace::At(out) if out.to_str().is_some_and(is_address) => {
                return Err(Error::unsupported("a chunk index of a local file at an address: name a local file for it"));
            }
            ChunkIndexPlace::At(out) if out.is_dir() => Some(name.path_in(out)),
            ChunkIndexPlace::At(out) => Some(out.clone()),
        };
        let description = Description { version: self.object.clone(), modified: None, has_values: false, points: None };
        let mut outcome = Ok(());
        let fill = |file: &mut File| {
            let mut out = BufWriter::with_capacity(1 << 20, &mut *file);
            let mut nothing = |_, _| Err(Error::internal("an index of a local file has no extents"));
            outcome = write(&mut out, &description, &[], &mut nothing, Some(points));
            outcome.clone().map_err(|error| std::io::Error::other(error.to_string()))?;
            out.flush()?;
            drop(out);
            file.sync_all()
        };
        let saved = write_local(path, &name, options, 0, fill);
        outcome?;
        saved
    }

    /// The points of the index that the options choose, if it is of this version of the file. One that is out of date is not used, with a notice; in
    /// the cache folder it is removed. An index that the options name does not apply to a file to which another one leads (`is_linked`).
    ///
    /// # Errors
    /// If the options name a file: what is wrong with it.
    pub fn find(&self, options: &StorageOptions, is_linked: bool) -> Result<Option<Arc<RestartPoints>>> {
        let settings = CacheSettings::of(&if is_linked { options.of_others() } else { options.clone() })?;
        let (index, own, path) = match &settings.chunk_index {
            ChunkIndexChoice::Never => return Ok(None),
            ChunkIndexChoice::Object(address) => {
                return Err(Error::unsupported(format!("the chunk index {address} of a local file: name a local file")));
            }
            ChunkIndexChoice::Beside => match open(&self.beside()) {
                Ok(index) => (index, None, self.beside()),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) => {
                    add_of_cache(format!("the chunk index {} is not used: {}", self.beside().display(), error.message()));
                    return Ok(None);
                }
            },
            ChunkIndexChoice::At(path) if !path.is_dir() => (open(path)?, None, path.clone()),
            ChunkIndexChoice::At(_) | ChunkIndexChoice::Cached => match choose(&settings, &self.object.place)? {
                Some(chosen) => {
                    let path = chosen.own.clone().unwrap_or_default();
                    (chosen.index, chosen.own, path)
                }
                None => return Ok(None),
            },
        };
        let shown = path.display();
        let is_of_this = match own {
            Some(_) => index.description.version == self.object,
            // The file may have been moved together with its index.
            None => index.is_of(self.object.place.address(), &self.version, self.object.bytes),
        };
        if !is_of_this {
            let what = if own.as_ref().is_some_and(|own| std::fs::remove_file(own).is_ok()) { "was removed" } else { "is not used" };
            add_of_cache(format!("the chunk index {shown} {what}: {} has changed since it was made, or it is of another file", self.path.display()));
            return Ok(None);
        }
        Ok(index.restart_points().cloned())
    }
}

fn open(path: &Path) -> Result<ChunkIndex> {
    let shown = path.display().to_string();
    let read = || ChunkIndex::read(open_regular(path)?, shown.clone());
    read().map_err(|error| error.in_file(&shown))
}
