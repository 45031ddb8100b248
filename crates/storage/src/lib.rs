//! Storage of bytes: positional reads of byte ranges from local files, memory or remote objects, and files that are published
//! atomically.
//!
//! No cursor and no lock: any number of threads read the same [`Storage`] at once.
#![forbid(unsafe_code)]

mod appended;
mod beneath;
mod coalesce;
mod descriptor;
mod descriptor_pool;
mod entry_name;
mod existing;
mod file_system;
mod folder;
mod fork_mutex;
mod layout;
mod leftovers;
mod local;
mod local_stamp;
mod locked_file;
mod memory;
mod notices;
mod output;
mod overlay;
mod own_file;
mod per_process;
mod pieces;
mod profile;
mod remote;
mod replace;
mod restart_points;
mod shared;
mod temporary_name;

pub use appended::{Appended, is_marked};
pub use coalesce::{CoalescedRange, coalesce};
pub use descriptor_pool::max_open_files;
pub use entry_name::{EntryName, UniqueName};
pub use existing::Existing;
pub use folder::{FolderLock, folder_of, sync_folder, sync_place};
pub use fork_mutex::ForkMutex;
pub use layout::{StripedPart, TargetLayout, target_layout};
pub use leftovers::{is_abandoned, is_left, locks_reach_all, remove_leftovers};
pub use local::{LocalFile, Opening, open_regular};
pub use local_stamp::{LocalStamp, modified};
pub use locked_file::LockedFile;
pub use memory::Memory;
pub use notices::{Notices, take_cache_notices};
pub use output::Output;
pub use overlay::Overlay;
pub use own_file::open_own_file;
pub use per_process::PerProcess;
pub use pieces::{Piece, Pieces};
pub use profile::{Profile, ProfileSettings, default_profile_path, machine, profile};
pub use remote::{
    ChunkIndexPlace, FoundObject, ListedObject, LocalIndex, ObjectTag, OpenedRanges, PutCondition, RangeReader, RangesVersion, Recorder, RemoteCounts,
    RemoteFile, RemoteOpener, SavedChunkIndex, StorageOptions, UPLOAD_NOTE, abort_upload, encoded_name, is_address, list_files, list_folder, list_objects,
    object_name, object_tag, put_object, read_object, remote_counts, remove_objects, shown_address, without_queries,
};
pub use replace::{check_replaceable, create_private, create_whole, real_path};
pub use restart_points::{MadePoint, RestartPoint, RestartPoints, RestartPointsBuilder, RestartStream};
pub use shared::{SharedFile, block_bytes_in, claim, is_parallel_file_system};
pub use temporary_name::{is_aside, unique_name};

use std::sync::Arc;

use hyperslab_array::{Cancellation, Error, Result};

/// Bytes that can be read at any position by any number of threads at once.
pub trait Storage: Send + Sync {
    /// Total length in bytes.
    fn len(&self) -> u64;
    /// Whether there are at least `end` bytes. Checks again whether the file has grown since it was opened.
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
    /// `length` bytes from `offset` on if they are in memory already.
    fn kept(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let _ = (offset, length);
        None
    }
    /// A hint that metadata lies around `offset`: worth one read of some kilobytes, which is then kept in memory.
    fn keep(&self, offset: u64) {
        let _ = offset;
    }
    /// Whether each read waits for a round trip, so that [`Storage::prefetch`] and [`Storage::fetched`] are worth a call.
    fn is_remote(&self) -> bool {
        false
    }
    /// A hint that these ranges, `(offset, length)`, will be read soon, in small pieces: remote storage fetches them together,
    /// and keeps them. Of too many, it fetches the first.
    ///
    /// # Errors
    /// `Io`, `Conflict` or `Cancelled`.
    fn prefetch(&self, ranges: &[(u64, u64)]) -> Result<()> {
        let _ = ranges;
        Ok(())
    }
    /// Begins to fetch these ranges, and returns a view of this storage through which each is read once, as it lands. `None`
    /// if there is nothing to wait for.
    ///
    /// # Errors
    /// `Corrupt` if a range ends after the last byte; `Io`.
    fn fetched(&self, ranges: &[(u64, u64)], cancellation: &Cancellation) -> Result<Option<Arc<dyn Storage>>> {
        let _ = (ranges, cancellation);
        Ok(None)
    }
    /// Called before values are read from this range by [`Storage::read_exact_at`] itself. A remote file whose bytes are in a local file asks
    /// once whether they are still the bytes of the object.
    ///
    /// # Errors
    /// `Conflict` if they are not; `Io`.
    fn confirm(&self, offset: u64, length: u64) -> Result<()> {
        let _ = (offset, length);
        Ok(())
    }
    /// The places at which inflating a chunk can begin, if the chunk index that it was opened with has them.
    fn restart_points(&self) -> Option<Arc<RestartPoints>> {
        None
    }
    /// What identifies the version of the bytes, such as the entity tag of a remote object.
    fn version(&self) -> Option<&str> {
        None
    }
    /// Time of the last change before it was opened, in nanoseconds since 1970, if known.
    fn modified_nanoseconds(&self) -> Option<u64> {
        None
    }
    /// Whether it is made of several files of the operating system.
    fn is_divided(&self) -> bool {
        false
    }
    /// Length of the file whose time [`Storage::modified_nanoseconds`] returns: not the length of the storage if it is made of several files.
    fn stamped_bytes(&self) -> u64 {
        self.len()
    }
    /// Whether the bytes cannot have changed since it was opened, so that what was read may be kept.
    fn is_unchanged(&self) -> bool {
        false
    }
    /// Whether bytes were certainly written since it was opened, so that contradictions are not damage.
    fn has_changed(&self) -> bool {
        false
    }
    /// Whether it is a file that this process is editing, through this storage alone: what does not fit together is damage, although
    /// the file is locked for writing.
    fn is_edited(&self) -> bool {
        false
    }
    /// Closes the handle of the operating system as soon as no read is running; reads from now on are `InvalidInput`.
    /// Bytes in memory are not closed.
    fn close(&self) {}
    /// Whether [`Storage::close`] has closed it.
    fn is_closed(&self) -> bool {
        false
    }
    /// The file of the operating system that holds `length` bytes from `offset` on, and where they begin in it. `None` if they
    /// are in memory, or in several files.
    ///
    /// # Errors
    /// `Corrupt` if the bytes end earlier; `Io` if no descriptor can be had.
    fn file_with(&self, offset: u64, length: u64) -> Result<Option<(std::fs::File, u64)>> {
        let _ = (offset, length);
        Ok(None)
    }
    /// Name for messages: a path or URL.
    fn name(&self) -> &str;
    /// Opens the file `name` in the same folder. `NotFound` if there is none, `InvalidInput` for a name that leads to
    /// another folder.
    fn beside(&self, name: &str) -> Result<Arc<dyn Storage>> {
        Err(Error::unsupported(format!("{name} beside {}, which is not a local file", self.name())))
    }
}

/// `InvalidInput` if the storage is closed.
///
/// # Errors
/// That one.
pub fn check_open(storage: &(impl Storage + ?Sized)) -> Result<()> {
    if storage.is_closed() { Err(Error::invalid_input("the file is closed: open it again").in_file(storage.name())) } else { Ok(()) }
}

/// What a user of a damaged file of HDF5 can do.
pub const IF_DAMAGED: &str = "`hyperslab check` lists what is damaged, `hyperslab recover` saves the rest";

pub(crate) fn check_range(storage: &(impl Storage + ?Sized), offset: u64, length: usize) -> Result<()> {
    let end = offset.checked_add(length as u64);
    if !end.is_some_and(|end| storage.reaches(end)) {
        return Err(Error::corrupt(format!(
            "{length} bytes are needed here but the file ends at byte {}: it is truncated or the address is wrong; {IF_DAMAGED}",
            storage.len()
        ))
        .in_file(storage.name())
        .at_offset(offset));
    }
    Ok(())
}

/// The first `length` bytes of a buffer, which has at least as many, and the others.
pub(crate) fn split(buffer: &mut [u8], length: u64) -> Result<(&mut [u8], &mut [u8])> {
    let parts = usize::try_from(length).ok().and_then(|length| buffer.split_at_mut_checked(length));
    parts.ok_or_else(|| Error::internal("more bytes than the buffer holds"))
}
