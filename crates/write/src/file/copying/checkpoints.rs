//! The log of a copy that can be resumed: which values are in the file already, and where.
//!
//! A line of the log is a checksum and a record. A record is written after the values that it tells of are on disk, so what a log says is
//! true after a crash at any moment; a last line that was not written whole is ignored.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::hdf5::writer::StoredChunk;
use hyperslab_storage::open_own_file;
use serde::{Deserialize, Serialize};

use crate::file::allocator::Position;
use crate::file::file_writer::FileWriter;
use crate::file::regions::region::Region;

/// Longest time between two records while values come.
const INTERVAL: Duration = Duration::from_secs(10);
/// Longest log that is read back.
const MAX_LOG_BYTES: u64 = 4 << 30;

/// What a copy makes: another log belongs to another copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Copied {
    /// Version of the source, by which a change of it is noticed.
    pub source: String,
    /// How its objects are stored.
    pub how: String,
    /// Bytes of values between two records. A later run uses the value of the first run.
    pub interval_bytes: u64,
}

/// Values of a dataset that are in the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredValues {
    /// Where a contiguous dataset begins.
    pub address: Option<u64>,
    /// Chunk shape, which may have been chosen while values came.
    pub chunk_shape: Option<Vec<u64>>,
    /// Position, address, length and filter mask of chunks.
    pub chunks: Vec<(Vec<u64>, u64, u64, u32)>,
    /// Regions that were written.
    pub written: Vec<Region>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    datasets: Vec<CopiedValues>,
    /// Where the next values go.
    position: Position,
}

#[derive(Debug, Serialize, Deserialize)]
struct CopiedValues {
    path: String,
    /// Number of steps of the copy of the dataset that are complete.
    steps: u64,
    /// Only the chunks since the last record of the dataset; everything else as it is now.
    stored: StoredValues,
}

/// What the log says of a dataset.
#[derive(Debug, Default)]
struct Known {
    steps: u64,
    stored: StoredValues,
}

/// A dataset whose values are being copied, or were copied since the last record.
#[derive(Debug)]
struct Current {
    path: String,
    /// Steps that are complete, and how many of them are in the log.
    steps: u64,
    logged: u64,
    /// Chunks from this address on are not in the log.
    logged_end: u64,
    /// Whether no step changes what another one stored.
    is_steady: bool,
}

/// The log of a copy.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    path: PathBuf,
    log: File,
    known: HashMap<String, Known>,
    position: Option<Position>,
    current: Option<Current>,
    /// Datasets that are complete and not in the log.
    waiting: Vec<Current>,
    /// Bytes of values between two records.
    interval_bytes: u64,
    /// The end of the file at the last record, and when it was written.
    logged: (u64, Instant),
}

impl Checkpoints {
    /// Opens the log at `path`. It is emptied if it is not complete enough to use, or if the file does not hold all of the values that it
    /// tells of. `file_bytes` is the length of the file without its user block.
    ///
    /// # Errors
    /// `Conflict` for the log of another copy; `Io`.
    pub fn open(path: &Path, copied: &Copied, file_bytes: u64) -> Result<Self> {
        let failed = |error: std::io::Error| Error::from(error).in_file(path.display().to_string());
        let mut log = open_own_file(path)?;
        let length = log.metadata().map_err(failed)?.len();
        if length > MAX_LOG_BYTES {
            return Err(Error::limit_exceeded(format!("a log of {length} bytes is too long: remove it to start again")).in_file(path.display().to_string()));
        }
        let mut text = Vec::new();
        log.read_to_end(&mut text).map_err(failed)?;
        let mut checkpoints = Self {
            path: path.to_path_buf(),
            log,
            known: HashMap::new(),
            position: None,
            current: None,
            waiting: Vec::new(),
            interval_bytes: copied.interval_bytes,
            logged: (0, Instant::now()),
        };
        let whole = checkpoints.take(&text, copied, file_bytes)?;
        checkpoints.log.set_len(whole).map_err(failed)?;
        checkpoints.log.seek(SeekFrom::Start(whole)).map_err(failed)?;
        if whole == 0 {
            checkpoints.write(copied)?;
        }
        Ok(checkpoints)
    }

    /// Takes over what the log says; returns how many bytes of it are whole lines, 0 if it is of no use.
    fn take(&mut self, text: &[u8], copied: &Copied, file_bytes: u64) -> Result<u64> {
        let mut whole = 0u64;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let Some(content) = line.strip_suffix(b"\n").and_then(checked) else { break };
            if whole == 0 {
                let Ok(begun) = serde_json::from_slice::<Copied>(content) else { break };
                if (&begun.source, &begun.how) != (&copied.source, &copied.how) {
                    let what = if begun.how == copied.how { "of another version of the source" } else { "with other options" };
                    let message = format!("a copy {what} was begun: remove this file, and the one of the same name without `.log`, to start again");
                    return Err(Error::new(ErrorKind::Conflict, message).in_file(self.path.display().to_string()));
                }
                self.interval_bytes = begun.interval_bytes;
            } else {
                let Ok(record) = serde_json::from_slice::<Record>(content) else { break };
                for CopiedValues { path, steps, mut stored } in record.datasets {
                    let known = self.known.entry(path).or_default();
                    let mut chunks = std::mem::take(&mut known.stored.chunks);
                    chunks.append(&mut stored.chunks);
                    *known = Known { steps, stored: StoredValues { chunks, ..stored } };
                }
                self.position = Some(record.position);
            }
            whole = whole.saturating_add(line.len() as u64);
        }
        // Without all of the values, their places are of no use.
        if self.position.as_ref().is_some_and(|position| position.top > file_bytes) {
            self.known.clear();
            (self.position, self.interval_bytes) = (None, copied.interval_bytes);
            return Ok(0);
        }
        Ok(whole)
    }

    fn write(&mut self, record: &impl Serialize) -> Result<()> {
        let failed = |error: std::io::Error| Error::from(error).in_file(self.path.display().to_string());
        let content = serde_json::to_string(record).map_err(|error| Error::internal(format!("a record of a copy: {error}")))?;
        self.log.write_all(format!("{:08x} {content}\n", crc32fast::hash(content.as_bytes())).as_bytes()).map_err(failed)?;
        self.log.sync_data().map_err(failed)
    }

    /// Bytes of values between two records.
    pub fn interval_bytes(&self) -> u64 {
        self.interval_bytes
    }

    /// Where the next values go, if a former run wrote some.
    pub fn position(&self) -> Option<&Position> {
        self.position.as_ref()
    }

    /// Begins the dataset at `path`, which has been created: gives it the values that a former run wrote. `is_steady` says that no step
    /// changes what another one stored.
    pub fn begin(&mut self, out: &mut FileWriter, path: &str, is_steady: bool) -> Result<()> {
        let known = self.known.remove(path).unwrap_or_default();
        let logged = known.steps;
        let mut logged_end = 0;
        if logged > 0 {
            out.restore(path, known.stored)?;
            // This run stores values after the values of the former run.
            logged_end = self.position.as_ref().map_or(0, |position| position.end);
        }
        self.current = Some(Current { path: path.to_owned(), steps: 0, logged, logged_end, is_steady });
        Ok(())
    }

    /// Whether the next step was made by a former run, and is to be left out.
    pub fn skips_step(&mut self) -> bool {
        let Some(current) = &mut self.current else { return false };
        let skips = current.steps < current.logged;
        current.steps += u64::from(skips);
        skips
    }

    /// Counts a step that was made, and writes a record if it is time.
    pub fn end_step(&mut self, out: &mut FileWriter) -> Result<()> {
        let Some(current) = &mut self.current else { return Ok(()) };
        current.steps += 1;
        if current.is_steady { self.note_if_due(out) } else { Ok(()) }
    }

    /// Ends the dataset that was begun.
    pub fn end(&mut self, out: &mut FileWriter) -> Result<()> {
        self.waiting.extend(self.current.take().filter(|current| current.steps > current.logged));
        self.note_if_due(out)
    }

    fn note_if_due(&mut self, out: &mut FileWriter) -> Result<()> {
        let is_due = out.position().end.saturating_sub(self.logged.0) >= self.interval_bytes || self.logged.1.elapsed() >= INTERVAL;
        if is_due { self.note(out) } else { Ok(()) }
    }

    /// Brings everything to the disk, then writes what is there into the log.
    fn note(&mut self, out: &mut FileWriter) -> Result<()> {
        let mut datasets = Vec::new();
        for Current { path, steps, logged_end, .. } in self.waiting.iter().chain(&self.current) {
            let stored = out.settle(path, *logged_end)?;
            datasets.push(CopiedValues { path: path.clone(), steps: *steps, stored });
        }
        let position = out.sync_values()?;
        let end = position.end;
        self.write(&Record { datasets, position })?;
        self.waiting.clear();
        if let Some(current) = &mut self.current {
            (current.logged, current.logged_end) = (current.steps, end);
        }
        self.logged = (end, Instant::now());
        Ok(())
    }

    /// Removes the log of a copy that is complete.
    pub fn remove(self) -> Result<()> {
        std::fs::remove_file(&self.path).map_err(|error| Error::from(error).in_file(self.path.display().to_string()))
    }
}

/// The content of a line whose checksum is right.
fn checked(line: &[u8]) -> Option<&[u8]> {
    let (sum, content) = (line.get(..8)?, line.get(9..)?);
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
    (sum == crc32fast::hash(content)).then_some(content)
}

impl StoredValues {
    /// The chunks, by position.
    pub fn into_chunks(self) -> impl Iterator<Item = (Vec<u64>, StoredChunk)> {
        self.chunks.into_iter().map(|(position, address, length, filter_mask)| (position.clone(), StoredChunk { position, address, length, filter_mask }))
    }
}
