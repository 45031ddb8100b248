"""Small operations, one after the other, through Python: rows, elements, attributes, names, and opening files.

The readers have h5py's interface, except netCDF4. A time is that of all operations of a case; the file is open before, unless
opening it is the operation. Each case opens its file again, so that nothing is kept from the round before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

#: Rows of a dataset, elements of a row, and rows of a chunk.
ROWS, COLUMNS, CHUNK = 131_072, 256, 64
STRINGS = 20_000
RECORDS = 10_000
LINKS = 15_000
#: Groups and datasets of each, of the files that are opened.
TREES = {"10 datasets": (1, 10), "100,000 datasets": (100, 1000)}
#: Variables of the netCDF-4 files that are opened, and whether they have an unlimited dimension.
VARIABLES = 1000
NETCDF = {"a fixed": False, "an unlimited": True}
LAYOUTS = {"contiguous": "contiguous", "chunked": "chunked", "gzip": "gzip + shuffle"}
VERSIONS = ("earliest", "latest")

random = np.random.default_rng(7)
ELEMENTS = [(int(i), int(j)) for i, j in zip(random.integers(0, ROWS, 1000), random.integers(0, COLUMNS, 1000))]
ANY_ROWS = [int(i) for i in random.integers(0, ROWS, 1000)]
SLICES = [slice(int(i), int(i) + 64) for i in random.integers(0, ROWS - 64, 300)]
FEW_ROWS = [sorted(int(i) for i in random.choice(ROWS, 64, replace=False)) for _ in range(10)]
MANY_ROWS = [sorted(int(i) for i in random.choice(ROWS, 1000, replace=False)) for _ in range(2)]
MASKS = [np.isin(np.arange(ROWS), rows) for rows in MANY_ROWS]
NAMES = [f"link{int(i):06}" for i in random.integers(0, LINKS, 1000)]
#: Few: pyfive reads all strings for each.
SOME_STRINGS = [int(i) for i in random.integers(0, STRINGS, 50)]


class Timed(NamedTuple):
    """What a case took, and a value of what it read."""

    seconds: float
    check: float


def total(value: Any) -> float:
    """A number for what was read: the sum of numbers, the characters of texts, the number of objects."""
    if isinstance(value, (bytes, str)):
        return float(len(value))
    if isinstance(value, (bool, int, float)):
        return float(value)
    if hasattr(value, "attrs"):
        return 1.0
    if hasattr(value, "dtype") and np.asarray(value).dtype.kind in "biuf":
        return float(np.asarray(value, "f8").sum())
    return float(sum(len(text) for text in value))


@dataclass(frozen=True)
class Case:
    """One operation for each key, on an object of a file (`""`: the file itself)."""

    name: str
    path: str
    target: str
    keys: Iterable[Any]
    operate: Callable[[Any, Any], Any]
    #: Who cannot do it.
    without: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len(list(self.keys))

    def run(self, opened: Callable[[str], Any], path: str) -> Timed:
        """Times all operations; then checks some of them."""
        keys, operate = list(self.keys), self.operate
        with opened(path) as f:
            thing = f[self.target] if self.target else f
            start = time.perf_counter()
            for key in keys:
                operate(thing, key)
            seconds = time.perf_counter() - start
            return Timed(seconds, sum(total(operate(thing, key)) for key in keys[:: max(1, len(keys) // 20)]))


class Opening(Case):
    """Opening a file and reading one value of it, for each key."""

    def run(self, opened: Callable[[str], Any], path: str) -> Timed:
        def once() -> float:
            with opened(path) as f:
                return total(f[self.target][...])

        start = time.perf_counter()
        for _ in self.keys:
            check = once()
        return Timed(time.perf_counter() - start, check)


def item(thing: Any, key: Any) -> Any:
    return thing[key]


def cases() -> list[Case]:
    """All cases, in the order of the table."""
    found: list[Case] = []
    for title, (groups, datasets) in TREES.items():
        for version in VERSIONS:
            target = f"group{groups // 2:03}/x{datasets // 2:04}"
            times = range(100) if groups == 1 else range(5)
            # netCDF-4's library parses all objects: minutes.
            without = ("netCDF4",) if groups > 1 else ()
            found.append(Opening(f"open {title} ({version}) and read one value", f"small-tree-{groups}-{version}.h5", target, times, item, without))
    for title in NETCDF:
        name = f"netCDF-4: open {VARIABLES:,} variables along {title} dimension and read one"
        found.append(Opening(name, f"small-netcdf-{title.split()[1]}.nc", f"v{VARIABLES // 2}", range(5), item))
    for layout, title in LAYOUTS.items():
        case = partial(Case, path="small-rows.h5", target=layout, operate=item)
        found += [
            case(name=f"row by row, {title}", keys=range(16_384)),
            case(name=f"a random row, {title}", keys=ANY_ROWS),
            case(name=f"a random element, {title}", keys=ELEMENTS),
            case(name=f"a slice of 64 rows, {title}", keys=SLICES),
            case(name=f"64 sorted random rows, {title}", keys=FEW_ROWS),
            case(name=f"1,000 sorted random rows, {title}", keys=MANY_ROWS),
            case(name=f"a mask of 1,000 of the rows, {title}", keys=MASKS),
        ]
    case = partial(Case, path="small-objects.h5", operate=item)
    names = partial(Case, path="small-objects.h5", target="links", keys=range(20))
    netcdf = ("netCDF4",)  # no links, no compounds of h5py; its groups and attributes have another interface
    return [
        *found,
        case(name="a scalar", target="scalar", keys=[()] * 1000),
        case(name="one string", target="strings", keys=SOME_STRINGS),
        case(name="20,000 variable-length strings", target="strings", keys=[slice(None)] * 3),
        case(name="one attribute", target="scalar", keys=["number"] * 1000, operate=lambda d, key: d.attrs[key], without=netcdf),
        # pyfive does not read the datatypes of version 3 that are in this file.
        case(name="one member of 10,000 records", target="records", keys=["e"] * 50, without=("netCDF4", "pyfive")),
        case(name="a group by path", target="", keys=["a/b/c/d"] * 1000, without=netcdf),
        case(name="a dataset by path", target="", keys=["a/b/c/d/x"] * 1000, without=netcdf),
        case(name="one of 15,000 links by name", target="links", keys=NAMES, without=netcdf),
        names(name="len of a group of 15,000 links", operate=lambda group, _: len(group), without=netcdf),
        case(name="in a group of 15,000 links", target="links", keys=NAMES, operate=lambda group, name: name in group, without=netcdf),
        names(name="iteration over 15,000 links", operate=lambda group, _: list(group), without=netcdf),
    ]


def opener(reader: str) -> Callable[[str, int], Any]:
    """What opens a file with a reader, for `with`."""
    if reader == "ours":
        import hyperslab as hs

        return lambda path, threads: hs.open(path, threads=threads)
    if reader == "h5py":
        import h5py

        return lambda path, threads: h5py.File(path)
    if reader == "pyfive":
        import pyfive

        return lambda path, threads: pyfive.File(path)
    import netCDF4

    def opened(path: str, threads: int) -> Any:
        f = netCDF4.Dataset(path)
        f.set_auto_mask(False)
        f.set_auto_scale(False)
        return f

    return opened


def works(reader: str) -> dict[str, Callable[[str, int], Timed]]:
    """The cases of a reader by name."""
    opened = opener(reader)

    def work(case: Case, path: str, threads: int) -> Timed:
        return case.run(lambda path: opened(path, threads), path)

    return {case.name: partial(work, case) for case in cases() if reader not in case.without}
