//! `NativeReader`: the batches of one split, or one row of aggregates over them.

use std::sync::Mutex;

use arrow_array::RecordBatchReader;
use hyperslab::scan::{Batches, Split};
use hyperslab::{Cancellation, Error};
use jni::JNIEnv;
use jni::objects::{JByteArray, JClass, JString};
use jni::sys::{jint, jlong, jlongArray};

use crate::aggregate::{Aggregate, aggregate, schema_of};
use crate::boundary::{at_border, bytes, guard, long, text};
use crate::exported::{export_batch, export_schema};
use crate::idle_session::LentSession;
use crate::table::Table;

struct Reader {
    /// In a lock because Java could call from two threads; they take turns.
    source: Mutex<Source>,
    cancellation: Cancellation,
    session: LentSession,
}

struct Source {
    batches: Batches,
    /// Asked for instead of the rows, until they are answered.
    aggregates: Vec<Aggregate>,
    answered: bool,
}

static READERS: Table<Reader> = Table::new("reader");

/// Opens the split of these bytes with the session that `options` (JSON) describe; returns a handle.
/// `aggregates` is a JSON list; an empty one asks for the rows.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_open<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    split: JByteArray<'local>,
    options: JString<'local>,
    aggregates: JString<'local>,
) -> jlong {
    guard(&mut env, |env| {
        let split = Split::decode(&bytes(env, &split)?)?;
        let session = LentSession::new(text(env, &options)?)?;
        let aggregates = Aggregate::parse(&text(env, &aggregates)?)?;
        let cancellation = Cancellation::new();
        let batches = split.read(session.session(), &cancellation).map_err(|error| error.in_file(split.file()))?;
        let source = Mutex::new(Source { batches, aggregates, answered: false });
        Ok(READERS.insert(Reader { source, cancellation, session }))
    })
}

/// The address of the batches' schema, to be released.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_schema<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, reader: jlong) -> jlong {
    guard(&mut env, |_| {
        let reader = READERS.find(reader)?;
        let source = reader.source.lock().map_err(|_| Error::internal("an earlier read of this split failed"))?;
        let schema = source.batches.schema();
        if source.aggregates.is_empty() { export_schema(&schema) } else { export_schema(schema_of(&source.aggregates, &schema)?.as_ref()) }
    })
}

/// The address of the next batch, to be released; 0 (no address) after the last.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_next<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, reader: jlong) -> jlong {
    guard(&mut env, |_| {
        let reader = READERS.find(reader)?;
        let mut source = reader.source.lock().map_err(|_| Error::internal("an earlier read of this split failed"))?;
        let Source { batches, aggregates, answered } = &mut *source;
        let next = if aggregates.is_empty() {
            batches.next_batch().transpose()?
        } else if std::mem::replace(answered, true) {
            None
        } else {
            let schema = batches.schema();
            Some(aggregate(batches, aggregates, &schema)?)
        };
        match next {
            Some(batch) => export_batch(batch),
            None => Ok(0),
        }
    })
}

/// Stops the reader: what reads now ends with `Cancelled`. A reader that is closed already is fine.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_cancel<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, reader: jlong) {
    guard(&mut env, |_| {
        if let Ok(reader) = READERS.find(reader) {
            reader.cancellation.cancel();
        }
        Ok(())
    });
}

/// Bytes read, chunks decoded, nanoseconds in filters, chunks skipped.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_counters<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, reader: jlong) -> jlongArray {
    let array = guard(&mut env, |env| {
        let reader = READERS.find(reader)?;
        let [bytes, chunks, nanoseconds, skipped] = reader.session.counters();
        let numbers = [long(bytes)?, long(chunks)?, long(nanoseconds)?, long(skipped)?];
        let array = env.new_long_array(4).map_err(at_border)?;
        env.set_long_array_region(&array, 0, &numbers).map_err(at_border)?;
        Ok(array)
    });
    array.into_raw()
}

/// Forgets the reader. What it exported stays until released.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_close<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, reader: jlong) {
    guard(&mut env, |_| READERS.remove(reader).map(drop));
}

/// How many readers are open.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_live<'local>(mut env: JNIEnv<'local>, _: JClass<'local>) -> jint {
    guard(&mut env, |_| Ok(jint::try_from(READERS.len()).unwrap_or(jint::MAX)))
}
