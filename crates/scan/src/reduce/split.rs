//! Groups of one split: aggregates by columns that follow from dimensions, which a program combines with those of other splits.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::{Field, Schema, SchemaRef};
use hyperslab_array::{Cancellation, Error, Result, Selection};
use hyperslab_reader::Session;

use super::classes::{Classes, is_key};
use super::dimensions::{MAX_INDEXES, axis_of, values_along};
use super::elements::Kind;
use super::expression::Expression;
use super::request::{Measure, Reduction, SegmentClasses};
use super::result::summaries;
use super::run::{Work, bytes_per_group};
use crate::access::segment_scan::SegmentScan;
use crate::plan::Plan;
use crate::plan::split::Split;
use crate::read::aggregate::Summary;
use crate::read::batches::Batches;
use crate::window::{Rows, boxes, select};

/// Bytes of the results of one split: a process reads several splits at a time.
const STATE_BYTES: usize = 32 << 20;

/// A column to aggregate: its nulls are counted in any case.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Measured {
    /// Its name.
    pub column: String,
    /// Whether its values are summed.
    pub sum: bool,
    /// Whether the least and the greatest value are found.
    pub extremes: bool,
}

impl Measured {
    /// A column whose values are counted, and summed or compared as said.
    #[must_use]
    pub fn new(column: String, sum: bool, extremes: bool) -> Self {
        Self { column, sum, extremes }
    }

    /// What a reduction computes of it, if it is the column of this number.
    fn measure(&self, number: usize) -> Measure {
        Measure { argument: Expression::Column { column: number }, filter: None, sum: self.sum, extremes: self.extremes, deviations: false, quantile: None }
    }
}

/// The aggregates of a split by groups.
#[derive(Debug)]
#[non_exhaustive]
pub struct Groups {
    /// The schema of the split's rows.
    pub schema: SchemaRef,
    /// The columns of keys, with a row for each group that has rows.
    pub keys: RecordBatch,
    /// Number of rows of each group.
    pub rows: Vec<u64>,
    /// For each measured column a summary of each group. Without `extremes`, NaN counts as a value.
    pub summaries: Vec<Vec<Summary>>,
}

/// What a split gives to a program that groups its rows.
#[expect(clippy::exhaustive_enums, reason = "callers handle both")]
pub enum GroupedSplit {
    /// Its groups.
    Groups(Groups),
    /// Its rows, if they do not form groups by dimensions, or too many.
    Rows(Batches),
}

impl Split {
    /// Aggregates the split's rows by `keys`, which must be columns of the split, as the measured columns must.
    ///
    /// # Errors
    /// As [`Split::read`]; `NotFound` for a column that the split does not have, `Unsupported` for sums and extremes of other values than
    /// numbers and times. `Io`, `Corrupt`, `Unsupported` or `LimitExceeded` if values cannot be read; `Cancelled`.
    pub fn group(&self, keys: &[String], measured: &[Measured], session: &Session, cancellation: &Cancellation) -> Result<GroupedSplit> {
        let plan = self.plan(session, cancellation)?;
        match plan.groups_of(self.rows, keys, measured, cancellation)? {
            Some(groups) => Ok(GroupedSplit::Groups(groups)),
            None => plan.read_rows(self.rows, cancellation).map(GroupedSplit::Rows),
        }
    }
}

impl Plan {
    /// An upper bound of the number of groups by `keys`, summed over segments; `None` if [`Split::group`] would return rows.
    ///
    /// # Errors
    /// `NotFound` for a column that the plan does not have.
    pub fn group_bound(&self, keys: &[String]) -> Result<Option<u64>> {
        let mut bound = 0u64;
        for part in self.parts() {
            let Some(keys) = key_axes(part, keys)? else { return Ok(None) };
            let mut axes: Vec<usize> = keys.into_iter().flatten().collect();
            axes.sort_unstable();
            axes.dedup();
            let counts = axes.iter().filter_map(|axis| Some(part.selection.axes().get(*axis)?.count()));
            bound = bound.saturating_add(counts.fold(1, u64::saturating_mul));
        }
        Ok(Some(bound))
    }

    fn groups_of(&self, rows: Rows, keys: &[String], measured: &[Measured], cancellation: &Cancellation) -> Result<Option<Groups>> {
        let part = self.part_with(rows)?;
        let Some(axes) = key_axes(part, keys)?.filter(|_| self.request.limit.is_none()) else { return Ok(None) };
        let keys = keys.iter().zip(axes).map(|(name, axis)| GroupKey::of(part, name, axis, cancellation)).collect::<Result<Vec<_>>>()?;
        let boxes: Vec<Selection> = boxes(&part.selection, rows).map(|rows| select(&part.selection, rows)).collect();
        let max_groups = STATE_BYTES / bytes_per_group(measured.len());
        let Some(classes) = classes_of(part, &keys, &boxes, max_groups)? else { return Ok(None) };
        let counts: Vec<u32> = classes.iter().map(|classes| classes.as_ref().map_or(1, |classes| classes.first.len() as u32)).collect();
        let axes = classes.iter().map(|classes| classes.as_ref().map(|classes| classes.of_indexes.clone())).collect();
        let of_segment = SegmentClasses { class: 0, axes, vectors: Vec::new() };
        let columns = measured.iter().map(|measured| self.column_to_read(measured)).collect::<Result<Vec<_>>>()?;
        let measures = measured.iter().enumerate().map(|(number, measured)| measured.measure(number)).collect();
        let reduction = Reduction { segment_classes: 1, axis_classes: counts, measures, ..Reduction::default() };
        let wanted: Arc<[String]> = columns.iter().map(|(name, _)| name.clone()).collect();
        let segments = boxes.into_iter().map(|of_box| (part.restricted_to(of_box, wanted.clone()), &of_segment)).collect();
        let reduced = Work { columns, reduction: &reduction, segments, state_bytes: STATE_BYTES }.run(&self.session, cancellation)?;
        let kept: Vec<usize> = reduced.rows.iter().enumerate().filter(|(_, count)| **count > 0).map(|(group, _)| group).collect();
        let index_of = |group: usize, axis: usize| {
            let first = classes.get(axis)?.as_ref()?.first.get(reduced.layout.class_along(group, axis));
            first.copied()
        };
        Ok(Some(Groups {
            schema: self.schema.clone(),
            keys: key_columns(&self.schema, &keys, &kept, index_of)?,
            rows: kept.iter().filter_map(|group| reduced.rows.get(*group).copied()).collect(),
            summaries: reduced.accumulators.iter().map(|accumulator| summaries(accumulator, &reduced.rows, &kept)).collect(),
        }))
    }

    /// A measured column with its type.
    fn column_to_read(&self, measured: &Measured) -> Result<(String, Kind)> {
        let field = self.schema.field_with_name(&measured.column).map_err(|error| Error::not_found(error.to_string()))?;
        Ok((measured.column.clone(), Kind::of(field.data_type())))
    }
}

/// A column by which rows are grouped.
struct GroupKey {
    name: String,
    /// The dimension that it follows from; `None` if it has one value.
    axis: Option<usize>,
    values: ArrayRef,
}

impl GroupKey {
    fn of(part: &SegmentScan, name: &str, axis: Option<usize>, cancellation: &Cancellation) -> Result<Self> {
        let internal = || Error::internal("a key that its segment does not have");
        let extent = axis.map_or(Some(1), |axis| part.segment.shape.get(axis).copied()).ok_or_else(internal)?;
        let values = values_along(part, part.segment.column(name).ok_or_else(internal)?, extent, cancellation)?;
        Ok(Self { name: name.to_owned(), axis, values })
    }
}

/// The dimension that each key follows from, `None` for one that has one value. Returns `None` if a key does not follow from a dimension, or if
/// indexes find rows faster than a reduction reads.
fn key_axes(part: &SegmentScan, keys: &[String]) -> Result<Option<Vec<Option<usize>>>> {
    let ndim = part.segment.shape.len();
    let mut found = Vec::new();
    for name in keys {
        let column = part.segment.column(name).ok_or_else(|| Error::not_found(format!("there is no column {name:?}")))?;
        let Some(axis) = axis_of(column, ndim).filter(|_| is_key(column.field.data_type())) else { return Ok(None) };
        if axis.and_then(|axis| part.segment.shape.get(axis)).is_some_and(|extent| *extent > MAX_INDEXES) {
            return Ok(None);
        }
        found.push(axis);
    }
    Ok(Some(found).filter(|_| part.indexed_predicates.is_empty()))
}

/// For each dimension the classes of the indexes that boxes have along it, `None` if no key follows from it. Returns `None` for more than
/// `max_groups` groups.
fn classes_of(part: &SegmentScan, keys: &[GroupKey], boxes: &[Selection], max_groups: usize) -> Result<Option<Vec<Option<Classes>>>> {
    let (mut found, mut groups) = (Vec::new(), 1usize);
    for (axis, extent) in part.segment.shape.iter().enumerate() {
        let columns: Vec<ArrayRef> = keys.iter().filter(|key| key.axis == Some(axis)).map(|key| key.values.clone()).collect();
        if columns.is_empty() {
            found.push(None);
            continue;
        }
        let extent = usize::try_from(*extent).map_err(|_| Error::internal("an extent"))?;
        let used = boxes.iter().filter_map(|of_box| of_box.axes().get(axis)).flat_map(|axis| axis.indexes());
        let Some(classes) = Classes::of(&columns, extent, used, max_groups)? else { return Ok(None) };
        groups = groups.saturating_mul(classes.first.len().max(1));
        found.push(Some(classes));
    }
    Ok(Some(found).filter(|_| groups <= max_groups))
}

/// The keys of groups. `index_of` returns an index of a group along a dimension.
fn key_columns(schema: &Schema, keys: &[GroupKey], groups: &[usize], index_of: impl Fn(usize, usize) -> Option<u64>) -> Result<RecordBatch> {
    let internal = |error: arrow_schema::ArrowError| Error::internal(error.to_string());
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for key in keys {
        let indexes = groups.iter().map(|group| key.axis.map_or(Some(0), |axis| index_of(*group, axis)));
        let indexes = indexes.collect::<Option<Vec<u64>>>().ok_or_else(|| Error::internal("a group without an index"))?;
        let values = arrow_select::take::take(&key.values, &UInt64Array::from(indexes), None).map_err(internal)?;
        let is_nullable = schema.field_with_name(&key.name).map_or(true, Field::is_nullable);
        fields.push(Field::new(&key.name, values.data_type().clone(), is_nullable));
        columns.push(values);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(groups.len()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).map_err(internal)
}
