//! Audits of a composite index: compare a few rows with what the index says of them, as `audit` does for one dataset.

use hyperslab_array::{Cancellation, Error, ErrorKind, Region, Result};
use hyperslab_formats::StorageLayout;
use hyperslab_scan::pruner::BoxSide;

use super::audit::{ASK_AGAIN, FROM_DATA};
use super::composite_index::{IndexedComposite, sides_of};
use super::random::below;
use super::row_collector::{MatchingPositions, Positions};
use crate::block::composite::KeyColumn;
use crate::block::composite_query::Side;
use crate::store::audit_memory::Finding;
use crate::store::block_directory::BlockEntry;

/// Number of rows that an audit tests.
const ROWS: usize = 4;

impl IndexedComposite {
    /// Whether single values can be read without decoding chunks.
    fn has_plain_values(&self) -> Result<bool> {
        for values in self.values.iter() {
            let dataset = self.file.dataset(values.dataset)?;
            let is_read_in_place = matches!(dataset.storage, StorageLayout::Contiguous | StorageLayout::Chunked);
            if !is_read_in_place || !dataset.filters.is_empty() || dataset.written_shape.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Notes the result of an audit. Data that cannot be read neither refute nor confirm the index.
    fn judge(&self, is_right: Result<bool>, passed: Finding, what_follows: &str) -> Result<()> {
        match is_right {
            Ok(false) => return Err(self.refuted(what_follows)),
            Ok(true) => self.directory.note(passed),
            Err(_) => {}
        }
        Ok(())
    }

    /// Refutes the index; the error says so, and `what_follows`.
    fn refuted(&self, what_follows: &str) -> Error {
        self.directory.refute();
        let paths = self.values.label(&self.file).unwrap_or_default();
        let message = format!("the index of {paths} in {} disagrees with the data: {what_follows}; rebuild or remove the index", self.file.name());
        Error::new(ErrorKind::Conflict, message)
    }

    /// Compares rows of a random block with what the index says of them. An error says that the index is refuted.
    pub(crate) fn audit_claims(&self) -> Result<()> {
        if !self.file.array_file().is_stored() || self.directory.entries().is_empty() {
            return Ok(());
        }
        if self.directory.has(Finding::Refuted) {
            return Err(self.refuted(FROM_DATA));
        }
        let is_costly = !self.has_plain_values().unwrap_or(false);
        self.audits.spend(self.directory.is_first_audit(), is_costly, || self.judge(self.claims_are_right(), Finding::Claims, FROM_DATA))
    }

    /// Whether some rows of a random block have the keys that the index says, and no others are missing.
    fn claims_are_right(&self) -> Result<bool> {
        let entries = self.directory.entries();
        let start = below(entries.len() as u64) as usize;
        let Some(entry) = entries.iter().cycle().skip(start).take(entries.len()).find(|entry| self.directory.row(entry).is_some()) else { return Ok(true) };
        let plain = (0..ROWS).map(|_| below(entry.region.elements().unwrap_or_default().min(1 << 16)) as u16);
        let in_data: Vec<(u16, Vec<Option<u64>>)> = plain.map(|position| Ok((position, self.keys_at(entry, position)?))).collect::<Result<_>>()?;
        self.with_block(entry, |block| {
            let mut scratch = Vec::new();
            let groups = block.group_count() as u64;
            for _ in 0..ROWS.min(groups as usize) {
                let group = block.group(below(groups) as usize)?;
                let row = below(group.rows() as u64) as usize;
                let mut position = None;
                block.positions(&group, 1 << row, &mut scratch, |found| position = Some(found))?;
                let Some(position) = position else { return Ok(false) };
                if block.keys_of(&group, row, &mut scratch)? != self.keys_at(entry, position)? {
                    return Ok(false);
                }
            }
            // A row of the data is where its keys are, and with these.
            for (position, keys) in in_data {
                let mut is_there = keys.iter().all(Option::is_none);
                let point: Vec<(usize, (u64, u64))> = keys.iter().enumerate().filter_map(|(column, key)| key.map(|key| (column, (key, key)))).collect();
                let sides: Vec<Side<'_>> = point.iter().map(|(column, key)| Side::of_key(*column, key)).collect();
                block.each(&sides, true, &mut scratch, |group, scratch| group.positions(scratch, |found| is_there |= found == position))?;
                if !is_there {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// The keys of one row of a block in the data.
    fn keys_at(&self, entry: &BlockEntry, position: u16) -> Result<Vec<Option<u64>>> {
        let start = entry.region.start.first().copied().unwrap_or_default() + u64::from(position);
        let arrays = self.values.read(&self.file, &Region { start: vec![start], count: vec![1] }, &self.directory.shape, &Cancellation::new())?;
        arrays.iter().map(|array| Ok(KeyColumn::of(array)?.keys.first().copied().flatten())).collect()
    }

    /// Tests some rows of a block that the index lets pass, and some of any. The error, a `Conflict`, ends the query: a part of it may
    /// have used the index already.
    pub(super) fn audit_decisions(&self, touched: &[&BlockEntry], sides: &[BoxSide]) -> Result<()> {
        if touched.is_empty() || !self.file.array_file().is_stored() {
            return Ok(());
        }
        let is_costly = !self.has_plain_values()?;
        // Costly ones have had a look at their claims.
        let is_first = !is_costly && self.directory.is_first_decision();
        self.audits.spend(is_first, is_costly, || self.judge(self.decisions_are_right(touched, sides), Finding::Decisions, ASK_AGAIN))
    }

    fn decisions_are_right(&self, touched: &[&BlockEntry], sides: &[BoxSide]) -> Result<bool> {
        let Some(entry) = touched.get(below(touched.len() as u64) as usize) else { return Ok(true) };
        let elements = entry.region.elements().unwrap_or_default().min(1 << 16);
        let MatchingPositions { certain, possible } = match sides_of(sides) {
            Some(sides) => self.positions(entry, &sides, &mut Vec::new())?,
            None => MatchingPositions::known(Positions::None),
        };
        if !matches!(possible, Positions::None) {
            return Ok(true);
        }
        for position in (0..ROWS).filter_map(|_| certain.any()).chain((0..ROWS).map(|_| below(elements) as u16)) {
            if Self::is_in_box(&self.keys_at(entry, position)?, sides) != certain.has(position) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
