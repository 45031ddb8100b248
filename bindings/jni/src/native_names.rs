//! `NativeNames`: suggests names that are similar to one that was not found.

use hyperslab::suggest::suggestion;
use jni::JNIEnv;
use jni::objects::{JClass, JObjectArray, JString};
use jni::sys::jstring;

use crate::boundary::{guard, jni_error, text};

/// Returns `; nearest: a`, or an empty text if no candidate is similar to `name`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeNames_suggestion<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    name: JString<'local>,
    candidates: JObjectArray<'local>,
) -> jstring {
    let suggested = guard(&mut env, |env| {
        let name = text(env, &name)?;
        let count = env.get_array_length(&candidates).map_err(jni_error)?;
        let mut names = Vec::new();
        for index in 0..count {
            let candidate = JString::from(env.get_object_array_element(&candidates, index).map_err(jni_error)?);
            names.push(text(env, &candidate)?);
            env.delete_local_ref(candidate).map_err(jni_error)?;
        }
        env.new_string(suggestion(&name, names.iter().map(String::as_str), 1)).map_err(jni_error)
    });
    suggested.into_raw()
}
