"""What is done with a file besides reading it: editing its values and attributes, editing its objects, comparing and repacking it, writing
references and catalogs, showing it in the browser, and checking and recovering it. `run_graphs.py --use` chooses one.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import resource
import time
from collections.abc import Callable

import h5py
import hyperslab as hs
import numpy as np
from hyperslab.viewer import encoding, entities
from run_graphs import MOST_BYTES, Reading

#: Objects that are changed, and bytes of one change.
MOST_CHANGES = 20
#: Processor seconds of one conversion.
STAGE_SECONDS = 5
#: What h5py may take for the objects of a file: it may hang where Hyperslab refuses.
H5PY_SECONDS = 3


def judged_by_h5py(path: pathlib.Path) -> str | None:
    """What h5py lists, as text; `None` if it cannot. In a process of its own: it may crash or hang on such a file."""
    out, pipe = os.pipe()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.close(out)
            resource.setrlimit(resource.RLIMIT_CPU, (H5PY_SECONDS, H5PY_SECONDS))
            lines: list[str] = []
            with h5py.File(path, locking=False) as file:
                file.visititems(lambda name, node: lines.append(f"{name!r} {getattr(node, 'shape', '')} {sorted(node.attrs)}"))
            os.write(pipe, ("whole\n" + "\n".join(lines)).encode(errors="replace")[:60_000])
        os._exit(0)
    os.close(pipe)
    text = b""
    while part := os.read(out, 1 << 16):
        text += part
    os.close(out)
    _, status = os.waitpid(pid, 0)
    return text.decode(errors="replace") if status == 0 and text.startswith(b"whole") else None


class Opening(Reading):
    """Opens, lists and shows a file, whose values may take longer to read than in generated files."""

    def reads(self, file: hs.File) -> None:
        pass

    sql = plain = reads


class Editing(Reading):
    """Changes a file in place: all of a commit, or the bytes that were there."""

    #: Whether h5py must still list a file that it listed before.
    is_judged = True

    def everything(self) -> None:
        folder = self.path.parent
        beside = {name: folder / name for name in ("raw.bin", "other.h5", "victim.h5")}
        for place in beside.values():
            place.write_bytes(b"untouched")
        before, judged = self.path.read_bytes(), judged_by_h5py(self.path)
        start = self.peak()
        self.report({"stage": "edit"})
        changed = self.attempt(self.edit)
        self.report({"peak": self.peak() - start, "stage": "look again"})
        if changed is None and self.path.read_bytes() != before:
            raise AssertionError("an edit that ended in an error changed the file")
        if self.path.read_bytes().endswith(b"HSLJRNL2"):
            raise AssertionError("an edit left its journal behind")
        if any(place.read_bytes() != b"untouched" for place in beside.values()):
            raise AssertionError("an edit changed another file")
        if changed:
            self.attempt(lambda: self.verify(changed))
            if judged is not None and self.is_judged and judged_by_h5py(self.path) is None:
                raise AssertionError("h5py reads the file no longer")
        self.report({"stage": "end", "errors": dict(self.errors)})

    @staticmethod
    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def edit(self) -> dict[str, tuple[str, bytes]]:
        """What was changed: value or attribute of each path, as bytes."""
        done: dict[str, tuple[str, bytes]] = {}
        with hs.open(self.path, "r+") as file:
            for path in self.paths(file):
                for change in (self.set_value, self.set_attribute, self.grow, self.remove_attribute):
                    self.attempt(lambda change=change, path=path: change(file, path, done))
            file.commit()
            self.attempt(lambda: self.set_attribute(file, "/", {}))
            file.roll_back()
        return done

    def paths(self, file: hs.File) -> list[str]:
        found, pending = ["/"], ["/"]
        while pending and len(found) < MOST_CHANGES:
            path = pending.pop()
            group = self.attempt(lambda path=path: file[path])
            for name in (self.attempt(lambda group=group: list(group)[:MOST_CHANGES]) or []) if isinstance(group, hs.Group) else []:
                below = f"{path.rstrip('/')}/{name}"
                if len(found) < MOST_CHANGES and "/" not in str(name) and len(below) < 1000:
                    found.append(below)
                    pending.append(below)
        return found

    def set_value(self, file: hs.File, path: str, done: dict[str, tuple[str, bytes]]) -> None:
        node = file[path]
        if not isinstance(node, hs.Dataset) or node.dtype.kind not in "iuf" or node.size == 0:
            return
        at = tuple(extent - 1 for extent in node.shape)
        value = np.ones((), node.dtype)
        if node.size * node.dtype.itemsize <= MOST_BYTES:
            node[...] = value
        else:
            node[at] = value
        # Objects may have several paths, and what is set by the last one counts.
        done[path] = "value", np.asarray(node[at]).tobytes()
        # An index of chunks may lie over other structures, or its nodes over each other: then one change undoes another.
        if np.asarray(node[at]) != 1 and not any(found.kind == "overlap" for found in hs.check(self.path, data=False).findings):
            raise AssertionError(f"{path} has another value than the one that was set")

    def set_attribute(self, file: hs.File, path: str, done: dict[str, tuple[str, bytes]]) -> None:
        attributes = file[path].attrs
        attributes["hostile"] = np.arange(3, dtype="i4")
        if attributes["hostile"].tolist() != [0, 1, 2]:
            raise AssertionError(f"the attribute of {path} has another value than the one that was set")
        attributes["a longer name than those that are there"] = "text"

    def grow(self, file: hs.File, path: str, done: dict[str, tuple[str, bytes]]) -> None:
        node = file[path]
        if isinstance(node, hs.Dataset) and node.maxshape and node.maxshape[0] is None and node.shape[0] < 1 << 20:
            node.resize(node.shape[0] + 1, axis=0)
            done.pop(path, None)

    def remove_attribute(self, file: hs.File, path: str, done: dict[str, tuple[str, bytes]]) -> None:
        attributes = file[path].attrs
        name = next(iter(attributes), None)
        if name is not None and name != "hostile":
            del attributes[name]

    def verify(self, done: dict[str, tuple[str, bytes]]) -> None:
        """The committed file has what was set, unless the same object was changed by another path."""
        with hs.open(self.path) as file:
            for path in done:
                self.attempt(lambda path=path: file[path][...] if file[path].size * file[path].dtype.itemsize <= MOST_BYTES else None)
            repr(file)


class Rearranging(Editing):
    """Makes, renames, copies, links and removes objects of a file."""

    #: A group may say that it is empty and have a damaged symbol table: h5py looks at that once the group gets a member.
    is_judged = False

    def edit(self) -> dict[str, tuple[str, bytes]]:
        with hs.open(self.path, "r+") as file:
            found = self.paths(file)
            groups = [path for path in found if isinstance(self.attempt(lambda path=path: file[path]), hs.Group)]
            for path in groups[:5]:
                for change in (self.make, self.link):
                    self.attempt(lambda change=change, path=path: change(file, path))
            for number, path in enumerate(path for path in found if path != "/"):
                change = (self.rename, self.copy, self.remove)[number % 3]
                self.attempt(lambda change=change, path=path: change(file, path))
            file.commit()
        return {"/": ("objects", b"")}

    def verify(self, done: dict[str, tuple[str, bytes]]) -> None:
        with hs.open(self.path) as file:
            repr(file)

    def make(self, file: hs.File, path: str) -> None:
        group = file[path]
        made = group.create_dataset("hostile data", data=np.arange(10, dtype="i4"), chunks=(4,), maxshape=(None,))
        if made[...].tolist() != list(range(10)):
            raise AssertionError(f"the new dataset in {path} has other values than those that were given")
        group.create_group("hostile group").create_group("another").attrs["n"] = 1

    def link(self, file: hs.File, path: str) -> None:
        file[f"{path.rstrip('/')}/hostile link"] = hs.h5py.SoftLink("/")
        file[f"{path.rstrip('/')}/hostile name"] = file["/"]

    def rename(self, file: hs.File, path: str) -> None:
        file.move(path, path + " renamed")

    def copy(self, file: hs.File, path: str) -> None:
        if isinstance(file[path], hs.Dataset) and file[path].nbytes <= MOST_BYTES:
            file.copy(path, path + " copied")

    def remove(self, file: hs.File, path: str) -> None:
        del file[path]


class Recovering(Reading):
    """Checks a file, counts its space, and saves what can be saved; h5py opens what comes of it."""

    def everything(self) -> None:
        out = self.path.parent / "recovered.h5"
        out.unlink(missing_ok=True)
        before = self.path.read_bytes()
        work: dict[str, Callable[[], object]] = {
            "check": lambda: repr(hs.check(self.path, threads=1)),
            "stat": lambda: repr(hs.stat(self.path)),
            "recover": lambda: repr(hs.recover(self.path, out)),
        }
        most = resource.getrlimit(resource.RLIMIT_CPU)[1]
        for stage, one in work.items():
            # Each has the seconds of one file.
            resource.setrlimit(resource.RLIMIT_CPU, (min(int(time.process_time()) + 1 + STAGE_SECONDS, most), most))
            self.report({"stage": stage})
            text = self.attempt(one)
            if isinstance(text, str) and not text.replace("\n", "").isprintable():
                raise AssertionError("a report that a terminal would act on")
        self.report({"stage": "look again"})
        if self.path.read_bytes() != before:
            raise AssertionError("a file that was checked or recovered was changed")
        if out.exists():
            if judged_by_h5py(out) is None:
                raise AssertionError("h5py cannot read what was recovered")
            self.attempt(lambda: repr(hs.open(out, threads=1)))
        self.report({"stage": "end", "errors": dict(self.errors)})


class Converting(Reading):
    """Compares a file with itself, and makes other files of it."""

    def everything(self) -> None:
        out = self.path.parent / "made"
        out.mkdir(exist_ok=True)
        work: dict[str, Callable[[], object]] = {
            "diff": lambda: repr(hs.diff(self.path, self.path)),
            "repack": lambda: hs.repack(self.path, out / "repacked.h5"),
            "references": lambda: hs.write_references(self.path, out / "references.json", "w"),
            "catalog": lambda: hs.write_catalog([self.path], out / "catalog.parquet"),
            "view": self.view,
            "models": lambda: hs.open(self.path, threads=1).models,
            "layout": lambda: hs.storage_layout(self.path),
        }
        most = resource.getrlimit(resource.RLIMIT_CPU)[1]
        for stage, one in work.items():
            # Each has the seconds of one file.
            resource.setrlimit(resource.RLIMIT_CPU, (min(int(time.process_time()) + 1 + STAGE_SECONDS, most), most))
            self.report({"stage": stage})
            self.attempt(one)
        if (out / "repacked.h5").exists():
            self.report({"stage": "repacked"})
            self.attempt(lambda: repr(hs.open(out / "repacked.h5", threads=1)))
        self.report({"stage": "end", "errors": dict(self.errors)})

    def view(self) -> None:
        """The answers that the viewer gives for some objects."""
        with hs.h5py.File(self.path, "r") as file:
            for path in ["/", *[f"/{name}" for name in list(file)[:10]]]:
                with contextlib.suppress(OSError, KeyError, ValueError, TypeError, RuntimeError):
                    encoding.json_bytes(entities.describe(file, path, "only_valid", 100))


USES: dict[str, type[Reading]] = {"read": Reading, "open": Opening, "edit": Editing, "convert": Converting, "objects": Rearranging, "recover": Recovering}
#: Processor seconds of one file: conversions and recovery are several uses of `STAGE_SECONDS`, changes of objects some thirty, and h5py looks at an edited file twice.
SECONDS = {"read": 5, "open": 5, "edit": 5, "convert": 40, "objects": 10, "recover": 20}
