"""The library that loads the connector: one of an unknown version gets no connector, and the connector stays in memory."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest
from programs import PLUGIN, run, script

#: What the connector asks of its host before it hands out its class. `ask` is the call of HDF5's plug-in loader.
LIBRARY = """
#include <dlfcn.h>
#include <stddef.h>

int H5VLregister_connector(const void *cls, long long list) { return -1; }

int H5get_libversion(unsigned *major, unsigned *minor, unsigned *release)
{
    *major = MAJOR; *minor = MINOR; *release = 0;
    return 0;
}

int ask(const char *plugin)
{
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    const void *(*info)(void) = library ? (const void *(*)(void))dlsym(library, "H5PLget_plugin_info") : NULL;
    volatile int given = info ? info() != NULL : -1;
    return given;
}
"""


@pytest.mark.parametrize(
    ("major", "minor", "words"),
    [
        (3, 0, "HDF5 3.0.0 is unknown to this connector"),
        (2, 3, "HDF5 2.3.0 is unknown to this connector"),
        (1, 13, "HDF5 1.13.0 is unknown to this connector"),
        # A known version, which then is asked for its functions.
        (1, 14, "this HDF5 library has no function"),
    ],
)
def test_a_library_whose_layouts_are_unknown_gets_no_connector(tmp_path: pathlib.Path, major: int, minor: int, words: str) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("a C compiler is missing")
    source, library = tmp_path / "library.c", tmp_path / "libhost.so"
    source.write_text(LIBRARY)
    versions = [f"-DMAJOR={major}", f"-DMINOR={minor}"]
    subprocess.run([compiler, "-shared", "-fPIC", "-O0", "-funwind-tables", *versions, "-o", str(library), str(source), "-ldl"], check=True)
    done = run(script("import ctypes, sys\nprint(ctypes.CDLL(sys.argv[1]).ask(sys.argv[2].encode()))", library, PLUGIN))
    assert done.returncode == 0 and done.stdout.strip() == "0", (done.stdout, done.stderr)
    assert words in done.stderr


def test_the_connector_stays_in_memory(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """HDF5 and libraries above it hold addresses of the connector's functions."""
    asked = """
import _ctypes, ctypes, os, pathlib, sys
import h5py
is_mapped = lambda: "libhyperslab_vol" in pathlib.Path("/proc/self/maps").read_text()
plugin = ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW)
for _ in range(3):
    _ctypes.dlclose(ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW)._handle)
with h5py.File(sys.argv[2], "w") as f:
    f["x"] = [1, 2, 3]
# Each handle that was given, and more: without RTLD_NODELETE the last one unmaps it.
for _ in range(20):
    try:
        _ctypes.dlclose(plugin._handle)
    except OSError:
        break
print(is_mapped())
with h5py.File(sys.argv[2]) as f:
    print(f["x"][:].tolist())
"""
    done = run(script(asked, (plugins / PLUGIN.name).resolve(), tmp_path / "x.h5"), plugins)
    assert done.returncode == 0 and done.stdout.split("\n")[:2] == ["True", "[1, 2, 3]"], (done.returncode, done.stdout, done.stderr)
