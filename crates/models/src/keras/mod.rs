//! Keras: weights of models. `.h5` files of Keras 2 and 3 (a whole model, or its weights), and `.weights.h5` files of Keras 3.
//!
//! Table: `weights`, with a row for each weight of layers and optimizer. Arrays: the weights.

mod named;
mod store;

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, Int64Array, StringArray};
use hyperslab_array::{Error, Result};
use hyperslab_columns::{Column, Conventions};
use hyperslab_formats::Dataset;
use hyperslab_reader::File;
use hyperslab_scan::{Literal, Omitted, SegmentDefinition, Values};
use serde_json::{Map, Value};

use crate::budget::Budget;
use crate::look::{Member, contradiction, no_table, optional, text_of};
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};
use crate::small_values::put_attributes;

/// The model.
pub(crate) struct Keras;

/// Bytes of a weight in memory besides its names.
const WEIGHT_BYTES: u64 = 256;
const TABLE: &str = "weights";
/// Attribute of a whole model with its configuration, as JSON.
const CONFIG: &str = "model_config";

/// A weight.
struct Weight {
    /// Whether it belongs to the optimizer.
    of_optimizer: bool,
    /// The layer's place in the model, if the file says so.
    position: Option<i64>,
    layer: String,
    name: String,
    path: String,
    shape: Vec<u64>,
    dtype: String,
}

/// The type of a weight as numpy calls it. Types that HDF5 lacks are in an attribute.
fn dtype(member: &Member, dataset: &Dataset) -> Result<String> {
    if let Some(named) = text_of(&*member.attributes()?, "dtype")? {
        return Ok(named);
    }
    let column = Column::new(&member.name, &dataset.datatype, &[], Conventions::Raw);
    Ok(column.map_or_else(|_| "unknown".to_owned(), |column| column.field().data_type().to_string().to_lowercase()))
}

impl Weight {
    /// The weight in a member, which must be a dataset.
    fn of(file: &File, member: &Member, layer: &str, name: &str, budget: &mut Budget) -> Result<Self> {
        budget.pay((member.path.len() + layer.len() + name.len()) as u64 + WEIGHT_BYTES, &member.path)?;
        let dataset = match (&member.object, member.dataset()) {
            (Err(error), _) => return Err(error.clone().at_object(&member.path)),
            (_, None) => return Err(contradiction(file, &member.path, "a weight that is not a dataset")),
            (_, Some(dataset)) => dataset,
        };
        Ok(Self {
            of_optimizer: false,
            position: None,
            layer: layer.to_owned(),
            name: name.to_owned(),
            path: member.path.clone(),
            shape: dataset.dataspace.shape().to_vec(),
            dtype: dtype(member, dataset)?,
        })
    }
}

/// Which of the two layouts a file has.
enum Layout {
    /// Layers and weights are named by attributes, in the group at this path.
    Named(&'static str),
    /// Groups `vars` hold weights by number.
    Store,
}

fn layout(file: &File) -> Result<Option<Layout>> {
    if named::has_layers(file, named::WEIGHTS)? {
        return Ok(Some(Layout::Named(named::WEIGHTS)));
    }
    if named::has_layers(file, "/")? {
        return Ok(Some(Layout::Named("/")));
    }
    Ok(store::is_store(file)?.then_some(Layout::Store))
}

fn weights(file: &File) -> Result<Vec<Weight>> {
    let mut budget = Budget::of(file);
    match layout(file)? {
        Some(Layout::Named(group)) => {
            let mut weights = named::layers(file, group, &mut budget)?;
            weights.extend(named::optimizer(file, &mut budget)?);
            Ok(weights)
        }
        Some(Layout::Store) => store::weights(file, &mut budget),
        None => Ok(Vec::new()),
    }
}

fn definition(weights: &[Weight]) -> Result<SegmentDefinition> {
    let count = weights.len() as u64;
    let texts = |of: fn(&Weight) -> &str| Arc::new(weights.iter().map(|weight| Some(of(weight))).collect::<StringArray>()) as ArrayRef;
    let mut shapes = ListBuilder::new(Int64Builder::new());
    for weight in weights {
        shapes.append_value(weight.shape.iter().map(|extent| i64::try_from(*extent).ok()));
    }
    let parameters =
        |weight: &Weight| weight.shape.iter().try_fold(1u64, |count, extent| count.checked_mul(*extent)).and_then(|count| i64::try_from(count).ok());
    let columns: [(&str, ArrayRef); 8] = [
        ("part", texts(|weight| if weight.of_optimizer { "optimizer" } else { "model" })),
        ("layer_index", Arc::new(weights.iter().map(|weight| weight.position).collect::<Int64Array>())),
        ("layer", texts(|weight| &weight.layer)),
        ("weight", texts(|weight| &weight.name)),
        ("path", texts(|weight| &weight.path)),
        ("dtype", texts(|weight| &weight.dtype)),
        ("shape", Arc::new(shapes.finish())),
        ("parameters", Arc::new(weights.iter().map(parameters).collect::<Int64Array>())),
    ];
    let table = SegmentDefinition::new("/", vec![count], vec![count.max(1)]);
    Ok(columns.into_iter().fold(table, |table, (name, values)| table.with_column(name, Values::Listed { axis: 0, values: Literal(values) })))
}

impl Model for Keras {
    fn name(&self) -> &'static str {
        "keras"
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        // What cannot be read of a damaged file does not make it Keras.
        let attributes = file.attributes(file.root()).unwrap_or_default();
        let says = |name| attributes.get(name).is_some();
        Ok(match layout(file).unwrap_or(None) {
            Some(Layout::Named(named::WEIGHTS)) if says(CONFIG) => Some(Recognition::new(self.name(), Certainty::Certain, "a model with its configuration")),
            Some(Layout::Named(_)) if says("keras_version") => Some(Recognition::new(self.name(), Certainty::Certain, "the weights of named layers")),
            Some(Layout::Named(_)) => Some(Recognition::new(self.name(), Certainty::Likely, "the weights of named layers")),
            Some(Layout::Store) => Some(Recognition::new(self.name(), Certainty::Likely, "groups vars with numbered weights")),
            None => None,
        })
    }

    fn tables(&self, _file: &File) -> Result<Vec<String>> {
        Ok(vec![TABLE.to_owned()])
    }

    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        match name {
            TABLE => Ok(vec![definition(&weights(file)?)?]),
            _ => Err(no_table(self.name(), name, &[TABLE.to_owned()])),
        }
    }

    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>> {
        let arrays = weights(file)?.into_iter().map(|weight| NamedArray {
            name: format!("{}/{}", weight.layer, weight.name),
            step: None,
            path: weight.path,
            shape: weight.shape,
        });
        Ok(arrays.collect())
    }

    fn validate(&self, file: &File) -> Result<Vec<Problem>> {
        Ok(match weights(file) {
            Err(error) => vec![Problem::new(error.object().unwrap_or("/"), error.message())],
            Ok(weights) => {
                let unreadable = weights.iter().filter_map(|weight| {
                    let found = optional(file, &weight.path).ok().flatten()?;
                    let refusal = found.dataset()?.refusal.clone()?;
                    Some(Problem::new(&weight.path, refusal.message()))
                });
                unreadable.collect()
            }
        })
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        let known: std::collections::BTreeSet<String> = weights(file)?.into_iter().map(|weight| weight.path).collect();
        let groups = crate::groups::Groups::of(file)?;
        let members = groups.list.iter().flat_map(|group| &group.members);
        let others = members.filter(|member| member.dataset().is_some() && !known.contains(&member.path));
        Ok(others.map(|member| Omitted::new(member.path.clone(), "is not named as a weight")).chain(groups.omitted.iter().cloned()).collect())
    }

    fn facts(&self, file: &File) -> Result<String> {
        let (mut all, mut budget) = (Map::new(), Budget::of(file));
        let names = ["keras_version", "backend", CONFIG, "training_config"];
        put_attributes(&mut all, &*file.attributes(file.root())?, &names, &mut budget)?;
        if let Some(Layout::Named(group)) = layout(file)? {
            if let Some(member) = optional(file, group)? {
                let mut own = Map::new();
                put_attributes(&mut own, &*member.attributes()?, &names, &mut budget)?;
                own.into_iter().for_each(|(name, value)| _ = all.entry(name).or_insert(value));
            }
            all.insert("layers".to_owned(), named::layer_names(file, group)?.into_iter().map(Value::String).collect());
        }
        serde_json::to_string(&all).map_err(|error| Error::internal(error.to_string()))
    }
}
