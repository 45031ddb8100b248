//! Chooses the members of a group that are columns of its table, and says why the others are not.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use hyperslab_array::shown::shown;
use hyperslab_array::{Dataspace, Datatype, Error, ErrorKind, Result};
use hyperslab_columns::decoding::is_character;
use hyperslab_columns::{Conventions, Decoding, attribute_text};
use hyperslab_formats::{Attributes, Dataset, DimensionScale, Link, LinkTarget, Object, ObjectId};
use hyperslab_reader::{File, Found};

use crate::request::Layout;

/// A member of a group that is not a column of the group's table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Omitted {
    /// Its name in the group.
    pub name: String,
    /// Why it is not a column, as the predicate of a sentence about the name: `is a group`.
    pub reason: String,
    /// Whether it is damaged: it would be a column of a whole file.
    pub is_damaged: bool,
}

impl Omitted {
    /// `name`, which is not a column for this reason.
    pub fn new(name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { name: name.into(), reason: reason.into(), is_damaged: false }
    }
}

/// A dataset of a group.
#[derive(Clone)]
pub(crate) struct Member {
    pub name: String,
    pub id: ObjectId,
    pub attributes: Arc<Attributes>,
    pub dataset: Arc<Dataset>,
    /// All dimensions of the dataset.
    pub dimensions: Arc<[DimensionScale]>,
    /// Number of dimensions that make rows: all of them, except the text length of a character array.
    pub ndim: usize,
}

/// The datasets that form a group's table, and the layout.
pub(crate) struct Chosen {
    pub members: Vec<Member>,
    pub layout: Layout,
    pub omitted: Vec<Omitted>,
}

impl Member {
    /// A dataset of a file. If values are decoded, attributes that cannot be read are an error: they may say how.
    pub fn new(file: &File, id: ObjectId, name: &str, decode: bool) -> Result<Self> {
        let dataset = file.dataset(id)?;
        let attributes = match file.attributes(id) {
            Err(error) if decode => return Err(error),
            attributes => attributes.unwrap_or_default(),
        };
        let dimensions = file.dimensions(id)?;
        let ndim = row_ndim(file, id, &dataset, &dimensions, decode)?;
        if dimensions.len() != dataset.dataspace.ndim() || ndim > dimensions.len() {
            return Err(file.place(id, Error::internal("a dataset without a description of each dimension")));
        }
        Ok(Self { name: name.to_owned(), id, attributes, dataset, dimensions, ndim })
    }

    pub fn shape(&self) -> &[u64] {
        self.dataset.dataspace.shape().get(..self.ndim).unwrap_or_default()
    }

    /// The dimensions that make rows.
    pub fn dimensions(&self) -> &[DimensionScale] {
        self.dimensions.get(..self.ndim).unwrap_or(&self.dimensions)
    }

    /// Shape and dimensions, which are equal for all columns of a table.
    fn key(&self) -> (&[u64], &[DimensionScale]) {
        (self.shape(), self.dimensions())
    }

    /// `(time=12, bnds=2)`, or `(12, 2)` for dimensions without names. Long names are cut: each of many members may have the
    /// same one.
    fn described(&self) -> String {
        let named = |(axis, extent): (usize, &u64)| match self.dimensions.get(axis).and_then(|d| d.name.as_ref()) {
            Some(name) => format!("{}={extent}", shown(name)),
            None => extent.to_string(),
        };
        format!("({})", self.shape().iter().enumerate().map(named).collect::<Vec<_>>().join(", "))
    }

    fn is_compound(&self) -> bool {
        matches!(self.dataset.datatype, Datatype::Compound { .. })
    }
}

/// Chooses the columns of a group's table. `InvalidInput` if the group has none, or none for the layout.
pub(crate) fn choose(found: &Found, decode: bool, layout: Option<Layout>) -> Result<Chosen> {
    let file = &found.file;
    let mut omitted = Vec::new();
    let mut members = Vec::new();
    let mut refused: Vec<Error> = Vec::new();
    for link in &*file.links(found.object)? {
        match member(file, link, decode) {
            Ok(Some(member)) => members.push(member),
            Ok(None) => {}
            Err(Unusable::Dataset(error)) => {
                let reason = format!("cannot be a column: {}", error.message());
                omitted.push(Omitted { is_damaged: error.kind() == ErrorKind::Corrupt, ..Omitted::new(link.name.clone(), reason) });
                refused.push(error);
            }
            Err(Unusable::Other(reason)) => omitted.push(Omitted::new(link.name.clone(), reason)),
        }
    }
    if members.is_empty() {
        return Err(no_columns(refused, &omitted));
    }
    let mut rest = Rest { members, omitted };
    // Scalars (grid mappings, flags) have no rows.
    if rest.members.iter().any(|member| member.ndim > 0) {
        rest.leave_out(|member| (member.ndim == 0).then(|| "is a scalar".to_owned()));
    }
    let bounds = bounds(&rest.members);
    if rest.members.iter().any(|member| !bounds.contains_key(&member.name)) {
        rest.leave_out(|member| bounds.get(&member.name).map(|of| format!("has the bounds of {}", shown(of))));
    }
    let scales: BTreeSet<ObjectId> = rest.members.iter().flat_map(|m| m.dimensions().iter().filter_map(|d| d.scale)).collect();
    let is_scale = |member: &Member| member.ndim == 1 && scales.contains(&member.id);
    match layout {
        None => rest.default_layout(is_scale),
        Some(Layout::Columns) => {
            rest.leave_out(|member| (member.ndim != 1).then(|| format!("has dimensions {}", member.described())));
            let Some(best) = best(rest.members.iter()) else {
                return Err(Error::invalid_input("the columns layout needs 1-D datasets of equal length; this group has none"));
            };
            rest.keep_alike(&best);
            Ok(rest.chosen(Layout::Columns))
        }
        Some(Layout::Records) => rest.records(),
        Some(layout) => Ok(rest.of_largest(is_scale, layout)),
    }
}

/// Datasets that may still be columns, and the members omitted so far.
struct Rest {
    members: Vec<Member>,
    omitted: Vec<Omitted>,
}

impl Rest {
    fn default_layout(mut self, is_scale: impl Fn(&Member) -> bool) -> Result<Chosen> {
        let one_dimensional = self.members.iter().filter(|member| member.ndim == 1).count();
        let compounds: Vec<&Member> = self.members.iter().filter(|member| member.is_compound()).collect();
        let is_table = |member: &Member| self.members.len() == 1 || member.ndim == 1 && one_dimensional == 1;
        if matches!(compounds.as_slice(), [only] if is_table(only)) {
            return self.records();
        }
        let equal = |members: &[Member]| members.iter().all(|member| member.ndim == 1 && members.first().is_some_and(|first| first.key() == member.key()));
        if equal(&self.members) {
            return Ok(self.chosen(Layout::Columns));
        }
        // Dimensions without names have no coordinates, and `_row` is the index already.
        let named = self.members.iter().any(|member| member.dimensions().iter().any(|dimension| dimension.name.is_some()));
        let data: Vec<Member> = self.members.iter().filter(|member| !is_scale(member)).cloned().collect();
        match best(data.iter()) {
            Some(best) if best.ndim == 1 && !named => {
                self.keep_alike(&best);
                Ok(self.chosen(Layout::Columns))
            }
            _ => Ok(self.of_largest(is_scale, Layout::Cells)),
        }
    }

    /// The table of the only compound dataset.
    fn records(mut self) -> Result<Chosen> {
        let mut compounds = self.members.iter().filter(|member| member.is_compound());
        let (Some(table), None) = (compounds.next().cloned(), compounds.next()) else {
            return Err(Error::invalid_input("the records layout needs one compound dataset; name it"));
        };
        self.leave_out(|member| (member.id != table.id).then(|| format!("is not part of the compound dataset {}", table.name)));
        Ok(self.chosen(Layout::Records))
    }

    /// The variables with the largest common dimensions. Coordinate variables become the columns of the dimensions.
    fn of_largest(mut self, is_scale: impl Fn(&Member) -> bool, layout: Layout) -> Chosen {
        let has_data = self.members.iter().any(|member| !is_scale(member));
        let Some(best) = best(self.members.iter().filter(|member| !has_data || !is_scale(member))) else { return self.chosen(layout) };
        let rows = if layout == Layout::Rows { 1 } else { best.ndim };
        let shown: BTreeSet<ObjectId> = best.dimensions().iter().take(rows).filter_map(|dimension| dimension.scale).collect();
        self.members.retain(|member| !(has_data && is_scale(member) && shown.contains(&member.id)));
        if has_data {
            self.leave_out(|member| is_scale(member).then(|| format!("has the coordinates of dimension {}", member.described())));
        }
        self.keep_alike(&best);
        self.chosen(layout)
    }

    fn keep_alike(&mut self, best: &Member) {
        let wanted = best.described();
        self.leave_out(|member| (member.key() != best.key()).then(|| format!("has dimensions {}, not {wanted}", member.described())));
    }

    /// Omits the members for which `reason` returns one.
    fn leave_out(&mut self, reason: impl Fn(&Member) -> Option<String>) {
        let omitted = &mut self.omitted;
        self.members.retain(|member| match reason(member) {
            Some(reason) => {
                omitted.push(Omitted::new(member.name.to_owned(), reason));
                false
            }
            None => true,
        });
    }

    fn chosen(self, layout: Layout) -> Chosen {
        Chosen { members: self.members, layout, omitted: self.omitted }
    }
}

/// Why a member cannot be a column of any table.
enum Unusable {
    /// A dataset without values, or with values that cannot be read.
    Dataset(Error),
    /// Not a dataset.
    Other(String),
}

/// The dataset that a link leads to; `None` for a group that is an internal structure of PyTables.
fn member(file: &File, link: &Link, decode: bool) -> Result<Option<Member>, Unusable> {
    let id = match &link.target {
        LinkTarget::Hard(id) => *id,
        LinkTarget::Soft(path) => return Err(Unusable::Other(format!("is a soft link to {}", shown(path)))),
        LinkTarget::External { file, path } => return Err(Unusable::Other(format!("is a link to {} in {}", shown(path), shown(file)))),
        LinkTarget::UserDefined(class) => return Err(Unusable::Other(format!("is a user-defined link of class {class}"))),
    };
    match file.object(id).map_err(Unusable::Dataset)? {
        // The index of a PyTables table, which PyTables hides as well.
        Object::Group if is_index_of_pytables(file, id) => return Ok(None),
        Object::Group => return Err(Unusable::Other("is a group".to_owned())),
        Object::Datatype(_) => return Err(Unusable::Other("is a committed datatype".to_owned())),
        Object::Dataset(_) => {}
    }
    let dataset = file.dataset(id).map_err(Unusable::Dataset)?;
    check(&dataset).map_err(Unusable::Dataset)?;
    Member::new(file, id, &link.name, decode).map(Some).map_err(Unusable::Dataset)
}

/// Number of dimensions of a dataset that make rows. The last dimension of a netCDF character array is the length of its
/// texts (CF 2.2), unless variables of other types share it.
fn row_ndim(file: &File, id: ObjectId, dataset: &Dataset, dimensions: &[DimensionScale], decode: bool) -> Result<usize> {
    let ndim = dataset.dataspace.ndim();
    Ok(if decode && texts_of(file, id, dataset, dimensions)?.is_some() { ndim - 1 } else { ndim })
}

/// The decoding of characters along a dimension that is the length of their texts.
fn texts_of(file: &File, id: ObjectId, dataset: &Dataset, dimensions: &[DimensionScale]) -> Result<Option<Decoding>> {
    let conventions = if file.format().is_netcdf() { Conventions::Netcdf } else { Conventions::Attributes };
    Decoding::of_characters(&dataset.datatype, dataset.dataspace.shape(), conventions, || is_length(file, id, dimensions))
}

/// The datatype of texts along the last dimension of characters, if that is known to be their length; `None` for other values.
pub(super) fn text_datatype(dataset: &Dataset) -> Result<Option<Datatype>> {
    let decoding = Decoding::of_characters(&dataset.datatype, dataset.dataspace.shape(), Conventions::Netcdf, || Ok::<_, Error>(true))?;
    Ok(decoding.and_then(|decoding| decoding.text()))
}

/// Whether the last dimension has a name, but no coordinate, and only variables of characters.
fn is_length(file: &File, id: ObjectId, dimensions: &[DimensionScale]) -> Result<bool> {
    let Some(dimension) = dimensions.last().filter(|dimension| dimension.scale.is_none() && dimension.name.is_some()) else { return Ok(false) };
    let path = file.path_of(id)?;
    let parent = path.rsplit_once('/').map(|(parent, _)| parent).filter(|parent| !parent.is_empty()).unwrap_or("/");
    let group = file.find(parent)?;
    for sibling in group.file.links(group.object)?.iter().filter_map(Link::object) {
        let Ok(Object::Dataset(other)) = group.file.object(sibling) else { continue };
        if !is_character(&other.datatype) && group.file.dimensions(sibling)?.iter().any(|theirs| theirs.name == dimension.name) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What the stored values of a dataset mean, by its attributes, those of the coordinate whose cells it bounds, and its dimensions; `None` if
/// they mean themselves.
///
/// # Errors
///
/// Those of reading the dataset, its attributes, and the group that it is in.
pub fn decoding_of(file: &File, id: ObjectId) -> Result<Option<Decoding>> {
    let dataset = file.dataset(id)?;
    if is_character(&dataset.datatype) {
        return texts_of(file, id, &dataset, &file.dimensions(id)?);
    }
    if hyperslab_columns::arrow_type(&dataset.datatype).is_err() {
        return Ok(None);
    }
    let attributes = super::boundary::attributes(file, id, &dataset, &file.attributes(id)?)?;
    Decoding::new(&dataset.datatype, &attributes.list, Conventions::Attributes)
}

/// Fails if a dataset has no values, or values that cannot be a column.
fn check(dataset: &Dataset) -> Result<()> {
    if let Some(refusal) = &dataset.refusal {
        return Err(refusal.clone());
    }
    if dataset.dataspace == Dataspace::Null {
        return Err(no_values());
    }
    hyperslab_columns::arrow_type(&dataset.datatype).map(|_| ())
}

pub(crate) fn no_values() -> Error {
    Error::invalid_input("its dataspace is null: there are no values to make rows of")
}

fn is_index_of_pytables(file: &File, group: ObjectId) -> bool {
    let class = file.attributes(group).ok().and_then(|attributes| attributes.get("CLASS").and_then(attribute_text));
    class.is_some_and(|class| class == "TINDEX")
}

/// Boundary variables (CF 7.1, 7.4), each with the variable whose bounds it holds.
fn bounds(members: &[Member]) -> BTreeMap<String, String> {
    let mut bounds = BTreeMap::new();
    for member in members {
        for attribute in &*member.attributes {
            if ["bounds", "climatology"].contains(&attribute.name.as_str())
                && let Some(name) = attribute_text(attribute).filter(|name| *name != member.name)
            {
                bounds.insert(name, member.name.to_owned());
            }
        }
    }
    bounds
}

/// The first of the datasets whose dimensions form the group's table. If all dimensions have names, these are the dimensions
/// with most elements; ties are broken by the number of dimensions, then of datasets. Otherwise the number of datasets comes
/// first: twenty columns and a matrix are a table of twenty columns.
fn best<'a>(members: impl Iterator<Item = &'a Member>) -> Option<Member> {
    let members: Vec<&Member> = members.collect();
    let named = members.iter().all(|member| member.dimensions().iter().all(|d| d.name.is_some()));
    let mut counts: Vec<(&Member, u64)> = Vec::new();
    let mut places: HashMap<(&[u64], Vec<_>), usize> = HashMap::new();
    for member in members {
        let names = member.dimensions().iter().map(|dimension| (dimension.name.as_deref(), dimension.scale)).collect();
        let place = *places.entry((member.shape(), names)).or_insert(counts.len());
        match counts.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => counts.push((member, 1)),
        }
    }
    let rank = |(member, count): &(&Member, u64)| {
        // Count an unlimited dimension without records as one with a single record.
        let elements = member.shape().iter().fold(1u64, |n, &extent| n.saturating_mul(extent.max(1)));
        let ndim = member.ndim as u64;
        if named { (elements, ndim, *count) } else { (*count, elements, ndim) }
    };
    let mut first: Option<&(&Member, u64)> = None;
    for candidate in &counts {
        if first.is_none_or(|first| rank(candidate) > rank(first)) {
            first = Some(candidate);
        }
    }
    first.map(|(member, _)| (*member).clone())
}

/// The error for a group without columns: the error of its only dataset, or a list of its members.
fn no_columns(mut refused: Vec<Error>, omitted: &[Omitted]) -> Error {
    if refused.len() == 1
        && let Some(error) = refused.pop()
    {
        return error;
    }
    let what: Vec<String> = omitted.iter().take(5).map(|omitted| format!("{} {}", omitted.name, omitted.reason)).collect();
    let more = omitted.len().saturating_sub(what.len());
    Error::invalid_input(match what.as_slice() {
        [] => "this group is empty: there is nothing to make a table of".to_owned(),
        what if more == 0 => format!("this group has no datasets to make a table of: {}", what.join(", ")),
        what => format!("this group has no datasets to make a table of: {}, and {more} more", what.join(", ")),
    })
}
