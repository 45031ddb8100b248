"""Which files are HDF5 or netCDF, by content: names tell too little."""

from __future__ import annotations

import pathlib

HDF5 = b"\x89HDF\r\n\x1a\n"
NETCDF3 = (b"CDF\x01", b"CDF\x02", b"CDF\x05")


def kind(path: pathlib.Path) -> str | None:
    """`hdf5` (its signature at 0, 512, 1024 and on, doubling), `netcdf3` or None."""
    if path.is_symlink() or not path.is_file():
        return None
    size = path.stat().st_size
    if size < len(HDF5):
        return None
    with path.open("rb") as file:
        offset = 0
        while offset < size:
            file.seek(offset)
            start = file.read(len(HDF5))
            if start == HDF5:
                return "hdf5"
            if offset == 0 and start[:4] in NETCDF3:
                return "netcdf3"
            offset = offset * 2 or 512
    return None
