//! Master: fragments merged into one tree, and the file that says it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use hyperslab_array::{Dataspace, Datatype, Error, ErrorKind, HyperslabAxis, Result, Selection, StoredSelection};
use hyperslab_formats::{Content, VirtualMapping};
use hyperslab_storage::Existing;

use super::boxes::Region;
use super::definition::{AttributeValue, DatasetDefinition};
use super::fragment::{DatasetFragment, Fragment, Kind, StoredValue};
use super::ordered::Ordered;
use super::plan::WritePlan;
use super::sharing::name_of;
use super::state::{COMMIT_ATTRIBUTE, reading_session};
use super::subfile::Subfile;
use super::task::text_attribute;
use crate::{Cancellation, ObjectId};

/// All objects by path, with who defined them.
#[derive(Debug, Default)]
pub(super) struct Master {
    objects: BTreeMap<String, Object>,
}

#[derive(Debug)]
struct Object {
    by: String,
    kind: Kind,
    /// How many objects came before it.
    created: usize,
    /// Whether the order of its attributes and members is recorded.
    tracked: bool,
    attributes: Ordered<(String, StoredValue)>,
    dataset: Option<Dataset>,
}

#[derive(Debug)]
struct Dataset {
    definition: DatasetDefinition,
    /// Whether it is written by rows; `None` of one that was in the file already.
    rows: Option<bool>,
    parts: Vec<Part>,
    scalar: Option<(String, StoredValue)>,
}

/// A box of a dataset and where it is.
#[derive(Debug)]
struct Part {
    by: String,
    region: Region,
    mapping: VirtualMapping,
}

impl Part {
    /// Both parts in one, where they lie side by side in the dataset and alike in the same source.
    fn with(&self, other: &Self) -> Option<Self> {
        let (a, b) = (&self.mapping, &other.mapping);
        if (&a.file, &a.dataset) != (&b.file, &b.dataset) {
            return None;
        }
        let region = self.region.joined(&other.region)?;
        let local = region_of(&a.source_selection)?.joined(&region_of(&b.source_selection)?)?;
        let moved = |region: &Region, local: &Region| -> Vec<u64> { region.start.iter().zip(&local.start).map(|(a, b)| a.wrapping_sub(*b)).collect() };
        if region.count != local.count || moved(&region, &local) != moved(&self.region, &region_of(&a.source_selection)?) {
            return None;
        }
        let mapping = VirtualMapping {
            source_selection: selection(&local.start, &local.count),
            selection: selection(&region.start, &region.count),
            ..a.clone()
        };
        Some(Self { by: self.by.clone(), region, mapping })
    }
}

fn conflict(path: &str, message: String) -> Error {
    Error::new(ErrorKind::Conflict, message).at_object(format!("/{path}"))
}

/// `%` begins a pattern in the names of sources.
fn escaped(name: &str) -> String {
    name.replace('%', "%%")
}

fn selection(start: &[u64], count: &[u64]) -> StoredSelection {
    StoredSelection::Hyperslab(start.iter().zip(count).map(|(start, count)| HyperslabAxis::block(*start, *count)).collect())
}

impl Master {
    /// Takes in what a task did; `folder` is where its subfile is, seen from the master.
    pub fn merge(&mut self, fragment: &Fragment, folder: &str) -> Result<()> {
        let by = format!("task {}", fragment.task);
        for (path, new) in fragment.in_order() {
            let created = self.objects.len();
            let object = match self.objects.entry(path.clone()) {
                Entry::Vacant(place) => {
                    place.insert(Object { by: by.clone(), kind: new.kind, created, tracked: false, attributes: Ordered::default(), dataset: None })
                }
                Entry::Occupied(place) => place.into_mut(),
            };
            object.tracked |= new.tracked;
            if object.kind != new.kind {
                return Err(conflict(path, format!("{} defined a {}, {by} a {}", object.by, object.kind, new.kind)));
            }
            for (name, value) in &new.attributes {
                match object.attributes.get(name) {
                    None => object.attributes.insert(name, (by.clone(), value.clone())),
                    Some((_, known)) if known.same(value)? => {}
                    Some((before, _)) => {
                        return Err(conflict(path, format!("{before} and {by} set attribute {name:?} to different values")));
                    }
                }
            }
            if let Some(dataset) = &new.dataset {
                let name = match &fragment.shared {
                    Some(shared) if dataset.shared => name_of(shared.group),
                    _ => fragment.name.clone(),
                };
                object.merge_dataset(path, dataset, &by, &format!("{folder}/{name}"))?;
            }
        }
        Ok(())
    }

    /// Takes a subfile under another name.
    pub fn place_shared(&mut self, expected: &str, name: &str) {
        let (expected, name) = (escaped(expected), escaped(name));
        let parts = self.objects.values_mut().filter_map(|object| object.dataset.as_mut()).flat_map(|dataset| &mut dataset.parts);
        for part in parts.filter(|part| part.mapping.file == expected) {
            part.mapping.file.clone_from(&name);
        }
    }

    /// Makes one of parts that lie side by side in the dataset and in a subfile, so that readers have fewer to look
    /// through. To be called when parts have been checked: it forgets whose they were.
    pub fn join_parts(&mut self) {
        for dataset in self.objects.values_mut().filter_map(|object| object.dataset.as_mut()) {
            dataset.parts.sort_by(|a, b| a.region.start.cmp(&b.region.start));
            let mut joined: Vec<Part> = Vec::with_capacity(dataset.parts.len());
            for part in std::mem::take(&mut dataset.parts) {
                match joined.last_mut().and_then(|last| last.with(&part)) {
                    Some(both) => {
                        joined.pop();
                        joined.push(both);
                    }
                    None => joined.push(part),
                }
            }
            dataset.parts = joined;
        }
    }

    /// Refuses elements that two tasks wrote.
    pub fn check_overlaps(&mut self) -> Result<()> {
        for (path, object) in &mut self.objects {
            let Some(dataset) = &mut object.dataset else { continue };
            let first = |part: &Part| part.region.start.first().copied().unwrap_or(0);
            dataset.parts.sort_by_key(first);
            for (number, part) in dataset.parts.iter().enumerate() {
                let end = first(part).saturating_add(part.region.count.first().copied().unwrap_or(1));
                let after = dataset.parts.iter().skip(number + 1).take_while(|other| first(other) < end);
                if let Some((other, shared)) = after.filter(|other| other.by != part.by).find_map(|other| Some((other, other.region.shared(&part.region)?))) {
                    let (a, b) = (&part.by, &other.by);
                    return Err(conflict(path, format!("{a} and {b} both wrote the {:?} elements from {:?} on", shared.count, shared.start)));
                }
            }
        }
        Ok(())
    }

    /// What a master that was committed before holds.
    pub fn load(path: &Path) -> Result<Self> {
        let file = reading_session()?.open(path)?;
        let mut master = Self::default();
        let by = "the file";
        for (number, object) in file.tree().objects.iter().enumerate() {
            let place = object.path.trim_start_matches('/').to_owned();
            let refused = |what: &str| Error::unsupported(format!("appending to a file that holds {what}")).at_object(&object.path);
            let (kind, dataset) = match &object.content {
                Content::Group(group) => {
                    if group.links.iter().any(|link| !matches!(link.target, hyperslab_formats::LinkTarget::Hard(_))) {
                        return Err(refused("links that no task wrote"));
                    }
                    (Kind::Group, None)
                }
                Content::Dataset(found) => {
                    let definition = DatasetDefinition { fill_value: found.fill_value.clone(), ..DatasetDefinition::new(found.datatype.clone(), found.dataspace.clone()) };
                    let parts = found.virtual_mappings.iter().map(|mapping| {
                        let region = region_of(&mapping.selection).ok_or_else(|| refused("a virtual dataset that no task wrote"))?;
                        Ok(Part { by: by.to_owned(), region, mapping: mapping.clone() })
                    });
                    let parts = parts.collect::<Result<Vec<_>>>()?;
                    let mut scalar = None;
                    match found.dataspace {
                        Dataspace::Scalar => {
                            let value = file.read(ObjectId(number), &Selection::all(&[]), &Cancellation::new())?;
                            let value = StoredValue::new(&AttributeValue { dataspace: Dataspace::Scalar, value })?;
                            scalar = Some((by.to_owned(), value));
                        }
                        Dataspace::Simple { .. } if found.virtual_mappings.is_empty() && found.stored_bytes != Some(0) => {
                            return Err(refused("a dataset that no task wrote"));
                        }
                        _ => {}
                    }
                    (Kind::Dataset, Some(Dataset { definition, rows: None, parts, scalar }))
                }
                Content::Datatype(_) => return Err(refused("a committed datatype")),
                Content::Unreadable(error) => return Err(error.clone().at_object(&object.path)),
            };
            if let Some(error) = &object.attributes_error {
                return Err(error.clone().at_object(&object.path));
            }
            let mut attributes = Ordered::default();
            for attribute in object.attributes.iter().filter(|attribute| number != 0 || attribute.name != COMMIT_ATTRIBUTE) {
                let value = attribute.value.clone().map_err(|error| error.at_object(&object.path))?;
                let value = StoredValue::new(&AttributeValue { dataspace: attribute.dataspace.clone(), value })?;
                attributes.insert(&attribute.name, (by.to_owned(), value));
            }
            let (created, tracked) = (master.objects.len(), object.is_tracked());
            master.objects.insert(place, Object { by: by.to_owned(), kind, created, tracked, attributes, dataset });
        }
        Ok(master)
    }

    /// Writes the file, which names the plan as its last commit, and makes it visible; its length.
    pub fn write(&self, path: &Path, plan: &WritePlan, existing: Existing, decide: impl FnOnce(&Path) -> Result<()>) -> Result<u64> {
        let mut file = Subfile::create(path, existing, plan.alignment, &reading_session()?)?;
        if !plan.durable {
            file.without_sync();
        }
        let mut objects: Vec<(&String, &Object)> = self.objects.iter().collect();
        objects.sort_by_key(|(_, object)| object.created);
        for (path, object) in objects {
            match &object.dataset {
                None => file.create_group(path)?,
                Some(dataset) => dataset.write(path, &mut file)?,
            }
            file.set_tracked(path, object.tracked)?;
            for (name, (_, value)) in object.attributes.in_order() {
                file.set_attribute(path, name, value.value()?)?;
            }
        }
        file.set_attribute("", COMMIT_ATTRIBUTE, text_attribute(plan.id()))?;
        file.finish_if(existing, decide)
    }
}

/// A datatype in a word or two, for errors.
fn described(datatype: &Datatype) -> String {
    match datatype {
        Datatype::Integer { size, signed, .. } => format!("{}int{}", if *signed { "" } else { "u" }, size.saturating_mul(8)),
        Datatype::Float { size, .. } => format!("float{}", size.saturating_mul(8)),
        Datatype::FixedString { size, .. } => format!("strings of {size} bytes"),
        Datatype::VariableString { .. } => "strings".to_owned(),
        other => format!("elements of {} bytes", other.size()),
    }
}

impl Object {
    fn merge_dataset(&mut self, path: &str, new: &DatasetFragment, by: &str, source: &str) -> Result<()> {
        let definition = new.definition()?;
        let dataset = self.dataset.get_or_insert_with(|| {
            Dataset { definition: definition.clone(), rows: Some(new.rows), parts: Vec::new(), scalar: None }
        });
        let differs = |what: String| Err(conflict(path, format!("{} and {by} define it differently: {what}", self.by)));
        let known = &mut dataset.definition;
        if known.datatype != definition.datatype {
            return differs(format!("datatypes {} and {}", described(&known.datatype), described(&definition.datatype)));
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
                None => dataset.scalar = Some((by.to_owned(), value.clone())),
            }
            return Ok(());
        }
        let mut first_row = 0;
        if let Dataspace::Simple { shape, max_shape } = &mut known.dataspace {
            if let (true, Some(rows), Some(more)) = (new.rows, shape.first_mut(), new.shape.first()) {
                first_row = *rows;
                *rows = rows.checked_add(*more).ok_or_else(|| Error::unsupported("more than 2⁶⁴ rows").at_object(format!("/{path}")))?;
            }
            *max_shape = shape.iter().copied().map(Some).collect();
        }
        let local = new.local_regions();
        let local = local.ok_or_else(|| Error::invalid_input(format!("the fragment of {by} says it wrote outside of its array")).at_object(format!("/{path}")))?;
        for (written, local) in new.written.iter().zip(local) {
            let mut region = written.clone();
            if let Some(row) = region.start.first_mut() {
                *row = row.saturating_add(first_row);
            }
            if !region.fits(known.dataspace.shape()) || region.count.contains(&0) {
                return Err(Error::invalid_input(format!("the fragment of {by} says it wrote outside of the dataset")).at_object(format!("/{path}")));
            }
            let mapping = VirtualMapping {
                file: escaped(source),
                dataset: escaped(&format!("/{path}")),
                source_selection: selection(&local.start, &local.count),
                selection: selection(&region.start, &region.count),
            };
            dataset.parts.push(Part { by: by.to_owned(), region, mapping });
        }
        Ok(())
    }
}

impl Dataset {
    fn write(&self, path: &str, file: &mut Subfile) -> Result<()> {
        match (&self.definition.dataspace, &self.scalar) {
            (Dataspace::Simple { .. }, _) if !self.parts.is_empty() => {
                let mappings = self.parts.iter().map(|part| part.mapping.clone()).collect();
                file.create_virtual(path, self.definition.clone(), mappings)
            }
            (Dataspace::Scalar, Some((_, value))) => {
                let value = value.value()?;
                file.create_dataset(path, self.definition.clone())?;
                let resolve = |reference| value.value.heap.object(reference);
                file.write(path, &Region::all(&[]), &value.value.bytes, &resolve)
            }
            // Nothing was written: all is the fill value.
            _ => file.create_dataset(path, self.definition.clone()),
        }
    }
}

/// The box that a selection of ours says.
fn region_of(selection: &StoredSelection) -> Option<Region> {
    let StoredSelection::Hyperslab(axes) = selection else { return None };
    let mut region = Region { start: Vec::new(), count: Vec::new() };
    for axis in axes {
        region.start.push(axis.start);
        region.count.push(axis.block.filter(|_| axis.count == Some(1))?);
    }
    Some(region)
}
