//! `NativeStagedWrite`: writes of files on file systems that only Java can write to. Tasks and the driver write local files, which Java copies.

use std::path::Path;

use hyperslab::write::{COMMIT_ATTRIBUTE, StagedBase, WriteMode, WritePlan};
use hyperslab::{Result, Session};
use jni::JNIEnv;
use jni::objects::{JByteArray, JClass, JObjectArray, JString};
use jni::sys::{jbyteArray, jlong, jstring};

use crate::boundary::{bytes, guard, jni_error, text};
use crate::losses::refuse_losses_of;
use crate::native_write::{begin_task, decoded_fragments};
use crate::request::SessionRequest;

/// Plans a write of a file called `name`, with local copies in `folder`, and returns the serialized plan.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeStagedWrite_plan<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    folder: JString<'local>,
    name: JString<'local>,
) -> jbyteArray {
    let plan = guard(&mut env, |env| {
        let (folder, name) = (text(env, &folder)?, text(env, &name)?);
        let mut plan = WritePlan::new(&Path::new(&folder).join(name), WriteMode::Create, None)?;
        // Local copies are temporary.
        plan.without_sync();
        // Keeps the order of the columns in the DataFrame.
        plan.track_order();
        env.byte_array_from_slice(&plan.encode()?).map_err(jni_error)
    });
    plan.into_raw()
}

/// Path of the folder with the subfiles of a plan, relative to the folder of the master.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeStagedWrite_subfolder<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, plan: JByteArray<'local>) -> jstring {
    let subfolder = guard(&mut env, |env| {
        let subfolder = WritePlan::decode(&bytes(env, &plan)?)?.subfolder()?;
        env.new_string(subfolder).map_err(jni_error)
    });
    subfolder.into_raw()
}

/// Begins an attempt at a task that writes its subfile below the local folder `folder`, and returns a handle like `NativeWrite.begin`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeStagedWrite_begin<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    plan: JByteArray<'local>,
    task_index: jlong,
    request: JString<'local>,
    folder: JString<'local>,
) -> jlong {
    guard(&mut env, |env| {
        let plan = WritePlan::decode(&bytes(env, &plan)?)?.in_folder(Path::new(&text(env, &folder)?))?;
        begin_task(&plan, task_index, &text(env, &request)?)
    })
}

/// Writes the master of these fragments to the local file `master`, and returns the record of the commit. `replaced` is the commit of the master that it
/// replaces, `appended` a local copy of the master that it adds to; each may be null.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeStagedWrite_stage<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    plan: JByteArray<'local>,
    fragments: JObjectArray<'local>,
    replaced: JString<'local>,
    appended: JString<'local>,
    master: JString<'local>,
) -> jbyteArray {
    let record = guard(&mut env, |env| {
        let plan = WritePlan::decode(&bytes(env, &plan)?)?;
        let fragments = decoded_fragments(env, &fragments)?;
        let replaced = if replaced.is_null() { None } else { Some(text(env, &replaced)?) };
        let appended = if appended.is_null() { None } else { Some(text(env, &appended)?) };
        let base = match (&replaced, &appended) {
            (_, Some(copy)) => StagedBase::Appended(Path::new(copy)),
            (Some(commit), None) => StagedBase::Replaced(commit),
            (None, None) => StagedBase::Nothing,
        };
        let staged = plan.stage(&fragments, base, Path::new(&text(env, &master)?))?;
        // The log of the driver is its standard error.
        staged.remarks.iter().for_each(|remark| eprintln!("hyperslab: {remark}"));
        env.byte_array_from_slice(&staged.record).map_err(jni_error)
    });
    record.into_raw()
}

/// The commit that the master `file` names; null for a file that no plan has written.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeStagedWrite_commitOf<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    file: JString<'local>,
    options: JString<'local>,
) -> jstring {
    let commit = guard(&mut env, |env| {
        let session = SessionRequest::parse(&text(env, &options)?)?.session()?;
        Ok(match commit_of(&session, &text(env, &file)?)? {
            Some(commit) => Some(env.new_string(commit).map_err(jni_error)?),
            None => None,
        })
    });
    commit.map_or(std::ptr::null_mut(), JString::into_raw)
}

fn commit_of(session: &Session, path: &str) -> Result<Option<String>> {
    let file = session.open(path).map_err(|error| error.in_file(path))?;
    let attributes = file.attributes(file.root()).map_err(|error| error.in_file(path))?;
    Ok(attributes.get(COMMIT_ATTRIBUTE).and_then(hyperslab::columns::attribute_text))
}

/// Checks that replacing `file` removes nothing but the object `replaceable`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeStagedWrite_checkLosses<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    file: JString<'local>,
    replaceable: JString<'local>,
    options: JString<'local>,
) {
    guard(&mut env, |env| {
        let session = SessionRequest::parse(&text(env, &options)?)?.session()?;
        refuse_losses_of(&session, &text(env, &file)?, &text(env, &replaceable)?)
    });
}
