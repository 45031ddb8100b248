"""As `h5py._hl`: the classes of objects, in the modules in which libraries look for them."""

from . import selections, selections2

__all__ = ["selections", "selections2"]
