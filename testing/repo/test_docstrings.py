"""Docstrings of public functions, methods and classes: each argument and each result is described."""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import hyperslab as hs
import hyperslab.dtypes
import hyperslab.indexes
import hyperslab.models.grid_mesh
import hyperslab.mpi
import hyperslab.netcdf.plan
import hyperslab.netcdf.variables
import hyperslab.objects.netcdf_dimension
import hyperslab.objects.plot
import hyperslab.simulation
import hyperslab.spark
import hyperslab.spark.mllib
import hyperslab.values.netcdf_types
import public_api
import pytest

#: Modules with public functions. Without `__all__`, all that they define without an underscore is public.
MODULES = (
    hs,
    hs.dtypes,
    hs.indexes,
    hs.spark.mllib,
    hs.models,
    hs.models.anndata,
    hs.models.chombo,
    hs.models.flash,
    hs.models.h5block,
    hs.models.h5part,
    hs.models.mpas,
    hs.models.openpmd,
    hs.models.ugrid,
    hs.models.vtkhdf,
    hs.mpi,
    hs.netcdf.plan,
    hs.objects.plot,
    hs.simulation,
    hs.spark,
)
#: Classes without a public name whose objects public functions return.
RETURNED = (
    hs.models.grid_mesh.Mesh,
    hs.values.netcdf_types.NetcdfType,
    hs.netcdf.variables.NetcdfAttributes,
    hs.objects.netcdf_dimension.NetcdfDimension,
)
#: Classes that programs make objects of.
CONSTRUCTED = (hs.Empty, hs.ExternalLink, hs.HardLink, hs.NetcdfPlan, hs.SoftLink, hs.VirtualLayout, hs.VirtualSource, hs.WritePlan)


def public() -> Iterator[Any]:
    for module in MODULES:
        names = getattr(module, "__all__", None) or [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
        yield from (getattr(module, name) for name in names if not name.startswith("_"))
    yield from RETURNED
    yield from public_api.results()


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Each public function and method once."""
    seen: set[int] = set()
    for value in public():
        members = [value]
        if inspect.isclass(value):
            members = [inspect.getattr_static(value, name) for name in dir(value) if not name.startswith("_")]
        for member in members:
            function = getattr(member, "__func__", member)  # of a class or static method
            is_ours = (getattr(function, "__module__", None) or "").startswith("hyperslab")
            if is_ours and inspect.isroutine(function) and id(function) not in seen:
                seen.add(id(function))
                yield f"{function.__module__}.{function.__qualname__}", function


FUNCTIONS = dict(functions())
EXPECTED = {
    "hyperslab._native.register_filter",
    "hyperslab.files.file.File.table",
    "hyperslab.files.file.open",
    "hyperslab.mpi.write",
    "hyperslab.objects.netcdf_definitions.NetcdfDefinitions.create_variable",
    "hyperslab.writing.parallel.WritePlan.from_bytes",
}


def described(doc: str) -> list[str]:
    """The names in the section of arguments."""
    section = re.search(r"^Args:\n((?:    .*\n|\n)*)", doc + "\n", re.MULTILINE)
    return [name for names in re.findall(r"^    (\w[\w, ]*): ", section[1] if section else "", re.MULTILINE) for name in names.split(", ")]


def faults(doc: str, function: Callable[..., Any]) -> list[str]:
    signature = inspect.signature(function)
    names = [name for name in signature.parameters if name not in ("self", "cls") and not name.startswith("_")]
    found = [f"{name} is not described" for name in names if name not in described(doc)]
    found += [f"{name} is not an argument" for name in described(doc) if name not in names]
    result = signature.return_annotation
    if result not in (inspect.Signature.empty, None, "None", "NoReturn") and not re.search(r"^(Returns|Yields):\n    \S", doc, re.MULTILINE):
        found.append("the result is not described")
    return found


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_arguments_and_results_are_described(name: str) -> None:
    doc = inspect.getdoc(FUNCTIONS[name])
    assert doc, f"{name} has no docstring"
    assert faults(doc, FUNCTIONS[name]) == [], name


@pytest.mark.parametrize("kind", CONSTRUCTED)
def test_arguments_of_constructors_are_described(kind: Any) -> None:
    doc = f"{inspect.getdoc(kind)}\n\n{inspect.getdoc(kind.__init__)}"
    assert faults(doc, kind.__init__) == []


def test_the_test_sees_what_it_looks_for() -> None:
    assert len(FUNCTIONS) > 150 and FUNCTIONS.keys() >= EXPECTED

    def example(path: str, *, first: int, second: int, **options: Any) -> int:
        return 0

    good = "Does.\n\nArgs:\n    path: A path,\n        or: none.\n    first, second: Numbers.\n    options: Others.\n\nReturns:\n    A number.\n"
    assert faults(good, example) == []
    assert faults("Does.", example) == [*(f"{name} is not described" for name in ("path", "first", "second", "options")), "the result is not described"]
    assert faults(good.replace("path:", "paths:"), example) == ["path is not described", "paths is not an argument"]


def test_completion_offers_what_is_public() -> None:
    assert {*hs.__all__} < {*dir(hs)} and all(hasattr(hs, name) for name in dir(hs))
    assert not {"file", "sessions", "tables"} & {*dir(hs)}
