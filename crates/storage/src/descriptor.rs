//! Descriptor: an open file of the operating system that is closed as soon as it was asked for and no thread uses it.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{RwLock, RwLockReadGuard, TryLockError};

/// A writer holds the lock only for an assignment. A forked child may find it taken by a thread that it does not have.
const MAX_TRIES: u32 = 10_000;

/// A file that may be open. Readers share the lock while they read. It is never waited for.
#[derive(Debug, Default)]
pub(crate) struct Descriptor {
    file: RwLock<Option<File>>,
    is_closed: AtomicBool,
    /// Whether it was used since the pool last asked.
    is_used: AtomicBool,
}

impl Descriptor {
    /// The descriptor of an open file.
    pub fn new(file: File) -> Self {
        Self { file: RwLock::new(Some(file)), ..Self::default() }
    }

    fn read(&self) -> Option<RwLockReadGuard<'_, Option<File>>> {
        for _ in 0..MAX_TRIES {
            match self.file.try_read() {
                Ok(file) => return Some(file),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
        None
    }

    /// Whether there is no file.
    pub fn is_none(&self) -> bool {
        self.read().is_none_or(|file| file.is_none())
    }

    /// Uses the file, if there is one and it was not closed.
    pub fn with<T>(&self, work: impl FnOnce(&File) -> T) -> Option<T> {
        let file = self.read()?;
        // Threads that read side by side should not write the same line of the cache again and again.
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
        let done = file.as_ref().filter(|_| !self.is_closed()).map(work);
        drop(file);
        fence(Ordering::SeqCst);
        if self.is_closed() {
            self.release();
        }
        done
    }

    /// Keeps a file that was opened, unless there is one.
    pub fn open(&self, file: File) {
        for _ in 0..MAX_TRIES {
            match self.file.try_write() {
                Ok(mut slot) => {
                    if !self.is_closed() {
                        slot.get_or_insert(file);
                    }
                    drop(slot);
                    fence(Ordering::SeqCst);
                    if self.is_closed() {
                        self.release();
                    }
                    return;
                }
                // Another thread has opened it, and reads.
                Err(_) if !self.is_none() => return,
                Err(_) => std::thread::yield_now(),
            }
        }
    }

    /// Closes the file: now, or when the last thread that reads has ended its read.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        self.release();
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// Whether it was used since the last call.
    pub fn take_used(&self) -> bool {
        self.is_used.swap(false, Ordering::Relaxed)
    }

    /// Closes the file for now, unless a thread uses it. Returns whether there is no open file left.
    pub fn park(&self) -> bool {
        let Ok(mut slot) = self.file.try_write() else { return false };
        let file = slot.take();
        drop(slot);
        drop(file);
        true
    }

    /// Closes the file unless a thread uses it: then that thread does so afterwards.
    fn release(&self) {
        let file = self.file.try_write().ok().and_then(|mut slot| slot.take());
        drop(file);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::path::Path;

    use super::*;

    /// Whether a number is an open descriptor of the file at `path`. Tests of other threads may use the number again.
    fn is_open(descriptor: i32, path: &Path) -> bool {
        Path::new("/proc/self/fd").join(descriptor.to_string()).read_link().is_ok_and(|found| found == path)
    }

    #[test]
    fn the_last_reader_closes_what_was_closed_while_it_read() -> std::io::Result<()> {
        let path = std::env::temp_dir().canonicalize()?.join(format!("hyperslab-descriptor-{}", std::process::id()));
        let file = File::create(&path)?;
        let number = file.as_raw_fd();
        let descriptor = Descriptor::new(file);
        let inside = descriptor.with(|_| {
            descriptor.close();
            (is_open(number, &path), descriptor.with(|_| ()).is_none())
        });
        assert_eq!(inside, Some((true, true)), "a running read keeps it, others find it closed");
        assert!(!is_open(number, &path));
        std::fs::remove_file(&path)?;
        descriptor.open(File::open("/dev/zero")?);
        assert!(descriptor.is_none(), "what is closed stays closed");
        Ok(())
    }
}
