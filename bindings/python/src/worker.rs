//! Worker: idle threads that run long calls, so that not every call starts a thread.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard};

use hyperslab::{Error, Result};

type Work = Box<dyn FnOnce() + Send>;

/// A thread that waits for work. It ends when this is dropped.
pub(crate) struct Worker {
    /// The process that started the thread: a forked child does not have its parent's threads.
    process: u32,
    sender: Sender<Work>,
}

static IDLE: Mutex<Vec<Worker>> = Mutex::new(Vec::new());

/// The idle threads, if the lock is free. Never waits: the process may have been forked while another thread held the lock.
fn idle() -> Option<MutexGuard<'static, Vec<Worker>>> {
    IDLE.try_lock().ok()
}

impl Worker {
    /// Takes an idle thread, or starts one.
    pub fn idle() -> Result<Self> {
        let process = std::process::id();
        while let Some(worker) = idle().and_then(|mut idle| idle.pop()) {
            if worker.process == process {
                return Ok(worker);
            }
            // Dropping the sender locks its channel. If a thread of the parent held that lock during the fork, it stays
            // locked in this process.
            std::mem::forget(worker);
        }
        let (sender, work) = channel::<Work>();
        std::thread::Builder::new().name("hyperslab-call".to_owned()).spawn(move || work.iter().for_each(|work| work()))?;
        Ok(Self { process, sender })
    }

    /// Starts `work`, which must not panic.
    pub fn start(&self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        self.sender.send(Box::new(work)).map_err(|_| Error::internal("a waiting thread has ended"))
    }

    /// Returns a thread whose work has ended to the idle ones.
    pub fn give_back(self) {
        if let Some(mut idle) = idle() {
            idle.push(self);
        }
    }
}
