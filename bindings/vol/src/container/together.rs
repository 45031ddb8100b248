//! Creating, opening and publishing a file by several processes together. The first one does what one alone must do:
//! it holds the lock, names the files of values and writes the catalog; the others learn the outcome.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::fault::{Fault, Result, fault};
use super::folder::Folder;
use super::kind::Kind;
use super::model::{Body, Dataset, Object, ObjectId, Tree, lock};
use super::open::{Container, Create, Options, register};
use super::ranks::Ranks;

/// The datasets of a file that this process has changed.
fn changed(tree: &Tree) -> Vec<ObjectId> {
    let is_changed = |dataset: &Dataset| lock(&dataset.extent).table.as_ref().is_some_and(|table| table.changed);
    tree.objects.iter().filter(|(_, object)| matches!(&object.body, Body::Dataset(dataset) if is_changed(dataset))).map(|(id, _)| *id).collect()
}

fn words(bytes: &[u8]) -> impl Iterator<Item = &str> {
    std::str::from_utf8(bytes).unwrap_or_default().lines()
}

fn folder_only(options: Options) -> Result<()> {
    if options.one_file { Err(Fault::unsupported("a file in one piece (form=file) that several MPI ranks write; take form=folder")) } else { Ok(()) }
}

impl Container {
    /// As [`Container::create`]; all processes call it together.
    pub(crate) fn create_together(path: &Path, how: Create, root: Object, creation: Vec<u8>, options: Options, ranks: Arc<Ranks>) -> Result<Arc<Self>> {
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
    pub(crate) fn open_together(path: &Path, options: Options, kind_of: &dyn Fn(&[u8]) -> Result<Kind>, ranks: Arc<Ranks>) -> Result<Arc<Self>> {
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
        let told = ranks.exchange(format!("{}\n{}", u8::from(any), mine.iter().map(|id| format!("{id}\n")).collect::<String>()).as_bytes())?;
        if told.iter().all(|told| words(told).next() != Some("1")) {
            return Ok(());
        }
        let names = ranks.led(|| {
            for id in told.iter().flat_map(|told| words(told).skip(1)).filter_map(|word| word.parse().ok()) {
                self.say_changed(id)?;
            }
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

    /// The file of the values of each dataset.
    fn files(&self) -> BTreeMap<ObjectId, String> {
        let tree = lock(&self.tree);
        tree.objects.iter().filter_map(|(id, object)| match &object.body {
            Body::Dataset(dataset) => lock(&dataset.extent).file.clone().map(|file| (*id, file)),
            _ => None,
        }).collect()
    }
}
