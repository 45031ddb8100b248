"""The viewer's answers for the HDF5 files that `make conformance` has fetched, compared with those of h5grove.

`viewer.py [FOLDER …]` compares, in processes of their own, what H5Web asks for: metadata of every object, its attributes, and values of datasets of
at most 100,000 elements as JSON and as bytes. Prints what differs, and the counts so far after each folder to stderr. Exits with 1 if an
answer differs, or if ours is a failure of the server."""

from __future__ import annotations

import collections
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import sys
import threading
from typing import Any

import h5py
import numpy as np
import signature

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))

GATHERED = pathlib.Path.home() / ".cache" / "hyperslab" / "conformance" / "files"
MAX_OBJECTS, MAX_ELEMENTS, MAX_NAME, SECONDS = 150, 100_000, 4000, 60


def difference(ours: Any, theirs: Any, where: str = "") -> str:
    """Where two answers in JSON differ first, and how; empty if they say the same. Filters are compared by number: h5grove gives the
    names that writers stored, we give the registered ones."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        keys = ours.keys() - {"name"} if where.endswith("filters[]") else ours.keys()
        return next((found for key in keys if (found := difference(ours[key], theirs[key], f"{where}.{key}"))), "")
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return next((found for one, other in zip(ours, theirs, strict=True) if (found := difference(one, other, f"{where}[]"))), "")
    if isinstance(theirs, str):
        theirs = theirs.replace("(null>", "(null)>")  # how h5py writes an empty reference to a region
    return "" if ours == theirs and type(ours) is type(theirs) else f"{where}: {str(ours)[:100]} / {str(theirs)[:100]}"


def has_padding(dtype: np.dtype[Any]) -> bool:
    """Whether elements have bytes without a meaning, which are whatever was in the memory."""
    if dtype.subdtype is not None:
        return has_padding(dtype.subdtype[0])
    if dtype.fields is not None:
        return sum(field[0].itemsize for field in dtype.fields.values()) != dtype.itemsize or any(has_padding(field[0]) for field in dtype.fields.values())
    return dtype.kind in "fc" and dtype.itemsize > 8 << (dtype.kind == "c")


def corrected(path: pathlib.Path, name: str, theirs: Any) -> Any:
    """The reference's answer for ragged rows of big-endian numbers, whose bytes h5py exchanges only in name (3.16)."""
    with h5py.File(path) as f:
        entity = f[name]
        element = h5py.check_vlen_dtype(entity.dtype) if isinstance(entity, h5py.Dataset) else None
    if not isinstance(element, np.dtype) or element.isnative or not isinstance(theirs, list):
        return theirs
    return [np.array(row, element.newbyteorder("=")).byteswap().tolist() for row in theirs]


def sort_children(answer: Any) -> Any:
    if isinstance(answer, dict) and isinstance(answer.get("children"), list):
        answer["children"].sort(key=lambda child: child["name"])
    return answer


def compare(path: pathlib.Path) -> list[tuple[str, str, str]]:
    """Each question about a file: its outcome, what was asked, and what differs."""
    import test_viewer_answers as answers

    results = []
    try:
        # Clients of HTTP refuse addresses that are much longer.
        objects = [name for name in answers.objects(path) if len(name) < MAX_NAME][:MAX_OBJECTS]
    except Exception as error:  # whatever the reference raises: it does not open the file
        return [("not opened by the reference", "", type(error).__name__)]
    browser = answers.client(path)
    for name in objects:
        questions: list[tuple[str, dict[str, Any]]] = [("meta", {"path": name}), ("attr", {"path": name})]
        try:
            with h5py.File(path) as f:
                entity = f[name]
                is_small = isinstance(entity, h5py.Dataset) and entity.shape is not None and entity.size <= MAX_ELEMENTS
                has_bytes = is_small and not entity.dtype.hasobject and not has_padding(entity.dtype)
        except Exception:  # links that lead nowhere, types that h5py does not know
            is_small = has_bytes = False
        if is_small:
            questions.append(("data", {"path": name, "format": "json"}))
        if has_bytes:
            questions.append(("data", {"path": name, "format": "bin"}))
        for what, query in questions:
            expected: bytes | None = None
            try:
                expected = answers.by_h5grove(path, what, query)
            except Exception:  # whatever h5grove raises: it has no answer
                expected = None
            answer = answers.ask(browser, what, file=path.name, **query)
            asked = f"{what} {name} {query.get('format', '')}".strip()
            if expected is None:
                failed = answer.status_code == 500 and b"the server failed" in answer.content
                results.append(("failure" if failed else "only ours" if answer.status_code == 200 else "neither", asked, answer.text[:200] if failed else ""))
            elif answer.status_code != 200:
                kind = {501: "refused", 413: "refused"}.get(answer.status_code, "error")
                results.append((kind, asked, answer.text[:200]))
            elif query.get("format") == "bin":
                results.append(("equal" if answer.content == expected else "different", asked, ""))
            else:
                ours, theirs = sort_children(answer.json()), sort_children(json.loads(expected))
                found = difference(ours, theirs)
                if found and what == "data" and not difference(ours, corrected(path, name, theirs)):
                    results.append(("misread by the reference", asked, found))
                else:
                    results.append(("different" if found else "equal", asked, found))
    return results


def main() -> int:
    np.seterr(all="ignore")
    folders = [pathlib.Path(word) for word in sys.argv[1:]] or sorted(folder for folder in GATHERED.iterdir() if folder.is_dir())
    total: collections.Counter[str] = collections.Counter()
    number_of_files = 0
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count() or 1)) as jobs:
        for number, folder in enumerate(folders, 1):
            files = [path for path in sorted(folder.rglob("*")) if path.is_file() and signature.kind(path) == "hdf5"]
            number_of_files += len(files)
            for path, results in zip(files, jobs.map(lambda path: alone(context, path), files), strict=True):
                for kind, asked, detail in results:
                    total[kind] += 1
                    if kind in ("different", "error", "failure", "crash", "hang"):
                        print(path, asked, kind, detail, sep="\t", flush=True)
            print(f"{number} of {len(folders)} folders, {summary(number_of_files, total)}", file=sys.stderr, flush=True)
    print(summary(number_of_files, total))
    return int(not number_of_files or any(total[kind] for kind in ("different", "error", "failure", "crash", "hang")))


def summary(files: int, total: collections.Counter[str]) -> str:
    return f"{files:,} files: " + ", ".join(f"{count:,} {kind}" for kind, count in total.most_common())


def ask_alone(path: pathlib.Path) -> list[tuple[str, str, str]]:
    """Asks about every object that our own answers name, without the reference: it ended the process, or did not end."""
    import test_viewer_answers as answers

    browser = answers.client(path)
    for name in answers.ask(browser, "paths", file=path.name, path="/").json()[:MAX_OBJECTS]:
        for what in ("meta", "attr", "data"):
            answers.ask(browser, what, file=path.name, path=name)
    return [("not read by the reference", "", "")]


_mine = threading.local()


def alone(context: Any, path: pathlib.Path, question: Any = compare) -> list[tuple[str, str, str]]:
    """The results from a process of this thread: neither library may end the others. One that ends or does not is replaced."""
    worker = getattr(_mine, "worker", None)
    if worker is None:
        worker = _mine.worker = concurrent.futures.ProcessPoolExecutor(1, mp_context=context)
    work = worker.submit(question, path)
    try:
        return work.result(SECONDS)
    except concurrent.futures.TimeoutError:
        for process in list(worker._processes.values()):
            process.kill()
        outcome = "hang"
    except concurrent.futures.process.BrokenProcessPool:
        outcome = "crash"
    worker.shutdown(wait=False)
    _mine.worker = None
    return [(outcome, "", "")] if question is ask_alone else alone(context, path, ask_alone)


if __name__ == "__main__":
    sys.exit(main())
