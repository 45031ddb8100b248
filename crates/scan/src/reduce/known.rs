//! Known: what indexes know of the rows of a window, so that values need not be read.

use std::sync::Arc;

use hyperslab_array::{Cancellation, Result, Selection};
use hyperslab_predicate::{self as predicate, Condition, KeyType, ValueSet};

use super::elements::Kind;
use super::expression::{Comparison, Expression, Test};
use super::request::{Measure, Reduction};
use crate::access::indexed_term::{index_of, mapped_selection};
use crate::access::segment_scan::SegmentScan;
use crate::pruner::ColumnIndex;
use crate::table::mapping::RowMapping;

/// What indexes know of the rows of a window.
pub(super) enum Answer {
    /// Nothing: they have to be read.
    Unknown,
    /// The condition holds for each row, but values have to be read.
    AllPass,
    /// This many rows pass, and no value is needed.
    Passing(u64),
    /// The condition holds for each row, and this is known of the values of each measure.
    Values(Vec<Summary>),
}

/// What an index knows of the values of a measure.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Summary {
    pub nulls: u64,
    pub nans: u64,
    /// The keys of the least and the greatest value, if they are needed and there are any.
    pub ends: Option<(KeyType, u64, u64)>,
}

/// The indexes of a segment that a reduction can ask.
pub(super) struct Known {
    /// The condition, as values of columns that all must have. Empty if there is none.
    conditions: Vec<KnownCondition>,
    /// What is needed for each measure; `None` if one needs values.
    measures: Option<Vec<Need>>,
}

/// The values of a column that pass.
struct KnownCondition {
    column: IndexedColumn,
    passing: Condition,
    others: Condition,
}

/// What a measure needs.
enum Need {
    /// The number of values of a column that are not null.
    Count(IndexedColumn),
    /// The least and the greatest value, too.
    Extremes(IndexedColumn),
}

struct IndexedColumn {
    number: usize,
    index: Arc<dyn ColumnIndex>,
    /// Maps rows to elements; `None` if the rows are the elements.
    mapping: Option<Arc<RowMapping>>,
}

impl IndexedColumn {
    fn of(part: &SegmentScan, columns: &[(String, Kind)], number: usize) -> Option<Self> {
        let (name, _) = columns.get(number)?;
        let (index, mapping) = index_of(&part.segment, &part.segment.column(name)?.source)?;
        Some(Self { number, index, mapping })
    }

    /// Whether no row of a window has a value for which `condition` holds.
    fn has_none(&self, rows: &Selection, condition: &Condition) -> Result<bool> {
        let blocks = self.index.blocks(&*mapped_selection(self.mapping.as_ref(), rows)?, condition)?;
        Ok(blocks.all > 0 && blocks.pruned == blocks.all)
    }
}

impl Known {
    /// The indexes of a segment that a reduction can ask; `None` if they cannot save any reading.
    pub fn of(part: &SegmentScan, reduction: &Reduction, columns: &[(String, Kind)]) -> Option<Self> {
        // A segment's own predicate asks its indexes itself.
        if part.residual.is_some() {
            return None;
        }
        let measures: Option<Vec<Need>> = reduction.measures.iter().map(|measure| Need::of(measure, part, columns)).collect();
        let conditions = match &reduction.condition {
            None => Vec::new(),
            Some(condition) => KnownCondition::all(condition, part, columns)?,
        };
        if measures.is_none() && conditions.is_empty() {
            return None;
        }
        Some(Self { conditions, measures })
    }

    /// What is known of the rows of a window, which are in one group if `is_one_group`.
    pub fn answer(&self, rows: &Selection, is_one_group: bool, cancellation: &Cancellation) -> Result<Answer> {
        let mut all_pass = true;
        for condition in &self.conditions {
            if condition.column.has_none(rows, &condition.passing)? {
                return Ok(Answer::Passing(0));
            }
            all_pass &= condition.column.has_none(rows, &condition.others)?;
        }
        if all_pass {
            return Ok(match self.summaries(rows, is_one_group)? {
                Some(summaries) => Answer::Values(summaries),
                None => Answer::AllPass,
            });
        }
        let [condition] = self.conditions.as_slice() else { return Ok(Answer::Unknown) };
        // Values that pass a comparison are not null.
        let counts_only = |need: &Need| matches!(need, Need::Count(column) if column.number == condition.column.number && !condition.has_null());
        if is_one_group && self.measures.as_ref().is_some_and(|needs| needs.iter().all(counts_only)) {
            let selection = mapped_selection(condition.column.mapping.as_ref(), rows)?;
            if let Some(count) = condition.column.index.count(&selection, &condition.passing, cancellation)?.exact() {
                return Ok(Answer::Passing(count));
            }
        }
        Ok(Answer::Unknown)
    }

    fn summaries(&self, rows: &Selection, is_one_group: bool) -> Result<Option<Vec<Summary>>> {
        let Some(needs) = &self.measures else { return Ok(None) };
        let mut found = Vec::with_capacity(needs.len());
        for need in needs {
            let Some(summary) = need.summary(rows, is_one_group)? else { return Ok(None) };
            found.push(summary);
        }
        Ok(Some(found))
    }
}

impl KnownCondition {
    /// A condition as values of columns that have indexes; `None` if it is not that.
    fn all(condition: &Expression, part: &SegmentScan, columns: &[(String, Kind)]) -> Option<Vec<Self>> {
        let parts = match condition {
            Expression::Logic { all: true, of } => of.as_slice(),
            one => std::slice::from_ref(one),
        };
        let mut sets: Vec<(IndexedColumn, ValueSet)> = Vec::new();
        for part_of_condition in parts {
            let number = column_of(part_of_condition)?;
            let here = match sets.iter_mut().find(|(column, _)| column.number == number) {
                Some(here) => here,
                None => {
                    let column = IndexedColumn::of(part, columns, number)?;
                    let key_type = column.index.key_type()?;
                    sets.push((column, ValueSet::all(key_type).with_null(true)));
                    sets.last_mut()?
                }
            };
            let (_, kind) = columns.get(number)?;
            let passing = passing(part_of_condition, *kind, here.1.key_type())?;
            here.1 = here.1.clone().and(&passing);
        }
        let known = |(column, set): (IndexedColumn, ValueSet)| {
            let others = set.clone().not().with_null(!set.has_null());
            Self { column, passing: Condition::of_values(set), others: Condition::of_values(others) }
        };
        Some(sets.into_iter().map(known).collect())
    }

    fn has_null(&self) -> bool {
        self.passing.values().is_none_or(ValueSet::has_null)
    }
}

impl Need {
    fn of(measure: &Measure, part: &SegmentScan, columns: &[(String, Kind)]) -> Option<Self> {
        let Measure { argument: Expression::Column { column }, filter: None, sum: false, deviations: false, quantile: None, extremes } = measure else {
            return None;
        };
        let column = IndexedColumn::of(part, columns, *column)?;
        column.index.key_type()?;
        Some(if *extremes { Self::Extremes(column) } else { Self::Count(column) })
    }

    fn summary(&self, rows: &Selection, is_one_group: bool) -> Result<Option<Summary>> {
        let (Self::Count(column) | Self::Extremes(column)) = self;
        let Some(key_type) = column.index.key_type() else { return Ok(None) };
        let has_nulls = !column.has_none(rows, &Condition::of_values(ValueSet::only_null(key_type)))?;
        if let (Self::Count(_), false) = (self, has_nulls) {
            return Ok(Some(Summary::default()));
        }
        if !is_one_group {
            return Ok(None);
        }
        let selection = mapped_selection(column.mapping.as_ref(), rows)?;
        let Some((numbers, nans, nulls)) = column.index.counts(&selection)? else { return Ok(None) };
        let ends = match self {
            Self::Extremes(_) if numbers > 0 => match column.index.extremes(&selection)?.filter(|range| range.exact) {
                Some(range) => Some((key_type, range.min, range.max)),
                None => return Ok(None),
            },
            _ => None,
        };
        Ok(Some(Summary { nulls, nans, ends }))
    }
}

/// The only column that a condition is about.
fn column_of(condition: &Expression) -> Option<usize> {
    match condition {
        Expression::Column { column } => Some(*column),
        Expression::Compare { left, right, .. } => match (constant(left), constant(right)) {
            (None, Some(_)) => operand(left).map(|(column, _)| column),
            (Some(_), None) => operand(right).map(|(column, _)| column),
            _ => None,
        },
        Expression::Test { of, .. } => match of.as_ref() {
            Expression::Column { column } => Some(*column),
            _ => None,
        },
        Expression::Logic { of, .. } => {
            let mut columns = of.iter().map(column_of);
            let first = columns.next()??;
            columns.all(|column| column == Some(first)).then_some(first)
        }
        _ => None,
    }
}

/// A column that is compared, and whether as doubles.
fn operand(expression: &Expression) -> Option<(usize, bool)> {
    match expression {
        Expression::Column { column } => Some((*column, false)),
        Expression::Double { of } => operand(of).map(|(column, _)| (column, true)),
        _ => None,
    }
}

/// A constant that a column is compared with.
fn constant(expression: &Expression) -> Option<Constant> {
    match expression {
        Expression::Number { value } => Some(Constant::Number(*value)),
        Expression::Integer { value } => Some(Constant::Integer(*value)),
        _ => None,
    }
}

enum Constant {
    Number(f64),
    Integer(i64),
}

/// The values of a column for which a condition is true, with NaN as in SQL.
fn passing(condition: &Expression, kind: Kind, key_type: KeyType) -> Option<ValueSet> {
    match condition {
        Expression::Compare { operation, left, right } => {
            let (operation, column, other) = match operand(left) {
                Some(column) => (*operation, column, right),
                None => (operation.exchanged(), operand(right)?, left),
            };
            // Doubles hold all but integers of 8 bytes.
            let kind = match column {
                (_, true) if key_type.width() < 8 || kind == Kind::Double => Kind::Double,
                (_, true) => return None,
                (_, false) => kind,
            };
            compared(operation, constant(other)?, kind, key_type)
        }
        Expression::Logic { all, of } => {
            let mut sets = of.iter().map(|one| passing(one, kind, key_type));
            let first = sets.next()??;
            sets.try_fold(first, |known, next| Some(if *all { known.and(&next?) } else { known.or(&next?) }))
        }
        Expression::Test { what: Test::Null, .. } => Some(ValueSet::only_null(key_type)),
        Expression::Test { what: Test::Nan, .. } => {
            let (first, last) = key_type.range();
            Some(ValueSet::keys(key_type, first, last).not())
        }
        _ => None,
    }
}

fn compared(operation: Comparison, constant: Constant, kind: Kind, key_type: KeyType) -> Option<ValueSet> {
    match (constant, kind) {
        // As the values are compared: a constant takes the type of the column.
        (Constant::Number(number), Kind::Float) => of_floats(operation, f64::from(number as f32), key_type),
        (Constant::Number(number), Kind::Double) => of_floats(operation, number, key_type),
        (Constant::Integer(number), Kind::Integer) => {
            let number = i128::from(number);
            let between = |low, high| ValueSet::integers(key_type, low, high);
            Some(match operation {
                Comparison::Equal => between(number, number),
                Comparison::Unequal => between(number, number).not(),
                Comparison::Less => between(i128::MIN, number - 1),
                Comparison::AtMost => between(i128::MIN, number),
                Comparison::Greater => between(number + 1, i128::MAX),
                Comparison::AtLeast => between(number, i128::MAX),
            })
        }
        _ => None,
    }
}

fn of_floats(operation: Comparison, number: f64, key_type: KeyType) -> Option<ValueSet> {
    if number.is_nan() {
        return None;
    }
    let less = |comparison| ValueSet::compared(key_type, comparison, number);
    Some(match operation {
        Comparison::Equal => less(predicate::Comparison::Equal),
        Comparison::Unequal => less(predicate::Comparison::Equal).not(),
        Comparison::Less => less(predicate::Comparison::Less),
        Comparison::AtMost => less(predicate::Comparison::LessOrEqual),
        // NaN is greater than every number.
        Comparison::Greater => less(predicate::Comparison::LessOrEqual).not(),
        Comparison::AtLeast => less(predicate::Comparison::Less).not(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float32Array, Int16Array};
    use proptest::prelude::*;

    use super::*;
    use crate::reduce::elements::{Block, Column};

    const FLOATS: [f32; 9] = [f32::NEG_INFINITY, -1.5, -0.0, 0.0, 0.1, 1.0, 300.0, f32::INFINITY, f32::NAN];

    fn comparison() -> impl Strategy<Value = Comparison> {
        use Comparison::{AtLeast, AtMost, Equal, Greater, Less, Unequal};
        prop::sample::select(vec![Equal, Unequal, Less, AtMost, Greater, AtLeast])
    }

    fn condition(constants: Vec<Expression>) -> impl Strategy<Value = Expression> {
        let column = || Box::new(Expression::Column { column: 0 });
        let constants = prop::sample::select(constants);
        let doubles = prop::sample::select(vec![-3.0, 0.1, 7.0, 6.5, f64::INFINITY]).prop_map(|value| (Expression::Number { value }, true));
        let compared = (comparison(), prop_oneof![constants.prop_map(|constant| (constant, false)), doubles], any::<bool>());
        let compared = compared.prop_map(move |(operation, (constant, is_double), exchange)| {
            let (left, right) = (if is_double { Box::new(Expression::Double { of: column() }) } else { column() }, Box::new(constant));
            if exchange { Expression::Compare { operation, left: right, right: left } } else { Expression::Compare { operation, left, right } }
        });
        let null = Just(Expression::Test { what: Test::Null, of: column() });
        let one = prop_oneof![8 => compared, 1 => null];
        one.prop_recursive(2, 6, 3, |inner| (any::<bool>(), prop::collection::vec(inner, 1..4)).prop_map(|(all, of)| Expression::Logic { all, of }))
    }

    /// Compares the set of a condition with what the condition says of each value.
    fn check(condition: &Expression, values: ArrayRef, kind: Kind) -> Result<(), TestCaseError> {
        let key_type = KeyType::of(values.data_type()).ok_or_else(|| TestCaseError::fail("a type without keys"))?;
        let keys = key_type.keys(&values)?;
        let count = values.len();
        let nulls = values.nulls().cloned();
        let columns = [Column::new(values)?];
        let block = Block { columns: &columns, vectors: &[], range: 0..count, in_run: 0 };
        let passed = condition.passed(&block)?;
        prop_assert_eq!(column_of(condition), Some(0));
        let set = passing(condition, kind, key_type).ok_or_else(|| TestCaseError::fail("no set"))?;
        for place in 0..count {
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(place));
            let holds = if is_null { set.has_null() } else { set.contains_value(keys[place]) };
            prop_assert_eq!(holds, passed[place] == 1, "{:?} at {}", condition, place);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn the_set_of_floats_is_what_passes(condition in condition(
            [-1.5, -0.0, 0.0, 0.1, 300.0, f64::INFINITY, f64::NEG_INFINITY].into_iter().map(|value| Expression::Number { value }).collect())
        ) {
            let values: Float32Array = FLOATS.into_iter().map(Some).chain([None]).collect();
            check(&condition, Arc::new(values), Kind::Float)?;
        }

        #[test]
        fn the_set_of_integers_is_what_passes(condition in condition(
            [-40_000, -3, 0, 7, 32_767, i64::MAX, i64::MIN].into_iter().map(|value| Expression::Integer { value }).collect())
        ) {
            let values: Int16Array = [i16::MIN, -3, -2, 0, 6, 7, 8, i16::MAX].into_iter().map(Some).chain([None]).collect();
            check(&condition, Arc::new(values), Kind::Integer)?;
        }
    }
}
