//! Tables of a group: variables with the same dimensions, with their coordinates, bounds and instances.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use hyperslab_reader::File;

use super::columns::shown;
use super::group::Group;
use super::outline::{Dimensions, Outline, Tables, is_coordinate, row_dimensions};
use super::roles::Roles;
use super::sampling::{Step, instances, is_index};
use crate::grid::variables::Variable;
use crate::look::free_name;

/// Name of the table of observations of a discrete sampling geometry.
const OBSERVATIONS: &str = "observations";
/// Name of the table of variables without dimensions.
const SCALARS: &str = "scalars";

impl<'a> Tables<'a> {
    pub fn of(file: &'a File, group: &'a Group) -> Self {
        let mut tables = Self { file, group, roles: Roles::of(group), list: Vec::new() };
        for variable in &group.variables {
            if !tables.roles.is_role(variable) && !is_coordinate(variable) && !is_index(variable) {
                tables.add(variable);
            }
        }
        // Instances have a table even if all of their variables are coordinates.
        for step in tables.steps() {
            tables.table_of(vec![(step.dimension, step.extent)]);
        }
        // What is in no table has one of its own dimensions: coordinates without data, bounds of variables of other groups.
        let mut seen: BTreeSet<String> = tables.list.iter().flat_map(|table| shown(&tables, table)).collect();
        for variable in &group.variables {
            let is_apart = match tables.roles.bounds.get(&variable.path) {
                // Bounds that do not fit what they bound are an error of its table.
                Some(bounded) => !group.variables.iter().any(|own| own.path == *bounded),
                None => !tables.roles.containers.contains_key(&variable.path),
            };
            if is_apart && !seen.contains(&variable.path) {
                let place = tables.add(variable);
                seen.extend(tables.list.get(place).map(|table| shown(&tables, table)).unwrap_or_default());
            }
        }
        tables.sort();
        tables.name();
        tables
    }

    /// All steps from a dimension of a table to its instances. What contradicts the file is an error of its table.
    fn steps(&self) -> Vec<Step> {
        let dimensions = self.list.iter().flat_map(|table| &table.dimensions);
        dimensions.filter_map(|(name, _)| instances(self.file, self.group, name).ok().flatten()).flat_map(|found| found.steps).collect()
    }

    /// The table of these dimensions.
    fn table_of(&mut self, dimensions: Dimensions) -> usize {
        if let Some(place) = self.list.iter().position(|table| table.dimensions == dimensions) {
            return place;
        }
        self.list.push(Outline { name: String::new(), dimensions, data: Vec::new() });
        self.list.len() - 1
    }

    /// Adds data to the table of its dimensions.
    fn add(&mut self, variable: &'a Variable) -> usize {
        let place = self.table_of(row_dimensions(self.group, variable));
        // A coordinate variable is the column of its dimension already.
        if let Some(table) = self.list.get_mut(place).filter(|_| !is_coordinate(variable)) {
            table.data.push(variable);
        }
        place
    }

    /// Whether a table has observations that belong to instances, and no others belong to them.
    fn is_sampled(&self, table: &Outline<'_>) -> bool {
        let [(dimension, _)] = table.dimensions.as_slice() else { return false };
        let leads_here = self.steps().iter().any(|step| step.dimension == *dimension);
        !leads_here && instances(self.file, self.group, dimension).is_ok_and(|found| found.is_some())
    }

    fn sort(&mut self) {
        let elements = |table: &Outline<'_>| table.dimensions.iter().fold(1u64, |n, (_, extent)| n.saturating_mul((*extent).max(1)));
        let rank = |table: &Outline<'_>| (self.is_sampled(table), !table.data.is_empty(), elements(table), table.dimensions.len(), table.data.len());
        let mut ranked: Vec<_> = self.list.iter().map(rank).zip(0..).collect();
        ranked.sort_by_key(|(rank, place)| (Reverse(*rank), *place));
        let mut list: Vec<Option<Outline<'a>>> = std::mem::take(&mut self.list).into_iter().map(Some).collect();
        self.list = ranked.into_iter().filter_map(|(_, place)| list.get_mut(place)?.take()).collect();
    }

    fn name(&mut self) {
        let sampled: Vec<bool> = self.list.iter().map(|table| self.is_sampled(table)).collect();
        let no_ragged = self.group.feature_type.is_some() && !sampled.contains(&true);
        let mut taken = BTreeSet::new();
        for (place, (table, is_sampled)) in self.list.iter_mut().zip(sampled).enumerate() {
            let names: Vec<&str> = table.dimensions.iter().map(|(name, _)| name.as_str()).collect();
            let plain = if names.is_empty() { SCALARS.to_owned() } else { names.join("_") };
            let is_main = place == 0 && !table.dimensions.is_empty();
            table.name = match is_main && (is_sampled || no_ragged) {
                true => free_name(OBSERVATIONS, "table", &mut taken),
                false => free_name(&plain, "table", &mut taken),
            };
        }
    }

    /// The table that has a variable as data.
    pub fn with(&self, name: &str) -> Option<&Outline<'a>> {
        self.list.iter().find(|table| table.data.iter().any(|variable| variable.name == name))
    }
}
