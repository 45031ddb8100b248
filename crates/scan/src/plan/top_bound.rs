//! A bound of the first rows of a sort order, from dimensions and indexes: rows after it are not among them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field, Schema};
use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_predicate::{Comparison, KeyType, Literal, Predicate};

use super::Plan;
use crate::access::column_by_index::ColumnByIndex;
use crate::access::sort_rank::{KnownRanks, RankOrder};
use crate::pruner::{Edge, after};
use crate::request::SortKey;

/// Number of keys that one question about an index compares.
const PROBES: u64 = 16;

/// A value that at least a number of rows do not come after, so that the first rows of the sort order do not, either.
#[derive(Debug, Clone)]
pub struct TopBound {
    order: RankOrder,
    key: u64,
    field: Arc<Field>,
}

impl Plan {
    /// A bound of the first `count` rows in the order of `sort`, without reading values of the column; `None` if neither
    /// dimensions nor indexes know one.
    ///
    /// # Errors
    /// `Io` or `Corrupt` if an index cannot be read; `Cancelled`.
    pub fn top_bound(&self, sort: &SortKey, count: u64, cancellation: &Cancellation) -> Result<Option<TopBound>> {
        let Some(field) = self.schema.fields().iter().find(|field| *field.name() == sort.column).cloned() else { return Ok(None) };
        let Some(key_type) = KeyType::of(field.data_type()).filter(|_| count > 0) else { return Ok(None) };
        let order = RankOrder::new(key_type, sort);
        let bound = |key| TopBound { order, key, field: field.clone() };
        let mut best: Option<TopBound> = None;
        for part in self.parts().filter(|part| part.residual.is_none()) {
            if let Some(known) = KnownRanks::of(part, &sort.column, order)?
                && let Some(key) = known.nth_key(part, order, count)?
            {
                best = TopBound::better(best, Some(bound(key)));
            }
        }
        if best.is_none()
            && let Some(index) = self.by_index(&sort.column)?
            && index.key_type() == key_type
        {
            best = nth_key(&index, order, count, cancellation)?.map(bound);
        }
        Ok(best.filter(|bound| bound.condition().is_some()))
    }
}

/// The key of the value that at least `count` matching rows do not come after.
fn nth_key(index: &ColumnByIndex, order: RankOrder, count: u64, cancellation: &Cancellation) -> Result<Option<u64>> {
    let Some(numbers) = index.numbers(cancellation)?.filter(|numbers| numbers.lower >= count) else { return Ok(None) };
    if let Some(numbers) = numbers.exact()
        && let Some(key) = index.ranked(if order.descending { numbers - count } else { count - 1 }, cancellation)?
    {
        return Ok(Some(key));
    }
    // Indexes that do not know all values have bounds of counts.
    let (least, greatest) = index.key_type().range();
    let key_at = |step: u64| if order.descending { greatest - step } else { least + step };
    let (mut low, mut high) = (0, greatest - least);
    while low < high {
        cancellation.check()?;
        let stride = ((high - low) / PROBES).max(1);
        let steps: Vec<u64> = (0..PROBES).map(|probe| low + probe * stride).take_while(|step| *step < high).collect();
        let edges: Vec<Edge> = steps.iter().map(|step| if order.descending { Some(key_at(*step)) } else { after(key_at(*step)) }).collect();
        let Some(below) = index.below(&edges, cancellation)? else { return Ok(None) };
        let holds = |below: &crate::pruner::CountBounds| match order.descending {
            true => numbers.lower.saturating_sub(below.upper) >= count,
            false => below.lower >= count,
        };
        match below.iter().position(holds) {
            Some(found) => {
                high = steps.get(found).copied().unwrap_or(high);
                low = found.checked_sub(1).and_then(|before| steps.get(before)).map_or(low, |step| step + 1);
            }
            None => low = steps.last().map_or(high, |step| step + 1),
        }
    }
    Ok(Some(key_at(low)))
}

impl TopBound {
    /// The bound that leaves fewer rows of a table, of the bounds of two of its parts. Bounds of other types are ignored.
    #[must_use]
    pub fn better(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if a.order == b.order && b.order.value(b.key) < a.order.value(a.key) { b } else { a }),
            (a, b) => a.or(b),
        }
    }

    /// The condition that the first rows meet.
    ///
    /// # Errors
    /// `Internal` if the bound has no text.
    pub fn predicate(&self) -> Result<Predicate> {
        self.condition().ok_or_else(|| Error::internal("a bound without a condition"))
    }

    /// As [`TopBound::predicate`]; `None` if the value has no text that conditions understand.
    fn condition(&self) -> Option<Predicate> {
        let RankOrder { key_type, descending, nulls_first } = self.order;
        let column = self.field.name().clone();
        let literal = match (key_type, self.field.data_type()) {
            (KeyType::Float(_), _) => Literal::Number(Some(key_type.float(self.key)).filter(|value| value.is_finite())?.to_string()),
            (KeyType::Boolean, _) => Literal::Boolean(key_type.integer(self.key) == 1),
            (_, DataType::Timestamp(..)) => {
                let time = key_type.array(&[Some(self.key)], self.field.data_type()).ok()?;
                let text = arrow_cast::cast(&time, &DataType::Utf8).ok()?;
                Literal::Text(text.as_string_opt::<i32>()?.iter().next()??.to_owned())
            }
            _ => Literal::Number(key_type.integer(self.key).to_string()),
        };
        let comparison = if descending { Comparison::GreaterOrEqual } else { Comparison::LessOrEqual };
        let mut alternatives = vec![Predicate::Compare { column: column.clone(), comparison, literal }];
        if descending && matches!(key_type, KeyType::Float(_)) {
            alternatives.push(Predicate::CompareColumns { left: column.clone(), comparison: Comparison::NotEqual, right: column.clone() });
        }
        if nulls_first && self.field.is_nullable() {
            alternatives.push(Predicate::IsNull { column });
        }
        let predicate = if alternatives.len() == 1 { alternatives.pop()? } else { Predicate::Or(alternatives) };
        // Years beyond 9999 have no text that conditions understand.
        predicate.bind(&Schema::new(vec![self.field.clone()])).is_ok().then_some(predicate)
    }
}
