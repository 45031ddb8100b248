//! Reads the columns of a window.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, FixedSizeListArray, Int64Array, RecordBatch, RecordBatchOptions, StructArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use hyperslab_array::{Axis, Cancellation, Datatype, Error, HeapObjects, Member, Result, Selection};
use hyperslab_columns::{Column, Conventions};
use hyperslab_formats::ObjectId;
use hyperslab_reader::{File, PooledBuffer, SCAN_CACHE_BYTES, read};

use super::coordinate_columns::{BroadcastKey, broadcast};
use super::cost_model::KEEP_MAX_ROWS;
use super::segment_scan::SegmentScan;
use crate::table::segment::Source;
use crate::window::{self, Rows};

/// A batch of columns with `rows` rows each; there may be no columns.
pub(super) fn batch(schema: SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options).map_err(|e| Error::internal(format!("batch: {e}")))
}

/// A window of a segment.
pub(crate) struct Window<'a> {
    part: &'a SegmentScan,
    /// The rows to read: all rows of the window, or the positions that have candidates.
    pub selection: Selection,
    /// Rows of `selection`.
    pub count: usize,
    /// Whether `selection` has single positions of the window.
    is_narrowed: bool,
    cancellation: &'a Cancellation,
}

/// What the values along a dimension are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Along {
    /// The window's indexes.
    Indexes,
    /// Values at the window's indexes, which another segment may have others of.
    Selected,
    /// Values of the whole dimension.
    Dimension,
}

impl<'a> Window<'a> {
    pub fn new(part: &'a SegmentScan, rows: Rows, cancellation: &'a Cancellation) -> Result<Self> {
        cancellation.check()?;
        let selection = window::select(&part.selection, rows);
        let count = selection.element_count()?;
        if count != rows.count() {
            return Err(Error::internal("a window is not a box"));
        }
        let count = usize::try_from(count).map_err(|_| Error::limit_exceeded("a window exceeds memory"))?;
        Ok(Self { part, selection, count, is_narrowed: false, cancellation })
    }

    /// Reads only `selection`, some of the window's positions.
    pub fn narrow_to(&mut self, selection: Selection) -> Result<()> {
        self.count = usize::try_from(selection.element_count()?).map_err(|_| Error::limit_exceeded("a window exceeds memory"))?;
        self.selection = selection;
        self.is_narrowed = true;
        Ok(())
    }

    /// Fails if the scan was cancelled.
    pub(super) fn check(&self) -> Result<()> {
        self.cancellation.check()
    }

    /// The file with the decoded chunks that windows of this scan, or of all scans that share a cache, keep for each other.
    pub(super) fn with_kept_chunks(&self, file: &File) -> File {
        file.with_chunks(file.session().scan_chunks().cloned().unwrap_or_else(|| self.part.coordinate_cache.chunks()))
    }

    /// The named columns as a batch.
    pub fn batch_of(&self, names: &[String]) -> Result<RecordBatch> {
        let columns = self.columns(names)?;
        let fields: Vec<Field> = names.iter().zip(&columns).map(|(name, column)| Field::new(name, column.data_type().clone(), true)).collect();
        batch(Arc::new(Schema::new(fields)), columns, self.count)
    }

    /// The named columns, in order.
    pub fn columns(&self, names: &[String]) -> Result<Vec<ArrayRef>> {
        let records = self.records(names)?;
        names.iter().map(|name| self.column(name, &records)).collect()
    }

    fn column(&self, name: &str, records: &HashMap<ObjectId, StructArray>) -> Result<ArrayRef> {
        let column = self.part.segment.column(name).ok_or_else(|| Error::internal(format!("no column {name}")))?;
        match &column.source {
            Source::Index { axis } => {
                let extent = *self.part.segment.shape.get(*axis).ok_or_else(|| Error::internal("no such axis"))?;
                self.along(name, *axis, Along::Indexes, || indexes(self.selection.axes().get(*axis), extent))
            }
            Source::Coordinate { axis, dataset, .. } => {
                let values = self.part.coordinates.get(dataset);
                self.along(name, *axis, Along::Dimension, || values.cloned().ok_or_else(|| Error::internal("coordinates were not loaded")))
            }
            Source::Variable { dataset, column, per_row } => {
                let (bytes, heap) = self.read(*dataset, column.datatype())?;
                let values = column.take_arrow(bytes.into_buffer(), &heap).map_err(|e| self.part.segment.file.place(*dataset, e))?;
                match per_row {
                    None => Ok(values),
                    Some(length) => self.lists(name, values, *length),
                }
            }
            Source::Mapped { dataset, column, mapping } => {
                let selection = Selection::new(mapping.axes(self.selection.axes())?, mapping.file.dataset(*dataset)?.dataspace.shape())?;
                let (bytes, heap) = self.read_of(&mapping.file, *dataset, &selection, column.datatype())?;
                column.take_arrow(bytes.into_buffer(), &heap).map_err(|e| mapping.file.place(*dataset, e))
            }
            Source::Member { dataset, member, .. } => {
                let description = self.part.segment.file.dataset(*dataset)?;
                let Datatype::Compound { members, .. } = &description.datatype else {
                    return Err(Error::internal("a member of a dataset that is not a compound"));
                };
                let member = members.get(*member).ok_or_else(|| Error::internal("no such member"))?;
                let record = records.get(dataset).and_then(|r| r.column_by_name(&member.name));
                record.cloned().ok_or_else(|| Error::internal(format!("member {} was not read", member.name)))
            }
            Source::Along { axis, values } => {
                let mine = self.selection.axes().get(*axis).ok_or_else(|| Error::internal("no such axis"))?;
                self.along(name, *axis, Along::Selected, || values.at(mine))
            }
            Source::Composed(composed) => self.composed(&column.field, composed, self.part.loaded.get(name)),
            Source::Row => self.row_numbers(),
            Source::Constant(value) => self.constant(value),
            Source::File => self.constant(&self.part.segment.file_name()),
        }
    }

    /// One value in every row.
    fn constant(&self, value: &ArrayRef) -> Result<ArrayRef> {
        match broadcast(self.part.segment.file.session(), value, &Axis::all(1), self.count, 1)? {
            Some(column) => Ok(column),
            None => take(value, vec![0; self.count]),
        }
    }

    /// The compound datasets in use, each read once and with only the members in use.
    fn records(&self, names: &[String]) -> Result<HashMap<ObjectId, StructArray>> {
        let mut wanted: HashMap<ObjectId, HashMap<usize, &Datatype>> = HashMap::new();
        for column in names.iter().filter_map(|name| self.part.segment.column(name)) {
            if let Source::Member { dataset, member, column } = &column.source {
                wanted.entry(*dataset).or_default().insert(*member, column.datatype());
            }
        }
        let mut records = HashMap::new();
        for (dataset, datatypes) in wanted {
            let description = self.part.segment.file.dataset(dataset)?;
            let Datatype::Compound { size, members } = &description.datatype else {
                return Err(Error::internal("records of a dataset that is not a compound"));
            };
            let members = members
                .iter()
                .enumerate()
                .filter_map(|(index, member)| Some(Member { datatype: (*datatypes.get(&index)?).clone(), ..member.clone() }))
                .collect();
            let projected = Datatype::Compound { size: *size, members };
            let (bytes, heap) = self.read(dataset, &projected)?;
            let array =
                Column::new("record", &projected, &[], Conventions::Raw)?.to_arrow(&bytes, &heap).map_err(|e| self.part.segment.file.place(dataset, e))?;
            let array = array.as_any().downcast_ref::<StructArray>();
            let array = array.ok_or_else(|| Error::internal("a compound is not a struct"))?;
            records.insert(dataset, array.clone());
        }
        Ok(records)
    }

    /// The window's elements of a dataset, with heap objects for `datatype`, which may have fewer members than the dataset.
    fn read(&self, dataset: ObjectId, datatype: &Datatype) -> Result<(PooledBuffer, HeapObjects)> {
        let file = &self.part.segment.file;
        let description = file.dataset(dataset)?;
        let shape = description.dataspace.shape();
        let mut axes = self.selection.axes().to_vec();
        axes.extend(shape.iter().skip(axes.len()).map(|&extent| Axis::all(extent)));
        let selection = Selection::new(axes, shape).map_err(|error| file.place(dataset, error))?;
        if self.shares_chunks(file, dataset, &selection)? {
            return self.read_of(&self.with_kept_chunks(file), dataset, &selection, datatype);
        }
        self.read_of(file, dataset, &selection, datatype)
    }

    /// Whether decoded chunks of this window should be kept for other windows.
    fn shares_chunks(&self, file: &File, dataset: ObjectId, selection: &Selection) -> Result<bool> {
        let description = file.dataset(dataset)?;
        if description.filters.is_empty() || selection.is_empty() {
            return Ok(false);
        }
        let rest = selection.axes().iter().skip(self.part.selection.axes().len());
        let all = self.part.selection.axes().iter().chain(rest);
        let extents = description.chunk_grid.chunk_shape();
        let bytes = window::shared_bytes(selection.axes().iter().zip(all).zip(extents.iter().copied()), description.datatype.size());
        Ok(bytes.is_some_and(|bytes| bytes <= SCAN_CACHE_BYTES))
    }

    pub(super) fn read_of(&self, file: &File, dataset: ObjectId, selection: &Selection, datatype: &Datatype) -> Result<(PooledBuffer, HeapObjects)> {
        let read = || {
            let bytes = match self.is_narrowed && self.count <= KEEP_MAX_ROWS {
                true => read::read_few_values(file, dataset, selection, self.cancellation)?,
                false => read::read_values(file, dataset, selection, self.cancellation)?,
            };
            let mut heap = read::heap(file, dataset, datatype, &bytes)?;
            file.name_references(datatype, &bytes, &mut heap)?;
            Ok((bytes, heap))
        };
        read().map_err(|error| file.place(dataset, error))
    }

    /// For each row of the window, its value along dimension `axis`. `along` says what `values` are.
    fn along(&self, name: &str, axis: usize, along: Along, values: impl FnOnce() -> Result<ArrayRef>) -> Result<ArrayRef> {
        let (outer, mine, inner) = self.around(axis)?;
        // The indexes along a dimension are the same in every scan.
        let scan = (along != Along::Indexes).then_some(self.part.id);
        self.part.coordinate_cache.column(name, BroadcastKey { scan, axis: mine.clone(), inner, outer }, |key| {
            let values = values()?;
            let all = Axis::all(key.axis.count());
            let mine = if along == Along::Dimension { &key.axis } else { &all };
            if let Some(column) = broadcast(self.part.segment.file.session(), &values, mine, inner, outer)? {
                return Ok(column);
            }
            take(&values, positions(mine, inner, outer)?)
        })
    }

    /// How often the values of a dimension are repeated as a whole, the dimension, and the number of cells per value.
    pub(super) fn around(&self, axis: usize) -> Result<(usize, &Axis, usize)> {
        let shape = self.selection.shape();
        let size = |extents: &[u64]| usize::try_from(extents.iter().product::<u64>());
        let (outer, inner) = (shape.get(..axis), shape.get(axis + 1..));
        let (Some(outer), Some(inner), Some(mine)) = (outer, inner, self.selection.axes().get(axis)) else {
            return Err(Error::internal("no such axis"));
        };
        let (Ok(outer), Ok(inner)) = (size(outer), size(inner)) else {
            return Err(Error::internal("a window exceeds memory"));
        };
        Ok((outer, mine, inner))
    }

    /// For each row of the window, its index along `axis`.
    fn positions(&self, axis: usize) -> Result<Vec<u64>> {
        let (outer, mine, inner) = self.around(axis)?;
        positions(mine, inner, outer)
    }

    fn row_numbers(&self) -> Result<ArrayRef> {
        let beyond = || Error::unsupported("row numbers beyond 63 bits");
        let mut numbers = vec![0i64; self.count];
        // `None` once it exceeds 63 bits: then only index 0 has a number.
        let mut stride = Some(1i64);
        for (axis, &extent) in self.part.segment.shape.iter().enumerate().rev() {
            for (number, index) in numbers.iter_mut().zip(self.positions(axis)?) {
                if index > 0 {
                    let offset = i64::try_from(index).ok().and_then(|index| index.checked_mul(stride?));
                    *number = offset.and_then(|offset| number.checked_add(offset)).ok_or_else(beyond)?;
                }
            }
            stride = i64::try_from(extent).ok().and_then(|extent| stride?.checked_mul(extent));
        }
        Ok(Arc::new(Int64Array::from(numbers)))
    }

    fn lists(&self, name: &str, values: ArrayRef, length: u64) -> Result<ArrayRef> {
        let column = self.part.segment.column(name).ok_or_else(|| Error::internal("no such column"))?;
        let DataType::FixedSizeList(item, _) = column.field.data_type() else {
            return Err(Error::internal("a row is not a list"));
        };
        let length = i32::try_from(length).map_err(|_| Error::internal("list length"))?;
        FixedSizeListArray::try_new_with_length(item.clone(), length, values, None, self.count)
            .map(|list| Arc::new(list) as ArrayRef)
            .map_err(|e| Error::internal(e.to_string()))
    }
}

/// The indexes that an axis selects.
fn indexes(axis: Option<&Axis>, extent: u64) -> Result<ArrayRef> {
    if i64::try_from(extent).is_err() {
        return Err(Error::unsupported("a dimension beyond 63 bits"));
    }
    let axis = axis.ok_or_else(|| Error::internal("no such axis"))?;
    Ok(Arc::new(Int64Array::from_iter_values(axis.indexes().map(u64::cast_signed))))
}

/// Each index of an axis `inner` times, and the whole `outer` times.
pub(super) fn positions(axis: &Axis, inner: usize, outer: usize) -> Result<Vec<u64>> {
    let mut once = Vec::new();
    for index in axis.indexes() {
        once.extend(std::iter::repeat_n(index, inner));
    }
    Ok(once.repeat(outer))
}

pub(super) fn take(values: &ArrayRef, positions: Vec<u64>) -> Result<ArrayRef> {
    arrow_select::take::take(values, &UInt64Array::from(positions), None).map_err(|e| Error::internal(e.to_string()))
}
