//! Large datasets: in the form of one file their values are written straight into the next state of the file, and published values are
//! replaced without copying what is overwritten.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use hyperslab_arrow_container::container::{Container, Create, Options};
use hyperslab_arrow_container::elements::{Dataspace, Datatype, Member};
use hyperslab_arrow_container::error::{Error, Result};
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::{Body, Dataset, Object, ObjectId, ROOT, StoredDatatype, Target};
use hyperslab_arrow_container::table::Table;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

const COUNT: u64 = 100_000;

fn record() -> Datatype {
    let member = |name: &str, at, bytes| Member::new(name.to_owned(), at, Datatype::Integer { bytes, signed: true, swapped: false });
    Datatype::Compound { bytes: 12, members: vec![member("a", 0, 4), member("b", 4, 8)] }
}

fn decode(_: &[u8]) -> Result<Datatype> {
    Ok(record())
}

fn space(count: u64) -> Dataspace {
    Dataspace::Simple { shape: vec![count], max_shape: vec![u64::MAX] }
}

fn values(salt: u64, count: u64) -> Vec<u8> {
    (0..count * 12).map(|i| (i.wrapping_mul(7).wrapping_add(i / 255).wrapping_add(salt)) as u8).collect()
}

fn options(one_file: bool) -> Options {
    let mut options = Options::default();
    options.one_file = one_file;
    options
}

fn add(container: &Container, name: &str, values: &[u8]) -> Result<(ObjectId, Arc<Dataset>)> {
    let count = values.len() as u64 / 12;
    let mut table = Table::create(&record(), &space(count), &container.folder, None, Vec::new())?;
    table.write(&table.all_parts(), 0, count as usize, values, 12)?;
    let dataset = Arc::new(Dataset::new(StoredDatatype::new(vec![0], record()), space(count), table));
    let mut tree = lock(&container.tree);
    let id = tree.add(Object::new(Body::Dataset(Arc::clone(&dataset)), Vec::new()));
    if !name.is_empty() {
        tree.link(ROOT, name, false, Target::Hard(id))?;
    }
    container.change()?;
    Ok((id, dataset))
}

fn dataset(container: &Container, name: &str) -> Result<(ObjectId, Arc<Dataset>)> {
    let tree = lock(&container.tree);
    match tree.links(ROOT)?.get(name).map(|link| link.target.clone()) {
        Some(Target::Hard(id)) => match &tree.object(id)?.body {
            Body::Dataset(dataset) => Ok((id, Arc::clone(dataset))),
            _ => Err(Error::new("not a dataset")),
        },
        _ => Err(Error::new("no link")),
    }
}

fn with<T>(container: &Container, dataset: &Dataset, work: impl FnOnce(&mut Table) -> Result<T>) -> Result<T> {
    dataset.with_table(&container.folder, None, || Ok(Vec::new()), |table, _| work(table))
}

fn read(container: &Container, name: &str) -> Result<Vec<u8>> {
    let (_, dataset) = dataset(container, name)?;
    let count = lock(&dataset.extent).space.count().unwrap_or(0) as usize;
    let mut out = vec![0; count * 12];
    with(container, &dataset, |table| table.read(&table.all_parts(), 0, count, &mut out, 12))?;
    Ok(out)
}

/// The inode of the growing file in the folder next to a container that is one file.
fn growing(path: &Path) -> std::io::Result<Option<u64>> {
    for entry in std::fs::read_dir(path.parent().unwrap_or(path))?.flatten() {
        if entry.file_name().to_string_lossy().ends_with(".open") {
            let files: Vec<_> = std::fs::read_dir(entry.path())?.flatten().collect();
            let part = files.iter().find(|file| file.file_name().to_string_lossy().ends_with(".part"));
            return part.map(|file| file.metadata().map(|metadata| metadata.ino())).transpose();
        }
    }
    Ok(None)
}

#[test]
fn values_are_written_into_the_file_that_is_published() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("x.h5");
    let container = Container::create(&path, Create::New, Object::group(Vec::new(), false), Vec::new(), options(true))?;
    let (one, two, small) = (values(1, COUNT), values(2, 2 * COUNT), values(3, 5));
    add(&container, "one", &one)?;
    let (id, released) = add(&container, "two", &two)?;
    add(&container, "small", &small)?;
    container.release_values(id, "/two", &released)?;
    assert!(read(&container, "two")? == two, "values that were released before they are published");
    let file = growing(&path)?;
    assert!(file.is_some());
    container.publish()?;
    assert_eq!(file, Some(std::fs::metadata(&path)?.ino()), "the file that the values were written to is renamed, not copied");
    let reader = Container::open(&path, false, options(true), &decode);
    assert!(reader.is_ok_and(|reader| Arc::ptr_eq(&reader, &container)), "the process shares it");
    for (name, values) in [("one", &one), ("two", &two), ("small", &small)] {
        assert!(read(&container, name)? == *values, "{name}");
    }
    // Changes go to another file; the one that readers have open stays as it is.
    let before = std::fs::read(&path)?;
    let old = std::fs::File::open(&path)?;
    let (_, changed) = dataset(&container, "one")?;
    container.change()?;
    let more = values(9, 10);
    with(&container, &changed, |table| table.write(&table.all_parts(), 500, 10, &more, 12))?;
    container.publish()?;
    assert_ne!(std::fs::metadata(&path)?.ino(), old.metadata()?.ino());
    let mut still = Vec::new();
    std::io::Read::read_to_end(&mut &old, &mut still)?;
    assert!(still == before);
    drop((container, changed, released));
    let again = Container::open(&path, false, options(true), &decode)?;
    let expected = [&one[..6000], &more[..], &one[6120..]].concat();
    assert!(read(&again, "one")? == expected && read(&again, "two")? == two && read(&again, "small")? == small);
    Ok(())
}

#[test]
fn a_file_with_much_unused_space_is_copied() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("x.h5");
    let container = Container::create(&path, Create::New, Object::group(Vec::new(), false), Vec::new(), options(true))?;
    let (first, kept, last) = (values(1, COUNT), values(2, COUNT), values(3, COUNT / 3));
    for (name, values) in [("first", &first), ("kept", &kept), ("last", &last)] {
        let (id, dataset) = add(&container, name, values)?;
        container.release_values(id, name, &dataset)?;
    }
    lock(&container.tree).unlink(ROOT, "first")?;
    lock(&container.tree).remove_unreferenced(|_| false);
    container.publish()?;
    let bytes = std::fs::metadata(&path)?.len();
    assert!(bytes < (COUNT * 4 / 3) * 12 + (1 << 20), "{bytes} bytes");
    assert!(read(&container, "kept")? == kept && read(&container, "last")? == last);
    // A little unused space after a dataset becomes part of it.
    let mut all = Vec::new();
    for i in 0..12 {
        let values = values(10 + i, if i == 5 { COUNT / 3 } else { COUNT });
        let (id, dataset) = add(&container, &format!("d{i}"), &values)?;
        container.release_values(id, "d", &dataset)?;
        all.push(values);
    }
    lock(&container.tree).unlink(ROOT, "d5")?;
    lock(&container.tree).remove_unreferenced(|_| false);
    let file = growing(&path)?;
    container.publish()?;
    assert_eq!(file, Some(std::fs::metadata(&path)?.ino()));
    drop(container);
    let again = Container::open(&path, false, options(true), &decode)?;
    for (i, values) in all.iter().enumerate().filter(|(i, _)| *i != 5) {
        assert!(read(&again, &format!("d{i}"))? == *values, "{i}");
    }
    assert!(read(&again, "kept")? == kept);
    Ok(())
}

#[test]
fn values_that_change_again_before_they_are_published_are_in_the_file_once() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("x.h5");
    let container = Container::create(&path, Create::New, Object::group(Vec::new(), false), Vec::new(), options(true))?;
    add(&container, "other", &values(1, COUNT))?;
    let (id, x) = add(&container, "x", &values(2, COUNT))?;
    for turn in 0..5 {
        with(&container, &x, |table| table.write(&table.all_parts(), 10, 20, &values(turn, 20), 12))?;
        container.release_values(id, "/x", &x)?;
    }
    container.publish()?;
    let expected = [&values(2, COUNT)[..120], &values(4, 20)[..], &values(2, COUNT)[360..]].concat();
    assert!(read(&container, "x")? == expected && read(&container, "other")? == values(1, COUNT));
    let metadata = std::fs::metadata(&path)?;
    assert!(metadata.len() < 2 * COUNT * 12 + (1 << 20), "{} bytes", metadata.len());
    Ok(())
}

#[test]
fn an_object_without_a_link_keeps_its_values_when_the_file_is_published() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("x.h5");
    let container = Container::create(&path, Create::New, Object::group(Vec::new(), false), Vec::new(), options(true))?;
    let (alone, linked) = (values(1, COUNT), values(2, COUNT));
    let (id, dataset) = add(&container, "", &alone)?;
    add(&container, "linked", &linked)?;
    container.publish()?;
    with(&container, &dataset, |table| table.write(&table.all_parts(), 0, 1, &values(7, 1), 12))?;
    lock(&container.tree).link(ROOT, "late", false, Target::Hard(id))?;
    container.change()?;
    container.publish()?;
    drop((container, dataset));
    let again = Container::open(&path, false, options(true), &decode)?;
    assert!(read(&again, "linked")? == linked);
    assert!(read(&again, "late")? == [&values(7, 1)[..], &alone[12..]].concat());
    Ok(())
}

#[test]
fn published_values_are_replaced_in_part() -> Outcome {
    for one_file in [false, true] {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("x.h5");
        let container = Container::create(&path, Create::New, Object::group(Vec::new(), false), Vec::new(), options(one_file))?;
        let mut expected = values(1, COUNT);
        add(&container, "x", &expected)?;
        container.publish()?;
        drop(container);
        for case in 0..5u64 {
            let before = Container::open(&path, false, options(one_file), &decode)?;
            assert!(read(&before, "x")? == expected, "before {case}");
            drop(before);
            let container = Container::open(&path, true, options(one_file), &decode)?;
            let (_, x) = dataset(&container, "x")?;
            container.change()?;
            let new = values(20 + case, COUNT);
            with(&container, &x, |table| {
                let parts = table.all_parts();
                // Values that are too few change nothing.
                assert!(table.write(&parts, 0, COUNT as usize, &new[..1200], 12).is_err());
                assert!(table.write_strided(&parts, 0, 2, COUNT as usize / 2, &new[..1200], 12).is_err());
                match case {
                    0 => table.write(&parts, 0, COUNT as usize, &new, 12)?,
                    1 => table.write(&parts, 1000, 70_000, &new, 12)?,
                    2 => table.write(&parts[1..], 5, 99_000, &new, 12)?,
                    3 => table.write_strided(&parts, 1, 2, COUNT as usize / 2, &new, 12)?,
                    _ => table.write_strided(&parts[..1], 11, 9, 10_000, &new, 12)?,
                }
                Ok(())
            })?;
            let element = |i: usize| &new[i * 12..i * 12 + 12];
            let count = COUNT as usize;
            match case {
                0 => expected.copy_from_slice(&new),
                1 => expected[12_000..852_000].copy_from_slice(&new[..840_000]),
                2 => (0..99_000).for_each(|i| expected[(i + 5) * 12 + 4..(i + 5) * 12 + 12].copy_from_slice(&element(i)[4..])),
                3 => (0..count / 2).for_each(|i| expected[(2 * i + 1) * 12..(2 * i + 2) * 12].copy_from_slice(element(i))),
                _ => (0..10_000).for_each(|i| expected[(9 * i + 11) * 12..(9 * i + 11) * 12 + 4].copy_from_slice(&element(i)[..4])),
            }
            assert!(read(&container, "x")? == expected, "case {case}");
            container.publish()?;
            assert!(read(&container, "x")? == expected, "after {case}");
        }
    }
    Ok(())
}
