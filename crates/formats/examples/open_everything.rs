//! Opens one file and parses all that is in it, as listing a file does: objects, attributes, links, stored bytes, and the
//! places of the first and last chunks. Prints what was found, and on Linux the most memory that the process had. Limits may follow
//! the file's name (`messages_per_object=100`).
//! `testing/hostile/guards.py` runs it.

use std::collections::HashSet;
use std::sync::Arc;

use hyperslab_array::{Axis, Error, Result, Selection};
use hyperslab_formats::{ArrayFile, Link, Object, ObjectId, OpenOptions};
use hyperslab_storage::LocalFile;

fn main() -> Result<()> {
    let done = open_everything();
    println!("peak_kib {}", peak_kib().unwrap_or_default());
    done
}

/// Resident memory at its peak. Only the kernel's record of this program counts: `getrusage` also counts what the process had
/// as a copy of its parent, before it ran this program.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn open_everything() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or_else(|| Error::invalid_input("give a file"))?;
    let mut options = OpenOptions::default();
    for argument in arguments {
        let (name, value) = argument.split_once('=').ok_or_else(|| Error::invalid_input(format!("{argument:?} is no limit")))?;
        options.limits.set(name, value.parse().map_err(|_| Error::invalid_input(format!("{value:?} is not a number")))?)?;
    }
    let file = hyperslab_formats::open(Arc::new(LocalFile::open(path)?), &options)?;
    let tree = file.tree();
    let (mut seen, mut pending, mut errors) = (HashSet::from([tree.root()]), vec![tree.root()], 0u64);
    while let Some(id) = pending.pop() {
        errors += u64::from(tree.attributes(id).is_err());
        match tree.object(id) {
            Ok(Object::Group) => match tree.links(id) {
                Ok(links) => pending.extend(links.iter().filter_map(Link::object).filter(|id| seen.insert(*id))),
                Err(_) => errors += 1,
            },
            Ok(Object::Dataset(dataset)) => {
                errors += u64::from(file.stored_bytes(id).is_err());
                errors += u64::from(ends(file.as_ref(), id, dataset.dataspace.shape()).is_err());
            }
            Ok(Object::Datatype(_)) => {}
            Err(_) => errors += 1,
        }
    }
    println!("{} objects, {errors} errors", seen.len());
    Ok(())
}

/// The chunks of the first and the last element.
fn ends(file: &dyn ArrayFile, id: ObjectId, shape: &[u64]) -> Result<()> {
    for at in [|_: u64| 0, |extent: u64| extent.saturating_sub(1)] {
        let axes = shape.iter().map(|extent| Axis::Range { start: at(*extent), count: 1.min(*extent), step: 1 }).collect();
        file.locate(id, &Selection::new(axes, shape)?)?;
    }
    Ok(())
}
