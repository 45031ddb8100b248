//! Cuts a plan into splits of about the same size.

use hyperslab_array::{Error, Result};

use super::split::{Split, SplitPolicy};
use super::{MAX_SPLITS, MAX_WINDOWS, Plan};
use crate::window::{Rows, WINDOW_BYTES};

impl Plan {
    /// Cuts the scan into splits, in row order, that begin and end at chunk borders if the shape allows it.
    ///
    /// The splits of a plan without a residual predicate share its limit: together they have that many rows. Otherwise each
    /// split applies the limit on its own. Splits omit rows that indexes rule out; if that is every row, one empty split is
    /// returned.
    ///
    /// # Errors
    /// `Unsupported` for arrays that are not in a file; `Conflict` if a file has changed since it was opened.
    pub fn split(&self, policy: &SplitPolicy) -> Result<Vec<Split>> {
        Ok(self.split_parts(policy)?.into_iter().map(|(_, split)| split).collect())
    }

    /// The splits, each with the index of its part.
    pub(super) fn split_parts(&self, policy: &SplitPolicy) -> Result<Vec<(usize, Split)>> {
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
                    return Err(Error::limit_exceeded(format!("the rows are more than {MAX_WINDOWS} windows of {WINDOW_BYTES} bytes: ask for fewer")));
                }
                if !part.is_pruned(rows)? {
                    cuts.push((index, rows, row_bytes));
                } else if pruned.is_none() {
                    pruned = Some((index, rows, row_bytes));
                }
            }
        }
        if cuts.is_empty() {
            // Callers that concatenate the splits' batches need at least one split.
            cuts.extend(pruned);
        }
        let mut groups: Vec<(usize, Rows)> = Vec::new();
        for (index, rows, row_bytes) in cuts {
            // Rows between two windows that indexes rule out are read with them: that is cheaper than another split.
            let joined_bytes = |last: &Rows| (rows.end - last.start).saturating_mul(row_bytes);
            match groups.last_mut() {
                Some((part, last)) if *part == index && joined_bytes(last) <= target.saturating_add(target / 8) => last.end = rows.end,
                _ => groups.push((index, rows)),
            }
        }
        let mut splits: Vec<(usize, Split)> = Vec::with_capacity(groups.len());
        let mut last_part: Option<(usize, Split)> = None;
        for (index, rows) in groups {
            let of_part = match last_part.take().filter(|(part, _)| *part == index) {
                Some((_, split)) => split,
                None => Split::new(self.parts.get(index).ok_or_else(|| Error::internal("no such part"))?, &self.schema, &self.request)?,
            };
            splits.push((index, of_part.of_rows(rows)));
            last_part = Some((index, of_part));
        }
        Ok(splits)
    }

    /// Target size of a split, in bytes of values.
    fn split_target(&self, policy: &SplitPolicy) -> Result<u64> {
        let extent = self.extent()?;
        // Without a residual predicate, the limit is the exact number of rows to read.
        let rows = self.request.limit.filter(|_| extent.exact).unwrap_or(u64::MAX).min(extent.rows);
        let total = u128::from(extent.value_bytes) * u128::from(rows) / u128::from(extent.rows.max(1));
        let total = u64::try_from(total).unwrap_or(u64::MAX);
        let target = match (policy.count, policy.target_bytes) {
            (Some(count), _) => total.div_ceil(count.max(1) as u64),
            (None, Some(bytes)) => bytes,
            (None, None) => 64 << 20,
        };
        // Splits cannot be finer than windows, whose number is limited.
        Ok(target.max(total / MAX_SPLITS).max(1))
    }
}
