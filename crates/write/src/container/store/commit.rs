//! The commit of a write to an object store: all subfiles are there already, and one conditional put of the master makes them visible.

use std::collections::{BTreeMap, HashMap, HashSet};

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_storage::{FoundObject, PutCondition, StorageOptions, list_folder, put_object, remove_objects};

use super::abort::end_uploads;
use super::place::{BEGUN, StorePlace, record_in};
use crate::container::commit::{Committed, too_many_subfiles_remark};
use crate::container::commit_name::CommitName;
use crate::container::fragment::Fragment;
use crate::container::master::Master;
use crate::container::plan::WritePlan;
use crate::container::record::{RECORD, Record, SubfileRecord};
use crate::container::state::State;
use crate::file::file_writer::FileWriter;
use crate::file::reading_session::reading_session;

/// Maximum bytes of a master: it is put from memory, in one request.
const MAX_MASTER_BYTES: u64 = 256 << 20;

impl WritePlan {
    /// Commits to an object store. Idempotent: if an earlier call has committed this write, the result says so.
    pub(crate) fn commit_objects(&self, place: &StorePlace, by_task: &BTreeMap<u64, &Fragment>) -> Result<Committed> {
        let outcome = match self.put_master(place, by_task) {
            // Another call may have committed this plan, and an answer of the store may be lost after it has put the master.
            Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound | ErrorKind::Cancelled | ErrorKind::Io) => {
                match self.is_master_there(place) {
                    Ok(true) => self.earlier_commit(place),
                    _ => Err(error),
                }
            }
            outcome => outcome,
        };
        outcome.map_err(|error| place.explained(error))
    }

    fn put_master(&self, place: &StorePlace, by_task: &BTreeMap<u64, &Fragment>) -> Result<Committed> {
        let (folder, options) = (self.object_folder(), place.options());
        // Find contradictions before anything is changed.
        let mut master = Master::default();
        master.merge_plan(self)?;
        for fragment in by_task.values() {
            master.merge(fragment, &self.folder_in_master(place))?;
        }
        master.check_overlaps()?;
        master.join_parts();
        let found = list_folder(&folder, &options)?;
        if self.begun && !found.iter().any(|object| object.name == BEGUN) {
            return Err(Error::new(ErrorKind::Cancelled, "this write was aborted: its objects are gone"));
        }
        let subfiles = subfiles(by_task, &found)?;
        let content = self.master_content(&mut master, &options)?;
        self.record_choice(&folder, &options, &subfiles)?;
        let condition = place.base.clone().map_or(PutCondition::IfAbsent, PutCondition::IfUnchanged);
        put_object(&self.path().to_string_lossy(), &options, content, condition).map_err(|error| match error.kind() {
            ErrorKind::Conflict => {
                Error::new(ErrorKind::Conflict, "the object has changed since the plan was made: another process has written it; plan again")
            }
            _ => error,
        })?;
        let left = remove_unused(&folder, &options, &found, &subfiles);
        let remarks = too_many_subfiles_remark(self.path(), master.sources()).into_iter().collect();
        Ok(Committed { subfiles, repeated: false, left, remarks, unequal_rows: Vec::new() })
    }

    /// Decides which attempt at each task is committed. Of two calls that choose differently, the first decides: the second could remove
    /// what the first one made visible.
    fn record_choice(&self, folder: &str, options: &StorageOptions, subfiles: &[SubfileRecord]) -> Result<()> {
        let replaced = if let State::Committed { commit } = &self.base { Some(commit.clone()) } else { None };
        let record = Record::new(&self.id, None, replaced, subfiles.to_vec()).encode()?;
        let Err(error) = put_object(&format!("{folder}/{RECORD}"), options, record, PutCondition::IfAbsent) else { return Ok(()) };
        if !matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Io) {
            return Err(error);
        }
        let Some(found) = record_in(folder, options, &self.id)? else { return Err(error) };
        match found.subfiles == subfiles {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Conflict,
                "an earlier commit of this plan has chosen other attempts at its tasks: commit those, or abort the plan and write again",
            )),
        }
    }

    /// The complete master.
    fn master_content(&self, master: &mut Master, options: &StorageOptions) -> Result<Vec<u8>> {
        let mut file = FileWriter::for_object(&self.path().to_string_lossy(), self.alignment, options, &reading_session()?)?;
        master.write_into(&mut file, &CommitName { id: self.id.clone(), folder: self.id.clone() })?;
        file.finish_content(MAX_MASTER_BYTES)
    }

    /// The result of an earlier call that has committed this write.
    fn earlier_commit(&self, place: &StorePlace) -> Result<Committed> {
        let (folder, options) = (self.object_folder(), place.options());
        let record = record_in(&folder, &options, &self.id)?;
        let subfiles = record.ok_or_else(|| Error::not_found("the record of this commit is gone").in_file(&folder))?.subfiles;
        // The earlier call may have been killed before it had done so.
        let left = remove_unused(&folder, &options, &list_folder(&folder, &options)?, &subfiles);
        Ok(Committed { subfiles, repeated: true, left, remarks: Vec::new(), unequal_rows: Vec::new() })
    }
}

/// The subfiles of these fragments, all of which must be in the store.
fn subfiles(by_task: &BTreeMap<u64, &Fragment>, found: &[FoundObject]) -> Result<Vec<SubfileRecord>> {
    let lengths: HashMap<&str, u64> = found.iter().map(|object| (object.name.as_str(), object.bytes)).collect();
    let mut subfiles = Vec::with_capacity(by_task.len());
    for (task, fragment) in by_task {
        let Some(bytes) = fragment.bytes.filter(|_| fragment.content.is_none() && fragment.shared.is_none()) else {
            return Err(Error::invalid_input(format!("the fragment of task {task} is of a local file, and the plan writes to an object store")));
        };
        match lengths.get(&*fragment.name) {
            None => {
                return Err(Error::not_found(format!(
                    "the subfile of task {task} is not in the store: the write was aborted, or another attempt was committed"
                )));
            }
            Some(length) if *length != bytes => {
                return Err(Error::corrupt(format!("the subfile of task {task} has {length} bytes, its fragment says {bytes}")));
            }
            Some(_) => subfiles.push(SubfileRecord { name: fragment.name.clone(), bytes, task: *task, tasks: Vec::new(), checksums: None }),
        }
    }
    Ok(subfiles)
}

/// Removes objects that the commit does not use: objects of other attempts, and uploads of killed tasks. Returns what failed.
fn remove_unused(folder: &str, options: &StorageOptions, found: &[FoundObject], subfiles: &[SubfileRecord]) -> Vec<String> {
    let used: HashSet<&str> = subfiles.iter().map(|subfile| &*subfile.name).chain([RECORD]).collect();
    let unused: Vec<String> = found.iter().filter(|object| !used.contains(object.name.as_str())).map(|object| object.name.clone()).collect();
    let ended = end_uploads(folder, options, &unused);
    let removed = ended.and_then(|()| remove_objects(folder, options, unused));
    removed.err().iter().map(Error::to_string).collect()
}
