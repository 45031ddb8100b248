//! Reference: the kinds of stored references, without dereferencing them.

use hyperslab::{Error, ReferenceKind, ReferenceTarget, reference_target};
use pyo3::prelude::*;

use crate::error::raise;

/// The kind of reference with this name.
pub(crate) fn kind(py: Python<'_>, name: &str) -> PyResult<ReferenceKind> {
    match name {
        "object" => Ok(ReferenceKind::Object),
        "region" => Ok(ReferenceKind::Region),
        "standard" => Ok(ReferenceKind::Standard),
        other => Err(raise(py, &Error::invalid_input(format!("{other:?} is not a kind of reference")))),
    }
}

/// The name of a kind of reference.
pub(crate) fn name(kind: ReferenceKind) -> &'static str {
    match kind {
        ReferenceKind::Object => "object",
        ReferenceKind::Region => "region",
        ReferenceKind::Standard => "standard",
    }
}

/// What each element of `width` bytes points at: `object`, `region` or `attribute`; `None` for a null reference.
#[pyfunction]
pub(crate) fn reference_targets(py: Python<'_>, kind: &str, elements: &[u8], width: usize) -> PyResult<Vec<Option<&'static str>>> {
    let kind = self::kind(py, kind)?;
    let target = |element: &[u8]| -> PyResult<Option<&'static str>> {
        let target = reference_target(kind, element).map_err(|error| raise(py, &error))?;
        Ok(target.map(|target| match target {
            ReferenceTarget::Object => "object",
            ReferenceTarget::Region => "region",
            ReferenceTarget::Attribute => "attribute",
        }))
    };
    elements.chunks_exact(width.max(1)).map(target).collect()
}
