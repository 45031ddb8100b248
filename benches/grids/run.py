"""Times of a geodesic grid in UGRID next to xugrid: `make bench-grids CELLS=1000000`.

Every time is of a process of its own that opens the file, medians of several. CPU time is of all threads; on a busy machine it says more.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "examples"))

OPEN = "import hyperslab as hs; mesh = hs.models.ugrid.open(path).mesh()"
THEIRS = "import xarray, xugrid; grid = xugrid.Ugrid2d.from_dataset(xarray.open_dataset(path))"
#: What is done, by whom, what is imported before the clock starts, and the statement that is timed.
WORK = [
    ("polygons, GeoArrow", "hyperslab", "import hyperslab", f"{OPEN}; n = mesh.polygons(columns=['wave']).num_rows"),
    ("polygons, WKB", "hyperslab", "import hyperslab", f"{OPEN}; n = mesh.polygons(columns=['wave'], encoding='wkb').num_rows"),
    ("polygons, shapely", "hyperslab", "import hyperslab, shapely", f"{OPEN}; n = len(shapely.from_wkb(mesh.polygons(encoding='wkb')['geometry'].to_numpy()))"),
    ("polygons, shapely", "xugrid", "import xarray, xugrid", f"{THEIRS}; n = len(grid.to_shapely(grid.face_dimension))"),
    ("neighbors", "hyperslab", "import hyperslab", f"{OPEN}; n = len(mesh.connectivity('face_faces'))"),
    ("neighbors", "xugrid", "import xarray, xugrid", f"{THEIRS}; n = grid.face_face_connectivity.shape[0]"),
    ("faces in a box", "hyperslab", "import hyperslab", f"{OPEN}; n = len(mesh.select((-10, -10, 10, 10)))"),
]
CODE = """
import sys, time
path = sys.argv[1]
{before}
wall, cpu = time.perf_counter(), time.process_time()
{work}
print(n, time.perf_counter() - wall, time.process_time() - cpu)
"""


def timed(before: str, work: str, path: str) -> tuple[int, float, float]:
    out = subprocess.run([sys.executable, "-W", "ignore", "-c", CODE.format(before=before, work=work), path], capture_output=True, text=True, check=True).stdout
    count, wall, cpu = out.split()
    return int(count), float(wall), float(cpu)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--writers", type=int, default=2)
    given = parser.parse_args()
    import geodesic_grid

    n = geodesic_grid.Geodesic.with_cells(given.cells).n
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/geodesic.nc"
        writing = f"import sys; sys.path.insert(0, {str(ROOT / 'examples')!r}); import geodesic_grid; n = {n}; geodesic_grid.write_ugrid(path, n, {given.writers}); n = 10 * n * n + 2"
        print(f"{geodesic_grid.Geodesic(n).n_cells} cells, medians of {given.runs} runs in seconds\n")
        print("| | by | wall | CPU | result |\n|---|---|---|---|---|")
        for what, who, before, work in [("write, ranges one after another", "hyperslab", "import hyperslab", writing), *WORK]:
            runs = [timed(before, work, path) for _ in range(given.runs)]
            wall, cpu = (statistics.median(run[column] for run in runs) for column in (1, 2))
            print(f"| {what} | {who} | {wall:.2f} | {cpu:.2f} | {runs[0][0]} |", flush=True)


if __name__ == "__main__":
    main()
