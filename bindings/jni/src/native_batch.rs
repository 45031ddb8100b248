//! `NativeBatch`: releases and counts exported structures.

use jni::JNIEnv;
use jni::objects::JClass;
use jni::sys::{jint, jlong};

use crate::boundary::guard;
use crate::exported;

/// Frees the structure at `address`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeBatch_release<'local>(mut env: JNIEnv<'local>, _: JClass<'local>, address: jlong) {
    guard(&mut env, |_| exported::release(address));
}

/// The number of structures that are not released yet.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeBatch_live<'local>(mut env: JNIEnv<'local>, _: JClass<'local>) -> jint {
    guard(&mut env, |_| Ok(jint::try_from(exported::live()).unwrap_or(jint::MAX)))
}

/// Panics, to test the conversion to an exception; without the message and the backtrace that a panic prints.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeBatch_panic<'local>(mut env: JNIEnv<'local>, _: JClass<'local>) {
    guard::<()>(&mut env, |_| std::panic::resume_unwind(Box::new("a test asked for this panic")));
}
