//! The tree of a container: its objects, attributes and links as HDF5 shows them.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use hyperslab_array::{Attribute, ChunkGrid, Error, Result, StoredSelection};
use hyperslab_arrow_container::catalog::{self, CATALOG, Loaded};
use hyperslab_arrow_container::container::external_parts;
use hyperslab_arrow_container::elements::Datatype as Stored;
use hyperslab_arrow_container::error::Error as ContainerError;
use hyperslab_arrow_container::files::{ReadSeek, Source};
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::{self, Body, ROOT, Target};
use hyperslab_formats::{
    Attributes, BLOCK_BYTES, CreationOrder, Dataset, Dimension, DimensionScale, Limits, Link, LinkTarget, Links, Object, ObjectId, ObjectProperties,
    ObjectTimes, PathOf, Requested, StorageLayout, Tree, block_shape, hdf5, netcdf4,
};

use crate::attribute::{self, Heap, attribute};
use crate::datatype::{Decoded, decode};
use crate::place::{PartReader, Place};
use crate::properties;
use crate::storage::Layout;

/// The class of external links.
const EXTERNAL: i32 = 64;

/// The tree.
pub(crate) struct ContainerTree {
    entries: HashMap<u64, Entry>,
    stored: model::Tree,
    decoded: HashMap<Vec<u8>, Arc<Decoded>>,
    pub heap: Heap,
    limits: Limits,
}

/// An object.
struct Entry {
    object: Object,
    attributes: OnceLock<Arc<Attributes>>,
    links: OnceLock<Arc<Links>>,
    /// Number of a dataset whose values are in a file, and where its elements begin.
    values: Option<(usize, u64)>,
}

/// The files of the catalog while they are loaded. Keeps the first error, which the other crate's errors cannot hold.
struct Loading<'a> {
    place: &'a Place,
    limits: &'a Limits,
    failed: RefCell<Option<Error>>,
    decoded: RefCell<HashMap<Vec<u8>, Arc<Decoded>>>,
}

impl Loading<'_> {
    fn fail(&self, error: Error) -> ContainerError {
        let shown = ContainerError::new(error.message());
        self.failed.borrow_mut().get_or_insert(error);
        shown
    }

    fn part(&self, name: &str) -> Result<PartReader> {
        let part = self.place.open(name)?;
        if part.length > self.limits.metadata_block_bytes {
            return Err(Error::limit_exceeded(format!("'{name}' has {} bytes of metadata (limit metadata_block_bytes)", part.length)));
        }
        // Checked before Arrow allocates what they say.
        let found = part.batches(self.limits.metadata_block_bytes)?;
        let rows = found.batches.iter().fold(0u64, |sum, batch| sum.saturating_add(batch.rows));
        if rows > self.limits.objects {
            return Err(Error::limit_exceeded(format!("{rows} objects or links in one container (limit objects)")));
        }
        Ok(PartReader { part, at: 0 })
    }

    fn decode(&self, encoded: &[u8]) -> Result<Stored> {
        if let Some(known) = self.decoded.borrow().get(encoded) {
            return Ok(known.form.stored());
        }
        let decoded = decode(encoded, self.limits)?;
        let stored = decoded.form.stored();
        self.decoded.borrow_mut().insert(encoded.to_vec(), Arc::new(decoded));
        Ok(stored)
    }
}

impl Source for Loading<'_> {
    fn name(&self) -> String {
        self.place.name()
    }
    fn open(&self, name: &str) -> hyperslab_arrow_container::error::Result<Box<dyn ReadSeek>> {
        let reader = self.part(name).map_err(|error| self.fail(error))?;
        Ok(Box::new(reader))
    }
}

impl ContainerTree {
    /// Loads the catalog. Also returns the places of the datasets, and the generation of the catalog.
    ///
    /// # Errors
    /// `Conflict` if the container is being rewritten; `Corrupt`, `Unsupported`, `LimitExceeded` or `Io` if it cannot be loaded.
    pub fn load(place: &mut Place, limits: &Limits) -> Result<(Self, Layout, u64)> {
        let loading = Loading { place, limits, failed: RefCell::default(), decoded: RefCell::default() };
        let loaded = catalog::load(&loading, &|encoded| loading.decode(encoded).map_err(|error| loading.fail(error)));
        let Loaded { tree: stored, generation, links, packs, .. } = loaded.map_err(|error| {
            let kind = if error.unsupported { Error::unsupported } else { Error::corrupt };
            loading.failed.take().unwrap_or_else(|| kind(&error.message))
        })?;
        let decoded = loading.decoded.take();
        place.hold(&links)?;
        place.open_packs(&packs, limits.metadata_block_bytes)?;
        if place.has_changed() {
            return Err(Error::busy(format!("{CATALOG} was replaced while it was read: open the container again")));
        }
        let mut tree = Self { entries: HashMap::new(), stored, decoded, heap: Heap::default(), limits: limits.clone() };
        let mut layout = Layout::default();
        let paths = tree.stored.reachable();
        for (id, object) in &tree.stored.objects {
            let path = paths.get(id).cloned().unwrap_or_default();
            let (object, values) = tree.object_of(object, &mut layout).map_err(|error| error.at_object(path))?;
            tree.entries.insert(*id, Entry { object, attributes: OnceLock::new(), links: OnceLock::new(), values });
        }
        Ok((tree, layout, generation))
    }

    fn decoded(&self, encoded: &[u8]) -> Result<Arc<Decoded>> {
        self.decoded.get(encoded).cloned().ok_or_else(|| Error::internal("a datatype that was not decoded"))
    }

    fn object_of(&self, stored: &model::Object, layout: &mut Layout) -> Result<(Object, Option<(usize, u64)>)> {
        let dataset = match &stored.body {
            Body::Group { .. } => return Ok((Object::Group, None)),
            Body::Datatype(datatype) => return Ok((Object::Datatype(Arc::new(self.decoded(&datatype.encoded)?.shown.clone())), None)),
            Body::Dataset(dataset) => dataset,
        };
        let decoded = self.decoded(&dataset.datatype.encoded)?;
        let properties = properties::parse(&stored.creation)?;
        let extent = lock(&dataset.extent);
        let dataspace = attribute::space(&extent.space)?;
        let values = extent.file.as_ref().map(|file| layout.add(decoded.clone(), extent.space.clone(), file.clone())).transpose()?;
        let bytes = dataspace.element_count()?.checked_mul(decoded.shown.size()).ok_or_else(|| Error::corrupt("a dataset beyond 64 bits"))?;
        let shape = dataspace.shape().to_vec();
        let grid = ChunkGrid::new(shape.clone(), block_shape(&shape, decoded.shown.size(), BLOCK_BYTES))?;
        let mut shown = Dataset::new(decoded.shown.clone(), dataspace, grid);
        shown.storage = StorageLayout::Contiguous;
        shown.stored_bytes = Some(if values.is_some() { bytes } else { 0 });
        shown.requested = Some(Arc::new(Requested::new(properties.chunk_shape, properties.filters.describe()).with_compact(properties.is_compact)));
        (shown.is_fill_undefined, shown.allocation) = (properties.is_fill_undefined, properties.allocation);
        shown.fill_time = properties.fill_time;
        shown.fill_value = match &stored.fill {
            Some(fill) => Some(attribute::elements(&lock(fill), &decoded, &self.heap, self.limits.attribute_bytes)?.bytes),
            None => properties.fill_value,
        };
        if shown.fill_value.as_ref().is_some_and(|value| value.len() as u64 != decoded.shown.size()) {
            return Err(Error::corrupt("a fill value of another size than its datatype"));
        }
        shown.refusal = decoded.shown.unsupported_class().map(|class| Error::unsupported(format!("datatype class {class}")));
        Ok((Object::Dataset(Arc::new(shown)), values))
    }

    fn entry(&self, id: ObjectId) -> Result<&Entry> {
        self.entries.get(&id.0).ok_or_else(|| Error::internal(format!("no object {}", id.0)))
    }

    fn stored_object(&self, id: ObjectId) -> Result<&model::Object> {
        self.stored.objects.get(&id.0).ok_or_else(|| Error::internal(format!("no object {}", id.0)))
    }

    /// Number of a dataset whose values are in a file, and where its elements begin.
    pub fn values(&self, id: ObjectId) -> Result<Option<(usize, u64)>> {
        Ok(self.entry(id)?.values)
    }

    /// The selection of a region reference by its number.
    pub fn region(&self, number: u32) -> Result<StoredSelection> {
        let region = self.stored.region(number).ok_or_else(|| Error::corrupt(format!("a reference to selection {number}, which does not exist")))?;
        hdf5::parse_encoded_selection(&region.selection)
    }

    fn made_attributes(&self, id: ObjectId) -> Result<Attributes> {
        let stored = self.stored_object(id)?;
        let mut list = Vec::with_capacity(stored.attributes.len());
        for value in stored.attributes.values() {
            let value = lock(value);
            list.push((value.order, attribute(&value, &*self.decoded(&value.datatype.encoded)?, &self.heap, self.limits.attribute_bytes)?));
        }
        if stored.attributes_tracked {
            list.sort_by_key(|(order, _)| *order);
        }
        Ok(Attributes::new(list.into_iter().map(|(_, attribute)| attribute).collect::<Vec<Attribute>>(), stored.attributes_tracked))
    }

    fn made_links(&self, id: ObjectId) -> Result<Links> {
        let Body::Group { links, tracked, .. } = &self.stored_object(id)?.body else { return Ok(Links::default()) };
        let mut list: Vec<(i64, Link)> = Vec::with_capacity(links.len());
        for (name, link) in links {
            let target = match &link.target {
                Target::Hard(id) => LinkTarget::Hard(ObjectId(*id)),
                Target::Soft(path) => LinkTarget::Soft(path.clone()),
                Target::User(EXTERNAL, value) => {
                    let (file, path) = external_parts(value).ok_or_else(|| Error::corrupt(format!("the external link '{name}' is damaged")))?;
                    LinkTarget::External { file: file.to_owned(), path: path.to_owned() }
                }
                Target::User(class, _) => LinkTarget::UserDefined(u8::try_from(*class).map_err(|_| Error::corrupt(format!("a link of class {class}")))?),
            };
            list.push((link.order, Link::new(name.clone(), target).with_utf8(link.utf8)));
        }
        if *tracked {
            list.sort_by_key(|(order, _)| *order);
        }
        Ok(Links::new(list.into_iter().map(|(_, link)| link).collect(), *tracked))
    }
}

impl Tree for ContainerTree {
    fn root(&self) -> ObjectId {
        ObjectId(ROOT)
    }
    fn object(&self, id: ObjectId) -> Result<Object> {
        Ok(self.entry(id)?.object.clone())
    }
    fn attributes(&self, id: ObjectId) -> Result<Arc<Attributes>> {
        let entry = self.entry(id)?;
        if let Some(attributes) = entry.attributes.get() {
            return Ok(attributes.clone());
        }
        let made = Arc::new(self.made_attributes(id)?);
        Ok(entry.attributes.get_or_init(|| made).clone())
    }
    fn has_attribute(&self, id: ObjectId, names: &[&str]) -> Result<bool> {
        let stored = self.stored_object(id)?;
        Ok(names.iter().any(|name| stored.attributes.contains_key(*name)))
    }
    fn links(&self, group: ObjectId) -> Result<Arc<Links>> {
        let entry = self.entry(group)?;
        if let Some(links) = entry.links.get() {
            return Ok(links.clone());
        }
        let made = Arc::new(self.made_links(group)?);
        Ok(entry.links.get_or_init(|| made).clone())
    }
    fn properties(&self, id: ObjectId) -> Result<ObjectProperties> {
        let stored = self.stored_object(id)?;
        let mut properties = ObjectProperties::default();
        properties.comment = stored.comment.as_ref().map(|comment| comment.clone().into_bytes());
        properties.times = stored.times.map(|[access, modification, change, birth]| ObjectTimes { access, modification, change, birth });
        properties.attribute_order = CreationOrder::of(stored.attributes_tracked);
        match &stored.body {
            Body::Group { tracked, .. } => properties.link_order = CreationOrder::of(*tracked),
            Body::Dataset(dataset) => properties.committed = dataset.datatype.committed.map(ObjectId),
            Body::Datatype(_) => {}
        }
        let mut names: Vec<(i64, &String)> = Vec::new();
        for (name, value) in &stored.attributes {
            let value = lock(value);
            names.push((value.order, name));
            if let Some(committed) = value.datatype.committed {
                properties.committed_of_attributes.insert(name.clone(), ObjectId(committed));
            }
        }
        names.sort_unstable();
        properties.stored_attributes = names.into_iter().map(|(_, name)| name.clone()).collect();
        Ok(properties)
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
        self.entries.contains_key(&address).then_some(ObjectId(address))
    }
    // Others are found as in an HDF5 file, so that an object with several names has the same one there.
    fn path(&self, id: ObjectId) -> Option<Cow<'_, str>> {
        (id.0 == ROOT).then_some(Cow::Borrowed("/"))
    }
}
