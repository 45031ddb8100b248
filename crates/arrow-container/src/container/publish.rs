//! Publishing: makes changes visible to programs that open the container from then on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::state::Container;
use crate::catalog::{self, CATALOG, NEXT_CATALOG};
use crate::error::{Result, error};
use crate::files::archive::Writer;
use crate::files::closing::{close_later, unlink};
use crate::files::names::{sibling_path, unique_name};
use crate::files::reader_lock;
use crate::files::writer_lock::write_lock;
use crate::lock;
use crate::model::{Body, Dataset, Extent, ObjectId, Tree};
use crate::table::Table;

/// What the names of packs begin with.
const PACKS: &str = "datasets";
/// If at least this many small datasets are published at once, their files are put into one: a file of their own for each takes longer
/// to make than everything else.
const MIN_PACKED: usize = 256;

/// Where changes are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the container's folder. That of one file lies next to it: programs that open the file do not see them yet.
    Folder,
    /// At the container's path.
    Path,
}

impl Container {
    /// The name of a file of values, without its ending.
    fn value_front(id: ObjectId, path: &str, generation: u64) -> String {
        let last = path.rsplit('/').next().unwrap_or_default();
        let safe: String = last.chars().take(64).map(|c| if c.is_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect();
        format!("{safe}-{id}.{generation}")
    }

    /// The name of a file that does not exist yet.
    fn unused_name(&self, front: &str) -> String {
        let mut name = format!("{front}.arrow");
        let mut more = 0;
        while self.folder.join(&name).exists() {
            more += 1;
            name = format!("{front}.{more}.arrow");
        }
        name
    }

    /// Writes the changed values of a dataset to a new file, which readers see after the next publishing.
    pub(crate) fn write_values(&self, id: ObjectId, path: &str, dataset: &Dataset) -> Result<()> {
        let mut extent = lock(&dataset.extent);
        let Extent { space, table, file, .. } = &mut *extent;
        if let Some(values) = table
            && values.changed
            && self.writable.load(Ordering::Relaxed)
        {
            let name = self.unused_name(&Self::value_front(id, path, self.generation.load(Ordering::Relaxed) + 1));
            values.publish(&name, space, self.options.sync)?;
            *file = Some(name);
            self.changed.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Called when the last handle of a dataset is closed: writes changed values that are in a file, and closes the file.
    ///
    /// # Errors
    /// If the values cannot be written.
    pub fn release_values(&self, id: ObjectId, path: &str, dataset: &Dataset) -> Result<()> {
        if lock(&dataset.extent).source.is_some() {
            lock(&dataset.extent).table = None;
            return Ok(());
        }
        // MPI ranks publish together, when they close or flush the container.
        if self.ranks.get().is_some() {
            return Ok(());
        }
        if lock(&dataset.extent).table.as_ref().is_some_and(Table::in_file) {
            self.write_values(id, path, dataset)?;
        }
        let mut extent = lock(&dataset.extent);
        if extent.file.is_some() && extent.table.as_ref().is_some_and(|table| !table.changed && (table.in_file() || table.opens_fast())) {
            extent.table = None;
        }
        Ok(())
    }

    /// Publishes all changes. Collective if there are MPI ranks; these publish one file when they close it ([`Container::finish`]), and
    /// until then keep what is published here in the folder next to it.
    ///
    /// # Errors
    /// If files cannot be written; the changes can then be published again.
    pub fn publish(&self) -> Result<()> {
        match self.ranks.get() {
            Some(ranks) if self.writable.load(Ordering::Relaxed) => self.publish_collective(ranks, Place::Folder),
            _ => self.publish_alone(Place::Path),
        }
    }

    /// Publishes all changes before the container is closed. Collective if there are MPI ranks.
    ///
    /// # Errors
    /// As for [`Container::publish`].
    pub fn finish(&self) -> Result<()> {
        match self.ranks.get() {
            Some(ranks) if self.writable.load(Ordering::Relaxed) => self.publish_collective(ranks, Place::Path),
            _ => self.publish_alone(Place::Path),
        }
    }

    /// As [`Container::publish`], by this process alone.
    pub(super) fn publish_alone(&self, place: Place) -> Result<()> {
        let packs_all = self.one_file && place == Place::Path;
        if !self.writable.load(Ordering::Relaxed) || !self.changed.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        let work = || -> Result<()> {
            let tree = lock(&self.tree);
            let mut files = BTreeMap::new();
            let reachable = tree.reachable();
            self.write_small_values(&tree, &reachable)?;
            for (id, path) in reachable {
                if let Body::Dataset(dataset) = &tree.object(id)?.body {
                    self.write_values(id, &path, dataset)?;
                    if let Some(name) = &lock(&dataset.extent).file {
                        files.insert(id, name.clone());
                    }
                }
            }
            let generation = self.generation.load(Ordering::Relaxed) + 1;
            let mut kept: BTreeSet<String> = files.values().cloned().collect();
            // An object without a link stays usable while it is open.
            kept.extend(tree.objects.values().filter_map(|object| match &object.body {
                Body::Dataset(dataset) => lock(&dataset.extent).file.clone(),
                _ => None,
            }));
            let packs = self.folder.keep_packs(kept.iter());
            // The one file has no packs: it has the files in them.
            let named: &[String] = if packs_all { &[] } else { &packs };
            let catalog = if packs_all { NEXT_CATALOG } else { CATALOG };
            kept.extend(catalog::save(&tree, &self.folder, catalog, generation, &files, named, self.options.sync)?);
            kept.insert(CATALOG.to_owned());
            self.generation.store(generation, Ordering::Relaxed);
            self.changed.store(false, Ordering::Relaxed);
            if packs_all {
                self.publish_one_file(&kept)?;
                kept.clear();
                for name in [CATALOG, NEXT_CATALOG] {
                    drop(std::fs::remove_file(self.folder.join(name)));
                }
            } else {
                kept.extend(packs);
            }
            self.flushed.store(self.one_file && !packs_all, Ordering::Relaxed);
            remove_superseded(&self.folder, &kept);
            Ok(())
        };
        work().inspect_err(|_| self.changed.store(true, Ordering::Relaxed))
    }

    /// Writes the values of many small datasets that have changed to one file, a pack, which readers see after the next publishing.
    /// Also moves files there from packs whose files are mostly unused.
    fn write_small_values(&self, tree: &Tree, reachable: &BTreeMap<ObjectId, String>) -> Result<()> {
        let is_small = |extent: &Extent| extent.table.as_ref().is_some_and(|table| table.changed && table.is_small());
        let mut small = Vec::new();
        let mut used = Vec::new();
        for (id, path) in reachable {
            if let Body::Dataset(dataset) = &tree.object(*id)?.body {
                let extent = lock(&dataset.extent);
                match &extent.file {
                    _ if is_small(&extent) => small.push((*id, path, dataset)),
                    Some(file) if !self.one_file => used.push(file.clone()),
                    _ => {}
                }
            }
        }
        let moved = self.folder.scattered(used.iter());
        if small.len() < MIN_PACKED && moved.is_empty() {
            return Ok(());
        }
        if small.len() < MIN_PACKED {
            small.clear();
        }
        let generation = self.generation.load(Ordering::Relaxed) + 1;
        let aside = self.folder.join(format!(".{}.part", unique_name()));
        let work = || -> Result<()> {
            let mut writer = Writer::new(&aside)?;
            for name in &moved {
                writer.append(name, &self.folder.piece(name)?)?;
            }
            let (mut written, mut last) = (Vec::with_capacity(small.len()), None);
            for (id, path, dataset) in &small {
                let extent = lock(&dataset.extent);
                if let Some(table) = &extent.table {
                    let name = format!("{}.arrow", Self::value_front(*id, path, generation));
                    writer.add(&name, table.to_file_bytes(&extent.space, &mut last)?)?;
                    written.push((*dataset, name));
                }
            }
            let pack = writer.finish(false, self.options.sync)?;
            let name = self.unused_name(&format!("{PACKS}.{generation}"));
            std::fs::rename(&aside, self.folder.join(&name))?;
            self.folder.add_pack(name, pack);
            for (dataset, name) in written {
                let mut extent = lock(&dataset.extent);
                if let Some(table) = &mut extent.table {
                    table.published(&name);
                }
                extent.file = Some(name);
            }
            Ok(())
        };
        work().map_err(|error| {
            let _ = std::fs::remove_file(&aside);
            error!("cannot write {}: {}", self.folder.display(), error.message).with_source(error)
        })
    }

    /// Replaces the one file by a new one, which becomes visible to readers when it is renamed.
    fn publish_one_file(&self, names: &BTreeSet<String>) -> Result<()> {
        let aside = sibling_path(&self.path, "part");
        let work = || -> Result<()> {
            let (aside, archive) = self.folder.write_archive(names, (CATALOG, NEXT_CATALOG), &aside, self.options.sync)?;
            // Lock the new file before others can see it.
            let held = if lock(&self.lock).is_some() { write_lock(&aside)? } else { None };
            if self.path.is_dir() {
                let old = sibling_path(&self.path, "open");
                std::fs::rename(&self.path, &old)?;
                std::fs::rename(&aside, &self.path)?;
                std::fs::remove_dir_all(&old)?;
            } else if !self.replaces_nothing.swap(false, Ordering::Relaxed) || exchange(&aside, &self.path).is_err() {
                std::fs::rename(&aside, &self.path)?;
            }
            let old = (std::mem::replace(&mut *lock(&self.lock), held), self.folder.replace_archive(archive));
            close_later(old);
            Ok(())
        };
        work().map_err(|error| {
            let _ = std::fs::remove_file(&aside);
            error!("cannot write {}: {}", self.path.display(), error.message).with_source(error)
        })?;
        if let (true, Some(parent)) = (self.options.sync, self.path.parent()) {
            File::open(parent)?.sync_all()?;
        }
        Ok(())
    }
}

/// Puts a new file in the place of one that has nothing to lose. `rename` over it would make ext4 write the new file to disk at once.
fn exchange(new: &Path, old: &Path) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE)?;
        // Returns no error, because the caller would then rename the existing file over the new one. The next writer removes leftovers.
        drop(std::fs::remove_file(new));
        Ok(())
    }
    #[cfg(not(target_os = "linux"))]
    Err(std::io::Error::from(std::io::ErrorKind::Unsupported))
}

/// Whether a container gives files such a name: `links.G.arrow`, `attributes.G.arrow`, `datasets.G.arrow` (a pack), or the values
/// of a dataset, `NAME-ID.G.arrow`; the last two also as `….G.N.arrow`. Users may keep other Arrow files in the folder.
fn is_own_name(name: &str) -> bool {
    fn number(text: &str) -> Option<(&str, &str)> {
        text.rsplit_once('.').filter(|(_, digits)| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()))
    }
    let is_values = |front: &str| {
        let id = front.rsplit_once('-').map(|(_, id)| id);
        front == PACKS || id.is_some_and(|id| !id.is_empty() && id.bytes().all(|digit| digit.is_ascii_digit())) && !front.contains('.')
    };
    let Some((front, _)) = name.strip_suffix(".arrow").and_then(number) else { return false };
    ["links", "attributes"].contains(&front) || is_values(front) || number(front).is_some_and(|(front, _)| is_values(front))
}

/// Whether this is the file of the links of a generation.
fn is_links_name(name: &str) -> bool {
    name.strip_prefix("links.").and_then(|rest| rest.strip_suffix(".arrow")).is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Removes files of earlier generations, recognized by their names, that the catalog does not refer to. As long as a reader has
/// an earlier generation open, all files stay; a later publishing removes them.
fn remove_superseded(folder: &Path, kept: &BTreeSet<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let superseded: Vec<&String> = names.iter().filter(|name| is_own_name(name) && !kept.contains(*name)).collect();
    let mut held = Vec::new();
    for name in superseded.iter().filter(|name| is_links_name(name)) {
        match reader_lock::without_readers(&folder.join(name)) {
            Some(lock) => held.push(lock),
            None => return,
        }
    }
    let large: Vec<File> = superseded.iter().filter_map(|name| unlink(&folder.join(name))).collect();
    if !large.is_empty() {
        close_later(large);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_containers_give_are_removed() -> std::io::Result<()> {
        let ours = [
            "datasets.7.arrow",
            "datasets.7.1.arrow",
            "links.1.arrow",
            "attributes.12.arrow",
            "x-3.4.arrow",
            "a_b-c-17.2.arrow",
            "x-3.4.1.arrow",
            "-3.4.arrow",
        ];
        let theirs = [
            "run.2024.arrow",
            "x.arrow",
            "x-3.arrow",
            "catalog.arrow",
            "links.arrow",
            "my.links.1.arrow",
            "my.datasets.1.arrow",
            "datasets.arrow",
            "x-y.4.arrow",
            "a.b-3.4.arrow",
            "x-3.4.parquet",
        ];
        let folder = tempfile::tempdir()?;
        for name in ours.iter().chain(&theirs) {
            std::fs::write(folder.path().join(name), b"")?;
        }
        remove_superseded(folder.path(), &BTreeSet::from([ours[0].to_owned()]));
        for (name, stays) in ours.iter().map(|name| (name, *name == ours[0])).chain(theirs.iter().map(|name| (name, true))) {
            assert_eq!(folder.path().join(name).exists(), stays, "{name}");
        }
        Ok(())
    }
}
