//! A file of the local file system, read with `pread`.

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use hyperslab_array::{Error, ErrorKind, Result};

use crate::beneath::{leads_out, open_beneath};
use crate::descriptor::Descriptor;
use crate::local_stamp::{LocalStamp, TICK, is_settled, modified};
use crate::{Storage, check_open, check_range, descriptor_pool};

/// Bytes read from the beginning of a file when it is opened: its metadata, or all of a small file.
const HEAD_BYTES: usize = 16 << 10;
/// The same for one of many files that hold parts of a dataset: values begin early in such files, and reading them twice
/// costs more than a second call.
const SOURCE_HEAD_BYTES: usize = 2 << 10;
/// Bytes kept around metadata that is not at the beginning of a file, and how many of them lie before the known address:
/// writers tend to write an object's members before the object.
const TAIL_BYTES: u64 = 2 << 10;
const BEFORE_BYTES: u64 = 1536;

/// What is read of a file when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Opening {
    /// Its beginning, with much of its metadata.
    File,
    /// Less, because mostly values are read: it is one of many files with parts of a dataset.
    Source,
    /// Nothing, because its bytes may change while it is read.
    Growing,
}

impl Opening {
    fn head_bytes(self) -> usize {
        match self {
            Self::File => HEAD_BYTES,
            Self::Source => SOURCE_HEAD_BYTES,
            Self::Growing => 0,
        }
    }
}

/// An open local file.
#[derive(Debug)]
pub struct LocalFile {
    /// None is open if `head` is the whole file, so that a hundred thousand small files need no open descriptors, or if the
    /// process has too many open (`reopened_at`). Opened again if it is needed.
    descriptor: Arc<Descriptor>,
    /// The absolute path, if the descriptor may be closed and opened again.
    reopened_at: Option<PathBuf>,
    head: Box<[u8]>,
    /// Whether a change of the file is a conflict. Files with parts of a dataset may grow: writers in parallel append to them, and what was there stays.
    is_fixed: bool,
    /// Other bytes that are kept, with their offset.
    tail: OnceLock<(u64, Box<[u8]>)>,
    /// Length known so far: a file that is being written grows.
    length: AtomicU64,
    /// Time of the last change before it was opened. Determined on demand for a small file, to save a system call.
    modified_nanoseconds: OnceLock<Option<u64>>,
    /// Its state when it was opened; `None` of a file that is all in `head`.
    stamp: Option<LocalStamp>,
    /// Its state when `head` was read, if another change of the file will show in it.
    settled: Option<LocalStamp>,
    name: String,
}

impl LocalFile {
    /// Opens `path` for reading and reads its beginning. Errors are `NotFound` or `Io` and name the path.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_as(path.as_ref(), Opening::File, None)
    }

    /// Opens `path`, one of many files from which mostly values are read.
    pub fn open_source(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_as(path.as_ref(), Opening::Source, None)
    }

    /// Opens `path`, whose bytes may change while it is read: none are kept.
    pub fn open_growing(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_as(path.as_ref(), Opening::Growing, None)
    }

    /// Opens `path` if it is a regular file itself: see [`open_regular`].
    pub fn open_regular(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let name = path.to_string_lossy().into_owned();
        let file = open_regular(path).map_err(|error| Error::from(error).in_file(&name))?;
        // It stays open: the name could lead to another file later.
        let metadata = file.metadata().map_err(|error| Error::from(error).in_file(&name))?;
        let modified_nanoseconds = OnceLock::from(modified(&metadata));
        let length = AtomicU64::new(metadata.len());
        let stamp = LocalStamp::of(&metadata);
        let descriptor = Arc::new(Descriptor::new(file));
        Ok(Self {
            descriptor,
            reopened_at: None,
            head: Box::default(),
            is_fixed: false,
            tail: OnceLock::new(),
            length,
            modified_nanoseconds,
            stamp,
            settled: None,
            name,
        })
    }

    /// Its state when it was opened, by which another opening of its path is known to read the same bytes. `None` if it was changed only just
    /// before, so that the next change may have the same time, or if it is read while it grows.
    pub fn settled_stamp(&self) -> Option<LocalStamp> {
        self.settled
    }

    /// Opens `path`. If it must lie `beneath` a folder, which its first parts are, no symbolic link leads out of that.
    ///
    /// # Errors
    /// `NotFound` or `Io`, which name the path; `InvalidInput` if it is not a regular file; `Unsupported` if a link leads out of the folder.
    pub fn open_as(path: &Path, opening: Opening, beneath: Option<&Path>) -> Result<Self> {
        let (head_bytes, is_fixed) = (opening.head_bytes(), matches!(opening, Opening::File));
        let name = path.to_string_lossy().into_owned();
        let in_file = |error: std::io::Error| Error::from(error).in_file(&name);
        // A FIFO without a writer would block.
        let without_blocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
        let mut options = std::fs::OpenOptions::new();
        options.read(true).custom_flags(without_blocking);
        let opened = open_within_limit(|| match beneath {
            Some(folder) => open_beneath(folder, path),
            None => options.open(path),
        });
        let failed = |error| leads_out(&error).or_else(|| other_kind(path.metadata())).unwrap_or_else(|| Error::from(error));
        let file = opened.map_err(|error| failed(error).in_file(&name))?;
        let head = if head_bytes == 0 { Ok(Head::default()) } else { whole_head(&file, head_bytes) };
        let Head { bytes: head, metadata, is_settled } =
            head.map_err(|error| other_kind(file.metadata()).unwrap_or_else(|| Error::from(error)).in_file(&name))?;
        if head.is_empty()
            && let Some(error) = other_kind(file.metadata())
        {
            return Err(error.in_file(&name));
        }
        let settled = metadata.as_ref().filter(|_| is_settled).and_then(LocalStamp::of);
        if head.len() < head_bytes {
            let length = AtomicU64::new(head.len() as u64);
            let modified_nanoseconds = OnceLock::new();
            let descriptor = Arc::default();
            return Ok(Self { descriptor, reopened_at: None, head, is_fixed, tail: OnceLock::new(), length, modified_nanoseconds, stamp: None, settled, name });
        }
        let metadata = metadata.map_or_else(|| file.metadata(), Ok).map_err(in_file)?;
        if let Some(error) = other_kind(Ok(metadata.clone())) {
            return Err(error.in_file(&name));
        }
        let modified_nanoseconds = OnceLock::from(modified(&metadata));
        let length = AtomicU64::new(metadata.len());
        let stamp = LocalStamp::of(&metadata);
        let descriptor = Arc::new(Descriptor::new(file));
        // A file that is being written has another stamp each time.
        let reopened_at = std::path::absolute(path).ok().filter(|_| head_bytes > 0 && stamp.is_some());
        if reopened_at.is_some() {
            descriptor_pool::admit(&descriptor);
        }
        Ok(Self { descriptor, reopened_at, head, is_fixed, tail: OnceLock::new(), length, modified_nanoseconds, stamp, settled, name })
    }
}

impl LocalFile {
    /// Uses the open file, which stays open meanwhile.
    ///
    /// # Errors
    /// `InvalidInput` if it was closed; `Conflict` if it has to be opened again and has changed; `Io`.
    fn with_file<T>(&self, work: impl FnOnce(&File) -> T) -> Result<T> {
        let mut work = Some(work);
        let mut once = |file: &File| work.take().map(|work| work(file));
        if let Some(Some(done)) = self.descriptor.with(&mut once) {
            return Ok(done);
        }
        check_open(self)?;
        let file = self.reopened().map_err(|error| error.in_file(&self.name))?;
        let done = once(&file).ok_or_else(|| Error::internal("the work on a file was done already"))?;
        self.descriptor.open(file);
        if self.reopened_at.is_some() {
            descriptor_pool::admit(&self.descriptor);
        }
        Ok(done)
    }

    /// Opens the file again. It must have the same stamp as before; a small file must begin with the same bytes.
    fn reopened(&self) -> Result<File> {
        let Some(path) = &self.reopened_at else {
            let file = open_within_limit(|| File::open(&self.name))?;
            return if self.begins(&file) { Ok(file) } else { Err(changed()) };
        };
        let file = open_within_limit(|| File::open(path)).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => gone(),
            _ => Error::from(error),
        })?;
        if LocalStamp::of(&file.metadata()?) == self.stamp { Ok(file) } else { Err(changed()) }
    }

    /// Reads as many bytes as `buffer` has.
    fn fill(&self, file: &File, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match read_at(file, rest, offset + done as u64) {
                Ok(0) => {
                    let end = offset + done as u64;
                    let cut = format!("the file ends at byte {end} now: it was cut while it was being read");
                    return Err(Error::corrupt(cut).in_file(&self.name).at_offset(offset));
                }
                Ok(count) => done += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::from(error).in_file(&self.name).at_offset(offset)),
            }
        }
        Ok(())
    }

    /// `Conflict` if the file was changed since it was opened: what was read now and what was read before are of different states. A file
    /// that may grow is not checked.
    fn check_unchanged(&self, file: &File) -> Result<()> {
        if !self.is_fixed || self.stamp.is_none() || file.metadata().is_ok_and(|now| LocalStamp::of(&now) == self.stamp) {
            return Ok(());
        }
        Err(changed().in_file(&self.name))
    }

    /// Whether `file` begins with the bytes that were read when this file was opened.
    fn begins(&self, file: &File) -> bool {
        let mut head = vec![0; self.head.len()];
        std::io::Read::read_exact(&mut &*file, &mut head).is_ok() && *head == *self.head
    }

    /// Time of the last change of a file that is all in `head`; `None` if its path has other bytes now, or is changing.
    fn modified_as_read(&self) -> Option<u64> {
        let file = File::open(&self.name).ok()?;
        let stamp = || file.metadata().ok().and_then(|metadata| Some((modified(&metadata)?, metadata.len())));
        let (before, same, after) = (stamp()?, self.begins(&file), stamp()?);
        (same && before == after && before.1 == self.head.len() as u64).then_some(before.0)
    }
}

/// Opens a file. If the process has too many open files, closes descriptors that can be opened again first.
fn open_within_limit(open: impl Fn() -> std::io::Result<File>) -> std::io::Result<File> {
    let too_many = |error: &std::io::Error| error.raw_os_error().is_some_and(|code| code == rustix::io::Errno::MFILE.raw_os_error());
    open().or_else(|error| {
        if !too_many(&error) {
            return Err(error);
        }
        descriptor_pool::park_all();
        open()
    })
}

/// The error for a file whose path leads to other bytes than when it was opened.
fn changed() -> Error {
    Error::new(ErrorKind::Conflict, "the file has changed since it was opened: open it again")
}

/// The error for a file that was removed while it was closed for a time.
fn gone() -> Error {
    let limit = "it was closed to stay below the limit of open files (`ulimit -n`)";
    Error::new(ErrorKind::Conflict, format!("the file was removed or renamed since it was opened, and {limit}: raise the limit, or open fewer files"))
}

/// The error for a path that is not a regular file.
fn other_kind(metadata: std::io::Result<std::fs::Metadata>) -> Option<Error> {
    let kind = metadata.ok()?.file_type();
    let what = match () {
        () if kind.is_dir() => "a folder, not a file: give a file in it, or a pattern such as 'folder/*.h5'",
        () if kind.is_fifo() => "a named pipe, which cannot be read at any offset: write its bytes to a file first",
        () if kind.is_socket() => "a socket, not a file",
        () if kind.is_char_device() || kind.is_block_device() => "a device, not a file",
        () => return None,
    };
    Some(Error::invalid_input(format!("this is {what}")))
}

/// Opens a regular file for reading; a symbolic link, a pipe (opening one would block) and a device are errors.
pub fn open_regular(path: impl AsRef<Path>) -> std::io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path.as_ref(), flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::LOOP) => return Err(std::io::Error::other("this is a symbolic link, which is not followed here")),
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("this is not a regular file"));
    }
    Ok(file)
}

thread_local! {
    /// Buffer for the beginning of a file whose length is not known yet.
    static HEAD: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// How often the beginning of a file is read if it changes meanwhile.
const MAX_TRIES: u32 = 50;

/// The first bytes of a file, all of the same state of the file.
#[derive(Default)]
struct Head {
    bytes: Box<[u8]>,
    /// What its metadata was then.
    metadata: Option<std::fs::Metadata>,
    /// Whether a later change has another time.
    is_settled: bool,
}

/// Reads the beginning of a file.
fn whole_head(file: &File, head_bytes: usize) -> std::io::Result<Head> {
    let mut before = None;
    for _ in 1..MAX_TRIES {
        let begun = std::time::SystemTime::now();
        let bytes = HEAD.with_borrow_mut(|scratch| {
            scratch.resize(head_bytes, 0);
            let there = read_head(file, scratch)?;
            Ok::<_, std::io::Error>(Box::from(scratch.get(..there).unwrap_or_default()))
        })?;
        let metadata = file.metadata()?;
        let was_settled = metadata.modified().is_ok_and(|modified| begun.duration_since(modified).is_ok_and(|since| since > TICK));
        let stamp = LocalStamp::of(&metadata);
        // A file without a modification time, or that is not a regular file, is read as it is.
        if was_settled || stamp.is_none() || before == stamp || !metadata.is_file() {
            let is_settled = was_settled && metadata.is_file();
            return Ok(Head { bytes, metadata: Some(metadata), is_settled });
        }
        before = stamp;
    }
    Err(std::io::Error::other("the file is being written all the time: open it again later"))
}

/// File systems end a short read at a multiple of this number of bytes, unless it reaches the end of the file.
const BLOCK_BYTES: usize = 4 << 10;

/// Fills `head` from the start of a file and returns the number of bytes read. Fewer than asked for that are not a multiple
/// of a block mean the end of the file: asking for more would cost each small file another call.
fn read_head(file: &File, head: &mut [u8]) -> std::io::Result<usize> {
    let mut there = 0;
    while let Some(rest) = head.get_mut(there..).filter(|rest| !rest.is_empty()) {
        match read_at(file, rest, there as u64) {
            Ok(0) => break,
            Ok(count) => there += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if !there.is_multiple_of(BLOCK_BYTES) {
            break;
        }
    }
    Ok(there)
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(not(unix))]
fn read_at(_: &File, _: &mut [u8], _: u64) -> std::io::Result<usize> {
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "positional reads"))
}

impl Storage for LocalFile {
    fn len(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }
    fn modified_nanoseconds(&self) -> Option<u64> {
        *self.modified_nanoseconds.get_or_init(|| self.modified_as_read())
    }
    fn reaches(&self, end: u64) -> bool {
        if end <= self.len() {
            return true;
        }
        let Ok(now) = self.with_file(|file| file.metadata().map_or(0, |metadata| metadata.len())) else { return false };
        self.length.fetch_max(now, Ordering::Relaxed);
        end <= now
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_open(self)?;
        check_range(self, offset, buffer.len())?;
        if let Some(kept) = self.kept(offset, buffer.len()) {
            buffer.copy_from_slice(kept);
            return Ok(());
        }
        self.with_file(|file| {
            self.fill(file, offset, buffer)?;
            self.check_unchanged(file)
        })?
    }
    fn close(&self) {
        self.descriptor.close();
    }
    fn is_closed(&self) -> bool {
        self.descriptor.is_closed()
    }
    fn kept(&self, offset: u64, length: usize) -> Option<&[u8]> {
        if self.is_closed() {
            return None;
        }
        let within = |bytes: &'_ [u8], from: u64| {
            let start = usize::try_from(offset.checked_sub(from)?).ok()?;
            Some(start..start.checked_add(length)?).filter(|range| range.end <= bytes.len())
        };
        if let Some(range) = within(&self.head, 0) {
            return self.head.get(range);
        }
        let (from, tail) = self.tail.get()?;
        tail.get(within(tail, *from)?)
    }
    fn keep(&self, offset: u64) {
        // Nothing is kept of a file that may change, and all of a small one is kept already.
        if self.head.is_empty() || offset < self.head.len() as u64 || self.tail.get().is_some() {
            return;
        }
        let start = offset.saturating_sub(BEFORE_BYTES).max(self.head.len() as u64);
        let Some(length) = self.len().checked_sub(start).and_then(|left| usize::try_from(left.min(TAIL_BYTES)).ok()) else { return };
        let mut bytes = vec![0; length].into_boxed_slice();
        // On failure, the read that needs the bytes reports the error.
        if self.read_exact_at(start, &mut bytes).is_ok() {
            let _ = self.tail.set((start, bytes));
        }
    }
    fn is_unchanged(&self) -> bool {
        let unchanged = |file: &File| self.stamp.is_some() && file.metadata().is_ok_and(|now| LocalStamp::of(&now) == self.stamp && is_settled(&now));
        if self.stamp.is_none() && self.descriptor.is_none() {
            return !self.is_closed(); // all bytes are in `head`
        }
        self.with_file(unchanged).unwrap_or(false)
    }
    fn has_changed(&self) -> bool {
        let changed = |file: &File| file.metadata().is_ok_and(|now| LocalStamp::of(&now) != self.stamp);
        // Without a stamp all bytes are in `head`; without a head it is read while it grows.
        self.stamp.is_some() && !self.head.is_empty() && self.with_file(changed).is_ok_and(|changed| changed)
    }
    fn file_with(&self, offset: u64, length: u64) -> Result<Option<(File, u64)>> {
        check_open(self)?;
        let file = self.with_file(File::try_clone)?;
        let in_file = |error: std::io::Error| Error::from(error).in_file(&self.name);
        let file = file.map_err(in_file)?;
        let there = file.metadata().map_err(in_file)?.len();
        if offset.checked_add(length).is_none_or(|end| end > there) {
            let ends = format!("{length} bytes are needed here but the file ends at byte {there} now");
            return Err(Error::corrupt(ends).in_file(&self.name).at_offset(offset));
        }
        Ok(Some((file, offset)))
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn beside(&self, name: &str) -> Result<Arc<dyn Storage>> {
        let mut parts = Path::new(name).components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
            return Err(Error::invalid_input(format!("{name:?} is not a name of a file beside this one")).in_file(&self.name));
        }
        // Values, which their writer may still add to.
        let path = Path::new(&self.name).with_file_name(name);
        Ok(Arc::new(Self::open_as(&path, Opening::Growing, path.parent())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small file, whose bytes are all kept, and its path.
    fn small(bytes: &[u8], name: &str) -> Result<(std::path::PathBuf, LocalFile)> {
        let path = std::env::temp_dir().join(format!("hyperslab-local-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes)?;
        let file = LocalFile::open(&path)?;
        Ok((path, file))
    }

    #[test]
    fn a_small_file_knows_when_it_was_changed_as_long_as_its_bytes_are_there() -> Result<()> {
        let (path, file) = small(b"0123", "same")?;
        let expected = modified(&std::fs::metadata(&path)?);
        assert!(expected.is_some());
        assert_eq!(file.modified_nanoseconds(), expected);
        std::fs::remove_file(&path)?;
        assert_eq!(file.modified_nanoseconds(), expected, "asked once");
        Ok(())
    }

    #[test]
    fn a_file_is_unchanged_until_it_is_written_and_not_in_the_tick_of_its_last_change() -> Result<()> {
        let (path, file) = small(&[7; HEAD_BYTES + 1], "unchanged")?;
        let long_ago = std::time::SystemTime::now() - 2 * TICK;
        let set = |when| File::options().write(true).open(&path).and_then(|file| file.set_modified(when));
        assert!(!file.is_unchanged(), "it was written a moment ago");
        set(long_ago)?;
        let file = LocalFile::open(&path)?;
        assert!(file.is_unchanged());
        std::os::unix::fs::FileExt::write_all_at(&File::options().write(true).open(&path)?, &[8], 5)?;
        assert!(!file.is_unchanged(), "one byte differs");
        set(long_ago)?;
        assert!(file.is_unchanged());
        File::options().append(true).open(&path).and_then(|mut file| std::io::Write::write_all(&mut file, &[9]))?;
        set(long_ago)?;
        assert!(!file.is_unchanged(), "it has grown");
        std::fs::remove_file(&path)?;
        Ok(())
    }

    #[test]
    fn nobody_knows_when_a_small_file_was_changed_that_has_other_bytes_now() -> Result<()> {
        for (name, now) in [("other", b"0124".as_slice()), ("longer", b"01234"), ("shorter", b"012")] {
            let (path, file) = small(b"0123", name)?;
            std::fs::write(&path, now)?;
            assert_eq!(file.modified_nanoseconds(), None, "{name}");
            std::fs::remove_file(&path)?;
        }
        Ok(())
    }

    #[test]
    fn a_parked_file_is_opened_again_if_it_is_the_same() -> Result<()> {
        let path = std::env::temp_dir().join(format!("hyperslab-local-{}-parked", std::process::id()));
        let write = |value: u8| std::fs::write(&path, vec![value; 3 * HEAD_BYTES]);
        let far = 2 * HEAD_BYTES as u64;
        let read = |file: &LocalFile| {
            let mut byte = [0];
            file.read_exact_at(far, &mut byte).map(|()| byte[0]).map_err(|error| error.kind())
        };
        write(1)?;
        let file = LocalFile::open(&path)?;
        assert!(file.descriptor.park());
        assert_eq!(read(&file), Ok(1));
        assert!(!file.descriptor.is_none(), "open again");

        // Replaced: what is open is the old file, but it cannot be opened again.
        let other = path.with_extension("other");
        std::fs::write(&other, vec![2; 3 * HEAD_BYTES])?;
        std::fs::rename(&other, &path)?;
        assert_eq!(read(&file), Ok(1));
        assert!(file.descriptor.park());
        assert_eq!(read(&file), Err(ErrorKind::Conflict));
        assert!(!file.is_unchanged());

        let file = LocalFile::open(&path)?;
        assert!(file.descriptor.park());
        std::fs::remove_file(&path)?;
        assert_eq!(read(&file), Err(ErrorKind::Conflict), "removed");
        write(3)?;
        assert_eq!(read(&file), Err(ErrorKind::Conflict), "rewritten");
        file.close();
        assert_eq!(read(&file), Err(ErrorKind::InvalidInput));
        std::fs::remove_file(&path)?;
        Ok(())
    }
}
