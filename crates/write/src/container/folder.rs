//! The folder with the subfiles of one write: its creation, and its removal while tasks may still write into it.

use std::io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotFound};
use std::path::{Path, PathBuf};

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_storage::UniqueName;

use super::lineage::{living, records};
use super::plan::WritePlan;
use super::record::RECORD;
use super::state::{State, state_of};
use super::tail::commits_in;

/// Suffix of a folder that is being removed, so that tasks do not find it.
pub(crate) const REMOVED: &str = ".removed";

/// Attempts if another process interferes: it may remove the container folder while it is empty, or create a file in a folder
/// that is being removed.
const ATTEMPTS: usize = 100;

impl WritePlan {
    /// Creates the folder of the tasks' subfiles. Tasks of a plan that has begun never create it, so a task that starts after
    /// [`WritePlan::abort`] fails with `Cancelled`.
    ///
    /// # Errors
    /// `Io` if the folder cannot be created.
    pub fn begin(&mut self) -> Result<()> {
        match &self.store {
            Some(place) => self.begin_objects(place)?,
            None => self.make_folder()?,
        }
        self.begun = true;
        Ok(())
    }

    /// The folder that tasks write into. Created if the plan has not begun; otherwise it must exist.
    pub(crate) fn folder_for_writing(&self) -> Result<PathBuf> {
        if !self.begun {
            self.make_folder()?;
        } else if !self.folder().is_dir() {
            let message = "this write was aborted, or another process has written the file: the folder of its subfiles is gone";
            return Err(Error::new(ErrorKind::Cancelled, message).in_file(self.path().display().to_string()));
        }
        Ok(self.folder())
    }

    fn make_folder(&self) -> Result<()> {
        let folder = self.folder();
        let mut attempts = 0;
        loop {
            attempts += 1;
            match std::fs::create_dir_all(&folder) {
                Err(error) if [NotFound, AlreadyExists].contains(&error.kind()) && attempts < ATTEMPTS => {}
                made => return made.map_err(|error| Error::from(error).in_file(folder.display().to_string())),
            }
        }
    }

    /// Aborts the write: removes everything that its tasks have written. Idempotent. If the plan has begun ([`WritePlan::begin`]), tasks may still be running: what they write is removed with
    /// the folder, and tasks or commits that start later fail. If it has not begun, later tasks create the folder again.
    ///
    /// # Errors
    /// `InvalidInput` for a write that was committed; `Io` if the folder cannot be removed.
    pub fn abort(&self) -> Result<()> {
        if let Some(place) = &self.store {
            return self.abort_objects(place);
        }
        let container = self.container();
        // A master that was renamed or copied may use a committed write.
        let is_living = self.folder().join(RECORD).exists() && living(&container)?.folders.contains(&self.id);
        if is_living || self.is_appended()? {
            return Err(Error::invalid_input("this write was committed: it cannot be aborted").in_file(self.path().display().to_string()));
        }
        let aside = container.join(format!("{}{REMOVED}", self.id));
        // Leftovers of an earlier call that was killed.
        remove_aborted(&aside)?;
        match std::fs::rename(self.folder(), &aside) {
            Err(error) if error.kind() != NotFound => return Err(Error::from(error).in_file(self.folder().display().to_string())),
            _ => remove_aborted(&aside)?,
        }
        // Remove the container folder if this was its last write.
        match std::fs::remove_dir(&container) {
            Err(error) if ![NotFound, DirectoryNotEmpty].contains(&error.kind()) => Err(Error::from(error).in_file(container.display().to_string())),
            _ => Ok(()),
        }
    }
}

impl WritePlan {
    /// Whether the rows of this write were appended to the tail of an earlier commit, so that it has no folder.
    fn is_appended(&self) -> Result<bool> {
        let State::Committed { commit } = state_of(self.path())? else { return Ok(false) };
        let earlier = records(&self.container(), &commit).unwrap_or_default().into_iter().filter_map(|record| record.previous);
        Ok(std::iter::once(commit).chain(earlier).any(|name| commits_in(&self.container(), &name).contains(&self.id)))
    }
}

/// Removes the renamed folder of an aborted write. A task that was creating a file during the rename may still add it, at most
/// one file each.
fn remove_aborted(folder: &Path) -> Result<()> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() == NotFound => return Ok(()),
            Err(error) if error.kind() == DirectoryNotEmpty && attempts < ATTEMPTS => {}
            removed => return removed.map_err(|error| Error::from(error).in_file(folder.display().to_string())),
        }
    }
}

/// The id of the write that this folder name belongs to; also for folders that are being removed.
pub(crate) fn write_id_of(name: &str) -> Option<UniqueName> {
    UniqueName::parse(name.strip_suffix(REMOVED).unwrap_or(name)).ok()
}

/// Whether this folder is left over from an abort that was killed.
pub(crate) fn is_aborted_folder(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().ends_with(REMOVED))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::container::plan::WriteMode;
    use hyperslab_reader::{Session, SessionOptions};

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    fn left(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
        std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
    }

    #[test]
    fn an_abort_while_tasks_begin_and_end_leaves_nothing_and_the_late_ones_fail() -> Outcome {
        let folder = tempfile::tempdir()?;
        for _ in 0..30 {
            let mut plan = WritePlan::new(&folder.path().join("out.h5"), WriteMode::Create, None)?;
            plan.begin()?;
            let (plan, aborted) = (&plan, &AtomicBool::new(false));
            let late = std::thread::scope(|scope| -> Result<usize> {
                let tasks = (0..4).map(|index| {
                    scope.spawn(move || -> Result<usize> {
                        let session = Session::new(SessionOptions::default().with_threads(Some(1)))?;
                        let mut late = 0;
                        while late < 20 {
                            let after = aborted.load(Ordering::SeqCst);
                            let ended = plan.task(index, &session).and_then(|mut task| {
                                task.create_group("g")?;
                                task.finish()
                            });
                            late += usize::from(after);
                            match ended {
                                Ok(_) if after => return Err(Error::internal("a late task has written")),
                                Err(error) if after && error.kind() != ErrorKind::Cancelled => return Err(error),
                                _ => {}
                            }
                        }
                        Ok(late)
                    })
                });
                let tasks: Vec<_> = tasks.collect();
                std::thread::sleep(std::time::Duration::from_millis(3));
                let outcome = plan.abort();
                aborted.store(true, Ordering::SeqCst);
                let ended: Result<usize> = tasks.into_iter().map(|task| task.join().unwrap_or_else(|_| Err(Error::internal("a panic")))).sum();
                outcome.and(ended)
            })?;
            assert_eq!((late, left(folder.path())?), (80, vec![]));
            plan.abort()?;
            assert!(matches!(plan.commit(&[]), Err(error) if error.kind() == ErrorKind::Cancelled));
            assert_eq!(left(folder.path())?, Vec::<PathBuf>::new());
        }
        Ok(())
    }

    #[test]
    fn plans_for_one_file_begin_and_give_up_side_by_side() -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("out.h5");
        std::thread::scope(|scope| {
            let work = || {
                (0..200).try_for_each(|_| {
                    let mut plan = WritePlan::new(&path, WriteMode::Create, None)?;
                    plan.begin()?;
                    plan.abort()
                })
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(Error::internal("a panic"))))
        })?;
        assert_eq!(left(folder.path())?, Vec::<PathBuf>::new());
        Ok(())
    }
}
