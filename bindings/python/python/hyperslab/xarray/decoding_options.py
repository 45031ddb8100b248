"""How xarray is asked to decode: arguments of `xarray.open_dataset`, which may differ by variable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class DecodingOptions(NamedTuple):
    """The arguments.

    Attributes:
        fused: Whether the core decodes while it reads.
        mask_and_scale, decode_times, use_cftime, decode_timedelta: As in `xarray.open_dataset`.
    """

    fused: bool
    mask_and_scale: Any
    decode_times: Any
    use_cftime: Any
    decode_timedelta: Any

    @classmethod
    def of_arguments(cls, given: Mapping[str, Any]) -> DecodingOptions:
        """Those of keyword arguments of `xarray.open_dataset`."""
        return cls(False, *(given.get(field, default) for field, default in _DEFAULTS.items()))

    def of(self, name: str) -> DecodingOptions:
        """The arguments for one variable."""
        values = zip(self, self._fields, strict=True)
        return DecodingOptions(*(value.get(name, _DEFAULTS[field]) if isinstance(value, Mapping) else value for value, field in values))

    def of_times(self) -> dict[str, Any]:
        """Arguments of xarray's `decode_cf_variable`. It warns of `use_cftime`, which a coder has."""
        given = {"decode_times": self.decode_times, "decode_timedelta": self.decode_timedelta}
        if self.use_cftime is None:
            return given
        try:
            from xarray.coders import CFDatetimeCoder, CFTimedeltaCoder
        except ImportError:  # before 2025.1, which does not warn
            return {**given, "use_cftime": self.use_cftime}
        timedelta = self.decode_timedelta
        return {
            "decode_times": CFDatetimeCoder(use_cftime=self.use_cftime) if self.decode_times else False,
            "decode_timedelta": CFTimedeltaCoder() if timedelta is None and self.decode_times else timedelta,
        }


#: What xarray takes for variables that a mapping leaves out.
_DEFAULTS = {"mask_and_scale": True, "decode_times": True, "use_cftime": None, "decode_timedelta": None}
