//! Split: a unit of reading, as plain data that goes to another thread, process or machine.

use std::path::Path;
use std::time::UNIX_EPOCH;

use hyperslab_array::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use super::plan::Part;
use super::predicate::Predicate;
use super::window::Rows;
use super::{Batches, Layout, Plan, ScanRequest};
use crate::{Cancellation, Session};

/// How finely to cut.
#[derive(Debug, Clone, Default)]
pub struct SplitPolicy {
    /// Aim for this many bytes of values a split (64 MiB when neither is given).
    pub target_bytes: Option<u64>,
    /// Aim for this many splits (wins over `target_bytes`).
    pub count: Option<usize>,
}

/// The version of the bytes; raised when their meaning changes.
const VERSION: u32 = 2;

/// A unit of reading: one interval of rows of one object. Self-sufficient: the reader opens the
/// file and reads what the plan decided, it does not decide anew.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Split {
    version: u32,
    file: String,
    /// Length of the file when it was planned: another length is another file.
    file_bytes: u64,
    /// When the file was changed last, where the file system tells: later is another file, too.
    #[serde(default)]
    modified_nanoseconds: Option<u64>,
    path: String,
    layout: Option<Layout>,
    decode: bool,
    columns: Vec<String>,
    /// What wildcards matched, by column.
    captures: Vec<(String, Capture)>,
    predicate: Option<Predicate>,
    rows: Rows,
    limit: Option<u64>,
    batch_rows: usize,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Capture {
    Integer(i64),
    Text(String),
}

impl Split {
    pub(super) fn new(part: &Part, rows: Rows, request: &ScanRequest) -> Result<Self> {
        let segment = &part.segment;
        let mut captures = Vec::new();
        for (name, value) in segment.captures() {
            let capture = if let Some(n) = value.as_any().downcast_ref::<arrow_array::Int64Array>() {
                Capture::Integer(n.value(0))
            } else if let Some(text) = value.as_any().downcast_ref::<arrow_array::StringArray>() {
                Capture::Text(text.value(0).to_owned())
            } else {
                return Err(Error::internal("a wildcard column of another type"));
            };
            captures.push((name, capture));
        }
        Ok(Self {
            version: VERSION,
            file: segment.opened.clone(),
            file_bytes: segment.file.array_file().storage().len(),
            modified_nanoseconds: modified_nanoseconds(segment.file.path()),
            path: segment.path.clone(),
            layout: request.layout,
            decode: request.decode,
            columns: part.wanted.clone(),
            captures,
            predicate: request.predicate.clone(),
            rows,
            limit: request.limit,
            batch_rows: request.batch_rows,
        })
    }

    /// Versioned bytes (JSON, so that a person can read a log).
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|e| Error::internal(format!("cannot encode a split: {e}")))
    }

    /// The split of [`Split::encode`]; bytes of another version or of something else are `InvalidInput`.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let bad = |e: serde_json::Error| Error::invalid_input(format!("these bytes are no split: {e}"));
        let Version { version } = serde_json::from_slice(bytes).map_err(bad)?;
        if version != VERSION {
            return Err(Error::invalid_input(format!(
                "this split has version {version}, this reader knows {VERSION}: plan and read with the same release"
            )));
        }
        serde_json::from_slice(bytes).map_err(bad)
    }

    /// The file it reads.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Rows before any predicate that is left to test: half-open interval of the plan's row numbers.
    pub fn rows(&self) -> std::ops::Range<u64> {
        self.rows.start..self.rows.end
    }

    /// Reads the split's batches. `Conflict` when the file is not the one that was planned.
    pub fn read(&self, session: &Session, cancellation: &Cancellation) -> Result<Batches> {
        let file = session.open(&self.file)?;
        let request = ScanRequest {
            path: self.path.clone(),
            file_pattern: None,
            text_captures: Vec::new(),
            layout: self.layout,
            columns: Some(self.columns.clone()),
            predicate: self.predicate.clone(),
            limit: self.limit,
            batch_rows: self.batch_rows,
            decode: self.decode,
        };
        let captures: Vec<(String, arrow_array::ArrayRef)> = self
            .captures
            .iter()
            .map(|(name, capture)| {
                let value: arrow_array::ArrayRef = match capture {
                    Capture::Integer(n) => std::sync::Arc::new(arrow_array::Int64Array::from(vec![*n])),
                    Capture::Text(text) => std::sync::Arc::new(arrow_array::StringArray::from(vec![text.as_str()])),
                };
                (name.clone(), value)
            })
            .collect();
        let plan = Plan::of_one(&file, &request, &captures)?;
        let conflict = |what: String| {
            let message = format!("the file had {what} when this split was planned; it has changed: plan again");
            Err(Error::new(ErrorKind::Conflict, message).in_file(&self.file))
        };
        let now = plan.first_file().ok_or_else(|| Error::internal("a split without an object"))?;
        if now.array_file().storage().len() != self.file_bytes {
            return conflict(format!("{} bytes", self.file_bytes));
        }
        if self.modified_nanoseconds.is_some_and(|planned| modified_nanoseconds(now.path()) != Some(planned)) {
            return conflict("another time of change".to_owned());
        }
        plan.read_rows(self.rows, cancellation)
    }
}

/// When the file at `path` was changed last, since 1970.
fn modified_nanoseconds(path: &Path) -> Option<u64> {
    let modified = std::fs::metadata(path).ok()?.modified().ok()?;
    u64::try_from(modified.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
}
