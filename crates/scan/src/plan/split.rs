//! Split: a unit of reading, as plain data that goes to another thread, process or machine.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, StringArray};
use arrow_schema::Schema;
use hyperslab_array::{Cancellation, Error, ErrorKind, Result};
use hyperslab_predicate::Predicate;
use hyperslab_reader::Session;
use serde::{Deserialize, Serialize};

use crate::{Batches, Layout, Plan, ScanRequest};
use crate::table::array_sources::ArraySources;
use crate::table::segment::Segment;
use super::SegmentScan;
use super::file_stamp::{Stamp, files_of, stamps_of};
use super::window::Rows;

/// How finely to cut.
#[derive(Debug, Clone, Default)]
pub struct SplitPolicy {
    /// Aim for this many bytes of values a split (64 MiB when neither is given).
    pub target_bytes: Option<u64>,
    /// Aim for this many splits (wins over `target_bytes`).
    pub count: Option<usize>,
}

/// The version of the bytes; raised when their meaning changes.
const VERSION: u32 = 3;

/// A unit of reading: one interval of rows of one object, or of one step of a query. Self-sufficient: the reader
/// opens the files and reads what the plan decided, it does not decide anew.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Split {
    version: u32,
    /// Every file that is read, as it was when it was planned; the one that was asked for first.
    files: Vec<Stamp>,
    object: Object,
    decode: bool,
    columns: Vec<String>,
    /// Those of them that can be null, in this object or in others of the table.
    nullable: Vec<String>,
    /// What wildcards matched, by column.
    captures: Vec<(String, Capture)>,
    predicate: Option<Predicate>,
    rows: Rows,
    limit: Option<u64>,
    batch_rows: usize,
}

/// What the rows are of.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Object {
    /// A dataset or a group, whose columns its layout tells.
    Table { path: String, layout: Option<Layout> },
    /// Arrays beside each other: a step of a query.
    Arrays(ArraySources),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Capture {
    Integer(i64),
    Text(String),
}

impl Split {
    /// All selected rows of a part of a plan; [`Split::of_rows`] makes splits of some of them.
    pub(crate) fn new(part: &SegmentScan, schema: &Schema, request: &ScanRequest) -> Result<Self> {
        let segment = &part.segment;
        let object = match segment.named {
            true => Object::Arrays(ArraySources::of(segment, &files_of(segment))?),
            false => Object::Table { path: segment.path.clone(), layout: request.layout },
        };
        let captures = segment.captures().into_iter().map(|(name, value)| Ok((name, Capture::of(&value)?)));
        Ok(Self {
            version: VERSION,
            files: stamps_of(part)?,
            object,
            decode: request.decode,
            columns: part.wanted.clone(),
            nullable: schema.fields().iter().filter(|field| field.is_nullable()).map(|field| field.name().clone()).collect(),
            captures: captures.collect::<Result<_>>()?,
            predicate: request.predicate.clone(),
            rows: Rows { start: 0, end: part.selection.element_count()? },
            limit: request.limit,
            batch_rows: request.batch_rows,
        })
    }

    /// The same of other rows.
    pub(crate) fn of_rows(&self, rows: Rows) -> Self {
        Self { rows, ..self.clone() }
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

    /// The file that was asked for.
    pub fn file(&self) -> &str {
        self.files.first().map_or("", |file| file.path.as_str())
    }

    /// Rows before any predicate that is left to test: half-open interval of the plan's row numbers.
    pub fn rows(&self) -> std::ops::Range<u64> {
        self.rows.start..self.rows.end
    }

    /// Reads the split's batches. `Conflict` when a file is not the one that was planned.
    pub fn read(&self, session: &Session, cancellation: &Cancellation) -> Result<Batches> {
        if self.batch_rows == 0 {
            return Err(Error::invalid_input("these bytes are no split: batches without rows"));
        }
        let mut opened = self.files.iter().map(|stamp| {
            let file = session.open(&stamp.path)?;
            stamp.check(&file).map(|()| file)
        });
        let captures: Vec<(String, ArrayRef)> = self.captures.iter().map(|(name, capture)| (name.clone(), capture.value())).collect();
        let segment = match &self.object {
            Object::Table { path, layout } => {
                // Further files are behind links, and found there.
                let file = opened.next().ok_or_else(|| Error::invalid_input("these bytes are no split: no file"))??;
                Segment::new(&file, path, *layout, self.decode, &captures)?
            }
            Object::Arrays(arrays) => arrays.segment(&opened.collect::<Result<Vec<_>>>()?, &captures, self.decode)?,
        };
        let request = ScanRequest {
            columns: Some(self.columns.clone()),
            predicate: self.predicate.clone(),
            limit: self.limit,
            batch_rows: self.batch_rows,
            decode: self.decode,
            ..ScanRequest::new(segment.path.clone())
        };
        let plan = Plan::of_segments(session, vec![segment], &request, cancellation)?;
        let now = plan.parts().next().map(stamps_of).transpose()?.unwrap_or_default();
        if now != self.files {
            let message = "a file that its arrays lie in is another one than when this split was planned: plan again";
            let differs = self.files.iter().find(|planned| !now.contains(planned)).or(self.files.first());
            return Err(Error::new(ErrorKind::Conflict, message).in_file(differs.map_or("", |stamp| stamp.path.as_str())));
        }
        plan.with_nullable(&self.nullable).read_rows(self.rows, cancellation)
    }
}

impl Capture {
    fn of(value: &ArrayRef) -> Result<Self> {
        if let Some(n) = value.as_any().downcast_ref::<Int64Array>().filter(|n| n.len() == 1) {
            Ok(Self::Integer(n.value(0)))
        } else if let Some(text) = value.as_any().downcast_ref::<StringArray>().filter(|text| text.len() == 1) {
            Ok(Self::Text(text.value(0).to_owned()))
        } else {
            Err(Error::internal("a wildcard column of another type"))
        }
    }

    fn value(&self) -> ArrayRef {
        match self {
            Self::Integer(n) => Arc::new(Int64Array::from(vec![*n])),
            Self::Text(text) => Arc::new(StringArray::from(vec![text.as_str()])),
        }
    }
}
