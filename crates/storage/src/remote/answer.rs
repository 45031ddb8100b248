//! Answers of stores: what is wrong with one, in one sentence, without credentials.

use bytes::Bytes;
use hyperslab_array::{Error, ErrorKind, Result};

use super::address::without_queries;

/// The error for an object that is not the one that was opened.
pub(super) fn changed() -> Error {
    Error::new(ErrorKind::Conflict, "the object has changed since it was opened: open it again")
}

/// An answer that breaks off may come whole if it is asked for again.
fn broken(message: String) -> Error {
    Error::io(std::io::Error::from(std::io::ErrorKind::ConnectionAborted), &message)
}

/// Checks that an answer has as many bytes as were asked for.
pub(super) fn check_length(bytes: &Bytes, wanted: u64) -> Result<()> {
    let there = bytes.len() as u64;
    match there == wanted {
        true => Ok(()),
        false => Err(broken(format!("the server answered with {there} bytes where {wanted} were asked for"))),
    }
}

/// Whether a store says that an object has none of the bytes that were asked for.
pub(super) fn is_unsatisfiable(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::Generic { .. }) && status(&error.to_string()) == Some(416)
}

/// What a store answered, as an error of ours.
pub(super) fn error(error: &object_store::Error) -> Error {
    use object_store::Error as Store;
    let text = error.to_string();
    let detail = words(error);
    let io = |what: &str| Error::new(ErrorKind::Io, format!("{what}: {detail}"));
    match error {
        Store::NotFound { .. } => Error::not_found("there is no such object"),
        Store::Precondition { .. } | Store::NotModified { .. } => changed(),
        Store::PermissionDenied { .. } => io("access is denied (403); give credentials in storage_options, or skip_signature=true for public objects"),
        Store::Unauthenticated { .. } => io("the credentials are missing or not valid (401)"),
        Store::NotSupported { .. } => no_ranges(),
        _ if text.contains("non-partial response") => no_ranges(),
        _ if text.contains("Content-Range") || text.contains("Requested ") && text.contains("got ") => {
            Error::new(ErrorKind::Io, format!("the server answered a request for a range with other bytes: {detail}"))
        }
        _ if ["ExpiredToken", "RequestExpired", "TokenRefreshRequired"].iter().any(|code| text.contains(code)) => io("the credentials have expired"),
        _ if is_of_body(error) => broken(format!("the answer broke off: {detail}")),
        _ => io("the store cannot be read"),
    }
}

/// What a store answered to a request that writes, as an error of ours.
pub(super) fn of_writing(error: &object_store::Error) -> Error {
    use object_store::Error as Store;
    match error {
        Store::AlreadyExists { .. } | Store::Precondition { .. } => is_there(),
        Store::NotFound { .. } => Error::not_found("there is no such bucket"),
        Store::NotSupported { .. } | Store::NotImplemented { .. } => Error::unsupported(format!("the store cannot do this: {}", words(error))),
        Store::PermissionDenied { .. } | Store::Unauthenticated { .. } => self::error(error),
        _ => Error::new(ErrorKind::Io, format!("the store cannot be written: {}", words(error))),
    }
}

/// The error for an object that must not be replaced.
pub(super) fn is_there() -> Error {
    Error::new(ErrorKind::Conflict, "there is an object of this name already")
}

fn no_ranges() -> Error {
    Error::unsupported("the server ignores requests for ranges of bytes: download the file and give its path")
}

/// Whether the body of an answer broke off: what the store's client could not get again by itself.
fn is_of_body(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::Generic { source, .. } if source.downcast_ref::<object_store::client::HttpError>().is_some())
}

/// The HTTP status that an error tells of.
fn status(text: &str) -> Option<u16> {
    let (_, after) = text.split_once("status code: ")?;
    after.get(..3)?.parse().ok()
}

/// What an error says, without addresses' queries. Of a store's XML only code and message are shown: the rest may repeat
/// what was signed.
pub(super) fn words(error: &object_store::Error) -> String {
    let text = error.to_string();
    if is_of_machine(&text) {
        let cause = status(&text).map_or_else(|| innermost(error), |status| format!("status {status}"));
        return format!(
            "no credentials were found, and this machine has none of its own ({cause}); give them in storage_options, or skip_signature=true to read public objects"
        );
    }
    let element = |name: &str| Some(text.split_once(&format!("<{name}>"))?.1.split_once(&format!("</{name}>"))?.0.trim().to_owned());
    let number = status(&text).map(|status| format!("status {status}"));
    let said = match (element("Code"), element("Message")) {
        (Some(code), Some(message)) => Some(format!("{code}: {message}")),
        (code, _) => code,
    };
    match (number, said) {
        (Some(number), Some(said)) => format!("{number}, {}", without_queries(&said)),
        (Some(number), None) => number,
        (None, Some(said)) => without_queries(&said),
        (None, None) => without_queries(&innermost(error)),
    }
}

/// The cause that lies deepest, which says the least of how it was found.
fn innermost(error: &object_store::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// Whether an error is of the service that gives machines of a cloud their credentials, which is asked if there are no others.
fn is_of_machine(text: &str) -> bool {
    text.contains("169.254.169.254") || text.contains("metadata.google.internal")
}

#[cfg(test)]
mod tests {
    use super::of_writing;

    #[test]
    fn a_refusal_of_the_machine_is_not_taken_for_one_of_the_store() {
        let text = "Error performing GET http://metadata.google.internal/computeMetadata/v1/token - Server returned non-2xx status code: 403 Forbidden";
        let error = object_store::Error::Generic { store: "GCS", source: text.into() };
        let said = of_writing(&error).to_string();
        assert!(said.contains("no credentials were found") && said.contains("status 403"), "{said}");
    }
}
