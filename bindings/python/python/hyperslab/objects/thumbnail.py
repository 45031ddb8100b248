"""Thumbnails: small pictures of datasets in notebooks, as HTML without matplotlib. What they read is bounded."""

from __future__ import annotations

import base64
import math
import os
import struct
import zlib
from typing import Any

import numpy as np

from ..base.blocks import dim
from .plot_auxiliary import positions_of, vertical_of
from .plot_axes import UNITS, base_name, role_of, text_of
from .plot_cells import Array, Dataset, as_drawn, has_numbers
from .plot_dates import calendar_of
from .plot_points import are_points
from .plot_profiles import level_of

#: Maximum size in pixels, which is also the maximum number of values along each side.
MAX_ROWS, MAX_COLUMNS = 96, 160
#: Maximum bytes of the chunks that are read. A chunk counts as at least `_MIN_CHUNK_BYTES`: to find and open it takes that long.
MAX_BYTES, _MIN_CHUNK_BYTES = 16 << 20, 16 << 10
#: Gaps of up to this many bytes between two rows are read with them.
_MAX_GAP_BYTES = 32 << 10
#: Height of lines, maximum number of points, and characters of a unit.
_LINE_ROWS, _MAX_POINTS, _MAX_UNIT_CHARS = 48, 400, 40
#: Colors from low to high, between which others are interpolated: equal steps of values look equal (viridis, as in plots).
_COLORS = ((68, 1, 84), (71, 44, 122), (59, 81, 139), (44, 113, 142), (33, 144, 141), (39, 173, 129), (92, 200, 99), (170, 220, 50), (253, 231, 37))
#: Colors of a picture. Few of them keep it small.
_SHADES = 64
_VERTICAL = ("up", "down")


def thumbnail(dataset: Dataset) -> str:
    """One dimension as a line, the last two of more as colored cells, two columns as points; north and top are up if the file says so. Missing values are
    transparent. Of the other dimensions it shows the beginning, and of long ones every n-th value.

    Args:
        dataset: The dataset.

    Returns:
        HTML; empty if there is nothing to draw, the file is not on this machine, or more than `MAX_BYTES` would be read.

    Example:
        >>> hyperslab.objects.thumbnail.thumbnail(f["theta"])
    """
    if not _is_local(dataset) or not has_numbers(dataset, "iufb") or not dataset.ndim or dataset.shape[-1] < 2:
        return ""
    if dataset.ndim > 2 and dataset.shape[-1] in (3, 4) and dataset.dtype == np.uint8:
        return _colored(dataset)
    if are_points(dataset):
        return _points(dataset)
    drawn = _order(dataset)
    limits = (MAX_ROWS, MAX_COLUMNS)[-len(drawn) :]
    key = _thinned(dataset, dict(zip(drawn, limits, strict=True)))
    if _touched_bytes(dataset, key) > MAX_BYTES:
        return ""
    values = as_drawn(dataset, key)
    values = values if drawn == tuple(sorted(drawn)) else values.T
    if not np.isfinite(values).any():
        return ""
    if len(drawn) == 1:
        return _figure(_line(values), dataset, values, key)
    is_map = {_role(dataset, dimension) for dimension in drawn} == {"latitude", "longitude"}
    values = values[:: -1 if _is_turned(dataset, drawn, 0) else 1, :: -1 if _is_turned(dataset, drawn, 1) else 1]
    return _figure(_image(_png(_shades(values), palette=True), *values.shape, square=is_map), dataset, values, key)


def _is_local(dataset: Dataset) -> bool:
    """Whether the values are in a complete file on this machine: references, and virtual and external storage lead to other files."""
    node: Any = dataset
    is_own = node._backend.is_complete and node.file.format != "references" and node._about["storage"] in ("compact", "contiguous", "chunked")
    return bool(is_own and os.path.exists(node._file.path))


def _order(dataset: Dataset) -> tuple[int, ...]:
    """The dimensions that are drawn, upright and across: the last two, or these the other way round if the last one is latitude or height."""
    last = dataset.ndim - 1
    if not last or dataset.shape[-2] < 2:
        return (last,)
    upright, across = _role(dataset, last - 1), _role(dataset, last)
    is_swapped = (across in _VERTICAL and upright not in _VERTICAL) or (upright, across) == ("longitude", "latitude")
    if not upright and not across:
        is_swapped = _levels(dataset) is not None
    return (last, last - 1) if is_swapped else (last - 1, last)


def _role(dataset: Dataset, dimension: int) -> str:
    scale = dataset._scale(dimension)
    return "" if scale is None else role_of(scale, dataset.dims[dimension] or "")


def _levels(dataset: Dataset) -> Array | None:
    """The levels of the profile in the middle, downwards, if profiles have depths, pressures or heights of their own along the last dimension: as of ARGO."""
    last = dataset.ndim - 1
    vertical = None if positions_of(dataset) is not None else vertical_of(dataset)
    if vertical is None or vertical.dims != (last - 1, last) or _touched_bytes(vertical.dataset, (slice(None), slice(None))) > MAX_BYTES:
        return None
    if level_of(dataset, vertical, {}) != last:
        return None
    levels = vertical.read({last - 1: dataset.shape[last - 1] // 2, last: slice(None)})
    is_down = role_of(vertical.dataset, base_name(vertical.dataset)) == "down"
    return levels[np.isfinite(levels)] * (1 if is_down else -1)


def _thinned(dataset: Dataset, limits: dict[int, int]) -> tuple[int | slice, ...]:
    """A key that selects at most this many values along the drawn dimensions, each from the middle of an equal part, and the first index of the others."""
    key: list[int | slice] = [0] * dataset.ndim
    for dimension, limit in limits.items():
        extent = dataset.shape[dimension]
        step = -(-extent // limit)
        key[dimension] = slice(min(step // 2, extent - 1), None, step)
    return tuple(key)


def _touched_bytes(dataset: Dataset, key: tuple[int | slice, ...]) -> int:
    """The bytes that a thinned selection reads: whole chunks, or without chunks whole rows with short gaps between them."""
    about = dataset._about
    chunks = about["chunks"] or [1] * (dataset.ndim - 1) + [dataset.shape[-1]]
    count, step = 1, 1
    for place, (one, extent, chunk) in enumerate(zip(key, dataset.shape, chunks, strict=True)):
        if isinstance(one, slice):
            count *= min(len(range(*one.indices(extent))), -(-extent // chunk))
            step = one.step or 1 if place == dataset.ndim - 2 else step
    size = math.prod(chunks) * about["datatype"].size
    return count * (max(size, _MIN_CHUNK_BYTES) if about["chunks"] else size + min((step - 1) * size, _MAX_GAP_BYTES))


def _is_turned(dataset: Dataset, drawn: tuple[int, ...], side: int) -> bool:
    """Whether a side of the picture is drawn from its end: so that north and top are up, and east is on the right."""
    scale = dataset._scale(drawn[side])
    role = _role(dataset, drawn[side])
    if role not in (("latitude", *_VERTICAL), ("longitude",))[side]:
        return not role and (_is_swath_turned(dataset, drawn, side) or _is_profile_turned(dataset, drawn, side))
    if scale is None or not has_numbers(scale, "iuf"):
        return False
    rise = _single(scale, (scale.shape[0] - 1,)) - _single(scale, (0,))
    return rise > 0 if role in ("latitude", "up") else rise < 0


def _is_swath_turned(dataset: Dataset, drawn: tuple[int, ...], side: int) -> bool:
    """The same for latitudes and longitudes of two dimensions: which way they go in the middle."""
    positions = positions_of(dataset) if "coordinates" in dataset.attrs else None
    if positions is None or positions.drawn not in (drawn, drawn[::-1]):
        return False
    along, dimension = (positions.latitude, positions.longitude)[side], drawn[side]
    place = {one: dataset.shape[one] // 2 if one in drawn else 0 for one in along.dims}
    before, after = (_single(along.dataset, tuple((place | {dimension: place[dimension] + by}).values())) for by in (-1, 0))
    # Longitudes start again at the antimeridian.
    rise = after - before if side == 0 else (after - before + 180) % 360 - 180
    return rise > 0 if side == 0 else rise < 0


def _is_profile_turned(dataset: Dataset, drawn: tuple[int, ...], side: int) -> bool:
    """Whether the levels of profiles begin at the bottom."""
    levels = _levels(dataset) if side == 0 and drawn[0] > drawn[1] else None
    return levels is not None and len(levels) > 1 and bool(levels[0] > levels[-1])


def _single(dataset: Dataset, place: tuple[int, ...]) -> float:
    """One value; NaN if the chunk that it is in is large."""
    key = tuple(slice(at, at + 1) for at in place)
    return float(as_drawn(dataset, key).ravel()[0]) if _touched_bytes(dataset, key) <= MAX_BYTES else np.nan


def _colored(dataset: Dataset) -> str:
    """Pixels that have colors of their own."""
    rows, columns = dataset.ndim - 3, dataset.ndim - 2
    key = (*_thinned(dataset, {rows: MAX_ROWS, columns: MAX_COLUMNS})[:-1], slice(None))
    if _touched_bytes(dataset, key) > MAX_BYTES:
        return ""
    pixels = np.asarray(dataset[key])
    return f"<div>{_image(_png(pixels, palette=False), *pixels.shape[:2], square=True)}</div>"


def _points(dataset: Dataset) -> str:
    key = (*_thinned(dataset, {0: _MAX_POINTS})[:-1], slice(None))
    if _touched_bytes(dataset, key) > MAX_BYTES:
        return ""
    points = as_drawn(dataset, key)
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return ""
    across, upright = _scaled(points[:, 0]) * (MAX_COLUMNS - 6) + 3, 3 + (1 - _scaled(points[:, 1])) * (MAX_ROWS - 6)
    path = "".join(f"M{x:.0f} {y:.0f}h0" for x, y in zip(across, upright, strict=True))
    return f"<div>{_drawing(path, MAX_ROWS, 2.5)}</div>"


def _line(values: Array) -> str:
    """A line with gaps where values are missing; a single value between gaps is a dot."""
    places = np.linspace(2, MAX_COLUMNS - 2, len(values))
    heights = 2 + (1 - _scaled(values)) * (_LINE_ROWS - 4)
    path, is_open = "", False
    for x, y in zip(places, heights, strict=True):
        is_known = np.isfinite(y)
        if is_known:
            path += f"L{x:.1f} {y:.1f}" if is_open else f"M{x:.1f} {y:.1f}h0"
        is_open = bool(is_known)
    return _drawing(path, _LINE_ROWS, 1.5)


def _drawing(path: str, rows: int, width: float) -> str:
    stroke = f"fill='none' stroke='currentColor' stroke-width='{width}' stroke-linecap='round' stroke-linejoin='round'"
    return f"<svg width='{MAX_COLUMNS}' height='{rows}' viewBox='0 0 {MAX_COLUMNS} {rows}'><path d='{path}' {stroke}/></svg>"


def _scaled(values: Array) -> Array:
    """Values between 0 and 1; those that are all equal are in the middle."""
    low, high = np.nanmin(values), np.nanmax(values)
    # Halves: the difference of large values could overflow.
    return (values / 2 - low / 2) / (high / 2 - low / 2) if high / 2 > low / 2 else np.where(np.isnan(values), np.nan, 0.5)


def _shades(values: Array) -> Array:
    """The number of the color of each value; 0 is transparent."""
    shades = 1 + np.rint(_scaled(values) * (_SHADES - 1))
    return np.where(np.isnan(shades), 0, shades).astype(np.uint8)[..., None]


def _png(pixels: Array, *, palette: bool) -> bytes:
    """A PNG of rows, columns and channels: numbers of colors, red green and blue, or these and opacity."""
    rows, columns, channels = pixels.shape
    # Each row begins with the number of its filter: none.
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), pixels.reshape(rows, columns * channels)], axis=1)
    kind = 3 if palette else {3: 2, 4: 6}[channels]
    parts = [(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, kind, 0, 0, 0))]
    if palette:
        at = np.linspace(0, len(_COLORS) - 1, _SHADES)
        colors = np.stack([np.interp(at, range(len(_COLORS)), channel) for channel in zip(*_COLORS, strict=True)], axis=1)
        parts += [(b"PLTE", bytes(3) + np.rint(colors).astype(np.uint8).tobytes()), (b"tRNS", bytes(1))]
    parts += [(b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts)


def _image(png: bytes, rows: int, columns: int, *, square: bool) -> str:
    """An image whose cells are whole pixels; of maps and pictures they are as tall as wide."""
    tall, wide = max(1, MAX_ROWS // rows), max(1, MAX_COLUMNS // columns)
    if square:
        tall = wide = min(tall, wide)
    size = f"width='{columns * wide}' height='{rows * tall}' style='image-rendering:pixelated;max-width:none'"
    return f"<img alt='thumbnail' {size} src='data:image/png;base64,{base64.b64encode(png).decode()}'>"


def _figure(picture: str, dataset: Dataset, values: Array, key: tuple[int | slice, ...]) -> str:
    """A picture with the range of what it shows, and how many values it leaves out."""
    notes = []
    if calendar_of(dataset) is None:
        notes.append(f"{np.nanmin(values):.4g} … {np.nanmax(values):.4g} {text_of(dataset, *UNITS)[:_MAX_UNIT_CHARS]}".rstrip())
    steps = [one.step for one in key if isinstance(one, slice)]
    if max(steps) > 1:
        notes.append(f"1 of {' × '.join(map(str, steps))} values")
    return f"<div>{picture}{dim(', '.join(notes))}</div>"
