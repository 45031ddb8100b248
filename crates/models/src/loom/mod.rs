//! Loom (`.loom`): a matrix of genes and cells with attributes of both.
//!
//! Tables: `obs` has a row for each cell (column of the matrix), `var` for each gene; graphs are tables of edges. The matrix and
//! its layers are arrays.

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, Omitted, SegmentDefinition, Values};

use crate::look::{Member, contradiction, join, members, no_table, optional};
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};

/// The model.
pub(crate) struct Loom;

/// Tables of attributes by their groups, with the dimension of the matrix.
const ATTRIBUTES: [(&str, &str, usize); 2] = [("obs", "/col_attrs", 1), ("var", "/row_attrs", 0)];
/// Groups of graphs, whose members `a`, `b` and `w` are the ends and weights of edges.
const GRAPHS: [&str; 2] = ["col_graphs", "row_graphs"];
const MATRIX: &str = "/matrix";

fn matrix_shape(file: &File) -> Result<Option<[u64; 2]>> {
    let Some(member) = optional(file, MATRIX)? else { return Ok(None) };
    Ok(member.dataset().and_then(|dataset| dataset.dataspace.shape().try_into().ok()))
}

fn graphs(file: &File) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for group in GRAPHS {
        if let Some(member) = optional(file, &join("/", group))?
            && member.group().is_some()
        {
            found.extend(members(file, &member.path)?.into_iter().filter(|graph| graph.group().is_some()).map(|graph| format!("{group}/{}", graph.name)));
        }
    }
    Ok(found)
}

/// Members of a group as columns with their lengths, and those that are none.
struct Columns {
    columns: Vec<(Member, u64)>,
    omitted: Vec<Omitted>,
}

fn columns(file: &File, path: &str) -> Result<Columns> {
    let (mut columns, mut omitted) = (Vec::new(), Vec::new());
    for member in members(file, path)? {
        let reason = match (&member.object, member.dataset()) {
            (Err(error), _) => format!("cannot be read: {}", error.message()),
            (_, None) => "is a group".to_owned(),
            (_, Some(dataset)) => match (&dataset.refusal, dataset.dataspace.shape()) {
                (Some(refusal), _) => format!("cannot be read: {}", refusal.message()),
                (None, &[length]) => {
                    columns.push((member, length));
                    continue;
                }
                (None, shape) => format!("has shape {shape:?}, not one dimension"),
            },
        };
        omitted.push(Omitted::new(member.name, reason));
    }
    Ok(Columns { columns, omitted })
}

fn definition(file: &File, path: &str, rows: Option<u64>) -> Result<SegmentDefinition> {
    let Columns { columns, omitted } = columns(file, path)?;
    let rows = match (rows, columns.first()) {
        (Some(rows), _) => rows,
        (None, Some((_, length))) => *length,
        (None, None) => return Err(contradiction(file, path, "a table without columns")),
    };
    let chunk = columns.first().and_then(|(member, _)| member.dataset()?.chunk_grid.chunk_shape().first().copied());
    let mut table = SegmentDefinition::new(path, vec![rows], vec![chunk.unwrap_or(1).max(1)]).with_omitted(omitted);
    for (member, length) in columns {
        if length != rows {
            return Err(contradiction(file, &member.path, format!("{} has {length} values, but there are {rows} rows", member.name)));
        }
        table = table.with_column(member.name, Values::Array(ArrayPart::whole(member.path)));
    }
    Ok(table)
}

impl Model for Loom {
    fn name(&self) -> &'static str {
        "loom"
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        // What cannot be read of a damaged file does not make it a loom file.
        let is_group = |path: &str| optional(file, path).ok().flatten().is_some_and(|member| member.group().is_some());
        if !is_group("/row_attrs") || !is_group("/col_attrs") || matrix_shape(file).ok().flatten().is_none() {
            return Ok(None);
        }
        Ok(Some(Recognition::new(self.name(), Certainty::Likely, "a matrix with row_attrs and col_attrs")))
    }

    fn tables(&self, file: &File) -> Result<Vec<String>> {
        Ok(ATTRIBUTES.iter().map(|(name, ..)| (*name).to_owned()).chain(graphs(file)?).collect())
    }

    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        if let Some((_, path, dimension)) = ATTRIBUTES.iter().find(|(known, ..)| *known == name) {
            let rows = matrix_shape(file)?.and_then(|shape| shape.get(*dimension).copied());
            return Ok(vec![definition(file, path, rows)?]);
        }
        if graphs(file)?.iter().any(|graph| graph == name) {
            return Ok(vec![definition(file, &join("/", name), None)?]);
        }
        Err(no_table(self.name(), name, &self.tables(file)?))
    }

    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>> {
        let mut arrays = Vec::new();
        if let Some(shape) = matrix_shape(file)? {
            arrays.push(NamedArray { name: "matrix".to_owned(), step: None, path: MATRIX.to_owned(), shape: shape.to_vec() });
        }
        for path in ["/layers", "/col_attrs", "/row_attrs"] {
            if optional(file, path)?.is_none_or(|member| member.group().is_none()) {
                continue;
            }
            for member in members(file, path)? {
                if let Some(dataset) = member.dataset().filter(|dataset| dataset.dataspace.ndim() > 1) {
                    let shape = dataset.dataspace.shape().to_vec();
                    arrays.push(NamedArray { name: member.path.trim_start_matches('/').to_owned(), step: None, path: member.path, shape });
                }
            }
        }
        Ok(arrays)
    }

    fn validate(&self, file: &File) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        for name in self.tables(file)? {
            if let Err(error) = self.table(file, &name) {
                problems.push(Problem::new(error.object().unwrap_or(&name), error.message()));
            }
        }
        let matrix = matrix_shape(file)?;
        let layers = self.arrays(file)?.into_iter().filter(|array| array.name.starts_with("layers/"));
        for layer in layers.filter(|layer| matrix.is_some_and(|shape| layer.shape != shape)) {
            problems.push(Problem::new(layer.path, format!("has shape {:?}, but the matrix has {:?}", layer.shape, matrix.unwrap_or_default())));
        }
        Ok(problems)
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        let mut omitted = Vec::new();
        for name in self.tables(file)? {
            let path = ATTRIBUTES.iter().find(|(known, ..)| *known == name).map_or_else(|| join("/", &name), |(_, path, _)| (*path).to_owned());
            // Arrays of several dimensions are named among the arrays.
            let own = columns(file, &path)?.omitted.into_iter().filter(|column| !column.reason.starts_with("has shape"));
            omitted.extend(own.map(|column| Omitted::new(join(&path, &column.name), column.reason)));
        }
        let known = ["matrix", "layers", "row_attrs", "col_attrs"].into_iter().chain(GRAPHS).collect::<Vec<_>>();
        for link in &*file.links(file.root())? {
            if !known.contains(&link.name.as_str()) {
                omitted.push(Omitted::new(join("/", &link.name), "is not a part of the model"));
            }
        }
        Ok(omitted)
    }
}
