//! The default plot: the NXdata to which the attributes `default` lead.

use std::collections::BTreeSet;

use hyperslab_array::Result;
use hyperslab_reader::File;

use super::{CLASS, Kind, class, kind};
use crate::groups::Group;
use crate::look::{contradiction, join, text_of};

/// The path of the data to be plotted; `None` if there are none.
///
/// # Errors
/// `Corrupt` for a default that names nothing, or leads in a circle.
pub(super) fn path(file: &File) -> Result<Option<String>> {
    let mut path = "/".to_owned();
    let mut seen = BTreeSet::new();
    while seen.insert(path.clone()) {
        let Some(group) = Group::at(file, &path)? else { return Ok(None) };
        if path != "/" && kind(&group) == Kind::Data {
            return Ok(Some(path));
        }
        let Some(name) = text_of(&group.attributes, "default")? else { return first_data(file, &group) };
        let next = if name.starts_with('/') { name.clone() } else { join(&path, &name) };
        if !file.exists(&next)? {
            return Err(contradiction(file, &path, format!("the default {name:?} is named, but is not there")));
        }
        path = next;
    }
    Err(contradiction(file, &path, "the attributes default lead in a circle"))
}

/// The first data of a group without a default: for the root, the first data of its first entry that has any.
fn first_data(file: &File, group: &Group) -> Result<Option<String>> {
    if text_of(&group.attributes, CLASS)?.as_deref() == Some("NXentry") || group.path != "/" {
        return own_data(file, group);
    }
    for member in group.members.iter().filter(|member| class(member).as_deref() == Some("NXentry")) {
        if let Some(entry) = Group::at(file, &member.path)?
            && let Some(found) = own_data(file, &entry)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn own_data(file: &File, group: &Group) -> Result<Option<String>> {
    for member in group.members.iter().filter(|member| class(member).as_deref() == Some("NXdata")) {
        if Group::at(file, &member.path)?.is_some_and(|group| kind(&group) == Kind::Data) {
            return Ok(Some(member.path.clone()));
        }
    }
    Ok(None)
}
