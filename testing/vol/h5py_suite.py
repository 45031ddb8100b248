"""h5py's own tests on the connector: how many pass, and for those that cannot, why."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

#: What must pass of 884 that natively pass or fail for want of MPI.
PASSES = 780
#: Tests that are about the bytes or the machinery of a native file: a pattern for their names, and why they fail.
NATIVE_ONLY = {
    r"test_vds/": "virtual datasets",
    r"(?i)swmr": "SWMR: readers of a container see what was published last",
    r"test_h5d_direct_chunk|test_chunk_iter|test_get_chunk_details|test_dset_chunk_cache": "chunks as they lie in a native file",
    r"TestCacheConfig|TestPageBuffering|TestFileAlignment|TestFileMetaBlockSize|TestUserblock|test_zero_storage_size": "caches, pages, alignment, user block and allocation of a native file",
    r"TestFileObj|TestDrivers|test_file_image|TestFileID|test_register_filter": "file drivers that keep bytes elsewhere, descriptors, images",
    r"TestExternal::": "values in files of a program's own",
    r"TestCreateScaleOffset": "filters are kept in the property list, not applied",
    r"test_big_endian_file|test_vlen_nullterm|test_vlen_spacepad|test_dtype_cmpnd_cmplx": "native files that h5py brings along",
    r"TestMPI": "needs MPI, natively too",
    r"TestDimensionsHighLevel::test_attributes": "h5py knows no references of HDF5 1.12, which HDF5 attaches scales with",
    r"TestFileLocking|locking": "the locks of native files",
    r"TestFileProperty::test_close": "file.id of an object is an id of its own: it stays open",
    r"test_reproducible_file|TestFileOpen::test_default|test_is_hdf5|test_copy_external_links": "Python's own calls on what must be a file with its own permissions",
}


def run(folder: pathlib.Path, environment: dict[str, str], form: str) -> bool:
    work = folder / f"h5py-{form}"
    work.mkdir()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--pyargs", "h5py", "-rfE", "--tb=no"]
    done = subprocess.run(command, cwd=work, env=environment | {"HDF5_VOL_CONNECTOR": f"arrow form={form}"}, capture_output=True, text=True, check=False)
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|errors?)\b", done.stdout.splitlines()[-1])}
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    reasons: dict[str, int] = {}
    unexplained = []
    for name in failed:
        reason = next((reason for pattern, reason in NATIVE_ONLY.items() if re.search(pattern, name)), None)
        if reason is None:
            unexplained.append(name)
        else:
            reasons[reason] = reasons.get(reason, 0) + 1
    crashed = "node down" in done.stdout
    print(
        f"h5py's own tests, form={form}: {counts.get('passed', 0)} pass, {len(failed)} fail, {counts.get('skipped', 0)} are skipped{', AND THE INTERPRETER CRASHED' if crashed else ''}"
    )
    for reason, number in sorted(reasons.items(), key=lambda pair: -pair[1]):
        print(f"  {number:3} {reason}")
    for name in unexplained:
        print(f"  UNEXPLAINED: {name}")
    return counts.get("passed", 0) >= PASSES and not unexplained and not crashed
