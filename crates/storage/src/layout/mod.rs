//! Layout: on which storage targets the bytes of a file lie, as far as the file system tells.
//!
//! Nothing here is trusted: what a damaged attribute says is dropped with a warning, and the block size is in force.

mod beegfs;
mod bytes_on;
mod lustre_attribute;
mod lustre_text;
mod reading;

pub(crate) use reading::stripe_of;
pub use reading::target_layout;

use hyperslab_array::{Error, Result};

/// Maximum bytes of a stripe; a longer one is treated as damage.
const MAX_STRIPE_BYTES: u64 = 4 << 30;
/// Maximum number of stripes of a file on Lustre.
const MAX_STRIPES: usize = 2000;

/// Where the bytes of a file, or of new files in a folder, lie.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TargetLayout {
    /// Name of the file system: `lustre`, `beegfs`, `ext`, …; empty if it is not known.
    pub file_system: String,
    /// The block size in bytes that the file system prefers.
    pub block_bytes: u64,
    /// Major and minor number of the device, if there is a local one.
    pub device: Option<(u32, u32)>,
    /// Parts of the file with stripes, in order; empty if there are none, or if they are not known.
    pub components: Vec<StripedPart>,
    /// Why something that the file system says is not used.
    pub warning: Option<String>,
}

/// A range of a file that is striped in one way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StripedPart {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset after the last byte; `None` for all of the file.
    pub end: Option<u64>,
    /// Length of a stripe in bytes.
    pub stripe_bytes: u64,
    /// Number of stripes; `None` for all targets of the file system.
    pub stripe_count: Option<u32>,
    /// The targets, in the order of the stripes; empty if none is assigned yet.
    pub targets: Vec<u32>,
    /// Name of the pool of targets.
    pub pool: Option<String>,
}

impl TargetLayout {
    /// Parses what a file system says of a file: the bytes of Lustre's attribute `lustre.lov`, or the text of
    /// `lfs getstripe` or `beegfs-ctl --getentryinfo`.
    ///
    /// # Errors
    /// `Corrupt` for damaged values, `Unsupported` for layouts of other kinds.
    pub fn parse(said: &[u8]) -> Result<Self> {
        let (file_system, components) = match std::str::from_utf8(said) {
            Ok(text) if text.contains("stripe_count:") => ("lustre", lustre_text::parse(text)?),
            Ok(text) if text.contains("Stripe pattern details") => ("beegfs", beegfs::parse(text)?),
            _ => ("lustre", lustre_attribute::parse(said)?),
        };
        Ok(Self { file_system: file_system.to_owned(), components, ..Self::default() })
    }

    /// Length in bytes of the stripes of the first part that has a target, the one that data begin at; `None` without stripes.
    pub fn stripe_bytes(&self) -> Option<u64> {
        // Small first parts, often on the metadata server, are followed by the one that holds the data.
        self.components.last().map(|part| part.stripe_bytes)
    }

    /// The target that holds the byte at `offset`, if it is known.
    pub fn target(&self, offset: u64) -> Option<u32> {
        let part = self.components.iter().find(|part| part.start <= offset && part.end.is_none_or(|end| offset < end))?;
        let count = u64::try_from(part.targets.len()).ok().filter(|count| *count > 0)?;
        // Stripes are counted from the beginning of the file, in every part.
        let index = offset.checked_div(part.stripe_bytes)?.checked_rem(count)?;
        part.targets.get(usize::try_from(index).ok()?).copied()
    }
}

/// The part, if its numbers can be true.
fn checked(part: StripedPart) -> Result<StripedPart> {
    if part.stripe_bytes == 0 || part.stripe_bytes > MAX_STRIPE_BYTES {
        return Err(Error::corrupt(format!("a stripe size of {} bytes", part.stripe_bytes)));
    }
    if part.stripe_count == Some(0) || part.stripe_count.is_some_and(|count| count as usize > MAX_STRIPES) || part.targets.len() > MAX_STRIPES {
        return Err(Error::corrupt(format!("{} stripes", part.stripe_count.map_or_else(|| part.targets.len().to_string(), |count| count.to_string()))));
    }
    if part.end.is_some_and(|end| end <= part.start) {
        return Err(Error::corrupt(format!("a part of a file that begins at byte {} and ends before", part.start)));
    }
    Ok(part)
}

/// The parts in the order of the file; parts of other mirrors than the first are left out by the callers.
fn ordered(mut parts: Vec<StripedPart>) -> Result<Vec<StripedPart>> {
    if parts.is_empty() {
        return Err(Error::corrupt("a layout without stripes"));
    }
    parts.sort_by_key(|part| part.start);
    let overlap = parts.iter().zip(parts.iter().skip(1)).any(|(part, next)| part.end.is_none_or(|end| end > next.start));
    if overlap { Err(Error::corrupt("parts of a file that overlap")) } else { Ok(parts) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A layout v1 with two targets.
    fn attribute(stripe_bytes: u32) -> Vec<u8> {
        let mut bytes = [0x0bd1_0bd0u32, 1, 0, 0, 0, 0, stripe_bytes, 2].map(u32::to_le_bytes).concat();
        for target in [7u32, 3] {
            bytes.extend([0; 20]);
            bytes.extend(target.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn an_attribute_and_the_text_of_the_tool_say_the_same() -> Result<()> {
        let text = "x\nlmm_stripe_count:  2\nlmm_stripe_size:   65536\n\tobdidx\t objid\n\t 7\t 1\n\t 3\t 2\n";
        let (one, other) = (TargetLayout::parse(&attribute(65536))?, TargetLayout::parse(text.as_bytes())?);
        assert_eq!(one, other);
        assert_eq!((one.stripe_bytes(), one.target(65536), one.target(131_072)), (Some(65536), Some(3), Some(7)));
        Ok(())
    }

    #[test]
    fn what_cannot_be_true_is_corrupt() {
        for said in [attribute(0), attribute(65536)[..60].to_vec(), vec![0; 40], Vec::new()] {
            assert!(TargetLayout::parse(&said).is_err_and(|error| error.kind() == hyperslab_array::ErrorKind::Corrupt));
        }
    }
}
