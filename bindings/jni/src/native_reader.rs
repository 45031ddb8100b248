//! `NativeReader`: reads the batches of one split, or aggregates over them.

use std::sync::Mutex;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use hyperslab::scan::{Batches, GroupedSplit, Split};
use hyperslab::{Cancellation, Error, Result, Session, interruption};
use jni::JNIEnv;
use jni::objects::{JByteArray, JClass, JString};
use jni::sys::{jint, jlong, jlongArray};

use crate::aggregate::{Aggregate, aggregate, grouped_schema, measured, of_groups, of_rows, parse_keys, schema_of};
use crate::boundary::{bytes, guard, jni_error, long, text};
use crate::exported::{export_batch, export_schema};
use crate::request::TopRequest;
use crate::session_pool::PooledSession;
use crate::shared_chunks;
use crate::table::Table;

struct Reader {
    /// Locked because Java can call from several threads.
    source: Mutex<Source>,
    cancellation: Cancellation,
    session: PooledSession,
}

/// What a reader returns.
enum Source {
    /// The rows of a split.
    Rows { schema: SchemaRef, rows: RowSource },
    /// One row of aggregates; no batches after it was returned.
    Aggregates { rows: SchemaRef, batches: Option<Batches>, aggregates: Vec<Aggregate> },
    /// Aggregates with the keys of their groups.
    Groups { schema: SchemaRef, groups: GroupSource },
}

/// Where the rows of a split come from.
enum RowSource {
    /// From all its batches.
    All(Batches),
    /// From its first rows in a sort order; `None` before they are read.
    Top { split: Box<Split>, top: TopRequest, batches: Option<std::vec::IntoIter<RecordBatch>> },
}

/// Where groups come from.
enum GroupSource {
    /// Computed already; `None` after they were returned.
    Made(Option<RecordBatch>),
    /// From the split's rows, each of which is a group of its own. Spark combines them.
    Rows { batches: Batches, keys: Vec<String>, aggregates: Vec<Aggregate> },
}

impl Source {
    /// Opens the rows of a split, all or those of `top`.
    fn rows(split: Split, top: Option<TopRequest>, session: &Session, cancellation: &Cancellation) -> Result<Self> {
        let batches = split.read(session, cancellation)?;
        let schema = batches.schema();
        let rows = match top {
            None => RowSource::All(batches),
            Some(top) => RowSource::Top { split: Box::new(split), top, batches: None },
        };
        Ok(Self::Rows { schema, rows })
    }

    fn aggregates(split: &Split, aggregates: Vec<Aggregate>, session: &Session, cancellation: &Cancellation) -> Result<Self> {
        let batches = split.read(session, cancellation)?;
        Ok(Self::Aggregates { rows: batches.schema(), batches: Some(batches), aggregates })
    }

    /// Computes the groups of a split, or opens its rows if they do not form groups by dimensions.
    fn groups(split: &Split, keys: Vec<String>, aggregates: Vec<Aggregate>, session: &Session, cancellation: &Cancellation) -> Result<Self> {
        let measured = measured(&aggregates);
        Ok(match split.group(&keys, &measured, session, cancellation)? {
            GroupedSplit::Groups(groups) => {
                let batch = of_groups(groups, measured, &aggregates)?;
                Self::Groups { schema: batch.schema(), groups: GroupSource::Made(Some(batch)) }
            }
            GroupedSplit::Rows(batches) => {
                let schema = grouped_schema(&keys, &aggregates, &batches.schema())?;
                Self::Groups { schema, groups: GroupSource::Rows { batches, keys, aggregates } }
            }
        })
    }

    /// The schema of the batches.
    fn schema(&self) -> Result<SchemaRef> {
        match self {
            Self::Rows { schema, .. } | Self::Groups { schema, .. } => Ok(schema.clone()),
            Self::Aggregates { rows, aggregates, .. } => schema_of(aggregates, rows),
        }
    }

    fn next(&mut self, session: &Session, cancellation: &Cancellation) -> Result<Option<RecordBatch>> {
        match self {
            Self::Rows { rows, .. } => rows.next(session, cancellation),
            Self::Aggregates { rows, batches, aggregates } => match batches.take() {
                Some(mut batches) => aggregate(&mut batches, aggregates, rows).map(Some),
                None => Ok(None),
            },
            Self::Groups { groups: GroupSource::Made(batch), .. } => Ok(batch.take()),
            Self::Groups { groups: GroupSource::Rows { batches, keys, aggregates }, .. } => {
                batches.next_batch().transpose()?.map(|batch| of_rows(&batch, keys, aggregates)).transpose()
            }
        }
    }
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
/// list; if it is empty and `keys` is `null`, the reader returns rows: all of them, or the rows of `top` (JSON, `null` for all).
/// `keys` (a JSON list) are the columns by which rows are grouped.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_open<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    cancellation: jlong,
    split: JByteArray<'local>,
    options: JString<'local>,
    aggregates: JString<'local>,
    keys: JString<'local>,
    top: JString<'local>,
) -> jlong {
    guard(&mut env, |env| {
        let split = Split::decode(&bytes(env, &split)?)?;
        let file = split.file().to_owned();
        let session = PooledSession::new(text(env, &options)?)?;
        let aggregates = Aggregate::parse(&text(env, &aggregates)?)?;
        let keys = parse_keys(&text(env, &keys)?)?;
        let top = TopRequest::parse(&text(env, &top)?)?;
        let cancellation = CANCELLATIONS.find(cancellation)?.as_ref().clone();
        let source = interruption::cancellable(&cancellation, || match keys {
            Some(keys) => Source::groups(&split, keys, aggregates, session.session(), &cancellation),
            None if aggregates.is_empty() => Source::rows(split, top, session.session(), &cancellation),
            None => Source::aggregates(&split, aggregates, session.session(), &cancellation),
        });
        let source = Mutex::new(source.map_err(|error| error.in_file(&file))?);
        Ok(READERS.insert(Reader { source, cancellation, session }))
    })
}

/// Exports the schema of the batches and returns its address. The caller releases it.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_schema<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, reader: jlong) -> jlong {
    guard(&mut env, |_| {
        let reader = READERS.find(reader)?;
        let source = reader.source.lock().map_err(|_| Error::internal("an earlier read of this split failed"))?;
        export_schema(source.schema()?.as_ref())
    })
}

/// Reads and exports the next batch and returns its address, or 0 after the last batch. The caller releases it.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_next<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, reader: jlong) -> jlong {
    guard(&mut env, |_| {
        let reader = READERS.find(reader)?;
        let mut source = reader.source.lock().map_err(|_| Error::internal("an earlier read of this split failed"))?;
        match interruption::cancellable(&reader.cancellation, || source.next(reader.session.session(), &reader.cancellation))? {
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

/// Drops the decoded chunks that the tasks of this process share.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_forgetChunks<'local>(mut env: JNIEnv<'local>, _: JClass<'local>) {
    guard(&mut env, |_| {
        shared_chunks::chunks().clear();
        Ok(())
    });
}

/// The number of open readers.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeReader_live<'local>(mut env: JNIEnv<'local>, _: JClass<'local>) -> jint {
    guard(&mut env, |_| Ok(jint::try_from(READERS.len()).unwrap_or(jint::MAX)))
}
