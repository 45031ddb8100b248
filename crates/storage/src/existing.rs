//! What happens to a file, or an object of a store, that has the name of a new one.

/// What to do if there is a file already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Existing {
    /// Replace it.
    Replace,
    /// Keep it, and fail with `Conflict`.
    Keep,
}
