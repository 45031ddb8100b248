//! References: to bytes that are no object; dimension scales.

use hyperslab_array::{Datatype, Elements, ErrorKind, Result, interruption};
use hyperslab_formats::hdf5::survey::{Survey, SurveyedObject};
use hyperslab_formats::{Object, ObjectId};
use hyperslab_reader::{File, each_reference};

use crate::finding::{Finding, Severity};

/// Bad references of one attribute or dataset that are listed.
const MAX_LISTED: u64 = 5;

/// The bad references among `values`: how many, and the first of them.
pub(crate) fn bad(file: &File, survey: &Survey, values: &Elements) -> Result<(u64, Vec<String>)> {
    let (mut count, mut shown) = (0u64, Vec::new());
    each_reference(&values.datatype, &values.bytes, &values.heap, &mut |kind, size, bytes| {
        interruption::check()?;
        let mut note = |text: String| {
            count += 1;
            if count <= MAX_LISTED {
                shown.push(text);
            }
        };
        match file.array_file().references(kind, size, bytes) {
            Ok(found) => {
                for reference in found.into_iter().flatten().filter(|reference| reference.file.is_none()) {
                    // An object that no link leads to may be referenced nevertheless.
                    let is_object = survey.object(reference.address).is_some() || file.array_file().tree().object(ObjectId(reference.address)).is_ok();
                    if !is_object {
                        let outside = survey.base_address.saturating_add(reference.address) >= survey.file_bytes;
                        note(format!("{:#x}{}", reference.address, if outside { ", outside of the file" } else { "" }));
                    }
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::LimitExceeded) => return Err(error),
            Err(error) => note(error.message().to_owned()),
        }
        Ok(())
    })?;
    Ok((count, shown))
}

/// A finding about bad references.
pub(crate) fn finding(what: &str, path: &str, count: u64, shown: &[String]) -> Finding {
    let more = if count > shown.len() as u64 { ", …" } else { "" };
    let message = format!("{what}: {count} reference{} to no object ({}{more})", if count == 1 { "" } else { "s" }, shown.join("; "));
    Finding::new(Severity::Warning, "bad-reference", message).of(Some(path)).costs("the reference leads to nothing: its target was deleted or is damaged")
}

/// Bad references in attributes, and dimension scales that do not fit.
pub(crate) fn of_attributes(file: &File, survey: &Survey, findings: &mut Vec<Finding>) -> Result<()> {
    for object in survey.objects.iter().filter(|object| object.attribute_count > 0 && object.object.is_some()) {
        let attributes = match file.array_file().tree().attributes(ObjectId(object.address)) {
            Ok(attributes) => attributes,
            Err(error) if matches!(error.kind(), ErrorKind::Cancelled) => return Err(error),
            // Damage that the survey has recorded.
            Err(_) => continue,
        };
        for attribute in attributes.iter() {
            let Ok(values) = &attribute.value else { continue };
            if values.datatype.has_references() {
                let (count, shown) = bad(file, survey, values)?;
                if count > 0 {
                    findings.push(finding(&format!("attribute {:?}", attribute.name), &object.path, count, &shown));
                }
            }
            if attribute.name == "DIMENSION_LIST" && values.datatype.has_references() {
                scales(file, survey, object, values, findings);
            }
        }
    }
    Ok(())
}

/// Whether the scales that are attached to a dataset fit it.
fn scales(file: &File, survey: &Survey, object: &SurveyedObject, values: &Elements, findings: &mut Vec<Finding>) {
    let Some(Object::Dataset(dataset)) = &object.object else { return };
    let shape = dataset.dataspace.shape();
    let Datatype::Sequence { base, .. } = &values.datatype else { return };
    let size = usize::try_from(values.datatype.size()).unwrap_or(usize::MAX).max(1);
    for ((dimension, element), extent) in values.bytes.chunks_exact(size).enumerate().zip(shape) {
        let Ok(bytes) = values.heap.value(element, base.size()) else { continue };
        let Datatype::Reference { kind, size } = base.as_ref() else { continue };
        let Ok(found) = file.array_file().references(*kind, usize::try_from(*size).unwrap_or(0), bytes) else { continue };
        for reference in found.into_iter().flatten() {
            let Some(scale) = survey.object(reference.address) else { continue };
            let mut note = |message: String, cost: &str| {
                findings.push(Finding::new(Severity::Warning, "dimension-scale", message).of(Some(object.path.as_str())).costs(cost));
            };
            match &scale.object {
                Some(Object::Dataset(coordinates)) => {
                    let (length, can_grow) = (coordinates.dataspace.shape().first().copied(), coordinates.chunk_shape.is_some());
                    if coordinates.dataspace.ndim() == 1 && length != Some(*extent) && !can_grow {
                        let message = format!("dimension {dimension} has extent {extent}, its scale {} has {}", scale.path, length.unwrap_or(0));
                        note(message, "indexes along the dimension have no coordinate, or another one's");
                    }
                }
                Some(_) => note(format!("dimension {dimension} has {} for a scale, which is not a dataset", scale.path), "the dimension has no coordinates"),
                None => {}
            }
        }
    }
}
