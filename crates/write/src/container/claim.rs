//! Claims decide which commit follows a state of the master, even if file locks are missing or work on one machine only, and if
//! look-ups on this machine are old.
//!
//! A committer writes its new master to a temporary file, then claims the state that it wants to replace: it creates a file
//! named after that state, which only one process can do. The claim contains the name of the temporary file. If the state
//! is still the same, the committer renames the temporary file to the master.
//!
//! A committer that was killed in between blocks no other: the next one removes the temporary file, which then cannot be
//! renamed any more, and creates the next claim of the same state. On file systems of one machine, claims are removed after the
//! state has changed, the last one first, so that a late committer sees another state. On file systems that machines share, a
//! late committer may see the old state for as long as its machine keeps look-ups; claims stay for longer than that, and a
//! young claim without its temporary file means that the state was replaced.
//!
//! A claim whose commit failed stays while the state is the same: another committer may have ended it and may hold the next
//! claim, so that a third one must not find its name free.
//!
//! Creating a claim, removing a temporary file and renaming it are decided by the server of a file system. All else may be old.

use std::fs::File;
use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyperslab_array::{Error, Result};
use hyperslab_storage::{create_whole, folder_of, is_aside, is_left, locks_reach_all};

use super::state::State;

/// Suffix of claim names.
const ENDING: &str = ".claim";
/// Maximum number of claims of one state. All but the last are of committers that were killed or suspended.
const MAX_CLAIMS: u32 = 10_000;
/// Time that a committer may take from its claim to the rename, if no lock shows whether it still runs.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest time that a machine keeps look-ups of a shared file system: NFS does for up to 60 s.
const MAX_LOOKUP_AGE: Duration = Duration::from_secs(120);
/// Claims on shared file systems are removed after this time.
const MAX_CLAIM_AGE: Duration = Duration::from_secs(600);

/// What is known of the committer of a claim, by its temporary file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Committer {
    /// The temporary file is gone: it was renamed, or another committer has removed it.
    Gone,
    /// It still runs.
    Alive,
    /// It has ended, for certain.
    Ended,
    /// No lock says.
    Unknown,
}

/// What a committer asks of the file system about the claims of one state.
trait Claims {
    /// Whether a claim exists; may be old.
    fn exists(&self, index: u32) -> Result<bool>;
    /// Creates a claim with the name of this committer's temporary file; whether this call did.
    fn create(&self, index: u32) -> Result<bool>;
    /// What a claim contains; `None` if it is gone.
    fn content(&self, index: u32) -> Result<Option<String>>;
    /// Whether a claim is at least this old.
    fn is_older(&self, index: u32, age: Duration) -> Result<bool>;
    /// Whether a content is the name of a temporary file of the master.
    fn is_aside(&self, content: &str) -> bool;
    /// The committer whose temporary file has this name.
    fn committer(&self, aside: &str) -> Result<Committer>;
    /// Removes a temporary file; whether this call did.
    fn remove_aside(&self, aside: &str) -> Result<bool>;
    /// Removes a claim. Best effort.
    fn remove(&self, index: u32) -> Result<()>;
    /// Whether look-ups are never old: a file system of this machine, or a state that renaming does not replace.
    fn is_coherent(&self) -> Result<bool>;
    /// The error while another commit is in progress.
    fn busy(&self) -> Error;
}

/// Claims the state; returns the index of the claim. A retryable `Conflict` while another committer is between its claim and its
/// rename.
fn claim_next(claims: &impl Claims) -> Result<u32> {
    for index in 0..MAX_CLAIMS {
        if claims.exists(index)? {
            end_claim(claims, index)?;
        } else if claims.create(index)? {
            return Ok(index);
        } else {
            return Err(claims.busy());
        }
    }
    Err(Error::limit_exceeded("too many commits were interrupted: `hyperslab vacuum` removes what they left"))
}

/// Ensures that the commit of an existing claim cannot happen, and has not happened if look-ups may be stale.
/// Otherwise a retryable `Conflict`.
fn end_claim(claims: &impl Claims, index: u32) -> Result<()> {
    let Some(aside) = claims.content(index)? else { return Err(claims.busy()) };
    let if_so = |is_ended: bool| if is_ended { Ok(()) } else { Err(claims.busy()) };
    if !claims.is_aside(&aside) {
        // The claim is incomplete. A killed committer can leave one on file systems without hard links and without
        // rename that does not replace.
        return if_so(claims.is_older(index, PATIENCE)?);
    }
    let is_removed = match claims.committer(&aside)? {
        Committer::Gone => false,
        Committer::Alive => return Err(claims.busy()),
        Committer::Ended => claims.remove_aside(&aside)?,
        Committer::Unknown if claims.is_older(index, PATIENCE)? => claims.remove_aside(&aside)?,
        Committer::Unknown => return Err(claims.busy()),
    };
    // What we have not removed may have been renamed: then the state was replaced, which a look-up may not show yet.
    if_so(is_removed || claims.is_coherent()? || claims.is_older(index, MAX_LOOKUP_AGE)?)
}

/// Removes claims that are unneeded after the state was replaced, the last one first.
fn settle_claims(claims: &impl Claims) -> Result<()> {
    let mut count = 0;
    while count < MAX_CLAIMS && claims.exists(count)? {
        count += 1;
    }
    (0..count).rev().try_for_each(|index| claims.remove(index))
}

/// The claims of a state as files in the container.
pub(crate) struct ClaimFiles<'a> {
    pub container: &'a Path,
    pub state: &'a State,
    pub master: &'a Path,
}

/// [`ClaimFiles`] for a committer with this temporary file.
struct Claimant<'a> {
    files: &'a ClaimFiles<'a>,
    aside: &'a str,
}

impl ClaimFiles<'_> {
    /// Claims the state for the temporary file `aside`, which is to be renamed next; returns the index of the claim. A retryable
    /// `Conflict` while another committer is between its claim and its rename.
    pub fn claim(&self, aside: &Path) -> Result<u32> {
        let aside = aside.file_name().and_then(|name| name.to_str()).ok_or_else(|| Error::internal("a temporary file without a name"))?;
        claim_next(&Claimant { files: self, aside })
    }

    /// Removes claims that are unneeded after the state was replaced. Best effort: vacuum removes them, too.
    pub fn settle(&self) {
        if self.is_coherent() {
            let _ = settle_claims(&Claimant { files: self, aside: "" });
            return;
        }
        for entry in std::fs::read_dir(self.container).into_iter().flatten().flatten() {
            let is_old = || entry.metadata().and_then(|found| found.modified()).is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= MAX_CLAIM_AGE));
            if entry.file_name().to_str().is_some_and(is_claim_file) && is_old() {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    fn path(&self, index: u32) -> PathBuf {
        let key = match self.state {
            State::Absent => "none".to_owned(),
            State::Committed { commit } => commit.id.to_string(),
            State::Foreign { bytes, modified_nanos } => format!("{bytes:x}-{modified_nanos:x}"),
        };
        self.container.join(format!(".{key}.{index}{ENDING}"))
    }

    fn is_coherent(&self) -> bool {
        // A new name never replaces a file, whatever a look-up says.
        *self.state == State::Absent || has_fresh_lookups(self.container)
    }
}

impl Claims for Claimant<'_> {
    fn exists(&self, index: u32) -> Result<bool> {
        Ok(self.files.path(index).exists())
    }
    fn create(&self, index: u32) -> Result<bool> {
        create_whole(&self.files.path(index), self.aside.as_bytes())
    }
    fn content(&self, index: u32) -> Result<Option<String>> {
        let claim = self.files.path(index);
        match std::fs::read_to_string(&claim) {
            Err(error) if error.kind() == NotFound => Ok(None),
            content => content.map(Some).map_err(|error| Error::from(error).in_file(claim.display().to_string())),
        }
    }
    fn is_older(&self, index: u32, age: Duration) -> Result<bool> {
        let modified = self.files.path(index).metadata().and_then(|found| found.modified());
        Ok(modified.is_ok_and(|at| at.elapsed().is_ok_and(|since| since >= age)))
    }
    fn is_aside(&self, content: &str) -> bool {
        is_aside(self.files.master, content)
    }
    fn committer(&self, aside: &str) -> Result<Committer> {
        let path = folder_of(self.files.master).join(aside);
        let file = match File::open(&path) {
            Err(error) if error.kind() == NotFound => return Ok(Committer::Gone),
            file => file.map_err(|error| Error::from(error).in_file(path.display().to_string()))?,
        };
        Ok(match is_left(&file) {
            Some(false) => Committer::Alive,
            Some(true) if locks_reach_all(&file) => Committer::Ended,
            // A free lock does not show whether a process on another machine still runs.
            _ => Committer::Unknown,
        })
    }
    fn remove_aside(&self, aside: &str) -> Result<bool> {
        let path = folder_of(self.files.master).join(aside);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() == NotFound => Ok(false),
            removed => removed.map(|()| true).map_err(|error| Error::from(error).in_file(path.display().to_string())),
        }
    }
    fn remove(&self, index: u32) -> Result<()> {
        let _ = std::fs::remove_file(self.files.path(index));
        Ok(())
    }
    fn is_coherent(&self) -> Result<bool> {
        Ok(self.files.is_coherent())
    }
    fn busy(&self) -> Error {
        Error::busy("another commit is in progress, or has just ended: try again").in_file(self.files.master.display().to_string())
    }
}

/// Whether look-ups in a folder are never old: its file system belongs to this machine alone.
pub(crate) fn has_fresh_lookups(folder: &Path) -> bool {
    File::open(folder).is_ok_and(|folder| locks_reach_all(&folder))
}

/// Whether a file name in a container is a claim's, complete or not.
pub(crate) fn is_claim_file(name: &str) -> bool {
    name.starts_with('.') && (name.ends_with(ENDING) || name.ends_with(".part"))
}

#[cfg(test)]
#[path = "claim_model.rs"]
mod model;

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    /// A temporary master, and the lock of the process that writes it.
    fn aside(folder: &Path, index: u8) -> std::io::Result<(PathBuf, File)> {
        let path = folder.join(format!(".out.h5.{index:032x}.part"));
        let file = File::create_new(&path)?;
        file.lock()?;
        Ok((path, file))
    }

    #[test]
    fn one_commit_follows_a_state_and_a_killed_one_blocks_none() -> Outcome {
        let folder = tempfile::tempdir()?;
        let (master, container) = (folder.path().join("out.h5"), folder.path().join("out.h5.d"));
        std::fs::create_dir(&container)?;
        let busy = |claimed: Result<u32>| claimed.is_err_and(|error| error.retryable());
        let (first, alive) = aside(folder.path(), 1)?;
        let (second, _second) = aside(folder.path(), 2)?;
        let absent = ClaimFiles { container: &container, state: &State::Absent, master: &master };
        assert_eq!(absent.claim(&first)?, 0);
        assert!(busy(absent.claim(&second)) && first.exists());
        drop(alive);
        assert_eq!(absent.claim(&second)?, 1);
        assert!(!first.exists(), "the temporary file of the killed commit is removed");
        let (third, _third) = aside(folder.path(), 3)?;
        assert!(busy(absent.claim(&third)) && second.exists());
        // Another state of the master can be claimed.
        let state = State::Foreign { bytes: 1, modified_nanos: 2 };
        let foreign = ClaimFiles { state: &state, ..absent };
        assert_eq!(foreign.claim(&third)?, 0);
        absent.settle();
        assert_eq!(std::fs::read_dir(&container)?.count(), 1);
        foreign.settle();
        assert_eq!(std::fs::read_dir(&container)?.count(), 0);
        Ok(())
    }

    #[test]
    fn a_claim_without_content_is_waited_for_and_a_foreign_name_is_not_removed() -> Outcome {
        let folder = tempfile::tempdir()?;
        let (master, container) = (folder.path().join("out.h5"), folder.path().join("out.h5.d"));
        std::fs::create_dir(&container)?;
        std::fs::write(folder.path().join("precious"), b"")?;
        let (mine, _mine) = aside(folder.path(), 1)?;
        let absent = ClaimFiles { container: &container, state: &State::Absent, master: &master };
        for (index, content) in ["", "precious", "../precious"].into_iter().enumerate() {
            let place = absent.path(u32::try_from(index)?);
            std::fs::write(&place, content)?;
            assert!(absent.claim(&mine).is_err_and(|error| error.retryable()));
            File::options().write(true).open(&place)?.set_modified(SystemTime::now() - 2 * PATIENCE)?;
        }
        assert_eq!(absent.claim(&mine)?, 3);
        assert!(folder.path().join("precious").exists());
        Ok(())
    }
}
