//! Sidecars of value indexes: with a damaged manifest or index file, queries give rows or an error that is none of ours; with a
//! damaged index file, which has checksums, the same rows as without an index.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use hyperslab::index::{IndexPlan, IndexRequest, IndexTrust, verify};
use hyperslab::query::{Query, QueryRequest};
use hyperslab::write::{DatasetDefinition, Existing, FileWriter, Region, no_heap};
use hyperslab::{ByteOrder, Cancellation, CharacterSet, Dataspace, Datatype, Result, Session, SessionOptions, StringPadding, new_session_with_indexes};

use crate::fuzz::{honest, limits};

const ROWS: i32 = 4000;
/// Bytes of a text of `/t`.
const TEXT_BYTES: usize = 24;
const CONDITIONS: [&str; 8] = [
    "x < 10",
    "x between 500 and 900 and y between -20 and 20",
    "x > 3000 and y in (-128, 5, 7, 127)",
    "x >= 3900 or x = 100",
    "abs(y) > 90 and x < 500",
    "y > 120 or y = -5",
    "t match 'Row 399' or t match 'part 5' and not (t match '105')",
    "t = 'row 17 of part 3' or t match 'row' and x < 5",
];

/// A data file, the files of its sidecar (the manifest first), and the rows that match each condition.
struct Sample {
    data: PathBuf,
    files: Vec<(PathBuf, Vec<u8>)>,
    rows: Vec<Vec<Vec<u64>>>,
}

fn session(trust: IndexTrust) -> Result<Session> {
    new_session_with_indexes(SessionOptions::default().with_threads(Some(1)).with_limits(limits()), None, trust)
}

fn rows(data: &Path, trust: IndexTrust, condition: &str) -> Result<Vec<Vec<u64>>> {
    let file = session(trust)?.open(data)?;
    Query::new(&[file], &QueryRequest::new("/", Some(condition.to_owned())))?.positions(&Cancellation::new())
}

impl Sample {
    fn make() -> Result<Self> {
        let scratch = std::env::var_os("HYPERSLAB_FUZZ_SCRATCH").map_or_else(std::env::temp_dir, PathBuf::from);
        let folder = scratch.join(format!("hyperslab-fuzz-sidecar-{}", std::process::id()));
        // An earlier process may have had this number.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder)?;
        let data = folder.join("data.h5");
        let session = session(IndexTrust::Own)?;
        let mut writer = FileWriter::create(&data, Existing::Replace, None, &session)?;
        let all = Region::all(&[u64::from(ROWS.unsigned_abs())]);
        for (path, value) in [("/x", (|row| row) as fn(i32) -> i32), ("/y", |row| row * 7919 % 256 - 128)] {
            writer.create_dataset(path, DatasetDefinition::new(Datatype::integer(4, true, ByteOrder::Little), Dataspace::fixed(vec![4000])))?;
            let values: Vec<u8> = (0..ROWS).flat_map(|row| value(row).to_le_bytes()).collect();
            writer.write(path, &all, &values, &no_heap)?;
        }
        let text = Datatype::FixedString { size: TEXT_BYTES as u64, padding: StringPadding::NullPadded, character_set: CharacterSet::Ascii };
        writer.create_dataset("/t", DatasetDefinition::new(text, Dataspace::fixed(vec![4000])))?;
        let mut texts = Vec::new();
        for row in 0..ROWS {
            let end = texts.len() + TEXT_BYTES;
            texts.extend(format!("row {} of part {}", row % 500, row % 7).into_bytes());
            texts.resize(end, 0);
        }
        writer.write("/t", &all, &texts, &no_heap)?;
        writer.finish(Existing::Replace)?;
        let text = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        let request = IndexRequest::new(text(&["/x", "/y", "/t"])).with_composites(vec![text(&["/x", "/y"])]);
        IndexPlan::new(&[session.open(&data)?], &request, &Cancellation::new())?.run(&session, &Cancellation::new(), &|_| ())?;
        let entries = fs::read_dir(folder.join("data.h5.hsidx"))?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        let kept = entries.into_iter().filter(|path| path.extension().is_some_and(|end| end == "json" || end == "arrow"));
        let mut files = kept.map(|path| Ok((path.clone(), fs::read(path)?))).collect::<Result<Vec<_>>>()?;
        files.sort_by_key(|(path, bytes)| (path.extension().is_some_and(|end| end == "arrow"), bytes.len()));
        let rows = CONDITIONS.iter().map(|condition| rows(&data, IndexTrust::None, condition)).collect::<Result<Vec<_>>>()?;
        Ok(Self { data, files, rows })
    }

    fn get() -> &'static Self {
        static SAMPLE: OnceLock<Sample> = OnceLock::new();
        SAMPLE.get_or_init(|| Self::make().expect("a data file with an index"))
    }
}

/// The number of a file of the sidecar, then what is in its place.
pub fn sidecar(data: &[u8]) {
    let [number, body @ ..] = data else { return };
    let sample = Sample::get();
    let place = usize::from(*number) % sample.files.len();
    let (path, whole) = sample.files.get(place).expect("a file of the sidecar");
    fs::write(path, body).expect("a scratch file");
    for (condition, expected) in CONDITIONS.iter().zip(&sample.rows) {
        let found = honest(rows(&sample.data, IndexTrust::Any, condition));
        if let Some(found) = found.filter(|_| place > 0) {
            assert_eq!(&found, expected, "{condition} with a damaged index file");
        }
    }
    honest(session(IndexTrust::Any).and_then(|session| verify(&session.open(&sample.data)?, &Cancellation::new())));
    fs::write(path, whole).expect("a scratch file");
}

/// Removes the scratch folder.
pub fn clean() {
    fs::remove_dir_all(Sample::get().data.parent().expect("a folder")).expect("the scratch folder");
}

/// Seeds in a folder: each file of the sidecar after its number.
pub fn write_seeds(to: &Path) -> Vec<PathBuf> {
    let files = Sample::get().files.iter().zip(0u8..);
    files
        .map(|((_, bytes), number)| {
            let seed = to.join(format!("sidecar{number:02}"));
            fs::write(&seed, [&[number], bytes.as_slice()].concat()).expect("a seed");
            seed
        })
        .collect()
}
