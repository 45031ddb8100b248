"""How many files become one: the arguments that `hyperslab.joined`, `virtual` and `merge` share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ..base.arguments import check_choice
from ..base.errors import InvalidInputError
from ..base.type_aliases import AttributeValue, OpenOptions, Option

if TYPE_CHECKING:
    from ..files.file import File

Function = TypeVar("Function", bound=Callable[..., object])


class JoinOptions(OpenOptions, total=False):
    """How files follow each other, as `hyperslab.joined` describes it, and the options of `hyperslab.open`."""

    concat_dim: str | None
    new_dim: str | None
    labels: Callable[[File], AttributeValue] | None
    axis: int | None
    datasets: Collection[str] | None
    compat: str
    check_order: bool
    misfits: str
    convert_units: bool


#: What an argument is that is not given.
_DEFAULTS: JoinOptions = {
    "concat_dim": None,
    "new_dim": None,
    "labels": None,
    "axis": None,
    "datasets": None,
    "compat": "equals",
    "check_order": True,
    "misfits": "error",
    "convert_units": False,
}


@dataclass(frozen=True)
class How:
    """How files are joined: along the dimension `concat_dim`, along a `new_dim`, or along `axis` of `datasets` (`None`: of all).

    Attributes:
        group: The path of the group that is joined, with all that is below it.
        is_copied: Whether the whole has its own values: it keeps datasets of references, further names of objects, and committed types.
        as_xarray: Whether xarray decodes the values: times may count from other dates in each file, files may be of several formats, and
            attributes are those of the first file.
    """

    concat_dim: str | None = None
    new_dim: str | None = None
    labels: Callable[[File], AttributeValue] | None = None
    axis: int | None = None
    datasets: frozenset[str] | None = None
    compares: bool = True
    checks_order: bool = True
    leaves_out: bool = False
    converts_units: bool = False
    group: str = "/"
    is_copied: bool = False
    as_xarray: bool = False


def how_of(options: Mapping[str, Option], *, group: str = "/", is_copied: bool = False, as_xarray: bool = False) -> tuple[How, dict[str, Option]]:
    """Splits `JoinOptions` into how files are joined and the options to open them with. The other arguments are attributes of `How`.

    Raises:
        InvalidInputError: An argument is not valid, or contradicts another one.
    """
    given: dict[str, Option] = {**_DEFAULTS, **{name: value for name, value in options.items() if name in _DEFAULTS}}
    concat_dim, new_dim, labels, axis, datasets, compat, check_order, misfits, convert_units = given.values()
    chosen = [name for name in ("concat_dim", "new_dim", "axis") if given[name] is not None]
    if len(chosen) > 1:
        raise InvalidInputError(f"{' and '.join(chosen)} are given: give one of them")
    if axis is not None and (isinstance(axis, bool) or not isinstance(axis, int) or axis < 0):
        raise InvalidInputError(f"axis={axis!r} is not a dimension: give 0 for the first")
    if datasets is not None and axis is None:
        raise InvalidInputError("datasets= is for axis=, which says along which axis they go on")
    check_choice("compat", compat, ("equals", "override"))
    check_choice("misfits", misfits, ("error", "leave_out"))
    names = None if datasets is None else frozenset("/" + name.strip("/") for name in ([datasets] if isinstance(datasets, str) else datasets))
    how = How(concat_dim, new_dim, labels, axis, names, compat == "equals", check_order, misfits == "leave_out", convert_units, group, is_copied, as_xarray)
    return how, {name: value for name, value in options.items() if name not in _DEFAULTS}


def shows_options(function: Function) -> Function:
    """Lists the arguments of `JoinOptions` in the signature that `help` and `inspect` show of a function with `**options`."""
    signature = inspect.signature(function)
    *own, options = signature.parameters.values()
    types = {name: getattr(kind, "__forward_arg__", kind) for name, kind in JoinOptions.__annotations__.items()}
    shown = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=types[name]) for name, value in _DEFAULTS.items()]
    function.__dict__["__signature__"] = signature.replace(parameters=[*own, *shown, options.replace(annotation="Unpack[OpenOptions]")])
    return function
