"""Write arguments: what xarray's `to_netcdf` takes. Each is kept, or refused by name as xarray refuses it."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import InvalidInputError, InvalidTypeError, UnsupportedError

if TYPE_CHECKING:
    import xarray

#: Encodings by variable, and for a tree also by the path of a node; names of unlimited dimensions, for a tree also by the path of a node.
Encodings = Mapping[str, Mapping[str, Any]]
Unlimited = str | Iterable[str] | Mapping[str, str | Iterable[str] | None] | None
#: Types of attributes that xarray writes. numpy's booleans are none of them.
_ATTRIBUTES = (str, numbers.Number, np.ndarray, np.number, list, tuple, bytes)
#: xarray's name of an array without a name, and the attribute with one that is also the name of a coordinate.
_NAMELESS, _NAME = "__xarray_dataarray_variable__", "__xarray_dataarray_name__"


def refuse_what_other_writers_do(path: object, format: str | None, engine: str | None, compute: bool, invalid_netcdf: bool, auto_complex: bool | None) -> None:
    """`UnsupportedError` for arguments of `to_netcdf` that ask for what this writer does not do."""
    if path is None or hasattr(path, "write"):
        what = "path=None" if path is None else f"path={path!r}"
        raise UnsupportedError(f"{what}: files are written to paths and addresses, not to memory or open files")
    if format not in (None, "NETCDF4"):
        raise UnsupportedError(f"format={format!r}: files are written as NETCDF4")
    if engine not in (None, "hyperslab"):
        raise UnsupportedError(f"engine={engine!r}: Hyperslab writes the file itself; leave engine= out, or call the dataset's to_netcdf")
    for name, value, usual in (("compute", compute, True), ("invalid_netcdf", invalid_netcdf, False), ("auto_complex", auto_complex, False)):
        if value is not None and bool(value) is not usual:
            hint = "values are written at once; subfiles= writes arrays of Dask in parts" if name == "compute" else "netCDF-4 has no such types"
            raise UnsupportedError(f"{name}={value!r}: {hint}")


def as_dataset(array: xarray.DataArray) -> xarray.Dataset:
    """The dataset in which xarray writes an array."""
    if array.name and array.name not in array.coords and array.name not in array.dims:
        return array.to_dataset()
    dataset = array.to_dataset(name=_NAMELESS)
    if array.name:
        dataset.attrs[_NAME] = array.name
    return dataset


def check(dataset: xarray.Dataset) -> None:
    """Checks names of variables and dimensions, and attributes, before anything is written.

    Raises:
        InvalidInputError: A name is empty, or has a slash, which stands for a group.
        InvalidTypeError: A name is not text, or the value of an attribute is of a type that netCDF does not have.
    """
    for kind, names in (("variable", dataset.variables), ("dimension", dataset.dims)):
        for name in names:
            if not isinstance(name, str):
                raise InvalidTypeError(f"the name of a {kind} is {name!r}: give text")
            if not name or "/" in name:
                raise InvalidInputError(f"{name!r} as the name of a {kind}: netCDF's names are not empty and have no slash, which stands for a group")
    for owner, attributes in [("the dataset", dataset.attrs), *((f"variable {name!r}", variable.attrs) for name, variable in dataset.variables.items())]:
        for key, value in attributes.items():
            if not isinstance(key, str):
                raise InvalidTypeError(f"the name of an attribute of {owner} is {key!r}: give text")
            if not key:
                raise InvalidInputError(f"an attribute of {owner} has an empty name")
            if not isinstance(value, _ATTRIBUTES):
                raise InvalidTypeError(
                    f"attribute {key!r} of {owner} is {value!r}: netCDF has no value of the type {type(value).__name__}; remove or convert it"
                )


def unlimited_of(dataset: xarray.Dataset, given: str | Iterable[str] | None) -> set[str]:
    """Names of the unlimited dimensions: those that are given, else those that the dataset was read with.

    Raises:
        InvalidInputError: One of those given is not a dimension of the dataset.
    """
    if given is None:
        return {name for name in dataset.encoding.get("unlimited_dims", ()) if name in dataset.dims}
    names = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if missing := [name for name in names if name not in dataset.dims]:
        raise InvalidInputError(
            f"unlimited_dims={names!r}: the dataset has no dimension {missing[0]!r}; its dimensions are {', '.join(map(str, dataset.dims))}"
        )
    return set(names)


def of_nodes(tree: xarray.DataTree, encoding: Encodings, unlimited: Unlimited, group: str | None) -> list[tuple[str, Encodings, str | Iterable[str] | None]]:
    """The path, the encoding and the unlimited dimensions of each node of a tree. Both may be given by path, or by variable and
    dimension for the root and for all nodes.

    Raises:
        InvalidInputError: A path is not a node, or no node has an unlimited dimension.
        UnsupportedError: A tree is to be written into a group.
    """
    if group is not None:
        raise UnsupportedError(f"group={group!r} of a tree: its nodes are the groups of the file")
    nodes = {"/" + node.relative_to(tree).strip("./") if node is not tree else "/": node for node in tree.subtree}
    by_path = any(key.startswith("/") for key in encoding)
    for what, given in (("encoding", encoding if by_path else {}), ("unlimited_dims", unlimited if isinstance(unlimited, Mapping) else {})):
        if unknown := [key for key in given if key not in nodes]:
            raise InvalidInputError(f"{what} of {unknown[0]!r}, which is not a node of the tree; its nodes are {', '.join(nodes)}")
    if unlimited is None or isinstance(unlimited, Mapping):
        found = {path: (unlimited or {}).get(path) for path in nodes}
    else:
        names = [unlimited] if isinstance(unlimited, str) else list(unlimited)
        if missing := [name for name in names if not any(name in node.dims for node in nodes.values())]:
            raise InvalidInputError(f"unlimited_dims={names!r}: no node of the tree has a dimension {missing[0]!r}")
        found = {path: [name for name in names if name in node.dims] for path, node in nodes.items()}
    return [(path, (encoding.get(path) or {}) if by_path else encoding if path == "/" else {}, found[path]) for path in nodes]
