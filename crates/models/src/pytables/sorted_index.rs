//! An index that PyTables keeps for a column: its values in sorted order, slice by slice, with the row of each value.
//!
//! Only indexes of kind `full` are read: the others have fewer bytes for the rows than their numbers need, and so know buckets of rows.
//! A slice holds `slice_size` sorted values. Values that do not fill a slice are in a last, shorter one. Two slices may overlap, unless
//! PyTables has sorted them completely.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use arrow_array::{Array, ArrayRef, UInt64Array};
use hyperslab_array::{Attribute, Axis, Cancellation, Datatype, Error, ErrorKind, FloatFormat, Result, Selection};
use hyperslab_columns::{Column, Conventions};
use hyperslab_formats::{Attributes, Dataset, ObjectId};
use hyperslab_predicate::KeyType;
use hyperslab_reader::File;

use crate::look::{Member, join, numbers, optional, text_of};

/// Most first values of slices and chunks that are kept in memory.
const MAX_BOUNDS: u64 = 1 << 23;
/// Most values of the last slice and of a chunk, which are in memory at a time.
const MAX_VALUES: u64 = 1 << 24;
/// The key of NaN: PyTables sorts it after all numbers.
pub(super) const NAN: u64 = u64::MAX;

/// The index of a column with plain numbers.
pub(super) struct SortedIndex {
    pub key_type: KeyType,
    /// Rows of the table.
    pub rows: u64,
    sorted: ObjectId,
    indices: ObjectId,
    last_sorted: ObjectId,
    last_indices: ObjectId,
    slices: u64,
    slice_size: u64,
    chunk_size: u64,
    /// Values in the last slice.
    last: u64,
    /// Keys of the first and the last value of each slice.
    ranges: Vec<(u64, u64)>,
    /// Keys of the first value of each chunk of a slice but the first, slice by slice.
    bounds: Vec<u64>,
    /// Keys of the last slice.
    last_keys: OnceLock<Vec<u64>>,
    /// Whether all of it was compared with the values of the table.
    is_verified: AtomicBool,
    /// Why it cannot be used, found after it was opened.
    problem: OnceLock<String>,
}

/// A part of a slice: its number, and positions in it. The last slice has the number of the whole ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub slice: u64,
    pub positions: Range<u64>,
}

/// What the attributes of an index, and its column, say about it.
struct IndexForm {
    key_type: KeyType,
    slice_size: u64,
    chunk_size: u64,
}

impl IndexForm {
    fn of(table: &Dataset, column: &str, attributes: &Attributes) -> std::result::Result<Self, Unusable> {
        if attributes.get("DIRTY").is_some_and(is_set) {
            return Err("is dirty: PyTables says that it does not belong to the values of the table".to_owned());
        }
        let Datatype::Compound { members, .. } = &table.datatype else { return Err("is of a table without columns".to_owned()) };
        let Some(member) = members.iter().find(|member| member.name == column) else { return Err("is of a column that does not exist".to_owned()) };
        let Some(key_type) = key_type(&member.datatype) else {
            return Err("is of a column that does not hold integers and floats of 4 or 8 bytes".to_owned());
        };
        let number = |name: &str| attributes.get(name).and_then(whole_number);
        if number("reduction") != Some(1) {
            return Err("is not of the kind full".to_owned());
        }
        let (Some(slice_size), Some(chunk_size)) = (number("slicesize").filter(|size| *size > 0), number("chunksize").filter(|size| *size > 0)) else {
            return Err("has no attributes slicesize and chunksize".to_owned());
        };
        Ok(Self { key_type, slice_size, chunk_size })
    }
}

/// An array of an index.
struct IndexArray {
    id: ObjectId,
    dataset: Arc<Dataset>,
    member: Member,
}

impl IndexArray {
    fn find(file: &File, group: &Member, name: &str) -> Result<Self> {
        let path = join(&group.path, name);
        let missing = || Error::new(ErrorKind::Corrupt, format!("it has no array {name}"));
        let member = optional(file, &path)?.ok_or_else(missing)?;
        let dataset = member.dataset().cloned().ok_or_else(missing)?;
        match &member.object {
            Ok((found, _)) if found.file == *file => Ok(Self { id: found.object, dataset, member }),
            _ => Err(missing()),
        }
    }

    /// How many of its elements are in use, if an attribute says so.
    fn elements(&self) -> Result<Option<u64>> {
        Ok(self.member.attributes()?.get("nelements").and_then(whole_number))
    }

    fn shape(&self) -> &[u64] {
        self.dataset.dataspace.shape()
    }
}

/// The arrays of an index: sorted values and their rows, the same for the last slice, and first and last values of slices and chunks.
struct IndexArrays {
    sorted: IndexArray,
    indices: IndexArray,
    last_sorted: IndexArray,
    last_indices: IndexArray,
    ranges: IndexArray,
    bounds: IndexArray,
}

impl IndexArrays {
    fn find(file: &File, group: &Member) -> Result<Self> {
        let find = |name: &str| IndexArray::find(file, group, name);
        Ok(Self {
            sorted: find("sorted")?,
            indices: find("indices")?,
            last_sorted: find("sortedLR")?,
            last_indices: find("indicesLR")?,
            ranges: find("ranges")?,
            bounds: find("bounds")?,
        })
    }

    fn check_types(&self, key_type: KeyType) -> std::result::Result<(), Unusable> {
        let is_of = |array: &IndexArray, wanted: KeyType| self::key_type(&array.dataset.datatype) == Some(wanted);
        if [&self.sorted, &self.last_sorted, &self.ranges, &self.bounds].into_iter().any(|array| !is_of(array, key_type)) {
            return Err("holds values of another type than the column".to_owned());
        }
        if [&self.indices, &self.last_indices].into_iter().any(|array| !is_of(array, KeyType::Unsigned(8))) {
            return Err("is not of the kind full".to_owned());
        }
        Ok(())
    }

    /// Number of slices, if the shapes fit together. The last slice has `last` values and `last_rows` rows.
    fn slices(&self, slice_size: u64, chunk_size: u64, (last, last_rows): (u64, u64)) -> std::result::Result<u64, Unusable> {
        let chunks = slice_size.div_ceil(chunk_size);
        let shapes = [self.sorted.shape(), self.indices.shape(), self.ranges.shape(), self.bounds.shape()];
        let &[slices, _] = shapes[0] else { return Err("has sorted values of another shape than PyTables writes".to_owned()) };
        let fits = shapes == [&[slices, slice_size][..], &[slices, slice_size], &[slices, 2], &[slices, chunks - 1]];
        let holds_last = |array: &IndexArray| matches!(array.shape(), &[length] if length >= last);
        if !fits || last != last_rows || !holds_last(&self.last_sorted) || !holds_last(&self.last_indices) {
            return Err("has parts whose shapes do not fit together".to_owned());
        }
        Ok(slices)
    }
}

/// What an index cannot be used for: a sentence about it.
pub(super) type Unusable = String;

/// Why an index that is damaged, or that PyTables would not write, is not used; other errors are the caller's.
fn unusable<T>(result: Result<T>) -> Result<std::result::Result<T, Unusable>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported | ErrorKind::NotFound | ErrorKind::LimitExceeded) => {
            Ok(Err(format!("cannot be read: {}", error.message())))
        }
        Err(error) => Err(error),
    }
}

impl SortedIndex {
    /// The index of `column`, a member of `table` at `path`; `None` if PyTables has none. The other result says why it cannot be used.
    ///
    /// # Errors
    /// `Io` if the file cannot be read.
    pub fn open(file: &File, table: &Dataset, path: &str, column: &str) -> Result<Option<std::result::Result<Self, Unusable>>> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let group = format!("{parent}/_i_{name}/{column}");
        let found = match optional(file, &group) {
            Err(error) if error.kind() == ErrorKind::Io => return Err(error),
            Err(_) | Ok(None) => return Ok(None),
            Ok(Some(found)) => found,
        };
        if found.group().is_none_or(|found| found.file != *file) || text_of(&*found.attributes()?, "CLASS").ok().flatten().as_deref() != Some("INDEX") {
            return Ok(None);
        }
        unusable(Self::read(file, table, path, column, &found)).map(|read| Some(read.and_then(|index| index)))
    }

    fn read(file: &File, table: &Dataset, path: &str, column: &str, group: &Member) -> Result<std::result::Result<Self, Unusable>> {
        let IndexForm { key_type, slice_size, chunk_size } = match IndexForm::of(table, column, &*group.attributes()?) {
            Ok(form) => form,
            Err(reason) => return Ok(Err(reason)),
        };
        let arrays = IndexArrays::find(file, group)?;
        if let Err(reason) = arrays.check_types(key_type) {
            return Ok(Err(reason));
        }
        let (Some(last), Some(last_rows)) = (arrays.last_sorted.elements()?, arrays.last_indices.elements()?) else {
            return Ok(Err("does not say how many values its last slice has".to_owned()));
        };
        let slices = match arrays.slices(slice_size, chunk_size, (last, last_rows)) {
            Ok(slices) => slices,
            Err(reason) => return Ok(Err(reason)),
        };
        let &[rows] = table.dataspace.shape() else { return Ok(Err("is of a table without rows".to_owned())) };
        let indexed = slices.checked_mul(slice_size).and_then(|all| all.checked_add(last));
        if indexed != Some(rows) {
            return Ok(Err(format!("has {} rows, and the table has {rows}", indexed.map_or("too many".to_owned(), |all| all.to_string()))));
        }
        let known = file.attributes(file.find(path)?.object)?.get("NROWS").map(whole_number);
        if known.is_some_and(|known| known != Some(rows)) {
            return Ok(Err("is of a table whose attribute NROWS is not its number of rows".to_owned()));
        }
        if slices.saturating_mul(slice_size.div_ceil(chunk_size) + 1) > MAX_BOUNDS || last.max(chunk_size.min(slice_size)) > MAX_VALUES {
            return Ok(Err("has more slices, or larger ones, than are kept in memory".to_owned()));
        }
        let ends = keys_of(file, arrays.ranges.id, &Selection::all(arrays.ranges.dataset.dataspace.shape()), key_type, &Cancellation::new())?;
        let ranges = ends.as_chunks::<2>().0.iter().map(|[first, last]| (*first, *last)).collect();
        let bounds = keys_of(file, arrays.bounds.id, &Selection::all(arrays.bounds.dataset.dataspace.shape()), key_type, &Cancellation::new())?;
        let (last_keys, is_verified, problem) = Default::default();
        Ok(Ok(Self {
            key_type,
            rows,
            sorted: arrays.sorted.id,
            indices: arrays.indices.id,
            last_sorted: arrays.last_sorted.id,
            last_indices: arrays.last_indices.id,
            slices,
            slice_size,
            chunk_size,
            last,
            ranges,
            bounds,
            last_keys,
            is_verified,
            problem,
        }))
    }

    /// Number of slices, with the last one.
    pub fn slice_count(&self) -> u64 {
        self.slices + u64::from(self.last > 0)
    }

    /// The positions of each slice.
    pub fn whole(&self) -> impl Iterator<Item = Span> + '_ {
        (0..self.slice_count()).map(|slice| Span { slice, positions: 0..if slice < self.slices { self.slice_size } else { self.last } })
    }

    /// Number of values in a whole slice.
    pub fn slice_size(&self) -> u64 {
        self.slice_size
    }

    /// Number of values in a chunk of a slice.
    pub fn chunk_size(&self) -> u64 {
        self.chunk_size
    }

    /// Whether it was compared with the table.
    pub fn is_verified(&self) -> bool {
        self.is_verified.load(Ordering::Relaxed)
    }

    pub fn set_verified(&self) {
        self.is_verified.store(true, Ordering::Relaxed);
    }

    /// Why it cannot be used, if that was found since it was opened.
    pub fn problem(&self) -> Option<&str> {
        self.problem.get().map(String::as_str)
    }

    pub fn set_problem(&self, problem: impl Into<String>) {
        // The first problem stands.
        let _ = self.problem.set(problem.into());
    }

    /// Where the values with keys from `first` to `last` are.
    ///
    /// # Errors
    /// `Corrupt` if values are not sorted; otherwise as of reading.
    pub fn spans(&self, file: &File, (first, last): (u64, u64), cancellation: &Cancellation) -> Result<Vec<Span>> {
        let mut found = Vec::new();
        for (slice, (low, high)) in (0..).zip(&self.ranges) {
            if *high < first || *low > last {
                continue;
            }
            let start = if first <= *low { 0 } else { self.position(file, slice, cancellation, |key| key < first)? };
            let end = if last >= *high { self.slice_size } else { self.position(file, slice, cancellation, |key| key <= last)? };
            found.push(Span { slice, positions: start..end });
        }
        if self.last > 0 {
            let keys = self.last_keys(file, cancellation)?;
            let position = |is_before: &dyn Fn(u64) -> bool| keys.partition_point(|key| is_before(*key)) as u64;
            found.push(Span { slice: self.slices, positions: position(&|key| key < first)..position(&|key| key <= last) });
        }
        found.retain(|span| !span.positions.is_empty());
        Ok(found)
    }

    /// Number of values at the beginning of a slice for which `is_before` holds.
    fn position(&self, file: &File, slice: u64, cancellation: &Cancellation, is_before: impl Fn(u64) -> bool) -> Result<u64> {
        let count = (self.slice_size.div_ceil(self.chunk_size) - 1) as usize;
        let start = slice as usize * count;
        let bounds = self.bounds.get(start..start + count).ok_or_else(|| Error::internal("a slice without bounds"))?;
        let begin = bounds.partition_point(|key| is_before(*key)) as u64 * self.chunk_size;
        let keys = self.keys(file, &Span { slice, positions: begin..(begin + self.chunk_size).min(self.slice_size) }, cancellation)?;
        if !keys.is_sorted() {
            return Err(unsorted());
        }
        Ok(begin + keys.partition_point(|key| is_before(*key)) as u64)
    }

    fn last_keys(&self, file: &File, cancellation: &Cancellation) -> Result<&[u64]> {
        if let Some(known) = self.last_keys.get() {
            return Ok(known);
        }
        let keys = self.keys(file, &Span { slice: self.slices, positions: 0..self.last }, cancellation)?;
        if !keys.is_sorted() {
            return Err(unsorted());
        }
        Ok(self.last_keys.get_or_init(|| keys))
    }

    /// The keys of a part of a slice.
    pub fn keys(&self, file: &File, span: &Span, cancellation: &Cancellation) -> Result<Vec<u64>> {
        let (dataset, selection) = self.part(file, span, self.sorted, self.last_sorted)?;
        keys_of(file, dataset, &selection, self.key_type, cancellation)
    }

    /// The rows of the values of a part of a slice. `Corrupt` if the table does not have one of them.
    pub fn rows_of(&self, file: &File, span: &Span, cancellation: &Cancellation) -> Result<Vec<u64>> {
        let (dataset, selection) = self.part(file, span, self.indices, self.last_indices)?;
        let read = values(file, dataset, &selection, cancellation)?;
        let rows = read.as_any().downcast_ref::<UInt64Array>().ok_or_else(|| Error::internal("rows of another type"))?.values();
        match rows.iter().find(|row| **row >= self.rows) {
            Some(row) => Err(Error::new(ErrorKind::Corrupt, format!("it has row {row} of {}", self.rows))),
            None => Ok(rows.to_vec()),
        }
    }

    fn part(&self, file: &File, span: &Span, whole: ObjectId, last: ObjectId) -> Result<(ObjectId, Selection)> {
        let positions = Axis::range(span.positions.start, span.positions.end);
        let (dataset, axes) = match span.slice < self.slices {
            true => (whole, vec![Axis::range(span.slice, span.slice + 1), positions]),
            false => (last, vec![positions]),
        };
        Ok((dataset, Selection::new(axes, file.dataset(dataset)?.dataspace.shape())?))
    }

    /// The ends of a whole slice, and the first keys of its chunks but the first: what look-ups believe of it.
    pub fn believed(&self, slice: u64) -> Option<((u64, u64), &[u64])> {
        let count = (self.slice_size.div_ceil(self.chunk_size) - 1) as usize;
        let start = slice as usize * count;
        Some((*self.ranges.get(slice as usize)?, self.bounds.get(start..start + count)?))
    }
}

fn unsorted() -> Error {
    Error::new(ErrorKind::Corrupt, "its values are not sorted")
}

/// Whether an attribute holds anything but zeros. One that cannot be read counts as set.
fn is_set(attribute: &Attribute) -> bool {
    attribute.value.as_ref().map_or(true, |value| value.bytes.iter().any(|byte| *byte != 0))
}

fn whole_number(attribute: &Attribute) -> Option<u64> {
    match numbers(attribute).ok().flatten()?.as_slice() {
        [number] if *number >= 0.0 && number.fract() == 0.0 && *number < 2f64.powi(53) => Some(*number as u64),
        _ => None,
    }
}

/// The keys of integers and of floats of 4 or 8 bytes; `None` for others. Byte orders may differ between a column and its index.
fn key_type(datatype: &Datatype) -> Option<KeyType> {
    match datatype {
        Datatype::Integer { size: size @ (1 | 2 | 4 | 8), signed, bit_offset: 0, bit_precision, .. } if u64::from(*bit_precision) == 8 * size => {
            let width = u8::try_from(*size).ok()?;
            Some(if *signed { KeyType::Signed(width) } else { KeyType::Unsigned(width) })
        }
        // PyTables does not sort floats of 2 bytes: its own queries of such an index lack rows.
        Datatype::Float { size: size @ (4 | 8), format, .. } if !matches!(format, FloatFormat::Custom(_)) => Some(KeyType::Float(u8::try_from(*size).ok()?)),
        _ => None,
    }
}

/// Elements of a dataset as they are stored.
pub(super) fn values(file: &File, dataset: ObjectId, selection: &Selection, cancellation: &Cancellation) -> Result<ArrayRef> {
    let elements = file.read(dataset, selection, cancellation)?;
    Column::new("values", &elements.datatype, &[], Conventions::Raw)?.to_arrow(&elements.bytes, &elements.heap)
}

fn keys_of(file: &File, dataset: ObjectId, selection: &Selection, key_type: KeyType, cancellation: &Cancellation) -> Result<Vec<u64>> {
    keys(key_type, &values(file, dataset, selection, cancellation)?)
}

/// Keys of numbers in PyTables' order: the zeros are equal, and NaN follows all others.
pub(super) fn keys(key_type: KeyType, values: &ArrayRef) -> Result<Vec<u64>> {
    let zero = match key_type {
        KeyType::Float(_) => key_type.at_least(0.0),
        _ => None,
    };
    // The smallest key of a number that is at least 0 is the key of -0.
    let one = |key: Option<u64>| match key {
        None => NAN,
        Some(key) if Some(key) == zero => key + 1,
        Some(key) => key,
    };
    Ok(key_type.keys(values)?.into_iter().map(one).collect())
}
