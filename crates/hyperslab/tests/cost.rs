//! What reads cost, by the session's counters: no chunk is decoded twice, and no more is read than is wanted.
#![expect(clippy::panic, reason = "a test that cannot go on")]

use std::path::Path;

use hyperslab::filter::{Filter, Pipeline};
use hyperslab::scan::{Plan, ScanRequest};
use hyperslab::write::{DatasetDefinition, Existing, FileWriter, Region, no_heap};
use hyperslab::{Axis, ByteOrder, Cancellation, Dataspace, Datatype, Result, Selection, Session, SessionOptions, new_session};

/// The value of element number `n`.
fn value(n: usize) -> [u8; 2] {
    u16::try_from(n % 65_521).unwrap_or(0).to_le_bytes()
}

/// Writes dataset `x` of 16-bit numbers.
fn write(path: &Path, shape: &[u64], chunk: &[u64], filtered: bool) -> Result<Vec<u8>> {
    let session = new_session(SessionOptions::default())?;
    let mut file = FileWriter::create(path, Existing::Replace, None, &session)?;
    let mut definition = DatasetDefinition::new(Datatype::integer(2, false, ByteOrder::Little), Dataspace::fixed(shape.to_vec()));
    definition.chunk_shape = Some(chunk.to_vec());
    if filtered {
        definition.filters = Pipeline { filters: vec![Filter { id: 2, name: None, optional: false, parameters: vec![2] }] };
    }
    file.create_dataset("/x", definition)?;
    let count = usize::try_from(shape.iter().product::<u64>()).unwrap_or(0);
    let bytes: Vec<u8> = (0..count).flat_map(value).collect();
    file.write("/x", &Region::all(shape), &bytes, &no_heap)?;
    file.finish(Existing::Replace)?;
    Ok(bytes)
}

fn session(threads: usize) -> Result<Session> {
    new_session(SessionOptions::default().with_threads(Some(threads)))
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"))
}

#[test]
fn a_chunk_that_windows_share_is_decoded_once() -> Result<()> {
    let folder = folder();
    let path = folder.path().join("shared.h5");
    // A plane is larger than a window, and each chunk reaches through all planes.
    let bytes = write(&path, &[3, 2048, 3072], &[3, 512, 1024], true)?;
    for threads in [1, 2] {
        let session = session(threads)?;
        let file = session.open(&path)?;
        let mut request = ScanRequest::new("/x");
        request.columns = Some(vec!["x".to_owned()]);
        let mut windows = 0;
        let mut read = Vec::new();
        for batch in Plan::new(&[file], &request)?.batches(&Cancellation::new())? {
            let batch = batch.unwrap_or_else(|error| panic!("{error}"));
            windows += 1;
            let data = batch.column(0).to_data();
            let start = data.offset() * 2;
            read.extend_from_slice(&data.buffers()[0][start..start + data.len() * 2]);
        }
        assert!(windows > 3 && read == bytes, "the values are those that were written");
        assert_eq!(session.counters().chunks_decoded(), 4 * 3, "with {threads} threads");
    }
    Ok(())
}

#[test]
fn of_an_unfiltered_chunk_only_the_rows_that_are_wanted_are_read() -> Result<()> {
    let folder = folder();
    let path = folder.path().join("plain.h5");
    // Rows of a chunk that are so long that none is read for lying between others.
    let (shape, chunk) = ([40u64, 300, 200], [16u64, 300, 70]);
    let bytes = write(&path, &shape, &chunk, false)?;
    let session = session(1)?;
    let file = session.open(&path)?;
    let found = file.find("/x")?;
    let range = |start, count, step| Axis::Range { start, count, step };
    // Selection, and the bytes that are needed of the three chunks in a row.
    let cases = [
        (vec![range(5, 2, 1), Axis::all(300), Axis::all(200)], 2 * 300 * 210 * 2),
        (vec![range(17, 1, 1), range(3, 4, 1), Axis::all(200)], 4 * 210 * 2),
        (vec![range(17, 1, 1), range(3, 1, 1), range(8, 2, 1)], 2 * 2),
        (vec![range(2, 4, 3), range(0, 5, 2), range(0, 7, 1)], 4 * 9 * 70 * 2),
        (vec![range(14, 4, 1), range(29, 1, 1), range(69, 2, 1)], 4 * 2 * 2),
        // The last element of the first row and the first one of the second are fetched together.
        (vec![Axis::Indices(vec![0, 1, 39]), range(0, 2, 299), range(199, 1, 1)], 4 * 2 + (70 * 2 + 2)),
    ];
    for (axes, needed) in cases {
        let selection = Selection::new(axes, &shape)?;
        let before = session.counters().bytes_read();
        let read = file.read(found.object, &selection, &Cancellation::new())?;
        let mut naive = Vec::new();
        for n in 0..bytes.len() as u64 / 2 {
            let index = [n / 60_000, n / 200 % 300, n % 200];
            let wanted = selection.axes().iter().zip(index).all(|(axis, index)| axis.positions_within(index, index + 1).1 == 1);
            if wanted {
                naive.extend(value(usize::try_from(n).unwrap_or(0)));
            }
        }
        assert_eq!(read.bytes, naive, "{selection:?}");
        assert_eq!(session.counters().bytes_read() - before, needed, "{selection:?}");
    }
    Ok(())
}
