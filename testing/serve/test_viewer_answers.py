"""The viewer's answers, compared with h5grove's own for the same files and requests."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import pathlib
from typing import Any

import h5py
import numpy as np
import pytest

pytest.importorskip("h5grove")
starlette_testclient = pytest.importorskip("starlette.testclient")

from h5grove.content import DatasetContent, ResolvedEntityContent, get_content_from_file, get_list_of_paths  # noqa: E402
from h5grove.encoders import encode as encode_by_h5grove  # noqa: E402
from hyperslab.viewer import Shown, application  # noqa: E402
from hyperslab.viewer.budget import Budget  # noqa: E402
from sampling import one_in  # noqa: E402

TOKEN = "token"
#: Datasets whose elements are objects in numpy.
OBJECTS = ("/text", "/words", "/ragged", "/empty")


class Answered(Exception):
    """An answer of h5grove that is an error."""


def client(*places: pathlib.Path, budget: Budget | None = None) -> Any:
    app = application(Shown(places), TOKEN, hosts=("testserver",), budget=budget)
    return starlette_testclient.TestClient(app, base_url="http://testserver", raise_server_exceptions=False)


def ask(browser: Any, what: str, **query: Any) -> Any:
    return browser.get(f"/{TOKEN}/{what}", params={name: value for name, value in query.items() if value is not None})


def error(status: int, message: str) -> Exception:
    return Answered(f"{status} {message}")


def by_h5grove(path: pathlib.Path, what: str, query: dict[str, Any]) -> bytes:
    """The answer of h5grove to the same request, as its routes make it."""
    links = query.get("resolve_links", "only_valid")
    if what == "paths":
        with get_list_of_paths(path, query["path"], error, links) as found:
            return encode_by_h5grove(found).content
    with get_content_from_file(path, query["path"], error, links if what == "meta" else "only_valid") as content:
        if what == "meta":
            return encode_by_h5grove(content.metadata()).content
        if what == "attr":
            assert isinstance(content, ResolvedEntityContent)
            return encode_by_h5grove(content.attributes(query.get("attr_keys"))).content
        assert isinstance(content, DatasetContent)
        if what == "stats":
            return encode_by_h5grove(content.data_stats(query.get("selection"))).content
        data = content.data(query.get("selection"), query.get("flatten", False), query.get("dtype", "origin"))
        return encode_by_h5grove(data, query.get("format", "json")).content


def write_everything(path: pathlib.Path) -> None:
    """A dataset of each kind, links of each kind, attributes of each kind."""
    with h5py.File(path, "w") as f:
        f.attrs["title"], f.attrs["numbers"], f.attrs["none"] = "text", [1, 2], h5py.Empty("f4")
        f.attrs["complex"], f.attrs["fixed"], f.attrs["half"] = 1 + 2j, np.bytes_(b"m"), np.float16(0.5)
        x = f.create_dataset("group/x", data=np.linspace(-2, 9, 24).reshape(4, 6), chunks=(2, 3), compression="gzip", shuffle=True, maxshape=(None, 6))
        x.attrs["units"] = "m"
        f["group/deep/er/y"] = np.arange(60, dtype=">i2").reshape(3, 4, 5)
        f["nan"] = np.array([np.nan, np.inf, -np.inf, 1.5], "<f4")
        f["half"], f["big"] = np.arange(5, dtype="f2"), np.arange(4, dtype=">f8")
        f["long"] = np.arange(3, dtype="i8") + (1 << 60)
        f["compound"] = np.array([(1, 2.5, b"a"), (2, -1, b"bc")], dtype=[("a", "i4"), ("b", ">f8"), ("c", "S3")])
        f["enum"] = np.array([1, 2], h5py.enum_dtype({"A": 1, "B": 2}))
        f["text"], f["words"], f["bool"] = "hello", ["a", "é"], np.array([True, False])
        f["fixed"] = np.array([b"ab", b"c"])
        f["complex"] = np.array([1 + 2j, 3 - 4j], "c8")
        f["soft"], f["dangling"], f["external"] = h5py.SoftLink("/group/x"), h5py.SoftLink("/none"), h5py.ExternalLink("none.h5", "/x")
        f.create_dataset("ragged", (2,), h5py.vlen_dtype("i4"))[0] = [1, 2]
        f["type"] = np.dtype("f4")
        f["array"] = np.zeros(2, np.dtype(("i4", (2, 3))))
        f["opaque"] = np.void(b"abc")
        f["empty"], f["scalar"], f["zero"] = h5py.Empty("i4"), 7, np.zeros((0, 3))
        f["gone"] = 1
        f["nan"].attrs["to"], f["nan"].attrs["nowhere"], f["nan"].attrs["dangling"] = x.ref, h5py.Reference(), f["gone"].ref
        f["nan"].attrs["region"] = x.regionref[1:3]
        del f["gone"]
        f.create_dataset("filters", data=np.arange(64), chunks=(16,), fletcher32=True, compression="lzf")


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("viewer") / "all.h5"
    write_everything(path)
    return path


def objects(path: pathlib.Path) -> list[str]:
    with h5py.File(path) as f:
        found = ["/"]
        f.visit_links(lambda name: found.append(f"/{name}"))
        return found


def test_metadata_attributes_and_paths_are_those_of_h5grove(everything: pathlib.Path) -> None:
    browser, compared = client(everything), 0
    for name in objects(everything):
        for links in (None, "only_valid", "none"):
            query = {"path": name} | ({} if links is None else {"resolve_links": links})
            answer = ask(browser, "meta", file="all.h5", **query)
            assert answer.status_code == 200, answer.text
            assert answer.json() == json.loads(by_h5grove(everything, "meta", query)), name
            compared += 1
        if name not in ("/dangling", "/external"):
            found = ask(browser, "attr", file="all.h5", path=name)
            assert found.json() == json.loads(by_h5grove(everything, "attr", {"path": name})), name
    assert compared > 80
    for name in ("/", "/group"):
        assert sorted(ask(browser, "paths", file="all.h5", path=name).json()) == sorted(json.loads(by_h5grove(everything, "paths", {"path": name})))


def test_a_group_of_many_members_has_pages_if_they_are_asked_for(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "many.h5"
    with h5py.File(path, "w") as f:
        for number in range(25):
            f[f"g/d{number:02}"] = number
    browser = client(path)
    assert len(ask(browser, "meta", file="many.h5", path="/g").json()["children"]) == 25
    assert len(ask(browser, "meta", file="many.h5", path="/g", page_members=25).json()["children"]) == 25
    pages = ask(browser, "meta", file="many.h5", path="/g", page_members=10).json()["children"]
    assert [page["name"][1:] for page in pages] == ["0 to 9: d00 … d09", "10 to 19: d10 … d19", "20 to 24: d20 … d24"]
    found = []
    for page in pages:
        inside = ask(browser, "meta", file="many.h5", path=f"/g/{page['name']}", page_members=10).json()
        assert inside["kind"] == "group"
        found += [child["name"] for child in inside["children"]]
        last = inside["children"][-1]["name"]
        assert ask(browser, "data", file="many.h5", path=f"/g/{page['name']}/{last}").json() == int(last[1:])
    assert found == [f"d{number:02}" for number in range(25)]
    for wrong in ("0", "-1", "x", "1e9"):
        assert ask(browser, "meta", file="many.h5", path="/g", page_members=wrong).status_code == 422
    assert ask(browser, "meta", file="many.h5", path="/g/\u206390 to 99: a … b", page_members=10).status_code == 404


@one_in(7)
def test_values_are_those_of_h5grove(everything: pathlib.Path, step: int) -> None:
    browser, compared, refused, number = client(everything), 0, 0, itertools.count()
    with h5py.File(everything) as f:
        ranks = {name: f[name].ndim for name in objects(everything) if name not in ("/dangling", "/external") and isinstance(f[name], h5py.Dataset)}
    for name, rank in ranks.items():
        selections = [
            None,
            *(["1", "0:1", ":2", "::2"] if rank else []),
            *(["1,2", "0:2,1:3", ":,1"] if rank > 1 else []),
            *(["1,:,2", "0,1:3,::2"] if rank > 2 else []),
        ]
        for selection in selections:
            for form, dtype, flatten in itertools.product(("json", "bin", "npy", "csv", "tiff"), ("origin", "safe"), (False, True)):
                if next(number) % step:
                    continue
                query = {"path": name, "selection": selection, "format": form, "dtype": dtype, "flatten": flatten}
                expected: bytes | None = None
                # h5grove's bytes of strings and ragged rows are addresses in its memory.
                with contextlib.suppress(Exception):
                    expected = None if form == "bin" and name in OBJECTS else by_h5grove(everything, "data", query)
                answer = ask(browser, "data", file="all.h5", **query)
                if expected is None:
                    # If h5grove fails, Hyperslab may answer or return an error; the server never fails.
                    assert answer.status_code in (200, 413, 422, 501), (query, answer.text)
                    refused += answer.status_code != 200
                    continue
                assert answer.status_code == 200, (query, answer.text)
                assert answer.json() == json.loads(expected) if form == "json" else answer.content == expected, query
                compared += 1
    assert compared > 600 // step and refused > 50 // step


def test_statistics_are_those_of_h5grove(everything: pathlib.Path) -> None:
    browser = client(everything)
    for name in ("/group/x", "/nan", "/big", "/long", "/scalar", "/zero", "/bool", "/group/deep/er/y"):
        for selection in (None,) if name == "/scalar" else (None, "0:2"):
            found, expected = ask(browser, "stats", file="all.h5", path=name, selection=selection).json(), None
            with contextlib.suppress(Exception):
                expected = json.loads(by_h5grove(everything, "stats", {"path": name, "selection": selection}))
            if expected is None:
                continue
            assert found.keys() == expected.keys()
            for key, value in expected.items():
                assert found[key] == value or (value is not None and math.isclose(found[key], value)), (name, key)


def test_wrong_requests_have_a_status_and_a_message(everything: pathlib.Path) -> None:
    browser = client(everything)
    for what, query, status in (
        ("meta", {"path": "/nowhere"}, 404),
        ("meta", {"path": "/dangling", "resolve_links": "all"}, 404),
        ("meta", {"resolve_links": "sometimes"}, 422),
        ("data", {"path": "/group"}, 422),
        ("data", {"path": "/group/x", "selection": "a"}, 422),
        ("data", {"path": "/group/x", "selection": "0,0,0"}, 422),
        ("data", {"path": "/group/x", "selection": "99"}, 422),
        ("data", {"path": "/group/x", "selection": "::0"}, 422),
        ("data", {"path": "/group/x", "selection": "::-1"}, 422),
        ("data", {"path": "/group/x", "format": "xls"}, 422),
        ("data", {"path": "/text", "format": "csv"}, 422),
        ("data", {"path": "/text", "dtype": "safe"}, 422),
        ("attr", {"path": "/", "attr_keys": "none of them"}, 404),
        ("stats", {"path": "/text"}, 422),
        ("paths", {"path": "/text"}, 422),
    ):
        answer = ask(browser, what, file="all.h5", **query)
        assert answer.status_code == status and answer.json()["message"], (what, query, answer.text)
    assert ask(browser, "meta").status_code == 422


def test_a_member_that_cannot_be_read_leaves_the_others(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "header.h5"
    with h5py.File(path, "w") as f:
        for name in "abc":
            f[f"g/{name}"] = [1, 2]
        place = h5py.h5o.get_info(f["g/b"].id).addr
        # Each leads to the other.
        f["first"], f["second"] = h5py.SoftLink("/second"), h5py.SoftLink("/first")
    with open(path, "rb+") as raw:
        raw.seek(place)
        raw.write(b"\xff" * 16)
    browser = client(path)
    members = {one["name"]: one for one in ask(browser, "meta", file="header.h5", path="/g").json()["children"]}
    assert {name: one["kind"] for name, one in members.items()} == {"a": "dataset", "b": "unreadable", "c": "dataset"}
    assert "object header" in members["b"]["message"] and "/g/b" in members["b"]["message"]
    answer = ask(browser, "meta", file="header.h5", path="/g/b")
    assert answer.status_code == 500 and answer.json()["message"] == members["b"]["message"]
    assert ask(browser, "data", file="header.h5", path="/g/c").json() == [1, 2]
    links = {one["name"]: one["kind"] for one in ask(browser, "meta", file="header.h5", path="/").json()["children"]}
    assert links == {"first": "soft_link", "second": "soft_link", "g": "group"}


def test_only_what_was_named_is_shown(everything: pathlib.Path, tmp_path: pathlib.Path) -> None:
    secret = tmp_path / "secret.h5"
    write_everything(secret)
    folder = tmp_path / "shown" / "sub"
    folder.mkdir(parents=True)
    with h5py.File(folder / "inside.h5", "w") as f:
        f["x"], f["out"] = [1], h5py.ExternalLink("../../secret.h5", "/text")
    (folder / "link.h5").symlink_to(secret)
    (folder / "notes.txt").write_text("no data")
    (folder / ".hidden.h5").write_bytes((folder / "inside.h5").read_bytes())
    browser = client(tmp_path / "shown")
    assert ask(browser, "files").json() == ["sub/inside.h5"]
    assert ask(browser, "data", file="sub/inside.h5", path="/x").json() == [1]
    for name in (
        "../secret.h5",
        "sub/../../secret.h5",
        str(secret),
        "sub/link.h5",
        "sub/.hidden.h5",
        "secret.h5",
        "sub",
        "",
        "sub/\0",
        "all.h5",
        "//etc/passwd",
    ):
        answer = ask(browser, "meta", file=name)
        assert answer.status_code == 404 and "is shown here" in answer.json()["message"], name
    assert ask(browser, "meta", file="sub/notes.txt").status_code in (422, 500)
    assert ask(browser, "meta", file="sub/inside.h5", path="/out").json()["kind"] == "external_link"
    assert ask(browser, "data", file="sub/inside.h5", path="/out").status_code == 422


def test_without_the_token_there_is_nothing(everything: pathlib.Path) -> None:
    browser = client(everything)
    for address in ("/", "/meta/?file=all.h5", "/wrong/meta/?file=all.h5", "/token2/files/", "/tok/files/"):
        answer = browser.get(address)
        assert answer.status_code == 403 and "all.h5" not in answer.text, address
    assert browser.get(f"/{TOKEN}/files/", headers={"host": "evil.example"}).status_code == 400
    headers = ask(browser, "files").headers
    assert headers["x-content-type-options"] == "nosniff" and "frame-ancestors 'none'" in headers["content-security-policy"]


def test_an_answer_that_is_too_large_is_refused_before_it_is_read(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "sparse.h5", "w") as f:
        f.create_dataset("x", (10 << 30,), "u1", chunks=(1 << 20,), fillvalue=3)
    browser = client(tmp_path / "sparse.h5", budget=Budget(1 << 20, 2 << 20))
    answer = ask(browser, "data", file="sparse.h5", path="/x", format="bin")
    assert answer.status_code == 413 and "select less" in answer.json()["message"]
    part = ask(browser, "data", file="sparse.h5", path="/x", format="bin", selection=f"{9 << 30}:{(9 << 30) + 1000}")
    assert part.content == b"\3" * 1000


def test_a_file_that_is_replaced_is_shown_anew(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    browser = client(path if path.exists() else _made(path, 1))
    assert ask(browser, "data", file="a.h5", path="/x").json() == [1] * 5
    _made(tmp_path / "b.h5", 2).replace(path)
    assert ask(browser, "data", file="a.h5", path="/x").json() == [2] * 5
    path.unlink()
    assert ask(browser, "data", file="a.h5", path="/x").status_code == 404
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    answer = ask(browser, "meta", file="a.h5")
    assert answer.status_code in (500, 501) and answer.json()["message"]
    _made(path, 4)
    assert ask(browser, "data", file="a.h5", path="/x").json() == [4] * 5


def _made(path: pathlib.Path, value: int) -> pathlib.Path:
    with h5py.File(path, "w") as f:
        f["x"] = np.full(5, value)
    return path
