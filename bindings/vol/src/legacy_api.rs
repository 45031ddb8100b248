//! Redirects functions of HDF5 before 1.12, which refuse every connector except the native one. h5py iterates over groups with
//! some of them. Newer functions return the same information, so calls about this connector's objects are redirected to those,
//! by replacing addresses in the symbol tables (GOT) of loaded programs and libraries. Calls about other objects go to the
//! original functions.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::callbacks::location::object_of;
use crate::ffi::*;
use crate::handle::Handle;
use crate::host::{Host, SLOTS};
use crate::legacy_references;

/// All fields of `H5O_info2_t`.
const ALL: c_uint = 0x7;

#[repr(C)]
struct LinkInfo1 {
    class: c_int,
    corder_valid: bool,
    corder: i64,
    cset: c_int,
    address_or_size: u64,
}

#[repr(C)]
struct ObjectInfo1 {
    fileno: std::ffi::c_ulong,
    addr: u64,
    class: c_int,
    rc: c_uint,
    times: [i64; 4],
    num_attrs: u64,
    header_and_sizes: [u64; 12],
}

#[repr(C)]
struct Stat {
    fileno: [std::ffi::c_ulong; 2],
    objno: [std::ffi::c_ulong; 2],
    nlink: c_uint,
    class: c_int,
    mtime: i64,
    link_length: usize,
    header: [usize; 3],
}

const _: () = assert!(size_of::<Stat>() == 80);
const _: () = assert!(size_of::<LinkInfo1>() == 32 && size_of::<ObjectInfo1>() == 160);

type LinkCall1 = unsafe extern "C" fn(hid_t, *const c_char, *const LinkInfo1, *mut c_void) -> herr_t;
type NameCall = unsafe extern "C" fn(hid_t, *const c_char, *mut c_void) -> herr_t;
type ObjectCall1 = unsafe extern "C" fn(hid_t, *const c_char, *const ObjectInfo1, *mut c_void) -> herr_t;

fn link_info(new: &H5L_info2_t) -> LinkInfo1 {
    // SAFETY: a hard link has a token, any other a size.
    let address_or_size = unsafe { if new.type_ == 0 { object_of(&new.u.token) } else { new.u.val_size as u64 } };
    LinkInfo1 { class: new.type_, corder_valid: new.corder_valid, corder: new.corder, cset: new.cset, address_or_size }
}

fn object_info(new: &H5O_info2_t) -> ObjectInfo1 {
    ObjectInfo1 {
        fileno: new.fileno,
        addr: object_of(&new.token),
        class: new.type_,
        rc: new.rc,
        times: [new.atime, new.mtime, new.ctime, new.btime],
        num_attrs: new.num_attrs,
        header_and_sizes: [0; 12],
    }
}

struct With<T> {
    call: T,
    data: *mut c_void,
}

unsafe extern "C" fn forward_link(group: hid_t, name: *const c_char, info: *const H5L_info2_t, data: *mut c_void) -> herr_t {
    // SAFETY: `data` is the `With` of the calls below; the rest comes from HDF5.
    unsafe {
        let with = &*data.cast::<With<LinkCall1>>();
        let info = link_info(&*info);
        (with.call)(group, name, &raw const info, with.data)
    }
}

unsafe extern "C" fn forward_object(object: hid_t, name: *const c_char, info: *const H5O_info2_t, data: *mut c_void) -> herr_t {
    // SAFETY: as above.
    unsafe {
        let with = &*data.cast::<With<ObjectCall1>>();
        let info = object_info(&*info);
        (with.call)(object, name, &raw const info, with.data)
    }
}

unsafe extern "C" fn forward_name(group: hid_t, name: *const c_char, _info: *const H5L_info2_t, data: *mut c_void) -> herr_t {
    // SAFETY: as above.
    unsafe {
        let with = &*data.cast::<With<NameCall>>();
        (with.call)(group, name, with.data)
    }
}

/// Whether an ID belongs to an open object of this connector.
pub(crate) fn is_ours(host: &Host, id: hid_t) -> bool {
    // SAFETY: H5Iget_type accepts any number; H5VLobject an ID of a connector's object.
    unsafe {
        match (host.call.H5Iget_type)(id) {
            H5I_FILE | H5I_GROUP | H5I_DATASET | H5I_ATTR => {}
            H5I_DATATYPE if (host.call.H5Tcommitted)(id) > 0 => {}
            _ => return false,
        }
        let object = (host.call.H5VLobject)(id);
        Handle::is_open(object)
    }
}

/// Original and newer functions in one host.
struct Addresses {
    host: &'static Host,
    old: Vec<usize>,
    new: Vec<usize>,
}

static ADDRESSES: [OnceLock<Addresses>; SLOTS] = [const { OnceLock::new() }; SLOTS];

macro_rules! calls {
    ($($number:literal $name:ident $old:literal $new:literal ($($argument:ident: $type:ty),*) |$to:ident: $new_type:ty| $work:expr;)*) => {
        const NAMES: &[(&CStr, &CStr)] = &[$((match CStr::from_bytes_with_nul(concat!($old, "\0").as_bytes()) { Ok(name) => name, Err(_) => c"" },
            match CStr::from_bytes_with_nul(concat!($new, "\0").as_bytes()) { Ok(name) => name, Err(_) => c"" })),*];

        $(unsafe extern "C" fn $name<const S: usize>(id: hid_t, $($argument: $type),*) -> herr_t {
            let Some(addresses) = ADDRESSES.get(S).and_then(OnceLock::get) else { return -1 };
            let (Some(old), Some(new)) = (addresses.old.get($number), addresses.new.get($number)) else { return -1 };
            // SAFETY: both addresses are of the functions of these names, with these signatures.
            unsafe {
                if !is_ours(addresses.host, id) {
                    let call: unsafe extern "C" fn(hid_t, $($type),*) -> herr_t = std::mem::transmute(*old);
                    return call(id, $($argument),*);
                }
                let $to: $new_type = std::mem::transmute(*new);
                $work(id, $($argument),*)
            }
        })*

        fn ours<const S: usize>() -> Vec<usize> {
            vec![$($name::<S> as *const () as usize),*]
        }
    };
}

type Order = H5_iter_order_t;
type Text = *const c_char;
type Data = *mut c_void;

calls! {
    0 iterate "H5Literate1" "H5Literate2" (index: H5_index_t, order: Order, at: *mut u64, op: LinkCall1, data: Data)
        |to: unsafe extern "C" fn(hid_t, H5_index_t, Order, *mut u64, H5L_iterate2_t, Data) -> herr_t|
        |id, index, order, at, op, data| { let mut with = With { call: op, data }; to(id, index, order, at, Some(forward_link), (&raw mut with).cast()) };
    1 iterate_by_name "H5Literate_by_name1" "H5Literate_by_name2" (name: Text, index: H5_index_t, order: Order, at: *mut u64, op: LinkCall1, data: Data, lapl: hid_t)
        |to: unsafe extern "C" fn(hid_t, Text, H5_index_t, Order, *mut u64, H5L_iterate2_t, Data, hid_t) -> herr_t|
        |id, name, index, order, at, op, data, lapl| { let mut with = With { call: op, data }; to(id, name, index, order, at, Some(forward_link), (&raw mut with).cast(), lapl) };
    2 visit "H5Lvisit1" "H5Lvisit2" (index: H5_index_t, order: Order, op: LinkCall1, data: Data)
        |to: unsafe extern "C" fn(hid_t, H5_index_t, Order, H5L_iterate2_t, Data) -> herr_t|
        |id, index, order, op, data| { let mut with = With { call: op, data }; to(id, index, order, Some(forward_link), (&raw mut with).cast()) };
    3 visit_by_name "H5Lvisit_by_name1" "H5Lvisit_by_name2" (name: Text, index: H5_index_t, order: Order, op: LinkCall1, data: Data, lapl: hid_t)
        |to: unsafe extern "C" fn(hid_t, Text, H5_index_t, Order, H5L_iterate2_t, Data, hid_t) -> herr_t|
        |id, name, index, order, op, data, lapl| { let mut with = With { call: op, data }; to(id, name, index, order, Some(forward_link), (&raw mut with).cast(), lapl) };
    4 get_link "H5Lget_info1" "H5Lget_info2" (name: Text, out: *mut LinkInfo1, lapl: hid_t)
        |to: unsafe extern "C" fn(hid_t, Text, *mut H5L_info2_t, hid_t) -> herr_t|
        |id, name, out: *mut LinkInfo1, lapl| { let mut info = std::mem::zeroed(); let status = to(id, name, &raw mut info, lapl); if status >= 0 && !out.is_null() { *out = link_info(&info); } status };
    5 get_link_by_index "H5Lget_info_by_idx1" "H5Lget_info_by_idx2" (name: Text, index: H5_index_t, order: Order, n: u64, out: *mut LinkInfo1, lapl: hid_t)
        |to: unsafe extern "C" fn(hid_t, Text, H5_index_t, Order, u64, *mut H5L_info2_t, hid_t) -> herr_t|
        |id, name, index, order, n, out: *mut LinkInfo1, lapl| { let mut info = std::mem::zeroed(); let status = to(id, name, index, order, n, &raw mut info, lapl); if status >= 0 && !out.is_null() { *out = link_info(&info); } status };
    6 get_object "H5Oget_info1" "H5Oget_info3" (out: *mut ObjectInfo1)
        |to: unsafe extern "C" fn(hid_t, *mut H5O_info2_t, c_uint) -> herr_t|
        |id, out: *mut ObjectInfo1| { let mut info = std::mem::zeroed(); let status = to(id, &raw mut info, ALL); if status >= 0 && !out.is_null() { *out = object_info(&info); } status };
    7 get_object_by_name "H5Oget_info_by_name1" "H5Oget_info_by_name3" (name: Text, out: *mut ObjectInfo1, lapl: hid_t)
        |to: unsafe extern "C" fn(hid_t, Text, *mut H5O_info2_t, c_uint, hid_t) -> herr_t|
        |id, name, out: *mut ObjectInfo1, lapl| { let mut info = std::mem::zeroed(); let status = to(id, name, &raw mut info, ALL, lapl); if status >= 0 && !out.is_null() { *out = object_info(&info); } status };
    8 get_object_by_index "H5Oget_info_by_idx1" "H5Oget_info_by_idx3" (name: Text, index: H5_index_t, order: Order, n: u64, out: *mut ObjectInfo1, lapl: hid_t)
        |to: unsafe extern "C" fn(hid_t, Text, H5_index_t, Order, u64, *mut H5O_info2_t, c_uint, hid_t) -> herr_t|
        |id, name, index, order, n, out: *mut ObjectInfo1, lapl| { let mut info = std::mem::zeroed(); let status = to(id, name, index, order, n, &raw mut info, ALL, lapl); if status >= 0 && !out.is_null() { *out = object_info(&info); } status };
    9 visit_objects "H5Ovisit1" "H5Ovisit3" (index: H5_index_t, order: Order, op: ObjectCall1, data: Data)
        |to: unsafe extern "C" fn(hid_t, H5_index_t, Order, H5O_iterate2_t, Data, c_uint) -> herr_t|
        |id, index, order, op, data| { let mut with = With { call: op, data }; to(id, index, order, Some(forward_object), (&raw mut with).cast(), ALL) };
    10 visit_objects_by_name "H5Ovisit_by_name1" "H5Ovisit_by_name3" (name: Text, index: H5_index_t, order: Order, op: ObjectCall1, data: Data, lapl: hid_t)
        |to: unsafe extern "C" fn(hid_t, Text, H5_index_t, Order, H5O_iterate2_t, Data, c_uint, hid_t) -> herr_t|
        |id, name, index, order, op, data, lapl| { let mut with = With { call: op, data }; to(id, name, index, order, Some(forward_object), (&raw mut with).cast(), ALL, lapl) };
    11 stat "H5Gget_objinfo" "H5Oget_info_by_name3" (name: Text, follow: bool, out: *mut Stat)
        |to: unsafe extern "C" fn(hid_t, Text, *mut H5O_info2_t, c_uint, hid_t) -> herr_t|
        |id, name, _follow: bool, out: *mut Stat| {
            let mut info = std::mem::zeroed();
            let status = to(id, name, &raw mut info, ALL, 0);
            if status >= 0 && !out.is_null() {
                *out = Stat { fileno: [info.fileno, 0], objno: [object_of(&info.token), 0], nlink: info.rc, class: info.type_, mtime: info.mtime, link_length: 0, header: [0; 3] };
            }
            status
        };
    12 get_object_fields "H5Oget_info2" "H5Oget_info3" (out: *mut ObjectInfo1, _fields: c_uint)
        |to: unsafe extern "C" fn(hid_t, *mut H5O_info2_t, c_uint) -> herr_t|
        |id, out: *mut ObjectInfo1, _fields| { let mut info = std::mem::zeroed(); let status = to(id, &raw mut info, ALL); if status >= 0 && !out.is_null() { *out = object_info(&info); } status };
    13 get_object_fields_by_name "H5Oget_info_by_name2" "H5Oget_info_by_name3" (name: Text, out: *mut ObjectInfo1, _fields: c_uint, lapl: hid_t)
        |to: unsafe extern "C" fn(hid_t, Text, *mut H5O_info2_t, c_uint, hid_t) -> herr_t|
        |id, name, out: *mut ObjectInfo1, _fields, lapl| { let mut info = std::mem::zeroed(); let status = to(id, name, &raw mut info, ALL, lapl); if status >= 0 && !out.is_null() { *out = object_info(&info); } status };
    14 get_object_fields_by_index "H5Oget_info_by_idx2" "H5Oget_info_by_idx3" (name: Text, index: H5_index_t, order: Order, n: u64, out: *mut ObjectInfo1, _fields: c_uint, lapl: hid_t)
        |to: unsafe extern "C" fn(hid_t, Text, H5_index_t, Order, u64, *mut H5O_info2_t, c_uint, hid_t) -> herr_t|
        |id, name, index, order, n, out: *mut ObjectInfo1, _fields, lapl| { let mut info = std::mem::zeroed(); let status = to(id, name, index, order, n, &raw mut info, ALL, lapl); if status >= 0 && !out.is_null() { *out = object_info(&info); } status };
    15 visit_object_fields "H5Ovisit2" "H5Ovisit3" (index: H5_index_t, order: Order, op: ObjectCall1, data: Data, _fields: c_uint)
        |to: unsafe extern "C" fn(hid_t, H5_index_t, Order, H5O_iterate2_t, Data, c_uint) -> herr_t|
        |id, index, order, op, data, _fields| { let mut with = With { call: op, data }; to(id, index, order, Some(forward_object), (&raw mut with).cast(), ALL) };
    16 visit_object_fields_by_name "H5Ovisit_by_name2" "H5Ovisit_by_name3" (name: Text, index: H5_index_t, order: Order, op: ObjectCall1, data: Data, _fields: c_uint, lapl: hid_t)
        |to: unsafe extern "C" fn(hid_t, Text, H5_index_t, Order, H5O_iterate2_t, Data, c_uint, hid_t) -> herr_t|
        |id, name, index, order, op, data, _fields, lapl| { let mut with = With { call: op, data }; to(id, name, index, order, Some(forward_object), (&raw mut with).cast(), ALL, lapl) };
    17 iterate_names "H5Giterate" "H5Literate_by_name2" (name: Text, at: *mut c_int, op: NameCall, data: Data)
        |to: unsafe extern "C" fn(hid_t, Text, H5_index_t, Order, *mut u64, H5L_iterate2_t, Data, hid_t) -> herr_t|
        |id, name, at: *mut c_int, op, data| {
            let mut with = With { call: op, data };
            // A negative position is beyond the end, which HDF5 refuses, too.
            let mut next = if at.is_null() { 0 } else { u64::try_from(*at).unwrap_or(u64::MAX) };
            let status = to(id, name, H5_INDEX_NAME, H5_ITER_INC, &raw mut next, Some(forward_name), (&raw mut with).cast(), 0);
            if !at.is_null() && let Ok(next) = c_int::try_from(next) {
                *at = next;
            }
            status
        };
}

/// The names of all redirected functions: those above, and those for references.
fn names() -> impl Iterator<Item = &'static CStr> {
    NAMES.iter().map(|(old, _)| *old).chain(legacy_references::NAMES.iter().copied())
}

/// The address of the original function in the host of a slot.
pub(crate) fn original_address(slot: usize, name: &CStr) -> Option<usize> {
    let place = names().position(|known| known == name)?;
    ADDRESSES.get(slot)?.get()?.old.get(place).copied().filter(|address| *address != 0)
}

/// Redirects the calls of all loaded objects. Called again after more may have been loaded.
pub(crate) fn redirect(host: &'static Host) {
    let Some(place) = ADDRESSES.get(host.slot) else { return };
    let addresses = place.get_or_init(|| {
        let find = |name: &CStr| host.address(name).unwrap_or(0);
        Addresses { host, old: names().map(find).collect(), new: NAMES.iter().map(|(_, new)| find(new)).collect() }
    });
    let ours = match host.slot {
        0 => [ours::<0>(), legacy_references::ours::<0>()],
        1 => [ours::<1>(), legacy_references::ours::<1>()],
        2 => [ours::<2>(), legacy_references::ours::<2>()],
        _ => [ours::<3>(), legacy_references::ours::<3>()],
    };
    let ours = ours.concat();
    let mut walk = Walk { addresses, ours, seen: 0 };
    // SAFETY: the callback gets the walk, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(object_loaded), (&raw mut walk).cast()) };
}

static LOADED: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];

struct Walk {
    addresses: &'static Addresses,
    ours: Vec<usize>,
    seen: u64,
}

unsafe extern "C" fn object_loaded(info: *mut libc::dl_phdr_info, size: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader's description of an object, and the walk passed to dl_iterate_phdr.
    unsafe {
        let (info, walk) = (&*info, &mut *data.cast::<Walk>());
        if size >= size_of::<libc::dl_phdr_info>() && walk.seen == 0 {
            // `dlpi_adds` is the number of libraries loaded so far. If it has not changed since the last walk, no library is new.
            walk.seen = info.dlpi_adds.max(1);
            let known = LOADED.get(walk.addresses.host.slot).map_or(0, |known| known.swap(walk.seen, Ordering::Relaxed));
            if known == walk.seen {
                return 1;
            }
        }
        exchange(info, walk);
    }
    0
}

/// Replaces the addresses in the relocation tables of one loaded object.
unsafe fn exchange(info: &libc::dl_phdr_info, walk: &Walk) {
    let base = info.dlpi_addr as usize;
    // SAFETY: the loader mapped and used these headers and tables; entries are read within their lengths.
    unsafe {
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        let Some(dynamic) = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) else { return };
        let within = |address: usize| {
            headers.iter().any(|h| h.p_type == libc::PT_LOAD && (base + h.p_vaddr as usize..base + (h.p_vaddr + h.p_memsz) as usize).contains(&address))
        };
        let sealed = |address: usize| {
            headers.iter().any(|h| h.p_type == libc::PT_GNU_RELRO && (base + h.p_vaddr as usize..base + (h.p_vaddr + h.p_memsz) as usize).contains(&address))
        };
        let mut tables = [0usize; 24];
        let mut entry = (base + dynamic.p_vaddr as usize) as *const [usize; 2];
        while (*entry)[0] != 0 {
            if let Some(place) = tables.get_mut((*entry)[0]) {
                *place = (*entry)[1];
            }
            entry = entry.add(1);
        }
        let [strings, symbols] = [tables[5], tables[6]];
        if !within(strings) || !within(symbols) {
            return;
        }
        for (table, bytes) in [(tables[23], tables[2]), (tables[7], tables[8])] {
            if !within(table) || bytes > 1 << 26 {
                continue;
            }
            for [offset, kind, _] in std::slice::from_raw_parts(table as *const [usize; 3], bytes / 24) {
                // Relocations of functions and data: 6 and 7 on x86-64, 1025 and 1026 on ARM.
                if !matches!(kind & 0xffff_ffff, 6 | 7 | 1025 | 1026) {
                    continue;
                }
                let name = *((symbols + (kind >> 32) * 24) as *const u32) as usize;
                let name = CStr::from_ptr((strings + name) as *const c_char);
                if !name.to_bytes().starts_with(b"H5") {
                    continue;
                }
                let Some(index) = names().position(|old| old == name) else { continue };
                let (Some(old), Some(ours)) = (walk.addresses.old.get(index), walk.ours.get(index)) else { continue };
                let slot = (base + offset) as *mut usize;
                // With lazy binding, an entry that was not called yet points to the loader's stub in the object.
                let waiting = within(*slot) && base != 0 && walk.addresses.host.serves(info.dlpi_name, name, *old);
                if *old == 0 || (*slot != *old && !waiting) {
                    continue;
                }
                let page = 4096usize;
                let start = (slot as usize) & !(page - 1);
                if libc::mprotect(start as *mut c_void, page, libc::PROT_READ | libc::PROT_WRITE) == 0 {
                    slot.write(*ours);
                    if sealed(slot as usize) {
                        libc::mprotect(start as *mut c_void, page, libc::PROT_READ);
                    }
                }
            }
        }
    }
}
