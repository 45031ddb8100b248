//! Claims decide which commit follows a state of the master, even if file locks are missing or work on one machine only.
//!
//! A committer writes its new master to a temporary file, then claims the state that it wants to replace: it creates a file
//! named after that state, which only one process can do. The claim contains the name of the temporary file. If the state
//! is still the same, the committer renames the temporary file to the master.
//!
//! A committer that was killed in between blocks no other: the next one removes the temporary file, which then cannot be
//! renamed any more, and creates the next claim of the same state. Claims are removed after the state has changed, the last
//! one first, so that a late committer sees another state.

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

/// Name of claims of this state, without index and suffix.
fn key(state: &State) -> String {
    match state {
        State::Absent => "none".to_owned(),
        State::Committed { commit } => commit.id.to_string(),
        State::Foreign { bytes, modified_nanos } => format!("{bytes:x}-{modified_nanos:x}"),
    }
}

fn claim_path(container: &Path, state: &State, index: u32) -> PathBuf {
    container.join(format!(".{}.{index}{ENDING}", key(state)))
}

/// Claims `state` of `master` for the temporary file `aside`, which is to be renamed next. Returns `Conflict` while another
/// committer is between its claim and its rename.
pub(crate) fn claim(container: &Path, state: &State, master: &Path, aside: &Path) -> Result<()> {
    let name = aside.file_name().and_then(|name| name.to_str()).ok_or_else(|| Error::internal("a temporary file without a name"))?;
    for index in 0..MAX_CLAIMS {
        let place = claim_path(container, state, index);
        if place.exists() {
            end_claim(&place, master)?;
        } else if create_whole(&place, name.as_bytes())? {
            return Ok(());
        } else {
            return Err(busy(master));
        }
    }
    Err(Error::limit_exceeded("too many commits were interrupted: `hyperslab vacuum` removes what they left"))
}

fn busy(master: &Path) -> Error {
    Error::busy("another commit is in progress: try again").in_file(master.display().to_string())
}

/// Makes sure that the commit of an existing claim cannot happen any more. Returns `Conflict` if it still may.
fn end_claim(claim: &Path, master: &Path) -> Result<()> {
    let failed = |error: std::io::Error| Error::from(error).in_file(claim.display().to_string());
    let name = match std::fs::read_to_string(claim) {
        Err(error) if error.kind() == NotFound => return Err(busy(master)),
        name => name.map_err(failed)?,
    };
    let is_old = || claim.metadata().and_then(|found| found.modified()).is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= PATIENCE));
    if !is_aside(master, &name) {
        // The claim is incomplete. A killed committer can leave one on file systems without hard links and without
        // rename that does not replace.
        return if is_old() { Ok(()) } else { Err(busy(master)) };
    }
    let aside = folder_of(master).join(name);
    let file = match File::open(&aside) {
        Err(error) if error.kind() == NotFound => return Ok(()),
        file => file.map_err(failed)?,
    };
    let has_ended = match is_left(&file) {
        Some(false) => false,
        Some(true) if locks_reach_all(&file) => true,
        // A free lock does not show whether a process on another machine still runs.
        _ => is_old(),
    };
    if !has_ended {
        return Err(busy(master));
    }
    match std::fs::remove_file(&aside) {
        Err(error) if error.kind() != NotFound => Err(failed(error)),
        _ => Ok(()),
    }
}

/// Removes the claims of a state that the master no longer has. Best effort: vacuum removes them, too.
pub(crate) fn release(container: &Path, state: &State) {
    let claims: Vec<PathBuf> = (0..MAX_CLAIMS).map(|index| claim_path(container, state, index)).take_while(|place| place.exists()).collect();
    for claim in claims.iter().rev() {
        let _ = std::fs::remove_file(claim);
    }
}

/// Whether a file name in a container is that of a claim, complete or not.
pub(crate) fn is_claim_file(name: &str) -> bool {
    name.starts_with('.') && (name.ends_with(ENDING) || name.ends_with(".part"))
}

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
        let busy = |claimed: Result<()>| claimed.is_err_and(|error| error.retryable());
        let (first, alive) = aside(folder.path(), 1)?;
        let (second, _second) = aside(folder.path(), 2)?;
        claim(&container, &State::Absent, &master, &first)?;
        assert!(busy(claim(&container, &State::Absent, &master, &second)) && first.exists());
        drop(alive);
        claim(&container, &State::Absent, &master, &second)?;
        assert!(!first.exists(), "the temporary file of the killed commit is removed");
        let (third, _third) = aside(folder.path(), 3)?;
        assert!(busy(claim(&container, &State::Absent, &master, &third)) && second.exists());
        // Another state of the master can be claimed.
        claim(&container, &State::Foreign { bytes: 1, modified_nanos: 2 }, &master, &third)?;
        release(&container, &State::Absent);
        assert_eq!(std::fs::read_dir(&container)?.count(), 1);
        Ok(())
    }

    #[test]
    fn a_claim_without_content_is_waited_for_and_a_foreign_name_is_not_removed() -> Outcome {
        let folder = tempfile::tempdir()?;
        let (master, container) = (folder.path().join("out.h5"), folder.path().join("out.h5.d"));
        std::fs::create_dir(&container)?;
        std::fs::write(folder.path().join("precious"), b"")?;
        let (mine, _mine) = aside(folder.path(), 1)?;
        for (index, content) in ["", "precious", "../precious"].into_iter().enumerate() {
            let place = claim_path(&container, &State::Absent, u32::try_from(index)?);
            std::fs::write(&place, content)?;
            assert!(claim(&container, &State::Absent, &master, &mine).is_err_and(|error| error.retryable()));
            File::options().write(true).open(&place)?.set_modified(SystemTime::now() - 2 * PATIENCE)?;
        }
        claim(&container, &State::Absent, &master, &mine)?;
        assert!(folder.path().join("precious").exists());
        Ok(())
    }
}
