//! Seals: show which user built an index. A seal is a keyed hash (SipHash-2-4, 128 bits) of an index's entry in the manifest
//! and of the stamp of its data file. The key is random, in a file that belongs to the user. Sidecars that come with data of
//! others have no seal of this user.

use std::hash::Hasher;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use hyperslab_array::{Error, Result};
use hyperslab_storage::{create_private, open_regular};
use serde::Serialize;
use siphasher::sip128::{Hasher128, SipHasher24};

/// Environment variable with the path of the key file: for users who share their indexes.
const VARIABLE: &str = "HYPERSLAB_INDEX_KEY";
const KEY_BYTES: usize = 16;

type Key = [u8; KEY_BYTES];

/// The seal of this user for `value`: 32 hexadecimal digits.
pub(crate) fn seal(value: &impl Serialize) -> Result<String> {
    seal_with(key(), value)
}

fn seal_with(key: &Key, value: &impl Serialize) -> Result<String> {
    let mut hashed = Hashed(SipHasher24::new_with_key(key));
    serde_json::to_writer(&mut hashed, value).map_err(|error| Error::internal(format!("cannot seal an index: {error}")))?;
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

/// The key of this user. If it cannot be kept in a file, the key of this process: then only this process trusts the indexes
/// that it builds.
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

    #[test]
    fn a_seal_holds_for_one_key_and_one_value() -> Result<()> {
        let (mine, other) = ([1; KEY_BYTES], [2; KEY_BYTES]);
        let first = seal_with(&mine, &("x", 1))?;
        assert_eq!((first.len(), &first), (32, &seal_with(&mine, &("x", 1))?));
        assert!(first != seal_with(&mine, &("x", 2))? && first != seal_with(&other, &("x", 1))?);
        Ok(())
    }

    #[test]
    fn a_key_is_made_once_and_only_its_owner_may_read_it() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a/b/index.key");
        let key = kept_key(&path);
        assert!(key.is_some() && key == kept_key(&path));
        assert_eq!(std::fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
        // A damaged key is not replaced: existing indexes would become untrusted.
        std::fs::write(&path, "short")?;
        assert_eq!(kept_key(&path), None);
        Ok(())
    }
}
