//! Link message (IV.A.2.g).

use hyperslab_array::name::bytes_of;
use hyperslab_array::{Error, Result};

use crate::hdf5::encoder::width_of;
use crate::hdf5::{Cursor, Encoder, Widths};
use crate::{Link, LinkTarget, ObjectId};

/// A link before addresses become objects.
#[derive(Debug, Clone)]
pub(crate) enum RawTarget {
    Hard(u64),
    Soft(String),
    External { file: String, path: String },
    UserDefined(u8),
}

/// Bytes that a link takes besides its texts, as it is stored and as it is shown.
pub(crate) const LINK_COST: usize = 100;

/// A named link as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct RawLink {
    pub name: String,
    pub target: RawTarget,
    /// Whether the file states that the name is UTF-8.
    pub is_utf8: bool,
    /// When it was created, in groups that track that.
    pub creation_order: Option<i64>,
}

impl From<RawLink> for Link {
    /// The ID of an object is the address of its header.
    fn from(link: RawLink) -> Self {
        Self { name: link.name, target: link.target.into(), is_utf8: link.is_utf8 }
    }
}

impl From<RawTarget> for LinkTarget {
    fn from(target: RawTarget) -> Self {
        match target {
            RawTarget::Hard(address) => Self::Hard(ObjectId(address)),
            RawTarget::Soft(path) => Self::Soft(path),
            RawTarget::External { file, path } => Self::External { file, path },
            RawTarget::UserDefined(class) => Self::UserDefined(class),
        }
    }
}

pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<RawLink> {
    cursor.keep(LINK_COST)?;
    let version = cursor.u8()?;
    if version != 1 {
        return Err(cursor.corrupt(format!("version {version} of the link message")));
    }
    let flags = cursor.u8()?;
    let class = if flags & 8 != 0 { cursor.u8()? } else { 0 };
    let creation_order = if flags & CREATION_ORDER_STORED != 0 { Some(cursor.uint(8)?.cast_signed()) } else { None };
    let is_utf8 = flags & CHARACTER_SET_STORED != 0 && cursor.u8()? == UTF8;
    let length = cursor.uint(1 << (flags & 3))?;
    let name = cursor.take_u64(length)?;
    let name = cursor.text(name)?;
    let target = match class {
        0 => RawTarget::Hard(cursor.defined_address("a hard link")?),
        1 => {
            let length = usize::from(cursor.u16()?);
            let path = cursor.take(length)?;
            RawTarget::Soft(cursor.text(path)?)
        }
        64 => {
            let length = usize::from(cursor.u16()?);
            let body = cursor.take(length)?;
            let mut parts = body.get(1..).unwrap_or_default().split(|&b| b == 0);
            let (Some(file), Some(path)) = (parts.next(), parts.next()) else {
                return Err(cursor.corrupt("an external link without file or path"));
            };
            RawTarget::External { file: cursor.text(file)?, path: cursor.text(path)? }
        }
        other => RawTarget::UserDefined(other),
    };
    Ok(RawLink { name, target, is_utf8, creation_order })
}

/// Flag: the link's creation order is stored.
const CREATION_ORDER_STORED: u8 = 1 << 2;
/// Flag: the character set of the name is stored.
const CHARACTER_SET_STORED: u8 = 1 << 4;
/// The character set UTF-8.
const UTF8: u8 = 1;

/// Version 1 of the message.
pub(crate) fn encode(link: &RawLink) -> Result<Vec<u8>> {
    encode_in(link, Widths::WIDE)
}

/// The same for a file with these widths.
pub(crate) fn encode_in(link: &RawLink, widths: Widths) -> Result<Vec<u8>> {
    const CLASS_STORED: u8 = 1 << 3;
    let RawLink { name, target, is_utf8, creation_order } = link;
    check_name(name)?;
    let class = match target {
        RawTarget::Hard(_) => None,
        RawTarget::Soft(_) => Some(1),
        RawTarget::External { .. } => Some(64),
        RawTarget::UserDefined(class) => return Err(Error::unsupported(format!("a link of class {class}"))),
    };
    let bytes = bytes_of(name);
    let length = bytes.len() as u64;
    let (bits, width) = match width_of(length) {
        1 => (0, 1),
        2 => (1, 2),
        _ => return Err(Error::unsupported("a name of 64 KiB or more")),
    };
    let mut encoder = Encoder::of(widths);
    let stored = if class.is_some() { CLASS_STORED } else { 0 }
        | if *is_utf8 { CHARACTER_SET_STORED } else { 0 }
        | if creation_order.is_some() { CREATION_ORDER_STORED } else { 0 };
    encoder.bytes(&[1, bits | stored]);
    class.iter().for_each(|class| encoder.u8(*class));
    creation_order.iter().for_each(|order| encoder.u64(order.cast_unsigned()));
    if *is_utf8 {
        encoder.u8(UTF8);
    }
    encoder.uint(length, width);
    encoder.bytes(&bytes);
    let text = |encoder: &mut Encoder, bytes: &[u8]| {
        let length = u16::try_from(bytes.len()).map_err(|_| Error::unsupported("a link's target of 64 KiB or more"))?;
        encoder.u16(length);
        encoder.bytes(bytes);
        Ok::<_, Error>(())
    };
    match target {
        RawTarget::Hard(address) => encoder.address(Some(*address)),
        RawTarget::Soft(path) => text(&mut encoder, &bytes_of(path))?,
        RawTarget::External { file, path } => text(&mut encoder, &bytes_of(&format!("\0{file}\0{path}\0")))?,
        RawTarget::UserDefined(_) => {}
    }
    Ok(encoder.finish())
}

/// Whether HDF5 can call a link so: some characters, no `/`, no NUL, not `.`.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if name.is_empty() || name == "." || name.contains(['/', '\0']) {
        return Err(Error::invalid_input(format!("{name:?} is not a name for an HDF5 object")));
    }
    Ok(())
}
