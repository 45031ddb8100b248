//! The ranks of an MPI communicator. MPI is not linked: the connector uses the MPI functions of the host library.

use std::ffi::{CStr, c_int, c_void};
use std::sync::Arc;

use crate::ffi::*;
use crate::host::{Host, check};
use hyperslab_arrow_container::error::{Result, error};
use hyperslab_arrow_container::ranks::{Ranks, set_multi_process};

/// An MPI communicator or datatype: a four-byte number in MPICH and its derivatives, an address in Open MPI.
type Thing = usize;
type AskComm = unsafe extern "C" fn(comm: Thing, out: *mut c_int) -> c_int;
type Gather = unsafe extern "C" fn(from: *const c_void, count: c_int, kind: Thing, to: *mut c_void, counts: c_int, kinds: Thing, comm: Thing) -> c_int;
type GatherV = unsafe extern "C" fn(
    from: *const c_void,
    count: c_int,
    kind: Thing,
    to: *mut c_void,
    counts: *const c_int,
    places: *const c_int,
    kinds: Thing,
    comm: Thing,
) -> c_int;

/// A duplicate of the program's communicator, freed on drop.
pub(crate) struct Communicator {
    comm: Thing,
    size: usize,
    byte: Thing,
    gather: Gather,
    gather_v: GatherV,
    free: unsafe extern "C" fn(comm: *mut Thing) -> c_int,
    finalized: unsafe extern "C" fn(flag: *mut c_int) -> c_int,
}

impl Communicator {
    fn exchange(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        let length = |bytes: usize| c_int::try_from(bytes).map_err(|_| error!("{bytes} bytes exceed what MPI gathers in one call"));
        let (count, mut counts) = (length(own.len())?, vec![0 as c_int; self.size]);
        // SAFETY: every rank gathers four bytes from each rank, and the buffer has space for them.
        check(
            -unsafe { (self.gather)((&raw const count).cast(), 4, self.byte, counts.as_mut_ptr().cast(), 4, self.byte, self.comm) }.abs(),
            "MPI_Allgather failed",
        )?;
        let mut places = Vec::with_capacity(self.size);
        let mut total = 0usize;
        for count in &counts {
            places.push(length(total)?);
            total += usize::try_from(*count).unwrap_or(0);
        }
        // The address of an empty slice is 1, which Open MPI takes for MPI_IN_PLACE.
        let nothing = 0u8;
        let from = if own.is_empty() { &raw const nothing } else { own.as_ptr() };
        let mut all = vec![0u8; total.max(1)];
        // SAFETY: each rank sends the number of bytes that it announced, to a range of its own.
        check(
            -unsafe { (self.gather_v)(from.cast(), count, self.byte, all.as_mut_ptr().cast(), counts.as_ptr(), places.as_ptr(), self.byte, self.comm) }.abs(),
            "MPI_Allgatherv failed",
        )?;
        let mut rest = &all[..total];
        Ok(counts
            .iter()
            .map(|count| {
                let (one, after) = rest.split_at(usize::try_from(*count).unwrap_or(0));
                rest = after;
                one.to_vec()
            })
            .collect())
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        let mut over = 1;
        // SAFETY: a valid output pointer; the communicator is ours, and MPI is not finalized.
        unsafe {
            (self.finalized)(&raw mut over);
            if over == 0 {
                (self.free)(&raw mut self.comm);
            }
        }
    }
}

/// Looks up a function in the host library or in the MPI library that it uses.
fn function<T: Copy>(host: &Host, name: &CStr) -> Option<T> {
    const { assert!(size_of::<T>() == size_of::<usize>()) };
    // SAFETY: `T` is the type of the function of this name, of a pointer's size.
    host.address(name).map(|address| unsafe { std::mem::transmute_copy(&address) })
}

/// `MPI_BYTE`: the address of a variable in Open MPI, a number in the MPI ABI and in MPICH.
fn byte(host: &Host) -> Thing {
    if let Some(address) = host.address(c"ompi_mpi_byte") {
        return address;
    }
    let standard = host.address(c"MPI_Comm_rank").and_then(crate::host::name_of).is_some_and(|name| name.contains("libmpi_abi"));
    if standard { 0x247 } else { 0x4c00_010d }
}

/// Whether a file access property list asks for MPI.
fn asks_for_mpi(host: &Host, fapl: hid_t) -> bool {
    let driver = function::<unsafe extern "C" fn(hid_t) -> hid_t>(host, c"H5Pget_driver");
    let of_mpi = host.global(c"H5FD_MPIO_id_g").filter(|id| *id > 0).or_else(|| {
        // Before HDF5 2, a function returns the ID of the driver.
        function::<unsafe extern "C" fn() -> hid_t>(host, c"H5FD_mpio_init").map(|tell| unsafe { tell() })
    });
    // SAFETY: a valid ID of the host.
    driver.zip(of_mpi).is_some_and(|(driver, of_mpi)| unsafe { driver(fapl) } == of_mpi)
}

/// The ranks that open a file together; `None` for a single process or without MPI. Collective.
pub(crate) fn ranks_of(host: &'static Host, fapl: hid_t) -> Result<Option<Arc<Ranks>>> {
    match communicator_of(host, fapl)? {
        Some((rank, communicator)) => Ok(Some(Arc::new(Ranks::new(rank, communicator.size, Box::new(move |own| communicator.exchange(own)))?))),
        None => Ok(None),
    }
}

/// Records whether this process is one of several ranks. Not collective.
pub(crate) fn detect_ranks(host: &'static Host, fapl: hid_t) -> Result<()> {
    communicator_of(host, fapl).map(drop)
}

/// The communicator of a file access property list, and this process's rank; `None` for a single process or without MPI.
fn communicator_of(host: &'static Host, fapl: hid_t) -> Result<Option<(usize, Communicator)>> {
    if fapl <= 0 {
        return Ok(None);
    }
    let Some(ask) = function::<unsafe extern "C" fn(hid_t, *mut Thing, *mut Thing) -> herr_t>(host, c"H5Pget_fapl_mpio") else { return Ok(None) };
    if !asks_for_mpi(host, fapl) {
        return Ok(None);
    }
    let missing = |name: &str| error!("the MPI library has no function {name}");
    let find_ask = |name: &CStr| function::<AskComm>(host, name).ok_or_else(|| missing(&name.to_string_lossy()));
    let (rank_of, size_of_comm) = (find_ask(c"MPI_Comm_rank")?, find_ask(c"MPI_Comm_size")?);
    let mut comm: Thing = 0;
    // SAFETY: a valid ID of the host; the communicator is a copy that we free.
    check(unsafe { ask(fapl, &raw mut comm, std::ptr::null_mut()) }, "the property list has no MPI communicator")?;
    let (mut rank, mut size) = (0, 0);
    // SAFETY: the communicator is valid; valid output pointers.
    unsafe {
        check(-rank_of(comm, &raw mut rank).abs(), "MPI_Comm_rank failed")?;
        check(-size_of_comm(comm, &raw mut size).abs(), "MPI_Comm_size failed")?;
    }
    let (rank, size) = (usize::try_from(rank).unwrap_or(0), usize::try_from(size).unwrap_or(1));
    let communicator = Communicator {
        comm,
        size,
        byte: byte(host),
        gather: function(host, c"MPI_Allgather").ok_or_else(|| missing("MPI_Allgather"))?,
        gather_v: function(host, c"MPI_Allgatherv").ok_or_else(|| missing("MPI_Allgatherv"))?,
        free: function(host, c"MPI_Comm_free").ok_or_else(|| missing("MPI_Comm_free"))?,
        finalized: function(host, c"MPI_Finalized").ok_or_else(|| missing("MPI_Finalized"))?,
    };
    if size == 1 {
        return Ok(None);
    }
    set_multi_process();
    Ok(Some((rank, communicator)))
}
