//! The tree of an HDF5 file. Parses an object, its attributes and its links when they are asked for.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_storage::ForkMutex;

use super::layout::StoredDataset;
use super::parsed_object::{ParsedObject, parse};
use super::{Source, attributes, group, object_properties};
use crate::budget::Budget;
use crate::recent::Recent;
use crate::tree::PathOf;
use crate::{Attributes, Dataset, Dimension, DimensionScale, Link, Links, Object, ObjectId, ObjectProperties, Tree, netcdf4};

/// Bytes of parsed objects that are kept for each file, about.
const KEPT_BYTES: u64 = 16 << 20;
/// Bytes that an object takes, besides what its budget paid for.
const OBJECT_BYTES: u64 = 1 << 10;
/// Bytes that an error takes.
const ERROR_BYTES: u64 = 512;
/// Number of links that can be listed in the time of one search.
const LINKS_PER_SEARCH: u64 = 256;
const MIN_SEARCHES: u64 = 8;
/// Most links that are listed because they were searched: they must fit into what is kept.
const MAX_LISTED: u64 = 1 << 16;

/// The objects of a file by the address of their header.
pub(super) struct LazyTree {
    source: Source,
    root: ObjectId,
    kept: ForkMutex<Recent<Arc<Kept>>>,
    /// By address of the object, the parts that were parsed once: bits of [`Part`].
    paid: ForkMutex<BTreeMap<u64, u8>>,
    /// What is wrong with parts that were parsed once. Thousands of links may lead to one damaged object.
    damaged: ForkMutex<BTreeMap<(u64, u8), Error>>,
    siblings: ForkMutex<Siblings>,
}

/// Members of listed groups that were not parsed yet, by address: if one of them is, others will be. They are fetched together
/// if each read of the file waits for a round trip.
#[derive(Default)]
struct Siblings {
    waiting: BTreeSet<u64>,
    /// How many were fetched last.
    batch: usize,
}

/// Fewest and most members that are fetched together, and the bytes of each: all of most headers.
const MIN_SIBLINGS: usize = 64;
const MAX_SIBLINGS: usize = 4096;
const SIBLING_BYTES: u64 = 512;

impl Siblings {
    /// The next members to be fetched now that `address` is needed; none if it was fetched with others.
    fn batch(&mut self, address: u64) -> Vec<u64> {
        if !self.waiting.contains(&address) {
            return Vec::new();
        }
        self.batch = self.batch.saturating_mul(4).clamp(MIN_SIBLINGS, MAX_SIBLINGS);
        let next: Vec<u64> = self.waiting.range(address..).chain(self.waiting.range(..address).rev()).take(self.batch).copied().collect();
        next.iter().for_each(|address| {
            self.waiting.remove(address);
        });
        next
    }
}

/// An object that was parsed, and what else was asked for.
pub(super) struct Kept {
    parsed: ParsedObject,
    attributes: OnceLock<Arc<Attributes>>,
    links: OnceLock<Arc<Links>>,
    /// How many links were searched one by one.
    searches: AtomicU64,
}

/// The parts of an object that are parsed separately.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Part {
    Object = 1,
    Attributes = 2,
    Links = 4,
}

impl Kept {
    /// Description and layout, if it is a dataset.
    pub fn dataset(&self) -> Option<(&Dataset, &StoredDataset)> {
        match (&self.parsed.object, &self.parsed.stored) {
            (Object::Dataset(dataset), Some(stored)) => Some((dataset, stored)),
            _ => None,
        }
    }
}

impl LazyTree {
    /// The tree below the root group at `root`, which is parsed at once.
    pub fn open(source: Source, root: u64) -> Result<Self> {
        let tree = Self {
            source,
            root: ObjectId(root),
            kept: ForkMutex::new(Recent::new(KEPT_BYTES)),
            paid: Default::default(),
            damaged: Default::default(),
            siblings: Default::default(),
        };
        match tree.kept(tree.root)?.parsed.object {
            Object::Group => Ok(tree),
            _ => Err(Error::corrupt("the root is not a group")),
        }
    }

    /// The object with this ID, parsed unless it is kept.
    pub fn kept(&self, id: ObjectId) -> Result<Arc<Kept>> {
        if let Some(kept) = self.recent().and_then(|mut recent| recent.get(id.0)) {
            return Ok(kept);
        }
        if self.source.storage.is_remote() {
            let together = self.siblings.lock().map(|mut siblings| siblings.batch(id.0)).unwrap_or_default();
            self.source.prefetch(together.into_iter().map(|address| (address, SIBLING_BYTES)))?;
        }
        let (parsed, cost) = self.pay(id, Part::Object, |source| parse(source, id.0))?;
        let kept = Arc::new(Kept { parsed, attributes: OnceLock::new(), links: OnceLock::new(), searches: AtomicU64::new(0) });
        if let Some(mut recent) = self.recent() {
            recent.insert(id.0, kept.clone(), OBJECT_BYTES.saturating_add(cost));
        }
        Ok(kept)
    }

    /// Whether listing all links of a group would have cost no more than the searches so far. Decided when the number of
    /// searches is a power of two.
    fn is_searched_often(&self, group: &Kept) -> bool {
        let searches = group.searches.fetch_add(1, Ordering::Relaxed) + 1;
        let max = searches.saturating_mul(LINKS_PER_SEARCH).min(MAX_LISTED);
        searches >= MIN_SEARCHES
            && searches.is_power_of_two()
            // The links of a file that changes are searched each time.
            && self.source.storage.is_unchanged()
            && group::max_links(&self.source.with_own_budget(), &group.parsed.header).is_ok_and(|links| links <= max)
    }

    /// The objects that are kept; `None` in a child that was forked while its parent used them.
    fn recent(&self) -> Option<std::sync::MutexGuard<'_, Recent<Arc<Kept>>>> {
        self.kept.lock()
    }

    /// Parses a part of an object. The first time, the budget of the file pays for it, so that structures which share bytes
    /// cannot expand without bound. A part that is parsed again because it was not kept, or was found to be damaged, costs that
    /// budget nothing more. Also returns what was paid for keeping, which is about what the part takes in memory.
    fn pay<T>(&self, id: ObjectId, part: Part, parse: impl FnOnce(&Source) -> Result<T>) -> Result<(T, u64)> {
        let state = self.paid.lock().map(|paid| (paid.get(&id.0).copied(), paid.len() as u64));
        match state {
            Some((Some(parts), _)) if parts & part as u8 == 0 => {}
            Some((None, count)) if count < self.source.limits.objects => {}
            Some((None, _)) => return Err(Error::limit_exceeded(format!("more than {} objects in one file", self.source.limits.objects))),
            Some(_) | None => {
                if let Some(error) = self.damage(id, part) {
                    return Err(error);
                }
                let source = self.source.with_own_budget();
                let parsed = parse(&source);
                // The first time it may have been too soon after the last change of the file to remember anything.
                self.remember_damage(id, part, &parsed);
                return parsed.map(|parsed| (parsed, source.budget.kept()));
            }
        }
        let source = self.source.with_budget(Budget::of(self.source.budget.left()));
        let parsed = parse(&source);
        let cost = source.budget.spent();
        self.source.budget.charge(cost)?;
        // A part that cost too much does so each time that it is asked for, and one that was not parsed to its end is not paid.
        if !parsed.as_ref().is_err_and(|error| matches!(error.kind(), ErrorKind::LimitExceeded | ErrorKind::Cancelled))
            && let Some(mut paid) = self.paid.lock()
        {
            *paid.entry(id.0).or_default() |= part as u8;
        }
        self.remember_damage(id, part, &parsed);
        parsed.map(|parsed| (parsed, source.budget.kept()))
    }

    /// What was found to be wrong with this part, if the file is still the same.
    fn damage(&self, id: ObjectId, part: Part) -> Option<Error> {
        let error = self.damaged.lock()?.get(&(id.0, part as u8)).cloned()?;
        self.source.storage.is_unchanged().then_some(error)
    }

    fn remember_damage<T>(&self, id: ObjectId, part: Part, parsed: &Result<T>) {
        if let Err(error) = parsed
            && matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported)
            && self.source.storage.is_unchanged()
            && self.source.budget.charge(ERROR_BYTES).is_ok()
            && let Some(mut damaged) = self.damaged.lock()
        {
            damaged.insert((id.0, part as u8), error.clone());
        }
    }
}

impl Tree for LazyTree {
    fn root(&self) -> ObjectId {
        self.root
    }
    fn object(&self, id: ObjectId) -> Result<Object> {
        Ok(self.kept(id)?.parsed.object.clone())
    }
    fn attributes(&self, id: ObjectId) -> Result<Arc<Attributes>> {
        let kept = self.kept(id)?;
        if let Some(attributes) = kept.attributes.get() {
            return Ok(attributes.clone());
        }
        let header = &kept.parsed.header;
        let (list, cost) = self.pay(id, Part::Attributes, |source| attributes::read(source, header, None))?;
        let attributes = Arc::new(Attributes::new(list, header.tracks_attributes));
        if kept.attributes.set(attributes.clone()).is_ok()
            && let Some(mut recent) = self.recent()
        {
            recent.grow(id.0, cost);
        }
        Ok(attributes)
    }
    fn has_attribute(&self, id: ObjectId, names: &[&str]) -> Result<bool> {
        let found = attributes::has_any(&self.source.with_own_budget(), &self.kept(id)?.parsed.header, names)?;
        let listed = || Ok(self.attributes(id)?.iter().any(|attribute| names.contains(&attribute.name.as_str())));
        found.map_or_else(listed, Ok)
    }
    fn attributes_where(&self, id: ObjectId, wanted: &dyn Fn(&str) -> bool) -> Result<Attributes> {
        let kept = self.kept(id)?;
        let header = &kept.parsed.header;
        let list = match kept.attributes.get() {
            Some(all) => all.iter().filter(|attribute| wanted(&attribute.name)).cloned().collect(),
            None => self.pay(id, Part::Attributes, |source| attributes::read(source, header, Some(wanted)))?.0,
        };
        Ok(Attributes::new(list, header.tracks_attributes))
    }
    fn links(&self, group: ObjectId) -> Result<Arc<Links>> {
        let kept = self.kept(group)?;
        if let Some(links) = kept.links.get() {
            return Ok(links.clone());
        }
        if !kept.parsed.object.is_group() {
            return Ok(Arc::default());
        }
        let (raw, cost) = self.pay(group, Part::Links, |source| group::links(source, &kept.parsed.header))?;
        let links = Arc::new(Links::new(raw.links.into_iter().map(Link::from).collect(), raw.tracked));
        if self.source.storage.is_remote()
            && let Some(mut siblings) = self.siblings.lock()
        {
            siblings.waiting.extend(links.iter().filter_map(Link::object).map(|id| id.0));
        }
        if kept.links.set(links.clone()).is_ok()
            && let Some(mut recent) = self.recent()
        {
            recent.grow(group.0, cost);
        }
        Ok(links)
    }
    fn link(&self, group: ObjectId, name: &str) -> Result<Option<Link>> {
        let kept = self.kept(group)?;
        // A name that is not UTF-8 is listed with replacement characters, and cannot be searched by its bytes.
        if kept.links.get().is_some() || name.contains(char::REPLACEMENT_CHARACTER) {
            return Ok(self.links(group)?.get(name).cloned());
        }
        // Damage of another link must not spoil this one.
        if self.is_searched_often(&kept)
            && let Ok(links) = self.links(group)
        {
            return Ok(links.get(name).cloned());
        }
        let found = group::link(&self.source.with_own_budget(), &kept.parsed.header, name)?;
        Ok(found.map(Link::from))
    }
    fn first_links(&self, group: ObjectId, max: usize) -> Result<Vec<Link>> {
        let kept = self.kept(group)?;
        if !kept.parsed.object.is_group() {
            return Ok(Vec::new());
        }
        let found = group::first_links(&self.source.with_own_budget(), &kept.parsed.header, max)?;
        Ok(found.into_iter().map(Link::from).collect())
    }
    fn link_count(&self, group: ObjectId) -> Result<u64> {
        let kept = self.kept(group)?;
        let known = match kept.links.get() {
            Some(links) => Some(links.as_slice().len() as u64),
            None => group::link_count(&self.source.with_own_budget(), &kept.parsed.header)?,
        };
        known.map_or_else(|| Ok(self.links(group)?.as_slice().len() as u64), Ok)
    }
    fn tracks_links(&self, group: ObjectId) -> Result<bool> {
        group::is_tracked(&self.source.with_own_budget(), &self.kept(group)?.parsed.header)
    }
    fn properties(&self, id: ObjectId) -> Result<ObjectProperties> {
        object_properties::read(&self.source.with_own_budget(), id.0)
    }
    fn dimensions(&self, dataset: ObjectId, path_of: &PathOf<'_>) -> Result<Arc<[DimensionScale]>> {
        netcdf4::attached(self, dataset, path_of)
    }
    fn declared_dimensions(&self, _: ObjectId) -> Result<Arc<[Dimension]>> {
        Ok(Arc::default())
    }
    fn address(&self, id: ObjectId) -> Option<u64> {
        Some(id.0)
    }
    fn at_address(&self, address: u64) -> Option<ObjectId> {
        Some(ObjectId(address))
    }
    fn path(&self, id: ObjectId) -> Option<Cow<'_, str>> {
        (id == self.root).then_some(Cow::Borrowed("/"))
    }
}
