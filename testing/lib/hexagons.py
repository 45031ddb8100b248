"""A patch of hexagons on a plane, and the edges of any mesh of cells: input of the tests that write MPAS."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Array = np.ndarray


class Edges(NamedTuple):
    """Edges by their vertices and cells (-1 for none), and the edges of cells and vertices."""

    vertices: Array
    cells: Array
    of_cells: Array
    of_vertices: Array


def edges_of(corners: Array, vertices: int, degree: int) -> Edges:
    """The edges of cells with these corners (-1 at the end for none), by a plain loop."""
    known: dict[tuple[int, int], int] = {}
    at: list[list[int]] = []
    of_cells = np.full_like(corners, -1)
    for cell, row in enumerate(corners.tolist()):
        own = [corner for corner in row if corner >= 0]
        for place, pair in enumerate(zip(own, own[1:] + own[:1], strict=True)):
            edge = known.setdefault((min(pair), max(pair)), len(known))
            if edge == len(at):
                at.append([])
            at[edge].append(cell)
            of_cells[cell, place] = edge
    of_vertices = np.full((vertices, degree), -1)
    for (one, other), edge in known.items():
        for vertex in (one, other):
            of_vertices[vertex, np.argmin(of_vertices[vertex])] = edge
    return Edges(np.array(list(known)), np.array([cells + [-1] * (2 - len(cells)) for cells in at]), of_cells, of_vertices)


class Patch(NamedTuple):
    """Places of cells and vertices, the vertices of cells, and the cells of vertices."""

    x: Array
    y: Array
    vertex_x: Array
    vertex_y: Array
    corners: Array
    cells: Array


def patch(columns: int, rows: int) -> Patch:
    """`columns` x `rows` hexagons whose centers are 1 apart."""
    i, j = (each.ravel() for each in np.meshgrid(np.arange(columns), np.arange(rows)))
    x, y = i + 0.5 * (j % 2), j * np.sqrt(0.75)
    angles = np.radians(30 + 60 * np.arange(6))
    all_x, all_y = x[:, None] + np.cos(angles) / np.sqrt(3), y[:, None] + np.sin(angles) / np.sqrt(3)
    places, corners = np.unique(np.round(np.stack([all_x.ravel(), all_y.ravel()], axis=1), 9), axis=0, return_inverse=True)
    corners = corners.reshape(-1, 6)
    cells = np.full((len(places), 3), -1)
    for cell, row in enumerate(corners):
        for vertex in row:
            cells[vertex, np.argmin(cells[vertex])] = cell
    return Patch(x, y, places[:, 0], places[:, 1], corners, cells)


def write(path: str, columns: int, rows: int) -> tuple[Patch, Edges]:
    """Writes a patch as MPAS, with data on cells, vertices and edges."""
    import hyperslab as hs

    hexagons = patch(columns, rows)
    edges = edges_of(hexagons.corners, len(hexagons.vertex_x), 3)
    middle = [places[edges.vertices].mean(axis=1) for places in (hexagons.vertex_x, hexagons.vertex_y)]
    with hs.create_netcdf(path) as f:
        counts = {"cells": len(hexagons.x), "vertices": len(hexagons.vertex_x), "edges": len(edges.vertices)}
        mesh = hs.models.mpas.define(f, **counts, neighbors=True, radius=None)
        for location in ("cell", "vertex", "edge"):
            mesh.create_data(f, f"of_{location}", location)
        # VTK reads files with times and levels only.
        f.create_dimension("nVertLevels", 1)
        f.create_variable("wave", ["Time", "nCells", "nVertLevels"], data=hexagons.x[None, :, None])
        around = np.full_like(edges.of_cells, -1)
        for cell, own in enumerate(edges.of_cells):
            for place, edge in enumerate(own):
                around[cell, place] = next((other for other in edges.cells[edge] if other != cell), -1)
        mesh.write(f, "cell", slice(None), x=hexagons.x, y=hexagons.y, vertices=hexagons.corners, edges=edges.of_cells, cells=around, of_cell=hexagons.x)
        mesh.write(
            f, "vertex", slice(None), x=hexagons.vertex_x, y=hexagons.vertex_y, cells=hexagons.cells, edges=edges.of_vertices, of_vertex=hexagons.vertex_y
        )
        mesh.write(f, "edge", slice(None), x=middle[0], y=middle[1], vertices=edges.vertices, cells=edges.cells, of_edge=middle[0])
    return hexagons, edges
