//! Master: fragments merged into one tree, and the file that says it.

use std::collections::{BTreeMap, BTreeSet};
use std::collections::btree_map::Entry;
use std::path::Path;

use hyperslab_array::{Cancellation, Dataspace, Datatype, Error, ErrorKind, HyperslabAxis, Result, Selection, StoredSelection};
use hyperslab_formats::{ChunkSource, Content, ObjectId, VirtualMapping};
use hyperslab_formats::hdf5::writer::{encode_datatype, parse_datatype};
use hyperslab_reader::File;
use hyperslab_storage::Existing;

use crate::file::copied_objects::{Carried, Source};
use crate::file::definition::{AttributeValue, DatasetDefinition};
use crate::file::file_writer::Subfile;
use crate::file::links::Link;
use crate::file::ordered::Ordered;
use crate::file::region::Region;
use crate::shared::task_regions::name_of;
use super::fragment::{AttributeFragment, DatasetFragment, Fragment, Kind, OtherFragment, StoredValue};
use super::hex::Hex;
use super::lineage::CommitName;
use super::plan::WritePlan;
use super::state::{COMMIT_ATTRIBUTE, reading_session};
use super::task::text_attribute;

/// Bytes of values of a dataset that is in the master itself.
const MAX_VALUE_BYTES: u64 = 64 << 20;

/// All objects by path, with who defined them.
#[derive(Debug, Default)]
pub(crate) struct Master {
    pub(crate) objects: BTreeMap<String, Object>,
}

#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) by: String,
    kind: Kind,
    /// How many objects came before it.
    created: usize,
    /// Whether the order of its attributes and members is recorded.
    tracked: bool,
    pub(crate) attributes: Ordered<(String, AttributeFragment)>,
    pub(crate) dataset: Option<Dataset>,
    /// What it is if it is no group and no dataset of values.
    other: Option<OtherFragment>,
    /// Paths of the dimension scales of a dataset, by dimension.
    pub(crate) scales: BTreeMap<u32, String>,
}

#[derive(Debug)]
pub(crate) struct Dataset {
    pub(crate) definition: DatasetDefinition,
    /// Whether it is written by rows; `None` of one that was in the file already.
    rows: Option<bool>,
    parts: Vec<Part>,
    /// All of its values, where these are not in subfiles.
    scalar: Option<(String, StoredValue)>,
    /// Whether readers see that it can grow.
    growable: bool,
}

/// Who defined and wrote what earlier commits have left.
const BEFORE: &str = "the file";

/// Parts of a dataset that may be moved to another subfile.
#[derive(Debug)]
pub(crate) struct Loose {
    pub path: String,
    pub definition: DatasetDefinition,
    /// Whether an earlier commit has written some of the dataset.
    pub has_earlier_parts: bool,
    pub parts: Vec<LoosePart>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct LoosePart {
    /// Among the parts of the dataset.
    pub number: usize,
    /// The subfile, as seen from the master.
    pub file: String,
    pub region: Region,
    /// The same elements in the dataset of the subfile.
    pub local: Region,
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
        self.merge_by(fragment, folder, &format!("task {}", fragment.task))
    }

    /// Takes in what the plan itself defines.
    pub fn merge_plan(&mut self, plan: &WritePlan) -> Result<()> {
        let mut fragment = plan.definitions.fragment(plan.id());
        if plan.tracked {
            fragment.objects.values_mut().for_each(|object| object.tracked = true);
        }
        self.merge_by(&fragment, "", "the plan")
    }

    fn merge_by(&mut self, fragment: &Fragment, folder: &str, by: &str) -> Result<()> {
        for (path, new) in fragment.in_order() {
            let created = self.objects.len();
            let mut other = new.other.clone();
            match &mut other {
                Some(OtherFragment::Link(Link::Hard(target))) => *target = self.resolved(target),
                Some(OtherFragment::References(pointers)) => pointers.each_path(|path| *path = path.take().map(|path| self.resolved(&path))),
                _ => {}
            }
            let (above, name) = path.rsplit_once('/').map_or((None, path.as_str()), |(above, name)| (Some(above), name));
            let own = path;
            let path = &match (new.kind, above) {
                (Kind::Link, Some(above)) => format!("{}/{name}", self.resolved(above)),
                (Kind::Link, None) => path.clone(),
                _ => self.resolved(path),
            };
            if matches!(&other, Some(OtherFragment::Link(Link::Hard(target))) if target == path) {
                // Another name of the object has become its first.
                continue;
            }
            let attributes: Vec<(String, AttributeFragment)> = new.attributes.iter().map(|(name, value)| {
                let mut value = value.clone();
                if let AttributeFragment::References(pointers) = &mut value {
                    pointers.each_path(|path| *path = path.take().map(|path| self.resolved(&path)));
                }
                (name.clone(), value)
            }).collect();
            let scales: Vec<(u32, String)> = new.scales.iter().map(|(dimension, scale)| (*dimension, self.resolved(scale))).collect();
            let object = match self.objects.entry(path.clone()) {
                Entry::Vacant(place) => {
                    place.insert(Object::new(by, new.kind, created, other.clone()))
                }
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
                    _ => fragment.name.clone(),
                };
                object.merge_dataset(path, dataset, by, (&format!("{folder}/{name}"), own))?;
            }
        }
        Ok(())
    }

    /// The path of an object by its first name.
    fn resolved(&self, path: &str) -> String {
        /// Links that lead to links.
        const MAX_LINKS: usize = 64;
        let mut resolved = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if !resolved.is_empty() {
                resolved.push('/');
            }
            resolved.push_str(part);
            for _ in 0..MAX_LINKS {
                match self.objects.get(&resolved).and_then(|object| object.other.as_ref()) {
                    Some(OtherFragment::Link(Link::Hard(target))) => resolved.clone_from(target),
                    _ => break,
                }
            }
        }
        resolved
    }

    /// Takes a subfile under another name.
    pub fn place_shared(&mut self, expected: &str, name: &str) {
        let (expected, name) = (escaped(expected), escaped(name));
        let parts = self.objects.values_mut().filter_map(|object| object.dataset.as_mut()).flat_map(|dataset| &mut dataset.parts);
        for part in parts.filter(|part| part.mapping.file == expected) {
            part.mapping.file.clone_from(&name);
        }
    }

    /// Parts of this commit's tasks that lie in the files that `wanted` names, by dataset and in the order of their regions.
    pub fn loose(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<Loose>> {
        let mut all = Vec::new();
        for (path, object) in &self.objects {
            let Some(dataset) = &object.dataset else { continue };
            let mut parts = Vec::new();
            for (number, part) in dataset.parts.iter().enumerate() {
                let file = part.mapping.file.replace("%%", "%");
                if !wanted(&file) {
                    continue;
                }
                let local = region_of(&part.mapping.source_selection).ok_or_else(|| Error::internal("a part that is not a box"))?;
                parts.push(LoosePart { number, file, region: part.region.clone(), local });
            }
            if !parts.is_empty() {
                parts.sort_by(|a, b| a.region.start.cmp(&b.region.start));
                let has_earlier_parts = dataset.parts.iter().any(|part| part.by == BEFORE);
                all.push(Loose { path: path.clone(), definition: dataset.definition.clone(), has_earlier_parts, parts });
            }
        }
        Ok(all)
    }

    /// Says where a part of [`Master::loose`] lies now: from `start` on in the dataset of the same path in `file`.
    pub fn move_part(&mut self, path: &str, number: usize, file: &str, start: &[u64]) -> Result<()> {
        let dataset = self.objects.get_mut(path).and_then(|object| object.dataset.as_mut());
        let part = dataset.and_then(|dataset| dataset.parts.get_mut(number)).ok_or_else(|| Error::internal("a part that is not there"))?;
        part.mapping.file = escaped(file);
        part.mapping.source_selection = selection(start, &part.region.count);
        Ok(())
    }

    /// How many rows of the dataset of the same path in `file` are taken by this one.
    pub fn rows_in(&self, path: &str, file: &str) -> u64 {
        let file = escaped(file);
        let parts = self.objects.get(path).and_then(|object| object.dataset.as_ref()).map_or(&[][..], |dataset| &dataset.parts);
        let taken = parts.iter().filter(|part| part.mapping.file == file).filter_map(|part| region_of(&part.mapping.source_selection));
        taken.filter_map(|region| region.start.first()?.checked_add(*region.count.first()?)).max().unwrap_or(0)
    }

    /// How many files the datasets take their values from.
    pub fn sources(&self) -> usize {
        self.files().len()
    }

    /// The files that have the values of its datasets, as it names them.
    pub fn files(&self) -> BTreeSet<&str> {
        let parts = self.objects.values().filter_map(|object| object.dataset.as_ref()).flat_map(|dataset| &dataset.parts);
        parts.map(|part| part.mapping.file.as_str()).collect()
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
        let source = Source::new(&file);
        let mut master = Self::default();
        let by = BEFORE;
        for (number, object) in file.tree().objects.iter().enumerate() {
            let place = object.path.trim_start_matches('/').to_owned();
            let refused = |what: &str| Error::unsupported(format!("appending to a file that holds {what}")).at_object(&object.path);
            let located = |error: Error| error.at_object(&object.path);
            let mut links = Vec::new();
            let (kind, dataset, other) = match &object.content {
                Content::Group(group) => {
                    links = source.links(&object.path, group).map_err(located)?;
                    (Kind::Group, None, None)
                }
                Content::Dataset(found) => {
                    let committed = source.committed(&found.datatype);
                    let definition = DatasetDefinition { fill_value: found.fill_value.clone(), fill_time: found.fill_time, committed, ..DatasetDefinition::new(found.datatype.clone(), found.dataspace.clone()) };
                    let parts = found.virtual_mappings.iter().map(|mapping| {
                        let region = region_of(&mapping.selection).ok_or_else(|| refused("a virtual dataset that no task wrote"))?;
                        Ok(Part { by: by.to_owned(), region, mapping: mapping.clone() })
                    });
                    let parts = parts.collect::<Result<Vec<_>>>()?;
                    let growable = matches!(&found.dataspace, Dataspace::Simple { max_shape, .. } if max_shape.contains(&None));
                    let mut scalar = None;
                    let is_whole = match found.dataspace {
                        Dataspace::Scalar => true,
                        Dataspace::Simple { .. } => found.virtual_mappings.is_empty() && found.stored_bytes != Some(0) && found.value_bytes() != Some(0),
                        Dataspace::Null => false,
                    };
                    if let (true, Some(pointers)) = (is_whole, source.references(ObjectId(number)).map_err(located)?) {
                        (Kind::References, None, Some(OtherFragment::References(pointers)))
                    } else {
                        // Of a dataset that grows and that nobody wrote to, no chunk is there.
                        if is_whole && (found.chunk_shape.is_none() || has_chunks(&file, ObjectId(number), found.dataspace.shape()).map_err(located)?) {
                            if found.value_bytes().is_none_or(|bytes| bytes > MAX_VALUE_BYTES) {
                                return Err(refused("a dataset that no task wrote"));
                            }
                            let value = file.read(ObjectId(number), &Selection::all(found.dataspace.shape()), &Cancellation::new()).map_err(located)?;
                            let value = StoredValue::new(&AttributeValue { dataspace: found.dataspace.clone(), value })?;
                            scalar = Some((by.to_owned(), value));
                        }
                        (Kind::Dataset, Some(Dataset { definition, rows: None, parts, scalar, growable }), None)
                    }
                }
                Content::Datatype(datatype) => (Kind::Datatype, None, Some(OtherFragment::Datatype(Hex(encode_datatype(datatype)?)))),
                Content::Unreadable(error) => return Err(error.clone().at_object(&object.path)),
            };
            if let Some(error) = &object.attributes_error {
                return Err(error.clone().at_object(&object.path));
            }
            let (mut attributes, mut scales) = (Ordered::default(), BTreeMap::new());
            for attribute in object.attributes.iter().filter(|attribute| number != 0 || attribute.name != COMMIT_ATTRIBUTE) {
                let value = match source.attribute(attribute).map_err(located)? {
                    Carried::Value(value) => AttributeFragment::Value(StoredValue::new(&value)?),
                    Carried::References(pointers) => AttributeFragment::References(pointers),
                    Carried::Scales(found) => {
                        scales = found;
                        continue;
                    }
                    Carried::Nothing => continue,
                };
                attributes.insert(&attribute.name, (by.to_owned(), value));
            }
            let object = Object { tracked: object.is_tracked(), attributes, dataset, scales, ..Object::new(by, kind, master.objects.len(), other) };
            master.objects.insert(place, object);
            for (path, link) in links {
                let object = Object::new(by, Kind::Link, master.objects.len(), Some(OtherFragment::Link(link)));
                master.objects.insert(path.trim_start_matches('/').to_owned(), object);
            }
        }
        master.reset_dimensions()?;
        Ok(master)
    }

    /// Writes the file, which names `commit` as its last one, and makes it visible; its length.
    pub fn write(&mut self, path: &Path, plan: &WritePlan, commit: &CommitName, existing: Existing, decide: impl FnOnce(&Path) -> Result<()>) -> Result<u64> {
        self.grow_dimensions()?;
        let mut file = Subfile::create(path, existing, plan.alignment, &reading_session()?)?;
        if !plan.durable {
            file.without_sync();
        }
        let mut objects: Vec<(&String, &Object)> = self.objects.iter().collect();
        objects.sort_by_key(|(_, object)| object.created);
        for (path, object) in objects {
            match (&object.dataset, &object.other) {
                (Some(dataset), _) => dataset.write(path, &mut file)?,
                (None, None) => file.create_group(path)?,
                (None, Some(OtherFragment::Link(link))) => {
                    file.create_link(path, link.clone())?;
                    continue;
                }
                (None, Some(OtherFragment::References(pointers))) => file.create_pointers(path, pointers.clone())?,
                (None, Some(OtherFragment::Datatype(datatype))) => file.create_datatype(path, parse_datatype(&datatype.0)?)?,
            }
            file.set_tracked(path, object.tracked)?;
            for (name, (_, value)) in object.attributes.in_order() {
                match value {
                    AttributeFragment::Value(value) => file.set_attribute(path, name, value.value()?)?,
                    AttributeFragment::References(pointers) => file.set_pointers(path, name, pointers.clone())?,
                }
            }
        }
        for (path, object) in &self.objects {
            for (dimension, scale) in &object.scales {
                file.attach_scale(path, *dimension, scale)?;
            }
        }
        file.set_attribute("", COMMIT_ATTRIBUTE, text_attribute(&commit.to_string()))?;
        file.finish_if(existing, decide)
    }
}

/// Whether some chunk of a dataset was written.
fn has_chunks(file: &File, id: ObjectId, shape: &[u64]) -> Result<bool> {
    let locations = file.array_file().locate(id, &Selection::all(shape))?;
    Ok(locations.chunks.iter().any(|location| matches!(location.source, ChunkSource::Stored { .. })))
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
    fn new(by: &str, kind: Kind, created: usize, other: Option<OtherFragment>) -> Self {
        Self { by: by.to_owned(), kind, created, tracked: false, attributes: Ordered::default(), dataset: None, other, scales: BTreeMap::new() }
    }

    fn merge_dataset(&mut self, path: &str, new: &DatasetFragment, by: &str, (file, own): (&str, &str)) -> Result<()> {
        let definition = new.definition()?;
        let dataset = self.dataset.get_or_insert_with(|| {
            Dataset { definition: definition.clone(), rows: Some(new.rows), parts: Vec::new(), scalar: None, growable: new.growable }
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
            for (extent, most) in shape.iter().zip(max_shape) {
                if most.is_some() || !growable {
                    *most = Some(*extent);
                }
            }
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
                file: escaped(file),
                dataset: escaped(&format!("/{own}")),
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
            (Dataspace::Scalar | Dataspace::Simple { .. }, Some((_, value))) => {
                let value = value.value()?;
                file.create_dataset(path, self.definition.clone())?;
                let resolve = |reference| value.value.heap.object(reference);
                file.write(path, &Region::all(self.definition.dataspace.shape()), &value.value.bytes, &resolve)
            }
            // Nothing was written: all is the fill value.
            _ => file.create_dataset(path, self.definition.clone()),
        }
    }
}

/// The box that a selection of ours says.
pub(crate) fn region_of(selection: &StoredSelection) -> Option<Region> {
    let StoredSelection::Hyperslab(axes) = selection else { return None };
    let mut region = Region { start: Vec::new(), count: Vec::new() };
    for axis in axes {
        region.start.push(axis.start);
        region.count.push(axis.block.filter(|_| axis.count == Some(1))?);
    }
    Some(region)
}
