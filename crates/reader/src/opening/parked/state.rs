//! State of a file that may be parked: what is known of it while it is not in memory, and the file while it is.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::{ArrayFile, Format, Interpretation, ObjectId};
use hyperslab_storage::{ForkMutex, LocalFile, LocalStamp, Opening};

use super::pool::{self, Park};
use crate::Session;
use crate::opening::any_format;

/// What is known of a parked file.
pub(super) struct Parked {
    session: Session,
    path: Arc<Path>,
    /// The path by which it was opened, for messages, if that is another text.
    name: Option<Box<str>>,
    stamp: LocalStamp,
    format: Format,
    root: ObjectId,
    user_block_bytes: u64,
    /// The file, unless it is parked.
    opened: ForkMutex<Option<Arc<dyn ArrayFile>>>,
    is_used: AtomicBool,
    is_closed: AtomicBool,
}

impl Parked {
    /// The file at `path`, which is opened as this one; `None` if the folder in which the process works is gone, to which the path is relative.
    pub fn new(session: &Session, path: &Arc<Path>, stamp: LocalStamp, opened: &dyn ArrayFile) -> Option<Self> {
        // The process may work in another folder when the file is opened again.
        let absolute = if path.is_absolute() { path.clone() } else { std::path::absolute(path).ok().map(Arc::from)? };
        Some(Self {
            session: session.clone(),
            name: (path.to_str() != absolute.to_str() || path.to_str().is_none()).then(|| path.to_string_lossy().into()),
            path: absolute,
            stamp,
            format: opened.format(),
            root: opened.tree().root(),
            user_block_bytes: opened.user_block_bytes(),
            opened: ForkMutex::default(),
            is_used: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        })
    }

    /// Its state when it was opened.
    pub fn stamp(&self) -> LocalStamp {
        self.stamp
    }

    pub fn format(&self) -> Format {
        self.format
    }

    pub fn root(&self) -> ObjectId {
        self.root
    }

    pub fn user_block_bytes(&self) -> u64 {
        self.user_block_bytes
    }

    /// The path by which it was opened, for messages.
    pub fn name(&self) -> &str {
        self.name.as_deref().or_else(|| self.path.to_str()).unwrap_or_default()
    }

    /// Whether its path still leads to the same bytes.
    pub fn is_same(&self) -> bool {
        LocalStamp::of_path(&self.path) == Some(self.stamp)
    }

    /// The file, opened again if it was parked.
    ///
    /// # Errors
    /// `InvalidInput` if it was closed; `Conflict` if it was changed, renamed or removed; errors of opening it.
    pub fn opened(self: &Arc<Self>) -> Result<Arc<dyn ArrayFile>> {
        if self.is_closed() {
            return Err(Error::invalid_input("the file is closed: open it again").in_file(self.name()));
        }
        if let Some(opened) = self.opened.lock().and_then(|slot| slot.clone()) {
            self.is_used.store(true, Ordering::Relaxed);
            return Ok(opened);
        }
        let opened = self.open_again().map_err(|error| error.in_file(self.name()))?;
        let is_new = match self.opened.lock() {
            Some(mut slot) if slot.is_none() && !self.is_closed() => {
                *slot = Some(opened.clone());
                true
            }
            // Another thread has opened it meanwhile.
            _ => false,
        };
        if is_new {
            let file: Arc<dyn Park> = self.clone();
            pool::admit(&file);
        }
        Ok(opened)
    }

    fn open_again(&self) -> Result<Arc<dyn ArrayFile>> {
        let conflict = |what: &str| {
            Error::new(
                ErrorKind::Conflict,
                format!("the file {what} since it was opened: open it again (of many open files, {} stay in memory)", pool::MAX_OPEN),
            )
        };
        let local = LocalFile::open_as(&self.path, Opening::File, None).map_err(|error| match error.kind() {
            ErrorKind::NotFound => conflict("was removed or renamed"),
            _ => error,
        })?;
        if local.settled_stamp() != Some(self.stamp) {
            return Err(conflict("has changed"));
        }
        let mut options = self.session.open_options().clone();
        // Known since it was opened first: detecting it again would examine objects.
        options.interpretation = match self.format {
            Format::Netcdf4 => Interpretation::Netcdf4,
            _ => Interpretation::Hdf5,
        };
        any_format::open(Arc::new(local), &options)
    }

    pub fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        if let Some(opened) = self.opened.lock().and_then(|mut slot| slot.take()) {
            opened.storage().close();
        }
    }

    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }
}

impl Park for Parked {
    fn park(&self) {
        let opened = self.opened.lock().and_then(|mut slot| slot.take());
        drop(opened);
    }

    fn take_used(&self) -> bool {
        self.is_used.swap(false, Ordering::Relaxed)
    }
}
