//! Composite targets: which datasets, or members of compound datasets, a request wants in one composite index, and whether they fit
//! together.

use std::collections::{HashMap, HashSet};

use hyperslab_array::shown::shown;
use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_formats::StorageLayout;
use hyperslab_reader::File;
use hyperslab_scan::{expand, has_wildcard};

use super::targets::{Target, members, named_member};
use crate::block::composite::COLUMNS;
use crate::freshness::fingerprint;
use crate::freshness::indexed_parts::IndexedParts;
use crate::freshness::indexed_values::IndexedValues;
use crate::store::manifest::joined_labels;

/// The datasets of one composite index.
pub(super) struct Together {
    /// Their paths, with the names of members.
    pub path: String,
    /// The datasets, in the order of the request; an error if one of them does not exist or is not a dataset.
    pub targets: Result<Vec<Target>>,
    /// Whether the request names them explicitly, so that it is an error if they cannot have an index.
    pub is_named: bool,
}

/// The composite indexes that paths with the same wildcards mean: one for each text that the wildcards match in the first path.
/// `InvalidInput` for too few or too many paths, or other wildcards.
pub(super) fn together(file: &File, patterns: &[String]) -> Result<Vec<Together>> {
    let all = joined_labels(patterns.iter().cloned());
    if !COLUMNS.contains(&patterns.len()) {
        return Err(Error::invalid_input(format!(
            "a composite index is of {2} to {3} datasets, not of {0} ({1}): with more of them, each is cut into few parts",
            patterns.len(),
            shown(&all),
            COLUMNS.start(),
            COLUMNS.end()
        )));
    }
    if !patterns.iter().any(|pattern| has_wildcard(pattern)) {
        let targets = patterns.iter().map(|path| target(file, path)).collect();
        return Ok(vec![Together { path: all, targets, is_named: true }]);
    }
    if !patterns.iter().all(|pattern| has_wildcard(pattern)) {
        return Err(Error::invalid_input(format!("the paths of a composite index have the same wildcards, in all of them: {}", shown(&all))));
    }
    let mut each = patterns.iter().map(|pattern| matching(file, pattern));
    let first = each.next().transpose()?.unwrap_or_default();
    let others =
        each.map(|found| Ok(found?.into_iter().map(|(path, texts)| (texts, path)).collect())).collect::<Result<Vec<HashMap<Vec<String>, String>>>>()?;
    let of_texts = |(path, texts): (String, Vec<String>)| {
        let found: Option<Vec<String>> = std::iter::once(Some(path.clone())).chain(others.iter().map(|other| other.get(&texts).cloned())).collect();
        match found {
            Some(paths) => {
                let targets = paths.iter().map(|path| target(file, path)).collect();
                Together { path: joined_labels(paths), targets, is_named: false }
            }
            None => {
                let missing = Error::not_found(format!("not all of {} exist where the wildcards match {}", shown(&all), shown(&texts.join(", "))));
                Together { path, targets: Err(missing), is_named: false }
            }
        }
    };
    Ok(first.into_iter().map(of_texts).collect())
}

/// The paths that match a pattern, each with the texts that its wildcards matched. The last part may name a member.
fn matching(file: &File, pattern: &str) -> Result<Vec<(String, Vec<String>)>> {
    let found = expand(file, pattern)?;
    let Some((parent, member)) = pattern.rsplit_once('/').filter(|(parent, member)| found.is_empty() && has_wildcard(parent) && !has_wildcard(member)) else {
        return Ok(found);
    };
    let mut all = Vec::new();
    for (path, texts) in expand(file, parent)? {
        if file.find(&path).is_ok_and(|found| members(&found).is_ok_and(|names| names.iter().any(|name| name == member))) {
            all.push((format!("{path}/{member}"), texts));
        }
    }
    Ok(all)
}

/// The dataset, or the member of a compound dataset, with this path.
fn target(file: &File, path: &str) -> Result<Target> {
    let found = match file.find(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return named_member(file, path)?.ok_or(error),
        found => found?,
    };
    if found.file.object(found.object)?.dataset().is_none() {
        return Err(Error::unsupported(format!("{} in a composite index: it is not a dataset", shown(path))));
    }
    if !members(&found)?.is_empty() {
        return Err(Error::unsupported(format!("the compound dataset {} in a composite index: name its members", shown(path))));
    }
    Ok(Target { path: path.to_owned(), found, member: None, is_named: true })
}

/// The values of datasets that are in one composite index, and their file. `Unsupported` or `InvalidInput` if they do not fit together.
pub(super) fn composite_values(targets: &[Target], raw: bool) -> Result<(File, IndexedParts)> {
    let first = targets.first().ok_or_else(|| Error::invalid_input("a composite index of no dataset"))?;
    let file = &first.found.file;
    let shape = file.dataset(first.found.object)?.dataspace.shape().to_vec();
    let (mut parts, mut seen) = (Vec::new(), HashSet::new());
    for Target { path, found, member, .. } in targets {
        let refuse = |what: &str| Err(Error::unsupported(format!("{} in a composite index: {what}", shown(path))));
        if found.file != *file {
            return refuse(&format!("it is in another file than {}", shown(&first.path)));
        }
        if !seen.insert((found.object, member.clone())) {
            return refuse("it is named twice");
        }
        let description = file.dataset(found.object)?;
        if let Some(refusal) = fingerprint::refusal(&description) {
            return Err(refusal);
        }
        if description.dataspace.ndim() != 1 {
            return refuse(&format!("it has {} dimensions, and those of a composite index have one", description.dataspace.ndim()));
        }
        if description.dataspace.shape() != shape {
            return refuse(&format!("it has the shape {:?}, and {} has {:?}", description.dataspace.shape(), shown(&first.path), shape));
        }
        let first = file.dataset(first.found.object)?;
        if fingerprint::grid(&description) != fingerprint::grid(&first) {
            return refuse("it has other chunks than the first one");
        }
        if (description.storage == StorageLayout::Virtual) != (first.storage == StorageLayout::Virtual) {
            return refuse("some of the datasets are virtual and others are not");
        }
        parts.push(IndexedValues::new(file, found.object, member.as_deref(), raw)?);
    }
    let parts = IndexedParts::of_all(parts)?;
    for (key_type, Target { path, .. }) in parts.key_types().into_iter().zip(targets) {
        if key_type.is_none() {
            return Err(Error::unsupported(format!("{} in a composite index: it is text", shown(path))));
        }
    }
    Ok((file.clone(), parts))
}
