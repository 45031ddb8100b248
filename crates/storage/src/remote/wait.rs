//! Waits for requests in the thread of a caller.

use hyperslab_array::{Error, Result, interruption};

use super::POLL;
use super::engine::engine;

/// The outcome of `work`, which runs on the threads of the engine. It is dropped if the caller is interrupted.
pub(super) fn wait_for<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let task = engine()?.runtime.spawn(async move {
        let _ = sender.send(work.await);
    });
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(outcome) => return outcome,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                if let Err(error) = interruption::check_wait() {
                    task.abort();
                    return Err(error);
                }
            }
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return Err(Error::internal("a request ended without an outcome")),
        }
    }
}

/// The outcome of `work`, which waits on a thread of its own. Its outcome is dropped if the caller is interrupted.
pub(super) fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let failed = |error: tokio::task::JoinError| Error::internal(format!("a thread that opens a file ended: {error}"));
    wait_for(async move { tokio::task::spawn_blocking(work).await.map_err(failed)? })
}
