//! Handles: the objects behind HDF5's pointers, which are open files, groups, datasets, datatypes and attributes.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use crate::ffi::*;
use crate::host::{Host, Owned};
use crate::transfer::KnownMoves;
use hyperslab_arrow_container::container::{Container, Place};
use hyperslab_arrow_container::error::{Result, error};
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::{Attribute, Body, Dataset, ObjectId, StoredDatatype};

const MARK: u64 = 0x5b48_7970_6572_5d01;

/// The type of a handle, with what belongs to it.
pub(crate) enum What {
    /// `fapl`: the access property list; `writable`: the requested access; `primary`: whether a program opened it.
    File {
        fapl: Option<Owned>,
        writable: bool,
        name: String,
        primary: bool,
    },
    Group,
    Dataset(Arc<Dataset>),
    Datatype(StoredDatatype),
    Attribute(Attribute),
}

/// A handle.
#[repr(C)]
pub(crate) struct Handle {
    /// Always null. If a program exits with a committed datatype open, HDF5 mistakes our pointer for an `H5T_t` and modifies
    /// what the first field of that points to, unless it is null.
    nothing: usize,
    mark: u64,
    pub(crate) host: &'static Host,
    /// The object; for an attribute, the object that it belongs to.
    pub(crate) place: Place,
    pub(crate) what: What,
    /// Identifies the `H5Fopen` or `H5Fcreate` call that it comes from.
    pub(crate) opener: u64,
    /// The path by which it was opened.
    pub(crate) path: String,
    /// The access property list of a dataset, if it is not the default one.
    pub(crate) access: Mutex<Option<Owned>>,
    /// How a dataset's values were moved last.
    pub(crate) moves: Mutex<KnownMoves>,
    /// Whether a dataset was created with chunks, so that it can grow.
    pub(crate) is_chunked: OnceLock<bool>,
}

type OpenFile = (u64, usize, usize, bool);

/// Open file handles, as (file number, slot, address, primary). If HDF5 asks for the file of an object, it gets a handle that
/// is not primary: references that are never released would otherwise keep the program's file open.
static FILES: LazyLock<Mutex<Vec<OpenFile>>> = LazyLock::new(Default::default);
/// All open handles.
static OPEN: LazyLock<Mutex<OpenHandles>> = LazyLock::new(Default::default);

/// Open handles, and the number of open handles of each object.
#[derive(Default)]
struct OpenHandles {
    /// File number and object of each handle, by its address.
    handles: BTreeMap<usize, (u64, ObjectId)>,
    counts: HashMap<(u64, ObjectId), usize>,
}

impl OpenHandles {
    fn insert(&mut self, address: usize, number: u64, object: ObjectId) {
        self.handles.insert(address, (number, object));
        *self.counts.entry((number, object)).or_default() += 1;
    }

    fn remove(&mut self, address: usize) {
        let Some(key) = self.handles.remove(&address) else { return };
        if let Some(count) = self.counts.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&key);
            }
        }
    }

    /// Whether an object of a file is open.
    fn has(&self, number: u64, object: ObjectId) -> bool {
        self.counts.contains_key(&(number, object))
    }
}

static OPENERS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The opener of the handle that is in use: handles opened from it inherit the opener.
    static OPENER: Cell<u64> = const { Cell::new(0) };
}

/// Sets the handle from which the next one on this thread is opened.
pub(crate) fn opening_from(handle: &Handle) {
    OPENER.set(handle.opener);
}

impl Handle {
    /// Creates a handle for HDF5.
    pub(crate) fn give(host: &'static Host, place: Place, what: What, path: String) -> *mut c_void {
        place.container.handles.fetch_add(1, Ordering::Relaxed);
        if let What::File { primary: true, .. } = what {
            place.container.file_handles.fetch_add(1, Ordering::Relaxed);
        }
        let (number, object) = (place.container.number, place.object);
        let file = if let What::File { primary, .. } = what { Some(primary) } else { None };
        let opener = if let What::File { primary: true, .. } = what { OPENERS.fetch_add(1, Ordering::Relaxed) } else { OPENER.get() };
        let raw = Box::into_raw(Box::new(Self {
            nothing: 0,
            mark: MARK,
            host,
            place,
            what,
            opener,
            path,
            access: Mutex::new(None),
            moves: Mutex::new(None),
            is_chunked: OnceLock::new(),
        }));
        if let Some(primary) = file {
            lock(&FILES).push((number, host.slot, raw as usize, primary));
        }
        lock(&OPEN).insert(raw as usize, number, object);
        raw.cast()
    }

    /// A handle without a file, for datatypes that are decoded while a file is being opened. It is never closed.
    pub(crate) fn anchor(host: &'static Host) -> *mut c_void {
        static ANCHORS: LazyLock<Mutex<Vec<(usize, usize)>>> = LazyLock::new(Default::default);
        let mut anchors = lock(&ANCHORS);
        if let Some((_, address)) = anchors.iter().find(|(slot, _)| *slot == host.slot) {
            return *address as *mut c_void;
        }
        let place = Place::new(Container::placeholder(), 0);
        let raw = Box::into_raw(Box::new(Self {
            nothing: 0,
            mark: MARK,
            host,
            place,
            what: What::Group,
            opener: 0,
            path: String::new(),
            access: Mutex::new(None),
            moves: Mutex::new(None),
            is_chunked: OnceLock::new(),
        }));
        anchors.push((host.slot, raw as usize));
        raw.cast()
    }

    /// The handle behind a pointer from HDF5.
    ///
    /// # Safety
    /// `raw` must be null, or come from [`Handle::give`] and not be closed; the reference must not outlive the handle.
    pub(crate) unsafe fn of<'a>(raw: *const c_void) -> Result<&'a Self> {
        // SAFETY: as the caller promises; the mark catches foreign pointers.
        unsafe { raw.cast::<Self>().as_ref() }.filter(|handle| handle.mark == MARK).ok_or_else(|| error!("not an object of this connector"))
    }

    /// Closes a handle. Closing the last handle of a file publishes it.
    ///
    /// # Safety
    /// As for [`Handle::of`]; the pointer must not be used afterwards.
    pub(crate) unsafe fn close(raw: *mut c_void) -> Result<()> {
        // If a program exits with open references, HDF5 closes their file twice.
        if !Self::is_open(raw) {
            return Ok(());
        }
        // SAFETY: as the caller promises, and it is open.
        unsafe { Self::of(raw)? };
        lock(&FILES).retain(|(_, _, address, _)| *address != raw as usize);
        lock(&OPEN).remove(raw as usize);
        // SAFETY: it came from `give` and is not used afterwards.
        let mut handle = *unsafe { Box::from_raw(raw.cast::<Self>()) };
        handle.mark = 0;
        drop(lock(&handle.access).take());
        let container = Arc::clone(&handle.place.container);
        let left = container.handles.fetch_sub(1, Ordering::Relaxed) - 1;
        let mut publish = false;
        if let What::File { primary: true, .. } = handle.what {
            publish = container.file_handles.fetch_sub(1, Ordering::Relaxed) == 1;
        }
        // MPI ranks synchronize when they close the file, and nowhere else.
        publish |= left == 0 && container.ranks.get().is_none();
        let settled = match &handle.what {
            What::Dataset(dataset) if Arc::strong_count(dataset) <= 2 => container.release_values(handle.place.object, &handle.path, dataset),
            _ => Ok(()),
        };
        handle.forget_unlinked();
        let published = if publish { container.finish() } else { Ok(()) };
        if publish && container.ranks.get().is_some() {
            container.writable.store(false, Ordering::Relaxed);
        }
        settled.and(published)
    }

    /// Closes a handle that was never passed to a program, without publishing.
    ///
    /// # Safety
    /// As for [`Handle::close`].
    pub(crate) unsafe fn close_quietly(raw: *mut c_void) {
        lock(&OPEN).remove(raw as usize);
        // SAFETY: as the caller promises.
        let handle = unsafe { Box::from_raw(raw.cast::<Self>()) };
        drop(lock(&handle.access).take());
        handle.place.container.handles.fetch_sub(1, Ordering::Relaxed);
    }

    /// Removes objects without links, if this was the last handle of its object.
    fn forget_unlinked(&self) {
        let container = &self.place.container;
        let (number, object) = (container.number, self.place.object);
        if !container.writable.load(Ordering::Relaxed) || lock(&OPEN).has(number, object) {
            return;
        }
        sweep(container);
    }

    /// Whether a pointer is an open handle.
    pub(crate) fn is_open(raw: *const c_void) -> bool {
        !raw.is_null() && lock(&OPEN).handles.contains_key(&(raw as usize))
    }

    /// The dataset of this handle.
    pub(crate) fn dataset(&self) -> Result<&Arc<Dataset>> {
        match &self.what {
            What::Dataset(dataset) => Ok(dataset),
            _ => Err(error!("the object is not a dataset")),
        }
    }

    /// The attribute of this handle.
    pub(crate) fn attribute(&self) -> Result<&Attribute> {
        match &self.what {
            What::Attribute(attribute) => Ok(attribute),
            _ => Err(error!("the object is not an attribute")),
        }
    }

    /// The pointer by which HDF5 knows this handle.
    pub(crate) fn raw(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// The file name that a program used to open the file.
    pub(crate) fn file_name(&self) -> String {
        let number = self.place.container.number;
        let known = lock(&FILES).iter().find(|(n, slot, _, primary)| *n == number && *slot == self.host.slot && *primary).map(|(_, _, address, _)| *address);
        // SAFETY: the address is the address of an open handle.
        match known.and_then(|address| unsafe { Self::of(address as *const c_void) }.ok()).map(|file| &file.what) {
            Some(What::File { name, .. }) => name.clone(),
            _ => self.place.container.path.display().to_string(),
        }
    }

    /// A file handle that is not primary: an existing one, or a new one.
    pub(crate) fn file(&self) -> *mut c_void {
        let container = &self.place.container;
        let known = lock(&FILES)
            .iter()
            .find(|(number, slot, _, primary)| *number == container.number && *slot == self.host.slot && !primary)
            .map(|(_, _, address, _)| *address);
        if let Some(address) = known {
            return address as *mut c_void;
        }
        let what = What::File { fapl: None, writable: container.writable.load(Ordering::Relaxed), name: self.file_name(), primary: false };
        let place = Place::new(Arc::clone(container), hyperslab_arrow_container::model::ROOT);
        Self::give(self.host, place, what, "/".to_owned())
    }
}

/// The open handles of a file, as (object, address).
pub(crate) fn open_in(container: &Container) -> Vec<(ObjectId, usize)> {
    let open = lock(&OPEN);
    open.handles.iter().filter(|(_, (number, _))| *number == container.number).map(|(address, (_, object))| (*object, *address)).collect()
}

/// Removes the objects that have no link and are not open.
pub(crate) fn sweep(container: &Container) {
    lock(&container.tree).remove_unreferenced(|object| lock(&OPEN).has(container.number, object));
}

/// The handle type of an object.
pub(crate) fn what_of(body: &Body) -> (What, H5I_type_t) {
    match body {
        Body::Group { .. } => (What::Group, H5I_GROUP),
        Body::Dataset(dataset) => (What::Dataset(Arc::clone(dataset)), H5I_DATASET),
        Body::Datatype(datatype) => (What::Datatype(datatype.clone()), H5I_DATATYPE),
    }
}

/// A string from HDF5.
///
/// # Safety
/// `text` must be null or a zero-terminated string that outlives the result.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Result<&'a str> {
    if text.is_null() {
        return Err(error!("a name is missing"));
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| error!("a name is not UTF-8, which Arrow requires"))
}

/// Copies a string into HDF5's buffer, truncated if necessary, and returns its full length.
///
/// # Safety
/// `buffer` must be null or have space for `size` bytes; `length` must be null or valid.
pub(crate) unsafe fn give_text(value: &str, buffer: *mut c_char, size: usize, length: *mut usize) {
    // SAFETY: as the caller promises; at most `size - 1` bytes and a zero are written.
    unsafe {
        if !buffer.is_null() && size > 0 {
            let count = value.len().min(size - 1);
            std::ptr::copy_nonoverlapping(value.as_ptr().cast(), buffer, count);
            *buffer.add(count) = 0;
        }
        if !length.is_null() {
            *length = value.len();
        }
    }
}
