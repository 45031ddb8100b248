"""As `h5py.h5z`: numbers of filters, and which can be read and written."""

from __future__ import annotations

from ..objects.filters import encoded_numbers
from ._missing import missing_from, unsupported
from .h5p import DECODED_FILTERS

CLASS_T_VERS = 1
FILTER_ERROR, FILTER_NONE, FILTER_DEFLATE, FILTER_SHUFFLE, FILTER_FLETCHER32, FILTER_SZIP, FILTER_NBIT, FILTER_SCALEOFFSET = range(-1, 7)
FILTER_LZF, FILTER_ALL, FILTER_RESERVED, FILTER_MAX = 32000, 0, 256, 65535
FLAG_DEFMASK, FLAG_MANDATORY, FLAG_OPTIONAL, FLAG_INVMASK, FLAG_REVERSE, FLAG_SKIP_EDC = 255, 0, 1, 65280, 256, 512
FILTER_CONFIG_ENCODE_ENABLED, FILTER_CONFIG_DECODE_ENABLED = 1, 2
SZIP_ALLOW_K13_OPTION_MASK, SZIP_CHIP_OPTION_MASK, SZIP_EC_OPTION_MASK, SZIP_NN_OPTION_MASK, SZIP_MAX_PIXELS_PER_BLOCK = 1, 2, 4, 32, 32
SO_FLOAT_DSCALE, SO_FLOAT_ESCALE, SO_INT = range(3)
SO_INT_MINBITS_DEFAULT = 0
DISABLE_EDC, ENABLE_EDC, NO_EDC = 0, 1, 2


def filter_avail(filter_code: int) -> bool:
    """Whether chunks with this filter can be read."""
    return filter_code in DECODED_FILTERS


def get_filter_info(filter_code: int) -> int:
    """`FILTER_CONFIG_DECODE_ENABLED` and `FILTER_CONFIG_ENCODE_ENABLED` for filters that can be read and written, as bits."""
    encodes = FILTER_CONFIG_ENCODE_ENABLED if filter_code in encoded_numbers() else 0
    return (FILTER_CONFIG_DECODE_ENABLED if filter_avail(filter_code) else 0) | encodes


register_filter = unsupported("h5z.register_filter")
unregister_filter = unsupported("h5z.unregister_filter")

__getattr__ = missing_from("h5py.h5z")
