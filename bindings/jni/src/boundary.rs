//! Boundary: wraps every native method, and converts errors and panics to Java exceptions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hyperslab::{Error, ErrorKind, Result};
use jni::JNIEnv;
use jni::objects::{JByteArray, JObject, JString, JThrowable, JValue};

/// Package of the Java classes.
const PACKAGE: &str = "io/hyperslab";

/// Runs the body of a native method. On an error or a panic, it sets a pending Java exception and returns a default value,
/// which Java ignores.
pub(crate) fn guard<'local, T: Default>(env: &mut JNIEnv<'local>, body: impl FnOnce(&mut JNIEnv<'local>) -> Result<T>) -> T {
    let result = catch_unwind(AssertUnwindSafe(|| body(env))).unwrap_or_else(|_| Err(Error::internal("a panic in Hyperslab: please report it")));
    // The log of a Spark task is its standard error.
    let notices = hyperslab::index::take_notices().into_iter().chain(hyperslab::storage::take_cache_notices());
    notices.for_each(|notice| eprintln!("hyperslab: {notice}"));
    result.unwrap_or_else(|error| {
        // A pending Java exception (such as out of memory) is the cause, so it is kept.
        if !env.exception_check().unwrap_or(true) && throw(env, &error).is_err() {
            let _ = env.exception_clear();
            let _ = env.throw_new("java/lang/IllegalStateException", error.to_string());
        }
        T::default()
    })
}

/// The Java exception class of a kind.
fn class_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "NotFoundException",
        ErrorKind::InvalidInput => "InvalidInputException",
        ErrorKind::Unsupported => "UnsupportedException",
        ErrorKind::Corrupt => "CorruptException",
        ErrorKind::LimitExceeded => "LimitExceededException",
        ErrorKind::Conflict => "ConflictException",
        ErrorKind::Io => "IoException",
        ErrorKind::Cancelled => "CancelledException",
        // Kinds without a class of their own.
        _ => "InternalException",
    }
}

/// The kind of an exception class of this package, by its full name.
pub(crate) fn kind_of(class: &str) -> Option<ErrorKind> {
    Some(match class.strip_prefix("io.hyperslab.")? {
        "NotFoundException" => ErrorKind::NotFound,
        "InvalidInputException" => ErrorKind::InvalidInput,
        "UnsupportedException" => ErrorKind::Unsupported,
        "CorruptException" => ErrorKind::Corrupt,
        "LimitExceededException" => ErrorKind::LimitExceeded,
        "ConflictException" => ErrorKind::Conflict,
        "IoException" => ErrorKind::Io,
        "CancelledException" => ErrorKind::Cancelled,
        "InternalException" => ErrorKind::Internal,
        _ => return None,
    })
}

fn throw(env: &mut JNIEnv<'_>, error: &Error) -> jni::errors::Result<()> {
    let message = env.new_string(error.message())?;
    let file = optional_text(env, error.file())?;
    let object = optional_text(env, error.object())?;
    let offset = match error.offset().and_then(|offset| i64::try_from(offset).ok()) {
        Some(offset) => env.new_object("java/lang/Long", "(J)V", &[JValue::Long(offset)])?,
        None => JObject::null(),
    };
    let exception = env.new_object(
        format!("{PACKAGE}/{}", class_of(error.kind())),
        "(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;Ljava/lang/Long;)V",
        &[JValue::Object(&message), JValue::Object(&file), JValue::Object(&object), JValue::Object(&offset)],
    )?;
    env.throw(JThrowable::from(exception))
}

fn optional_text<'local>(env: &mut JNIEnv<'local>, text: Option<&str>) -> jni::errors::Result<JObject<'local>> {
    match text {
        Some(text) => Ok(env.new_string(text)?.into()),
        None => Ok(JObject::null()),
    }
}

/// The error of a failed JNI call.
pub(crate) fn jni_error(error: jni::errors::Error) -> Error {
    Error::internal(format!("a JNI call failed: {error}"))
}

/// Converts a Java string.
pub(crate) fn text(env: &mut JNIEnv<'_>, string: &JString<'_>) -> Result<String> {
    Ok(env.get_string(string).map_err(jni_error)?.into())
}

/// Copies a Java byte array.
pub(crate) fn bytes(env: &mut JNIEnv<'_>, array: &JByteArray<'_>) -> Result<Vec<u8>> {
    env.convert_byte_array(array).map_err(jni_error)
}

/// Converts a number to a Java `long`, which is signed.
pub(crate) fn long(number: u64) -> Result<i64> {
    i64::try_from(number).map_err(|_| Error::limit_exceeded(format!("{number} does not fit a Java long")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_classes_are_each_others_inverse() {
        let kinds = [
            ErrorKind::NotFound,
            ErrorKind::InvalidInput,
            ErrorKind::Unsupported,
            ErrorKind::Corrupt,
            ErrorKind::LimitExceeded,
            ErrorKind::Conflict,
            ErrorKind::Io,
            ErrorKind::Cancelled,
            ErrorKind::Internal,
        ];
        for kind in kinds {
            assert_eq!(kind_of(&format!("io.hyperslab.{}", class_of(kind))), Some(kind));
        }
        assert_eq!(kind_of("java.io.IOException"), None);
    }
}
