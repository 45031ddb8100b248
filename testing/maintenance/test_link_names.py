"""The character set of a link's name: a statement of the file, which copies keep. Judged by HDF5's own library."""

from __future__ import annotations

import pathlib

import h5py
import hyperslab as hs
import pytest
import same_file
from h5py import h5f, h5g, h5p, h5t


def write(path: pathlib.Path, links: int, tracked: bool, libver: str) -> None:
    """Groups, soft and external links whose names state UTF-8 or ASCII, whatever their bytes are."""
    access, group = h5p.create(h5p.FILE_ACCESS), h5p.create(h5p.FILE_CREATE)
    access.set_libver_bounds(*((h5f.LIBVER_LATEST,) * 2 if libver == "latest" else (h5f.LIBVER_EARLIEST, h5f.LIBVER_LATEST)))
    if tracked:
        group.set_link_creation_order(h5p.CRT_ORDER_TRACKED)
    file = h5f.create(str(path).encode(), h5f.ACC_TRUNC, group, access)
    for number in range(links):
        for name, encoding in (f"a{number}", h5t.CSET_UTF8), (f"b{number}", h5t.CSET_ASCII), (f"ä{number}", h5t.CSET_UTF8), (f"ö{number}", h5t.CSET_ASCII):
            plist = h5p.create(h5p.LINK_CREATE)
            plist.set_char_encoding(encoding)
            h5g.create(file, name.encode(), lcpl=plist)
            if libver == "latest":
                file.links.create_soft(f"soft {name}".encode(), b"/a0", lcpl=plist)
    file.close()


@pytest.mark.parametrize("links", [3, 40])
@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_copies_keep_the_character_set(tmp_path: pathlib.Path, links: int, tracked: bool, libver: str) -> None:
    path, container = tmp_path / "original.h5", tmp_path / "container"
    write(path, links, tracked, libver)
    hs.repack(path, tmp_path / "repack.h5")
    hs.fuse(path, tmp_path / "fuse.h5")
    hs.recover(path, tmp_path / "recover.h5")
    hs.merge([path], tmp_path / "merge.h5", axis=0)
    hs.convert(path, container)
    hs.convert(container, tmp_path / "convert.h5")
    facts = same_file.describe(str(path))
    assert {fact[2] for (_, aspect), fact in facts.items() if aspect == "link"} == {0, 1}
    for name in "repack", "fuse", "recover", "merge", "convert":
        found = same_file.differences(facts, same_file.describe(str(tmp_path / f"{name}.h5")))
        assert [one for one in found if one.cause == "link"] == [], name
        assert found == [] or name == "convert", name


def test_new_names_state_what_they_need(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "new.h5") as f:
        for number in range(70):
            f.create_group(f"ä{number}")
        f.create_group("plain/a")
    with h5py.File(tmp_path / "new.h5") as f:
        assert f.id.links.get_info("ä3".encode()).cset == h5t.CSET_UTF8 and f["plain"].id.links.get_info(b"a").cset == h5t.CSET_ASCII


def test_diff_sees_the_character_set(tmp_path: pathlib.Path) -> None:
    for name, encoding in ("a.h5", h5t.CSET_ASCII), ("b.h5", h5t.CSET_UTF8):
        plist = h5p.create(h5p.LINK_CREATE)
        plist.set_char_encoding(encoding)
        with h5py.File(tmp_path / name, "w") as f:
            h5g.create(f.id, b"g", lcpl=plist)
    assert hs.diff(tmp_path / "a.h5", tmp_path / "b.h5").equal
    (found,) = hs.diff(tmp_path / "a.h5", tmp_path / "b.h5", structure=True).differences
    assert (found.path, found.kind) == ("/", "character_set") and "'g' is UTF-8 in one file" in found.text
