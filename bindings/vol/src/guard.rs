//! The FFI boundary: no Rust panic or error crosses it. HDF5 gets an entry on its error stack and a failure value instead.

use std::ffi::{CString, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::ffi::herr_t;
use crate::host::Host;
use hyperslab_arrow_container::error::{Error, Result};

fn push(host: &Host, callback: &str, failure: &Error) {
    // Many programs do not print the error stack.
    if std::env::var_os("HYPERSLAB_VOL_TRACE").is_some() {
        eprintln!("hyperslab-vol: {callback}: {}", failure.message);
    }
    let text = |text: &str| CString::new(text.replace('\0', " ")).unwrap_or_default();
    let (name, message) = (text(callback), text(&failure.message));
    let global = |name| host.global(name).unwrap_or(-1);
    let minor = global(if failure.unsupported { c"H5E_UNSUPPORTED_g" } else { c"H5E_CANTOPERATE_g" });
    // SAFETY: H5Epush2 copies the strings; the format takes one string.
    unsafe {
        (host.call.H5Epush2)(
            0,
            c"hyperslab-vol".as_ptr(),
            name.as_ptr(),
            0,
            global(c"H5E_ERR_CLS_g"),
            global(c"H5E_VOL_g"),
            minor,
            c"%s".as_ptr(),
            message.as_ptr(),
        );
    }
}

/// Runs a callback of the host in slot `S`. Returns `failed` on an error or panic.
pub(crate) fn run<const S: usize, T>(callback: &str, failed: T, work: impl FnOnce(&'static Host) -> Result<T>) -> T {
    let Ok(host) = Host::of(S) else { return failed };
    let outcome = catch_unwind(AssertUnwindSafe(|| work(host))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Error::new(format!("internal error in the connector: {}", text.unwrap_or("panic without a message"))))
    });
    outcome.unwrap_or_else(|failure| {
        push(host, callback, &failure);
        failed
    })
}

/// Runs a callback that returns a status.
pub(crate) fn status<const S: usize>(callback: &str, work: impl FnOnce(&'static Host) -> Result<()>) -> herr_t {
    run::<S, herr_t>(callback, -1, |host| work(host).map(|()| 0))
}

/// Runs a callback that returns an object; null on failure.
pub(crate) fn object<const S: usize>(callback: &str, work: impl FnOnce(&'static Host) -> Result<*mut c_void>) -> *mut c_void {
    run::<S, *mut c_void>(callback, std::ptr::null_mut(), work)
}
