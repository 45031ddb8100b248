//! The one-file form of a container: an Arrow file with one row (name, content) for each file that the folder form has.
//! Each content begins at a multiple of 64 bytes, so that the Arrow files can be memory-mapped in place.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_ipc::FieldNode;
use arrow_schema::{DataType, Field, Schema};
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use super::ipc::{self, ALIGNMENT, Frame, Parts, Source};
use super::piece::Piece;
use crate::error::{Error, Result, error};
use crate::files::regular::open_named;

/// The format version. Other versions are refused.
const VERSION: &str = "1";
/// Offset of the record batch's body, in bytes: at or before the first row's content.
pub(super) const HEAD: u64 = 4096;
/// Offset of the mark, in bytes: one of the offsets at which HDF5 looks for its signature, unused by Arrow's messages.
pub const MARK_AT: u64 = 2048;
/// HDF5's signature, for programs that look for it before they call the library; then a superblock version that does not
/// exist, so that HDF5 without the connector refuses the file; then a note for anyone who inspects the bytes.
const MARK: &[u8] = b"\x89HDF\r\n\x1a\n\xff\nAn Arrow file that holds an HDF5 file: open it with HDF5_VOL_CONNECTOR=arrow and the connector of Hyperslab.\n";
/// Length of the mark, in bytes.
pub const MARK_BYTES: usize = MARK.len();
/// Bytes of small files that are written together.
const PENDING_BYTES: usize = 128 << 10;
/// Maximum number of rows; more mean that the file is damaged.
const MAX_ROWS: u64 = 1 << 24;

/// An archive that is open for reading.
#[derive(Debug)]
pub(crate) struct Archive {
    file: Arc<File>,
    /// Offset and length of each file's bytes, by name.
    members: BTreeMap<String, (u64, u64)>,
}

/// A file with the first files of an archive, which can be completed to an archive.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) file: Arc<File>,
    pub(crate) path: PathBuf,
    /// Offset of the first of its files.
    pub(crate) start: u64,
    /// The name of each of its files, and where it ends. The next one begins there.
    pub(crate) members: Vec<(String, u64)>,
}

fn schema() -> Schema {
    let fields = vec![Field::new("name", DataType::LargeUtf8, false), Field::new("content", DataType::LargeBinary, false)];
    Schema::new(fields).with_metadata(HashMap::from([("hyperslab.archive".to_owned(), VERSION.to_owned())]))
}

impl Archive {
    /// Whether a file has the mark of an archive.
    pub(crate) fn is_claimed(path: &Path) -> bool {
        let mut mark = vec![0; MARK.len()];
        open_named(path).and_then(|file| file.read_exact_at(&mut mark, MARK_AT)).is_ok() && mark == MARK
    }

    /// Opens an archive and checks its table of files; nothing in the file is trusted.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::read(open_named(path)?).map_err(|error| error!("{}: {}", path.display(), error.message).with_source(error))
    }

    /// Number of files.
    pub(crate) fn count(&self) -> usize {
        self.members.len()
    }

    /// Whether it has a file of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// As [`Archive::open`], without the path in errors.
    pub(crate) fn read(file: File) -> Result<Self> {
        let read = |offset: u64, bytes: usize| {
            let mut out = vec![0; bytes];
            file.read_exact_at(&mut out, offset)?;
            Ok(out)
        };
        let members = members(&read, file.metadata()?.len())?;
        Ok(Self { file: Arc::new(file), members })
    }

    /// The names of its files.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    /// The bytes of the file of this name.
    pub(crate) fn piece(&self, name: &str) -> Result<Option<Piece>> {
        let Some((start, bytes)) = self.members.get(name) else { return Ok(None) };
        Ok(Some(Piece::part(Arc::clone(&self.file), *start, *bytes)))
    }

    /// Writes an archive of the files of these names, which `open` opens, to the temporary path `aside`. One file is open at a time.
    pub(crate) fn write(aside: &Path, names: &BTreeSet<String>, open: impl Fn(&str) -> Result<Piece>, sync: bool) -> Result<Self> {
        let mut writer = Writer::new(aside)?;
        for name in names {
            let added = open(name).and_then(|piece| writer.append(name, &piece));
            added.map_err(|error| error!("{name}: {}", error.message).with_source(error))?;
        }
        writer.finish(true, sync)
    }

    /// Completes a file that has the first of the files of these names already; `open` opens the others.
    pub(crate) fn complete(sealed: Sealed, names: &BTreeSet<String>, open: impl Fn(&str) -> Result<Piece>, sync: bool) -> Result<Self> {
        let present: BTreeSet<&str> = sealed.members.iter().map(|(name, _)| name.as_str()).collect();
        let missing: Vec<&String> = names.iter().filter(|name| !present.contains(name.as_str())).collect();
        let mut writer = Writer::after(&sealed)?;
        for name in missing {
            let added = open(name).and_then(|piece| writer.append(name, &piece));
            added.map_err(|error| error!("{name}: {}", error.message).with_source(error))?;
        }
        writer.finish(true, sync)
    }
}

/// Writes an archive file by file.
#[derive(Debug)]
pub(crate) struct Writer {
    file: File,
    /// Bytes that are written together with those that follow, and where they end.
    pending: Vec<u8>,
    at: u64,
    /// Offset of the first row's content.
    first: u64,
    ends: Vec<u64>,
    names: String,
    name_ends: Vec<u64>,
}

impl Writer {
    /// Writes to a new file at the temporary path `aside`.
    pub(crate) fn new(aside: &Path) -> Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(aside)?;
        Ok(Self { file, pending: Vec::new(), at: HEAD, first: HEAD, ends: vec![0], names: String::new(), name_ends: vec![0] })
    }

    /// Writes after the files that a sealed one has already.
    fn after(sealed: &Sealed) -> Result<Self> {
        let file = sealed.file.try_clone()?;
        let mut writer = Self { file, pending: Vec::new(), at: sealed.start, first: sealed.start, ends: vec![0], names: String::new(), name_ends: vec![0] };
        for (name, end) in &sealed.members {
            writer.at = *end;
            writer.added(name);
        }
        Ok(writer)
    }

    /// Number of files so far.
    pub(crate) fn count(&self) -> usize {
        self.ends.len() - 1
    }

    /// Adds an Arrow file whose length is a multiple of 64.
    pub(crate) fn add(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.pending.extend_from_slice(bytes);
        self.at += bytes.len() as u64;
        if self.pending.len() >= PENDING_BYTES {
            self.write_pending()?;
        }
        self.added(name);
        Ok(())
    }

    /// Adds an Arrow file of any length.
    pub(crate) fn append(&mut self, name: &str, piece: &Piece) -> Result<()> {
        if piece.bytes <= PENDING_BYTES as u64 {
            let mut bytes = vec![0; piece.bytes as usize];
            piece.file.read_exact_at(&mut bytes, piece.start)?;
            let body = body_of(piece.bytes, *bytes.last_chunk().ok_or_else(not_arrow)?)?;
            let whole = piece.bytes.next_multiple_of(ALIGNMENT);
            bytes.splice(body as usize..body as usize, std::iter::repeat_n(0, (whole - piece.bytes) as usize));
            return self.add(name, &bytes);
        }
        self.write_pending()?;
        self.at = append(&self.file, self.at, piece)?;
        self.added(name);
        Ok(())
    }

    fn added(&mut self, name: &str) {
        self.ends.push(self.at - self.first);
        self.names.push_str(name);
        self.name_ends.push(self.names.len() as u64);
    }

    fn write_pending(&mut self) -> Result<()> {
        self.file.write_all_at(&self.pending, self.at - self.pending.len() as u64)?;
        self.pending.clear();
        Ok(())
    }

    /// Writes the table of the files. `marked`: the archive is a container.
    pub(crate) fn finish(mut self, marked: bool, sync: bool) -> Result<Archive> {
        self.write_pending()?;
        let words = |all: Vec<u64>| Source::Bytes(Buffer::from_vec(all));
        let rows = self.count();
        let buffers = vec![
            Source::Empty,
            words(self.name_ends),
            Source::Bytes(Buffer::from_vec(self.names.into_bytes())),
            Source::Empty,
            words(self.ends),
            Source::Region { offset: self.first, bytes: self.at - self.first },
        ];
        let parts = Parts { nodes: vec![FieldNode::new(rows as i64, 0); 2], buffers };
        let length = ipc::finish(&self.file, &[Frame { body: HEAD, values_end: self.at, rows: rows as u64, parts }], &schema())?;
        self.file.set_len(length)?;
        if marked {
            self.file.write_all_at(MARK, MARK_AT)?;
        }
        if sync {
            self.file.sync_all()?;
        }
        Archive::read(self.file)
    }
}

/// Whether the [`MARK_BYTES`] bytes at [`MARK_AT`] are the mark of an archive.
pub fn is_mark(bytes: &[u8]) -> bool {
    bytes == MARK
}

/// Offset and length of each file in an archive of `length` bytes, by name. Nothing in it is trusted.
///
/// # Errors
/// That of `read`, or if the table of files is damaged.
pub fn members(read: ipc::ReadBytes<'_>, length: u64) -> Result<BTreeMap<String, (u64, u64)>> {
    let found = ipc::find_with(read, 0, length)?;
    let version = found.schema.metadata().get("hyperslab.archive");
    if version.is_none_or(|version| version != VERSION) {
        return Err(error!("version {version:?} of the one-file form is unknown; version {VERSION} can be read"));
    }
    let damaged = || error!("its table of files is damaged");
    // The buffers of both columns: validity, offsets, values.
    let [batch] = found.batches.as_slice() else { return Err(damaged()) };
    let &[_, name_ends, names, _, ends, content] = batch.buffers.as_slice() else { return Err(damaged()) };
    if batch.rows > MAX_ROWS || batch.compressed {
        return Err(damaged());
    }
    let offsets = |(at, bytes): (u64, u64), max: u64| -> Result<Vec<u64>> {
        let wanted = (batch.rows + 1) * 8;
        if bytes < wanted {
            return Err(damaged());
        }
        let raw = read(at, usize::try_from(wanted).map_err(|_| damaged())?)?;
        let all: Vec<u64> = raw.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let rising = all.is_sorted() && all.last().is_none_or(|last| *last <= max);
        if rising { Ok(all) } else { Err(damaged()) }
    };
    let (name_ends, ends) = (offsets(name_ends, names.1)?, offsets(ends, content.1)?);
    let text = read(names.0, usize::try_from(names.1).ok().filter(|bytes| *bytes < 1 << 32).ok_or_else(damaged)?)?;
    let mut members = BTreeMap::new();
    for (name, place) in name_ends.windows(2).zip(ends.windows(2)) {
        let (&[from, to], &[start, end]) = (name, place) else { continue };
        let name = text.get(from as usize..to as usize).and_then(|bytes| std::str::from_utf8(bytes).ok()).ok_or_else(damaged)?;
        members.insert(name.to_owned(), (content.0 + start, end - start));
    }
    Ok(members)
}

fn not_arrow() -> Error {
    error!("it is not an Arrow file")
}

/// Where the footer of an Arrow file of this length begins. `tail` is its last ten bytes.
fn body_of(bytes: u64, tail: [u8; 10]) -> Result<u64> {
    let footer = arrow_ipc::reader::read_footer_length(tail)? as u64 + 10;
    bytes.checked_sub(footer).ok_or_else(not_arrow)
}

/// Appends an Arrow file at offset `at`, a multiple of 64, and returns its end, again a multiple of 64: zeros are inserted
/// before its footer, which readers find from the end of the file.
fn append(to: &File, at: u64, piece: &Piece) -> Result<u64> {
    let mut tail = [0; 10];
    piece.file.read_exact_at(&mut tail, piece.start + piece.bytes.checked_sub(10).ok_or_else(not_arrow)?)?;
    let body = body_of(piece.bytes, tail)?;
    let (footer, whole) = (piece.bytes - body, piece.bytes.next_multiple_of(ALIGNMENT));
    copy_bytes(&piece.file, piece.start, to, at, body)?;
    copy_bytes(&piece.file, piece.start + body, to, at + whole - footer, footer)?;
    Ok(at + whole)
}

/// Makes the Arrow file of `bytes` bytes at `start` longer, in place: its footer is written again at its new end.
pub(super) fn move_footer(file: &File, start: u64, bytes: u64, longer: u64) -> Result<()> {
    let mut tail = [0; 10];
    file.read_exact_at(&mut tail, start + bytes.checked_sub(10).ok_or_else(not_arrow)?)?;
    let body = body_of(bytes, tail)?;
    let mut footer = vec![0; usize::try_from(bytes - body).map_err(|_| not_arrow())?];
    file.read_exact_at(&mut footer, start + body)?;
    Ok(file.write_all_at(&footer, start + longer - footer.len() as u64)?)
}

/// Copies a range of bytes between files, in the kernel if possible.
fn copy_bytes(from: &File, start: u64, to: &File, place: u64, bytes: u64) -> Result<()> {
    let mut done = 0;
    loop {
        // Holes (values that were never written) stay holes. `seek` moves the file's cursor, which nothing else uses.
        match seek(from, SeekFrom::Data(start + done)) {
            Ok(data) => done = done.max(data.saturating_sub(start)),
            Err(Errno::NXIO) => return Ok(()),
            // The file system does not report holes.
            Err(_) => {}
        }
        if done >= bytes {
            return Ok(());
        }
        let (source, target) = (start + done, place + done);
        let whole = seek(from, SeekFrom::Hole(source)).map_or(bytes, |hole| hole.saturating_sub(start).clamp(done + 1, bytes));
        let max = usize::try_from(whole - done).unwrap_or(usize::MAX).min(1 << 30);
        match copied_by_kernel(from, source, to, target, max) {
            copied if copied > 0 => done += copied,
            _ => {
                let mut block = vec![0; max.min(4 << 20)];
                from.read_exact_at(&mut block, source)?;
                to.write_all_at(&block, target)?;
                done += block.len() as u64;
            }
        }
    }
}

/// How many of `bytes` the kernel copied: none if it does not copy on or between these file systems.
#[cfg(target_os = "linux")]
fn copied_by_kernel(from: &File, mut source: u64, to: &File, mut target: u64, bytes: usize) -> u64 {
    rustix::fs::copy_file_range(from, Some(&mut source), to, Some(&mut target), bytes).map_or(0, |copied| copied as u64)
}

#[cfg(not(target_os = "linux"))]
fn copied_by_kernel(_: &File, _: u64, _: &File, _: u64, _: usize) -> u64 {
    0
}
