//! The steps of a commit. Each is a value that only the step before can make, so that nothing is applied which is not in a
//! journal on the disk, and no mark is cleared before everything is applied.
//!
//! ```text
//! Prepared   new bytes and the journal are on the disk; the file is as before
//! Marked     the superblock says that an edit is being applied; from here the edit is committed
//! Applied    everything is in its place, on the disk
//! ```

use hyperslab_array::{Error, Result};
use hyperslab_formats::hdf5::edit::SuperblockImage;

use crate::disk::Disk;
use crate::journal::Change;

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
            if disk.len()? < change.end {
                disk.set_len(change.end)?;
            }
            disk.sync()?;
            let parts = change.encode();
            disk.write_journal(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
            disk.sync_journal()?;
            disk.sync_folder()
        };
        if let Err(error) = prepare() {
            // Best effort: a journal without its mark is dropped at the next opening.
            let _ = disk.remove_journal();
            return Err(error);
        }
        Ok(Self { disk, change })
    }

    /// Commits: marks the superblock.
    pub fn mark(self) -> Result<Marked<'a>> {
        let Self { disk, change } = self;
        disk.write(change.old.place(), change.old.with_mark(true).bytes())?;
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
    /// Clears the mark, and then removes the journal.
    pub fn finish(self) -> Result<()> {
        self.disk.write(self.change.new.place(), self.change.new.bytes())?;
        self.disk.sync()?;
        self.disk.remove_journal()?;
        Ok(())
    }
}

/// What [`settle`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// No edit was interrupted.
    Nothing,
    /// The journal of an edit that was not committed, or had ended, was removed.
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
    if found.is_whole() && !found.is_marked() {
        // Whatever a journal says, it is not of this file, or its edit was not begun or had ended.
        return Ok(if disk.remove_journal()? { Settled::Dropped } else { Settled::Nothing });
    }
    let Some(journal) = disk.read_journal()? else {
        return match found.is_marked() {
            false => Ok(Settled::Nothing),
            true => Err(Error::corrupt("an edit was interrupted, and its journal is not next to the file: put the file back to where it was edited")),
        };
    };
    let change = match Change::parse(&journal) {
        Some(change) if change.is_unfinished(&found)? => change,
        None if found.is_marked() => return Err(Error::corrupt("an edit was interrupted, and its journal is damaged")),
        _ => {
            disk.remove_journal()?;
            return Ok(Settled::Dropped);
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
