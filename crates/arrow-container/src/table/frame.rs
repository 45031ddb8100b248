//! Publishes a table as an Arrow file (schema, record batches), and opens such a file again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray};
use arrow_buffer::Buffer;
use arrow_ipc::reader::FileReader;
use arrow_schema::{DataType, Field, Schema};

use super::state::Table;
use super::store::{Aside, Backing, Batch, Published, Store, aside};
use crate::elements::arrow_arrays;
use crate::elements::dataspace::Dataspace;
use crate::elements::datatype::{Column, Datatype, list_of};
use crate::error::{Error, Result, error};
use crate::files::Folder;
use crate::files::ipc::{self, FoundBatch, Frame, Parts, Source};
use crate::files::names::unique_name;
use crate::ranks::Ranks;

/// Maximum bytes of a dataset's values in memory that may share a file with values of other datasets.
const SMALL_BYTES: u64 = 64 << 10;

/// An Arrow file of at most this many bytes is read as a whole when it is opened.
const SMALL_FILE_BYTES: u64 = 16 << 10;

/// How elements become rows: (rows, elements per row).
pub fn rows_of(datatype: &Datatype, space: &Dataspace) -> (u64, u64) {
    let count = space.count().unwrap_or(0);
    match (datatype, space.shape()) {
        (Datatype::Compound { .. }, _) | (_, [] | [_]) => (count, 1),
        (_, [first, rest @ ..]) => match rest.iter().try_fold(1u64, |product, n| product.checked_mul(*n)) {
            Some(inner) if inner > 0 && i32::try_from(inner).is_ok() => (*first, inner),
            _ => (count, 1),
        },
    }
}

/// Whether each row is a list of elements.
pub fn is_listed(datatype: &Datatype, space: &Dataspace) -> bool {
    !matches!(datatype, Datatype::Compound { .. }) && space.shape().len() > 1 && rows_of(datatype, space) != (space.count().unwrap_or(0), 1)
}

/// The schema of a dataset's file.
pub(super) fn schema_of(columns: &[Column], types: &[DataType], datatype: &Datatype, space: &Dataspace) -> Schema {
    let (_, inner) = rows_of(datatype, space);
    let listed = is_listed(datatype, space) || inner > 1;
    let words = |lengths: &[u64]| lengths.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let fields: Vec<Field> = columns
        .iter()
        .zip(types)
        .map(|(column, data_type)| {
            if !listed {
                return Field::new(&column.name, data_type.clone(), true);
            }
            let field = Field::new(&column.name, list_of(inner, data_type.clone()), true);
            if matches!(column.datatype, Datatype::Integer { .. } | Datatype::Float { .. }) {
                let extension = [
                    ("ARROW:extension:name".to_owned(), "arrow.fixed_shape_tensor".to_owned()),
                    ("ARROW:extension:metadata".to_owned(), format!("{{\"shape\":[{}]}}", words(space.shape().get(1..).unwrap_or_default()))),
                ];
                return field.with_metadata(HashMap::from(extension));
            }
            field
        })
        .collect();
    Schema::new(fields).with_metadata(HashMap::from([("hyperslab.shape".to_owned(), format!("[{}]", words(space.shape())))]))
}

/// The Arrow file of a small dataset.
#[derive(Debug)]
pub(crate) struct SmallFile {
    datatype: Datatype,
    space: Dataspace,
    bytes: Vec<u8>,
    /// Where the values are in `bytes`, for each buffer.
    places: Vec<Range<usize>>,
}

thread_local! {
    /// The small file that was opened last. Those of datasets of the same datatype and shape differ in the values only.
    static LAST_OPENED: RefCell<Option<SmallFile>> = const { RefCell::new(None) };
}

impl SmallFile {
    /// The values in the Arrow file `bytes`, if it is the same as this one except for the values.
    fn values_of(&self, datatype: &Datatype, space: &Dataspace, bytes: &[u8]) -> Option<Vec<Store>> {
        if bytes.len() != self.bytes.len() || self.space != *space || self.datatype != *datatype {
            return None;
        }
        let mut at = 0;
        let mut stores = Vec::with_capacity(self.places.len());
        for place in &self.places {
            if bytes.get(at..place.start)? != self.bytes.get(at..place.start)? {
                return None;
            }
            stores.push(Store::Memory(bytes.get(place.clone())?.to_vec()));
            at = place.end;
        }
        (bytes.get(at..)? == self.bytes.get(at..)?).then_some(stores)
    }
}

impl Table {
    /// The nodes and buffers of one record batch. Appends the columns' types to `types`.
    fn parts(&self, batch: &Batch, space: &Dataspace, types: &mut Vec<DataType>) -> Result<Parts> {
        let (_, inner) = rows_of(&self.datatype, space);
        let count = batch.end.min(self.count) - batch.first;
        let mut parts = Parts::default();
        let mut index = 0;
        for column in &self.columns {
            if is_listed(&self.datatype, space) {
                parts.node(count / inner.max(1));
            }
            if column.direct {
                types.push(column.datatype.data_type());
                let mut leaf = index;
                self.direct_nodes(&column.datatype, count, batch, &mut leaf, &mut parts);
            } else {
                let Store::Memory(bytes) = &self.stores[index] else { return Err(error!("variable-length values cannot be stored in a file")) };
                let array = arrow_arrays::to_arrow(&column.datatype, bytes, column.datatype.bytes(), self.count as usize)?;
                types.push(array.data_type().clone());
                parts.array(&array.to_data());
            }
            index += column.leaves.len();
        }
        Ok(parts)
    }

    fn direct_nodes(&self, datatype: &Datatype, length: u64, batch: &Batch, leaf: &mut usize, parts: &mut Parts) {
        parts.node(length);
        match datatype {
            Datatype::Compound { members, .. } => members.iter().for_each(|member| self.direct_nodes(&member.datatype, length, batch, leaf, parts)),
            Datatype::Array { count, element } => self.direct_nodes(element, length * *count as u64, batch, leaf, parts),
            _ => {
                let bytes = self.leaves[*leaf].bytes as u64 * (batch.end.min(self.count) - batch.first);
                parts.buffers.push(match &self.stores[*leaf] {
                    Store::Memory(values) => Source::Bytes(Buffer::from(values.get(..bytes as usize).unwrap_or(values))),
                    Store::File => Source::Region { offset: batch.offsets[*leaf].saturating_sub(self.start()), bytes },
                });
                *leaf += 1;
            }
        }
    }

    /// Whether the values are in memory, and few.
    pub(crate) fn is_small(&self) -> bool {
        let bytes = self.stores.iter().map(|store| if let Store::Memory(bytes) = store { bytes.len() as u64 } else { u64::MAX });
        matches!(self.backing, Backing::None) && self.ranks.is_none() && bytes.fold(0u64, u64::saturating_add) <= SMALL_BYTES
    }

    /// The Arrow file of values that are in memory. Its length is a multiple of 64. `last` is the one of another dataset, and then
    /// this one: files of datasets of the same datatype and shape differ in the values only.
    pub(crate) fn to_file_bytes<'a>(&self, space: &Dataspace, last: &'a mut Option<SmallFile>) -> Result<&'a [u8]> {
        let mut known = last.take();
        let is_known = known.as_mut().is_some_and(|known| self.fill_in(known, space));
        let file = match known {
            Some(known) if is_known => known,
            _ => self.small_file(space)?,
        };
        Ok(&last.insert(file).bytes)
    }

    /// Replaces the values in the Arrow file of another dataset. `false` if that is of another datatype or shape.
    fn fill_in(&self, file: &mut SmallFile, space: &Dataspace) -> bool {
        let is_like = file.space == *space && file.datatype == self.datatype && self.columns.iter().all(|column| column.direct);
        if !is_like || file.places.len() != self.stores.len() {
            return false;
        }
        file.places.iter().zip(&self.stores).all(|(place, store)| {
            let Store::Memory(values) = store else { return false };
            let (to, values) = (file.bytes.get_mut(place.clone()), values.get(..place.len()));
            to.zip(values).map(|(to, values)| to.copy_from_slice(values)).is_some()
        })
    }

    fn small_file(&self, space: &Dataspace) -> Result<SmallFile> {
        let batch = Batch { first: 0, end: self.count, offsets: vec![0; self.leaves.len()], ..Batch::default() };
        let (_, inner) = rows_of(&self.datatype, space);
        let mut types = Vec::new();
        let parts = self.parts(&batch, space, &mut types)?;
        let (bytes, places) = ipc::to_bytes(self.count / inner.max(1), parts, &schema_of(&self.columns, &types, &self.datatype, space))?;
        Ok(SmallFile { datatype: self.datatype.clone(), space: space.clone(), bytes, places })
    }

    /// Writes the values to a file of this name; from then on they are read from there.
    pub(crate) fn publish(&mut self, name: &str, space: &Dataspace, sync: bool) -> Result<()> {
        self.settle()?;
        if matches!(self.backing, Backing::Published(_)) {
            self.own(Some(space))?;
        }
        if matches!(self.backing, Backing::None) {
            let (path, file) = aside(&self.workspace.path, &unique_name(), false)?;
            self.backing = Backing::Aside(Aside::File(path, file));
            let types: Vec<DataType> = self.columns.iter().map(|column| column.datatype.data_type()).collect();
            let body = ipc::head_bytes(&schema_of(&self.columns, &types, &self.datatype, space));
            self.batches = vec![Batch { first: 0, end: self.count, body, values_end: body, offsets: vec![0; self.leaves.len()] }];
        }
        let (_, inner) = rows_of(&self.datatype, space);
        let (mut types, mut frames) = (Vec::new(), Vec::new());
        for (index, batch) in self.batches.iter().enumerate().filter(|(index, batch)| *index == 0 || batch.first < self.count) {
            types.clear();
            let parts = self.parts(batch, space, &mut types)?;
            let body = batch.body.saturating_sub(self.start());
            let mut values_end = body;
            for buffer in &parts.buffers {
                if let Source::Region { offset, bytes } = buffer {
                    values_end = values_end.max(offset + bytes);
                }
            }
            let next = self.batches.get(index + 1).filter(|next| next.first < self.count);
            let rows = (batch.end.min(self.count) - batch.first) / inner.max(1);
            let reserved_end = batch.values_end.saturating_sub(self.start());
            frames.push(Frame { body, values_end: if next.is_some() { reserved_end } else { values_end }, rows, parts });
        }
        let schema = schema_of(&self.columns, &types, &self.datatype, space);
        match &self.backing {
            Backing::Aside(Aside::Region(region)) => {
                // The whole file is synchronized when it is complete.
                let length = ipc::finish_in(&mut |bytes, at| region.write_at(bytes, at), &frames, &schema)?;
                self.published_in_region(name, length)
            }
            _ => {
                let file = self.backing.file()?;
                let length = ipc::finish(file, &frames, &schema)?;
                file.set_len(length)?;
                if sync {
                    file.sync_all()?;
                }
                if let Backing::Aside(Aside::File(path, _)) = &self.backing {
                    let renamed = std::fs::rename(path, self.workspace.path.join(name));
                    renamed.map_err(|error| error!("cannot rename a temporary file to {name}: {error}").with_source(error))?;
                }
                self.published(name);
                Ok(())
            }
        }
    }

    /// Offset of the table's own bytes in its file.
    fn start(&self) -> u64 {
        if let Backing::Aside(aside) = &self.backing { aside.start() } else { 0 }
    }

    /// Records that the values are the Arrow file of this name in the first `length` bytes of their region.
    fn published_in_region(&mut self, name: &str, length: u64) -> Result<()> {
        match std::mem::replace(&mut self.backing, Backing::None) {
            Backing::Aside(Aside::Region(region)) => {
                let published = Published::part(Arc::clone(region.file()), name, region.start, length);
                region.complete(name, length)?;
                self.backing = Backing::Published(published);
                self.changed = false;
                Ok(())
            }
            other => {
                self.backing = other;
                Err(error!("the values are not in a region"))
            }
        }
    }

    /// Records that the values are in a file of this name, which this or another rank has published.
    pub(crate) fn published(&mut self, name: &str) {
        if let Backing::Aside(Aside::File(_, file)) = std::mem::replace(&mut self.backing, Backing::None)
            && self.stores.iter().any(|store| matches!(store, Store::File))
        {
            self.backing = Backing::Published(Published::new(file, name));
        }
        self.changed = false;
    }

    /// Opens a file that [`Table::publish`] wrote.
    ///
    /// # Errors
    /// If the file is gone or damaged, or does not have the datatype and dataspace that the catalog says.
    pub(crate) fn open(datatype: &Datatype, space: &Dataspace, folder: &Folder, name: &str, fill: Option<Vec<u8>>) -> Result<Self> {
        let path = folder.join(name);
        let piece = folder
            .piece(name)
            .map_err(|error| error!("{}; another program may have rewritten the container: open it again", error.message).with_source(error))?;
        let failed = |error: Error| error!("{}: {}", path.display(), error.message).with_source(error);
        let mut table = Self::empty(datatype, folder.into(), None, fill);
        table.changed = false;
        let count = space.count().unwrap_or(0);
        // A small file is read at once.
        let mut small = match piece.bytes <= SMALL_FILE_BYTES && !table.has_heap() {
            true => Some(piece.content().map_err(failed)?),
            false => None,
        };
        if let Some(bytes) = &small
            && let Some(stores) = LAST_OPENED.with_borrow(|last| last.as_ref()?.values_of(datatype, space, bytes))
        {
            (table.stores, table.count, table.capacity, table.touched) = (stores, count, count, count);
            return Ok(table);
        }
        let mut found = match &small {
            Some(bytes) => ipc::find_in(bytes),
            None => ipc::find(&piece.file, piece.start, piece.bytes),
        }
        .map_err(failed)?;
        if small.is_some() && found.batches.len() != 1 {
            // Values of several record batches stay in the file.
            small = None;
            found = ipc::find(&piece.file, piece.start, piece.bytes).map_err(failed)?;
        }
        let (rows, inner) = rows_of(datatype, space);
        table.check_found(&found, rows, &path)?;
        let listed = is_listed(datatype, space);
        let mut first = 0;
        for batch in &found.batches {
            let placed = table.placed(batch, &found.schema, first, (inner, listed), &path)?;
            first = placed.end;
            table.batches.push(placed);
        }
        if let (Some(bytes), [batch]) = (small, table.batches.as_slice()) {
            let places = batch.offsets.iter().zip(&table.leaves).map(|(at, leaf)| *at as usize..*at as usize + leaf.bytes * count as usize).collect();
            let file = SmallFile { datatype: datatype.clone(), space: space.clone(), bytes, places };
            let stores = file.values_of(datatype, space, &file.bytes).ok_or_else(|| error!("{}: a column is truncated", path.display()))?;
            LAST_OPENED.set(Some(file));
            (table.stores, table.count, table.capacity, table.touched) = (stores, count, count, count);
            table.batches.clear();
            return Ok(table);
        }
        let stores = table.read_stores(folder, name, listed)?;
        if stores.iter().any(|store| matches!(store, Store::File)) {
            table.backing = Backing::Published(Published::part(piece.file, name, piece.start, piece.bytes));
        }
        (table.stores, table.count, table.capacity, table.touched) = (stores, count, count, count);
        Ok(table)
    }

    /// Checks that an Arrow file has as many rows and columns as the catalog says, in a form that can be read.
    fn check_found(&self, found: &ipc::Found, rows: u64, path: &Path) -> Result<()> {
        let held = found.batches.iter().try_fold(0u64, |sum, batch| sum.checked_add(batch.rows)).unwrap_or(u64::MAX);
        if held != rows || found.schema.fields().len() != self.columns.len() {
            return Err(error!(
                "{}: {held} rows of {} columns, but the catalog says {rows} of {}",
                path.display(),
                found.schema.fields().len(),
                self.columns.len()
            ));
        }
        if found.batches.iter().any(|batch| batch.compressed) {
            return Err(error!("{}: compressed values are not supported in a container", path.display()));
        }
        Ok(())
    }

    /// Where the values of a record batch are, whose first element is `first`. Each row has `inner` elements, in a list if the rows are `listed`.
    fn placed(&self, batch: &FoundBatch, schema: &Schema, first: u64, (inner, listed): (u64, bool), path: &Path) -> Result<Batch> {
        let end = first + batch.rows * inner;
        let mut offsets = Vec::new();
        let mut buffers = batch.buffers.iter().copied();
        for (column, field) in self.columns.iter().zip(schema.fields()) {
            let mut places = Vec::new();
            data_buffers(field.data_type(), &mut buffers, &mut places);
            if !column.direct {
                offsets.push(0);
                continue;
            }
            let expected = if listed { list_of(inner, column.datatype.data_type()) } else { column.datatype.data_type() };
            if !expected.equals_datatype(field.data_type()) || places.len() != column.leaves.len() {
                return Err(error!("{}: column {} is {}, but the catalog says {expected}", path.display(), column.name, field.data_type()));
            }
            for ((offset, bytes), leaf) in places.into_iter().zip(&column.leaves) {
                if (end - first).checked_mul(leaf.bytes as u64).is_none_or(|needed| bytes < needed) {
                    return Err(error!("{}: column {} is truncated", path.display(), column.name));
                }
                offsets.push(offset);
            }
        }
        Ok(Batch { first, end, body: batch.body, values_end: batch.buffers.iter().map(|(offset, bytes)| offset + bytes).max().unwrap_or(batch.body), offsets })
    }

    /// Where the values of each buffer are: in the file, or in memory if they had to be converted.
    fn read_stores(&mut self, folder: &Folder, name: &str, listed: bool) -> Result<Vec<Store>> {
        let mut stores = Vec::new();
        let mut decoded: Option<Vec<Vec<ArrayRef>>> = None;
        for (index, column) in self.columns.iter().enumerate() {
            if column.direct {
                stores.extend(column.leaves.iter().map(|_| Store::File));
                continue;
            }
            if decoded.is_none() {
                let batches: std::result::Result<Vec<_>, _> = FileReader::try_new(folder.piece(name)?, None)?.collect();
                decoded = Some(batches?.iter().map(|batch| batch.columns().to_vec()).collect());
            }
            let mut bytes = Vec::new();
            for columns in decoded.iter().flatten() {
                let array = columns.get(index).ok_or_else(|| error!("a column is missing"))?;
                let array = if listed { flat(array)? } else { Arc::clone(array) };
                bytes.extend(arrow_arrays::from_arrow(&column.datatype, &array, &mut self.arenas)?);
            }
            stores.push(Store::Memory(bytes));
        }
        Ok(stores)
    }

    /// Sets the ranks that change the values together.
    pub(crate) fn share(&mut self, ranks: Option<&Arc<Ranks>>) {
        self.ranks = ranks.cloned();
    }
}

fn flat(array: &ArrayRef) -> Result<ArrayRef> {
    let list: &FixedSizeListArray = array.as_fixed_size_list_opt().ok_or_else(|| error!("a column is {}, not a list", array.data_type()))?;
    Ok(Arc::clone(list.values()))
}

/// Collects the value buffers of a column without variable-length data, and skips all of the column's buffers.
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
