//! Which links and attributes the netCDF-4 library shows.

use std::collections::HashSet;

use hyperslab_array::Result;

use super::described::{NON_COORDINATE, Scale};
use crate::{Link, ObjectId};

/// Attributes that only the library reads.
pub(super) const BOOKKEEPING: [&str; 8] =
    ["_NCProperties", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "REFERENCE_LIST", "DIMENSION_LIST", "CLASS", "NAME"];

/// The links of a group without scales that are not variables, and with the names that their variables have. `None` if these
/// are all links as they are.
pub(super) fn links(all: &[Link], scale: impl Fn(ObjectId) -> Result<Option<Scale>>) -> Result<Option<Vec<Link>>> {
    let is_shown = |link: &Link| -> Result<bool> {
        match link.object() {
            Some(id) => Ok(!scale(id)?.is_some_and(|scale| scale.is_hidden(&link.name))),
            None => Ok(true),
        }
    };
    let shown = all.iter().map(|link| Ok(is_shown(link)?.then_some(link))).filter_map(Result::transpose).collect::<Result<Vec<&Link>>>()?;
    if shown.len() == all.len() && !all.iter().any(|link| link.name.starts_with(NON_COORDINATE)) {
        return Ok(None);
    }
    let names: HashSet<&str> = shown.iter().map(|link| link.name.as_str()).collect();
    let renamed = shown.iter().map(|link| match link.name.strip_prefix(NON_COORDINATE) {
        // A name is not given twice.
        Some(name) if !names.contains(name) => Link::new(name, link.target.clone()),
        _ => Link::clone(link),
    });
    Ok(Some(renamed.collect()))
}

/// The link that is shown as `name`, given how to find a link and the scale that an object is.
pub(super) fn link(name: &str, find: impl Fn(&str) -> Result<Option<Link>>, scale: impl Fn(ObjectId) -> Result<Option<Scale>>) -> Result<Option<Link>> {
    let as_it_is = |name: &str| -> Result<Option<Link>> {
        let Some(link) = find(name)? else { return Ok(None) };
        let target = link.object().map(&scale).transpose()?.flatten();
        Ok(Some(link).filter(|link| !target.is_some_and(|scale| scale.is_hidden(&link.name))))
    };
    if let Some(short) = name.strip_prefix(NON_COORDINATE) {
        return if as_it_is(short)?.is_some() { as_it_is(name) } else { Ok(None) };
    }
    if let Some(link) = as_it_is(name)? {
        return Ok(Some(link));
    }
    Ok(find(&[NON_COORDINATE, name].concat())?.map(|link| Link::new(name, link.target).with_utf8(link.is_utf8)))
}
