//! Weights by number in groups `vars`: `.weights.h5` files of Keras 3. The order of the layers is not in these files.

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::natural;

use super::Weight;
use crate::budget::Budget;
use crate::groups::Groups;
use crate::look::{join, members, optional, text_of};

/// Group with the weights of a layer.
const VARS: &str = "vars";
/// Groups of layers below the root.
const LAYERS: [&str; 2] = ["/layers", "/_layer_checkpoint_dependencies"];
/// Layers that are looked at to recognize a file.
const LOOKED_AT: usize = 16;

fn is_group(file: &File, path: &str) -> Result<bool> {
    Ok(optional(file, path)?.is_some_and(|member| member.group().is_some()))
}

pub(super) fn is_store(file: &File) -> Result<bool> {
    for layers in LAYERS {
        if !is_group(file, layers)? {
            continue;
        }
        for layer in members(file, layers)?.iter().filter(|member| member.group().is_some()).take(LOOKED_AT) {
            if is_group(file, &join(&layer.path, VARS))? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

pub(super) fn weights(file: &File, budget: &mut Budget) -> Result<Vec<Weight>> {
    let mut weights = Vec::new();
    for group in Groups::of(file)?.list {
        let Some(layer) = group.path.strip_suffix(VARS).and_then(|path| path.strip_suffix('/')) else { continue };
        let place = if layer.is_empty() { "/" } else { layer };
        let name = text_of(&group.attributes, "name")?.unwrap_or_else(|| place.rsplit('/').next().unwrap_or_default().to_owned());
        let mut own: Vec<_> = group.members.iter().filter(|member| member.group().is_none()).collect();
        own.sort_by(|one, other| natural(&one.name, &other.name));
        for member in own {
            let of_optimizer = place == "/optimizer" || place.starts_with("/optimizer/");
            weights.push(Weight { of_optimizer, ..Weight::of(file, member, &name, &member.name, budget)? });
        }
    }
    weights.sort_by_key(|weight| weight.of_optimizer);
    Ok(weights)
}
