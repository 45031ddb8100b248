//! What a file contains, without its values: groups and their links, datasets, attributes, dimensions.

use std::sync::{Arc, OnceLock};

use hyperslab_array::name::{compare, is_utf8};
use hyperslab_array::{Attribute, ChunkGrid, Dataspace, Datatype, Error, Result, StoredSelection};

/// Identifies an object within its file. All hard links to an object have the same ID. It is valid as long as the file is
/// open: in HDF5 it is the address of the object's header, in other formats an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u64);

/// What an object is. Its attributes and links are separate, because most uses of an object need only one of them.
#[derive(Debug, Clone)]
pub enum Object {
    /// A group.
    Group,
    /// A dataset (netCDF: variable).
    Dataset(Arc<Dataset>),
    /// A committed (named) datatype.
    Datatype(Arc<Datatype>),
}

impl Object {
    /// `a group`, `a dataset` or `a committed datatype`, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Group => "a group",
            Self::Dataset(_) => "a dataset",
            Self::Datatype(_) => "a committed datatype",
        }
    }
    /// The dataset, if it is one.
    pub fn dataset(&self) -> Option<&Arc<Dataset>> {
        match self {
            Self::Dataset(dataset) => Some(dataset),
            _ => None,
        }
    }
    /// Whether it is a group.
    pub fn is_group(&self) -> bool {
        matches!(self, Self::Group)
    }
}

/// The attributes of an object.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Attributes {
    /// In the order of their creation if the object tracks it (netCDF always does), else in name order.
    pub list: Vec<Attribute>,
    /// Whether the object tracks the order in which its attributes were created.
    pub tracked: bool,
    /// Positions in the order of the names, once one of many was looked for.
    by_name: OnceLock<Arc<[u32]>>,
}

/// Fewer attributes are looked at one by one.
const MIN_SORTED: usize = 32;

impl Attributes {
    /// These attributes.
    pub fn new(list: Vec<Attribute>, tracked: bool) -> Self {
        Self { list, tracked, by_name: OnceLock::new() }
    }
    /// The first attribute called `name`.
    pub fn get(&self, name: &str) -> Option<&Attribute> {
        if self.list.len() < MIN_SORTED {
            return self.list.iter().find(|attribute| attribute.name == name);
        }
        let name_at = |at: u32| self.list.get(at as usize).map_or("", |attribute| attribute.name.as_str());
        let order = self.by_name.get_or_init(|| {
            let mut order: Vec<u32> = (0..self.list.len()).filter_map(|at| u32::try_from(at).ok()).collect();
            // Stable: of equal names the first comes first.
            order.sort_by_key(|at| name_at(*at));
            order.into()
        });
        let found = order.get(order.partition_point(|at| name_at(*at) < name))?;
        self.list.get(*found as usize).filter(|attribute| attribute.name == name)
    }
    /// All of them, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Attribute> {
        self.list.iter()
    }
}

impl<'a> IntoIterator for &'a Attributes {
    type Item = &'a Attribute;
    type IntoIter = std::slice::Iter<'a, Attribute>;
    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

/// The links of a group, each name once.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Links {
    /// In the order of their creation if the group tracks it (netCDF always does), else in name order (byte-wise).
    list: Vec<Link>,
    /// Whether the group tracks the order in which its links were created.
    tracked: bool,
    /// Positions in the order of the names; empty if the list is in that order.
    by_name: Vec<u32>,
}

impl Links {
    /// Links in the order of their creation if `tracked`, else in any order.
    pub fn new(mut list: Vec<Link>, tracked: bool) -> Self {
        let mut by_name = Vec::new();
        fn name(link: Option<&Link>) -> &str {
            link.map_or("", |link| &link.name)
        }
        if !tracked {
            list.sort_by(|a, b| compare(&a.name, &b.name));
        } else if !list.is_sorted_by(|a, b| compare(&a.name, &b.name).is_le()) {
            by_name = (0..u32::try_from(list.len()).unwrap_or(u32::MAX)).collect();
            by_name.sort_by(|a, b| compare(name(list.get(*a as usize)), name(list.get(*b as usize))));
        }
        Self { list, tracked, by_name }
    }
    /// All of them, in order.
    pub fn as_slice(&self) -> &[Link] {
        &self.list
    }
    /// All of them, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Link> {
        self.list.iter()
    }
    /// The link at this position in the order of the names (byte-wise).
    pub fn nth_by_name(&self, position: usize) -> Option<&Link> {
        if self.by_name.is_empty() { self.list.get(position) } else { self.list.get(*self.by_name.get(position)? as usize) }
    }
    /// Whether the group tracks the order in which its links were created.
    pub fn is_tracked(&self) -> bool {
        self.tracked
    }
    /// The link called `name`, found by binary search.
    pub fn get(&self, name: &str) -> Option<&Link> {
        if self.by_name.is_empty() {
            let found = self.list.binary_search_by(|link| compare(&link.name, name)).ok()?;
            return self.list.get(found);
        }
        let at = |position: &u32| self.list.get(*position as usize);
        let found = self.by_name.binary_search_by(|position| compare(at(position).map_or("", |link| &link.name), name)).ok()?;
        self.by_name.get(found).and_then(at)
    }
}

impl<'a> IntoIterator for &'a Links {
    type Item = &'a Link;
    type IntoIter = std::slice::Iter<'a, Link>;
    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

/// A named edge of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Link {
    /// Name within the group.
    pub name: String,
    /// Where it leads.
    pub target: LinkTarget,
    /// Whether the file states that the name is UTF-8, and not ASCII.
    pub is_utf8: bool,
}

impl Link {
    /// A link called `name`, with the character set that the name needs.
    pub fn new(name: impl Into<String>, target: LinkTarget) -> Self {
        let name = name.into();
        Self { is_utf8: is_utf8(&name), name, target }
    }
    /// With a statement whether the name is UTF-8.
    #[must_use]
    pub fn with_utf8(self, is_utf8: bool) -> Self {
        Self { is_utf8, ..self }
    }
    /// The object that a hard link leads to.
    pub fn object(&self) -> Option<ObjectId> {
        match self.target {
            LinkTarget::Hard(id) => Some(id),
            _ => None,
        }
    }
}

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkTarget {
    /// An object of this file.
    Hard(ObjectId),
    /// A path in this file, absolute or relative to the group.
    Soft(String),
    /// A path in another file.
    External {
        /// The other file, relative to this one's folder unless absolute.
        file: String,
        /// Absolute path in it.
        path: String,
    },
    /// A user-defined link class, refused by number when followed.
    UserDefined(u8),
}

/// A netCDF dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dimension {
    /// Name.
    pub name: String,
    /// Current extent.
    pub extent: u64,
    /// Whether it can grow.
    pub unlimited: bool,
}

/// What a dimension of a dataset is called and where its coordinate values are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DimensionScale {
    /// netCDF dimension name, or the name (last path part) of the attached HDF5 dimension scale.
    pub name: Option<String>,
    /// 1-D dataset of as many elements, that holds the coordinate values.
    pub scale: Option<ObjectId>,
}

/// How a dataset's bytes are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// In the object header.
    Compact,
    /// One run of bytes (or one a record, in netCDF-3).
    Contiguous,
    /// HDF5 chunks.
    Chunked,
    /// One run of bytes, in other files.
    External,
    /// A virtual dataset.
    Virtual,
}

impl Storage {
    /// The word for it: `compact`, `contiguous`, `chunked`, `external` or `virtual`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compact => "compact",
            Self::Contiguous => "contiguous",
            Self::Chunked => "chunked",
            Self::External => "external",
            Self::Virtual => "virtual",
        }
    }
}

/// A part of a dataset's raw data in a file of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExternalFile {
    /// The file's name as it was written.
    pub file: String,
    /// Where the part begins.
    pub offset: u64,
    /// Its bytes; `None` is all that follows.
    pub length: Option<u64>,
}

/// A part of a virtual dataset and the dataset that it comes from. Elements of the two selections
/// belong together in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualMapping {
    /// The source file; `.` is this one, `%b` the number of a block.
    pub file: String,
    /// Path of the source dataset in it; `%b` is the number of a block.
    pub dataset: String,
    /// The selection in the source.
    pub source_selection: StoredSelection,
    /// Where it goes.
    pub selection: StoredSelection,
}

/// One filter of the pipeline, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterDescription {
    /// Registered number.
    pub id: u16,
    /// `deflate`, `shuffle`, `fletcher32`, `szip`, `nbit`, `scaleoffset`, `lzf`, `zstd`, `lz4`, `blosc`, … or `filter-NUMBER`.
    pub name: String,
    /// Client data (`[4]` for deflate level 4).
    pub parameters: Vec<u32>,
    /// Whether a writer may skip the filter for a chunk, and goes on if it has no such filter.
    pub optional: bool,
    /// The name that the file gives it, if it does.
    pub stored_name: Option<String>,
}

/// When the HDF5 library writes the fill value into storage that it allocates. It concerns programs that change the
/// file later, and what that library reads from storage that was never allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FillTime {
    /// When it allocates the storage.
    Alloc,
    /// Never: what was not written has no defined value.
    Never,
    /// When it allocates the storage, if the user gave a fill value.
    #[default]
    IfSet,
}

impl FillTime {
    /// The name in h5py.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alloc => "alloc",
            Self::Never => "never",
            Self::IfSet => "ifset",
        }
    }

    /// The time of this name in h5py.
    ///
    /// # Errors
    /// `InvalidInput` for another name; the error lists the names.
    pub fn of_name(name: &str) -> Result<Self> {
        [Self::Alloc, Self::Never, Self::IfSet]
            .into_iter()
            .find(|time| time.name() == name)
            .ok_or_else(|| Error::unknown_choice("fill_time", name, &["ifset", "alloc", "never"]))
    }
}

/// When the HDF5 library makes room for the values of a dataset. It concerns programs that change the file later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllocationTime {
    /// All of it when the dataset is created.
    Early,
    /// All of it when something is written.
    Late,
    /// For each chunk when it is written.
    Incremental,
}

impl AllocationTime {
    /// The time of this number in files; `None` for other numbers.
    pub(crate) fn of_number(number: u8) -> Option<Self> {
        [Self::Early, Self::Late, Self::Incremental].into_iter().find(|time| time.number() == number)
    }
    /// The number in files.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Early => 1,
            Self::Late => 2,
            Self::Incremental => 3,
        }
    }
    /// A word for it: `early`, `late` or `incremental`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Early => "early",
            Self::Late => "late",
            Self::Incremental => "incremental",
        }
    }
}

/// The storage that a program asked for, in a format that records it without using it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Requested {
    /// The chunk shape; `None` without chunks.
    pub chunk_shape: Option<Vec<u64>>,
    /// The filters, in order of application.
    pub filters: Vec<FilterDescription>,
    /// Whether the values were to be in the object's header.
    pub is_compact: bool,
}

impl Requested {
    /// These chunks and filters.
    pub fn new(chunk_shape: Option<Vec<u64>>, filters: Vec<FilterDescription>) -> Self {
        Self { chunk_shape, filters, is_compact: false }
    }
    /// With values in the object's header, or not.
    #[must_use]
    pub fn with_compact(self, is_compact: bool) -> Self {
        Self { is_compact, ..self }
    }
}

/// A dataset: everything about it but its values.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Dataset {
    /// Datatype of one element.
    pub datatype: Datatype,
    /// Extent.
    pub dataspace: Dataspace,
    /// Layout class.
    pub storage: Storage,
    /// HDF5 chunk shape for chunked storage, `None` otherwise (`h5py.Dataset.chunks`).
    pub chunk_shape: Option<Vec<u64>>,
    /// The boxes that `locate` deals in: the chunks, or blocks of a contiguous dataset. Same ndim
    /// as the dataspace.
    pub chunk_grid: ChunkGrid,
    /// Filter pipeline in order of application on write.
    pub filters: Vec<FilterDescription>,
    /// The chunks and filters that a program asked for, if the values are stored without them: in containers of Arrow files.
    pub requested: Option<Arc<Requested>>,
    /// The element for unwritten values; `None` is zeros.
    pub fill_value: Option<Vec<u8>>,
    /// Whether elements that were never written have no defined value: they are read as zeros.
    pub is_fill_undefined: bool,
    /// When programs that change the file later write the fill value.
    pub fill_time: FillTime,
    /// When they make room for values, if the file says so.
    pub allocation: Option<AllocationTime>,
    /// Bytes allocated in the file, if cheap to find (contiguous and compact); else `None`.
    pub stored_bytes: Option<u64>,
    /// netCDF-4: the extent that was written, if unlimited dimensions have grown beyond it. The rest is
    /// the fill value.
    pub written_shape: Option<Vec<u64>>,
    /// The files of external storage, one after the other; else empty.
    pub external_files: Arc<[ExternalFile]>,
    /// The parts of a virtual dataset, later ones over earlier ones; else empty.
    pub virtual_mappings: Arc<[VirtualMapping]>,
    /// Why the values cannot be read (an unsupported filter, layout or type), found while parsing.
    pub refusal: Option<Error>,
}

impl Dataset {
    /// A chunked dataset without filters or fill value.
    pub fn new(datatype: Datatype, dataspace: Dataspace, chunk_grid: ChunkGrid) -> Self {
        Self {
            datatype,
            storage: Storage::Chunked,
            chunk_shape: None,
            chunk_grid,
            filters: Vec::new(),
            fill_value: None,
            is_fill_undefined: false,
            fill_time: FillTime::default(),
            allocation: None,
            stored_bytes: None,
            dataspace,
            written_shape: None,
            requested: None,
            external_files: Arc::from([]),
            virtual_mappings: Arc::from([]),
            refusal: None,
        }
    }
    /// The chunk shape that a program asked for: the chunk shape of the storage, or the requested one.
    pub fn creation_chunk_shape(&self) -> Option<&[u64]> {
        self.requested.as_ref().map_or(self.chunk_shape.as_deref(), |requested| requested.chunk_shape.as_deref())
    }
    /// The filters that a program asked for: the filters of the storage, or the requested ones.
    pub fn creation_filters(&self) -> &[FilterDescription] {
        self.requested.as_ref().map_or(&self.filters, |requested| &requested.filters)
    }
    /// Whether a program asked for values in the object's header.
    pub fn is_created_compact(&self) -> bool {
        self.requested.as_ref().map_or(self.storage == Storage::Compact, |requested| requested.is_compact)
    }
    /// Bytes of all elements, without their heap objects; `None` beyond 64 bits.
    pub fn value_bytes(&self) -> Option<u64> {
        self.dataspace.shape().iter().try_fold(self.datatype.size(), |bytes, extent| bytes.checked_mul(*extent))
    }
    /// The same dataset with another extent (of the same ndim), as it has after growing.
    ///
    /// # Errors
    /// `Internal` for a dataset without dimensions, or another number of dimensions.
    pub fn with_shape(&self, shape: Vec<u64>) -> Result<Self> {
        let Dataspace::Simple { max_shape, .. } = &self.dataspace else {
            return Err(Error::internal("a dataset without dimensions has no other extent"));
        };
        let grid_shape = match &self.chunk_shape {
            Some(chunk_shape) => chunk_shape.clone(),
            None => block_shape(&shape, self.datatype.size(), BLOCK_BYTES),
        };
        let mut dataset = self.clone();
        dataset.chunk_grid = ChunkGrid::new(shape.clone(), grid_shape)?;
        dataset.dataspace = Dataspace::Simple { shape, max_shape: max_shape.clone() };
        Ok(dataset)
    }
}

/// Target size in bytes of a block of a dataset without chunks.
pub const BLOCK_BYTES: u64 = 1 << 20;

/// The shape of blocks that are contiguous in row-major order and of about `aim` bytes: single
/// indexes of leading dimensions, a run of one, all of the rest.
pub fn block_shape(shape: &[u64], element_bytes: u64, aim: u64) -> Vec<u64> {
    let mut block: Vec<u64> = shape.iter().map(|&extent| extent.max(1)).collect();
    let mut below = element_bytes.max(1);
    let mut cut = false;
    for extent in block.iter_mut().rev() {
        if cut {
            *extent = 1;
            continue;
        }
        let whole = below.saturating_mul(*extent);
        if whole > aim {
            *extent = (aim / below).clamp(1, *extent);
            cut = true;
        } else {
            below = whole;
        }
    }
    block
}
