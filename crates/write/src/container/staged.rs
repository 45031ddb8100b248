//! Containers on file systems that only the calling program can write to, such as Hadoop's in Java. Tasks write their subfiles into local folders,
//! the program copies these to their place, and puts the master that [`WritePlan::stage`] writes to a local file.

use std::path::Path;

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_storage::Existing;

use super::commit::too_many_subfiles_remark;
use super::commit_name::{CommitName, commit_of};
use super::fragment::Fragment;
use super::lineage::CONTAINER_SUFFIX;
use super::master::Master;
use super::plan::WritePlan;
use super::record::{Record, SubfileRecord};

/// The file that a staged master replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StagedBase<'a> {
    /// There is none, or one that no plan has written, which the new master replaces.
    Nothing,
    /// A master with this commit, which the new master replaces.
    Replaced(&'a str),
    /// The local copy of a master whose objects the new master has, too.
    Appended(&'a Path),
}

/// A master that the program puts into its place.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Staged {
    /// The subfiles that must be in the folder of the write, with their lengths in bytes.
    pub subfiles: Vec<SubfileRecord>,
    /// Content of the record of the commit, `commit.json` in that folder.
    pub record: Vec<u8>,
    /// Why other programs may have problems reading the file.
    pub remarks: Vec<String>,
}

impl WritePlan {
    /// The same plan for another local folder, in which a task writes its subfile at [`WritePlan::subfolder`]. The program copies it to the same place
    /// relative to the master.
    ///
    /// # Errors
    /// `InvalidInput` for a plan of an object store, or one that has begun; `Unsupported` for a folder that is not UTF-8.
    pub fn in_folder(&self, folder: &Path) -> Result<Self> {
        if self.is_remote() || self.begun {
            return Err(
                Error::invalid_input("only a plan of local files that has not begun can be moved to another folder").in_file(self.path().display().to_string())
            );
        }
        let name = self.path().file_name().ok_or_else(|| Error::invalid_input("a plan without a file name"))?;
        let moved = folder.join(name);
        let text = moved.to_str().ok_or_else(|| Error::unsupported("a path that is not UTF-8").in_file(moved.display().to_string()))?;
        Ok(self.with_path(text.to_owned()))
    }

    /// Path of the folder with the subfiles of this write, relative to the folder of the master.
    ///
    /// # Errors
    /// `InvalidInput` for a plan without a file name.
    pub fn subfolder(&self) -> Result<String> {
        let name = self.path().file_name().and_then(|name| name.to_str()).ok_or_else(|| Error::invalid_input("a plan without a file name"))?;
        Ok(format!("{name}{CONTAINER_SUFFIX}/{}", self.id))
    }

    /// Writes the master of these fragments to the local file `master`. If there are fragments of several attempts at a task, the first counts.
    /// The subfiles are not read: the program checks that they are in their place, with the lengths of [`Staged::subfiles`].
    ///
    /// # Errors
    /// `InvalidInput` for fragments of another plan, and for rows that are in a fragment instead of a subfile; `Conflict` if tasks contradict each other
    /// or the file that they append to; `Unsupported` for appending to a file that no plan has written; `Io` if the master cannot be written.
    pub fn stage(&self, fragments: &[Fragment], base: StagedBase<'_>, master: &Path) -> Result<Staged> {
        let by_task = self.by_task(fragments)?;
        let (mut merged, previous, replaced) = match base {
            StagedBase::Nothing => (Master::default(), None, None),
            StagedBase::Replaced(commit) => {
                let commit = CommitName::parse(commit).ok_or_else(|| Error::invalid_input(format!("{commit:?} is not the name of a commit")))?;
                (Master::default(), None, Some(commit))
            }
            StagedBase::Appended(copy) => {
                let commit = commit_of(copy)?.ok_or_else(|| Error::unsupported("appending to a file that no plan has written"))?;
                (Master::load(copy)?, Some(commit), None)
            }
        };
        let folder = self.subfolder()?;
        merged.merge_plan(self)?;
        let mut subfiles = Vec::with_capacity(by_task.len());
        for (task, fragment) in &by_task {
            merged.merge(fragment, &folder)?;
            if fragment.content.is_some() || fragment.shared.is_some() {
                return Err(Error::invalid_input(format!("the fragment of task {task} has no subfile of its own")));
            }
            let Some(bytes) = fragment.bytes else { continue };
            subfiles.push(SubfileRecord { name: fragment.name.clone(), bytes, task: *task, tasks: Vec::new(), checksums: None });
        }
        merged.check_overlaps()?;
        merged.join_parts();
        let name = CommitName { id: self.id.clone(), folder: self.id.clone() };
        merged.write(master, self, &name, Existing::Replace, |_| Ok(())).map_err(|error| match error.kind() {
            ErrorKind::Io => error.with_note("this is the local copy of the master, before it is put into its place"),
            _ => error,
        })?;
        let record = Record::new(&self.id, previous, replaced, subfiles.clone()).encode()?;
        Ok(Staged { remarks: too_many_subfiles_remark(self.path(), merged.sources()).into_iter().collect(), subfiles, record })
    }
}

#[cfg(test)]
mod tests {
    use hyperslab_array::{ByteOrder, Cancellation, Dataspace, Datatype, Selection};
    use hyperslab_formats::Object;
    use hyperslab_reader::{Session, SessionOptions};

    use super::super::plan::WriteMode;
    use super::super::task::Extent;
    use super::*;
    use crate::file::definition::DatasetDefinition;
    use crate::file::file_writer::no_heap;
    use crate::file::regions::region::Region;

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    fn definition() -> DatasetDefinition {
        let datatype = Datatype::integer(1, false, ByteOrder::Little);
        DatasetDefinition::new(datatype, Dataspace::Simple { shape: vec![0], max_shape: vec![None] })
    }

    /// Each task in a folder of its own, from which the program moves the subfile to `place`.
    fn write(plan: &WritePlan, rows: &[&[u8]], place: &Path) -> std::result::Result<Vec<Fragment>, Box<dyn std::error::Error>> {
        let session = Session::new(SessionOptions::default().with_threads(Some(1)))?;
        let mut fragments = Vec::new();
        for (index, rows) in (0..).zip(rows) {
            let folder = tempfile::tempdir()?;
            let mut task = plan.in_folder(folder.path())?.task(index, &session)?;
            task.create_dataset("x", definition(), Extent::Rows)?;
            let count = rows.len() as u64;
            task.grow("x", vec![count])?;
            task.write("x", &Region { start: vec![0], count: vec![count] }, rows, &no_heap)?;
            fragments.push(task.finish()?);
            std::fs::create_dir_all(place.join(plan.subfolder()?))?;
            for subfile in std::fs::read_dir(folder.path().join(plan.subfolder()?))? {
                let subfile = subfile?;
                std::fs::rename(subfile.path(), place.join(plan.subfolder()?).join(subfile.file_name()))?;
            }
        }
        Ok(fragments)
    }

    fn values(master: &Path) -> Result<Vec<u8>> {
        let file = Session::new(SessionOptions::default().with_threads(Some(1)))?.open(master)?;
        let id = file.find("/x")?.object;
        let Object::Dataset(dataset) = file.object(id)? else { return Err(Error::internal("no dataset")) };
        Ok(file.read(id, &Selection::all(dataset.dataspace.shape()), &Cancellation::new())?.bytes)
    }

    #[test]
    fn a_program_puts_subfiles_and_masters_into_their_places() -> Outcome {
        let (place, local) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let (master, staged) = (place.path().join("out.h5"), local.path().join("staged.h5"));
        let first = WritePlan::new(&local.path().join("out.h5"), WriteMode::Create, None)?;
        let fragments = write(&first, &[&[1, 2, 3], &[4]], place.path())?;
        let done = first.stage(&fragments, StagedBase::Nothing, &staged)?;
        for subfile in &done.subfiles {
            assert_eq!(std::fs::metadata(place.path().join(first.subfolder()?).join(&subfile.name))?.len(), subfile.bytes);
        }
        assert_eq!((done.subfiles.len(), master.exists()), (2, false));
        std::fs::copy(&staged, &master)?;
        assert_eq!(values(&master)?, [1, 2, 3, 4]);
        let more = WritePlan::new(&local.path().join("out.h5"), WriteMode::Create, None)?;
        let fragments = write(&more, &[&[5], &[6, 7]], place.path())?;
        let done = more.stage(&fragments, StagedBase::Appended(&master), &staged)?;
        assert!(String::from_utf8(done.record)?.contains(&format!("\"previous\": \"{}\"", first.id())));
        std::fs::copy(&staged, &master)?;
        assert_eq!(values(&master)?, [1, 2, 3, 4, 5, 6, 7]);
        let other = WritePlan::new(&local.path().join("out.h5"), WriteMode::Create, None)?;
        assert_eq!(other.stage(&fragments, StagedBase::Nothing, &staged).err().map(|error| error.kind()), Some(ErrorKind::InvalidInput));
        let fragments = write(&other, &[&[9]], place.path())?;
        let done = other.stage(&fragments, StagedBase::Replaced(more.id()), &staged)?;
        assert!(String::from_utf8(done.record)?.contains(&format!("\"replaced\": \"{}\"", more.id())));
        std::fs::copy(&staged, &master)?;
        assert_eq!(values(&master)?, [9]);
        Ok(())
    }

    #[test]
    fn a_file_that_no_plan_has_written_is_not_added_to() -> Outcome {
        let local = tempfile::tempdir()?;
        let plan = WritePlan::new(&local.path().join("out.h5"), WriteMode::Create, None)?;
        let other = local.path().join("other.h5");
        std::fs::write(&other, b"no HDF5")?;
        let staged = plan.stage(&[], StagedBase::Appended(&other), &local.path().join("staged.h5"));
        assert_eq!(staged.err().map(|error| error.kind()), Some(ErrorKind::Unsupported));
        Ok(())
    }
}
