//! Asks the file system.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hyperslab_array::{Error, Result};

use super::TargetLayout;
use crate::file_system::{block_of, kind_of, name_of};
use crate::remote::{MAX_REQUEST_BYTES, is_address, scheme};

const ATTRIBUTE: &str = "lustre.lov";
/// More than the longest attribute of Lustre: 2,000 targets of 24 bytes.
const MAX_ATTRIBUTE_BYTES: usize = 64 << 10;

/// Where the bytes of a file lie; for a folder, where the bytes of new files in it will lie. What a file system says that cannot be
/// true is in [`TargetLayout::warning`], and not used. Of an address, nothing is asked: its scheme stands for the file system,
/// and the longest range that we request at once for the block.
///
/// # Errors
/// `NotFound` if there is no such file or folder; `Io` if it cannot be examined.
pub fn target_layout(path: &Path) -> Result<TargetLayout> {
    if let Some(scheme) = path.to_str().filter(|path| is_address(path)).and_then(scheme) {
        return Ok(TargetLayout { file_system: scheme.to_ascii_lowercase(), block_bytes: MAX_REQUEST_BYTES, ..TargetLayout::default() });
    }
    let metadata = std::fs::metadata(path).map_err(|error| Error::from(error).in_file(path.display().to_string()))?;
    let kind = rustix::fs::statfs(path).ok().map(|found| kind_of(found.f_type));
    let mut layout = TargetLayout {
        file_system: kind.and_then(name_of).unwrap_or_default().to_owned(),
        block_bytes: block_of(metadata.blksize()),
        device: device_of(&metadata),
        ..TargetLayout::default()
    };
    if layout.file_system == "lustre" {
        let mut attribute = vec![0; MAX_ATTRIBUTE_BYTES];
        match rustix::fs::getxattr(path, ATTRIBUTE, &mut attribute[..]) {
            Ok(length) => layout.tell(attribute.get(..length).unwrap_or_default(), &path.display().to_string()),
            Err(error) => layout.warning = Some(format!("the attribute {ATTRIBUTE} of {} cannot be read: {error}; the block size is in force", path.display())),
        }
    }
    Ok(layout)
}

/// The major and minor number of the device that a file lies on, by which Linux describes its disks.
#[cfg(target_os = "linux")]
fn device_of(metadata: &std::fs::Metadata) -> Option<(u32, u32)> {
    Some((rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev())))
}

#[cfg(not(target_os = "linux"))]
fn device_of(_: &std::fs::Metadata) -> Option<(u32, u32)> {
    None
}

impl TargetLayout {
    /// Takes what an attribute says, or a warning.
    fn tell(&mut self, attribute: &[u8], name: &str) {
        match Self::parse(attribute) {
            Ok(found) => self.components = found.components,
            Err(error) => self.warning = Some(format!("the attribute {ATTRIBUTE} of {name} is damaged: {}; the block size is in force", error.message())),
        }
    }
}

/// The stripe size in bytes of an open file or folder on Lustre; `None` elsewhere, or if it is damaged or no power of two.
pub(crate) fn stripe_of(file: &File) -> Option<u64> {
    let kind = rustix::fs::fstatfs(file).ok().map(|found| kind_of(found.f_type))?;
    if name_of(kind) != Some("lustre") {
        return None;
    }
    let mut attribute = vec![0; MAX_ATTRIBUTE_BYTES];
    let length = rustix::fs::fgetxattr(file, ATTRIBUTE, &mut attribute[..]).ok()?;
    let stripe = TargetLayout::parse(attribute.get(..length)?).ok()?.stripe_bytes()?;
    stripe.is_power_of_two().then_some(stripe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_preferred_range_and_no_device() -> Result<()> {
        let layout = target_layout(Path::new("S3://bucket/run.h5"))?;
        assert_eq!((layout.file_system.as_str(), layout.block_bytes, layout.device), ("s3", 8 << 20, None));
        assert!(layout.components.is_empty() && layout.warning.is_none() && layout.target(0).is_none());
        assert!(target_layout(Path::new("file:///nowhere")).is_err(), "local paths are asked");
        Ok(())
    }
}
