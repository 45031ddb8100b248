//! Split: a unit of reading as plain data, which can be sent to another thread, process or machine.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, StringArray};
use arrow_schema::{Field, Schema};
use hyperslab_array::{Cancellation, Envelope, Error, ErrorKind, Result};
use hyperslab_predicate::Predicate;
use hyperslab_reader::Session;
use serde::{Deserialize, Serialize};

use super::Plan;
use super::file_stamp::{Stamp, files_of, stamps_of};
use crate::access::segment_scan::SegmentScan;
use crate::request::{DimensionRange, Layout, ScanRequest};
use crate::table::columns::top_level;
use crate::table::definition::SegmentDefinition;
use crate::table::segment::Segment;
use crate::window::Rows;

/// How finely to cut a plan into splits.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SplitPolicy {
    /// Target size of a split, in bytes of values. The default is 64 MiB.
    pub target_bytes: Option<u64>,
    /// Target number of splits; overrides `target_bytes`.
    pub count: Option<usize>,
}

impl SplitPolicy {
    /// With this target size of a split, in bytes of values; `None` is 64 MiB.
    #[must_use]
    pub fn with_target_bytes(self, target_bytes: Option<u64>) -> Self {
        Self { target_bytes, ..self }
    }

    /// With this target number of splits, which overrides the target size.
    #[must_use]
    pub fn with_count(self, count: Option<usize>) -> Self {
        Self { count, ..self }
    }
}

const ENVELOPE: Envelope = Envelope::new("a split", 5);

/// A unit of reading: one interval of rows of one object, or of one step of a query. Self-contained: the reader opens the
/// files and reads what the plan decided; it makes no decision of its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Split {
    version: u32,
    /// Versions of all files that are read, as planned; the requested file is the first.
    files: Vec<Stamp>,
    object: Object,
    decode: bool,
    columns: Vec<String>,
    /// The columns that are nullable, in this object or in others of the table.
    nullable: Vec<String>,
    /// The text that wildcards matched, by column.
    captures: Vec<(String, Capture)>,
    predicate: Option<Predicate>,
    pub(crate) rows: Rows,
    limit: Option<u64>,
    batch_rows: usize,
}

/// The object whose rows are read.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Object {
    /// A dataset or a group, whose columns follow from its layout.
    Table { path: String, layout: Option<Layout> },
    /// The cells of a dataset at some indexes of one dimension.
    Box { path: String, range: DimensionRange },
    /// Arrays side by side: a step of a query, or part of a data model's table.
    Arrays(SegmentDefinition),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Capture {
    Integer(i64),
    Text(String),
}

impl Split {
    /// All selected rows of a segment of a plan; [`Split::of_rows`] returns splits of some of them.
    pub(crate) fn new(part: &SegmentScan, schema: &Schema, request: &ScanRequest) -> Result<Self> {
        let segment = match part.segment.named {
            // The columns that are neither wanted nor tested would only cost their readers time.
            true => &part.segment.with_only(&needed(part, schema, request)),
            false => &part.segment,
        };
        let object = match segment.named {
            true => Object::Arrays(SegmentDefinition::of(segment, &files_of(segment))?),
            false => Object::Table { path: segment.path.clone(), layout: request.layout },
        };
        // The definition of named arrays has its constants.
        let captures = if segment.named { Vec::new() } else { segment.captures() };
        let captures = captures.into_iter().map(|(name, value)| Ok((name, Capture::of(&value)?)));
        Ok(Self {
            version: ENVELOPE.version(),
            files: stamps_of(segment, &part.columns_read())?,
            object,
            decode: request.decode,
            columns: part.wanted.to_vec(),
            nullable: schema.fields().iter().filter(|field| field.is_nullable()).map(|field| field.name().clone()).collect(),
            captures: captures.collect::<Result<_>>()?,
            predicate: request.predicate.clone(),
            rows: Rows { start: 0, end: part.selection.element_count()? },
            limit: request.limit,
            batch_rows: request.batch_rows,
        })
    }

    /// The same split for other rows.
    pub(crate) fn of_rows(&self, rows: Rows) -> Self {
        Self { rows, ..self.clone() }
    }

    /// The same split for those of its cells that are in `range`; `rows` are numbered among these.
    pub(crate) fn of_box(&self, range: DimensionRange, rows: Rows) -> Self {
        Self { object: Object::Box { path: self.object().to_owned(), range }, rows, ..self.clone() }
    }

    /// Path of the object that is read: a dataset or group, or the group of individually named arrays.
    pub fn object(&self) -> &str {
        match &self.object {
            Object::Table { path, .. } | Object::Box { path, .. } => path,
            Object::Arrays(definition) => &definition.path,
        }
    }

    /// Encodes the split as versioned JSON with a trailing checksum.
    ///
    /// # Errors
    /// `Internal` if the data cannot be encoded.
    pub fn encode(&self) -> Result<Vec<u8>> {
        ENVELOPE.encode(self)
    }

    /// Decodes the bytes of [`Split::encode`].
    ///
    /// # Errors
    /// `InvalidInput` for damaged bytes, another version or other bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        ENVELOPE.decode(bytes)
    }

    /// The requested file.
    pub fn file(&self) -> &str {
        self.files.first().map_or("", |file| file.path.as_str())
    }

    /// Half-open interval of the plan's row numbers, before the residual predicate is applied.
    pub fn rows(&self) -> std::ops::Range<u64> {
        self.rows.start..self.rows.end
    }

    /// The rows of the split that are within `rows`, for a split without a residual predicate.
    #[must_use]
    pub fn within(&self, rows: std::ops::Range<u64>) -> Self {
        let start = self.rows.start.max(rows.start).min(self.rows.end);
        self.of_rows(Rows { start, end: self.rows.end.min(rows.end).max(start) })
    }

    /// The current plan of the split's object. `Conflict` if a file is not the version that was planned.
    pub(crate) fn plan(&self, session: &Session, cancellation: &Cancellation) -> Result<Plan> {
        if self.batch_rows == 0 {
            return Err(Error::invalid_input("these bytes are not a split: batches without rows"));
        }
        let mut opened = self.files.iter().map(|stamp| {
            let file = session.open(&stamp.path)?;
            stamp.check(&file).map(|()| file)
        });
        let captures: Vec<(String, ArrayRef)> = self.captures.iter().map(|(name, capture)| (name.clone(), capture.value())).collect();
        // Further files of an object are found by following links.
        let mut first = || opened.next().ok_or_else(|| Error::invalid_input("these bytes are not a split: no file"))?;
        let segment = match &self.object {
            Object::Table { path, layout } => Segment::new(&first()?, path, *layout, self.decode, &captures)?,
            Object::Box { path, .. } => Segment::new(&first()?, path, Some(Layout::Cells), self.decode, &captures)?,
            Object::Arrays(definition) => definition.reopen(&opened.collect::<Result<Vec<_>>>()?, self.decode)?,
        };
        let request = ScanRequest {
            columns: Some(self.columns.clone()),
            predicate: self.predicate.clone(),
            range: match &self.object {
                Object::Box { range, .. } => Some(range.clone()),
                Object::Table { .. } | Object::Arrays(_) => None,
            },
            limit: self.limit,
            batch_rows: self.batch_rows,
            decode: self.decode,
            ..ScanRequest::new(segment.path.clone())
        };
        let plan = Plan::of_segments(session, vec![segment], &request, cancellation)?;
        let now = plan.parts().next().map(|part| stamps_of(&part.segment, &part.columns_read())).transpose()?.unwrap_or_default();
        if now != self.files {
            let message = "a file with data of this split has changed since it was planned: plan again";
            let differs = self.files.iter().find(|planned| !now.contains(planned)).or(self.files.first());
            return Err(Error::new(ErrorKind::Conflict, message)
                .in_file(differs.map_or_else(String::new, |stamp| hyperslab_reader::shown_address(&stamp.path).into_owned())));
        }
        Ok(plan.with_nullable(&self.nullable))
    }
}

/// The columns that are wanted or that the predicate uses, for conditions on dimensions, too.
fn needed(part: &SegmentScan, schema: &Schema, request: &ScanRequest) -> BTreeSet<String> {
    let own: Vec<Field> = part.segment.columns.iter().map(|column| column.field.as_ref().clone()).collect();
    let (own, wanted) = (Schema::new(own), schema.fields().iter().map(|field| field.name().clone()));
    let tested = request.predicate.iter().flat_map(Predicate::columns).map(|name| top_level(&name, &own));
    wanted.chain(tested).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_column_of_another_type_is_internal() {
        let internal = |value: ArrayRef| Capture::of(&value).is_err_and(|error| error.kind() == ErrorKind::Internal);
        assert!(internal(Arc::new(arrow_array::Float64Array::from(vec![1.0]))));
        assert!(internal(Arc::new(Int64Array::from(vec![1, 2]))));
    }
}
