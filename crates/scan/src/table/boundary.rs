//! Boundary variables (CF Conventions 7.1 and 7.4): the bounds of a coordinate's cells inherit the coordinate's units and
//! calendar unless they have their own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hyperslab_array::{Result, interruption};
use hyperslab_columns::attribute_text;
use hyperslab_formats::{Attributes, Dataset, ObjectId};
use hyperslab_reader::{File, ForkMutex, Found};

/// Attributes that a boundary variable inherits.
pub(super) const INHERITED: [&str; 5] = ["units", "calendar", "leap_month", "leap_year", "month_lengths"];

/// The last dimension of a boundary variable is the number of vertices of a cell: at most this many. Other variables are
/// not looked for among the bounds of their neighbors, whose attributes would all have to be read.
const MAX_VERTICES: u64 = 64;

/// The variables of a group whose attributes name the bounds of their cells, by these names.
type Owners = HashMap<String, Vec<ObjectId>>;

/// What is known of a file's groups. Each group is looked through once, because each of its variables asks.
#[derive(Default)]
struct KnownOwners(ForkMutex<HashMap<ObjectId, Arc<Owners>>>);

/// The attributes of a variable, including those that it inherits from the coordinate whose cells it bounds.
///
/// # Errors
///
/// Those of reading the group that the variable is in.
pub fn attributes(file: &File, id: ObjectId, dataset: &Dataset, own: &Arc<Attributes>) -> Result<Arc<Attributes>> {
    let has = |name: &str| own.get(name).is_some();
    if has("units") && has("calendar") {
        return Ok(own.clone());
    }
    let Some(found) = coordinate_of_bounds(file, id, dataset)? else { return Ok(own.clone()) };
    let theirs = found.file.attributes(found.object)?;
    let inherited = theirs.iter().filter(|attribute| INHERITED.contains(&attribute.name.as_str()) && !has(&attribute.name)).cloned();
    let list = own.iter().cloned().chain(inherited).collect();
    Ok(Arc::new(Attributes::new(list, own.tracked)))
}

/// The coordinate whose attribute `bounds` or `climatology` names this variable, which then has the units and the calendar of
/// the coordinate unless it has its own (CF Conventions 7.1 and 7.4). `None` for other variables.
///
/// # Errors
///
/// Those of reading the group that the variable is in.
pub fn coordinate_of_bounds(file: &File, id: ObjectId, dataset: &Dataset) -> Result<Option<Found>> {
    if dataset.dataspace.shape().last().is_none_or(|vertices| *vertices > MAX_VERTICES) {
        return Ok(None);
    }
    let path = file.path_of(id)?;
    let Some((group, name)) = path.rsplit_once('/') else { return Ok(None) };
    let group = file.find(if group.is_empty() { "/" } else { group })?;
    let owners = owners(&group.file, group.object)?;
    let siblings = owners.get(name).into_iter().flatten();
    let owner = siblings.copied().find(|sibling| *sibling != id && group.file.dataset(*sibling).is_ok());
    Ok(owner.map(|object| Found::new(group.file.clone(), object)))
}

/// The owners of the bounds in a group.
fn owners(file: &File, group: ObjectId) -> Result<Arc<Owners>> {
    let known = file.kept::<KnownOwners>();
    if let Some(owners) = known.0.lock().and_then(|known| known.get(&group).cloned()) {
        return Ok(owners);
    }
    let mut owners = Owners::new();
    let mut seen = HashSet::new();
    for link in &*file.links(group)? {
        // Many links may lead to one object.
        let Some(sibling) = link.object().filter(|sibling| seen.insert(*sibling)) else { continue };
        // A damaged neighbor does not affect others.
        let Ok(theirs) = file.attributes(sibling) else { continue };
        for name in ["bounds", "climatology"].iter().filter_map(|attribute| theirs.get(attribute)).filter_map(attribute_text) {
            let of_name: &mut Vec<ObjectId> = owners.entry(name).or_default();
            if of_name.last() != Some(&sibling) {
                of_name.push(sibling);
            }
        }
    }
    // Neighbors that were not read because the work should end are not damaged.
    interruption::check()?;
    let owners = Arc::new(owners);
    if let Some(mut known) = known.0.lock() {
        known.insert(group, owners.clone());
    }
    Ok(owners)
}
