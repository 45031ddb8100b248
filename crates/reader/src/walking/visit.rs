//! Visits: every object below a group, depth first in the order of the names, as `H5Ovisit` of the HDF5 library does.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use hyperslab_array::{Result, interruption};
use hyperslab_formats::{Links, Object, ObjectId};
use rayon::prelude::*;

use crate::{File, Walked};

/// Number of objects that are parsed ahead: at first, so that these come soon, and at most.
const FIRST_AHEAD: usize = 32;
const MAX_AHEAD: usize = 1024;
/// Number of groups whose links are parsed ahead at a time: they may have very many.
const GROUPS_AHEAD: usize = 32;
/// How many levels of the tree are parsed ahead before objects are returned.
const LEVELS_AHEAD: usize = 4;
/// From this number of objects on, several threads parse them.
const MIN_PARALLEL: usize = 32;

/// The objects below a group: see [`File::visit`].
pub struct Visit {
    file: File,
    /// What is to be visited, in that order.
    pending: VecDeque<Pending>,
    /// Objects that were returned.
    seen: HashSet<ObjectId>,
    /// Groups whose members are among `pending`, or were.
    expanded: HashSet<ObjectId>,
    ahead: usize,
}

struct Pending {
    /// Number of groups above.
    depth: usize,
    content: Content,
}

enum Content {
    /// An object, which may have been visited by another path.
    Object(Entry),
    /// The members of a group from position `next` on.
    Members { path: Arc<str>, links: Arc<Links>, next: usize },
}

struct Entry {
    path: String,
    id: ObjectId,
    /// `None` until it is parsed.
    object: Option<Result<Object>>,
    /// Whether the members of the group follow.
    expanded: bool,
}

/// What a thread parses of a pending object.
enum Parsed {
    Object(Result<Object>),
    /// `None` if they cannot be read, which is an error when the group's turn comes.
    Links(Option<Arc<Links>>),
}

impl File {
    /// Every object that hard links reach from a group, without the group itself: depth first in the order of the names
    /// (byte-wise), each once under the first of its paths. Objects are parsed ahead, in parallel and in the order of their
    /// addresses. Paths are relative to the group.
    pub fn visit(&self, group: ObjectId) -> Visit {
        let root = Entry { path: String::new(), id: group, object: Some(Ok(Object::Group)), expanded: false };
        let pending = VecDeque::from([Pending { depth: 0, content: Content::Object(root) }]);
        Visit { file: self.clone(), pending, seen: HashSet::new(), expanded: HashSet::new(), ahead: FIRST_AHEAD }
    }
}

impl Visit {
    /// The next objects; none at the end.
    ///
    /// # Errors
    /// Those of the links of the group from which the visit began. Other objects that cannot be read have their own error.
    pub fn next_batch(&mut self) -> Result<Vec<Walked>> {
        let mut batch = Vec::new();
        while batch.is_empty() && !self.pending.is_empty() {
            self.take_parsed(&mut batch)?;
            if batch.is_empty() {
                self.look_ahead();
            }
        }
        Ok(batch)
    }

    /// Moves the objects that are parsed to `batch`.
    fn take_parsed(&mut self, batch: &mut Vec<Walked>) -> Result<()> {
        while let Some(pending) = self.pending.pop_front() {
            let Pending { depth, content } = pending;
            let Entry { path, id, object, expanded } = match content {
                Content::Object(entry) if entry.object.is_some() => entry,
                content => {
                    self.pending.push_front(Pending { depth, content });
                    return Ok(());
                }
            };
            if !self.seen.insert(id) {
                // Known by another path, and so are its members.
                while self.pending.front().is_some_and(|next| next.depth > depth) {
                    self.pending.pop_front();
                }
                continue;
            }
            // A writer may have been changing an object that could not be parsed.
            let mut object = object.filter(Result::is_ok).unwrap_or_else(|| self.file.object(id));
            if !expanded && matches!(object, Ok(Object::Group)) {
                match self.file.links(id) {
                    Ok(links) => self.pending.push_front(Pending { depth: depth + 1, content: members(&path, links) }),
                    Err(error) if depth == 0 => return Err(error),
                    Err(error) => object = Err(error),
                }
            }
            if depth > 0 {
                let object = object.map_err(|error| error.at_object(["/", &path].concat()).in_file(self.file.name()));
                batch.push(Walked { path, id, object });
            }
        }
        Ok(())
    }

    /// Parses objects that come next.
    fn look_ahead(&mut self) {
        for _ in 0..LEVELS_AHEAD {
            let mut window = self.window();
            let tasks = self.tasks(&window);
            let is_done = tasks.is_empty();
            let mut listed: HashMap<usize, Arc<Links>> = HashMap::new();
            for (index, parsed) in self.run(tasks) {
                let Some(Content::Object(entry)) = window.get_mut(index).map(|pending| &mut pending.content) else { continue };
                match parsed {
                    Parsed::Object(object) => entry.object = Some(object),
                    Parsed::Links(Some(links)) => {
                        entry.expanded = true;
                        self.expanded.insert(entry.id);
                        listed.insert(index, links);
                    }
                    Parsed::Links(None) => {}
                }
            }
            for (index, pending) in window.into_iter().enumerate().rev() {
                if let (Some(links), Content::Object(entry)) = (listed.remove(&index), &pending.content) {
                    self.pending.push_front(Pending { depth: pending.depth + 1, content: members(&entry.path, links) });
                }
                self.pending.push_front(pending);
            }
            if is_done {
                break;
            }
        }
        self.ahead = (self.ahead * 2).min(MAX_AHEAD);
    }

    /// Takes the objects that come next from `pending`.
    fn window(&mut self) -> Vec<Pending> {
        let mut window = Vec::new();
        while window.len() < self.ahead
            && let Some(Pending { depth, content }) = self.pending.pop_front()
        {
            let (path, links, mut next) = match content {
                Content::Members { path, links, next } => (path, links, next),
                object => {
                    window.push(Pending { depth, content: object });
                    continue;
                }
            };
            while window.len() < self.ahead
                && let Some(link) = links.nth_by_name(next)
            {
                next += 1;
                if let Some(id) = link.object() {
                    let path = if path.is_empty() { link.name.clone() } else { [&path, "/", &link.name].concat() };
                    window.push(Pending { depth, content: Content::Object(Entry { path, id, object: None, expanded: false }) });
                }
            }
            if next < links.as_slice().len() {
                self.pending.push_front(Pending { depth, content: Content::Members { path, links, next } });
            }
        }
        window
    }

    /// What is to be parsed of a window, in the order of addresses: objects that were not, and the members of some groups.
    fn tasks(&self, window: &[Pending]) -> Vec<(ObjectId, usize, bool)> {
        let mut groups: HashSet<ObjectId> = HashSet::new();
        let mut tasks = Vec::new();
        for (index, pending) in window.iter().enumerate() {
            let Content::Object(Entry { id, object, expanded, .. }) = &pending.content else { continue };
            let known = |id| self.seen.contains(id) || self.expanded.contains(id);
            match object {
                None => tasks.push((*id, index, false)),
                Some(Ok(Object::Group)) if !expanded && groups.len() < GROUPS_AHEAD && !known(id) && groups.insert(*id) => tasks.push((*id, index, true)),
                _ => {}
            }
        }
        tasks.sort_unstable();
        tasks
    }

    /// The outcome of each task.
    fn run(&self, tasks: Vec<(ObjectId, usize, bool)>) -> Vec<(usize, Parsed)> {
        let tree = self.file.tree();
        let parse = |(id, index, is_group): &(ObjectId, usize, bool)| {
            let parsed = if *is_group { Parsed::Links(tree.links(*id).ok()) } else { Parsed::Object(tree.object(*id)) };
            (*index, parsed)
        };
        if tasks.len() >= MIN_PARALLEL {
            let min = if tasks.iter().any(|(_, _, is_group)| *is_group) { 1 } else { MIN_PARALLEL };
            let carried = interruption::carried(&parse);
            let parsed = self.file.session().compute(|| Ok(tasks.par_iter().with_min_len(min).map(&carried).collect()));
            if let Ok(parsed) = parsed {
                return parsed;
            }
        }
        // Without threads they are parsed one by one.
        tasks.iter().map(parse).collect()
    }
}

/// The members of the group at `path`, from the first on.
fn members(path: &str, links: Arc<Links>) -> Content {
    Content::Members { path: path.into(), links, next: 0 }
}
