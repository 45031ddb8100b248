"""Files of VTKHDF by h5py, after the published description of the format, and their cells one by one."""

from __future__ import annotations

import itertools
import pathlib
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

if TYPE_CHECKING:
    import pandas as pd

Box = tuple[int, int, int, int, int, int]


def group_of(f: h5py.File, kind: str, version: tuple[int, int] = (2, 4)) -> h5py.Group:
    group = f.create_group("VTKHDF")
    group.attrs["Version"], group.attrs["Type"] = np.array(version), np.bytes_(kind)
    return group


def shape_of(box: Box) -> tuple[int, int, int]:
    return box[5] - box[4] + 1, box[3] - box[2] + 1, box[1] - box[0] + 1


def values_of(step: int, level: int, boxes: list[Box]) -> tuple[np.ndarray, np.ndarray]:
    """A different number for each cell, and a vector."""
    count = sum(int(np.prod(shape_of(box))) for box in boxes)
    rho = np.arange(count) * 0.5 + 1000.0 * level + 1e5 * step
    return rho, np.stack([rho + 1, -rho, rho * 2], axis=1).astype("f4")


def write_mesh(
    path: pathlib.Path, levels: list[list[Box]], spacing: Any, origin: tuple[float, float, float] = (1.0, -2.0, 0.5), **storage: Any
) -> pathlib.Path:
    """Levels of boxes with an array of numbers and one of vectors."""
    with h5py.File(path, "w") as f:
        group = group_of(f, "OverlappingAMR")
        group.attrs["Origin"], group.attrs["GridDescription"] = np.array(origin), np.bytes_("XYZ")
        for number, boxes in enumerate(levels):
            level = group.create_group(f"Level{number}")
            level.attrs["Spacing"] = np.array(spacing[number], "f8")
            level["AMRBox"] = np.array(boxes, "i4").reshape(-1, 6)
            rho, v = values_of(0, number, boxes)
            level.create_dataset("CellData/rho", data=rho, **storage)
            level.create_dataset("CellData/v", data=v)
            level["PointData/p"] = np.arange(sum(int(np.prod([count + 1 for count in shape_of(box)])) for box in boxes), dtype="f8")
    return path


def write_steps(path: pathlib.Path, steps: list[list[list[Box]]], spacing: Any, times: list[float], with_offsets: bool = True) -> pathlib.Path:
    """The same with several steps: the boxes and values of a level follow each other."""
    with h5py.File(path, "w") as f:
        group = group_of(f, "OverlappingAMR")
        group.attrs["Origin"] = np.array((1.0, -2.0, 0.5))
        own = group.create_group("Steps")
        own.attrs["NSteps"], own["Values"] = len(times), times
        for number in range(len(steps[0])):
            level, offsets = group.create_group(f"Level{number}"), own.create_group(f"Level{number}")
            level.attrs["Spacing"] = np.array(spacing[number], "f8")
            boxes = [step[number] for step in steps]
            level["AMRBox"] = np.array([box for one in boxes for box in one], "i8").reshape(-1, 6)
            counts = [len(one) for one in boxes]
            offsets["NumberOfAMRBoxes"], offsets["AMRBoxOffsets"] = counts, np.cumsum([0, *counts[:-1]])
            values = [values_of(step, number, one) for step, one in enumerate(boxes)]
            for name, place in (("rho", 0), ("v", 1)):
                level[f"CellData/{name}"] = np.concatenate([value[place] for value in values])
                if with_offsets:
                    offsets[f"CellDataOffsets/{name}"] = np.cumsum([0, *(len(value[place]) for value in values[:-1])])
    return path


def expected(levels: list[list[Box]], spacing: Any, origin: tuple[float, float, float] = (1.0, -2.0, 0.5), step: int = 0) -> pd.DataFrame:
    """All cells, one by one."""
    import pandas as pd  # not in the environment of VTK

    rows: list[dict[str, Any]] = []
    for number, boxes in enumerate(levels):
        below: set[tuple[int, ...]] = set()
        if number + 1 < len(levels):
            ratio = np.rint(np.array(spacing[number]) / np.array(spacing[number + 1])).astype(int)
            for box in levels[number + 1]:
                below.update(itertools.product(*(range(box[2 * axis] // ratio[axis], box[2 * axis + 1] // ratio[axis] + 1) for axis in range(3))))
        rho, v = values_of(step, number, boxes)
        place = 0
        for index, box in enumerate(boxes):
            for k, j, i in itertools.product(*(range(box[2 * axis], box[2 * axis + 1] + 1) for axis in (2, 1, 0))):
                cell = (i, j, k)
                row: dict[str, Any] = {"level": number, "box": index, "i": i, "j": j, "k": k}
                row.update({name: origin[axis] + (cell[axis] + 0.5) * spacing[number][axis] for axis, name in enumerate("xyz")})
                row.update({"rho": rho[place], "v_0": v[place, 0], "v_1": v[place, 1], "v_2": v[place, 2], "covered": cell in below})
                rows.append(row)
                place += 1
    frame = pd.DataFrame(rows)
    return frame.astype({"v_0": "f4", "v_1": "f4", "v_2": "f4"})


LEVELS: list[list[Box]] = [
    [(0, 3, 0, 3, 0, 1), (4, 5, 0, 3, 0, 1)],
    [(2, 5, 2, 5, 0, 3), (6, 7, 2, 5, 0, 1)],
    [(4, 7, 4, 7, 0, 1)],
]
SPACING = [(1.0, 0.5, 2.0), (0.5, 0.25, 1.0), (0.25, 0.125, 0.5)]


def write_image(
    path: pathlib.Path,
    extent: Box,
    steps: int | None = None,
    *,
    origin: tuple[float, float, float] = (1.0, 2.0, -3.0),
    spacing: tuple[float, float, float] = (0.5, 0.25, 2.0),
    direction: Any = None,
    flat: bool = False,
    **storage: Any,
) -> pathlib.Path:
    """A regular grid with values of points and cells, numbers and vectors. VTK's arrays have no dimension along which an image is flat; with
    `flat` they have it."""
    kept = [count > 1 or flat for count in shape_of(extent)]
    points = tuple(count for count, is_kept in zip(shape_of(extent), kept, strict=True) if is_kept)
    cells = tuple(max(count - 1, 1) for count in points)
    leading = () if steps is None else (steps,)
    with h5py.File(path, "w") as f:
        group = group_of(f, "ImageData")
        group.attrs["WholeExtent"], group.attrs["Origin"], group.attrs["Spacing"] = np.array(extent), np.array(origin), np.array(spacing)
        group.attrs["Direction"] = np.eye(3).ravel() if direction is None else direction
        for name, shape in (("PointData", points), ("CellData", cells)):
            count = int(np.prod(leading + shape))
            group.create_dataset(f"{name}/t", data=np.arange(float(count)).reshape(leading + shape), **storage)
            group[f"{name}/v"] = np.arange(3.0 * count).astype("f4").reshape((*leading, *shape, 3))
        if steps is not None:
            own = group.create_group("Steps")
            own.attrs["NSteps"], own["Values"] = steps, np.arange(steps) * 0.5
    return path


#: Kinds of cells of PolyData.
KINDS = ("Vertices", "Lines", "Polygons", "Strips")


def write_grid(path: pathlib.Path, parts: list[tuple[int, dict[str, list[list[int]]]]], *, flat: str | None = None) -> pathlib.Path:
    """Parts with a number of points, and for each kind of cells the points of each: `PolyData`, or `UnstructuredGrid` of the kind `flat`."""
    points = np.arange(3.0 * sum(count for count, _ in parts)).reshape(-1, 3) * 0.5
    with h5py.File(path, "w") as f:
        group = group_of(f, "PolyData" if flat is None else "UnstructuredGrid")
        group["NumberOfPoints"], group["Points"] = np.array([count for count, _ in parts], "i8"), points
        total = 0
        for kind in KINDS if flat is None else (flat,):
            own = group.create_group(kind) if flat is None else group
            cells = [part.get(kind, []) for _, part in parts]
            own["NumberOfCells"] = np.array([len(part) for part in cells], "i8")
            own["NumberOfConnectivityIds"] = np.array([sum(map(len, part)) for part in cells], "i8")
            own["Offsets"] = np.concatenate([np.cumsum([0, *map(len, part)]) for part in cells]).astype("i8")
            own["Connectivity"] = np.array([point for part in cells for cell in part for point in cell], "i8")
            if flat is not None:
                own["Types"] = np.array([{1: 1, 2: 3, 3: 5, 4: 10}[len(cell)] for part in cells for cell in part], "u1")
            total += sum(map(len, cells))
        group["PointData/t"], group["CellData/n"] = points[:, 0] * 2, np.arange(total)
        group["CellData/v"] = np.arange(2.0 * total).reshape(-1, 2)
    return path


def expected_cells(parts: list[tuple[int, dict[str, list[list[int]]]]], flat: str | None = None) -> list[dict[str, Any]]:
    """All cells, part by part and kind by kind."""
    rows: list[dict[str, Any]] = []
    for number, (_, part) in enumerate(parts):
        for kind in KINDS if flat is None else (flat,):
            for cell in part.get(kind, []):
                own = {"kind": kind.lower()} if flat is None else {"type": {1: 1, 2: 3, 3: 5, 4: 10}[len(cell)]}
                rows.append({"part": number, **own, "points": cell, "n": len(rows), "v_0": 2.0 * len(rows), "v_1": 2.0 * len(rows) + 1})
    return rows


PARTS: list[tuple[int, dict[str, list[list[int]]]]] = [
    (5, {"Vertices": [[0], [4]], "Polygons": [[0, 1, 2], [1, 2, 3, 4], [0, 3, 4]]}),
    (0, {}),
    (4, {"Lines": [[0, 1], [1, 3]], "Polygons": [[0, 1, 2, 3]], "Strips": [[0, 1, 2, 3]]}),
]
