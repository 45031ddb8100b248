//! The core crate's reads of every size: a dataset whole and in hyperslabs gives the same bytes.

use std::cell::RefCell;
use std::io::Write;

use hyperslab::{Cancellation, Dataspace, File, ObjectId, Selection, Session, SessionOptions, new_session};

use crate::fuzz::{Numbers, honest, hyperslab, limits, pick};

thread_local! {
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
}

pub fn session() -> Session {
    SESSION.with_borrow_mut(|slot| {
        let options = || SessionOptions::default().with_threads(Some(1)).with_limits(limits());
        slot.get_or_insert_with(|| new_session(options()).expect("a session")).clone()
    })
}

/// Reads all datasets of the file that `data` is.
pub fn read_file(data: &[u8]) {
    let folder = std::env::var_os("HYPERSLAB_FUZZ_SCRATCH").map_or_else(std::env::temp_dir, Into::into);
    let path = folder.join(format!("hyperslab-fuzz-{}", std::process::id()));
    std::fs::File::create(&path).and_then(|mut file| file.write_all(data)).expect("a scratch file");
    let file = honest(session().open(&path));
    // What is open stays readable.
    std::fs::remove_file(&path).expect("the scratch file");
    if let Some(file) = file {
        read_all(&file, data);
    }
}

/// Reads all datasets of a file; `data` are the numbers that choose parts of them.
pub fn read_all(file: &File, data: &[u8]) {
    let mut numbers = Numbers::new(data);
    for walked in file.walk() {
        if walked.object.is_ok_and(|object| object.dataset().is_some()) {
            read(file, walked.id, &mut numbers);
        }
    }
}

fn read(file: &File, id: ObjectId, numbers: &mut Numbers) {
    let Some(dataset) = honest(file.dataset(id)) else { return };
    if dataset.dataspace == Dataspace::Null {
        return;
    }
    let shape = dataset.dataspace.shape().to_vec();
    let size = dataset.datatype.size();
    let few = |selection: &Selection| {
        let bytes = honest(selection.element_count()).and_then(|n| n.checked_mul(size));
        bytes.is_some_and(|n| n <= 1 << 20)
    };
    let never = Cancellation::default();
    let all = Selection::all(&shape);
    let whole = if few(&all) { honest(file.read(id, &all, &never)) } else { None };
    for _ in 0..3 {
        let part = hyperslab(numbers, &shape, 64);
        if !few(&part) {
            continue;
        }
        let found = file.read(id, &part, &never);
        match &whole {
            None => {
                honest(found);
            }
            Some(whole) => {
                let found = found.expect("a part of what could be read");
                assert_eq!(found.bytes, pick(&whole.bytes, &shape, &part, size as usize), "{part:?} of {shape:?}");
            }
        }
    }
}
