//! Tables of the elements at one location of a grid: one of what each element has, and one for each set of further dimensions.

use std::collections::BTreeSet;

use hyperslab_scan::{ArrayPart, Omitted, SegmentDefinition, UnitConversion, Values};

use super::variables::{Variable, Variables};
use crate::look::free_name;
use crate::model::NamedArray;

/// A coordinate of the elements: a 1-D variable.
pub(crate) struct Coordinate {
    pub column: String,
    pub path: String,
    pub units: Option<UnitConversion>,
}

/// The elements at one location: the nodes, edges or faces of a mesh.
pub(crate) struct Location {
    /// Name of its table: `faces`.
    pub table: String,
    /// Name of the column with the index of each element: `face`.
    pub index: String,
    pub dimension: String,
    pub extent: u64,
    pub coordinates: Vec<Coordinate>,
    /// Lists of connected elements.
    pub lists: Vec<(String, Values)>,
    /// Chunk extent along the elements.
    pub chunk: u64,
}

/// Variables over the elements and further dimensions.
pub(crate) struct DataTable<'a> {
    pub name: String,
    /// Names of the dimensions, in order; the elements are one of them.
    dimensions: Vec<String>,
    variables: Vec<&'a Variable>,
}

impl Location {
    /// The tables of this location: first the table of the elements themselves, which is always there. What is left out of `data`
    /// goes to `omitted`.
    pub fn tables<'a>(&self, data: &[&'a Variable], omitted: &mut Vec<Omitted>) -> Vec<DataTable<'a>> {
        let mut tables = vec![DataTable { name: self.table.clone(), dimensions: vec![self.dimension.clone()], variables: Vec::new() }];
        let mut taken: BTreeSet<String> = [self.table.clone()].into();
        for variable in data {
            let mut dimensions = variable.dimensions.clone();
            if variable.is_characters() {
                if dimensions.len() != 2 || dimensions.first() != Some(&self.dimension) {
                    omitted.push(Omitted::new(variable.path.clone(), "is text with further dimensions"));
                    continue;
                }
                dimensions.truncate(1);
            }
            if let Some(twice) = dimensions.iter().enumerate().find(|(axis, name)| dimensions.iter().take(*axis).any(|other| other == *name)) {
                omitted.push(Omitted::new(variable.path.clone(), format!("has the dimension {} twice", twice.1)));
                continue;
            }
            if let Some(table) = tables.iter_mut().find(|table| table.dimensions == dimensions) {
                table.variables.push(variable);
                continue;
            }
            let further = dimensions.iter().filter(|name| **name != self.dimension).map(String::as_str).collect::<Vec<_>>().join("_");
            let name = free_name(&format!("{}_{further}", self.table), "reordered", &mut taken);
            tables.push(DataTable { name, dimensions, variables: vec![variable] });
        }
        tables
    }

    /// The definition of a table. `texts` has the variables of characters that are along a further dimension, such as the times.
    pub fn definition(&self, variables: &Variables, table: &DataTable<'_>, texts: &[&Variable]) -> SegmentDefinition {
        let first = table.variables.iter().find(|variable| !variable.is_characters());
        let (shape, chunk) = match first {
            Some(first) => (first.shape.clone(), (0..first.shape.len()).map(|axis| first.chunk_along(axis)).collect()),
            None => (vec![self.extent], vec![self.chunk.max(1)]),
        };
        let is_plain = table.dimensions.len() == 1;
        let mut taken = BTreeSet::new();
        let mut definition = SegmentDefinition::new("/", shape, chunk);
        for (axis, dimension) in table.dimensions.iter().enumerate() {
            if *dimension == self.dimension {
                definition = definition.with_column(free_name(&self.index, "index", &mut taken), Values::Index { axis });
                for coordinate in &self.coordinates {
                    let values = match &coordinate.units {
                        None if is_plain => Values::Array(ArrayPart::whole(coordinate.path.clone())),
                        units => Values::Coordinate { axis, dataset: coordinate.path.clone(), part: None, units: units.clone() },
                    };
                    definition = definition.with_column(free_name(&coordinate.column, "coordinate", &mut taken), values);
                }
                continue;
            }
            let own = variables.get(dimension).filter(|own| own.dimensions == [dimension.clone()]);
            let values = match own {
                Some(own) => Values::Coordinate { axis, dataset: own.path.clone(), part: None, units: None },
                None => Values::Index { axis },
            };
            definition = definition.with_column(free_name(dimension, "index", &mut taken), values);
            for text in texts.iter().filter(|text| text.dimensions.first() == Some(dimension) && text.dimensions.len() == 2) {
                definition = definition.with_column(free_name(&text.name, "text", &mut taken), Values::Texts { axis, dataset: text.path.clone() });
            }
        }
        if is_plain {
            for (name, values) in &self.lists {
                definition = definition.with_column(free_name(name, "list", &mut taken), values.clone());
            }
        }
        for variable in &table.variables {
            let values = match variable.is_characters() {
                true => Values::Texts { axis: 0, dataset: variable.path.clone() },
                false => Values::Array(ArrayPart::whole(variable.path.clone())),
            };
            definition = definition.with_column(free_name(&variable.name, "data", &mut taken), values);
        }
        definition
    }
}

impl DataTable<'_> {
    /// Names of the dimensions other than the dimension of the elements.
    pub fn further<'a>(&'a self, location: &'a Location) -> impl Iterator<Item = &'a str> {
        self.dimensions.iter().map(String::as_str).filter(|name| *name != location.dimension)
    }

    pub fn arrays(&self) -> impl Iterator<Item = NamedArray> {
        self.variables.iter().map(|variable| NamedArray { name: variable.name.clone(), step: None, path: variable.path.clone(), shape: variable.shape.clone() })
    }
}
