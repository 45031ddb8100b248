"""Topology of a mesh from the nodes of its faces: edges, neighbors, and the faces at each edge. Lists are offsets with values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ..base.errors import CorruptError
from ..base.type_aliases import AnyArray


class Lists(NamedTuple):
    """Lists of indexes: list `i` has `values[offsets[i]:offsets[i + 1]]`."""

    offsets: AnyArray
    values: AnyArray

    @property
    def lengths(self) -> AnyArray:
        """The number of indexes of each list."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> AnyArray:
        """For each value, the list that it is in."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths)

    def following(self) -> AnyArray:
        """For each value, the next one of its list; the first follows the last."""
        next_place = np.arange(1, len(self.values) + 1)
        full = self.lengths > 0
        next_place[self.offsets[1:][full] - 1] = self.offsets[:-1][full]
        return self.values[next_place]

    def to_arrow(self) -> pa.ListArray:
        """The lists as an Arrow array."""
        return pa.ListArray.from_arrays(pa.array(self.offsets, pa.int32()), pa.array(self.values, pa.int64()))


def lists_of(column: pa.ChunkedArray | pa.ListArray) -> Lists:
    """A column of lists without nulls among its items as offsets and values."""
    array = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) and column.num_chunks else column
    if isinstance(array, pa.ChunkedArray):
        return Lists(np.zeros(1, np.int64), np.zeros(0, np.int64))
    offsets = np.asarray(array.offsets).astype(np.int64)
    return Lists(offsets - offsets[0], np.asarray(array.flatten()))


def edge_nodes(face_nodes: Lists) -> AnyArray:
    """The two nodes of each edge, sorted: an array (edges, 2)."""
    following = face_nodes.following()
    low, high = np.minimum(face_nodes.values, following), np.maximum(face_nodes.values, following)
    base = int(high.max(initial=0)) + 1
    # Sorting is faster than the hash table of numpy's `unique`.
    keys = np.sort(low.astype(np.int64) * base + high)
    keys = keys[np.diff(keys, prepend=-1) != 0]
    return np.stack(np.divmod(keys, base), axis=1)


def face_edges(face_nodes: Lists, edges: AnyArray) -> Lists:
    """The edges of each face, in the order of its nodes: the first joins its first two nodes.

    Args:
        face_nodes: The nodes of each face.
        edges: The two nodes of each edge, an array (edges, 2).

    Raises:
        CorruptError: An edge of a face is not among the edges.
    """
    base = max(int(face_nodes.values.max(initial=0)), int(edges.max(initial=0))) + 1
    following = face_nodes.following()

    def keys(one: AnyArray, other: AnyArray) -> AnyArray:
        return np.minimum(one, other).astype(np.int64) * base + np.maximum(one, other)

    known = keys(edges[:, 0], edges[:, 1])
    order = np.argsort(known, kind="stable")
    wanted = keys(face_nodes.values, following)
    place = np.searchsorted(known[order], wanted)
    found = order[np.minimum(place, len(order) - 1)] if len(order) else np.zeros(len(wanted), np.int64)
    wrong = (place >= len(order)) | (known[found] != wanted) if len(order) else np.ones(len(wanted), bool)
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise CorruptError(
            f"face {face_nodes.owners[first]} has an edge between the nodes {face_nodes.values[first]} and {following[first]}, which is not among the edges"
        )
    return Lists(face_nodes.offsets, found)


def edge_faces(edges_of_faces: Lists, count: int) -> AnyArray:
    """The faces at each of `count` edges, in their order: an array (edges, 2), with -1 where there is only one or none.

    Raises:
        CorruptError: An edge has more than two faces.
    """
    order = np.argsort(edges_of_faces.values, kind="stable")
    edges, faces = edges_of_faces.values[order], edges_of_faces.owners[order]
    starts = np.searchsorted(edges, np.arange(count))
    counts = np.diff(np.append(starts, len(edges)))
    if (counts > 2).any():
        edge = int(np.flatnonzero(counts > 2)[0])
        raise CorruptError(f"edge {edge} belongs to {counts[edge]} faces, and a mesh of faces has at most two at an edge")
    found = np.full((count, 2), -1, np.int64)
    for side in (0, 1):
        has = counts > side
        found[has, side] = faces[starts[has] + side]
    return found


def neighbors(edges_of_faces: Lists, faces_at_edges: AnyArray) -> Lists:
    """The faces that share an edge with each face, in the order of its edges."""
    owners = edges_of_faces.owners
    both = faces_at_edges[edges_of_faces.values]
    other = np.where(both[:, 0] == owners, both[:, 1], both[:, 0])
    kept = other >= 0
    lengths = np.bincount(owners[kept], minlength=len(edges_of_faces.offsets) - 1)
    return Lists(np.concatenate([[0], np.cumsum(lengths)]), other[kept])
