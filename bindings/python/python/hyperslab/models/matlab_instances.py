"""MATLAB instances: containers for the objects of classes that a file's subsystem describes."""

from __future__ import annotations

from ..base.type_aliases import AnyArray
from .matlab_containers import Container
from .matlab_subsystem import Subsystem

#: The first number of objects of the subsystem, above the numbers of HDF5's objects.
FIRST_INSTANCE = 1 << 62


class Instances:
    """The objects of a subsystem, each with one container however many variables refer to it."""

    def __init__(self, subsystem: Subsystem, defaults: list[int]) -> None:
        """The subsystem, and for each class the HDF5 object with the default values of its properties."""
        self.subsystem, self._defaults = subsystem, defaults
        self._known: set[int] = set()

    def containers(self, words: AnyArray, class_name: str) -> tuple[Container, dict[int, Container]]:
        """The container of a variable that refers to objects, and the containers of objects that were not met before."""
        referred = self.subsystem.referred(words)
        own = Container(
            "objects", class_name or self.subsystem.class_name(referred.class_id), [FIRST_INSTANCE + i for i in referred.objects], [], referred.shape
        )
        found: dict[int, Container] = {}
        pending = list(dict.fromkeys(referred.objects))
        while pending:
            i = pending.pop()
            if i in self._known:
                continue
            self._known.add(i)
            container, dynamic = self._instance(i)
            found[FIRST_INSTANCE + i] = container
            pending.extend(dynamic)
        return own, found

    def _instance(self, i: int) -> tuple[Container, list[int]]:
        """The container of an object, and the objects that describe its dynamic properties."""
        if not i:
            return Container("deleted", "", [], [], ()), []
        class_id = self.subsystem.class_of(i)
        properties, dynamic = self.subsystem.properties(i), self.subsystem.dynamic(i)
        names, children = [p.name for p in properties if p.address], [p.address for p in properties if p.address]
        if class_id < len(self._defaults):
            # Without a name, and replaced by what is stored.
            names, children = ["", *names], [self._defaults[class_id], *children]
        names += [f"dynamic property {n + 1}" for n in range(len(dynamic))]
        children += [FIRST_INSTANCE + n for n in dynamic]
        literals = {p.name: p.literal for p in properties if not p.address}
        return Container("object", self.subsystem.class_name(class_id), children, names, (), literals), dynamic
