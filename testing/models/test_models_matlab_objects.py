"""Objects of MATLAB's classes: a subsystem as MATLAB lays it out, built by h5py. `testing/suites/instruments/test_matlab.py` reads files that MATLAB
wrote, with mat-io as the judge."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pandas as pd
import pytest
from test_models_matlab import attributes, build, chars, put

matlab = hs.models.matlab
TAG = 0xDD000000
#: Classes that store what their `saveobj` makes, as one property.
SAVED = ("string", "timetable")


class Objects:
    """Objects of one file, and the blob that describes them."""

    def __init__(self, f: h5py.File) -> None:
        self.f, self.refs = f, f["#refs#"]
        self.names: list[str] = []
        self.classes: list[str] = []
        self.objects: list[list[int]] = []
        self.saved: list[list[list[int]]] = []
        self.normal: list[list[list[int]]] = []
        self.cells: list[h5py.Dataset | h5py.Group] = []
        self.defaults: dict[str, dict[str, float]] = {}
        self.count = 0

    def name(self, text: str) -> int:
        if text not in self.names:
            self.names.append(text)
        return self.names.index(text) + 1

    def new(self, class_name: str, stored: Any, **others: Any) -> h5py.Dataset:
        self.count += 1
        return put(self.refs, f"v{self.count}", class_name, stored, **others)

    def struct(self, **members: Any) -> h5py.Group:
        self.count += 1
        group = attributes(self.refs.create_group(f"v{self.count}"), "struct")
        for name, (class_name, stored) in members.items():
            put(group, name, class_name, stored)
        return group

    def text(self, value: str) -> h5py.Dataset:
        return self.new("char", chars(value), MATLAB_int_decode=np.int32(2)) if value else self.new("char", np.zeros(2, "u8"), MATLAB_empty=np.uint8(1))

    def cell(self, *values: Any) -> h5py.Dataset:
        if not values:
            return self.new("cell", np.zeros(2, "u8"), MATLAB_empty=np.uint8(1))
        return self.new("cell", self.refs_of(values))

    def refs_of(self, values: Any) -> np.ndarray:
        return np.array([[value.ref] for value in values], h5py.ref_dtype)

    def object(self, class_name: str, **properties: Any) -> int:
        """An object with properties in the file, or as numbers; its number."""
        if class_name not in self.classes:
            self.classes.append(class_name)
        block = []
        for name, value in properties.items():
            if isinstance(value, int):
                block.append([self.name(name), 2, value])
                continue
            self.cells.append(value)
            block.append([self.name(name), 1, len(self.cells) - 1])
        blocks = self.saved if class_name in SAVED else self.normal
        blocks.append(block)
        place = [len(blocks), 0] if class_name in SAVED else [0, len(blocks)]
        self.objects.append([self.classes.index(class_name) + 1, 0, 0, *place, len(self.objects) + 1])
        return len(self.objects)

    def words(self, numbers: list[int], class_name: str, shape: tuple[int, ...] = (1, 1)) -> np.ndarray:
        return np.array([TAG, len(shape), *shape, *numbers, self.classes.index(class_name) + 1], "u4")

    def variable(self, name: str, class_name: str, numbers: int | list[int], shape: tuple[int, ...] = (1, 1)) -> None:
        words = self.words([numbers] if isinstance(numbers, int) else numbers, class_name, shape)
        put(self.f, name, class_name, words.reshape(1, -1), MATLAB_object_decode=np.int32(3))

    def inner(self, class_name: str, number: int) -> h5py.Dataset:
        """What a property that is an object holds."""
        return self.new("uint32", self.words([number], class_name).reshape(1, -1))

    def blob(self) -> bytes:
        classes = [[0, 0, 0, 0]]
        for name in self.classes:
            space, _, plain = name.rpartition(".")
            classes.append([self.name(space) if space else 0, self.name(plain), 0, 0])
        names = b"".join(name.encode() + b"\0" for name in self.names)
        names += bytes(-len(names) % 8)
        regions = [np.array(classes, "<u4").tobytes(), blocks_of(self.saved), np.array([[0] * 6, *self.objects], "<u4").tobytes(), blocks_of(self.normal)]
        regions += [np.zeros(2 * len(self.objects) + 2, "<u4").tobytes(), b"", bytes(8)]
        offsets = [40 + len(names)]
        for region in regions:
            offsets.append(offsets[-1] + len(region))
        return np.array([4, len(self.names), *offsets], "<u4").tobytes() + names + b"".join(regions)

    def finish(self) -> None:
        empty = self.new("canonical empty", np.zeros(2, "u8"), MATLAB_empty=np.uint8(1))
        blob = self.new("uint8", np.frombuffer(self.blob(), "u1").reshape(1, -1))
        templates = []
        for name in ["", *self.classes]:
            members = {key: ("double", np.array([[value]])) for key, value in self.defaults.get(name, {}).items()}
            templates.append(self.struct(**members) if members else self.new("struct", np.uint64([1, 0]), MATLAB_empty=np.uint8(1)))
        trailing = [self.cell(*templates), self.new("int32", np.zeros((1, len(templates)), "i4")), self.cell(*templates)]
        system = self.f.create_group("#subsystem#")
        put(system, "MCOS", "FileWrapper__", self.refs_of([blob, empty, *self.cells, *trailing]).reshape(1, -1), MATLAB_object_decode=np.int32(3))


def blocks_of(blocks: list[list[list[int]]]) -> bytes:
    found = b""
    for block in [[], *blocks]:
        words = [len(block), *(number for triple in block for number in triple)]
        found += np.array(words + [0] * (len(words) % 2), "<u4").tobytes()
    return found


def saved_strings(values: list[str | None], shape: tuple[int, ...]) -> np.ndarray:
    lengths = [2**64 - 1 if value is None else len(value.encode("utf-16-le")) // 2 for value in values]
    units = "".join(value or "" for value in values).encode("utf-16-le")
    units += bytes(-len(units) % 8)
    return np.concatenate([np.array([1, len(shape), *shape, *lengths], "u8"), np.frombuffer(units, "<u8")]).reshape(-1, 1)


def milliseconds(*times: str) -> np.ndarray:
    return np.array(times, "M8[ms]").astype("i8").astype("f8")


def of_objects(f: h5py.File) -> None:
    o = Objects(f)

    def string(values: list[str | None], shape: tuple[int, ...]) -> int:
        return o.object("string", any=o.new("uint64", saved_strings(values, shape)))

    o.variable("word", "string", string(["grüß \U0001f600"], (1, 1)))
    o.variable("words", "string", string(["a", None, ""], (3, 1)))
    o.variable("grid", "string", string(["a", "b", "c", "d", "e", "f"], (2, 3)))
    when = np.array([[(milliseconds("2024-02-29T12:00:00.25")[0], 1e-4)]], [("real", "f8"), ("imag", "f8")])
    o.variable("when", "datetime", o.object("datetime", data=o.new("double", when), tz=o.text("")))
    times = np.append(milliseconds("1601-01-01", "2024-01-01T00:00:00.001"), np.nan).reshape(1, 3)
    o.variable("times", "datetime", o.object("datetime", data=o.new("double", times)))
    late = o.object("datetime", data=o.new("double", np.array([[1e14]])), tz=o.text("Europe/Berlin"), fmt=o.text("yyyy"))
    o.variable("late", "datetime", late)
    o.variable("leap", "datetime", o.object("datetime", data=o.new("double", times), tz=o.text("UTCLeapSeconds")))
    span = o.object("duration", millis=o.new("double", np.array([[1.5, 0.25e-3, -60000.0]])), fmt=o.text("s"))
    o.variable("span", "duration", span)
    parts = o.struct(months=("double", np.array([[1.0, 0.0]])), days=("double", np.array([[2.0, 3.0]])), millis=("double", np.array([[0.0]])))
    o.variable("calendar", "calendarDuration", o.object("calendarDuration", components=parts))
    labels = o.cell(o.text("low"), o.text("high"))
    kinds = o.object("categorical", codes=o.new("uint8", np.uint8([[2, 0, 1]])), categoryNames=labels, isOrdinal=o.new("logical", np.uint8([[1]])))
    o.variable("kinds", "categorical", kinds)
    made = o.struct(uniformity=("logical", np.uint8([[1]])))
    for name, value in (("keyType", "char"), ("valueType", "any")):
        put(made, name, "char", chars(value), MATLAB_int_decode=np.int32(2))
    put(made, "keys", "cell", o.refs_of([o.text("one"), o.text("two")]))
    put(made, "values", "cell", o.refs_of([o.new("double", np.array([[1.0]])), o.text("zwei")]))
    o.variable("map", "containers.Map", o.object("containers.Map", serialization=made))
    number = o.new("double", np.array([[1.0, 2.0, 3.0]]))
    matrix = o.new("double", np.arange(6.0).reshape(2, 3))
    about = o.struct(versionSavedFrom=("double", np.array([[4.0]])))
    put(about, "VariableUnits", "cell", o.refs_of([o.text("m"), o.text(""), o.text("")]))
    put(about, "Description", "char", chars("a table"), MATLAB_int_decode=np.int32(2))
    table = {
        "data": o.cell(number, o.inner("string", string(["x", "y", "z"], (3, 1))), matrix, o.inner("categorical", kinds)),
        "nrows": o.new("double", np.array([[3.0]])),
        "nvars": o.new("double", np.array([[4.0]])),
        "varnames": o.cell(*(o.text(name) for name in ("n", "s", "m", "k"))),
        "rownames": o.cell(*(o.text(name) for name in ("r1", "r2", "r3"))),
        "props": about,
    }
    o.variable("table", "table", o.object("table", **table))
    o.variable("bad_table", "table", o.object("table", **(table | {"nrows": o.new("double", np.array([[4.0]])), "rownames": o.cell()})))
    o.variable("new_table", "table", o.object("table", **(table | {"props": o.struct(versionSavedFrom=("double", np.array([[99.0]])))})))
    start = o.object("datetime", data=o.new("double", milliseconds("2024-01-31").reshape(1, 1)), tz=o.text("Europe/Berlin"))
    for name, step, rate in (("stepped", 250.0, 0), ("sampled", 0.0, 1)):
        regular = o.struct(specifiedAsRate=("logical", np.uint8([[rate]])), sampleRate=("double", np.array([[3.0]])))
        for key, class_name, one in (("origin", "datetime", start), ("stepSize", "duration", o.object("duration", millis=o.new("double", np.array([[step]]))))):
            put(regular, key, "uint32", o.words([one], class_name).reshape(1, -1))
        saved = o.struct(numRows=("double", np.array([[3.0]])), numVars=("double", np.array([[1.0]])), versionSavedFrom=("double", np.array([[6.0]])))
        put(saved, "data", "cell", o.refs_of([number]))
        put(saved, "varNames", "cell", o.refs_of([o.text("n")]))
        put(saved, "dimNames", "cell", o.refs_of([o.text("Time"), o.text("Variables")]))
        saved["rowTimes"] = regular
        o.variable(name, "timetable", o.object("timetable", any=saved))
    # Objects of a user's class: with defaults, in an array, deleted, nested, and one that refers to itself.
    o.defaults["pkg.Point"] = {"x": 7.0, "y": 8.0}
    points = [o.object("pkg.Point", x=o.new("double", np.array([[float(i)]])), flag=i) for i in range(2)]
    o.variable("points", "pkg.Point", [*points, 0], (1, 3))
    own = len(o.objects) + 1
    o.classes.append("pkg.Node")
    node = o.object("pkg.Node", next=o.inner("pkg.Node", own), point=o.cell(o.inner("pkg.Point", points[1])))
    assert node == own
    o.variable("node", "pkg.Node", node)
    put(f, "many", "cell", o.refs_of([attributes(o.new("string", o.words([1], "string").reshape(1, -1)), "string", MATLAB_object_decode=np.int32(3))] * 3))
    colors = attributes(f.create_group("colors"), "pkg.Color", MATLAB_object_decode=np.int32(3))
    members = [o.name("Red"), o.name("Green")]
    for name, stored in (("EnumerationInstanceTag", [[TAG]]), ("ClassName", [[1]]), ("ValueNames", [members]), ("ValueIndices", [[1], [0], [1]])):
        put(colors, name, "uint32", np.uint32(stored))
    o.finish()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return build(tmp_path_factory.mktemp("objects") / "a.mat", of_objects)


def test_text_and_times(path: pathlib.Path) -> None:
    m = matlab.open(path)
    assert m["word"] == "grüß \U0001f600" and m["words"] == ["a", None, ""]
    assert m["grid"].tolist() == [["a", "c", "e"], ["b", "d", "f"]]
    assert matlab.open(path, squeeze=False)["words"].shape == (3, 1)
    assert m["when"] == np.datetime64("2024-02-29T12:00:00.250000100") and m["when"].dtype == "M8[ns]"
    # 1601 is beyond 64-bit nanoseconds.
    assert m["times"].dtype == "M8[us]" and m["times"][:2].tolist() == np.array(["1601-01-01", "2024-01-01T00:00:00.001"], "M8[us]").tolist()
    assert np.isnat(m["times"][2])
    late = m["late"]
    assert late.dtype.metadata == {"tz": "Europe/Berlin"} and late == np.datetime64(10**14, "ms")
    with pytest.raises(hs.UnsupportedError, match="leap seconds") as caught:
        m["leap"]
    assert caught.value.object == "/leap"
    assert m["span"].tolist() == [1500000, 250, -60000000000] and m["span"].dtype == "m8[ns]"
    assert m["calendar"]["months"].tolist() == [1, 0] and m["calendar"]["days"].tolist() == [2, 3] and m["calendar"]["time"].astype(int).tolist() == [0, 0]


def test_tables_and_categories(path: pathlib.Path) -> None:
    m = matlab.open(path)
    pd.testing.assert_index_equal(pd.Index(m["kinds"]), pd.CategoricalIndex(["high", None, "low"], ["low", "high"], ordered=True))
    wanted = pd.DataFrame(
        {"n": [1.0, 2.0, 3.0], "s": ["x", "y", "z"], "m_1": [0.0, 1.0, 2.0], "m_2": [3.0, 4.0, 5.0], "k": m["kinds"]}, index=["r1", "r2", "r3"]
    )
    for squeeze in (True, False):
        found = matlab.open(path, squeeze=squeeze)["table"]
        pd.testing.assert_frame_equal(found, wanted)
        assert found.attrs == {"description": "a table", "variable_units": ["m", "", ""]}
    zone = {"tz": "Europe/Berlin"}
    stepped, sampled = m["stepped"], m["sampled"]
    assert stepped.index.tolist() == [pd.Timestamp("2024-01-31T01:00", **zone) + pd.Timedelta(250 * i, "ms") for i in range(3)] and stepped.index.name == "Time"
    assert [(time - stepped.index[0]).value for time in sampled.index] == [0, 333333333, 666666667] and stepped["n"].tolist() == [1, 2, 3]
    for name, error, message in (("bad_table", hs.CorruptError, "rows in a table of 4"), ("new_table", hs.UnsupportedError, "version 99; up to 5")):
        with pytest.raises(error, match=message) as caught:
            m[name]
        assert caught.value.object == f"/{name}"


def test_maps_objects_and_enumerations(path: pathlib.Path) -> None:
    m = matlab.open(path)
    assert m["map"] == {"one": 1.0, "two": "zwei"} and m["many"] == ["grüß \U0001f600"] * 3
    first, second, deleted = m["points"]
    assert first.class_name == "pkg.Point" and first.contents == {"x": 0.0, "y": 8.0, "flag": 0}
    assert second.contents == {"x": 1.0, "y": 8.0, "flag": 1} and deleted.contents is None
    node = m["node"]
    assert node.contents["next"] is node and node.contents["point"][0].contents["x"] == 1
    assert m["colors"].class_name == "pkg.Color" and m["colors"].contents == ["Green", "Red", "Green"]
    assert set(m) == {name for name in m if name in m.omitted or f"/{name}" in m.omitted}, "none is a table of SQL, and each is named"
    assert m.omitted["/word"] == "is an object of class string"


def test_damage_to_the_subsystem_is_one_error_with_the_object(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    def broken(name: str, change: Callable[[h5py.File, h5py.Dataset], None]) -> Any:
        copy = tmp_path / f"{name}.mat"
        copy.write_bytes(path.read_bytes())
        with h5py.File(copy, "r+") as f:
            change(f, f[f["#subsystem#/MCOS"][0, 0]])
        return matlab.open(copy)

    def set_word(blob: h5py.Dataset, place: int, word: int) -> None:
        blob[0, 4 * place : 4 * place + 4] = np.frombuffer(np.uint32(word).tobytes(), "u1")

    def no_cells(f: h5py.File, blob: h5py.Dataset) -> None:
        del f["#subsystem#/MCOS"]
        put(f["#subsystem#"], "MCOS", "FileWrapper__", np.zeros((1, 4)), MATLAB_object_decode=np.int32(3))

    for name, change, error, place, message in [
        ("version", lambda f, blob: set_word(blob, 0, 9), hs.UnsupportedError, "/#subsystem#/MCOS", "version 9"),
        ("names", lambda f, blob: set_word(blob, 1, 999), hs.CorruptError, "/#subsystem#/MCOS", "of 999 names"),
        ("offsets", lambda f, blob: set_word(blob, 4, 2**31), hs.CorruptError, "/#subsystem#/MCOS", "offsets of the subsystem"),
        ("object", lambda f, blob: f["word"].write_direct(np.uint32([[TAG, 2, 1, 1, 9999, 1]])), hs.CorruptError, "/word", "object 9999"),
        ("class", lambda f, blob: f["word"].write_direct(np.uint32([[TAG, 2, 1, 1, 1, 99]])), hs.CorruptError, "/word", "class 99"),
        ("shape", lambda f, blob: f["word"].write_direct(np.uint32([[TAG, 2, 2**31, 2**31, 1, 1]])), hs.CorruptError, "/word", "a number for each"),
        ("no_cells", no_cells, hs.CorruptError, "/#subsystem#/MCOS", "subsystem|references|blob"),
    ]:
        with pytest.raises(error, match=message) as caught:
            broken(name, change)["word"]
        assert (caught.value.object, caught.value.file is not None) == (place, True), name


def test_random_damage_is_a_value_or_an_error(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(11)
    whole = path.read_bytes()
    with h5py.File(path) as f:
        blob, strings = (f[f["#subsystem#/MCOS"][0, i]][...].tobytes() for i in (0, 2))
    first, length, other, size = whole.index(blob), len(blob), whole.index(strings), len(strings)
    refused = 0
    for i in range(60):
        damaged = bytearray(whole)
        start, room = (first, length) if i % 3 else (other, size)
        for place in rng.integers(start, start + room, int(rng.integers(1, 4))):
            damaged[place] = int(rng.choice([0, 1, 255, 128, damaged[place] ^ 4]))
        copy = tmp_path / "damaged.mat"
        copy.write_bytes(bytes(damaged))
        m = matlab.open(copy)
        for name in m:
            try:
                m[name]
            except hs.Error as error:
                refused += 1
                assert error.object and error.file, (i, name)
    assert refused > 40
