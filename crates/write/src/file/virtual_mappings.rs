//! Which mappings the HDF5 library accepts: it does not open a virtual dataset with others.

use hyperslab_array::{Error, HyperslabAxis, Result, StoredSelection};
use hyperslab_formats::VirtualMapping;

/// Checks the mappings of a virtual dataset of this shape.
///
/// # Errors
/// `InvalidInput` if a selection lies outside of the dataset, or if the two selections of a mapping do not belong together.
pub(crate) fn check(mappings: &[VirtualMapping], shape: &[u64]) -> Result<()> {
    mappings.iter().try_for_each(|mapping| {
        check_one(mapping, shape)
            .map_err(|reason| Error::invalid_input(format!("the mapping of {:?} in {:?} of a virtual dataset: {reason}", mapping.dataset, mapping.file)))
    })
}

fn check_one(mapping: &VirtualMapping, shape: &[u64]) -> std::result::Result<(), String> {
    let (target, source) = (&mapping.selection, &mapping.source_selection);
    if target.ndim().is_some_and(|ndim| ndim != shape.len() as u64) {
        return Err(format!("a selection of {} dimensions in a dataset of {}", target.ndim().unwrap_or(0), shape.len()));
    }
    if let Some((needed, extent)) = ends(target).iter().zip(shape).find_map(|(end, extent)| end.filter(|end| end > extent).map(|end| (end, extent))) {
        return Err(format!("a selection that ends at index {needed} of a dimension of {extent}"));
    }
    let has_blocks = [&mapping.file, &mapping.dataset].into_iter().any(|name| name.replace("%%", "").contains("%b"));
    match (is_unlimited(target), is_unlimited(source)) {
        (true, true) | (false, _) if has_blocks => {
            Err("%b stands for blocks of an unlimited selection of the virtual dataset, each a limited one of its source".to_owned())
        }
        (true, false) if !has_blocks => Err("an unlimited selection of a limited one, and no %b in the names of its source".to_owned()),
        (false, true) => Err("a limited selection of an unlimited one".to_owned()),
        (false, false) => match (elements(target, Some(shape)), elements(source, None)) {
            (Some(wanted), Some(there)) if wanted != there => Err(format!("{wanted} elements of {there}")),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn is_unlimited(selection: &StoredSelection) -> bool {
    matches!(selection, StoredSelection::Hyperslab(axes) if axes.iter().any(HyperslabAxis::is_unlimited))
}

/// The end of a selection along each dimension; `None` where it is unlimited.
fn ends(selection: &StoredSelection) -> Vec<Option<u64>> {
    let largest = |ends: &mut Vec<Option<u64>>, last: &[u64]| {
        ends.resize(last.len(), Some(0));
        for (end, last) in ends.iter_mut().zip(last) {
            *end = (*end).max(Some(last.saturating_add(1)));
        }
    };
    let mut found = Vec::new();
    match selection {
        StoredSelection::None | StoredSelection::All => {}
        StoredSelection::Points(points) => points.iter().for_each(|point| largest(&mut found, point)),
        StoredSelection::Blocks(blocks) => blocks.iter().for_each(|(_, last)| largest(&mut found, last)),
        StoredSelection::Hyperslab(axes) => found.extend(axes.iter().map(|axis| axis.len().map(|length| axis.extent_of(length)))),
    }
    found
}

/// Number of elements; `None` if the extent of the source decides it, or beyond 64 bits.
fn elements(selection: &StoredSelection, shape: Option<&[u64]>) -> Option<u64> {
    let product = |extents: Vec<u64>| extents.into_iter().try_fold(1u64, u64::checked_mul);
    match selection {
        StoredSelection::None => Some(0),
        StoredSelection::All => product(shape?.to_vec()),
        StoredSelection::Points(points) => Some(points.len() as u64),
        StoredSelection::Hyperslab(axes) => product(axes.iter().map_while(HyperslabAxis::len).collect()),
        // Blocks may overlap.
        StoredSelection::Blocks(_) => None,
    }
}
