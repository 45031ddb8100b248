"""Words of texts: `match` in conditions, and indexes of words, against a search in Python."""

from __future__ import annotations

import json
import pathlib
import random
import struct
import subprocess
import sys
import warnings
import zlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pytest
from hyperslab import _native
from sampling import one_in
from test_value_index import damaged

COUNT = 90_000  # two blocks


def fold(word: str) -> str:
    return "".join(character.upper().lower() for character in word)


def words(text: str) -> set[str]:
    """The words of a text: runs of letters and digits, folded."""
    return {fold(word) for word in "".join(c if c.isalnum() else " " for c in text).split()}


def texts(seed: int, count: int = COUNT) -> list[str]:
    """Texts of few and many words, with rare words, empty ones, letters of several scripts and words of more than 64 bytes."""
    rng = random.Random(seed)
    common = ["the", "and", "red", "green", "blue", "apple", "pear", "straße", "größe", "σίσυφος", "ДЯДЯ", "東京", "x1", "10", "über"]
    found = []
    for number in range(count):
        chosen = rng.choices(common, k=rng.randrange(7))
        if number % 997 == 5:
            chosen.append("rare")
        if number % 9 == 3:
            chosen.append(f"n{number}")
        if number % 3000 == 7:
            chosen.append("a" * 70 + rng.choice("bc"))
        found.append(rng.choice([" ", ", ", "-", "_", ". "]).join(rng.choice([str, str.upper, str.title])(word) for word in chosen))
    return found


MADE = texts(1)
WORDS = [words(text) for text in MADE]


def having(*wanted: str) -> set[int]:
    return {row for row, here in enumerate(WORDS) if here.issuperset(wanted)}


ALL = set(range(COUNT))
LONG = "a" * 70 + "b"
SAMPLE = MADE[12_345] or MADE[12_346]
QUESTIONS = {
    "text match 'rare'": having("rare"),
    "text MATCH 'Rare, RED!'": having("rare", "red"),
    "text contains ('red', 'GREEN apple')": having("red", "green", "apple"),
    "text match 'strasse'": having("strasse"),
    "text match 'ΣΊΣΥΦΟΣ' and text match 'djadja'": set(),
    "text match 'дядя 東京'": having("дядя", "東京"),
    "text match 'appl'": set(),
    "text match 'n12'": having("n12"),
    "text match 'rare' or text match 'n300'": having("rare") | having("n300"),
    "text not match 'the'": ALL - having("the"),
    "text match 'red' and not (text match 'blue' or text match 'the')": having("red") - having("blue") - having("the"),
    f"text match '{LONG}'": having(LONG),
    f"text not match '{LONG}' and text match 'rare'": having("rare") - having(LONG),
    f"text match '{'a' * 70}'": set(),
    f"text = '{SAMPLE}'": {row for row, text in enumerate(MADE) if text == SAMPLE},
    f"text in ('{SAMPLE}', 'nothing', 'n12')": {row for row, text in enumerate(MADE) if text == SAMPLE},
    "text = '' and not (text match 'red')": {row for row, text in enumerate(MADE) if text == ""},
    "text like '%rare%' and text match 'red'": {row for row in having("red") if "rare" in MADE[row]},
    "text match 'rare' and row < 5000": {row for row in having("rare") if row < 5000},
    "text match 'rare' or row = 3": having("rare") | {3},
    "text match 'rare' xor text match 'red'": having("rare") ^ having("red"),
}
LAYOUTS: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "chunks": {"chunks": (50_000,)},
    "gzip": {"chunks": (30_000,), "compression": "gzip", "compression_opts": 1},
}


def write(path: pathlib.Path, made: list[str], kind: str = "variable", **layout: Any) -> None:
    with h5py.File(path, "w") as f:
        if kind == "fixed":
            f.create_dataset("text", data=np.array([text.encode() for text in made], h5py.string_dtype("utf-8", 300)), **layout)
        else:
            f.create_dataset("text", data=np.array(made, object), dtype=h5py.string_dtype(), **layout)
        f["row"] = np.arange(len(made))


def rows(path: pathlib.Path, where: str) -> list[int]:
    """The matching rows by a table, which agree with its count and with a query."""
    table = hs.open(path).table("/", where=where, columns=["row"])
    found: list[int] = table.to_arrow()["row"].to_pylist()
    query = hs.query(path, "/", where)
    assert table.count() == query.count() == len(found), where
    assert query.positions().tolist() == found, where
    least, most = query.bounds()
    assert least <= len(found) <= most, where
    return found


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("layout", "kind"), [("contiguous", "variable"), ("chunks", "fixed"), ("gzip", "variable"), ("contiguous", "fixed")])
def test_words_find_the_same_rows_with_an_index_and_without(tmp_path: pathlib.Path, layout: str, kind: str) -> None:
    path = tmp_path / "t.h5"
    write(path, MADE, kind, **LAYOUTS[layout])
    for where, wanted in QUESTIONS.items():
        assert rows(path, where) == sorted(wanted), where
    plan = hs.index(path, ["/text", "/row"])
    assert [entry.level for entry in plan.datasets] == ["W", "P"]
    for where, wanted in QUESTIONS.items():
        assert rows(path, where) == sorted(wanted), where
        assert "index W on text" in hs.open(path).table("/", where=where).explain()
        spread = [row for part in hs.open(path).table("/", where=where, columns=["row"]).splits(3) for row in part.read()["row"].to_pylist()]
        assert spread == sorted(wanted), where


def test_an_index_of_words_answers_without_the_data(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.h5"
    write(path, MADE, **LAYOUTS["gzip"])
    hs.index(path, "/text")
    f = hs.open(path)
    table = f.table("/", where="text match 'rare red'")
    assert "counts: count in the index" in table.explain() and "row numbers: look up rows in indexes" in table.explain()
    table.count()  # compares the index with the data
    before = hs.counters()
    assert table.count() == len(having("rare", "red"))
    assert hs.query(f, "/", "text match 'rare' and not (text match 'red')").positions().tolist() == sorted(having("rare") - having("red"))
    assert hs.counters().since(before).chunks_decoded <= 2 * 3  # of further comparisons at most


def with_other_unicode(path: pathlib.Path) -> None:
    """Changes the version of Unicode in all blocks of the index of a file with one index file, and their checksums."""
    (index_file,) = pathlib.Path(f"{path}.hsidx").glob("*.arrow")
    stored = pa.py_buffer(index_file.read_bytes())
    changed = bytearray(stored)
    reader = ipc.open_file(stored)
    for batch in map(reader.get_batch, range(reader.num_record_batches)):
        place = {name: column.buffers()[-1].address - stored.address for name, column in zip(batch.schema.names, batch.columns)}
        ends = {name: np.frombuffer(batch[name].buffers()[1], "<i8") for name in ("samples", "starts", "checksums")}
        for number, row in enumerate(batch.to_pylist()):
            starts = bytearray(row["starts"])
            starts[0] += 1
            pages = [part[at : at + 4096] for part in (row["samples"], bytes(starts)) for at in range(0, len(part), 4096)]
            sums = b"".join(zlib.crc32(page).to_bytes(4, "little") for page in pages) + row["checksums"][4 * len(pages) :]
            lengths = [len(row[part]) for part in ("samples", "starts", "order", "packed", "bitmaps")]
            summed = struct.pack("<QQBIII", *row["origin"], *row["shape"], row["level"], row["numbers"], row["nans"], row["nulls"])
            summed += struct.pack("<9Q", row["min"], row["max"], row["hash"], row["source"], *lengths) + sums
            for name, made in (("starts", bytes(starts)), ("checksums", sums)):
                at = place[name] + int(ends[name][number])
                changed[at : at + len(made)] = made
            at = place["row_checksum"] + 4 * number
            changed[at : at + 4] = zlib.crc32(summed).to_bytes(4, "little")
    index_file.write_bytes(changed)


def test_explain_says_that_texts_are_read_if_words_do_not_answer(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.h5"
    write(path, MADE, **LAYOUTS["contiguous"])
    for level in "WB":
        hs.index(path, "/text", level, rebuild=True)
        said = hs.query(path, "/", "text like 'r%'").explain()
        assert "they answer the whole condition" not in said, said
        assert f"counts, row numbers: scan windows, because indexes leave up to {len(MADE)} of {len(MADE)} rows" in said, said
    hs.index(path, "/text", "W", rebuild=True)
    assert "row numbers: look up rows in indexes, because they answer the whole condition" in hs.query(path, "/", "text match 'red'").explain()


def test_status_tells_words_of_another_unicode(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.h5"
    write(path, MADE, **LAYOUTS["contiguous"])
    hs.index(path, "/text")
    assert hs.indexes.status(path) == [] and hs.indexes.verify(path) == []
    with_other_unicode(path)
    # In a process of its own: this one has the index open as it was.
    code = "import json, sys, hyperslab as hs; q = hs.query(sys.argv[1], '/', sys.argv[2]); "
    code += "print(json.dumps([hs.indexes.status(sys.argv[1]), hs.indexes.verify(sys.argv[1]), q.positions().tolist(), q.explain()]))"
    run = subprocess.run([sys.executable, "-c", code, str(path), "text match 'red'"], capture_output=True, text=True, check=True)
    status, verified, found, explained = json.loads(run.stdout)
    assert len(status) == 1 and "words of another version of Unicode in 2 of 2 blocks" in status[0] and "rebuild=True" in status[0], status
    assert verified == [] and found == sorted(having("red")) and "another version of Unicode" in explained
    hs.index(path, "/text", rebuild=True)
    assert hs.indexes.status(path) == []


def test_members_of_compounds_have_words(tmp_path: pathlib.Path) -> None:
    made = np.zeros(COUNT, [("row", "i8"), ("text", "S200")])
    made["row"], made["text"] = np.arange(COUNT), [text.encode()[:200] for text in MADE]
    path = tmp_path / "c.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("run/notes", data=made, chunks=(20_000,), compression="gzip", compression_opts=1)
    for _ in range(2):
        for where in ("text match 'rare red'", "text not match 'the' and text match 'apple'"):
            found = hs.open(path).table("/run/notes", where, ["row"]).to_arrow()["row"].to_pylist()
            assert found == sorted(QUESTIONS[where] if where in QUESTIONS else having("rare", "red") if "rare" in where else having("apple") - having("the"))
        query = hs.query(path, "/run", "notes.text match 'rare'")
        assert query.positions().tolist() == sorted(having("rare")) and query.count() == len(having("rare"))
        hs.index(path, "/run/notes/text")
    assert (
        "index W on notes.text" in query.where("notes.text match 'red'").explain()
        or "index W on notes.text" in hs.query(path, "/run", "notes.text match 'rare'").explain()
    )
    assert "index W on text" in hs.open(path).table("/run/notes", "text match 'rare'").explain()


def test_nulls_neither_match_nor_do_they_not(tmp_path: pathlib.Path) -> None:
    """Dates of a model's calendar are text, which is null where the number is the fill value."""
    days = np.random.default_rng(2).integers(0, 3600, 80_000)
    days[4::11] = -999
    path = tmp_path / "n.h5"
    with h5py.File(path, "w") as f:
        f["when"], f["row"] = days, np.arange(len(days))
        f["when"].attrs.update({"units": "days since 2000-01-01", "calendar": "360_day", "_FillValue": np.int64(-999)})
    shown = hs.open(path).table("/", columns=["when"]).to_arrow()["when"].to_pylist()
    assert len(set(shown)) > 3000 and shown[4] is None
    parts = [set() if text is None else words(text) for text in shown]
    known = {row for row, text in enumerate(shown) if text is not None}
    in_2003, in_may = ({row for row, here in enumerate(parts) if word in here} for word in ("2003", "05"))
    assert in_2003 and in_may
    for _ in range(2):
        for where, wanted in {
            "when match '2003'": in_2003,
            "when not match '2003'": known - in_2003,
            "not (when match '2003' and when match '05')": known - (in_2003 & in_may),
            "when match '2003' or when is null": in_2003 | (set(range(len(days))) - known),
            "when match '2003' xor when match '05'": in_2003 ^ in_may,
            "when is not null and not (when match '2003 05')": known - (in_2003 & in_may),
            f"when = '{shown[0]}'": {row for row, text in enumerate(shown) if text == shown[0]},
            f"not (when = '{shown[0]}') and when match '2003'": {row for row in in_2003 if shown[row] != shown[0]},
        }.items():
            assert rows(path, where) == sorted(wanted), where
        hs.index(path, "/when", "W")
    assert "index W on when" in hs.open(path).table("/", where="when match '2003'").explain()


def test_few_distinct_texts_have_bitmaps_that_know_words(tmp_path: pathlib.Path) -> None:
    made = [MADE[number % 200] for number in range(70_000)]
    path = tmp_path / "f.h5"
    write(path, made)
    for level in ("B", "W"):
        hs.index(path, "/text", level, rebuild=True)
        assert rows(path, "text match 'red' and not (text match 'the')") == [
            n for n in range(len(made)) if "red" in WORDS[n % 200] and "the" not in WORDS[n % 200]
        ]
        assert f"index {level} on text" in hs.open(path).table("/", where="text match 'red'").explain()


def test_appended_texts_are_found_after_a_refresh(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    write(path, MADE[:70_000], chunks=(10_000,), maxshape=(None,))
    hs.index(path, "/text")
    with h5py.File(path, "r+") as f:
        for name in ("text", "row"):
            if name == "row":
                del f["row"]
                f["row"] = np.arange(COUNT)
            else:
                f[name].resize((COUNT,))
                f[name][70_000:] = MADE[70_000:]
    assert "stale" in hs.indexes.status(path)[0]
    assert rows(path, "text match 'rare'") == sorted(having("rare"))
    hs.index(path, "/text")
    assert hs.indexes.status(path) == [] and hs.indexes.verify(path) == []
    assert rows(path, "text match 'rare'") == sorted(having("rare"))
    assert "index W on text" in hs.open(path).table("/", where="text match 'rare'").explain()


def test_indexes_of_words_may_lie_in_the_file_or_be_built_in_tasks(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "e.h5"
    write(path, MADE, chunks=(20_000,))
    hs.index(path, "/text", embedded=True)
    assert "index W on text" in hs.open(path).table("/", where="text match 'rare'").explain()
    assert rows(path, "text match 'rare'") == sorted(having("rare"))
    hs.vacuum(path)
    assert rows(path, "text match 'n300 '") == sorted(having("n300"))
    other = tmp_path / "o.h5"
    write(other, MADE, chunks=(20_000,))
    plan = hs.indexes.plan(other, "/text", "W")
    hs.indexes.commit([hs.indexes.build(task) for task in plan.tasks(3)])
    assert rows(other, "text match 'rare'") == sorted(having("rare"))
    assert "index W on text" in hs.open(other).table("/", where="text match 'rare'").explain()


@one_in(5)
def test_a_damaged_index_of_words_never_changes_an_answer(tmp_path: pathlib.Path, step: int) -> None:
    rng = random.Random(3)
    path = tmp_path / "d.h5"
    write(path, MADE, chunks=(40_000,))
    hs.index(path, "/text")
    folder = tmp_path / "d.h5.hsidx"
    whole = {name.name: name.read_bytes() for name in folder.iterdir()}
    chosen = [where for where in QUESTIONS if "row" not in where][:8]
    for _ in range(40 // step):
        what = damaged(folder, rng)
        session = _native.Session(2, None, None, None, ())  # nothing remembered
        native = session.open([str(path)])
        for where in rng.sample(chosen, 3):
            query = hs.query(hs.File(native[0]), "/", where)
            assert query.positions().tolist() == sorted(QUESTIONS[where]), (what, where)
            assert query.count() == len(QUESTIONS[where]), (what, where)
        for name, data in whole.items():
            (folder / name).write_bytes(data)


def test_an_index_of_other_texts_is_dropped_with_a_warning(tmp_path: pathlib.Path) -> None:
    from test_index_trust import transplanted

    honest = np.array([text.encode()[:40] for text in texts(5, 90_000)])
    path = transplanted(tmp_path, "W", honest, honest[::-1])
    with pytest.warns(hs.IndexWarning, match="disagrees with the data"):
        found = hs.query(path, "/", "x match 'rare'", indexes="any").positions().tolist()
    assert found == [row for row, text in enumerate(honest) if "rare" in words(text.decode(errors="ignore"))]


def test_an_honest_index_of_words_passes_every_audit(tmp_path: pathlib.Path) -> None:
    import hyperslab.sources.sessions

    path = tmp_path / "h.h5"
    write(path, MADE)
    hs.index(path, "/text")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(60):
            hyperslab.sources.sessions.session.cache_clear()
            assert hs.query(hs.open(path), "/", "text match 'rare'").count() == len(having("rare"))


def test_what_makes_no_sense_is_an_error_that_says_so(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "w.h5"
    write(path, MADE[:10])
    table = hs.open(path).table
    for where, message in {
        "row match 'a'": "only text has words",
        "text match '?!'": "expected a word",
        "text match 3": "words in single quotes",
        "text match ('a' 'b')": "expected `,` or `\\)`",
        "contains(text, 'a')": "text match|name match",
        "text match": "words in single quotes",
        "'a' match 'a'": "a column of text",
    }.items():
        with pytest.raises(hs.InvalidInputError, match=message):
            table("/", where=where)
    with pytest.raises(hs.UnsupportedError, match="words \\(W\\)"):
        hs.index(path, "/row", "W")
    with pytest.raises(hs.UnsupportedError, match="bitmaps \\(B\\) or words \\(W\\)"):
        hs.index(path, "/text", "X")
