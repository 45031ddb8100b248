//! Variable-length columns of a dataset that several ranks write. Each rank has such a column in its own memory and records
//! which elements it has written; when the file is published, the leader merges the elements of the other ranks.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};

use super::state::Table;
use super::store::Store;
use crate::elements::arrow_arrays;
use crate::elements::dataspace::Dataspace;
use crate::elements::datatype::Datatype;
use crate::error::{Error, Result, error};

/// The key of the schema metadata that lists the ranges of elements.
const RUNS: &str = "hyperslab.runs";

impl Table {
    /// Records that this rank wrote elements of a leaf.
    pub(super) fn note(&mut self, leaf: usize, start: u64, count: u64) {
        if let (Some(runs), Some(Store::Memory(_))) = (self.written.get_mut(leaf), self.stores.get(leaf)) {
            match runs.last_mut() {
                Some((_, end)) if *end == start => *end += count,
                _ => runs.push((start, start + count)),
            }
        }
    }

    /// Forgets written elements from index `count` on.
    pub(super) fn forget(&mut self, count: u64) {
        for runs in &mut self.written {
            runs.retain(|(start, _)| *start < count);
            runs.iter_mut().for_each(|(_, end)| *end = count.min(*end));
        }
    }

    /// Whether a column has a variable-length datatype and is therefore always in memory.
    pub(super) fn has_heap(&self) -> bool {
        self.columns.iter().any(|column| !column.direct)
    }

    /// The leaves whose elements this rank wrote and the leader does not have yet.
    pub(crate) fn written_leaves(&self) -> Vec<usize> {
        self.written.iter().enumerate().filter(|(_, runs)| !runs.is_empty()).map(|(leaf, _)| leaf).collect()
    }

    /// Refuses an operation that needs the elements that other ranks wrote since the last flush. Collective.
    pub(super) fn check_known(&self, what: &str) -> Result<()> {
        let Some(ranks) = self.ranks.as_ref().filter(|_| self.has_heap()) else { return Ok(()) };
        let known = if self.written_leaves().is_empty() {
            Ok(())
        } else {
            Err(Error::unsupported(format!("{what} variable-length values that MPI ranks have written since the last flush is not supported; flush first")))
        };
        ranks.agree(known)
    }

    /// Refuses a change of shape that would move variable-length elements between ranks.
    pub(super) fn check_lines_stay(&self, from: &Dataspace, to: &Dataspace) -> Result<()> {
        if self.has_heap() && from.shape().get(1..) != to.shape().get(1..) {
            return Err(Error::unsupported("changing any dimension but the first of variable-length values that several MPI ranks have open is not supported"));
        }
        Ok(())
    }

    fn heap_datatype(&self, leaf: usize) -> Result<&Datatype> {
        let mut first = 0;
        for column in &self.columns {
            if first == leaf && !column.direct {
                return Ok(&column.datatype);
            }
            first += column.leaves.len();
        }
        Err(error!("column {leaf} does not have a variable-length datatype"))
    }

    /// The elements of a leaf that this rank wrote, as a record batch.
    pub(crate) fn written_values(&self, leaf: usize) -> Result<RecordBatch> {
        let (datatype, runs) = (self.heap_datatype(leaf)?, self.written.get(leaf).map_or(&[][..], Vec::as_slice));
        let Some(Store::Memory(all)) = self.stores.get(leaf) else { return Err(error!("variable-length values cannot be stored in a file")) };
        let (width, mut bytes, mut words) = (datatype.bytes(), Vec::new(), String::new());
        for (start, end) in runs {
            bytes.extend_from_slice(all.get(*start as usize * width..*end as usize * width).ok_or_else(|| error!("elements are beyond the end of the table"))?);
            words.push_str(&format!("{start} {end},"));
        }
        let array = arrow_arrays::to_arrow(datatype, &bytes, width, bytes.len() / width.max(1))?;
        let schema = Schema::new(vec![Field::new("value", array.data_type().clone(), true)]).with_metadata(HashMap::from([(RUNS.to_owned(), words)]));
        Ok(RecordBatch::try_new(Arc::new(schema), vec![array])?)
    }

    /// Merges the elements that another rank wrote.
    pub(crate) fn merge_written(&mut self, leaf: usize, batch: &RecordBatch) -> Result<()> {
        let broken = || error!("the elements that another MPI rank sent are damaged");
        let datatype = self.heap_datatype(leaf)?.clone();
        let width = datatype.bytes();
        let mut rest = &arrow_arrays::from_arrow(&datatype, batch.columns().first().ok_or_else(broken)?, &mut self.arenas)?[..];
        let Some(Store::Memory(all)) = self.stores.get_mut(leaf) else { return Err(error!("variable-length values cannot be stored in a file")) };
        for run in batch.schema().metadata().get(RUNS).ok_or_else(broken)?.split_terminator(',') {
            let (start, end) = run.split_once(' ').ok_or_else(broken)?;
            let place = |word: &str| word.parse::<usize>().ok().and_then(|element| element.checked_mul(width)).ok_or_else(broken);
            let to = all.get_mut(place(start)?..place(end)?).ok_or_else(broken)?;
            let (now, after) = rest.split_at_checked(to.len()).ok_or_else(broken)?;
            to.copy_from_slice(now);
            rest = after;
        }
        self.changed = true;
        Ok(())
    }
}
