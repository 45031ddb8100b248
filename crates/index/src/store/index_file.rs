//! Segment: the index of some blocks in one immutable file.
//!
//! The file is an Arrow IPC file of one row a block, so that others can look into it. We read its
//! parts where they lie: a few hundred bytes of each block when it is opened, the rest when asked for.
//! Each row has a checksum, and so have its large parts, page by page.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeListArray, RecordBatch, UInt32Array, UInt64Array, UInt8Array};
use arrow_array::builder::LargeBinaryBuilder;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
use hyperslab_array::{Error, Result};
use hyperslab_scan::pruner::Level;
use hyperslab_storage::{Existing, Output};

use crate::build::block::Block;
use crate::build::block_grid::BlockBox;

/// Rows of a record batch: what is read together when a block is first asked.
pub(crate) const BATCH_BLOCKS: usize = 32;
/// Bytes that share a checksum.
pub(crate) const PAGE_BYTES: usize = 4096;

/// A block's index and what it was made of.
pub(crate) struct Row {
    pub place: BlockBox,
    pub block: Block,
    /// Of the chunks that the values were in: addresses, and stored bytes where they are filtered.
    pub source: u64,
}

pub(crate) fn level_number(level: Option<Level>) -> u8 {
    match level {
        None | Some(Level::Zone) => 0,
        Some(Level::Keys) => 1,
        Some(Level::Positions) => 2,
        Some(Level::Exact) => 3,
        Some(Level::Bitmaps) => 4,
    }
}

pub(crate) fn level_of(number: u8) -> Option<Level> {
    Some(match number {
        0 => Level::Zone,
        1 => Level::Keys,
        2 => Level::Positions,
        3 => Level::Exact,
        4 => Level::Bitmaps,
        _ => return None,
    })
}

/// The columns of a segment of blocks with so many dimensions. Their order is part of the format.
fn schema(ndim: usize) -> Result<Schema> {
    let ndim = i32::try_from(ndim).map_err(|_| Error::internal("dimensions"))?;
    let place = DataType::FixedSizeList(Arc::new(Field::new("item", DataType::UInt64, false)), ndim);
    let fixed = |name: &str, data_type: &DataType| Field::new(name, data_type.clone(), false);
    Ok(Schema::new(vec![
        fixed("origin", &place),
        fixed("shape", &place),
        fixed("level", &DataType::UInt8),
        fixed("numbers", &DataType::UInt32),
        fixed("nans", &DataType::UInt32),
        fixed("nulls", &DataType::UInt32),
        fixed("least", &DataType::UInt64),
        fixed("greatest", &DataType::UInt64),
        fixed("hash", &DataType::UInt64),
        fixed("source", &DataType::UInt64),
        fixed("samples", &DataType::LargeBinary),
        fixed("starts", &DataType::LargeBinary),
        fixed("order", &DataType::LargeBinary),
        fixed("packed", &DataType::LargeBinary),
        fixed("bitmaps", &DataType::LargeBinary),
        fixed("checksums", &DataType::LargeBinary),
        fixed("row_checksum", &DataType::UInt32),
    ]))
}

/// The large columns, in the order of the schema.
pub(crate) const LARGE: usize = 5;

/// The checksums of a block's large parts: one of each page of each of them.
fn checksums(parts: [&[u8]; LARGE]) -> Vec<u8> {
    let pages = parts.into_iter().flat_map(|part| part.chunks(PAGE_BYTES));
    pages.flat_map(|page| crc32fast::hash(page).to_le_bytes()).collect()
}

/// The checksum of all of a row but its large parts, of which it has the lengths and checksums.
pub(crate) fn row_checksum(place: &BlockBox, level: u8, zone: &crate::build::block::Zone, source: u64, lengths: [u64; LARGE], checksums: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    place.origin.iter().chain(&place.shape).for_each(|n| hasher.update(&n.to_le_bytes()));
    hasher.update(&[level]);
    [zone.numbers, zone.nans, zone.nulls].iter().for_each(|n| hasher.update(&n.to_le_bytes()));
    [zone.least, zone.greatest, zone.hash, source].iter().chain(&lengths).for_each(|n| hasher.update(&n.to_le_bytes()));
    hasher.update(checksums);
    hasher.finalize()
}

fn arrow(error: arrow_schema::ArrowError) -> Error {
    match error {
        arrow_schema::ArrowError::IoError(_, error) => error.into(),
        other => Error::internal(format!("a segment of an index: {other}")),
    }
}

/// One byte after the other into an [`Output`].
struct Sequential {
    output: Output,
    at: u64,
}

impl Write for Sequential {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.output.write_at(self.at, bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A segment that is being written.
pub(crate) struct SegmentWriter {
    writer: FileWriter<Sequential>,
}

impl SegmentWriter {
    /// Begins the segment that will be at `path`, for blocks of `ndim` dimensions.
    pub fn create(path: &Path, ndim: usize) -> Result<Self> {
        let schema = schema(ndim)?;
        let sequential = Sequential { output: Output::create_own(path)?, at: 0 };
        let writer = FileWriter::try_new(sequential, &schema).map_err(arrow)?;
        Ok(Self { writer })
    }

    /// The record batch of rows, at most [`BATCH_BLOCKS`], of blocks with `ndim` dimensions; computes only.
    pub fn batch(ndim: usize, rows: &[Row]) -> Result<RecordBatch> {
        let item = Arc::new(Field::new("item", DataType::UInt64, false));
        let schema = Arc::new(schema(ndim)?);
        let ndim = i32::try_from(ndim).map_err(|_| Error::internal("dimensions"))?;
        let places = |of: fn(&BlockBox) -> &Vec<u64>| {
            let values = UInt64Array::from_iter_values(rows.iter().flat_map(|row| of(&row.place).iter().copied()));
            FixedSizeListArray::try_new(item.clone(), ndim, Arc::new(values), None).map(|list| Arc::new(list) as ArrayRef).map_err(arrow)
        };
        let short = |of: fn(&Row) -> u32| Arc::new(UInt32Array::from_iter_values(rows.iter().map(of))) as ArrayRef;
        let long = |of: fn(&Row) -> u64| Arc::new(UInt64Array::from_iter_values(rows.iter().map(of))) as ArrayRef;
        let large = |of: fn(&Row) -> &[u8]| {
            let mut builder = LargeBinaryBuilder::with_capacity(rows.len(), rows.iter().map(|row| of(row).len()).sum());
            rows.iter().for_each(|row| builder.append_value(of(row)));
            Arc::new(builder.finish()) as ArrayRef
        };
        let mut sums = LargeBinaryBuilder::new();
        let mut row_sums = Vec::with_capacity(rows.len());
        for Row { place, block, source } in rows {
            let parts: [&[u8]; LARGE] = [&block.samples, &block.starts, &block.order, &block.packed, &block.bitmaps];
            let pages = checksums(parts);
            let lengths = parts.map(|part| part.len() as u64);
            row_sums.push(row_checksum(place, level_number(block.level), &block.zone, *source, lengths, &pages));
            sums.append_value(&pages);
        }
        let columns = vec![
            places(|place| &place.origin)?,
            places(|place| &place.shape)?,
            Arc::new(UInt8Array::from_iter_values(rows.iter().map(|row| level_number(row.block.level)))),
            short(|row| row.block.zone.numbers),
            short(|row| row.block.zone.nans),
            short(|row| row.block.zone.nulls),
            long(|row| row.block.zone.least),
            long(|row| row.block.zone.greatest),
            long(|row| row.block.zone.hash),
            long(|row| row.source),
            large(|row| &row.block.samples),
            large(|row| &row.block.starts),
            large(|row| &row.block.order),
            large(|row| &row.block.packed),
            large(|row| &row.block.bitmaps),
            Arc::new(sums.finish()),
            Arc::new(UInt32Array::from(row_sums)),
        ];
        RecordBatch::try_new(schema, columns).map_err(arrow)
    }

    /// The bytes of a whole segment of few rows, of blocks with `ndim` dimensions.
    pub fn in_memory(ndim: usize, rows: &[Row]) -> Result<Vec<u8>> {
        let mut writer = FileWriter::try_new(Vec::new(), &schema(ndim)?).map_err(arrow)?;
        for rows in rows.chunks(BATCH_BLOCKS) {
            writer.write(&Self::batch(ndim, rows)?).map_err(arrow)?;
        }
        writer.finish().map_err(arrow)?;
        writer.into_inner().map_err(arrow)
    }

    /// See [`Output::syncer`].
    pub fn syncer(&self) -> Option<std::fs::File> {
        self.writer.get_ref().output.syncer()
    }

    /// Writes a batch.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(arrow)
    }

    /// Ends the file, waits until it is on the disk, and gives it its name. Its length in bytes.
    pub fn finish(mut self) -> Result<u64> {
        self.writer.finish().map_err(arrow)?;
        let Sequential { output, at } = self.writer.into_inner().map_err(arrow)?;
        output.publish(at, Existing::Keep)?;
        Ok(at)
    }
}
