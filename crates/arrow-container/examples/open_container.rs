//! Opens one container, or a plain Arrow or Parquet file, and reads what is in it: objects, attributes, the first and the last values
//! of each dataset. Prints what was found, and on Linux the most memory that the process had. A panic is caught as the connector does.
//! `testing/hostile/run_containers.py` runs it.

use std::panic::catch_unwind;
use std::path::Path;

use hyperslab_arrow_container::container::{Container, Options};
use hyperslab_arrow_container::error::{Error, Result};
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::Body;

#[path = "../tests/golden_types/mod.rs"]
mod golden_types;

/// Bytes of values that one read takes.
const MAX_READ_BYTES: usize = 1 << 16;

fn main() {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("give a container");
        std::process::exit(2);
    };
    match catch_unwind(|| open_everything(Path::new(&path))) {
        Ok(Ok((objects, errors))) => println!("{objects} objects, {errors} errors"),
        Ok(Err(error)) => println!("error: {error}"),
        Err(_) => println!("caught a panic"),
    }
    println!("peak_kib {}", peak_kib().unwrap_or_default());
}

/// Resident memory at its peak, as the kernel counts it for this program.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The number of objects, and of those that could not be read.
fn open_everything(path: &Path) -> Result<(usize, usize)> {
    let container = Container::open(path, false, Options::default(), &golden_types::decode)?;
    let tree = lock(&container.tree);
    let (mut objects, mut errors) = (0, 0);
    for id in tree.reachable().into_keys() {
        let object = tree.object(id)?;
        objects += 1;
        for attribute in object.attributes.values() {
            std::hint::black_box(lock(attribute).bytes.len());
        }
        let Body::Dataset(dataset) = &object.body else { continue };
        let read = dataset.with_table(
            &container.folder,
            None,
            || Ok(Vec::new()),
            |table, space| {
                let width = dataset.datatype.decoded.bytes().max(1);
                let count = space.count().ok_or_else(|| Error::new("more elements than 64 bits count"))?;
                let some = count.min((MAX_READ_BYTES / width) as u64);
                for start in [0, count - some] {
                    let some = usize::try_from(some).map_err(|_| Error::new("too many elements"))?;
                    table.read(&table.all_parts(), start, some, &mut vec![0; some * width], width)?;
                }
                Ok(())
            },
        );
        errors += usize::from(read.is_err());
    }
    Ok((objects, errors))
}
