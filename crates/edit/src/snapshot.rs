//! A view of a file that is edited, as long as nothing changes. What was read and what is read later never mix.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyperslab_array::{Error, Result};
use hyperslab_storage::{Storage, check_open};

use crate::staged::Staged;

/// The file between two changes.
pub(crate) struct Snapshot {
    staged: Arc<Staged>,
    generation: u64,
    /// Whether it was taken in the middle of a change, for the thread that makes it and those that help it.
    is_inside: bool,
    closed: AtomicBool,
}

impl Snapshot {
    /// The current state of the file.
    ///
    /// # Errors
    /// `Internal` after a panic during a change.
    pub fn new(staged: Arc<Staged>) -> Result<Self> {
        let (generation, changing) = {
            let state = staged.state()?;
            (state.generation, state.changing)
        };
        let is_inside = changing == Some(std::thread::current().id());
        Ok(Self { staged, generation, is_inside, closed: AtomicBool::new(false) })
    }
}

impl Storage for Snapshot {
    fn len(&self) -> u64 {
        self.staged.len()
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_open(self)?;
        // The lock is held until the bytes are read.
        let state = self.staged.state()?;
        if state.generation != self.generation || (!self.is_inside && state.changing.is_some_and(|thread| thread != std::thread::current().id())) {
            return Err(Error::busy("the file was changed while this was read: take it from the file again").in_file(self.name()));
        }
        self.staged.read_from(&state, offset, buffer)
    }
    fn is_edited(&self) -> bool {
        true
    }
    fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire) || self.staged.is_closed()
    }
    fn name(&self) -> &str {
        self.staged.name()
    }
    fn beside(&self, name: &str) -> Result<Arc<dyn Storage>> {
        self.staged.beside(name)
    }
}
