"""The halo of a particle beam, as in Fig. 6 of ExaHDF5's report of 2012.

    python examples/halo.py [--particles 20000] [--steps 40] [--out halo.png]

A beam of particles flies along a line of magnets. Most stay in its core; the few far outside are its *halo*, which hits
the walls. In that report FastQuery looked for the halo in 56 TB of a simulation, and drew how many of its particles are
where along the line: a broad peak in the second half said that the design could be better.

Here a small beam is made up (nothing of the real simulation is in it): its second half is badly tuned, too. It is written
as H5Part does, a group for each step, and `x` and `y` are indexed. Two questions follow: how wide is the beam (exact
quantiles), and where are the particles further out than six of its widths? The indexes find those outside of a square that
fits into that circle, few of all, and the distance is computed of these only."""

from __future__ import annotations

import argparse
import math
import pathlib
import tempfile

import hyperslab as hs
import numpy as np

#: Length of the line of magnets.
LINE_METRES = 100.0
#: Where its badly tuned part begins.
HALF = 0.5


def make_beam(path: pathlib.Path, particles: int, steps: int, seed: int = 2012) -> None:
    """A bunch of particles on its way: position along the line `z`, across it `x` and `y` (metres), and momenta."""
    random = np.random.default_rng(seed)
    with hs.create(path) as file:
        for step in range(steps):
            place = (step + 0.5) / steps
            z = place * LINE_METRES + random.normal(scale=0.2, size=particles)
            width = 1e-3 * (1 + 0.2 * np.sin(8 * np.pi * place))
            x, y = random.normal(scale=width, size=(2, particles))
            # The halo: few particles, far out. In the second half there are more, around three quarters of the way.
            lost = 0.002 + 0.01 * np.exp(-(((place - 0.75) / 0.1) ** 2)) * (place > HALF)
            far = random.random(particles) < lost
            angle = random.uniform(0, 2 * np.pi, particles)
            radius = width * random.uniform(6.5, 12, particles)
            x, y = np.where(far, radius * np.cos(angle), x), np.where(far, radius * np.sin(angle), y)
            group = file.create_group(f"Step#{step}")
            for name, values in {
                "x": x,
                "y": y,
                "z": z,
                "px": x * 3 + random.normal(scale=1e-4, size=particles),
                "py": y * 3 + random.normal(scale=1e-4, size=particles),
            }.items():
                group.create_dataset(name, data=values.astype("f4"), chunks=(min(particles, 65536),))
            group.create_dataset("id", data=np.arange(particles, dtype="u8"))


def analyse(path: pathlib.Path, out: pathlib.Path) -> dict[str, int]:
    """Finds the halo, draws where it is, and says how many particles are in it."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle

    hs.index(path, ["/Step#*/x", "/Step#*/y"])
    beam = hs.query(path, "/Step#*", rows="x")
    # 68.27 % of a bell curve lie within one width of its middle.
    low, high = beam.quantile("x", [0.15865, 0.84135])
    width = float(high - low) / 2
    radius = 6 * width
    # The square whose corners are on the circle: what is in it is not a halo.
    side = radius / math.sqrt(2)
    halo = hs.query(path, "/Step#*", f"(abs(x) > {side!r} or abs(y) > {side!r}) and sqrt(x*x + y*y) > {radius!r}")
    # A bin for each step: with others, some would have two steps and some one.
    edges = np.linspace(0, LINE_METRES, len(beam.steps) + 1)
    counts, _ = halo.histogram("z", edges)

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    along, across = figure.subplots(1, 2)
    along.stairs(counts, edges, fill=True)
    along.axvline(LINE_METRES * HALF, color="0.3", linestyle=":")
    along.set(xlabel="z along the beamline [m]", ylabel="halo particles in a step", xlim=(0, LINE_METRES))
    along.set_title(f"{int(counts.sum()):,} halo particles (right of the dotted line: badly tuned)", fontsize="medium")
    span = 13 * width * 1e3
    bins = np.linspace(-span, span, 101) / 1e3
    cells = beam.histogram2d("x", "y", bins=[bins, bins]).values
    shown = across.pcolormesh(bins * 1e3, bins * 1e3, np.where(cells > 0, cells, np.nan).T, norm=LogNorm())
    across.add_patch(Circle((0, 0), radius * 1e3, fill=False, color="tab:red"))
    across.set(xlabel="x [mm]", ylabel="y [mm]", aspect="equal")
    across.set_title("All particles (the halo is outside of the circle of six widths)", fontsize="medium")
    figure.colorbar(shown, ax=across, label="particles in a cell")
    figure.savefig(out)
    first, second = halo.where(f"z < {LINE_METRES * HALF!r}").count(), halo.where(f"z >= {LINE_METRES * HALF!r}").count()
    return {"particles": beam.count(), "halo": halo.count(), "first_half": first, "second_half": second}


def main() -> None:
    """Makes a beam, looks for its halo, draws it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--particles", type=int, default=20_000, help="of each step")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("halo.png"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "beam.h5"
        make_beam(path, arguments.particles, arguments.steps)
        found = analyse(path, arguments.out)
    print(
        f"{found['halo']} of {found['particles']} particles are in the halo: "
        f"{found['first_half']} in the first half of the line, {found['second_half']} in the second"
    )
    print(f"wrote {arguments.out}")


if __name__ == "__main__":
    main()
