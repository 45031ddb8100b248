"""Public interface of the Python package: every public name with its signature, one a line. `python testing/repo/public_api.py` writes
`public_api.txt`, so that each change of the interface is a line of a diff."""

from __future__ import annotations

import importlib
import inspect
import pathlib
import re
from collections.abc import Iterator
from typing import Any

PATH = pathlib.Path(__file__).with_name("public_api.txt")
#: Modules that users import by their names, without `torch_datasets`, whose package the tests do not install. What a module without `__all__` defines without an underscore is public.
MODULES = [
    "hyperslab",
    "hyperslab.dtypes",
    "hyperslab.indexes",
    "hyperslab.spark",
    "hyperslab.spark.mllib",
    "hyperslab.mpi",
    "hyperslab.ray",
    "hyperslab.h5py",
    "hyperslab.simulation",
]
MODULES += ["hyperslab.virtualizarr", "hyperslab.xarray.engine", "hyperslab.server", "hyperslab.viewer", "hyperslab.objects.plot"]


def modules() -> list[str]:
    """The modules above, and every data model."""
    models = importlib.import_module("hyperslab.models")
    return [*MODULES, "hyperslab.models", *(f"hyperslab.models.{name}" for name in models.__all__ if inspect.ismodule(getattr(models, name)))]


def results() -> list[type]:
    """The classes of what functions of `hyperslab` return, which are public by the names of their modules."""
    package = importlib.import_module("hyperslab")
    found = ((importlib.import_module(f"hyperslab.{module}"), names) for module, names in package._RESULTS.items())
    return [getattr(module, name) for module, names in found for name in names.split()]


def lines() -> list[str]:
    """The interface, sorted."""
    found: dict[str, str] = {}
    for module in modules():
        for name, value in members(importlib.import_module(module)):
            for path, text in described(f"{module}.{name}", value):
                found.setdefault(path, text)
    for result in results():
        found.update(described(f"{result.__module__}.{result.__name__}", result))
    return [f"{path}{text}" for path, text in sorted(found.items())]


def members(module: Any) -> Iterator[tuple[str, Any]]:
    names = getattr(module, "__all__", None) or [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    for name in names:
        if not name.startswith("_"):
            yield name, getattr(module, name)


def described(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """The lines of one name: a class has one for each of its members, inherited ones included."""
    if inspect.ismodule(value):
        yield path, " (module)"
    elif inspect.isclass(value):
        bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
        yield path, f" (class{f' of {bases}' if bases else ''})"
        for name in sorted(dir(value)):
            if issubclass(value, str) and name in vars(str) and not name.startswith("_") and inspect.getattr_static(value, name) is vars(str)[name]:
                continue  # text has the methods of text
            if name == "__init__" and "__init__" in vars(value):
                yield f"{path}.{name}", signature(value.__init__)
            elif not name.startswith("_"):
                yield from of_class(f"{path}.{name}", inspect.getattr_static(value, name))
    elif callable(value):
        yield path, signature(value)
    else:
        yield path, f" = {type(value).__name__}"


def of_class(path: str, member: Any) -> Iterator[tuple[str, str]]:
    if isinstance(member, (classmethod, staticmethod)):
        member = member.__func__
    if isinstance(member, property):
        yield path, " (property)"
    elif callable(member) and not inspect.isclass(member):
        yield path, signature(member)
    else:
        yield path, ""


def signature(function: Any) -> str:
    """Arguments and result. Those of other packages and of Python itself are theirs, and change with their versions."""
    if not (getattr(function, "__module__", None) or "hyperslab").startswith("hyperslab"):
        return "(…)"
    try:
        return re.sub(r"<object object at 0x[0-9a-f]+>", "…", str(inspect.signature(function)))
    except (TypeError, ValueError):
        return "(…)"


if __name__ == "__main__":
    PATH.write_text("\n".join(lines()) + "\n")
