//! Columns that many segments share: of a hundred thousand files with the same arrays, each kind of column is kept once.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::Field;
use hyperslab_columns::Column;

use super::segment::{SegmentColumn, Source};

/// Most kinds of columns that are compared with each new one.
const MAX_KINDS: usize = 64;

/// How the values of a column become Arrow values, if it has values of its own.
type Kind = (Arc<Field>, Option<Arc<Column>>);

/// The kinds of columns of one plan, as far as its segments were made.
#[derive(Default)]
pub(crate) struct SharedColumns(Mutex<Vec<Kind>>);

impl SharedColumns {
    /// Replaces what columns consist of by equal parts of columns before them.
    pub fn share(&self, columns: &mut [SegmentColumn]) {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for column in columns {
            let own = converting(&mut column.source);
            let is_equal = |(field, known): &&Kind| *field == column.field && known.as_ref() == own.as_deref();
            match kinds.iter().find(is_equal) {
                Some((field, known)) => {
                    column.field = field.clone();
                    if let (Some(own), Some(known)) = (own, known) {
                        *own = known.clone();
                    }
                }
                None if kinds.len() < MAX_KINDS => kinds.push((column.field.clone(), own.cloned())),
                None => {}
            }
        }
    }
}

fn converting(source: &mut Source) -> Option<&mut Arc<Column>> {
    match source {
        Source::Coordinate { column, .. } | Source::Variable { column, .. } | Source::Mapped { column, .. } | Source::Member { column, .. } => Some(column),
        _ => None,
    }
}
