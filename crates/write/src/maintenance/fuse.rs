//! Fuse: one ordinary file out of a master and its subfiles.

use std::path::Path;

use hyperslab_array::{Cancellation, Result};
use hyperslab_formats::{Content, ObjectId};
use hyperslab_reader::File;
use hyperslab_storage::Existing;

use crate::container::state::{COMMIT_ATTRIBUTE, reading_session};
use crate::file::copied_chunks::Copy;
use crate::file::copied_objects::{Carried, Source};
use crate::file::file_writer::Subfile;

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
    let mut fused = Fused::default();
    let mut out = Subfile::create(target, existing, None, &session)?;
    copy_objects(&file, &mut out, cancellation, &mut fused, false, progress)?;
    fused.bytes = out.finish(existing)?;
    Ok(fused)
}

/// Defines what `file` shows in `out`, with all values. If it `grows` on there, small datasets in small chunks get their
/// chunk shape when they have more values.
pub(crate) fn copy_objects(file: &File, out: &mut Subfile, cancellation: &Cancellation, fused: &mut Fused, grows: bool, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
    let source = Source::new(file);
    let total = file.tree().objects.iter().filter_map(|object| match &object.content {
        Content::Dataset(dataset) => dataset.value_bytes(),
        _ => None,
    });
    let total = total.fold(0u64, u64::saturating_add);
    let mut done = 0u64;
    let mut scales = Vec::new();
    for (number, object) in file.tree().objects.iter().enumerate() {
        let path = object.path.as_str();
        match &object.content {
            Content::Group(group) => {
                out.create_group(path)?;
                for (path, link) in source.links(path, group)? {
                    out.create_link(&path, link)?;
                }
            }
            Content::Dataset(dataset) => match source.references(ObjectId(number)).map_err(|error| error.at_object(path))? {
                Some(pointers) => out.create_pointers(path, pointers)?,
                None => {
                    let mut copy = Copy { out: &mut *out, path, cancellation, fused: &mut *fused, grows };
                    copy.dataset(file, ObjectId(number), dataset, source.committed(&dataset.datatype))?;
                }
            },
            Content::Datatype(datatype) => out.create_datatype(path, datatype.clone())?,
            Content::Unreadable(error) => return Err(error.clone().at_object(path)),
        }
        out.set_tracked(path, object.is_tracked())?;
        if let Some(error) = &object.attributes_error {
            return Err(error.clone().at_object(path));
        }
        for attribute in object.attributes.iter().filter(|attribute| number != 0 || attribute.name != COMMIT_ATTRIBUTE) {
            match source.attribute(attribute).map_err(|error| error.at_object(path))? {
                Carried::Value(value) => out.set_attribute(path, &attribute.name, value)?,
                Carried::References(pointers) => out.set_pointers(path, &attribute.name, pointers)?,
                Carried::Scales(found) => scales.extend(found.into_iter().map(|(dimension, scale)| (path, dimension, scale))),
                Carried::Nothing => {}
            }
        }
        if let Content::Dataset(dataset) = &object.content {
            done = done.saturating_add(dataset.value_bytes().unwrap_or(0));
            progress(done, total);
        }
    }
    for (path, dimension, scale) in scales {
        out.attach_scale(path, dimension, &scale)?;
    }
    Ok(())
}
