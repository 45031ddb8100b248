//! Allocator: mimalloc, and the system's allocator in forked children.
//!
//! Opening a small file makes many small allocations, and a scan allocates and frees large ones: mimalloc keeps freed memory for
//! reuse (docs/decisions/0011-allocator.md). It has locks, which a child inherits as they were. If another thread of the parent held
//! one during the fork, the child would wait for it forever. The system's allocator releases its locks in a child.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use mimalloc::MiMalloc;

/// Whether this process is a forked child.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// `mi_option_destroy_on_exit`. With the value 2, mimalloc does nothing when the process ends.
const DESTROY_ON_EXIT: c_int = 22;
const NEVER: c_long = 2;

unsafe extern "C" {
    /// Whether mimalloc allocated a block. Takes no lock.
    fn mi_is_in_heap_region(block: *const c_void) -> bool;
    fn mi_option_set(option: c_int, value: c_long);
}

/// The allocator of the extension.
pub(crate) struct Allocator;

fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}

/// Whether the parent allocated a block. A child only leaves such blocks alone: to free one may take a lock.
unsafe fn is_of_parent(block: *mut u8) -> bool {
    // SAFETY: any address may be asked about.
    unsafe { mi_is_in_heap_region(block.cast()) }
}

// SAFETY: each block is freed by the allocator that made it, or never.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe { if is_child() { System.alloc(layout) } else { MiMalloc.alloc(layout) } }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe { if is_child() { System.alloc_zeroed(layout) } else { MiMalloc.alloc_zeroed(layout) } }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe {
            if !is_child() {
                MiMalloc.dealloc(block, layout);
            } else if !is_of_parent(block) {
                System.dealloc(block, layout);
            }
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's; the new block has at least the bytes that are copied.
        unsafe {
            if !is_child() {
                return MiMalloc.realloc(block, layout, size);
            }
            if !is_of_parent(block) {
                return System.realloc(block, layout, size);
            }
            let moved = System.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                block.copy_to_nonoverlapping(moved, size.min(layout.size()));
            }
            moved
        }
    }
}

unsafe extern "C" fn after_fork_in_child() {
    IS_CHILD.store(true, Ordering::Relaxed);
    // SAFETY: sets a number.
    unsafe { mi_option_set(DESTROY_ON_EXIT, NEVER) }
}

/// Makes forked children use the system's allocator.
pub(crate) fn watch_forks() -> std::io::Result<()> {
    // SAFETY: the handler only stores two numbers. The extension is never unloaded.
    match unsafe { libc::pthread_atfork(None, None, Some(after_fork_in_child)) } {
        0 => Ok(()),
        code => Err(std::io::Error::from_raw_os_error(code)),
    }
}
