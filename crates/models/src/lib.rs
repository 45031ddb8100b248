//! Data models as views: what the arrays of a file mean, as tables that scans read like any other.
//!
//! A [`Model`] recognizes its files from attributes and structure, names the tables and arrays in them, and finds what
//! contradicts the model. It defines each table as plain data ([`SegmentDefinition`](hyperslab_scan::SegmentDefinition)): rows of
//! segments, and columns that are arrays, parts of arrays, positions along a dimension, codes with categories, values with a
//! mask, ragged rows or constants. Scans do the rest, so that predicates, splits, indexes and every engine work on a model's
//! table without knowing of models. A model does no I/O of its own: it asks open files for objects, attributes and links.
//!
//! Rooms; each uses only those before it:
//!
//! - `model`: the trait, and what a model says of a file.
//! - `look`: questions to files that several models ask.
//! - `budget`: memory that a file may cost.
//! - `small_values`: numbers and texts of few elements that say what other arrays mean.
//! - `groups`: the groups of a file, for models that look for objects by their classes.
//! - `steps`: groups `Step#0`, `Step#1`, …, which H5Part and H5Block share.
//! - `patches`: columns of the cells of boxes, which the adaptive meshes share.
//! - `grid`: variables by their dimensions and tables of elements, which UGRID, MPAS and CF share.
//! - `h5part`, `h5block`, `chombo`, `vtkhdf`, `flash`, `anndata`, `loom`, `matlab`, `pytables`, `ugrid`, `mpas`, `openpmd`, `nexus`, `nwb`, `keras`, `photon`, `cf`: one model each.
//! - `registry`: all models; what scans ask for tables.
#![forbid(unsafe_code)]
#![deny(clippy::exhaustive_enums, clippy::exhaustive_structs, clippy::missing_errors_doc)]

mod anndata;
mod budget;
mod cf;
mod chombo;
mod flash;
mod grid;
mod groups;
mod h5block;
mod h5part;
mod jld2;
mod keras;
mod look;
mod loom;
mod matlab;
mod model;
mod mpas;
mod nexus;
mod nwb;
mod openpmd;
mod patches;
mod photon;
mod pytables;
mod registry;
mod small_values;
mod steps;
mod ugrid;
mod vtkhdf;

pub use cf::cell_methods_json;
pub use model::{Certainty, Model, NamedArray, Problem, Recognition};
pub use pytables::{CheckedIndex, check_indexes, pytables_pruner};
pub use registry::{extension, find, recognize, required};
