//! Cutting a plan into splits of about the same size.

use hyperslab_array::{Error, Result};

use crate::window::{Rows, WINDOW_BYTES};
use super::{MAX_WINDOWS, Plan};
use super::split::{Split, SplitPolicy};

impl Plan {
    /// Cuts the scan into units of reading that begin and end at chunk borders where the shape
    /// allows it, in row order. A limit holds for the scan, so it is cut into the splits only where
    /// no predicate is left to test; otherwise each split keeps to it alone. Rows of which indexes tell
    /// that none passes are in no split, but where these are all: then there is one. `Unsupported` for
    /// arrays that are in no file.
    pub fn split(&self, policy: &SplitPolicy) -> Result<Vec<Split>> {
        let target = self.split_target(policy)?;
        let mut cuts: Vec<(usize, Rows, u64)> = Vec::new();
        let mut pruned = None;
        let mut budget = self.request.limit.unwrap_or(u64::MAX);
        for (index, part) in self.parts.iter().enumerate() {
            let columns = part.columns_read();
            let row_bytes = part.row_bytes(&columns);
            for mut rows in part.windows_of(&columns, target)? {
                if part.residual.is_none() {
                    rows.end = rows.end.min(rows.start.saturating_add(budget));
                    budget -= rows.count();
                    if rows.count() == 0 {
                        continue;
                    }
                }
                if cuts.len() >= MAX_WINDOWS {
                    return Err(Error::limit_exceeded(format!(
                        "the rows are more than {MAX_WINDOWS} windows of {WINDOW_BYTES} bytes: ask for fewer"
                    )));
                }
                if !part.is_pruned(rows)? {
                    cuts.push((index, rows, row_bytes));
                } else if pruned.is_none() {
                    pruned = Some((index, rows, row_bytes));
                }
            }
        }
        if cuts.is_empty() {
            // Whether there is an index or not: who joins what splits give has something to join.
            cuts.extend(pruned);
        }
        let mut groups: Vec<(usize, Rows)> = Vec::new();
        for (index, rows, row_bytes) in cuts {
            // Rows between that indexes leave out come with the others: to read them costs little.
            let with = |last: &Rows| (rows.end - last.start).saturating_mul(row_bytes);
            match groups.last_mut() {
                Some((part, last)) if *part == index && with(last) <= target.saturating_add(target / 8) => last.end = rows.end,
                _ => groups.push((index, rows)),
            }
        }
        let mut splits: Vec<Split> = Vec::with_capacity(groups.len());
        let mut whole: Option<(usize, Split)> = None;
        for (index, rows) in groups {
            let of_part = match whole.take().filter(|(part, _)| *part == index) {
                Some((_, split)) => split,
                None => Split::new(self.parts.get(index).ok_or_else(|| Error::internal("no such part"))?, &self.schema, &self.request)?,
            };
            splits.push(of_part.of_rows(rows));
            whole = Some((index, of_part));
        }
        Ok(splits)
    }

    /// Bytes of values that a split aims for.
    fn split_target(&self, policy: &SplitPolicy) -> Result<u64> {
        let extent = self.extent()?;
        // A limit of a scan that tests no rows is known to end it early.
        let rows = self.request.limit.filter(|_| extent.exact).unwrap_or(u64::MAX).min(extent.rows);
        let total = u128::from(extent.value_bytes) * u128::from(rows) / u128::from(extent.rows.max(1));
        let total = u64::try_from(total).unwrap_or(u64::MAX);
        let target = match (policy.count, policy.target_bytes) {
            (Some(count), _) => total.div_ceil(count.max(1) as u64),
            (None, Some(bytes)) => bytes,
            (None, None) => 64 << 20,
        };
        // Finer splits than there may be windows are not what anybody means.
        Ok(target.max(total / (MAX_WINDOWS as u64 / 8)).max(1))
    }
}
