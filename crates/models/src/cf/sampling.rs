//! Discrete sampling geometries (CF 9): which instance the elements of a dimension belong to.

use hyperslab_array::{Error, Result};
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, OwnerStep, Ownership};

use super::group::{Group, has, text};
use crate::grid::variables::Variable;
use crate::look::contradiction;

/// From a dimension to its instances.
pub(crate) struct Instances {
    /// One step for each instance dimension, the nearest first: the path of the array, and the dimension that it leads to.
    pub steps: Vec<Step>,
}

/// From the elements of a dimension to their instances.
#[derive(Clone)]
pub(crate) struct Step {
    pub path: String,
    pub ownership: Ownership,
    /// Name of the instance dimension.
    pub dimension: String,
    pub extent: u64,
}

impl Step {
    pub fn definition(&self) -> OwnerStep {
        OwnerStep::new(ArrayPart::whole(self.path.clone()), self.ownership, self.extent)
    }
}

/// Whether a variable has counts of a sample dimension.
pub(crate) fn is_count(variable: &Variable) -> bool {
    has(variable, "sample_dimension")
}

/// Whether a variable has indexes of instances.
pub(crate) fn is_index(variable: &Variable) -> bool {
    has(variable, "instance_dimension")
}

/// The instances of a dimension; `None` if its elements belong to none.
///
/// # Errors
/// `Corrupt` if the variables that say so contradict the file.
pub(crate) fn instances(file: &File, group: &Group, dimension: &str) -> Result<Option<Instances>> {
    let (mut steps, mut here): (Vec<Step>, String) = (Vec::new(), dimension.to_owned());
    while let Some(step) = step(file, group, &here)? {
        if step.dimension == dimension || steps.iter().any(|before| before.dimension == step.dimension) {
            return Err(contradiction(file, &step.path, format!("leads from the dimension {dimension} back to {}", step.dimension)));
        }
        here.clone_from(&step.dimension);
        steps.push(step);
    }
    Ok((!steps.is_empty()).then_some(Instances { steps }))
}

fn step(file: &File, group: &Group, dimension: &str) -> Result<Option<Step>> {
    let one_dimensional = |variable: &Variable, what: &str| -> Result<(String, u64)> {
        match (variable.dimensions.as_slice(), variable.shape.as_slice()) {
            ([name], [extent]) => Ok((name.clone(), *extent)),
            _ => Err(misfit(file, variable, what)),
        }
    };
    let counts = group.variables.iter().find(|variable| text(variable, "sample_dimension").is_some_and(|name| name.trim() == dimension));
    if let Some(counts) = counts {
        let (instance, extent) = one_dimensional(counts, "sample_dimension")?;
        return Ok(Some(Step { path: counts.path.clone(), ownership: Ownership::Counts, dimension: instance, extent }));
    }
    let is_here = |variable: &&Variable| is_index(variable) && variable.axis(dimension).is_some();
    let Some(index) = group.variables.iter().find(is_here) else { return Ok(None) };
    one_dimensional(index, "instance_dimension")?;
    let instance = text(index, "instance_dimension").unwrap_or_default().trim().to_owned();
    let Some(extent) = group.extent(&instance) else {
        let message = format!("its attribute instance_dimension names {instance:?}, which is not a dimension of a variable of the file");
        return Err(contradiction(file, &index.path, message));
    };
    Ok(Some(Step { path: index.path.clone(), ownership: Ownership::Indexes, dimension: instance, extent }))
}

fn misfit(file: &File, variable: &Variable, attribute: &str) -> Error {
    contradiction(file, &variable.path, format!("has the attribute {attribute}, but the dimensions {:?}, not one", variable.dimensions))
}

/// Sample dimensions that counts name and no variable has, by the path of the counts.
pub(crate) fn dangling(group: &Group) -> Vec<(String, String)> {
    let missing = |variable: &Variable| {
        let name = text(variable, "sample_dimension")?.trim().to_owned();
        group
            .extent(&name)
            .is_none()
            .then(|| (variable.path.clone(), format!("its attribute sample_dimension names {name:?}, which is not a dimension of a variable of the file")))
    };
    group.variables.iter().filter_map(missing).collect()
}
