//! Narrow: the parts of a predicate that speak of one dimension become a hyperslab, so that chunks
//! outside are never read.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use hyperslab_array::{Axis, Error, Result};

use super::predicate::BoundPredicate;

/// Indexes tested at a time along a dimension without coordinate values.
const BLOCK: u64 = 1 << 20;
/// Most single indexes that an axis keeps; beyond, the bounding range is read and filtered.
const MOST_INDICES: usize = 4 << 20;

/// An axis narrowed by a predicate on its column.
pub(super) struct Narrowed {
    pub axis: Axis,
    /// Whether the axis holds just the matching indexes; else rows must still be tested.
    pub exact: bool,
}

/// The indexes along a dimension of `extent` for which `predicate` holds. `values` are the
/// dimension's coordinate values; without them, the indexes themselves are tested.
pub(super) fn narrow(
    predicate: &BoundPredicate,
    field: &Arc<Field>,
    values: Option<&ArrayRef>,
    extent: u64,
) -> Result<Narrowed> {
    let mut kept = Kept::default();
    let mut start = 0;
    while start < extent {
        let end = (start + BLOCK).min(extent);
        let block: ArrayRef = match values {
            Some(values) => {
                let offset = usize::try_from(start).map_err(|_| Error::internal("coordinate index"))?;
                let length = usize::try_from(end - start).map_err(|_| Error::internal("coordinate index"))?;
                values.slice(offset, length)
            }
            None => Arc::new(
                (start..end)
                    .map(|i| i64::try_from(i).map_err(|_| Error::unsupported("a dimension beyond 63 bits")))
                    .collect::<Result<Int64Array>>()?,
            ),
        };
        kept.add(&evaluate(predicate, field, block)?, start);
        start = end;
    }
    Ok(kept.finish())
}

/// Evaluates a predicate that uses one column only.
pub(super) fn evaluate(predicate: &BoundPredicate, field: &Arc<Field>, values: ArrayRef) -> Result<BooleanArray> {
    let rows = values.len();
    let field = Arc::new(field.as_ref().clone().with_nullable(true));
    let schema = Arc::new(Schema::new(vec![field]));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(schema, vec![values], &options)
        .map_err(|e| Error::internal(format!("a batch of one column: {e}")))?;
    predicate.evaluate(&batch)
}

#[derive(Default)]
struct Kept {
    first: Option<u64>,
    last: u64,
    count: u64,
    indices: Vec<u64>,
    overflow: bool,
}

impl Kept {
    fn add(&mut self, mask: &BooleanArray, start: u64) {
        for (run_start, run_end) in mask.values().set_slices() {
            let (run_start, run_end) = (start + run_start as u64, start + run_end as u64);
            self.first.get_or_insert(run_start);
            self.last = run_end - 1;
            self.count += run_end - run_start;
            if self.indices.len() + (run_end - run_start) as usize > MOST_INDICES {
                self.overflow = true;
            }
            if !self.overflow {
                self.indices.extend(run_start..run_end);
            }
        }
    }

    fn finish(self) -> Narrowed {
        let Some(first) = self.first else {
            return Narrowed { axis: Axis::range(0, 0), exact: true };
        };
        if self.last - first + 1 == self.count {
            return Narrowed { axis: Axis::range(first, self.last + 1), exact: true };
        }
        if self.overflow {
            return Narrowed { axis: Axis::range(first, self.last + 1), exact: false };
        }
        Narrowed { axis: Axis::Indices(self.indices), exact: true }
    }
}
