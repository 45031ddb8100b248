//! The matching rows of a plan: from indexes if possible, otherwise window by window, in parallel.

use arrow_array::RecordBatch;
use hyperslab_array::{Cancellation, Error, Result};
use rayon::prelude::*;

use crate::access::segment_scan::SegmentScan;
use crate::plan::Plan;
use crate::pruner::CountBounds;
use crate::window::Rows;

impl Plan {
    /// Number of matching rows; from shapes alone if there is no residual predicate.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
    pub fn count(&self, cancellation: &Cancellation) -> Result<u64> {
        let limit = self.request.limit.unwrap_or(u64::MAX);
        let mut count = 0u64;
        for part in self.parts.iter() {
            if count >= limit {
                break;
            }
            let here = match &part.residual {
                None => part.selection.element_count()?,
                Some(_) if let Some(count) = part.count_by_index(cancellation)? => count,
                Some((_, needed)) => {
                    let windows = part.windows(needed)?;
                    self.session.compute(|| windows.par_bridge().map(|rows| part.count_in_window(rows, cancellation)).try_reduce(|| 0, |a, b| Ok(a + b)))?
                }
            };
            count = count.saturating_add(here);
        }
        Ok(count.min(limit))
    }

    /// Number of matching rows of each segment.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
    pub fn counts(&self, cancellation: &Cancellation) -> Result<Vec<u64>> {
        let matching_rows = self.parts.iter().map(|part| match &part.residual {
            None => part.selection.element_count().map(Some),
            Some(_) => part.count_by_index(cancellation),
        });
        let matching_rows = matching_rows.collect::<Result<Vec<Option<u64>>>>()?;
        let mut counts: Vec<u64> = matching_rows.iter().map(|count| count.unwrap_or(0)).collect();
        self.for_windows(
            &matching_rows.iter().map(Option::is_none).collect::<Vec<bool>>(),
            |part, rows| part.count_in_window(rows, cancellation),
            |index, found| {
                *counts.get_mut(index).ok_or_else(|| Error::internal("rows of an unknown segment"))? += found;
                Ok(())
            },
        )?;
        Ok(counts)
    }

    /// The numbers of the matching rows of each segment, in the order of the segments.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
    pub fn positions(&self, cancellation: &Cancellation) -> Result<Vec<Vec<u64>>> {
        // Indexes number rows over the selection, so only in wholly selected segments are these the row numbers of the segment.
        let matching_rows = self.parts.iter().map(|part| {
            let rows = part.matching_positions(cancellation)?;
            if rows.is_some() {
                part.count_index_blocks()?;
            }
            rows.map(|rows| rows.to_vec_in(&self.session)).transpose()
        });
        let matching_rows = matching_rows.collect::<Result<Vec<Option<Vec<u64>>>>>()?;
        let wanted: Vec<bool> = matching_rows.iter().map(Option::is_none).collect();
        let mut positions: Vec<Vec<u64>> = matching_rows.into_iter().map(Option::unwrap_or_default).collect();
        self.for_windows(
            &wanted,
            |part, rows| part.matching_in_window(rows, cancellation),
            |index, found| {
                positions.get_mut(index).ok_or_else(|| Error::internal("rows of an unknown segment"))?.extend(found);
                Ok(())
            },
        )?;
        Ok(positions)
    }

    /// Lower and upper bound of the number of matching rows, from indexes alone.
    ///
    /// # Errors
    /// `Io` or `Corrupt` if the index cannot be read; `Cancelled`.
    pub fn bounds(&self, cancellation: &Cancellation) -> Result<CountBounds> {
        self.parts.iter().try_fold(CountBounds::default(), |sum, part| Ok(sum + part.bounds(cancellation)?))
    }

    /// Calls `work` for each window of the segments that are `wanted`, one flag each, in parallel, and `take` with the index of the segment
    /// and the result, in row order. Only a few results are in memory at a time.
    pub(crate) fn for_windows<T: Send>(
        &self,
        wanted: &[bool],
        work: impl Fn(&SegmentScan, Rows) -> Result<T> + Sync,
        mut take: impl FnMut(usize, T) -> Result<()> + Send,
    ) -> Result<()> {
        if wanted.len() != self.parts.len() {
            return Err(Error::internal(format!("{} segments where the plan has {}", wanted.len(), self.parts.len())));
        }
        let parts = self.parts.iter().enumerate().zip(wanted).filter(|(_, wanted)| **wanted).map(|(part, _)| part);
        let windows = parts.map(|(index, part)| Ok((index, part, part.windows(&part.columns_read())?)));
        let windows = windows.collect::<Result<Vec<_>>>()?;
        let mut windows = windows.into_iter().flat_map(|(index, part, windows)| windows.map(move |rows| (index, part, rows)));
        self.session.compute(|| {
            let several = self.session.thread_count()?.saturating_mul(4).max(1);
            loop {
                let next: Vec<_> = windows.by_ref().take(several).collect();
                if next.is_empty() {
                    return Ok(());
                }
                let made: Vec<Result<(usize, T)>> = next.par_iter().map(|(index, part, rows)| Ok((*index, work(part, *rows)?))).collect();
                for outcome in made {
                    let (index, outcome) = outcome?;
                    take(index, outcome)?;
                }
            }
        })
    }

    /// Calls `work` with the batch of each window, in parallel, and `take` with the results in row order.
    ///
    /// # Errors
    /// Those of `work` and `take`. `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read;
    /// `Cancelled`.
    pub fn for_batches<T: Send>(
        &self,
        cancellation: &Cancellation,
        work: impl Fn(&RecordBatch) -> Result<T> + Sync,
        mut take: impl FnMut(T) -> Result<()> + Send,
    ) -> Result<()> {
        self.for_windows(&vec![true; self.parts.len()], |part, rows| work(&part.read(rows, &self.schema, cancellation)?), |_, made| take(made))
    }
}
