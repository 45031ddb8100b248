//! Temporary names of files that are being written next to their target: `.<name>.<unique>.part`.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;

/// A name of 32 hexadecimal digits that is unique across calls, processes and machines.
pub fn unique_name() -> String {
    let mut text = String::new();
    for half in [0u32, 1] {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u32(std::process::id() ^ half);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        hasher.write_u128(now.map_or(0, |time| time.as_nanos()));
        text.push_str(&format!("{:016x}", hasher.finish()));
    }
    text
}

/// Whether `name` is a temporary name for `target`.
pub fn is_aside(target: &Path, name: &str) -> bool {
    let prefix = target.file_name().and_then(|name| name.to_str()).map(|name| format!(".{name}."));
    prefix.is_some_and(|prefix| name.strip_prefix(prefix.as_str()).is_some_and(is_unique_part))
}

/// Whether the rest of a name is the unique part and suffix of a temporary name.
fn is_unique_part(rest: &str) -> bool {
    rest.strip_suffix(".part").is_some_and(|unique| unique.len() == 32 && unique.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
}

/// A file without a name in the folder for temporary files.
pub(crate) fn nameless() -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    let path = std::env::temp_dir().join(format!(".{}.part", unique_name()));
    let file = std::fs::OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}
