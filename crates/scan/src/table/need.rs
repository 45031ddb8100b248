//! What a column needs of the arrays that it names.

use hyperslab_array::Result;

use super::connectivity::IndexRule;
use super::repeated::RepeatedAxis;

/// What a column needs of an array. Raw values are not decoded by conventions.
#[derive(Debug, Clone, Copy)]
pub(super) enum Need<'a> {
    /// Nothing but that it exists.
    Any,
    /// An element for each row.
    Rows,
    /// A number for each row.
    Numbers,
    /// An element for each index along these dimensions of the rows.
    Along(&'a [usize]),
    /// A number for each index along a dimension of the rows.
    NumbersAlong(usize),
    /// A dimension for each of these axes.
    Repeated(&'a [RepeatedAxis]),
    /// A whole 1-D array, of this length if there is one.
    List(Option<u64>),
    /// As `List`, of raw values.
    RawList(Option<u64>),
    /// A 1-D array, or what is left of it from some index on; at least this number of values if there is one.
    ListOrRest(Option<u64>),
    /// A whole 1-D array, or a scalar.
    Categories,
    /// A value for each of this number of owners.
    OfOwners(u64),
    /// A whole array of at least one dimension, with this extent of the first if there is one.
    Whole(Option<u64>),
    /// A whole array of raw values.
    RawWhole,
    /// A whole 2-D array of raw indexes, with a list for each of this number of rows.
    RawTable(&'a IndexRule, u64),
    /// A whole array of blocks of cells.
    Blocks,
}

/// Makes another handle of an array from one, given what the column needs of the array.
pub(super) type Mapping<'m, A, B> = &'m mut dyn FnMut(&A, Need<'_>) -> Result<B>;
