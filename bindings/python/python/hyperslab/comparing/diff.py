"""Diff: compares two files, or an object of each."""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base.change import Change
from ..base.errors import CorruptError, Error, InvalidInputError, UnsupportedError
from ..base.type_aliases import OpenOptions, Path
from ..files.file import File
from ..files.file import open as open_file
from ..objects.dataset import Dataset
from ..objects.datatype import Datatype
from ..objects.group import Group, Member
from ..objects.links import ExternalLink, HardLink, SoftLink
from ..objects.native_objects import description_of, native_of, stored_attribute
from ..objects.node import Node
from .datatypes import are_same
from .difference import Comparison, Difference, shown, value_text
from .stored import StoredChunks
from .structure import STRUCTURE_KINDS, committed_pairs, structural_differences
from .tolerance import Tolerance, are_comparable, same
from .unnamed import Unnamed
from .values import compare_rows, compare_values

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Attributes that follow from others: lists of who uses a dimension scale, and marks of commits.
_DERIVED = ("REFERENCE_LIST", "_hyperslab_commit")


#: Objects of two files that are compared with each other.
Pair = tuple[Member, Member]


class _How(NamedTuple):
    tolerance: Tolerance = Tolerance()
    attributes: bool = True
    storage: bool = False
    structure: bool = False
    unordered: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    progress: Callable[[int], object] | None = None

    def compared(self) -> tuple[str, ...]:
        """What is compared, in words."""
        optional = (("attributes", self.attributes), ("storage", self.storage or self.structure), ("structure", self.structure))
        return ("links", "types", "shapes", "fill values", "values", *(name for name, is_compared in optional if is_compared))


def diff(
    first: Path | File,
    second: Path | File,
    path: str = "/",
    second_path: str | None = None,
    *,
    rtol: float = 0.0,
    atol: float = 0.0,
    equal_nan: bool = True,
    attributes: bool = True,
    storage: bool = False,
    structure: bool = False,
    unordered: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    progress: Callable[[int], object] | None = None,
    **options: Unpack[OpenOptions],
) -> Comparison:
    """Compares two HDF5 or netCDF files: objects, links, attributes, types, shapes and values.

    Chunks that both files store with the same bytes are not decoded. Soft and external links are compared, not followed. Attributes that
    follow from others (`REFERENCE_LIST`) are left out.

    Args:
        first: A file.
        second: The other file.
        path: The object of the first file to compare, with all below it.
        second_path: The object of the second file; by default the same path.
        rtol: Numbers are equal if they differ by at most `atol + rtol * abs(second)`, as in numpy's `isclose`.
        atol: See `rtol`; in the unit of the values.
        equal_nan: Whether NaN is equal to NaN.
        attributes: Whether to compare attributes.
        storage: Whether chunks and filters must be the same, too.
        structure: Whether all must be the same that `h5dump -p` shows: also which committed datatypes are shared, orders of creation, comments, times,
            the status of fill values, layouts, and filters with their flags. `repack` and `convert` compare their copies like this.
        unordered: Patterns (`/events/*`) of the paths of datasets whose rows may have any order. Both are read whole.
        exclude: Patterns of the paths of objects that are left out, with all below them.
        progress: Called with the number of objects compared so far.
        options: Those of `hyperslab.open`, for both files.

    Returns:
        What differs. `equal` says whether nothing does; what cannot be read is listed, and is not equal.

    Raises:
        NotFoundError: A file does not exist, or has no object at the path.
        InvalidInputError: A tolerance is not valid, or several files match.

    Example:
        >>> hs.diff("run1.h5", "run2.h5", rtol=1e-6).equal
    """
    tolerance = Tolerance(rtol, atol, equal_nan)
    how = _How(tolerance, attributes, storage, structure, _patterns(unordered), _patterns(exclude), progress)
    with contextlib.ExitStack() as opened:
        files = [_single(file if isinstance(file, File) else opened.enter_context(open_file(file, **options))) for file in (first, second)]
        stored = opened.enter_context(StoredChunks(*(native_of(file)[0] for file in files)))
        one, other = files[0][path], files[1][path if second_path is None else second_path]
        walk = _Walk(how, stored)
        found = tuple(walk.differences(one, other))
        return Comparison(files[0].filename, files[1].filename, found, tuple(walk.not_compared), len(walk.seen), stored.same_bytes, how.compared())


def check_copy(source: str, copy: str, is_copied: Callable[[str], bool] | None = None, changed: Iterable[str] = ()) -> tuple[Change, ...]:
    """Compares all of two HDF5 files, values bit by bit, with their structure. Of a copy of a part, `is_copied` says which paths are in it; others may be.

    Returns:
        The differences in structure that the copy did not state: those of objects at the paths `changed` are left out.

    Raises:
        CorruptError: Something else differs; the error names the first thing.
        UnsupportedError: Something cannot be compared.
    """
    structural = []
    with open_file(source, format="hdf5") as one, open_file(copy, format="hdf5") as other, StoredChunks(native_of(one)[0], native_of(other)[0]) as stored:
        walk = _Walk(_How(Tolerance(bits=True), structure=True), stored)
        for found in walk.differences(one["/"], other["/"]):
            if found.kind == "only_first" and is_copied is not None and not is_copied(found.path):
                continue
            if found.kind not in STRUCTURE_KINDS:
                raise CorruptError(f"the copy differs from the original: {found.path}: {found.text}", source)
            structural.append(Change(found.path, found.text))
        for path, reason in walk.not_compared:
            raise UnsupportedError(f"the copy cannot be compared with the original: {path}: {reason}; without verifying it can be made", source)
    # The copy of a part leaves members of its groups out.
    return () if is_copied is not None or not structural else _without(source, structural, changed)


def _without(file: str, changes: list[Change], paths: Iterable[str]) -> tuple[Change, ...]:
    """The changes of other objects than those at `paths`: an object may have several names. The file is opened again, so that no object gets another name."""
    with open_file(file, format="hdf5") as opened:
        numbers = {native_of(opened[path])[1] for path in paths if path in opened}
        return tuple(change for change in changes if native_of(opened[change.path])[1] not in numbers)


def _patterns(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _single(file: File) -> File:
    if len(file.files) != 1:
        raise InvalidInputError(f"{len(file.files)} files match: give one, such as {os.fsdecode(file.files[0].filename)}")
    return file.files[0]


class _Walk:
    """Goes through two trees at once. Each object is compared once, under its first path."""

    def __init__(self, how: _How, stored: StoredChunks) -> None:
        self._unnamed = Unnamed()
        self._how, self._stored = how._replace(tolerance=dataclasses.replace(how.tolerance, unnamed=self._unnamed)), stored
        #: The object of the second file that was compared with each of the first.
        self.seen: dict[int, int] = {}
        self._seen_second = set[int]()
        self.not_compared: list[tuple[str, str]] = []
        #: Committed datatypes that objects share: path, what shares it, and the datatypes of both files.
        self._committed: list[tuple[str, str, int | None, int | None]] = []

    def differences(self, one: Member, other: Member) -> Iterator[Difference]:
        yield from self._below(one, other)
        while self._unnamed.waiting:
            paths = self._unnamed.waiting.pop()
            found = (node._object(*native_of(node)[0].find(path), path) for node, path in zip((one, other), paths, strict=True))
            yield from self._below(*found)
        for path, what, mine, theirs in self._committed:
            is_same = (mine is None) == (theirs is None) if mine is None or mine not in self.seen else self.seen[mine] == theirs
            if not is_same:
                yield Difference(path, "committed", f"{what} is {_committed_text(mine)} in the first file, and {_committed_text(theirs)} in the second")

    def _below(self, one: Member, other: Member) -> Iterator[Difference]:
        # A stack instead of recursion: groups may be nested deeper than Python's calls.
        waiting: list[Iterator[Difference | Pair]] = [iter([(one, other)])]
        while waiting:
            following = next(waiting[-1], None)
            if following is None:
                waiting.pop()
            elif isinstance(following, Difference):
                yield following
            else:
                waiting.append(self._pair(*following))

    def _pair(self, one: Member, other: Member) -> Iterator[Difference | Pair]:
        mine, theirs = native_of(one)[1], native_of(other)[1]
        is_known = mine in self.seen, theirs in self._seen_second
        if any(is_known) and self.seen.get(mine) != theirs:
            which = "first" if is_known[0] else "second"
            yield Difference(one.name, "link", f"is a further name of an object in the {which} file, and not of the same one in the other")
        # A pair is compared if one of the two is new, so that groups that share members end.
        if all(is_known):
            return
        self.seen.setdefault(mine, theirs)
        self._seen_second.add(theirs)
        if self._how.progress is not None:
            self._how.progress(len(self.seen))
        yield from self._object(one, other)

    def _object(self, one: Member, other: Member) -> Iterator[Difference | Pair]:
        # A file that was opened is a group; what cannot be read is a node of no kind.
        refused = one.refusal or other.refusal
        if refused:
            self.not_compared.append((one.name, refused))
            return
        if one.kind != other.kind:
            yield Difference(one.name, "object", f"is a {one.kind} and a {other.kind}")
            return
        if self._how.attributes:
            yield from self._attributes(one, other)
        if self._how.structure:
            yield from structural_differences(one, other)
            pairs = committed_pairs(one, other)
            self._committed += [(one.name, what, mine, theirs) for what, mine, theirs in pairs if mine is not None or theirs is not None]
        if isinstance(one, Group) and isinstance(other, Group):
            yield from self._members(one, other)
        elif isinstance(one, Dataset) and isinstance(other, Dataset):
            yield from self._dataset(one, other)
        elif (
            isinstance(one, Datatype)
            and isinstance(other, Datatype)
            and not are_same(one.datatype, other.datatype, (native_of(one)[0].format, native_of(other)[0].format))
        ):
            yield Difference(one.name, "type", f"{one.dtype} and {other.dtype}")

    def _members(self, one: Group, other: Group) -> Iterator[Difference | Pair]:
        above = one.name.rstrip("/")
        theirs = set(other.keys())
        mine = list(one.keys())
        for name in mine:
            path = f"{above}/{name}"
            if self._is_excluded(path):
                continue
            if name not in theirs:
                yield Difference(path, "only_first", "only in the first file")
                continue
            try:
                link, copied = one.get(name, getlink=True), other.get(name, getlink=True)
                if isinstance(link, HardLink) and isinstance(copied, HardLink):
                    yield one[name], other[name]
                elif _target(link) != _target(copied):
                    yield Difference(path, "link", f"{link!r} and {copied!r}")
            except Error as error:
                self.not_compared.append((path, error.message))
        known = set(mine)
        for name in other:
            if name not in known and not self._is_excluded(f"{above}/{name}"):
                yield Difference(f"{above}/{name}", "only_second", "only in the second file")

    def _is_excluded(self, path: str) -> bool:
        return any(fnmatch.fnmatchcase(path, pattern) for pattern in self._how.exclude)

    def _attributes(self, one: Member, other: Member) -> Iterator[Difference]:
        # Each `.attrs` lists the names again.
        first, second = one.attrs, other.attrs
        mine, theirs = ([name for name in attributes if name not in _DERIVED] for attributes in (first, second))
        there = set(theirs)
        for name in mine:
            if name not in there:
                yield Difference(one.name, "attribute", f"the attribute {name!r} is only in the first file")
                continue
            try:
                a, b = first[name], second[name]
                if not same(a, b, self._how.tolerance):
                    yield Difference(one.name, "attribute", f"the attribute {name!r}: {shown(a)} and {shown(b)}")
            except Error as error:
                found = _same_bytes(one, other, name)
                if found is False:
                    yield Difference(one.name, "attribute", f"the attribute {name!r} has other bytes")
                if found is not None:
                    continue
                self.not_compared.append((one.name, f"the attribute {name!r}: {error.message}"))
        for name in sorted(there.difference(mine)):
            yield Difference(one.name, "attribute", f"the attribute {name!r} is only in the second file")

    def _dataset(self, one: Dataset, other: Dataset) -> Iterator[Difference]:
        a, b = description_of(one), description_of(other)
        same = are_same(one.datatype, other.datatype, (native_of(one)[0].format, native_of(other)[0].format))
        if not same:
            yield Difference(one.name, "type", _type_text(one, other))
        if self._how.storage:
            for what in ("storage", "chunks", "filters"):
                if a[what] != b[what]:
                    yield Difference(one.name, "storage", f"{what}: {a[what]} and {b[what]}")
        if one.shape != other.shape:
            yield Difference(one.name, "shape", f"{one.shape} and {other.shape}")
            return
        if one.maxshape != other.maxshape:
            yield Difference(one.name, "maxshape", f"{one.maxshape} and {other.maxshape}")
        if not _same_fill(one, other, self._how.tolerance):
            yield Difference(one.name, "fill", f"the fill value: {_fill(one)} and {_fill(other)}")
        if not are_comparable(one.dtype, other.dtype):
            return  # the type was named
        try:
            is_unordered = any(fnmatch.fnmatchcase(one.name, pattern) for pattern in self._how.unordered) and bool(one.shape)
            found = compare_rows(one, other, self._how.tolerance) if is_unordered else compare_values(one, other, self._how.tolerance, self._stored)
        except Error as error:
            self.not_compared.append((one.name, error.message))
            return
        if found is not None:
            yield Difference(one.name, "values", value_text(found), found)


def _same_bytes(one: Node, other: Node, name: str) -> bool | None:
    """Whether an attribute of numbers that numpy does not have is stored with the same bytes; `None` if bytes do not tell."""
    try:
        a, b = stored_attribute(one, name), stored_attribute(other, name)
    except Error:
        return None
    if a is None or b is None or a.datatype.class_name not in ("integer", "float") or b.datatype.class_name not in ("integer", "float"):
        return None
    return (a.datatype, a.shape, a.data) == (b.datatype, b.shape, b.data)


def _committed_text(number: int | None) -> str:
    return "an ordinary one" if number is None else "a committed one"


def _target(link: object) -> tuple[str, ...]:
    if isinstance(link, SoftLink):
        return "soft", link.path
    return ("external", link.file, link.path) if isinstance(link, ExternalLink) else ("hard",)


def _type_text(one: Dataset, other: Dataset) -> str:
    if one.dtype != other.dtype:
        return f"{one.dtype} and {other.dtype}"
    differing = one.datatype.differences(other.datatype)
    return f"{one.dtype} in both, stored with another {', '.join(sorted(differing))}"


def _same_fill(one: Dataset, other: Dataset, tolerance: Tolerance) -> bool:
    """Whether the fill values are the same. If the datatypes differ, whether both datasets have one or neither has."""
    a, b = description_of(one), description_of(other)
    if a["datatype"] == b["datatype"] and one.dtype.hasobject and (a["fill"] or b["fill"]):
        # Those of variable length are stored as places in the file.
        return same(np.asarray(one.fillvalue), np.asarray(other.fillvalue), tolerance)
    return (a["fill"] is None) == (b["fill"] is None) and (a["datatype"] != b["datatype"] or one.dtype.hasobject or a["fill"] == b["fill"])


def _fill(dataset: Dataset) -> str:
    return "none" if description_of(dataset)["fill"] is None else shown(np.asarray(dataset.fillvalue)[()])
