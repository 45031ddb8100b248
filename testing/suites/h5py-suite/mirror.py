"""Mirror: a pytest plugin that lets Hyperslab make every read that a test makes with h5py, from the same file at the same moment.

It wraps h5py's reading methods and properties. Each call flushes the file, opens it with `hyperslab.h5py`, makes the same call there,
and compares: values with types, dtypes and tags, errors by their built-in class, objects by class and path. A read that differs
fails the test. Tests that read nothing are counted apart."""

from __future__ import annotations

import collections
import os
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.h5py as ours
import numpy as np
import pytest
from judge import identical, tags

#: Reading names of h5py's classes: properties, and methods that return values.
PROPERTIES = {
    h5py.Dataset: "chunks compression compression_opts dtype external fillvalue filter_ids filter_names fletcher32 is_scale is_virtual maxshape nbytes ndim scaleoffset shape shuffle size",
    h5py.Group: "",
    h5py.File: "userblock_size",
    h5py.Datatype: "dtype",
}
METHODS = {
    h5py.Dataset: "__getitem__ __len__ len iter_chunks __array__",
    h5py.Group: "__contains__ __iter__ __len__ __reversed__ get visit visit_links visititems visititems_links __getitem__",
    h5py.AttributeManager: "__contains__ __getitem__ __iter__ __len__ get",
}

#: Tests that read something else, and why. They must.
EXCEPTIONS = {
    "TestFillTime::test_fill_time_never": "fill_time='never': unwritten values are not defined; h5py has zeros, Hyperslab the fill value",
    "TestFillTime::test_resize_chunk_fill_time_never": "fill_time='never': unwritten values are not defined; h5py has zeros, Hyperslab the fill value",
    "Test1DFloat::test_indexlist_monotonic_negative": "Hyperslab takes lists of indexes in any order, h5py only increasing ones",
    "Test1DFloat::test_indexlist_nonmonotonic": "Hyperslab takes lists of indexes in any order, h5py only increasing ones",
    "Test1DFloat::test_indexlist_repeated": "Hyperslab takes indexes more than once, h5py does not",
    "TestScalarFloat::test_mask": "Hyperslab takes a mask of a scalar, as numpy does; h5py does not",
    "TestScalarCompound::test_mask": "Hyperslab takes a mask of a scalar, as numpy does; h5py does not",
    "TestScalarArray::test_mask": "Hyperslab takes a mask of a scalar, as numpy does; h5py does not",
    "test_lowlevel_vds.py::test_virtual_prefix": "a property list that is not in the file says where the sources are",
}

#: Tests that are left out: they fail without Hyperslab, too.
LEFT_OUT = ("TestMPI::", *(["TestFileOpen::test_append_permissions"] if os.geteuid() == 0 else []))

#: Reads compared in each test, and what kept reads from being compared.
counts: collections.Counter[str] = collections.Counter()
_depth = 0


class Differs(AssertionError):
    """Hyperslab reads something else than h5py."""


def builtin(error: BaseException) -> type:
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def mirrored(thing: Any) -> Any:
    """The object of Hyperslab that is what `thing` is in its file; `None` (with the reason counted) if there is none."""
    identifier = thing._id if isinstance(thing, h5py.AttributeManager) else thing.id
    if not identifier or not identifier.valid:
        return skip("closed")
    if isinstance(identifier, h5py.h5t.TypeID) and not identifier.committed():
        return skip("a datatype that no file has")
    name, filename = h5py.h5i.get_name(identifier), h5py.h5f.get_name(identifier).decode()
    if name is None:
        return skip("anonymous object")
    file = h5py.h5i.get_file_id(identifier)
    if file.get_access_plist().get_driver() not in (h5py.h5fd.SEC2, getattr(h5py.h5fd, "STDIO", -1)) or not os.path.exists(filename):
        return skip("not a file on disk")
    h5py.h5f.flush(file)
    try:
        opened = ours.File(filename)
        found = opened["/"] if name == b"/" else opened[name]
    except hs.Error as error:
        if isinstance(error, hs.NotFoundError):
            return skip("unlinked object")
        raise Differs(f"{name!r} of {filename}: {error!r}") from error
    if isinstance(thing, h5py.File):
        found = opened
    return found.attrs if isinstance(thing, h5py.AttributeManager) else found


def skip(why: str) -> None:
    counts[why] += 1


def drained(value: Any) -> Any:
    return list(value) if hasattr(value, "__next__") else value


def translated(arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Arguments for Hyperslab; `None` if one is a reference, which belongs to h5py."""
    flat = [item for argument in arguments for item in (argument if isinstance(argument, tuple) else (argument,))]
    if any(isinstance(item, (h5py.Reference, h5py.RegionReference, h5py.MultiBlockSlice)) for item in flat):
        return None
    return arguments


def outcome(call: Any) -> tuple[str, Any]:
    try:
        return "value", drained(call())
    except Exception as error:
        return "error", error


def compare(thing: Any, name: str, theirs: tuple[str, Any], mine_call: Any) -> None:
    mine = outcome(mine_call)
    if theirs[0] == mine[0] == "error":
        kind = builtin(theirs[1])
        # Errors of the HDF5 library come as whatever class h5py maps them to.
        agree = isinstance(mine[1], kind) or kind in (OSError, RuntimeError) or {kind, builtin(mine[1])} <= {TypeError, ValueError, IndexError}
    else:
        agree = theirs[0] == mine[0] and identical(theirs[1], mine[1])
    counts["compared"] += 1
    if not agree:
        raise Differs(
            f"{type(thing).__name__}.{name} of {getattr(thing, 'name', '?')}: h5py {theirs[1]!r} ({tags_of(theirs[1])}), Hyperslab {mine[1]!r} ({tags_of(mine[1])})"
        )


def tags_of(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    return f"{type(value).__name__} {dtype!r} {tags(dtype) if isinstance(dtype, np.dtype) else ''}"


def wrap_method(kind: type, name: str) -> None:
    before = getattr(kind, name)

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        global _depth
        if _depth:
            return before(self, *arguments, **options)
        _depth += 1
        try:
            if name in ("visit", "visit_links", "visititems", "visititems_links"):
                seen: list[Any] = []
                theirs = outcome(lambda: before(self, lambda *found: seen.append(found)))
                found: list[Any] = []
                if (mirror := mirrored(self)) is not None:
                    compare(
                        self, name, ("value", seen) if theirs[0] == "value" else theirs, lambda: (getattr(mirror, name)(lambda *f: found.append(f)), found)[1]
                    )
            else:
                given = translated(arguments)
                theirs = outcome(lambda: before(self, *arguments, **options))
                if given is None or options.get("new_dtype") is not None or any(key.startswith("elink") for key in options):
                    skip("arguments that only h5py has")
                elif (mirror := mirrored(self)) is not None:
                    compare(self, name, theirs, lambda: getattr(mirror, name)(*given, **options))
        finally:
            _depth -= 1
        if name.startswith("visit"):
            _depth += 1
            try:
                return before(self, *arguments, **options)
            finally:
                _depth -= 1
        if theirs[0] == "error":
            raise theirs[1]
        return iter(theirs[1]) if name in ("__iter__", "__reversed__", "iter_chunks") else theirs[1]

    setattr(kind, name, method)


def wrap_property(kind: type, name: str) -> None:
    before = getattr(kind, name)

    def get(self: Any) -> Any:
        global _depth
        if _depth:
            return before.__get__(self, type(self))
        _depth += 1
        try:
            theirs = outcome(lambda: before.__get__(self, type(self)))
            if (mirror := mirrored(self)) is not None:
                compare(self, name, theirs, lambda: getattr(mirror, name))
        finally:
            _depth -= 1
        if theirs[0] == "error":
            raise theirs[1]
        return theirs[1]

    setattr(kind, name, property(get, getattr(before, "fset", None)))


for kind, names in PROPERTIES.items():
    for name in names.split():
        wrap_property(kind, name)
for kind, names in METHODS.items():
    for name in names.split():
        wrap_method(kind, name)


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    left_out = [item for item in items if any(part in item.nodeid for part in LEFT_OUT)]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)
    for item in items:
        for part, reason in EXCEPTIONS.items():
            if item.nodeid.endswith(part):
                item.add_marker(pytest.mark.xfail(reason=reason, raises=Differs, strict=True))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Any:
    before = counts["compared"]
    yield
    item.user_properties.append(("compared", counts["compared"] - before))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    compared: collections.Counter[str] = collections.Counter()
    for kind in ("passed", "failed", "xfailed"):
        for report in terminalreporter.stats.get(kind, []):
            reads = dict(report.user_properties).get("compared", 0)
            compared[f"{kind} {'with' if reads else 'without'} reads"] += 1
    terminalreporter.write_line(f"tests: {dict(compared)}; reads: {dict(counts)}")
