//! Layers and weights that attributes name: files of Keras 2, and older files of Keras 3.

use hyperslab_array::Result;
use hyperslab_formats::Attributes;
use hyperslab_reader::File;

use super::Weight;
use crate::budget::Budget;
use crate::look::{contradiction, join, optional, texts, values};

/// Group of the weights in a file of a whole model.
pub(super) const WEIGHTS: &str = "/model_weights";
/// Group of the weights of the optimizer.
const OPTIMIZER: &str = "/optimizer_weights";
/// Group of weights that belong to no layer.
const TOP_LEVEL: &str = "top_level_model_weights";

const LAYERS: &str = "layer_names";
const NAMES: &str = "weight_names";

/// The names that an attribute holds; `None` if there is none. Long lists are cut: `layer_names0`, `layer_names1` …
fn names(file: &File, path: &str, attributes: &Attributes, name: &str) -> Result<Option<Vec<String>>> {
    let one = |name: &str| match attributes.get(name) {
        None => Ok(None),
        Some(attribute) => match texts(attribute)? {
            Some(names) => Ok(Some(names)),
            // An empty list has the type of numbers.
            None if values(attribute)?.is_none() => Ok(Some(Vec::new())),
            None => Err(contradiction(file, path, format!("the attribute {name} does not hold names"))),
        },
    };
    if let Some(names) = one(name)? {
        return Ok(Some(names));
    }
    let mut all: Option<Vec<String>> = None;
    for part in 0..attributes.list.len() {
        let Some(names) = one(&format!("{name}{part}"))? else { break };
        all.get_or_insert_default().extend(names);
    }
    Ok(all)
}

/// Whether the group at `path` names its layers.
pub(super) fn has_layers(file: &File, path: &str) -> Result<bool> {
    let Some(group) = optional(file, path)?.filter(|member| member.group().is_some()) else { return Ok(false) };
    let attributes = group.attributes()?;
    Ok(attributes.get(LAYERS).is_some() || attributes.get(&format!("{LAYERS}0")).is_some())
}

/// The names of the layers of a group that has them, in the order of the model.
pub(super) fn layer_names(file: &File, path: &str) -> Result<Vec<String>> {
    let Some(group) = optional(file, path)? else { return Ok(Vec::new()) };
    Ok(names(file, path, &*group.attributes()?, LAYERS)?.unwrap_or_default())
}

/// The weights that the group at `path` names.
fn weights_of(file: &File, path: &str, layer: &str, budget: &mut Budget) -> Result<Vec<Weight>> {
    let missing = || contradiction(file, path, "a layer that is named, but is not there");
    let group = optional(file, path)?.filter(|member| member.group().is_some()).ok_or_else(missing)?;
    let mut weights = Vec::new();
    for name in names(file, path, &*group.attributes()?, NAMES)?.unwrap_or_default() {
        let missing = || contradiction(file, path, format!("the weight {name:?} is named, but is not there"));
        let member = optional(file, &join(path, &name))?.ok_or_else(missing)?;
        weights.push(Weight::of(file, &member, layer, &name, budget)?);
    }
    Ok(weights)
}

/// The weights of the layers of the group at `path`, in the order of the model.
pub(super) fn layers(file: &File, path: &str, budget: &mut Budget) -> Result<Vec<Weight>> {
    let mut weights = Vec::new();
    for (position, layer) in layer_names(file, path)?.into_iter().enumerate() {
        let own = weights_of(file, &join(path, &layer), &layer, budget)?;
        weights.extend(own.into_iter().map(|weight| Weight { position: i64::try_from(position).ok(), ..weight }));
    }
    let top = join(path, TOP_LEVEL);
    if file.exists(&top)? {
        weights.extend(weights_of(file, &top, TOP_LEVEL, budget)?);
    }
    Ok(weights)
}

/// The weights of the optimizer, if the file has them.
pub(super) fn optimizer(file: &File, budget: &mut Budget) -> Result<Vec<Weight>> {
    if !file.exists(OPTIMIZER)? {
        return Ok(Vec::new());
    }
    let weights = weights_of(file, OPTIMIZER, "optimizer", budget)?;
    Ok(weights.into_iter().map(|weight| Weight { of_optimizer: true, ..weight }).collect())
}
