//! Names and encodings that the catalog uses.

/// The format version. Other versions are refused.
pub(super) const VERSION: &str = "1";
/// The version of containers that have packs: small datasets whose files are in one file.
pub(super) const VERSION_WITH_PACKS: &str = "2";
/// Metadata key of a column that is a dataset's fill value, not an attribute.
pub(super) const FILL: &str = "hyperslab.fill";
/// The file whose presence makes a folder a container.
pub const CATALOG: &str = "catalog.arrow";
/// The catalog of one file until it is in that file. A folder with [`CATALOG`] next to one file has the values of all datasets, because
/// ranks have flushed them, and would be taken for a later state.
pub(crate) const NEXT_CATALOG: &str = "catalog.next";

pub(super) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    text.len().is_multiple_of(2).then_some(())?;
    (0..text.len()).step_by(2).map(|at| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok())).collect()
}
