//! Targets: which datasets, and which members of compound datasets, the paths of a request mean.

use std::sync::Arc;

use hyperslab_array::{Datatype, ErrorKind, Result};
use hyperslab_formats::Dataset;
use hyperslab_reader::{File, Found};
use hyperslab_scan::{expand_path, has_wildcard, matched_name};

use crate::store::manifest::label;

/// Values that a path of a request means.
pub(super) struct Target {
    /// The path, and the name of the member.
    pub path: String,
    pub found: Found,
    /// The member of the compound dataset; `None` for whole elements.
    pub member: Option<String>,
    /// Whether the request names them explicitly, so that it is an error if they cannot have an index.
    pub is_named: bool,
}

/// The values that a path with wildcards means: the elements of a dataset, each member of a compound dataset, and all datasets
/// of a group. `/table/energy` is one member.
pub(super) fn targets(file: &File, pattern: &str) -> Result<Vec<Target>> {
    let mut all = Vec::new();
    let is_wild = has_wildcard(pattern);
    for path in expand_path(file, pattern)? {
        let found = match file.find(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound && !is_wild => return named_member(file, &path)?.map(|target| vec![target]).ok_or(error),
            found => found?,
        };
        if !found.file.object(found.object)?.is_group() {
            add_dataset(&mut all, path, found, !is_wild)?;
            continue;
        }
        let is_dataset = |id| found.file.object(id).is_ok_and(|object| object.dataset().is_some());
        for link in found.file.links(found.object)?.iter() {
            if let Some(id) = link.object().filter(|id| is_dataset(*id)) {
                let path = format!("{}/{}", path.trim_end_matches('/'), link.name);
                add_dataset(&mut all, path, Found::new(found.file.clone(), id), false)?;
            }
        }
    }
    if is_wild && let Some((parent, wanted)) = pattern.rsplit_once('/').filter(|(parent, _)| !parent.is_empty()) {
        for path in expand_path(file, parent)? {
            let Ok(found) = file.find(&path) else { continue };
            for name in members(&found)?.into_iter().filter(|name| matched_name(wanted, name).is_some()) {
                all.push(Target { path: label(&path, Some(&name)), found: found.clone(), member: Some(name), is_named: false });
            }
        }
    }
    Ok(all)
}

/// Adds the values of a dataset: its elements, or its members if it is compound.
fn add_dataset(all: &mut Vec<Target>, path: String, found: Found, is_named: bool) -> Result<()> {
    // One that cannot be described is refused when it is planned.
    let names = members(&found).unwrap_or_default();
    if names.is_empty() {
        all.push(Target { path, found, member: None, is_named });
        return Ok(());
    }
    all.extend(names.into_iter().map(|name| Target { path: label(&path, Some(&name)), found: found.clone(), member: Some(name), is_named: false }));
    Ok(())
}

/// The member that the end of a path names: `/table/energy`, if `/table` is a compound dataset. Names may contain slashes.
pub(super) fn named_member(file: &File, path: &str) -> Result<Option<Target>> {
    for (slash, _) in path.rmatch_indices('/').filter(|(slash, _)| *slash > 0) {
        let (dataset, member) = path.split_at(slash);
        let Ok(found) = file.find(dataset) else { continue };
        let member = member.trim_start_matches('/').to_owned();
        if members(&found)?.is_empty() || member.is_empty() {
            return Ok(None);
        }
        return Ok(Some(Target { path: path.to_owned(), found, member: Some(member), is_named: true }));
    }
    Ok(None)
}

/// The names of the members of a compound dataset; none of any other object.
pub(super) fn members(found: &Found) -> Result<Vec<String>> {
    let object = found.file.object(found.object)?;
    let description: Option<Arc<Dataset>> = if object.dataset().is_some() { Some(found.file.dataset(found.object)?) } else { None };
    Ok(match description.as_deref().map(|description| &description.datatype) {
        Some(Datatype::Compound { members, .. }) => members.iter().map(|member| member.name.clone()).collect(),
        _ => Vec::new(),
    })
}
