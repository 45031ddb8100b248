//! The fuzz target of this crate for a short time, as testing/fuzz/src/short.rs says.

use std::fs;
use std::path::{Path, PathBuf};

#[path = "../../../testing/fuzz/src/lib.rs"]
#[expect(dead_code, clippy::expect_used, clippy::panic, reason = "the fuzz targets' own checks, which fail by panic")]
mod fuzz;

#[path = "../../../testing/fuzz/src/read_sizes.rs"]
#[expect(clippy::expect_used, reason = "the same")]
mod read_sizes;

#[test]
fn damaged_files_read_alike_in_whole_and_in_parts() {
    let testing = Path::new("../../testing/fuzz/regressions");
    let own: Vec<PathBuf> = fs::read_dir(testing).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    fuzz::short::run("read_sizes", read_sizes::read_file, 33_000, Path::new(env!("CARGO_TARGET_TMPDIR")), &own);
}

#[path = "../../../testing/fuzz/src/containers.rs"]
#[expect(clippy::expect_used, reason = "the same")]
mod containers;

#[test]
fn damaged_containers_read_alike_in_whole_and_in_parts() -> hyperslab::Result<()> {
    let folder = tempfile::tempdir()?;
    let seeds = containers::write_seeds(folder.path());
    fuzz::short::write_seeds("containers", &seeds);
    fuzz::short::run("containers", containers::container, MAX_CONTAINER_BYTES, Path::new(env!("CARGO_TARGET_TMPDIR")), &seeds);
    Ok(())
}

/// Bytes of the largest seed, and some more.
const MAX_CONTAINER_BYTES: usize = 200_000;

#[path = "../../../testing/fuzz/src/sidecars.rs"]
#[expect(clippy::expect_used, reason = "the same")]
mod sidecars;

#[test]
fn damaged_sidecars_give_errors_or_the_rows_of_the_data() -> hyperslab::Result<()> {
    let folder = tempfile::tempdir()?;
    let seeds = sidecars::write_seeds(folder.path());
    assert!(seeds.len() >= 2, "a manifest and an index file");
    fuzz::short::write_seeds("sidecars", &seeds);
    fuzz::short::run("sidecars", sidecars::sidecar, MAX_CONTAINER_BYTES, Path::new(env!("CARGO_TARGET_TMPDIR")), &seeds);
    sidecars::clean();
    Ok(())
}

#[path = "../../../testing/fuzz/src/documents.rs"]
#[expect(clippy::expect_used, reason = "the same")]
mod documents;

/// Documents that tasks exchange, each after the number of its kind and without its checksum, and conditions.
fn write_documents(folder: &Path) -> hyperslab::Result<Vec<PathBuf>> {
    use hyperslab::index::{IndexPlan, IndexRequest};
    use hyperslab::predicate::Predicate;
    use hyperslab::scan::{Plan, ScanRequest, SplitPolicy};
    use hyperslab::write::{DatasetDefinition, Existing, Extent, FileWriter, Region, WriteMode, WritePlan, no_heap};
    use hyperslab::{ByteOrder, Cancellation, Dataspace, Datatype, SessionOptions, new_session};

    let session = new_session(SessionOptions::default())?;
    let definition = || DatasetDefinition::new(Datatype::integer(1, false, ByteOrder::Little), Dataspace::fixed(vec![4]));
    let plan = WritePlan::new(&folder.join("planned.h5"), WriteMode::Create, None)?;
    let mut task = plan.task(0, &session)?;
    let all = Region::all(&[4]);
    task.create_dataset("/x", definition(), Extent::Region(all.clone()))?;
    task.write("/x", &all, &[1, 2, 3, 4], &no_heap)?;
    let fragment = task.finish()?;
    plan.abort()?;
    let path = folder.join("read.h5");
    let mut writer = FileWriter::create(&path, Existing::Replace, None, &session)?;
    writer.create_dataset("/x", definition())?;
    writer.write("/x", &all, &[1, 2, 3, 4], &no_heap)?;
    writer.finish(Existing::Replace)?;
    let request = ScanRequest::new("/x").with_predicate(Some(Predicate::parse("x > 2")?));
    let splits = Plan::new(&[session.open(&path)?], &request)?.split(&SplitPolicy::default().with_count(Some(2)))?;
    let mut documents = vec![(0, plan.encode()?), (1, fragment.encode()?)];
    for split in &splits {
        documents.push((2, split.encode()?));
    }
    let never = Cancellation::new();
    for task in IndexPlan::new(&[session.open(&path)?], &IndexRequest::new(vec!["/x".to_owned()]), &never)?.tasks(1) {
        documents.extend([(3, task.encode()?), (4, task.run(&session, &never, &|_| ())?.encode()?)]);
    }
    for text in ["x > 3 and (y in (1, 2.5) or not name = 'a''b')", "t between '2020-01-31' and '2020-02-01T12:00'", "a[0:10,:] + 2 * b <= -1e-3", "n is null"] {
        documents.push((5, documents::sealed(text.as_bytes())));
    }
    // A line of eight digits.
    const CHECKSUM_BYTES: usize = 9;
    let made = documents.into_iter().enumerate().map(|(number, (kind, bytes))| {
        let seed = folder.join(format!("document{number:02}"));
        let body = bytes.get(..bytes.len() - CHECKSUM_BYTES).unwrap_or_default();
        fs::write(&seed, [&[kind], body].concat())?;
        Ok(seed)
    });
    made.collect()
}

#[test]
fn damaged_documents_and_conditions_give_errors_or_values_that_stay() -> hyperslab::Result<()> {
    let folder = tempfile::tempdir()?;
    let seeds = write_documents(folder.path())?;
    for seed in &seeds {
        let (kind, body) = fs::read(seed)?.split_first().map(|(kind, body)| (*kind, body.to_vec())).unwrap_or_default();
        let bytes = documents::sealed(&body);
        let is_whole = match kind {
            0 => hyperslab::write::WritePlan::decode(&bytes).is_ok(),
            1 => hyperslab::write::Fragment::decode(&bytes).is_ok(),
            2 => hyperslab::scan::Split::decode(&bytes).is_ok(),
            3 => hyperslab::index::IndexTask::decode(&bytes).is_ok(),
            4 => hyperslab::index::IndexFragment::decode(&bytes).is_ok(),
            _ => true,
        };
        assert!(is_whole, "the seed {} is a document", seed.display());
    }
    fuzz::short::write_seeds("documents", &seeds);
    fuzz::short::run("documents", documents::document, 33_000, Path::new(env!("CARGO_TARGET_TMPDIR")), &seeds);
    Ok(())
}
