//! Pipeline: reads windows in parallel, ahead of the consumer, and returns them in row order.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_reader::Session;

use super::batches::Source;
use crate::access::segment_scan::SegmentScan;
use crate::window::{Rows, WINDOW_BYTES, boxes};

/// How often a consumer that waits for a batch checks whether the scan was cancelled.
const POLL: Duration = Duration::from_millis(20);

/// A window to read, and its approximate size in bytes.
pub(crate) struct Work {
    pub part: Arc<SegmentScan>,
    pub rows: Rows,
    pub bytes: u64,
}

/// State that all tasks of a scan share.
#[derive(Clone)]
struct Shared {
    schema: SchemaRef,
    cancellation: Cancellation,
    batch_rows: usize,
    /// Whether the consumer was dropped: tasks that have not begun can be skipped.
    abandoned: Arc<AtomicBool>,
}

/// One window, or several small ones that are read together.
struct Task {
    windows: Vec<(Arc<SegmentScan>, Rows)>,
    /// The process whose threads read it: a forked child does not have its parent's threads.
    process: u32,
    batches: Receiver<Outcome>,
}

type Outcome = Vec<Result<RecordBatch>>;

pub(crate) struct Pipeline<W> {
    work: W,
    session: Session,
    shared: Shared,
    /// Rows that may still be returned under the limit.
    remaining: u64,
    /// Rows that may still be read under the limit, for windows without a residual predicate.
    unread: u64,
    /// Work that did not fit the last task.
    next: Option<Work>,
    tasks: VecDeque<Task>,
    ready: VecDeque<Result<RecordBatch>>,
    failed: bool,
}

impl<W: Iterator<Item = Work>> Pipeline<W> {
    pub fn new(session: Session, schema: SchemaRef, work: W, limit: u64, batch_rows: usize, cancellation: Cancellation) -> Self {
        let shared = Shared { schema, cancellation, batch_rows, abandoned: Arc::default() };
        let (tasks, ready) = Default::default();
        Self { work, session, shared, remaining: limit, unread: limit, next: None, tasks, ready, failed: false }
    }

    /// The windows of the next task: one, or small ones up to the size of a batch.
    fn windows(&mut self) -> Vec<(Arc<SegmentScan>, Rows)> {
        let (mut windows, mut rows, mut bytes) = (Vec::new(), 0u64, 0u64);
        while self.unread > 0
            && let Some(mut work) = self.next.take().or_else(|| self.work.next())
        {
            let fits = rows + work.rows.count() <= self.shared.batch_rows as u64 && bytes + work.bytes <= WINDOW_BYTES / 2;
            if !windows.is_empty() && !fits {
                self.next = Some(work);
                break;
            }
            if work.part.residual.is_none() {
                work.rows.end = work.rows.end.min(work.rows.start.saturating_add(self.unread));
                self.unread -= work.rows.count();
            }
            rows += work.rows.count();
            bytes += work.bytes;
            // A window that a limit or a split clips need not be a box.
            windows.extend(boxes(&work.part.selection, work.rows).map(|rows| (work.part.clone(), rows)));
        }
        windows
    }

    /// Starts tasks until every thread has one and two more are ready or queued.
    fn read_ahead(&mut self) -> Result<()> {
        // If few rows are left, reading ahead would mostly be wasted.
        let few = self.remaining <= self.shared.batch_rows as u64;
        let pool = self.session.pool()?;
        let aim = if few { 1 } else { pool.current_num_threads() + 2 };
        while self.tasks.len() < aim {
            let windows = self.windows();
            if windows.is_empty() {
                break;
            }
            let (sender, batches) = sync_channel(1);
            let (todo, shared) = (windows.clone(), self.shared.clone());
            let read = move || {
                // The receiver may have been dropped with its consumer.
                let _ = sender.send(shared.read(&todo));
            };
            // A scan that runs on a decoding thread must not wait for another decoding thread.
            match pool.current_thread_index() {
                Some(_) => read(),
                None => pool.spawn(read),
            }
            self.tasks.push_back(Task { windows, process: std::process::id(), batches });
        }
        Ok(())
    }

    fn next_task(&mut self) -> Result<Option<Outcome>> {
        self.read_ahead()?;
        let Some(task) = self.tasks.pop_front() else { return Ok(None) };
        if task.process != std::process::id() {
            return Ok(Some(self.shared.read(&task.windows)));
        }
        loop {
            match task.batches.recv_timeout(POLL) {
                Ok(batches) => return Ok(Some(batches)),
                // Decoding may never end: a filter in Python waits for an interpreter that is shutting down.
                Err(RecvTimeoutError::Timeout) => self.shared.cancellation.check()?,
                Err(RecvTimeoutError::Disconnected) => return Err(Error::internal("a decoding thread ended without a result")),
            }
        }
    }
}

impl Shared {
    /// The windows' rows; if a window fails, its error follows the rows before it.
    fn read(&self, windows: &[(Arc<SegmentScan>, Rows)]) -> Outcome {
        if self.abandoned.load(Ordering::Relaxed) {
            return vec![Err(Error::internal("the scan was abandoned by its consumer"))];
        }
        let mut read = Vec::with_capacity(windows.len());
        let mut failure = None;
        for (part, rows) in windows {
            let batch = catch_unwind(AssertUnwindSafe(|| part.read(*rows, &self.schema, &self.cancellation)))
                .unwrap_or_else(|_| Err(Error::internal("a fault of Hyperslab's own (a panic): please report it")));
            match batch {
                Ok(batch) if batch.num_rows() > 0 => read.push(batch),
                Ok(_) => {}
                Err(error) => {
                    failure = Some(Err(error));
                    break;
                }
            }
        }
        let joined = match read.as_slice() {
            [] => None,
            [one] => Some(Ok(one.clone())),
            several => Some(arrow_select::concat::concat_batches(&self.schema, several).map_err(|e| Error::internal(format!("small batches: {e}")))),
        };
        let cut = joined.map(|batch| self.cut(batch)).unwrap_or_default();
        cut.into_iter().chain(failure).collect()
    }

    /// Cuts a batch into batches of at most `batch_rows` rows.
    fn cut(&self, batch: Result<RecordBatch>) -> Outcome {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => return vec![Err(error)],
        };
        let starts = (0..batch.num_rows()).step_by(self.batch_rows);
        starts.map(|start| Ok(batch.slice(start, self.batch_rows.min(batch.num_rows() - start)))).collect()
    }
}

impl<W: Iterator<Item = Work> + Send> Iterator for Pipeline<W> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed && self.remaining > 0 {
            if let Some(batch) = self.next_ready() {
                return Some(batch);
            }
            match self.next_task() {
                Ok(Some(batches)) => self.ready.extend(batches),
                Ok(None) => return None,
                Err(error) => self.ready.push_back(Err(error)),
            }
        }
        None
    }
}

impl<W: Iterator<Item = Work> + Send> Source for Pipeline<W> {
    fn next_ready(&mut self) -> Option<Self::Item> {
        if self.failed || self.remaining == 0 {
            return None;
        }
        let batch = self.ready.pop_front()?;
        self.failed = batch.is_err();
        Some(batch.map(|batch| {
            let rows = (batch.num_rows() as u64).min(self.remaining);
            self.remaining -= rows;
            batch.slice(0, usize::try_from(rows).unwrap_or(usize::MAX))
        }))
    }
}

impl<W> Drop for Pipeline<W> {
    fn drop(&mut self) {
        self.shared.abandoned.store(true, Ordering::Relaxed);
    }
}
