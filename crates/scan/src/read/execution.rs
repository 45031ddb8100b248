//! Runs a plan or a split as batches.

use std::sync::Arc;

use hyperslab_array::{Cancellation, Error, ErrorKind, Result};
use hyperslab_reader::Session;

use super::batches::Batches;
use super::pipeline::{Pipeline, Work};
use crate::access::segment_scan::SegmentScan;
use crate::plan::Plan;
use crate::plan::split::Split;
use crate::table::each::each_of;
use crate::window::Rows;

impl Plan {
    /// Reads the plan's batches in row order, decoding in parallel.
    ///
    /// # Errors
    /// `Conflict` if the shape of an object has changed since the plan. Each batch may be an error of its own.
    pub fn batches(&self, cancellation: &Cancellation) -> Result<Batches> {
        let parts = each_of(&self.session, &self.parts, |part| {
            let columns = part.columns_read();
            Ok((part.clone(), part.row_bytes(&columns), part.windows(&columns)?))
        })?;
        let work = parts.into_iter().flat_map(|(part, row_bytes, windows)| work(part, row_bytes, windows));
        Ok(self.read(work, cancellation))
    }

    /// The plan's only segment, of which a split has `rows`.
    pub(crate) fn part_with(&self, rows: Rows) -> Result<&Arc<SegmentScan>> {
        let [part] = self.parts.as_slice() else {
            return Err(Error::internal("a split has one object"));
        };
        if rows.start > rows.end || rows.end > part.selection.element_count()? {
            let message = "there are fewer rows than when this split was planned: plan again";
            return Err(Error::new(ErrorKind::Conflict, message).at_object(&part.segment.path).in_file(part.segment.opened.name()));
        }
        Ok(part)
    }

    /// Reads `rows` of the plan's only segment, for a split.
    pub(crate) fn read_rows(&self, rows: Rows, cancellation: &Cancellation) -> Result<Batches> {
        let part = self.part_with(rows)?;
        let columns = part.columns_read();
        let windows = part.windows(&columns)?;
        // Use the windows of the whole scan, clipped; the pipeline cuts a clipped window into boxes.
        let mine = windows
            .skip_while(move |window| window.end <= rows.start)
            .take_while(move |window| window.start < rows.end)
            .map(move |window| Rows { start: window.start.max(rows.start), end: window.end.min(rows.end) });
        Ok(self.read(work(part.clone(), part.row_bytes(&columns), mine), cancellation))
    }

    fn read(&self, work: impl Iterator<Item = Work> + Send + 'static, cancellation: &Cancellation) -> Batches {
        let limit = self.request.limit.unwrap_or(u64::MAX);
        let (session, schema) = (self.session.clone(), self.schema.clone());
        let pipeline = Pipeline::new(session, schema, work, limit, self.request.batch_rows, cancellation.clone());
        Batches::new(self.schema.clone(), pipeline)
    }
}

impl Split {
    /// Reads the split's batches.
    ///
    /// # Errors
    /// `Conflict` if a file is not the version that was planned; `NotFound` or `Io` if it cannot be opened. Each batch
    /// may be an error of its own.
    pub fn read(&self, session: &Session, cancellation: &Cancellation) -> Result<Batches> {
        self.plan(session, cancellation)?.read_rows(self.rows, cancellation)
    }
}

/// Windows as work for a pipeline.
fn work(part: Arc<SegmentScan>, row_bytes: u64, windows: impl Iterator<Item = Rows>) -> impl Iterator<Item = Work> {
    windows.map(move |rows| Work { part: part.clone(), rows, bytes: rows.count().saturating_mul(row_bytes) })
}
