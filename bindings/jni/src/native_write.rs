//! `NativeWrite`: the driver's plan and commit, and tasks that write rows into subfiles of their own.

use std::path::Path;
use std::sync::Mutex;

use hyperslab::write::{Commit, Fragment, Region, Task, WriteMode, WritePlan};
use hyperslab::{Datatype, Error, HeapReference, Result, SessionOptions, new_session};
use jni::JNIEnv;
use jni::objects::{JByteArray, JClass, JIntArray, JObjectArray, JString};
use jni::sys::{jboolean, jbyteArray, jint, jlong};

use crate::boundary::{at_border, bytes, guard, text};
use crate::losses::refuse_losses;
use crate::table::Table;
use crate::write_request::WriteRequest;

/// A task under way; `None` when it was finished.
struct Writer {
    state: Mutex<Option<State>>,
}

struct State {
    task: Task,
    columns: Vec<WrittenColumn>,
}

struct WrittenColumn {
    path: String,
    datatype: Datatype,
    rows: u64,
}

static WRITERS: Table<Writer> = Table::new("writer");

/// Refuses what cannot be written before any task begins.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_check<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, request: JString<'local>) {
    guard(&mut env, |env| WriteRequest::parse(&text(env, &request)?)?.datasets().map(drop));
}

/// A plan for the file `path`, as bytes; `mode` is create, overwrite or append. `only`, which may be null, is a dataset or
/// group: an overwrite that would remove anything else from the file is a `Conflict`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_plan<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    path: JString<'local>,
    mode: JString<'local>,
    only: JString<'local>,
) -> jbyteArray {
    let plan = guard(&mut env, |env| {
        let (path, mode) = (text(env, &path)?, text(env, &mode)?);
        let mode = match mode.as_str() {
            "create" => WriteMode::Create,
            "overwrite" => WriteMode::Overwrite,
            "append" => WriteMode::Append,
            other => return Err(Error::invalid_input(format!("mode {other:?} is none of create, overwrite, append"))),
        };
        let mut plan = WritePlan::new(Path::new(&path), mode, None)?;
        if mode == WriteMode::Overwrite && !only.is_null() {
            // The plan remembers what was there, so that the commit finds changes that come after this look.
            refuse_losses(plan.path(), &text(env, &only)?)?;
        }
        // Columns keep the order that they have in the data frame.
        plan.track_order();
        env.byte_array_from_slice(&plan.encode()?).map_err(at_border)
    });
    plan.into_raw()
}

/// Makes the folder that the plan's tasks write into, so that none of them may make it; the plan that says so.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_beginPlan<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, plan: JByteArray<'local>) -> jbyteArray {
    let begun = guard(&mut env, |env| {
        let mut plan = WritePlan::decode(&bytes(env, &plan)?)?;
        plan.begin()?;
        env.byte_array_from_slice(&plan.encode()?).map_err(at_border)
    });
    begun.into_raw()
}

/// Makes what the fragments describe visible; false if another process is committing, so that the caller tries again.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_commit<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    plan: JByteArray<'local>,
    fragments: JObjectArray<'local>,
) -> jboolean {
    guard(&mut env, |env| {
        let plan = WritePlan::decode(&bytes(env, &plan)?)?;
        let count = env.get_array_length(&fragments).map_err(at_border)?;
        let mut decoded = Vec::new();
        for number in 0..count {
            let fragment = JByteArray::from(env.get_object_array_element(&fragments, number).map_err(at_border)?);
            decoded.push(Fragment::decode(&bytes(env, &fragment)?)?);
            env.delete_local_ref(fragment).map_err(at_border)?;
        }
        match plan.commit(&decoded)? {
            Commit::Committed(_) => Ok(jboolean::from(true)),
            Commit::Conflicted(error) => Err(error),
            Commit::Retryable(_) => Ok(jboolean::from(false)),
        }
    })
}

/// Removes all that the plan's tasks have written.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_abort<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, plan: JByteArray<'local>) {
    guard(&mut env, |env| WritePlan::decode(&bytes(env, &plan)?)?.abort());
}

/// Begins an attempt at the plan's task `number`, with the datasets of the request; returns a handle.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_begin<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    plan: JByteArray<'local>,
    number: jlong,
    request: JString<'local>,
) -> jlong {
    guard(&mut env, |env| {
        let plan = WritePlan::decode(&bytes(env, &plan)?)?;
        let datasets = WriteRequest::parse(&text(env, &request)?)?.datasets()?;
        let number = u64::try_from(number).map_err(|_| Error::invalid_input("a task of negative number"))?;
        // Spark runs tasks side by side, so each compresses on one thread.
        let session = new_session(SessionOptions::default().with_threads(Some(1)))?;
        let mut task = plan.task(number, &session)?;
        let mut columns = Vec::with_capacity(datasets.len());
        for dataset in datasets {
            dataset.define(&mut task)?;
            columns.push(WrittenColumn { path: dataset.path, datatype: dataset.definition.datatype, rows: 0 });
        }
        Ok(WRITERS.insert(Writer { state: Mutex::new(Some(State { task, columns })) }))
    })
}

/// Appends rows to a column: the first `length` of `values` are elements as they lie in the file, whose variable-length
/// parts name the first `objects` objects of `heap` by number from 1 on; `ends` are the objects' ends.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_append<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    writer: jlong,
    column: jint,
    values: JByteArray<'local>,
    length: jint,
    heap: JByteArray<'local>,
    ends: JIntArray<'local>,
    objects: jint,
) {
    guard(&mut env, |env| {
        let values = part_of(env, &values, length)?;
        let ends = ends_of(env, &ends, objects)?;
        let heap = part_of(env, &heap, ends.last().copied().unwrap_or(0))?;
        let writer = WRITERS.find(writer)?;
        let mut state = writer.state.lock().map_err(|_| Error::internal("an earlier write of this task failed"))?;
        let State { task, columns } = state.as_mut().ok_or_else(|| Error::invalid_input("the task is finished"))?;
        let column = usize::try_from(column).ok().and_then(|number| columns.get_mut(number)).ok_or_else(|| Error::invalid_input("no such column"))?;
        let size = usize::try_from(column.datatype.size()).unwrap_or(usize::MAX).max(1);
        if !values.len().is_multiple_of(size) {
            return Err(Error::invalid_input(format!("{} bytes in elements of {size}", values.len())));
        }
        let count = (values.len() / size) as u64;
        let object = |reference: HeapReference| object(&heap, &ends, reference);
        task.grow(&column.path, vec![column.rows + count])?;
        task.write(&column.path, &Region { start: vec![column.rows], count: vec![count] }, &values, &object)?;
        column.rows += count;
        Ok(())
    });
}

fn part_of(env: &mut JNIEnv<'_>, array: &JByteArray<'_>, length: jint) -> Result<Vec<u8>> {
    let count = usize::try_from(length).map_err(|_| Error::invalid_input("an array of negative length"))?;
    let mut part = vec![0i8; count];
    env.get_byte_array_region(array, 0, &mut part).map_err(at_border)?;
    Ok(part.into_iter().map(i8::cast_unsigned).collect())
}

fn ends_of(env: &mut JNIEnv<'_>, array: &JIntArray<'_>, objects: jint) -> Result<Vec<jint>> {
    let count = usize::try_from(objects).map_err(|_| Error::invalid_input("a negative number of objects"))?;
    let mut ends = vec![0; count];
    env.get_int_array_region(array, 0, &mut ends).map_err(at_border)?;
    Ok(ends)
}

/// The object of this number, counted from 1 on.
fn object<'a>(heap: &'a [u8], ends: &[jint], reference: HeapReference) -> Result<&'a [u8]> {
    let end_of = |number: usize| ends.get(number).and_then(|end| usize::try_from(*end).ok());
    let number = usize::try_from(reference.index).ok().and_then(|index| index.checked_sub(1));
    let found = number.and_then(|number| {
        let start = match number.checked_sub(1) {
            Some(before) => end_of(before)?,
            None => 0,
        };
        heap.get(start..end_of(number)?)
    });
    found.ok_or_else(|| Error::invalid_input("a variable-length value that is not there"))
}

/// Ends the task's subfile; the fragment to be committed, as bytes.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_finish<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, writer: jlong) -> jbyteArray {
    let fragment = guard(&mut env, |env| {
        let writer = WRITERS.find(writer)?;
        let state = writer.state.lock().map_err(|_| Error::internal("an earlier write of this task failed"))?.take();
        let state = state.ok_or_else(|| Error::invalid_input("the task is finished"))?;
        let fragment = state.task.finish()?.encode()?;
        env.byte_array_from_slice(&fragment).map_err(at_border)
    });
    fragment.into_raw()
}

/// Forgets the task; one that was not finished leaves nothing.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_close<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, writer: jlong) {
    guard(&mut env, |_| WRITERS.remove(writer).map(drop));
}

/// How many tasks are under way.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_live<'local>(mut env: JNIEnv<'local>, _: JClass<'local>) -> jint {
    guard(&mut env, |_| Ok(jint::try_from(WRITERS.len()).unwrap_or(jint::MAX)))
}
