//! Small operations, as in `benches/reading/contestants/small.py`: the file is open before, unless opening it is the operation.

use std::time::Instant;

use hdf5_reader::{Dataset, Hdf5File, SliceInfo, SliceInfoElem};

use crate::Outcome;

/// What a case took, and a value of what it read.
pub struct Timed {
    pub seconds: f64,
    pub check: f64,
}

/// Runs the case of this name.
pub fn run(case: &str, path: &str) -> Outcome<Timed> {
    if let Some(opened) = case.strip_prefix("open ") {
        let (times, name) = if opened.starts_with("10 ") { (100, "group000/x0005") } else { (5, "group050/x0500") };
        let start = Instant::now();
        let mut check = 0.0;
        for _ in 0..times {
            check = scalar(&Hdf5File::open(path)?.dataset(name)?)?;
        }
        return Ok(Timed { seconds: start.elapsed().as_secs_f64(), check });
    }
    let file = Hdf5File::open(path)?;
    if let Some((what, layout)) = case.split_once(", ") {
        let layout = layout.split(' ').next().unwrap_or(layout);
        return rows(&file.dataset(layout)?, what, path);
    }
    let links = || file.group("links");
    match case {
        "a scalar" => {
            let dataset = file.dataset("scalar")?;
            timed(&[(); 1000], |()| scalar(&dataset))
        }
        "20,000 variable-length strings" => {
            let dataset = file.dataset("strings")?;
            timed(&[(); 3], |()| Ok(dataset.read_strings()?.iter().map(|text| text.len() as f64).sum()))
        }
        "one attribute" => {
            let dataset = file.dataset("scalar")?;
            timed(&[(); 1000], |()| Ok(dataset.attribute("number")?.read_scalar::<i64>()? as f64))
        }
        "a group by path" => timed(&[(); 1000], |()| Ok(file.group("a/b/c/d").map(|_| 1.0)?)),
        "a dataset by path" => timed(&[(); 1000], |()| Ok(file.dataset("a/b/c/d/x").map(|_| 1.0)?)),
        "one of 15,000 links by name" => {
            let (group, names) = (links()?, std::fs::read_to_string(format!("{path}.keys"))?);
            timed(&names.lines().collect::<Vec<_>>(), |name| Ok(group.dataset(name).map(|_| 1.0)?))
        }
        "iteration over 15,000 links" => {
            let group = links()?;
            timed(&[(); 20], |()| {
                let (groups, datasets) = group.member_names()?;
                Ok(groups.iter().chain(&datasets).map(|name| name.len() as f64).sum())
            })
        }
        _ => Err(format!("no such work: {case}").into()),
    }
}

/// Rows and elements; the keys are those of the other contestants.
fn rows(dataset: &Dataset, what: &str, path: &str) -> Outcome<Timed> {
    let text = std::fs::read_to_string(format!("{path}.keys"))?;
    let keys: Vec<Vec<u64>> = text.lines().map(|line| line.split(' ').map(str::parse).collect()).collect::<Result<_, _>>()?;
    let [any, elements, starts] = &keys[..] else { return Err("keys of three kinds".into()) };
    let all = SliceInfoElem::Slice { start: 0, end: dataset.shape()[1], step: 1 };
    let read = |selections: Vec<SliceInfoElem>| -> Outcome<f64> {
        let array = dataset.read_slice::<f32>(&SliceInfo { selections })?;
        Ok(array.iter().map(|&value| f64::from(value)).sum())
    };
    match what {
        "row by row" => timed(&(0..16_384).collect::<Vec<u64>>(), |&row| read(vec![SliceInfoElem::Index(row), all.clone()])),
        "a random row" => timed(any, |&row| read(vec![SliceInfoElem::Index(row), all.clone()])),
        "a random element" => timed(elements.as_chunks::<2>().0, |&[i, j]| read(vec![SliceInfoElem::Index(i), SliceInfoElem::Index(j)])),
        "a slice of 64 rows" => timed(starts, |&start| read(vec![SliceInfoElem::Slice { start, end: start + 64, step: 1 }, all.clone()])),
        _ => Err(format!("no such work: {what}").into()),
    }
}

fn scalar(dataset: &Dataset) -> Outcome<f64> {
    dataset.read_array::<f64>()?.first().copied().ok_or_else(|| "an empty scalar".into())
}

/// Times an operation for each key, then checks some of them.
fn timed<K>(keys: &[K], mut operate: impl FnMut(&K) -> Outcome<f64>) -> Outcome<Timed> {
    let start = Instant::now();
    for key in keys {
        std::hint::black_box(operate(key)?);
    }
    let seconds = start.elapsed().as_secs_f64();
    let check = keys.iter().step_by((keys.len() / 20).max(1)).map(operate).sum::<Outcome<f64>>()?;
    Ok(Timed { seconds, check })
}
