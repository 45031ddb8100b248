//! Columns that only one process can publish, written by several: those of variable length, which are in the memory
//! of each. Each notes which elements it has written, and the first one takes in what the others give.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};

use super::state::Table;
use super::store::Store;
use crate::error::{Error, Result, error};
use crate::elements::datatype::Datatype;
use crate::elements::dataspace::Dataspace;
use crate::elements::arrow_arrays;

/// The key of the schema's metadata under which the runs of elements stand.
const RUNS: &str = "hyperslab.runs";

impl Table {
    /// Says that elements of a leaf were written by this process.
    pub(super) fn note(&mut self, leaf: usize, start: u64, count: u64) {
        if let (Some(runs), Some(Store::Memory(_))) = (self.written.get_mut(leaf), self.stores.get(leaf)) {
            match runs.last_mut() {
                Some((_, end)) if *end == start => *end += count,
                _ => runs.push((start, start + count)),
            }
        }
    }

    /// Forgets that elements from this one on were written.
    pub(super) fn forget(&mut self, count: u64) {
        for runs in &mut self.written {
            runs.retain(|(start, _)| *start < count);
            runs.iter_mut().for_each(|(_, end)| *end = count.min(*end));
        }
    }

    /// Whether a column is in memory whatever its length.
    pub(super) fn has_heap(&self) -> bool {
        self.columns.iter().any(|column| !column.direct)
    }

    /// The leaves of which this process has written elements that the first one does not know.
    pub(crate) fn written_leaves(&self) -> Vec<usize> {
        self.written.iter().enumerate().filter(|(_, runs)| !runs.is_empty()).map(|(leaf, _)| leaf).collect()
    }

    /// What processes that share the values cannot do without knowing what each has written.
    pub(super) fn check_known(&self, what: &str) -> Result<()> {
        let Some(ranks) = self.ranks.as_ref().filter(|_| self.has_heap()) else { return Ok(()) };
        let known = if self.written_leaves().is_empty() { Ok(()) } else { Err(Error::unsupported(format!("{what} values of variable length that MPI ranks have written since the last flush; flush first"))) };
        ranks.agree(known)
    }

    /// What processes that share the values cannot do with columns of variable length.
    pub(super) fn check_lines_stay(&self, from: &Dataspace, to: &Dataspace) -> Result<()> {
        if self.has_heap() && from.shape().get(1..) != to.shape().get(1..) {
            return Err(Error::unsupported("a change of other dimensions than the first of values of variable length that several MPI ranks have open"));
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
        Err(error!("column {leaf} has no values of variable length"))
    }

    /// The elements of a leaf that this process has written.
    pub(crate) fn written_values(&self, leaf: usize) -> Result<RecordBatch> {
        let (datatype, runs) = (self.heap_datatype(leaf)?, self.written.get(leaf).map_or(&[][..], Vec::as_slice));
        let Some(Store::Memory(all)) = self.stores.get(leaf) else { return Err(error!("values of variable length in a file")) };
        let (width, mut bytes, mut words) = (datatype.bytes(), Vec::new(), String::new());
        for (start, end) in runs {
            bytes.extend_from_slice(all.get(*start as usize * width..*end as usize * width).ok_or_else(|| error!("values beyond the table"))?);
            words.push_str(&format!("{start} {end},"));
        }
        let array = arrow_arrays::to_arrow(datatype, &bytes, width, bytes.len() / width.max(1))?;
        let schema = Schema::new(vec![Field::new("value", array.data_type().clone(), true)]).with_metadata(HashMap::from([(RUNS.to_owned(), words)]));
        Ok(RecordBatch::try_new(Arc::new(schema), vec![array])?)
    }

    /// Takes in what another process has written.
    pub(crate) fn merge_written(&mut self, leaf: usize, batch: &RecordBatch) -> Result<()> {
        let broken = || error!("what another rank has written is damaged");
        let datatype = self.heap_datatype(leaf)?.clone();
        let width = datatype.bytes();
        let mut rest = &arrow_arrays::from_arrow(&datatype, batch.columns().first().ok_or_else(broken)?, &mut self.arenas)?[..];
        let Some(Store::Memory(all)) = self.stores.get_mut(leaf) else { return Err(error!("values of variable length in a file")) };
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
