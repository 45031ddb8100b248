"""As `h5py.h5`: constants."""

from __future__ import annotations

from ..base.errors import InvalidTypeError, UnsupportedError
from ._missing import missing_from

INDEX_NAME, INDEX_CRT_ORDER = 0, 1
ITER_INC, ITER_DEC, ITER_NATIVE = 0, 1, 2


class H5PYConfig:
    """Settings of h5py, as they always are here."""

    bool_names = (b"FALSE", b"TRUE")
    #: The names of the parts of a complex number, as bytes.
    _r_name, _i_name = b"r", b"i"
    default_file_mode = "r"
    has_native_complex = True
    mpi = False
    ros3 = False
    swmr_min_hdf5_version = (1, 9, 178)
    track_order = False
    vds_min_hdf5_version = (1, 9, 233)

    @property
    def complex_names(self) -> tuple[str, str]:
        """The names of the parts of a complex number, which cannot be changed."""
        return COMPLEX_NAMES

    @complex_names.setter
    def complex_names(self, names: tuple[str, str]) -> None:
        if not isinstance(names, tuple) or len(names) != 2:
            raise InvalidTypeError(f"complex_names={names!r}: give two names")
        if names != COMPLEX_NAMES:
            raise UnsupportedError(f"complex_names={names!r}: the parts of complex numbers are named 'r' and 'i'")


#: The names of the parts of a complex number.
COMPLEX_NAMES = ("r", "i")
_CONFIG = H5PYConfig()


def get_config() -> H5PYConfig:
    """The settings."""
    return _CONFIG


def get_libversion() -> tuple[int, int, int]:
    """The version of HDF5 whose files are read."""
    return (2, 0, 0)


__getattr__ = missing_from("h5py.h5")
