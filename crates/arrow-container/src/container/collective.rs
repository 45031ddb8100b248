//! Creating, opening and publishing a container by several MPI ranks. Rank 0 leads: it holds the writer lock, names the files
//! of values and writes the catalog; the other ranks receive the outcome.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::create::Create;
use super::open::Opening;
use super::publish::Place;
use super::state::{Container, Options, Parts, register};
use crate::elements::datatype::DecodeDatatype;
use crate::error::{Result, error};
use crate::files::archive::Archive;
use crate::files::{Folder, record_batch};
use crate::lock;
use crate::model::{Body, Dataset, Object, ObjectId, Tree};
use crate::ranks::Ranks;
use crate::table::Table;

/// The datasets that this rank has changed.
fn changed(tree: &Tree) -> Vec<ObjectId> {
    let is_changed = |dataset: &Dataset| lock(&dataset.extent).table.as_ref().is_some_and(|table| table.changed);
    tree.objects.iter().filter(|(_, object)| matches!(&object.body, Body::Dataset(dataset) if is_changed(dataset))).map(|(id, _)| *id).collect()
}

/// The columns that this rank has written to and the leader publishes, as (dataset, leaf).
fn written(tree: &Tree) -> Vec<(ObjectId, usize)> {
    let leaves = |dataset: &Dataset| lock(&dataset.extent).table.as_ref().map(Table::written_leaves).unwrap_or_default();
    tree.objects
        .iter()
        .filter_map(|(id, object)| match &object.body {
            Body::Dataset(dataset) => Some(leaves(dataset).into_iter().map(|leaf| (*id, leaf))),
            _ => None,
        })
        .flatten()
        .collect()
}

/// Elements of one column that a rank sends to the leader.
struct Contribution {
    rank: usize,
    id: ObjectId,
    leaf: usize,
}

impl Contribution {
    fn parse(rank: usize, line: &str) -> Option<Self> {
        let (id, leaf) = line.split_once(' ')?;
        Some(Self { rank, id: id.parse().ok()?, leaf: leaf.parse().ok()? })
    }

    /// The temporary file that carries it.
    fn name(&self, ranks: &Ranks, generation: u64) -> String {
        format!(".{}.part", ranks.name_for(&format!("given {} {} {} {generation}", self.rank, self.id, self.leaf)))
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &str> {
    std::str::from_utf8(bytes).unwrap_or_default().lines()
}

impl Container {
    /// As [`Container::create`], called by all ranks together.
    ///
    /// # Errors
    /// As for [`Container::create`], on all ranks.
    pub fn create_collective(path: &Path, how: Create, root: Object, creation: Vec<u8>, options: Options, ranks: Arc<Ranks>) -> Result<Arc<Self>> {
        let mut own = None;
        let created = ranks.run_on_leader(|| {
            let container = Self::create(path, how, root.clone(), creation.clone(), options)?;
            let generation = container.generation.load(Ordering::Relaxed);
            let folder = container.folder.as_os_str().as_bytes().to_vec();
            own = Some(container);
            Ok([generation.to_le_bytes().to_vec(), folder].concat())
        })?;
        let (generation, folder) = created.split_first_chunk().ok_or_else(|| error!("MPI rank 0 does not say where it writes"))?;
        let (generation, folder) = (u64::from_le_bytes(*generation), Path::new(OsStr::from_bytes(folder)));
        let container = match own {
            Some(container) => container,
            None => {
                let real = path.canonicalize().map_err(|error| error!("{} is not visible to every MPI rank: {error}", path.display()).with_source(error))?;
                let container = Self::assemble(Parts {
                    path: real.clone(),
                    folder: Folder::plain(folder),
                    one_file: options.one_file,
                    owns_folder: false,
                    tree: Tree::new(creation, root),
                    generation,
                    writable: true,
                    options,
                    lock: None,
                });
                register(&container);
                container
            }
        };
        container.changed.store(true, Ordering::Relaxed);
        let _ = container.ranks.set(ranks);
        Ok(container)
    }

    /// As [`Container::open`] for writing, called by all ranks together.
    ///
    /// # Errors
    /// As for [`Container::open`], on all ranks.
    pub fn open_collective(path: &Path, options: Options, decode: DecodeDatatype<'_>, ranks: Arc<Ranks>) -> Result<Arc<Self>> {
        let mut own = None;
        let first = ranks.run_on_leader(|| {
            let container = Self::open_as(path, Opening::Writing, options, decode)?;
            let folder = container.folder.as_os_str().as_bytes().to_vec();
            own = Some(container);
            Ok(folder)
        });
        let follow = |folder: &[u8]| Self::open_as(path, Opening::Following(Path::new(OsStr::from_bytes(folder))), options, decode);
        let opened = first.and_then(|folder| own.map_or_else(|| follow(&folder), Ok));
        let container = ranks.agree(opened)?;
        let _ = container.ranks.set(ranks);
        Ok(container)
    }

    /// As [`Container::publish`], called by all ranks together.
    pub(super) fn publish_collective(&self, ranks: &Ranks, place: Place) -> Result<()> {
        let (mine, any) = (changed(&lock(&self.tree)), self.changed.load(Ordering::Relaxed) || (place == Place::Path && self.flushed.load(Ordering::Relaxed)));
        let own = if ranks.is_leader() { Vec::new() } else { written(&lock(&self.tree)) };
        let mut message = format!("{}\n{}", u8::from(any), mine.iter().map(|id| format!("{id}\n")).collect::<String>());
        message.extend(own.iter().map(|(id, leaf)| format!("{id} {leaf}\n")));
        let messages = ranks.exchange(message.as_bytes())?;
        if messages.iter().all(|message| lines(message).next() != Some("1")) {
            return Ok(());
        }
        let contributions: Vec<Contribution> =
            messages.iter().enumerate().flat_map(|(rank, message)| lines(message).filter_map(move |line| Contribution::parse(rank, line))).collect();
        if !contributions.is_empty() {
            let outcome = contributions.iter().filter(|one| one.rank == ranks.rank).try_for_each(|one| self.send_contribution(ranks, one));
            ranks.agree(outcome)?;
        }
        let names = ranks.run_on_leader(|| {
            for id in messages.iter().flat_map(|message| lines(message).skip(1)).filter_map(|line| line.parse().ok()) {
                self.mark_changed(id)?;
            }
            contributions.iter().try_for_each(|one| self.receive_contribution(ranks, one))?;
            self.changed.store(true, Ordering::Relaxed);
            self.publish_alone(place)?;
            let named = self.files().into_iter().map(|(id, name)| format!("{id} {name}\n")).collect::<String>();
            Ok(format!("{}\n{named}", self.generation.load(Ordering::Relaxed)).into_bytes())
        });
        let names = names.inspect_err(|_| self.changed.store(true, Ordering::Relaxed))?;
        let mut lines = lines(&names);
        self.generation.store(lines.next().and_then(|line| line.parse().ok()).unwrap_or(0), Ordering::Relaxed);
        self.changed.store(false, Ordering::Relaxed);
        if self.one_file && place == Place::Path {
            // The leader has removed the files next to the new one.
            let outcome = if ranks.is_leader() { Ok(()) } else { Archive::open(&self.path).map(|archive| drop(self.folder.replace_archive(archive))) };
            ranks.agree(outcome)?;
        }
        let names: BTreeMap<ObjectId, &str> = lines.filter_map(|line| line.split_once(' ')).filter_map(|(id, name)| Some((id.parse().ok()?, name))).collect();
        for (id, object) in &lock(&self.tree).objects {
            let (Body::Dataset(dataset), Some(name)) = (&object.body, names.get(id)) else { continue };
            let mut extent = lock(&dataset.extent);
            extent.file = Some((*name).to_owned());
            if let Some(table) = &mut extent.table {
                table.published(name);
            }
            // Opened again at the next access: a file for each of many datasets is too many open files.
            extent.table = None;
        }
        Ok(())
    }

    /// Records that another rank has changed the values of a dataset.
    fn mark_changed(&self, id: ObjectId) -> Result<()> {
        let Ok(Body::Dataset(dataset)) = lock(&self.tree).object(id).map(|object| object.body.clone()) else { return Ok(()) };
        dataset.with_values(
            &self.folder,
            self.ranks.get(),
            || Ok(Vec::new()),
            |table, _| {
                table.changed = true;
                Ok(())
            },
        )
    }

    /// Writes this rank's elements of a column to a temporary file for the leader.
    fn send_contribution(&self, ranks: &Ranks, contribution: &Contribution) -> Result<()> {
        let dataset = self.dataset(contribution.id)?;
        let batch = dataset.with_values(&self.folder, self.ranks.get(), || Ok(Vec::new()), |table, _| table.written_values(contribution.leaf))?;
        record_batch::write(&self.folder, &contribution.name(ranks, self.generation.load(Ordering::Relaxed)), &batch, false)
    }

    /// Merges the elements that another rank sent, and removes the temporary file.
    fn receive_contribution(&self, ranks: &Ranks, contribution: &Contribution) -> Result<()> {
        let name = contribution.name(ranks, self.generation.load(Ordering::Relaxed));
        let batch = record_batch::read(&self.folder, &name)?;
        self.dataset(contribution.id)?.with_values(
            &self.folder,
            self.ranks.get(),
            || Ok(Vec::new()),
            |table, _| table.merge_written(contribution.leaf, &batch),
        )?;
        std::fs::remove_file(self.folder.join(&name)).map_err(|error| error!("cannot remove {name}: {error}").with_source(error))
    }

    fn dataset(&self, id: ObjectId) -> Result<Arc<Dataset>> {
        match &lock(&self.tree).object(id)?.body {
            Body::Dataset(dataset) => Ok(Arc::clone(dataset)),
            _ => Err(error!("object {id} is not a dataset")),
        }
    }

    /// The file with the values of each dataset.
    fn files(&self) -> BTreeMap<ObjectId, String> {
        let tree = lock(&self.tree);
        tree.objects
            .iter()
            .filter_map(|(id, object)| match &object.body {
                Body::Dataset(dataset) => lock(&dataset.extent).file.clone().map(|file| (*id, file)),
                _ => None,
            })
            .collect()
    }
}
