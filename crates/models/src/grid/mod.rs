//! What models of unstructured grids share: variables by their dimensions, and tables of nodes, edges and faces.

pub(crate) mod connectivity;
pub(crate) mod tables;
pub(crate) mod variables;
