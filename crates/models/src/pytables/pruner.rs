//! PyTables' own indexes as a [`Pruner`]: which of them scans use.
//!
//! PyTables marks an index as dirty when it knows that it is out of date. Other programs that change values of a table do not, and nothing
//! in the index says to which state of the table it belongs. So an index is used only if the session believes all indexes, or after
//! [`check_indexes`](super::check::check_indexes) has compared it with the table.

use std::collections::HashMap;
use std::sync::Arc;

use hyperslab_array::{Datatype, Result};
use hyperslab_columns::Column;
use hyperslab_formats::ObjectId;
use hyperslab_predicate::KeyType;
use hyperslab_reader::{File, ForkMutex};
use hyperslab_scan::pruner::{ColumnIndex, Pruner};

use super::index_lookup::{IndexedColumn, Lookup};
use super::sorted_index::{SortedIndex, Unusable};
use super::{Node, PyTables, name_of, nodes};
use crate::model::Model;

/// The indexes of PyTables, as scans see them.
struct PyTablesPruner {
    believes_all: bool,
}

/// The indexes of PyTables for the scans of a session. Without `believes_all`, only those that were compared with their tables.
pub fn pytables_pruner(believes_all: bool) -> Arc<dyn Pruner> {
    Arc::new(PyTablesPruner { believes_all })
}

/// What is known of a column's index: none, one, or one that cannot be used.
pub(super) type Opened = Option<Usable>;

/// An index, or why it cannot be used.
type Usable = std::result::Result<Arc<Lookup>, Unusable>;

/// The indexes that were looked for in an open file, by table and column.
#[derive(Default)]
struct Known {
    is_pytables: ForkMutex<Option<bool>>,
    indexes: ForkMutex<HashMap<(ObjectId, String), Opened>>,
}

/// The index of a column of the table at `path`.
///
/// # Errors
/// `Io` if the file cannot be read.
pub(super) fn opened(file: &File, table: ObjectId, path: &str, column: &str) -> Result<Opened> {
    let (known, key) = (file.kept::<Known>(), (table, column.to_owned()));
    if let Some(found) = known.indexes.lock().and_then(|known| known.get(&key).cloned()) {
        return Ok(found);
    }
    let index = SortedIndex::open(file, &*file.dataset(table)?, path, column)?;
    let found = index.map(|index| index.map(|index| Arc::new(Lookup::new(index))));
    if let Some(mut known) = known.indexes.lock() {
        // Another thread may have been faster, and have learned something since.
        return Ok(known.entry(key).or_insert(found).clone());
    }
    Ok(found)
}

fn is_pytables(file: &File) -> bool {
    let known = file.kept::<Known>();
    if let Some(is) = known.is_pytables.lock().and_then(|known| *known) {
        return is;
    }
    let is = PyTables.recognize(file).is_ok_and(|found| found.is_some());
    if let Some(mut known) = known.is_pytables.lock() {
        *known = Some(is);
    }
    is
}

impl PyTablesPruner {
    fn find(&self, file: &File, dataset: ObjectId, member: usize, column: &Column) -> Result<Option<IndexedColumn>> {
        if !is_pytables(file) {
            return Ok(None);
        }
        let table = file.dataset(dataset)?;
        let Datatype::Compound { members, .. } = &table.datatype else { return Ok(None) };
        let Some(member) = members.get(member) else { return Ok(None) };
        let Some(Ok(lookup)) = opened(file, dataset, &file.path_of(dataset)?, &member.name)? else { return Ok(None) };
        let is_used = lookup.index.problem().is_none() && (self.believes_all || lookup.index.is_verified());
        // A column that is decoded to other values has other keys.
        if !is_used || KeyType::of(column.field().data_type()) != Some(lookup.index.key_type) || column.datatype() != &member.datatype {
            return Ok(None);
        }
        let chunk_rows = table.chunk_grid.chunk_shape().first().copied().unwrap_or(1).max(1);
        Ok(Some(IndexedColumn { file: file.clone(), lookup, chunk_rows }))
    }
}

impl Pruner for PyTablesPruner {
    fn column(&self, _file: &File, _dataset: ObjectId, _column: &Column) -> Option<Arc<dyn ColumnIndex>> {
        None
    }

    fn member(&self, file: &File, dataset: ObjectId, member: usize, column: &Column) -> Option<Arc<dyn ColumnIndex>> {
        let found = self.find(file, dataset, member, column).ok().flatten()?;
        Some(Arc::new(found))
    }

    fn remarks(&self, file: &File) -> Vec<String> {
        if !is_pytables(file) {
            return Vec::new();
        }
        let mut remarks = Vec::new();
        for (table, column, found) in all(file).unwrap_or_default() {
            let why = match found {
                Err(why) => why,
                Ok(lookup) => match lookup.index.problem() {
                    Some(problem) => problem.to_owned(),
                    None if self.believes_all || lookup.index.is_verified() => continue,
                    None => {
                        "does not say to which state of the table it belongs: compare it with check_indexes(), or believe it with indexes=\"any\"".to_owned()
                    }
                },
            };
            remarks.push(format!("PyTables' index of {column} in /{table} is not used: it {why}"));
        }
        remarks
    }
}

/// Every index of the tables of a file: table, column, and the index or why it cannot be used.
///
/// # Errors
/// As of reading the file.
pub(super) fn all(file: &File) -> Result<Vec<(String, String, Usable)>> {
    let mut found = Vec::new();
    for (member, node) in nodes(file)? {
        let (Node::Table, Ok((place, _)), Some(dataset)) = (node, &member.object, member.dataset()) else { continue };
        let Datatype::Compound { members, .. } = &dataset.datatype else { continue };
        if place.file != *file {
            continue;
        }
        for column in members.iter() {
            if let Some(index) = opened(file, place.object, &member.path, &column.name)? {
                found.push((name_of(&member).to_owned(), column.name.clone(), index));
            }
        }
    }
    Ok(found)
}
