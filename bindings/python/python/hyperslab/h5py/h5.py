"""As `h5py.h5`: constants."""

from __future__ import annotations

from ._missing import missing_from

INDEX_NAME, INDEX_CRT_ORDER = 0, 1
ITER_INC, ITER_DEC, ITER_NATIVE = 0, 1, 2


class H5PYConfig:
    """Settings of h5py that concern reading, as they always are."""

    bool_names = (b"FALSE", b"TRUE")
    complex_names = (b"r", b"i")
    default_file_mode = "r"
    mpi = False
    ros3 = False
    swmr_min_hdf5_version = (1, 9, 178)
    track_order = False
    vds_min_hdf5_version = (1, 9, 233)


_CONFIG = H5PYConfig()


def get_config() -> H5PYConfig:
    """The settings."""
    return _CONFIG


def get_libversion() -> tuple[int, int, int]:
    """The version of HDF5 whose files are read."""
    return (2, 0, 0)


__getattr__ = missing_from("h5py.h5")
