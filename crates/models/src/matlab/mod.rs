//! MATLAB v7.3: variables as members of the root, with their classes in attributes.
//!
//! Tables: structs whose fields are vectors of one length. Numeric variables are arrays. Cell arrays, text and the rest are
//! values of one variable, which programs read by reference; they are named.

mod structs;

use hyperslab_array::{Datatype, Result};
use hyperslab_reader::File;
use hyperslab_scan::{Omitted, SegmentDefinition};

use crate::look::{Member, join, members, no_table, text_of};
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};
use structs::Struct;

/// The model.
pub(crate) struct Matlab;

/// Attribute with the class of a value.
const CLASS: &str = "MATLAB_class";
/// How the header in the user block begins.
const HEADER: &[u8] = b"MATLAB 7.3";
/// Members of the root that are not variables: what references and objects point at.
const HIDDEN: [&str; 2] = ["#refs#", "#subsystem#"];
/// Members of the root that are asked for a class if there is no header.
const ASKED: usize = 8;

/// What a variable is.
enum Variable {
    Struct(Struct),
    Array(Vec<u64>),
    /// The predicate of a sentence about it.
    Other(String),
}

fn variables(file: &File) -> Result<Vec<(Member, Variable)>> {
    let members = members(file, "/")?.into_iter().filter(|member| !HIDDEN.contains(&member.name.as_str()));
    members.map(|member| Ok((variable(file, &member)?, member))).map(|pair| pair.map(|(variable, member)| (member, variable))).collect()
}

fn variable(file: &File, member: &Member) -> Result<Variable> {
    let other = |reason: &str| Ok(Variable::Other(reason.to_owned()));
    if let Err(error) = &member.object {
        return Ok(Variable::Other(format!("cannot be read: {}", error.message())));
    }
    let attributes = member.attributes()?;
    let class = text_of(&attributes, CLASS)?.unwrap_or_default();
    if attributes.get("MATLAB_sparse").is_some() {
        return other("is a sparse matrix");
    }
    if attributes.get("MATLAB_object_decode").is_some() {
        return Ok(Variable::Other(format!("is an object of class {class}")));
    }
    if attributes.get("MATLAB_empty").is_some() {
        return Ok(Variable::Other(format!("is an empty {class}")));
    }
    let Some(dataset) = member.dataset() else {
        return match class.as_str() {
            "struct" | "" if member.group().is_some() => Ok(Variable::Struct(Struct::of(file, &member.path)?)),
            _ => Ok(Variable::Other(format!("is of class {class}"))),
        };
    };
    match (class.as_str(), &dataset.datatype) {
        ("char", _) => other("is text"),
        (_, Datatype::Reference { .. }) => other("is a cell array"),
        (_, Datatype::Integer { .. } | Datatype::Float { .. } | Datatype::Compound { .. }) => Ok(Variable::Array(dataset.dataspace.shape().to_vec())),
        _ => Ok(Variable::Other(format!("is of class {class}"))),
    }
}

impl Model for Matlab {
    fn name(&self) -> &'static str {
        "matlab"
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        let array_file = file.array_file();
        let mut header = [0; HEADER.len()];
        // A shorter file is not a MATLAB file.
        let has_header = array_file.user_block_bytes() >= 128 && array_file.storage().read_exact_at(0, &mut header).is_ok() && header == HEADER;
        if has_header {
            return Ok(Some(Recognition::new(self.name(), Certainty::Certain, "the header says MATLAB 7.3")));
        }
        let tree = array_file.tree();
        let first = tree.first_links(file.root(), ASKED).unwrap_or_default();
        let named = first.iter().find(|link| link.object().is_some_and(|id| tree.has_attribute(id, &[CLASS]).unwrap_or(false)));
        Ok(named.map(|link| Recognition::new(self.name(), Certainty::Likely, format!("/{} has the attribute {CLASS}", link.name))))
    }

    fn tables(&self, file: &File) -> Result<Vec<String>> {
        let tables = variables(file)?.into_iter().filter(|(_, variable)| matches!(variable, Variable::Struct(fields) if fields.rows().is_some()));
        Ok(tables.map(|(member, _)| member.name).collect())
    }

    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        let found = variables(file)?.into_iter().find(|(member, _)| member.name == name);
        match found {
            Some((_, Variable::Struct(fields))) if fields.rows().is_some() => Ok(vec![fields.definition(file)?]),
            Some((member, Variable::Struct(_))) => {
                let message = format!("the struct {name} is not a table: its fields are not vectors of one length; read it with hyperslab.models.matlab");
                Err(hyperslab_array::Error::not_found(message).at_object(member.path))
            }
            Some((member, Variable::Array(shape))) => {
                let message = format!("{name} is an array of shape {shape:?}, not a table: read it by its path");
                Err(hyperslab_array::Error::not_found(message).at_object(member.path))
            }
            Some((member, Variable::Other(reason))) => {
                let message = format!("{name} {reason}, not a table: read it with hyperslab.models.matlab");
                Err(hyperslab_array::Error::unsupported(message).at_object(member.path))
            }
            None => Err(no_table(self.name(), name, &self.tables(file)?)),
        }
    }

    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>> {
        let arrays = variables(file)?.into_iter().filter_map(|(member, variable)| match variable {
            Variable::Array(shape) => Some(NamedArray { name: member.name, step: None, path: member.path, shape }),
            _ => None,
        });
        Ok(arrays.collect())
    }

    fn validate(&self, file: &File) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        for (member, variable) in variables(file)? {
            match (variable, &member.object) {
                (_, Err(error)) => problems.push(Problem::new(&member.path, error.message())),
                (Variable::Struct(fields), _) => problems.extend(fields.problems(&member.path)),
                _ => {}
            }
        }
        Ok(problems)
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        let mut omitted = Vec::new();
        for (member, variable) in variables(file)? {
            match variable {
                Variable::Other(reason) => omitted.push(Omitted::new(member.path, reason)),
                Variable::Struct(fields) if fields.rows().is_some() => {
                    omitted.extend(fields.omitted.iter().map(|field| Omitted::new(join(&member.path, &field.name), field.reason.clone())));
                }
                Variable::Struct(_) => omitted.push(Omitted::new(member.path, "is a struct whose fields are not vectors of one length")),
                Variable::Array(_) => {}
            }
        }
        Ok(omitted)
    }
}
