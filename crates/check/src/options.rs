//! How to check, and who hears how far it is.

/// How to check.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CheckOptions {
    /// Whether all values are read and all chunks decoded.
    pub with_data: bool,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { with_data: true }
    }
}

impl CheckOptions {
    /// With or without reading values.
    #[must_use]
    pub fn with_data(self, with_data: bool) -> Self {
        Self { with_data }
    }
}

/// Takes what is done, what there is to do as far as it is known, and the unit of both.
pub type CheckProgress<'a> = dyn FnMut(u64, u64, &'static str) + 'a;
