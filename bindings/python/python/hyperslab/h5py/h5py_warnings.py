"""As `h5py.h5py_warnings`: classes of warnings."""


class H5pyWarning(UserWarning):
    """A warning of h5py."""


class H5pyDeprecationWarning(H5pyWarning):
    """What a later version of h5py will not accept."""
