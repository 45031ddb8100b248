//! How many links and other users objects have: a copy counts them, and says where the file had another number.

use std::collections::HashMap;

use hyperslab_array::name::is_of_links;
use hyperslab_formats::{Links, ObjectId, ObjectProperties};

use super::changes::Change;
use super::source_file::SourceFile;

/// The numbers that were found so far, and those that the file states.
pub(crate) struct LinkCounts {
    found: HashMap<ObjectId, u32>,
    stated: Vec<(ObjectId, u32)>,
}

impl LinkCounts {
    /// The superblock leads to the root group.
    pub fn new(root: ObjectId) -> Self {
        Self { found: HashMap::from([(root, 1)]), stated: Vec::new() }
    }

    /// Adds the links of a group.
    pub fn add_links(&mut self, links: &Links) {
        links.iter().filter_map(|link| link.object()).for_each(|id| self.count(id));
    }

    /// Adds an object with the committed datatypes that it and its attributes share. Nothing leads to objects without a name.
    pub fn add(&mut self, path: &str, id: ObjectId, properties: &ObjectProperties) {
        properties.committed.iter().chain(properties.committed_of_attributes.values()).for_each(|id| self.count(*id));
        if let Some(stated) = properties.links.filter(|_| is_of_links(path.trim_start_matches('/'))) {
            self.stated.push((id, stated));
        }
    }

    fn count(&mut self, id: ObjectId) {
        let count = self.found.entry(id).or_default();
        *count = count.saturating_add(1);
    }

    /// The objects of `source` whose number is another one in the copy.
    pub fn changes<'c>(&'c self, source: &'c SourceFile<'_>) -> impl Iterator<Item = Change> + 'c {
        self.stated.iter().filter_map(|(id, stated)| {
            let found = self.found.get(id).copied().unwrap_or_default();
            let text = || format!("it stated {stated} links and users, and states {found} now, which is their number");
            (found != *stated).then(|| Change::new(source.path(*id).unwrap_or_default(), text()))
        })
    }
}
