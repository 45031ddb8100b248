//! Decodes all chunks of a dataset and says how long it took: a dataset's name a line in, nanoseconds out.
//!
//! `decode_chunks FILE` for `run.py`; `decode_chunks FILE DATASET` decodes once, to be counted by callgrind.

use std::collections::HashMap;
use std::io::BufRead;
use std::sync::Arc;
use std::time::Instant;

use hyperslab_array::{Arrangement, ChunkBuffer, Error, Result, Selection, join_planes};
use hyperslab_formats::{ArrayFile, ChunkLocation, ChunkSource, Object, ObjectId, OpenOptions, open};
use hyperslab_storage::Memory;

struct Chunks {
    id: ObjectId,
    stored: Vec<(ChunkLocation, Vec<u8>)>,
}

/// The stored chunks of a dataset, which are not decoded yet.
fn chunks(file: &dyn ArrayFile, path: &str) -> Result<Chunks> {
    let tree = file.tree();
    let mut id = tree.root();
    for name in path.split('/') {
        id = tree.link(id, name)?.and_then(|link| link.object()).ok_or_else(|| Error::not_found(path))?;
    }
    let Object::Dataset(dataset) = tree.object(id)? else { return Err(Error::not_found(path)) };
    let all = Selection::all(dataset.dataspace.shape());
    let mut stored = Vec::new();
    for location in file.locate(id, &all)?.chunks {
        if let ChunkSource::Stored { offset, length, .. } = &location.source {
            let mut raw = vec![0; usize::try_from(*length).map_err(|_| Error::limit_exceeded("a chunk"))?];
            file.storage().read_exact_at(*offset, &mut raw)?;
            stored.push((location, raw));
        }
    }
    Ok(Chunks { id, stored })
}

/// Decodes into element order, as a reader has it in the end.
fn decode(file: &dyn ArrayFile, chunks: &Chunks, out: &mut (ChunkBuffer, Vec<u8>)) -> Result<()> {
    let Object::Dataset(dataset) = file.tree().object(chunks.id)? else { return Err(Error::internal("no dataset")) };
    let size = dataset.datatype.size();
    let size = usize::try_from(size).map_err(|_| Error::limit_exceeded("an element"))?;
    let (buffer, elements) = out;
    for (location, raw) in &chunks.stored {
        file.decode(chunks.id, location, raw, buffer)?;
        if buffer.arrangement == Arrangement::Planes {
            elements.resize(buffer.bytes.len(), 0);
            join_planes(&buffer.bytes, size, 0, elements).ok_or_else(|| Error::internal("planes of another length"))?;
        }
        std::hint::black_box((&buffer, &elements));
    }
    Ok(())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let bytes = std::fs::read(arguments.first().map_or("", String::as_str)).map_err(|e| Error::not_found(e.to_string()))?;
    let file = open(Arc::new(Memory::new("bench", bytes)), &OpenOptions::default())?;
    let mut out = Default::default();
    if let Some(name) = arguments.get(1) {
        return decode(file.as_ref(), &chunks(file.as_ref(), name)?, &mut out);
    }
    let mut known = HashMap::new();
    for name in std::io::stdin().lock().lines().map_while(std::result::Result::ok) {
        if !known.contains_key(&name) {
            known.insert(name.clone(), chunks(file.as_ref(), &name)?);
        }
        let Some(chunks) = known.get(&name) else { continue };
        let start = Instant::now();
        decode(file.as_ref(), chunks, &mut out)?;
        println!("{}", start.elapsed().as_nanos());
    }
    Ok(())
}
