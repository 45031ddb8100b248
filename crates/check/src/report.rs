//! Report: what a check has found in one file.

use std::collections::HashMap;

use hyperslab_array::{Error, Result};
use serde::Serialize;

use crate::finding::{Finding, Severity};

/// Findings of one kind and severity that are listed; more are counted.
const MAX_LISTED: u64 = 1000;

/// What a check has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The file.
    pub file: String,
    /// Its format: `HDF5`, `netCDF-3` or `unknown`.
    pub format: &'static str,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Version of the superblock of HDF5.
    pub superblock_version: Option<u8>,
    /// What is wrong, errors first, then by offset.
    pub findings: Vec<Finding>,
    /// Number of findings that are errors, listed or not.
    pub errors: u64,
    /// Number of findings that are warnings, listed or not.
    pub warnings: u64,
    /// Objects that were walked.
    pub objects: u64,
    /// Structures that were walked, values not counted.
    pub structures: u64,
    /// Chunks that were decoded, and blocks of contiguous values that were read.
    pub chunks: u64,
    /// Bytes of values that were read.
    pub data_bytes: u64,
    /// Bytes that nothing leads to.
    pub unaccounted_bytes: u64,
    /// Whether values were read and decoded.
    pub with_data: bool,
}

impl Report {
    pub(crate) fn new(file: String, format: &'static str, file_bytes: u64, with_data: bool) -> Self {
        Self {
            file,
            format,
            file_bytes,
            superblock_version: None,
            findings: Vec::new(),
            errors: 0,
            warnings: 0,
            objects: 0,
            structures: 0,
            chunks: 0,
            data_bytes: 0,
            unaccounted_bytes: 0,
            with_data,
        }
    }

    /// The report as JSON.
    ///
    /// # Errors
    /// `Internal` if it cannot be written.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::internal(format!("a report that cannot be written as JSON: {error}")))
    }

    /// Puts the findings into order, and lists at most [`MAX_LISTED`] of a kind.
    pub(crate) fn finish(mut self, mut findings: Vec<Finding>) -> Self {
        findings.sort_by(|a, b| (a.severity, a.offset, &a.path).cmp(&(b.severity, b.offset, &b.path)));
        findings.dedup();
        let mut counts: HashMap<(Severity, &'static str), u64> = HashMap::new();
        for finding in findings {
            match finding.severity {
                Severity::Error => self.errors += 1,
                Severity::Warning => self.warnings += 1,
                Severity::Info => {}
            }
            let count = counts.entry((finding.severity, finding.kind)).or_default();
            *count += 1;
            if *count <= MAX_LISTED {
                self.findings.push(finding);
            }
        }
        for ((severity, kind), count) in counts {
            if let Some(more) = count.checked_sub(MAX_LISTED).filter(|more| *more > 0) {
                self.findings.push(Finding::new(severity, "more", format!("{more} more findings of kind {kind}")));
            }
        }
        self.findings.sort_by_key(|finding| finding.severity);
        self
    }
}
