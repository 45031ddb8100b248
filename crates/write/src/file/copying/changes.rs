//! What a copy could not keep, or was asked to change.

/// Something of an object that is not in the copy as it was in the original.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Change {
    /// Path of the object.
    pub path: String,
    /// What is different, in words.
    pub text: String,
}

impl Change {
    /// A change of the object at `path`.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }
}
