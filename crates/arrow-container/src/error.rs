//! Errors, as HDF5's error stack shows them to a user.

use std::sync::Arc;

/// A message for the error stack, and its class there.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Error {
    /// What is wrong, where, and what to do.
    pub message: String,
    /// Whether a container cannot do the operation at all (`H5E_UNSUPPORTED`), as opposed to a failure.
    pub unsupported: bool,
    /// The error that caused it. Shared, so that errors can be cloned.
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An operation that failed.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), unsupported: false, source: None }
    }

    /// An operation that a container does not support.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { message: message.into(), unsupported: true, source: None }
    }

    /// With the error that caused it.
    #[must_use]
    pub fn with_source(self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(source)), ..self }
    }

    #[cfg(any(feature = "plain", test))]
    /// With `context` before the message. Class and source stay.
    #[must_use]
    pub(crate) fn in_context(self, context: impl std::fmt::Display) -> Self {
        Self { message: format!("{context}: {}", self.message), ..self }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    /// The error of the operating system, of Arrow or of an inner operation that caused it, if there is one.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}

/// Builds an [`Error`] from a format string: `error!("text {}", value)`.
#[doc(hidden)]
#[macro_export]
macro_rules! arrow_container_error {
    ($($text:tt)*) => { $crate::error::Error::new(format!($($text)*)) };
}
pub use crate::arrow_container_error as error;

/// Formats an operating system error as HDF5 does: h5py parses the `errno` out of the text.
pub(crate) fn os_error_message(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(errno) => {
            let text = error.to_string();
            let words = text.strip_suffix(&format!(" (os error {errno})")).unwrap_or(&text);
            format!("errno = {errno}, error message = '{words}'")
        }
        None => error.to_string(),
    }
}

impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Self {
        error!("Arrow: {error}").with_source(error)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        error!("{}", os_error_message(&error)).with_source(error)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn an_error_keeps_its_source_under_a_new_message() {
        let full = Error::from(std::io::Error::from_raw_os_error(28));
        let outer = error!("values.arrow: {}", full.message).with_source(full).in_context("a.h5");
        assert!(outer.to_string().starts_with("a.h5: values.arrow: errno = 28"));
        let os_error = outer.source().and_then(|inner| inner.source()).and_then(|source| source.downcast_ref::<std::io::Error>());
        assert_eq!(os_error.and_then(std::io::Error::raw_os_error), Some(28));
        assert!(error!("no cause").source().is_none());
    }
}
