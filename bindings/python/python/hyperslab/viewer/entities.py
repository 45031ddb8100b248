"""Entities: groups, datasets, datatypes and links as h5grove describes them.

The form is h5grove's (version 4), so that H5Web and jupyterlab-h5web read it; `testing/suites/viewer` compares both."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from .. import h5py
from ..base.errors import ConflictError, Error
from ..base.type_aliases import AnyDtype, JsonObject
from ..files.file import File
from ..h5py import h5t
from . import paging
from .meaning import meaning_of, variable_of
from .requests import Refused, shown_type

#: What links are followed: those that lead somewhere, all (a broken one is an error), none.
RESOLUTIONS = ("only_valid", "all", "none")
#: An object of h5py (`h5py.HLObject`), or the link to one.
Entity = Any


def find(file: h5py.Group, path: str, resolution: str) -> Entity:
    """The object at a path, or the link if it is not followed.

    Raises:
        Refused: There is none, or a link that has to be followed leads nowhere.
    """
    if path in ("", "/"):
        return file["/"]
    link: h5py.HardLink | h5py.SoftLink | h5py.ExternalLink | None = file.get(path, getlink=True)
    if link is None:
        raise Refused(404, f"there is no '{path}' in {posixpath.basename(file.file.filename)}")
    if isinstance(link, h5py.HardLink):
        return file[path]
    if resolution == "none":
        return link
    try:
        return file[path]
    except ConflictError:
        raise
    except (OSError, KeyError, Error):
        # It leads nowhere, out of what is shown, to something damaged, or in a circle.
        if resolution == "only_valid":
            return link
        raise Refused(404, f"the link '{path}' in {posixpath.basename(file.file.filename)} leads nowhere") from None


def describe(file: h5py.File, path: str, resolution: str, page_members: int | None = None, decoded: File | None = None) -> JsonObject:
    """What there is to say about an entity, and about the members of a group.

    Args:
        page_members: A group of more members has pages of so many in their place.
        decoded: The file with the conventions of netCDF, if datasets are described as their decoded values are.
    """
    members = None
    if page_members is not None:
        path, members = paging.split(path)
    entity = find(file, path, resolution)
    found = _described(entity, path, decoded)
    if isinstance(entity, h5py.Group):
        pages = paging.pages(entity, page_members) if page_members is not None and members is None else None
        names = entity if members is None else paging.names(entity, members)
        found["children"] = pages if pages is not None else [_member(entity, name, decoded) for name in names]
    return found


def _member(group: h5py.Group, name: str, decoded: File | None) -> JsonObject:
    """A member of a group. One that cannot be read does not hide the others: H5Web shows it as unresolved, and the error if it is selected."""
    try:
        return _described(find(group, name, "only_valid"), name, decoded)
    except ConflictError:
        raise
    except Error as error:
        return {"kind": "unreadable", "name": name, "message": str(error)}


def _described(entity: Entity, path: str, decoded: File | None) -> JsonObject:
    name = path.rsplit("/", 1)[-1]
    if isinstance(entity, h5py.ExternalLink):
        return {"kind": "external_link", "name": name, "target_file": entity.filename, "target_path": entity.path}
    if isinstance(entity, h5py.SoftLink):
        return {"kind": "soft_link", "name": name, "target_path": entity.path}
    attributes = entity.attrs  # one list of the names: each access makes a new one
    found: JsonObject = {"name": name, "attributes": [_attribute(attributes, key) for key in sorted(attributes)]}
    if isinstance(entity, h5py.Dataset):
        shape, chunks = entity.shape, entity.chunks
        found |= {"kind": "dataset", "shape": shape, "chunks": chunks, "filters": _filters(entity), "type": describe_type(entity.id.get_type())}
        return found if decoded is None else found | _meant(entity, decoded, found)
    if isinstance(entity, h5py.Group):
        return {**found, "kind": "group"}
    return {**found, "kind": "datatype", "type": describe_type(entity.id)}


def _meant(dataset: h5py.Dataset, file: File, stored: JsonObject) -> JsonObject:
    """What differs if values are decoded."""
    meaning = meaning_of(dataset, variable_of(file, dataset))
    if meaning is None or not meaning.is_changed:
        return {}
    applied = meaning.applied
    return {
        "shape": meaning.shape,
        "type": described_dtype(meaning.dtype, meaning.categories),
        "attributes": [one for one in stored["attributes"] if one["name"] not in applied],
    }


def described_dtype(dtype: AnyDtype, categories: dict[str, int]) -> JsonObject:
    """The datatype that stores a dtype; values that have names are an enumeration."""
    base = describe_type(h5t.py_create(dtype, logical=True))
    return {"class": h5t.ENUM, "dtype": base["dtype"], "size": base["size"], "members": categories, "base": base} if categories else base


def _attribute(attributes: h5py.AttributeManager, name: str) -> JsonObject:
    attribute = attributes.get_id(name)
    return {"name": name, "shape": attribute.shape, "type": describe_type(attribute.get_type())}


def _filters(dataset: h5py.Dataset) -> list[JsonObject] | None:
    creation = dataset.id.get_create_plist()
    found = [creation.get_filter(number) for number in range(creation.get_nfilters())]
    return [{"id": one[0], "name": one[3]} for one in found] or None


def describe_type(type_id: h5t.TypeID) -> JsonObject:
    """An HDF5 datatype: its class, numpy type, size, and what the class has besides."""
    found = {"class": type_id.get_class(), "dtype": shown_type(type_id.dtype), "size": type_id.get_size()}
    if isinstance(type_id, h5t.TypeEnumID):
        names = [type_id.get_member_name(number).decode() for number in range(type_id.get_nmembers())]
        found["members"] = {name: type_id.get_member_value(number) for number, name in enumerate(names)}
        return {**found, "base": describe_type(type_id.get_super())}
    if isinstance(type_id, h5t.TypeIntegerID):
        return {**found, "order": type_id.get_order(), "sign": type_id.get_sign()}
    if isinstance(type_id, (h5t.TypeFloatID, h5t.TypeBitfieldID)):
        return {**found, "order": type_id.get_order()}
    if isinstance(type_id, h5t.TypeStringID):
        return {**found, "cset": type_id.get_cset(), "strpad": type_id.get_strpad(), "vlen": type_id.is_variable_str()}
    if isinstance(type_id, h5t.TypeOpaqueID):
        return {**found, "tag": type_id.get_tag()}
    if isinstance(type_id, h5t.TypeCompoundID):
        members = [(type_id.get_member_name(number).decode(), type_id.get_member_type(number)) for number in range(type_id.get_nmembers())]
        return {**found, "members": [{"name": name, **describe_type(member)} for name, member in members]}
    if isinstance(type_id, h5t.TypeVlenID):
        return {**found, "base": describe_type(type_id.get_super())}
    if isinstance(type_id, h5t.TypeArrayID):
        return {**found, "dims": type_id.get_array_dims(), "base": describe_type(type_id.get_super())}
    return found


def paths(file: h5py.File, path: str, resolution: str) -> Iterator[str]:
    """The paths of an object and of everything below it. A group that has several paths is entered once."""
    group = find(file, path, resolution)
    if not isinstance(group, h5py.Group):
        raise Refused(422, f"'{path}' is not a group")
    yield path
    names: list[str] = []
    group.visit_links(names.append)
    for name in names:
        yield posixpath.join(path, name)
