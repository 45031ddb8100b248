//! Where bytes live: positional reads of byte ranges, from local files or memory.
//!
//! No cursor and no lock: any number of threads read the same [`Storage`] at once.
#![forbid(unsafe_code)]

mod appended;
mod coalesce;
mod folder;
mod leftovers;
mod local;
mod memory;
mod output;
mod overlay;
mod pieces;
mod replace;
mod shared;
mod temporary_name;

pub use appended::{Appended, is_marked};
pub use coalesce::{coalesce, CoalescedRange};
pub use folder::{FolderLock, folder_of, sync_folder, sync_place};
pub use leftovers::{is_abandoned, is_left, locks_reach_all, remove_leftovers};
pub use local::{LocalFile, modified, max_open_files, open_regular};
pub use memory::Memory;
pub use output::{Existing, Output};
pub use overlay::Overlay;
pub use pieces::{Piece, Pieces};
pub use replace::{check_replaceable, create_whole, real_path};
pub use temporary_name::{is_aside, unique_name};
pub use shared::{SharedFile, block_bytes_in, claim, is_parallel_file_system};

use std::sync::Arc;

use hyperslab_array::{Error, Result};

/// Bytes that can be read at any position by any number of threads at once.
pub trait Storage: Send + Sync {
    /// Total length in bytes.
    fn len(&self) -> u64;
    /// Whether there are `end` bytes or more; a file that has grown since it was opened is asked again.
    fn reaches(&self, end: u64) -> bool {
        end <= self.len()
    }
    /// Whether there are no bytes at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Fills `buffer` from `offset` on. Reading past the end is `Corrupt` (a truncated file) and
    /// names the offset; an operating-system failure is `Io`.
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;
    /// `length` bytes from `offset` on where they are in memory already; `None` elsewhere.
    fn kept(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let _ = (offset, length);
        None
    }
    /// Says that what describes the file lies around `offset`: worth one read of some kilobytes, then kept.
    fn keep(&self, offset: u64) {
        let _ = offset;
    }
    /// When it had been changed last when it was opened, in nanoseconds since 1970, where that is known.
    fn modified_nanoseconds(&self) -> Option<u64> {
        None
    }
    /// What to call it in messages: a path or URL.
    fn name(&self) -> &str;
    /// Opens the file called `name` in the same folder; `NotFound` where there is none. A name that
    /// leads elsewhere is `InvalidInput`.
    fn beside(&self, name: &str) -> Result<Arc<dyn Storage>> {
        Err(Error::unsupported(format!("{name} beside {}, which is no local file", self.name())))
    }
}

pub(crate) fn check_range(storage: &(impl Storage + ?Sized), offset: u64, length: usize) -> Result<()> {
    let end = offset.checked_add(length as u64);
    if !end.is_some_and(|end| storage.reaches(end)) {
        return Err(Error::corrupt(format!(
            "{length} bytes are needed here but the file ends at byte {}: it is truncated or the address is wrong",
            storage.len()
        ))
        .in_file(storage.name())
        .at_offset(offset));
    }
    Ok(())
}
