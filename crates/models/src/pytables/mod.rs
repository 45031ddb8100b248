//! PyTables: tables as compound datasets, and arrays, with their classes in attributes. pandas' HDFStore is built on it.
//!
//! Tables: the datasets of class TABLE by their paths. Arrays: the datasets of the classes ARRAY, CARRAY and EARRAY. Arrays of pickled
//! objects are named, and never read as objects. Indexes that PyTables keeps for columns narrow scans, if they are believed.

mod check;
mod index_lookup;
mod pruner;
mod sorted_index;

use hyperslab_array::{Datatype, Result};
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, Omitted, SegmentDefinition, Values};

use crate::look::{Member, members, no_table, text_of};
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};
pub use check::{CheckedIndex, check_indexes};
pub use pruner::pytables_pruner;

/// The model.
pub(crate) struct PyTables;

/// Attribute of the root with the version of the format.
const VERSION: &str = "PYTABLES_FORMAT_VERSION";
/// Attribute with the class of an object.
const CLASS: &str = "CLASS";
/// Groups below groups, as deep as is looked.
const MAX_DEPTH: usize = 64;

/// A dataset.
enum Node {
    Table,
    Array(Vec<u64>),
    /// The predicate of a sentence about it.
    Other(String),
}

/// The datasets of a file by their paths without the first slash; PyTables' own indexes are none of them.
fn nodes(file: &File) -> Result<Vec<(Member, Node)>> {
    let mut found = Vec::new();
    let mut pending = vec![("/".to_owned(), 0)];
    let mut seen = std::collections::BTreeSet::new();
    while let Some((path, depth)) = pending.pop() {
        // A group may be a member of itself.
        let group = file.find(&path)?;
        if !seen.insert((group.file.path().to_owned(), group.object)) || depth > MAX_DEPTH {
            continue;
        }
        let mut groups = Vec::new();
        for member in members(file, &path)? {
            if member.name.starts_with("_i_") {
                continue;
            }
            if member.group().is_some() {
                groups.push((member.path, depth + 1));
                continue;
            }
            let node = node(&member)?;
            found.push((member, node));
        }
        pending.extend(groups.into_iter().rev());
    }
    Ok(found)
}

fn node(member: &Member) -> Result<Node> {
    let dataset = match (&member.object, member.dataset()) {
        (Err(error), _) => return Ok(Node::Other(format!("cannot be read: {}", error.message()))),
        (_, Some(dataset)) => dataset,
        (_, None) => return Ok(Node::Other("is a committed datatype".to_owned())),
    };
    let attributes = member.attributes()?;
    if let Some(atom) = text_of(&attributes, "PSEUDOATOM")? {
        return Ok(match atom.as_str() {
            "object" => Node::Other("holds pickled Python objects, which are never unpickled".to_owned()),
            atom => Node::Other(format!("has rows of variable length ({atom})")),
        });
    }
    if let Some(refusal) = &dataset.refusal {
        return Ok(Node::Other(format!("cannot be read: {}", refusal.message())));
    }
    Ok(match (text_of(&attributes, CLASS)?.as_deref(), &dataset.datatype) {
        (Some("TABLE"), Datatype::Compound { .. }) if dataset.dataspace.ndim() == 1 => Node::Table,
        (_, Datatype::Sequence { .. }) => Node::Other("has rows of variable length".to_owned()),
        _ => Node::Array(dataset.dataspace.shape().to_vec()),
    })
}

fn name_of(member: &Member) -> &str {
    member.path.trim_start_matches('/')
}

impl Model for PyTables {
    fn name(&self) -> &'static str {
        "pytables"
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        let attributes = file.attributes(file.root()).unwrap_or_default();
        let version = text_of(&attributes, VERSION).ok().flatten();
        Ok(version.map(|version| Recognition::new(self.name(), Certainty::Certain, format!("the root has {VERSION} {version}"))))
    }

    fn tables(&self, file: &File) -> Result<Vec<String>> {
        let tables = nodes(file)?.into_iter().filter(|(_, node)| matches!(node, Node::Table));
        Ok(tables.map(|(member, _)| name_of(&member).to_owned()).collect())
    }

    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        let found = nodes(file)?.into_iter().find(|(member, _)| name_of(member) == name);
        let Some((member, node)) = found else { return Err(no_table(self.name(), name, &self.tables(file)?)) };
        match (node, member.dataset()) {
            (Node::Table, Some(dataset)) => {
                let rows = dataset.dataspace.shape().to_vec();
                let mut table = SegmentDefinition::new(&member.path, rows, dataset.chunk_grid.chunk_shape().to_vec());
                if let Datatype::Compound { members, .. } = &dataset.datatype {
                    for column in members.iter() {
                        let part = ArrayPart::whole(&member.path).with_member(&column.name).with_timevals();
                        table = table.with_column(&column.name, Values::Array(part));
                    }
                }
                Ok(vec![table])
            }
            (Node::Other(reason), _) => Err(hyperslab_array::Error::unsupported(format!("{name} {reason}")).at_object(member.path.clone())),
            _ => Err(hyperslab_array::Error::not_found(format!("{name} is an array, not a table: read it by its path")).at_object(member.path.clone())),
        }
    }

    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>> {
        let arrays = nodes(file)?.into_iter().filter_map(|(member, node)| match node {
            Node::Array(shape) => Some(NamedArray { name: name_of(&member).to_owned(), step: None, path: member.path, shape }),
            _ => None,
        });
        Ok(arrays.collect())
    }

    fn validate(&self, file: &File) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        for (member, node) in nodes(file)? {
            if let (Node::Other(reason), true) = (node, member.object.is_err()) {
                problems.push(Problem::new(&member.path, reason));
            }
        }
        Ok(problems)
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        let omitted = nodes(file)?.into_iter().filter_map(|(member, node)| match node {
            Node::Other(reason) => Some(Omitted::new(member.path, reason)),
            _ => None,
        });
        Ok(omitted.collect())
    }
}
