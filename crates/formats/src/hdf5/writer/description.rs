//! What a file to be written contains; values of datasets are in the file already.

use std::collections::BTreeSet;

use hyperslab_array::{Dataspace, Datatype, Elements};

use super::library_version::LibraryVersion;
use super::target_part::TargetPart;
use crate::filter::Pipeline;
use crate::hdf5::message::fill_value::FillMessage;
use crate::{AllocationTime, CreationOrder, FillTime, ObjectTimes, VirtualMapping};

/// All objects of a file; the root group is number 0.
#[derive(Debug, Clone, Default)]
pub struct NewFile {
    /// The objects.
    pub objects: Vec<NewObject>,
    /// What references to other than whole objects of the file point at.
    pub targets: Vec<NewTarget>,
    /// The newest version of the HDF5 library whose structures the file may have.
    pub newest: LibraryVersion,
}

/// What a reference points at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NewTarget {
    /// The object.
    pub object: TargetObject,
    /// The part of it.
    pub part: TargetPart,
}

/// The object that a reference points at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TargetObject {
    /// None: such a target has no references.
    Nothing,
    /// The object with this number in the file that is written.
    Number(usize),
    /// The object whose header is at this address, relative to the base address of its file.
    Address {
        /// The file; `None` is the one that is written.
        file: Option<String>,
        /// The address.
        address: u64,
    },
}

/// A group or dataset.
#[derive(Debug, Clone)]
pub struct NewObject {
    /// Its attributes, each name once.
    pub attributes: Vec<NewAttribute>,
    /// What else the file says of it.
    pub properties: NewProperties,
    /// What it is.
    pub content: NewContent,
}

/// What a file says of an object beyond its content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewProperties {
    /// Whether the file records that the links of a group were created in this order.
    pub link_order: CreationOrder,
    /// The same of attributes.
    pub attribute_order: CreationOrder,
    /// Bytes of the comment.
    pub comment: Option<Vec<u8>>,
    /// When the object was used and changed.
    pub times: Option<ObjectTimes>,
    /// Names of links of a group whose character set is not the one that [`is_utf8`](hyperslab_array::name::is_utf8) gives.
    pub other_names: BTreeSet<String>,
}

impl NewProperties {
    /// With or without the order of creation of links and attributes.
    pub fn tracked(tracked: bool) -> Self {
        let order = CreationOrder::of(tracked);
        Self { link_order: order, attribute_order: order, ..Self::default() }
    }
}

/// The kind of an object.
#[derive(Debug, Clone)]
pub enum NewContent {
    /// A group with its links, each name once.
    Group(Vec<(String, NewLink)>),
    /// A dataset.
    Dataset(Box<NewDataset>),
    /// A committed (named) datatype.
    Datatype(Datatype),
}

/// Where a link leads.
#[derive(Debug, Clone)]
pub enum NewLink {
    /// To the object with this number.
    Hard(usize),
    /// To a path in this file.
    Soft(String),
    /// To a path in another file.
    External {
        /// The other file.
        file: String,
        /// Absolute path in it.
        path: String,
    },
}

/// A named value.
#[derive(Debug, Clone)]
pub struct NewAttribute {
    /// Name.
    pub name: String,
    /// Number of the committed datatype that it shares.
    pub committed: Option<usize>,
    /// Extent.
    pub dataspace: Dataspace,
    /// The value. A reference to a whole object is the object's number in the file and one, little endian; another one is
    /// how many objects there are, the target's number and one; 0 points at nothing.
    pub value: Elements,
}

/// A dataset whose values are in the file.
#[derive(Debug, Clone)]
pub struct NewDataset {
    /// Datatype of an element.
    pub datatype: Datatype,
    /// Number of the committed datatype that this is.
    pub committed: Option<usize>,
    /// Extent.
    pub dataspace: Dataspace,
    /// One element's bytes for elements that were never written; `None` is zeros. References are numbers as in [`NewAttribute`], except in
    /// sequences of variable length, which are in the file.
    pub fill_value: Option<Vec<u8>>,
    /// Whether there is no defined value for them.
    pub is_fill_undefined: bool,
    /// When programs that change the file later write it.
    pub fill_time: FillTime,
    /// When they make room for values; `None` is what the library does for such storage.
    pub allocation: Option<AllocationTime>,
    /// The filters that the chunks went through.
    pub filters: Pipeline,
    /// Where the values are.
    pub storage: NewStorage,
}

impl NewDataset {
    /// The fill value message with this value.
    pub(crate) fn fill_message(&self, value: Option<Vec<u8>>, time: FillTime) -> FillMessage {
        FillMessage { value, is_undefined: self.is_fill_undefined, time, allocation: self.allocation }
    }
}

/// Where a dataset's values are.
#[derive(Debug, Clone)]
pub enum NewStorage {
    /// One run of bytes at this address; `None` is never written.
    Contiguous(Option<u64>),
    /// In the object's header: the bytes.
    Compact(Vec<u8>),
    /// In chunks, in any order; one that is missing was never written.
    Chunked {
        /// Extent of a chunk.
        chunk_shape: Vec<u64>,
        /// The chunks.
        chunks: Vec<StoredChunk>,
    },
    /// In other datasets.
    Virtual(Vec<VirtualMapping>),
}

/// A chunk in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredChunk {
    /// Which chunk along each dimension.
    pub position: Vec<u64>,
    /// Where its bytes are.
    pub address: u64,
    /// How many there are.
    pub length: u64,
    /// A bit for each filter that was skipped.
    pub filter_mask: u32,
}
