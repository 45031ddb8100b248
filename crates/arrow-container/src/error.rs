//! What went wrong, as the sentence that a user reads on HDF5's error stack.

/// A failure and what it belongs to on the error stack.
#[derive(Debug, Clone)]
pub struct Error {
    /// What happened, and what to do about it.
    pub message: String,
    /// Whether the operation is one that no Arrow container can do.
    pub unsupported: bool,
}

/// What most functions here return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Something asked for that is not so, or not there.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), unsupported: false }
    }

    /// Something that the connector does not do.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { message: message.into(), unsupported: true }
    }
}

/// `fault!("text {}", value)`.
#[doc(hidden)]
#[macro_export]
macro_rules! arrow_container_error {
    ($($text:tt)*) => { $crate::error::Error::new(format!($($text)*)) };
}
pub use crate::arrow_container_error as error;

/// The system's error in the words that HDF5 has for it, which h5py reads the number from.
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
