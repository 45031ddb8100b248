//! The groups of a file with their members, for models that look for objects by their classes.

use std::collections::BTreeSet;
use std::sync::Arc;

use hyperslab_array::Result;
use hyperslab_formats::{Attributes, LinkTarget};
use hyperslab_reader::File;
use hyperslab_scan::Omitted;

use crate::budget::Budget;
use crate::look::{Member, attributes_at, join, members, optional};

/// Groups below groups, as deep as is looked.
const MAX_DEPTH: usize = 64;
/// Bytes of a member besides the path of its group.
const MEMBER_BYTES: u64 = 256;

/// A group.
pub(crate) struct Group {
    pub path: String,
    pub attributes: Arc<Attributes>,
    pub members: Vec<Member>,
}

impl Group {
    /// The group at `path`; `None` if there is no group.
    pub fn at(file: &File, path: &str) -> Result<Option<Self>> {
        let Some(member) = optional(file, path)?.filter(|member| member.group().is_some()) else { return Ok(None) };
        Ok(Some(Self { path: path.to_owned(), attributes: member.attributes()?, members: members(file, path)? }))
    }

    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// The path without the first slash.
    pub fn name(&self) -> &str {
        self.path.trim_start_matches('/')
    }
}

/// The groups of a file.
pub(crate) struct Groups {
    /// Depth first. Each group that hard and external links reach is there once, with what is below it. What soft links lead to, and external
    /// links to a group that is there already, is there, too, but not what is below it, so that links in circles end.
    pub list: Vec<Group>,
    pub omitted: Vec<Omitted>,
}

/// How a group is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    Hard,
    Soft,
    /// A link to another file, whose objects no other link of this file may reach.
    External,
}

impl Link {
    fn of(target: &LinkTarget) -> Self {
        match target {
            LinkTarget::Hard(_) => Self::Hard,
            LinkTarget::External { .. } => Self::External,
            _ => Self::Soft,
        }
    }
}

impl Groups {
    pub fn of(file: &File) -> Result<Self> {
        let (mut list, mut omitted, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        let mut pending = vec![("/".to_owned(), 0usize, Link::Hard)];
        let mut budget = Budget::of(file);
        while let Some((path, depth, link)) = pending.pop() {
            let found = file.find(&path)?;
            let is_new = link != Link::Soft && seen.insert((found.file.path().to_owned(), found.object));
            if !is_new && link == Link::Hard {
                continue;
            }
            if depth > MAX_DEPTH {
                omitted.push(Omitted::new(path, format!("is below {MAX_DEPTH} groups")));
                continue;
            }
            let attributes = match attributes_at(&found, &path) {
                Ok(attributes) => attributes,
                Err(error) => {
                    omitted.push(Omitted::new(path.clone(), format!("has attributes that cannot be read: {}", error.message())));
                    Arc::default()
                }
            };
            // Each member has the path of its group.
            let links = found.file.link_count(found.object).unwrap_or(0);
            budget.pay(links.saturating_mul(path.len() as u64 + MEMBER_BYTES), &path)?;
            let members = match members(file, &path) {
                Ok(members) => members,
                Err(error) if depth > 0 => {
                    omitted.push(Omitted::new(path, format!("cannot be read: {}", error.message())));
                    continue;
                }
                Err(error) => return Err(error),
            };
            if is_new {
                let links = found.file.links(found.object)?;
                let below = members.iter().zip(links.iter()).filter(|(member, _)| member.group().is_some());
                let below = below.map(|(member, link)| (join(&path, &member.name), depth + 1, Link::of(&link.target)));
                pending.extend(below.collect::<Vec<_>>().into_iter().rev());
            }
            for member in &members {
                if let Err(error) = &member.object {
                    omitted.push(Omitted::new(member.path.clone(), format!("cannot be read: {}", error.message())));
                }
            }
            list.push(Group { path, attributes, members });
        }
        Ok(Self { list, omitted })
    }
}
