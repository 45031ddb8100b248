//! Walks: every object of a file, breadth first.

use std::collections::{HashSet, VecDeque};

use hyperslab_array::{Result, interruption};
use hyperslab_formats::{Object, ObjectId};
use rayon::prelude::*;

use crate::File;

/// Number of objects that are parsed ahead in parallel, and how many must be known for that to be worth it.
const AHEAD: usize = 1024;
const MIN_AHEAD: usize = 64;

/// An object of a walk.
#[non_exhaustive]
pub struct Walked {
    /// The path by which the walk came to it.
    pub path: String,
    /// The object.
    pub id: ObjectId,
    /// What it is, or why it or the links of a group cannot be read. The walk goes on with the other objects.
    pub object: Result<Object>,
}

/// An iterator over the objects of a file: see [`File::walk`].
pub struct Walk<'a> {
    file: &'a File,
    pending: VecDeque<(String, ObjectId)>,
    seen: HashSet<ObjectId>,
    /// How many of the pending objects were parsed ahead.
    ahead: usize,
}

impl File {
    /// Every object that hard links reach from the root group, breadth first, each once, in the order of the links.
    pub fn walk(&self) -> Walk<'_> {
        self.walk_below("/", self.root())
    }
    /// As [`File::walk`], from the group at `path` on.
    pub fn walk_below(&self, path: &str, group: ObjectId) -> Walk<'_> {
        Walk { file: self, pending: VecDeque::from([(path.to_owned(), group)]), seen: HashSet::from([group]), ahead: 0 }
    }
}

impl Walk<'_> {
    /// Parses the next objects in parallel, in the order of their addresses. Errors show when an object is used.
    fn look_ahead(&mut self) {
        if self.ahead > 0 || self.pending.len() < MIN_AHEAD {
            return;
        }
        let mut next: Vec<ObjectId> = self.pending.iter().take(AHEAD).map(|(_, id)| *id).collect();
        self.ahead = next.len();
        next.sort_unstable();
        let tree = self.file.tree();
        let parse_one = interruption::carried(|id: &ObjectId| drop(tree.object(*id)));
        let parse = || {
            next.par_iter().with_min_len(MIN_AHEAD / 2).for_each(&parse_one);
            Ok(())
        };
        // Without threads the objects are parsed one by one.
        drop(self.file.session().compute(parse));
    }
}

impl Iterator for Walk<'_> {
    type Item = Walked;

    fn next(&mut self) -> Option<Walked> {
        self.look_ahead();
        let (path, id) = self.pending.pop_front()?;
        self.ahead = self.ahead.saturating_sub(1);
        let mut object = self.file.tree().object(id);
        if matches!(object, Ok(Object::Group)) {
            match self.file.tree().links(id) {
                Ok(links) => {
                    for link in &*links {
                        if let Some(member) = link.object().filter(|member| self.seen.insert(*member)) {
                            let separator = if path.ends_with('/') { "" } else { "/" };
                            self.pending.push_back(([&path, separator, &link.name].concat(), member));
                        }
                    }
                }
                Err(error) => object = Err(error),
            }
        }
        let object = object.map_err(|error| error.at_object(&path).in_file(self.file.name()));
        Some(Walked { path, id, object })
    }
}
