"""Geodesic grids in UGRID or MPAS files, written by several processes: `python geodesic_grid.py out.nc 1000000`.

An icosahedron is cut into triangles with `n` parts along each edge. Around each of the 10 n² + 2 corners is a cell with six
neighbors, twelve of them with five. Any range of cells or vertices is computed from its numbers alone, so that memory does not
depend on the size of the grid, and processes need not talk.
"""

from __future__ import annotations

import math
import multiprocessing
import sys
from typing import Any

import hyperslab as hs
import numpy as np

Array = np.ndarray[Any, Any]


class Geodesic:
    """A geodesic grid: `cells` and `vertices` by ranges. Indexes count from 0, angles are degrees, the sphere has radius 1.

    The cells are in ten rhombi of n × n, five from the north pole and five from the south pole, and the poles are the last two.
    Point (i, j) of a rhombus has 0 <= i, j <= n; its own points have i >= 1 and j < n, others belong to the rhombi around.
    """

    def __init__(self, n: int) -> None:
        self.n, self.n_cells, self.n_vertices = n, 10 * n * n + 2, 20 * n * n
        upper, lower = (self._corners(latitude, shift) for latitude, shift in ((math.atan(0.5), 0), (-math.atan(0.5), 36)))
        north, south = np.array([0, 0, 1.0]), np.array([0, 0, -1.0])
        following = [1, 2, 3, 4, 0]
        #: Corners (0, 0), (n, 0), (0, n) and (n, n) of each rhombus.
        self._rhombi = np.array(
            [[north, upper[k], upper[following[k]], lower[k]] for k in range(5)]
            + [[upper[following[k]], lower[k], lower[following[k]], south] for k in range(5)]
        )

    @classmethod
    def with_cells(cls, count: int) -> Geodesic:
        """The grid whose number of cells is nearest to `count`."""
        return cls(max(1, round(math.sqrt(max(count - 2, 0) / 10))))

    @staticmethod
    def _corners(latitude: float, shift: int) -> Array:
        longitude = np.radians(np.arange(5) * 72.0 + shift)
        return np.stack([math.cos(latitude) * np.cos(longitude), math.cos(latitude) * np.sin(longitude), np.full(5, math.sin(latitude))], axis=1)

    def _points(self, r: Array, i: Array, j: Array) -> Array:
        """Points of rhombi on the sphere."""
        corners, n = self._rhombi[r], self.n
        first = (i + j <= n)[:, None]
        origin = np.where(first, corners[:, 0], corners[:, 3])
        along_i, along_j = np.where(first, corners[:, 1], corners[:, 2]) - origin, np.where(first, corners[:, 2], corners[:, 1]) - origin
        a, b = np.where(first[:, 0], i, n - i) / n, np.where(first[:, 0], j, n - j) / n
        point = origin + a[:, None] * along_i + b[:, None] * along_j
        return point / np.linalg.norm(point, axis=1, keepdims=True)

    def _cell(self, r: Array, i: Array, j: Array) -> Array:
        """The numbers of the cells around points, which may be on any edge of their rhombus."""
        n, k = self.n, r % 5
        following, is_north = (k + 1) % 5, r < 5
        own = r * n * n + (i - 1) * n + j

        def at(rhombus: Array, i: Any, j: Any) -> Array:
            return rhombus * n * n + (i - 1) * n + j

        north = np.select([(i == 0) & (j == 0), i == 0, j == n], [np.full_like(own, 10 * n * n), at(following, j, 0), at(k + 5, i, 0)], own)
        south = np.select(
            [(i == 0) & (j == 0), (i == 0) & (j == n), i == 0, (j == n) & (i == n), j == n],
            [at(following, n, 0), at(following + 5, n, 0), at(following, n, j), np.full_like(own, 10 * n * n + 1), at(following + 5, n, i)],
            own,
        )
        return np.where(is_north, north, south)

    def vertices(self, start: int, stop: int) -> tuple[Array, Array, Array]:
        """Longitudes and latitudes of vertices, and the three cells around each, counterclockwise."""
        number = np.arange(start, stop)
        place, is_second = np.divmod(number, 2)
        r, rest = np.divmod(place, self.n * self.n)
        a, b = np.divmod(rest, self.n)
        second = is_second == 1
        points = [(a, b), (a + 1, b), (a, b + 1)], [(a + 1, b + 1), (a, b + 1), (a + 1, b)]
        chosen = [(np.where(second, v[0], u[0]), np.where(second, v[1], u[1])) for u, v in zip(*points, strict=True)]
        cells = np.stack([self._cell(r, i, j) for i, j in chosen], axis=1)
        one, two, three = (self._points(r, i, j) for i, j in chosen)
        # The center of the circle through the three points, so that cells are those of Voronoi.
        center = np.cross(two - one, three - one)
        return *degrees(center / np.linalg.norm(center, axis=1, keepdims=True)), cells

    def cells(self, start: int, stop: int) -> tuple[Array, Array, Array]:
        """Longitudes and latitudes of cells, and the six vertices of each, counterclockwise; -1 is the last of a cell that has five."""
        n, number = self.n, np.arange(start, min(stop, 10 * self.n * self.n))
        r, rest = np.divmod(number, n * n)
        i, j = np.divmod(rest, n)
        i += 1
        k, before, is_north = r % 5, (r % 5 + 4) % 5, r < 5
        edge_i, edge_j = i == n, j == 0

        def triangle(r: Any, a: Any, b: Any, t: int) -> Array:
            return np.asarray(2 * (r * n * n + a * n + b) + t)

        inner = [
            triangle(r, i, j, 0),
            triangle(r, i - 1, j, 1),
            triangle(r, i - 1, j, 0),
            triangle(r, i - 1, j - 1, 1),
            triangle(r, i, j - 1, 0),
            triangle(r, i, j - 1, 1),
        ]
        found = np.stack(inner, axis=1)

        def put(where: Array, columns: list[int], values: list[Array]) -> None:
            for column, value in zip(columns, values, strict=True):
                found[where, column] = value[where]

        # Beyond the edge j = 0: the rhombus before, for the northern ones, and the northern one, for the southern ones.
        put(is_north & edge_j, [3, 4, 5], [triangle(before, 0, i - 1, 0), triangle(before, 0, i - 1, 1), triangle(before, 0, i, 0)])
        put(~is_north & edge_j, [3, 4, 5], [triangle(k, i - 1, n - 1, 1), triangle(k, i, n - 1, 0), triangle(k, i, n - 1, 1)])
        # Beyond the edge i = n: the southern rhombus before.
        put(is_north & edge_i, [0], [triangle(before + 5, 0, j, 0)])
        put(~is_north & edge_i, [0], [triangle(before + 5, j, n - 1, 1)])
        put(is_north & edge_i & ~edge_j, [4, 5], [triangle(before + 5, 0, j - 1, 0), triangle(before + 5, 0, j - 1, 1)])
        put(~is_north & edge_i & ~edge_j, [4, 5], [triangle(before + 5, j - 1, n - 1, 1), triangle(before + 5, j, n - 1, 0)])
        # The corners of the icosahedron have five.
        corner, none = edge_i & edge_j, np.full_like(number, -1)
        put(is_north & corner, [3, 4, 5], [triangle(before, 0, n - 1, 0), triangle(before, 0, n - 1, 1), none])
        last = [triangle(k, n - 1, n - 1, 1), triangle(before + 5, 0, n - 1, 0), triangle(before + 5, 0, n - 1, 1)]
        put(~is_north & corner, [0, 3, 4], last)
        # Of the five of a southern corner, the one in column 5 comes first.
        put(~is_north & corner, [0, 1, 2, 3, 4, 5], [inner[1], inner[2], *last, none])
        points = self._points(r, i, j)
        five, all_r = np.arange(5), self.n_cells - 2
        if start <= all_r < stop:
            found = np.vstack([found, [*triangle(five, 0, 0, 0), -1]])
            points = np.vstack([points, [[0, 0, 1.0]]])
        if start <= all_r + 1 < stop:
            found = np.vstack([found, [*triangle(five[::-1] + 5, n - 1, n - 1, 1), -1]])
            points = np.vstack([points, [[0, 0, -1.0]]])
        return *degrees(points), found


def degrees(points: Array) -> tuple[Array, Array]:
    """Longitudes and latitudes of points on the sphere."""
    return np.degrees(np.arctan2(points[:, 1], points[:, 0])), np.degrees(np.arcsin(np.clip(points[:, 2], -1, 1)))


def parts(count: int, number: int, of: int, step: int = 1 << 18) -> list[slice]:
    """The part of a task, in pieces that fit memory."""
    start, stop = number * count // of, (number + 1) * count // of
    return [slice(first, min(first + step, stop)) for first in range(start, stop, step)]


def wave(lon: Array, lat: Array) -> Array:
    """A field to look at."""
    return np.sin(np.radians(3 * lon)) * np.cos(np.radians(lat)) ** 3


def write_task(plan: hs.NetcdfPlan, mesh: hs.models.ugrid.Definition, n: int, number: int, of: int) -> bytes:
    """One process: its cells as faces, and its vertices as nodes."""
    grid = Geodesic(n)
    with plan.task(number) as task:
        for nodes in parts(grid.n_vertices, number, of):
            lon, lat, _ = grid.vertices(nodes.start, nodes.stop)
            mesh.write(task, "node", nodes, x=lon, y=lat)
        for faces in parts(grid.n_cells, number, of):
            lon, lat, corners = grid.cells(faces.start, faces.stop)
            mesh.write(task, "face", faces, x=lon, y=lat, nodes=corners, wave=wave(lon, lat))
        return task.finish()


def write_ugrid(path: str, n: int, writers: int = 2, processes: bool = False) -> None:
    """Writes a grid as UGRID, with the field `wave` on its faces."""
    grid = Geodesic(n)
    plan = hs.NetcdfPlan(path, "w")
    mesh = hs.models.ugrid.define(plan, nodes=grid.n_vertices, faces=grid.n_cells, max_face_nodes=6, face_coordinates=True)
    mesh.create_data(plan, "wave", "face", "f8")
    work = [(plan, mesh, n, number, writers) for number in range(writers)]
    if processes:
        with multiprocessing.get_context("spawn").Pool(writers) as pool:
            plan.commit(pool.starmap(write_task, work))
    else:
        plan.commit(write_task(*each) for each in work)


def write_mpas(path: str, n: int) -> None:
    """Writes a grid as MPAS, with three times and two levels of the field `wave`."""
    grid = Geodesic(n)
    with hs.create_netcdf(path) as f:
        mesh = hs.models.mpas.define(f, cells=grid.n_cells, vertices=grid.n_vertices, radius=1.0)
        f.create_dimension("StrLen", 64)
        f.create_dimension("nVertLevels", 2)
        mesh.create_data(f, "area")
        lon, lat, corners = grid.cells(0, grid.n_cells)
        mesh.write(f, "cell", slice(None), longitude=lon, latitude=lat, vertices=corners, area=np.full(grid.n_cells, 4 * np.pi / grid.n_cells))
        lon_vertices, lat_vertices, cells = grid.vertices(0, grid.n_vertices)
        mesh.write(f, "vertex", slice(None), longitude=lon_vertices, latitude=lat_vertices, cells=cells)
        times = [f"2000-01-01_{hour:02}:00:00".ljust(64) for hour in range(3)]
        f.create_variable("xtime", ["Time", "StrLen"], data=np.array([list(time.encode()) for time in times], "u1").view("S1"))
        field = wave(lon, lat)
        values = np.stack([field + time for time in range(3)])[:, :, None] * [1.0, 2.0]
        f.create_variable("wave", ["Time", "nCells", "nVertLevels"], data=values)


def main(path: str, cells: str = "10000") -> None:
    n = Geodesic.with_cells(int(cells)).n
    write_ugrid(path, n, processes=True)
    mesh = hs.models.ugrid.open(path).mesh()
    print(mesh, mesh.polygons(faces=range(3)).num_rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
