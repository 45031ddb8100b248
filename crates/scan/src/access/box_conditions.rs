//! Box conditions: conditions on several columns that a composite index answers together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::Schema;
use hyperslab_array::Selection;
use hyperslab_predicate::Predicate;
use hyperslab_reader::File;

use super::indexed_term::{ColumnCondition, IndexedTerm, index_of, mapped_selection};
use crate::pruner::{AskedValues, BoxSide, CompositeMatch, Level, Pruner, pruner_of};
use crate::table::mapping::RowMapping;
use crate::table::segment::{Segment, Source};

/// A condition that a composite index may answer, with the index of its conjunct group.
struct Candidate<'a> {
    group: usize,
    of_column: ColumnCondition<'a>,
    file: &'a File,
    mapping: Option<Arc<RowMapping>>,
}

/// Removes from `groups` the conjunct groups, each on one column, that composite indexes answer together. Keeps a condition on a
/// single column if that column has an index of level `Positions` or higher.
pub(super) fn take_boxes(segment: &Segment, table: &Schema, groups: &mut Vec<Vec<&Predicate>>, wanted: &[String], files: &CompositeFiles) -> Vec<IndexedTerm> {
    let Some(pruner) = pruner_of(segment.file.session()) else { return Vec::new() };
    let mut candidates: Vec<Candidate<'_>> = Vec::new();
    for (group, conjuncts) in groups.iter().enumerate() {
        candidates.extend(Candidate::new(segment, table, (group, conjuncts), wanted, |file| files.have(pruner, file)));
    }
    let (mut terms, mut taken) = (Vec::new(), Vec::new());
    while let Some(first) = candidates.first() {
        // Those that select the same elements of one file.
        let alike: Vec<usize> = (0..candidates.len()).filter(|index| candidates.get(*index).is_some_and(|other| other.is_like(first, segment))).collect();
        let asked: Vec<AskedValues<'_>> = alike.iter().filter_map(|index| candidates.get(*index)?.asked()).collect();
        let found = if asked.len() == alike.len() { pruner.composite(first.file, &asked) } else { None };
        let Some(CompositeMatch { index, places }) = found else {
            candidates.remove(0);
            continue;
        };
        let covered: Vec<(usize, usize)> = alike.into_iter().zip(places).filter_map(|(index, place)| Some((index, place?))).collect();
        let here: Vec<(&Candidate<'_>, usize)> = covered.iter().filter_map(|(index, place)| Some((candidates.get(*index)?, *place))).collect();
        let sides: Option<Vec<BoxSide>> =
            here.iter().map(|(candidate, place)| Some(BoxSide { place: *place, values: candidate.of_column.condition.values()?.clone() })).collect();
        let (Some(sides), Some((first, _))) = (sides.filter(|sides| !sides.is_empty()), here.first()) else {
            candidates.remove(0);
            continue;
        };
        // Indexes of single columns are better for one condition and for some boxes, if all columns have one.
        let knows_rows = |(candidate, _): &(&Candidate<'_>, usize)| {
            index_of(segment, &candidate.of_column.source).is_some_and(|(index, _)| index.level() >= Level::Positions)
        };
        if (here.len() == 1 || index.is_worse_than_single(&sides)) && here.iter().all(knows_rows) {
            let left: Vec<usize> = here.iter().map(|(candidate, _)| candidate.group).collect();
            candidates.retain(|candidate| !left.contains(&candidate.group));
            continue;
        }
        let column = here.iter().map(|(candidate, _)| candidate.of_column.name.as_str()).collect::<Vec<_>>().join(", ");
        let is_cheap = here.iter().all(|(candidate, _)| candidate.of_column.is_cheap_to_read(true));
        let prefers_lookup = !here.iter().any(|(candidate, _)| candidate.of_column.is_wanted());
        terms.push(IndexedTerm::of_box(column, index, sides, first.mapping.clone(), is_cheap, prefers_lookup));
        taken.extend(here.iter().map(|(candidate, _)| candidate.group));
        candidates.retain(|candidate| !taken.contains(&candidate.group));
    }
    *groups = groups.drain(..).enumerate().filter(|(group, _)| !taken.contains(group)).map(|(_, conjuncts)| conjuncts).collect();
    terms
}

/// Which files of a plan have composite indexes. Each file is asked once: a plan may have very many segments in one file.
#[derive(Default)]
pub(crate) struct CompositeFiles(Mutex<HashMap<File, bool>>);

impl CompositeFiles {
    fn have(&self, pruner: &dyn Pruner, file: &File) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(file.clone()).or_insert_with(|| pruner.has_composites(file))
    }
}

impl<'a> Candidate<'a> {
    /// `None` if the conjuncts are on several columns, or on one whose values have no order, or if NaN or null pass; or if the file has no
    /// composite index.
    fn new(
        segment: &'a Segment,
        table: &Schema,
        (group, conjuncts): (usize, &[&Predicate]),
        wanted: &[String],
        has_composites: impl Fn(&File) -> bool,
    ) -> Option<Self> {
        let name = match conjuncts {
            [first, ..] if first.columns().len() == 1 => first.columns().into_iter().next()?,
            _ => return None,
        };
        let (file, mapping) = match segment.column(&name).map(|column| &column.source) {
            Some(Source::Mapped { mapping, .. }) => (&mapping.file, Some(mapping.clone())),
            // A member such as `records.energy` has no column of its own.
            Some(Source::Variable { per_row: None, .. } | Source::Member { .. }) | None => (&segment.file, None),
            _ => return None,
        };
        if !has_composites(file) {
            return None;
        }
        let together = Predicate::all(conjuncts.iter().copied().cloned());
        let of_column = ColumnCondition::new(segment, table, &together, &name, wanted)?;
        of_column.condition.values().filter(|values| !values.has_nan() && !values.has_null())?;
        Some(Self { group, of_column, file, mapping })
    }

    /// Whether both are of the same elements of one file.
    fn is_like(&self, other: &Self, segment: &Segment) -> bool {
        let elements =
            |mapping: &Option<Arc<RowMapping>>| mapped_selection(mapping.as_ref(), &Selection::all(&segment.shape)).map(std::borrow::Cow::into_owned).ok();
        self.file == other.file
            && match (&self.mapping, &other.mapping) {
                (None, None) => true,
                (mine, theirs) => elements(mine).is_some_and(|mine| elements(theirs).is_some_and(|theirs| mine == theirs)),
            }
    }

    fn asked(&self) -> Option<AskedValues<'_>> {
        match self.of_column.source.as_ref() {
            Source::Variable { dataset, column, .. } | Source::Mapped { dataset, column, .. } => Some(AskedValues { dataset: *dataset, member: None, column }),
            Source::Member { dataset, member, column } => Some(AskedValues { dataset: *dataset, member: Some(*member), column }),
            _ => None,
        }
    }
}
