"""As `h5py._hl.vds`: virtual datasets."""

from __future__ import annotations

from typing import NamedTuple

from ...objects.virtual_layouts import VirtualLayout, VirtualSource
from ..h5s import SpaceID

__all__ = ["VDSmap", "VirtualLayout", "VirtualSource"]


class VDSmap(NamedTuple):
    """A part of a virtual dataset and its source."""

    vspace: SpaceID
    file_name: str
    dset_name: str
    src_space: SpaceID
