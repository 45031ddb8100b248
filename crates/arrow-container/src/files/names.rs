//! Names of temporary files.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

/// 32 hexadecimal digits that no other call returns, on any machine.
pub(crate) fn unique_name() -> String {
    let mut text = String::new();
    for salt in [0u32, 1] {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u32(std::process::id() ^ salt);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        hasher.write_u128(now.map_or(0, |time| time.as_nanos()));
        text.push_str(&format!("{:016x}", hasher.finish()));
    }
    text
}

/// The path of a temporary file or folder next to a container: `.name.DIGITS.ending`.
pub(crate) fn sibling_path(path: &Path, ending: &str) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.{ending}", unique_name()))
}
