//! `NativeReader`: reads the batches of one split, or one row of aggregates over them.

use std::sync::Mutex;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use hyperslab::scan::{Batches, Split};
use hyperslab::{Cancellation, Error, Result, Session, interruption};
use jni::JNIEnv;
use jni::objects::{JByteArray, JClass, JString};
use jni::sys::{jint, jlong, jlongArray};

use crate::aggregate::{Aggregate, aggregate, schema_of};
use crate::boundary::{bytes, guard, jni_error, long, text};
use crate::exported::{export_batch, export_schema};
use crate::request::TopRequest;
use crate::session_pool::PooledSession;
use crate::table::Table;

struct Reader {
    /// Locked because Java can call from several threads.
    source: Mutex<Source>,
    cancellation: Cancellation,
    session: PooledSession,
}

struct Source {
    /// The schema of the rows.
    schema: SchemaRef,
    rows: RowSource,
    /// Aggregates to compute instead of returning rows; empty for rows.
    aggregates: Vec<Aggregate>,
    /// Whether the row of aggregates was returned.
    aggregates_done: bool,
}

/// Where the rows of a split come from.
enum RowSource {
    /// From all its batches.
    All(Batches),
    /// From its first rows in a sort order; `None` before they are read.
    Top { split: Box<Split>, top: TopRequest, batches: Option<std::vec::IntoIter<RecordBatch>> },
}

impl RowSource {
    fn next(&mut self, session: &Session, cancellation: &Cancellation) -> Result<Option<RecordBatch>> {
        match self {
            Self::All(batches) => batches.next_batch().transpose(),
            Self::Top { split, top, batches } => {
                let batches = match batches {
                    Some(batches) => batches,
                    None => {
                        let read = split.top_rows(&top.keys(), top.count, session, cancellation).map_err(|error| error.in_file(split.file()))?;
                        batches.insert(read.into_iter())
                    }
                };
                Ok(batches.next())
            }
        }
    }
}

static READERS: Table<Reader> = Table::new("reader");

/// The cancellations of readers, which exist before the readers: opening a remote file can take long.
static CANCELLATIONS: Table<Cancellation> = Table::new("reader");

/// Begins to open a reader, and returns the handle that cancels it, which `end` removes.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_begin<'local>(mut env: JNIEnv<'local>, _: JClass<'local>) -> jlong {
    guard(&mut env, |_| Ok(CANCELLATIONS.insert(Cancellation::new())))
}

/// Removes the handle that cancels a reader.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_end<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, cancellation: jlong) {
    guard(&mut env, |_| CANCELLATIONS.remove(cancellation).map(drop));
}

/// Opens a serialized split with the session that `options` (JSON) describe, and returns a handle. `aggregates` is a JSON
/// list; if it is empty, the reader returns rows: all of them, or the rows of `top` (JSON, `null` for all).
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_open<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    cancellation: jlong,
    split: JByteArray<'local>,
    options: JString<'local>,
    aggregates: JString<'local>,
    top: JString<'local>,
) -> jlong {
    guard(&mut env, |env| {
        let split = Split::decode(&bytes(env, &split)?)?;
        let session = PooledSession::new(text(env, &options)?)?;
        let aggregates = Aggregate::parse(&text(env, &aggregates)?)?;
        let cancellation = CANCELLATIONS.find(cancellation)?.as_ref().clone();
        let read = || split.read(session.session(), &cancellation);
        let batches = interruption::cancellable(&cancellation, read).map_err(|error| error.in_file(split.file()))?;
        let schema = batches.schema();
        let rows = match TopRequest::parse(&text(env, &top)?)? {
            None => RowSource::All(batches),
            Some(top) => RowSource::Top { split: Box::new(split), top, batches: None },
        };
        let source = Mutex::new(Source { schema, rows, aggregates, aggregates_done: false });
        Ok(READERS.insert(Reader { source, cancellation, session }))
    })
}

/// Exports the schema of the batches and returns its address. The caller releases it.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_schema<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, reader: jlong) -> jlong {
    guard(&mut env, |_| {
        let reader = READERS.find(reader)?;
        let source = reader.source.lock().map_err(|_| Error::internal("an earlier read of this split failed"))?;
        if source.aggregates.is_empty() { export_schema(&source.schema) } else { export_schema(schema_of(&source.aggregates, &source.schema)?.as_ref()) }
    })
}

/// Reads and exports the next batch and returns its address, or 0 after the last batch. The caller releases it.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_next<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, reader: jlong) -> jlong {
    guard(&mut env, |_| {
        let reader = READERS.find(reader)?;
        let mut source = reader.source.lock().map_err(|_| Error::internal("an earlier read of this split failed"))?;
        let Source { schema, rows, aggregates, aggregates_done } = &mut *source;
        let next = interruption::cancellable(&reader.cancellation, || {
            if aggregates.is_empty() {
                rows.next(reader.session.session(), &reader.cancellation)
            } else if std::mem::replace(aggregates_done, true) {
                Ok(None)
            } else if let RowSource::All(batches) = rows {
                aggregate(batches, aggregates, schema).map(Some)
            } else {
                Err(Error::internal("aggregates of the first rows"))
            }
        });
        match next? {
            Some(batch) => export_batch(batch),
            None => Ok(0),
        }
    })
}

/// Cancels the reader that was begun with this handle: a running call fails with `Cancelled`. Has no effect if the reader is closed.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_cancel<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, cancellation: jlong) {
    guard(&mut env, |_| {
        if let Ok(cancellation) = CANCELLATIONS.find(cancellation) {
            cancellation.cancel();
        }
        Ok(())
    });
}

/// Returns the counters of the reader's session, as `PooledSession::counters`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_counters<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, reader: jlong) -> jlongArray {
    let array = guard(&mut env, |env| {
        let reader = READERS.find(reader)?;
        let numbers = reader.session.counters().into_iter().map(long).collect::<Result<Vec<_>>>()?;
        let length = i32::try_from(numbers.len()).map_err(|_| Error::internal("more counters than a Java array can hold"))?;
        let array = env.new_long_array(length).map_err(jni_error)?;
        env.set_long_array_region(&array, 0, &numbers).map_err(jni_error)?;
        Ok(array)
    });
    array.into_raw()
}

/// Closes the reader. Exported structures stay valid until they are released.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_close<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, reader: jlong) {
    guard(&mut env, |_| READERS.remove(reader).map(drop));
}

/// The number of open readers.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_live<'local>(mut env: JNIEnv<'local>, _: JClass<'local>) -> jint {
    guard(&mut env, |_| Ok(jint::try_from(READERS.len()).unwrap_or(jint::MAX)))
}
