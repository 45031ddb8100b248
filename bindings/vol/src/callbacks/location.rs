//! Resolves HDF5's locations: an object itself, a name, an index, or a token.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::datatype::decode_stored;
use crate::ffi::*;
use crate::handle::{Handle, text};
use crate::host::Host;
use crate::plist;
use hyperslab_arrow_container::container::{Container, Place, Walk};
use hyperslab_arrow_container::error::{Result, error};
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::{Link, ObjectId, ROOT};

/// An object, and the path by which it was found.
#[derive(Debug, Clone)]
pub(crate) struct Located {
    pub(crate) place: Place,
    pub(crate) path: String,
}

/// Joins two paths.
pub(crate) fn join(base: &str, name: &str) -> String {
    let names = |text: &str| hyperslab_arrow_container::model::path_names(text).collect::<Vec<_>>().join("/");
    if name.starts_with('/') {
        return format!("/{}", names(name));
    }
    match (names(base), names(name)) {
        (base, name) if base.is_empty() => format!("/{name}"),
        (base, name) if name.is_empty() => format!("/{base}"),
        (base, name) => format!("/{base}/{name}"),
    }
}

/// Opens the target file of an external link in `from`.
fn open_external(host: &'static Host, from: &Arc<Container>, file: &str, lapl: hid_t) -> Result<Arc<Container>> {
    let sibling = from.path.parent().unwrap_or(Path::new(".")).join(file);
    let found = if sibling.exists() { sibling } else { Path::new(file).to_path_buf() };
    let anchor = Handle::anchor(host);
    Container::open(&found, plist::opens_external(host, lapl).unwrap_or_else(|| from.writable.load(Ordering::Relaxed)), from.options, &|encoded| {
        decode_stored(host, anchor, encoded)
    })
    .map_err(|error| error!("the external link to {file}: {}", error.message).with_source(error))
}

/// Calls `work` with a [`Walk`] that follows links as the property list `lapl` says.
pub(crate) fn walking<T>(host: &'static Host, lapl: hid_t, work: impl FnOnce(&mut Walk<'_>) -> Result<T>) -> Result<T> {
    plist::check_list(host, lapl)?;
    let open = |from: &Arc<Container>, file: &str| open_external(host, from, file, lapl);
    work(&mut Walk::new(plist::links_left(host, lapl), &open))
}

/// The object at a path relative to a handle.
pub(crate) fn by_name(handle: &Handle, name: &str, lapl: hid_t) -> Result<Located> {
    if name.is_empty() {
        return Err(error!("the name is empty"));
    }
    let place = walking(handle.host, lapl, |walk| walk.resolve(&handle.place, name))?;
    Ok(Located { place, path: join(&handle.path, name) })
}

/// The links of a group in the given order.
pub(crate) fn ordered(place: &Place, index: H5_index_t, order: H5_iter_order_t) -> Result<Vec<(String, Link)>> {
    let tree = lock(&place.container.tree);
    let mut links: Vec<(String, Link)> = tree.links(place.object)?.iter().map(|(name, link)| (name.clone(), link.clone())).collect();
    if index == H5_INDEX_CRT_ORDER {
        if let hyperslab_arrow_container::model::Body::Group { tracked: false, .. } = tree.object(place.object)?.body {
            return Err(error!("the group does not track the creation order of its links"));
        }
        links.sort_by_key(|(_, link)| link.order);
    } else if index != H5_INDEX_NAME {
        return Err(error!("the index type is neither name nor creation order"));
    }
    match order {
        H5_ITER_DEC => links.reverse(),
        H5_ITER_INC | H5_ITER_NATIVE => {}
        _ => return Err(error!("the iteration order is neither increasing nor decreasing")),
    }
    Ok(links)
}

/// A link by its index in a group.
///
/// # Safety
/// `loc` must come from HDF5.
pub(crate) unsafe fn by_index(handle: &Handle, loc: &H5VL_loc_by_idx_t) -> Result<(Located, String, Link)> {
    // SAFETY: as the caller promises.
    let group = by_name(handle, unsafe { text(loc.name)? }, loc.lapl_id)?;
    crate::handle::opening_from(handle);
    let mut links = ordered(&group.place, loc.idx_type, loc.order)?;
    let index = usize::try_from(loc.n).unwrap_or(usize::MAX);
    if index >= links.len() {
        return Err(error!("link index {} is out of range: there are {}", loc.n, links.len()));
    }
    let (name, link) = links.swap_remove(index);
    Ok((group, name, link))
}

/// The token of an object.
pub(crate) fn token_of(object: ObjectId) -> H5O_token_t {
    let mut data = [0; 16];
    data[..8].copy_from_slice(&object.to_le_bytes());
    H5O_token_t { __data: data }
}

/// The object of a token.
pub(crate) fn object_of(token: &H5O_token_t) -> ObjectId {
    u64::from_le_bytes(token.__data[..8].try_into().unwrap_or_default())
}

/// The object at a location.
///
/// # Safety
/// `loc` must come from HDF5.
pub(crate) unsafe fn locate(handle: &Handle, loc: *const H5VL_loc_params_t) -> Result<Located> {
    // SAFETY: as the caller promises; the type selects the member of the union.
    unsafe {
        let loc = loc.as_ref().ok_or_else(|| error!("HDF5 passed no location"))?;
        crate::handle::opening_from(handle);
        match loc.type_ {
            H5VL_OBJECT_BY_SELF => Ok(Located { place: handle.place.clone(), path: handle.path.clone() }),
            H5VL_OBJECT_BY_NAME => by_name(handle, text(loc.loc_data.loc_by_name.name)?, loc.loc_data.loc_by_name.lapl_id),
            H5VL_OBJECT_BY_IDX => {
                let (group, name, link) = by_index(handle, &loc.loc_data.loc_by_idx)?;
                let place = walking(handle.host, loc.loc_data.loc_by_idx.lapl_id, |walk| walk.follow(&group.place, &name, &link))?;
                Ok(Located { place, path: join(&group.path, &name) })
            }
            H5VL_OBJECT_BY_TOKEN => {
                let token = loc.loc_data.loc_by_token.token.as_ref().ok_or_else(|| error!("HDF5 passed no token"))?;
                let object = object_of(token);
                let container = Arc::clone(&handle.place.container);
                lock(&container.tree).object(object).map_err(|_| error!("the token does not identify an object in this file"))?;
                let path = lock(&container.tree).reachable().remove(&object).unwrap_or_default();
                Ok(Located { place: Place::new(container, object), path })
            }
            _ => Err(error!("the location has an unknown type")),
        }
    }
}

/// The current path of an open object: links may have been moved or removed since it was opened.
pub(crate) fn current_path(handle: &Handle) -> Option<String> {
    let container = &handle.place.container;
    let tree = lock(&container.tree);
    let mut at = ROOT;
    let mut found = true;
    for name in hyperslab_arrow_container::model::path_names(&handle.path) {
        match tree.links(at).ok().and_then(|links| links.get(name)).map(|link| &link.target) {
            Some(hyperslab_arrow_container::model::Target::Hard(next)) => at = *next,
            // A path through a soft link is returned as it was given.
            Some(_) => return Some(handle.path.clone()),
            None => {
                found = false;
                break;
            }
        }
    }
    if found && at == handle.place.object {
        return Some(handle.path.clone());
    }
    tree.reachable().remove(&handle.place.object).filter(|path| !path.is_empty())
}
