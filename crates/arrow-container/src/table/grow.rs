//! Capacity for elements, in memory or in a temporary file; changes of shape; copies of published values.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use arrow_schema::DataType;

use super::blocks::WRITTEN_BYTES;
use super::frame::schema_of;
use super::state::Table;
use super::store::{Aside, Backing, Batch, Part, Store, aside, parts_of};
use crate::elements::dataspace::{Dataspace, common_runs};
use crate::error::{Result, error};
use crate::files::Workspace;
use crate::files::ipc::{self, ALIGNMENT};
use crate::files::names::unique_name;
use crate::files::preallocate::preallocate;
use crate::ranks::Ranks;

/// Values of at most this many bytes stay in memory until they are published.
const IN_MEMORY_BYTES: u64 = 256 << 10;
/// Bytes of elements that are filled or copied at a time.
const COPIED_BYTES: usize = 1 << 20;

/// The alignment of a column of `bytes` bytes in the file. A large column is aligned like the pieces that it is written in.
fn alignment(bytes: u64) -> u64 {
    match bytes {
        bytes if bytes >= 8 * WRITTEN_BYTES as u64 => WRITTEN_BYTES as u64,
        bytes if bytes >= WRITTEN_BYTES as u64 => 4096,
        _ => ALIGNMENT,
    }
}

impl Table {
    fn bytes_for(&self, elements: u64) -> Result<u64> {
        let element: u64 = self.leaves.iter().map(|leaf| leaf.bytes as u64).sum();
        element.checked_mul(elements).filter(|bytes| *bytes < 1 << 50).ok_or_else(|| error!("{elements} elements are too many for a file"))
    }

    /// Elements to copy at a time.
    fn block(&self) -> u64 {
        (COPIED_BYTES / self.datatype.bytes().max(1)).max(1) as u64
    }

    /// Bytes of metadata before the values.
    fn head_bytes(&self, space: &Dataspace) -> u64 {
        let types: Vec<DataType> = self.columns.iter().map(|column| column.datatype.data_type()).collect();
        ipc::head_bytes(&schema_of(&self.columns, &types, &self.datatype, space))
    }

    /// Lays out an Arrow file of `capacity` elements that begins at offset `start`: one record batch, or one for each rank.
    fn lay_out(&self, capacity: u64, space: &Dataspace, start: u64) -> Result<Vec<Batch>> {
        self.bytes_for(capacity)?;
        let head = self.head_bytes(space);
        // Programs usually divide the first dimension among ranks.
        let lines = space.shape().first().copied().filter(|lines| *lines > 0).unwrap_or(1);
        let starts = match &self.ranks {
            // The leader alone publishes variable-length columns, after all others.
            Some(ranks) if capacity.is_multiple_of(lines) && !self.has_heap() => {
                ranks.shares(lines).into_iter().map(|line| line * (capacity / lines)).collect()
            }
            _ => vec![0, capacity],
        };
        let mut batches: Vec<Batch> = Vec::new();
        for pair in starts.windows(2) {
            let &[first, end] = pair else { continue };
            if first == end && !(batches.is_empty() && end == capacity) {
                continue;
            }
            let body = batches.last().map_or(start, |before| before.values_end.next_multiple_of(4096)) + head;
            let mut values_end = body;
            let mut offsets = Vec::with_capacity(self.leaves.len());
            for column in &self.columns {
                for leaf in &column.leaves {
                    let bytes = leaf.bytes as u64 * (end - first);
                    offsets.push(if column.direct { values_end.next_multiple_of(alignment(bytes)) } else { 0 });
                    if column.direct {
                        values_end = values_end.next_multiple_of(alignment(bytes)) + bytes;
                    }
                }
            }
            batches.push(Batch { first, end, body, values_end, offsets });
        }
        Ok(batches)
    }

    /// Makes space for `elements`: in memory if they are few, else in a file for `capacity` elements. Keeps existing values.
    pub(super) fn reserve(&mut self, elements: u64, capacity: u64, space: &Dataspace) -> Result<()> {
        let total = self.bytes_for(elements)?;
        let small = total == 0 || (total <= IN_MEMORY_BYTES && self.ranks.is_none());
        if small && matches!(self.backing, Backing::None) || self.columns.iter().all(|column| !column.direct) {
            for (leaf, store) in self.leaves.iter().zip(&mut self.stores) {
                if let Store::Memory(bytes) = store {
                    let length = usize::try_from(elements)
                        .ok()
                        .and_then(|n| n.checked_mul(leaf.bytes))
                        .ok_or_else(|| error!("{elements} elements are too many for memory"))?;
                    bytes.try_reserve(length.saturating_sub(bytes.len())).map_err(|_| error!("cannot allocate {length} bytes"))?;
                    bytes.resize(length.max(bytes.len()), 0);
                }
            }
            self.capacity = elements;
            return Ok(());
        }
        let capacity = if self.ranks.is_some() { elements } else { capacity };
        self.settle()?;
        let (aside, batches) = self.new_place(capacity, space)?;
        if self.is_leader() {
            self.copy_into(aside.file(), &batches, self.count.min(elements))?;
        }
        self.adopt(aside, batches, elements, capacity)
    }

    /// Makes an empty place for `capacity` elements.
    fn new_place(&self, capacity: u64, space: &Dataspace) -> Result<(Aside, Vec<Batch>)> {
        let values_end = |batches: &[Batch]| batches.last().map_or(0, |batch| batch.values_end);
        // Variable-length values are written after the others, and take any number of bytes.
        if self.ranks.is_none() && !self.has_heap() {
            let head = self.head_bytes(space);
            let largest = self.leaves.iter().map(|leaf| alignment((leaf.bytes as u64).saturating_mul(capacity))).max().unwrap_or(ALIGNMENT);
            // Laid out with the body at a multiple of the largest alignment. The footer needs less than the head.
            let start = head.next_multiple_of(largest) - head;
            let mut batches = self.lay_out(capacity, space, start)?;
            if let Some(region) = self.workspace.region(values_end(&batches) - start + head, head, largest)? {
                for batch in &mut batches {
                    let places = batch.offsets.iter_mut().chain([&mut batch.body, &mut batch.values_end]);
                    places.for_each(|place| *place += region.start - start);
                }
                return Ok((Aside::Region(region), batches));
            }
        }
        let batches = self.lay_out(capacity, space, 0)?;
        let name = self.ranks.as_ref().map_or_else(unique_name, |ranks| ranks.next_name());
        let (path, file) = aside(&self.workspace.path, &name, self.ranks.is_some())?;
        file.set_len(values_end(&batches))?;
        Ok((Aside::File(path, file), batches))
    }

    /// Copies the first elements of every leaf into a file laid out as `batches`.
    fn copy_into(&self, file: &File, batches: &[Batch], elements: u64) -> Result<()> {
        let direct = self.columns.iter().flat_map(|column| column.leaves.iter().map(|_| column.direct));
        direct.enumerate().filter(|(_, direct)| *direct).try_for_each(|(leaf, _)| self.copy_leaf(leaf, file, batches, &(0..elements)))
    }

    /// Copies some elements of a leaf into a file laid out as `batches`.
    fn copy_leaf(&self, leaf: usize, file: &File, batches: &[Batch], elements: &Range<u64>) -> Result<()> {
        let width = self.leaves[leaf].bytes as u64;
        for (to, first, count) in parts_of(batches, elements.start, elements.end - elements.start) {
            let place = to.offsets[leaf] + (first - to.first) * width;
            preallocate(file, place, count * width);
            match &self.stores[leaf] {
                Store::Memory(bytes) => {
                    let kept = bytes
                        .get((first * width) as usize..((first + count) * width) as usize)
                        .ok_or_else(|| error!("elements are beyond the end of the table"))?;
                    file.write_all_at(kept, place)?;
                }
                Store::File => {
                    for (from, at, now) in parts_of(&self.batches, first, count) {
                        copy_range(self.backing.file()?, from.offsets[leaf] + (at - from.first) * width, file, place + (at - first) * width, now * width)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes a temporary file the table's file.
    fn adopt(&mut self, aside: Aside, batches: Vec<Batch>, elements: u64, capacity: u64) -> Result<()> {
        let kept = self.count.min(elements);
        let direct = self.columns.iter().flat_map(|column| column.leaves.iter().map(|leaf| (column.direct, leaf.bytes)));
        for ((direct, width), store) in direct.zip(&mut self.stores) {
            match store {
                _ if direct => *store = Store::File,
                Store::Memory(bytes) => bytes.resize(width * usize::try_from(elements).map_err(|_| error!("{elements} elements are too many for memory"))?, 0),
                Store::File => return Err(error!("variable-length values cannot be stored in a file")),
            }
        }
        if self.is_leader() {
            self.release();
        }
        (self.batches, self.backing, self.capacity, self.touched) = (batches, Backing::Aside(aside), capacity, kept);
        Ok(())
    }

    /// Makes a published table writable again, by copying its file.
    pub(super) fn own(&mut self, shape: Option<&Dataspace>) -> Result<()> {
        if let Backing::Published(published) = &self.backing {
            let space = Dataspace::Simple { shape: vec![self.count], max_shape: vec![self.count] };
            match self.ranks.clone() {
                None if self.bytes_for(self.count)? <= IN_MEMORY_BYTES => self.load()?,
                None => self.reserve(self.count, self.count, shape.unwrap_or(&space))?,
                Some(ranks) => {
                    let (name, start, bytes) = (ranks.name_for(&published.name), published.start, published.bytes);
                    self.own_collective(&name, start, bytes)?;
                }
            }
        }
        self.changed = true;
        Ok(())
    }

    /// A writable copy of published values in a file, without the elements `left_out` of the leaves of `parts`, which the caller writes.
    /// `None` if the values are not of that kind: then [`Table::own`] copies them.
    pub(super) fn copy_without(&self, parts: &[Part], left_out: &Range<u64>) -> Result<Option<Self>> {
        let in_file = |leaf: usize| matches!(self.stores.get(leaf), Some(Store::File));
        if !matches!(self.backing, Backing::Published(_)) || self.ranks.is_some() || !parts.iter().all(|part| in_file(part.leaf)) {
            return Ok(None);
        }
        if self.bytes_for(self.count)? <= IN_MEMORY_BYTES {
            return Ok(None);
        }
        let space = Dataspace::Simple { shape: vec![self.count], max_shape: vec![self.count] };
        let (aside, batches) = self.new_place(self.count, &space)?;
        for leaf in (0..self.leaves.len()).filter(|leaf| in_file(*leaf)) {
            let is_left_out = parts.iter().any(|part| part.leaf == leaf);
            let kept = if is_left_out { [0..left_out.start, left_out.end..self.count] } else { [0..self.count, 0..0] };
            for range in kept.iter().filter(|range| !range.is_empty()) {
                self.copy_leaf(leaf, aside.file(), &batches, range)?;
            }
        }
        let mut copy = Self::empty(&self.datatype, self.workspace.clone(), None, None);
        copy.stores.iter_mut().enumerate().filter(|(leaf, _)| in_file(*leaf)).for_each(|(_, store)| *store = Store::File);
        (copy.batches, copy.backing, copy.count, copy.capacity, copy.touched) = (batches, Backing::Aside(aside), self.count, self.count, self.count);
        Ok(Some(copy))
    }

    /// Replaces the values in the file by the values of a copy.
    pub(super) fn replace_with(&mut self, mut copy: Self) {
        self.batches = std::mem::take(&mut copy.batches);
        self.backing = std::mem::replace(&mut copy.backing, Backing::None);
        (self.capacity, self.touched, self.changed) = (self.count, self.count, true);
    }

    /// Reads all values into memory.
    fn load(&mut self) -> Result<()> {
        let mut stores = Vec::with_capacity(self.stores.len());
        for (index, (leaf, store)) in self.leaves.iter().zip(&self.stores).enumerate() {
            stores.push(match store {
                Store::Memory(_) => None,
                Store::File => {
                    let mut bytes = vec![0; leaf.bytes * self.count as usize];
                    for (batch, first, count) in parts_of(&self.batches, 0, self.count) {
                        let (at, end) = (first as usize * leaf.bytes, (first + count) as usize * leaf.bytes);
                        let to = bytes.get_mut(at..end).ok_or_else(|| error!("elements are beyond the end of the table"))?;
                        self.backing.file()?.read_exact_at(to, batch.offsets[index] + (first - batch.first) * leaf.bytes as u64)?;
                    }
                    Some(bytes)
                }
            });
        }
        for (store, loaded) in self.stores.iter_mut().zip(stores) {
            if let Some(bytes) = loaded {
                *store = Store::Memory(bytes);
            }
        }
        (self.backing, self.batches, self.capacity, self.touched) = (Backing::None, Vec::new(), self.count, self.count);
        Ok(())
    }

    /// Like [`Table::own`], for several ranks. Any rank may be the first to change published values, at any time. A rank
    /// that finds no copy makes one; the first copy that gets the agreed name is the one that all ranks write to.
    fn own_collective(&mut self, name: &str, start: u64, bytes: Option<u64>) -> Result<()> {
        // The copy has the layout of the published file.
        let mut batches = self.batches.clone();
        for batch in &mut batches {
            let places = batch.offsets.iter_mut().chain([&mut batch.body, &mut batch.values_end]);
            places.for_each(|place| *place = place.saturating_sub(start));
        }
        let path = self.workspace.path.join(format!(".{name}.part"));
        if !path.exists() {
            let (mine, file) = aside(&self.workspace.path, &unique_name(), false)?;
            let copied = || {
                let from = self.backing.file()?;
                copy_range(from, start, &file, 0, bytes.map_or_else(|| from.metadata().map(|metadata| metadata.len()), Ok)?)
            };
            let linked = copied().and_then(|()| match std::fs::hard_link(&mine, &path) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error!("cannot copy published values: {error}").with_source(error)),
                _ => Ok(()),
            });
            std::fs::remove_file(&mine)?;
            linked?;
        }
        let file = File::options().read(true).write(true).open(&path)?;
        self.adopt(Aside::File(path, file), batches, self.count, self.count)?;
        self.touched = self.count;
        Ok(())
    }

    /// Writes the fill value to elements that are new, or were cut off before.
    pub(super) fn fill_elements(&mut self, from: u64, to: u64) -> Result<()> {
        if from >= to {
            return Ok(());
        }
        let fill = self.known_fill()?;
        let zeros = fill.iter().all(|byte| *byte == 0);
        let to = if zeros { to.min(self.touched) } else { to };
        let width = self.datatype.bytes();
        let element = if zeros { vec![0; width] } else { fill.to_vec() };
        // The leader fills the file; each rank fills its own memory.
        let (leads, mut parts) = (self.is_leader(), self.all_parts());
        parts.retain(|part| leads || matches!(self.stores[part.leaf], Store::Memory(_)));
        if parts.is_empty() {
            return Ok(());
        }
        let block = self.block().min(to.saturating_sub(from));
        let many: Vec<u8> = element.iter().copied().cycle().take(width * block as usize).collect();
        let mut at = from;
        while at < to {
            let now = (to - at).min(block);
            self.put(&parts, at, now as usize, &many, width)?;
            at += now;
        }
        Ok(())
    }

    /// Changes the shape; elements keep their coordinates. Collective.
    ///
    /// # Errors
    /// If the new shape has too many elements, or the file cannot be written.
    pub fn resize(&mut self, from: &Dataspace, to: &Dataspace) -> Result<()> {
        match self.ranks.clone() {
            None => self.change_shape(from, to),
            Some(ranks) => {
                self.check_lines_stay(from, to)?;
                // Separates writes before the change from those after it.
                ranks.agree(self.own(None))?;
                let outcome = self.change_shape(from, to);
                ranks.agree(outcome)
            }
        }
    }

    fn change_shape(&mut self, from: &Dataspace, to: &Dataspace) -> Result<()> {
        let count = to.count().ok_or_else(|| error!("the number of elements exceeds 64 bits"))?;
        self.own(None)?;
        if count < self.count {
            self.settle()?;
        }
        if from.shape().get(1..) == to.shape().get(1..) {
            if count > self.capacity {
                let capacity = count.max(self.capacity.saturating_mul(2)).min(count.saturating_add(1 << 40));
                self.reserve(count, capacity, to)?;
            } else if self.ranks.is_some() {
                // Other ranks may have written any element.
                self.touched = self.capacity;
            }
            let old = std::mem::replace(&mut self.count, count);
            self.forget(count);
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
        let mut next = Self::create(&self.datatype, to, self.workspace.clone(), self.ranks.as_ref(), self.known_fill()?.to_vec())?;
        let parts = self.all_parts();
        let width = self.datatype.bytes();
        let mut outcome = Ok(());
        common_runs(from.shape(), to.shape(), |a, b, run| {
            if outcome.is_ok() && self.is_leader() {
                let mut bytes = vec![0; width * run as usize];
                outcome = self.read(&parts, a, run as usize, &mut bytes, width).and_then(|()| next.write(&parts, b, run as usize, &bytes, width));
            }
        });
        outcome?;
        next.arenas = std::mem::take(&mut self.arenas);
        *self = next;
        Ok(())
    }

    /// Copies the values into a new table.
    ///
    /// # Errors
    /// If values cannot be read or written, or other ranks have unflushed variable-length values.
    pub fn duplicate(&self, space: &Dataspace, workspace: impl Into<Workspace>, ranks: Option<&Arc<Ranks>>) -> Result<Self> {
        self.check_known("copying")?;
        let mut copy = Self::create(&self.datatype, space, workspace, ranks, self.known_fill()?.to_vec())?;
        let parts = self.all_parts();
        let width = self.datatype.bytes();
        let block = self.block().min(self.count);
        let mut bytes = vec![0; width * block as usize];
        let mut at = 0;
        while at < self.count && copy.is_leader() {
            let now = (self.count - at).min(block) as usize;
            self.read(&parts, at, now, &mut bytes, width)?;
            copy.write(&parts, at, now, &bytes, width)?;
            at += now as u64;
        }
        copy.arenas.clone_from(&self.arenas);
        Ok(copy)
    }
}

fn copy_range(from: &File, at: u64, to: &File, place: u64, bytes: u64) -> Result<()> {
    let mut block = vec![0; bytes.min(WRITTEN_BYTES as u64) as usize];
    let mut done = 0;
    while done < bytes {
        // As in `write_pieces`.
        let to_the_border = WRITTEN_BYTES as u64 - (place + done) % WRITTEN_BYTES as u64;
        let now = (bytes - done).min(to_the_border) as usize;
        from.read_exact_at(&mut block[..now], at + done)?;
        to.write_all_at(&block[..now], place + done)?;
        done += now as u64;
    }
    Ok(())
}
