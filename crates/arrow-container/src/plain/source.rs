//! The file: Arrow IPC or Parquet, recognized by its first bytes.

use std::io::Read;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;

use crate::error::{Error, Result, error};
use crate::files::ipc::{self, FoundBatch};
use crate::files::regular::open_named;

/// Rows of a Parquet file that are decoded at a time.
const ROWS: usize = 64 << 10;

/// The number of rows of a record batch, and offset and length of each buffer of a column.
pub(super) type Places = (u64, Vec<(u64, u64)>);

/// A plain file.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) schema: SchemaRef,
    pub(super) rows: u64,
    /// For each column, whether it may have nulls at any level.
    pub(super) nulls: Vec<bool>,
    /// The record batches of an Arrow file; `None` for a Parquet file.
    batches: Option<Vec<FoundBatch>>,
}

impl From<ParquetError> for Error {
    fn from(error: ParquetError) -> Self {
        error!("Parquet: {error}").with_source(error)
    }
}

fn start_of(path: &Path) -> [u8; 8] {
    let mut start = [0; 8];
    if let Ok(mut file) = open_named(path) {
        let _ = file.read(&mut start);
    }
    start
}

/// Whether a path is an Arrow IPC or a Parquet file.
pub(crate) fn is_plain(path: &Path) -> bool {
    let start = start_of(path);
    start == *b"ARROW1\0\0" || start.starts_with(b"PAR1")
}

/// Describes a file that looks similar to Arrow IPC or Parquet but is not supported.
pub(crate) fn other_form(path: &Path) -> Option<&'static str> {
    match start_of(path) {
        [b'F', b'E', b'A', b'1', ..] => Some("a Feather file of version 1; rewrite it with pyarrow.feather.write_feather"),
        [b'P', b'A', b'R', b'E', ..] => Some("an encrypted Parquet file, which is not supported"),
        [0xff, 0xff, 0xff, 0xff, ..] => Some("probably an Arrow stream; write it as a file (pyarrow.ipc.new_file)"),
        _ => None,
    }
}

impl Source {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let named = |failure: Error| failure.in_context(path.display());
        if start_of(path).starts_with(b"PAR1") { Self::parquet(path) } else { Self::arrow(path) }.map_err(named)
    }

    fn arrow(path: &Path) -> Result<Self> {
        let file = open_named(path)?;
        let found = ipc::find(&file, 0, file.metadata()?.len())?;
        // The reader checks what `find` ignores, such as byte order and dictionaries.
        let schema = FileReader::try_new_buffered(file, None)?.schema();
        let mut nulls = vec![false; schema.fields().len()];
        let mut rows = 0u64;
        for batch in &found.batches {
            rows = rows.checked_add(batch.rows).ok_or_else(|| error!("the number of rows exceeds 64 bits"))?;
            let mut nodes = batch.nodes.iter();
            for (field, nulls) in schema.fields().iter().zip(&mut nulls) {
                match count_nodes(field.data_type()) {
                    Some(count) => {
                        *nulls |= nodes.by_ref().take(count).any(|(_, nulls)| *nulls > 0)
                            || matches!(field.data_type(), DataType::Dictionary(..)) && field.is_nullable()
                    }
                    None => {
                        return Ok(Self {
                            path: path.to_path_buf(),
                            nulls: schema.fields().iter().map(|_| true).collect(),
                            schema,
                            rows: found.batches.iter().map(|batch| batch.rows).sum(),
                            batches: Some(found.batches),
                        });
                    }
                }
            }
        }
        Ok(Self { path: path.to_path_buf(), schema, rows, nulls, batches: Some(found.batches) })
    }

    fn parquet(path: &Path) -> Result<Self> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(open_named(path)?)?;
        let metadata = builder.metadata();
        let rows = u64::try_from(metadata.file_metadata().num_rows()).map_err(|_| error!("the number of rows is negative"))?;
        let schema = std::sync::Arc::clone(builder.schema());
        let mut nulls = vec![false; schema.fields().len()];
        let columns = metadata.file_metadata().schema_descr();
        for group in metadata.row_groups() {
            for (leaf, chunk) in group.columns().iter().enumerate() {
                let none = columns.column(leaf).max_def_level() == 0 || chunk.statistics().and_then(|statistics| statistics.null_count_opt()) == Some(0);
                if let Some(nulls) = nulls.get_mut(columns.get_column_root_idx(leaf)) {
                    *nulls |= !none;
                }
            }
        }
        Ok(Self { path: path.to_path_buf(), schema, rows, nulls, batches: None })
    }

    /// Calls `take` with each record batch, reduced to these columns, whose indices must increase.
    pub(super) fn each(&self, columns: &[usize], mut take: impl FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        let mut rows = 0;
        let mut taken = |batch: &RecordBatch| {
            rows += batch.num_rows() as u64;
            take(batch)
        };
        let file = open_named(&self.path).map_err(|error| error!("{}: {error}", self.path.display()).with_source(error))?;
        if self.batches.is_some() {
            for batch in FileReader::try_new_buffered(file, Some(columns.to_vec()))? {
                taken(&batch?)?;
            }
        } else {
            let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
            let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
            for batch in builder.with_projection(mask).with_batch_size(ROWS).build()? {
                taken(&batch?)?;
            }
        }
        if rows == self.rows { Ok(()) } else { Err(error!("{}: it has {rows} rows now, but had {} when it was opened", self.path.display(), self.rows)) }
    }

    /// The location of a column's numbers in each record batch: (rows, buffers). `None` if they must be decoded first.
    pub(super) fn places(&self, column: usize) -> Option<Vec<Places>> {
        if self.nulls.get(column).copied().unwrap_or(true) {
            return None;
        }
        let mut found = Vec::new();
        for batch in self.batches.as_ref()? {
            if batch.compressed {
                return None;
            }
            let mut buffers = batch.buffers.iter().copied();
            for field in self.schema.fields().iter().take(column) {
                skip_buffers(field.data_type(), &mut buffers)?;
            }
            let mut places = Vec::new();
            plain_buffers(self.schema.fields().get(column)?.data_type(), &mut buffers, &mut places)?;
            found.push((batch.rows, places));
        }
        Some(found)
    }
}

/// The number of nodes of a column; `None` for types whose layout varies between files.
fn count_nodes(data_type: &DataType) -> Option<usize> {
    Some(
        1 + match data_type {
            DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) | DataType::Map(field, _) => count_nodes(field.data_type())?,
            DataType::Struct(fields) => fields.iter().map(|field| count_nodes(field.data_type())).sum::<Option<usize>>()?,
            DataType::Union(..) | DataType::RunEndEncoded(..) | DataType::ListView(_) | DataType::LargeListView(_) => return None,
            _ => 0,
        },
    )
}

fn skip_buffers(data_type: &DataType, buffers: &mut impl Iterator<Item = (u64, u64)>) -> Option<()> {
    let own = match data_type {
        DataType::Null => 0,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => 3,
        DataType::FixedSizeList(..) | DataType::Struct(_) => 1,
        DataType::Union(..) | DataType::RunEndEncoded(..) | DataType::ListView(_) | DataType::LargeListView(_) | DataType::Utf8View | DataType::BinaryView => {
            return None;
        }
        _ => 2,
    };
    for _ in 0..own {
        buffers.next()?;
    }
    match data_type {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) | DataType::Map(field, _) => {
            skip_buffers(field.data_type(), buffers)
        }
        DataType::Struct(fields) => fields.iter().try_for_each(|field| skip_buffers(field.data_type(), buffers)),
        _ => Some(()),
    }
}

fn plain_buffers(data_type: &DataType, buffers: &mut impl Iterator<Item = (u64, u64)>, out: &mut Vec<(u64, u64)>) -> Option<()> {
    let _validity = buffers.next()?;
    match data_type {
        DataType::FixedSizeList(field, _) => plain_buffers(field.data_type(), buffers, out),
        DataType::Struct(fields) => fields.iter().try_for_each(|field| plain_buffers(field.data_type(), buffers, out)),
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) | DataType::Boolean => None,
        DataType::FixedSizeBinary(_) => {
            out.push(buffers.next()?);
            Some(())
        }
        number if number.primitive_width().is_some() => {
            out.push(buffers.next()?);
            Some(())
        }
        _ => None,
    }
}
