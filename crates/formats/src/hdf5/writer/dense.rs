//! Dense storage: the links of a large group, and the attributes of an object with one too large for its header. They
//! lie in a fractal heap, found by their names' hashes or by the order of their creation (specification III.A.2, III.G,
//! IV.A.2.c, IV.A.2.v).

use hyperslab_array::name::{bytes_of, compare};
use hyperslab_array::{Error, Result};

use super::Space;
use crate::hdf5::Encoder;
use crate::hdf5::btree;
use crate::hdf5::checksum::lookup3;
use crate::hdf5::heap::{HeapIds, MAX_MANAGED_BYTES, encode_huge, encode_managed};

/// Bytes of a heap ID in records of links and of attributes.
const LINK_ID_BYTES: u16 = 7;
const ATTRIBUTE_ID_BYTES: u16 = 8;
/// Record types of the B-trees.
const LINK_NAMES: u8 = 5;
const LINK_ORDER: u8 = 6;
const ATTRIBUTE_NAMES: u8 = 8;
const ATTRIBUTE_ORDER: u8 = 9;

/// Where an object's links or attributes are.
pub(crate) struct DenseStorage {
    pub heap: u64,
    pub name_tree: u64,
    /// The B-tree by creation order, if the object indexes that order.
    pub order_tree: Option<u64>,
}

impl DenseStorage {
    /// Puts links, by name as encoded messages, into `space`: in one block of the heap unless one of them is too large.
    pub fn of_links(space: &mut Space, links: &[(String, Vec<u8>)], is_indexed: bool) -> Result<Self> {
        let messages = links.iter().map(|(_, message)| message.as_slice());
        let is_managed = messages.clone().all(|message| message.len() as u64 <= u64::from(MAX_MANAGED_BYTES));
        let HeapIds { heap, ids } = if is_managed { encode_managed(space, LINK_ID_BYTES, messages)? } else { encode_huge(space, LINK_ID_BYTES, messages)? };
        let by_name = by_name(links).into_iter().filter_map(|(hash, _, place)| {
            let mut record = Encoder::default();
            record.u32(hash);
            record.bytes(ids.get(place)?);
            Some(record.finish())
        });
        let name_tree = btree::encode(space, LINK_NAMES, &by_name.collect::<Vec<_>>())?;
        let by_order = (0u64..).zip(&ids).map(|(order, id)| {
            let mut record = Encoder::default();
            record.u64(order);
            record.bytes(id);
            record.finish()
        });
        let order_tree = if is_indexed { Some(btree::encode(space, LINK_ORDER, &by_order.collect::<Vec<_>>())?) } else { None };
        Ok(Self { heap, name_tree, order_tree })
    }

    /// Puts attributes, by name as encoded messages, into `space`. Each is a "huge" object of the heap, whatever its size:
    /// it lies in the file as it is, and the heap has no blocks to manage.
    pub fn of_attributes(space: &mut Space, attributes: &[(String, Vec<u8>)], is_indexed: bool) -> Result<Self> {
        let HeapIds { heap, ids } = encode_huge(space, ATTRIBUTE_ID_BYTES, attributes.iter().map(|(_, message)| message.as_slice()))?;
        let record = |place: usize, hash: Option<u32>| {
            let order = u32::try_from(place).map_err(|_| Error::unsupported("2³² attributes of one object"))?;
            let mut record = Encoder::default();
            record.bytes(ids.get(place).map_or(&[], Vec::as_slice));
            record.u8(0);
            record.u32(order);
            hash.iter().for_each(|hash| record.u32(*hash));
            Ok::<_, Error>(record.finish())
        };
        let names = by_name(attributes).into_iter().map(|(hash, _, place)| record(place, Some(hash))).collect::<Result<Vec<_>>>()?;
        let name_tree = btree::encode(space, ATTRIBUTE_NAMES, &names)?;
        let orders = (0..ids.len()).map(|place| record(place, None)).collect::<Result<Vec<_>>>()?;
        let order_tree = if is_indexed { Some(btree::encode(space, ATTRIBUTE_ORDER, &orders)?) } else { None };
        Ok(Self { heap, name_tree, order_tree })
    }
}

/// Hash, name and place of each, in the order of the trees of names.
fn by_name(named: &[(String, Vec<u8>)]) -> Vec<(u32, &str, usize)> {
    let mut hashed: Vec<(u32, &str, usize)> = named.iter().enumerate().map(|(place, (name, _))| (lookup3(&bytes_of(name)), name.as_str(), place)).collect();
    hashed.sort_unstable_by(|(a, x, _), (b, y, _)| a.cmp(b).then_with(|| compare(x, y)));
    hashed
}
