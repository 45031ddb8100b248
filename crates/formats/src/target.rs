//! Targets: other files that hold the chunks of references.

/// Another file, to which references lead.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Target {
    /// Its name or address, as it was written.
    pub file: String,
    /// Where its first byte is in the storage that joins all targets.
    pub start: u64,
    /// Bytes up to the end of the last reference.
    pub length: u64,
}
