"""Why an example of HDF5 tells other things with the connector than natively. What is explained must differ: `run.py` fails if not."""

EXTERNAL = "it sets H5Pset_external, which is refused: a container stores its values itself"
VIRTUAL = "it makes a virtual dataset, which is refused"
UNFILTERED = "filters are kept in the property list, not applied: scaleoffset loses no digits"
STORAGE = "H5Gget_info: a container has no symbol tables and no dense groups, so the storage of each group is compact"
SIZE = "H5Fget_filesize: a container has no size that HDF5 could ask a connector for"
MIXED = "a datatype with references of HDF5 before 1.12 and variable-length data is refused; the example does not look at errors and crashes"
SCALES = "HDF5 attaches dimension scales of a connector's file with references of 1.12, of native files with older ones"
MOUNT = "it mounts a file, which is refused"

EXPLAINED: dict[str, str] = {
    **{f"C/H5VDS/{name}": VIRTUAL for name in ("h5ex_vds", *(f"h5ex_vds-{rest}" for rest in ("eiger", "exc", "exclim", "simpleIO")))},
    **{f"C/H5VDS/h5ex_vds-{name}": VIRTUAL for name in ("percival", "percival-unlim", "percival-unlim-maxmin")},
    "C/H5D/h5ex_d_extern": EXTERNAL,
    "C/H5D/16/h5ex_d_extern": EXTERNAL,
    "FORTRAN/H5D/h5ex_d_extern": EXTERNAL,
    "C/H5D/h5ex_d_sofloat": UNFILTERED,
    "C/H5G/h5ex_g_compact": f"{STORAGE}. {SIZE}",
    "C/H5G/h5ex_g_phase": STORAGE,
    "FORTRAN/H5G/h5ex_g_compact": f"{STORAGE}. {SIZE}",
    "FORTRAN/H5G/h5ex_g_phase": STORAGE,
    **{f"C/H5T/{folder}{name}": MIXED for folder in ("", "16/") for name in ("h5ex_t_cpxcmpd", "h5ex_t_cpxcmpdatt")},
    "C/TUTR/h5_debug_trace": "it removes its file with remove(), which removes no folder; with form=file nothing differs",
    "C/TUTR/h5_mount": MOUNT,
    "FORTRAN/TUTR/mountexample": MOUNT,
    "doxygen/examples/H5F_examples": SIZE,
    "doxygen/examples/H5G_examples": STORAGE,
    "doxygen/examples/H5L_examples": "H5_ITER_NATIVE lists links by name in a container, and as they are stored in a native file",
    "doxygen/examples/H5PL_examples": "it prints where HDF5 looks for plugins, which the connector needs to be told",
    "hl/examples/ex_ds1": SCALES,
    "hl/fortran/examples/ex_ds1": SCALES,
}
