//! Reduces a plan by classes that callers give.

use arrow_array::RecordBatch;
use hyperslab_array::{Axis, Cancellation, Error, Result, Selection};

use super::elements::Kind;
use super::request::{LEFT_OUT, Reduction, SegmentClasses};
use super::result::record_batch;
use super::run::Work;
use crate::access::segment_scan::SegmentScan;
use crate::plan::Plan;

/// Bytes of the results of all tasks.
const STATE_BYTES: usize = 256 << 20;

impl Plan {
    /// Aggregates the plan's columns by groups. `classes` has one entry for each segment.
    ///
    /// Returns a row for each group that has rows, in the order of the groups: the classes of segments and dimensions that
    /// have more than one (`segment`, `axis0` …), `rows`, and for each measure `count0`, and as asked `sum0`, `least0`, `most0`
    /// (NaN is greater than every number, as in SQL), `squares0`, the sum of squared differences from the mean, and `quantile0`. If there is
    /// only one group, it is returned even without rows.
    ///
    /// # Errors
    /// `Unsupported` for a limited number of rows, or for values that cannot be reduced; `LimitExceeded` for too
    /// many groups; `InvalidInput` for classes that do not fit the segments. `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values
    /// cannot be read; `Cancelled`.
    pub fn reduce(&self, reduction: &Reduction, classes: &[SegmentClasses], cancellation: &Cancellation) -> Result<RecordBatch> {
        let segments = self.classed(reduction, classes)?;
        record_batch(&self.work(reduction, segments).run(&self.session, cancellation)?)
    }

    /// The windows into which [`Plan::reduce`] cuts the rows, and those of them whose values it does not read, since an index answers.
    ///
    /// # Errors
    /// As [`Plan::reduce`], but for those of values.
    pub fn reduced_windows(&self, reduction: &Reduction, classes: &[SegmentClasses], cancellation: &Cancellation) -> Result<(u64, u64)> {
        self.work(reduction, self.classed(reduction, classes)?).answered(cancellation)
    }

    /// Whether [`Plan::reduce`] can compute this; nothing is read.
    ///
    /// # Errors
    /// `Unsupported` for values that cannot be reduced; `LimitExceeded` for too many groups.
    pub fn check_reduction(&self, reduction: &Reduction) -> Result<()> {
        self.work(reduction, Vec::new()).prepared().map(drop)
    }

    fn work<'a>(&self, reduction: &'a Reduction, segments: Vec<(SegmentScan, &'a SegmentClasses)>) -> Work<'a> {
        let columns = self.schema.fields().iter().map(|field| (field.name().clone(), Kind::of(field.data_type()))).collect();
        Work { columns, reduction, segments, state_bytes: STATE_BYTES }
    }

    /// The segments that have rows, without the indexes that are left out.
    fn classed<'a>(&self, reduction: &Reduction, classes: &'a [SegmentClasses]) -> Result<Vec<(SegmentScan, &'a SegmentClasses)>> {
        let unfit = || Error::invalid_input("classes that do not fit the segments of a plan");
        self.dimensions()?;
        if classes.len() != self.parts.len() {
            return Err(unfit());
        }
        let mut found = Vec::new();
        for (part, classes) in self.parts().zip(classes).filter(|(_, classes)| classes.class != LEFT_OUT) {
            let shape = &part.segment.shape;
            let vectors = classes.vectors.iter().zip(&reduction.vector_axes);
            let fits = shape.len() == reduction.axis_classes.len()
                && classes.axes.len() == shape.len()
                && classes.vectors.len() == reduction.vector_axes.len()
                && classes.class < reduction.segment_classes
                && vectors.into_iter().all(|(vector, axis)| shape.get(*axis) == Some(&(vector.len() as u64)));
            if !fits {
                return Err(unfit());
            }
            let mut axes = Vec::new();
            for ((axis, of_axis), (extent, count)) in part.selection.axes().iter().zip(&classes.axes).zip(shape.iter().zip(&reduction.axis_classes)) {
                axes.push(match of_axis {
                    None => axis.clone(),
                    Some(of_axis) => {
                        if of_axis.len() as u64 != *extent || of_axis.iter().any(|class| class >= count && *class != LEFT_OUT) {
                            return Err(unfit());
                        }
                        kept(axis, of_axis)?
                    }
                });
            }
            found.push((part.restricted_to(Selection::new(axes, shape)?, part.wanted.clone()), classes));
        }
        Ok(found)
    }
}

/// The indexes of an axis that are in a class.
fn kept(axis: &Axis, classes: &[u32]) -> Result<Axis> {
    let is_kept = |index: &u64| usize::try_from(*index).ok().and_then(|index| classes.get(index)).is_some_and(|class| *class != LEFT_OUT);
    if !classes.contains(&LEFT_OUT) {
        return Ok(axis.clone());
    }
    let indexes: Vec<u64> = axis.indexes().filter(is_kept).collect();
    let runs = indexes.chunk_by(|one, next| one + 1 == *next).map(|run| (run.first().copied().unwrap_or(0), run.len() as u64));
    Axis::of_runs(runs)
}
