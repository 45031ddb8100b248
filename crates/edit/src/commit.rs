//! The steps of a commit. Each is a value that only the step before can make, so that nothing is applied which is not in a
//! journal on the disk, and no mark is cleared before everything is applied.
//!
//! ```text
//! Prepared   new bytes and, after them, the journal are on the disk; the file is as before
//! Marked     the superblock says that an edit is being applied; from here the edit is committed
//! Applied    everything is in its place, on the disk
//! ```

use std::time::Duration;

use hyperslab_array::{Error, Result};
use hyperslab_formats::hdf5::edit::SuperblockImage;

use crate::disk::Disk;
use crate::journal::Change;
use crate::ranges::ALIGNMENT;

/// How long file systems may take until a change has another time than the one before, and the pause between attempts.
const MAX_TICK: Duration = Duration::from_millis(100);
const BETWEEN_TRIES: Duration = Duration::from_micros(200);

/// A change that is on the disk, in a journal and in bytes to which nothing leads.
pub(crate) struct Prepared<'a> {
    disk: &'a dyn Disk,
    change: Change,
}

/// A committed change. Other programs refuse the file until it is applied.
pub(crate) struct Marked<'a> {
    disk: &'a dyn Disk,
    change: Change,
}

/// A change that is applied, in a file that is still marked.
pub(crate) struct Applied<'a> {
    disk: &'a dyn Disk,
    change: Change,
}

impl<'a> Prepared<'a> {
    /// Brings the new bytes and the journal to the disk. If this fails, the file is as before.
    pub fn new(disk: &'a dyn Disk, change: Change) -> Result<Self> {
        let prepare = || {
            if disk.len()? != change.end {
                disk.set_len(change.end)?;
            }
            disk.write(change.end.next_multiple_of(ALIGNMENT), &change.encode())?;
            disk.sync()
        };
        if let Err(error) = prepare() {
            // Best effort: a journal without its mark is dropped at the next opening.
            let _ = disk.set_len(change.end);
            return Err(error);
        }
        Ok(Self { disk, change })
    }

    /// Commits: marks the superblock.
    pub fn mark(self) -> Result<Marked<'a>> {
        let Self { disk, change } = self;
        let before = disk.modified();
        disk.write(change.old.place(), change.old.with_mark(true).bytes())?;
        // Readers tell by the time of the file that it was changed since they opened it, so nothing that they may have read is overwritten
        // before the file has another time. Kernels since Linux 6.13 give it one at once, older ones with their next tick.
        let begin = std::time::Instant::now();
        while before.is_some() && disk.modified() == before && begin.elapsed() < MAX_TICK {
            std::thread::sleep(BETWEEN_TRIES);
            disk.write(change.old.place(), change.old.with_mark(true).bytes())?;
        }
        disk.sync()?;
        Ok(Marked { disk, change })
    }
}

impl<'a> Marked<'a> {
    /// Writes everything into its place.
    pub fn apply(self) -> Result<Applied<'a>> {
        let Self { disk, change } = self;
        if disk.len()? < change.end {
            return Err(Error::corrupt("the file was cut off since its edit was interrupted"));
        }
        for (offset, bytes) in &change.runs {
            disk.write(*offset, bytes)?;
        }
        disk.write(change.new.place(), change.new.with_mark(true).bytes())?;
        disk.sync()?;
        Ok(Applied { disk, change })
    }
}

impl Applied<'_> {
    /// Clears the mark, and then cuts off the journal.
    pub fn finish(self) -> Result<()> {
        self.disk.write(self.change.new.place(), self.change.new.bytes())?;
        self.disk.sync()?;
        // If this fails, the file has unused bytes after its end, which the next opening cuts off.
        let _ = self.disk.set_len(self.change.end);
        Ok(())
    }
}

/// What [`settle`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// No edit was interrupted.
    Nothing,
    /// The journal of an edit that was not committed, or had ended, was cut off.
    Dropped,
    /// A committed edit was applied.
    Completed,
}

/// Brings a file that is locked into the state after its last commit.
///
/// # Errors
/// `Corrupt` if a committed edit cannot be completed; `Io`.
pub(crate) fn settle(disk: &dyn Disk) -> Result<Settled> {
    let found = superblock(disk)?;
    let journal = Change::find(disk)?;
    if found.is_whole() && !found.is_marked() {
        // Whatever a journal says, it is not of this file, or its edit was not begun or had ended. It is cut off only if it is the last thing
        // that an edit has written.
        let end = match &journal {
            Some(change) if change.old == found => change.old_end,
            Some(change) if change.new == found => change.end,
            _ => return Ok(Settled::Nothing),
        };
        if found.end().is_ok_and(|stated| stated <= end) {
            disk.set_len(end)?;
            return Ok(Settled::Dropped);
        }
        return Ok(Settled::Nothing);
    }
    let change = match journal {
        Some(change) if change.is_unfinished(&found)? => change,
        _ if !found.is_marked() => return Ok(Settled::Nothing),
        _ => {
            let message = "an edit was interrupted, and its journal is not at the end of the file, which was cut off or extended since: copy the file again \
                           from where it was edited";
            return Err(Error::corrupt(message));
        }
    };
    Marked { disk, change }.apply()?.finish()?;
    Ok(Settled::Completed)
}

/// The superblock on the disk.
pub(crate) fn superblock(disk: &dyn Disk) -> Result<SuperblockImage> {
    SuperblockImage::read(&Bytes(disk))
}

/// The bytes on the disk.
struct Bytes<'a>(&'a dyn Disk);

impl hyperslab_storage::Storage for Bytes<'_> {
    fn len(&self) -> u64 {
        self.0.len().unwrap_or(0)
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.0.read(offset, buffer)
    }
    fn name(&self) -> &str {
        self.0.name()
    }
}
