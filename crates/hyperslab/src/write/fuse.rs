//! Fuse: one ordinary file out of a master and its subfiles.

use std::path::Path;

use hyperslab_array::{Error, Result};
use hyperslab_formats::{Content, LinkTarget};
use hyperslab_storage::Existing;

use super::copying::Copy;
use super::definition::AttributeValue;
use super::state::{COMMIT_ATTRIBUTE, reading_session};
use super::subfile::Subfile;
use crate::{Cancellation, ObjectId};

/// What fusing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fused {
    /// Length of the file.
    pub bytes: u64,
    /// Chunks that were copied as they were stored.
    pub copied_chunks: u64,
    /// Bytes of values that were decoded and encoded again.
    pub recoded_bytes: u64,
}

/// Writes what the container at `master` shows into one file called `target`. `progress` hears how many bytes of
/// values are done, of how many.
pub fn fuse(master: &Path, target: &Path, existing: Existing, cancellation: &Cancellation, progress: &mut dyn FnMut(u64, u64)) -> Result<Fused> {
    let session = reading_session()?;
    let file = session.open(master)?;
    let total = file.tree().objects.iter().filter_map(|object| match &object.content {
        Content::Dataset(dataset) => dataset.value_bytes(),
        _ => None,
    });
    let total = total.fold(0u64, u64::saturating_add);
    let mut out = Subfile::create(target, None, &session)?;
    let mut fused = Fused::default();
    let mut done = 0u64;
    for (number, object) in file.tree().objects.iter().enumerate() {
        let path = object.path.as_str();
        match &object.content {
            Content::Group(group) => {
                if group.links.iter().any(|link| !matches!(link.target, LinkTarget::Hard(_))) {
                    return Err(Error::unsupported("fusing a file with links that no task wrote").at_object(path));
                }
                out.create_group(path)?;
            }
            Content::Dataset(dataset) => {
                let mut copy = Copy { out: &mut out, path, cancellation, fused: &mut fused };
                copy.dataset(&file, ObjectId(number), dataset)?;
            }
            Content::Datatype(_) => return Err(Error::unsupported("fusing a file with a committed datatype").at_object(path)),
            Content::Unreadable(error) => return Err(error.clone().at_object(path)),
        }
        out.set_tracked(path, object.is_tracked())?;
        if let Some(error) = &object.attributes_error {
            return Err(error.clone().at_object(path));
        }
        for attribute in object.attributes.iter().filter(|attribute| number != 0 || attribute.name != COMMIT_ATTRIBUTE) {
            let value = attribute.value.clone().map_err(|error| error.at_object(path))?;
            out.set_attribute(path, &attribute.name, AttributeValue { dataspace: attribute.dataspace.clone(), value })?;
        }
        if let Content::Dataset(dataset) = &object.content {
            done = done.saturating_add(dataset.value_bytes().unwrap_or(0));
            progress(done, total);
        }
    }
    fused.bytes = out.finish(existing)?;
    Ok(fused)
}
