//! Positions of columns in the order of their names, so that tables of thousands of columns find one without looking at all.

use std::sync::{Arc, OnceLock};

/// Fewer columns are looked at one by one.
const MIN_COLUMNS: usize = 32;

/// The order of a segment's columns, once one of many was looked for.
#[derive(Clone, Default)]
pub struct ColumnOrder(OnceLock<Arc<[u32]>>);

impl ColumnOrder {
    /// The first of `count` columns that is called `name`. `name_at` names the columns, which are the same in each call.
    pub(super) fn find<'a>(&self, count: usize, name_at: impl Fn(usize) -> &'a str, name: &str) -> Option<usize> {
        if count < MIN_COLUMNS {
            return (0..count).find(|at| name_at(*at) == name);
        }
        let order = self.0.get_or_init(|| {
            let mut order: Vec<u32> = (0..count).filter_map(|at| u32::try_from(at).ok()).collect();
            // Stable: of equal names the first comes first.
            order.sort_by_key(|at| name_at(*at as usize));
            order.into()
        });
        let found = *order.get(order.partition_point(|at| name_at(*at as usize) < name))? as usize;
        (name_at(found) == name).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_column_of_a_name_is_found() {
        for count in [3, 31, 32, 500] {
            let names: Vec<String> = (0..count).map(|at| format!("c{}", (at * 7) % (count - 1))).collect();
            let order = ColumnOrder::default();
            for name in (0..count + 3).map(|at| format!("c{at}")) {
                let found = order.find(count, |at| names.get(at).map_or("", String::as_str), &name);
                assert_eq!(found, names.iter().position(|known| *known == name), "{name} of {count}");
            }
        }
    }
}
