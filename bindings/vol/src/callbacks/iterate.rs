//! Iterates over links, objects and attributes. Callbacks of programs are called without holding a lock.

use std::collections::BTreeSet;
use std::ffi::{CString, c_int};

use super::location::{Located, join, ordered, token_of, walking};
use crate::ffi::*;
use crate::handle::{Handle, what_of};
use crate::host::{Host, Owned};
use hyperslab_arrow_container::container::Place;
use hyperslab_arrow_container::error::{Result, error};
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::{Body, Link, ObjectId, Target};

/// Opens a handle for an object and registers it with HDF5.
pub(crate) fn registered(host: &'static Host, at: &Located) -> Result<Owned> {
    let (what, kind) = what_of(&lock(&at.place.container.tree).object(at.place.object)?.body);
    let raw = Handle::give(host, at.place.clone(), what, at.path.clone());
    // SAFETY: HDF5 owns the handle from now on; H5Idec_ref closes it.
    let id = unsafe { (host.call.H5VLwrap_register)(raw, kind) };
    if id < 0 {
        // SAFETY: HDF5 did not take ownership.
        drop(unsafe { Handle::close(raw) });
    }
    Owned::new(id, host.call.H5Idec_ref, "HDF5 gives no ID for an object")
}

/// HDF5's description of a link.
pub(crate) fn link_info(link: &Link) -> H5L_info2_t {
    let (class, u) = match &link.target {
        Target::Hard(object) => (0, H5L_info2_t__bindgen_ty_1 { token: token_of(*object) }),
        Target::Soft(path) => (1, H5L_info2_t__bindgen_ty_1 { val_size: path.len() + 1 }),
        Target::User(class, value) => (*class, H5L_info2_t__bindgen_ty_1 { val_size: value.len() }),
    };
    H5L_info2_t { type_: class, corder_valid: true, corder: link.order, cset: c_int::from(link.utf8), u }
}

/// As [`link_info`], without the creation order if the group does not track it.
pub(crate) fn link_info_in(place: &Place, link: &Link) -> H5L_info2_t {
    let mut info = link_info(link);
    let tree = lock(&place.container.tree);
    if let Ok(Body::Group { tracked: false, .. }) = tree.object(place.object).map(|object| &object.body) {
        (info.corder_valid, info.corder) = (false, 0);
    }
    info
}

/// HDF5's description of an object.
pub(crate) fn object_info(place: &Place) -> Result<H5O_info2_t> {
    let tree = lock(&place.container.tree);
    let object = tree.object(place.object)?;
    let kind = match object.body {
        Body::Group { .. } => H5O_TYPE_GROUP,
        Body::Dataset(_) => H5O_TYPE_DATASET,
        Body::Datatype(_) => H5O_TYPE_NAMED_DATATYPE,
    };
    Ok(H5O_info2_t {
        fileno: place.container.number,
        token: token_of(place.object),
        type_: kind,
        rc: tree.references(place.object),
        atime: object.born,
        mtime: object.born,
        ctime: object.born,
        btime: object.born,
        num_attrs: object.attributes.len() as u64,
    })
}

fn name_of(name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| error!("a name contains a zero byte"))
}

/// `H5Literate` and `H5Lvisit`. Returns the result of the last callback.
pub(crate) fn links(host: &'static Host, at: &Located, args: &mut H5VL_link_iterate_args_t) -> Result<herr_t> {
    let call = args.op.ok_or_else(|| error!("HDF5 passed no callback function"))?;
    let group = registered(host, at)?;
    if args.recursive {
        let all = by_order_or_name(&at.place, args.idx_type, args.order)?;
        let mut seen = BTreeSet::from([(at.place.container.number, at.place.object)]);
        return visit_links(at, "", all, (args.idx_type, args.order), &mut seen, &mut |name, info| {
            // SAFETY: the program's callback, called with its own data.
            Ok(unsafe { call(group.id, name_of(name)?.as_ptr(), info, args.op_data) })
        });
    }
    let all = ordered(&at.place, args.idx_type, args.order)?;
    // SAFETY: null, or a valid output pointer.
    let mut index = unsafe { args.idx_p.as_ref().copied().unwrap_or(0) };
    if index > 0 && index >= all.len() as u64 {
        return Err(error!("the iteration begins at {index}, but there are only {} links", all.len()));
    }
    let mut outcome = 0;
    for (name, link) in all.iter().skip(usize::try_from(index).unwrap_or(usize::MAX)) {
        // Skip links that were removed during the iteration.
        let there = lock(&at.place.container.tree).links(at.place.object).is_ok_and(|links| links.contains_key(name));
        index += 1;
        if !there {
            continue;
        }
        let info = link_info_in(&at.place, link);
        // SAFETY: the program's callback, called with its own data.
        outcome = unsafe { call(group.id, name_of(name)?.as_ptr(), &raw const info, args.op_data) };
        if outcome != 0 {
            break;
        }
    }
    // SAFETY: null, or a valid output pointer.
    if let Some(place) = unsafe { args.idx_p.as_mut() } {
        *place = index;
    }
    Ok(outcome)
}

/// The links of a group; by name if the group does not track creation order, as in HDF5's visits.
fn by_order_or_name(place: &Place, index: H5_index_t, order: H5_iter_order_t) -> Result<Vec<(String, Link)>> {
    let tracked = matches!(lock(&place.container.tree).object(place.object)?.body, Body::Group { tracked: true, .. });
    ordered(place, if index == H5_INDEX_CRT_ORDER && !tracked { H5_INDEX_NAME } else { index }, order)
}

type Visit<'a> = &'a mut dyn FnMut(&str, *const H5L_info2_t) -> Result<herr_t>;

fn visit_links(
    at: &Located,
    prefix: &str,
    all: Vec<(String, Link)>,
    order: (H5_index_t, H5_iter_order_t),
    seen: &mut BTreeSet<(u64, ObjectId)>,
    call: Visit<'_>,
) -> Result<herr_t> {
    for (name, link) in all {
        let full = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        let info = link_info_in(&at.place, &link);
        let outcome = call(&full, &raw const info)?;
        if outcome != 0 {
            return Ok(outcome);
        }
        let Target::Hard(object) = link.target else { continue };
        let inner = Located { place: Place::new(at.place.container.clone(), object), path: join(&at.path, &name) };
        let is_group = lock(&inner.place.container.tree).links(object).is_ok();
        if is_group && seen.insert((inner.place.container.number, object)) {
            let below = by_order_or_name(&inner.place, order.0, order.1)?;
            let outcome = visit_links(&inner, &full, below, order, seen, call)?;
            if outcome != 0 {
                return Ok(outcome);
            }
        }
    }
    Ok(0)
}

/// `H5Ovisit`. Returns the result of the last callback.
pub(crate) fn objects(host: &'static Host, at: &Located, args: &H5VL_object_visit_args_t) -> Result<herr_t> {
    let call = args.op.ok_or_else(|| error!("HDF5 passed no callback function"))?;
    let start = registered(host, at)?;
    let report = |name: &str, place: &Place| -> Result<herr_t> {
        let info = object_info(place)?;
        // SAFETY: the program's callback, called with its own data.
        Ok(unsafe { call(start.id, name_of(name)?.as_ptr(), &raw const info, args.op_data) })
    };
    let outcome = report(".", &at.place)?;
    if outcome != 0 || lock(&at.place.container.tree).links(at.place.object).is_err() {
        return Ok(outcome);
    }
    let mut visited = BTreeSet::from([at.place.object]);
    let mut seen = BTreeSet::from([(at.place.container.number, at.place.object)]);
    let all = by_order_or_name(&at.place, args.idx_type, args.order)?;
    visit_links(at, "", all, (args.idx_type, args.order), &mut seen, &mut |name, _| {
        let place = walking(host, 0, |walk| walk.resolve(&at.place, name));
        match place {
            // Only hard links are followed; the target of a soft link is visited at its own place.
            Ok(place) if is_hard(at, name) && visited.insert(place.object) => report(name, &place),
            _ => Ok(0),
        }
    })
}

fn is_hard(at: &Located, path: &str) -> bool {
    let tree = lock(&at.place.container.tree);
    let mut object = at.place.object;
    hyperslab_arrow_container::model::path_names(path).all(|name| match tree.links(object).ok().and_then(|links| links.get(name)) {
        Some(Link { target: Target::Hard(next), .. }) => {
            object = *next;
            true
        }
        _ => false,
    })
}

/// The names of an object's attributes in the given order.
pub(crate) fn attribute_names(place: &Place, index: H5_index_t, order: H5_iter_order_t) -> Result<Vec<String>> {
    let tree = lock(&place.container.tree);
    let object = tree.object(place.object)?;
    let mut names: Vec<(i64, String)> = object.attributes.iter().map(|(name, attribute)| (lock(attribute).order, name.clone())).collect();
    match index {
        H5_INDEX_NAME => {}
        // Also if the object does not track it, as HDF5 does for up to eight attributes.
        H5_INDEX_CRT_ORDER => names.sort(),
        _ => return Err(error!("the index type is neither name nor creation order")),
    }
    match order {
        H5_ITER_DEC => names.reverse(),
        H5_ITER_INC | H5_ITER_NATIVE => {}
        _ => return Err(error!("the iteration order is neither increasing nor decreasing")),
    }
    Ok(names.into_iter().map(|(_, name)| name).collect())
}

/// HDF5's description of an attribute.
pub(crate) fn attribute_info(place: &Place, name: &str) -> Result<H5A_info_t> {
    let tree = lock(&place.container.tree);
    let object = tree.object(place.object)?;
    let attribute = lock(object.attributes.get(name).ok_or_else(|| error!("attribute '{name}' not found"))?);
    let tracked = object.attributes_tracked;
    Ok(H5A_info_t {
        corder_valid: tracked,
        corder: if tracked { attribute.order as H5O_msg_crt_idx_t } else { 0 },
        cset: c_int::from(attribute.utf8),
        data_size: attribute.bytes.len() as u64,
    })
}

/// `H5Aiterate`. Returns the result of the last callback.
pub(crate) fn attributes(host: &'static Host, at: &Located, args: &mut H5VL_attr_iterate_args_t) -> Result<herr_t> {
    let call = args.op.ok_or_else(|| error!("HDF5 passed no callback function"))?;
    let names = attribute_names(&at.place, args.idx_type, args.order)?;
    let owner = registered(host, at)?;
    // SAFETY: null, or a valid output pointer.
    let mut index = unsafe { args.idx.as_ref().copied().unwrap_or(0) };
    if index > 0 && index >= names.len() as u64 {
        return Err(error!("the iteration begins at {index}, but there are only {} attributes", names.len()));
    }
    let mut outcome = 0;
    for name in names.iter().skip(usize::try_from(index).unwrap_or(usize::MAX)) {
        index += 1;
        let Ok(info) = attribute_info(&at.place, name) else { continue };
        // SAFETY: the program's callback, called with its own data.
        outcome = unsafe { call(owner.id, name_of(name)?.as_ptr(), &raw const info, args.op_data) };
        if outcome != 0 {
            break;
        }
    }
    // SAFETY: null, or a valid output pointer.
    if let Some(place) = unsafe { args.idx.as_mut() } {
        *place = index;
    }
    Ok(outcome)
}
