//! The source of a part of a virtual dataset: opening it, and converting its values.

use hyperslab_array::{Datatype, Error, FloatFormat, Result};
use hyperslab_formats::{Dataset, ObjectId};

use super::numeric::Conversion;
use super::source_part::SourcePart;
use crate::opening::open_linked::is_missing;
use crate::{File, MissingSources};

/// The source dataset, from which `bytes` will be read; `None` if it is missing and the session shows the fill value
/// instead.
pub(super) fn open(file: &File, part: &SourcePart, bytes: usize) -> Result<Option<(File, ObjectId)>> {
    match file.source(&part.file, bytes).and_then(|other| other.find(&part.dataset)) {
        Ok(found) => Ok(Some((found.file, found.object))),
        Err(error) if is_missing(&error) && file.session().missing_sources() == MissingSources::Fill => Ok(None),
        Err(error) => {
            Err(Error::new(error.kind(), format!("a source of this virtual dataset: {error} (missing_sources=\"fill\" shows the fill value instead)")))
        }
    }
}

/// The conversion from the source's datatype to the virtual dataset's; `None` if they are equal.
pub(super) fn conversion(theirs: &Dataset, description: &Dataset, part: &SourcePart) -> Result<Option<Conversion>> {
    if theirs.datatype == description.datatype {
        return Ok(None);
    }
    let found = Conversion::between(&theirs.datatype, &description.datatype);
    found.map(Some).ok_or_else(|| {
        Error::unsupported(format!(
            "a virtual dataset whose source {} in {} has another datatype: {} as {}",
            part.dataset,
            part.file,
            name(&theirs.datatype),
            name(&description.datatype)
        ))
    })
}

/// A short description of a datatype, for messages.
fn name(datatype: &Datatype) -> String {
    let size = datatype.size();
    match datatype {
        Datatype::Integer { bit_precision, .. } => format!("integers of {bit_precision} bits in {size} bytes"),
        Datatype::Float { format: FloatFormat::Ieee, .. } => format!("floats of {size} bytes"),
        Datatype::Float { .. } => format!("floats of {size} bytes that are not IEEE's"),
        Datatype::FixedString { .. } => format!("text of {size} bytes"),
        Datatype::VariableString { .. } => "text of variable length".to_owned(),
        Datatype::Bitfield { .. } => "bitfields".to_owned(),
        Datatype::Time { .. } => format!("times of {size} bytes"),
        Datatype::Opaque { .. } => "opaque bytes".to_owned(),
        Datatype::Compound { .. } => "compounds".to_owned(),
        Datatype::Reference { .. } => "references".to_owned(),
        Datatype::Enum { .. } => "enumerations".to_owned(),
        Datatype::Sequence { .. } => "sequences".to_owned(),
        Datatype::Array { base, .. } => format!("arrays of {}", name(base)),
        Datatype::Unsupported { class, .. } => class.clone(),
    }
}
