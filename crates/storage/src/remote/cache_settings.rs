//! Settings of what is kept on disk: the folder, its size, and which chunk index is used. They are storage options of their own, or
//! environment variables.

use std::path::PathBuf;

use hyperslab_array::{Error, Result};

use super::address::is_address;
use super::options::StorageOptions;

/// The options, which no store knows.
pub(super) const OPTIONS: [&str; 3] = ["cache_storage", "cache_bytes", "chunk_index"];
const FOLDER_VARIABLE: &str = "HYPERSLAB_CACHE_STORAGE";
const BYTES_VARIABLE: &str = "HYPERSLAB_CACHE_BYTES";
/// Most bytes of blocks on disk unless the settings say otherwise.
const DEFAULT_BYTES: u64 = 1 << 30;
/// Fewer would not hold what one read fetches.
const MIN_BYTES: u64 = 1 << 20;

/// Which chunk index is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChunkIndexChoice {
    /// The one in the cache folder, if there is one.
    Cached,
    /// None.
    Never,
    /// This file, or the one in this folder.
    At(PathBuf),
    /// The one next to the object, if there is one.
    Beside,
    /// The one at this address.
    Object(String),
}

/// Settings of what is kept on disk.
#[derive(Debug, Clone)]
pub(super) struct CacheSettings {
    /// The folder of blocks, if blocks are kept on disk, and the most bytes that they take.
    pub blocks: Option<(PathBuf, u64)>,
    /// The folder of chunk indexes that no other place is named for.
    pub indexes: Option<PathBuf>,
    pub chunk_index: ChunkIndexChoice,
}

impl CacheSettings {
    /// # Errors
    /// `InvalidInput` for a size that is not a number of bytes, or too small.
    pub fn of(options: &StorageOptions) -> Result<Self> {
        let setting = |name: &str, variable: &str| {
            let given = options.get(name).map(str::to_owned).or_else(|| std::env::var(variable).ok());
            given.filter(|value| !value.is_empty())
        };
        let folder = setting("cache_storage", FOLDER_VARIABLE).map(PathBuf::from);
        let max_bytes = match setting("cache_bytes", BYTES_VARIABLE) {
            None => DEFAULT_BYTES,
            Some(given) => given.parse().ok().filter(|bytes| *bytes >= MIN_BYTES).ok_or_else(|| {
                Error::invalid_input(format!("cache_bytes is '{given}': give a whole number of bytes, at least {MIN_BYTES}, such as 1073741824"))
            })?,
        };
        let chunk_index = match options.get("chunk_index") {
            None | Some("" | "auto" | "true") => ChunkIndexChoice::Cached,
            Some("none" | "false") => ChunkIndexChoice::Never,
            Some("beside") => ChunkIndexChoice::Beside,
            Some(address) if is_address(address) => ChunkIndexChoice::Object(address.to_owned()),
            Some(path) => ChunkIndexChoice::At(PathBuf::from(path)),
        };
        let indexes = folder.clone().or_else(default_folder).map(|folder| folder.join("chunks"));
        Ok(Self { blocks: folder.map(|folder| (folder, max_bytes)), indexes, chunk_index })
    }
}

/// The folder of this user's caches.
fn default_folder() -> Option<PathBuf> {
    let folder = |variable: &str| std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    let caches = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")))?;
    Some(caches.join("hyperslab"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(options: &[(&str, &str)]) -> Result<CacheSettings> {
        CacheSettings::of(&StorageOptions::new(options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))))
    }

    #[test]
    fn sizes_are_bytes_and_a_folder_switches_blocks_on() -> Result<()> {
        let on = settings(&[("cache_storage", "/x"), ("cache_bytes", "2097152"), ("CHUNK_INDEX", "/y/a.chunks")])?;
        assert_eq!((on.blocks, on.indexes), (Some(("/x".into(), 2 << 20)), Some("/x/chunks".into())));
        assert_eq!(on.chunk_index, ChunkIndexChoice::At("/y/a.chunks".into()));
        assert_eq!(settings(&[("chunk_index", "beside")])?.chunk_index, ChunkIndexChoice::Beside);
        assert_eq!(settings(&[("chunk_index", "s3://b/k.chunks")])?.chunk_index, ChunkIndexChoice::Object("s3://b/k.chunks".into()));
        assert_eq!(settings(&[("chunk_index", "false")])?.chunk_index, ChunkIndexChoice::Never);
        assert_eq!(settings(&[("chunk_index", "auto")])?.chunk_index, ChunkIndexChoice::Cached);
        for wrong in ["1 GB", "-1", "1000", "1.5e9"] {
            assert!(settings(&[("cache_storage", "/x"), ("cache_bytes", wrong)]).is_err(), "{wrong}");
        }
        Ok(())
    }
}
