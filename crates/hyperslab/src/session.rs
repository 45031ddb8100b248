//! Sessions that use value indexes and know data models.

use std::path::PathBuf;
use std::sync::Arc;

use hyperslab_array::Result;
use hyperslab_columns::Column;
use hyperslab_formats::ObjectId;
use hyperslab_index::IndexTrust;
use hyperslab_reader::{Extensions, File, Session, SessionOptions};
use hyperslab_scan::pruner::{AskedValues, ColumnIndex, CompositeMatch, Pruner, SessionPruner};

/// A session whose scans use the value indexes of its files and read the tables of data models.
///
/// # Errors
/// `InvalidInput` for 0 threads.
pub fn new_session(options: SessionOptions) -> Result<Session> {
    new_session_with_indexes(options, None, IndexTrust::default())
}

/// As [`new_session`], with a folder for the indexes of files in any folder, which is searched before those next to the files:
/// for data in folders that are read-only. `trust` says which indexes are used.
///
/// # Errors
/// `InvalidInput` for 0 threads.
pub fn new_session_with_indexes(options: SessionOptions, index_folder: Option<PathBuf>, trust: IndexTrust) -> Result<Session> {
    Session::with_extensions(options, extensions(index_folder, trust))
}

/// What [`new_session_with_indexes`] adds to a session, for bindings that add more.
pub fn extensions(index_folder: Option<PathBuf>, trust: IndexTrust) -> Extensions {
    let extensions = hyperslab_index::extensions(index_folder, trust).with(hyperslab_models::extension());
    let Some(own) = extensions.get::<SessionPruner>().map(|pruner| pruner.0.clone()).filter(|_| trust != IndexTrust::None) else { return extensions };
    extensions.with(SessionPruner(Arc::new(Pruners([own, hyperslab_models::pytables_pruner(trust == IndexTrust::Any)]))))
}

/// Several pruners: the first that has an index is asked.
struct Pruners([Arc<dyn Pruner>; 2]);

impl Pruner for Pruners {
    fn column(&self, file: &File, dataset: ObjectId, column: &Column) -> Option<Arc<dyn ColumnIndex>> {
        self.0.iter().find_map(|pruner| pruner.column(file, dataset, column))
    }

    fn member(&self, file: &File, dataset: ObjectId, member: usize, column: &Column) -> Option<Arc<dyn ColumnIndex>> {
        self.0.iter().find_map(|pruner| pruner.member(file, dataset, member, column))
    }

    fn has_composites(&self, file: &File) -> bool {
        self.0.iter().any(|pruner| pruner.has_composites(file))
    }

    fn composite(&self, file: &File, asked: &[AskedValues<'_>]) -> Option<CompositeMatch> {
        self.0.iter().find_map(|pruner| pruner.composite(file, asked))
    }

    fn remarks(&self, file: &File) -> Vec<String> {
        self.0.iter().flat_map(|pruner| pruner.remarks(file)).collect()
    }
}
