//! Prune: what is left of a window's rows by what the session's pruner knows, before values are read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::Schema;
use hyperslab_array::{Axis, Cancellation, Error, Result, Selection};
use hyperslab_formats::FilterDescription;
use hyperslab_predicate::{BoundPredicate, Condition, Predicate, ValueSet};

use crate::plan::SegmentScan;
use crate::plan::window::{self, Rows};
use crate::pruner::{ColumnIndex, CountBounds, Level, Matches, Passing, RowSelection, pruner_of};
use crate::table::segment::{Place, Segment, Source};

/// One in so many rows: where more pass, testing values that are read anyway costs less than looking rows up.
const DENSE: u64 = 16;
/// Rows so near each other that reading one of them costs about as much as reading all.
const NEAR: u64 = 1024;
/// One in so many rows: where fewer are wanted, they are read one by one wherever they lie.
const SPARSE: u64 = 64;
/// Filters whose data take longer to inflate than values to be looked up in an index: deflate, bzip2.
const SLOW: [u16; 2] = [1, 307];

/// One part of a predicate that indexes know of: a condition on one column, or several of which one at least must hold.
pub(crate) struct IndexedPredicate {
    any: Vec<ColumnTerm>,
}

/// A condition on one column, and the column's index.
struct ColumnTerm {
    column: String,
    index: Arc<dyn ColumnIndex>,
    condition: Condition,
    /// Where the rows lie in the dataset, if they are not all of it.
    place: Option<Arc<Place>>,
    /// Whether reading the column costs next to nothing beside a look-up: it lies there as it is shown.
    cheap: bool,
    /// Whether rows are told with less work than reading the column, which nobody wants, at any selectivity: by positions
    /// in order, where single values can be looked up.
    matching_rows: bool,
}

/// What of the rows is left.
pub(crate) enum Remaining {
    /// Nothing is known of them.
    All,
    /// Rows that may pass, and whether all of them do.
    Rows { rows: RowSelection, exact: bool },
}

/// What indexes know of conditions that must all hold, and whether that is all of them. Those of one column are looked up as
/// one: of `1 < x && x < 2` few values are left, of each alone perhaps half.
pub(crate) fn indexed_predicates(segment: &Segment, table: &Schema, conjuncts: &[&Predicate], wanted: &[String]) -> (Vec<IndexedPredicate>, bool) {
    let mut groups: Vec<Vec<&Predicate>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for conjunct in conjuncts {
        let names = conjunct.columns();
        let new = groups.len();
        let place = names.first().filter(|_| names.len() == 1).map_or(new, |only| *places.entry(only.clone()).or_insert(new));
        match groups.get_mut(place) {
            Some(group) => group.push(conjunct),
            None => groups.push(vec![conjunct]),
        }
    }
    let mut known: Vec<Option<IndexedPredicate>> = Vec::new();
    for group in groups {
        let one = |predicate: &Predicate| pruning(segment, table, predicate, wanted);
        let together = match group.as_slice() {
            [only] => one(only),
            several => one(&Predicate::all(several.iter().copied().cloned())),
        };
        match together {
            Some(all) => known.push(Some(all)),
            None => known.extend(group.into_iter().map(one)),
        }
    }
    let all = known.iter().all(Option::is_some);
    (known.into_iter().flatten().collect(), all)
}

/// What indexes know of `predicate`, whose columns are those of `table`; `None` where one of its columns has no index, or
/// where it is more than one condition a column.
fn pruning(segment: &Segment, table: &Schema, predicate: &Predicate, wanted: &[String]) -> Option<IndexedPredicate> {
    let mut by_column: Vec<(String, Vec<Predicate>)> = Vec::new();
    let alternatives = match predicate {
        Predicate::Or(parts) if predicate.columns().len() > 1 => parts.as_slice(),
        _ => std::slice::from_ref(predicate),
    };
    for alternative in alternatives {
        let names = alternative.columns();
        let name = names.first().filter(|_| names.len() == 1)?;
        match by_column.iter_mut().find(|(column, _)| column == name) {
            Some((_, mine)) => mine.push(alternative.clone()),
            None => by_column.push((name.clone(), vec![alternative.clone()])),
        }
    }
    let of_column = |(column, mut parts): (String, Vec<Predicate>)| {
        let condition = if parts.len() == 1 { parts.pop()? } else { Predicate::Or(parts) };
        ColumnTerm::new(segment, &condition.bind(table).ok()?, &column, wanted.contains(&column))
    };
    Some(IndexedPredicate { any: by_column.into_iter().map(of_column).collect::<Option<_>>()? })
}

impl ColumnTerm {
    fn new(segment: &Segment, bound: &BoundPredicate, column: &str, wanted: bool) -> Option<Self> {
        let found = segment.column(column)?;
        let (index, place) = index_of(segment, &found.source)?;
        let condition = Condition::new(bound, &found.field)?;
        let filtered = filters(segment, &found.source, |filters| !filters.is_empty());
        // What an index of level X tells of data is not read where inflating them costs more than to look rows up.
        let inflated = filters(segment, &found.source, |filters| filters.iter().any(|filter| SLOW.contains(&filter.id)));
        let cheap = !filtered || (wanted && !(inflated && index.level() == Level::Exact));
        let matching_rows = !wanted && match index.level() {
            Level::Exact => true,
            Level::Positions => !filtered && !place.as_ref().map_or(&segment.file, |place| &place.file).is_foreign(),
            _ => false,
        };
        Some(Self { column: column.to_owned(), index, condition, place, cheap, matching_rows })
    }

    /// The elements of the index's dataset that `rows` are.
    fn selection<'a>(&self, rows: &'a Selection) -> Result<Cow<'a, Selection>> {
        placed(self.place.as_ref(), rows)
    }
}

/// Whether something holds of the filters that a column's values are read through.
fn filters(segment: &Segment, source: &Source, holds: impl Fn(&[FilterDescription]) -> bool) -> bool {
    match source {
        Source::Placed { dataset, place, .. } => place.file.dataset(*dataset).is_ok_and(|dataset| holds(&dataset.filters)),
        Source::Variable { dataset, .. } => segment.file.dataset(*dataset).is_ok_and(|dataset| holds(&dataset.filters)),
        _ => false,
    }
}

/// An index, and where the segment's rows lie in the dataset that it is of (`None`: they are all of it).
type PlacedIndex = (Arc<dyn ColumnIndex>, Option<Arc<Place>>);

/// The index of the values of a column.
pub(crate) fn index_of(segment: &Segment, source: &Source) -> Option<PlacedIndex> {
    let pruner = pruner_of(segment.file.session())?;
    match source {
        // An index is of the dataset's own elements, not of text that is put together from them.
        Source::Variable { dataset, column, per_row: None } if segment.file.dataset(*dataset).is_ok_and(|d| d.datatype.size() == column.datatype().size()) => {
            Some((pruner.column(&segment.file, *dataset, column)?, None))
        }
        Source::Placed { dataset, column, place } => Some((pruner.column(&place.file, *dataset, column)?, Some(place.clone()))),
        _ => None,
    }
}

/// The elements of a dataset that rows of a segment are. They are numbered as the rows are: dimensions that
/// all rows share have one index.
pub(crate) fn placed<'a>(place: Option<&Arc<Place>>, rows: &'a Selection) -> Result<Cow<'a, Selection>> {
    let Some(place) = place else { return Ok(Cow::Borrowed(rows)) };
    let shape: Vec<u64> = place.axes(rows.axes())?.iter().map(|axis| axis.index(axis.count().saturating_sub(1)).map_or(0, |last| last + 1)).collect();
    Ok(Cow::Owned(Selection::new(place.axes(rows.axes())?, &shape)?))
}

impl IndexedPredicate {
    /// The least that an index of it knows.
    pub(crate) fn level(&self) -> Level {
        self.any.iter().map(|one| one.index.level()).min().unwrap_or(Level::Zone)
    }

    /// The set of values that the condition leaves of `column`, where it is of that column alone.
    pub(crate) fn values_of(&self, column: &str) -> Option<&ValueSet> {
        let [one] = self.any.as_slice() else { return None };
        one.condition.values().filter(|_| one.column == column)
    }

    /// The index of the column that the condition is of, where it is of `column` alone and the index has its values.
    fn exact_on(&self, column: &str) -> Option<&ColumnTerm> {
        let [one] = self.any.as_slice() else { return None };
        (one.column == column && one.index.level() == Level::Exact).then_some(one)
    }

    /// At least and at most so many of `rows` pass.
    pub(crate) fn count(&self, rows: &Selection, cancellation: &Cancellation) -> Result<CountBounds> {
        let mut bounds = CountBounds::default();
        for one in &self.any {
            let here = one.index.count(&*one.selection(rows)?, &one.condition, cancellation)?;
            bounds = CountBounds { least: bounds.least.max(here.least), most: bounds.most.saturating_add(here.most) };
        }
        Ok(CountBounds { most: bounds.most.min(rows.element_count()?), ..bounds })
    }

    /// Which of `rows` pass.
    pub(crate) fn rows(&self, rows: &Selection, cancellation: &Cancellation) -> Result<Matches> {
        let mut known: Option<Matches> = None;
        for one in &self.any {
            let here = one.index.rows(&*one.selection(rows)?, &one.condition, cancellation)?;
            known = Some(match known {
                None => here,
                Some(known) => {
                    let certain = known.certain.or(&here.certain);
                    Matches { possible: known.possible.or(&here.possible).and_not(&certain), certain }
                }
            });
        }
        Ok(known.unwrap_or_default())
    }
}

impl SegmentScan {
    /// What is left of the selected rows, `count` of them.
    pub(crate) fn left(&self, selection: &Selection, count: u64, cancellation: &Cancellation) -> Result<Remaining> {
        let counters = self.segment.file.session().counters();
        let (mut rows, mut exact): (Option<RowSelection>, bool) = (None, self.all_pruned);
        for pruning in &self.indexed_predicates {
            for one in &pruning.any {
                let blocks = one.index.blocks(&*one.selection(selection)?, &one.condition)?;
                counters.add_index_blocks(blocks.all, blocks.pruned);
            }
            // Where everything is told so far, this is not what makes somebody read.
            let unread = exact && pruning.any.iter().all(|one| one.matching_rows);
            if pruning.level() >= Level::Keys && !unread && pruning.any.iter().all(|one| one.cheap) {
                let bounds = pruning.count(selection, cancellation)?;
                if bounds.least > count / DENSE {
                    exact = false;
                    continue;
                }
            }
            let Matches { certain, possible } = pruning.rows(selection, cancellation)?;
            exact &= possible.is_empty();
            let here = if possible.is_empty() { certain } else { certain.or(&possible) };
            let both = match rows {
                Some(rows) => rows.and(&here),
                None => here,
            };
            if both.is_empty() {
                return Ok(Remaining::Rows { rows: both, exact: true });
            }
            rows = Some(both);
        }
        Ok(match rows {
            Some(rows) if rows.len() < count || exact => Remaining::Rows { rows, exact },
            _ => Remaining::All,
        })
    }

    /// Whether the condition is of this column alone, and its index has the values.
    pub(crate) fn has_values_of(&self, column: &str) -> bool {
        self.all_pruned && matches!(self.indexed_predicates.as_slice(), [only] if only.exact_on(column).is_some())
    }

    /// The values that pass, where `has_values_of` holds; see [`ColumnIndex::passing`].
    pub(crate) fn passing_values(&self, column: &str, sparse: Option<u64>, cancellation: &Cancellation) -> Result<Option<Passing>> {
        match self.indexed_predicates.as_slice() {
            [only] if let Some(one) = only.exact_on(column) => one.index.passing(&*one.selection(&self.selection)?, &one.condition, sparse, cancellation),
            _ => Ok(None),
        }
    }

    /// Counts the blocks of indexes that are asked, and those that they leave out.
    pub(crate) fn count_blocks(&self) -> Result<()> {
        for one in self.indexed_predicates.iter().flat_map(|pruning| &pruning.any) {
            let blocks = one.index.blocks(&*one.selection(&self.selection)?, &one.condition)?;
            self.segment.file.session().counters().add_index_blocks(blocks.all, blocks.pruned);
        }
        Ok(())
    }

    /// Whether the zones of an index alone tell that none of the rows, which are a box, passes.
    pub(crate) fn is_pruned(&self, rows: Rows) -> Result<bool> {
        let selection = window::select(&self.selection, rows);
        for pruning in &self.indexed_predicates {
            let mut left = pruning.any.is_empty();
            for one in &pruning.any {
                let blocks = one.index.blocks(&*one.selection(&selection)?, &one.condition)?;
                left |= blocks.all == 0 || blocks.pruned < blocks.all;
            }
            if !left {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// At least and at most so many rows pass, by indexes alone.
    pub(crate) fn bounds(&self, cancellation: &Cancellation) -> Result<CountBounds> {
        let count = self.selection.element_count()?;
        if self.residual.is_none() {
            return Ok(CountBounds::exactly(count));
        }
        let mut bounds = CountBounds { least: 0, most: count };
        for pruning in &self.indexed_predicates {
            let here = pruning.count(&self.selection, cancellation)?;
            bounds.most = bounds.most.min(here.most);
            if self.all_pruned && self.indexed_predicates.len() == 1 {
                bounds.least = here.least;
            }
        }
        Ok(bounds)
    }

    /// How many of all rows pass, where indexes tell.
    pub(crate) fn count_by_index(&self, cancellation: &Cancellation) -> Result<Option<u64>> {
        let exact = match self.indexed_predicates.as_slice() {
            [only] if self.all_pruned => only.count(&self.selection, cancellation)?.exact(),
            _ => None,
        };
        let count = if exact.is_some() { exact } else { self.matching_rows(cancellation)?.map(|rows| rows.len()) };
        if count.is_some() {
            self.count_blocks()?;
        }
        Ok(count)
    }

    /// The wanted columns, at `rows` of `selection`, that indexes tell with less work than reading: of filtered data.
    pub(crate) fn values_by_index(&self, selection: &Selection, rows: &RowSelection, cancellation: &Cancellation) -> Result<HashMap<String, ArrayRef>> {
        let mut matching_rows = HashMap::new();
        for name in &self.wanted {
            let Some(source) = self.segment.column(name).map(|column| &column.source).filter(|source| filters(&self.segment, source, |filters| !filters.is_empty())) else { continue };
            let Some((index, place)) = index_of(&self.segment, source).filter(|(index, _)| index.level() == Level::Exact) else { continue };
            if let Some(values) = index.values(&*placed(place.as_ref(), selection)?, rows, cancellation)? {
                matching_rows.insert(name.clone(), values);
            }
        }
        Ok(matching_rows)
    }

    /// `narrowed`, where these columns are to be read.
    pub(crate) fn narrowed(&self, selection: &Selection, rows: &RowSelection, columns: &[String]) -> Result<Option<(Selection, RowSelection)>> {
        let mut sources = columns.iter().filter_map(|name| self.segment.column(name));
        let costly = sources.any(|column| !column.field.data_type().is_primitive() || filters(&self.segment, &column.source, |filters| !filters.is_empty()));
        narrowed(selection, &self.segment.shape, rows, costly)
    }

    /// For people: which indexes are asked, and what they leave.
    pub(crate) fn explain_prunings(&self) -> Result<Vec<String>> {
        let of_column = |one: &ColumnTerm| {
            let blocks = one.index.blocks(&*one.selection(&self.selection)?, &one.condition)?;
            let left = blocks.all - blocks.pruned;
            Ok(format!("index {} on {}: {left} of {} blocks left", one.index.level().letter(), one.column, blocks.all))
        };
        self.indexed_predicates.iter().map(|pruning| Ok(pruning.any.iter().map(of_column).collect::<Result<Vec<String>>>()?.join(" or "))).collect()
    }
}

/// Whether reading `rows` one by one costs more than reading all of `count`: they are many, and what lies between them is
/// not worth leaving out. `below` rows lie at each position. What is `costly` to read is left out, too, where many rows pass
/// but lie together: chunks of filtered data, and texts.
fn everywhere(rows: &RowSelection, count: u64, below: u64, costly: bool) -> bool {
    if rows.len() <= count / SPARSE {
        return false;
    }
    if !costly && rows.len() > count / DENSE {
        return true;
    }
    let near = (NEAR / below).max(1) * below;
    let (mut touched, mut next) = (0, 0);
    while let Some(row) = rows.iter_from(next).next() {
        touched += 1;
        next = (row / near + 1) * near;
    }
    touched > count.div_ceil(near) / 2
}

/// A selection of rows without those positions, along its first dimension of more than one, that have none of
/// `rows`; and `rows` as they are numbered then. `None` where that leaves more than half, or saves nothing.
fn narrowed(selection: &Selection, shape: &[u64], rows: &RowSelection, costly: bool) -> Result<Option<(Selection, RowSelection)>> {
    let extents = selection.shape();
    let Some(cut) = extents.iter().position(|count| *count > 1) else { return Ok(None) };
    let below: u64 = extents.iter().skip(cut + 1).product::<u64>().max(1);
    let (Some(axis), Some(&positions)) = (selection.axes().get(cut), extents.get(cut)) else { return Ok(None) };
    if everywhere(rows, extents.iter().product(), below, costly) {
        return Ok(None);
    }
    let mut kept: Vec<u64> = Vec::new();
    let mut numbers: Vec<u64> = Vec::new();
    for row in rows.iter() {
        let position = row / below;
        if kept.last() != Some(&position) {
            if kept.len() as u64 >= positions / 2 {
                return Ok(None);
            }
            kept.push(position);
        }
        numbers.push((kept.len() as u64 - 1) * below + row % below);
    }
    let indices = kept.iter().map(|position| axis.index(*position).ok_or_else(|| Error::internal("a row beyond its window"))).collect::<Result<Vec<_>>>()?;
    let mut axes = selection.axes().to_vec();
    if let Some(axis) = axes.get_mut(cut) {
        *axis = Axis::Indices(indices);
    }
    let rows = RowSelection::from_sorted(numbers).ok_or_else(|| Error::internal("rows out of order"))?;
    Ok(Some((Selection::new(axes, shape)?, rows)))
}
