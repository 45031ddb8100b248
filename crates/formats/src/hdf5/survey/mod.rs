//! A survey of a file: every structure with its place, and all damage. It goes on after damage, unlike the parsers that read
//! a file for its values.
//!
//! [`Survey::of`] walks from the superblock to every object that links reach, and to everything that belongs to them. What
//! nothing leads to is found by [`Survey::scan`] in the bytes that are left over.

mod attributes;
mod chunks;
mod extensible_array;
mod extension;
mod fixed_array;
mod found_chunks;
mod free_space;
mod gaps;
mod header;
mod heap;
mod links;
mod log;
mod object;
mod orphans;
mod orphans_dense;
mod rescue;
mod scan;
mod start;
mod structure;
mod tree_v2;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use hyperslab_array::name::path_of_address;
use hyperslab_array::{Error, Result};
use hyperslab_storage::Storage;

pub use found_chunks::{ChunkEvidence, SurveyedChunk};
pub use gaps::gaps;
pub(crate) use heap::{FoundObject, collection_found};
pub use object::SurveyedObject;
pub use structure::{Damage, Extent, Purpose, StructureKind};

use self::links::NodeSizes;
use self::log::Log;
use self::object::Keeping;
use self::start::Start;
use crate::Limits;
use crate::hdf5::Source;

/// Number of objects after which progress is reported.
const PROGRESS_STEP: u64 = 256;

/// All that was found in a file.
#[non_exhaustive]
pub struct Survey {
    /// The structures, in no order.
    pub extents: Vec<Extent>,
    /// What is damaged.
    pub damages: Vec<Damage>,
    /// The objects that links reach, groups before their members.
    pub objects: Vec<SurveyedObject>,
    /// Version of the superblock, if it can be read.
    pub superblock_version: Option<u8>,
    /// Absolute offset that addresses count from.
    pub base_address: u64,
    /// Absolute offset at which the file ends according to its superblock.
    pub stated_end: Option<u64>,
    /// Whether the superblock says that a program has the file open for writing.
    pub is_open_for_writing: bool,
    /// Bytes of the file.
    pub file_bytes: u64,
    pub(crate) source: Source,
    pub(crate) sizes: NodeSizes,
    by_address: HashMap<u64, usize>,
    keeping: Keeping,
}

/// Takes the number of objects surveyed and the number known so far.
pub type SurveyProgress<'a> = dyn FnMut(u64, u64) + 'a;

impl Survey {
    /// Surveys the HDF5 file `storage`. With `keeps_attributes`, the attributes of all objects are kept in memory. Other
    /// members of a file of several are opened only if `joins_members`.
    ///
    /// # Errors
    /// `Io` if the file cannot be read at all; `LimitExceeded` if it costs more than `limits` allow; `Cancelled`. Damage is
    /// recorded in [`Survey::damages`].
    pub fn of(storage: &Arc<dyn Storage>, limits: &Limits, joins_members: bool, keeps_attributes: bool, progress: &mut SurveyProgress<'_>) -> Result<Self> {
        let start = Start::read(storage, limits, joins_members)?;
        let source = start.source.clone();
        let mut log = Log::new(&source);
        start.record(&mut log)?;
        if source.base_address > 0 {
            log.extents.push(Extent { offset: 0, length: source.base_address, kind: StructureKind::UserBlock, purpose: Purpose::File, object: None });
        }
        let sizes = log.for_purpose(Purpose::File, |log| extension::walk(log, &start))?;
        let mut objects = Objects { list: Vec::new(), by_address: HashMap::new(), sizes, keeping: Keeping { attributes: keeps_attributes } };
        if let Some(root) = start.root {
            objects.walk(&mut log, root, "/", progress)?;
        }
        let Log { extents, damages, .. } = log;
        let Objects { list, by_address, .. } = objects;
        let file_bytes = source.storage.len();
        Ok(Self {
            extents,
            damages,
            objects: list,
            superblock_version: start.version,
            base_address: source.base_address,
            stated_end: start.stated_end,
            is_open_for_writing: start.is_open_for_writing,
            file_bytes,
            sizes,
            by_address,
            keeping: Keeping { attributes: keeps_attributes },
            source,
        })
    }

    /// Whether nothing is damaged: all objects, links, attributes and chunk indexes could be read.
    pub fn is_sound(&self) -> bool {
        let is_whole = |object: &SurveyedObject| {
            object.object.is_some()
                && object.is_whole
                && object.has_all_links
                && object.has_all_attributes
                && object.has_all_chunks
                && object.attributes.iter().all(|attribute| attribute.value.is_ok())
        };
        self.damages.is_empty() && self.root().is_some() && self.objects.iter().all(is_whole)
    }

    /// The object whose header lies at this address.
    pub fn object(&self, address: u64) -> Option<&SurveyedObject> {
        self.objects.get(*self.by_address.get(&address)?)
    }

    /// Surveys the objects at `addresses` and all that links reach from there, which only references lead to.
    ///
    /// # Errors
    /// `Io`, `LimitExceeded` or `Cancelled`.
    pub fn add_referenced(&mut self, addresses: &[u64]) -> Result<()> {
        let source = self.source.clone();
        let mut log = Log::new(&source);
        let (list, by_address) = (std::mem::take(&mut self.objects), std::mem::take(&mut self.by_address));
        let mut objects = Objects { list, by_address, sizes: self.sizes, keeping: self.keeping };
        for address in addresses {
            if objects.by_address.contains_key(address) {
                continue;
            }
            let first = objects.list.len();
            objects.walk(&mut log, *address, &path_of_address(*address), &mut |_, _| ())?;
            if let Some(object) = objects.list.get_mut(first) {
                // Its count of links says that it is alive, not how many there are.
                object.found_links = u64::from(object.stated_links);
            }
        }
        (self.objects, self.by_address) = (objects.list, objects.by_address);
        self.extents.append(&mut log.extents);
        self.damages.append(&mut log.damages);
        Ok(())
    }

    /// Records that references in the values or attributes of an object cannot be read: what only they lead to is not among the objects.
    pub fn add_unreadable(&mut self, object: Option<u64>, is_chunked: bool, error: Error) {
        let kind = if is_chunked { StructureKind::Chunk } else { StructureKind::Contiguous };
        self.damages.push(Damage { kind, purpose: Purpose::Values, offset: error.offset().unwrap_or(0), length: 0, object, error });
    }

    /// Looks for structures in `ranges`, start and length of bytes that nothing accounts for. Collections of the global heap become
    /// extents, because only values lead to them. Returns the objects that nothing leads to, except objects with headers of version 1, which have
    /// no signature.
    ///
    /// # Errors
    /// `Io`, `LimitExceeded` or `Cancelled`.
    pub fn scan(&mut self, ranges: &[(u64, u64)]) -> Result<Vec<SurveyedObject>> {
        let source = self.source.clone();
        let mut log = Log::new(&source);
        let (sizes, keeping) = (self.sizes, Keeping { attributes: false });
        let (mut unreachable, mut collections) = (Vec::new(), Vec::new());
        let mut skip_to = 0;
        scan::candidates(&source, ranges, false, &mut |kind, offset| {
            let Some(address) = offset.checked_sub(source.base_address).filter(|_| offset >= skip_to) else { return Ok(()) };
            match kind {
                StructureKind::GlobalHeap => {
                    if let Ok(length) = heap::collection_bytes(&source, address) {
                        collections.push(Extent { offset, length, kind, purpose: Purpose::Values, object: None });
                        skip_to = offset.saturating_add(length);
                    }
                }
                StructureKind::ObjectHeader => {
                    let before = (log.extents.len(), log.damages.len());
                    let object = object::read(&mut log, address, format!("object_{address:#x}"), sizes, keeping)?;
                    if object.is_whole && object.object.is_some() {
                        unreachable.push(object);
                    }
                    log.extents.truncate(before.0);
                    log.damages.truncate(before.1);
                }
                _ => {}
            }
            Ok(())
        })?;
        source.budget.charge(((collections.len() + 1) * size_of::<Extent>()) as u64)?;
        self.extents.append(&mut collections);
        Ok(unreachable)
    }

    /// The root group, if it can be read.
    pub fn root(&self) -> Option<&SurveyedObject> {
        self.objects.first().filter(|object| object.path == "/" && object.object.is_some())
    }
}

/// The group below which objects are found whose names are lost.
pub(crate) const LOST_AND_FOUND: &str = "lost+found";

/// Path of an object whose name is lost.
pub(crate) fn lost_path(address: u64) -> String {
    format!("/{LOST_AND_FOUND}/object_{address:#x}")
}

/// The objects found so far.
struct Objects {
    list: Vec<SurveyedObject>,
    by_address: HashMap<u64, usize>,
    sizes: NodeSizes,
    keeping: Keeping,
}

impl Objects {
    /// Reads the object at `root` and all that links reach from there, breadth first.
    fn walk(&mut self, log: &mut Log<'_>, root: u64, path: &str, progress: &mut SurveyProgress<'_>) -> Result<()> {
        let mut pending = VecDeque::from([(root, path.to_owned())]);
        while let Some((address, path)) = pending.pop_front() {
            if let Some(known) = self.by_address.get(&address).and_then(|index| self.list.get_mut(*index)) {
                known.found_links += 1;
                continue;
            }
            if self.list.len() as u64 >= log.source.limits.objects {
                return Err(Error::limit_exceeded(format!("more than {} objects in one file", log.source.limits.objects)));
            }
            log.source.budget.charge((size_of::<SurveyedObject>() + path.len()) as u64)?;
            let mut object = object::read(log, address, path, self.sizes, self.keeping)?;
            object.found_links = 1;
            let parent = object.path.trim_end_matches('/');
            for link in &object.links {
                let Some(target) = link.address() else { continue };
                let path = match &link.name {
                    Some(name) => format!("{parent}/{name}"),
                    None => lost_path(target),
                };
                log.source.budget.charge((path.len() + size_of::<(u64, String)>()) as u64)?;
                pending.push_back((target, path));
            }
            self.by_address.insert(address, self.list.len());
            self.list.push(object);
            let done = self.list.len() as u64;
            if done.is_multiple_of(PROGRESS_STEP) {
                progress(done, done + pending.len() as u64);
            }
        }
        progress(self.list.len() as u64, self.list.len() as u64);
        Ok(())
    }
}
