"""In place: a pytest plugin that runs h5py's own tests, which come with its wheel, with `hyperslab.h5py` in h5py's place.

`in_place.toml` has a reason for each test that fails: one that passes is an error there, and one that is not there must pass."""

from __future__ import annotations

import importlib.util
import math
import os
import pathlib
import signal
import sys
import types
from typing import Any

import hyperslab as hs
import pytest
import tomllib

_spec = importlib.util.find_spec("h5py")
assert _spec is not None and _spec.origin is not None
TESTS = pathlib.Path(_spec.origin).parent / "tests"
REASONS = tomllib.loads((pathlib.Path(__file__).parent / "in_place.toml").read_text())
#: Tests fail before they hang.
SECONDS = 30

hs.install_as_h5py()
import h5py  # noqa: E402
import h5py._hl.base  # noqa: E402
import h5py._hl.files  # noqa: E402
import h5py._hl.vds  # noqa: E402


def _module(name: str, **names: Any) -> types.ModuleType:
    made = types.ModuleType(name)
    made.__dict__.update(names)
    sys.modules[name] = made
    return made


for package in ("", ".data_files", ".test_vds"):
    folder = TESTS / package.strip(".")
    made = _module(f"h5py.tests{package}", __path__=[str(folder)], __file__=str(folder / "__init__.py"), __package__=f"h5py.tests{package}")
    if package == ".data_files":
        exec(compile((folder / "__init__.py").read_text(), str(made.__file__), "exec"), made.__dict__)

# Names of h5py's own that its tests import, whatever they test.
h5py._hl.base.is_empty_dataspace = lambda identifier: identifier.get_space().get_simple_extent_type() == h5py.h5s.NULL  # type: ignore[attr-defined]
h5py._hl.base.product = math.prod  # type: ignore[attr-defined]
h5py._hl.files.direct_vfd = False  # type: ignore[attr-defined]
h5py._hl.files.make_fapl = None  # type: ignore[attr-defined]
h5py._hl.vds.vds_support = True  # type: ignore[attr-defined]
_module("h5py._hl.compat", filename_encode=os.fsencode, filename_decode=os.fsdecode)

from h5py.tests import common  # noqa: E402

_numpy_behavior = common.TestCase.assertNumpyBehavior
# Without h5py's private reader, which the same tests call besides.
common.TestCase.assertNumpyBehavior = lambda self, dset, arr, s, skip_fast_reader=True: _numpy_behavior(self, dset, arr, s, True)


def pytest_ignore_collect(collection_path: pathlib.Path) -> bool | None:
    return True if collection_path.name in REASONS["modules"] else None


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    reasons = {test: reason for reason, tests in REASONS["tests"].items() for test in tests}
    unknown = set(reasons)
    for item in items:
        name = str(item.nodeid).rpartition("tests/")[2]
        unknown.discard(name)
        if name in reasons:
            item.add_marker(pytest.mark.xfail(reason=reasons[name], strict=True))
    if unknown and len(items) > 500:
        raise pytest.UsageError(f"in_place.toml names tests that are not there: {', '.join(sorted(unknown))}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Any:
    def late(*_: object) -> None:
        raise TimeoutError(f"{item.nodeid} takes longer than {SECONDS} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        return (yield)
    finally:
        signal.alarm(0)
