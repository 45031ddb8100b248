"""Store for xarray: the variables and attributes of one group of a file, not decoded."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from typing import Any

import numpy as np
from xarray import Variable
from xarray.backends import AbstractDataStore
from xarray.core import indexing

from .. import _native
from ..base.errors import ConflictError, Error, InternalError, UnsupportedError
from ..base.type_aliases import AnyDtype, AttributeValue
from ..dtypes import stored_dtype, value_dtype
from ..objects.attributes import attributes_of
from .array import HyperslabArray
from .attributes import read_attributes
from .decoding_options import DecodingOptions
from .encoding import Encoding, storage_of
from .groups import Member, enum_name, find_group, leave_out, members, normalized
from .opening import Manager, OpenedFile
from .unpacked import Stored, times_to_decode, unpacked


class HyperslabStore(AbstractDataStore):
    """One group of an open file. It pickles, and is opened again if it was closed; if the file has changed meanwhile, that is a
    `ConflictError`."""

    def __init__(
        self,
        manager: Manager,
        group: str | None = None,
        source: str = "",
        drop: Collection[str] = (),
        names: dict[str, str] | None = None,
        decoding: DecodingOptions | None = None,
    ) -> None:
        """A store of the group `group`.

        Args:
            manager: What opens the file: it has `acquire` and `close`.
            group: Path of the group; by default the root group.
            source: Path of the file, for `encoding`.
            drop: Names of variables that are not looked at.
            names: New names of phony dimensions, in order of access; `None` keeps the names of the netCDF library.
            decoding: How xarray will be asked to decode; `None` leaves all decoding to it.
        """
        self._decoding = decoding
        #: Variables that were looked at before xarray asks for them.
        self._stored: dict[str, Stored] | None = None
        self._manager, self._source, self._drop, self._names = manager, source, frozenset(drop), names
        self._group = normalized(group)
        self._version = manager.acquire().version
        if names is not None:
            self._number_phony_dimensions()

    def opened(self) -> OpenedFile:
        """The open file, which is opened again if it was closed."""
        opened: OpenedFile = self._manager.acquire()
        if opened.version is not None and self._version is not None and opened.version[1:] != self._version[1:]:
            raise ConflictError("the file has changed since it was opened: open it again", opened.file.path)
        opened.check_unchanged()
        return opened

    def get_variables(self, decoding: DecodingOptions | None = None) -> dict[str, Variable]:
        """The variables of the group, by name; `decoding` is as in the constructor."""
        decoding = decoding or self._decoding
        variables, self._stored = self._stored or self._variables(), None
        return {name: stored.variable for name, stored in variables.items()} if decoding is None else unpacked(variables, decoding)

    def times_to_decode(self, decoding: DecodingOptions) -> tuple[Any, frozenset[str]]:
        """`decode_times` for xarray, and the names of variables whose dates stay numbers, with a warning."""
        self._stored = self._variables()
        return times_to_decode(self._stored, decoding, self._source)

    def _variables(self) -> dict[str, Stored]:
        file, number = find_group(self.opened().file, self._group)
        variables = dict[str, Stored]()
        for name, member in members(file, number, self._group, self._drop):
            if member.about["kind"] in ("group", "datatype"):
                continue
            try:
                variables[name] = self._variable(member)
            except UnsupportedError as error:
                raise UnsupportedError(f"{error.message}; {leave_out(name)}", file.path, member.path) from error
        return variables

    def get_attrs(self) -> dict[str, AttributeValue]:
        """The attributes of the group."""
        return read_attributes(attributes_of(*find_group(self.opened().file, self._group)))

    def get_dimensions(self) -> dict[str, int]:
        """Extents of the dimensions that the group declares."""
        return {name: extent for name, extent, _ in self._declared()}

    def get_encoding(self) -> Encoding:
        """The names of the unlimited dimensions."""
        return {"unlimited_dims": {name for name, _, unlimited in self._declared() if unlimited}}

    def close(self) -> None:
        """Closes the file. Values that are asked for later open it again."""
        self._manager.close()

    def _declared(self) -> list[tuple[str, int, bool]]:
        file, number = find_group(self.opened().file, self._group)
        return [(self._named(name), extent, unlimited) for name, extent, unlimited in file.declared_dimensions(number)]

    def _number_phony_dimensions(self) -> None:
        """Numbers the dimensions of the groups above and of this group, in the order in which h5netcdf visits them."""
        file, parts = self.opened().file, self._group.split("/")
        for depth in range(1, len(parts) + bool(parts[-1])):
            group, number = find_group(file, "/".join(parts[:depth]) or "/")
            for name, _, _ in group.declared_dimensions(number):
                self._named(name)

    def _named(self, name: str) -> str:
        if self._names is None or not re.fullmatch(r"phony_dim_\d+", name):
            return name
        return self._names.setdefault(name, f"phony_dim_{len(self._names)}")

    def _variable(self, member: Member) -> Stored:
        about = member.about
        if about["kind"] == "unreadable":
            raise UnsupportedError(f"{member.path} cannot be read: {about['refusal']}")
        if about["shape"] is None:
            raise UnsupportedError(f"{member.path} has a null dataspace, which is not an array")
        datatype, shape = about["datatype"], tuple(about["shape"])
        if datatype.class_name == "array":
            raise UnsupportedError(f"the elements of {member.path} are arrays")
        if any(extent > sys.maxsize for extent in shape):
            raise UnsupportedError(f"{member.path} has a dimension of {max(shape)}, which is more than numpy counts")
        named = [name for name, _ in member.file.dimensions(member.number)]
        dimensions = tuple(self._named(name) for name in named if name is not None)
        if len(dimensions) != len(shape):
            raise InternalError(f"dimensions {named} for shape {shape}", member.file.path, member.path)
        attributes = read_attributes(attributes_of(member.file, member.number))
        dtype, encoding = self._types(member, datatype)
        if "_Unsigned" in attributes:
            dtype = dtype.newbyteorder("=")  # xarray takes the bytes of the fill value for those of a native number
        fill = attributes.get("_FillValue")
        if isinstance(fill, (str, bytes)):
            as_text = datatype.class_name == "variable string"
            attributes["_FillValue"] = (fill if isinstance(fill, str) else fill.decode("utf-8", "replace")) if as_text else np.bytes_(fill)
        if member.file.format != "netcdf3":
            encoding.update(storage_of(about, dimensions))
        if "least_significant_digit" in attributes:
            encoding["least_significant_digit"] = attributes.pop("least_significant_digit")
        encoding.update(source=self._source, original_shape=shape)
        data = indexing.LazilyIndexedArray(HyperslabArray(self, member.path, datatype, dtype, shape))
        variable = Variable(dimensions, data, attributes, encoding)
        return Stored(self, member.path, datatype, variable, lambda: member.file.decoding(member.number))

    def _types(self, member: Member, datatype: _native.Datatype) -> tuple[AnyDtype, Encoding]:
        """The dtype of the values, and the encoding that has the type in the file."""
        if datatype.class_name == "variable string":
            return np.dtype("O", metadata={"element_type": str}), {"dtype": str}  # as xarray marks text
        try:
            dtype = value_dtype(datatype)
        except Error as error:
            raise UnsupportedError(f"{member.path} cannot be read: {error.message}") from error
        if datatype.class_name == "enum":
            name = enum_name(self.opened().file, self._group, datatype)
            if name is None and datatype.is_boolean:
                return dtype, {"dtype": dtype}  # a truth value of h5py
            dtype = stored_dtype(datatype.base)
            enumeration = {"enum": dict(datatype.values), "enum_name": name or "enum_t"}
            return dtype, {"dtype": np.dtype(dtype, metadata=enumeration)}
        # netCDF-3 is big-endian whatever was written, and xarray cannot decode compounds in another byte order.
        if member.file.format == "netcdf3" or dtype.names is not None:
            dtype = dtype.newbyteorder("=")
        return dtype, {"dtype": dtype}
