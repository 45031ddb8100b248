//! Merges fragments into a master. Contradicting definitions are a `Conflict`.

use std::collections::btree_map::Entry;

use hyperslab_array::{Dataspace, Datatype, Error, Result};
use hyperslab_formats::VirtualMapping;

use super::fragment::{AttributeFragment, DatasetFragment, EntryKind, Fragment, OtherFragment};
use super::master::{MappedPart, Master, MasterDataset, MasterObject, conflict, escaped};
use super::plan::WritePlan;
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
        for (path, new) in fragment.in_order() {
            let created = self.objects.len();
            let mut other = new.other.clone();
            match &mut other {
                Some(OtherFragment::Link(Link::Hard(target))) => *target = self.resolve_links(target),
                Some(OtherFragment::References(references)) => references.for_each_path(|path| *path = path.take().map(|path| self.resolve_links(&path))),
                _ => {}
            }
            let (above, name) = path.rsplit_once('/').map_or((None, path.as_str()), |(above, name)| (Some(above), name));
            let own = path;
            let path = &match (new.kind, above) {
                (EntryKind::Link, Some(above)) => format!("{}/{name}", self.resolve_links(above)),
                (EntryKind::Link, None) => path.clone(),
                _ => self.resolve_links(path),
            };
            if matches!(&other, Some(OtherFragment::Link(Link::Hard(target))) if target == path) {
                // A hard link to itself: this name is now the object's first.
                continue;
            }
            let attributes: Vec<(String, AttributeFragment)> = new
                .attributes
                .iter()
                .map(|(name, value)| {
                    let mut value = value.clone();
                    if let AttributeFragment::References(references) = &mut value {
                        references.for_each_path(|path| *path = path.take().map(|path| self.resolve_links(&path)));
                    }
                    (name.clone(), value)
                })
                .collect();
            let scales: Vec<(u32, String)> = new.scales.iter().map(|(dimension, scale)| (*dimension, self.resolve_links(scale))).collect();
            let object = match self.objects.entry(path.clone()) {
                Entry::Vacant(place) => place.insert(MasterObject::new(by, new.kind, created, other.clone())),
                Entry::Occupied(place) => place.into_mut(),
            };
            object.tracked |= new.tracked;
            if object.kind != new.kind {
                return Err(conflict(path, format!("{} defined a {}, {by} a {}", object.by, object.kind, new.kind)));
            }
            if object.other != other {
                let differing = match (&object.other, &other) {
                    (Some(OtherFragment::Link(a)), Some(OtherFragment::Link(b))) => format!("{a} and {b}"),
                    _ => format!("two objects that differ, each a {}", new.kind),
                };
                return Err(conflict(path, format!("{} and {by} define it differently: {differing}", object.by)));
            }
            for (dimension, scale) in &scales {
                match object.scales.get(dimension) {
                    Some(known) if known != scale => {
                        return Err(conflict(path, format!("{} and {by} give dimension {dimension} different scales: /{known} and /{scale}", object.by)));
                    }
                    _ => object.scales.insert(*dimension, scale.clone()),
                };
            }
            for (name, value) in &attributes {
                match object.attributes.get(name) {
                    None => object.attributes.insert(name, (by.to_owned(), value.clone())),
                    Some((_, known)) if known.same(value)? => {}
                    Some((before, _)) => {
                        return Err(conflict(path, format!("{before} and {by} set attribute {name:?} to different values")));
                    }
                }
            }
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
        let known = &mut dataset.definition;
        if known.datatype != definition.datatype {
            return differs(format!("datatypes {} and {}", datatype_name(&known.datatype), datatype_name(&definition.datatype)));
        }
        if known.fill_value != definition.fill_value {
            return differs("their fill values".to_owned());
        }
        let skip = usize::from(new.rows);
        let rest = |dataspace: &Dataspace| dataspace.shape().get(skip..).map(<[u64]>::to_vec);
        let same_class = std::mem::discriminant(&known.dataspace) == std::mem::discriminant(&definition.dataspace);
        if dataset.rows.is_some_and(|rows| rows != new.rows) || !same_class || rest(&known.dataspace) != rest(&definition.dataspace) {
            return differs(format!("shapes {:?} and {:?}", known.dataspace.shape(), definition.dataspace.shape()));
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
        let mut first_row = 0;
        if let Dataspace::Simple { shape, max_shape } = &mut known.dataspace {
            if let (true, Some(rows), Some(more)) = (new.rows, shape.first_mut(), new.shape.first()) {
                first_row = *rows;
                *rows = rows.checked_add(*more).ok_or_else(|| Error::unsupported("more than 2⁶⁴ rows").at_object(format!("/{path}")))?;
            }
            let growable = dataset.growable;
            for (extent, max) in shape.iter().zip(max_shape) {
                if max.is_some() || !growable {
                    *max = Some(*extent);
                }
            }
        }
        let local = new.local_regions();
        let local =
            local.ok_or_else(|| Error::invalid_input(format!("the fragment of {by} says it wrote outside of its array")).at_object(format!("/{path}")))?;
        for (written, local) in new.written.iter().zip(local) {
            let mut region = written.clone();
            if let Some(row) = region.start.first_mut() {
                *row = row.saturating_add(first_row);
            }
            if !region.fits(known.dataspace.shape()) || region.count.contains(&0) {
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
