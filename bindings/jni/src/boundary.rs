//! Boundary: what every native method goes through. Errors and panics become Java exceptions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hyperslab::{Error, ErrorKind, Result};
use jni::JNIEnv;
use jni::objects::{JByteArray, JObject, JString, JThrowable, JValue};

/// Package of the Java classes.
const PACKAGE: &str = "io/hyperslab";

/// Runs the body of a native method. On an error or a panic, a Java exception is pending and the
/// returned value is never seen.
pub(crate) fn guard<'local, T: Default>(env: &mut JNIEnv<'local>, body: impl FnOnce(&mut JNIEnv<'local>) -> Result<T>) -> T {
    let result =
        catch_unwind(AssertUnwindSafe(|| body(env))).unwrap_or_else(|_| Err(Error::internal("a fault of Hyperslab's own (a panic): please report it")));
    result.unwrap_or_else(|error| {
        // A Java exception that is pending already (out of memory, say) says more than ours would.
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
        // A kind that this binding does not know is a fault of ours.
        _ => "InternalException",
    }
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

/// A fault at the border itself.
pub(crate) fn at_border(error: jni::errors::Error) -> Error {
    Error::internal(format!("between Java and Rust: {error}"))
}

/// A Java string.
pub(crate) fn text(env: &mut JNIEnv<'_>, string: &JString<'_>) -> Result<String> {
    Ok(env.get_string(string).map_err(at_border)?.into())
}

/// A Java byte array.
pub(crate) fn bytes(env: &mut JNIEnv<'_>, array: &JByteArray<'_>) -> Result<Vec<u8>> {
    env.convert_byte_array(array).map_err(at_border)
}

/// A number for Java, which has no unsigned ones.
pub(crate) fn long(number: u64) -> Result<i64> {
    i64::try_from(number).map_err(|_| Error::limit_exceeded(format!("{number} is more than a Java long")))
}
