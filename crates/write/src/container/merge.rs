//! Merges fragments into a master. Contradicting definitions are a `Conflict`.

use std::collections::btree_map::Entry;

use hyperslab_array::{Dataspace, Datatype, Error, Result};
use hyperslab_formats::VirtualMapping;

use super::fragment::{AttributeFragment, DatasetFragment, EntryKind, Fragment, ObjectFragment, OtherFragment};
use super::master::{MappedPart, Master, MasterDataset, MasterObject, conflict, escaped};
use super::plan::WritePlan;
use crate::file::definition::DatasetDefinition;
use crate::file::references::links::Link;
use crate::file::regions::stored_box::selection_of;
use crate::shared::layout::name_of;

impl Master {
    /// Merges the fragment of a task. `folder` is the folder of its subfile, relative to the master.
    pub fn merge(&mut self, fragment: &Fragment, folder: &str) -> Result<()> {
        self.merge_from(fragment, folder, &format!("task {}", fragment.task))
    }

    /// Merges the definitions of the plan.
    pub fn merge_plan(&mut self, plan: &WritePlan) -> Result<()> {
        let mut fragment = plan.definitions.fragment(&plan.id);
        if plan.tracked {
            fragment.objects.values_mut().for_each(|object| object.tracked = true);
        }
        self.merge_from(&fragment, "", "the plan")
    }

    fn merge_from(&mut self, fragment: &Fragment, folder: &str, by: &str) -> Result<()> {
        for (own, new) in fragment.in_order() {
            let created = self.objects.len();
            let other = self.resolved_other(new);
            let path = &self.resolved_path(own, new.kind);
            if matches!(&other, Some(OtherFragment::Link(Link::Hard(target))) if target == path) {
                // A hard link to itself: this name is now the object's first.
                continue;
            }
            let attributes = self.resolved_attributes(new);
            let scales: Vec<(u32, String)> = new.scales.iter().map(|(dimension, scale)| (*dimension, self.resolve_links(scale))).collect();
            let object = match self.objects.entry(path.clone()) {
                Entry::Vacant(place) => place.insert(MasterObject::new(by, new.kind, created, other.clone())),
                Entry::Occupied(place) => place.into_mut(),
            };
            object.tracked |= new.tracked;
            object.check_same(path, new.kind, other.as_ref(), by)?;
            object.merge_scales(path, scales, by)?;
            object.merge_attributes(path, attributes, by)?;
            if let Some(dataset) = &new.dataset {
                let name = match &fragment.shared {
                    Some(shared) if dataset.shared => name_of(shared.group),
                    _ => fragment.name.to_string(),
                };
                object.merge_dataset(path, dataset, by, (&format!("{folder}/{name}"), own))?;
            }
        }
        Ok(())
    }

    /// What an entry is if it is neither a group nor a dataset of values, with each object by its first name.
    fn resolved_other(&self, new: &ObjectFragment) -> Option<OtherFragment> {
        let mut other = new.other.clone();
        match &mut other {
            Some(OtherFragment::Link(Link::Hard(target))) => *target = self.resolve_links(target),
            Some(OtherFragment::References(references)) => references.for_each_path(|path| *path = path.take().map(|path| self.resolve_links(&path))),
            _ => {}
        }
        other
    }

    /// The first name of an object; the name of a link, in a group by its first name.
    fn resolved_path(&self, path: &str, kind: EntryKind) -> String {
        match (kind, path.rsplit_once('/')) {
            (EntryKind::Link, Some((above, name))) => format!("{}/{name}", self.resolve_links(above)),
            (EntryKind::Link, None) => path.to_owned(),
            _ => self.resolve_links(path),
        }
    }

    /// Attributes with the objects that they refer to by their first names.
    fn resolved_attributes(&self, new: &ObjectFragment) -> Vec<(String, AttributeFragment)> {
        let resolved = |(name, value): &(String, AttributeFragment)| {
            let mut value = value.clone();
            if let AttributeFragment::References(references) = &mut value {
                references.for_each_path(|path| *path = path.take().map(|path| self.resolve_links(&path)));
            }
            (name.clone(), value)
        };
        new.attributes.iter().map(resolved).collect()
    }

    /// Resolves hard links, so that each object is known by its first name.
    fn resolve_links(&self, path: &str) -> String {
        /// Maximum number of links to links.
        const MAX_LINKS: usize = 64;
        let mut resolve_links = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if !resolve_links.is_empty() {
                resolve_links.push('/');
            }
            resolve_links.push_str(part);
            for _ in 0..MAX_LINKS {
                match self.objects.get(&resolve_links).and_then(|object| object.other.as_ref()) {
                    Some(OtherFragment::Link(Link::Hard(target))) => resolve_links.clone_from(target),
                    _ => break,
                }
            }
        }
        resolve_links
    }
}

impl MasterObject {
    /// Checks that `by` defines the same as others before it.
    fn check_same(&self, path: &str, kind: EntryKind, other: Option<&OtherFragment>, by: &str) -> Result<()> {
        if self.kind != kind {
            return Err(conflict(path, format!("{} defined a {}, {by} a {kind}", self.by, self.kind)));
        }
        if self.other.as_ref() != other {
            let differing = match (&self.other, other) {
                (Some(OtherFragment::Link(a)), Some(OtherFragment::Link(b))) => format!("{a} and {b}"),
                _ => format!("two objects that differ, each a {kind}"),
            };
            return Err(conflict(path, format!("{} and {by} define it differently: {differing}", self.by)));
        }
        Ok(())
    }

    fn merge_scales(&mut self, path: &str, scales: Vec<(u32, String)>, by: &str) -> Result<()> {
        for (dimension, scale) in scales {
            match self.scales.get(&dimension) {
                Some(known) if *known != scale => {
                    return Err(conflict(path, format!("{} and {by} give dimension {dimension} different scales: /{known} and /{scale}", self.by)));
                }
                _ => self.scales.insert(dimension, scale),
            };
        }
        Ok(())
    }

    fn merge_attributes(&mut self, path: &str, attributes: Vec<(String, AttributeFragment)>, by: &str) -> Result<()> {
        for (name, value) in attributes {
            match self.attributes.get(&name) {
                None => self.attributes.insert(&name, (by.to_owned(), value)),
                Some((_, known)) if known.same(&value)? => {}
                Some((before, _)) => {
                    return Err(conflict(path, format!("{before} and {by} set attribute {name:?} to different values")));
                }
            }
        }
        Ok(())
    }

    fn merge_dataset(&mut self, path: &str, new: &DatasetFragment, by: &str, (file, own): (&str, &str)) -> Result<()> {
        let definition = new.definition()?;
        let dataset = self.dataset.get_or_insert_with(|| MasterDataset {
            definition: definition.clone(),
            rows: Some(new.rows),
            parts: Vec::new(),
            scalar: None,
            growable: new.growable,
        });
        let differs = |what: String| Err(conflict(path, format!("{} and {by} define it differently: {what}", self.by)));
        if let Some(what) = dataset.difference(&definition, new.rows) {
            return differs(what);
        }
        if let Some(value) = &new.scalar {
            match &dataset.scalar {
                Some((before, known)) if !known.same(value)? => {
                    return Err(conflict(path, format!("{before} and {by} wrote different values")));
                }
                Some(_) => {}
                None if !dataset.parts.is_empty() => return differs("one has all of its values".to_owned()),
                None => dataset.scalar = Some((by.to_owned(), value.clone())),
            }
            return Ok(());
        }
        if dataset.scalar.is_some() && !new.written.is_empty() {
            return differs("one has all of its values".to_owned());
        }
        let first_row = dataset.grow(path, new)?;
        let local = new.local_regions();
        let local =
            local.ok_or_else(|| Error::invalid_input(format!("the fragment of {by} says it wrote outside of its array")).at_object(format!("/{path}")))?;
        for (written, local) in new.written.iter().zip(local) {
            let mut region = written.clone();
            if let Some(row) = region.start.first_mut() {
                *row = row.saturating_add(first_row);
            }
            if !region.fits(dataset.definition.dataspace.shape()) || region.count.contains(&0) {
                return Err(Error::invalid_input(format!("the fragment of {by} says it wrote outside of the dataset")).at_object(format!("/{path}")));
            }
            let mapping = VirtualMapping {
                file: escaped(file),
                dataset: escaped(&format!("/{own}")),
                source_selection: selection_of(&local.start, &local.count),
                selection: selection_of(&region.start, &region.count),
            };
            dataset.parts.push(MappedPart { by: by.to_owned(), region, mapping });
        }
        Ok(())
    }
}

impl MasterDataset {
    /// In what a definition of the same dataset differs from this one, apart from the number of rows if tasks append them.
    fn difference(&self, definition: &DatasetDefinition, rows: bool) -> Option<String> {
        let known = &self.definition;
        if known.datatype != definition.datatype {
            return Some(format!("datatypes {} and {}", datatype_name(&known.datatype), datatype_name(&definition.datatype)));
        }
        if known.fill_value != definition.fill_value {
            return Some("their fill values".to_owned());
        }
        let skip = usize::from(rows);
        let rest = |dataspace: &Dataspace| dataspace.shape().get(skip..).map(<[u64]>::to_vec);
        let same_class = std::mem::discriminant(&known.dataspace) == std::mem::discriminant(&definition.dataspace);
        let differs = self.rows.is_some_and(|known| known != rows) || !same_class || rest(&known.dataspace) != rest(&definition.dataspace);
        differs.then(|| format!("shapes {:?} and {:?}", known.dataspace.shape(), definition.dataspace.shape()))
    }

    /// Makes room for the rows that a task has appended, and returns the first of them; 0 if it wrote into the dataset as it is.
    fn grow(&mut self, path: &str, new: &DatasetFragment) -> Result<u64> {
        let mut first_row = 0;
        if let Dataspace::Simple { shape, max_shape } = &mut self.definition.dataspace {
            if let (true, Some(rows), Some(more)) = (new.rows, shape.first_mut(), new.shape.first()) {
                first_row = *rows;
                *rows = rows.checked_add(*more).ok_or_else(|| Error::unsupported("more than 2⁶⁴ rows").at_object(format!("/{path}")))?;
            }
            for (extent, max) in shape.iter().zip(max_shape) {
                if max.is_some() || !self.growable {
                    *max = Some(*extent);
                }
            }
        }
        Ok(first_row)
    }
}

/// Short name of a datatype for messages.
pub fn datatype_name(datatype: &Datatype) -> String {
    match datatype {
        Datatype::Integer { size, signed, .. } => format!("{}int{}", if *signed { "" } else { "u" }, size.saturating_mul(8)),
        Datatype::Float { size, .. } => format!("float{}", size.saturating_mul(8)),
        Datatype::FixedString { size, .. } => format!("strings of {size} bytes"),
        Datatype::VariableString { .. } => "strings".to_owned(),
        other => format!("elements of {} bytes", other.size()),
    }
}
