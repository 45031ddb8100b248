//! Seals: show which user built an index. A seal is a keyed hash (SipHash-2-4, 128 bits) of an index's entry in the manifest
//! and of the stamp of its data file. The key is random, in a file that belongs to the user. Sidecars that come with data of
//! others have no seal of this user.

use std::hash::Hasher;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use hyperslab_array::{Error, Result};
use hyperslab_scan::pruner::Level;
use hyperslab_storage::{create_private, open_regular};
use serde::Serialize;
use siphasher::sip128::{Hasher128, SipHasher24};

use super::manifest::{IndexFileEntry, IndexedDataset};
use super::stamp::Stamp;
use crate::block::block_grid::BlockGrid;

/// Environment variable with the path of the key file: for users who share their indexes.
const VARIABLE: &str = "HYPERSLAB_INDEX_KEY";
const KEY_BYTES: usize = 16;

type Key = [u8; KEY_BYTES];

/// The seal of an index for a data file with this stamp: 32 hexadecimal digits.
pub(crate) fn seal(stamp: Stamp, dataset: &IndexedDataset) -> Result<String> {
    seal_with(key(), stamp, dataset)
}

/// Whether this user built the index for a data file with this stamp.
pub(crate) fn is_sealed(stamp: Stamp, dataset: &IndexedDataset) -> bool {
    dataset.seal.as_ref().is_some_and(|found| seal(stamp, dataset).is_ok_and(|seal| seal == *found))
}

/// What is sealed: all of an entry but its seal.
#[derive(Serialize)]
struct Sealed<'a> {
    stamp: Stamp,
    path: &'a str,
    identity: &'a str,
    data_type: &'a str,
    level: Level,
    shape: &'a [u64],
    grid: &'a BlockGrid,
    fingerprint: &'a str,
    index_files: &'a [IndexFileEntry],
}

fn seal_with(key: &Key, stamp: Stamp, dataset: &IndexedDataset) -> Result<String> {
    let IndexedDataset { path, identity, data_type, level, shape, grid, fingerprint, index_files, seal: _, is_own: _ } = dataset;
    let mut hashed = Hashed(SipHasher24::new_with_key(key));
    let sealed = Sealed { stamp, path, identity, data_type, level: *level, shape, grid, fingerprint, index_files };
    serde_json::to_writer(&mut hashed, &sealed).map_err(|error| Error::internal(format!("cannot seal an index: {error}")))?;
    Ok(format!("{:032x}", hashed.0.finish128().as_u128()))
}

/// Hashes what is written.
struct Hashed(SipHasher24);

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The key of this user. If it cannot be kept in a file, that of this process: the indexes that it builds are then its own,
/// and those of a stranger to other processes.
fn key() -> &'static Key {
    static KEY: OnceLock<Key> = OnceLock::new();
    KEY.get_or_init(|| key_path().and_then(|path| kept_key(&path)).or_else(random_key).unwrap_or_else(unpredictable_key))
}

fn key_path() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return Some(PathBuf::from(named)).filter(|path| !path.as_os_str().is_empty());
    }
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = folder("XDG_DATA_HOME").or_else(|| folder("HOME").map(|home| home.join(".local").join("share")))?;
    Some(data.join("hyperslab").join("index.key"))
}

/// The key in the file at `path`, which is created if there is none.
fn kept_key(path: &Path) -> Option<Key> {
    if let Some(key) = read_key(path) {
        return Some(key);
    }
    let text: String = random_key()?.iter().map(|byte| format!("{byte:02x}")).collect();
    std::fs::create_dir_all(path.parent()?).ok()?;
    // Another process may have created it meanwhile.
    create_private(path, format!("{text}\n").as_bytes()).ok()?;
    read_key(path)
}

fn read_key(path: &Path) -> Option<Key> {
    let mut text = String::new();
    open_regular(path).ok()?.take(1024).read_to_string(&mut text).ok()?;
    let key = u128::from_str_radix(text.trim_end(), 16).ok().filter(|_| text.trim_end().len() == 2 * KEY_BYTES)?;
    Some(key.to_be_bytes())
}

fn random_key() -> Option<Key> {
    let mut key = [0; KEY_BYTES];
    std::fs::File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut key)).ok()?;
    Some(key)
}

/// For systems without a source of random bytes: the hashes of the standard library begin with random keys, too.
fn unpredictable_key() -> Key {
    u128::from_str_radix(&hyperslab_storage::UniqueName::generate(), 16).unwrap_or_default().to_be_bytes()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn dataset() -> IndexedDataset {
        IndexedDataset {
            path: "/x".to_owned(),
            identity: "1".to_owned(),
            data_type: "Float32".to_owned(),
            level: Level::Exact,
            shape: vec![100],
            grid: BlockGrid { outer: vec![100], inner: vec![100] },
            fingerprint: "2".to_owned(),
            index_files: Vec::new(),
            seal: None,
            is_own: false,
        }
    }

    #[test]
    fn a_seal_holds_for_one_key_one_stamp_and_one_entry() -> Result<()> {
        let (a, b) = (dataset(), IndexedDataset { shape: vec![101], ..dataset() });
        let (now, later) = (Stamp { bytes: 1, modified_nanoseconds: 2 }, Stamp { bytes: 1, modified_nanoseconds: 3 });
        let (mine, other) = ([1; KEY_BYTES], [2; KEY_BYTES]);
        let first = seal_with(&mine, now, &a)?;
        assert_eq!(first, seal_with(&mine, now, &IndexedDataset { seal: Some("x".to_owned()), is_own: true, ..dataset() })?);
        for (key, stamp, dataset) in [(&mine, now, &b), (&mine, later, &a), (&other, now, &a)] {
            assert_ne!(first, seal_with(key, stamp, dataset)?);
        }
        Ok(())
    }

    #[test]
    fn a_key_is_made_once_and_only_its_owner_may_read_it() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a/b/index.key");
        let key = kept_key(&path);
        assert!(key.is_some() && key == kept_key(&path));
        assert_eq!(std::fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
        // A damaged key is not replaced: the indexes would be those of a stranger.
        std::fs::write(&path, "short")?;
        assert_eq!(kept_key(&path), None);
        Ok(())
    }
}
