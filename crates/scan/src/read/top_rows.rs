//! Reads the first rows of a split in a sort order: the sort keys of windows that can have such rows, and other columns at the
//! rows that are found only.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, Int64Array, RecordBatch, Scalar, UInt32Array};
use arrow_ord::cmp;
use arrow_ord::sort::{SortColumn, SortOptions, lexsort_to_indices};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;
use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_predicate::KeyType;
use hyperslab_reader::Session;

use crate::access::sort_rank::{KnownRanks, Rank, RankOrder};
use crate::plan::Plan;
use crate::plan::split::Split;
use crate::pruner::RowSelection;
use crate::request::{ScanRequest, SortKey};
use crate::table::segment::{ROW, Segment, Source};
use crate::window::{Rows, WINDOW_BYTES, boxes};

type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// Size of a window, in bytes of sort keys, if windows can be skipped.
const FINE_WINDOW_BYTES: u64 = 1 << 20;

impl Split {
    /// The first `count` rows in the order of `keys`, or all rows if there are fewer, as batches in row order. Of equal rows,
    /// any are returned. Every key must be one of the split's columns.
    ///
    /// # Errors
    /// As [`Split::read`]; `Unsupported` for keys that are not numbers, text, booleans or times, and for tables that have a
    /// column called `_row` of their own.
    pub fn top_rows(&self, keys: &[SortKey], count: u64, session: &Session, cancellation: &Cancellation) -> Result<Vec<RecordBatch>> {
        let plan = self.plan(session, cancellation)?;
        let [part] = plan.parts.as_slice() else {
            return Err(Error::internal("a split has one object"));
        };
        let segment = &part.segment;
        if !segment.column(ROW).is_some_and(|column| matches!(column.source, Source::Row)) {
            return Err(Error::unsupported("sorting a table that has a column called \"_row\" is not supported here").at_object(&segment.path));
        }
        let mut sorted: Vec<String> = keys.iter().map(|key| key.column.clone()).collect::<BTreeSet<_>>().into_iter().collect();
        if sorted.iter().any(|name| plan.schema.field_with_name(name).is_err()) || keys.is_empty() {
            return Err(Error::invalid_input("rows are sorted by at least one of their columns"));
        }
        if !sorted.iter().any(|name| name == ROW) {
            sorted.push(ROW.to_owned());
        }
        let request = ScanRequest { columns: Some(sorted.clone()), limit: None, ..plan.request.as_ref().clone() };
        let keyed = Plan::of_segments(session, vec![segment.clone()], &request, cancellation)?;
        let best = keyed.best_rows(self.rows, keys, count, cancellation)?;
        let rest: Vec<String> = plan.schema.fields().iter().map(|field| field.name().clone()).filter(|name| !sorted.contains(name)).collect();
        // These rows are known to match, so their other columns are read without a condition.
        let segment = Segment { condition: None, ..segment.clone() };
        let request = ScanRequest { columns: Some(rest), predicate: None, ..request };
        Plan::of_segments(session, vec![segment], &request, cancellation)?.joined(&best, &plan.schema, cancellation)
    }
}

impl Plan {
    /// The first rows among `rows` of the plan's only segment, in row order.
    fn best_rows(&self, rows: Rows, keys: &[SortKey], count: u64, cancellation: &Cancellation) -> Result<RecordBatch> {
        let [part] = self.parts.as_slice() else {
            return Err(Error::internal("a split has one object"));
        };
        let mut best = BestRows::new(self.schema.clone(), keys, count)?;
        let first = keys.first().ok_or_else(|| Error::internal("a sort without keys"))?;
        let known = match best.order {
            Some(order) => KnownRanks::of(part, &first.column, order)?.map(|known| (known, order)),
            None => None,
        };
        let bytes = if known.is_some() { FINE_WINDOW_BYTES } else { WINDOW_BYTES };
        let mut windows: Vec<(Option<Rank>, Rows)> = Vec::new();
        for window in part.windows_of(&part.columns_read(), bytes)? {
            let mine = Rows { start: window.start.max(rows.start), end: window.end.min(rows.end) };
            if window.start >= rows.end {
                break;
            }
            for window in boxes(&part.selection, mine) {
                let rank = known.as_ref().map(|(known, order)| known.first(part, *order, window)).transpose()?.flatten();
                windows.push((rank, window));
            }
        }
        windows.sort_by_key(|(rank, _)| *rank);
        for (rank, window) in windows {
            if rank.is_none_or(|rank| best.may_improve(rank)) {
                best.add(part.read(window, &self.schema, cancellation)?)?;
            }
        }
        best.in_row_order()
    }

    /// The rows of `best` with the columns of `schema`: those that `best` lacks are read.
    fn joined(&self, best: &RecordBatch, schema: &SchemaRef, cancellation: &Cancellation) -> Result<Vec<RecordBatch>> {
        let [part] = self.parts.as_slice() else {
            return Err(Error::internal("a split has one object"));
        };
        let numbers = best.column_by_name(ROW).and_then(|rows| rows.as_any().downcast_ref::<Int64Array>());
        let numbers = numbers.ok_or_else(|| Error::internal("rows without numbers"))?;
        let number = |position: usize| if position < numbers.len() { u64::try_from(numbers.value(position)).ok() } else { None };
        let mut batches = Vec::new();
        let mut first = 0;
        for window in part.windows(&part.columns_read())? {
            if first >= best.num_rows() {
                break;
            }
            let mut end = first;
            while number(end).is_some_and(|row| row < window.end) {
                end += 1;
            }
            if end == first {
                continue;
            }
            let here = RowSelection::from_sorted((first..end).filter_map(number).map(|row| row.saturating_sub(window.start)));
            let here = here.ok_or_else(|| Error::internal("rows out of order"))?;
            let others = part.read_rows(window, here, &self.schema, cancellation)?;
            let sorted = best.slice(first, end - first);
            let columns = schema.fields().iter().map(|field| {
                let column = sorted.column_by_name(field.name()).or_else(|| others.column_by_name(field.name()));
                column.cloned().ok_or_else(|| Error::internal("a column was not read"))
            });
            batches.push(RecordBatch::try_new(schema.clone(), columns.collect::<Result<Vec<ArrayRef>>>()?).map_err(internal)?);
            first = end;
        }
        if first < best.num_rows() {
            return Err(Error::internal("rows beyond their segment"));
        }
        Ok(batches)
    }
}

fn internal(error: ArrowError) -> Error {
    Error::internal(error.to_string())
}

/// The first rows of those that were added.
struct BestRows<'a> {
    keys: &'a [SortKey],
    count: usize,
    rows: RecordBatch,
    /// The order of the first key, if its values have ranks.
    order: Option<RankOrder>,
    /// The first key of the last row of `rows`, if these are as many as wanted.
    last: Option<ArrayRef>,
    last_rank: Option<Rank>,
}

impl<'a> BestRows<'a> {
    fn new(schema: SchemaRef, keys: &'a [SortKey], count: u64) -> Result<Self> {
        for key in keys {
            let data_type = schema.field_with_name(&key.column).map_err(internal)?.data_type();
            if !is_sortable(data_type) {
                return Err(Error::unsupported(format!("sorting by column {:?} of Arrow type {data_type} is not supported", key.column)));
            }
        }
        let first = keys.first().ok_or_else(|| Error::internal("a sort without keys"))?;
        let key_type = KeyType::of(schema.field_with_name(&first.column).map_err(internal)?.data_type());
        Ok(Self {
            keys,
            count: usize::try_from(count).unwrap_or(usize::MAX),
            rows: RecordBatch::new_empty(schema),
            order: key_type.map(|key_type| RankOrder::new(key_type, first)),
            last: None,
            last_rank: None,
        })
    }

    /// Whether a row whose first key has this rank, or a later one, can be among the first rows.
    fn may_improve(&self, rank: Rank) -> bool {
        // If rows are equal in their only key, the ones read first are kept.
        self.last_rank.is_none_or(|last| if self.keys.len() == 1 { rank < last } else { rank <= last })
    }

    fn add(&mut self, batch: RecordBatch) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let batch = match (&self.last, self.keys.first()) {
            (Some(last), Some(first)) => {
                let values = comparable(batch.column_by_name(&first.column))?;
                filter_record_batch(&batch, &candidates(&values, last, first, self.keys.len() == 1)?).map_err(internal)?
            }
            _ => batch,
        };
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let all = concat_batches(&batch.schema(), [&self.rows, &batch]).map_err(internal)?;
        let order = self.sorted(&all)?;
        self.rows = take_record_batch(&all, &order).map_err(internal)?;
        if let (Some(position), Some(first)) = (self.count.checked_sub(1).filter(|last| *last < self.rows.num_rows()), self.keys.first()) {
            let last = comparable(self.rows.column_by_name(&first.column))?.slice(position, 1);
            self.last_rank = match self.order {
                Some(order) => order.ranks(&last)?.first().copied(),
                None => None,
            };
            self.last = Some(last);
        }
        Ok(())
    }

    /// The positions of the first rows of a batch, in their order.
    fn sorted(&self, batch: &RecordBatch) -> Result<UInt32Array> {
        let column = |key: &SortKey| {
            let values = comparable(batch.column_by_name(&key.column))?;
            Ok(SortColumn { values, options: Some(SortOptions { descending: key.descending, nulls_first: key.nulls_first }) })
        };
        lexsort_to_indices(&self.keys.iter().map(column).collect::<Result<Vec<_>>>()?, Some(self.count)).map_err(internal)
    }

    fn in_row_order(self) -> Result<RecordBatch> {
        let rows = self.rows.column_by_name(ROW).cloned().ok_or_else(|| Error::internal("rows without numbers"))?;
        let order = arrow_ord::sort::sort_to_indices(&rows, None, None).map_err(internal)?;
        take_record_batch(&self.rows, &order).map_err(internal)
    }
}

fn is_sortable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => matches!(values.as_ref(), DataType::Utf8),
        other => other.is_numeric() || matches!(other, DataType::Utf8 | DataType::Boolean | DataType::Timestamp(..) | DataType::Date32),
    }
}

/// Values for Arrow's total order of floats: one NaN, which is the greatest value, and one zero.
fn comparable(column: Option<&ArrayRef>) -> Result<ArrayRef> {
    let column = column.ok_or_else(|| Error::internal("a key was not read"))?;
    Ok(match column.data_type() {
        DataType::Float16 => Arc::new(column.as_primitive::<Float16Type>().unary::<_, Float16Type>(|v| {
            let v = v.to_f32();
            Half::from_f32(if v.is_nan() { f32::NAN } else { v + 0.0 })
        })),
        DataType::Float32 => Arc::new(column.as_primitive::<Float32Type>().unary::<_, Float32Type>(|v| if v.is_nan() { f32::NAN } else { v + 0.0 })),
        DataType::Float64 => Arc::new(column.as_primitive::<Float64Type>().unary::<_, Float64Type>(|v| if v.is_nan() { f64::NAN } else { v + 0.0 })),
        DataType::Dictionary(_, values) => arrow_cast::cast(column, values).map_err(internal)?,
        _ => column.clone(),
    })
}

/// The rows whose first key does not come after `last`; if `strict`, those whose first key comes before it.
fn candidates(values: &ArrayRef, last: &ArrayRef, key: &SortKey, strict: bool) -> Result<BooleanArray> {
    let nulls = values.logical_nulls();
    let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    if last.is_null(0) {
        // If nulls come last, every value comes before the last row; if they come first, only nulls are equal to it.
        return Ok((0..values.len()).map(|row| Some(if is_null(row) { !strict } else { !key.nulls_first })).collect());
    }
    let last = Scalar::new(last.clone());
    let passes = match (key.descending, strict) {
        (false, true) => cmp::lt(values, &last),
        (false, false) => cmp::lt_eq(values, &last),
        (true, true) => cmp::gt(values, &last),
        (true, false) => cmp::gt_eq(values, &last),
    };
    let passes = passes.map_err(internal)?;
    if nulls.is_none() {
        return Ok(passes);
    }
    Ok((0..passes.len()).map(|row| Some(if is_null(row) { key.nulls_first } else { passes.value(row) })).collect())
}
