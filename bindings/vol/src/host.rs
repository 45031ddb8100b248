//! The HDF5 library that calls the connector. It is found on the call stack and gets a slot of its own; two libraries in one
//! process have two slots, with separate function tables and connector classes.

use std::ffi::{CStr, c_void};
use std::sync::{Mutex, OnceLock};

use crate::ffi::*;
use crate::functions::Functions;
use hyperslab_arrow_container::error::{Result, error};
use hyperslab_arrow_container::lock;

/// References added to `H5E_VOL`: the number of refusals by HDF5 that a process survives. Adding them takes a few hundred
/// microseconds.
const REFUSALS: usize = 20_000;

/// Maximum number of HDF5 libraries in one process.
pub(crate) const SLOTS: usize = 4;

/// An HDF5 library that has loaded the connector.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) slot: usize,
    /// The library's load address, which identifies it.
    base: usize,
    /// A handle of `dlopen`, never closed: the library outlives the connector.
    library: usize,
    pub(crate) call: Functions,
    /// Addresses of the library's variables that were looked up.
    globals: Mutex<Vec<(&'static CStr, usize)>>,
}

static HOSTS: [OnceLock<Host>; SLOTS] = [const { OnceLock::new() }; SLOTS];

/// The library that contains `address`: its load address and a handle.
fn library_at(address: *mut c_void) -> Option<(usize, usize)> {
    // SAFETY: `Dl_info` is plain data that dladdr fills in.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr reads no memory at `address`.
    if unsafe { libc::dladdr(address, &raw mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dli_fname is a zero-terminated string of the loader; NOLOAD opens nothing new. Only the main program has no name that can be opened.
    let library = unsafe {
        let found = libc::dlopen(info.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if found.is_null() { libc::dlopen(std::ptr::null(), libc::RTLD_LAZY) } else { found }
    };
    (!library.is_null()).then_some((info.dli_fbase as usize, library as usize))
}

fn symbol(library: usize, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: `library` is a handle of dlopen.
    let found = unsafe { libc::dlsym(library as *mut c_void, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Keeps the connector in memory until the process ends: HDF5 and other libraries hold addresses of its functions.
pub(crate) fn stay_loaded() {
    if let Some(name) = name_of(stay_loaded as *const () as usize).and_then(|name| std::ffi::CString::new(name).ok()) {
        // SAFETY: a zero-terminated name; the library is loaded, and its initializers have run.
        unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
    }
}

/// The file name of the library that contains `address`.
pub(crate) fn name_of(address: usize) -> Option<String> {
    // SAFETY: `Dl_info` is plain data that dladdr fills in; dladdr reads no memory at the address.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let known = libc::dladdr(address as *const c_void, &raw mut info) != 0 && !info.dli_fname.is_null();
        known.then(|| CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned())
    }
}

/// The first library on the call stack that defines `H5VLregister_connector`.
fn caller() -> Option<(usize, usize)> {
    let mut frames = [std::ptr::null_mut(); 64];
    // SAFETY: the array has space for the requested number of addresses.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), 64) };
    let mut seen = 0;
    for address in frames.iter().take(usize::try_from(count).unwrap_or(0)) {
        let Some((base, library)) = library_at(*address) else { continue };
        if base == seen {
            continue;
        }
        seen = base;
        if let Some(found) = symbol(library, c"H5VLregister_connector")
            && library_at(found).is_some_and(|(owner, _)| owner == base)
        {
            return Some((base, library));
        }
    }
    None
}

/// The version of a library whose connector class or references may have another layout than those that are known.
fn unknown_version(library: usize) -> Option<String> {
    let (major, minor, release) = version_of(library)?;
    let is_known = matches!((major, minor), (1, 14) | (2, 0..=2));
    (!is_known).then(|| format!("{major}.{minor}.{release}"))
}

/// The version of a library; `None` if it does not say.
fn version_of(library: usize) -> Option<(u32, u32, u32)> {
    let call = symbol(library, c"H5get_libversion")?;
    let (mut major, mut minor, mut release) = (0, 0, 0);
    // SAFETY: the function has this signature in every HDF5, and the output pointers are our variables.
    let status = unsafe {
        let call: unsafe extern "C" fn(*mut u32, *mut u32, *mut u32) -> herr_t = std::mem::transmute(call);
        call(&raw mut major, &raw mut minor, &raw mut release)
    };
    (status >= 0).then_some((major, minor, release))
}

impl Host {
    /// The calling library; `None` if there is none, or no slot is free.
    pub(crate) fn calling() -> Option<&'static Self> {
        let (base, library) = caller()?;
        for (slot, place) in HOSTS.iter().enumerate() {
            if place.get().is_none() {
                let find = |name: &str| {
                    let text = std::ffi::CString::new(name).ok()?;
                    // HDF5 2 has the old signature of this function under another name.
                    symbol(library, &text).or_else(|| (name == "H5Tdecode").then(|| symbol(library, c"H5Tdecode1")).flatten())
                };
                if let Some(version) = unknown_version(library) {
                    eprintln!("hyperslab-vol: HDF5 {version} is unknown to this connector, which serves HDF5 1.14 to 2.2");
                    return None;
                }
                match Functions::load(find) {
                    Ok(call) => drop(place.set(Self { slot, base, library, call, globals: Mutex::default() })),
                    Err(missing) => {
                        eprintln!("hyperslab-vol: this HDF5 library has no function {missing}; HDF5 1.14 or newer is needed");
                        return None;
                    }
                }
            }
            if let Some(host) = place.get().filter(|host| host.base == base) {
                host.keep_major();
                return Some(host);
            }
        }
        None
    }

    /// Works around a bug: functions of HDF5 that refuse all connectors except the native one push `H5E_VOL`, a major error
    /// ID, as the minor one. When such an entry is popped, HDF5 releases a reference to the ID that it never took. After a few
    /// refusals the ID would be freed, and errors with it would be misreported. So the ID gets extra references to lose.
    fn keep_major(&self) {
        static KEPT: [OnceLock<()>; SLOTS] = [const { OnceLock::new() }; SLOTS];
        if let (Some(kept), Some(major)) = (KEPT.get(self.slot), self.global(c"H5E_VOL_g")) {
            kept.get_or_init(|| {
                for _ in 0..REFUSALS {
                    // SAFETY: a valid ID of the host.
                    unsafe { (self.call.H5Iinc_ref)(major) };
                }
            });
        }
    }

    /// The library of a slot.
    pub(crate) fn of(slot: usize) -> Result<&'static Self> {
        HOSTS.get(slot).and_then(OnceLock::get).ok_or_else(|| error!("the calling HDF5 library is unknown"))
    }

    /// Whether the library is probing connectors for a file that it could not open itself, and would mistake the result for a
    /// native file, as HDF5 2.0 to 2.2 do, which crashes the program.
    pub(crate) fn would_mistake(&self) -> bool {
        if version_of(self.library).is_none_or(|(major, ..)| major < 2) {
            return false;
        }
        let mut frames = [std::ptr::null_mut(); 64];
        // SAFETY: the array has space for the requested number of addresses.
        let count = unsafe { libc::backtrace(frames.as_mut_ptr(), 64) };
        frames.iter().take(usize::try_from(count).unwrap_or(0)).any(|address| {
            // SAFETY: `Dl_info` is plain data; a name is a zero-terminated string of the loader.
            unsafe {
                let mut info: libc::Dl_info = std::mem::zeroed();
                libc::dladdr(*address, &raw mut info) != 0
                    && info.dli_fbase as usize == self.base
                    && !info.dli_sname.is_null()
                    && CStr::from_ptr(info.dli_sname).to_bytes().starts_with(b"H5Fopen")
            }
        })
    }

    /// The address of a function of the library.
    pub(crate) fn address(&self, name: &CStr) -> Option<usize> {
        symbol(self.library, name).map(|address| address as usize)
    }

    /// Whether a loaded object resolves `name` to `address`, the function of this library.
    ///
    /// # Safety
    /// `object` must be null or the loader's name for an object.
    pub(crate) unsafe fn serves(&self, object: *const std::ffi::c_char, name: &CStr, address: usize) -> bool {
        if object.is_null() {
            return false;
        }
        // SAFETY: as the caller promises; NOLOAD opens nothing new.
        let handle = unsafe { libc::dlopen(object, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        !handle.is_null() && symbol(handle as usize, name).is_some_and(|found| found as usize == address)
    }

    /// One of the library's global IDs, such as a property list class. The library sets them when it is initialized.
    pub(crate) fn global(&self, name: &'static CStr) -> Option<hid_t> {
        let mut known = lock(&self.globals);
        let address = match known.iter().find(|(one, _)| *one == name) {
            Some((_, address)) => *address,
            None => {
                let address = self.address_of_global(name)?;
                known.push((name, address));
                address
            }
        };
        // SAFETY: HDF5's names that end in `_g` are variables of type hid_t.
        Some(unsafe { *(address as *const hid_t) })
    }

    fn address_of_global(&self, name: &CStr) -> Option<usize> {
        // A program that links the library may contain a copy of the variable (copy relocation), which the library then uses.
        // SAFETY: dlsym accepts any name.
        let first = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        let copied = library_at(first).filter(|_| !first.is_null()).is_some_and(|(base, owner)| {
            base != self.base && symbol(owner, c"H5VLregister_connector").and_then(library_at).is_none_or(|(exporter, _)| exporter != base)
        });
        Some(if copied { first } else { symbol(self.library, name)? } as usize)
    }
}

/// An ID of the host that is closed on drop.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) id: hid_t,
    close: unsafe extern "C" fn(hid_t) -> herr_t,
}

impl Owned {
    /// Takes ownership of an ID; an error with the message `what` if it is invalid.
    pub(crate) fn new(id: hid_t, close: unsafe extern "C" fn(hid_t) -> herr_t, what: &str) -> Result<Self> {
        if id < 0 { Err(error!("{what}")) } else { Ok(Self { id, close }) }
    }

    /// Passes ownership of the ID to the caller.
    pub(crate) fn give(self) -> hid_t {
        let id = self.id;
        std::mem::forget(self);
        id
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the ID is open, and owned by `self`.
        unsafe { (self.close)(self.id) };
    }
}

/// An error with the message `what` if the status is negative.
pub(crate) fn check(status: herr_t, what: &str) -> Result<herr_t> {
    if status < 0 { Err(error!("{what}")) } else { Ok(status) }
}
