//! Containers in object stores: the same master and subfiles as in a folder, but nothing can be renamed or locked there. Each task
//! uploads its subfile under a name of its own, and one conditional put of the master is the commit.

pub(crate) mod abort;
pub(crate) mod commit;
pub(crate) mod place;
pub(crate) mod planning;
pub(crate) mod task;
