//! Creating, opening and publishing a file by several processes together. The first one does what one alone must do:
//! it holds the lock, names the files of values and writes the catalog; the others learn the outcome.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::create::Create;
use super::state::{Container, Options, register};
use crate::elements::datatype::Kind;
use crate::fault::{Fault, Result, fault};
use crate::files::{Folder, record_batch};
use crate::lock;
use crate::model::{Body, Dataset, Object, ObjectId, Tree};
use crate::ranks::Ranks;
use crate::table::Table;

/// The datasets of a file that this process has changed.
fn changed(tree: &Tree) -> Vec<ObjectId> {
    let is_changed = |dataset: &Dataset| lock(&dataset.extent).table.as_ref().is_some_and(|table| table.changed);
    tree.objects.iter().filter(|(_, object)| matches!(&object.body, Body::Dataset(dataset) if is_changed(dataset))).map(|(id, _)| *id).collect()
}

/// Columns of datasets that the first process publishes, and that this one has written to.
fn written(tree: &Tree) -> Vec<(ObjectId, usize)> {
    let leaves = |dataset: &Dataset| lock(&dataset.extent).table.as_ref().map(Table::written_leaves).unwrap_or_default();
    tree.objects.iter().filter_map(|(id, object)| match &object.body {
        Body::Dataset(dataset) => Some(leaves(dataset).into_iter().map(|leaf| (*id, leaf))),
        _ => None,
    }).flatten().collect()
}

/// What a process gives to the first one: elements of a column of a dataset.
struct Given {
    rank: usize,
    id: ObjectId,
    leaf: usize,
}

impl Given {
    fn told(rank: usize, word: &str) -> Option<Self> {
        let (id, leaf) = word.split_once(' ')?;
        Some(Self { rank, id: id.parse().ok()?, leaf: leaf.parse().ok()? })
    }

    /// The file that it lies in for a moment.
    fn name(&self, ranks: &Ranks, generation: u64) -> String {
        format!(".{}.part", ranks.name_for(&format!("given {} {} {} {generation}", self.rank, self.id, self.leaf)))
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = &str> {
    std::str::from_utf8(bytes).unwrap_or_default().lines()
}

fn folder_only(options: Options) -> Result<()> {
    if options.one_file { Err(Fault::unsupported("a file in one piece (form=file) that several MPI ranks write; take form=folder")) } else { Ok(()) }
}

impl Container {
    /// As [`Container::create`]; all processes call it together.
    pub fn create_together(path: &Path, how: Create, root: Object, creation: Vec<u8>, options: Options, ranks: Arc<Ranks>) -> Result<Arc<Self>> {
        folder_only(options)?;
        let mut own = None;
        let generation = ranks.led(|| {
            let container = Self::create(path, how, root.clone(), creation.clone(), options)?;
            let generation = container.generation.load(Ordering::Relaxed);
            own = Some(container);
            Ok(generation.to_le_bytes().to_vec())
        })?;
        let generation = u64::from_le_bytes(generation.try_into().unwrap_or_default());
        let container = match own {
            Some(container) => container,
            None => {
                let real = path.canonicalize().map_err(|error| fault!("{} is not seen by every rank: {error}", path.display()))?;
                let container = Self::assemble(real.clone(), Folder::plain(real), false, Tree::new(creation, root), generation, true, options, None);
                register(&container);
                container
            }
        };
        container.changed.store(true, Ordering::Relaxed);
        let _ = container.ranks.set(ranks);
        Ok(container)
    }

    /// As [`Container::open`] for writing; all processes call it together.
    pub fn open_together(path: &Path, options: Options, kind_of: &dyn Fn(&[u8]) -> Result<Kind>, ranks: Arc<Ranks>) -> Result<Arc<Self>> {
        folder_only(options)?;
        let mut own = None;
        let first = ranks.led(|| {
            if path.is_file() {
                return Err(Fault::unsupported(format!("{} is one file; several MPI ranks write into folders only", path.display())));
            }
            own = Some(Self::open_as(path, true, true, options, kind_of)?);
            Ok(Vec::new())
        });
        let opened = first.and_then(|_| own.map_or_else(|| Self::open_as(path, true, false, options, kind_of), Ok));
        let container = ranks.agree(opened)?;
        let _ = container.ranks.set(ranks);
        Ok(container)
    }

    /// As [`Container::publish`]; all processes call it together.
    pub(super) fn publish_together(&self, ranks: &Ranks) -> Result<()> {
        let (mine, any) = (changed(&lock(&self.tree)), self.changed.load(Ordering::Relaxed));
        let own = if ranks.leads() { Vec::new() } else { written(&lock(&self.tree)) };
        let mut message = format!("{}\n{}", u8::from(any), mine.iter().map(|id| format!("{id}\n")).collect::<String>());
        message.extend(own.iter().map(|(id, leaf)| format!("{id} {leaf}\n")));
        let told = ranks.exchange(message.as_bytes())?;
        if told.iter().all(|told| words(told).next() != Some("1")) {
            return Ok(());
        }
        let given: Vec<Given> = told.iter().enumerate().flat_map(|(rank, told)| words(told).filter_map(move |word| Given::told(rank, word))).collect();
        if !given.is_empty() {
            let outcome = given.iter().filter(|given| given.rank == ranks.rank).try_for_each(|given| self.give(ranks, given));
            ranks.agree(outcome)?;
        }
        let names = ranks.led(|| {
            for id in told.iter().flat_map(|told| words(told).skip(1)).filter_map(|word| word.parse().ok()) {
                self.say_changed(id)?;
            }
            given.iter().try_for_each(|given| self.take_in(ranks, given))?;
            self.changed.store(true, Ordering::Relaxed);
            self.publish_alone()?;
            let named = self.files().into_iter().map(|(id, name)| format!("{id} {name}\n")).collect::<String>();
            Ok(format!("{}\n{named}", self.generation.load(Ordering::Relaxed)).into_bytes())
        });
        let names = names.inspect_err(|_| self.changed.store(true, Ordering::Relaxed))?;
        let mut lines = words(&names);
        self.generation.store(lines.next().and_then(|word| word.parse().ok()).unwrap_or(0), Ordering::Relaxed);
        self.changed.store(false, Ordering::Relaxed);
        let names: BTreeMap<ObjectId, &str> = lines.filter_map(|line| line.split_once(' ')).filter_map(|(id, name)| Some((id.parse().ok()?, name))).collect();
        for (id, object) in &lock(&self.tree).objects {
            let (Body::Dataset(dataset), Some(name)) = (&object.body, names.get(id)) else { continue };
            let mut extent = lock(&dataset.extent);
            extent.file = Some((*name).to_owned());
            if let Some(table) = &mut extent.table {
                table.published(name);
            }
            // It is opened anew when it is asked for: files that many datasets keep open are many.
            extent.table = None;
        }
        Ok(())
    }

    /// Another process has changed the values of a dataset.
    fn say_changed(&self, id: ObjectId) -> Result<()> {
        let Ok(Body::Dataset(dataset)) = lock(&self.tree).object(id).map(|object| object.body.clone()) else { return Ok(()) };
        dataset.with_table(&self.folder, self.ranks.get(), || Ok(Vec::new()), |table, _| {
            table.changed = true;
            Ok(())
        })
    }

    /// Writes what this process has written of a column that the first one publishes, for it to find.
    fn give(&self, ranks: &Ranks, given: &Given) -> Result<()> {
        let dataset = self.dataset(given.id)?;
        let batch = dataset.with_table(&self.folder, self.ranks.get(), || Ok(Vec::new()), |table, _| table.written(given.leaf))?;
        record_batch::write(&self.folder, &given.name(ranks, self.generation.load(Ordering::Relaxed)), &batch, false)
    }

    /// Finds what another process has given.
    fn take_in(&self, ranks: &Ranks, given: &Given) -> Result<()> {
        let name = given.name(ranks, self.generation.load(Ordering::Relaxed));
        let batch = record_batch::read(&self.folder, &name)?;
        self.dataset(given.id)?.with_table(&self.folder, self.ranks.get(), || Ok(Vec::new()), |table, _| table.take_in(given.leaf, &batch))?;
        std::fs::remove_file(self.folder.join(&name)).map_err(|error| fault!("cannot remove {name}: {error}"))
    }

    fn dataset(&self, id: ObjectId) -> Result<Arc<Dataset>> {
        match &lock(&self.tree).object(id)?.body {
            Body::Dataset(dataset) => Ok(Arc::clone(dataset)),
            _ => Err(fault!("object {id} is no dataset")),
        }
    }

    /// The file of the values of each dataset.
    fn files(&self) -> BTreeMap<ObjectId, String> {
        let tree = lock(&self.tree);
        tree.objects.iter().filter_map(|(id, object)| match &object.body {
            Body::Dataset(dataset) => lock(&dataset.extent).file.clone().map(|file| (*id, file)),
            _ => None,
        }).collect()
    }
}
