//! What went wrong, as the sentence that a user reads on HDF5's error stack.

/// A failure and what it belongs to on the error stack.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    /// What happened, and what to do about it.
    pub(crate) message: String,
    /// Whether the operation is one that no Arrow container can do.
    pub(crate) unsupported: bool,
}

/// What most functions here return.
pub(crate) type Result<T> = std::result::Result<T, Fault>;

impl Fault {
    /// Something asked for that is not so, or not there.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), unsupported: false }
    }

    /// Something that the connector does not do.
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self { message: message.into(), unsupported: true }
    }
}

/// `fault!("text {}", value)`.
macro_rules! fault {
    ($($text:tt)*) => { $crate::container::fault::Fault::new(format!($($text)*)) };
}
pub(crate) use fault;

/// The system's error in the words that HDF5 has for it, which h5py reads the number from.
pub(crate) fn told(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => {
            let text = error.to_string();
            let words = text.strip_suffix(&format!(" (os error {number})")).unwrap_or(&text);
            format!("errno = {number}, error message = '{words}'")
        }
        None => error.to_string(),
    }
}

impl From<arrow_schema::ArrowError> for Fault {
    fn from(error: arrow_schema::ArrowError) -> Self {
        fault!("Arrow: {error}")
    }
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        fault!("{}", told(&error))
    }
}
