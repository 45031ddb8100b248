//! The words that the catalog is written in.

/// The version of what is written; others are refused.
pub(super) const VERSION: &str = "1";
/// Marks the column that is no attribute but a dataset's fill value.
pub(super) const FILL: &str = "hyperslab.fill";
/// The file that makes a folder a container.
pub(crate) const CATALOG: &str = "catalog.arrow";

pub(super) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    text.len().is_multiple_of(2).then_some(())?;
    (0..text.len()).step_by(2).map(|at| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok())).collect()
}
