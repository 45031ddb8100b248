//! Which chunk index a file is opened with.

use std::path::{Path, PathBuf};

use hyperslab_array::{Error, Result};

use super::super::cache_settings::{CacheSettings, ChunkIndexChoice};
use super::super::identity::Place;
use super::super::private_folder::open_private;
use super::format::ChunkIndex;
use crate::notices::add_of_cache;
use crate::{EntryName, open_regular};

/// A chunk index that was found.
pub(in super::super) struct Chosen {
    pub index: ChunkIndex,
    /// The file, if it is in the cache folder: it goes when it turns out to be out of date.
    pub own: Option<PathBuf>,
}

/// The name of the index of an object in a folder.
pub(in super::super) fn name_in_folder(place: &Place) -> EntryName {
    EntryName::of_ours(&format!("{}.chunks", &*place.name()))
}

/// The chunk index in a local file that the settings choose for an object.
///
/// # Errors
/// If a file is named: what is wrong with it. Nothing is wrong if the cache folder has none, or one that cannot be used.
pub(in super::super) fn choose(settings: &CacheSettings, place: &Place) -> Result<Option<Chosen>> {
    match (&settings.chunk_index, &settings.indexes) {
        (ChunkIndexChoice::Never | ChunkIndexChoice::Beside | ChunkIndexChoice::Object(_), _) | (ChunkIndexChoice::Cached, None) => Ok(None),
        (ChunkIndexChoice::Cached, Some(folder)) => Ok(cached(folder, place)),
        (ChunkIndexChoice::At(path), _) => {
            let is_folder = path.is_dir();
            let path = if is_folder { name_in_folder(place).path_in(path) } else { path.clone() };
            match named(&path, place) {
                // A folder has indexes of some files.
                Err(error) if is_folder && error.kind() == hyperslab_array::ErrorKind::NotFound => Ok(None),
                named => named.map(|index| Some(Chosen { index, own: None })),
            }
        }
    }
}

fn named(path: &Path, place: &Place) -> Result<ChunkIndex> {
    let shown = path.display().to_string();
    let read = || {
        let index = ChunkIndex::read(open_regular(path)?, shown.clone())?;
        let other = &index.description.version.place;
        if other == place {
            return Ok(index);
        }
        Err(Error::invalid_input(format!("this chunk index is of {}, not of {}", other.address(), place.address())))
    };
    read().map_err(|error| error.in_file(&shown))
}

/// That of the cache folder. One that is damaged is removed.
fn cached(folder: &Path, place: &Place) -> Option<Chosen> {
    let path = name_in_folder(place).path_in(folder);
    let (file, _) = match open_private(&path) {
        Ok(opened) => opened,
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory | std::io::ErrorKind::PermissionDenied) => {
            return None;
        }
        Err(error) => {
            add_of_cache(format!("the chunk index {} is not used: {error}", path.display()));
            return None;
        }
    };
    match ChunkIndex::read(file, path.display().to_string()) {
        Ok(index) if index.description.version.place == *place => Some(Chosen { index, own: Some(path) }),
        Ok(_) => None,
        Err(error) => {
            add_of_cache(format!("the chunk index {} is not used: {}", path.display(), error.message()));
            let _ = std::fs::remove_file(&path);
            None
        }
    }
}
