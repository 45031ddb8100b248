//! Errors, as HDF5's error stack shows them to a user.

/// A message for the error stack, and its class there.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Error {
    /// What is wrong, where, and what to do.
    pub message: String,
    /// Whether a container cannot do the operation at all (`H5E_UNSUPPORTED`), as opposed to a failure.
    pub unsupported: bool,
}

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An operation that failed.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), unsupported: false }
    }

    /// An operation that a container does not support.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { message: message.into(), unsupported: true }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

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
        error!("Arrow: {error}")
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        error!("{}", os_error_message(&error))
    }
}
