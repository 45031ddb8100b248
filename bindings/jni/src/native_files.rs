//! `NativeFiles`: file systems of Java, such as Hadoop's, that open addresses.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyperslab::storage::{OpenedRanges, RangeReader, RangesVersion, RemoteOpener};
use hyperslab::{Error, ErrorKind, Result};
use jni::objects::{GlobalRef, JByteArray, JClass, JObject, JObjectArray, JString, JThrowable, JValue};
use jni::sys::{jboolean, jsize};
use jni::{JNIEnv, JavaVM};

use crate::boundary::{guard, jni_error, kind_of, text};
use crate::named_table::NamedTable;

/// Local references that one upcall makes at a time.
const FRAME: i32 = 16;

/// Registered file systems, by the keys that sessions name them with.
static FILE_SYSTEMS: NamedTable<JavaFiles> = NamedTable::new();

/// A file system of Java.
struct JavaFiles {
    vm: JavaVM,
    /// The `io.hyperslab.FileOpener`.
    opener: GlobalRef,
}

/// Registers an opener under a key, unless it is known.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeFiles_register<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    key: JString<'local>,
    opener: JObject<'local>,
) {
    guard(&mut env, |env| {
        let files = JavaFiles { vm: env.get_java_vm().map_err(jni_error)?, opener: env.new_global_ref(&opener).map_err(jni_error)? };
        FILE_SYSTEMS.insert(text(env, &key)?, files);
        Ok(())
    });
}

/// Whether a key is registered.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeFiles_isRegistered<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, key: JString<'local>) -> jboolean {
    guard(&mut env, |env| Ok(jboolean::from(FILE_SYSTEMS.find(&text(env, &key)?).is_some())))
}

/// Requests and bytes of the reads of one session.
#[derive(Debug, Default)]
pub(crate) struct RemoteCounters {
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl RemoteCounters {
    /// Requests (for versions, for opening, and one for each range), and bytes that came.
    pub fn values(&self) -> [u64; 2] {
        [self.requests.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed)]
    }
    fn add(&self, requests: u64, bytes: u64) {
        self.requests.fetch_add(requests, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Opens the files of one session by a file system of Java.
pub(crate) struct JavaOpener {
    files: Arc<JavaFiles>,
    counters: Arc<RemoteCounters>,
}

impl fmt::Debug for JavaOpener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JavaOpener")
    }
}

impl JavaOpener {
    /// By the file system with this key, with counters of its own. `InvalidInput` if there is none.
    pub fn new(key: &str, counters: Arc<RemoteCounters>) -> Result<Self> {
        let files = FILE_SYSTEMS.find(key).ok_or_else(|| Error::invalid_input(format!("file system {key} is not registered in this process")))?;
        Ok(Self { files, counters })
    }
}

impl RemoteOpener for JavaOpener {
    fn open(&self, address: &str) -> Result<OpenedRanges> {
        self.counters.add(1, 0);
        called(&self.files.vm, |env| {
            let address = JObject::from(env.new_string(address)?);
            let source = env.call_method(&self.files.opener, "open", "(Ljava/lang/String;)Lio/hyperslab/FileRanges;", &[JValue::Object(&address)])?.l()?;
            let version = version_of(env, &source)?;
            // Its destructor closes the file in Java.
            let source = JavaRanges { files: self.files.clone(), source: env.new_global_ref(&source)?, counters: self.counters.clone() };
            Ok(OpenedRanges::new(Arc::new(source), version))
        })
    }

    fn version(&self, address: &str) -> Result<RangesVersion> {
        self.counters.add(1, 0);
        called(&self.files.vm, |env| {
            let address = JObject::from(env.new_string(address)?);
            let version = env.call_method(&self.files.opener, "version", "(Ljava/lang/String;)Lio/hyperslab/FileVersion;", &[JValue::Object(&address)])?.l()?;
            version_fields(env, &version)
        })
    }
}

/// An open file of Java, an `io.hyperslab.FileRanges`.
struct JavaRanges {
    files: Arc<JavaFiles>,
    source: GlobalRef,
    counters: Arc<RemoteCounters>,
}

impl RangeReader for JavaRanges {
    fn read_ranges(&self, ranges: &[(u64, u64)]) -> Result<Vec<Vec<u8>>> {
        let too_far = |_| Error::limit_exceeded("a range beyond 2 GiB or 63 bits cannot be read by Java");
        let offsets = ranges.iter().map(|(offset, _)| i64::try_from(*offset).map_err(too_far)).collect::<Result<Vec<_>>>()?;
        let lengths = ranges.iter().map(|(_, length)| i32::try_from(*length).map_err(too_far)).collect::<Result<Vec<_>>>()?;
        let count = jsize::try_from(ranges.len()).map_err(too_far)?;
        let read: Vec<Vec<u8>> = called(&self.files.vm, |env| {
            let java_offsets = env.new_long_array(count)?;
            env.set_long_array_region(&java_offsets, 0, &offsets)?;
            let java_lengths = env.new_int_array(count)?;
            env.set_int_array_region(&java_lengths, 0, &lengths)?;
            let arguments = [JValue::Object(&java_offsets), JValue::Object(&java_lengths)];
            let answers = JObjectArray::from(env.call_method(&self.source, "read", "([J[I)[[B", &arguments)?.l()?);
            let mut read = Vec::with_capacity(ranges.len());
            for index in 0..env.get_array_length(&answers)? {
                let answer = JByteArray::from(env.get_object_array_element(&answers, index)?);
                read.push(env.convert_byte_array(&answer)?);
                // A frame has few local references.
                env.delete_local_ref(answer)?;
            }
            Ok(read)
        })?;
        self.counters.add(ranges.len() as u64, read.iter().map(|bytes| bytes.len() as u64).sum());
        Ok(read)
    }

    /// Java's reads cannot be interrupted safely, so threads of the engine make them, and the caller waits outside.
    fn reads_aside(&self) -> bool {
        true
    }
}

impl Drop for JavaRanges {
    fn drop(&mut self) {
        // A stream that fails to close was read to the end nevertheless, and a JVM that is ending closes all.
        let _ = called(&self.files.vm, |env| env.call_method(&self.source, "close", "()V", &[]).map(drop));
    }
}

/// Calls Java on this thread, which becomes a daemon of the JVM until it ends. Local references live until the call returns. An exception becomes
/// an error, and so does a panic.
fn called<T>(vm: &JavaVM, call: impl FnOnce(&mut JNIEnv<'_>) -> jni::errors::Result<T>) -> Result<T> {
    let mut env = vm.attach_current_thread_as_daemon().map_err(jni_error)?;
    if env.exception_check().map_err(jni_error)? {
        return Err(Error::internal("a call of Java while an exception is pending"));
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut exception = None;
        let outcome = env.with_local_frame(FRAME, |env| {
            let outcome = call(env);
            if let Err(jni::errors::Error::JavaException) = &outcome {
                exception = Some(error_of(env));
            }
            outcome
        });
        outcome.map_err(|error| exception.unwrap_or_else(|| jni_error(error)))
    }));
    outcome.unwrap_or_else(|_| Err(Error::internal("a panic while Java was called: please report it")))
}

/// The error of the pending exception, which is cleared.
fn error_of(env: &mut JNIEnv<'_>) -> Error {
    let described = (|| -> jni::errors::Result<Error> {
        let exception = env.exception_occurred()?;
        env.exception_clear()?;
        let class = env.get_object_class(&exception)?;
        let name = JString::from(env.call_method(&class, "getName", "()Ljava/lang/String;", &[])?.l()?);
        let name: String = env.get_string(&name)?.into();
        Ok(match kind_of(&name) {
            Some(kind) => Error::new(kind, text_of(env, &exception, "reason")?),
            None => Error::new(ErrorKind::Io, format!("the file system of Java failed: {}", text_of(env, &exception, "toString")?)),
        })
    })();
    described.unwrap_or_else(|error| {
        let _ = env.exception_clear();
        Error::new(ErrorKind::Io, format!("the file system of Java failed, and its exception cannot be read: {error}"))
    })
}

/// What a method without arguments returns, as text.
fn text_of(env: &mut JNIEnv<'_>, object: &JThrowable<'_>, method: &str) -> jni::errors::Result<String> {
    let text = env.call_method(object, method, "()Ljava/lang/String;", &[])?.l()?;
    if text.is_null() { Ok("without a message".to_owned()) } else { Ok(env.get_string(&JString::from(text))?.into()) }
}

/// The version of an open file.
fn version_of(env: &mut JNIEnv<'_>, source: &JObject<'_>) -> jni::errors::Result<RangesVersion> {
    let version = env.call_method(source, "version", "()Lio/hyperslab/FileVersion;", &[])?.l()?;
    version_fields(env, &version)
}

fn version_fields(env: &mut JNIEnv<'_>, version: &JObject<'_>) -> jni::errors::Result<RangesVersion> {
    let length = env.get_field(version, "length", "J")?.j()?;
    let modified = env.get_field(version, "modifiedMilliseconds", "J")?.j()?;
    let tag = env.get_field(version, "tag", "Ljava/lang/String;")?.l()?;
    let tag = if tag.is_null() { None } else { Some(env.get_string(&JString::from(tag))?.into()) };
    // Java says 0 for a time that it does not know.
    Ok(RangesVersion::new(u64::try_from(length).unwrap_or_default(), Some(modified).filter(|modified| *modified > 0), tag))
}
