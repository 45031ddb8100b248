//! The whole tree of a file: every object that hard links reach, breadth first. For conventions that relate all objects of
//! a file to each other.

use std::collections::HashMap;

use hyperslab_array::{Error, Result};

use super::Source;
use super::message::link::{RawLink, RawTarget};
use super::object_header::ObjectHeader;
use super::parsed_object::{ParsedObject, parse};
use super::{attributes, group};
use crate::tree_in_memory::{Content, Group, Node, TreeBuilder};
use crate::{DimensionScale, Link, LinkTarget, Object, ObjectId};

/// Parses all objects from the root at `root` on. An object that cannot be read is kept with its reason; only an unreadable
/// root is an error.
pub(super) fn build(source: &Source, root: u64) -> Result<TreeBuilder> {
    let mut builder = Builder { source, tree: TreeBuilder::default(), ids: HashMap::new() };
    builder.add(root, || "/".to_owned())?;
    // Objects found during parsing are appended.
    let mut next = 0;
    while next < builder.tree.nodes.len() {
        builder.parse(next)?;
        next += 1;
    }
    match builder.tree.nodes.first().map(|root| &root.content) {
        Some(Content::Group(_)) => Ok(builder.tree),
        Some(Content::Unreadable(error)) => Err(error.clone()),
        _ => Err(Error::corrupt("the root is no group")),
    }
}

struct Builder<'a> {
    source: &'a Source,
    tree: TreeBuilder,
    /// By address.
    ids: HashMap<u64, ObjectId>,
}

impl Builder<'_> {
    /// The object at `address`: a known one, or a new one that `path` leads to.
    fn add(&mut self, address: u64, path: impl FnOnce() -> String) -> Result<ObjectId> {
        if let Some(id) = self.ids.get(&address) {
            return Ok(*id);
        }
        let id = ObjectId::of_index(self.tree.nodes.len());
        if id.0 >= self.source.limits.objects {
            return Err(Error::limit_exceeded(format!("more than {} objects in one file", self.source.limits.objects)));
        }
        self.tree.nodes.push(Node {
            path: path(),
            address: Some(address),
            attributes: Vec::new(),
            attributes_tracked: false,
            attributes_error: None,
            // Replaced when the object is parsed.
            content: Content::Group(Group::default()),
        });
        self.ids.insert(address, id);
        Ok(id)
    }

    fn parse(&mut self, index: usize) -> Result<()> {
        let taken = self.tree.nodes.get_mut(index).and_then(|node| Some((std::mem::take(&mut node.path), node.address?)));
        let Some((path, address)) = taken else {
            return Err(Error::internal("an object without address"));
        };
        let parsed = parse(self.source, address).and_then(|parsed| Ok((self.content(&path, &parsed)?, parsed.header)));
        let (content, header) = match parsed {
            Ok((content, header)) => (content, Some(header)),
            Err(error) => (Content::Unreadable(error.at_object(&path)), None),
        };
        // Damaged attributes do not make the object's values unreadable.
        let attributes = header.as_ref().map_or(Ok(Vec::new()), |header| attributes::read(self.source, header));
        if let Some(node) = self.tree.nodes.get_mut(index) {
            node.content = content;
            node.attributes_tracked = header.is_some_and(|header| header.tracks_attributes);
            match attributes {
                Ok(attributes) => node.attributes = attributes,
                Err(error) => node.attributes_error = Some(error.at_object(&path)),
            }
            node.path = path;
        }
        Ok(())
    }

    fn content(&mut self, path: &str, parsed: &ParsedObject) -> Result<Content> {
        Ok(match &parsed.object {
            Object::Group => self.group(path, &parsed.header)?,
            Object::Dataset(dataset) => {
                let ndim = dataset.dataspace.ndim();
                Content::Dataset(Box::new(dataset.as_ref().clone()), vec![DimensionScale::default(); ndim])
            }
            Object::Datatype(datatype) => Content::Datatype(datatype.as_ref().clone()),
        })
    }

    fn group(&mut self, path: &str, header: &ObjectHeader<'_>) -> Result<Content> {
        let raw = group::links(self.source, header)?;
        let links = raw.links.into_iter().map(|link| self.link(path, link)).collect::<Result<Vec<_>>>()?;
        Ok(Content::Group(Group { links, links_tracked: raw.tracked, dimensions: Vec::new() }))
    }

    fn link(&mut self, group: &str, link: RawLink) -> Result<Link> {
        let name = link.name.clone();
        if let RawTarget::Hard(address) = link.target {
            let separator = if group.ends_with('/') { "" } else { "/" };
            let id = self.add(address, || [group, separator, &name].concat())?;
            return Ok(Link { name, target: LinkTarget::Hard(id) });
        }
        Ok(link.into())
    }
}
