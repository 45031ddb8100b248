//! Finding: one thing that is wrong with a file, or worth knowing.

use serde::Serialize;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "callers rank by it")]
pub enum Severity {
    /// Values or objects are lost, wrong or cannot be read.
    Error,
    /// Nothing is lost yet, or the loss is not known.
    Warning,
    /// Worth knowing.
    Info,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What kind of finding, one of [`KINDS`].
    pub kind: &'static str,
    /// Path of the object.
    pub path: Option<String>,
    /// Absolute offset in the file.
    pub offset: Option<u64>,
    /// Bytes from there.
    pub length: Option<u64>,
    /// What is wrong.
    pub message: String,
    /// What it costs.
    pub cost: String,
    /// What to do.
    pub advice: String,
}

/// All kinds of findings with what they mean.
pub const KINDS: [(&str, &str); 21] = [
    ("damaged", "a structure that cannot be read, or contradicts its checksum, the specification or other structures"),
    ("unsupported", "a structure or type that is not supported, and therefore not checked"),
    ("truncated", "the file is shorter than its superblock says"),
    ("longer", "the file is longer than its superblock says"),
    ("open-for-writing", "a program has the file open, or died while it wrote"),
    ("outside", "a chunk, values or a structure that ends after the end of the file"),
    ("overlap", "two structures, or values of two datasets, that share bytes"),
    ("unaccounted", "bytes that nothing leads to"),
    ("unreachable", "an object that no link leads to"),
    ("dangling-link", "a soft link to nothing, or a hard link to bytes that are no object"),
    ("link-count", "an object that states another number of links than there are"),
    ("bad-reference", "a reference to bytes that are no object"),
    ("dimension-scale", "a dimension scale that does not fit the dataset to which it is attached"),
    ("undecodable", "a chunk, values of variable length or an attribute that cannot be decoded"),
    ("zeroed", "a chunk of nothing but zeros, of which its fletcher32 checksum cannot tell whether they were written"),
    ("unreadable", "bytes that the operating system cannot read"),
    ("missing-file", "an external file, or a source of a virtual dataset, that does not exist"),
    ("header", "the header of a netCDF classic file that contradicts itself or the file"),
    ("records", "a netCDF classic file whose number of records does not fit its length"),
    ("limit", "something that costs more than the limits allow, and is therefore not checked"),
    ("more", "more findings of a kind than are listed"),
];

impl Finding {
    pub(crate) fn new(severity: Severity, kind: &'static str, message: impl Into<String>) -> Self {
        let (path, offset, length) = (None, None, None);
        Self { severity, kind, path, offset, length, message: message.into(), cost: String::new(), advice: String::new() }
    }
    pub(crate) fn at(self, offset: u64, length: u64) -> Self {
        Self { offset: Some(offset), length: (length > 0).then_some(length), ..self }
    }
    pub(crate) fn of(self, path: Option<impl Into<String>>) -> Self {
        Self { path: path.map(Into::into).or(self.path), ..self }
    }
    pub(crate) fn costs(self, cost: impl Into<String>) -> Self {
        Self { cost: cost.into(), ..self }
    }
    pub(crate) fn advises(self, advice: impl Into<String>) -> Self {
        Self { advice: advice.into(), ..self }
    }
}
