//! Tests that `HYPERSLAB_POISON` reveals a read that leaves a part of its output unwritten.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use hyperslab_array::{Cancellation, ChunkBuffer, HeapObjects, HeapReference, Result, Selection};
use hyperslab_formats::{ArrayFile, ChunkLocation, ChunkLocations, Format, Object, ObjectId, OpenOptions, Tree};
use hyperslab_storage::{LocalFile, Storage};

use crate::{File, Session, SessionOptions};

/// A file whose last chunk is never read, as if by a bug.
struct Forgetful(Arc<dyn ArrayFile>);

impl ArrayFile for Forgetful {
    fn format(&self) -> Format {
        self.0.format()
    }
    fn storage(&self) -> &Arc<dyn Storage> {
        self.0.storage()
    }
    fn tree(&self) -> &dyn Tree {
        self.0.tree()
    }
    fn locate(&self, id: ObjectId, selection: &Selection) -> Result<ChunkLocations> {
        let mut located = self.0.locate(id, selection)?;
        located.chunks.pop();
        Ok(located)
    }
    fn stored_bytes(&self, id: ObjectId) -> Result<u64> {
        self.0.stored_bytes(id)
    }
    fn decode(&self, id: ObjectId, location: &ChunkLocation, raw: &[u8], out: &mut ChunkBuffer) -> Result<()> {
        self.0.decode(id, location, raw, out)
    }
    fn heap_objects(&self, references: &[HeapReference], objects: &mut HeapObjects) -> Result<()> {
        self.0.heap_objects(references, objects)
    }
}

fn example() -> PathBuf {
    PathBuf::from("../../examples/data/10x_pbmc68k_reduced.h5ad")
}

/// Two reads of a dataset of several chunks, and where its last chunk begins.
fn two_reads(forget: bool) -> Result<(Vec<u8>, Vec<u8>, usize)> {
    let storage = Arc::new(LocalFile::open(example())?);
    let mut inner: Arc<dyn ArrayFile> = hyperslab_formats::open(storage, &OpenOptions::default())?;
    let link = inner.tree().link(inner.tree().root(), "X")?;
    let id = link.and_then(|link| link.object()).ok_or_else(|| hyperslab_array::Error::internal("no /X"))?;
    let Object::Dataset(dataset) = inner.tree().object(id)? else { return Err(hyperslab_array::Error::internal("no dataset")) };
    let all = Selection::all(dataset.dataspace.shape());
    let chunks = inner.locate(id, &all)?.chunks;
    let first_row = chunks.last().and_then(|chunk| chunk.region.start.first().copied()).unwrap_or(0);
    let row_bytes = dataset.dataspace.shape().iter().skip(1).product::<u64>() * dataset.datatype.size();
    assert!(chunks.len() > 1 && first_row > 0, "one chunk is not enough");
    if forget {
        inner = Arc::new(Forgetful(inner));
    }
    let file = File::new(Session::new(SessionOptions::default())?, example(), inner, 0);
    let read = || Ok::<_, hyperslab_array::Error>(file.read(id, &all, &Cancellation::default())?.bytes);
    Ok((read()?, read()?, usize::try_from(first_row * row_bytes).unwrap_or(0)))
}

#[test]
fn what_a_read_leaves_out_differs_from_one_read_to_the_next() -> Result<()> {
    // The environment is read once per process, so the test runs itself in another process.
    if std::env::var_os("HYPERSLAB_POISON").is_none() {
        let name = std::thread::current().name().map(str::to_owned).unwrap_or_default();
        let again = Command::new(std::env::current_exe().unwrap_or_default()).args(["--exact", &name]).env("HYPERSLAB_POISON", "1").output();
        let again = again.map_err(|error| hyperslab_array::Error::internal(error.to_string()))?;
        let said = String::from_utf8_lossy(&again.stdout).into_owned();
        assert!(again.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&again.stderr));
        return Ok(());
    }
    let (first, second, _) = two_reads(false)?;
    assert_eq!(first, second, "nothing is left out");
    let (forgetful, again, gap) = two_reads(true)?;
    assert!(forgetful != first && forgetful != again, "an unread chunk goes unnoticed");
    assert!(forgetful.get(..gap).is_some_and(|before| before == first.get(..gap).unwrap_or_default()), "the gap begins too early");
    Ok(())
}
