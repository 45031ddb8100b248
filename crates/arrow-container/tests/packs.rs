//! Many small datasets: their files are in one file, a pack.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use arrow_ipc::reader::FileReader;
use hyperslab_arrow_container::container::{Container, Create, Options};
use hyperslab_arrow_container::elements::{Dataspace, Datatype};
use hyperslab_arrow_container::error::Result;
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::{Body, Dataset, Object, ROOT, StoredDatatype, Target};
use hyperslab_arrow_container::table::Table;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

const INTEGER: Datatype = Datatype::Integer { bytes: 4, signed: true, swapped: false };

/// The encoding is the size of the integers.
fn decode(encoded: &[u8]) -> Result<Datatype> {
    Ok(Datatype::Integer { bytes: encoded.len(), signed: true, swapped: false })
}

fn shape(number: i32) -> Dataspace {
    match number % 3 {
        0 => Dataspace::Simple { shape: vec![5], max_shape: vec![5] },
        1 => Dataspace::Simple { shape: vec![2, 3], max_shape: vec![2, 3] },
        _ => Dataspace::Scalar,
    }
}

fn values(number: i32, salt: i32, space: &Dataspace) -> Vec<u8> {
    (0..space.count().unwrap_or(0) as i32).flat_map(|i| (number * 100 + i + salt).to_le_bytes()).collect()
}

fn add(container: &Container, number: i32) -> Result<()> {
    let space = shape(number);
    let mut table = Table::create(&INTEGER, &space, &container.folder, None, Vec::new())?;
    let bytes = values(number, 0, &space);
    table.write(&table.all_parts(), 0, bytes.len() / 4, &bytes, 4)?;
    let dataset = Dataset::new(StoredDatatype::new(vec![0; 4], INTEGER), space, table);
    let mut tree = lock(&container.tree);
    let id = tree.add(Object::new(Body::Dataset(Arc::new(dataset)), Vec::new()));
    tree.link(ROOT, &format!("d{number}"), false, Target::Hard(id))
}

fn dataset(container: &Container, number: i32) -> Result<Arc<Dataset>> {
    let tree = lock(&container.tree);
    let link = tree.links(ROOT)?.get(&format!("d{number}")).map(|link| link.target.clone());
    match link {
        Some(Target::Hard(id)) => match &tree.object(id)?.body {
            Body::Dataset(dataset) => Ok(Arc::clone(dataset)),
            _ => Err(hyperslab_arrow_container::error::Error::new("not a dataset")),
        },
        _ => Err(hyperslab_arrow_container::error::Error::new("no link")),
    }
}

fn change(container: &Container, number: i32, salt: i32) -> Result<()> {
    container.change()?;
    let space = shape(number);
    let bytes = values(number, salt, &space);
    dataset(container, number)?.with_table(
        &container.folder,
        None,
        || Ok(Vec::new()),
        |table, _| table.write(&table.all_parts(), 0, bytes.len() / 4, &bytes, 4),
    )
}

fn check(container: &Container, numbers: impl Iterator<Item = i32>, salt: impl Fn(i32) -> i32) -> Outcome {
    for number in numbers {
        let expected = values(number, salt(number), &shape(number));
        let found = dataset(container, number)?.with_table(
            &container.folder,
            None,
            || Ok(Vec::new()),
            |table, _| {
                let mut found = vec![0; expected.len()];
                table.read(&table.all_parts(), 0, expected.len() / 4, &mut found, 4)?;
                Ok(found)
            },
        )?;
        assert_eq!(found, expected, "d{number}");
    }
    Ok(())
}

fn names(path: &Path) -> std::io::Result<BTreeSet<String>> {
    std::fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

fn packs(path: &Path) -> std::io::Result<Vec<String>> {
    Ok(names(path)?.into_iter().filter(|name| name.starts_with("datasets.")).collect())
}

fn version(path: &Path) -> std::result::Result<String, Box<dyn std::error::Error>> {
    let schema = FileReader::try_new(std::fs::File::open(path.join("catalog.arrow"))?, None)?.schema();
    Ok(schema.metadata()["hyperslab.container"].clone())
}

fn create(path: &Path, options: Options, count: i32) -> std::result::Result<Arc<Container>, Box<dyn std::error::Error>> {
    let container = Container::create(path, Create::Truncate, Object::group(Vec::new(), false), Vec::new(), options)?;
    container.change()?;
    (0..count).try_for_each(|number| add(&container, number))?;
    container.publish()?;
    Ok(container)
}

#[test]
fn a_few_datasets_have_files_and_many_have_one() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    drop(create(&path, Options::default(), 255)?);
    assert_eq!((names(&path)?.len(), packs(&path)?.len(), version(&path)?.as_str()), (255 + 3, 0, "1"));
    check(&*Container::open(&path, false, Options::default(), &decode)?, 0..255, |_| 0)?;
    let container = create(&path, Options::default(), 256)?;
    check(&container, 0..256, |_| 0)?;
    drop(container);
    assert_eq!((names(&path)?.len(), packs(&path)?.len(), version(&path)?.as_str()), (1 + 3, 1, "2"));
    check(&*Container::open(&path, false, Options::default(), &decode)?, 0..256, |_| 0)?;
    // Anyone's Arrow reader takes a pack.
    let pack = FileReader::try_new(std::fs::File::open(path.join(&packs(&path)?[0]))?, None)?;
    assert_eq!(pack.map(|batch| batch.map(|batch| batch.num_rows())).collect::<std::result::Result<Vec<_>, _>>()?, [256]);
    Ok(())
}

#[test]
fn changes_after_a_pack_are_published_and_packs_without_use_are_removed() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    drop(create(&path, Options::default(), 600)?);
    let first = packs(&path)?;
    // A few datasets change: each has a file of its own, the others stay in the pack.
    let container = Container::open(&path, true, Options::default(), &decode)?;
    (0..10).try_for_each(|number| change(&container, number, 7))?;
    container.publish()?;
    let salt = |number: i32| if number < 10 { 7 } else { 0 };
    check(&container, 0..600, salt)?;
    assert_eq!((packs(&path)?, names(&path)?.len()), (first.clone(), 1 + 3 + 10));
    // Most change: they are in a new pack, with what is left of the old one, which is removed.
    (0..500).try_for_each(|number| change(&container, number, 9))?;
    container.publish()?;
    let second = packs(&path)?;
    assert_eq!((second.len(), names(&path)?.len()), (1, 1 + 3));
    assert_ne!(second, first);
    let salt = |number: i32| if number < 500 { 9 } else { 0 };
    check(&container, 0..600, salt)?;
    drop(container);
    let container = Container::open(&path, true, Options::default(), &decode)?;
    {
        let mut tree = lock(&container.tree);
        for number in 0..595 {
            let removed = tree.unlink(ROOT, &format!("d{number}"))?;
            if let Target::Hard(id) = removed.target {
                tree.objects.remove(&id);
            }
        }
    }
    container.change()?;
    container.publish()?;
    // Five files of 600 are used: they are moved, so that the others go.
    let third = packs(&path)?;
    assert!(third.len() == 1 && third != second, "{third:?}");
    assert!(std::fs::metadata(path.join(&third[0]))?.len() < 20_000);
    check(&container, 595..600, |_| 0)?;
    drop(container);
    check(&*Container::open(&path, false, Options::default(), &decode)?, 595..600, |_| 0)
}

#[test]
fn one_file_has_the_files_of_packs() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    let mut options = Options::default();
    options.one_file = true;
    let container = create(&path, options, 400)?;
    check(&container, 0..400, |_| 0)?;
    (0..300).try_for_each(|number| change(&container, number, 3))?;
    container.publish()?;
    let salt = |number: i32| if number < 300 { 3 } else { 0 };
    check(&container, 0..400, salt)?;
    drop(container);
    assert_eq!(names(folder.path())?, BTreeSet::from(["f".to_owned()]));
    let rows = FileReader::try_new(std::fs::File::open(&path)?, None)?.map(|batch| batch.map(|batch| batch.num_rows()));
    assert_eq!(rows.collect::<std::result::Result<Vec<_>, _>>()?, [400 + 3]);
    check(&*Container::open(&path, false, options, &decode)?, 0..400, salt)
}

#[test]
fn a_pack_that_is_gone_or_damaged_is_an_error() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    drop(create(&path, Options::default(), 300)?);
    let pack = path.join(&packs(&path)?[0]);
    let whole = std::fs::read(&pack)?;
    for cut in [0, 100, 5000, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&pack, &whole[..cut])?;
        let refused = Container::open(&path, false, Options::default(), &decode).map(|_| ());
        assert!(refused.is_err_and(|error| error.message.contains("datasets.")), "{cut} of {} bytes", whole.len());
    }
    std::fs::remove_file(&pack)?;
    assert!(Container::open(&path, false, Options::default(), &decode).is_err());
    Ok(())
}
