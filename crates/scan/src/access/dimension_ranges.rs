//! Turns conditions on one dimension into ranges of its indexes, so that chunks outside are never read.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use hyperslab_array::{Axis, Error, Result};
use hyperslab_predicate::BoundPredicate;

use super::cost_model::{AXIS_MAX_INDICES, DIMENSION_TEST_INDICES};

/// An axis narrowed by a predicate on its column.
pub(crate) struct Narrowed {
    pub axis: Axis,
    /// Whether the axis holds exactly the matching indexes; otherwise rows must still be tested.
    pub exact: bool,
}

/// The indexes along a dimension of `extent` for which `predicate` holds. `values` are the dimension's coordinate values; if
/// there are none, the indexes themselves are tested.
pub(crate) fn narrow(predicate: &BoundPredicate, field: &Arc<Field>, values: Option<&ArrayRef>, extent: u64) -> Result<Narrowed> {
    if values.is_some_and(|values| (values.len() as u64) < extent) {
        return Err(Error::internal("a dimension is longer than its coordinates"));
    }
    let mut kept = Kept::default();
    let mut start = 0;
    while start < extent {
        let end = (start + DIMENSION_TEST_INDICES).min(extent);
        let block: ArrayRef = match values {
            Some(values) => {
                let offset = usize::try_from(start).map_err(|_| Error::internal("coordinate index"))?;
                let length = usize::try_from(end - start).map_err(|_| Error::internal("coordinate index"))?;
                values.slice(offset, length)
            }
            None => {
                Arc::new((start..end).map(|i| i64::try_from(i).map_err(|_| Error::unsupported("a dimension beyond 63 bits"))).collect::<Result<Int64Array>>()?)
            }
        };
        kept.add(&evaluate(predicate, field, block)?, start);
        start = end;
    }
    Ok(kept.finish())
}

/// As [`narrow`] without values, for a predicate whose result changes only next to the `breaks`. Takes time proportional to
/// the number of breaks, not to the extent.
pub(crate) fn narrow_integers(predicate: &BoundPredicate, field: &Arc<Field>, breaks: &[i128], extent: u64) -> Result<Narrowed> {
    let Some(last) = extent.checked_sub(1) else { return Ok(Narrowed { axis: Axis::range(0, 0), exact: true }) };
    // First indexes of the runs with a constant result.
    let mut starts = vec![0];
    for floor in breaks {
        let near = [floor.saturating_sub(1), *floor, floor.saturating_add(1), floor.saturating_add(2)];
        starts.extend(near.iter().filter_map(|n| u64::try_from(*n).ok()).filter(|n| *n <= last));
    }
    starts.sort_unstable();
    starts.dedup();
    let tested = starts.iter().map(|n| i64::try_from(*n).map_err(|_| Error::unsupported("a dimension beyond 63 bits")));
    let mask = evaluate(predicate, field, Arc::new(tested.collect::<Result<Int64Array>>()?))?;
    let mut kept = Kept::default();
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(extent);
        if mask.is_valid(index) && mask.value(index) {
            kept.add_run(*start, end);
        }
    }
    Ok(kept.finish())
}

/// Evaluates a predicate that uses one column only.
pub(crate) fn evaluate(predicate: &BoundPredicate, field: &Arc<Field>, values: ArrayRef) -> Result<BooleanArray> {
    let rows = values.len();
    let field = Arc::new(field.as_ref().clone().with_nullable(true));
    let schema = Arc::new(Schema::new(vec![field]));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(schema, vec![values], &options).map_err(|e| Error::internal(format!("a batch of one column: {e}")))?;
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
            self.add_run(start + run_start as u64, start + run_end as u64);
        }
    }

    fn add_run(&mut self, start: u64, end: u64) {
        self.first.get_or_insert(start);
        self.last = end - 1;
        self.count += end - start;
        if (self.indices.len() as u64).saturating_add(end - start) > AXIS_MAX_INDICES {
            self.overflow = true;
        }
        if !self.overflow {
            self.indices.extend(start..end);
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

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::DataType;
    use hyperslab_array::ErrorKind;
    use hyperslab_predicate::Predicate;

    #[test]
    fn a_dimension_that_is_longer_than_its_coordinates_is_internal() -> Result<()> {
        let field = Arc::new(Field::new("i", DataType::Int64, false));
        let bound = Predicate::parse("i > 5")?.bind(&Schema::new(vec![field.clone()]))?;
        let values: ArrayRef = Arc::new(Int64Array::from(vec![1, 7, 9]));
        assert!(narrow(&bound, &field, Some(&values), 3).is_ok());
        assert!(narrow(&bound, &field, Some(&values), 4).is_err_and(|error| error.kind() == ErrorKind::Internal));
        Ok(())
    }

    #[test]
    fn breaks_give_what_testing_every_index_gives() -> Result<()> {
        let field = Arc::new(Field::new("i", DataType::Int64, false));
        let schema = Schema::new(vec![field.clone()]);
        for text in [
            "i > 5",
            "i >= 5.5",
            "i < 0",
            "i <= -1e40",
            "i = 7",
            "i = 7.5",
            "i != 7",
            "not i < 3",
            "i in (3, 5, 99, 100, -4, 2.5)",
            "i > 3 and i < 9",
            "i < 2 or i > 97",
            "not (i > 3 and i != 50)",
            "i is null",
            "i > 1e300",
            "i >= 99",
            "i = 0",
            "i between 4 and 6",
        ] {
            let predicate = Predicate::parse(text)?;
            let (bound, breaks) = (predicate.bind(&schema)?, predicate.integer_breaks());
            let breaks = breaks.ok_or_else(|| Error::internal(format!("{text} has constants of numbers")))?;
            for extent in [0, 1, 8, 100, 1000] {
                let (quick, slow) = (narrow_integers(&bound, &field, &breaks, extent)?, narrow(&bound, &field, None, extent)?);
                let indexes = |axis: &Axis| (0..axis.count()).filter_map(|n| axis.index(n)).collect::<Vec<_>>();
                assert_eq!((indexes(&quick.axis), quick.exact), (indexes(&slow.axis), slow.exact), "{text} {extent}");
            }
        }
        Ok(())
    }
}
