"""Parser: a parser of HDF5 and netCDF-4 for VirtualiZarr."""

from __future__ import annotations

import urllib.parse
import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError
from ..base.extras import require
from ..base.type_aliases import OpenOptions
from ..files.file import _of_store
from ..objects.attributes import attributes_of
from ..sources.sessions import session
from ..xarray.attributes import read_attributes
from ..xarray.groups import find_group
from .arrays import Array, arrays_of, json_attributes

if TYPE_CHECKING:
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import MemoryStore
    from typing_extensions import Unpack
    from virtualizarr.manifests import ChunkManifest, ManifestArray, ManifestGroup, ManifestStore


class HyperslabParser:
    """Tells VirtualiZarr where the chunks of an HDF5 or netCDF-4 file lie, without a loop over chunks in Python.

    Chunks that readers of Zarr cannot take from the file (in an object's header, or stored without some of the dataset's filters) are
    encoded again and kept in memory: they can be read through the store, but a reference to them cannot be written. Load such variables
    with `loadable_variables` before you write.

    Example:
        >>> import virtualizarr as vz
        >>> from hyperslab.virtualizarr import HyperslabParser
        >>> vz.open_virtual_dataset("file:///data/run.nc", registry=registry, parser=HyperslabParser())
    """

    def __init__(self, group: str | None = None, drop_variables: Iterable[str] | None = None, **options: Unpack[OpenOptions]) -> None:
        """A parser.

        Args:
            group: Path of the group to look at; by default the root group.
            drop_variables: Names of datasets that are left out.
            options: Those of `hyperslab.open`: `threads`, `limits`.

        Raises:
            MissingExtraError: VirtualiZarr is not installed.
        """
        require("references for VirtualiZarr", "virtualizarr", "virtualizarr", "zarr")
        self.group = "/" + (group or "").strip("/")
        self.drop_variables = frozenset([drop_variables] if isinstance(drop_variables, str) else drop_variables or ())
        self.options = options

    def __call__(self, url: str, registry: ObjectStoreRegistry) -> ManifestStore:
        """The references of a file.

        Args:
            url: Of the file.
            registry: VirtualiZarr's registry of object stores. One of them holds the file.

        Raises:
            UnsupportedError: Zarr has no array like one of the datasets; the error names it, and how to leave it out.
            InvalidInputError: The file is neither HDF5 nor netCDF-4, or an argument is not valid.
        """
        from virtualizarr.manifests import ManifestStore

        limits = tuple(sorted((self.options.get("limits") or {}).items()))
        # References are into one file: a file of several members, whose offsets count through all of them, is refused.
        opener = session(**{**self.options, "limits": limits, "format": "netcdf4", "paths": "none"})
        parsed = urllib.parse.urlparse(url)
        files = opener.open([urllib.parse.unquote(parsed.path)]) if parsed.scheme == "file" else _of_store(opener, *registry.resolve(url))
        builder = _Builder(files[0], url, registry)
        return ManifestStore(registry=registry, group=builder.group(self.group, self.drop_variables))


class _Builder:
    """Makes VirtualiZarr's objects of one file."""

    def __init__(self, file: _native.File, url: str, registry: ObjectStoreRegistry) -> None:
        self._file, self._url, self._registry = file, url, registry
        self._memory: tuple[str, MemoryStore] | None = None

    def group(self, path: str, drop: frozenset[str], above: frozenset[tuple[str, int]] = frozenset()) -> ManifestGroup:
        from virtualizarr.manifests import ManifestGroup

        file, number = find_group(self._file, path)
        if file.path != self._file.path:
            raise InvalidInputError("a group of another file, which an external link leads to: leave it out by drop_variables", self._file.path, path)
        arrays = {array.name: self._array(array) for array in arrays_of(self._file, path, drop)}
        groups = {}
        links = file.links(number)
        for name, target in zip(links.names, links.objects, strict=True):
            if name in drop or target is None or file.kind(target) != "group" or (file.path, target) in above:
                continue
            groups[name] = self.group(f"{path.rstrip('/')}/{name}", drop, above | {(file.path, number)})
        attributes = json_attributes(read_attributes(attributes_of(file, number)))
        return ManifestGroup(arrays=arrays, groups=groups, attributes=attributes)

    def _array(self, array: Array) -> ManifestArray:
        from virtualizarr.codecs import zarr_codec_config_to_v3
        from virtualizarr.manifests import ManifestArray
        from virtualizarr.manifests.utils import create_v3_array_metadata
        from virtualizarr.parsers.utils import encode_cf_fill_value

        attributes = dict(array.attributes)
        if "_FillValue" in attributes:
            attributes["_FillValue"] = encode_cf_fill_value(np.asarray(attributes["_FillValue"]).astype(array.dtype), array.dtype)
        metadata = create_v3_array_metadata(
            shape=array.shape,
            data_type=array.dtype,
            chunk_shape=array.chunk_shape,
            fill_value=array.fill.item(),
            codecs=[zarr_codec_config_to_v3(codec) for codec in array.codecs],
            dimension_names=array.dims,
            attributes=attributes,
        )
        return ManifestArray(metadata=metadata, chunkmanifest=self._manifest(array))

    def _manifest(self, array: Array) -> ChunkManifest:
        from virtualizarr.manifests import ChunkManifest

        chunks = array.chunks
        count = int(np.prod(chunks.grid, dtype=object))
        paths = np.full(count, "", np.dtypes.StringDType())
        offsets, lengths = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
        paths[chunks.numbers], offsets[chunks.numbers], lengths[chunks.numbers] = self._url, chunks.offsets, chunks.lengths
        for number, content in chunks.contents.items():
            paths[number], lengths[number] = self._kept(f"{array.name}/{number}", content), len(content)
        grid = chunks.grid
        return ChunkManifest.from_arrays(paths=paths.reshape(grid), offsets=offsets.reshape(grid), lengths=lengths.reshape(grid), validate_paths=False)

    def _kept(self, name: str, content: bytes) -> str:
        """The address of bytes that are kept in memory."""
        if self._memory is None:
            from obstore.store import MemoryStore

            self._memory = f"memory://hyperslab-{uuid.uuid4()}", MemoryStore()
            self._registry.register(*self._memory)
        prefix, store = self._memory
        key = f"{uuid.uuid4()}/{urllib.parse.quote(name)}"
        store.put(key, content)
        return f"{prefix}/{key}"
