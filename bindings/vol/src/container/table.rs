//! The values of a dataset: a store for each Arrow buffer, in memory while small, else in their final places in
//! the Arrow file that will be published, written and read by position.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray};
use arrow_buffer::Buffer;
use arrow_ipc::reader::FileReader;
use arrow_schema::{DataType, Field, Schema};

use super::blob::Arena;
use super::fault::{Result, fault};
use super::folder::Folder;
use super::ipc::{self, ALIGNMENT, Parts, Source};
use super::kind::{Column, Kind, Leaf, columns, list_of};
use super::shape::{Space, common_runs};
use super::values;

/// Values up to this many bytes stay in memory until they are published.
const IN_MEMORY_BYTES: u64 = 256 << 10;
/// How many elements are taken apart at a time: their bytes stay in the processor's cache.
const BLOCK_ELEMENTS: usize = 16 << 10;
/// How many of them go leaf by leaf: those bytes stay in its nearest cache.
const NEAR_ELEMENTS: usize = 512;

#[derive(Debug)]
enum Store {
    Memory(Vec<u8>),
    File { offset: u64 },
}

/// Where the bytes of a leaf lie in an element in somebody's memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// Which leaf, counted over the columns.
    pub(crate) leaf: usize,
    /// Where it begins in the element, in bytes.
    pub(crate) at: usize,
}

/// What a table's file is for.
#[derive(Debug)]
enum Backing {
    None,
    /// Written by us under a name aside; not yet seen by anybody.
    Aside(PathBuf, File),
    /// Published: never changed again.
    Published(File),
}

impl Backing {
    fn file(&self) -> Result<&File> {
        match self {
            Self::Aside(_, file) | Self::Published(file) => Ok(file),
            Self::None => Err(fault!("values without a file")),
        }
    }
}

/// The values of one dataset.
pub(crate) struct Table {
    kind: Kind,
    columns: Vec<Column>,
    leaves: Vec<Leaf>,
    stores: Vec<Store>,
    count: u64,
    capacity: u64,
    /// Elements below this one may hold what was written; those above hold zeros.
    touched: u64,
    head: u64,
    values_end: u64,
    backing: Backing,
    folder: PathBuf,
    /// One element in its form in the file; empty: zeros.
    fill: Vec<u8>,
    /// Keeps what blob names point at.
    arenas: Vec<Arc<Arena>>,
    pub(crate) changed: bool,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("count", &self.count).field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

/// How elements become rows: (rows, elements of a row).
pub(crate) fn rows_of(kind: &Kind, space: &Space) -> (u64, u64) {
    let count = space.count().unwrap_or(0);
    match (kind, space.shape()) {
        (Kind::Compound { .. }, _) | (_, [] | [_]) => (count, 1),
        (_, [first, rest @ ..]) => match rest.iter().try_fold(1u64, |product, n| product.checked_mul(*n)) {
            Some(inner) if inner > 0 && i32::try_from(inner).is_ok() => (*first, inner),
            _ => (count, 1),
        },
    }
}

/// The schema of a dataset's file.
pub(crate) fn schema_of(columns: &[Column], types: &[DataType], kind: &Kind, space: &Space) -> Schema {
    let (_, inner) = rows_of(kind, space);
    let listed = !matches!(kind, Kind::Compound { .. }) && space.shape().len() > 1 && rows_of(kind, space) != (space.count().unwrap_or(0), 1);
    let fields: Vec<Field> = columns
        .iter()
        .zip(types)
        .map(|(column, data_type)| {
            if !(listed || inner > 1) {
                return Field::new(&column.name, data_type.clone(), true);
            }
            let field = Field::new(&column.name, list_of(inner, data_type.clone()), true);
            if matches!(column.kind, Kind::Integer { .. } | Kind::Float { .. }) {
                let shape = space.shape().get(1..).unwrap_or_default().iter().map(u64::to_string).collect::<Vec<_>>().join(",");
                let extension = [
                    ("ARROW:extension:name".to_owned(), "arrow.fixed_shape_tensor".to_owned()),
                    ("ARROW:extension:metadata".to_owned(), format!("{{\"shape\":[{shape}]}}")),
                ];
                return field.with_metadata(std::collections::HashMap::from(extension));
            }
            field
        })
        .collect();
    let shape = space.shape().iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    Schema::new(fields).with_metadata(std::collections::HashMap::from([("hyperslab.shape".to_owned(), format!("[{shape}]"))]))
}

impl Table {
    /// A new table of `count` elements that hold `fill` (one element in its form in the file; empty: zeros).
    pub(crate) fn create(kind: &Kind, space: &Space, folder: &Path, fill: Vec<u8>) -> Result<Self> {
        let count = space.count().ok_or_else(|| fault!("more elements than can be counted"))?;
        let columns = columns(kind);
        let leaves: Vec<Leaf> = columns.iter().flat_map(|column| column.leaves.clone()).collect();
        let mut table = Self {
            kind: kind.clone(),
            stores: leaves.iter().map(|_| Store::Memory(Vec::new())).collect(),
            columns,
            leaves,
            count: 0,
            capacity: 0,
            touched: 0,
            head: 0,
            values_end: 0,
            backing: Backing::None,
            folder: folder.to_path_buf(),
            fill,
            arenas: Vec::new(),
            changed: true,
        };
        table.reserve(count, count, space)?;
        table.count = count;
        table.fill_elements(0, count)?;
        Ok(table)
    }

    /// Keeps blobs that the values name.
    pub(crate) fn keep(&mut self, arena: &Arc<Arena>) {
        self.arenas.push(Arc::clone(arena));
    }

    /// Whether a file is open for the values.
    pub(crate) fn in_file(&self) -> bool {
        !matches!(self.backing, Backing::None)
    }

    fn bytes_for(&self, elements: u64) -> Result<u64> {
        let element: u64 = self.leaves.iter().map(|leaf| leaf.bytes as u64).sum();
        element.checked_mul(elements).filter(|bytes| *bytes < 1 << 50).ok_or_else(|| fault!("{elements} elements are more than a file can hold"))
    }

    fn aside(folder: &Path) -> Result<(PathBuf, File)> {
        let path = folder.join(format!(".{}.part", super::unique_name()));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).map_err(|error| fault!("cannot write in {}: {error}", folder.display()))?;
        Ok((path, file))
    }

    /// Makes place for `elements`, and a file when they are many; what is there stays.
    fn reserve(&mut self, elements: u64, capacity: u64, space: &Space) -> Result<()> {
        let total = self.bytes_for(elements)?;
        if total <= IN_MEMORY_BYTES && matches!(self.backing, Backing::None) || self.columns.iter().all(|column| !column.direct) {
            for (leaf, store) in self.leaves.iter().zip(&mut self.stores) {
                if let Store::Memory(bytes) = store {
                    let length = usize::try_from(elements).ok().and_then(|n| n.checked_mul(leaf.bytes)).ok_or_else(|| fault!("{elements} elements are more than memory can hold"))?;
                    bytes.try_reserve(length.saturating_sub(bytes.len())).map_err(|_| fault!("no memory for {length} bytes"))?;
                    bytes.resize(length.max(bytes.len()), 0);
                }
            }
            self.capacity = elements;
            return Ok(());
        }
        self.bytes_for(capacity)?;
        let types: Vec<DataType> = self.columns.iter().map(|column| column.kind.data_type()).collect();
        let head = ipc::head_bytes(&schema_of(&self.columns, &types, &self.kind, space));
        let (path, file) = Self::aside(&self.folder)?;
        let mut end = head;
        let mut stores = Vec::with_capacity(self.leaves.len());
        let mut index = 0;
        for column in &self.columns {
            for leaf in &column.leaves {
                if column.direct {
                    stores.push(Store::File { offset: end });
                    end = (end + leaf.bytes as u64 * capacity).next_multiple_of(if capacity > 65536 { 4096 } else { ALIGNMENT });
                } else {
                    let mut bytes = match &mut self.stores[index] {
                        Store::Memory(bytes) => std::mem::take(bytes),
                        Store::File { .. } => Vec::new(),
                    };
                    bytes.resize(leaf.bytes * elements as usize, 0);
                    stores.push(Store::Memory(bytes));
                }
                index += 1;
            }
        }
        file.set_len(end)?;
        let kept = self.count.min(elements);
        for ((leaf, old), new) in self.leaves.iter().zip(&self.stores).zip(&stores) {
            let Store::File { offset: to } = new else { continue };
            match old {
                Store::Memory(bytes) => file.write_all_at(bytes.get(..kept as usize * leaf.bytes).unwrap_or(bytes), *to)?,
                Store::File { offset } => copy_range(self.backing.file()?, *offset, &file, *to, kept * leaf.bytes as u64)?,
            }
        }
        self.release();
        (self.stores, self.backing, self.head, self.values_end, self.capacity) = (stores, Backing::Aside(path, file), head, end, capacity);
        self.touched = kept;
        Ok(())
    }

    fn release(&mut self) {
        if let Backing::Aside(path, _) = std::mem::replace(&mut self.backing, Backing::None) {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Fills elements that were never written, or were cut off before.
    fn fill_elements(&mut self, from: u64, to: u64) -> Result<()> {
        if from >= to {
            return Ok(());
        }
        let zeros = self.fill.iter().all(|byte| *byte == 0);
        let to = if zeros { to.min(self.touched) } else { to };
        let width = self.kind.bytes();
        let element = if zeros { vec![0; width] } else { self.fill.clone() };
        let parts: Vec<Part> = self.leaves.iter().enumerate().map(|(leaf, l)| Part { leaf, at: l.offset }).collect();
        let block = BLOCK_ELEMENTS.min(usize::try_from(to.saturating_sub(from)).unwrap_or(BLOCK_ELEMENTS));
        let many: Vec<u8> = element.iter().copied().cycle().take(width * block).collect();
        let mut at = from;
        while at < to {
            let now = (to - at).min(block as u64);
            self.write(&parts, at, now as usize, &many, width)?;
            at += now;
        }
        Ok(())
    }

    /// Makes a published table one that can be written again.
    fn own(&mut self, space_rows: Option<&Space>) -> Result<()> {
        if let Backing::Published(_) = self.backing {
            let space = Space::Simple { shape: vec![self.count], max_shape: vec![self.count] };
            self.reserve(self.count, self.count, space_rows.unwrap_or(&space))?;
        }
        self.changed = true;
        Ok(())
    }

    /// Changes the shape; elements keep their coordinates.
    pub(crate) fn resize(&mut self, from: &Space, to: &Space) -> Result<()> {
        let count = to.count().ok_or_else(|| fault!("more elements than can be counted"))?;
        self.own(None)?;
        if from.shape().get(1..) == to.shape().get(1..) {
            if count > self.capacity {
                let capacity = count.max(self.capacity.saturating_mul(2)).min(count.saturating_add(1 << 40));
                self.reserve(count, capacity, to)?;
            }
            let old = std::mem::replace(&mut self.count, count);
            for (leaf, store) in self.leaves.iter().zip(&mut self.stores) {
                if let Store::Memory(bytes) = store {
                    bytes.resize(leaf.bytes * count.max(old.min(count)) as usize, 0);
                }
            }
            if matches!(self.backing, Backing::None) {
                self.capacity = count;
                self.touched = self.touched.min(count);
            }
            return self.fill_elements(old, count);
        }
        let mut next = Self::create(&self.kind, to, &self.folder, self.fill.clone())?;
        let parts: Vec<Part> = self.leaves.iter().enumerate().map(|(leaf, l)| Part { leaf, at: l.offset }).collect();
        let width = self.kind.bytes();
        let mut outcome = Ok(());
        common_runs(from.shape(), to.shape(), |a, b, run| {
            if outcome.is_ok() {
                let mut bytes = vec![0; width * run as usize];
                outcome = self.read(&parts, a, run as usize, &mut bytes, width).and_then(|()| next.write(&parts, b, run as usize, &bytes, width));
            }
        });
        outcome?;
        next.arenas = std::mem::take(&mut self.arenas);
        *self = next;
        Ok(())
    }

    fn check(&self, start: u64, count: usize) -> Result<()> {
        match start.checked_add(count as u64) {
            Some(end) if end <= self.count => Ok(()),
            _ => Err(fault!("elements {start} to {} of {}", start.saturating_add(count as u64), self.count)),
        }
    }

    /// Takes `count` elements from `source`, one every `stride` bytes, into the leaves from element `start` on.
    pub(crate) fn write(&mut self, parts: &[Part], start: u64, count: usize, source: &[u8], stride: usize) -> Result<()> {
        self.check(start, count)?;
        self.own(None)?;
        self.touched = self.touched.max(start + count as u64);
        let Self { stores, leaves, backing, .. } = self;
        let mut scratches = vec![Vec::new(); parts.len()];
        for first in (0..count).step_by(BLOCK_ELEMENTS.max(1)) {
            let whole = parts.len() == 1 && parts.iter().all(|p| leaves[p.leaf].bytes == stride && leaves[p.leaf].swap_bytes == 1);
            let now = if whole { count } else { BLOCK_ELEMENTS.min(count - first) };
            let strided = |part: &Part, stores: &[Store]| matches!(stores[part.leaf], Store::File { .. }) && (leaves[part.leaf].bytes != stride || leaves[part.leaf].swap_bytes != 1);
            for (part, scratch) in parts.iter().zip(&mut scratches).filter(|(part, _)| strided(part, stores)) {
                scratch.resize(now * leaves[part.leaf].bytes, 0);
            }
            for near in (0..now).step_by(NEAR_ELEMENTS) {
                for (part, scratch) in parts.iter().zip(&mut scratches).filter(|(part, _)| strided(part, stores)) {
                    let width = leaves[part.leaf].bytes;
                    let from = source.get((first + near) * stride + part.at..).ok_or_else(|| fault!("the memory ends early"))?;
                    gather(from, stride, width, &mut scratch[near * width..now.min(near + NEAR_ELEMENTS) * width])?;
                }
            }
            for (part, scratch) in parts.iter().zip(&mut scratches) {
                let leaf = &leaves[part.leaf];
                let bytes = now * leaf.bytes;
                let from = source.get(first * stride + part.at..).ok_or_else(|| fault!("the memory ends early"))?;
                let place = (start as usize + first) * leaf.bytes;
                let contiguous = leaf.bytes == stride && leaf.swap_bytes == 1;
                match &mut stores[part.leaf] {
                    Store::Memory(all) => {
                        let to = all.get_mut(place..place + bytes).ok_or_else(|| fault!("values beyond the table"))?;
                        gather(from, stride, leaf.bytes, to)?;
                        values::swap(to, leaf.swap_bytes);
                    }
                    Store::File { offset } => {
                        let at = *offset + place as u64;
                        if contiguous {
                            backing.file()?.write_all_at(from.get(..bytes).ok_or_else(|| fault!("the memory ends early"))?, at)?;
                        } else {
                            values::swap(scratch, leaf.swap_bytes);
                            backing.file()?.write_all_at(scratch, at)?;
                        }
                    }
                }
            }
            if whole {
                break;
            }
        }
        Ok(())
    }

    /// Gives `count` elements from element `start` on, one every `stride` bytes of `target`.
    pub(crate) fn read(&self, parts: &[Part], start: u64, count: usize, target: &mut [u8], stride: usize) -> Result<()> {
        self.check(start, count)?;
        let mut scratches = vec![Vec::new(); parts.len()];
        let whole = parts.len() == 1 && parts.iter().all(|p| self.leaves[p.leaf].bytes == stride && self.leaves[p.leaf].swap_bytes == 1);
        for first in (0..count).step_by(BLOCK_ELEMENTS) {
            let now = if whole { count } else { BLOCK_ELEMENTS.min(count - first) };
            for (part, scratch) in parts.iter().zip(&mut scratches) {
                let leaf = &self.leaves[part.leaf];
                let bytes = now * leaf.bytes;
                let to = target.get_mut(first * stride + part.at..).ok_or_else(|| fault!("the memory ends early"))?;
                let place = (start as usize + first) * leaf.bytes;
                match &self.stores[part.leaf] {
                    Store::Memory(all) => {
                        let from = all.get(place..place + bytes).ok_or_else(|| fault!("values beyond the table"))?;
                        scatter(from, stride, leaf, to)?;
                    }
                    Store::File { offset } => {
                        let at = *offset + place as u64;
                        if leaf.bytes == stride && leaf.swap_bytes == 1 {
                            self.backing.file()?.read_exact_at(to.get_mut(..bytes).ok_or_else(|| fault!("the memory ends early"))?, at)?;
                        } else {
                            scratch.resize(bytes, 0);
                            self.backing.file()?.read_exact_at(scratch, at)?;
                        }
                    }
                }
            }
            for near in (0..now).step_by(NEAR_ELEMENTS) {
                for (part, scratch) in parts.iter().zip(&scratches) {
                    let leaf = &self.leaves[part.leaf];
                    if !matches!(self.stores[part.leaf], Store::File { .. }) || (leaf.bytes == stride && leaf.swap_bytes == 1) {
                        continue;
                    }
                    let to = target.get_mut((first + near) * stride + part.at..).ok_or_else(|| fault!("the memory ends early"))?;
                    scatter(&scratch[near * leaf.bytes..now.min(near + NEAR_ELEMENTS) * leaf.bytes], stride, leaf, to)?;
                }
            }
            if whole {
                break;
            }
        }
        Ok(())
    }

    /// All elements in their form in the file, side by side.
    #[cfg(test)]
    pub(crate) fn records(&self) -> Result<Vec<u8>> {
        let width = self.kind.bytes();
        let mut out = vec![0; width * self.count as usize];
        let parts: Vec<Part> = self.leaves.iter().enumerate().map(|(leaf, l)| Part { leaf, at: l.offset }).collect();
        self.read(&parts, 0, self.count as usize, &mut out, width)?;
        Ok(out)
    }

    /// A table of its own with the same values.
    pub(crate) fn duplicate(&self, space: &Space, folder: &Path) -> Result<Self> {
        let mut copy = Self::create(&self.kind, space, folder, self.fill.clone())?;
        let parts: Vec<Part> = self.leaves.iter().enumerate().map(|(leaf, l)| Part { leaf, at: l.offset }).collect();
        let width = self.kind.bytes();
        let block = BLOCK_ELEMENTS * 4;
        let mut bytes = vec![0; width * block.min(self.count as usize)];
        let mut at = 0;
        while at < self.count {
            let now = (self.count - at).min(block as u64) as usize;
            self.read(&parts, at, now, &mut bytes, width)?;
            copy.write(&parts, at, now, &bytes, width)?;
            at += now as u64;
        }
        copy.arenas.clone_from(&self.arenas);
        Ok(copy)
    }

    fn parts(&self, rows: u64, inner: u64, types: &mut Vec<DataType>, listed: bool) -> Result<Parts> {
        let mut parts = Parts::default();
        let mut index = 0;
        for column in &self.columns {
            if listed {
                parts.node(rows);
            }
            if column.direct {
                types.push(column.kind.data_type());
                let mut leaf = index;
                self.direct_nodes(&column.kind, rows * inner, &mut leaf, &mut parts);
            } else {
                let Store::Memory(bytes) = &self.stores[index] else { return Err(fault!("values of variable length in a file")) };
                let array = values::to_arrow(&column.kind, bytes, column.kind.bytes(), self.count as usize)?;
                types.push(array.data_type().clone());
                parts.array(&array.to_data());
            }
            index += column.leaves.len();
        }
        Ok(parts)
    }

    fn direct_nodes(&self, kind: &Kind, length: u64, leaf: &mut usize, parts: &mut Parts) {
        parts.node(length);
        match kind {
            Kind::Compound { members, .. } => members.iter().for_each(|member| self.direct_nodes(&member.kind, length, leaf, parts)),
            Kind::Array { count, element } => self.direct_nodes(element, length * *count as u64, leaf, parts),
            _ => {
                let bytes = self.leaves[*leaf].bytes as u64 * self.count;
                parts.buffers.push(match &self.stores[*leaf] {
                    Store::Memory(values) => Source::Bytes(Buffer::from(values.get(..bytes as usize).unwrap_or(values))),
                    Store::File { offset } => Source::Region { offset: *offset, bytes },
                });
                *leaf += 1;
            }
        }
    }

    /// Brings the values into a file of this name. From here on they are read from there.
    pub(crate) fn publish(&mut self, name: &str, space: &Space, sync: bool) -> Result<()> {
        if matches!(self.backing, Backing::None) {
            let (path, file) = Self::aside(&self.folder)?;
            self.backing = Backing::Aside(path, file);
            let types: Vec<DataType> = self.columns.iter().map(|column| column.kind.data_type()).collect();
            self.head = ipc::head_bytes(&schema_of(&self.columns, &types, &self.kind, space));
            self.values_end = self.head;
        }
        let (rows, inner) = rows_of(&self.kind, space);
        let mut types = Vec::new();
        let listed = !matches!(self.kind, Kind::Compound { .. }) && space.shape().len() > 1 && (rows, inner) != (space.count().unwrap_or(0), 1);
        let parts = self.parts(rows, inner, &mut types, listed)?;
        let schema = schema_of(&self.columns, &types, &self.kind, space);
        let file = self.backing.file()?;
        let length = ipc::finish(file, self.head, self.values_end, &schema, rows, &parts)?;
        file.set_len(length)?;
        if sync {
            file.sync_all()?;
        }
        if let Backing::Aside(path, file) = std::mem::replace(&mut self.backing, Backing::None) {
            std::fs::rename(&path, self.folder.join(name)).map_err(|error| fault!("cannot name {name}: {error}"))?;
            let memory = self.stores.iter().all(|store| matches!(store, Store::Memory(_)));
            self.backing = if memory { Backing::None } else { Backing::Published(file) };
        }
        self.changed = false;
        Ok(())
    }

    /// Opens what [`Table::publish`] wrote.
    pub(crate) fn open(kind: &Kind, space: &Space, folder: &Folder, name: &str, fill: Vec<u8>) -> Result<Self> {
        let path = folder.join(name);
        let piece = folder.piece(name).map_err(|error| fault!("the values of {}; a program that rewrites the file may be at work: open it again", error.message))?;
        let found = ipc::find(&piece.file, piece.start, piece.bytes).map_err(|error| fault!("{}: {}", path.display(), error.message))?;
        let columns = columns(kind);
        let count = space.count().unwrap_or(0);
        let (rows, inner) = rows_of(kind, space);
        if found.rows != rows || found.schema.fields().len() != columns.len() {
            return Err(fault!("{}: {} rows of {} columns, where the catalog says {rows} of {}", path.display(), found.rows, found.schema.fields().len(), columns.len()));
        }
        let listed = !matches!(kind, Kind::Compound { .. }) && space.shape().len() > 1 && (rows, inner) != (count, 1);
        let leaves: Vec<Leaf> = columns.iter().flat_map(|column| column.leaves.clone()).collect();
        let (mut stores, mut arenas) = (Vec::new(), Vec::new());
        let mut buffers = found.buffers.iter().copied();
        let mut decoded: Option<Vec<ArrayRef>> = None;
        for (number, (column, field)) in columns.iter().zip(found.schema.fields()).enumerate() {
            let mut places = Vec::new();
            data_buffers(field.data_type(), &mut buffers, &mut places);
            if column.direct {
                let expected = if listed { list_of(inner, column.kind.data_type()) } else { column.kind.data_type() };
                if !expected.equals_datatype(field.data_type()) || places.len() != column.leaves.len() {
                    return Err(fault!("{}: column {} is {}, where the catalog says {expected}", path.display(), column.name, field.data_type()));
                }
                for ((offset, bytes), leaf) in places.into_iter().zip(&column.leaves) {
                    if count.checked_mul(leaf.bytes as u64).is_none_or(|needed| bytes < needed) {
                        return Err(fault!("{}: column {} ends early", path.display(), column.name));
                    }
                    stores.push(Store::File { offset });
                }
            } else {
                if decoded.is_none() {
                    let mut reader = FileReader::try_new(folder.piece(name)?, None)?;
                    decoded = Some(reader.next().ok_or_else(|| fault!("{}: no record batch", path.display()))??.columns().to_vec());
                }
                let array = decoded.as_ref().and_then(|all| all.get(number)).ok_or_else(|| fault!("a column is missing"))?;
                let array = if listed { flat(array)? } else { Arc::clone(array) };
                stores.push(Store::Memory(values::from_arrow(&column.kind, &array, &mut arenas)?));
            }
        }
        let memory = stores.iter().all(|store| matches!(store, Store::Memory(_)));
        Ok(Self {
            kind: kind.clone(),
            columns,
            leaves,
            stores,
            count,
            capacity: count,
            touched: count,
            head: 0,
            values_end: 0,
            backing: if memory { Backing::None } else { Backing::Published(piece.file) },
            folder: folder.to_path_buf(),
            fill,
            arenas,
            changed: false,
        })
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.release();
    }
}

fn flat(array: &ArrayRef) -> Result<ArrayRef> {
    let list: &FixedSizeListArray = array.as_fixed_size_list_opt().ok_or_else(|| fault!("a column is {}, not a list", array.data_type()))?;
    Ok(Arc::clone(list.values()))
}

/// The buffers of values of a column without variable length, in order; all of its buffers are passed over.
fn data_buffers(data_type: &DataType, buffers: &mut impl Iterator<Item = (u64, u64)>, out: &mut Vec<(u64, u64)>) {
    let _validity = buffers.next();
    match data_type {
        DataType::Struct(fields) => fields.iter().for_each(|field| data_buffers(field.data_type(), buffers, out)),
        DataType::FixedSizeList(field, _) => data_buffers(field.data_type(), buffers, out),
        DataType::LargeList(field) => {
            let _offsets = buffers.next();
            data_buffers(field.data_type(), buffers, out);
        }
        DataType::LargeUtf8 | DataType::LargeBinary => {
            let _offsets = buffers.next();
            let _values = buffers.next();
        }
        _ => out.extend(buffers.next()),
    }
}

fn copy_range(from: &File, at: u64, to: &File, place: u64, bytes: u64) -> Result<()> {
    let mut block = vec![0; usize::try_from(bytes.min(4 << 20)).unwrap_or(4 << 20)];
    let mut done = 0;
    while done < bytes {
        let now = (bytes - done).min(block.len() as u64) as usize;
        from.read_exact_at(&mut block[..now], at + done)?;
        to.write_all_at(&block[..now], place + done)?;
        done += now as u64;
    }
    Ok(())
}

fn gather(source: &[u8], stride: usize, width: usize, out: &mut [u8]) -> Result<()> {
    fn words<const N: usize>(source: &[u8], stride: usize, out: &mut [u8]) {
        for (to, from) in out.as_chunks_mut::<N>().0.iter_mut().zip(source.chunks(stride)) {
            if let Some(from) = from.first_chunk::<N>() {
                *to = *from;
            }
        }
    }
    let count = out.len() / width.max(1);
    let needed = count.saturating_sub(1) * stride + if count > 0 { width } else { 0 };
    if source.len() < needed {
        return Err(fault!("the memory ends early"));
    }
    if width == stride {
        out.copy_from_slice(&source[..out.len()]);
        return Ok(());
    }
    if width > stride {
        return Err(fault!("elements lie over each other in memory"));
    }
    match width {
        0 => {}
        1 => words::<1>(source, stride, out),
        2 => words::<2>(source, stride, out),
        4 => words::<4>(source, stride, out),
        8 => words::<8>(source, stride, out),
        _ => out.chunks_exact_mut(width).zip(source.chunks(stride)).for_each(|(to, from)| to.copy_from_slice(&from[..width])),
    }
    Ok(())
}

fn scatter(source: &[u8], stride: usize, leaf: &Leaf, target: &mut [u8]) -> Result<()> {
    fn words<const N: usize>(source: &[u8], stride: usize, target: &mut [u8]) {
        for (from, to) in source.as_chunks::<N>().0.iter().zip(target.chunks_mut(stride)) {
            if let Some(to) = to.first_chunk_mut::<N>() {
                *to = *from;
            }
        }
    }
    let width = leaf.bytes;
    let count = source.len() / width.max(1);
    let needed = count.saturating_sub(1) * stride + if count > 0 { width } else { 0 };
    if target.len() < needed || width > stride {
        return Err(fault!("the memory ends early"));
    }
    if width == stride {
        target[..source.len()].copy_from_slice(source);
        values::swap(&mut target[..source.len()], leaf.swap_bytes);
        return Ok(());
    }
    if leaf.swap_bytes > 1 {
        source.chunks_exact(width).zip(target.chunks_mut(stride)).for_each(|(from, to)| {
            to[..width].copy_from_slice(from);
            values::swap(&mut to[..width], leaf.swap_bytes);
        });
        return Ok(());
    }
    match width {
        0 => {}
        1 => words::<1>(source, stride, target),
        2 => words::<2>(source, stride, target),
        4 => words::<4>(source, stride, target),
        8 => words::<8>(source, stride, target),
        _ => source.chunks_exact(width).zip(target.chunks_mut(stride)).for_each(|(from, to)| to[..width].copy_from_slice(from)),
    }
    Ok(())
}
