//! Containers that earlier versions wrote still read the same: objects, links, attributes and values. See `golden/README.md`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use hyperslab_arrow_container::container::{Container, Options};
use hyperslab_arrow_container::elements::{BlobName, Dataspace, Datatype, is_null, with_blob};
use hyperslab_arrow_container::error::{Error, Result, error};
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::model::{Body, Target};

mod golden_types;

use golden_types::{decode, hex};

fn in_machine_order(bytes: &[u8], swapped: bool) -> [u8; 8] {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    if swapped {
        word[..bytes.len()].reverse();
    }
    word
}

/// The bytes of a blob; `None` if nothing was written.
fn blob(entry: &[u8], element_bytes: usize) -> Result<Option<Vec<u8>>> {
    let (length, name) = entry.split_at(4);
    let length = u32::from_le_bytes(length.try_into().map_err(|_| Error::new("no length"))?) as usize;
    let name: BlobName = name.try_into().map_err(|_| Error::new("no name"))?;
    if is_null(&name) { Ok(None) } else { with_blob(&name, length * element_bytes, |bytes| Some(bytes.to_vec())) }
}

fn elements(datatype: &Datatype, bytes: &[u8]) -> Result<String> {
    let all = bytes.chunks_exact(datatype.bytes().max(1)).map(|element| show(datatype, element)).collect::<Result<Vec<_>>>()?;
    Ok(format!("[{}]", all.join(", ")))
}

fn show(datatype: &Datatype, bytes: &[u8]) -> Result<String> {
    Ok(match datatype {
        Datatype::Integer { bytes: width, signed, swapped } => {
            let word = u64::from_le_bytes(in_machine_order(bytes, *swapped));
            let unused = 64 - 8 * *width as u32;
            if *signed { (((word << unused) as i64) >> unused).to_string() } else { word.to_string() }
        }
        Datatype::Float { bytes: width, swapped } => match (width, in_machine_order(bytes, *swapped)) {
            (2, [low, high, ..]) => format!("half {:04x}", u16::from_le_bytes([low, high])),
            (4, [a, b, c, d, ..]) => format!("{:?}", f32::from_le_bytes([a, b, c, d])),
            (_, word) => format!("{:?}", f64::from_le_bytes(word)),
        },
        Datatype::Fixed(_) => format!("\"{}\"", bytes.escape_ascii()),
        Datatype::Compound { members, .. } => {
            let shown = members.iter().map(|m| Ok(format!("{}: {}", m.name, show(&m.datatype, &bytes[m.offset..m.offset + m.datatype.bytes()])?)));
            format!("{{{}}}", shown.collect::<Result<Vec<_>>>()?.join(", "))
        }
        Datatype::Array { element, .. } => elements(element, bytes)?,
        Datatype::Text => blob(bytes, 1)?.map_or_else(|| "null".to_owned(), |text| format!("{:?}", String::from_utf8_lossy(&text))),
        Datatype::Sequence(element) => blob(bytes, element.bytes())?.map_or_else(|| Ok("null".to_owned()), |values| elements(element, &values))?,
        other => return Err(error!("no golden container has {other:?}")),
    })
}

fn extent(space: &Dataspace) -> String {
    match space {
        Dataspace::Null => "null".to_owned(),
        Dataspace::Scalar => "scalar".to_owned(),
        Dataspace::Simple { shape, max_shape } => format!("{shape:?} of {max_shape:?}"),
    }
}

/// Everything in a container, one line for each object, link and attribute.
fn dump(path: &Path) -> std::result::Result<String, Box<dyn std::error::Error>> {
    let container = Container::open(path, false, Options::default(), &decode)?;
    let tree = lock(&container.tree);
    let mut out = String::new();
    for (id, path) in tree.reachable() {
        let object = tree.object(id)?;
        match &object.body {
            Body::Group { links, next_order, tracked } => {
                writeln!(out, "{id} group {path}: tracked {tracked}, next {next_order}")?;
                for (name, link) in links {
                    let target = match &link.target {
                        Target::Hard(object) => format!("hard {object}"),
                        Target::Soft(path) => format!("soft {path}"),
                        Target::User(class, value) => format!("class {class} {}", value.escape_ascii()),
                    };
                    writeln!(out, "  link {name}: {target}, order {}, utf8 {}", link.order, link.utf8)?;
                }
            }
            Body::Dataset(dataset) => {
                let datatype = &dataset.datatype.decoded;
                let (space, values) = dataset.with_table(
                    &container.folder,
                    None,
                    || Ok(Vec::new()),
                    |table, space| {
                        let count = usize::try_from(space.count().unwrap_or(0)).map_err(|_| Error::new("too many elements"))?;
                        let mut bytes = vec![0; count * datatype.bytes()];
                        table.read(&table.all_parts(), 0, count, &mut bytes, datatype.bytes())?;
                        Ok((extent(space), elements(datatype, &bytes)?))
                    },
                )?;
                writeln!(out, "{id} dataset {path}: {space} = {values}")?;
            }
            Body::Datatype(datatype) => writeln!(out, "{id} datatype {path}: {}", hex(&datatype.encoded))?,
        }
        for (name, attribute) in &object.attributes {
            let attribute = lock(attribute);
            let values = elements(&attribute.datatype.decoded, &attribute.bytes)?;
            writeln!(out, "  attribute {name}: {} = {values}, order {}, utf8 {}", extent(&attribute.space), attribute.order, attribute.utf8)?;
        }
    }
    Ok(out)
}

#[test]
fn containers_of_earlier_versions_read_the_same() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from("tests/golden");
    for (version, forms) in [("version-1", &["folder", "file"][..]), ("version-2", &["folder"])] {
        let expected = std::fs::read_to_string(folder.join(format!("{version}.txt")))?;
        for form in forms {
            let found = dump(&folder.join(format!("{version}-{form}.h5")))?;
            assert!(found == expected, "{version}-{form}.h5 reads as\n{found}");
        }
    }
    Ok(())
}
