"""Files of FLASH by h5py: blocks of a tree, in the order in which the tree is walked."""

from __future__ import annotations

import itertools
import pathlib
from typing import TYPE_CHECKING, Any, NamedTuple

import h5py
import numpy as np

if TYPE_CHECKING:
    import pandas as pd


class Block(NamedTuple):
    level: int
    #: Place among the blocks of its level along i, j and k.
    place: tuple[int, ...]
    is_leaf: bool


def tree(roots: tuple[int, ...], refined: Any) -> list[Block]:
    """Root blocks with their children, where `refined(level, place)` says so."""
    blocks: list[Block] = []

    def walk(level: int, place: tuple[int, ...]) -> None:
        has_children = bool(refined(level, place))
        blocks.append(Block(level, place, not has_children))
        if has_children:
            for corner in itertools.product((0, 1), repeat=len(place)):
                walk(level + 1, tuple(2 * index + more for index, more in zip(place, corner[::-1], strict=True)))

    for place in itertools.product(*(range(count) for count in reversed(roots))):
        walk(1, place[::-1])
    return blocks


def values_of(blocks: list[Block], cells: tuple[int, ...], variable: int) -> np.ndarray:
    shape = (len(blocks), *reversed(cells + (1,) * (3 - len(cells))))
    return np.arange(float(np.prod(shape))).reshape(shape) * 0.5 + variable * 1e5


def write(
    path: pathlib.Path,
    blocks: list[Block],
    cells: tuple[int, ...],
    *,
    low: tuple[float, ...] = (-1.0, 0.0, 2.0),
    width: tuple[float, ...] = (0.5, 1.0, 0.25),
    variables: tuple[str, ...] = ("dens", "h1  "),
    single: bool = False,
    old: bool = False,
    roots: tuple[int, ...] = (1, 1, 1),
    **storage: Any,
) -> pathlib.Path:
    """A checkpoint. `single` stores bounds in single precision, as plot files do; `old` has the bounds of the mesh's own directions alone."""
    dimensions = len(cells)
    bounds = np.zeros((len(blocks), dimensions if old else 3, 2))
    for number, block in enumerate(blocks):
        for axis, place in enumerate(block.place):
            extent = width[axis] / 2 ** (block.level - 1)
            bounds[number, axis] = low[axis] + place * extent, low[axis] + (place + 1) * extent
    numbers = {(block.level, block.place): number + 1 for number, block in enumerate(blocks)}
    relatives = np.full((len(blocks), 2 * dimensions + 1 + 2**dimensions), -1, "i4")
    for number, block in enumerate(blocks):
        if block.level > 1:
            relatives[number, 2 * dimensions] = numbers[block.level - 1, tuple(index // 2 for index in block.place)]
        if not block.is_leaf:
            corners = itertools.product((0, 1), repeat=dimensions)
            children = [tuple(2 * index + more for index, more in zip(block.place, corner[::-1], strict=True)) for corner in corners]
            relatives[number, 2 * dimensions + 1 :] = [numbers[block.level + 1, child] for child in children]

    def scalars(named: dict[str, Any], kind: str) -> np.ndarray:
        return np.array([(name.ljust(80).encode(), value) for name, value in named.items()], [("name", "S80"), ("value", kind)])

    counts = cells + (1,) * (3 - dimensions)
    with h5py.File(path, "w") as f:
        f["bounding box"] = bounds.astype("f4" if single else "f8")
        f["coordinates"], f["block size"] = bounds.mean(axis=2), bounds[:, :, 1] - bounds[:, :, 0]
        f["refine level"] = np.array([block.level for block in blocks], "i4")
        f["node type"] = np.array([1 if block.is_leaf else 2 for block in blocks], "i4")
        f["gid"], f["processor number"] = relatives, np.zeros(len(blocks), "i4")
        f["unknown names"] = np.array([[name.encode()] for name in variables], "S4")
        for number, name in enumerate(variables):
            f.create_dataset(name, data=values_of(blocks, cells, number), **storage)
        info = np.zeros(1, [("file format version", "i4"), *((name, "S80") for name in ("setup call", "file creation time", "flash version"))])
        info["file format version"] = 9
        f["sim info"] = info
        named = dict(zip(("nxb", "nyb", "nzb"), counts, strict=True))
        f["integer scalars"] = scalars({**named, "dimensionality": dimensions, "globalnumblocks": len(blocks), "nstep": 7}, "i4")
        f["real scalars"] = scalars({"time": 1.5, "dt": 0.25}, "f8")
        f["integer runtime parameters"] = scalars(dict(zip(("nblockx", "nblocky", "nblockz"), roots, strict=False)), "i4")
        ends = {f"{axis}min": low[n] for n, axis in enumerate("xyz")} | {f"{axis}max": low[n] + width[n] * (*roots, 1, 1)[n] for n, axis in enumerate("xyz")}
        f["real runtime parameters"] = scalars(ends, "f8")
    return path


def expected(
    blocks: list[Block],
    cells: tuple[int, ...],
    *,
    low: tuple[float, ...] = (-1.0, 0.0, 2.0),
    width: tuple[float, ...] = (0.5, 1.0, 0.25),
    variables: tuple[str, ...] = ("dens", "h1  "),
) -> pd.DataFrame:
    """All cells, one by one, level by level."""
    import pandas as pd  # not in the environment of VTK

    values = [values_of(blocks, cells, number) for number in range(len(variables))]
    rows: list[dict[str, Any]] = []
    for level in sorted({block.level for block in blocks}):
        for number, block in enumerate(blocks):
            if block.level != level:
                continue
            for within in itertools.product(*(range(count) for count in reversed(cells + (1,) * (3 - len(cells))))):
                row: dict[str, Any] = {"level": level, "box": number}
                index = [place * count + own for place, count, own in zip(block.place, cells, within[::-1], strict=False)]
                row.update(zip("ijk", index, strict=False))
                for axis, name in enumerate("xyz"[: len(cells)]):
                    row[name] = low[axis] + (index[axis] + 0.5) * (width[axis] / 2 ** (level - 1) / cells[axis])
                row.update({name.strip(): array[(number, *within)] for name, array in zip(variables, values, strict=True)})
                rows.append({**row, "covered": not block.is_leaf})
    return pd.DataFrame(rows)


#: Two root blocks in each direction; some are refined once or twice.
ROOTS = (2, 1, 2)
BLOCKS = tree(ROOTS, lambda level, place: (level == 1 and sum(place) % 2 == 0) or (level == 2 and place == (1, 1, 0)))
CELLS = (4, 2, 3)
