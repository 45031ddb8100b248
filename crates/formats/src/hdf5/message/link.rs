//! Link message (IV.A.2.g).

use hyperslab_array::Result;

use crate::hdf5::Cursor;

/// A link before addresses become objects.
#[derive(Debug, Clone)]
pub(crate) enum RawTarget {
    Hard(u64),
    Soft(String),
    External { file: String, path: String },
    UserDefined(u8),
}

pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<(String, RawTarget)> {
    let version = cursor.u8()?;
    if version != 1 {
        return Err(cursor.corrupt(format!("version {version} of the link message")));
    }
    let flags = cursor.u8()?;
    let class = if flags & 8 != 0 { cursor.u8()? } else { 0 };
    if flags & 4 != 0 {
        cursor.skip(8)?;
    }
    if flags & 16 != 0 {
        cursor.skip(1)?;
    }
    let length = cursor.uint(1 << (flags & 3))?;
    let name = text(cursor.take_u64(length)?);
    let target = match class {
        0 => RawTarget::Hard(cursor.defined_address("a hard link")?),
        1 => {
            let length = usize::from(cursor.u16()?);
            RawTarget::Soft(text(cursor.take(length)?))
        }
        64 => {
            let length = usize::from(cursor.u16()?);
            let body = cursor.take(length)?;
            let mut parts = body.get(1..).unwrap_or_default().split(|&b| b == 0);
            let (Some(file), Some(path)) = (parts.next(), parts.next()) else {
                return Err(cursor.corrupt("an external link without file or path"));
            };
            RawTarget::External { file: text(file), path: text(path) }
        }
        other => RawTarget::UserDefined(other),
    };
    Ok((name, target))
}

/// Up to a NUL, where names end for the library.
fn text(bytes: &[u8]) -> String {
    let bytes = bytes.split(|&b| b == 0).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}
