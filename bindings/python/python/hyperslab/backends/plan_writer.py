"""Plan writer: a plan of a parallel write as the target of definitions, with the methods of `_native.Writer`."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, NoReturn, TypeAlias

from .. import _native
from ..base.description import Description
from ..base.errors import InvalidInputError, UnsupportedError
from ..values import new_references


class Defined(NamedTuple):
    """An object that a plan defines: its number, and its description."""

    number: int
    about: Description


class PlanWriter:
    """Takes definitions until the plan is sent to tasks."""

    _NAMES: ClassVar[dict[str, str]] = {"create_link": "define_link"}

    def __init__(self, native: _native.WritePlan) -> None:
        self._native, self.sealed = native, False
        self._defined: dict[str, Defined] = {"/": Defined(0, {"kind": "group"})}

    def __getattr__(self, name: str) -> Any:
        self.check()
        return getattr(self._native, self._NAMES.get(name, name))

    def check(self) -> None:
        """Refuses definitions that come too late."""
        if self.sealed:
            raise InvalidInputError("this plan has gone to its tasks: it defines no more")

    def note(self, path: str, about: Description) -> None:
        """Notes an object that was defined, and the groups above it."""
        parts = [part for part in path.split("/") if part]
        for depth in range(1, len(parts) + 1):
            above = "/" + "/".join(parts[:depth])
            if above not in self._defined:
                self._defined[above] = Defined(len(self._defined), {"kind": "group"})
        name = "/" + "/".join(parts)
        self._defined[name] = Defined(self._defined[name].number, about)

    def look_up(self, path: str) -> _native.ObjectInfo | None:
        """The object that the plan has defined at a path."""
        name = "/" + path.strip("/")
        found = self._defined.get(name)
        return None if found is None else _native.ObjectInfo(found.about["kind"], found.number, name)

    def path_of(self, number: int) -> str | None:
        """The path of an object."""
        return next((path for path, found in self._defined.items() if found.number == number), None)

    def describe(self, path: str) -> Description:
        """Describes an object."""
        return self._defined["/" + path.strip("/")].about.copy()

    def members(self, path: str) -> list[_native.Member]:
        """What the plan has defined in a group."""
        above = f"/{path.strip('/')}/".replace("//", "/")
        return [_native.Member(name[len(above) :]) for name in self._defined if name.startswith(above) and name != above and "/" not in name[len(above) :]]

    def member(self, path: str, name: str) -> _native.Member | None:
        """What the plan has defined in a group under this name."""
        return _native.Member(name) if f"/{path.strip('/')}/{name}".replace("//", "/") in self._defined else None

    def shape(self, path: str) -> list[int] | None:
        """The extent of a dataset of the plan."""
        return self.describe(path)["shape"]

    def scales(self, path: str) -> dict[int, list[str]]:
        """No scales are attached before the plan goes to its tasks."""
        return {}

    def attribute_names(self, path: str) -> NoReturn:
        """Refused: a plan only takes attributes."""
        raise UnsupportedError("attributes of a plan are set, not read: read the file after the commit")

    def attribute(self, path: str, name: str) -> NoReturn:
        """Refused: a plan only takes attributes."""
        self.attribute_names(path)

    def create_group(self, path: str) -> None:
        """Defines a group."""
        self.check()
        self._native.define_group(path)
        self.note(path, {"kind": "group"})

    def create_dataset(self, path: str, definition: _native.DatasetDefinition, rows: bool = False, value: tuple[bytes, list[bytes]] | None = None) -> None:
        """Defines a dataset, with all of its values if they are given."""
        self.check()
        self._native.define_dataset(path, definition, rows, value)
        self.note(path, definition.describe())

    def create_datatype(self, path: str, datatype: _native.Datatype) -> None:
        """Commits a datatype."""
        self.check()
        self._native.define_datatype(path, datatype)
        self.note(path, {"kind": "datatype", "datatype": datatype})

    def set_references(self, path: str, name: str | None, shape: list[int], targets: list[str | None]) -> None:
        """Defines a dataset of references to the objects at these paths, or sets an attribute called `name`."""
        self.check()
        self._native.set_references(path, name, shape, targets)
        if name is None:
            definition = _native.DatasetDefinition(new_references.datatype_of("object"), shape)
            self.note(path, definition.describe())


#: What defines the objects of a new file.
AnyWriter: TypeAlias = _native.Writer | PlanWriter
