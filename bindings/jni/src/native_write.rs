//! `NativeWrite`: plans and commits on the driver, and writes rows into subfiles in tasks.

use std::path::Path;
use std::sync::Mutex;

use hyperslab::write::{Commit, Fragment, Region, Task, WriteMode, WritePlan};
use hyperslab::{Datatype, Error, HeapReference, Result, SessionOptions, new_session};
use jni::JNIEnv;
use jni::objects::{JByteArray, JClass, JIntArray, JObjectArray, JString};
use jni::sys::{jboolean, jbyteArray, jint, jlong, jstring};

use crate::appending::names_in_file;
use crate::boundary::{bytes, guard, jni_error, text};
use crate::losses::refuse_losses;
use crate::moving::{check_replaceable, move_into, move_to};
use crate::request::SessionRequest;
use crate::table::Table;
use crate::write_request::WriteRequest;

/// A task; its state is `None` after it has finished.
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

/// Checks that a request can be written, before tasks begin.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_check<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, request: JString<'local>) {
    guard(&mut env, |env| WriteRequest::parse(&text(env, &request)?)?.datasets().map(drop));
}

/// Plans a write of the file `path` and returns the serialized plan. `mode` is create, overwrite or append. `replaceable` is
/// a dataset or group, or null: an overwrite that would remove anything else from the file is a `Conflict`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_plan<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    path: JString<'local>,
    mode: JString<'local>,
    replaceable: JString<'local>,
) -> jbyteArray {
    let plan = guard(&mut env, |env| {
        let (path, mode) = (text(env, &path)?, text(env, &mode)?);
        let mode = match mode.as_str() {
            "create" => WriteMode::Create,
            "overwrite" => WriteMode::Overwrite,
            "append" => WriteMode::Append,
            other => return Err(Error::invalid_input(format!("mode must be create, overwrite or append, not {other:?}"))),
        };
        let mut plan = WritePlan::new(Path::new(&path), mode, None)?;
        if mode == WriteMode::Overwrite && !replaceable.is_null() {
            // The plan has recorded the state of the file, so the commit detects changes after this check.
            refuse_losses(plan.path(), &text(env, &replaceable)?)?;
        }
        // Keeps the order of the columns in the DataFrame.
        plan.track_order();
        env.byte_array_from_slice(&plan.encode()?).map_err(jni_error)
    });
    plan.into_raw()
}

/// Returns the names that the columns of a request have in the table of `file` that they are appended to, as a JSON list. `file`
/// is a path or an address; `options` (JSON) open it.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_namesInFile<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    file: JString<'local>,
    request: JString<'local>,
    is_case_sensitive: jboolean,
    options: JString<'local>,
) -> jstring {
    let names = guard(&mut env, |env| {
        let (path, request) = (text(env, &file)?, WriteRequest::parse(&text(env, &request)?)?);
        let session = SessionRequest::parse(&text(env, &options)?)?.into_hdf5().session()?;
        let in_file = |error: Error| error.in_file(&path);
        let file = session.open(&path).map_err(in_file)?;
        let names = names_in_file(&file, &request, is_case_sensitive != 0).map_err(in_file)?;
        env.new_string(serde_json::json!(names).to_string()).map_err(jni_error)
    });
    names.into_raw()
}

/// Creates the folder that tasks write into. Returns the updated plan, whose tasks do not create the folder.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_beginPlan<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, plan: JByteArray<'local>) -> jbyteArray {
    let begun = guard(&mut env, |env| {
        let mut plan = WritePlan::decode(&bytes(env, &plan)?)?;
        plan.begin()?;
        env.byte_array_from_slice(&plan.encode()?).map_err(jni_error)
    });
    begun.into_raw()
}

/// Commits the fragments. Returns false if another process is committing, in which case the caller retries.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_commit<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    plan: JByteArray<'local>,
    fragments: JObjectArray<'local>,
) -> jboolean {
    guard(&mut env, |env| {
        let plan = WritePlan::decode(&bytes(env, &plan)?)?;
        match plan.commit(&decoded_fragments(env, &fragments)?)? {
            Commit::Committed(_) => Ok(jboolean::from(true)),
            Commit::Conflicted(error) => Err(error),
            Commit::Retryable(_) => Ok(jboolean::from(false)),
        }
    })
}

/// The fragments in an array of byte arrays.
pub(crate) fn decoded_fragments(env: &mut JNIEnv<'_>, fragments: &JObjectArray<'_>) -> Result<Vec<Fragment>> {
    let count = env.get_array_length(fragments).map_err(jni_error)?;
    let mut decoded = Vec::new();
    for index in 0..count {
        let fragment = JByteArray::from(env.get_object_array_element(fragments, index).map_err(jni_error)?);
        decoded.push(Fragment::decode(&bytes(env, &fragment)?)?);
        env.delete_local_ref(fragment).map_err(jni_error)?;
    }
    Ok(decoded)
}

/// Removes everything that the tasks of the plan wrote.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_abort<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, plan: JByteArray<'local>) {
    guard(&mut env, |env| WritePlan::decode(&bytes(env, &plan)?)?.abort());
}

/// Checks that one object of an existing file can be replaced.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_checkReplaceable<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, target: JString<'local>) {
    guard(&mut env, |env| check_replaceable(Path::new(&text(env, &target)?)));
}

/// Moves what was committed at `source` to `target`: as a file of its own if `object` is null, which must not exist, else in the
/// place of that object of the file.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_move<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    source: JString<'local>,
    target: JString<'local>,
    object: JString<'local>,
) {
    guard(&mut env, |env| {
        let (source, target) = (text(env, &source)?, text(env, &target)?);
        let (source, target) = (Path::new(&source), Path::new(&target));
        if object.is_null() { move_to(source, target) } else { move_into(source, target, &text(env, &object)?) }
    });
}

/// Begins an attempt at the task `task_index` with the datasets of the request, and returns a handle.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_begin<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    plan: JByteArray<'local>,
    task_index: jlong,
    request: JString<'local>,
) -> jlong {
    guard(&mut env, |env| {
        let plan = WritePlan::decode(&bytes(env, &plan)?)?;
        begin_task(&plan, task_index, &text(env, &request)?)
    })
}

/// Begins a task with the datasets of the request, and returns its handle.
pub(crate) fn begin_task(plan: &WritePlan, task_index: jlong, request: &str) -> Result<jlong> {
    let datasets = WriteRequest::parse(request)?.datasets()?;
    let task_index = u64::try_from(task_index).map_err(|_| Error::invalid_input("the index of a task is negative"))?;
    // Spark runs tasks in parallel, so each task compresses on one thread.
    let session = new_session(SessionOptions::default().with_threads(Some(1)))?;
    let mut task = plan.task(task_index, &session)?;
    let mut columns = Vec::with_capacity(datasets.len());
    for dataset in datasets {
        dataset.define(&mut task)?;
        columns.push(WrittenColumn { path: dataset.path, datatype: dataset.definition.datatype, rows: 0 });
    }
    Ok(WRITERS.insert(Writer { state: Mutex::new(Some(State { task, columns })) }))
}

/// Appends rows to a column. The first `length` bytes of `values` are elements in their encoding in the file. Variable-length
/// elements refer to objects of `heap` by their position, counted from 1; the first `objects` items of `ends` are the end
/// offsets of the objects.
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
        let values = copy_bytes(env, &values, length)?;
        let ends = copy_ends(env, &ends, objects)?;
        let heap = copy_bytes(env, &heap, ends.last().copied().unwrap_or(0))?;
        let writer = WRITERS.find(writer)?;
        let mut state = writer.state.lock().map_err(|_| Error::internal("an earlier write of this task failed"))?;
        let State { task, columns } = state.as_mut().ok_or_else(|| Error::invalid_input("the task is already finished"))?;
        let column = usize::try_from(column)
            .ok()
            .and_then(|index| columns.get_mut(index))
            .ok_or_else(|| Error::invalid_input("the index of a column is out of range"))?;
        let size = usize::try_from(column.datatype.size()).unwrap_or(usize::MAX).max(1);
        if !values.len().is_multiple_of(size) {
            return Err(Error::invalid_input(format!("{} bytes are not a whole number of elements of {size} bytes", values.len())));
        }
        let count = (values.len() / size) as u64;
        let object = |reference: HeapReference| object(&heap, &ends, reference);
        task.grow(&column.path, vec![column.rows + count])?;
        task.write(&column.path, &Region { start: vec![column.rows], count: vec![count] }, &values, &object)?;
        column.rows += count;
        Ok(())
    });
}

fn copy_bytes(env: &mut JNIEnv<'_>, array: &JByteArray<'_>, length: jint) -> Result<Vec<u8>> {
    let count = usize::try_from(length).map_err(|_| Error::invalid_input("the length of an array is negative"))?;
    let mut part = vec![0i8; count];
    env.get_byte_array_region(array, 0, &mut part).map_err(jni_error)?;
    Ok(part.into_iter().map(i8::cast_unsigned).collect())
}

fn copy_ends(env: &mut JNIEnv<'_>, array: &JIntArray<'_>, objects: jint) -> Result<Vec<jint>> {
    let count = usize::try_from(objects).map_err(|_| Error::invalid_input("the number of objects is negative"))?;
    let mut ends = vec![0; count];
    env.get_int_array_region(array, 0, &mut ends).map_err(jni_error)?;
    Ok(ends)
}

/// The heap object of a reference, whose index is counted from 1.
fn object<'a>(heap: &'a [u8], ends: &[jint], reference: HeapReference) -> Result<&'a [u8]> {
    let end_of = |index: usize| ends.get(index).and_then(|end| usize::try_from(*end).ok());
    let index = usize::try_from(reference.index).ok().and_then(|index| index.checked_sub(1));
    let found = index.and_then(|index| {
        let start = match index.checked_sub(1) {
            Some(previous) => end_of(previous)?,
            None => 0,
        };
        heap.get(start..end_of(index)?)
    });
    found.ok_or_else(|| Error::invalid_input("a variable-length element refers to a missing object"))
}

/// Completes the task's subfile and returns the serialized fragment, which the driver commits.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_finish<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, writer: jlong) -> jbyteArray {
    let fragment = guard(&mut env, |env| {
        let writer = WRITERS.find(writer)?;
        let state = writer.state.lock().map_err(|_| Error::internal("an earlier write of this task failed"))?.take();
        let state = state.ok_or_else(|| Error::invalid_input("the task is already finished"))?;
        let fragment = state.task.finish()?.encode()?;
        env.byte_array_from_slice(&fragment).map_err(jni_error)
    });
    fragment.into_raw()
}

/// Closes the task. Removes its subfile unless the task was finished.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_close<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, writer: jlong) {
    guard(&mut env, |_| WRITERS.remove(writer).map(drop));
}

/// The number of open task writers.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeWrite_live<'local>(mut env: JNIEnv<'local>, _: JClass<'local>) -> jint {
    guard(&mut env, |_| Ok(jint::try_from(WRITERS.len()).unwrap_or(jint::MAX)))
}
