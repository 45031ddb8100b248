"""Engine of xarray: `xarray.open_dataset(path, engine="hyperslab")`. The entry point names this module."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from xarray import Dataset, DataTree
from xarray.backends import BackendEntrypoint, CachingFileManager, StoreBackendEntrypoint

from ..base.arguments import check_choice
from ..sources.addresses import options_of, shown_address
from ..sources.file_objects import CONTENT_NAME
from ..sources.range_readers import Opened
from ..sources.sessions import Arguments
from .accessor import HyperslabAccessor as HyperslabAccessor
from .decoding_options import DecodingOptions
from .groups import normalized, subgroups
from .opening import ContentManager, Manager, ReaderManager, open_path, path_or_content
from .store import HyperslabStore

if TYPE_CHECKING:
    from xarray.coders import CFDatetimeCoder, CFTimedeltaCoder

#: The first bytes of HDF5 files, which may be at 0, 512, 1024, 2048 and so on.
_HDF5 = b"\x89HDF\r\n\x1a\n"
#: The first bytes of netCDF-3 files.
_NETCDF3 = (b"CDF\x01", b"CDF\x02", b"CDF\x05")
#: Where the signature of an HDF5 file is looked for.
_HDF5_OFFSETS = (0, 512, 1024, 2048, 4096, 8192)
#: Endings of files that do not exist yet, or cannot be read.
_ENDINGS = (".nc", ".nc4", ".cdf", ".h5", ".hdf5", ".he5")


class HyperslabBackendEntrypoint(BackendEntrypoint):
    """Opens HDF5, netCDF-4 and netCDF-3 files in parallel, without the HDF5 library and its lock."""

    description = "Open HDF5 and netCDF files (netCDF-4, netCDF-3) in parallel, without the HDF5 library and its lock, using Hyperslab"
    url: ClassVar[str] = "https://pypi.org/project/hyperslab"
    supports_groups = True
    open_dataset_parameters = (
        "filename_or_obj",
        "mask_and_scale",
        "decode_times",
        "concat_characters",
        "decode_coords",
        "drop_variables",
        "use_cftime",
        "decode_timedelta",
        "group",
        "phony_dims",
        "fused_decoding",
        "threads",
        "paths",
        "missing_sources",
        "limits",
        "chunk_cache_bytes",
        "storage_options",
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether the first bytes are a signature of HDF5 or netCDF-3; for a path that cannot be read, whether its ending is usual."""
        if isinstance(filename_or_obj, (bytes, bytearray, memoryview)):
            return _is_signature(bytes(filename_or_obj[: _HDF5_OFFSETS[-1] + 8]))
        if isinstance(filename_or_obj, (str, os.PathLike)):
            name = os.fspath(filename_or_obj)
            if "://" in str(name):
                return False
            try:
                with open(os.path.expanduser(name), "rb") as file:
                    return _is_signature(file.read(_HDF5_OFFSETS[-1] + 8))
            except OSError:
                return str(name).endswith(_ENDINGS)
        if hasattr(filename_or_obj, "read") and hasattr(filename_or_obj, "seek"):
            position = filename_or_obj.tell()
            filename_or_obj.seek(0)
            start = filename_or_obj.read(_HDF5_OFFSETS[-1] + 8)
            filename_or_obj.seek(position)
            return isinstance(start, bytes) and _is_signature(start)
        return False

    def open_dataset(
        self,
        filename_or_obj: object,
        *,
        mask_and_scale: bool | Mapping[str, bool] = True,
        decode_times: bool | CFDatetimeCoder | Mapping[str, bool | CFDatetimeCoder] = True,
        concat_characters: bool | Mapping[str, bool] = True,
        decode_coords: bool | Literal["coordinates", "all"] = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | Mapping[str, bool] | None = None,
        decode_timedelta: bool | CFTimedeltaCoder | Mapping[str, bool | CFTimedeltaCoder] | None = None,
        group: str | None = None,
        phony_dims: str | None = None,
        fused_decoding: bool = False,
        threads: int | None = None,
        paths: str | None = None,
        missing_sources: str | None = None,
        limits: Mapping[str, int] | None = None,
        chunk_cache_bytes: int | None = None,
        storage_options: Mapping[str, object] | None = None,
    ) -> Dataset:
        """Opens one group as a `Dataset`.

        Args:
            filename_or_obj: A path, an address such as `s3://bucket/key`, `bytes`, a file object, or a file of fsspec.
            mask_and_scale, decode_times, concat_characters, decode_coords, use_cftime, decode_timedelta: As in
                `xarray.open_dataset`; xarray itself decodes.
            drop_variables: Names of variables that are left out. They are not looked at.
            group: Path of the group; by default the root group.
            phony_dims: How dimensions without a name are numbered: `sort` (the default) as the netCDF library does, over the whole
                file; `access` from 0 on in the groups that are opened.
            fused_decoding: Decode while values are read, in parallel, instead of in xarray afterwards. The values are the same, but
                of a float that a double marks as missing (`missing_value`): it is NaN. Objects of cftime and durations of floats are
                made by xarray, of numbers that were decoded.
            threads, paths, missing_sources, limits, chunk_cache_bytes, storage_options: As in `hyperslab.open`.

        Returns:
            A dataset of lazy arrays.

        Raises:
            NotFoundError: There is no such file (also a `FileNotFoundError`) or group (also an `OSError`).
            UnsupportedError: A variable cannot be read by name; `drop_variables` leaves it out.

        Warns:
            DecodingWarning: A variable of dates stays as numbers, because neither xarray nor Hyperslab understands its units.

        Example:
            >>> xr.open_dataset("profiles.nc", engine="hyperslab")
        """
        manager, source = _manager(filename_or_obj, _options(threads, paths, missing_sources, limits, chunk_cache_bytes, storage_options))
        wanted = DecodingOptions(fused_decoding, mask_and_scale, decode_times, use_cftime, decode_timedelta)
        store = HyperslabStore(manager, group, source, _dropped(drop_variables), _names(phony_dims), wanted)
        return _decoded(
            store,
            wanted,
            mask_and_scale=mask_and_scale,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            drop_variables=drop_variables,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )

    def open_datatree(self, filename_or_obj: object, **options: Any) -> DataTree:
        """Opens a group and all groups below it as a `DataTree`.

        Args:
            filename_or_obj: As in `open_dataset`.
            options: As in `open_dataset`.

        Returns:
            A tree of datasets with lazy arrays.

        Example:
            >>> xr.open_datatree("profiles.nc", engine="hyperslab")
        """
        groups = self.open_groups_as_dict(filename_or_obj, **options)
        try:
            tree: DataTree = DataTree.from_dict(groups)
        except Exception:
            for dataset in groups.values():
                dataset.close()
            raise
        for path, dataset in groups.items():
            node = tree[path]
            assert isinstance(node, DataTree)
            node.set_close(dataset._close)
        return tree

    def open_groups_as_dict(
        self,
        filename_or_obj: object,
        *,
        mask_and_scale: bool | Mapping[str, bool] = True,
        decode_times: bool | CFDatetimeCoder | Mapping[str, bool | CFDatetimeCoder] = True,
        concat_characters: bool | Mapping[str, bool] = True,
        decode_coords: bool | Literal["coordinates", "all"] = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | Mapping[str, bool] | None = None,
        decode_timedelta: bool | CFTimedeltaCoder | Mapping[str, bool | CFTimedeltaCoder] | None = None,
        group: str | None = None,
        phony_dims: str | None = None,
        fused_decoding: bool = False,
        threads: int | None = None,
        paths: str | None = None,
        missing_sources: str | None = None,
        limits: Mapping[str, int] | None = None,
        chunk_cache_bytes: int | None = None,
        storage_options: Mapping[str, object] | None = None,
    ) -> dict[str, Dataset]:
        """Opens a group and all groups below it as datasets by path.

        Args:
            filename_or_obj: As in `open_dataset`, and the other arguments, too.

        Returns:
            A dataset for each group, by its path from the given group.

        Example:
            >>> xr.open_groups("profiles.nc", engine="hyperslab")
        """
        manager, source = _manager(filename_or_obj, _options(threads, paths, missing_sources, limits, chunk_cache_bytes, storage_options))
        wanted = DecodingOptions(fused_decoding, mask_and_scale, decode_times, use_cftime, decode_timedelta)
        names, dropped, top = _names(phony_dims), _dropped(drop_variables), normalized(group)
        opened = {}
        for path in subgroups(manager.acquire().file, top):
            relative = path[len(top.rstrip("/")) :].lstrip("/")
            opened["/" + relative if top == "/" else relative or "."] = _decoded(
                HyperslabStore(manager, path, source, dropped, names, wanted),
                wanted,
                mask_and_scale=mask_and_scale,
                concat_characters=concat_characters,
                decode_coords=decode_coords,
                drop_variables=drop_variables,
                use_cftime=use_cftime,
                decode_timedelta=decode_timedelta,
            )
        return opened


def _decoded(store: HyperslabStore, wanted: DecodingOptions, **decoding: Any) -> Dataset:
    try:
        decoding["decode_times"], _ = store.times_to_decode(wanted)
        return StoreBackendEntrypoint().open_dataset(store, **decoding)
    except Exception:
        store.close()
        raise


def _is_signature(start: bytes) -> bool:
    return start.startswith(_NETCDF3) or any(start[offset : offset + 8] == _HDF5 for offset in _HDF5_OFFSETS)


def _options(
    threads: int | None,
    paths: str | None,
    missing_sources: str | None,
    limits: Mapping[str, int] | None,
    chunk_cache_bytes: int | None,
    storage_options: Mapping[str, object] | None = None,
) -> Arguments:
    """The arguments of a session, which shows every HDF5 file as netCDF-4."""
    return threads, "netcdf4", paths, missing_sources, tuple(sorted((limits or {}).items())), None, chunk_cache_bytes, None, options_of(storage_options)


def _manager(source: object, options: Arguments) -> tuple[Manager, str]:
    """What opens the file, and what `encoding["source"]` says."""
    place = path_or_content(source)
    if isinstance(place, bytes):
        return ContentManager(place, options), CONTENT_NAME
    if isinstance(place, Opened):
        return ReaderManager(place, options), place.name
    return CachingFileManager(open_path, place, options, mode="r"), shown_address(place)


def _dropped(names: str | Iterable[str] | None) -> frozenset[str]:
    return frozenset((names,) if isinstance(names, str) else names or ())


def _names(phony_dims: str | None) -> dict[str, str] | None:
    check_choice("phony_dims", phony_dims, (None, "sort", "access"))
    return {} if phony_dims == "access" else None
