//! Dictionaries of large datatypes that were described lately: thousands of objects may have one datatype of thousands of members.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use hyperslab::Datatype;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Smaller datatypes are described each time.
const MIN_MEMBERS: usize = 64;
/// Most members, of all levels, in the dictionaries that are kept: some ten MB.
const MAX_MEMBERS: usize = 16_000;

struct Described {
    datatype: Datatype,
    dict: Py<PyDict>,
    members: usize,
}

/// The last one is the newest.
static KEPT: Mutex<VecDeque<Described>> = Mutex::new(VecDeque::new());

/// The dictionary of a datatype that shares its members with `datatype`; it is never changed.
pub(crate) fn get<'py>(py: Python<'py>, datatype: &Datatype) -> Option<Bound<'py, PyDict>> {
    if !is_large(datatype) {
        return None;
    }
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.iter().find(|known| is_same(&known.datatype, datatype)).map(|known| known.dict.bind(py).clone())
}

/// Keeps the dictionary of a large datatype.
pub(crate) fn keep(datatype: &Datatype, dict: &Bound<'_, PyDict>) {
    let members = if is_large(datatype) { count(datatype) } else { return };
    if members > MAX_MEMBERS {
        return;
    }
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let mut total: usize = kept.iter().map(|known| known.members).sum();
    let mut dropped = Vec::new();
    while total + members > MAX_MEMBERS
        && let Some(oldest) = kept.pop_front()
    {
        total -= oldest.members;
        dropped.push(oldest);
    }
    kept.push_back(Described { datatype: datatype.clone(), dict: dict.clone().unbind(), members });
    drop(kept);
    // Dictionaries may run Python when they go, which may come back here.
    drop(dropped);
}

fn is_large(datatype: &Datatype) -> bool {
    match datatype {
        Datatype::Compound { members, .. } => members.len() >= MIN_MEMBERS,
        Datatype::Enum { members, .. } => members.len() >= MIN_MEMBERS,
        _ => false,
    }
}

fn is_same(known: &Datatype, datatype: &Datatype) -> bool {
    match (known, datatype) {
        (Datatype::Compound { size, members }, Datatype::Compound { size: other_size, members: others }) => size == other_size && Arc::ptr_eq(members, others),
        (Datatype::Enum { base, members }, Datatype::Enum { base: other_base, members: others }) => base == other_base && Arc::ptr_eq(members, others),
        _ => false,
    }
}

/// The members of all levels, and one for what they are in.
fn count(datatype: &Datatype) -> usize {
    match datatype {
        Datatype::Compound { members, .. } => members.iter().fold(1, |sum: usize, member| sum.saturating_add(count(&member.datatype))),
        Datatype::Enum { members, .. } => 1 + members.len(),
        Datatype::Array { base, .. } | Datatype::Sequence { base, .. } => 1 + count(base),
        _ => 1,
    }
}
