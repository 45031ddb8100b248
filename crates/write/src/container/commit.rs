//! Commits a write: the only step that readers see.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_storage::{Existing, FolderLock, Output, UniqueName, folder_of, sync_folder, sync_place};
use rayon::prelude::*;

use super::claim::{ClaimFiles, has_fresh_lookups};
use super::commit_name::CommitName;
use super::fragment::Fragment;
use super::gather::{InlineContents, gather};
use super::lineage::{living, records};
use super::master::Master;
use super::plan::{WriteMode, WritePlan};
use super::record::{RECORD, Record, SubfileRecord, read_record};
use super::row_counts::RowCounts;
use super::shared_subfile::{CLOSED, check, complete, is_mark};
use super::state::{State, state_of};
use super::tail;
use super::tail::{Appended, TAIL, commits_in};
use crate::file::reading_session::reading_session;
use crate::shared::layout::name_of;

/// Outcome of a commit.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "callers must handle each outcome")]
pub enum Commit {
    /// The file is complete, on disk, and visible.
    Committed(Committed),
    /// Tasks contradict each other, or the file has changed since the plan was made. The commit changed nothing.
    Conflicted(Error),
    /// Another process is committing; this commit changed nothing. Try again.
    Retryable(Error),
}

/// Result of a commit.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Committed {
    /// The subfiles of this commit.
    pub subfiles: Vec<SubfileRecord>,
    /// Whether an earlier call had already committed this write.
    pub repeated: bool,
    /// Leftover files that could not be removed. The file is complete anyway.
    pub left: Vec<String>,
    /// Why other programs may have problems reading the file.
    pub remarks: Vec<String>,
    /// Groups whose datasets had the same number of rows before this append, as table columns do, and have different ones after it: a
    /// sentence each. A plan appends to each dataset on its own, so only the caller knows whether these are columns.
    pub unequal_rows: Vec<String>,
}

/// Number of files that a process may usually have open.
const USUAL_OPEN_FILES: usize = 1024;

/// A remark if a master has more subfiles than programs based on the HDF5 library can usually open.
pub(crate) fn too_many_subfiles_remark(master: &Path, subfiles: usize) -> Option<String> {
    (subfiles > USUAL_OPEN_FILES / 4 * 3).then(|| {
        format!(
            "{}: {subfiles} subfiles; programs that use the HDF5 library keep all of them open, and when the limit is reached (usually {USUAL_OPEN_FILES} files, `ulimit -n`) \
             they show fill values without an error: make one file with fuse, or let tasks share subfiles",
            master.display()
        )
    })
}

/// The tail of a commit that later commits added rows to.
fn tail_subfiles(container: &Path, folder: &UniqueName) -> Result<Vec<SubfileRecord>> {
    let subfiles = read_record(container, folder)?.subfiles;
    Ok(subfiles.into_iter().filter(|subfile| subfile.name == TAIL).collect())
}

/// The error message of a failed removal.
fn failure_text(removed: Result<()>) -> Vec<String> {
    removed.err().iter().map(Error::to_string).collect()
}

impl WritePlan {
    /// Makes everything in the fragments visible at once: readers see all of it or nothing. If there are fragments of several
    /// attempts at a task, the first counts. Idempotent: calling it again, even after it was killed, has the same result.
    ///
    /// # Errors
    /// `InvalidInput` for fragments of another plan; `Corrupt` if a subfile has another length than its fragment says;
    /// `Io` if a file cannot be written. A conflict is an outcome, not an error.
    pub fn commit(&self, fragments: &[Fragment]) -> Result<Commit> {
        let committed = match &self.store {
            Some(place) => self.by_task(fragments).and_then(|by_task| self.commit_objects(place, &by_task)).map_err(Failure::Other),
            None => self.try_commit(fragments),
        };
        match committed {
            Ok(committed) => Ok(Commit::Committed(committed)),
            Err(Failure::Busy(error)) => Ok(Commit::Retryable(error)),
            Err(Failure::Other(error)) if error.kind() == ErrorKind::Conflict => Ok(Commit::Conflicted(error.in_file(self.path().display().to_string()))),
            Err(Failure::Other(error)) => Err(error.in_file(self.path().display().to_string())),
        }
    }

    fn try_commit(&self, fragments: &[Fragment]) -> Result<Committed, Failure> {
        let container = self.container();
        if self.begun
            && !self.folder().is_dir()
            && let Some(done) = self.find_earlier_commit(&state_of(self.path())?)?
        {
            return Ok(done);
        }
        self.folder_for_writing()?;
        let _lock = FolderLock::take(&container).map_err(|error| match error.kind() {
            ErrorKind::Conflict => Failure::Busy(error),
            _ => Failure::Other(error),
        })?;
        match self.commit_locked(fragments) {
            // Without locks, another process may have committed the same plan meanwhile.
            Err(Failure::Other(error)) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => {
                self.find_earlier_commit(&state_of(self.path())?)?.ok_or(Failure::Other(error))
            }
            done => done,
        }
    }

    /// The fragments by task. The first of several attempts at a task counts.
    pub(crate) fn by_task<'a>(&self, fragments: &'a [Fragment]) -> Result<BTreeMap<u64, &'a Fragment>> {
        let mut by_task: BTreeMap<u64, &Fragment> = BTreeMap::new();
        for fragment in fragments {
            if fragment.write_id != self.id {
                return Err(Error::invalid_input(format!("the fragment of task {} belongs to another plan", fragment.task)));
            }
            check(self.sharing.as_ref(), fragment)?;
            by_task.entry(fragment.task).or_insert(fragment);
        }
        Ok(by_task)
    }

    fn commit_locked(&self, fragments: &[Fragment]) -> Result<Committed, Failure> {
        let by_task = self.by_task(fragments)?;
        let (container, folder) = (self.container(), self.folder());
        let now = state_of(self.path())?;
        if now != self.base
            && let Some(done) = self.find_earlier_commit(&now)?
        {
            return Ok(done);
        }
        self.check_base(&now)?;
        let mut master = match self.mode {
            WriteMode::Append if now != State::Absent => Master::load(self.path())?,
            _ => Master::default(),
        };
        let rows_before = RowCounts::of(&master);
        let seen_from_master = relative(&folder, self.path())?;
        let (mut subfiles, contents) = self.subfiles_of(&by_task)?;
        // Find contradictions before anything is changed.
        master.merge_plan(self)?;
        for fragment in by_task.values() {
            master.merge(fragment, &seen_from_master)?;
        }
        master.check_overlaps()?;
        let unequal_rows = RowCounts::of(&master).unequal_since(&rows_before);
        let shared = self.complete_shared(&by_task)?;
        rename_shared(&mut master, &shared, &seen_from_master);
        let mut name = CommitName { id: self.id.clone(), folder: self.id.clone() };
        let appended = match (&now, self.mode) {
            (State::Committed { commit }, WriteMode::Append) if shared.is_empty() => {
                tail::append(self, &mut master, commit, &seen_from_master, &subfiles, &contents)?
            }
            _ => Appended::No,
        };
        match appended {
            Appended::No => subfiles = gather(self, &mut master, &seen_from_master, subfiles, &contents)?,
            Appended::New(tail) => subfiles = vec![tail],
            Appended::Existing(folder) => {
                subfiles = tail_subfiles(&container, &folder)?;
                name.folder = folder;
            }
        }
        for subfile in &subfiles {
            if let Some(content) = contents.get(&*subfile.name) {
                self.write_subfile(&subfile.name, content)?;
            }
        }
        subfiles.extend(shared.into_values());
        master.join_parts();
        let is_base_kept = self.sync_base();
        self.publish(&mut master, &now, &name, &subfiles)?;
        let left = if name.folder == self.id { self.remove_unused(&subfiles, &master, is_base_kept) } else { failure_text(remove_folder(&folder)) };
        let remarks = too_many_subfiles_remark(self.path(), master.sources()).into_iter().collect();
        Ok(Committed { subfiles, repeated: false, left, remarks, unequal_rows })
    }

    /// The subfiles that the fragments name, and the contents that are in fragments. `Corrupt` for a subfile of another length.
    fn subfiles_of<'a>(&self, by_task: &BTreeMap<u64, &'a Fragment>) -> Result<(Vec<SubfileRecord>, InlineContents<'a>)> {
        let (mut subfiles, mut contents) = (Vec::new(), InlineContents::default());
        for (task, fragment) in by_task {
            let Some(bytes) = fragment.bytes else { continue };
            if let Some(content) = &fragment.content {
                contents.insert(&fragment.name, &content.0);
                subfiles.push(SubfileRecord { name: fragment.name.clone(), bytes, task: *task, tasks: Vec::new(), checksums: None });
                continue;
            }
            let place = self.folder().join(&fragment.name);
            let length = std::fs::metadata(&place).map_err(|error| Error::from(error).in_file(place.display().to_string()))?.len();
            if length != bytes {
                let message = format!("the subfile of task {task} has {length} bytes, its fragment says {bytes}");
                return Err(Error::corrupt(message).in_file(place.display().to_string()));
            }
            let checksums = fragment.checksums.clone();
            subfiles.push(SubfileRecord { name: fragment.name.clone(), bytes, task: *task, tasks: Vec::new(), checksums });
        }
        Ok((subfiles, contents))
    }

    /// Writes the master, whose rename is the moment that readers see the commit, and before it the record of a commit that has files of
    /// its own.
    fn publish(&self, master: &mut Master, now: &State, name: &CommitName, subfiles: &[SubfileRecord]) -> Result<()> {
        let (container, folder) = (self.container(), self.folder());
        let existing = if *now == State::Absent { Existing::Keep } else { Existing::Replace };
        let claims = ClaimFiles { container: &container, state: now, master: self.path() };
        let (mut is_recorded, mut is_claimed) = (false, false);
        let written = master.write(self.path(), self, name, existing, |aside| {
            claims.claim(aside)?;
            is_claimed = true;
            // Earlier claims of this state have ended, or the state has changed.
            self.check_base(&state_of(self.path())?)?;
            if name.folder == self.id {
                is_recorded = true;
                self.write_record(now, subfiles)?;
            }
            Ok(())
        });
        let is_same = written.is_err() && state_of(self.path()).is_ok_and(|state| state == *now);
        // While the state is the same, the claim stays: see `claim`.
        if is_claimed && !is_same {
            claims.settle();
        }
        // A failed commit leaves no record, unless the error came after the rename or another process has committed the same plan.
        if let Err(error) = &written
            && is_recorded
            && is_same
            && error.kind() != ErrorKind::Conflict
        {
            let _ = std::fs::remove_file(folder.join(RECORD));
        }
        written.map(|_| ())
    }

    /// Writes a subfile whose content is in a fragment. Its directory entry is synced with the record of the commit. If an
    /// earlier call was killed after writing it, the content is the same.
    fn write_subfile(&self, name: &str, content: &[u8]) -> Result<()> {
        let mut output = Output::create_own(self.folder().join(name))?;
        if !self.durable {
            output.without_sync();
        }
        output.write_at(0, content)?;
        output.publish(content.len() as u64, Existing::Replace)
    }

    /// The result of an earlier call that committed this write, if any; synced to disk.
    fn find_earlier_commit(&self, now: &State) -> Result<Option<Committed>> {
        let State::Committed { commit } = now else { return Ok(None) };
        let container = self.container();
        let chain = match records(&container, commit) {
            // A master without records can still be overwritten.
            Err(_) if self.mode == WriteMode::Overwrite => return Ok(None),
            found => found?,
        };
        let mut names = std::iter::once(commit.clone()).chain(chain.iter().filter_map(|record| record.previous.clone()));
        let Some(name) = names.find(|name| name.folder == self.id || commits_in(&container, name).contains(&self.id)) else { return Ok(None) };
        let Some(record) = chain.iter().find(|record| record.id == name.folder) else { return Ok(None) };
        let subfiles = record.subfiles.clone();
        if self.durable {
            // The earlier call may have been killed before it synced.
            let folder = container.join(&name.folder);
            for synced in [&folder.join(RECORD), &folder, &container, self.path()] {
                sync_folder(synced)?;
            }
            sync_place(self.path())?;
        }
        ClaimFiles { container: &container, state: &self.base, master: self.path() }.settle();
        let left = match (name.folder == self.id).then(|| Master::load(self.path())) {
            // The base is gone, so that it is unknown whether it was on the disk.
            Some(Ok(master)) => self.remove_unused(&subfiles, &master, self.durable),
            // It is unknown what the master uses, so remove nothing.
            Some(Err(error)) => vec![error.to_string()],
            None => failure_text(remove_folder(&self.folder())),
        };
        Ok(Some(Committed { subfiles, repeated: true, left, remarks: Vec::new(), unequal_rows: Vec::new() }))
    }

    /// Writes the record of this commit into its folder, and syncs its folders.
    fn write_record(&self, now: &State, subfiles: &[SubfileRecord]) -> Result<()> {
        let (previous, replaced) = match (now, self.mode) {
            (State::Committed { commit }, WriteMode::Append) => (Some(commit.clone()), None),
            (State::Committed { commit }, _) => (None, Some(commit.clone())),
            _ => (None, None),
        };
        let record = Record::new(&self.id, previous, replaced, subfiles.to_vec()).encode()?;
        let mut output = Output::create_own(self.folder().join(RECORD))?;
        if !self.durable {
            output.without_sync();
        }
        output.write_at(0, &record)?;
        output.publish(record.len() as u64, Existing::Replace)?;
        if self.durable {
            sync_folder(&self.container())?;
            sync_folder(&folder_of(&self.container()))?;
        }
        Ok(())
    }

    /// Returns `Conflict` if the file has changed since the plan was made.
    fn check_base(&self, now: &State) -> Result<()> {
        if *now == self.base {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Conflict, "the file has changed since the plan was made: another process has written it; plan again"))
    }

    /// Completes the shared subfiles in parallel.
    fn complete_shared(&self, by_task: &BTreeMap<u64, &Fragment>) -> Result<BTreeMap<u64, SubfileRecord>> {
        let Some(sharing) = self.sharing.as_ref().filter(|sharing| sharing.factor > 1) else { return Ok(BTreeMap::new()) };
        // Tasks that begin from now on do not share; those that already do have left a mark.
        hyperslab_storage::claim(&self.folder().join(CLOSED))?;
        let mut groups: BTreeMap<u64, Vec<&Fragment>> = BTreeMap::new();
        for fragment in by_task.values() {
            if let Some(shared) = &fragment.shared {
                groups.entry(shared.group).or_default().push(fragment);
            }
        }
        let completed = |(group, fragments): (&u64, &Vec<&Fragment>)| Ok((*group, complete(self, sharing, *group, fragments)?));
        if groups.len() == 1 {
            return groups.iter().map(completed).collect();
        }
        reading_session()?.compute(|| groups.par_iter().map(completed).collect())
    }

    /// Removes files that the commit does not use: subfiles of other attempts, and what earlier commits replaced.
    /// Earlier ones only if `is_base_kept`: after a power failure, one of them or this one must be whole.
    fn remove_unused(&self, subfiles: &[SubfileRecord], master: &Master, is_base_kept: bool) -> Vec<String> {
        let mut left = Vec::new();
        // Without locks, another attempt at this commit may have rewritten the record.
        let used = master.files_in(&self.id);
        let recorded: HashSet<&str> = subfiles.iter().map(|subfile| &*subfile.name).collect();
        // A task of another machine that begins late may not see the record yet, but it cannot take a mark that is there.
        let has_old_lookups = !has_fresh_lookups(&self.folder());
        let kept = |name: &str| (has_old_lookups && is_mark(name)) || name == RECORD || tail::is_claim(name) || used.contains(name) || recorded.contains(name);
        if let Err(error) = remove_files(&self.folder(), |name| !kept(name)) {
            left.push(error.to_string());
        }
        if let (State::Committed { commit }, true, true) = (&self.base, self.mode != WriteMode::Create, is_base_kept)
            && let Err(error) = self.remove_superseded(commit)
        {
            left.push(error.to_string());
        }
        left
    }

    /// Before a commit that does not wait for the disk replaces another one, and removes what that one had replaced: waits until
    /// the other one is on the disk, so that a power failure leaves it. Returns whether it or this commit will be there.
    fn sync_base(&self) -> bool {
        let State::Committed { commit } = &self.base else { return true };
        let container = self.container();
        let found = if self.durable || self.mode == WriteMode::Create { Ok(Vec::new()) } else { records(&container, commit) };
        let Ok(records) = found else { return false };
        if !records.iter().any(|record| record.replaced.is_some()) {
            return true;
        }
        let sync = || {
            for record in &records {
                let folder = container.join(&record.id);
                for subfile in &record.subfiles {
                    sync_folder(&subfile.name.path_in(&folder))?;
                }
                sync_folder(&folder.join(RECORD))?;
                sync_folder(&folder)?;
            }
            sync_folder(&container)?;
            sync_folder(self.path())?;
            sync_place(self.path())
        };
        sync().is_ok()
    }

    /// Removes what `base`, the previous commit, and earlier commits replaced. What this commit replaced stays until the next
    /// one, because readers may just have opened the old master.
    fn remove_superseded(&self, base: &CommitName) -> Result<()> {
        let container = self.container();
        let older = |record: &Record| record.replaced.is_some();
        if !records(&container, base).is_ok_and(|records| records.iter().any(older)) {
            return Ok(());
        }
        let living = living(&container)?;
        for old in living.superseded.iter().filter(|old| old.by != self.id) {
            living.require_complete()?;
            let folder = container.join(&old.folder);
            remove_files(&folder, |name| name != RECORD).and_then(|()| remove_folder(&folder))?;
        }
        Ok(())
    }
}

enum Failure {
    Busy(Error),
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// Gives the shared subfiles in a master the names that they got. `seen` is the folder as the master names it.
fn rename_shared(master: &mut Master, shared: &BTreeMap<u64, SubfileRecord>, seen: &str) {
    let renamed = shared.iter().map(|(group, record)| (name_of(*group), record.name.to_string())).filter(|(expected, name)| expected != name);
    let renamed: HashMap<String, String> = renamed.map(|(expected, name)| (format!("{seen}/{expected}"), format!("{seen}/{name}"))).collect();
    if !renamed.is_empty() {
        master.rename_subfiles(&renamed);
    }
}

/// Path of `folder` relative to the folder of `master`.
fn relative(folder: &Path, master: &Path) -> Result<String> {
    let below = folder.strip_prefix(folder_of(master)).ok().and_then(Path::to_str);
    below.map(str::to_owned).ok_or_else(|| Error::invalid_input("a write plan whose path is not that of a file in a folder"))
}

pub(crate) fn remove_files(folder: &Path, unwanted: impl Fn(&str) -> bool) -> Result<()> {
    let failed = |error: std::io::Error| Error::from(error).in_file(folder.display().to_string());
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(failed)?,
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if unwanted(&entry.file_name().to_string_lossy()) {
            std::fs::remove_file(entry.path()).map_err(failed)?;
        }
    }
    Ok(())
}

pub(crate) fn remove_folder(folder: &Path) -> Result<()> {
    // Usually it is empty.
    if std::fs::remove_dir(folder).is_ok() {
        return Ok(());
    }
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::from(error).in_file(folder.display().to_string())),
        _ => Ok(()),
    }
}
