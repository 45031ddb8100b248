//! The state of a local file, by which another opening is known to read the same bytes.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// What changes when bytes of a file change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalStamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified_nanoseconds: u64,
}

impl LocalStamp {
    /// The state of the file with this metadata; `None` if the file system tells no time of the last change.
    pub(crate) fn of(metadata: &std::fs::Metadata) -> Option<Self> {
        Some(Self { device: metadata.dev(), inode: metadata.ino(), bytes: metadata.len(), modified_nanoseconds: modified(metadata)? })
    }

    /// The current state of the file at `path`; `None` if there is none, or the file system tells no time of the last change.
    pub fn of_path(path: &Path) -> Option<Self> {
        Self::of(&path.metadata().ok()?)
    }

    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Time of the last change, in nanoseconds since 1970.
    pub fn modified_nanoseconds(&self) -> u64 {
        self.modified_nanoseconds
    }
}

/// File systems count the time of a change in ticks of some milliseconds. Within the tick of the last change, another one would
/// not show.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// Whether the next change will have another time than the last one.
pub(crate) fn is_settled(metadata: &std::fs::Metadata) -> bool {
    metadata.modified().is_ok_and(|modified| modified.elapsed().is_ok_and(|since| since > TICK))
}

/// Time of a file's last change, in nanoseconds since 1970; earlier times are negative numbers cast to `u64`.
pub fn modified(metadata: &std::fs::Metadata) -> Option<u64> {
    match metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH) {
        Ok(since) => u64::try_from(since.as_nanos()).ok(),
        Err(before) => i64::try_from(before.duration().as_nanos()).ok().map(|nanoseconds| (-nanoseconds).cast_unsigned()),
    }
}
