//! Targets: the other files to which chunk references lead, as one storage. Each is opened when it is needed, if the session's
//! policy allows it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_formats::{ArrayFile, Target};
use hyperslab_storage::{ForkMutex, Storage, check_open, is_address};

use crate::{File, Session};

/// The file over its targets, if it consists of references; else the file itself.
pub(crate) fn with_targets(session: &Session, path: &Path, opened: Arc<dyn ArrayFile>, depth: u32) -> Arc<dyn ArrayFile> {
    if opened.targets().is_empty() {
        return opened;
    }
    let targets = Targets {
        targets: opened.targets().to_vec(),
        is_remote: opened.targets().iter().any(|target| is_address(&target.file)),
        document: File::new(session.clone(), path.to_path_buf(), opened.clone(), depth),
        opened: ForkMutex::default(),
        is_closed: AtomicBool::new(false),
    };
    opened.over(Arc::new(targets)).unwrap_or(opened)
}

struct Targets {
    /// In the order of their places.
    targets: Vec<Target>,
    is_remote: bool,
    /// The references, whose path and session say which files may be opened.
    document: File,
    opened: ForkMutex<HashMap<usize, Arc<dyn Storage>>>,
    is_closed: AtomicBool,
}

impl Targets {
    /// The target that holds `length` bytes from `offset` on, and the offset in it.
    fn place(&self, offset: u64, length: u64) -> Result<(usize, u64)> {
        let index = self.targets.partition_point(|target| target.start <= offset).checked_sub(1);
        let found = index.and_then(|index| Some((index, offset - self.targets.get(index)?.start)));
        let holds = |&(index, inside): &(usize, u64)| {
            let end = inside.checked_add(length);
            self.targets.get(index).zip(end).is_some_and(|(target, end)| end <= target.length)
        };
        found.filter(holds).ok_or_else(|| Error::internal("a read over the end of a target of references"))
    }

    fn storage(&self, index: usize) -> Result<Arc<dyn Storage>> {
        check_open(self)?;
        if let Some(storage) = self.opened.lock().and_then(|opened| opened.get(&index).cloned()) {
            return Ok(storage);
        }
        let target = self.targets.get(index).ok_or_else(|| Error::internal("no such target"))?;
        let name = target.file.strip_prefix("file://").unwrap_or(&target.file);
        let storage = self.document.linked_storage(name)?;
        if let Some(mut opened) = self.opened.lock()
            && opened.len() < super::open_linked::max_kept_open()
        {
            opened.insert(index, storage.clone());
        }
        Ok(storage)
    }

    fn all_opened(&self) -> Vec<Arc<dyn Storage>> {
        self.opened.lock().map(|opened| opened.values().cloned().collect()).unwrap_or_default()
    }
}

impl Storage for Targets {
    fn len(&self) -> u64 {
        self.targets.last().map_or(0, |target| target.start.saturating_add(target.length))
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let (index, inside) = self.place(offset, buffer.len() as u64)?;
        self.storage(index)?.read_exact_at(inside, buffer)
    }
    fn is_remote(&self) -> bool {
        self.is_remote
    }
    fn fetched(&self, ranges: &[(u64, u64)], cancellation: &Cancellation) -> Result<Option<Arc<dyn Storage>>> {
        let mut wanted: HashMap<usize, Vec<(u64, u64)>> = HashMap::new();
        for &(offset, length) in ranges {
            let (index, inside) = self.place(offset, length)?;
            wanted.entry(index).or_default().push((inside, length));
        }
        let mut views = HashMap::with_capacity(wanted.len());
        for (index, ranges) in wanted {
            let storage = self.storage(index)?;
            let view = storage.fetched(&ranges, cancellation)?;
            views.insert(index, view.unwrap_or(storage));
        }
        Ok(Some(Arc::new(FetchedTargets { targets: self.targets.clone(), views, name: self.name().to_owned(), length: self.len() })))
    }
    /// When the references were written: they do not say which version of the targets they describe.
    fn modified_nanoseconds(&self) -> Option<u64> {
        self.document.array_file().storage().modified_nanoseconds()
    }
    fn version(&self) -> Option<&str> {
        self.document.array_file().storage().version()
    }
    fn is_unchanged(&self) -> bool {
        !self.is_closed() && self.all_opened().iter().all(|storage| storage.is_unchanged())
    }
    fn has_changed(&self) -> bool {
        self.all_opened().iter().any(|storage| storage.has_changed())
    }
    fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.all_opened().iter().for_each(|storage| storage.close());
        self.document.array_file().storage().close();
    }
    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }
    fn file_with(&self, offset: u64, length: u64) -> Result<Option<(std::fs::File, u64)>> {
        let (index, inside) = self.place(offset, length)?;
        self.storage(index)?.file_with(inside, length)
    }
    fn name(&self) -> &str {
        self.document.array_file().storage().name()
    }
    fn beside(&self, name: &str) -> Result<Arc<dyn Storage>> {
        self.document.array_file().storage().beside(name)
    }
}

/// Targets with some ranges being fetched.
struct FetchedTargets {
    targets: Vec<Target>,
    views: HashMap<usize, Arc<dyn Storage>>,
    name: String,
    length: u64,
}

impl Storage for FetchedTargets {
    fn len(&self) -> u64 {
        self.length
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let index = self.targets.partition_point(|target| target.start <= offset).checked_sub(1);
        let found = index.and_then(|index| Some((self.targets.get(index)?, self.views.get(&index)?)));
        let (target, view) = found.ok_or_else(|| Error::internal("a read of a target that was not fetched"))?;
        view.read_exact_at(offset - target.start, buffer)
    }
    fn is_remote(&self) -> bool {
        true
    }
    fn name(&self) -> &str {
        &self.name
    }
}
