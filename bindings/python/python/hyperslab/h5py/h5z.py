"""As `h5py.h5z`: numbers of filters, and which can be read."""

from __future__ import annotations

from ._missing import missing_from, unsupported

FILTER_NONE, FILTER_DEFLATE, FILTER_SHUFFLE, FILTER_FLETCHER32, FILTER_SZIP, FILTER_NBIT, FILTER_SCALEOFFSET = range(7)
FILTER_LZF, FILTER_ALL = 32000, 0
FILTER_CONFIG_ENCODE_ENABLED, FILTER_CONFIG_DECODE_ENABLED = 1, 2

_DECODED = (1, 2, 3, 4, 5, 6, 307, 32000, 32001, 32004, 32008, 32013, 32015, 32022, 32023, 32026)


def filter_avail(filter_code: int) -> bool:
    """Whether chunks with this filter can be read."""
    return filter_code in _DECODED


def get_filter_info(filter_code: int) -> int:
    """`FILTER_CONFIG_DECODE_ENABLED` for filters that can be read."""
    return FILTER_CONFIG_DECODE_ENABLED if filter_avail(filter_code) else 0


register_filter = unsupported("h5z.register_filter")
unregister_filter = unsupported("h5z.unregister_filter")

__getattr__ = missing_from("h5py.h5z")
