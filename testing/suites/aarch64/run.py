"""The jar with all native libraries: which glibc these need, and Spark in a JVM for aarch64, which qemu runs. Values are compared with h5py's.

    python testing/suites/aarch64/run.py JAR PYSPARK TOOLS

TOOLS has what `make test-aarch64` fetches: `qemu`, the folder `root` with glibc for aarch64, and `java-runtime`.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import h5py
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
#: What Spark needs of Java 17 and later.
OPENED = ("java.base/java.lang", "java.base/java.lang.invoke", "java.base/java.lang.reflect", "java.base/java.io", "java.base/java.net", "java.base/java.nio")
OPENED += ("java.base/java.util", "java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic", "java.base/jdk.internal.ref")
OPENED += ("java.base/sun.nio.ch", "java.base/sun.nio.cs", "java.base/sun.security.action", "java.base/sun.util.calendar")


def newest_glibc(library: bytes) -> tuple[int, ...]:
    """The newest version of glibc whose symbols a library names."""
    return max(tuple(map(int, found.split(b"."))) for found in re.findall(rb"GLIBC_([0-9.]+)\0", library))


def main() -> None:
    jar, pyspark, tools = map(pathlib.Path, sys.argv[1:])
    with zipfile.ZipFile(jar) as archive:
        for platform in ("linux-x86_64", "linux-aarch64"):
            needed = newest_glibc(archive.read(f"io/hyperslab/native/{platform}/libhyperslab_jni.so"))
            if needed > (2, 17):
                sys.exit(f"{platform} needs glibc {'.'.join(map(str, needed))}")
            print(f"{platform}: glibc {'.'.join(map(str, needed))}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        values = np.random.default_rng(64).integers(-(1 << 40), 1 << 40, 300_000)
        with h5py.File(folder / "run.h5", "w") as f:
            f.create_dataset("value", data=values, chunks=(50_000,), compression="gzip", shuffle=True)
        class_path = f"{jar}:{pyspark}/jars/*"
        subprocess.run(["javac", "-cp", class_path, "-d", temporary, str(HERE / "ReadAndWrite.java")], check=True)
        java = [str(tools / "qemu"), "-L", str(tools / "root"), str(tools / "java-runtime/bin/java")]
        opened = [f"--add-opens={module}=ALL-UNNAMED" for module in OPENED]
        arguments = [str(folder / "run.h5"), "/value", str(folder / "copy.h5")]
        command = [*java, "-Xmx1g", "-XX:+UseSerialGC", *opened, "-cp", f"{temporary}:{class_path}", "ReadAndWrite", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=temporary)
        found = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("found ")]
        expected = [["aarch64", *map(str, (len(values), values.sum(), values.min(), values.max()))]]
        if done.returncode or found != expected:
            sys.exit(f"found {found}, expected {expected}\n{done.stderr[-6000:]}")
        with h5py.File(folder / "copy.h5") as f:
            (written,) = (f[name] for name in f)
            np.testing.assert_array_equal(written["value"][:] if isinstance(written, h5py.Group) else written[:], values)
    print(f"aarch64: Spark read and wrote {len(values)} values, equal to h5py's")


if __name__ == "__main__":
    main()
