//! What `explain` says of the strategies that find matching rows: one test for each.
#![expect(clippy::panic, reason = "a test that cannot go on")]

use std::path::Path;

use hyperslab::filter::{Filter, Pipeline};
use hyperslab::index::{IndexPlan, IndexRequest, commit};
use hyperslab::predicate::Predicate;
use hyperslab::scan::pruner::Level;
use hyperslab::scan::{Plan, ScanRequest};
use hyperslab::write::{DatasetDefinition, Existing, FileWriter, Region, no_heap};
use hyperslab::{ByteOrder, Cancellation, Dataspace, Datatype, Result, Session, SessionOptions, new_session};

const ROWS: u64 = 32_768;

fn session() -> Result<Session> {
    new_session(SessionOptions::default().with_threads(Some(1)))
}

/// Writes columns `/a` and `/b` and the deflated `/c` of 16-bit numbers: `a` and `c` count up, `b` counts down.
fn write(path: &Path) -> Result<()> {
    let session = session()?;
    let mut file = FileWriter::create(path, Existing::Replace, None, &session)?;
    let up: Vec<u8> = (0..ROWS).flat_map(|n| u16::try_from(n).unwrap_or(0).to_le_bytes()).collect();
    let down: Vec<u8> = (0..ROWS).flat_map(|n| u16::try_from(ROWS - 1 - n).unwrap_or(0).to_le_bytes()).collect();
    for (name, bytes, filtered) in [("/a", &up, false), ("/b", &down, false), ("/c", &up, true)] {
        let mut definition = DatasetDefinition::new(Datatype::integer(2, false, ByteOrder::Little), Dataspace::fixed(vec![ROWS]));
        definition.chunk_shape = Some(vec![4096]);
        if filtered {
            definition.filters = Pipeline { filters: vec![Filter { id: 1, name: None, optional: false, parameters: vec![1] }] };
        }
        file.create_dataset(name, definition)?;
        file.write(name, &Region::all(&[ROWS]), bytes, &no_heap)?;
    }
    file.finish(Existing::Replace)?;
    Ok(())
}

/// What `explain` says of a scan of all columns with these indexes; and the number of rows, which must be `wanted`.
fn explained(condition: &str, indexes: &[(&str, Level)], wanted: u64) -> Result<String> {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
    let (path, now) = (folder.path().join("x.h5"), Cancellation::new());
    write(&path)?;
    for (dataset, level) in indexes {
        let session = session()?;
        let request = IndexRequest::new(vec![(*dataset).to_owned()]).with_level(Some(*level));
        let fragments = IndexPlan::new(&[session.open(&path)?], &request, &now)?.tasks(1);
        let fragments = fragments.iter().map(|task| task.run(&session, &now, &|_| ())).collect::<Result<Vec<_>>>()?;
        commit(&fragments)?;
    }
    let mut request = ScanRequest::new("/");
    request.predicate = Some(Predicate::parse(condition)?);
    let plan = Plan::new(&[session()?.open(&path)?], &request)?;
    assert_eq!(plan.count(&now)?, wanted, "{condition}");
    assert_eq!(plan.positions(&now)?.iter().map(Vec::len).sum::<usize>() as u64, wanted, "{condition}");
    let rows = plan.batches(&now)?.map(|batch| batch.map_or(0, |batch| batch.num_rows() as u64));
    assert_eq!(rows.sum::<u64>(), wanted, "{condition}");
    Ok(plan.explain())
}

/// The lines of `explain` about strategies.
fn strategies(condition: &str, indexes: &[(&str, Level)], wanted: u64) -> Result<Vec<String>> {
    let lines = explained(condition, indexes, wanted)?;
    Ok(lines.lines().filter(|line| line.starts_with("  ")).map(|line| line.trim().to_owned()).collect())
}

#[test]
fn all_rows_of_conditions_on_dimensions() -> Result<()> {
    let text = explained("_row < 100", &[], 100)?;
    assert!(text.ends_with("100 of 32768 rows by dimensions, no test row by row"), "{text}");
    Ok(())
}

#[test]
fn windows_are_scanned_without_an_index() -> Result<()> {
    assert_eq!(strategies("a < 100", &[], 100)?, ["batches, counts, row numbers: scan windows, because no index answers the condition"]);
    Ok(())
}

#[test]
fn batches_scan_windows_if_many_rows_match_and_counts_come_from_the_index() -> Result<()> {
    let lines = strategies("a < 10000", &[("/a", Level::Exact)], 10_000)?;
    assert_eq!(
        lines,
        [
            "batches: scan windows, because at least 10000 of 32768 rows match, and above 1/16 testing every row is cheaper than a look-up",
            "counts: count in the index, because it knows that 10000 of 32768 rows match",
            "row numbers: look up rows in indexes, because they answer the whole condition",
        ]
    );
    Ok(())
}

#[test]
fn batches_leave_out_what_an_index_rules_out() -> Result<()> {
    let lines = strategies("a < 100", &[("/a", Level::Exact)], 100)?;
    let few = "batches: scan windows without the rows that indexes rule out, because at least 100 of 32768 rows match, and up to 1/16 a look-up is cheaper than testing every row";
    assert_eq!(lines.first().map(String::as_str), Some(few));
    let lines = strategies("c < 10000", &[("/c", Level::Exact)], 10_000)?;
    let costly = "batches: scan windows without the rows that indexes rule out, because asking an index costs less than reading the tested columns";
    assert_eq!(lines.first().map(String::as_str), Some(costly));
    Ok(())
}

#[test]
fn an_index_without_rows_leaves_windows() -> Result<()> {
    let lines = strategies("a < 10000", &[("/a", Level::Keys)], 10_000)?;
    assert!(lines.contains(&"counts, row numbers: scan windows, because indexes of level K do not know rows".to_owned()), "{lines:?}");
    Ok(())
}

#[test]
fn several_indexes_are_looked_up() -> Result<()> {
    let lines = strategies("a < 100 and b > 32000", &[("/a", Level::Exact), ("/b", Level::Exact)], 100)?;
    assert!(lines.contains(&"counts, row numbers: look up rows in indexes, because they answer the whole condition".to_owned()), "{lines:?}");
    Ok(())
}

#[test]
fn few_candidates_are_tested() -> Result<()> {
    let lines = strategies("a < 100 and b > 32700", &[("/a", Level::Exact)], 67)?;
    let few = "counts, row numbers: look up candidates in indexes and test each, because indexes leave at most 100 of 32768 rows, and up to 1/16 testing each is cheaper than a scan";
    assert!(lines.contains(&few.to_owned()), "{lines:?}");
    Ok(())
}

#[test]
fn many_candidates_are_not_tested_one_by_one() -> Result<()> {
    let lines = strategies("a < 10000 and b > 32700", &[("/a", Level::Exact)], 67)?;
    let many = "counts, row numbers: scan windows, because indexes leave up to 10000 of 32768 rows, and above 1/16 a scan is cheaper than testing each";
    assert!(lines.contains(&many.to_owned()), "{lines:?}");
    Ok(())
}

#[test]
fn candidates_of_filtered_columns_are_not_tested() -> Result<()> {
    let lines = strategies("a < 100 and c > 50", &[("/a", Level::Exact)], 49)?;
    assert!(lines.contains(&"counts, row numbers: scan windows, because a tested column cannot be read at single rows".to_owned()), "{lines:?}");
    Ok(())
}

#[test]
fn row_numbers_of_some_rows_are_found_by_windows() -> Result<()> {
    let lines = strategies("a < 100 and _row < 1000", &[("/a", Level::Exact)], 100)?;
    assert!(lines.contains(&"row numbers: scan windows, because conditions on dimensions leave only part of the rows".to_owned()), "{lines:?}");
    Ok(())
}
