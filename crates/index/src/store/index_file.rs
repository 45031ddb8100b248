//! Index file: the index of some blocks, in an immutable Arrow IPC file with one row per block, which other tools can read.
//!
//! An index file is a file of its own, or a range of bytes of a shared file or of the data file. It is written here and read
//! by `index_reader`, which loads a few hundred bytes of each block at first and the rest on demand. Each row has a checksum,
//! and so has each page of 4096 bytes of its large parts. A damaged row or page is ignored: its block is read from the data.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::LargeBinaryBuilder;
use arrow_array::{ArrayRef, FixedSizeListArray, RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
use hyperslab_array::{Error, Region, Result};
use hyperslab_scan::pruner::Level;
use hyperslab_storage::{Existing, Output};

use crate::block::block_builder::Block;
use crate::block::zone::Zone;

/// Rows of a record batch, whose samples are read together when the first of its blocks is queried.
pub(crate) const BATCH_BLOCKS: usize = 32;
/// Bytes that share a checksum.
pub(crate) const PAGE_BYTES: usize = 4096;

/// Alignment of index files in a shared file, in bytes.
pub(crate) const FILE_ALIGNMENT: u64 = 64;

/// The index of a block, and the source that it was built from.
pub(crate) struct Row {
    pub region: Region,
    pub block: Block,
    /// Hash of the chunks around the block; see `fingerprint::chunk_hash`.
    pub source: u64,
}

/// The number of a level in index files.
pub(crate) fn level_number(level: Option<Level>) -> u8 {
    match level {
        None | Some(Level::Zone) => 0,
        Some(Level::Keys) => 1,
        Some(Level::Positions) => 2,
        Some(Level::Exact) => 3,
        Some(Level::Bitmaps) => 4,
        Some(Level::Words) => 5,
        Some(Level::Composite) => 6,
    }
}

/// The level with this number in index files.
pub(crate) fn level_of(number: u8) -> Option<Level> {
    Some(match number {
        0 => Level::Zone,
        1 => Level::Keys,
        2 => Level::Positions,
        3 => Level::Exact,
        4 => Level::Bitmaps,
        5 => Level::Words,
        6 => Level::Composite,
        _ => return None,
    })
}

/// The columns of an index file of blocks with `ndim` dimensions. Their order is part of the format.
fn schema(ndim: usize) -> Result<Schema> {
    let ndim = i32::try_from(ndim).map_err(|_| Error::internal("a dataset has too many dimensions"))?;
    let list = DataType::FixedSizeList(Arc::new(Field::new("item", DataType::UInt64, false)), ndim);
    let fixed = |name: &str, data_type: &DataType| Field::new(name, data_type.clone(), false);
    Ok(Schema::new(vec![
        fixed("origin", &list),
        fixed("shape", &list),
        fixed("level", &DataType::UInt8),
        fixed("numbers", &DataType::UInt32),
        fixed("nans", &DataType::UInt32),
        fixed("nulls", &DataType::UInt32),
        fixed("min", &DataType::UInt64),
        fixed("max", &DataType::UInt64),
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

/// Number of large columns: samples, starts, order, packed and bitmaps, in the order of the schema.
pub(crate) const LARGE_COLUMNS: usize = 5;

/// The checksums of a block's large parts: one per page, part after part.
fn checksums(parts: [&[u8]; LARGE_COLUMNS]) -> Vec<u8> {
    let pages = parts.into_iter().flat_map(|part| part.chunks(PAGE_BYTES));
    pages.flat_map(|page| crc32fast::hash(page).to_le_bytes()).collect()
}

/// The checksum of a row. It covers the lengths and checksums of the large parts instead of their bytes.
pub(crate) fn row_checksum(block: &Region, level: u8, zone: &Zone, source: u64, lengths: [u64; LARGE_COLUMNS], checksums: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    block.start.iter().chain(&block.count).for_each(|n| hasher.update(&n.to_le_bytes()));
    hasher.update(&[level]);
    [zone.numbers, zone.nans, zone.nulls].iter().for_each(|n| hasher.update(&n.to_le_bytes()));
    [zone.min, zone.max, zone.hash, source].iter().chain(&lengths).for_each(|n| hasher.update(&n.to_le_bytes()));
    hasher.update(checksums);
    hasher.finalize()
}

fn arrow(error: arrow_schema::ArrowError) -> Error {
    match error {
        arrow_schema::ArrowError::IoError(_, error) => error.into(),
        other => Error::internal(format!("cannot write an index file: {other}")),
    }
}

/// Writes to an [`Output`] sequentially.
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

/// An index file that is being written.
pub(crate) struct IndexFileWriter {
    writer: FileWriter<Sequential>,
}

impl IndexFileWriter {
    /// Creates an index file for blocks with `ndim` dimensions. It appears at `path` when it is finished.
    pub fn create(path: &Path, ndim: usize) -> Result<Self> {
        let schema = schema(ndim)?;
        let sequential = Sequential { output: Output::create_own(path)?, at: 0 };
        let writer = FileWriter::try_new(sequential, &schema).map_err(arrow)?;
        Ok(Self { writer })
    }

    /// Converts at most [`BATCH_BLOCKS`] rows, whose blocks have `ndim` dimensions, to a record batch. Performs no I/O.
    pub fn batch(ndim: usize, rows: &[Row]) -> Result<RecordBatch> {
        let item = Arc::new(Field::new("item", DataType::UInt64, false));
        let schema = Arc::new(schema(ndim)?);
        let ndim = i32::try_from(ndim).map_err(|_| Error::internal("a dataset has too many dimensions"))?;
        let lists = |of: fn(&Region) -> &Vec<u64>| {
            let values = UInt64Array::from_iter_values(rows.iter().flat_map(|row| of(&row.region).iter().copied()));
            FixedSizeListArray::try_new(item.clone(), ndim, Arc::new(values), None).map(|list| Arc::new(list) as ArrayRef).map_err(arrow)
        };
        let integers = |of: fn(&Row) -> u32| Arc::new(UInt32Array::from_iter_values(rows.iter().map(of))) as ArrayRef;
        let long_integers = |of: fn(&Row) -> u64| Arc::new(UInt64Array::from_iter_values(rows.iter().map(of))) as ArrayRef;
        let large = |of: fn(&Row) -> &[u8]| {
            let mut builder = LargeBinaryBuilder::with_capacity(rows.len(), rows.iter().map(|row| of(row).len()).sum());
            rows.iter().for_each(|row| builder.append_value(of(row)));
            Arc::new(builder.finish()) as ArrayRef
        };
        let mut sums = LargeBinaryBuilder::new();
        let mut row_sums = Vec::with_capacity(rows.len());
        for Row { region, block, source } in rows {
            let parts: [&[u8]; LARGE_COLUMNS] = [&block.samples, &block.starts, &block.order, &block.packed, &block.bitmaps];
            let pages = checksums(parts);
            let lengths = parts.map(|part| part.len() as u64);
            row_sums.push(row_checksum(region, level_number(block.level), &block.zone, *source, lengths, &pages));
            sums.append_value(&pages);
        }
        let columns = vec![
            lists(|region| &region.start)?,
            lists(|region| &region.count)?,
            Arc::new(UInt8Array::from_iter_values(rows.iter().map(|row| level_number(row.block.level)))),
            integers(|row| row.block.zone.numbers),
            integers(|row| row.block.zone.nans),
            integers(|row| row.block.zone.nulls),
            long_integers(|row| row.block.zone.min),
            long_integers(|row| row.block.zone.max),
            long_integers(|row| row.block.zone.hash),
            long_integers(|row| row.source),
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

    /// Encodes a whole index file in memory; for few rows.
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

    /// Completes and syncs the file and gives it its name. Returns its length in bytes.
    pub fn finish(mut self) -> Result<u64> {
        self.writer.finish().map_err(arrow)?;
        let Sequential { output, at } = self.writer.into_inner().map_err(arrow)?;
        output.publish(at, Existing::Keep)?;
        Ok(at)
    }
}
