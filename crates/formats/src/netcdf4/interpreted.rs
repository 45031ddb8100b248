//! What the netCDF-4 conventions make of the objects of an HDF5 file. An object is interpreted when it is asked for.

use std::sync::{Arc, OnceLock};

use hyperslab_array::{Attribute, Error, ErrorKind, Result};
use hyperslab_storage::ForkMutex;

use super::described::{self, Described, NON_COORDINATE, Scale};
use super::grown::{can_grow, grown};
use super::shown::{self, BOOKKEEPING};
use super::whole_file::WholeFile;
use crate::recent::Recent;
use crate::tree::{PathOf, unless_damaged};
use crate::{Attributes, Dimension, DimensionScale, Link, Links, Object, ObjectId, Tree};

/// Bytes of interpreted objects that are kept for each file, about.
const KEPT_BYTES: u64 = 8 << 20;
/// Bytes that an object, an attribute and a link take, besides their texts and values.
const OBJECT_BYTES: u64 = 200;
const ATTRIBUTE_BYTES: u64 = 300;
const LINK_BYTES: u64 = 100;
const DATASET_BYTES: u64 = 500;

/// The objects of an HDF5 file by the netCDF-4 conventions, but for dimensions without a scale.
pub(super) struct Interpreted {
    /// The objects as HDF5 has them.
    file: Arc<dyn Tree>,
    kept: ForkMutex<Recent<Arc<Kept>>>,
    whole: OnceLock<WholeFile>,
}

/// What the conventions make of an object, each part when it was asked for.
#[derive(Default)]
struct Kept {
    dataset: OnceLock<Object>,
    attributes: OnceLock<Arc<Attributes>>,
    links: OnceLock<Arc<Links>>,
    scale: OnceLock<Option<Scale>>,
    /// What identifies the scale of each dimension of a variable.
    described: OnceLock<Arc<[Described]>>,
    /// The name of the link to a scale that is nearest to the root.
    name: OnceLock<Arc<str>>,
}

/// The scale of a variable's dimension.
struct Found {
    id: ObjectId,
    name: Arc<str>,
    scale: Scale,
}

impl Interpreted {
    /// Shows `file` by the conventions.
    pub fn new(file: Arc<dyn Tree>) -> Self {
        Self { file, kept: ForkMutex::new(Recent::new(KEPT_BYTES)), whole: OnceLock::new() }
    }

    /// What all objects of the file tell together.
    pub fn whole(&self) -> Result<&WholeFile> {
        if let Some(whole) = self.whole.get() {
            return Ok(whole);
        }
        let whole = WholeFile::read(self.file.as_ref(), |id| self.scale(id), |id, ndim| self.described(id, ndim))?;
        Ok(self.whole.get_or_init(|| whole))
    }

    fn kept(&self, id: ObjectId) -> Arc<Kept> {
        // In a child that was forked while its parent used the lock nothing is kept.
        let Some(mut recent) = self.kept.lock() else { return Arc::default() };
        recent.get(id.0).unwrap_or_else(|| {
            let kept = Arc::new(Kept::default());
            recent.insert(id.0, kept.clone(), OBJECT_BYTES);
            kept
        })
    }
    /// Keeps a part of an object that takes `bytes`.
    fn keep<T: Clone>(&self, id: ObjectId, part: &OnceLock<T>, value: T, bytes: u64) -> T {
        if part.set(value.clone()).is_ok()
            && let Some(mut recent) = self.kept.lock()
        {
            recent.grow(id.0, bytes);
        }
        value
    }

    /// The dimension scale that an object is.
    pub fn scale(&self, id: ObjectId) -> Result<Option<Scale>> {
        let kept = self.kept(id);
        if let Some(scale) = kept.scale.get() {
            return Ok(*scale);
        }
        Ok(self.keep(id, &kept.scale, described::scale(self.file.as_ref(), id)?, 0))
    }
    /// The same for a listing, which an object that exceeds a limit does not spoil: that is an error when it is used.
    pub fn scale_for_listing(&self, id: ObjectId) -> Result<Option<Scale>> {
        match self.scale(id) {
            Err(error) if error.kind() == ErrorKind::LimitExceeded => Ok(None),
            scale => scale,
        }
    }
    fn described(&self, id: ObjectId, ndim: usize) -> Result<Arc<[Described]>> {
        let kept = self.kept(id);
        if let Some(described) = kept.described.get() {
            return Ok(described.clone());
        }
        let described = described::described(self.file.as_ref(), id, ndim)?;
        let bytes = size_of_val(described.as_ref()) as u64;
        Ok(self.keep(id, &kept.described, described, bytes))
    }

    /// The shape of a variable whose own shape is `own`: at least the extents of its dimensions.
    fn shape(&self, id: ObjectId, own: &[u64]) -> Result<Vec<u64>> {
        let described = self.described(id, own.len())?;
        if described.iter().all(Described::is_unknown) {
            return Ok(own.to_vec());
        }
        let whole = self.whole()?;
        let extent =
            |(described, own): (&Described, &u64)| whole.scale(described).and_then(|scale| whole.extent(scale)).map_or(*own, |extent| extent.max(*own));
        Ok(described.iter().zip(own).map(extent).collect())
    }

    /// The scale of each dimension of a variable as its own attributes tell it, with the name in a group above the variable.
    /// `None` if only the whole file tells one of them.
    fn nearby(&self, described: &[Described], path: &str) -> Result<Option<Vec<Found>>> {
        let mut found = Vec::with_capacity(described.len());
        let mut groups = Vec::new();
        for described in described {
            let Some(id) = described.by_reference.or(described.own.filter(|_| described.by_number.is_none())) else { return Ok(None) };
            let Some(scale) = self.scale(id)? else { return Ok(None) };
            if groups.is_empty() {
                groups = self.groups_above(path)?;
            }
            let Some(name) = self.name_in(&groups, id)? else { return Ok(None) };
            found.push(Found { id, name, scale });
        }
        Ok(Some(found))
    }
    /// The groups on the way to an object, from the inside out.
    fn groups_above(&self, path: &str) -> Result<Vec<ObjectId>> {
        let mut groups = vec![self.file.root()];
        let (above, _) = path.rsplit_once('/').unwrap_or_default();
        for part in above.split('/').filter(|part| !part.is_empty()) {
            let group = groups.last().copied().unwrap_or(self.file.root());
            let Some(member) = self.link(group, part)?.and_then(|link| link.object()) else { break };
            groups.push(member);
        }
        groups.reverse();
        Ok(groups)
    }
    /// The name of a scale in the first of these groups that has it.
    fn name_in(&self, groups: &[ObjectId], scale: ObjectId) -> Result<Option<Arc<str>>> {
        let kept = self.kept(scale);
        if let Some(name) = kept.name.get() {
            return Ok(Some(name.clone()));
        }
        let keep = |name: &str| Some(self.keep(scale, &kept.name, Arc::from(name), name.len() as u64));
        // A coordinate variable says its name, and one link is found faster than all are listed.
        let attributes = described::attributes(self.file.as_ref(), scale, &["NAME"])?;
        if let Some(name) = super::attribute::text(&attributes, "NAME") {
            for group in groups {
                if unless_damaged(self.file.link(*group, &name))?.flatten().is_some_and(|link| link.object() == Some(scale)) {
                    return Ok(keep(&name));
                }
            }
        }
        for group in groups {
            let links = unless_damaged(self.file.links(*group))?.unwrap_or_default();
            if let Some(link) = links.iter().find(|link| link.object() == Some(scale)) {
                return Ok(keep(&link.name));
            }
        }
        Ok(None)
    }
    /// The scales of a variable's dimensions, as the whole file tells them.
    fn in_whole_file(&self, described: &[Described]) -> Result<Vec<Option<Found>>> {
        let whole = self.whole()?;
        let found = |described| {
            let id = whole.scale(described)?;
            let named = whole.named(id)?;
            Some(Found { id, name: Arc::from(named.name.as_str()), scale: named.scale })
        };
        Ok(described.iter().map(found).collect())
    }
    /// A dimension of this extent. Its scale has the coordinates if it is a variable that is as long.
    fn dimension(&self, found: Option<Found>, extent: u64) -> Result<DimensionScale> {
        let Some(Found { id, name, scale }) = found else { return Ok(DimensionScale::default()) };
        let fits = scale.has_coordinates(&name) && self.has_shape(id, &[extent])?;
        Ok(DimensionScale { name: Some(name.as_ref().to_owned()), scale: Some(id).filter(|_| fits) })
    }
    /// Whether an object is a dataset of this shape.
    pub fn has_shape(&self, id: ObjectId, shape: &[u64]) -> Result<bool> {
        let object = unless_damaged(self.object(id))?;
        Ok(matches!(object, Some(Object::Dataset(dataset)) if dataset.dataspace.shape() == shape))
    }
    /// The dimensions of a variable, as the whole file tells them; those without a scale have no name.
    pub fn dimensions_with_scales(&self, id: ObjectId) -> Result<Vec<DimensionScale>> {
        let Object::Dataset(dataset) = self.object(id)? else { return Err(Error::internal("dimensions of an object that is not a dataset")) };
        let shape = dataset.dataspace.shape();
        let found = self.in_whole_file(&self.described(id, shape.len())?)?;
        found.into_iter().zip(shape).map(|(found, extent)| self.dimension(found, *extent)).collect()
    }

    /// The dimensions that the scales of a group declare, in the order of their numbers.
    pub fn dimensions_of_scales(&self, group: ObjectId) -> Result<Vec<Dimension>> {
        let links = self.file.links(group)?;
        let mut declared = Vec::new();
        for link in links.iter().filter(|link| !link.name.starts_with(NON_COORDINATE)) {
            let Some(id) = link.object() else { continue };
            let Some(Scale { unlimited, extent, number, .. }) = self.scale(id)? else { continue };
            let longest = if unlimited { self.whole()?.extent(id).unwrap_or(0) } else { 0 };
            declared.push((number.unwrap_or(u64::MAX), Dimension { name: link.name.clone(), extent: extent.max(longest), unlimited }));
        }
        declared.sort_by_key(|(number, _)| *number);
        Ok(declared.into_iter().map(|(_, dimension)| dimension).collect())
    }
    /// What an object is. A variable is as long as its dimensions.
    pub fn object(&self, id: ObjectId) -> Result<Object> {
        let object = self.file.object(id)?;
        let Object::Dataset(stored) = &object else { return Ok(object) };
        if !can_grow(stored) {
            return Ok(object);
        }
        let kept = self.kept(id);
        if let Some(object) = kept.dataset.get() {
            return Ok(object.clone());
        }
        let shape = self.shape(id, stored.dataspace.shape())?;
        let shown = grown(stored, shape).map_or_else(|| object.clone(), |grown| Object::Dataset(Arc::new(grown)));
        Ok(self.keep(id, &kept.dataset, shown, DATASET_BYTES))
    }
    /// The attributes of an object without the library's own.
    pub fn attributes(&self, id: ObjectId) -> Result<Arc<Attributes>> {
        let kept = self.kept(id);
        if let Some(attributes) = kept.attributes.get() {
            return Ok(attributes.clone());
        }
        let shown = self.file.attributes_where(id, &|name| !BOOKKEEPING.contains(&name))?;
        let bytes = |attribute: &Attribute| attribute.value.as_ref().map_or(0, |value| value.bytes.len() as u64).saturating_add(ATTRIBUTE_BYTES);
        let cost = shown.iter().map(bytes).fold(0, u64::saturating_add);
        Ok(self.keep(id, &kept.attributes, Arc::new(shown), cost))
    }
    /// The links of a group that are shown.
    pub fn links(&self, group: ObjectId) -> Result<Arc<Links>> {
        let kept = self.kept(group);
        if let Some(links) = kept.links.get() {
            return Ok(links.clone());
        }
        let all = self.file.links(group)?;
        let shown = shown::links(all.as_slice(), |id| self.scale_for_listing(id))?;
        let links = shown.map_or(all.clone(), |shown| Arc::new(Links::new(shown, all.is_tracked())));
        let cost = links.iter().map(|link| (link.name.len() as u64).saturating_add(LINK_BYTES)).fold(0, u64::saturating_add);
        Ok(self.keep(group, &kept.links, links, cost))
    }
    /// One link of a group as it is shown.
    pub fn link(&self, group: ObjectId, name: &str) -> Result<Option<Link>> {
        shown::link(name, |name| self.file.link(group, name), |id| self.scale_for_listing(id))
    }
    /// The dimensions of a variable; `None` if one of them has no scale.
    pub fn dimensions(&self, id: ObjectId, path_of: &PathOf<'_>) -> Result<Option<Vec<DimensionScale>>> {
        let Object::Dataset(dataset) = self.object(id)? else { return Err(Error::internal("dimensions of an object that is not a dataset")) };
        let shape = dataset.dataspace.shape();
        let described = self.described(id, shape.len())?;
        let nearby = match self.whole.get() {
            None => self.nearby(&described, &path_of(id)?)?,
            Some(_) => None,
        };
        let found = match nearby {
            Some(found) => found.into_iter().map(Some).collect(),
            None => self.in_whole_file(&described)?,
        };
        if found.iter().any(Option::is_none) {
            return Ok(None);
        }
        found.into_iter().zip(shape).map(|(found, extent)| self.dimension(found, *extent)).collect::<Result<_>>().map(Some)
    }
    /// Whether a variable of a group may have a dimension without scale.
    pub fn may_lack_scales(&self, group: ObjectId) -> Result<bool> {
        for id in self.file.links(group)?.iter().filter_map(Link::object) {
            let Some(Object::Dataset(dataset)) = unless_damaged(self.file.object(id))? else { continue };
            for described in self.described(id, dataset.dataspace.ndim())?.iter() {
                let scale = described.by_reference.or(described.own.filter(|_| described.by_number.is_none()));
                if scale.map(|id| self.scale(id)).transpose()?.flatten().is_none() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
