"""Takes out one guard of the HDF5 and netCDF classic readers at a time, and looks whether a test file or a generated one shows it.

For each guard, a copy of the sources is changed and built, and reads the files of `testing/test_hostile_graphs.py` and generated
ones, each in a process with 1 GiB of address space and 5 seconds of processor time. A guard that nothing misses is an error
here: either the guard is not needed, or the files do not show what it is for.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import blocks as b  # noqa: E402
import graphs  # noqa: E402
import test_hostile_graphs as attacks  # noqa: E402

ADDRESS_SPACE, SECONDS = 1 << 30, 5
#: Memory that parsing may take: 64 MiB and 16 times the file, and the program itself.
BASE_BYTES, BYTES_PER_BYTE = 80 << 20, 16


class Guard(NamedTuple):
    """One check: where it is in the sources, and what stands there without it."""

    what: str
    file: str
    old: str
    new: str


GUARDS = [
    Guard("complex numbers are of floats", "hdf5/message/datatype.rs", "if !matches!(base, Datatype::Float { .. }) {", "if false {"),
    Guard("a node of a version-2 B-tree is read once", "hdf5/btree/v2.rs", "if !seen.insert(node.address) {", "if !seen.insert(node.address) && false {"),
    Guard("reading is paid for", "hdf5/source.rs", "self.budget.charge_read(length as u64)?;", ""),
    Guard(
        "what a cursor keeps is paid for",
        "hdf5/cursor.rs",
        "self.budget.charge(bytes as u64).map_err(|error| error.at_offset(self.offset_in_file()))",
        "let _ = bytes; Ok(())",
    ),
    Guard("messages are paid for", "hdf5/object_header/blocks.rs", "self.source.budget.charge((message.body.len() as u64).saturating_add(MESSAGE_COST))?;", ""),
    Guard(
        "texts of local heaps are paid for",
        "hdf5/heap/local.rs",
        "self.source.budget.charge(text.len() as u64).map(|()|",
        "Ok::<(), hyperslab_array::Error>(()).map(|()|",
    ),
    Guard("names that mappings share are paid for", "hdf5/virtual_dataset.rs", "cursor.keep(name(mapping).len())?;", ""),
    Guard(
        "unwritten chunks are not listed when a file is opened",
        "hdf5/dataset.rs",
        "if count.is_none_or(|cost| source.budget.charge(cost).is_err()) {",
        "if count.is_none() {",
    ),
    Guard(
        "unwritten chunks are not walked over",
        "hdf5/chunk_locator/mod.rs",
        "    let sink = &mut Stored { layout, each: &mut each };\n",
        "    for chunk in locate(source, layout, &Selection::all(&layout.shape))? {\n        if let ChunkSource::Stored { length, .. } = chunk.source { each(StoredAt { offset: 0, length, filter_mask: 0 })?; }\n    }\n    if layout.shape.len() > 100 { return Ok(0); }\n    let sink = &mut Stored { layout, each: &mut each };\n",
    ),
    Guard(
        "a part of an object is paid for once, and from one budget",
        "hdf5/lazy_tree.rs",
        "let source = self.source.with_budget(Budget::of(self.source.budget.left()));",
        "let source = self.source.with_own_budget();",
    ),
    Guard(
        "the header of netCDF classic is paid for",
        "netcdf3/header.rs",
        "self.budget.charge(bytes as u64).map_err(|error| error.at_offset(self.position as u64))",
        "let _ = bytes; Ok(())",
    ),
    Guard("the budget has an end", "budget.rs", "left.checked_sub(bytes)", "Some(left.saturating_sub(bytes))"),
]


def write_files(folder: pathlib.Path, count: int) -> list[pathlib.Path]:
    """The files of the tests, and `count` generated ones."""
    made = []
    for name, make in attacks.ATTACKS.items():
        image = b.Image()
        root = make(image)
        made.append(folder / f"{name}.h5")
        made[-1].write_bytes(image.finish(root, 2))
    for name, data in attacks.CLASSIC_ATTACKS.items():
        made.append(folder / f"{name}.nc")
        made[-1].write_bytes(data)
    for number in range(count):
        made.append(folder / f"generated {number}.h5")
        made[-1].write_bytes(graphs.graph(number))
    return made


def finding(program: pathlib.Path, path: pathlib.Path) -> str | None:
    """What is wrong with how the program reads a file."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))

    done = subprocess.run([program, path], capture_output=True, text=True, errors="replace", preexec_fn=limit)
    if done.returncode < 0:
        return "hang" if -done.returncode in (signal.SIGXCPU, signal.SIGKILL) else "abort"
    if "panicked" in done.stderr or "Internal" in done.stderr:
        return "fault"
    peak = re.search(r"^peak_kib (\d+)$", done.stdout, re.MULTILINE)
    if peak is None:
        return "ended without a word"
    peak_bytes = int(peak[1]) << 10
    return f"{peak_bytes >> 20} MiB" if peak_bytes > BASE_BYTES + BYTES_PER_BYTE * path.stat().st_size else None


def built(sources: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    environment = os.environ | {"CARGO_TARGET_DIR": str(target), "CARGO_INCREMENTAL": "0"}
    command = ["cargo", "build", "--quiet", "--offline", "--locked", "--release", "-j", "2", "-p", "hyperslab-formats", "--example", "open_everything"]
    subprocess.run(command, cwd=sources, env=environment, check=True)
    return target / "release" / "examples" / "open_everything"


def main() -> int:
    """The exit code: 1 if a guard can be taken out unnoticed, or if there are findings with all guards."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="generated files")
    parser.add_argument("--target", type=pathlib.Path, help="folder for what cargo builds")
    parser.add_argument("--guard", action="append", help="only guards whose description has this text")
    options = parser.parse_args()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="hyperslab-guards-"))
    try:
        sources = scratch / "sources"
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard", "Cargo.toml", "Cargo.lock", "crates", "bindings", "benches"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        for name in listed.stdout.splitlines():
            if (ROOT / name).is_file() and not name.startswith("bindings/python/python/"):
                (sources / name).parent.mkdir(parents=True, exist_ok=True)
                # Their times are now: cargo goes by them, and may have built these sources without a guard before.
                shutil.copyfile(ROOT / name, sources / name)
        target = options.target or scratch / "target"
        (scratch / "files").mkdir()
        files = write_files(scratch / "files", options.count)
        program = built(sources, target)
        findings = {path.name: found for path in files if (found := finding(program, path))}
        print(f"with all guards: {len(files)} files, findings: {findings or 'none'}", flush=True)
        unnoticed = 0
        for guard in GUARDS:
            if options.guard and not any(text in guard.what for text in options.guard):
                continue
            start = time.monotonic()
            place = sources / "crates" / "formats" / "src" / guard.file
            original = place.read_text()
            if original.count(guard.old) != 1:
                raise SystemExit(f"{guard.file} has not one {guard.old!r}: say here what the guard is now")
            place.write_text(original.replace(guard.old, guard.new))
            program = built(sources, target)
            seen: dict[str, str] = {}
            for path in files:
                found = finding(program, path)
                if found and path.name not in findings:
                    seen[path.name] = found
                    if len(seen) == 3:
                        break
            place.write_text(original)
            unnoticed += not seen
            shown = "; ".join(f"{name}: {found}" for name, found in seen.items()) or "NOTHING NOTICES"
            print(f"without '{guard.what}': {shown} ({time.monotonic() - start:.0f} s)", flush=True)
        print(f"{unnoticed} guards can be taken out unnoticed")
        return int(bool(unnoticed or findings))
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    sys.exit(main())
