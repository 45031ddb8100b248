//! A segment of a plan: the rows that its dimensions leave, and the predicate that is still to be tested.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::ArrayRef;
use arrow_schema::Schema;
use hyperslab_array::{Axis, Cancellation, Error, Result, Selection};
use hyperslab_formats::ObjectId;
use hyperslab_predicate::{BoundPredicate, Predicate};

use super::box_conditions::CompositeFiles;
use super::coordinate_columns::CoordinateCache;
use super::dimension_ranges;
use super::indexed_predicate::{IndexedPredicate, indexed_predicates};
use super::patch_conditions::{BoxCount, patch_rows};
use crate::request::DimensionRange;
use crate::table::columns::top_level;
use crate::table::composed::Loaded;
use crate::table::segment::{Segment, Source};
use crate::table::values::Values;
use crate::window::{self, WINDOW_BYTES, Windows};

/// A segment with the rows that remain after the predicate's conditions on dimensions.
pub(crate) struct SegmentScan {
    pub segment: Segment,
    /// The remaining rows.
    pub selection: Selection,
    /// Names of the wanted columns, in order.
    pub wanted: Arc<[String]>,
    /// The predicate to test row by row, and the columns that it uses.
    pub residual: Option<(BoundPredicate, Vec<String>)>,
    /// Values of the coordinate datasets in use.
    pub coordinates: HashMap<ObjectId, ArrayRef>,
    /// What is read once for the composed columns in use, by column.
    pub loaded: HashMap<String, Loaded>,
    /// How many boxes the conditions leave, if rows are cells of boxes. `None` if no condition is on a column computed from boxes.
    pub boxes: Option<BoxCount>,
    /// The parts of the residual predicate that indexes can answer.
    pub indexed_predicates: Arc<Vec<IndexedPredicate>>,
    /// Whether these parts are the whole residual predicate.
    pub is_fully_indexed: bool,
    /// Unique among all scans of this process.
    pub id: u64,
    /// Coordinate columns of the last windows, shared by the whole plan.
    pub coordinate_cache: Arc<CoordinateCache>,
}

/// What selects the rows of a scan.
#[derive(Clone, Copy)]
pub(crate) struct Conditions<'a> {
    /// The conjuncts of the predicate.
    pub conjuncts: &'a [Predicate],
    /// The only indexes of one dimension.
    pub range: Option<&'a DimensionRange>,
}

/// Bytes of a window of a reduction, if nothing is decoded.
const REDUCED_BYTES: u64 = 512 << 10;
/// Bytes of a window of decoded chunks, unless these are larger: indexes answer single windows.
const DECODED_BYTES: u64 = 1 << 20;

impl SegmentScan {
    pub(crate) fn new(
        segment: Segment,
        table: &Schema,
        wanted: &Arc<[String]>,
        Conditions { conjuncts, range }: Conditions<'_>,
        coordinate_cache: Arc<CoordinateCache>,
        composite_files: &CompositeFiles,
        cancellation: &Cancellation,
    ) -> Result<Self> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(0);
        let own = segment.condition.clone().map(Predicate::conjuncts).unwrap_or_default();
        let conjuncts = &[own.as_slice(), conjuncts].concat();
        let mut dimensions = Dimensions::whole(&segment);
        range.map_or(Ok(()), |range| dimensions.narrow(range))?;
        let mut left: Vec<&Predicate> = Vec::new();
        for conjunct in conjuncts {
            // Check names and types even if the conjunct is resolved here.
            let bound = conjunct.bind(table)?;
            if dimensions.answer(conjunct, &bound, cancellation)? {
                continue;
            }
            left.push(conjunct);
        }
        let mut loaded: Vec<(String, Loaded)> = Vec::new();
        let boxes = if dimensions.empty { None } else { dimensions.answer_by_boxes(table, &mut left, &mut loaded, cancellation)? };
        let mut residual = (!left.is_empty()).then(|| Predicate::all(left.iter().copied().cloned()));
        let (indexed_predicates, mut is_fully_indexed) = indexed_predicates(&segment, table, &left, wanted, composite_files);
        let Dimensions { mut axes, empty, coordinates, .. } = dimensions;
        if empty {
            axes = vec![Axis::range(0, 0); axes.len().max(1)];
        }
        let selection = if empty && segment.shape.is_empty() {
            // A scalar has no axis that could be empty: test the predicate on its row.
            residual = conjuncts.iter().cloned().reduce(Predicate::and);
            is_fully_indexed = false;
            Selection::all(&[])
        } else {
            Selection::new(axes, &segment.shape)?
        };
        let residual = residual.map(|predicate| bound_with_columns(&predicate, table)).transpose()?;
        let mut part = Self {
            selection,
            wanted: wanted.clone(),
            residual,
            coordinates: HashMap::new(),
            loaded: loaded.into_iter().collect(),
            boxes,
            indexed_predicates: Arc::new(indexed_predicates),
            is_fully_indexed,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            coordinate_cache,
            segment,
        };
        part.load_columns(coordinates, cancellation)?;
        Ok(part)
    }

    /// The same segment with fewer rows, for a scan that tests none of them.
    pub(crate) fn narrowed_to(&self, selection: Selection) -> Self {
        Self {
            segment: self.segment.clone(),
            selection,
            wanted: self.wanted.clone(),
            residual: None,
            coordinates: self.coordinates.clone(),
            loaded: self.loaded.clone(),
            boxes: self.boxes,
            indexed_predicates: Arc::default(),
            is_fully_indexed: false,
            id: self.id,
            coordinate_cache: self.coordinate_cache.clone(),
        }
    }

    /// The same segment with fewer rows, and other columns; the predicate is still to be tested.
    pub(crate) fn restricted_to(&self, selection: Selection, wanted: Arc<[String]>) -> Self {
        let (residual, indexed_predicates) = (self.residual.clone(), self.indexed_predicates.clone());
        Self { wanted, residual, indexed_predicates, ..self.narrowed_to(selection) }
    }

    /// Windows for a reduction, which keeps nothing of them: so small that their values stay in the processor's caches, unless chunks are
    /// decoded.
    pub(crate) fn reduced_windows(&self) -> Result<Windows> {
        let columns = self.columns_read();
        let is_filtered = |name: &String| match self.segment.column(name).map(|column| &column.source) {
            Some(Source::Variable { dataset, .. }) => self
                .segment
                .file
                .dataset(*dataset)
                .map_or(true, |dataset| dataset.chunk_grid.chunk_shape() != dataset.chunk_grid.shape() || !dataset.filters.is_empty()),
            _ => true,
        };
        if columns.iter().any(is_filtered) {
            return self.windows_of(&columns, DECODED_BYTES);
        }
        let positions = vec![1; self.segment.chunk_shape.len()];
        window::windows(&self.selection, &positions, self.row_bytes(&columns), REDUCED_BYTES, REDUCED_BYTES)
    }

    /// Reads what is read once for the columns in use, except for what `coordinates` already has.
    fn load_columns(&mut self, mut coordinates: HashMap<ObjectId, ArrayRef>, cancellation: &Cancellation) -> Result<()> {
        for name in self.columns_read() {
            match self.segment.column(&name).map(|c| &c.source) {
                Some(Source::Coordinate { dataset, column, .. }) => {
                    load(&self.segment, *dataset, column, &mut coordinates, cancellation)?;
                }
                Some(Source::Composed(_)) if self.loaded.contains_key(&name) => {}
                // Nothing is read of boxes that have no rows.
                Some(Source::Composed(composed)) if self.selection.is_empty() && matches!(**composed, Values::Patches(_)) => {}
                Some(Source::Composed(composed)) => {
                    let loaded = composed.load(self.loaded.values(), &self.segment.shape, cancellation)?;
                    self.loaded.insert(name, loaded);
                }
                _ => {}
            }
        }
        self.coordinates = coordinates;
        Ok(())
    }

    /// All columns that are wanted or tested.
    pub(crate) fn columns_read(&self) -> Vec<String> {
        let mut names = self.wanted.to_vec();
        for name in self.residual.iter().flat_map(|(_, needed)| needed) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    pub(crate) fn windows(&self, columns: &[String]) -> Result<Windows> {
        self.windows_of(columns, WINDOW_BYTES)
    }

    /// Windows for splits of about `split_bytes`.
    pub(crate) fn windows_of(&self, columns: &[String], split_bytes: u64) -> Result<Windows> {
        window::windows(&self.selection, &self.segment.chunk_shape, self.row_bytes(columns), WINDOW_BYTES, split_bytes)
    }

    /// Approximate size of a row in bytes, over `columns`.
    pub(crate) fn row_bytes(&self, columns: &[String]) -> u64 {
        let mut datasets = BTreeSet::new();
        let mut bytes = 0u64;
        for column in columns.iter().filter_map(|name| self.segment.column(name)) {
            bytes += match &column.source {
                Source::Variable { column, per_row, .. } => column.datatype().size().saturating_mul(per_row.unwrap_or(1)),
                Source::Mapped { dataset, mapping, .. } => mapping.file.dataset(*dataset).map_or(8, |d| d.datatype.size()),
                Source::Member { dataset, .. } if datasets.insert(*dataset) => self.segment.file.dataset(*dataset).map_or(8, |d| d.datatype.size()),
                Source::Member { .. } => 0,
                Source::Composed(composed) => composed.row_bytes(self.segment.shape.iter().fold(1, |n: u64, extent| n.saturating_mul(*extent))),
                _ => 8,
            };
        }
        bytes.max(1)
    }
}

/// A predicate bound to a table, and the columns that it uses.
fn bound_with_columns(predicate: &Predicate, table: &Schema) -> Result<(BoundPredicate, Vec<String>)> {
    let needed = predicate.columns().into_iter().map(|name| top_level(&name, table)).collect::<BTreeSet<_>>();
    Ok((predicate.bind(table)?, needed.into_iter().collect()))
}

/// The rows that conditions on dimensions and constants leave of a segment.
struct Dimensions<'a> {
    segment: &'a Segment,
    axes: Vec<Axis>,
    /// Whether a condition on a constant is false.
    empty: bool,
    /// Values of the coordinate datasets that were read.
    coordinates: HashMap<ObjectId, ArrayRef>,
}

impl<'a> Dimensions<'a> {
    fn whole(segment: &'a Segment) -> Self {
        let axes = Selection::all(&segment.shape).axes().to_vec();
        Self { segment, axes, empty: false, coordinates: HashMap::new() }
    }

    /// Leaves only the rows of this range.
    fn narrow(&mut self, range: &DimensionRange) -> Result<()> {
        let all = self.axes.get_mut(range.dimension).filter(|all| range.indexes.end <= all.count());
        let all = all.ok_or_else(|| Error::invalid_input("the rows have no such range of a dimension").at_object(&self.segment.path))?;
        *all = Axis::range(range.indexes.start, range.indexes.end);
        Ok(())
    }

    /// Applies `conjunct` if it uses a single dimension or constant. Returns whether it is resolved, so that it need not be
    /// tested row by row.
    fn answer(&mut self, conjunct: &Predicate, bound: &BoundPredicate, cancellation: &Cancellation) -> Result<bool> {
        let names = conjunct.columns();
        let mut only = names.iter();
        let Some(column) = only.next().filter(|_| only.next().is_none()).and_then(|name| self.segment.column(name)) else {
            return Ok(false);
        };
        let constant = match &column.source {
            Source::Constant(value) => Some(value.clone()),
            Source::File => Some(self.segment.file_name()),
            _ => None,
        };
        if let Some(value) = constant {
            self.empty |= dimension_ranges::evaluate(bound, &column.field, value)?.true_count() == 0;
            return Ok(true);
        }
        let Some(axis_index) = axis_of(&column.source, self.segment.shape.len()) else { return Ok(false) };
        let values = match &column.source {
            Source::Coordinate { dataset, column, .. } => Some(load(self.segment, *dataset, column, &mut self.coordinates, cancellation)?),
            Source::Along { axis, values } => match self.segment.shape.get(*axis).and_then(|extent| values.all(*extent)) {
                Some(values) => Some(values),
                None => return Ok(false),
            },
            _ => None,
        };
        let missing = || Error::internal("a column along a dimension that its segment does not have");
        let extent = *self.segment.shape.get(axis_index).ok_or_else(missing)?;
        let narrowed = match conjunct.integer_breaks().filter(|_| values.is_none()) {
            Some(breaks) => dimension_ranges::narrow_integers(bound, &column.field, &breaks, extent)?,
            None => dimension_ranges::narrow(bound, &column.field, values.as_ref(), extent)?,
        };
        let axis = self.axes.get_mut(axis_index).ok_or_else(missing)?;
        *axis = axis.intersection(&narrowed.axis);
        Ok(narrowed.exact)
    }

    /// Applies the conditions in `left` on columns computed from boxes, and removes the resolved ones.
    fn answer_by_boxes(
        &mut self,
        table: &Schema,
        left: &mut Vec<&Predicate>,
        loaded: &mut Vec<(String, Loaded)>,
        cancellation: &Cancellation,
    ) -> Result<Option<BoxCount>> {
        let Some(rows) = patch_rows(self.segment, table, left, loaded, cancellation)? else { return Ok(None) };
        let [axis] = self.axes.as_mut_slice() else { return Err(Error::internal("cells of boxes in rows of several dimensions")) };
        *axis = axis.intersection(&rows.axis);
        let mut resolved = rows.resolved.into_iter();
        left.retain(|_| !resolved.next().unwrap_or(false));
        Ok(Some(rows.boxes))
    }
}

/// The dimension along which a column's values determine the index. Row numbers do if there is only one dimension.
fn axis_of(source: &Source, ndim: usize) -> Option<usize> {
    match source {
        Source::Index { axis } | Source::Coordinate { axis, .. } | Source::Along { axis, .. } => Some(*axis),
        Source::Row if ndim == 1 => Some(0),
        _ => None,
    }
}

fn load(
    segment: &Segment,
    dataset: ObjectId,
    column: &hyperslab_columns::Column,
    coordinates: &mut HashMap<ObjectId, ArrayRef>,
    cancellation: &Cancellation,
) -> Result<ArrayRef> {
    if let Some(values) = coordinates.get(&dataset) {
        return Ok(values.clone());
    }
    let values = segment.coordinate(dataset, column, cancellation)?;
    coordinates.insert(dataset, values.clone());
    Ok(values)
}
