//! Row counts of the datasets in each group: whether an append keeps the columns of a table at one length.

use std::collections::{BTreeMap, BTreeSet};

use hyperslab_array::shown::shown;

use super::master::{Master, MasterObject};

/// The extent of the first dimension of each dataset of a group, by name; the groups by path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowCounts(BTreeMap<String, BTreeMap<String, u64>>);

/// Most names of datasets in a message.
const MAX_NAMES: usize = 8;

impl RowCounts {
    /// The counts in a master.
    pub fn of(master: &Master) -> Self {
        let mut groups: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        let group_of = |path: &str| path.rsplit_once('/').map_or(String::new(), |(group, _)| group.to_owned());
        // Dimension scales say which datasets belong together: a dimension may have the length of another one by chance.
        let has_scales =
            |object: &MasterObject| !object.scales.is_empty() || ["CLASS", "DIMENSION_LIST"].iter().any(|name| object.attributes.get(name).is_some());
        let described: BTreeSet<String> = master.objects.iter().filter(|(_, object)| has_scales(object)).map(|(path, _)| group_of(path)).collect();
        for (path, object) in master.objects.iter().filter(|(path, _)| !described.contains(&group_of(path))) {
            let Some(rows) = object.dataset.as_ref().and_then(|dataset| dataset.definition.dataspace.shape().first()) else { continue };
            let name = path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name);
            groups.entry(group_of(path)).or_default().insert(name.to_owned(), *rows);
        }
        Self(groups)
    }

    /// A sentence for each group whose datasets had the same number of rows before, as table columns do, and have different ones after.
    pub fn unequal_since(&self, before: &Self) -> Vec<String> {
        let one_length = |columns: &BTreeMap<String, u64>| {
            let mut rows = columns.values();
            let first = rows.next().copied()?;
            rows.all(|rows| *rows == first).then_some(first)
        };
        let grown = self.0.iter().filter_map(|(group, now)| {
            let old = before.0.get(group).filter(|old| old.len() > 1)?;
            let rows = one_length(old)?;
            if one_length(now).is_some() {
                return None;
            }
            let listed: Vec<String> = now.iter().take(MAX_NAMES).map(|(name, rows)| format!("{} {rows}", shown(name))).collect();
            let more = if now.len() > MAX_NAMES { ", …" } else { "" };
            Some(format!(
                "the datasets of /{} had {rows} rows each, and now have different numbers ({}{more}): a table of the group leaves some of them out",
                shown(group),
                listed.join(", ")
            ))
        });
        grown.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(groups: &[(&str, &[(&str, u64)])]) -> RowCounts {
        let columns = |columns: &[(&str, u64)]| columns.iter().map(|(name, rows)| ((*name).to_owned(), *rows)).collect();
        RowCounts(groups.iter().map(|(group, of)| ((*group).to_owned(), columns(of))).collect())
    }

    #[test]
    fn only_groups_that_were_tables_are_named() {
        let before = counts(&[("g", &[("a", 3), ("b", 3)]), ("alone", &[("x", 3)]), ("mixed", &[("p", 1), ("q", 2)])]);
        let same = |now: &RowCounts| now.unequal_since(&before).is_empty();
        assert!(same(&before));
        assert!(same(&counts(&[("g", &[("a", 5), ("b", 5)]), ("alone", &[("x", 3), ("y", 9)]), ("mixed", &[("p", 4), ("q", 2)])])));
        let shorter = counts(&[("g", &[("a", 5), ("b", 3)])]).unequal_since(&before);
        assert_eq!(shorter, ["the datasets of /g had 3 rows each, and now have different numbers (a 5, b 3): a table of the group leaves some of them out"]);
        // A new column that lacks the rows of before.
        assert_eq!(counts(&[("g", &[("a", 5), ("b", 5), ("c", 2)])]).unequal_since(&before).len(), 1);
    }
}
