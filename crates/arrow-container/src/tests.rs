//! Tests of the storage without HDF5.

use std::fs::File;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_ipc::reader::FileReader;

use crate::container::{Container, Create, Options};
use crate::elements::arrow_arrays::{from_arrow, to_arrow};
use crate::elements::{Arena, Dataspace, Datatype, Member, columns};
use crate::error::Error;
use crate::files::Folder;
use crate::lock;
use crate::model::{Body, Object, ROOT, Target, Tree};
use crate::ranks::Ranks;
use crate::table::{Part, Table};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn simple(shape: &[u64]) -> Dataspace {
    Dataspace::Simple { shape: shape.to_vec(), max_shape: shape.to_vec() }
}

/// 16 bytes: an int32 at 0, a big-endian float64 at 8.
fn particle() -> Datatype {
    let member = |name: &str, offset, datatype| Member { name: name.to_owned(), offset, datatype };
    Datatype::Compound {
        bytes: 16,
        members: vec![
            member("i", 0, Datatype::Integer { bytes: 4, signed: true, swapped: false }),
            member("f", 8, Datatype::Float { bytes: 8, swapped: true }),
        ],
    }
}

fn record(i: i32) -> Vec<u8> {
    [&i.to_le_bytes()[..], &[0; 4], &(f64::from(i) / 2.0).to_be_bytes()].concat()
}

fn all_parts() -> Vec<Part> {
    vec![Part { leaf: 0, at: 0 }, Part { leaf: 1, at: 8 }]
}

#[test]
fn records_become_columns_and_records_again_in_memory_and_in_a_file() -> Outcome {
    let folder = tempfile::tempdir()?;
    for count in [0u64, 1, 1000, 100_000] {
        let space = simple(&[count]);
        let mut table = Table::create(&particle(), &space, folder.path(), None, Vec::new())?;
        assert_eq!(table.in_file(), count == 100_000);
        let all: Vec<u8> = (0..count as i32).flat_map(record).collect();
        table.write(&all_parts(), 0, count as usize, &all, 16)?;
        assert_eq!(table.records()?, all);
        let name = format!("t.{count}.arrow");
        table.publish(&name, &space, false)?;
        let mut reader = FileReader::try_new(File::open(folder.path().join(&name))?, None)?;
        let batch = reader.next().ok_or("no batch")??;
        assert_eq!(batch.num_rows() as u64, count);
        let expected: Vec<i32> = (0..count as i32).collect();
        assert_eq!(batch.column(0).as_primitive::<Int32Type>().values()[..], expected[..]);
        assert!(batch.column(1).as_primitive::<Float64Type>().values().iter().zip(&expected).all(|(f, i)| *f == f64::from(*i) / 2.0));
        let again = Table::open(&particle(), &space, &Folder::plain(folder.path()), &name, Some(Vec::new()))?;
        assert_eq!(again.records()?, all);
    }
    Ok(())
}

#[test]
fn what_was_published_never_changes() -> Outcome {
    let folder = tempfile::tempdir()?;
    let space = simple(&[100_000]);
    let mut table = Table::create(&particle(), &space, folder.path(), None, Vec::new())?;
    table.publish("a.1.arrow", &space, false)?;
    let before = std::fs::read(folder.path().join("a.1.arrow"))?;
    table.write(&all_parts(), 5, 1, &record(7), 16)?;
    assert_eq!(std::fs::read(folder.path().join("a.1.arrow"))?, before);
    table.publish("a.2.arrow", &space, false)?;
    assert_eq!(table.records()?[80..96], record(7)[..]);
    drop(table);
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 2);
    Ok(())
}

#[test]
fn growing_and_shrinking_keep_values_and_fill_the_rest() -> Outcome {
    let folder = tempfile::tempdir()?;
    let datatype = Datatype::Integer { bytes: 4, signed: true, swapped: false };
    for scale in [1u64, 400] {
        let mut space = simple(&[2 * scale, 3]);
        let mut table = Table::create(&datatype, &space, folder.path(), None, 7i32.to_le_bytes().to_vec())?;
        let mut expected: Vec<Vec<i32>> = vec![vec![7; 3]; 2 * scale as usize];
        for (step, next) in [[4 * scale, 3], [3 * scale, 2], [5 * scale, 4], [scale, 4], [900 * scale, 4]].into_iter().enumerate() {
            let value = step as i32 + 100;
            table.write(&[Part { leaf: 0, at: 0 }], 1, 1, &value.to_le_bytes(), 4)?;
            expected[0][1] = value;
            let to = simple(&next);
            table.resize(&space, &to)?;
            space = to;
            expected.resize(next[0] as usize, vec![7; 3]);
            expected.iter_mut().for_each(|row| row.resize(next[1] as usize, 7));
            let flat: Vec<u8> = expected.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
            assert!(table.records()? == flat, "step {step} of {scale}");
        }
    }
    Ok(())
}

#[test]
fn elements_beyond_the_table_are_refused() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut table = Table::create(&particle(), &simple(&[4]), folder.path(), None, Vec::new())?;
    assert!(table.write(&all_parts(), 4, 1, &record(1), 16).is_err());
    assert!(table.write(&all_parts(), u64::MAX, 1, &record(1), 16).is_err());
    assert!(table.write(&all_parts(), 0, 2, &record(1), 16).is_err());
    assert!(table.read(&all_parts(), 3, 2, &mut [0; 32], 16).is_err());
    assert!(Table::create(&particle(), &simple(&[1 << 60]), folder.path(), None, Vec::new()).is_err());
    assert!(Table::create(&particle(), &simple(&[u64::MAX, 2]), folder.path(), None, Vec::new()).is_err());
    Ok(())
}

#[test]
fn values_of_variable_length_survive_arrow() -> Outcome {
    let arena = Arena::new();
    let entry = |text: Option<&[u8]>, count: u32| -> Result<Vec<u8>, Error> {
        let name = text.map_or(Ok([0; 16]), |text| arena.put(text))?;
        Ok([&count.to_le_bytes()[..], &name].concat())
    };
    let texts = [entry(Some(b"abc"), 3)?, entry(None, 0)?, entry(Some(b""), 0)?].concat();
    let array = to_arrow(&Datatype::Text, &texts, 20, 3)?;
    assert_eq!(array.as_string::<i64>().iter().collect::<Vec<_>>(), [Some("abc"), None, Some("")]);
    let numbers = Datatype::Sequence(Box::new(Datatype::Integer { bytes: 2, signed: true, swapped: true }));
    let lists = [entry(Some(&[0, 1, 0, 2]), 2)?, entry(None, 0)?].concat();
    let array = to_arrow(&numbers, &lists, 20, 2)?;
    assert_eq!(format!("{:?}", array.as_list::<i64>().value(0)), "PrimitiveArray<Int16>\n[\n  1,\n  2,\n]");
    for (datatype, array) in [(Datatype::Text, to_arrow(&Datatype::Text, &texts, 20, 3)?), (numbers, array)] {
        let mut arenas = Vec::new();
        let bytes = from_arrow(&datatype, &array, &mut arenas)?;
        assert_eq!(to_arrow(&datatype, &bytes, 20, array.len())?.to_data(), array.to_data());
        drop(arenas);
        assert!(to_arrow(&datatype, &bytes, 20, array.len()).is_err(), "the blobs are gone, and that is said");
    }
    Ok(())
}

#[test]
fn nested_compounds_are_columns_of_their_own_and_arrays_of_them_are_not() {
    let inner = particle();
    let member = |name: &str, offset, datatype| Member { name: name.to_owned(), offset, datatype };
    let outer =
        Datatype::Compound { bytes: 64, members: vec![member("n", 0, inner.clone()), member("a", 16, Datatype::Array { count: 3, element: Box::new(inner) })] };
    let columns = columns(&outer);
    assert!(columns[0].direct && !columns[1].direct);
    assert_eq!(columns[0].leaves.iter().map(|leaf| (leaf.offset, leaf.bytes, leaf.swap_bytes)).collect::<Vec<_>>(), [(0, 4, 1), (8, 8, 8)]);
    assert_eq!((columns[1].leaves.len(), columns[1].leaves[0].bytes), (1, 48));
}

fn no_types(_: &[u8]) -> Result<Datatype, Error> {
    Err(Error::new("there are no datatypes here"))
}

#[test]
fn a_tree_is_read_as_it_was_published_and_half_written_ones_are_refused() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    let container = Container::create(&path, Create::New, Object::group(Vec::new(), true), vec![1, 2], Options::default())?;
    {
        let mut tree = lock(&container.tree);
        let group = tree.add(Object::group(vec![9], false));
        tree.link(ROOT, "g", true, Target::Hard(group))?;
        tree.link(group, "back", false, Target::Hard(ROOT))?;
        tree.link(ROOT, "s", false, Target::Soft("/g".to_owned()))?;
        assert!(tree.link(ROOT, "g", false, Target::Hard(group)).is_err());
    }
    container.change()?;
    container.publish()?;
    assert!(Container::create(&path, Create::New, Object::group(Vec::new(), false), Vec::new(), Options::default()).is_err());
    drop(container);
    let read = Container::open(&path, false, Options::default(), &no_types)?;
    let tree = lock(&read.tree);
    assert_eq!(tree.creation, [1, 2]);
    assert_eq!(tree.links(ROOT)?.keys().collect::<Vec<_>>(), ["g", "s"]);
    assert_eq!(tree.links(ROOT)?["s"].target, Target::Soft("/g".to_owned()));
    assert!(matches!(tree.object(ROOT)?.body, Body::Group { tracked: true, next_order: 2, .. }));
    assert_eq!(tree.references(ROOT), 2);
    drop(tree);
    assert!(read.change().is_err(), "it is open for reading");
    drop(read);
    let catalog = path.join("catalog.arrow");
    let whole = std::fs::read(&catalog)?;
    for cut in (0..whole.len()).step_by(97) {
        std::fs::write(&catalog, &whole[..cut])?;
        assert!(Container::open(&path, false, Options::default(), &no_types).is_err(), "{cut} of {} bytes", whole.len());
    }
    std::fs::remove_file(&catalog)?;
    let refused = Container::open(&path, false, Options::default(), &no_types).map(|_: Arc<Container>| ());
    assert!(refused.is_err_and(|error| error.message.contains("without catalog.arrow")));
    Ok(())
}

#[test]
fn what_ranks_have_flushed_is_kept_until_one_file_has_it() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f.h5");
    let options = Options { one_file: true, ..Options::default() };
    let entries = || std::fs::read_dir(folder.path()).map(|entries| entries.flatten().count());
    let ranks = || Ranks::new(0, 1, Box::new(|own: &[u8]| Ok(vec![own.to_vec()]))).map(Arc::new);
    let names = |container: &Container| lock(&container.tree).links(ROOT).map(|links| links.keys().cloned().collect::<Vec<_>>());
    let add = |container: &Container, name: &str| {
        lock(&container.tree).link(ROOT, name, false, Target::Soft("/elsewhere".to_owned()))?;
        container.change()
    };
    let container = Container::create_collective(&path, Create::New, Object::group(Vec::new(), false), Vec::new(), options, ranks()?)?;
    add(&container, "flushed")?;
    container.publish()?;
    let copy = folder.path().join("copy.h5");
    std::fs::copy(&path, &copy)?;
    assert!(names(&*Container::open(&copy, false, options, &no_types)?)?.is_empty(), "the file has what was closed");
    std::fs::remove_file(&copy)?;
    add(&container, "lost")?;
    // As if closing had failed: the disk is full.
    drop(container);
    assert_eq!(entries()?, 2);
    // The process that takes it over may fail, too.
    let taken = Container::open(&path, true, options, &no_types)?;
    assert_eq!(names(&taken)?, ["flushed"]);
    drop(taken);
    assert_eq!(entries()?, 2);
    let taken = Container::open_collective(&path, options, &no_types, ranks()?)?;
    add(&taken, "more")?;
    taken.finish()?;
    drop(taken);
    assert_eq!(entries()?, 1, "the folder is gone");
    let read = Container::open(&path, false, options, &no_types)?;
    assert_eq!(names(&read)?, ["flushed", "more"]);
    Ok(())
}

#[test]
fn objects_without_references_are_removed_with_those_that_they_led_to() -> Result<(), Error> {
    let mut tree = Tree::new(Vec::new(), Object::group(Vec::new(), false));
    let [linked, alone, below, twice, kept, less, open] = std::array::from_fn(|_| tree.add(Object::group(Vec::new(), false)));
    tree.link(ROOT, "linked", true, Target::Hard(linked))?;
    tree.link(alone, "below", true, Target::Hard(below))?;
    tree.link(alone, "twice", true, Target::Hard(twice))?;
    tree.link(linked, "twice", true, Target::Hard(twice))?;
    tree.link(ROOT, "less", true, Target::Hard(less))?;
    tree.object_mut(kept)?.extra_references += 1;
    tree.object_mut(less)?.extra_references -= 1;
    [linked, alone, kept, less, open].into_iter().for_each(|id| tree.suspect(id));
    assert_eq!([ROOT, linked, alone, below, twice, kept, less, open].map(|id| tree.references(id)), [1, 1, 0, 1, 2, 1, 0, 0]);
    tree.remove_unreferenced(|id| id == open);
    assert_eq!(tree.objects.keys().copied().collect::<Vec<_>>(), [ROOT, linked, twice, kept, open]);
    assert_eq!(tree.references(twice), 1);
    // An open object is removed when it is closed, and others when their last link is.
    tree.unlink(linked, "twice")?;
    tree.remove_unreferenced(|_| false);
    assert_eq!(tree.objects.keys().copied().collect::<Vec<_>>(), [ROOT, linked, kept]);
    Ok(())
}
