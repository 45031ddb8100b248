//! The error type of all crates: its kind, file, object, byte offset, and a message that says what to do.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::name::printable;

/// What went wrong, in the classes that a caller can act on. Python and Java have one class each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file, object, column or attribute does not exist.
    NotFound,
    /// An invalid request: a bad index, predicate or option.
    InvalidInput,
    /// A valid file or request that needs an unsupported feature, which the message names.
    Unsupported,
    /// Bytes that contradict the format's specification.
    Corrupt,
    /// A limit of `Limits` was exceeded.
    LimitExceeded,
    /// Another process has changed or locked the file.
    Conflict,
    /// The operating system or object store reported an error.
    Io,
    /// The caller asked to stop.
    Cancelled,
    /// A bug in Hyperslab.
    Internal,
}

impl ErrorKind {
    /// The word for the kind in Python (`error.kind`), such as `NotFound`. It stays the same in later versions.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotFound => "NotFound",
            Self::InvalidInput => "InvalidInput",
            Self::Unsupported => "Unsupported",
            Self::Corrupt => "Corrupt",
            Self::LimitExceeded => "LimitExceeded",
            Self::Conflict => "Conflict",
            Self::Io => "Io",
            Self::Cancelled => "Cancelled",
            Self::Internal => "Internal",
        }
    }
}

/// Result with the project's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error with its place. Small (one pointer) because it travels through every parser.
#[derive(Debug, Clone)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    file: Option<String>,
    object: Option<String>,
    offset: Option<u64>,
    os_error: Option<i32>,
    may_pass: bool,
    /// The error of the operating system. Shared, so that errors can be cloned.
    source: Option<Arc<std::io::Error>>,
}

impl Error {
    /// An error of `kind`; `message` says what was found, what was expected and what to do.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = readable(message.into());
        Self(Box::new(Inner { kind, message, file: None, object: None, offset: None, os_error: None, may_pass: false, source: None }))
    }
    /// [`ErrorKind::NotFound`].
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }
    /// [`ErrorKind::InvalidInput`].
    pub fn invalid_input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }
    /// [`ErrorKind::InvalidInput`] for an option that has none of its values: `unknown mode "y"; expected "w" or "x"`.
    pub fn unknown_choice(name: &str, given: &str, expected: &[&str]) -> Self {
        let quoted: Vec<String> = expected.iter().map(|choice| format!("{choice:?}")).collect();
        let listed = match quoted.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => "none".to_owned(),
        };
        Self::invalid_input(format!("unknown {name} {given:?}; expected {listed}"))
    }
    /// [`ErrorKind::Unsupported`].
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }
    /// [`ErrorKind::Corrupt`].
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }
    /// [`ErrorKind::LimitExceeded`].
    pub fn limit_exceeded(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::LimitExceeded, message)
    }
    /// [`ErrorKind::Conflict`] because another process uses the file right now: the same call may succeed when it is done.
    pub fn busy(message: impl Into<String>) -> Self {
        let mut made = Self::new(ErrorKind::Conflict, message);
        made.0.may_pass = true;
        made
    }
    /// [`ErrorKind::Io`]: what the operating system answered while `doing` something ("cannot write").
    pub fn io(error: std::io::Error, doing: &str) -> Self {
        let mut made = Self::from(error);
        made.0.kind = ErrorKind::Io;
        made.0.message = format!("{doing}: {}", made.0.message);
        made
    }
    /// [`ErrorKind::Cancelled`].
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "cancelled by the caller")
    }
    /// [`ErrorKind::Internal`].
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Names the file, unless an inner place has named one already.
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.0.file.get_or_insert_with(|| file.into());
        self
    }
    /// Names the object (an HDF5 path), unless an inner place has named one already.
    pub fn at_object(mut self, path: impl Into<String>) -> Self {
        self.0.object.get_or_insert_with(|| readable(path.into()));
        self
    }
    /// Names the byte offset in the file, unless an inner place has named one already.
    pub fn at_offset(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Adds a sentence to the message, such as what else failed for the same call.
    pub fn with_note(mut self, note: &str) -> Self {
        self.0.message.push_str("; ");
        self.0.message.push_str(note);
        self
    }

    /// The class of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }
    /// The sentence without its place.
    pub fn message(&self) -> &str {
        &self.0.message
    }
    /// The file, where known.
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }
    /// The object's path, where known.
    pub fn object(&self) -> Option<&str> {
        self.0.object.as_deref()
    }
    /// The byte offset in the file, where known.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }
    /// The operating system's number of the error (`errno`), if it reported one.
    pub fn os_error(&self) -> Option<i32> {
        self.0.os_error
    }
    /// Whether the same call may succeed later although the caller changes nothing.
    ///
    /// True if another process uses the file right now ([`Error::busy`]), and for errors of the operating system that pass by
    /// themselves: an interrupted or timed-out call, a busy resource, a network that cannot be reached. False for everything
    /// else: a file that has changed since it was opened stays changed until it is opened again, and a missing file, a denied
    /// permission or a full disk stays so until it is put right.
    pub fn retryable(&self) -> bool {
        self.0.may_pass
    }
}

/// A message with its names as they are printed: those that were quoted by `{:?}`, too.
fn readable(message: String) -> String {
    const QUOTED: &str = "\\u{10ff";
    let message = match printable(&message) {
        Cow::Borrowed(_) => message,
        Cow::Owned(message) => message,
    };
    if !message.contains(QUOTED) {
        return message;
    }
    let mut parts = message.split(QUOTED);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}') {
            Some(("00", rest)) => text.extend(["#", rest]),
            Some((byte, rest)) => text.extend(["\\x", byte, rest]),
            None => text.push_str(part),
        }
    }
    text
}

impl fmt::Display for Error {
    /// `Corrupt: bad checksum (file a.h5, object /x, offset 96)`: one line, kind first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.kind.name(), self.0.message)?;
        let places = [
            self.0.file.as_ref().map(|p| format!("file {p}")),
            self.0.object.as_ref().map(|p| format!("object {p}")),
            self.0.offset.map(|o| format!("offset {o}")),
        ];
        let places: Vec<String> = places.into_iter().flatten().collect();
        if places.is_empty() { Ok(()) } else { write!(f, " ({})", places.join(", ")) }
    }
}

impl std::error::Error for Error {
    /// The operating system's error, if there is one.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}

/// Whether an error of the operating system may pass by itself.
fn may_pass(kind: std::io::ErrorKind) -> bool {
    use std::io::ErrorKind::{
        ConnectionAborted, ConnectionReset, Deadlock, HostUnreachable, Interrupted, NetworkDown, NetworkUnreachable, ResourceBusy, TimedOut, WouldBlock,
    };
    matches!(
        kind,
        Interrupted
            | TimedOut
            | WouldBlock
            | ResourceBusy
            | Deadlock
            | NetworkDown
            | NetworkUnreachable
            | HostUnreachable
            | ConnectionReset
            | ConnectionAborted
    )
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Io,
        };
        let os_error = error.raw_os_error();
        // The number is kept apart from the words: "Permission denied (os error 13)".
        let text = error.to_string();
        let words = os_error.and_then(|number| text.strip_suffix(&format!(" (os error {number})"))).unwrap_or(&text);
        let mut made = Self::new(kind, words);
        made.0.os_error = os_error;
        made.0.may_pass = may_pass(error.kind());
        made.0.source = Some(Arc::new(error));
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_the_operating_system_is_the_source() {
        let error = Error::io(std::io::Error::from_raw_os_error(28), "cannot write").in_file("a.h5");
        let source = std::error::Error::source(&error.clone()).and_then(|source| source.downcast_ref::<std::io::Error>()?.raw_os_error());
        assert_eq!((source, error.os_error()), (Some(28), Some(28)));
        assert!(std::error::Error::source(&Error::internal("a fault")).is_none());
    }

    #[test]
    fn only_what_may_pass_by_itself_is_retryable() {
        use std::io::ErrorKind as Os;
        let may_pass = [Os::Interrupted, Os::TimedOut, Os::WouldBlock, Os::ResourceBusy, Os::NetworkUnreachable];
        let stays = [Os::NotFound, Os::PermissionDenied, Os::AlreadyExists, Os::StorageFull, Os::ReadOnlyFilesystem, Os::UnexpectedEof, Os::Other];
        assert!(may_pass.into_iter().all(|kind| Error::io(kind.into(), "cannot read").in_file("a.h5").retryable()));
        assert!(!stays.into_iter().any(|kind| Error::from(std::io::Error::from(kind)).retryable()));
        let busy = Error::busy("another commit is in progress");
        assert_eq!((busy.kind(), busy.retryable()), (ErrorKind::Conflict, true));
        assert!(!Error::new(ErrorKind::Conflict, "the file has changed").retryable());
        assert!(![ErrorKind::Io, ErrorKind::Cancelled, ErrorKind::Internal].into_iter().any(|kind| Error::new(kind, "").retryable()));
    }
}
