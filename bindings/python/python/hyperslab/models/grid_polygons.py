"""Polygons of faces, as GeoArrow or WKB, from the nodes of each face and the coordinates of nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ..base.type_aliases import AnyArray
from .grid_topology import Lists

#: Nodes nearer than this to a pole, in degrees, are at the pole, where every longitude is the same point.
_POLE = 90 - 1e-9


class Rings(NamedTuple):
    """Closed rings: ring `i` has the points `points[offsets[i]:offsets[i + 1]]`, an array (points, 2)."""

    offsets: AnyArray
    points: AnyArray


def rings(face_nodes: Lists, x: AnyArray, y: AnyArray, *, spherical: bool) -> Rings:
    """The closed ring of each face. A face without nodes has an empty ring.

    On the sphere, x and y are degrees. Longitudes of a face are moved by 360 if it crosses the meridian where they jump, so
    that its polygon is in one piece and may reach beyond 180. A face around a pole gets corners at the pole.
    """
    lengths = face_nodes.lengths
    closed = lengths + (lengths > 0)
    offsets = np.concatenate([[0], np.cumsum(closed)])
    is_last = np.zeros(int(offsets[-1]), bool)
    is_last[offsets[1:][lengths > 0] - 1] = True
    nodes = np.empty(len(is_last), np.int64)
    nodes[~is_last] = face_nodes.values
    nodes[is_last] = face_nodes.values[face_nodes.offsets[:-1][lengths > 0]]
    points = np.empty((len(nodes), 2))
    points[:, 0], points[:, 1] = x[nodes], y[nodes]
    found = Rings(offsets, points)
    return _unwrapped(found) if spherical and len(points) else found


def _unwrapped(flat: Rings) -> Rings:
    offsets, points = flat
    lengths = np.diff(offsets)
    full = lengths > 0
    starts = offsets[:-1][full]
    longitudes, latitudes = points[:, 0], np.abs(points[:, 1])
    jumps = np.zeros(len(lengths), bool)
    jumps[full] = np.maximum.reduceat(longitudes, starts) - np.minimum.reduceat(longitudes, starts) > 180
    polar = np.zeros(len(lengths), bool)
    polar[full] = np.maximum.reduceat(latitudes, starts) >= _POLE
    if not (jumps.any() or polar.any()):
        return flat
    chosen = jumps | polar
    special = {int(ring): _ring(points[offsets[ring] : offsets[ring + 1]]) for ring in np.flatnonzero(chosen)}
    now = lengths.copy()
    for ring, own in special.items():
        now[ring] = len(own)
    moved = np.concatenate([[0], np.cumsum(now)])
    result = np.empty((int(moved[-1]), 2))
    result[np.repeat(~chosen, now)] = points[np.repeat(~chosen, lengths)]
    for ring, own in special.items():
        result[moved[ring] : moved[ring + 1]] = own
    return Rings(moved, result)


def _ring(points: AnyArray) -> AnyArray:
    """A ring that crosses the meridian where longitudes jump, or has a pole inside or as a node."""
    corners = points[:-1]
    at_pole = np.abs(corners[:, 1]) >= _POLE
    if at_pole.all():
        return points
    # From a node that is not at a pole on, so that each longitude is near the one before.
    first = int(np.flatnonzero(~at_pole)[0])
    start = last = float(corners[first, 0])
    path: list[tuple[float | None, float]] = []
    for place in (*range(first, len(corners)), *range(first)):
        if not at_pole[place]:
            last = _near(float(corners[place, 0]), last)
        path.append((None if at_pole[place] else last, float(corners[place, 1])))
    end = _near(start, last)
    ring: list[tuple[float, float]] = []
    for number, (longitude, latitude) in enumerate(path):
        if longitude is not None:
            ring.append((longitude, latitude))
            continue
        # The edges to a pole are meridians: the pole is at both of their longitudes.
        before = ring[-1][0]
        after = next((later for later, _ in path[number + 1 :] if later is not None), end)
        ring += [(before, latitude)] if before == after else [(before, latitude), (after, latitude)]
    if abs(end - start) > 180 and not at_pole.any():
        # The ring goes around a pole: close it along the meridian, and along the pole.
        pole = 90.0 if np.mean(corners[:, 1]) > 0 else -90.0
        ring += [(end, ring[0][1]), (end, pole), (start, pole)]
    return np.array([*ring, ring[0]])


def _near(longitude: float, other: float) -> float:
    """The longitude, moved by whole turns, that is nearest to another."""
    return longitude - 360.0 * round((longitude - other) / 360.0)


def geoarrow(found: Rings) -> pa.ListArray:
    """Polygons of GeoArrow: lists of rings, each a list of pairs."""
    count = len(found.offsets) - 1
    pairs = pa.FixedSizeListArray.from_arrays(pa.array(found.points.reshape(-1)), type=pa.list_(pa.field("xy", pa.float64(), nullable=False), 2))
    ring_type = pa.list_(pa.field("vertices", pairs.type, nullable=False))
    each = pa.ListArray.from_arrays(pa.array(found.offsets, pa.int32()), pairs, type=ring_type)
    polygon_type = pa.list_(pa.field("rings", ring_type, nullable=False))
    return pa.ListArray.from_arrays(pa.array(np.arange(count + 1), pa.int32()), each, type=polygon_type)


def wkb(found: Rings) -> pa.Array:
    """Polygons as well-known binary."""
    lengths = np.diff(found.offsets)
    groups, order = [], []
    for length in np.unique(lengths):
        mine = np.flatnonzero(lengths == length)
        rows = np.zeros(len(mine), np.dtype([("order", "u1"), ("type", "<u4"), ("rings", "<u4"), ("count", "<u4"), ("points", "<f8", (int(length), 2))]))
        rows["order"], rows["type"], rows["rings"], rows["count"] = 1, 3, 1, length
        if length:
            rows["points"] = found.points[found.offsets[:-1][mine][:, None] + np.arange(length)]
        groups.append(pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(mine), [None, pa.py_buffer(np.arange(len(mine) + 1, dtype=np.int64) * rows.itemsize), pa.py_buffer(rows)]
        ))  # fmt: skip
        order.append(mine)
    if not groups:
        return pa.array([], pa.binary())
    together = groups[0] if len(groups) == 1 else pa.concat_arrays(groups).take(pa.array(np.argsort(np.concatenate(order))))
    return together.cast(pa.binary()) if together.nbytes < 1 << 31 else together


#: Name of the extension type of each encoding.
EXTENSIONS = {"geoarrow": "geoarrow.polygon", "wkb": "geoarrow.wkb"}


def metadata(encoding: str) -> dict[str, str]:
    """The metadata of a field of polygons."""
    return {"ARROW:extension:name": EXTENSIONS[encoding], "ARROW:extension:metadata": "{}"}


def column(found: Rings, encoding: str) -> tuple[pa.Field, pa.Array]:
    """The polygons as a field with the metadata of GeoArrow, and their array."""
    array = geoarrow(found) if encoding == "geoarrow" else wkb(found)
    return pa.field("geometry", array.type, nullable=False, metadata=metadata(encoding)), array
