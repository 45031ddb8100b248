//! AnnData (h5ad): a matrix of observations and variables with annotations.
//!
//! Tables: `obs` and `var` are the data frames of the annotations, `raw/var` and data frames of `obsm` and `varm` likewise. A
//! sparse `X`, layer or pairwise matrix is a table with a row for each row (CSR) or column (CSC), its indices and values as
//! lists. Dense matrices are arrays.

mod frame;
mod sparse;

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{Omitted, SegmentDefinition};

use crate::look::{Member, join, members, no_table, optional, text_of};
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};
use frame::Frame;
use sparse::Sparse;

/// The model.
pub(crate) struct AnnData;

/// Attribute with the encoding of an element.
const ENCODING: &str = "encoding-type";
/// Groups whose members are elements along the observations or variables.
const COLLECTIONS: [&str; 6] = ["layers", "obsm", "varm", "obsp", "varp", "raw"];

/// Elements of the root; the last two as anndata wrote them before 0.7.
const ROOT: [&str; 5] = ["obs", "var", "X", "raw.X", "raw.var"];

/// Groups below groups of `uns` in which tables are looked for.
const MAX_DEPTH: usize = 16;

/// An element of the file.
enum Element {
    Frame,
    Sparse,
    Array(Vec<u64>),
    /// Why it is not one of these.
    Other(String),
}

/// An element by its name in the model, which is its path without the first slash.
struct Named {
    name: String,
    element: Element,
}

fn element(member: &Member) -> Result<Element> {
    let (_, object) = match &member.object {
        Err(error) => return Ok(Element::Other(format!("cannot be read: {}", error.message()))),
        Ok(object) => object,
    };
    let attributes = member.attributes()?;
    let encoding = text_of(&attributes, ENCODING)?;
    if let Some(dataset) = object.dataset() {
        return Ok(match &dataset.refusal {
            Some(refusal) => Element::Other(format!("cannot be read: {}", refusal.message())),
            None if frame::is_records(dataset) => Element::Frame,
            None => Element::Array(dataset.dataspace.shape().to_vec()),
        });
    }
    Ok(match encoding.as_deref() {
        Some("dataframe") => Element::Frame,
        Some("csr_matrix" | "csc_matrix") => Element::Sparse,
        None if attributes.get("h5sparse_format").is_some() => Element::Sparse,
        None if attributes.get("_index").is_some() => Element::Frame,
        Some(other) => Element::Other(format!("has the encoding {other}, which is neither a data frame nor a sparse matrix")),
        None => Element::Other("is a group without an encoding".to_owned()),
    })
}

/// The elements: members of the root, then members of its collections.
fn elements(file: &File) -> Result<Vec<Named>> {
    let mut found = Vec::new();
    for name in ROOT {
        if let Some(member) = optional(file, &join("/", name))? {
            found.push(Named { name: name.to_owned(), element: element(&member)? });
        }
    }
    for collection in COLLECTIONS {
        let Some(group) = optional(file, &join("/", collection))? else { continue };
        if group.group().is_none() {
            // Before anndata 0.7, a collection of arrays is a compound dataset.
            let element = match element(&group)? {
                Element::Frame => Element::Frame,
                _ => Element::Other("is not a group".to_owned()),
            };
            found.push(Named { name: collection.to_owned(), element });
            continue;
        }
        for member in members(file, &group.path)? {
            found.push(Named { name: format!("{collection}/{}", member.name), element: element(&member)? });
        }
    }
    unstructured(file, &mut found)?;
    Ok(found)
}

/// The data frames and sparse matrices in `uns`; the rest of it is a tree of values.
fn unstructured(file: &File, found: &mut Vec<Named>) -> Result<()> {
    let mut pending = vec![("/uns".to_owned(), 0)];
    while let Some((path, depth)) = pending.pop() {
        let Some(group) = optional(file, &path)?.filter(|member| member.group().is_some()) else { continue };
        for member in members(file, &group.path)? {
            if member.group().is_none() {
                continue;
            }
            match element(&member)? {
                element @ (Element::Frame | Element::Sparse) => found.push(Named { name: member.path.trim_start_matches('/').to_owned(), element }),
                _ if depth < MAX_DEPTH => pending.push((member.path, depth + 1)),
                _ => {}
            }
        }
    }
    Ok(())
}

impl Model for AnnData {
    fn name(&self) -> &'static str {
        "anndata"
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        let attributes = file.attributes(file.root()).unwrap_or_default();
        // What cannot be read of a damaged file does not make it AnnData.
        if text_of(&attributes, ENCODING).ok().flatten().as_deref() == Some("anndata") {
            return Ok(Some(Recognition::new(self.name(), Certainty::Certain, "the root has encoding-type anndata")));
        }
        let frames = ["/obs", "/var"].into_iter().filter(|path| {
            let member = optional(file, path).ok().flatten();
            member.is_some_and(|member| matches!(element(&member), Ok(Element::Frame)))
        });
        Ok((frames.count() == 2).then(|| Recognition::new(self.name(), Certainty::Likely, "obs and var are data frames")))
    }

    fn tables(&self, file: &File) -> Result<Vec<String>> {
        let tables = elements(file)?.into_iter().filter(|named| matches!(named.element, Element::Frame | Element::Sparse));
        Ok(tables.map(|named| named.name).collect())
    }

    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        let found = elements(file)?.into_iter().find(|named| named.name == name);
        let path = join("/", name);
        match found.map(|named| named.element) {
            Some(Element::Frame) => Ok(vec![Frame::of(file, &path)?.definition(file)?]),
            Some(Element::Sparse) => Ok(vec![Sparse::of(file, &path)?.definition(file)?]),
            Some(Element::Array(shape)) => {
                let message = format!("{name} is an array of shape {shape:?}, not a table: read it by its path");
                Err(hyperslab_array::Error::not_found(message).at_object(path))
            }
            Some(Element::Other(reason)) => Err(hyperslab_array::Error::unsupported(format!("{name} {reason}")).at_object(path)),
            None => Err(no_table(self.name(), name, &self.tables(file)?)),
        }
    }

    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>> {
        let arrays = elements(file)?.into_iter().filter_map(|named| match named.element {
            Element::Array(shape) => Some(NamedArray { path: join("/", &named.name), name: named.name, step: None, shape }),
            _ => None,
        });
        Ok(arrays.collect())
    }

    fn validate(&self, file: &File) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        for named in elements(file)? {
            let path = join("/", &named.name);
            let checked = match &named.element {
                Element::Frame => Frame::of(file, &path).and_then(|frame| frame.definition(file)).map(|_| ()),
                Element::Sparse => Sparse::of(file, &path).and_then(|sparse| sparse.definition(file)).map(|_| ()),
                Element::Array(_) => Ok(()),
                Element::Other(reason) => {
                    problems.push(Problem::new(path, reason));
                    continue;
                }
            };
            if let Err(error) = checked {
                problems.push(Problem::new(error.object().unwrap_or(&path), error.message()));
            }
        }
        problems.extend(sparse::misfits(file)?);
        Ok(problems)
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        let mut omitted = Vec::new();
        for named in elements(file)? {
            let path = join("/", &named.name);
            match named.element {
                Element::Other(reason) => omitted.push(Omitted::new(path, reason)),
                Element::Frame => {
                    let own = Frame::of(file, &path)?.omitted;
                    omitted.extend(own.into_iter().map(|column| Omitted::new(join(&path, &column.name), column.reason)));
                }
                _ => {}
            }
        }
        let known = ROOT.into_iter().chain(COLLECTIONS).collect::<Vec<_>>();
        for link in &*file.links(file.root())? {
            if link.name == "uns" {
                omitted.push(Omitted::new("/uns", "is a tree of values: read it with hyperslab.models.anndata"));
            } else if !known.contains(&link.name.as_str()) {
                omitted.push(Omitted::new(join("/", &link.name), "is not a part of the model"));
            }
        }
        Ok(omitted)
    }
}
