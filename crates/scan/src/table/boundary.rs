//! Boundary variables (CF Conventions 7.1 and 7.4): the bounds of a coordinate's cells inherit the coordinate's units and
//! calendar unless they have their own.

use std::sync::Arc;

use hyperslab_array::Result;
use hyperslab_columns::attribute_text;
use hyperslab_formats::{Attributes, Dataset, ObjectId};
use hyperslab_reader::File;

/// Attributes that a boundary variable inherits.
const INHERITED: [&str; 5] = ["units", "calendar", "leap_month", "leap_year", "month_lengths"];

/// The last dimension of a boundary variable is the number of vertices of a cell: at most this many. Other variables are
/// not looked for among the bounds of their neighbors, whose attributes would all have to be read.
const MAX_VERTICES: u64 = 64;

/// The attributes of a variable, including inherited ones.
pub(crate) fn attributes(file: &File, id: ObjectId, dataset: &Dataset, own: &Arc<Attributes>) -> Result<Arc<Attributes>> {
    let has = |name: &str| own.get(name).is_some();
    if dataset.dataspace.shape().last().is_none_or(|vertices| *vertices > MAX_VERTICES) || (has("units") && has("calendar")) {
        return Ok(own.clone());
    }
    let path = file.path_of(id)?;
    let Some((group, name)) = path.rsplit_once('/') else { return Ok(own.clone()) };
    let group = file.find(if group.is_empty() { "/" } else { group })?;
    for link in &*group.file.links(group.object)? {
        let Some(sibling) = link.object().filter(|sibling| *sibling != id) else { continue };
        // A damaged neighbor does not affect this variable.
        let Ok(theirs) = group.file.attributes(sibling) else { continue };
        let bounds = ["bounds", "climatology"].iter().filter_map(|attribute| theirs.get(attribute));
        if !bounds.into_iter().any(|attribute| attribute_text(attribute).is_some_and(|text| text == name)) {
            continue;
        }
        if group.file.dataset(sibling).is_err() {
            continue;
        }
        let inherited = theirs.iter().filter(|attribute| INHERITED.contains(&attribute.name.as_str()) && !has(&attribute.name)).cloned();
        let list = own.iter().cloned().chain(inherited).collect();
        return Ok(Arc::new(Attributes::new(list, own.tracked)));
    }
    Ok(own.clone())
}
