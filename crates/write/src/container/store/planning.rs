//! Plans for object stores: how one is made, and where its objects are.

use std::path::Path;

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_storage::{EntryName, StorageOptions, is_address, object_name, object_tag, shown_address};

use super::place::{StorePlace, commit_if_master};
use crate::container::lineage::CONTAINER_SUFFIX;
use crate::container::plan::{WriteMode, WritePlan};
use crate::container::state::State;

impl WritePlan {
    /// As [`WritePlan::new`], for a path or for an address of an object store, with the options of its store. Credentials among the
    /// options stay in this process: [`WritePlan::encode`] leaves them out.
    ///
    /// # Errors
    /// As [`WritePlan::new`]. For an address `Unsupported` for appending and for HTTP servers, and `Io` if the store does not answer or
    /// refuses.
    pub fn new_at(path: &Path, mode: WriteMode, alignment: Option<u64>, options: &StorageOptions) -> Result<Self> {
        let Some(address) = path.to_str().filter(|name| is_address(name)) else { return Self::new(path, mode, alignment) };
        let shown = || shown_address(address).into_owned();
        if mode == WriteMode::Append {
            return Err(Error::unsupported(
                "appending to a container of an object store: write a container of its own for each step, or append to a local file",
            )
            .in_file(shown()));
        }
        let name = object_name(address)?;
        if name.contains(['%', '?', '#']) {
            return Err(Error::unsupported("a plan for an object with '%', '?' or '#' in its name").in_file(shown()));
        }
        let base = object_tag(address, options)?;
        if mode == WriteMode::Create && base.is_some() {
            return Err(Error::new(ErrorKind::Conflict, "there is an object of this name already").in_file(shown()));
        }
        let place = StorePlace::new(EntryName::parse(&name)?, base, options.clone());
        let commit = if place.base.is_some() { commit_if_master(address, options)? } else { None };
        let state = commit.map_or(State::Absent, |commit| State::Committed { commit });
        let mut plan = Self::made(address.to_owned(), mode, state, alignment);
        plan.store = Some(place);
        Ok(plan)
    }

    /// Whether it writes to an object store.
    pub fn is_remote(&self) -> bool {
        self.store.is_some()
    }

    /// Sets the options of the store in this process, with credentials, which do not travel with the plan.
    ///
    /// # Errors
    /// `InvalidInput` for a plan of local files.
    pub fn set_storage_options(&mut self, options: StorageOptions) -> Result<()> {
        let path = self.path().display().to_string();
        let place = self.store.as_mut().ok_or_else(|| Error::invalid_input("options of a store for a plan of local files").in_file(path))?;
        place.set_options(options);
        Ok(())
    }

    /// Address of the folder with the objects of this write.
    pub(super) fn object_folder(&self) -> String {
        format!("{}{CONTAINER_SUFFIX}/{}", self.path().display(), self.id)
    }

    /// The folder with the objects of this write, relative to the master.
    pub(super) fn folder_in_master(&self, place: &StorePlace) -> String {
        format!("{}{CONTAINER_SUFFIX}/{}", place.name, self.id)
    }

    /// Whether the master in the store is the one of this plan.
    pub(super) fn is_master_there(&self, place: &StorePlace) -> Result<bool> {
        let commit = commit_if_master(&self.path().to_string_lossy(), &place.options())?;
        Ok(commit.is_some_and(|commit| commit.id == self.id))
    }
}
